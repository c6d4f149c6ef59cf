# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Two ranks train with sharded Adam and save; three ranks go on, and one: all with the bits of an uninterrupted run."""

import tempfile
from pathlib import Path

import numpy as np
from ranks import run

import gradstep

STEPS, ELEMENTS = 20, 50_000


def gradient(step: int) -> np.ndarray:
    """The whole batch's, equal on all ranks: an average over other numbers of ranks would be rounded in other ways."""
    return np.random.default_rng(step).standard_normal(ELEMENTS).astype(np.float32)


def train(comm: gradstep.Communicator, first: int, last: int, start: Path | None, end: Path | None) -> np.ndarray:
    parameters = [np.zeros(ELEMENTS, np.float32)]
    # docs:begin resume
    optimizer = gradstep.Adam(parameters, learning_rate=1e-2)
    optimizer.shard(comm, gradients="reduced")
    if start is not None:
        optimizer.load(start / "adam.safetensors")
        parameters[0][:] = np.load(start / "parameters.npy")
    for step in range(first, last):
        optimizer.step(parameters, [gradient(step)])
    if end is not None:
        optimizer.save(end / "adam.safetensors")  # collective; rank 0 writes
        if comm.rank == 0:
            np.save(end / "parameters.npy", parameters[0])
    # docs:end resume
    return parameters[0]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        whole = run(2, lambda comm: train(comm, 0, STEPS, None, None))
        run(2, lambda comm: train(comm, 0, STEPS // 2, None, path))
        for ranks in (3, 1):
            resumed = run(ranks, lambda comm: train(comm, STEPS // 2, STEPS, path, None))
            assert all(each.tobytes() == whole[0].tobytes() for each in resumed)
            print(f"saved on 2 ranks, resumed on {ranks}: the same bits")


if __name__ == "__main__":
    main()
