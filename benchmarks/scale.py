# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: scale.py [RECORD.json]

What docs/scale.md is made of: the planner's forecasts from 8 to 100,000 ranks on two kinds of network, and what
connecting takes of a rank, measured between the threads of one process over Gloo. Writes
benchmarks/recorded/scale.json by default.
"""

import contextlib
import json
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from timing import processor

import gradstep
from gradstep import _native
from gradstep.plan import Plan, predict

RECORD = Path(__file__).resolve().parent / "recorded" / "scale.json"
RANKS = (8, 64, 1_024, 16_384, 100_000)
NETWORKS: dict[str, dict[str, Any]] = {
    "cluster": {"parameters": 1_000_000_000, "ranks_per_host": 8, "bandwidth": 100e9 / 8, "latency": 20e-6},
    "slow": {"parameters": 100_000_000, "ranks_per_host": 8, "bandwidth": 1e9 / 8, "latency": 1e-3},
}
COMPARED = (64, 1_024)
CHANNELS = 4
MODES = ("dense", "half", "int8", "int4", "powersgd", "sparse_topk")
CONNECTED = (2, 4, 8, 16, 32)


def forecast(network: dict[str, Any], ranks: int) -> list[dict[str, Any]]:
    """Every mode by the ways that gradstep's own collectives have: among all ranks, by hosts, and round a ring."""
    rows: list[dict[str, Any]] = []
    for way in ("own", "hosts", "ring"):
        if way == "hosts" and ranks <= network["ranks_per_host"]:
            continue
        plan: Plan = predict(**network, ranks=ranks, algorithm=way, channels=CHANNELS)
        for row in plan.modes:
            exchanges_so = row.algorithm == way or (way == "own" and row.mode == "sparse_topk")
            if row.mode in MODES and exchanges_so:
                rows.append({"mode": row.mode, "way": row.algorithm, "bytes": row.bytes, "seconds": row.seconds})
                rows[-1]["rounds"] = row.rounds
    return rows


def break_evens(network: dict[str, Any], ranks: int) -> list[dict[str, Any]]:
    """Bytes a second of a host's link up to which a mode is faster than dense, summed in the same way; None = never."""
    rows: list[dict[str, Any]] = []
    for way in ("own", "hosts"):
        if way == "hosts" and ranks <= network["ranks_per_host"]:
            continue
        plan: Plan = predict(**network, ranks=ranks, algorithm=way, channels=CHANNELS)
        rows += [
            {"mode": limit.mode, "way": limit.algorithm, "bandwidth": limit.bandwidth}
            for limit in plan.break_evens
            if limit.mode in MODES and (limit.algorithm == way or (way == "own" and limit.mode == "sparse_topk"))
        ]
    return rows


def resources() -> tuple[int, int]:
    """Open descriptors and resident bytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return len(os.listdir("/proc/self/fd")), pages * os.sysconf("SC_PAGE_SIZE")


def connected(ranks: int) -> dict[str, float]:
    """Descriptors and bytes of a rank, on average, once all are connected over Gloo. Raises what a rank has raised."""
    ready, go_on = threading.Barrier(ranks + 1), threading.Event()
    errors: list[BaseException] = []
    before = resources()
    with tempfile.TemporaryDirectory() as store:

        def run(rank: int) -> None:
            try:
                comm = gradstep.Communicator.gloo(rank, ranks, store)
                comm.barrier()
                ready.wait()
                go_on.wait()
            except BaseException as error:
                errors.append(error)
                ready.abort()

        threads = [threading.Thread(target=run, args=(rank,)) for rank in range(ranks)]
        for thread in threads:
            thread.start()
        with contextlib.suppress(threading.BrokenBarrierError):
            ready.wait()
        after = resources()
        go_on.set()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
    return {
        "ranks": ranks,
        "descriptors": (after[0] - before[0]) / ranks,
        "bytes": (after[1] - before[1]) / ranks,
    }


def main() -> None:
    connected(2)  # what the first connection loads is not a rank's
    record = {
        "processor": processor(),
        "channels": CHANNELS,
        "bucket_elements": _native.cost_options().bucket_elements,
        "networks": NETWORKS,
        "forecasts": {
            name: {str(ranks): forecast(network, ranks) for ranks in RANKS} for name, network in NETWORKS.items()
        },
        "break_evens": {
            name: {str(ranks): break_evens(network, ranks) for ranks in COMPARED} for name, network in NETWORKS.items()
        },
        "connected": [connected(ranks) for ranks in CONNECTED],
    }
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else RECORD
    path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
