# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The table of steps beside PyTorch's in docs/how_to/fsdp2.md, from a record of benchmarks/fsdp2.py."""

import json
from collections.abc import Iterator
from pathlib import Path

from generators.benchmark_tables import with_region
from generators.choosing_page import paragraph
from generators.places import ROOT

RECORD = ROOT / "benchmarks" / "recorded" / "fsdp2.json"
PAGE = ROOT / "docs" / "how_to" / "fsdp2.md"
BEGIN, END = "<!-- fsdp2: scripts/generate -->\n", "<!-- end of fsdp2 -->\n"


def lines() -> Iterator[str]:
    record = json.loads(RECORD.read_text())
    machine = f"an {record['processor']}, PyTorch {record['torch']}"
    yield paragraph(f"""Milliseconds of the processor that a step takes on rank 0, without waiting for other ranks:
        best and median of interleaved rounds. {record["elements"]:,} f32 are in shards, with one thread a rank of
        {machine}. The last column says how many times as long as gradstep's a step takes, the median over rounds
        ([the program](../../benchmarks/fsdp2.py)):""")
    yield ""
    yield "| ranks | step | of | best | median | times |"
    yield "|---|---|---|---|---|---|"
    for row in record["rows"]:
        times = row["times_gradstep"]
        ratio = f"{times['median']:.2f}" if times else ""
        cells = (row["ranks"], row["case"], row["contender"], f"{row['best_ms']:.2f}", f"{row['median_ms']:.2f}", ratio)
        yield f"| {' | '.join(map(str, cells))} |"


def generated() -> dict[Path, str]:
    return {PAGE: with_region(PAGE.read_text(), PAGE, list(lines()), BEGIN, END)}
