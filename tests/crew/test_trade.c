// SPDX-License-Identifier: Apache-2.0
// Trades between nodes on threads of their own: all hear the same, whoever is first.
#include "crew/trade.h"

#include "comm/nodes.h"

enum { NODES = 4, STEPS = 200 };

// The third has too little to trade, the fourth's data are its own.
static const int planned[NODES] = {50, 16, 4, 12};
static const bool may_give[NODES] = {true, true, true, false};

struct seen {
    int done[NODES][STEPS];
    enum stn_status status[NODES];
};

// By turns: the first late, the last late, none.
static double pace(void *context, int node, double seconds)
{
    (void)context;
    (void)seconds;
    static _Thread_local int step;
    static const double times[][NODES] = {
        {1.5, 1.0, 1.0, 1.0}, {1.0, 1.0, 1.0, 1.5}, {1.0, 1.0, 1.0, 1.0}};
    return times[step++ % 3][node];
}

static enum stn_status work(struct crew_trade *trade, int rank, int *done)
{
    int total = planned[rank];
    const int *after;
    crew_trade_begin(trade, planned, may_give[rank]);
    enum stn_status status = crew_trade_look(trade, 0, 1, &after);
    for (*done = 0; *done < total && !status;) {
        ++*done;
        status = crew_trade_look(trade, *done, 1, &after);
        total = after ? after[rank] : total;
    }
    return status ? status : crew_trade_end(trade);
}

static void trade_steps(struct comm *comm, void *context)
{
    struct seen *seen = context;
    const struct plan_node limits[NODES] = {{.cap = 100}, {.cap = 17}, {.cap = 100}, {.cap = 100}};
    const struct crew_hooks hooks = {.pace = pace};
    struct crew_trade *trade = NULL;
    int rank = comm_rank(comm);
    enum stn_status status = crew_trade_create(comm, limits, &hooks, &trade);
    for (int step = 0; step < STEPS && !status; step++) {
        status = work(trade, rank, &seen->done[rank][step]);
    }
    crew_trade_destroy(trade);
    seen->status[rank] = status;
}

// When the first is late it gives what it may, and the second takes no more than its cap; when the
// fourth is, which gives nothing, nothing would get better.
static void test_all_hear_the_same(void **state)
{
    (void)state;
    static const int wanted[][NODES] = {{46, 17, 4, 15}, {50, 16, 4, 12}, {50, 16, 4, 12}};
    static struct seen seen;
    nodes_run(NODES, 60, trade_steps, &seen);
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(seen.status[i], STN_OK);
        for (int step = 0; step < STEPS; step++) {
            assert_int_equal(seen.done[i][step], wanted[step % 3][i]);
        }
    }
}

static void trade_or_leave(struct comm *comm, void *context)
{
    if (comm_rank(comm) != 1) {
        trade_steps(comm, context);
    }
}

static void test_who_leaves_is_not_waited_for(void **state)
{
    (void)state;
    static struct seen seen;
    nodes_run(NODES, 60, trade_or_leave, &seen);
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(seen.status[i], i == 1 ? STN_OK : STN_ERR_NODE_LOST);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_hear_the_same),
        cmocka_unit_test(test_who_leaves_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
