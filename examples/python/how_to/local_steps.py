# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Four ranks that meet at every twentieth step, in 8-bit codes: DiLoCo beside a sum in every step."""

import numpy as np
from ranks import run

import gradstep

RANKS, STEPS, ROUND, FEATURES, BATCH = 4, 1000, 20, 512, 16
TRUTH = np.random.default_rng(0).standard_normal(FEATURES).astype(np.float32)


def dense(comm: gradstep.Communicator, parameters: list[np.ndarray]) -> tuple[gradstep.Updater, gradstep.Reducer]:
    reducer = gradstep.Reducer(comm, parameters)
    return gradstep.Updater(gradstep.Adam(parameters, learning_rate=0.01), reducer=reducer), reducer


def diloco(comm: gradstep.Communicator, parameters: list[np.ndarray]) -> tuple[gradstep.Updater, gradstep.Reducer]:
    # docs:begin updater
    reducer = gradstep.Reducer(comm, parameters, mode="int8")
    updater = gradstep.Updater(
        gradstep.Adam(parameters, learning_rate=0.01),
        reducer=reducer,
        sync="deltas",
        sync_steps=ROUND,
        outer=gradstep.SGD(parameters, learning_rate=0.7, momentum=0.9, nesterov=True),
    )
    # docs:end updater
    return updater, reducer


def train(comm: gradstep.Communicator, make) -> tuple[np.ndarray, int]:
    """Returns the parameters, and the bytes that this rank has sent."""
    random = np.random.default_rng(comm.rank + 1)
    parameters = [np.zeros(FEATURES, np.float32)]
    updater, reducer = make(comm, parameters)
    for _ in range(STEPS):
        inputs = random.standard_normal((BATCH, FEATURES), dtype=np.float32)
        error = inputs @ (parameters[0] - TRUTH)
        updater.push(parameters, [inputs.T @ error / BATCH])
    return parameters[0], sum(bucket.bytes_sent for bucket in reducer.bucket_statistics())


def main() -> None:
    sent = {}
    for make in (dense, diloco):
        results = run(RANKS, lambda comm, make=make: train(comm, make))
        assert all(result.tobytes() == results[0][0].tobytes() for result, _ in results), "all ranks have the same bits"
        distance = float(np.linalg.norm(results[0][0] - TRUTH))
        sent[make] = results[0][1]
        print(f"{make.__name__:7} distance to the truth after {STEPS} steps: {distance:.3f}, {sent[make]} bytes sent")
        assert distance < 0.1 * np.linalg.norm(TRUTH)
    assert sent[diloco] * 10 < sent[dense], "twenty steps share one exchange"


if __name__ == "__main__":
    main()
