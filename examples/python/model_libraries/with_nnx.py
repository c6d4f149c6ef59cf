# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: with_nnx.py

Flax NNX: nnx.Optimizer steps a module by gradstep's AdamW, in a compiled step.
"""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from digits import batches, load, report
from flax import nnx

import gradstep.optax

STEPS = 150


class Classifier(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.hidden = nnx.Linear(64, 128, rngs=rngs)
        self.out = nnx.Linear(128, 10, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        return self.out(nnx.relu(self.hidden(x)))


def main() -> None:
    # docs:begin nnx
    model = Classifier(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, gradstep.optax.adamw(3e-3), wrt=nnx.Param)

    @nnx.jit
    def step(model: Classifier, optimizer: nnx.Optimizer[Classifier], x: jax.Array, y: jax.Array) -> None:
        def loss(model: Classifier) -> Any:
            return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()

        optimizer.update(model, nnx.grad(loss)(model))

    # docs:end nnx
    for x, y in batches(STEPS):
        step(model, optimizer, jnp.asarray(x), jnp.asarray(y))
    report("nnx", model(load()[1][0]))


if __name__ == "__main__":
    main()
