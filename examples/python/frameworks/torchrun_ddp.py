# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: torchrun --nproc-per-node 2 torchrun_ddp.py [MODE]

DistributedDataParallel whose gradients a gradstep reducer exchanges: in MODE "sparse_topk" unless given.
"""

import gc
import sys

import torch
import torch.distributed as dist
from digits import batches, make_model, report
from torch.nn.parallel import DistributedDataParallel

# docs:begin import
import gradstep.torch

# docs:end import

STEPS = 150


def main() -> None:
    options = {"mode": sys.argv[1]} if len(sys.argv) > 1 else {"mode": "sparse_topk", "sparsity": 0.1}
    torch.set_num_threads(1)
    # docs:begin hook
    dist.init_process_group("gloo")
    model = DistributedDataParallel(make_model())
    # options: mode="half", or mode="sparse_topk", sparsity=0.01
    hook = gradstep.torch.comm_hook(model, **options)
    model.register_comm_hook(None, hook)
    # docs:end hook
    # docs:begin optimizer
    optimizer = gradstep.torch.SGD(model.parameters(), lr=0.1)
    # docs:end optimizer
    for x, y in batches(STEPS, dist.get_rank(), dist.get_world_size()):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    buckets = hook.reducer.bucket_statistics()
    sent, dense = sum(b.bytes_sent for b in buckets), sum(b.bytes_dense * b.exchanges for b in buckets)
    text = f", sent {sent / 1e6:.2f} MB, a dense sum {dense / 1e6:.2f} MB"
    report(dist.get_rank(), dist.get_world_size(), model.module, text)
    del model, optimizer
    gc.collect()  # the model's reducer must go before its process group
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
