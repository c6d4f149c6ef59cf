# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Three processes train; one is killed in the middle of a window. The survivors connect anew, recover, and go on."""

import multiprocessing
import os
import signal
import tempfile

import numpy as np

import gradstep

RANKS, WINDOWS, LOST, LOST_AT = 3, 12, 1, 5


def train(rank: int, store: str, results) -> None:
    parameters = [np.zeros(1000, np.float32)]
    comm = gradstep.Communicator.connect(rank, RANKS, store=store)
    sgd = gradstep.SGD(parameters, learning_rate=0.1)
    accumulator = gradstep.Accumulator(parameters, steps=2)
    updater = gradstep.Updater(sgd, accumulator, gradstep.Reducer(comm, parameters))
    while sgd.step_count < WINDOWS:
        gradient = [parameters[0] - 1]
        updater.push(parameters, gradient)
        if rank == LOST and sgd.step_count == LOST_AT:
            os.kill(os.getpid(), signal.SIGKILL)
        # docs:begin recover
        try:
            updater.push(parameters, gradient)  # ends the window
        except (gradstep.PeerLost, gradstep.Timeout):
            survivors = [each for each in range(RANKS) if each != LOST]  # your launcher's to know
            comm = gradstep.Communicator.connect(survivors.index(rank), len(survivors), store=store, generation=1)
            updater.recover(comm, parameters)
            updater.flush(parameters)  # finishes the window that failed, or finds it finished
        # docs:end recover
    results.put((rank, sgd.step_count, parameters[0].tobytes()))


def main() -> None:
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as store:
        results = context.SimpleQueue()
        processes = [context.Process(target=train, args=(rank, store, results)) for rank in range(RANKS)]
        for process in processes:
            process.start()
        found = sorted(results.get() for _ in range(RANKS - 1))
        for process in processes:
            process.join()
    assert [rank for rank, _, _ in found] == [0, 2] and processes[LOST].exitcode == -signal.SIGKILL
    assert all(steps == WINDOWS for _, steps, _ in found) and found[0][2] == found[1][2]
    print(f"rank {LOST} was killed in window {LOST_AT}; 2 survivors made {WINDOWS} steps and have the same bits")


if __name__ == "__main__":
    main()
