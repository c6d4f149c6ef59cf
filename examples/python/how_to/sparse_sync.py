# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Two ranks send the largest hundredth of their gradients; what waits is in the residual, and nothing is lost."""

import numpy as np
from ranks import run

import gradstep

RANKS, STEPS, ELEMENTS = 2, 400, 20_000
TRUTH = np.random.default_rng(0).standard_normal(ELEMENTS).astype(np.float32)


def train(comm: gradstep.Communicator) -> tuple[np.ndarray, int, int]:
    parameters = [np.zeros(ELEMENTS, np.float32)]
    # docs:begin reducer
    reducer = gradstep.Reducer(comm, parameters, mode="sparse_topk", sparsity=0.01)
    updater = gradstep.Updater(gradstep.SGD(parameters, learning_rate=0.01), reducer=reducer)
    # docs:end reducer
    for _ in range(STEPS):
        updater.push(parameters, [parameters[0] - TRUTH])
    # docs:begin statistics
    bucket = reducer.bucket_statistics()[0]
    dense, sent = bucket.bytes_dense * bucket.exchanges, bucket.bytes_sent
    # docs:end statistics
    return parameters[0], dense, sent


def nothing_is_lost(comm: gradstep.Communicator) -> None:
    gradient = np.random.default_rng(comm.rank).standard_normal(ELEMENTS).astype(np.float32)
    reducer = gradstep.Reducer(comm, [gradient], mode="sparse_topk", sparsity=0.01, average="sum")
    reducer.reduce([gradient], in_place=False)
    kept = reducer.residual(0)
    assert np.array_equal(kept[kept != 0], gradient[kept != 0]) and np.count_nonzero(kept == 0) == ELEMENTS // 100
    everything = kept.copy()
    comm.all_reduce(everything)
    gradients = gradient.copy()
    comm.all_reduce(gradients)
    assert np.array_equal(everything + reducer.gradients()[0], gradients), "sent and kept make the gradients"


def main() -> None:
    run(RANKS, nothing_is_lost)
    results = run(RANKS, train)
    parameters, dense, sent = results[0]
    assert all(result[0].tobytes() == parameters.tobytes() for result in results), "all ranks have the same bits"
    error = np.linalg.norm(parameters - TRUTH) / np.linalg.norm(TRUTH)
    print(
        f"{STEPS} steps: relative error {error:.3f}, {sent / 1e6:.2f} MB sent, a dense sum sends {dense / 1e6:.1f} MB"
    )
    assert sent < dense / 20 and error < 0.5


if __name__ == "__main__":
    main()
