# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What the demo shows: a table, checks and a picture."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from digits import Digits, Floats
from numpy.typing import NDArray
from recipes import Recipe
from rich.console import Console
from rich.table import Table
from training import Outcome, Plan, distance, train_alone

# The table says after how many updates they are reached, in the mean over the last WINDOW updates.
ACCURACY, LOSS, WINDOW = 0.97, 0.03, 5


def trailing_means(values: Sequence[float] | Floats) -> NDArray[np.float64]:
    """The means over each update and the WINDOW - 1 before it."""
    return np.convolve(values, np.full(WINDOW, 1 / WINDOW), "valid")


def first_update(reached: NDArray[np.bool_]) -> str:
    """Its number; "> N" if none of N updates reached it."""
    return str(int(reached.argmax()) + WINDOW) if reached.any() else f"> {len(reached) + WINDOW - 1}"


@dataclass(frozen=True)
class Row:
    recipe: Recipe
    losses: Floats
    outcomes: list[Outcome]
    accuracies: list[float]
    """On the test images after each update."""
    distance: float
    ranks_agree: bool

    @property
    def accuracy(self) -> float:
        return self.accuracies[-1]

    @property
    def updates_to_accuracy(self) -> str:
        return first_update(np.greater_equal(trailing_means(self.accuracies), ACCURACY))

    @property
    def updates_to_loss(self) -> str:
        return first_update(np.less_equal(trailing_means(self.losses), LOSS))

    @property
    def passed(self) -> bool:
        tolerance = self.recipe.same_as_big_batch
        agree = self.ranks_agree or not self.recipe.keeps_ranks_equal
        return agree and (tolerance is None or self.distance <= tolerance)


def evaluate(recipe: Recipe, losses: Floats, outcomes: list[Outcome], plan: Plan, digits: Digits) -> Row:
    """Compares the ranks with each other and with one process that takes the big batch."""
    parameters = outcomes[0].parameters
    return Row(
        recipe=recipe,
        losses=losses,
        outcomes=outcomes,
        accuracies=outcomes[0].accuracies,
        distance=distance(parameters, train_alone(recipe, plan, digits).parameters),
        ranks_agree=all(
            a.tobytes() == b.tobytes()
            for outcome in outcomes[1:]
            for a, b in zip(outcome.parameters, parameters, strict=True)
        ),
    )


def print_table(rows: list[Row], plan: Plan) -> None:
    batches = f"{plan.world_size} ranks x {plan.micro_batches} micro-batches of {plan.micro_batch_size}"
    table = Table(title=f"{batches}, {plan.updates} updates")
    table.add_column("recipe", no_wrap=True)
    headings = (
        "test accuracy",
        f"updates to {ACCURACY:.0%}",
        f"updates to loss {LOSS:g}",
        "all-reduces",
        "MB on the wire",
        "seconds",
        "in gradstep",
        "without waiting",
    )
    for heading in headings:
        table.add_column(heading, justify="right")
    for row in rows:
        total = sum(outcome.seconds for outcome in row.outcomes)
        inside = sum(outcome.gradstep_seconds for outcome in row.outcomes)
        exchange = sum(outcome.exchange_seconds for outcome in row.outcomes)
        table.add_row(
            row.recipe.name,
            f"{row.accuracy:.2%}",
            row.updates_to_accuracy,
            row.updates_to_loss,
            str(row.outcomes[0].all_reduces),
            f"{sum(outcome.bytes_sent for outcome in row.outcomes) / 1e6:.1f}",
            f"{max(outcome.seconds for outcome in row.outcomes):.2f}",
            f"{inside / total:.0%}",
            f"{(inside - exchange) / total:.0%}",
        )
    Console(width=130).print(table)
    print("All-reduces are those of one rank, bytes those of all. Time in gradstep includes the exchange, where a rank")
    print("waits for slower ones; without waiting, it is what accumulating and stepping cost.")


def agreement(row: Row) -> str:
    if row.ranks_agree:
        return "agree in every bit"
    return "DIFFER" if row.recipe.keeps_ranks_equal else "differ between averages"


def print_checks(rows: list[Row], plan: Plan) -> None:
    print(f"\nThe same training by one process with batches of {plan.big_batch_size}:")
    for row in rows:
        tolerance = row.recipe.same_as_big_batch
        allowed = "not comparable" if tolerance is None else f"allowed {tolerance:g}"
        print(
            f"  {row.recipe.name:<20} max|difference| / max|parameter| = {row.distance:.1e} ({allowed}); "
            f"ranks {agreement(row)}: {'ok' if row.passed else 'FAILED'}"
        )


def draw(rows: list[Row], plan: Plan, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure, (losses, accuracies) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    for row in rows:
        updates = range(WINDOW, len(row.losses) + 1)
        losses.plot(updates, trailing_means(row.losses), label=f"{row.recipe.name} ({row.accuracy:.1%})", lw=1.2)
        accuracies.plot(updates, trailing_means(row.accuracies), lw=1.2)
    losses.axhline(LOSS, color="grey", lw=0.8, ls="--")
    losses.set(xlabel="update", ylabel=f"training loss, mean of {WINDOW} updates", yscale="log")
    losses.legend(frameon=False, fontsize=8)
    accuracies.axhline(ACCURACY, color="grey", lw=0.8, ls="--")
    accuracies.set(
        xlabel="update",
        ylabel=f"test accuracy, mean of {WINDOW} updates",
        ylim=(0.9, 1.0),
        xlim=(0, min(plan.updates, 120)),
    )
    figure.suptitle(
        f"Handwritten digits, {plan.world_size} ranks over Gloo, {plan.micro_batches} micro-batches per update"
        " (test accuracy at the end)",
        fontsize=10,
    )
    for axes in (losses, accuracies):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    print(f"\nLoss curves: {os.path.relpath(path)}")
