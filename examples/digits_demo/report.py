# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What the demo shows: a table, checks and a picture."""

import os
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from digits import Digits, Floats, Perceptron
from recipes import Recipe
from rich.console import Console
from rich.table import Table
from training import Outcome, Plan, distance, train_alone


@dataclass(frozen=True)
class Row:
    recipe: Recipe
    losses: Floats
    outcomes: list[Outcome]
    accuracy: float
    distance: float
    ranks_agree: bool

    @property
    def passed(self) -> bool:
        tolerance = self.recipe.same_as_big_batch
        return self.ranks_agree and (tolerance is None or self.distance <= tolerance)


def evaluate(recipe: Recipe, losses: Floats, outcomes: list[Outcome], plan: Plan, digits: Digits) -> Row:
    """Compares the ranks with each other and with one process that takes the big batch."""
    model = Perceptron()
    model.parameters = outcomes[0].parameters
    alone = train_alone(recipe, plan, digits)
    return Row(
        recipe=recipe,
        losses=losses,
        outcomes=outcomes,
        accuracy=model.accuracy(digits.test_images, digits.test_labels),
        distance=distance(model.parameters, alone.parameters),
        ranks_agree=all(
            a.tobytes() == b.tobytes()
            for outcome in outcomes[1:]
            for a, b in zip(outcome.parameters, model.parameters, strict=True)
        ),
    )


def print_table(rows: list[Row], plan: Plan) -> None:
    table = Table(title=f"{plan.world_size} ranks x {plan.micro_batches} micro-batches of {plan.micro_batch_size}")
    table.add_column("recipe")
    headings = (
        "test accuracy",
        "updates",
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
            str(plan.updates),
            str(row.outcomes[0].all_reduces),
            f"{sum(outcome.bytes_sent for outcome in row.outcomes) / 1e6:.1f}",
            f"{max(outcome.seconds for outcome in row.outcomes):.2f}",
            f"{inside / total:.0%}",
            f"{(inside - exchange) / total:.0%}",
        )
    Console(width=120).print(table)
    print("All-reduces are those of one rank, bytes those of all. Time in gradstep includes the exchange, where a rank")
    print("waits for slower ones; without waiting, it is what accumulating and stepping cost.")


def print_checks(rows: list[Row], plan: Plan) -> None:
    print(f"\nThe same training by one process with batches of {plan.big_batch_size}:")
    for row in rows:
        tolerance = row.recipe.same_as_big_batch
        allowed = "not comparable" if tolerance is None else f"allowed {tolerance:g}"
        print(
            f"  {row.recipe.name:<20} max|difference| / max|parameter| = {row.distance:.1e} ({allowed}); "
            f"ranks {'agree in every bit' if row.ranks_agree else 'DIFFER'}: {'ok' if row.passed else 'FAILED'}"
        )


def draw(rows: list[Row], plan: Plan, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for row in rows:
        axes.plot(range(1, len(row.losses) + 1), row.losses, label=f"{row.recipe.name} ({row.accuracy:.1%})", lw=1.2)
    axes.set(xlabel="update", ylabel="training loss", yscale="log")
    axes.set_title(
        f"Handwritten digits, {plan.world_size} ranks over Gloo, {plan.micro_batches} micro-batches per update"
        " (test accuracy)",
        fontsize=10,
    )
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    print(f"\nLoss curves: {os.path.relpath(path)}")
