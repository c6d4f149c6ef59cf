# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The rows of the demo. To add one, append a Recipe: the keywords are those of the gradstep classes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gradstep


@dataclass(frozen=True)
class Recipe:
    name: str
    rule: type[gradstep.Optimizer]
    options: Mapping[str, Any]
    reducer: Mapping[str, Any] = field(default_factory=dict)
    same_as_big_batch: float | None = 1e-5
    """Allowed distance to one process with the big batch: max|difference| / max|parameter|. None = not comparable."""


RECIPES = [
    Recipe(
        "SGD, momentum 0.9",
        gradstep.SGD,
        {"learning_rate": gradstep.schedule.cosine(0.1, decay_steps=220, warmup_steps=5), "momentum": 0.9},
    ),
    Recipe("Adam", gradstep.Adam, {"learning_rate": 2e-3}),
]
