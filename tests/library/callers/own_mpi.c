// SPDX-License-Identifier: Apache-2.0
// A program with MPI of its own, which it starts, uses before, between and after, and ends itself.
// With the argument "single" it starts MPI for one thread only, which a session refuses.
#include <mpi.h>
#include <stannis/stannis.h>
#include <stdio.h>
#include <string.h>

static enum stn_status check_own(int rank, int size)
{
    int sum = 0, mine = rank + 1;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum == size * (size + 1) / 2 ? STN_OK : stn_fail(STN_ERR_INTERNAL, "sum is %d", sum);
}

static enum stn_status train(struct stn_session *session)
{
    struct stn_settings *settings = NULL;
    struct stn_train_result result;
    enum stn_status status = stn_settings_create(STN_VERB_TRAIN, &settings);
    if (!status) {
        status = stn_settings_set(settings, "net", "lenet");
    }
    if (!status) {
        status = stn_settings_set(settings, "data", "synthetic:64");
    }
    if (!status) {
        status = stn_settings_set_int(settings, "steps", 1);
    }
    if (!status) {
        status = stn_settings_set_flag(settings, "tune", false);
    }
    if (!status) {
        status = stn_train_run(session, settings, NULL, &result);
    }
    stn_settings_destroy(settings);
    return status;
}

static enum stn_status use(int rank, int size)
{
    struct stn_session *session = NULL;
    enum stn_status status = stn_session_open(NULL, &session);
    if (!status && (stn_session_rank(session) != rank || stn_session_nodes(session) != size)) {
        status = stn_fail(STN_ERR_INTERNAL, "the session is not of the caller's nodes");
    }
    if (!status) {
        status = train(session);
    }
    stn_session_close(session);
    return status ? status : check_own(rank, size);
}

int main(int argc, char **argv)
{
    int provided, rank, size, ended;
    int wanted =
        argc > 1 && strcmp(argv[1], "single") == 0 ? MPI_THREAD_SINGLE : MPI_THREAD_SERIALIZED;
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    enum stn_status status = check_own(rank, size);
    for (int i = 0; i < 2 && !status; i++) {
        status = use(rank, size);
    }
    MPI_Finalized(&ended);
    if (!status && ended) {
        status = stn_fail(STN_ERR_INTERNAL, "the library has ended the caller's MPI");
    }
    MPI_Finalize();
    if (!status && rank == 0) {
        puts("done");
    }
    return stn_status_exit_code(status);
}
