# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep.optax beside optax: eagerly, compiled, and in a scan; and what becomes of states used twice."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest
from conftest import relative

import gradstep

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")

import jax.numpy as jnp  # noqa: E402
from optax_training import STEPS, TOLERANCE, largest_error, stacked_gradients, train, tree  # noqa: E402

from gradstep import optax as adapters  # noqa: E402
from gradstep.optax import _states, _transformation  # noqa: E402  (they import jax)

MASK = {"layer": True, "rows": [False, True]}
COSINE = optax.cosine_decay_schedule(0.02, STEPS)

CASES = [
    ("sgd", {"learning_rate": 0.05}),
    ("sgd", {"learning_rate": COSINE, "momentum": 0.9}),
    ("sgd", {"learning_rate": 0.05, "momentum": 0.5, "nesterov": True}),
    ("rmsprop", {"learning_rate": 0.02}),
    ("rmsprop", {"learning_rate": 0.02, "decay": 0.8, "eps": 1e-3, "eps_in_sqrt": False, "momentum": 0.9}),
    ("rmsprop", {"learning_rate": 0.02, "eps": 1e-2, "centered": True, "initial_scale": 0.5}),
    ("rmsprop", {"learning_rate": COSINE, "momentum": 0.9}),
    ("rmsprop", {"learning_rate": 0.02, "momentum": 0.9, "nesterov": True}),
    ("adagrad", {"learning_rate": 0.02}),
    ("adagrad", {"learning_rate": COSINE, "initial_accumulator_value": 0.5, "eps": 1e-3}),
    ("adam", {"learning_rate": 0.02}),
    ("adam", {"learning_rate": COSINE, "b1": 0.8, "b2": 0.99, "eps": 1e-6}),
    ("adamw", {"learning_rate": 0.02}),
    ("adamw", {"learning_rate": COSINE, "weight_decay": 0.1, "mask": MASK}),
]


@pytest.mark.parametrize("how", ["eager", "jit", "scan"])
@pytest.mark.parametrize(
    ("name", "options"), CASES, ids=lambda value: "-".join(value) if isinstance(value, dict) else value
)
def test_updates_are_those_of_optax(name, options, how, random):
    params = tree(random)
    grads = stacked_gradients(random, params)
    expected, _ = train(getattr(optax, name)(**options), params, grads, "jit")
    transformation = getattr(adapters, name)(**options)
    got, state = train(transformation, params, grads, how)
    assert largest_error(got, expected) <= TOLERANCE
    assert adapters.optimizer_of(state).step_count == STEPS


@pytest.mark.parametrize("how", ["eager", "jit"])
def test_bfloat16_is_stepped_in_f32_arithmetic(how, random):
    params = tree(random, jnp.bfloat16)
    grads = stacked_gradients(random, params)
    wide = [jax.tree.map(lambda x: x.astype(jnp.float32), t) for t in (params, grads)]
    expected, _ = train(optax.adam(0.02), *wide, "jit")
    got, _ = train(adapters.adam(0.02), params, grads, how)
    assert all(leaf.dtype == jnp.bfloat16 for leaf in jax.tree.leaves(got))
    # Each step rounds the delta and the sum to 8 bits, relative to parameters of size up to 4.
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        error = jnp.abs(a.astype(jnp.float32) - b)
        assert float(error.max()) <= STEPS * 2.0**-9 * max(1.0, float(jnp.abs(b).max()))


def test_eager_and_compiled_updates_have_the_same_bits(random):
    params = tree(random)
    grads = stacked_gradients(random, params)
    results = [train(adapters.adamw(0.02), params, grads, how)[0] for how in ("eager", "jit", "scan")]
    # XLA may contract p + u in a compiled apply_updates, but there is nothing to contract a sum with.
    for other in results[1:]:
        assert jax.tree.all(jax.tree.map(lambda a, b: (np.asarray(a) == np.asarray(b)).all(), results[0], other))


def test_it_stands_in_a_chain_and_behind_a_condition(random):
    params = tree(random)
    grads = stacked_gradients(random, params)
    results = []
    for adam in (optax.adam(0.02), adapters.adam(0.02)):
        chain = optax.chain(optax.clip_by_global_norm(1.0), adam, optax.scale(0.5))
        guarded = optax.apply_if_finite(chain, max_consecutive_errors=3)
        bad = jax.tree.map(lambda g: g.at[4].set(jnp.nan), grads)
        results.append(train(guarded, params, bad, "jit")[0])
    assert largest_error(*results) <= TOLERANCE


class Pair(NamedTuple):
    left: object
    right: object


def test_parameters_are_named_by_their_paths():
    params = {"layer": [Pair(jnp.ones(2), {7: jnp.ones(3)}), jnp.ones(4)]}
    for made, names in ((params, ["layer.0.left", "layer.0.right.7", "layer.1"]), (jnp.ones(2), ["param"])):
        transformation = adapters.adam(0.1)
        state = transformation.init(made)
        for name in names:
            bad = jax.tree.map_with_path(lambda p, x, n=name: x[1:] if _transformation._name(p) == n else x, made)
            with pytest.raises(gradstep.InvalidArgument, match=f"'{name}'"):
                transformation.update(bad, state)


def test_wrappers_may_divide_the_tree(random):
    params = tree(random)
    grads = stacked_gradients(random, params)
    labels = {"layer": "adam", "rows": ["sgd", "adam"]}
    results = []
    for module in (optax, adapters):
        parts = {"adam": module.adam(0.02), "sgd": module.sgd(jnp.float32(0.1), momentum=0.9)}
        results.append(train(optax.multi_transform(parts, labels), params, grads, "jit")[0])
    assert largest_error(*results) <= TOLERANCE


def test_gradstep_schedules_and_options_pass_through(random):
    params = {"w": jnp.ones(4)}
    rates = gradstep.schedule.exponential_decay(0.1, 1, 0.5)
    transformation = adapters.sgd(rates, momentum=0.0, maximize=True, context=gradstep.Context(1))
    state = transformation.init(params)
    seen = []
    for _ in range(3):
        updates, state = transformation.update({"w": jnp.ones(4)}, state, params)
        seen.append(float(updates["w"][0]))
    np.testing.assert_allclose(seen, [0.1, 0.05, 0.025], rtol=1e-6)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
def test_a_state_serves_one_update(compiled, random):
    params = tree(random)
    transformation = adapters.adam(0.1)
    update = jax.jit(transformation.update) if compiled else transformation.update
    first = transformation.init(params)
    _, second = jax.block_until_ready(update(params, first, params))
    error = jax.errors.JaxRuntimeError if compiled else gradstep.InvalidState
    with pytest.raises(error, match="is of step 0, its optimizer is at step 1"):
        jax.block_until_ready(update(params, first, params))
    _, third = jax.block_until_ready(update(params, second, params))
    assert int(third.count) == 2, "a refused update changes nothing"
    with pytest.raises(error, match="belongs to another process"):
        stranger = adapters.State(jnp.array([1, 2], jnp.uint32), third.count)
        jax.block_until_ready(update(params, stranger, params))


def test_a_state_serves_one_of_the_threads_that_bring_it():
    params = {"w": jnp.ones(100_000)}
    transformation = adapters.adam(0.1)
    first = transformation.init(params)
    ready = threading.Barrier(4, timeout=60)

    def update(_):
        ready.wait()
        try:
            return int(transformation.update(params, first, params)[1].count)
        except gradstep.InvalidState as error:
            return str(error)

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(update, range(4)))
    assert found.count(1) == 1 and all("its optimizer is at step 1" in text for text in found if text != 1), found
    assert adapters.optimizer_of(first).step_count == 1


def test_an_update_that_is_refused_leaves_the_state_to_other_threads():
    params = {"w": jnp.ones(3)}
    transformation = adapters.adam(0.1)
    first = transformation.init(params)
    with pytest.raises(gradstep.InvalidArgument):
        transformation.update({"w": jnp.ones(4)}, first, {"w": jnp.ones(4)})
    with ThreadPoolExecutor(1) as thread:
        _, second = thread.submit(transformation.update, params, first, params).result(timeout=60)
    assert second.count == 1


def test_a_forked_child_is_told_so_when_another_thread_held_the_lock():
    params = {"w": jnp.ones(3)}
    transformation = adapters.adam(0.1)
    state = transformation.init(params)
    entry = _states._entries[_states._key(state)]
    arguments = (np.asarray(state.token), np.asarray(state.count), "")
    is_held, may_go = threading.Event(), threading.Event()

    def hold():
        with entry.lock:
            is_held.set()
            may_go.wait(timeout=60)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(hold)
        assert is_held.wait(timeout=60)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with _states.lock_at(*arguments):
                    pass
            except gradstep.InvalidState:
                status = 0
            finally:
                os._exit(status)
        may_go.set()
    deadline = time.monotonic() + 60
    while (done := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
    assert done[1] == 0


def test_the_count_is_named_as_in_optax():
    params = {"w": jnp.ones(3)}
    transformation = optax.chain(optax.clip(1.0), adapters.adam(0.1))
    _, state = transformation.update(params, transformation.init(params), params)
    assert optax.tree_utils.tree_get(state, "count") == 1
    assert optax.tree_utils.tree_get(state, "token").shape == (2,)
    optimizer = adapters.optimizer_of(state)
    optimizer.step_count = 7
    state = optax.tree_utils.tree_set(state, count=jnp.int32(7))
    _, state = transformation.update(params, state, params)
    assert optimizer.step_count == 8 and state[1].count == state[1].step == 8


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
def test_a_count_stays_at_the_largest_int32(compiled):
    params = {"w": jnp.ones(3)}
    transformation = adapters.adam(0.1)
    update = jax.jit(transformation.update) if compiled else transformation.update
    state = transformation.init(params)
    optimizer = adapters.optimizer_of(state)
    optimizer.step_count = 2**31 - 2
    state = state._replace(count=jnp.int32(2**31 - 2))
    for _ in range(3):
        _, state = jax.block_until_ready(update(params, state, params))
        assert state.count == 2**31 - 1
    assert optimizer.step_count == 2**31 + 1
    optimizer.step_count = 5
    error = jax.errors.JaxRuntimeError if compiled else gradstep.InvalidState
    with pytest.raises(error, match="is of step 2147483647, its optimizer is at step 5"):
        jax.block_until_ready(update(params, state, params))


def test_pickled_states_name_the_public_module():
    transformation = adapters.sgd(0.1)
    state = transformation.init({"w": jnp.ones(3)})
    pickled = pickle.dumps(state)
    assert b"gradstep.optax" in pickled and b"gradstep.optax." not in pickled
    assert adapters.optimizer_of(pickle.loads(pickled)) is adapters.optimizer_of(state)


def test_each_init_starts_an_optimizer_of_its_own(random):
    params = tree(random)
    transformation = adapters.adam(0.1)
    init = jax.jit(transformation.init)
    first, second = init(params), init(params)
    transformation.update(params, first, params)
    assert adapters.optimizer_of(first).step_count == 1 and adapters.optimizer_of(second).step_count == 0


def test_memory_goes_with_the_transformation_or_by_release(random):
    params = {"w": jnp.ones(3)}
    transformation = adapters.adam(0.1)
    state, other = transformation.init(params), transformation.init(params)
    handles = [weakref.ref(adapters.optimizer_of(s)._handle) for s in (state, other)]
    adapters.release(state)
    assert handles[0]() is None and handles[1]() is not None
    with pytest.raises(gradstep.InvalidState, match="was released"):
        transformation.update(params, state, params)
    del transformation
    gc.collect()
    assert handles[1]() is None


def test_what_does_not_fit_the_parameters_is_refused(random):
    params = {"w": jnp.ones(3)}
    transformation = adapters.adam(0.1)
    state = transformation.init(params)
    with pytest.raises(ValueError, match="w"):
        transformation.update(params, state, {"v": jnp.ones(3)})
    with pytest.raises(gradstep.InvalidArgument, match="shape"):
        transformation.update({"w": jnp.ones(2)}, state, params)
    with pytest.raises(gradstep.InvalidArgument, match="shape"):
        transformation.update({"w": jnp.ones(2)}, state)
    with pytest.raises(gradstep.InvalidArgument, match="2"):
        transformation.update({"v": jnp.ones(3), "w": jnp.ones(3)}, state)
    assert adapters.optimizer_of(state).step_count == 0


def test_the_optimizer_is_found_in_the_states_of_wrappers(random):
    params = tree(random)
    chain = optax.chain(optax.clip(1.0), optax.masked(adapters.adam(0.1), MASK), adapters.sgd(0.1))
    _, masked, last = state = chain.init(params)
    assert adapters.optimizer_of(masked).step_count == adapters.optimizer_of(last).step_count == 0
    with pytest.raises(gradstep.InvalidArgument, match=r"expected one gradstep\.optax\.State in it, found 2"):
        adapters.optimizer_of(state)


def test_arrays_too_large_to_copy_by_hand_go_through_compiled_code():
    # Callbacks of large arrays have hung where JAX moved them on the thread that waits for the callback.
    params = [jnp.ones((1000, 1000)) for _ in range(4)]
    transformation = adapters.sgd(0.5)
    step = jax.jit(lambda p, s: transformation.update(p, s, p))
    state = transformation.init(params)
    for _ in range(3):
        updates, state = step(params, state)
    assert all(bool((u == -0.5).all()) for u in updates)


def test_the_interpreter_ends_quietly_with_a_transformation_at_module_level():
    # JAX's caches of what a scan traced keep the transformation until the modules themselves are gone.
    program = """
import gradstep.optax, jax, jax.numpy as jnp
adam, ones = gradstep.optax.adam(0.1), jnp.ones(3)
state, _ = jax.lax.scan(lambda state, _: (adam.update(ones, state)[1], None), adam.init(ones), None, length=2)
assert gradstep.optax.optimizer_of(state).step_count == 2
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("how", ["eager", "jit", "scan"])
def test_shampoo_updates_are_those_of_the_rule(how, random):
    params = tree(random)
    grads = stacked_gradients(random, params)
    options = {"graft_type": "rmsprop", "block_size": 4}
    transformation = adapters.shampoo(
        COSINE, 0.8, 0.95, 0.1, MASK, precondition_mask={"layer": False, "rows": True}, **options
    )
    got, state = train(transformation, params, grads, how)

    arrays = [np.array(leaf) for leaf in jax.tree.leaves(params)]  # layer.b, layer.w, rows.0, rows.1
    rule = gradstep.Shampoo(
        arrays,
        groups=[1, 1, 2, 0],
        unpreconditioned=[1],
        learning_rate=0.1,
        beta1=0.8,
        beta2=0.95,
        weight_decay=0.1,
        **options,
    )
    rule.set_value("weight_decay", 0.0, 2)
    for step in range(STEPS):
        rule.set_value("learning_rate", float(COSINE(step)))
        updates = rule.update(arrays, [np.asarray(leaf[step]) for leaf in jax.tree.leaves(grads)])
        arrays = [p + u for p, u in zip(arrays, updates, strict=True)]
    for a, b in zip(jax.tree.leaves(got), arrays, strict=True):
        assert relative(a, b) <= 1e-6  # compiled schedules round the rate once more
    names = adapters.optimizer_of(state).state_names_of(2)
    assert adapters.optimizer_of(state).state(2, names[-1]).shape == (3, 3)


@pytest.mark.parametrize("b1", [0.9, optax.linear_schedule(0.5, 0.9, STEPS)], ids=["constant", "schedule"])
@pytest.mark.parametrize("how", ["eager", "scan"])
def test_shampoo_from_adamw_leaves_what_is_masked_to_adamw(how, b1, random):
    params = tree(random)
    grads = stacked_gradients(random, params)
    options = {"b1": b1, "weight_decay": 0.1, "mask": MASK}
    shampoo = adapters.shampoo_from_adamw(
        COSINE, **options, precondition_mask=lambda tree: jax.tree.map(lambda p: p.ndim > 1, tree), block_size=4
    )
    got, _ = train(shampoo, params, grads, how)
    expected, _ = train(adapters.adamw(COSINE, **options), params, grads, how)
    close = [relative(a, b) <= TOLERANCE for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True)]
    assert close == [True, False, True, True], "the matrix alone is preconditioned"
