// SPDX-License-Identifier: Apache-2.0
// Every setting, a row each. The struct of settings (settings.h) and the table (table.c) are made
// of these rows, and of the table everything else: the command line's options and help, limits,
// what a checkpoint remembers, what nodes must have in common, man pages and completion.
//
//     SETTING(C type, field, KIND, "name", VERBS, GROUP, "help", properties…)
//     AGAIN(field, KIND, "name", VERBS, GROUP, "help", properties…)   the field for other verbs
//
// Properties: INITIAL(text) is the default; VALUE(text) stands for the value in help; LIMITS(a, b),
// AT_LEAST(a), and BELOW(a, b), which is without b; OF(words) are a choice's; USUAL rows are in the
// short help; PROGRAM rows are the command line's alone. ALIKE: all nodes must have the same.
//
// A resumed training that is given another value than its checkpoint's refuses it (FIXED), takes it
// (FREE), or cannot be given one (KEPT); their argument is the key in the checkpoint.
//
// Without an INITIAL nothing is chosen until the user does or the code that knows: the field is 0,
// NULL, not a number (REAL) or -1 (CHOICE). Rows of a group stand together, the groups in the order
// of help. There is no include guard: the file is included with several meanings of SETTING.
// clang-format off
#define TRAINING (STN_VERB_TRAIN | STN_VERB_TUNE)
#define COMPUTES (TRAINING | STN_VERB_EVAL | STN_VERB_PREDICT | STN_VERB_BENCH)

// ---- what is trained ---------------------------------------------------------------------------

SETTING(const char *, net, TEXT, "net",
        TRAINING | STN_VERB_BENCH | STN_VERB_SIM | STN_VERB_SIZE, DATA,
        "the network; \"stannis models\" lists them",
        VALUE("NAME"), USUAL, FIXED("net"), ALIKE)
SETTING(const char *, data, TEXT, "data", TRAINING, DATA,
        "synthetic[:COUNT], fashion-mnist, idx:DIR, cifar10:DIR or folder:DIR; a folder has "
        "train/CLASS/*.jpg|png and val/…; tune: synthetic pictures by default",
        VALUE("SPEC"), USUAL, FREE("data"))
AGAIN(data, TEXT, "data", STN_VERB_EVAL, DATA,
        "what to evaluate on; by default what it was trained with", VALUE("SPEC"), USUAL)
SETTING(enum stn_subset, subset, CHOICE, "split", STN_VERB_EVAL, DATA,
        "which part of the data", OF(settings_subset_names), INITIAL("val"), USUAL)
SETTING(int, classes, INT, "classes", TRAINING, DATA,
        "classes of synthetic data; 10 by default",
        VALUE("N"), LIMITS(2, 100000), FREE("data_classes"), ALIKE)
AGAIN(classes, INT, "classes", STN_VERB_BENCH | STN_VERB_MODELS | STN_VERB_SIM,
        DATA, "classes to tell apart",
        VALUE("N"), LIMITS(2, 100000), INITIAL("1000"))
SETTING(int, channels, INT, "channels", STN_VERB_BENCH | STN_VERB_MODELS, DATA,
        "1 (grey) or 3", VALUE("N"), LIMITS(1, 3), INITIAL("3"))
SETTING(int, image_size, INT, "image-size",
        TRAINING | STN_VERB_BENCH | STN_VERB_MODELS | STN_VERB_SIM, DATA,
        "edge of the images in pixels; by default the data's own, without data the network's",
        VALUE("N"), LIMITS(STN_IMAGE_SIZE_MIN, STN_IMAGE_SIZE_MAX), USUAL,
        FIXED("image_size"), ALIKE)
SETTING(enum settings_augment, augment, CHOICE, "augment", TRAINING, DATA,
        "random changes of training images",
        OF(settings_augment_names), INITIAL("full"), FREE("augment"), ALIKE)
SETTING(bool, skip_bad, FLAG, "skip-bad", STN_VERB_TRAIN | STN_VERB_EVAL, DATA,
        "leave out images that cannot be read, and count them", INITIAL("off"),
        FREE("skip_bad"), ALIKE)

// ---- how long ----------------------------------------------------------------------------------

SETTING(int, epochs, INT, "epochs", STN_VERB_TRAIN, STEPS,
        "passes over the data", VALUE("N"), LIMITS(1, 1000000), INITIAL("10"), USUAL,
        FREE("epochs"), ALIKE)
AGAIN(epochs, INT, "epochs", STN_VERB_SIM, STEPS,
        "epochs", VALUE("N"), LIMITS(1, 1000000), INITIAL("1"))
SETTING(int64_t, steps, INT64, "steps", STN_VERB_TRAIN | STN_VERB_SIM, STEPS,
        "end after N steps if that comes first; by default no limit (0)",
        VALUE("N"), AT_LEAST(0), INITIAL("0"), ALIKE)
AGAIN(steps, INT64, "steps", STN_VERB_BENCH, STEPS,
        "steps that are timed", VALUE("N"), LIMITS(1, 1000000), INITIAL("10"), USUAL)
SETTING(int, warmup_steps, INT, "warmup-steps", STN_VERB_BENCH, STEPS,
        "steps before them that are not", VALUE("N"), LIMITS(0, 1000000), INITIAL("2"))
SETTING(int64_t, samples, INT64, "samples", STN_VERB_SIM, STEPS,
        "public samples of an epoch", VALUE("N"), LIMITS(0, 1e12), INITIAL("60000"))
SETTING(int, batch, AUTO, "batch", TRAINING, STEPS,
        "images a step; by default 128, or what `split` or `plan` says; auto: the smallest at "
        "which the nodes are efficient, with `lr` scaled from 128 to it",
        VALUE("N"), LIMITS(1, 1000000), USUAL, FIXED("batch"), ALIKE)
AGAIN(batch, INT, "batch", STN_VERB_BENCH, STEPS,
        "images a step; by default two micro-batches", VALUE("N"), LIMITS(1, 1000000), USUAL)
AGAIN(batch, INT, "batch", STN_VERB_SIM, STEPS,
        "images a step; by default the policy's choice", VALUE("N"), LIMITS(1, INT_MAX), USUAL)
AGAIN(batch, INT, "batch", STN_VERB_SIZE, STEPS,
        "images a step; by default as many as pay", VALUE("N"), LIMITS(1, 1000000), USUAL)
SETTING(int, micro_batch, AUTO, "micro-batch", TRAINING, STEPS,
        "images computed at once; memory and BatchNorm depend on it; by default the network's (on "
        "several nodes and without BatchNorm less, so that all get some); auto: the fastest that "
        "fits all nodes, measured first",
        VALUE("N"), LIMITS(1, 4096), FIXED("micro_batch"), ALIKE)
AGAIN(micro_batch, AUTO, "micro-batch", STN_VERB_BENCH, STEPS,
        "images computed at once; by default the network's; auto: the fastest of 4, 8, 16 and 32",
        VALUE("N"), LIMITS(1, 4096))
AGAIN(micro_batch, INT, "micro-batch",
        STN_VERB_EVAL | STN_VERB_MODELS | STN_VERB_SIM | STN_VERB_SIZE,
        STEPS, "images computed at once; by default the network's",
        VALUE("N"), LIMITS(1, 4096))
SETTING(uint64_t, seed, SEED, "seed", STN_VERB_TRAIN, STEPS,
        "start of all randomness", VALUE("N"), INITIAL("1"), FIXED("seed"), ALIKE)
SETTING(uint64_t, data_seed, SEED, "data-seed", 0, STEPS,
        "of synthetic data; the seed that the training began with", KEPT("data_seed"), ALIKE)
AGAIN(seed, SEED, "seed", STN_VERB_SIM, STEPS,
        "of the noise; the same seed gives the same run", VALUE("N"), INITIAL("0"))

// ---- learning ----------------------------------------------------------------------------------

SETTING(double, lr, REAL, "lr", STN_VERB_TRAIN, LEARNING,
        "learning rate after warm-up; by default 0.02, with `optimizer` adamw 0.001",
        VALUE("X"), AT_LEAST(0), USUAL, FREE("lr"), ALIKE)
SETTING(enum settings_optimizer, optimizer, CHOICE, "optimizer", TRAINING | STN_VERB_BENCH,
        LEARNING, "how weights follow the gradient", OF(settings_optimizer_names), INITIAL("sgd"),
        FIXED("optimizer"), ALIKE)
SETTING(double, momentum, REAL, "momentum", STN_VERB_TRAIN, LEARNING,
        "momentum of SGD, first beta of AdamW", VALUE("X"), BELOW(0, 1), INITIAL("0.9"),
        FREE("momentum"), ALIKE)
SETTING(double, beta2, REAL, "beta2", STN_VERB_TRAIN, LEARNING,
        "second beta of AdamW", VALUE("X"), BELOW(0, 1), INITIAL("0.999"), FREE("beta2"), ALIKE)
SETTING(double, epsilon, REAL, "epsilon", STN_VERB_TRAIN, LEARNING,
        "AdamW: what keeps it from dividing by 0",
        VALUE("X"), LIMITS(1e-30, 1), INITIAL("1e-08"), FREE("epsilon"), ALIKE)
SETTING(bool, nesterov, FLAG, "nesterov", STN_VERB_TRAIN, LEARNING,
        "Nesterov's momentum", INITIAL("off"), FREE("nesterov"), ALIKE)
SETTING(double, weight_decay, REAL, "weight-decay", STN_VERB_TRAIN, LEARNING,
        "of weights (not of BatchNorm and biases)",
        VALUE("X"), LIMITS(0, 1), INITIAL("0.0005"), FREE("weight_decay"), ALIKE)
SETTING(double, warmup_epochs, REAL, "warmup-epochs", STN_VERB_TRAIN, LEARNING,
        "linear warm-up", VALUE("X"), LIMITS(0, 1000000), INITIAL("0.5"),
        FREE("warmup_epochs"), ALIKE)
SETTING(enum settings_schedule, schedule, CHOICE, "schedule", STN_VERB_TRAIN, LEARNING,
        "how the learning rate falls",
        OF(settings_schedule_names), INITIAL("cosine"), FREE("schedule"), ALIKE)
SETTING(double, lr_step_epochs, REAL, "lr-step-epochs", STN_VERB_TRAIN, LEARNING,
        "schedule step: epochs between two falls",
        VALUE("X"), LIMITS(0, 1000000), INITIAL("3"), FREE("lr_step_epochs"), ALIKE)
SETTING(double, lr_gamma, REAL, "lr-gamma", STN_VERB_TRAIN, LEARNING,
        "schedule step: factor of a fall",
        VALUE("X"), LIMITS(0, 1), INITIAL("0.1"), FREE("lr_gamma"), ALIKE)
SETTING(double, label_smoothing, REAL, "label-smoothing", STN_VERB_TRAIN, LEARNING,
        "share of the target spread over all classes",
        VALUE("X"), BELOW(0, 1), INITIAL("0"), FREE("label_smoothing"), ALIKE)

// ---- the machine -------------------------------------------------------------------------------

SETTING(int, threads, INT, "threads", COMPUTES, MACHINE,
        "threads that compute; by default from CPU affinity and cgroup quota",
        VALUE("N"), LIMITS(1, 1024), USUAL)
SETTING(int, loader_threads, INT, "loader-threads", STN_VERB_TRAIN | STN_VERB_EVAL, MACHINE,
        "threads that read and decode images; chosen by default", VALUE("N"), LIMITS(1, 1024))
SETTING(size_t, memory, BYTES, "memory", TRAINING | STN_VERB_BENCH, MACHINE,
        "refuse what does not fit, as 512M or 2G; by default the cgroup's limit or all there is",
        VALUE("SIZE"))
SETTING(const char *, backend, TEXT, "backend", COMPUTES, MACHINE,
        "onednn, native or reference; by default the best one built in", VALUE("NAME"))

// ---- several nodes -----------------------------------------------------------------------------

SETTING(const char *, power, TEXT, "power", TRAINING, NODES,
        "where a node's power is known from: auto, powercap, hwmon[:CHIP], ipmi, "
        "csv:FILE[@SECONDS], cmd:PROGRAM, model:DEVICE or none, but what `cluster` says of it; by "
        "default auto, and without two seconds in which machines are looked at before they compute",
        VALUE("SPEC"))
AGAIN(power, TEXT, "power", STN_VERB_POWER, NODES,
        "a meter: auto, powercap, hwmon[:CHIP], ipmi, csv:FILE[@SECONDS] or cmd:PROGRAM; by "
        "default all that need no argument", VALUE("SPEC"), USUAL)
SETTING(const char *, devices, TEXT, "devices", TRAINING, NODES,
        "`power` model: a YAML file of device profiles besides those built in", VALUE("FILE"))
SETTING(double, watch, REAL, "watch", STN_VERB_POWER, NODES,
        "read them for so long", VALUE("SECONDS"), LIMITS(0, 3600), INITIAL("1"), USUAL, PROGRAM)
SETTING(const char *, emulate, TEXT, "emulate", TRAINING, NODES,
        "nodes of this machine with that many CPUs each, as host=1.0,csd*3=0.25",
        VALUE("NODES"), USUAL, PROGRAM)
SETTING(const char *, hosts, TEXT, "hosts", TRAINING, NODES,
        "start on these hosts over ssh, as server:1,csd1,csd2 (HOST:NODES)",
        VALUE("LIST"), USUAL, PROGRAM)
SETTING(const char *, cluster, TEXT, "cluster", TRAINING, NODES,
        "a YAML file of nodes: name, host, threads, cpus, memory, max_batch, private, power",
        VALUE("FILE"), USUAL)
SETTING(const char *, cluster_text, TEXT, "cluster-text", 0, NODES,
        "what such a file would say", VALUE("YAML"))
SETTING(const char *, split, TEXT, "split", STN_VERB_TRAIN, NODES,
        "micro-batches of a step for each node, as 12,4,4,4; by default as the policy says. "
        "Several splits, with ';' between, take turns", VALUE("LIST"), ALIKE)
SETTING(const char *, plan, TEXT, "plan", STN_VERB_TRAIN, NODES,
        "speeds and split from a plan that \"stannis tune\" wrote; by default nodes are measured "
        "first", VALUE("FILE"), USUAL)
SETTING(bool, cache, FLAG, "cache", STN_VERB_TUNE, NODES,
        "if the plan of `out` has measurements of this network on these nodes, plan from them "
        "instead of measuring again", INITIAL("off"))
SETTING(bool, tune, FLAG, "tune", STN_VERB_TRAIN, NODES,
        "measure several nodes before the first step; if not, their speeds are guessed from their "
        "CPUs", INITIAL("on"))
SETTING(bool, tune_always, FLAG, "tune-always", 0, NODES,
        "measure one node, too", INITIAL("off"))
SETTING(double, tune_seconds, REAL, "tune-seconds", TRAINING, NODES,
        "what measuring a node should take; disturbed ones take up to seven times as long",
        VALUE("X"), LIMITS(0.01, 3600), INITIAL("3"))
SETTING(enum stn_policy, policy, CHOICE, "policy", TRAINING, NODES,
        "who computes how much of a step; by default balanced, or what `plan` says; balanced and "
        "hypertune move work while training, unless there is a `split`",
        OF(settings_policy_names), ALIKE)
AGAIN(policy, CHOICE, "policy", STN_VERB_SIM | STN_VERB_SIZE, NODES,
        "who computes how much", OF(settings_policy_names), INITIAL("balanced"), USUAL)
SETTING(const char *, objective, TEXT, "objective", TRAINING | STN_VERB_SIM | STN_VERB_SIZE, NODES,
        "what `policy` balanced or static plans for: time (the default), energy, edp (energy times "
        "delay), or a weight of energy against time from 0 to 1; needs the watts of all nodes",
        VALUE("WHAT"), ALIKE)
SETTING(double, min_speed, REAL, "min-speed", TRAINING | STN_VERB_SIM | STN_VERB_SIZE, NODES,
        "with `objective`: images a second that a plan must reach (0: any)",
        VALUE("X"), LIMITS(0, 1e9), INITIAL("0"), ALIKE)
SETTING(double, efficiency, REAL, "efficiency", TRAINING, NODES,
        "`batch` auto: of the sum of the nodes' speeds",
        VALUE("X"), BELOW(0.01, 1), INITIAL("0.95"))
SETTING(double, adjust, REAL, "adjust", TRAINING, NODES,
        "`policy` stannis: C of Algorithm 1, the larger the finer its steps; by default twice the "
        "slowest node's step time (0)", VALUE("SECONDS"), LIMITS(0, 1e6), INITIAL("0"))
SETTING(double, margin, REAL, "margin", TRAINING, NODES,
        "`policy` stannis: E of Algorithm 1: others may take 1/E longer than the slowest node",
        VALUE("X"), LIMITS(0.1, 1000), INITIAL("5"))
SETTING(const char *, private_dirs, TEXT, "private", TRAINING, NODES,
        "NODE=DIR[,NODE=DIR…]: class folders that only this node reads; nothing of them is sent",
        VALUE("LIST"))
SETTING(enum settings_fill, fill, CHOICE, "fill", STN_VERB_TRAIN, NODES,
        "where private sets differ in size: more public data for nodes with less, or repeat theirs",
        OF(settings_fill_names), INITIAL("public"), ALIKE)
SETTING(const char *, class_list, TEXT, "class-list", STN_VERB_TRAIN, NODES,
        "names of all classes, one a line, where the public data do not have them all",
        VALUE("FILE"))
SETTING(enum settings_wire, wire, CHOICE, "wire", STN_VERB_TRAIN, NODES,
        "how gradients travel; they are added up in fp32",
        OF(settings_wire_names), INITIAL("fp32"), ALIKE)
AGAIN(wire, CHOICE, "wire", STN_VERB_SIM, NODES,
        "how gradients travel", OF(settings_wire_names), INITIAL("fp32"))
SETTING(bool, exact, FLAG, "exact", STN_VERB_TRAIN, NODES,
        "add up micro-batches so that weights do not depend on the split; if not (as `wire` fp16), "
        "8 bytes a parameter are saved, and weights depend on it in their last bits, soon in more",
        INITIAL("on"), ALIKE)
SETTING(bool, overlap, FLAG, "overlap", STN_VERB_TRAIN, NODES,
        "send gradients while others are still computed; if not, once all are, to see what sending "
        "them earlier hides", INITIAL("on"), ALIKE)
SETTING(double, sim_overlap, REAL, "overlap", STN_VERB_SIM, NODES,
        "of the last micro-batch's time during which gradients leave",
        VALUE("PART"), LIMITS(0, 1), INITIAL("0.5"))
SETTING(double, overhead, REAL, "overhead", STN_VERB_SIM, NODES,
        "of every step on all nodes: optimizer, statistics, barrier",
        VALUE("SECONDS"), LIMITS(0, 1e6), INITIAL("0"))
SETTING(bool, trade, FLAG, "trade", STN_VERB_TRAIN, NODES,
        "nodes that are late in a step give some of it to those that are early (`policy` "
        "balanced); "
        "if not, each computes what the split gave it", INITIAL("on"), ALIKE)
SETTING(double, timeout, REAL, "timeout", TRAINING, NODES,
        "a node that is silent for so long is lost, and the run ends",
        VALUE("SECONDS"), LIMITS(1, 86400), INITIAL("30"))
AGAIN(timeout, REAL, "timeout", STN_VERB_SIM, NODES,
        "until a lost node is noticed", VALUE("SECONDS"), LIMITS(0, 1e6), INITIAL("30"))
SETTING(const char *, interfere, TEXT, "interfere", STN_VERB_TRAIN, NODES,
        "NODE@FROM-TO:LOAD[,…]: from step FROM to step TO other programs run in this node's share, "
        "gzip*K or busy*K of them. Beside T computing threads K take K/(K+T) of a confined share: "
        "with one thread busy*1 takes a half, busy*3 three quarters", VALUE("LIST"))
SETTING(const char *, ssh, TEXT, "ssh", TRAINING, NODES,
        "what reaches other hosts instead of ssh", VALUE("COMMAND"), PROGRAM)
SETTING(bool, dry_run, FLAG, "dry-run", TRAINING, NODES,
        "print the mpirun line and do nothing", INITIAL("off"), PROGRAM)
SETTING(bool, raw, FLAG, "raw", STN_VERB_EMULATE, NODES,
        "output as it is; if not, each line begins with the name of its node",
        INITIAL("off"), USUAL, PROGRAM)

// ---- HyperTune: the defaults are those of hypertune/, and a test says so -----------------------

SETTING(double, evidence, REAL, "evidence", STN_VERB_TRAIN, HYPERTUNE,
        "balanced: deviations of a node's noise that say its speed changed",
        VALUE("X"), LIMITS(1, 1000), INITIAL("5"))
SETTING(double, noise, REAL, "noise", STN_VERB_TRAIN, HYPERTUNE,
        "balanced: noise of step times that every node is granted",
        VALUE("X"), BELOW(1e-6, 1), INITIAL("0.01"))
SETTING(double, move_cost, REAL, "move-cost", STN_VERB_TRAIN, HYPERTUNE,
        "balanced: what moving work costs; the gain must be more",
        VALUE("STEPS"), LIMITS(0, 1000000), INITIAL("1"))
SETTING(double, move_certainty, REAL, "move-certainty", STN_VERB_TRAIN, HYPERTUNE,
        "balanced: standard errors of the gain that it must exceed",
        VALUE("X"), LIMITS(0, 1000), INITIAL("3"))
SETTING(double, move_gain, REAL, "move-gain", STN_VERB_TRAIN, HYPERTUNE,
        "balanced: part of a step that it must exceed while speeds only drift; by default 0.05, "
        "and 0.03 where nodes do not `trade`",
        VALUE("X"), BELOW(0, 1))
SETTING(double, move_horizon, REAL, "move-horizon", STN_VERB_TRAIN, HYPERTUNE,
        "balanced: the gain counts over so many steps at most",
        VALUE("STEPS"), LIMITS(1, 1000000), INITIAL("50"))
SETTING(int64_t, probe_steps, INT64, "probe-steps", STN_VERB_TRAIN, HYPERTUNE,
        "balanced: a node without work is tried after N steps, then 2N, …",
        VALUE("N"), AT_LEAST(1), INITIAL("4"))
SETTING(double, probe_budget, REAL, "probe-budget", STN_VERB_TRAIN, HYPERTUNE,
        "balanced: part of the run's time that trials may cost",
        VALUE("X"), LIMITS(1e-6, 1), INITIAL("0.05"))
SETTING(enum settings_rebatch, rebatch, CHOICE, "rebatch", STN_VERB_TRAIN, HYPERTUNE,
        "hypertune: how a slow node's new batch is found",
        OF(settings_rebatch_names), INITIAL("interpolate"))
SETTING(enum settings_lr_scale, lr_scale, CHOICE, "lr-scale", STN_VERB_TRAIN, HYPERTUNE,
        "hypertune: does the learning rate follow the global batch",
        OF(settings_lr_scale_names), INITIAL("none"))
SETTING(double, decline_weight, REAL, "decline-weight", STN_VERB_TRAIN, HYPERTUNE,
        "hypertune: w of the decline index", VALUE("X"), LIMITS(0, 1), INITIAL("0.8"))
SETTING(double, decline_margin, REAL, "decline-margin", STN_VERB_TRAIN, HYPERTUNE,
        "hypertune: a step with a larger index is flagged",
        VALUE("X"), LIMITS(0, 1), INITIAL("0.2"))
SETTING(int, decline_steps, INT, "decline-steps", STN_VERB_TRAIN, HYPERTUNE,
        "hypertune: so many flags in a row end the epoch",
        VALUE("N"), LIMITS(1, 1000), INITIAL("5"))
SETTING(double, batch_range, REAL, "batch-range", STN_VERB_TRAIN, HYPERTUNE,
        "hypertune: by what part of the first a node's batch may change",
        VALUE("X"), LIMITS(0, 0.99), INITIAL("0.5"))

// ---- a virtual cluster -------------------------------------------------------------------------

AGAIN(cluster, TEXT, "cluster", STN_VERB_SIM, VIRTUAL,
        "nodes in YAML, as for train; and their devices or speeds, links, loads", VALUE("FILE"),
        USUAL)
AGAIN(emulate, TEXT, "emulate", STN_VERB_SIM, VIRTUAL,
        "or shares of one device, as host=1,csd*3=0.25", VALUE("SPEC"), USUAL, PROGRAM)
SETTING(const char *, device, TEXT, "device", STN_VERB_SIM, VIRTUAL,
        "which device, with `emulate`; with `cluster`, of nodes that say none",
        VALUE("NAME"), USUAL)
SETTING(const char *, paper, TEXT, "paper", STN_VERB_SIM, VIRTUAL,
        "or a paper's experiments, beside what it reports: stannis or hypertune",
        VALUE("NAME"), USUAL)
SETTING(const char *, host, TEXT, "host", STN_VERB_SIZE, VIRTUAL,
        "the host", VALUE("DEVICE"), USUAL)
SETTING(const char *, csd, TEXT, "csd", STN_VERB_SIZE, VIRTUAL,
        "the CSDs in it", VALUE("DEVICE"), USUAL)
SETTING(const char *, count, TEXT, "count", STN_VERB_SIZE, VIRTUAL,
        "how many of them, as 0..36 or 24", VALUE("FROM..TO"), USUAL)
SETTING(double, knee, REAL, "knee", STN_VERB_SIZE, VIRTUAL,
        "name the number from which on a CSD adds less speed",
        VALUE("PERCENT"), LIMITS(0, 100), INITIAL("2"))
AGAIN(devices, TEXT, "devices", STN_VERB_SIM | STN_VERB_SIZE, VIRTUAL,
        "a YAML file of device profiles besides those built in", VALUE("FILE"), USUAL)
SETTING(double, sim_noise, REAL, "noise", STN_VERB_SIM, VIRTUAL,
        "relative noise of step times, of nodes that do not say",
        VALUE("PART"), LIMITS(0, 1), INITIAL("0"))
AGAIN(interfere, TEXT, "interfere", STN_VERB_SIM, DISTURBED,
        "NODE@FROM-TO:LOAD[,…]: steps, and 75% of its processor, 4x as slow, or busy*3",
        VALUE("SPEC"), USUAL)
SETTING(const char *, trace, TEXT, "trace", STN_VERB_SIM, DISTURBED,
        "slowdowns as recorded: CSV of step,node,slowdown, or the events of a real run",
        VALUE("FILE"))
SETTING(int, on_failure, CHOICE, "on-failure", STN_VERB_SIM, DISTURBED,
        "when a node fails: the run stops, or resumes from its checkpoint without it",
        OF(settings_failure_names), INITIAL("stop"))
SETTING(double, restart, REAL, "restart", STN_VERB_SIM, DISTURBED,
        "from noticing it until the others compute again",
        VALUE("SECONDS"), LIMITS(0, 1e6), INITIAL("0"))

// ---- software CSDs -----------------------------------------------------------------------------

SETTING(int, device_count, INT, "count", STN_VERB_CSD_CREATE, DEVICES,
        "devices", VALUE("N"), LIMITS(1, 256), INITIAL("1"), USUAL, PROGRAM)
SETTING(const char *, flash, TEXT, "profile", STN_VERB_CSD_CREATE, DEVICES,
        "what flash they are made of: newport (the default), laguna, tiny, or a file as "
        "share/devices/csd has", VALUE("NAME"), USUAL, PROGRAM)
SETTING(size_t, device_size, BYTES, "size", STN_VERB_CSD_CREATE, DEVICES,
        "what each device offers, as 4G (the default)", VALUE("SIZE"), USUAL, PROGRAM)
SETTING(int, ecc, CHOICE, "ecc", STN_VERB_CSD_CREATE, DEVICES,
        "bch corrects bit errors; crc models none and is faster; by default the profile's",
        OF(settings_ecc_names), PROGRAM)
SETTING(int, flash_timing, CHOICE, "timing", STN_VERB_CSD_CREATE, DEVICES,
        "how long real flash would take: off, counted in stat, or enforced",
        OF(settings_flash_timing_names), INITIAL("counted"), PROGRAM)
SETTING(double, over_provisioning, REAL, "over-provisioning", STN_VERB_CSD_CREATE, DEVICES,
        "more flash than is offered, as 0.28; by default the profile's",
        VALUE("PART"), LIMITS(0.02, 4), PROGRAM)
SETTING(int, endurance, INT, "endurance", STN_VERB_CSD_CREATE, DEVICES,
        "erases that a block lasts; by default the profile's",
        VALUE("N"), LIMITS(1, 1000000), PROGRAM)
SETTING(double, seconds, REAL, "seconds", STN_VERB_CSD_BENCH, DEVICES,
        "that each row is measured for",
        VALUE("S"), LIMITS(0.01, 3600), INITIAL("0.5"), USUAL, PROGRAM)
AGAIN(device_size, BYTES, "size", STN_VERB_CSD_BENCH, DEVICES,
        "of the namespace that is made for it; by default 1G, or what is free",
        VALUE("SIZE"), USUAL, PROGRAM)
AGAIN(seed, SEED, "seed", STN_VERB_CSD_BENCH, DEVICES,
        "of the random places", VALUE("N"), INITIAL("1"), PROGRAM)
SETTING(const char *, namespace_made, TEXT, "namespace", STN_VERB_CSD_FORMAT, DEVICES,
        "make a namespace", VALUE("NAME"), USUAL, PROGRAM)
SETTING(const char *, namespace_deleted, TEXT, "delete", STN_VERB_CSD_FORMAT, DEVICES,
        "delete one: its key is overwritten, its data is gone", VALUE("NAME"), USUAL, PROGRAM)
SETTING(const char *, protect, TEXT, "protect", STN_VERB_CSD_FORMAT, DEVICES,
        "let nobody write to one any more", VALUE("NAME"), USUAL, PROGRAM)
SETTING(const char *, unprotect, TEXT, "unprotect", STN_VERB_CSD_FORMAT, DEVICES,
        "take that back", VALUE("NAME"), USUAL, PROGRAM)
SETTING(bool, list, FLAG, "list", STN_VERB_CSD_FORMAT, DEVICES,
        "list them", INITIAL("off"), USUAL, PROGRAM)
AGAIN(device_size, BYTES, "size", STN_VERB_CSD_FORMAT, NAMESPACES,
        "its size as 1G; by default all that is free", VALUE("SIZE"), USUAL, PROGRAM)
SETTING(bool, public_data, FLAG, "public", STN_VERB_CSD_FORMAT, NAMESPACES,
        "for the host and the in-storage engine", INITIAL("off"), USUAL, PROGRAM)
SETTING(bool, private_data, FLAG, "private", STN_VERB_CSD_FORMAT, NAMESPACES,
        "for the in-storage engine alone: the host can never read it",
        INITIAL("off"), USUAL, PROGRAM)
SETTING(const char *, socket, TEXT, "socket", STN_VERB_CSD_NBD, DEVICES,
        "the unix socket to serve at; it is made", VALUE("FILE"), USUAL, PROGRAM)
SETTING(bool, read_only, FLAG, "read-only", STN_VERB_CSD_NBD, DEVICES,
        "let clients read only", INITIAL("off"), USUAL, PROGRAM)

// ---- files -------------------------------------------------------------------------------------

SETTING(const char *, checkpoint, TEXT, "checkpoint", STN_VERB_EVAL | STN_VERB_PREDICT, FILES,
        "a checkpoint of stannis train", VALUE("FILE"), USUAL)
SETTING(const char *, out, TEXT, "out", STN_VERB_TRAIN, FILES,
        "for last.safetensors, best.safetensors and report.json; by default the folder run",
        VALUE("DIR"), USUAL)
AGAIN(out, TEXT, "out", STN_VERB_TUNE, FILES,
        "the plan, for stannis train with `plan`", VALUE("FILE"), USUAL, PROGRAM)
SETTING(const char *, resume, TEXT, "resume", STN_VERB_TRAIN, FILES,
        "continue from a checkpoint, with its settings, in its folder; \"last\" is "
        "DIR/last.safetensors", VALUE("FILE"), USUAL)
SETTING(bool, overwrite, FLAG, "overwrite", STN_VERB_TRAIN, FILES,
        "start anew although DIR already holds a training", INITIAL("off"), USUAL, PROGRAM)
SETTING(int64_t, checkpoint_steps, INT64, "checkpoint-steps", STN_VERB_TRAIN, FILES,
        "save last.safetensors every N steps too; by default at the end of each epoch only (0)",
        VALUE("N"), AT_LEAST(0), INITIAL("0"), ALIKE)
AGAIN(checkpoint_steps, INT64, "checkpoint-steps", STN_VERB_SIM, FILES,
        "steps between checkpoints, besides those after epochs (0: none)",
        VALUE("N"), AT_LEAST(0), INITIAL("0"))
SETTING(const char *, audit, TEXT, "audit", STN_VERB_TRAIN, FILES,
        "each node writes DIR/NODE.csv on its own disk: which samples it trained with, and when",
        VALUE("DIR"))
SETTING(const char *, report, TEXT, "report", STN_VERB_TRAIN, FILES,
        "write the report (one JSON object) here too", VALUE("FILE"), PROGRAM)
AGAIN(report, TEXT, "report", STN_VERB_SIM, FILES, "everything as JSON", VALUE("FILE"), PROGRAM)
SETTING(const char *, events, TEXT, "events", STN_VERB_TRAIN, FILES,
        "a JSON object a line for every step and epoch", VALUE("FILE"), PROGRAM)
SETTING(const char *, plot, TEXT, "plot", STN_VERB_TUNE, FILES,
        "a diagram (SVG): speeds of the nodes by batch", VALUE("FILE"), PROGRAM)
AGAIN(plot, TEXT, "plot", STN_VERB_SIM, FILES,
        "speed over the steps as SVG, with times under load shaded", VALUE("FILE"), USUAL, PROGRAM)
AGAIN(plot, TEXT, "plot", STN_VERB_SIZE, FILES,
        "draw speed against the number of CSDs, as SVG", VALUE("FILE"), USUAL, PROGRAM)
SETTING(const char *, pareto, TEXT, "pareto", STN_VERB_SIZE, FILES,
        "draw what no plan is better than in both speed and energy, as SVG", VALUE("FILE"), PROGRAM)
SETTING(const char *, plot_energy, TEXT, "plot-energy", STN_VERB_SIZE, FILES,
        "draw energy an image against it", VALUE("FILE"), PROGRAM)
AGAIN(trace, TEXT, "trace", STN_VERB_BENCH, FILES,
        "write a timeline of the calls for chrome://tracing or Perfetto", VALUE("FILE"), PROGRAM)

// ---- what is shown -----------------------------------------------------------------------------

SETTING(int, progress, CHOICE, "progress", STN_VERB_TRAIN, SHOWN,
        "auto: a moving line on a terminal, else plain; plain: a line now and then; both on "
        "stderr. json: a JSON object a line on stdout; none",
        OF(settings_progress_names), INITIAL("auto"), PROGRAM)
SETTING(int, top, INT, "top", STN_VERB_PREDICT, SHOWN,
        "how many classes to show for an image",
        VALUE("K"), LIMITS(1, 20), INITIAL("3"), USUAL, PROGRAM)
SETTING(bool, profile, FLAG, "profile", STN_VERB_BENCH, SHOWN,
        "show where the time goes, by kind of op and by layer", INITIAL("off"), USUAL, PROGRAM)
SETTING(const char *, phases, TEXT, "phases", STN_VERB_SIM, SHOWN,
        "speeds from each of these steps on, as 21,41; by default where loads come and go",
        VALUE("STEPS"), PROGRAM)
SETTING(bool, timing, FLAG, "timing", STN_VERB_SIM, SHOWN,
        "how long simulating and deciding took, which differs from run to run",
        INITIAL("off"), PROGRAM)
SETTING(bool, json, FLAG, "json",
        STN_VERB_TUNE | STN_VERB_EVAL | STN_VERB_PREDICT | STN_VERB_BENCH |
        STN_VERB_MODELS | STN_VERB_SIZE | STN_VERB_SIM | STN_VERB_CSD_CREATE | STN_VERB_CSD_START |
        STN_VERB_CSD_LS | STN_VERB_CSD_STOP | STN_VERB_CSD_FORMAT | STN_VERB_CSD_STAT |
        STN_VERB_CSD_BENCH | STN_VERB_CSD_DESTROY | STN_VERB_POWER, SHOWN,
        "print JSON instead of text", INITIAL("off"), USUAL, PROGRAM)

#undef TRAINING
#undef COMPUTES
// clang-format on
