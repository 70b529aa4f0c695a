// SPDX-License-Identifier: Apache-2.0
#include "crew/trade.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "hypertune/decide.h"
#include "hypertune/policy.h"

enum { TAG_MARK = 3, TAG_AFTER = 4 };

// If all nodes reach their marks in less time than this, a trade takes longer than it gains: a node
// that has used up its CPU share gets no message for as long. The nodes then do not trade for
// REST_STEPS steps.
static const double seconds_least = 0.15;
enum { REST_STEPS = 100 };

struct crew_trade {
    struct comm_job job; // first: a job is cast back
    struct comm *comm;
    struct base_arena arena;
    int rank, nodes;
    const struct plan_node *limits;
    const struct crew_hooks *hooks; // NULL: none
    struct plan_trade_node own;
    int *planned; // [nodes]
    int *after;   // [nodes] node 0's answer: micro-batches of this step
    int rest_now; // and for how many steps to come no node trades
    uint8_t *answer;
    size_t answer_bytes;
    // Node 0's.
    struct plan_trade_node *marks; // [nodes]
    struct plan_node *scratch;
    struct plan_offer *heap;

    int rest;            // steps to come in which no node trades
    bool trades;         // in this step: at least two nodes take part
    bool told, heard;    // this node has told its mark; has heard the answer
    int64_t begin_ns;    // of the step
    double wait_seconds; // of the step
};

// ---- on the communication thread ---------------------------------------------------------------

static bool is_short(const struct crew_trade *trade)
{
    double longest_s = 0.0;
    for (int i = 0; i < trade->nodes; i++) {
        double seconds = trade->marks[i].seconds;
        longest_s = seconds > longest_s ? seconds : longest_s;
    }
    return longest_s < seconds_least;
}

static enum stn_status receive_mark(struct comm *comm, int node, struct plan_trade_node *out)
{
    struct wire_mark mark;
    enum stn_status status = comm_receive_message(comm, node, TAG_MARK, WIRE_MARK, &mark);
    if (!status) {
        *out = (struct plan_trade_node){
            .planned = mark.planned, .kept = mark.kept, .done = mark.done, .seconds = mark.seconds};
    }
    return status;
}

static enum stn_status send_mark(struct comm *comm, const struct plan_trade_node *own)
{
    const struct wire_mark mark = {
        .planned = own->planned, .kept = own->kept, .done = own->done, .seconds = own->seconds};
    return comm_send_message(comm, 0, TAG_MARK, WIRE_MARK, &mark);
}

static void encode_answer(struct crew_trade *trade)
{
    const struct wire_trade said = {.rest = trade->rest_now};
    wire_encode(WIRE_TRADE, &said, trade->answer);
    wire_put_ints(trade->after, trade->nodes, trade->answer + WIRE_TRADE_BYTES);
}

static enum stn_status receive_answer(struct comm *comm, struct crew_trade *trade)
{
    struct wire_trade heard;
    enum stn_status status = comm_receive(comm, 0, TAG_AFTER, trade->answer, trade->answer_bytes);
    if (!status && !wire_decode(WIRE_TRADE, trade->answer, &heard)) {
        status = comm_fail_message(comm, 0, WIRE_TRADE);
    }
    if (!status) {
        trade->rest_now = heard.rest;
        wire_get_ints(trade->answer + WIRE_TRADE_BYTES, trade->nodes, trade->after);
    }
    return status;
}

static enum stn_status decide(struct comm *comm, struct crew_trade *trade)
{
    enum stn_status status = STN_OK;
    trade->marks[0] = trade->own;
    for (int i = 1; i < trade->nodes && !status; i++) {
        status = receive_mark(comm, i, &trade->marks[i]);
    }
    for (int i = 0; i < trade->nodes && !status; i++) {
        trade->marks[i].most = trade->limits[i].cap;
    }
    if (!status) {
        plan_trade(trade->marks, trade->nodes, trade->scratch, trade->heap, trade->after);
        trade->rest_now = is_short(trade) ? REST_STEPS : 0;
        encode_answer(trade);
    }
    for (int i = 1; i < trade->nodes && !status; i++) {
        status = comm_send(comm, i, TAG_AFTER, COMM_CONTROL, trade->answer, trade->answer_bytes);
    }
    return status;
}

static enum stn_status run(struct comm *comm, struct comm_job *job)
{
    struct crew_trade *trade = (struct crew_trade *)job;
    if (trade->rank == 0) {
        return decide(comm, trade);
    }
    enum stn_status status = send_mark(comm, &trade->own);
    return status ? status : receive_answer(comm, trade);
}

// ---- creation ----------------------------------------------------------------------------------

static bool arrays_alloc(struct crew_trade *trade)
{
    size_t nodes = (size_t)trade->nodes, deciding = trade->rank == 0 ? nodes : 1;
    trade->planned = base_arena_alloc(&trade->arena, nodes * sizeof(*trade->planned));
    trade->after = base_arena_alloc(&trade->arena, nodes * sizeof(*trade->after));
    trade->answer_bytes = WIRE_TRADE_BYTES + nodes * WIRE_INT_BYTES;
    trade->answer = base_arena_alloc(&trade->arena, trade->answer_bytes);
    trade->marks = base_arena_alloc(&trade->arena, deciding * sizeof(*trade->marks));
    trade->scratch = base_arena_alloc(&trade->arena, deciding * sizeof(*trade->scratch));
    trade->heap = base_arena_alloc(&trade->arena, deciding * sizeof(*trade->heap));
    return trade->planned && trade->after && trade->answer && trade->marks && trade->scratch &&
           trade->heap;
}

bool crew_trade_wanted(const struct settings *settings)
{
    const struct hypertune_policy *policy = hypertune_policy_of(settings->policy);
    bool for_time = !settings->objective ||
                    strcmp(settings->objective, "time") == 0; // trades make all end alike
    return settings->trade && for_time && policy && policy->does->trades && !settings->split;
}

double crew_move_gain(const struct settings *settings)
{
    return crew_trade_wanted(settings) ? 0.05 : hypertune_decide_defaults().gain_least;
}

enum stn_status crew_trade_create(struct comm *comm, const struct plan_node limits[],
                                  const struct crew_hooks *hooks, struct crew_trade **out)
{
    struct crew_trade *trade = calloc(1, sizeof(*trade));
    if (trade) {
        *trade = (struct crew_trade){.job.run = run,
                                     .comm = comm,
                                     .rank = comm_rank(comm),
                                     .nodes = comm_size(comm),
                                     .limits = limits,
                                     .hooks = hooks};
    }
    if (!trade || !arrays_alloc(trade)) {
        crew_trade_destroy(trade);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory to trade among %d nodes", comm_size(comm));
    }
    *out = trade;
    return STN_OK;
}

void crew_trade_destroy(struct crew_trade *trade)
{
    if (!trade) {
        return;
    }
    if (trade->told && !trade->heard) {
        comm_abandon(trade->comm); // or the job might wait for ever
        enum stn_status status = comm_wait(trade->comm, &trade->job);
        (void)status;
    }
    base_arena_fini(&trade->arena);
    free(trade);
}

// ---- a step ------------------------------------------------------------------------------------

void crew_trade_begin(struct crew_trade *trade, const int planned[], bool may_give)
{
    int own = planned[trade->rank], partners = 0;
    memcpy(trade->planned, planned, (size_t)trade->nodes * sizeof(*planned));
    for (int i = 0; i < trade->nodes; i++) {
        partners += plan_trade_takes_part(planned[i]);
    }
    trade->trades = partners > 1 && trade->rest == 0;
    trade->rest -= trade->rest > 0;
    trade->told = trade->heard = false;
    trade->own =
        (struct plan_trade_node){.planned = own, .kept = may_give ? plan_trade_kept(own) : own};
    trade->begin_ns = base_clock_ns();
    trade->wait_seconds = 0.0;
}

static void tell(struct crew_trade *trade, int done)
{
    trade->told = true;
    trade->own.done = done;
    trade->own.seconds = (double)(base_clock_ns() - trade->begin_ns) * 1e-9;
    if (trade->hooks && trade->hooks->pace) {
        trade->own.seconds =
            trade->hooks->pace(trade->hooks->context, trade->rank, trade->own.seconds);
    }
    comm_submit(trade->comm, &trade->job);
}

static enum stn_status hear(struct crew_trade *trade)
{
    int64_t begin = base_clock_ns();
    trade->heard = true;
    enum stn_status status = comm_wait(trade->comm, &trade->job);
    trade->wait_seconds += (double)(base_clock_ns() - begin) * 1e-9;
    trade->rest = status ? 0 : trade->rest_now;
    return status;
}

// Whether the node must wait for the answer. Gradients leave during its last micro-batch, so it
// must know which one is the last before it begins it.
static bool must_know(const struct crew_trade *trade, int done, int group)
{
    return done + group > trade->own.kept || done + group >= trade->own.planned;
}

enum stn_status crew_trade_look(struct crew_trade *trade, int done, int group, const int **after)
{
    const struct plan_trade_node *own = &trade->own;
    bool takes_part = plan_trade_takes_part(own->planned);
    *after = NULL;
    if (!trade->trades || trade->heard) {
        return STN_OK;
    }
    bool must = takes_part && must_know(trade, done, group);
    if (!trade->told && (must || done >= plan_trade_mark(own->planned))) {
        tell(trade, done);
    }
    if (!trade->told || !takes_part || (!must && !comm_is_done(trade->comm, &trade->job))) {
        return STN_OK;
    }
    enum stn_status status = hear(trade);
    const int *said = trade->after;
    bool same = memcmp(said, trade->planned, (size_t)trade->nodes * sizeof(*said)) == 0;
    *after = status || same ? NULL : said;
    return status;
}

enum stn_status crew_trade_end(struct crew_trade *trade)
{
    if (!trade->trades || trade->heard) {
        return STN_OK;
    }
    if (!trade->told) {
        tell(trade, 0);
    }
    return hear(trade);
}

double crew_trade_wait_seconds(const struct crew_trade *trade)
{
    return trade->wait_seconds;
}
