# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The rows of the demo. To add one, append a Recipe: the keywords are those of the gradstep classes."""

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
    same_as_big_batch: float | None = 1e-5
    """Allowed distance to one process with the big batch: max|difference| / max|parameter|. None = not comparable."""


# Tuned for Adam and for Shampoo alike: of 0.002, 0.004, 0.008, 0.016 and 0.032 it takes both to a training loss of 0.1
# in the fewest updates, in the mean over five starting points (Adam 41, Shampoo 31).
RATE = 0.016

RECIPES = [
    Recipe(
        "SGD, momentum 0.9",
        gradstep.SGD,
        {"learning_rate": gradstep.schedule.cosine(0.1, decay_steps=220, warmup_steps=5), "momentum": 0.9},
    ),
    Recipe("Adam", gradstep.Adam, {"learning_rate": RATE}, same_as_big_batch=1e-3),
    Recipe("Shampoo", gradstep.Shampoo.from_adamw, {"learning_rate": RATE}, same_as_big_batch=1e-2),
    Recipe(
        "Shampoo, roots / 10",
        gradstep.Shampoo.from_adamw,
        {"learning_rate": RATE, "preconditioning_compute_steps": 10},
        same_as_big_batch=1e-2,
    ),
]
