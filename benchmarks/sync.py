# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: sync.py [--elements N] [--rounds N] [--bandwidth B] [--latency L] [--results FILE] [RANKS...]

A whole step, end to end: a push into the updater, the exchange, SGD. Dense sums beside half, sparse 1 % with residual
and Adasum, over Gloo on loopback and over an emulated link of 1 Gbit/s and 5 ms, on 2 and 4 ranks, each a thread with
one thread of gradstep. The modes take turns in every round. Prints the best and the median round, what the exchange
takes of it, what a rank sends, how many times faster than the dense step of the same rounds it is, and the planner's
forecast.

The link is emulated in the process by waiting (tests/python/emulated_link.py): messages are copied at once and arrive
when a full-duplex link of each rank's own would deliver them.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gradstep
from gradstep import _quantities, plan

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "python"))
from emulated_link import EmulatedLink

MODES: dict[str, dict[str, Any]] = {
    "dense": {"mode": "dense"},
    "half": {"mode": "half"},
    "sparse 1 %": {"mode": "sparse_topk", "sparsity": 0.01},
    "adasum": {"mode": "adasum_tree"},
}
FORECASTS = {"dense": "dense", "half": "half", "sparse 1 %": "sparse_topk", "adasum": "adasum_tree"}
ROWS = 1024

Connect = Callable[[int], gradstep.Communicator]


class Chain:
    """One rank's parameters, stepped with gradients that are reduced in one mode."""

    def __init__(self, comm: gradstep.Communicator, elements: int, options: dict[str, Any], context: gradstep.Context):
        self.parameters = [np.zeros((ROWS, elements // ROWS), np.float32)]
        self.reducer = gradstep.Reducer(comm, self.parameters, context=context, **options)
        optimizer = gradstep.SGD(self.parameters, learning_rate=1e-3, context=context)
        self.updater = gradstep.Updater(optimizer, reducer=self.reducer, context=context)

    def step(self, gradient: Any) -> None:
        self.updater.push(self.parameters, [gradient])

    def exchange_seconds(self) -> float:
        return self.updater.statistics().reduce_nanoseconds / 1e9

    def bytes_sent(self) -> int:
        return sum(bucket.bytes_sent for bucket in self.reducer.bucket_statistics())


def run_rank(rank: int, connect: Connect, elements: int, rounds: int, rows: list[Any], failures: list[Any]) -> None:
    try:
        context = gradstep.Context(num_threads=1)
        comm = connect(rank)
        gradient = np.random.default_rng(rank + 1).standard_normal((ROWS, elements // ROWS), dtype=np.float32)
        chains = {name: Chain(comm, elements, options, context) for name, options in MODES.items()}
        for chain in chains.values():  # first touch; residuals are no longer zero
            chain.step(gradient)
        rows[rank] = {name: {"seconds": [], "exchange": [], "bytes": 0} for name in chains}
        for number in range(rounds):
            names = list(chains)
            for name in names if number % 2 == 0 else reversed(names):
                chain, row = chains[name], rows[rank][name]
                exchange, sent = chain.exchange_seconds(), chain.bytes_sent()
                comm.barrier()
                begin = time.perf_counter()
                chain.step(gradient)
                comm.barrier()
                row["seconds"].append(time.perf_counter() - begin)
                row["exchange"].append(chain.exchange_seconds() - exchange)
                row["bytes"] = chain.bytes_sent() - sent
        for name, chain in chains.items():
            digests = comm.all_gather(np.frombuffer(chain.parameters[0].tobytes(), np.int32).sum(keepdims=True))
            if len(set(digests.ravel().tolist())) != 1:
                raise AssertionError(f"{name}: the ranks' parameters differ")
    except BaseException as failure:
        failures.append(failure)


def measure(connect: Connect, ranks: int, elements: int, rounds: int) -> dict[str, Any]:
    rows: list[Any] = [None] * ranks
    failures: list[Any] = []
    arguments = (connect, elements, rounds, rows, failures)
    threads = [threading.Thread(target=run_rank, args=(rank, *arguments), daemon=True) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads) and not failures:
        time.sleep(0.05)
    if failures:
        raise failures[0]
    return rows[0]


def networks(ranks: int, store: str, bandwidth: float, latency: float) -> dict[str, tuple[Connect, bool]]:
    context = gradstep.Context(num_threads=1)
    found: dict[str, tuple[Connect, bool]] = {}
    if gradstep.backend_available("gloo"):

        def over_gloo(rank: int) -> gradstep.Communicator:
            return gradstep.Communicator.gloo(rank, ranks, store, network_interface="127.0.0.1", context=context)

        found["loopback"] = (over_gloo, False)
    links = EmulatedLink.world(ranks, bandwidth, latency)
    found[f"{_quantities.format_bandwidth(bandwidth)}, {_quantities.format_time(latency)}"] = (
        lambda rank: gradstep.Communicator.host(links[rank], 60.0, context=context),
        True,
    )
    return found


def forecast(name: str, ranks: int, elements: int, bandwidth: float, latency: float) -> float:
    # A barrier follows each step: a round more. One bucket, because a single parameter never shares one.
    found = plan.predict(
        elements, ranks, bandwidth, latency, bucket_elements=elements, message=0, rows=ROWS, columns=elements // ROWS
    )
    return min(one.seconds for one in found.modes if one.mode == FORECASTS[name]) + latency


def main() -> int:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").partition("\n")[0].removeprefix("usage: "))
    parser.add_argument("--elements", type=int, default=4 * 1024 * 1024)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--bandwidth", type=_quantities.parse_bandwidth, default=125e6)
    parser.add_argument("--latency", type=_quantities.parse_time, default=5e-3)
    parser.add_argument("--results", type=Path)
    parser.add_argument("ranks", type=int, nargs="*", default=[2, 4])
    arguments = parser.parse_args()
    link = (arguments.bandwidth, arguments.latency)
    results: dict[str, Any] = {"elements": arguments.elements, "load": os.getloadavg(), "rows": []}
    print(f"SGD on {arguments.elements} f32; load {' '.join(f'{load:.1f}' for load in os.getloadavg())}")
    print(
        "milliseconds of a step (best, median) and of its exchange (median), bytes a rank sends,"
        " times faster than dense (best, median)"
    )
    for ranks in arguments.ranks:
        with tempfile.TemporaryDirectory() as store:
            for network, (connect, emulated) in networks(ranks, store, *link).items():
                rows = measure(connect, ranks, arguments.elements, arguments.rounds)
                for name, row in rows.items():
                    times = row["seconds"]
                    ratios = [a / b for a, b in zip(rows["dense"]["seconds"], times, strict=True)]
                    expected = forecast(name, ranks, arguments.elements, *link) if emulated else None
                    results["rows"].append(
                        {"ranks": ranks, "network": network, "mode": name, "forecast": expected, **row}
                    )
                    print(
                        f"{ranks} ranks  {network:14}  {name:10} {min(times) * 1e3:8.1f}"
                        f" {statistics.median(times) * 1e3:8.1f} {statistics.median(row['exchange']) * 1e3:8.1f}"
                        f"  {row['bytes']:9}  {min(rows['dense']['seconds']) / min(times):6.2f}"
                        f" {statistics.median(ratios):6.2f}"
                        + (f"   forecast {expected * 1e3:.1f}" if expected is not None else ""),
                        flush=True,
                    )
    if arguments.results:
        arguments.results.parent.mkdir(parents=True, exist_ok=True)
        arguments.results.write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
