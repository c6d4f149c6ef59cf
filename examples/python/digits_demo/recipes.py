# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The rows of the demo's two tables. To add one, append a Recipe: the keywords are those of the gradstep classes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gradstep


@dataclass(frozen=True)
class Recipe:
    name: str
    rule: Callable[..., gradstep.Optimizer]
    options: Mapping[str, Any]
    reducer: Mapping[str, Any] = field(default_factory=dict)
    sync: str = "gradients"
    same_as_big_batch: float | None = 1e-5
    """Allowed distance to one process with the big batch: max|difference| / max|parameter|. None = not comparable."""

    @property
    def keeps_ranks_equal(self) -> bool:
        """Whether all ranks end with the same bits: with local steps they differ between averages."""
        return not self.sync.startswith("parameters")


# Tuned for Adam and for Shampoo alike: of 0.002, 0.004, 0.008, 0.016 and 0.032 it takes both to a training loss of 0.1
# in the fewest updates, in the mean over five starting points (Adam 41, Shampoo 31).
RATE = 0.016

COSINE = gradstep.schedule.cosine(0.1, decay_steps=220, warmup_steps=5)
SGD = {"learning_rate": COSINE, "momentum": 0.9}

RULES = [
    Recipe("SGD, momentum 0.9", gradstep.SGD, SGD),
    Recipe("Adam", gradstep.Adam, {"learning_rate": RATE}, same_as_big_batch=1e-3),
    Recipe("Shampoo", gradstep.Shampoo.from_adamw, {"learning_rate": RATE}, same_as_big_batch=1e-2),
    Recipe(
        "Shampoo, roots / 10",
        gradstep.Shampoo.from_adamw,
        {"learning_rate": RATE, "preconditioning_compute_steps": 10},
        same_as_big_batch=1e-2,
    ),
]

# One rule, synchronised in several ways. Momentum and sparse sums do not go together, so it moves into the reducer.
# Gradients of 11 bits: 220 updates make 2e-2 of a relative error of 5e-4, the same for every run.
SYNC = [
    Recipe("dense", gradstep.SGD, SGD),
    Recipe("half", gradstep.SGD, SGD, {"mode": "half"}, same_as_big_batch=0.1),
    Recipe(
        "sparse 1 %, residual",
        gradstep.SGD,
        {"learning_rate": COSINE},
        {"mode": "sparse_topk", "sparsity": 0.01, "momentum_correction": 0.9},
        same_as_big_batch=None,
    ),
    Recipe("Adasum", gradstep.SGD, SGD, {"mode": "adasum_tree"}, same_as_big_batch=None),
    # Four partitions: the two large matrices, and what is packed around them.
    Recipe(
        "partial parameters",
        gradstep.SGD,
        SGD,
        {"fuse_threshold": 512},
        sync="parameters_partial",
        same_as_big_batch=None,
    ),
]

TABLES = {"rules": RULES, "sync": SYNC}
