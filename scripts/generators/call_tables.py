# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The tables of what a call costs in benchmarks/README.md, from records of call_cost.py and many_small.py."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generators.benchmark_tables import with_region
from generators.choosing_page import paragraph
from generators.places import ROOT

RECORDED = ROOT / "benchmarks" / "recorded"
PAGE = ROOT / "benchmarks" / "README.md"
BEGIN, END = "<!-- calls: scripts/generate -->\n", "<!-- end of calls -->\n"
LANGUAGES = {
    "c": "C",
    "cpp": "C++, lists kept",
    "rust": "Rust",
    "java": "Java, lists kept",
    "julia": "Julia",
    "python": "Python",
}
GROUPS = "adam_step_64_groups"

Timings = dict[str, dict[str, float]]


def by_language(languages: dict[str, Timings]) -> Iterator[str]:
    yield "| | SGD, ns | times C | Adam, ns | times C | bytes |"
    yield "|---|---|---|---|---|---|"
    for name, title in LANGUAGES.items():
        if name not in languages:
            continue
        cells = []
        for step in ("sgd_step", "adam_step"):
            best = languages[name][step]["best_ns"]
            cells += [f"{best:.0f}", f"{best / languages['c'][step]['best_ns']:.2f}"]
        yield f"| {title} | {' | '.join(cells)} | {languages[name]['adam_step'].get('bytes', 0):.0f} |"


def by_schedule(calls: Timings) -> Iterator[str]:
    yield "| learning rate | ns | times constant |"
    yield "|---|---|---|"
    for name, timing in calls.items():
        if not name.startswith("adam_step"):
            continue
        in_groups = name.startswith(GROUPS)
        base = GROUPS if in_groups else "adam_step"
        kind = name.removeprefix(base).strip("_").replace("_", " ") or "constant"
        title = f"64 groups, {kind}" if in_groups else kind
        yield f"| {title} | {timing['best_ns']:.0f} | {timing['best_ns'] / calls[base]['best_ns']:.2f} |"


def many_small(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield "| tensors | threads | C, us each | NumPy, us each | times C | PyTorch, us each | times C |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        cells = [f"{row['us']['C']:.3f}"]
        for label in ("NumPy", "torch"):
            cells += [f"{row['us'][label]:.3f}", f"{row['times_c'][label]:.2f}"] if label in row["us"] else ["", ""]
        yield f"| {row['parameters']:,} | {row['threads']} | {' | '.join(cells)} |"


def lines() -> Iterator[str]:
    calls = json.loads((RECORDED / "call_cost.json").read_text())
    small = json.loads((RECORDED / "many_small.json").read_text())
    yield paragraph(f"""One step of 16 elements, {calls["processor"]}, best of {calls["rounds"]} runs in turns:""")
    yield ""
    yield from by_language(calls["languages"])
    yield ""
    yield paragraph("""Adam's step from C, with a schedule of each kind, and on 64 tensors in groups of their own:""")
    yield ""
    yield from by_schedule(calls["languages"]["c"])
    yield ""
    yield paragraph(f"""Adam's step of many tensors of 16 to 64 elements from Python, {small["processor"]}:""")
    yield ""
    yield from many_small(small["rows"])


def generated() -> dict[Path, str]:
    return {PAGE: with_region(PAGE.read_text(), PAGE, list(lines()), BEGIN, END)}
