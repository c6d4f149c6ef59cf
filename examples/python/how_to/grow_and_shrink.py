# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Two processes train; two more join them, and one leaves. The sampler deals each window's samples to who is there.

Before that two newcomers are killed while they wait: the founders give up on them, and train on until others come.
"""

import multiprocessing
import tempfile
import time

import numpy as np

import gradstep

FOUNDERS, GROWN, SHRUNK = 2, 4, 3  # world sizes
WINDOWS = 10  # with each of the last two
FEATURES, SAMPLES, BATCH = 16, 240, 24
REDUCTION = {"mode": "sparse_topk", "average": "weighted"}
GIVE_UP = 2.0  # seconds, fewer than the timeout of the communicator that votes


# docs:begin sampler
class Sampler:
    """Deals a window's samples to the ranks that are there, each sample to one of them."""

    def order(self, window: int) -> np.ndarray:
        return np.random.default_rng(window).permutation(SAMPLES)[:BATCH]  # the same on all ranks

    def part(self, window: int, comm: gradstep.Communicator) -> np.ndarray:
        return self.order(window)[comm.rank :: comm.world_size]


# docs:end sampler


def train(rank: int, store: str, results, attempt: int) -> None:
    """`attempt` counts the worlds of the larger size that were tried, from 1. A newcomer joins that one alone."""
    samples = np.random.default_rng(7).standard_normal((SAMPLES, FEATURES)).astype(np.float32)
    targets = samples @ np.arange(FEATURES, dtype=np.float32)
    sampler, parts = Sampler(), []
    parameters = [np.full(FEATURES, rank, np.float32)]
    adam = gradstep.Adam(parameters, learning_rate=0.1)
    grown_at = None
    if rank < FOUNDERS:
        parameters[0][:] = 0
        comm = gradstep.Communicator.connect(rank, FOUNDERS, store)
        updater = gradstep.Updater(adam, reducer=gradstep.Reducer(comm, parameters, **REDUCTION))
    else:
        # docs:begin join
        alone = gradstep.Communicator.self()  # a reducer over it says how this rank reduces
        updater = gradstep.Updater(adam, reducer=gradstep.Reducer(alone, parameters, **REDUCTION))
        comm = gradstep.Communicator.connect(rank, GROWN, store, generation=attempt)  # waits for the others
        updater.recover(comm, parameters)  # parameters, state and step count are theirs from here on
        # docs:end join
        grown_at = adam.step_count
    while grown_at is None or adam.step_count < grown_at + 2 * WINDOWS:
        # docs:begin grow
        if grown_at is None:
            waiting = gradstep.rendezvous_pending(GROWN, store, generation=attempt, comm=comm)  # the same on all ranks
            if waiting == GROWN - FOUNDERS:
                try:
                    grown = gradstep.Communicator.connect(rank, GROWN, store, timeout=GIVE_UP, generation=attempt)
                except (gradstep.Timeout, gradstep.PeerLost):
                    grown = None  # a newcomer is gone
                connected = np.array([grown is not None], np.float32)
                comm.all_reduce(connected)  # a vote over the old communicator: all go over to the new one, or none
                if connected[0] == comm.world_size:
                    comm = grown
                    updater.recover(comm, parameters)
                    grown_at = adam.step_count
                else:
                    attempt += 1  # the number for the newcomers that come next
        # docs:end grow
        # docs:begin shrink
        if grown_at is not None and adam.step_count == grown_at + WINDOWS and comm.world_size == GROWN:
            if rank >= SHRUNK:
                break  # this rank leaves
            comm = gradstep.Communicator.connect(rank, SHRUNK, store, generation=attempt + 1)
            updater.recover(comm, parameters)
        # docs:end shrink
        window = adam.step_count
        part = sampler.part(window, comm)
        gradient = samples[part].T @ (samples[part] @ parameters[0] - targets[part]) / len(part)
        updater.push(parameters, [gradient], weight=len(part))
        parts.append((window, comm.world_size, part.tolist()))
    results.put((rank, adam.step_count, parameters[0].tobytes(), parts))


def main() -> None:
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as store:
        results = context.SimpleQueue()
        lost = [context.Process(target=train, args=(rank, store, results, 1)) for rank in range(FOUNDERS, GROWN)]
        for process in lost:
            process.start()
        while gradstep.rendezvous_pending(GROWN, store, generation=1) < len(lost):
            time.sleep(0.01)
        for process in lost:
            process.kill()
        attempts = [1 if rank < FOUNDERS else 2 for rank in range(GROWN)]
        processes = [
            context.Process(target=train, args=(rank, store, results, attempts[rank])) for rank in range(GROWN)
        ]
        for process in processes:
            process.start()
        found = sorted(results.get() for _ in processes)
        for process in (*lost, *processes):
            process.join()
    assert len({(steps, bits) for _, steps, bits, _ in found[:SHRUNK]}) == 1
    sizes = []
    for window in range(found[0][1]):
        dealt = [part for _, _, _, parts in found for part in parts if part[0] == window]
        sizes.append(dealt[0][1])
        assert len(dealt) == sizes[-1]
        assert sorted(sample for part in dealt for sample in part[2]) == sorted(Sampler().order(window).tolist())
    assert sizes[-2 * WINDOWS :] == [GROWN] * WINDOWS + [SHRUNK] * WINDOWS
    assert set(sizes[: -2 * WINDOWS]) <= {FOUNDERS}
    print(f"{FOUNDERS} ranks became {GROWN} and then {SHRUNK}; those that stayed have the same bits")


if __name__ == "__main__":
    main()
