# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""A regression in JAX trained by optax.adamw and by gradstep's, eagerly, compiled, and as one scan; then resumed."""

import tempfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import optax

# docs:begin import
import gradstep.optax

# docs:end import

STEPS = 100
# 100 steps of f32 arithmetic in another order, each of which the next ones carry on.
TOLERANCE = 1e-4


def make_problem() -> tuple[Any, Any]:
    """Parameters, and one batch of inputs and targets for each step."""
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    params = {"w": jax.random.normal(keys[0], (8, 3)) * 0.1, "b": jnp.zeros(3)}
    inputs = jax.random.normal(keys[1], (STEPS, 32, 8))
    truth = jax.random.normal(keys[2], (8, 3))
    return params, (inputs, jnp.tanh(inputs @ truth))


def loss(params: Any, inputs: Any, targets: Any) -> Any:
    return ((jnp.tanh(inputs @ params["w"] + params["b"]) - targets) ** 2).mean()


def make_step(optimizer: optax.GradientTransformation) -> Any:
    # docs:begin step
    def step(params: Any, state: Any, inputs: Any, targets: Any) -> tuple[Any, Any]:
        grads = jax.grad(loss)(params, inputs, targets)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    # docs:end step
    return step


def train(optimizer: optax.GradientTransformation, compiled: bool) -> Any:
    params, batches = make_problem()
    state = optimizer.init(params)
    step = jax.jit(make_step(optimizer)) if compiled else make_step(optimizer)
    for inputs, targets in zip(*batches, strict=True):
        params, state = step(params, state, inputs, targets)
    return params


def train_in_one_scan(optimizer: optax.GradientTransformation) -> Any:
    params, batches = make_problem()
    step = make_step(optimizer)

    @jax.jit
    def run(params: Any) -> Any:
        carry = params, optimizer.init(params)
        return jax.lax.scan(lambda carry, batch: (step(*carry, *batch), None), carry, batches)[0]

    return run(params)[0]


def train_and_resume(path: Path) -> Any:
    """Saves in the middle, and goes on with a new transformation as a new process would."""
    params, batches = make_problem()
    halves = [jax.tree.map(lambda b: b[: STEPS // 2], batches), jax.tree.map(lambda b: b[STEPS // 2 :], batches)]
    first = make_optimizer()
    state, step = first.init(params), jax.jit(make_step(first))
    for inputs, targets in zip(*halves[0], strict=True):
        params, state = step(params, state, inputs, targets)
    # docs:begin save
    gradstep.optax.optimizer_of(state).save(path)
    # docs:end save
    second = make_optimizer()
    # docs:begin load
    state = second.init(params)
    optimizer = gradstep.optax.optimizer_of(state)
    optimizer.load(path)
    state = state._replace(count=jnp.int32(optimizer.step_count))
    # docs:end load
    step = jax.jit(make_step(second))
    for inputs, targets in zip(*halves[1], strict=True):
        params, state = step(params, state, inputs, targets)
    return params


def make_optimizer() -> optax.GradientTransformation:
    # docs:begin optimizer
    rates = optax.cosine_decay_schedule(0.05, STEPS)
    optimizer = gradstep.optax.adamw(rates, weight_decay=1e-3)
    # docs:end optimizer
    return optimizer


def difference(a: Any, b: Any) -> float:
    return max(float(jnp.abs(x - y).max()) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


def main() -> None:
    reference = train(optax.adamw(optax.cosine_decay_schedule(0.05, STEPS), weight_decay=1e-3), compiled=True)
    compiled = train(make_optimizer(), compiled=True)
    runs = {
        "eager": train(make_optimizer(), compiled=False),
        "jit": compiled,
        "scan": train_in_one_scan(make_optimizer()),
    }
    for name, params in runs.items():
        error = difference(params, reference)
        print(f"{name}: largest difference to optax {error:.1e}, allowed {TOLERANCE:g}")
        if not error <= TOLERANCE:
            raise SystemExit(f"{name}: gradstep and optax disagree")
    with tempfile.TemporaryDirectory() as folder:
        if difference(train_and_resume(Path(folder, "adamw.safetensors")), compiled) != 0:
            raise SystemExit("the resumed run differs from the uninterrupted one")
    print("resumed in the middle: the same bits")


if __name__ == "__main__":
    main()
