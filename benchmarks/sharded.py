# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: sharded.py [--elements N] [RANKS...]

Adam over several processes on this machine: every rank with the whole state behind a reducer, against each rank with a
share of it. Gloo over loopback, one thread a rank, N (4M) f32 parameters; the two take turns, and neither copies the
gradient for itself. Prints what a step takes and what a rank holds.
"""

import argparse
import multiprocessing
import statistics
import sys
import tempfile
import time

import numpy as np

import gradstep

ROUNDS = 15


def rank_main(rank: int, ranks: int, elements: int, store: str, results: multiprocessing.Queue) -> None:
    context = gradstep.Context(num_threads=1)
    comm = gradstep.Communicator.gloo(rank, ranks, store, network_interface="127.0.0.1", context=context)
    generator = np.random.default_rng(0)
    start = generator.standard_normal(elements, dtype=np.float32)
    gradient = np.random.default_rng(rank + 1).standard_normal(elements, dtype=np.float32)
    whole, shared = [start.copy()], [start.copy()]
    reducer = gradstep.Reducer(comm, whole, context=context)
    replicated = gradstep.Adam(whole, learning_rate=1e-3, context=context)
    sharded = gradstep.Adam(shared, learning_rate=1e-3, context=context)
    sharded.shard(comm)

    def replicated_step() -> None:
        reducer.push(0, gradient)
        reducer.wait()
        replicated.step(whole, reducer.gradients())

    def sharded_step() -> None:
        sharded.step(shared, [gradient])

    seconds: dict[str, list[float]] = {"replicated": [], "sharded": []}
    for _ in range(ROUNDS):
        for name, step in (("replicated", replicated_step), ("sharded", sharded_step)):
            comm.barrier()
            begin = time.perf_counter()
            step()
            comm.barrier()
            seconds[name].append(time.perf_counter() - begin)
    if not np.array_equal(whole[0], shared[0]):
        raise AssertionError("the sharded run has other bits")
    results.put((rank, seconds, replicated.memory().state_bytes, sharded.memory()))


def main() -> int:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").partition("\n")[0].removeprefix("usage: "))
    parser.add_argument("--elements", type=int, default=4 * 1024 * 1024)
    parser.add_argument("ranks", type=int, nargs="*", default=[2, 4])
    arguments = parser.parse_args()
    multiprocessing.set_start_method("spawn")
    print(f"Adam, {arguments.elements} f32, Gloo over loopback: milliseconds a step (best, median), state a rank holds")
    for ranks in arguments.ranks:
        results: multiprocessing.Queue = multiprocessing.Queue()
        with tempfile.TemporaryDirectory() as store:
            workers = [
                multiprocessing.Process(target=rank_main, args=(rank, ranks, arguments.elements, store, results))
                for rank in range(ranks)
            ]
            for worker in workers:
                worker.start()
            rows = sorted(results.get(timeout=300) for _ in workers)
            for worker in workers:
                worker.join()
        _, seconds, whole, memory = rows[0]
        for name, state in (("replicated", whole), ("sharded", memory.state_bytes)):
            times = seconds[name]
            print(
                f"{ranks} ranks  {name:10} {min(times) * 1e3:8.1f} {statistics.median(times) * 1e3:8.1f}"
                f"   {state / 1e6:6.1f} MB",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
