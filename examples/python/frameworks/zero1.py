# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: torchrun --nproc-per-node 2 zero1.py

ZeRO stage 1 without FSDP: a plain module, and an optimizer whose state is spread over the ranks. It reduces the ranks'
own gradients itself, so there is neither DistributedDataParallel nor a process group.
"""

import torch
from digits import batches, make_model, report

import gradstep.torch

STEPS = 60


def main() -> None:
    torch.set_num_threads(1)
    # docs:begin shard
    comm = gradstep.Communicator.connect()  # what torchrun, mpirun or srun has started
    model = make_model()
    optimizer = gradstep.torch.AdamW(model.parameters(), lr=3e-3)
    optimizer.shard(comm)
    for x, y in batches(STEPS, comm.rank, comm.world_size):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step(max_norm=1.0)  # means over the ranks, clips and steps
    # docs:end shard
    report(comm.rank, comm.world_size, model)


if __name__ == "__main__":
    main()
