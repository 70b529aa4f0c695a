// SPDX-License-Identifier: Apache-2.0
// The messages of a training: a list of fields each, from which its struct, its bytes, their
// encoding and the hash of all layouts are made. A field is one(of, type, name) or many(of, type,
// name, count), where `of` is the message's struct. A change of this file is another protocol:
// raise WIRE_PROTOCOL, and write the new hash into tests/wire/test_wire.c.
//
//     flag  bool, 0 or 1            i32, u32, i64, u64   whole numbers
//     f64   double                  text   char[count], ends with a zero
//     raw   uint8_t[count]
#ifndef WIRE_MESSAGES_H
#define WIRE_MESSAGES_H

enum {
    WIRE_NAME_BYTES = 64,
    WIRE_PHASE_BYTES = 48,
    WIRE_SECRET_BYTES = 16,
    WIRE_ADDRESSES_MAX = 15,
    WIRE_DOUBT_BYTES = 96,
    WIRE_EXCHANGES = 3,
    WIRE_STEPS_MAX = 20,
    WIRE_TRIALS_MAX = 4,
};

// clang-format off

// ---- connecting (comm) -------------------------------------------------------------------------

// The first message of a node to all others: which protocol it speaks, and which process of which
// machine it is. It stays as it is in every protocol, so that any two can refuse each other.
#define WIRE_HELLO(of, one, many)                                                                  \
    one(of, i32, protocol)                                                                         \
    one(of, u64, layouts)              /* wire_hash() */                                           \
    many(of, text, version, 16)        /* of the program, for people */                            \
    many(of, text, host, WIRE_NAME_BYTES)                                                          \
    many(of, text, boot, 40)           /* of the running kernel */                                 \
    one(of, u64, pid_space)            /* namespace in which pid counts */                         \
    one(of, i64, pid)

// A sign of life.
#define WIRE_SIGN(of, one, many)                                                                   \
    one(of, i32, kind)                 /* enum comm_sign_kind */                                   \
    one(of, i32, lost)                 /* of COMM_SIGN_LOST: which node, */                        \
    one(of, i32, loss)                 /* why (enum comm_loss), */                                 \
    one(of, flag, reported)            /* and whether the line that says so is out */              \
    one(of, i64, step)                                                                             \
    many(of, text, phase, WIRE_PHASE_BYTES)

// Where node 0 waits for lifelines, and the secrets by which both ends know each other.
#define WIRE_INVITATION(of, one, many)                                                             \
    many(of, raw, knock, WIRE_SECRET_BYTES)   /* what a guest says */                              \
    many(of, raw, answer, WIRE_SECRET_BYTES)  /* what the host says to that */                     \
    one(of, i32, port)                        /* 0: nobody listens */                              \
    one(of, i32, count)                                                                            \
    many(of, u32, addresses, WIRE_ADDRESSES_MAX)  /* IPv4, for guests on other machines */

#define WIRE_KNOCK(of, one, many)                                                                  \
    many(of, raw, secret, WIRE_SECRET_BYTES)                                                       \
    one(of, i32, rank)

// Whether something is so: a lifeline has been tied, a plan file is there.
#define WIRE_ANSWER(of, one, many)                                                                 \
    one(of, flag, yes)

// A node to its launcher: its rank first, at its end the exit code.
#define WIRE_WITNESS(of, one, many)                                                                \
    one(of, i32, number)

// ---- exchanging (exchange) ---------------------------------------------------------------------

// In front of gradients in half precision: the power of two that they are scaled by.
#define WIRE_SCALE(of, one, many)                                                                  \
    one(of, i32, exponent)

// ---- agreeing (crew) ---------------------------------------------------------------------------

#define WIRE_STATUS(of, one, many)                                                                 \
    one(of, i32, status)               /* enum stn_status */

// How many bytes of a text or a file follow.
#define WIRE_LENGTH(of, one, many)                                                                 \
    one(of, u64, bytes)

// What must be alike on all nodes.
#define WIRE_IDENTITY(of, one, many)                                                               \
    one(of, u64, network)              /* tensors: names and shapes */                             \
    one(of, u64, classes)              /* names, in order */                                       \
    one(of, u64, settings)             /* what defines the training */                             \
    one(of, i64, samples)              /* of the public data */

// A node's CPUs and memory, and what was measured of its speed.
#define WIRE_PROFILE(of, one, many)                                                                \
    one(of, i32, threads)                                                                          \
    one(of, f64, cpus)                                                                             \
    one(of, u64, machine)                                                                          \
    one(of, f64, machine_cpus)                                                                     \
    one(of, u64, memory_needed)                                                                    \
    one(of, u64, memory_limit)                                                                     \
    one(of, f64, fixed_s)                                                                          \
    one(of, f64, each_s)                                                                           \
    one(of, f64, update_s)                                                                         \
    one(of, f64, fixed_error_s)                                                                    \
    one(of, f64, each_error_s)                                                                     \
    one(of, f64, noise)                                                                            \
    one(of, i32, samples)                                                                          \
    one(of, i32, outliers)                                                                         \
    many(of, text, doubt, WIRE_DOUBT_BYTES)

// What a node tells at the end of its part of a step.
#define WIRE_REPORT(of, one, many)                                                                 \
    one(of, i32, status)                                                                           \
    one(of, flag, stop)                                                                            \
    one(of, f64, loss_sum)                                                                         \
    one(of, i64, correct)                                                                          \
    one(of, i64, count)                                                                            \
    one(of, i32, micro_batches)                                                                    \
    one(of, i64, step)                 /* from here on struct hypertune_report */                  \
    one(of, i32, judged)               /* its micro_batches */                                     \
    one(of, f64, compute_s)                                                                        \
    one(of, f64, wait_s)                                                                           \
    one(of, f64, io_s)                                                                             \
    one(of, f64, cpu_s)                                                                            \
    one(of, f64, queue_s)                                                                          \
    one(of, f64, throttled_s)                                                                      \
    one(of, f64, share_cpu_s)                                                                      \
    one(of, f64, clock_s)

// What node 0 answers to all; [nodes] i32 of a split follow.
#define WIRE_VERDICT(of, one, many)                                                                \
    one(of, i32, status)                                                                           \
    one(of, i32, failed)                                                                           \
    one(of, flag, stop)                                                                            \
    one(of, f64, loss_sum)                                                                         \
    one(of, i64, correct)                                                                          \
    one(of, i64, count)                                                                            \
    one(of, flag, moved)                                                                           \
    one(of, flag, end_epoch)                                                                       \
    one(of, i32, batch)                                                                            \
    one(of, f64, lr)

// How far a node is within a step.
#define WIRE_MARK(of, one, many)                                                                   \
    one(of, i32, planned)                                                                          \
    one(of, i32, kept)                                                                             \
    one(of, i32, done)                                                                             \
    one(of, f64, seconds)

// What node 0 makes of all marks; [nodes] i32, the micro-batches of the step, follow.
#define WIRE_TRADE(of, one, many)                                                                  \
    one(of, i32, rest)                 /* no node trades in so many steps to come */

// What a node did in the whole run.
#define WIRE_TOTALS(of, one, many)                                                                 \
    one(of, i32, threads)                                                                          \
    one(of, f64, cpus)                                                                             \
    one(of, i64, images)                                                                           \
    one(of, i64, private_images)                                                                   \
    one(of, i64, public_images)                                                                    \
    one(of, i64, skipped)                                                                          \
    one(of, f64, compute_seconds)                                                                  \
    one(of, f64, wait_seconds)                                                                     \
    one(of, f64, exchange_seconds)                                                                 \
    one(of, f64, exposed_seconds)                                                                  \
    one(of, f64, exposed_median_seconds)                                                           \
    one(of, f64, exposed_p90_seconds)                                                              \
    one(of, i64, gradient_bytes)                                                                   \
    one(of, i64, statistic_bytes)                                                                  \
    one(of, i64, control_bytes)

// A node's power: where it is known from, its watts, and its energy so far.
#define WIRE_POWER(of, one, many)                                                                  \
    one(of, i32, source)               /* enum energy_source */                                    \
    one(of, i32, scope)                /* enum energy_scope */                                     \
    one(of, f64, base_w)               /* busy_w 0: not known */                                   \
    one(of, f64, idle_w)                                                                           \
    one(of, f64, busy_w)                                                                           \
    one(of, flag, can_off)                                                                         \
    one(of, f64, rest_w)               /* before the first step; not a number: not known */        \
    one(of, f64, joules)                                                                           \
    one(of, f64, known_s)                                                                          \
    one(of, f64, gap_s)                                                                            \
    one(of, i32, gaps)                                                                             \
    one(of, i64, samples)

// ---- tuning (tune, train) ----------------------------------------------------------------------

// How far a node's measuring is, after each round.
#define WIRE_ROUND(of, one, many)                                                                  \
    one(of, flag, failed)                                                                          \
    one(of, flag, done)                                                                            \
    one(of, flag, sure)                                                                            \
    one(of, flag, stop)                                                                            \
    one(of, i32, samples)                                                                          \
    one(of, f64, fixed_s)                                                                          \
    one(of, f64, each_s)                                                                           \
    one(of, f64, longest_s)            /* its longest sample */

// What a node saw of exchanges, and of steps with the others.
#define WIRE_REDUCTION(of, one, many)                                                              \
    many(of, f64, exchange_s, WIRE_EXCHANGES)                                                      \
    many(of, f64, compute_s, WIRE_STEPS_MAX)                                                       \
    many(of, f64, wall_s, WIRE_STEPS_MAX)

// Sizes of a micro-batch that a node tried, and how fast it was with each.
#define WIRE_TRIALS(of, one, many)                                                                 \
    one(of, i32, count)                                                                            \
    one(of, i32, best)                                                                             \
    many(of, i32, micro_batch, WIRE_TRIALS_MAX)                                                    \
    many(of, f64, images_per_second, WIRE_TRIALS_MAX)

// How long the steps take that the exchange is tried with.
#define WIRE_TRIAL_STEP(of, one, many)                                                             \
    one(of, f64, seconds)

// The batch of node 0's plan; [nodes] i32 of its split follow.
#define WIRE_BATCH(of, one, many)                                                                  \
    one(of, i32, batch)

// ---- all of them -------------------------------------------------------------------------------

#define WIRE_MESSAGES(row)                                                                         \
    row(HELLO, hello)                                                                              \
    row(SIGN, sign)                                                                                \
    row(INVITATION, invitation)                                                                    \
    row(KNOCK, knock)                                                                              \
    row(ANSWER, answer)                                                                            \
    row(WITNESS, witness)                                                                          \
    row(SCALE, scale)                                                                              \
    row(STATUS, status)                                                                            \
    row(LENGTH, length)                                                                            \
    row(IDENTITY, identity)                                                                        \
    row(PROFILE, profile)                                                                          \
    row(REPORT, report)                                                                            \
    row(VERDICT, verdict)                                                                          \
    row(MARK, mark)                                                                                \
    row(TRADE, trade)                                                                              \
    row(TOTALS, totals)                                                                            \
    row(POWER, power)                                                                              \
    row(ROUND, round)                                                                              \
    row(REDUCTION, reduction)                                                                      \
    row(TRIALS, trials)                                                                            \
    row(TRIAL_STEP, trial_step)                                                                    \
    row(BATCH, batch)

// Beside them, arrays of numbers travel as they lie in memory: too many to be copied.
#define WIRE_ARRAYS(row)                                                                           \
    row(weights, float32)                                                                          \
    row(gradients, float32)                                                                        \
    row(gradients_half, float16)                                                                   \
    row(gradients_exact, float64)                                                                  \
    row(statistics, float32)                                                                       \
    row(class_counts, int64)

// clang-format on

#endif
