#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One rank of a PyTorch DistributedDataParallel training (gloo), the peer of bench/cluster.

Started once per node by `stannis emulate`, which sets RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and
OMP_NUM_THREADS. Equal batches on every node, as everybody runs it. Rank 0 prints a JSON line.
"""
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed
import torchvision


def main():
    task = json.loads(sys.argv[1])
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    torch.manual_seed(1)
    torch.distributed.init_process_group("gloo")
    layout = torch.channels_last if task["layout"] == "channels_last" else torch.contiguous_format
    model = getattr(torchvision.models, task["net"])(num_classes=task["classes"])
    model = torch.nn.parallel.DistributedDataParallel(model.train().to(memory_format=layout))
    size, batch = task["size"], task["batch"]
    images = torch.randn(batch, 3, size, size).contiguous(memory_format=layout)
    labels = torch.randint(0, task["classes"], (batch,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step():
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        return time.perf_counter() - begin

    step()
    torch.distributed.barrier()
    seconds = statistics.median(step() for _ in range(task["steps"]))
    if torch.distributed.get_rank() == 0:
        total = batch * torch.distributed.get_world_size()
        print(json.dumps({"images_per_second": total / seconds, "seconds": seconds,
                          "version": torch.__version__}), flush=True)
    torch.distributed.barrier()


if __name__ == "__main__":
    main()
