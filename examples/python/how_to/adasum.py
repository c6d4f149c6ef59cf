# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Four ranks and the learning rate of one: Adasum beside a mean, on a regression whose ranks see different data."""

import numpy as np
from ranks import run

import gradstep

RANKS, STEPS, RATE, FEATURES, BATCH = 4, 60, 0.02, 32, 16
TRUTH = np.random.default_rng(0).standard_normal(FEATURES).astype(np.float32)


def train(comm: gradstep.Communicator, mode: str) -> np.ndarray:
    random = np.random.default_rng(comm.rank + 1)
    parameters = [np.zeros(FEATURES, np.float32)]
    # docs:begin reducer
    reducer = gradstep.Reducer(comm, parameters, mode=mode)
    updater = gradstep.Updater(gradstep.SGD(parameters, learning_rate=RATE), reducer=reducer)
    # docs:end reducer
    for _ in range(STEPS):
        inputs = random.standard_normal((BATCH, FEATURES), dtype=np.float32)
        error = inputs @ (parameters[0] - TRUTH)
        updater.push(parameters, [inputs.T @ error / BATCH])
    return parameters[0]


def main() -> None:
    distance = {}
    for mode in ("dense", "adasum_tree"):
        results = run(RANKS, lambda comm, mode=mode: train(comm, mode))
        assert all(result.tobytes() == results[0].tobytes() for result in results), "all ranks have the same bits"
        distance[mode] = float(np.linalg.norm(results[0] - TRUTH))
        print(f"{mode:12} distance to the truth after {STEPS} steps: {distance[mode]:.3f}")
    assert distance["adasum_tree"] < distance["dense"], "gradients that differ are added, not averaged"


if __name__ == "__main__":
    main()
