# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""A tree, gradients for it, and training it with a transformation, for the tests of gradstep.optax."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from conftest import relative

STEPS = 20
# 20 steps in f32; optax divides by bias corrections and roots in another order, and rounds beta**t itself.
TOLERANCE = 1e-5


def tree(random: Any, dtype: Any = jnp.float32) -> Any:
    return {
        "layer": {"w": jnp.asarray(random.standard_normal((5, 7)), dtype), "b": jnp.asarray(0.5, dtype)},
        "rows": [jnp.asarray(random.standard_normal(n), dtype) for n in (3, 300)],
    }


def stacked_gradients(random: Any, params: Any) -> Any:
    return jax.tree.map(lambda p: jnp.asarray(random.standard_normal((STEPS, *p.shape)), p.dtype), params)


def train(transformation: Any, params: Any, grads: Any, how: str) -> Any:
    """Returns the parameters and the state after a step for each gradient."""

    def step(carry: Any, grad: Any) -> Any:
        params, state = carry
        updates, state = transformation.update(grad, state, params)
        return (optax.apply_updates(params, updates), state), None

    if how == "scan":
        scan = jax.jit(lambda params, grads: jax.lax.scan(step, (params, transformation.init(params)), grads)[0])
        return scan(params, grads)
    compiled = jax.jit if how == "jit" else lambda function: function
    carry = params, compiled(transformation.init)(params)
    one_step = compiled(step)
    for i in range(STEPS):
        carry, _ = one_step(carry, jax.tree.map(lambda g, i=i: g[i], grads))
    return carry


def largest_error(params: Any, expected: Any) -> float:
    pairs = zip(jax.tree.leaves(params), jax.tree.leaves(expected), strict=True)
    return max(relative(a.astype(jnp.float32), b.astype(jnp.float32)) for a, b in pairs)
