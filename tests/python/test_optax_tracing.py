# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep.optax where JAX traces: nothing happens then, and what was traced happens when it is run."""

import os
import subprocess
import sys

import numpy as np
import pytest

import gradstep

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")

import jax.numpy as jnp  # noqa: E402

from gradstep import optax as adapters  # noqa: E402
from gradstep.optax import _states  # noqa: E402  (imports jax)

PARAMS = {"w": jnp.array([1.0, -2.0, 3.0]), "b": jnp.float32(0.5)}
GRADS = jax.tree.map(lambda p: p + 1, PARAMS)
# optax rounds 1 - 0.999**t in f32, where t is small to 1e-5 of itself; a step too many or too few is 0.1.
RTOL = 1e-4
NOTHING = jax.tree.map(jnp.zeros_like, PARAMS)


def custom_vjp(function):
    wrapped = jax.custom_vjp(lambda _: function())
    wrapped.defvjp(lambda x: (function(), x), lambda x, _: (x,))
    return wrapped


# Each traces a function of no arguments, whose arrays are therefore no tracers, and does not run it.
TRACES = {
    "cond": lambda function, otherwise: jax.lax.cond(False, function, lambda: otherwise),
    "switch": lambda function, otherwise: jax.lax.switch(1, [function, lambda: otherwise]),
    "while_loop": lambda function, otherwise: jax.lax.while_loop(lambda _: False, lambda _: function(), otherwise),
    "fori_loop": lambda function, otherwise: jax.lax.fori_loop(0, 0, lambda *_: function(), otherwise),
    "scan": lambda function, otherwise: jax.lax.scan(lambda *_: (function(), None), otherwise, jnp.zeros(0)),
    "eval_shape": lambda function, _: jax.eval_shape(function),
    "make_jaxpr": lambda function, _: jax.make_jaxpr(function)(),
    "lower": lambda function, _: jax.jit(function).lower(),
    "checkpoint": lambda function, _: jax.eval_shape(jax.checkpoint(function)),
    "custom_vjp": lambda function, _: jax.jit(custom_vjp(function)).lower(1.0),
}

# Each runs a function of no arguments once.
RUNS = {
    "cond": lambda function: jax.lax.cond(True, function, function),
    "switch": lambda function: jax.lax.switch(1, [function, function, function]),
    "scan": lambda function: jax.tree.map(
        lambda x: x[0], jax.lax.scan(lambda c, _: (c, function()), 0, jnp.zeros(1))[1]
    ),
    "checkpoint": lambda function: jax.checkpoint(function)(),
    "custom_vjp": lambda function: custom_vjp(function)(1.0),
    "jit": lambda function: jax.jit(function)(),
    "eager": lambda function: function(),
    "disable_jit": lambda function: run_without_jit(function),
}


def run_without_jit(function):
    with jax.disable_jit():
        return jax.lax.cond(True, function, function)


@pytest.mark.parametrize("trace", TRACES)
def test_tracing_an_update_makes_no_step(trace):
    transformation = adapters.adam(0.1)
    state = transformation.init(PARAMS)
    jax.block_until_ready(TRACES[trace](lambda: transformation.update(GRADS, state, PARAMS), (NOTHING, state)))
    jax.effects_barrier()
    assert adapters.optimizer_of(state).step_count == 0
    _, state = transformation.update(GRADS, state, PARAMS)
    assert adapters.optimizer_of(state).step_count == 1, "the state is as good as new"


@pytest.mark.parametrize("trace", TRACES)
def test_tracing_init_makes_no_optimizer(trace):
    transformation = adapters.adam(0.1)
    before = set(_states._entries)  # some of which other tests have left, and may go meanwhile
    TRACES[trace](lambda: transformation.init(PARAMS), adapters.State(jnp.zeros(2, jnp.uint32), jnp.int32(0)))
    jax.effects_barrier()
    assert set(_states._entries) <= before


@pytest.mark.parametrize("run", RUNS)
def test_what_was_traced_happens_once_when_it_is_run(run):
    transformation, reference = adapters.adam(0.1), optax.adam(0.1)
    state = jax.block_until_ready(RUNS[run](lambda: transformation.init(PARAMS)))
    updates, state = jax.block_until_ready(RUNS[run](lambda: transformation.update(GRADS, state, PARAMS)))
    assert adapters.optimizer_of(state).step_count == int(state.count) == 1
    expected, _ = reference.update(GRADS, reference.init(PARAMS), PARAMS)
    for a, b in zip(jax.tree.leaves(updates), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=RTOL)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("wrapper", ["apply_if_finite", "conditionally_transform", "conditionally_mask"])
def test_conditional_wrappers_step_when_they_should(wrapper, compiled):
    wrap = {
        "apply_if_finite": lambda inner: optax.apply_if_finite(inner, max_consecutive_errors=3),
        "conditionally_transform": lambda inner: optax.conditionally_transform(inner, lambda step: step % 2 == 0),
        "conditionally_mask": lambda inner: optax.conditionally_mask(inner, lambda step: step % 2 == 0),
    }[wrapper]
    bad = {"w": jnp.full(3, jnp.nan), "b": jnp.float32(0)}
    all_grads = [GRADS, bad if wrapper == "apply_if_finite" else GRADS, GRADS, GRADS]
    results = []
    for module in (optax, adapters):
        made = wrap(module.adam(0.1))
        update = jax.jit(made.update) if compiled else made.update
        params, state = PARAMS, made.init(PARAMS)
        for grads in all_grads:
            updates, state = jax.block_until_ready(update(grads, state, params))
            params = optax.apply_updates(params, updates)
        results.append(params)
    assert adapters.optimizer_of(state).step_count == {"apply_if_finite": 3}.get(wrapper, 2)
    for a, b in zip(*map(jax.tree.leaves, results), strict=True):
        np.testing.assert_allclose(a, b, rtol=RTOL)


STACKED = jax.tree.map(lambda g: jnp.stack([g, g]), GRADS)


@pytest.mark.parametrize(
    "mapped",
    [
        lambda update: jax.vmap(update)(STACKED),
        lambda update: jax.jit(jax.vmap(update))(STACKED),
        lambda update: jax.vmap(jax.jit(update))(STACKED),
        lambda update: jax.vmap(lambda g: jax.lax.scan(lambda _, x: (update(g), x), update(g), jnp.ones(2)))(STACKED),
    ],
    ids=["vmap", "jit of vmap", "vmap of jit", "vmap of scan"],
)
def test_vmap_is_refused_with_a_way_out(mapped):
    transformation = adapters.adam(0.1)
    state = transformation.init(PARAMS)
    with pytest.raises(gradstep.Unsupported, match=r"jax\.vmap: .*outside of jax\.vmap on the stacked trees"):
        mapped(lambda grads: transformation.update(grads, state, PARAMS))
    assert adapters.optimizer_of(state).step_count == 0
    with pytest.raises(gradstep.Unsupported, match=r"jax\.vmap"):
        jax.vmap(transformation.init)(STACKED)
    # The way out: elementwise rules step stacked trees as they step their members.
    outside, _ = transformation.update(STACKED, transformation.init(STACKED))
    alone, _ = transformation.update(GRADS, state)
    assert jax.tree.all(jax.tree.map(lambda a, b: bool((a[0] == b).all() and (a[1] == b).all()), outside, alone))


def test_inject_hyperparams_is_refused_with_a_way_out():
    for compiled in (lambda function: function, jax.jit):
        for rate in (0.1, optax.cosine_decay_schedule(0.1, 10)):
            wrapped = optax.inject_hyperparams(adapters.adamw)(learning_rate=rate)
            with pytest.raises(gradstep.Unsupported, match=r"inject_hyperparams.*schedule.*optimizer_of\(state\)"):
                compiled(wrapped.init)(PARAMS)
    transformation = adapters.sgd(0.1)
    state = transformation.init(GRADS)
    adapters.optimizer_of(state).set_value("learning_rate", 0.5)
    updates, _ = transformation.update(GRADS, state)
    np.testing.assert_array_equal(updates["w"], -0.5 * GRADS["w"])


def test_accumulating_wrappers_are_refused_with_a_way_out():
    # optax.MultiSteps updates at each micro-batch and keeps the outcome of every second one.
    wrapped = optax.MultiSteps(adapters.adam(0.1), 2)
    state = wrapped.init(PARAMS)
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"is of step 0, .*gradstep\.Accumulator"):
        for _ in range(2):
            _, state = jax.block_until_ready(wrapped.update(GRADS, state, PARAMS))


def test_what_sam_drops_is_refused_by_its_name_and_its_opaque_mode_works():
    wrapped = optax.contrib.sam(adapters.sgd(0.1), optax.sgd(0.05))
    state = wrapped.init(PARAMS)
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"is of step 0, .*optax\.contrib\.sam without opaque_mode"):
        for _ in range(2):
            _, state = jax.block_until_ready(jax.jit(wrapped.update)(GRADS, state, PARAMS))
    found = []
    for module in (adapters, optax):
        wrapped = optax.contrib.sam(module.sgd(0.1), optax.sgd(0.05), opaque_mode=True)
        updates, _ = wrapped.update(GRADS, wrapped.init(PARAMS), PARAMS, grad_fn=lambda params, _: params)
        found.append(jax.tree.leaves(updates))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=RTOL)


def run_on_two_devices(program):
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_updates_lie_where_their_parameters_do_and_shard_map_is_named():
    run_on_two_devices("""
import jax, jax.numpy as jnp, numpy as np, optax, gradstep.optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("d",))
sharded = NamedSharding(mesh, P("d", None))
make = gradstep.optax.adam(0.1)
for place in (jax.devices()[1], sharded):
    p = jax.device_put(jnp.ones((4, 3)), place)
    for params in (p, None):
        updates, _ = make.update(p, make.init(p), params)
        assert updates.sharding == p.sharding, (updates.sharding, p.sharding)
p = jnp.ones((4, 3))
updates, state = make.update(p, make.init(p), p)
assert not updates.committed
assert updates.devices() == {jax.devices()[0]}

p = jax.device_put(p, sharded)
def step(p, s):
    updates, s = make.update(2 * p, s, p)
    return optax.apply_updates(p, updates), s
kept = jax.jit(step, out_shardings=(sharded, None))(p, make.init(p))[0]
assert kept.sharding == sharded and kept.sharding.spec == P("d", None)

update = jax.shard_map(lambda p, s: make.update(p, s, p), mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False)
try:
    jax.block_until_ready(jax.jit(update)(jnp.ones(3), make.init(jnp.ones(3))))
except jax.errors.JaxRuntimeError as error:
    assert "In jax.shard_map and jax.pmap every device makes the update" in str(error), error
else:
    raise AssertionError("a state from outside serves one device")
""")


def test_under_pmap_every_device_has_an_optimizer_of_its_own():
    run_on_two_devices("""
import jax, jax.numpy as jnp, numpy as np, optax, gradstep.optax

params = jnp.array([[1.0, 2.0], [3.0, 4.0]])
def step(make, p, s):
    for _ in range(2):
        updates, s = make.update(p, s, p)
        p = optax.apply_updates(p, updates)
    return p, s
for init_inside in (True, False):
    found = []
    for make in (gradstep.optax.adam(0.1), optax.adam(0.1)):
        if init_inside:
            run = jax.pmap(lambda p: step(make, p, make.init(p))[0])
            found.append(run(params))
        else:
            found.append(jax.pmap(lambda p, s: step(make, p, s))(params, jax.pmap(make.init)(params))[0])
    np.testing.assert_allclose(*found, atol=1e-5)
""")
