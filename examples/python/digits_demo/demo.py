# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Four worker processes train a perceptron on handwritten digits; their gradients meet in gradstep. Then two do it once
more in all the ways in which gradients can be synchronised.

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
from training import Failure, Outcome, Plan, Progress, run_rank

import gradstep


def train(plan: Plan, digits: Digits) -> tuple[Floats, list[list[Outcome]]]:
    """Runs all recipes of the plan in worker processes.

    Returns the mean loss over ranks of (recipe, update), and for each recipe the outcome of every rank.
    """
    from tqdm import tqdm

    # One thread for NumPy's products in each worker: there are more workers than most machines have cores.
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    context = multiprocessing.get_context("spawn")
    reports: Any = context.Queue()
    rendezvous = [gradstep.unique_id("gloo", "lo") for _ in plan.recipes]
    workers = [
        context.Process(target=run_rank, args=(rank, plan, digits, rendezvous, reports), daemon=True)
        for rank in range(plan.world_size)
    ]
    for worker in workers:
        worker.start()
    bars = [
        tqdm(total=plan.updates, desc=f"{recipe.name:<20}", unit="update", position=position)
        for position, recipe in enumerate(plan.recipes)
    ]
    losses = np.zeros((len(plan.recipes), plan.updates), np.float32)
    outcomes: list[list[Outcome]] = [[] for _ in plan.recipes]
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
    parser.add_argument("--picture", type=Path, default=Path("digits.png"), help="where to write the loss curves")
    arguments = parser.parse_args()
    plan = Plan(updates=arguments.updates)
    # Batches of the same size on half the ranks.
    sync_plan = Plan("sync", world_size=2, micro_batch_size=8, updates=arguments.updates)
    digits = load()
    results = [(each, *train(each, digits)) for each in (plan, sync_plan)]

    import report  # here, because every worker imports this file

    passed = True
    for each, losses, outcomes in results:
        rows = [report.evaluate(recipe, losses[i], outcomes[i], each, digits) for i, recipe in enumerate(each.recipes)]
        report.print_table(rows, each)
        report.print_checks(rows, each)
        if each is plan:
            report.draw(rows, each, arguments.picture)
        passed = passed and all(row.passed for row in rows)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
