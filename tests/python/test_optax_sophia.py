# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep.optax.sophia beside optax.contrib's."""

import pickle

import numpy as np
import pytest

import gradstep

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")

import jax.numpy as jnp  # noqa: E402
from optax_training import STEPS, TOLERANCE, largest_error, tree  # noqa: E402

from gradstep import optax as adapters  # noqa: E402  (imports jax)

MASK = {"layer": True, "rows": [False, True]}
CASES = [
    {"learning_rate": 0.02, "update_interval": 3},
    {
        "learning_rate": optax.cosine_decay_schedule(0.02, STEPS),
        "b1": 0.9,
        "b2": 0.5,
        "gamma": 0.5,
        "weight_decay": 0.1,
        "weight_decay_mask": MASK,
        "clip_threshold": 0.7,
        "update_interval": 1,
    },
    {"learning_rate": 0.002, "gamma": 2.0, "eps": 0.1, "clip_threshold": None, "update_interval": 4},
]


def loss(params):
    """A loss whose curvatures differ."""
    return sum(jnp.sum((1 + jnp.cos(p)) * p**2) for p in jax.tree.leaves(params))


gradient = jax.jit(jax.grad(loss))


def train(transformation, params, how):
    def step(carry, _):
        params, state = carry
        updates, state = transformation.update(gradient(params), state, params, obj_fn=loss)
        return (optax.apply_updates(params, updates), state), None

    if how == "scan":
        scan = jax.jit(lambda params: jax.lax.scan(step, (params, transformation.init(params)), None, STEPS)[0])
        return scan(params)
    carry = params, transformation.init(params)
    one_step = jax.jit(step) if how == "jit" else step
    for _ in range(STEPS):
        carry, _ = one_step(carry, None)
    return carry


@pytest.mark.parametrize(
    ("how", "options"), list(zip(("eager", "jit", "scan"), CASES, strict=True)), ids=["defaults", "all", "unclipped"]
)
def test_updates_and_hessians_are_those_of_optax(how, options, random):
    params = tree(random)
    expected, theirs = train(optax.contrib.sophia(**options), params, "jit")
    transformation = adapters.sophia(**options)
    got, state = train(transformation, params, how)
    assert largest_error(got, expected) <= 5 * TOLERANCE  # gradients differ as the parameters do
    optimizer = adapters.optimizer_of(state)
    assert optimizer.step_count == STEPS
    hessians = [jnp.asarray(optimizer.get_state(i, "hessian")) for i in range(4)]
    assert largest_error(hessians, jax.tree.leaves(theirs[0].nu)) <= 20 * TOLERANCE
    assert jnp.array_equal(state.hessian_fn_state.key, theirs[0].hessian_fn_state.key)
    assert any(float(jnp.abs(h).max()) > 0.1 for h in hessians)


def test_an_estimator_of_ones_own_is_asked_every_few_steps():
    calls = []

    def estimate(updates, state, params=None, scale=1.0):
        calls.append(float(state))
        return jax.tree.map(lambda p: scale * jnp.ones_like(p), params), state + 1

    estimator = optax.GradientTransformationExtraArgs(lambda _: jnp.zeros(()), estimate)
    params = {"w": jnp.ones(3)}
    transformation = adapters.sophia(0.1, b2=0.5, update_interval=2, hessian_diagonal_fn=estimator)
    state = transformation.init(params)
    seen = []
    for _ in range(4):
        _, state = transformation.update(params, state, params, scale=2.0)
        seen.append(float(adapters.optimizer_of(state).get_state(0, "hessian")[0]))
    assert calls == [0, 1]
    assert seen == [1, 1, 1.5, 1.5]
    assert pickle.loads(pickle.dumps(jax.tree.map(np.asarray, state))).hessian_fn_state == 2


def test_bad_arguments_are_refused_by_name():
    with pytest.raises(gradstep.Unsupported, match=r"verbose: .*optax\.contrib\.sophia"):
        adapters.sophia(0.1, verbose=True)
    with pytest.raises(gradstep.InvalidArgument, match=r"update_interval: .*at least 1, found 0"):
        adapters.sophia(0.1, update_interval=0)
    with pytest.raises(gradstep.InvalidArgument, match=r"b2: .*found 1\.5"):
        adapters.sophia(0.1, b2=1.5)
    with pytest.raises(gradstep.InvalidArgument, match="beta1"):
        adapters.sophia(0.1, b1=1.5)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
def test_bad_updates_change_nothing(compiled):
    flat = optax.GradientTransformationExtraArgs(lambda _: (), lambda *_, **__: ({"w": jnp.ones(2)}, ()))
    params = {"w": jnp.ones(3)}
    transformation = adapters.sophia(0.1, hessian_diagonal_fn=flat)
    state = transformation.init(params)
    update = jax.jit(transformation.update) if compiled else transformation.update
    with pytest.raises(gradstep.InvalidArgument, match=r"leaf 0 has shape \(2,\), expected \(3,\)"):
        update(params, state, params)
    with pytest.raises(gradstep.InvalidArgument, match="params: is None; Sophia needs"):
        update(params, state)
    assert adapters.optimizer_of(state).step_count == 0
