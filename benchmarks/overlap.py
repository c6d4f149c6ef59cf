# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: overlap.py [--rounds N] [--layers N] [--elements N] [RANKS...]

A window of a reducer with computation between the pushes, as in back-propagation, against the same computation with the
window reduced after it; among processes of this machine, over shared memory and Gloo on loopback, one thread a rank, N
(16) gradients of N (1M) f32. The computation takes as long as the window alone: on this machine's own processor, which
exchanges need too, or elsewhere, as on a GPU, where the host's thread only waits. Prints milliseconds (best, median) of
the two and how many times longer the second takes, and how much of the exchanges the first has hidden.
"""

import argparse
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import gradstep


def busy(seconds: float) -> None:
    """Arithmetic in the caches."""
    end = time.perf_counter() + seconds
    x = np.ones(4096, np.float32)
    while time.perf_counter() < end:
        np.multiply(x, x, out=x)


COMPUTE = {"here": busy, "elsewhere": time.sleep}


def connect(engine: str, rank: int, ranks: int, store: str, context: gradstep.Context) -> gradstep.Communicator:
    if engine == "shm":
        return gradstep.Communicator.shm(rank, ranks, store, context=context)
    return gradstep.Communicator.gloo(rank, ranks, store, network_interface="127.0.0.1", generation=1, context=context)


class Window:
    """Gradients do not change; results stay in the reducer."""

    def __init__(self, comm: gradstep.Communicator, layers: int, elements: int, context: gradstep.Context) -> None:
        self.comm = comm
        self.gradients = [np.full(elements, layer + comm.rank, np.float32) for layer in range(layers)]
        self.reducer = gradstep.Reducer(
            comm, self.gradients, average="sum", fuse_threshold=elements - 1, context=context
        )

    def timed(self, overlapped: bool, place: str, seconds: float) -> float:
        compute = COMPUTE[place]
        self.comm.barrier()
        begin = time.perf_counter()
        for layer in reversed(range(len(self.gradients))):
            compute(seconds)
            if overlapped:
                self.reducer.push(layer, self.gradients[layer])
        if overlapped:
            self.reducer.wait()
        else:
            self.reducer.reduce(self.gradients, in_place=False)
        self.comm.barrier()
        return time.perf_counter() - begin

    def alone(self) -> float:
        """The slowest rank's, so that all ranks compute for as long."""
        own = np.array([statistics.median(self.timed(False, "here", 0) for _ in range(7))])
        self.comm.all_reduce(own, op="max")
        return float(own[0])

    def hidden(self) -> float:
        buckets = self.reducer.bucket_statistics()
        exchange = sum(bucket.exchange_nanoseconds for bucket in buckets)
        return exchange - sum(bucket.wait_nanoseconds for bucket in buckets)

    def exchanged(self) -> float:
        return sum(bucket.exchange_nanoseconds for bucket in self.reducer.bucket_statistics())


def rank_main(engine: str, rank: int, ranks: int, store: str, rounds: int, layers: int, elements: int) -> None:
    context = gradstep.Context(num_threads=1)
    window = Window(connect(engine, rank, ranks, store, context), layers, elements, context)
    alone = window.alone()
    rows = {}
    for place in COMPUTE:
        seconds: dict[str, list[float]] = {"overlapped": [], "afterwards": []}
        hidden = exchanged = 0.0
        for number in range(rounds):
            labels = list(seconds)
            for label in labels if number % 2 == 0 else reversed(labels):
                before = (window.hidden(), window.exchanged())
                seconds[label].append(window.timed(label == "overlapped", place, alone / layers))
                if label == "overlapped":
                    hidden += window.hidden() - before[0]
                    exchanged += window.exchanged() - before[1]
        rows[place] = {**seconds, "hidden": hidden / exchanged}
    expected = [ranks * layer + ranks * (ranks - 1) / 2 for layer in range(layers)]
    for value, result in zip(expected, window.reducer.gradients(), strict=True):
        if result is None or not (result == value).all():
            raise AssertionError("a sum is wrong")
    if rank == 0:
        Path(store, "rows").write_text(json.dumps({"alone": alone, "rows": rows}))


def main() -> int:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").partition("\n")[0].removeprefix("usage: "))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--elements", type=int, default=1024 * 1024)
    parser.add_argument("ranks", type=int, nargs="*", default=[2, 4])
    arguments = parser.parse_args()
    multiprocessing.set_start_method("spawn")
    sizes = (arguments.rounds, arguments.layers, arguments.elements)
    print(f"{arguments.layers} gradients of {arguments.elements} f32: milliseconds of a window (best, median)")
    for ranks in arguments.ranks:
        for engine in ["shm"] + (["gloo"] if gradstep.backend_available("gloo") else []):
            with tempfile.TemporaryDirectory() as store:
                processes = [
                    multiprocessing.Process(target=rank_main, args=(engine, rank, ranks, store, *sizes))
                    for rank in range(ranks)
                ]
                for process in processes:
                    process.start()
                for process in processes:
                    process.join()
                if any(process.exitcode for process in processes):
                    return 1
                result = json.loads(Path(store, "rows").read_text())
            for place, row in result["rows"].items():
                over, after = row["overlapped"], row["afterwards"]
                ratio = statistics.median(b / a for a, b in zip(over, after, strict=True))
                print(
                    f"{ranks} ranks  {engine:4}  exchange alone {result['alone'] * 1e3:7.1f}  computed {place:9}"
                    f"  overlapped {min(over) * 1e3:7.1f} {statistics.median(over) * 1e3:7.1f}"
                    f"  afterwards {min(after) * 1e3:7.1f} {statistics.median(after) * 1e3:7.1f}"
                    f"  {min(after) / min(over):5.2f} {ratio:5.2f} times"
                    f"  {100 * row['hidden']:4.0f} % of exchanges hidden",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
