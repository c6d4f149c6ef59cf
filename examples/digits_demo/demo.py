# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Four worker processes train a perceptron on handwritten digits; their gradients meet in gradstep.

Run it with scripts/demo, or with any Python that has gradstep and its extra "demo".
"""

import argparse
import multiprocessing
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from digits import Digits, Floats, load
from recipes import RECIPES
from training import Failure, Outcome, Plan, Progress, run_rank

import gradstep

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "images" / "digits.png"


def train(plan: Plan, digits: Digits) -> tuple[Floats, list[list[Outcome]]]:
    """Runs all recipes in worker processes.

    Returns the mean loss over ranks of (recipe, update), and for each recipe the outcome of every rank.
    """
    from tqdm import tqdm

    # One thread for NumPy's products in each worker: there are more workers than most machines have cores.
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    context = multiprocessing.get_context("spawn")
    reports: Any = context.Queue()
    rendezvous = [gradstep.unique_id("gloo", "lo") for _ in RECIPES]
    workers = [
        context.Process(target=run_rank, args=(rank, plan, digits, rendezvous, reports), daemon=True)
        for rank in range(plan.world_size)
    ]
    for worker in workers:
        worker.start()
    bars = [
        tqdm(total=plan.updates, desc=f"{recipe.name:<20}", unit="update", position=position)
        for position, recipe in enumerate(RECIPES)
    ]
    losses = np.zeros((len(RECIPES), plan.updates), np.float32)
    outcomes: list[list[Outcome]] = [[] for _ in RECIPES]
    while any(len(of_recipe) < plan.world_size for of_recipe in outcomes):
        match reports.get(timeout=120):
            case Progress(recipe_index, rank, update, loss):
                losses[recipe_index, update] += loss / plan.world_size
                if rank == 0:
                    bars[recipe_index].set_postfix(loss=f"{loss:.3f}", refresh=False)
                    bars[recipe_index].update()
            case Outcome() as outcome:
                outcomes[outcome.recipe_index].append(outcome)
            case Failure(rank, text):
                for worker in workers:
                    worker.terminate()
                raise SystemExit(f"rank {rank} failed:\n{text}")
    for bar in bars:
        bar.close()
    for worker in workers:
        worker.join()
    return losses, [sorted(of_recipe, key=lambda outcome: outcome.rank) for of_recipe in outcomes]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=Plan.updates, help="updates per recipe")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="where to write the loss curves")
    arguments = parser.parse_args()
    plan = Plan(updates=arguments.updates)
    digits = load()
    losses, outcomes = train(plan, digits)

    import report  # here, because every worker imports this file

    rows = [report.evaluate(RECIPES[i], losses[i], outcomes[i], plan, digits) for i in range(len(RECIPES))]
    report.print_table(rows, plan)
    report.print_checks(rows, plan)
    report.draw(rows, plan, arguments.picture)
    return 0 if all(row.passed for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
