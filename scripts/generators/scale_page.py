# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""docs/scale.md, from a record of forecasts and of measured connections."""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generators.choosing_page import paragraph
from generators.places import ROOT

RECORD = ROOT / "benchmarks" / "recorded" / "scale.json"
PAGE = ROOT / "docs" / "scale.md"
LOCAL_STEPS = 50
TITLES = {"cluster": "A fast network", "slow": "A slow network"}
WAYS = {"own": "all ranks", "hosts": "by hosts", "ring": "ring", "gather": "gather", "split": "split"}

Row = dict[str, Any]


def seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= 100 else f"{value:.3g} s" if value >= 1 else f"{value * 1e3:.3g} ms"


def count(value: float) -> str:
    return f"{value:,.0f}"


def by_ranks(heading: str, cells: dict[str, dict[str, str]]) -> Iterator[str]:
    """A row for each name, a column for each number of ranks."""
    ranks = list(dict.fromkeys(number for row in cells.values() for number in row))
    yield f"| {heading} | " + " | ".join(count(int(number)) for number in ranks) + " |"
    yield "|---|" + "---|" * len(ranks)
    for name, row in cells.items():
        yield f"| {name} | " + " | ".join(row.get(number, "") for number in ranks) + " |"


def window_times(forecasts: dict[str, list[Row]]) -> dict[str, dict[str, str]]:
    cells: dict[str, dict[str, str]] = {}
    for ranks, rows in forecasts.items():
        for row in rows:
            cells.setdefault(f"{row['mode']}, {WAYS[row['way']]}", {})[ranks] = seconds(row["seconds"])
            if row["mode"] == "int8" and row["way"] == "hosts":
                name = f"DiLoCo every {LOCAL_STEPS} steps, int8, by hosts"
                cells.setdefault(name, {})[ranks] = seconds(row["seconds"] / LOCAL_STEPS)
    return cells


def messages(network: dict[str, Any], bucket: int, forecasts: dict[str, list[Row]]) -> dict[str, dict[str, str]]:
    """Sent by one rank in a window of dense buckets of so many elements."""
    buckets, inside = math.ceil(network["parameters"] / bucket), network["ranks_per_host"]
    cells: dict[str, dict[str, str]] = {}
    for ranks, rows in forecasts.items():
        world = int(ranks)
        for row in rows:
            if row["mode"] != "dense":
                continue
            between = row["rounds"] - 2 * buckets  # by hosts, the others are inside
            sent = {
                "own": row["rounds"] * (world - 1),
                "ring": row["rounds"],
                "hosts": 2 * buckets * (inside - 1) + between * (world // inside - 1),
            }
            cells.setdefault(WAYS[row["way"]], {})[ranks] = count(sent[row["way"]])
    return cells


def bandwidth(value: float | None) -> str:
    if value is None:
        return "never"
    bits = 8 * value
    return "always" if math.isinf(bits) else f"{bits / 1e9:.0f} Gbit/s" if bits >= 1e10 else f"{bits / 1e9:.2g} Gbit/s"


def break_evens(by_number: dict[str, list[Row]]) -> dict[str, dict[str, str]]:
    cells: dict[str, dict[str, str]] = {}
    for ranks, rows in by_number.items():
        for row in rows:
            cells.setdefault(f"{row['mode']}, {WAYS[row['way']]}", {})[ranks] = bandwidth(row["bandwidth"])
    return cells


def network_section(record: dict[str, Any], name: str) -> Iterator[str]:
    network, forecasts = record["networks"][name], record["forecasts"][name]
    yield f"## {TITLES[name]}"
    yield ""
    yield paragraph(f"""Gradients of {count(network["parameters"])} f32 parameters, {network["ranks_per_host"]} ranks on
        a host, a link of {network["bandwidth"] * 8 / 1e9:g} Gbit/s a host, a delay of {seconds(network["latency"])}.
        Seconds of one exchange of all gradients; a blank means that all ranks share a host.""")
    yield ""
    yield from by_ranks("mode, sums", window_times(forecasts))
    yield ""
    yield "Messages that a rank sends in a window of `dense`:"
    yield ""
    yield from by_ranks("sums", messages(network, record["bucket_elements"], forecasts))
    yield ""
    yield "A mode is faster than `dense` summed in the same way while a host's link has less bandwidth than this:"
    yield ""
    yield from by_ranks("mode, sums", break_evens(record["break_evens"][name]))
    yield ""


def page(record: dict[str, Any]) -> Iterator[str]:
    connected = record["connected"]
    yield "# From 8 to 100,000 ranks"
    yield ""
    yield "<!-- Written by scripts/generate from benchmarks/recorded/scale.json. -->"
    yield ""
    yield paragraph(f"""Forecasts of [the planner](gradient_sync.md#planning), with its built-in prices of a processor
        and {record["channels"]} channels. No run of such a size was made. They show which way of summing grows with
        the number of ranks, and what to change before it does.""")
    yield ""
    for name in record["networks"]:
        yield from network_section(record, name)
    yield "## Connections and memory"
    yield ""
    yield paragraph(f"""Measured between the threads of one process over Gloo ({record["processor"]}): the share of a
        rank once all are connected.""")
    yield ""
    yield "| ranks | descriptors of a rank | resident KB of a rank |"
    yield "|---|---|---|"
    for row in connected:
        yield f"| {row['ranks']} | {row['descriptors']:.0f} | {count(row['bytes'] / 1e3)} |"
    yield ""
    yield "## Limits, in the order in which they are met"
    yield ""
    yield "| limit | met at | what to do |"
    yield "|---|---|---|"
    for row in limits():
        yield "| " + " | ".join(row) + " |"
    yield ""
    yield paragraph("""Recovery is simulated too: one of many ranks dies in the middle of an exchange, in `dense` and in
        `int8`, and the others end with the bits of a run without it (`RecoverySimulation.ManyRanksGoOnWithoutOne` in
        tests/unit/updater). `GRADSTEP_SIMULATED_RANKS=1024` sets how many there are.""")
    yield ""
    yield paragraph("""Renewed by `benchmarks/scale.py` and `scripts/generate`. For your own network:
        `python -m gradstep.plan`.""")


def constant(name: str, file: str) -> int:
    """What a constant of a source is."""
    found = re.search(rf"constexpr \S+ {name} = (\d+);", (ROOT / "src" / file).read_text())
    if found is None:
        raise ValueError(f"src/{file} has no constant {name}")
    return int(found[1])


def limits() -> Iterator[tuple[str, str, str]]:
    shared = count(constant("kMaxShmRanks", "comm/engines/met_engines.h"))
    over_gloo = count(constant("kMaxGlooRanks", "comm/engines/met_engines.h"))
    block = count(constant("kCodeBlock", "kernels/block_code.h"))
    yield "`sparse_topk` sends more than `dense`", "the tables above", "few ranks only; `int8` or `powersgd`"
    yield f"shared memory takes {shared} ranks", f"{shared} ranks on one host", "Gloo inside the host"
    yield "a descriptor for each peer", "the limit of the process, often 1,024", "`ulimit -n`"
    yield (
        f"Gloo takes {over_gloo} ranks",
        f"{over_gloo} ranks",
        "sums by hosts with [a transport of your own](how_to/own_transport.md), MPI, or NCCL on devices",
    )
    yield (
        "sums among all ranks send a message to each",
        "1,000 ranks and more",
        '`reduction_order="hosts"`: a rank sends to the owners of its piece on the other hosts',
    )
    yield "a ring has a delay for each rank, twice", "1,000 ranks, or long delays", '`reduction_order="hosts"`'
    yield (
        "codes have one block for each rank at least",
        f"buckets of fewer than {block} elements a rank",
        "larger `fuse_threshold`, sums by hosts",
    )
    yield (
        "the bytes of a host's link",
        "any size on slow links",
        "`int8` or `int4` by hosts, `powersgd`, or [local steps](local_steps.md)",
    )


def generated() -> dict[Path, str]:
    return {PAGE: "\n".join(page(json.loads(RECORD.read_text()))) + "\n"}
