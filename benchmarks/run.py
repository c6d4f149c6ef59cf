# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: run.py BUILD_DIR RESULTS.json

Runs every case on one thread, and the C programs beside them; prints a table and writes JSON.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import cases
from timing import Case, processor, renew_record

import gradstep


def from_c(build: Path) -> dict:
    """Cost of a call from C, load time and size of the library."""
    library, empty = build / "lib" / "libgradstep.so", build / "lib" / "libbench_empty_cpp.so"
    calls = json.loads(subprocess.check_output([build / "bin" / "bench_call_cost"]))
    loads = json.loads(subprocess.check_output([build / "bin" / "bench_load_time", empty, library]))
    with tempfile.NamedTemporaryFile() as stripped:
        subprocess.check_call(["strip", "-o", stripped.name, library])
        size = os.path.getsize(stripped.name)
    empty_call = calls["empty_call"]["best_ns"]
    return {
        "calls": calls,
        "sgd_step_in_empty_calls": calls["sgd_step"]["best_ns"] / empty_call,
        "adam_step_in_empty_calls": calls["adam_step"]["best_ns"] / empty_call,
        "load_ms": {"empty_cpp": loads[0], "gradstep": loads[1]},
        "load_ratio": loads[1]["best_ms"] / loads[0]["best_ms"],
        "stripped_bytes": size,
    }


def row_of(case: Case) -> dict:
    row = {"name": case.name, "bytes_moved": case.bytes_moved, "rounds": case.rounds, "contenders": {}}
    for label, timing in case.timings.items():
        contender = {"best_ms": timing.best * 1e3, "median_ms": timing.median * 1e3}
        if case.bytes_moved:
            contender["gb_per_s"] = case.bytes_moved / timing.best / 1e9
        if case.limit:
            contender["of_limit"] = dict(zip(("best", "median"), case.of_limit(label), strict=True))
        row["contenders"][label] = contender
    if "gradstep" in case.timings:
        row["speed_of_peer"] = {
            peer: dict(zip(("best", "median"), case.ratio(peer), strict=True))
            for peer in case.timings
            if peer != "gradstep"
        }
    return row


def milliseconds(value: float) -> str:
    return f"{value:9.3f}" if value >= 0.1 else f"{value * 1e3:8.2f}u"


def print_row(row: dict) -> None:
    def pair(values: dict | None) -> str:
        return f"{values['best']:6.2f} {values['median']:6.2f}" if values else " " * 13

    for label, contender in row["contenders"].items():
        ratios = row.get("speed_of_peer", {}).values() if label == "gradstep" else []
        name = row["name"] if label == next(iter(row["contenders"])) else ""
        times = f"{milliseconds(contender['best_ms'])} {milliseconds(contender['median_ms'])}"
        bandwidth = f"{contender['gb_per_s']:7.2f}" if "gb_per_s" in contender else " " * 7
        columns = [bandwidth, pair(contender.get("of_limit")), *(pair(ratio) for ratio in ratios)]
        print(f"{name:40} {label:12} {times}", *columns, flush=True)


def steps_by_schedule(calls: dict) -> str:
    """Each kind's best time, and how many times that of the step with constants."""
    texts = []
    groups = "adam_step_64_groups"
    for name, timing in calls.items():
        base = groups if name.startswith(groups) else "adam_step"
        kind = name.removeprefix(base).strip("_")
        if not name.startswith(base) or not kind:
            continue
        where = " in 64 groups" if base == groups else ""
        texts.append(f"{kind}{where} {timing['best_ns']:.0f} ns ({timing['best_ns'] / calls[base]['best_ns']:.2f})")
    return ", ".join(texts)


def main() -> int:
    build, results = Path(sys.argv[1]), Path(sys.argv[2])
    if cases.torch:
        cases.torch.set_num_threads(1)
    print(f"{'':40} {'':12} {'milliseconds':>19} {'GB/s':>7} {'of a += b':>13} {'times peer':>13}")
    print(f"{'':40} {'':12} {'best':>9} {'median':>9} {'best':>7} {'best':>6} {'median':>6} {'best':>6} {'median':>6}")
    rows = []
    for case in cases.all_cases():
        case.run()
        row = row_of(case)
        print_row(row)
        rows.append(row)
    c = from_c(build)
    calls = c["calls"]
    print(
        f"\nfrom C, 1 tensor of 16: empty call {calls['empty_call']['best_ns']:.2f} ns,"
        f" SGD step {calls['sgd_step']['best_ns']:.1f} ns = {c['sgd_step_in_empty_calls']:.1f} empty calls,"
        f" Adam step {calls['adam_step']['best_ns']:.1f} ns = {c['adam_step_in_empty_calls']:.1f} empty calls\n"
        f"Adam step with a schedule (times the constant): {steps_by_schedule(calls)}\n"
        f"libgradstep.so: {c['stripped_bytes'] / 1e6:.2f} MB stripped,"
        f" opens in {c['load_ms']['gradstep']['best_ms']:.2f} ms = {c['load_ratio']:.2f} x an empty C++ library"
    )
    document = {
        "gradstep": gradstep.build_info(),
        "torch": cases.torch.__version__ if cases.torch else None,
        "machine": {"processor": processor(), "cores": os.cpu_count(), "system": platform.platform()},
        "cases": rows,
        "c": c,
    }
    renew_record(results, document)
    print(f"written: {results}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
