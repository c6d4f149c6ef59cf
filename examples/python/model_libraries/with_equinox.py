# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: with_equinox.py

Equinox: gradstep's AdamW in the place of an optax transformation, in a compiled step.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from digits import batches, load, report

import gradstep.optax

STEPS = 150


def main() -> None:
    # docs:begin equinox
    model = eqx.nn.MLP(64, 10, width_size=128, depth=1, key=jax.random.PRNGKey(0))
    optimizer = gradstep.optax.adamw(3e-3)
    state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit
    def step(model: eqx.nn.MLP, state: Any, x: jax.Array, y: jax.Array) -> tuple[eqx.nn.MLP, Any]:
        def loss(model: eqx.nn.MLP) -> jax.Array:
            return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(jax.vmap(model)(x), y))

        grads = eqx.filter_grad(loss)(model)
        updates, state = optimizer.update(grads, state, eqx.filter(model, eqx.is_inexact_array))
        return eqx.apply_updates(model, updates), state

    # docs:end equinox
    for x, y in batches(STEPS):
        model, state = step(model, state, jnp.asarray(x), jnp.asarray(y))
    report("equinox", jax.vmap(model)(jnp.asarray(load()[1][0])))


if __name__ == "__main__":
    main()
