# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""docs/training_by_mode.md and its two plots, from a record of training runs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generators.choosing_page import paragraph
from generators.places import ROOT
from generators.training_runs import Run, losses, plots, sent

RECORD = ROOT / "benchmarks" / "recorded" / "training_by_mode.json"
PAGE = ROOT / "docs" / "training_by_mode.md"


def table(runs: dict[str, list[Run]]) -> Iterator[str]:
    yield "| mode | loss | loss - that of dense, each seed | sent by a rank | of dense |"
    yield "|---|---|---|---|---|"
    for name, each in runs.items():
        yield f"| {name} | {losses(each, runs['dense'])} | {sent(each, runs['dense'])} |"


def page(record: dict[str, Any]) -> Iterator[str]:
    model, runs = record["model"], record["runs"]
    seeds = len(runs["dense"])
    yield "# Training by the modes of a reducer"
    yield ""
    yield "<!-- Written by scripts/generate from benchmarks/recorded/training_by_mode.json. -->"
    yield ""
    yield paragraph(f"""What fewer bits do to training, beside what they save. The transformer of
        [examples/python/transformer](../examples/python/transformer) with a width of {model["width"]}
        ({model["parameters"]} parameters), {model["ranks"]} ranks with {model["batch"]} x {model["length"]}
        characters each, {model["updates"]} updates of AdamW with a warm-up and a cosine. Every mode has the same
        {seeds} seeds: first weights and batches; lines and losses are their means, on held-out text.
        [gradient_sync.md](gradient_sync.md) says what the modes do. So short a run of so small a model shows
        differences between modes, and not what another model will make of them.""")
    yield ""
    yield "![Loss against updates, a line for each mode](images/modes_by_updates.svg)"
    yield ""
    yield "![Loss against the megabytes that a rank sends, a line for each mode](images/modes_by_bytes.svg)"
    yield ""
    yield from table(runs)
    yield ""
    yield paragraph("""A residual is what a mode has not sent: it is added to the next gradient. Without
        residuals the small elements of a gradient are never sent. Renewed by
        `benchmarks/training_by_mode.py`, which needs PyTorch, and `scripts/generate`.""")


def generated() -> dict[Path, str]:
    record = json.loads(RECORD.read_text())
    pictures = plots(record["runs"], "modes", "updates", "updates", large=("dense", "half"))
    return {PAGE: "\n".join(page(record)) + "\n", **pictures}
