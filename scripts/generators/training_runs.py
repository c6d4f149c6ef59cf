# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What the pages of training runs share: means over seeds, cells of a table, and plots.

A run has lists of equal lengths: "losses", "megabytes" that a rank has sent by then, and what else the page shows.
"""

import statistics
from collections.abc import Collection
from pathlib import Path

from generators.choosing_page import IMAGES, plot

Run = dict[str, list[float]]


def means(runs: list[Run]) -> Run:
    """Means over all seeds."""
    return {
        key: [statistics.mean(values) for values in zip(*(run[key] for run in runs), strict=True)] for key in runs[0]
    }


def losses(runs: list[Run], dense: list[Run]) -> str:
    """The mean of the last losses, and of each seed how far it is from dense's."""
    last, base = ([run["losses"][-1] for run in each] for each in (runs, dense))
    differences = ", ".join(f"{loss - other:+.3f}" for loss, other in zip(last, base, strict=True))
    return f"{statistics.mean(last):.3f} | {differences}"


def sent(runs: list[Run], dense: list[Run]) -> str:
    """What a rank has sent, and the part of what it sends in dense mode."""
    megabytes, base = (statistics.mean(run["megabytes"][-1] for run in each) for each in (runs, dense))
    return f"{megabytes:.3g} MB | {megabytes / base:.4f}"


def plots(runs: dict[str, list[Run]], name: str, by: str, title: str, large: Collection[str]) -> dict[Path, str]:
    """Loss by a key of the runs, and by megabytes as far as ways that are not `large` send them."""
    of_all = {way: means(each) for way, each in runs.items()}
    most = max(run["megabytes"][-1] for way, run in of_all.items() if way not in large)
    few = {way: _cut(run, most) for way, run in of_all.items()}
    by_bytes = "Loss on held-out text by what a rank has sent"
    return {
        IMAGES / f"{name}_by_{by}.svg": plot(f"Loss on held-out text by {title}", by, by, of_all, right=210),
        IMAGES / f"{name}_by_bytes.svg": plot(by_bytes, "megabytes", "megabytes", few, right=210),
    }


def _cut(run: Run, most: float) -> Run:
    """As far as so many megabytes, for the other ways to be seen."""
    kept = sum(each <= most for each in run["megabytes"])
    return {key: values[: max(kept, 2)] for key, values in run.items()}
