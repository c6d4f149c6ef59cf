# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: mpirun -n 2 python mpirun_updater.py

No process group at all: gradstep accumulates four micro-batches, averages them over the ranks that mpirun (or torchrun,
or srun) has started, and steps, in one push.
"""

import torch
from digits import batches, make_model, report

import gradstep

MICRO_BATCHES, WINDOWS = 4, 150


def main() -> None:
    torch.set_num_threads(1)
    # docs:begin updater
    comm = gradstep.Communicator.connect()
    model = make_model()
    parameters = list(model.parameters())
    arrays = [parameter.detach() for parameter in parameters]  # the same memory
    updater = gradstep.Updater(
        gradstep.SGD(arrays, learning_rate=0.1, momentum=0.9),
        gradstep.Accumulator(arrays, steps=MICRO_BATCHES),
        gradstep.Reducer(comm, arrays),
    )
    for x, y in batches(MICRO_BATCHES * WINDOWS, comm.rank, comm.world_size):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        updater.push(arrays, torch.autograd.grad(loss, parameters))
    # docs:end updater
    report(comm.rank, comm.world_size, model)


if __name__ == "__main__":
    main()
