# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: traced.py. A rank that trains for three windows; GRADSTEP_TRACE asks for its timeline."""

import numpy as np

import gradstep

WINDOWS = 3
MICRO_BATCHES = 2
SHAPES = [(256, 256), (256, 256), (256,)]


def main() -> None:
    random = np.random.default_rng(1)
    values = [random.standard_normal(shape).astype(np.float32) for shape in SHAPES]
    with gradstep.Communicator.from_environment() as comm:
        updater = gradstep.Updater(
            gradstep.Shampoo(values, learning_rate=0.01, start_preconditioning_step=1),
            gradstep.Accumulator(values, steps=MICRO_BATCHES),
            gradstep.Reducer(comm, values, fuse_threshold=1 << 18),
        )
        for _ in range(WINDOWS * MICRO_BATCHES):
            updater.push(values, [random.standard_normal(shape).astype(np.float32) for shape in SHAPES])


if __name__ == "__main__":
    main()
