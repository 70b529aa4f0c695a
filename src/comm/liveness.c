// SPDX-License-Identifier: Apache-2.0
// Signs of life. A few times within the time-out every node tells node 0 what it does, and node 0
// tells all others. So node 0 notices a node that is silent, and the others notice a silent node 0.
// The end of a process is noticed at once: on its own machine by the kernel (process.c), elsewhere
// by its lifeline to node 0. A node that notices a loss tells the lowest living node, which writes
// the line and tells all. The communication thread sends the signs, so a node may compute for
// minutes.
//
// Silence counts only while this node was awake: one that was stopped itself blames no other when
// it goes on.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "comm/node.h"

static const int64_t look_ns = 10000000;           // between two looks for signs
static const int64_t news_ns = 100000000;          // between two signs, with news
static const int64_t interval_max_ns = 2000000000; // between two signs, without
static const int64_t left_grace_ns = 1000000000;   // for what a node sent before it left
static const int64_t report_ns = 1000000000;       // for another node to report a loss
static const int64_t tell_ns = 200000000; // for others to notice it too, having reported it
static const int64_t cut_ns = 500000000;  // for the cause of a broken connection to show
enum { INTERVALS_IN_TIMEOUT = 6 };

static int64_t interval_ns(const struct comm *comm)
{
    int64_t interval = comm->timeout_ns / INTERVALS_IN_TIMEOUT;
    return interval < interval_max_ns ? interval : interval_max_ns;
}

static bool is_watched(const struct comm *comm, int peer)
{
    return peer != comm->rank && (comm->rank == 0 || peer == 0);
}

// ---- losing a node -----------------------------------------------------------------------------

// The lowest living node other than `lost`.
static int first_alive(struct comm *comm, int lost)
{
    for (int i = 0; i < comm->rank; i++) {
        if (i != lost && !comm_process_is_gone(comm, i)) {
            return i;
        }
    }
    return comm->rank;
}

static void log_loss(struct comm *comm, int lost, enum comm_loss loss)
{
    const struct wire_sign *last = &comm->peers[lost].last;
    char where[WIRE_PHASE_BYTES + 48] = "", why[64];
    if (last->phase[0]) {
        snprintf(where, sizeof(where), " in step %" PRId64 " while %s", last->step, last->phase);
    }
    switch (loss) {
    case COMM_LOSS_SILENT:
        snprintf(why, sizeof(why), "no sign of life for %g s", (double)comm->timeout_ns * 1e-9);
        break;
    case COMM_LOSS_GONE: snprintf(why, sizeof(why), "its process is gone"); break;
    case COMM_LOSS_LEFT: snprintf(why, sizeof(why), "it ended early"); break;
    case COMM_LOSS_CUT: snprintf(why, sizeof(why), "its connection to another node broke"); break;
    }
    char name[COMM_NAME_BYTES];
    pthread_mutex_lock(&comm->mutex);
    memcpy(name, comm->names[lost], sizeof(name));
    pthread_mutex_unlock(&comm->mutex);
    const char *what = strncmp(name, "node ", 5) == 0 ? "" : "node "; // until named
    enum stn_status status =
        stn_fail(STN_ERR_NODE_LOST, "%s%s was lost%s: %s", what, name, where, why);
    (void)status; // every wait returns it
}

// No code waits for these to arrive, so `sign` must stay as it is from then on.
static void notify(struct comm *comm, int peer, const uint8_t sign[WIRE_SIGN_BYTES])
{
    if (comm_lifeline_say(comm, peer, sign)) {
        return;
    }
    void *request;
    enum stn_status status = comm->transport->ops->send(comm->transport, peer, COMM_TAG_LIFE, sign,
                                                        WIRE_SIGN_BYTES, &request);
    (void)status;
}

static void lost_now(struct comm *comm, int lost)
{
    if (comm->transport->ops->give_up) {
        comm->transport->ops->give_up(comm->transport);
    }
    atomic_store(&comm->lost, lost);
}

// Notes a loss. If another node is the one to report it, that node is told, and gets time: mpirun
// ends all processes at once when a second one ends, so no node leaves before the line is written.
// Only the first loss counts; later ones follow from it.
static void lose(struct comm *comm, int lost, enum comm_loss loss, bool reported)
{
    if (reported && atomic_load(&comm->lost) < 0) {
        lost_now(comm, lost);
    }
    if (atomic_load(&comm->lost) >= 0 || comm->leave_ns != 0) {
        return;
    }
    int first = first_alive(comm, lost);
    bool ours = first == comm->rank;
    if (ours) {
        log_loss(comm, lost, loss);
    }
    comm->notice = (struct wire_sign){
        .kind = COMM_SIGN_LOST, .lost = lost, .loss = (int32_t)loss, .reported = ours};
    wire_encode(WIRE_SIGN, &comm->notice, comm->notice_bytes);
    for (int i = 0; i < comm->size; i++) {
        if (i != comm->rank && (ours || i == first)) {
            notify(comm, i, comm->notice_bytes);
        }
    }
    comm->leave_ns = base_clock_ns() + (ours ? tell_ns : report_ns);
}

static void leave_when_due(struct comm *comm, int64_t now_ns)
{
    if (comm->leave_ns != 0 && now_ns >= comm->leave_ns && atomic_load(&comm->lost) < 0) {
        lost_now(comm, comm->notice.lost);
    }
}

// ---- signs -------------------------------------------------------------------------------------

static void listen_to(struct comm *comm, int rank)
{
    struct comm_peer *peer = &comm->peers[rank];
    enum stn_status status =
        comm->transport->ops->receive(comm->transport, rank, COMM_TAG_LIFE, peer->incoming,
                                      sizeof(peer->incoming), &peer->receive);
    if (status != STN_OK) {
        lose(comm, rank, COMM_LOSS_GONE, false);
    }
}

bool comm_sign_read(const struct comm *comm, const uint8_t bytes[WIRE_SIGN_BYTES],
                    struct wire_sign *out)
{
    return wire_decode(WIRE_SIGN, bytes, out) && out->kind >= COMM_SIGN_ALIVE &&
           out->kind <= COMM_SIGN_LOST && out->lost >= 0 && out->lost < comm->size;
}

// A sign that cannot be read is a sign of life all the same.
static void take(struct comm *comm, int rank)
{
    struct comm_peer *peer = &comm->peers[rank];
    struct wire_sign sign;
    peer->silent_ns = 0;
    if (!comm_sign_read(comm, peer->incoming, &sign)) {
        return;
    }
    switch ((enum comm_sign_kind)sign.kind) {
    case COMM_SIGN_LOST: lose(comm, sign.lost, (enum comm_loss)sign.loss, sign.reported); return;
    case COMM_SIGN_LEAVING: peer->left_ns = peer->left_ns ? peer->left_ns : base_clock_ns(); break;
    case COMM_SIGN_ALIVE: break;
    }
    peer->last = sign;
}

// Takes all signs that have come from that node.
static void look(struct comm *comm, int rank)
{
    struct comm_transport *transport = comm->transport;
    bool done = true;
    while (done && atomic_load(&comm->lost) < 0) {
        if (transport->ops->test(transport, &comm->peers[rank].receive, &done) != STN_OK) {
            lose(comm, rank, COMM_LOSS_GONE, false);
            return;
        }
        if (done) {
            take(comm, rank);
            listen_to(comm, rank);
        }
    }
}

static void fill(struct comm *comm, struct wire_sign *sign)
{
    memset(sign, 0, sizeof(*sign));
    sign->kind = atomic_load(&comm->leaving) ? COMM_SIGN_LEAVING : COMM_SIGN_ALIVE;
    pthread_mutex_lock(&comm->mutex);
    sign->step = comm->step;
    snprintf(sign->phase, sizeof(sign->phase), "%s", comm->phase ? comm->phase : "");
    pthread_mutex_unlock(&comm->mutex);
}

// Skips a node that has not taken the last sign yet.
static void speak_to(struct comm *comm, int rank)
{
    struct comm_transport *transport = comm->transport;
    struct comm_peer *peer = &comm->peers[rank];
    bool done = true;
    enum stn_status status =
        peer->sending ? transport->ops->test(transport, &peer->send, &done) : STN_OK;
    if (status == STN_OK && done) {
        struct wire_sign sign;
        fill(comm, &sign);
        wire_encode(WIRE_SIGN, &sign, peer->outgoing);
        peer->told_leaving = sign.kind == COMM_SIGN_LEAVING;
        status = transport->ops->send(transport, rank, COMM_TAG_LIFE, peer->outgoing,
                                      sizeof(peer->outgoing), &peer->send);
        peer->sending = true;
        atomic_fetch_add_explicit(&comm->sent_bytes[COMM_CONTROL],
                                  (long long)sizeof(peer->outgoing), memory_order_relaxed);
    }
    if (status != STN_OK) {
        lose(comm, rank, COMM_LOSS_GONE, false);
    }
}

// Tells all nodes at once that this one leaves; other signs go out when they are due.
static void speak(struct comm *comm, int64_t now_ns)
{
    int64_t since_ns = now_ns - comm->spoke_ns;
    bool due = since_ns >= interval_ns(comm) ||
               (since_ns >= news_ns && atomic_exchange(&comm->news, false));
    bool leaving = atomic_load(&comm->leaving);
    for (int i = 0; i < comm->size; i++) {
        bool untold = leaving && !comm->peers[i].told_leaving;
        if (i != comm->rank && ((due && is_watched(comm, i)) || untold)) {
            speak_to(comm, i);
        }
    }
    if (due) {
        comm->spoke_ns = now_ns;
    }
}

// A node that has said that it leaves is lost only for nodes that wait for it.
static void check_processes(struct comm *comm)
{
    for (int i = 0; i < comm->size; i++) {
        if (i != comm->rank && !comm->peers[i].left_ns && comm_process_is_gone(comm, i)) {
            lose(comm, i, COMM_LOSS_GONE, false);
        }
    }
}

static void heed_words(struct comm *comm)
{
    for (int i = 0; i < comm->size; i++) {
        struct comm_peer *peer = &comm->peers[i];
        bool has_word = peer->has_word, leaves = peer->word.kind == COMM_SIGN_LEAVING;
        peer->has_word = false;
        if (has_word && leaves) {
            peer->left_ns = peer->left_ns ? peer->left_ns : base_clock_ns();
        } else if (has_word) {
            lose(comm, peer->word.lost, (enum comm_loss)peer->word.loss, peer->word.reported);
        }
    }
}

// When a process's end broke the connection, its end is noticed soon after. Where it is not
// (between machines without lifelines), this node reports the connection.
static void check_connection(struct comm *comm, int64_t now_ns)
{
    if (!atomic_load(&comm->transport->broken)) {
        return;
    }
    comm->broken_ns = comm->broken_ns ? comm->broken_ns : now_ns;
    if (now_ns - comm->broken_ns >= cut_ns) {
        fill(comm, &comm->peers[comm->rank].last);
        lose(comm, comm->rank, COMM_LOSS_CUT, false);
    }
}

static void check_silence(struct comm *comm, int64_t passed_ns)
{
    int64_t awake_ns = passed_ns < interval_ns(comm) ? passed_ns : interval_ns(comm);
    for (int i = 0; i < comm->size; i++) {
        if (is_watched(comm, i)) {
            comm->peers[i].silent_ns += awake_ns;
            if (comm->peers[i].silent_ns > comm->timeout_ns) {
                lose(comm, i, COMM_LOSS_SILENT, false);
            }
        }
    }
}

enum stn_status comm_liveness_tick(struct comm *comm)
{
    int64_t now_ns = base_clock_ns(), passed_ns = now_ns - comm->looked_ns;
    bool due = passed_ns >= look_ns || comm->alarm;
    if (comm->listening && atomic_load(&comm->lost) < 0 && due) {
        comm->looked_ns = now_ns;
        comm->alarm = false;
        comm_process_sleep(comm, 0); // before looking, so that last words are heard first
        heed_words(comm);
        for (int i = 0; i < comm->size; i++) {
            if (i != comm->rank) {
                look(comm, i);
            }
        }
        check_silence(comm, passed_ns);
        check_processes(comm);
        check_connection(comm, now_ns);
        leave_when_due(comm, now_ns);
        speak(comm, now_ns);
    }
    return atomic_load(&comm->lost) < 0 ? STN_OK : STN_ERR_NODE_LOST;
}

void comm_liveness_progress(struct comm *comm)
{
    look(comm, comm->rank == 0 ? 1 : 0);
}

enum stn_status comm_liveness_expect(struct comm *comm, int peer, int64_t since_ns)
{
    int64_t left_ns = comm->peers[peer].left_ns;
    int64_t begin_ns = left_ns > since_ns ? left_ns : since_ns;
    if (left_ns && base_clock_ns() - begin_ns > left_grace_ns) {
        lose(comm, peer, COMM_LOSS_LEFT, false);
    }
    return atomic_load(&comm->lost) < 0 ? STN_OK : STN_ERR_NODE_LOST;
}

static bool everyone_leaves(const struct comm *comm)
{
    for (int i = 0; i < comm->size; i++) {
        if (i != comm->rank && !(comm->peers[i].left_ns && comm->peers[i].told_leaving)) {
            return false;
        }
    }
    return true;
}

// Whether all signs that this node has sent have left their buffers.
static bool has_spoken(struct comm *comm)
{
    const struct comm_transport_ops *ops = comm->transport->ops;
    bool all = true;
    for (int i = 0; i < comm->size; i++) {
        struct comm_peer *peer = &comm->peers[i];
        bool done = true;
        bool failed = peer->sending && ops->test(comm->transport, &peer->send, &done) != STN_OK;
        peer->sending = peer->sending && !done && !failed;
        all = all && !peer->sending;
    }
    return all;
}

// Gives up all receives, since a node that is opened later may use the same transport. Lifelines
// end with this node; over each it says last that it leaves, or the line's end would look like the
// process's.
static void stop_listening(struct comm *comm)
{
    struct wire_sign sign;
    uint8_t bytes[WIRE_SIGN_BYTES];
    fill(comm, &sign);
    wire_encode(WIRE_SIGN, &sign, bytes);
    comm->listening = false;
    for (int i = 0; i < comm->size; i++) {
        if (i != comm->rank) {
            comm_lifeline_say(comm, i, bytes);
        }
        if (i != comm->rank && comm->transport->ops->cancel) {
            comm->transport->ops->cancel(comm->transport, &comm->peers[i].receive);
        }
    }
}

enum stn_status comm_liveness_leave(struct comm *comm)
{
    comm_wait_moved(comm);
    enum stn_status status = comm_liveness_tick(comm);
    while (status == STN_OK && !everyone_leaves(comm)) {
        status = comm_wait_pause(comm);
    }
    while (status == STN_OK && !has_spoken(comm)) {
        status = comm_wait_pause(comm);
    }
    if (status == STN_OK && comm->listening) {
        stop_listening(comm);
    }
    return status;
}

enum stn_status comm_liveness_start(struct comm *comm)
{
    comm->looked_ns = comm->spoke_ns = base_clock_ns();
    for (int i = 0; i < comm->size; i++) {
        if (i != comm->rank) {
            listen_to(comm, i);
        }
    }
    comm->listening = true;
    return comm_process_start(comm);
}
