# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""docs/training_local_steps.md and its two plots, from a record of training runs over slow links."""

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generators.choosing_page import paragraph
from generators.places import ROOT
from generators.training_runs import Run, losses, plots, sent

RECORD = ROOT / "benchmarks" / "recorded" / "training_local_steps.json"
PAGE = ROOT / "docs" / "training_local_steps.md"


def table(runs: dict[str, list[Run]]) -> Iterator[str]:
    dense = runs["dense"]
    seconds_of_dense = statistics.mean(run["seconds"][-1] for run in dense)
    yield "| way | loss | loss - that of dense, each seed | seconds | of dense | sent by a rank | of dense |"
    yield "|---|---|---|---|---|---|---|"
    for name, each in runs.items():
        seconds = statistics.mean(run["seconds"][-1] for run in each)
        times = f"{seconds:.1f} | {seconds / seconds_of_dense:.2f}"
        yield f"| {name} | {losses(each, dense)} | {times} | {sent(each, dense)} |"


def page(record: dict[str, Any]) -> Iterator[str]:
    model, network, machine, runs = record["model"], record["network"], record["machine"], record["runs"]
    seeds = len(runs["dense"])
    yield "# Training by local steps over slow links"
    yield ""
    yield "<!-- Written by scripts/generate from benchmarks/recorded/training_local_steps.json. -->"
    yield ""
    yield paragraph(f"""What local steps with an outer optimizer ([local_steps.md](local_steps.md)) do to training,
        beside the time that they save. The transformer of
        [examples/python/transformer](../examples/python/transformer) with a width of
        {model["width"]} ({model["parameters"]} parameters), {network["hosts"]} hosts of one rank each with
        {model["batch"]} x {model["length"]} characters, {model["updates"]} updates of AdamW with a warm-up and a
        cosine. The outer optimizer is SGD with rate 0.7, momentum 0.9 and Nesterov. Links have
        {network["bits_per_second"] / 1e6:g} Mbit/s and {network["delay_seconds"] * 1e3:g} ms. Every way has the same
        {seeds} seeds; lines and losses are their means, on held-out text.""")
    yield ""
    yield paragraph(f"""The hosts are made on one machine ({machine["processor"]}, {machine["cores"]} processors, a
        load average of {machine["load"][0]:.1f} before). The ranks share its processors: a step takes longer than on
        hosts of their own, and local steps save less.""")
    yield ""
    yield "![Loss against seconds, a line for each way](images/local_steps_by_seconds.svg)"
    yield ""
    yield "![Loss against the megabytes that a rank sends, a line for each way](images/local_steps_by_bytes.svg)"
    yield ""
    yield from table(runs)
    yield ""
    yield paragraph("""K is `sync_steps`. Streaming has two fragments, a delay of 2 windows and a mix of 0.25. So
        short a run favours steps that exchange: the outer optimizer of K = 50 makes four. Renewed by
        `benchmarks/training_local_steps.py`, which needs PyTorch and root, and `scripts/generate`.""")


def generated() -> dict[Path, str]:
    record = json.loads(RECORD.read_text())
    pictures = plots(record["runs"], "local_steps", "seconds", "time", large=("dense", "int8"))
    return {PAGE: "\n".join(page(record)) + "\n", **pictures}
