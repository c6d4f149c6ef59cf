# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: torchrun --nproc-per-node 2 zero2.py

ZeRO stage 2 without FSDP: a gradient leaves for its owner while back-propagation goes on, and is freed at once. Each
rank keeps its share of the gradients and of the optimizer's state.
"""

import torch
from digits import batches, make_model, report

import gradstep

STEPS = 60


def main() -> None:
    torch.set_num_threads(1)
    # docs:begin zero2
    comm = gradstep.Communicator.connect()  # what torchrun, mpirun or srun has started
    model = make_model()
    params = list(model.parameters())
    reducer = gradstep.Reducer(comm, params)
    optimizer = gradstep.Adam(params, learning_rate=3e-3)
    optimizer.shard(reducer)
    updater = gradstep.Updater(optimizer, reducer=reducer, max_norm=1.0)

    def leave(index: int, p: torch.Tensor) -> None:
        assert p.grad is not None
        reducer.push(index, p.grad)  # copies it; the bucket leaves when it is full
        p.grad = None

    for i, p in enumerate(params):
        p.register_post_accumulate_grad_hook(lambda p, i=i: leave(i, p))
    for x, y in batches(STEPS, comm.rank, comm.world_size):
        torch.nn.functional.cross_entropy(model(x), y).backward()
        updater.flush(params)  # waits for what is under way, clips and steps
    # docs:end zero2
    report(comm.rank, comm.world_size, model)


if __name__ == "__main__":
    main()
