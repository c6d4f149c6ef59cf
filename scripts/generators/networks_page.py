# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""docs/networks.md, from a record of windows over slow links."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generators.choosing_page import paragraph
from generators.places import ROOT

RECORD = ROOT / "benchmarks" / "recorded" / "network.json"
PAGE = ROOT / "docs" / "networks.md"
PEERS = {"half": "torch-fp16", "bfloat16": "torch-fp16", "powersgd2": "torch-powersgd2", "powersgd4": "torch-powersgd4"}
"""What torch has for a way; its all-reduce for all others."""

COLUMNS = """\
- **way**: the reducer's mode; `fp8` is `fp8_e4m3`, `sparse` is `sparse_topk` with `sparsity` 0.01, `powersgd` has its
  rank behind it. `hosts` and `engine` are the `reduction_order`; without them sums go in the order of ranks. `torch` is
  PyTorch's ring.
- **best ms**: the best of 3 rounds, of 5 for small gradients. Other work ran on the machine: `sparse` and `auto` send
  equal bytes, and differ by up to a fourth.
- **PyTorch / gradstep**: time of PyTorch's all-reduce, or of its hook of that kind, divided by gradstep's. Above 1
  gradstep is faster.
- **MB sent**: by the busiest host, acknowledgements included.
- **limit / best**: what the link alone needs (bytes / bandwidth + rounds x delay), as a part of the time;
  above 1 where the link lets a little more through than its nominal rate.
- **forecast**: how far [the planner](gradient_sync.md#planning) is from the best time, with the measured time of a
  round and measured prices of the shared processors.
"""

World = dict[str, Any]
Row = dict[str, Any]


def link(world: World) -> str:
    bits, delay = 8 * world["bandwidth"], world["delay"]
    speed = f"{bits / 1e9:g} Gbit/s" if bits >= 1e9 else f"{bits / 1e6:g} Mbit/s"
    return f"{speed}, {delay * 1e3:g} ms"


def number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def name_of(row: Row) -> str:
    modes = sorted({bucket["mode"] for bucket in row["buckets"]})
    return f"auto: {', '.join(modes)}" if row["way"] == "auto" else row["way"]


def table(world: World) -> Iterator[str]:
    rows = {row["way"]: row for row in world["rows"]}
    yield "| way | best ms | PyTorch / gradstep | MB sent | limit / best | forecast |"
    yield "|---|---|---|---|---|---|"
    for way, row in rows.items():
        ours = not way.startswith("torch")
        peer = rows.get(PEERS.get(way, "torch"))
        ratio = f"{peer['best'] / row['best']:.2f}" if ours and peer else ""
        error = f"{row['error_by_rounds']:+.0%}" if ours else ""
        yield (
            f"| {name_of(row)} | {number(row['best'] * 1e3)} | {ratio} | {number(row['wire_bytes'] / 1e6)} "
            f"| {row['of_limit']:.2f} | {error} |"
        )


def section(world: World) -> Iterator[str]:
    hosts, ranks = world["hosts"], world["ranks_per_host"]
    size = "large" if world["side"] >= 1024 else "small"
    yield f"## {hosts} hosts of {ranks} {'rank' if ranks == 1 else 'ranks'}, {link(world)}, {size} gradients"
    yield ""
    megabytes = 4 * world["tensors"] * world["side"] ** 2 / 1e6
    yield paragraph(f"""{world["tensors"]} gradients of {world["side"]} x {world["side"]} ({megabytes:.3g} MB);
        {world["processors"]} processors, {world["processor"]}, for all ranks; a load of {world["load"][0]:.1f}
        before.""")
    yield ""
    yield from table(world)
    yield ""


def page(worlds: list[World]) -> Iterator[str]:
    yield "# Windows over slow links, measured"
    yield ""
    yield "<!-- Written by scripts/generate from benchmarks/recorded/network.json. -->"
    yield ""
    yield paragraph("""A reducer's modes, all but `sparse_threshold`, `adasum_nway` and `fp8_e5m2`, reduce a list of
        square f32 gradients. Beside them in the same run are PyTorch's gloo all-reduce and its fp16 and
        PowerSGD hooks. The hosts are network namespaces of one machine. TCP is the kernel's; a program
        emulates the links' speed and delay on the same processors. A window begins on all ranks at
        once, and ends when the last one has its gradients.""")
    yield ""
    yield from COLUMNS.splitlines()
    yield ""
    yield paragraph("""The ranks share the processors of one machine. With large gradients their work takes longer than
        the link for `sparse` and `powersgd`, and about as long for `int4`; hosts of their own would do
        it in parallel. With small gradients delays take most of the time. [What to choose for which
        network](gradient_sync.md#which-one-for-which-need).""")
    yield ""
    for world in worlds:
        yield from section(world)
    yield paragraph("""Renewed by `benchmarks/network.py` with `--networks 1Gbit/s,100us 1Gbit/s,1ms 1Gbit/s,10ms
        --results benchmarks/recorded/network.json`, the small gradients with `--networks 1Gbit/s,10ms
        --tensors 8 --side 128 --rounds 5` and this file, and then `scripts/generate`. The benchmark
        needs root and PyTorch.""")


def generated() -> dict[Path, str]:
    worlds = json.loads(RECORD.read_text())["worlds"]
    ordered = sorted(
        worlds, key=lambda world: (-world["bandwidth"], world["delay"], -world["ranks_per_host"], -world["side"])
    )
    return {PAGE: "\n".join(page(ordered)) + "\n"}
