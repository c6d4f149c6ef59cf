# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The tables of steps against PyTorch in README.md, docs/performance.md and the site's front page, from a record of
`scripts/bench`."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generators.choosing_page import paragraph
from generators.places import ROOT

RECORD = ROOT / "benchmarks" / "recorded" / "cpu.json"
MODELS = ROOT / "benchmarks" / "recorded" / "models.json"
README = ROOT / "README.md"
PAGE = ROOT / "docs" / "performance.md"
FRONT = ROOT / "docs" / "site" / "index.md"
MODELS_BEGIN, MODELS_END = "<!-- models: scripts/generate -->\n", "<!-- end of models -->\n"
BEGIN, END = "<!-- benchmarks: scripts/generate -->\n", "<!-- end of benchmarks -->\n"
RATIO = "A ratio above 1 says that gradstep is faster"
# What each case of benchmarks/cases.py measures, and what PyTorch runs; "" where PyTorch's fused optimizer does.
CASES = {
    "machine: a += b, 16M f32": ("`a += b`, 16M f32", "add_"),
    "accumulate 16M f32": ("accumulate 16M f32", "add_"),
    "accumulate 16M bf16 into f32": ("accumulate 16M bf16 into f32", "add_"),
    "SGD momentum, 16M f32": ("SGD with momentum, 16M f32", ""),
    "RMSProp, 16M f32": ("RMSProp, 16M f32", "foreach; no fused form exists"),
    "AdaGrad, 16M f32": ("AdaGrad, 16M f32", ""),
    "Adam, 16M f32": ("Adam, 16M f32", ""),
    "AMSGrad, 16M f32": ("AMSGrad, 16M f32", ""),
    "Adam, 400 of 64x64": ("Adam, 400 tensors of 64x64", ""),
    "Adam, channels last, 512x512x3x3": ("Adam, channels last, 512x512x3x3", ""),
    "Adam, bf16 state, 16M f32": ("Adam with bf16 state, 16M", "fused, f32 state"),
    "Adam, 8-bit state, 16M f32": ("Adam with 8-bit state, 16M", "fused, f32 state"),
    "AdamW, bf16 with masters, 16M": ("AdamW, bf16 with f32 master weights, 16M", "copies around fused"),
    "AdamW, f16 with masters, 16M": ("AdamW, f16 with f32 master weights, 16M", "copies around fused"),
    "window of 8, clip, AdamW, 16M f32": ("8 micro-batches, norm clip, AdamW, 16M", "add_, clip_grad_norm_, fused"),
    "sparse window, 1 % of 16M f32": ("sparse window of one rank, 1 % of 16M f32", "topk alone"),
    "PowerSGD window, rank 4, 4096x4096": ("PowerSGD window of one rank, rank 4, 4096x4096", "its products and QR"),
    "PowerSGD window, rank 4, 50257x768": ("PowerSGD window of one rank, rank 4, 50257x768", "its products and QR"),
    "Muon in f32, a layer of GPT-2": ("Muon in f32, a layer of GPT-2 small", "torch.optim.Muon's operations in f32"),
    "Muon in f32, Gram iterations, a layer of GPT-2": (
        "Muon in f32 by Gram iterations, that layer",
        "torch.optim.Muon's operations in f32",
    ),
    "Muon in bf16, a layer of GPT-2": ("Muon with products in bf16, that layer", "torch.optim.Muon"),
    "Muon in bf16, Gram iterations, a layer of GPT-2": (
        "Muon with products in bf16 by Gram iterations, that layer",
        "torch.optim.Muon",
    ),
    "Adam, 1 of 16, cost of a call": ("one Adam step of 16 elements, from Python", ""),
}
# The README's: what is most used, with two rows where PyTorch is faster.
SHORT = (
    "accumulate 16M f32",
    "SGD momentum, 16M f32",
    "Adam, 16M f32",
    "Adam, 8-bit state, 16M f32",
    "AdamW, bf16 with masters, 16M",
    "window of 8, clip, AdamW, 16M f32",
)


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def peer_of(case: dict[str, Any]) -> str:
    return next((name for name in case["contenders"] if name.startswith("torch")), "gradstep")


def cell(case: dict[str, Any] | None, has_speed: bool) -> str:
    """gradstep's milliseconds, the ratio of PyTorch's to them, and gradstep's GB/s."""
    if case is None:
        return ""
    peer = peer_of(case)
    ours = case["contenders"].get("gradstep")
    times = case.get("speed_of_peer", {}).get(peer, {}).get("best")
    shown = case["contenders"][peer] if ours is None else ours
    parts = [number(shown["best_ms"]), number(times) or "-", number(shown.get("gb_per_s")) or "-"]
    return "; ".join(parts if has_speed else parts[:2])


def table(machines: list[dict[str, Any]], names: tuple[str, ...], has_speed: bool) -> Iterator[str]:
    found = [{case["name"]: case for case in each["cases"]} for each in machines]
    yield "| one thread | PyTorch runs | " + " | ".join(each["machine"]["processor"] for each in machines) + " |"
    yield "|---" * (len(machines) + 2) + "|"
    for name in names:
        title, runs = CASES[name]
        cells = [cell(each.get(name), has_speed) for each in found]
        if any(cells):
            yield f"| {title} | {runs or 'fused'} | " + " | ".join(cells) + " |"


def models_table(machines: list[dict[str, Any]]) -> Iterator[str]:
    """Milliseconds of a step, and the ratio of PyTorch's time to them, on each kind of machine."""
    yield "| a step | " + " | ".join(each["machine"]["processor"] for each in machines) + " |"
    yield "|---" * (len(machines) + 1) + "|"
    for number_of_case, case in enumerate(machines[0]["cases"]):
        cells = []
        for each in machines:
            found = each["cases"][number_of_case]
            best = found["contenders"]["gradstep"]["best_ms"]
            cells.append(f"{number(best)}; {number(found['speed_of_peer']['torch fused']['best'])}")
        yield f"| {case['name']} | " + " | ".join(cells) + " |"


def lists_of(machines: list[dict[str, Any]]) -> str:
    models = machines[0]["models"].items()
    return ", ".join(f"{name} ({each['tensors']} tensors, {each['parameters'] / 1e6:.0f}M)" for name, each in models)


def with_region(text: str, path: Path, lines: list[str], begin_mark: str = BEGIN, end_mark: str = END) -> str:
    """The text of a page with these lines between its marks."""
    before, begin, rest = text.partition(begin_mark)
    _, end, after = rest.partition(end_mark)
    if not begin or not end:
        raise SystemExit(f"{path.relative_to(ROOT)}: expected {begin_mark.strip()} and {end_mark.strip()}")
    return before + begin + "\n".join(lines) + "\n" + end + after


def generated() -> dict[Path, str]:
    machines = json.loads(RECORD.read_text())["machines"]
    models = json.loads(MODELS.read_text())["machines"]
    torches = {".".join(re.split(r"[.+]", each["torch"])[:2]) for each in machines if each["torch"]}
    versions = " and ".join(sorted(torches))
    short = [*table(machines, SHORT, has_speed=False), ""]
    below = f"""Cells: gradstep's milliseconds; PyTorch's, divided by them. Best of interleaved rounds,
        PyTorch {versions}. [More tables]({{}}#measured) cover Shampoo, networks and each language."""
    readme, front = ([*short, paragraph(below.format(page))] for page in ("docs/performance.md", "../performance.md"))
    whole = [
        paragraph(f"""Cells have gradstep's milliseconds, the ratio of PyTorch's to them, and gradstep's GB/s; PyTorch's
        numbers where it is alone. {RATIO}. Best of interleaved rounds, one kind of processor a column, no other work
        of the project, PyTorch {versions}:"""),
        "",
    ]
    lists = [
        paragraph(f"""Lists of {lists_of(models)}. Each cell has gradstep's milliseconds on one thread, and the ratio
        of PyTorch's to them. {RATIO}. A step with 8-bit state is compared with PyTorch's with f32 state:"""),
        "",
    ]
    page = with_region(PAGE.read_text(), PAGE, [*whole, *table(machines, tuple(CASES), has_speed=True)])
    page = with_region(page, PAGE, [*lists, *models_table(models)], MODELS_BEGIN, MODELS_END)
    texts = {README: with_region(README.read_text(), README, readme), PAGE: page}
    return {**texts, FRONT: with_region(FRONT.read_text(), FRONT, front)}
