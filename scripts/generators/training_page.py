# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""docs/training_by_mode.md and its two plots, from a record of training runs."""

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generators.choosing_page import IMAGES, paragraph, plot
from generators.places import ROOT

RECORD = ROOT / "benchmarks" / "recorded" / "training_by_mode.json"
PAGE = ROOT / "docs" / "training_by_mode.md"


def means(runs: list[dict[str, list[float]]]) -> dict[str, list[float]]:
    """Means over all seeds."""
    return {
        key: [statistics.mean(values) for values in zip(*(run[key] for run in runs), strict=True)] for key in runs[0]
    }


def table(runs: dict[str, list[dict[str, list[float]]]]) -> Iterator[str]:
    dense = [run["losses"][-1] for run in runs["dense"]]
    bytes_of_dense = runs["dense"][0]["megabytes"][-1]
    yield "| mode | loss | loss - that of dense, each seed | sent by a rank | of dense |"
    yield "|---|---|---|---|---|"
    for name, each in runs.items():
        losses = [run["losses"][-1] for run in each]
        differences = ", ".join(f"{loss - base:+.3f}" for loss, base in zip(losses, dense, strict=True))
        sent = statistics.mean(run["megabytes"][-1] for run in each)
        share = sent / bytes_of_dense
        yield f"| {name} | {statistics.mean(losses):.3f} | {differences} | {sent:.3g} MB | {share:.3f} |"


def page(record: dict[str, Any]) -> Iterator[str]:
    model, runs = record["model"], record["runs"]
    seeds = len(runs["dense"])
    yield "# Training by the modes of a reducer"
    yield ""
    yield "<!-- Written by scripts/generate from benchmarks/recorded/training_by_mode.json. -->"
    yield ""
    yield paragraph(f"""What fewer bits do to training, beside what they save. The transformer of
        [examples/09_transformer](../examples/09_transformer) with a width of {model["width"]}
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
    runs = {name: means(each) for name, each in record["runs"].items()}
    most = max(run["megabytes"][-1] for name, run in runs.items() if name not in ("dense", "half"))
    few = {name: cut(run, most) for name, run in runs.items()}
    return {
        PAGE: "\n".join(page(record)) + "\n",
        IMAGES / "modes_by_updates.svg": plot(
            "Loss on held-out text by updates", "updates", "updates", runs, right=210
        ),
        IMAGES / "modes_by_bytes.svg": plot(
            "Loss on held-out text by what a rank has sent", "megabytes", "megabytes", few, right=210
        ),
    }


def cut(run: dict[str, list[float]], most: float) -> dict[str, list[float]]:
    """As far as so many megabytes, for the other modes to be seen."""
    kept = sum(each <= most for each in run["megabytes"])
    return {key: values[: max(kept, 2)] for key, values in run.items()}
