# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What gradstep.optax takes and gives is what optax takes and gives, or it is refused with a way out."""

import inspect
import itertools

import numpy as np
import pytest

import gradstep

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")

import jax.numpy as jnp  # noqa: E402
from optax_training import TOLERANCE, largest_error, stacked_gradients, train, tree  # noqa: E402

from gradstep import optax as adapters  # noqa: E402  (imports jax)

ALIASES = ["adagrad", "adam", "adamw", "rmsprop", "sgd"]
REQUIRED = inspect.Parameter.empty


@pytest.mark.parametrize("name", ALIASES)
def test_signatures_begin_with_those_of_optax(name):
    ours, theirs = (inspect.signature(getattr(module, name)).parameters for module in (adapters, optax))
    described = [[(p.name, p.kind, p.default) for p in parameters.values()] for parameters in (ours, theirs)]
    assert described[0][: len(described[1])] == described[1]
    beyond = list(ours.values())[len(theirs) :]
    assert [p.kind for p in beyond] == [inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD]


def test_shampoo_from_adamw_takes_the_positions_of_adamw():
    ours, theirs = (list(inspect.signature(f).parameters) for f in (adapters.shampoo_from_adamw, optax.adamw))
    assert ours[:8] == theirs[:8]


@pytest.mark.parametrize("name", ALIASES)
def test_extra_arguments_of_an_update_are_for_others(name):
    transformation = getattr(adapters, name)(0.1)
    assert isinstance(transformation, optax.GradientTransformationExtraArgs)
    params = {"w": jnp.ones(3)}
    chain = optax.chain(transformation, optax.contrib.reduce_on_plateau())
    for update in (chain.update, jax.jit(chain.update)):
        updates, _ = update(params, chain.init(params), params, value=jnp.float32(1.0))
        assert bool((updates["w"] < 0).all())


RULES = {
    "sgd": {},
    "sgd with momentum": {"momentum": 0.9},
    "rmsprop": {},
    "rmsprop with momentum": {"momentum": 0.9},
    "rmsprop with nesterov": {"momentum": 0.9, "nesterov": True},
    "adagrad": {},
    "adam": {},
    "adamw": {},
}


def both(rule):
    """Transformations of optax and of gradstep."""
    name = rule.split()[0]
    return [getattr(module, name)(0.1, **RULES[rule]) for module in (optax, adapters)]


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "adamw"])
def test_parameters_are_needed_by_weight_decay_alone(rule, compiled, random):
    params = tree(random)
    grads = jax.tree.map(lambda p: 2 * p, params)
    _, transformation = both(rule)
    update = jax.jit(transformation.update) if compiled else transformation.update
    with_params, without = transformation.init(params), transformation.init(params)
    for _ in range(3):
        expected, with_params = update(grads, with_params, params)
        got, without = update(grads, without)
        assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), got, expected))


def test_weight_decay_without_parameters_is_refused(random):
    params = {"w": jnp.ones(3)}
    for transformation in (
        adapters.adamw(0.1),
        adapters.sgd(0.1, weight_decay=0.1),
        adapters.shampoo(0.1, 0.9, 0.9, 1),
    ):
        state = transformation.init(params)
        for update in (transformation.update, jax.jit(transformation.update)):
            with pytest.raises(gradstep.InvalidArgument, match="params: is None; weight_decay needs"):
                update(params, state)
    transformation = adapters.adam(0.1)
    state = transformation.init(params)
    optimizer = adapters.optimizer_of(state)
    optimizer.set_value("weight_decay", 0.1)
    with pytest.raises(gradstep.InvalidArgument, match="params: is None; weight_decay needs"):
        transformation.update(params, state)
    assert optimizer.step_count == 0


FLOATS = ["float32", "bfloat16", "float16"]


@pytest.mark.parametrize("rule", RULES)
def test_updates_have_the_dtypes_of_optax(rule):
    reference, transformation = both(rule)
    for ours, theirs in itertools.product(FLOATS, FLOATS):
        params, grads = jnp.ones(3, ours), jnp.full(3, 0.5, theirs)
        expected, _ = jax.eval_shape(reference.update, grads, jax.eval_shape(reference.init, params), params)
        for update in (transformation.update, jax.jit(transformation.update)):
            updates, _ = update(grads, transformation.init(params), params)
            assert updates.dtype == expected.dtype, (ours, theirs)
    for dtype in FLOATS:
        params = jnp.ones(3, dtype)
        if rule != "adamw":
            assert transformation.update(params, transformation.init(params))[0].dtype == dtype


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("rule", RULES)
def test_leaves_may_be_of_numpy_and_of_python(rule, compiled, random):
    # Without x64, float64 is what JAX makes of it.
    params = {"a": random.standard_normal((3, 2)), "b": 0.5, "c": np.float64(2.0), "d": np.ones(2, np.float32)}
    grads = {"a": random.standard_normal((3, 2)), "b": -1.5, "c": np.float64(1.0), "d": jnp.full(2, 0.25)}
    results = []
    for transformation in both(rule):
        state = transformation.init(params)
        # optax.adagrad takes Python's numbers in compiled code alone.
        reference = len(results) == 0
        update = jax.jit(transformation.update) if compiled or reference else transformation.update
        for _ in range(3):
            updates, state = update(grads, state, params)
        results.append(jax.tree.map(jnp.asarray, updates))
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(results[1]))
    assert largest_error(*results) <= 2 * TOLERANCE  # see test_optax_tracing on the first steps of optax


def test_a_state_restored_as_numpy_arrays_goes_on(random):
    params = tree(random)
    transformation = adapters.adam(0.1)
    _, state = transformation.update(params, transformation.init(params))
    _, state = transformation.update(params, jax.tree.map(np.asarray, state))
    assert int(state.count) == adapters.optimizer_of(state).step_count == 2


def test_the_accumulator_has_the_dtype_asked_for(random):
    params = tree(random)
    grads = stacked_gradients(random, params)
    for dtype, tolerance in ((None, TOLERANCE), (jnp.float32, TOLERANCE), (jnp.bfloat16, 2.0**-7)):
        # bfloat16: optax multiplies in it too (a momentum of 0.9 would be 0.898); each rounding lasts for some steps.
        expected, _ = train(optax.sgd(0.05, 0.875, False, dtype), params, grads, "jit")
        transformation = adapters.sgd(0.05, 0.875, False, dtype)
        got, state = train(transformation, params, grads, "jit")
        assert largest_error(got, expected) <= tolerance
        optimizer = adapters.optimizer_of(state)
        four_bytes = sum(leaf.size for leaf in jax.tree.leaves(params)) * 4
        assert optimizer.memory().state_bytes * (2 if dtype is jnp.bfloat16 else 1) == pytest.approx(
            four_bytes, rel=0.1
        )
    adapters.adam(0.1, mu_dtype=jnp.float32).init(params)
    adapters.adam(0.1, mu_dtype=jnp.bfloat16, state_dtype="bf16").init(params)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: adapters.adam(0.1, master_weights=True), "master_weights: .*keep float32"),
        (lambda: adapters.adam(0.1, eps_root=1e-8), "eps_root: is 1e-08.*leave it 0"),
        (lambda: adapters.adamw(0.1, 0.9, 0.999, 1e-8, 1e-6), "eps_root"),
        (lambda: adapters.shampoo_from_adamw(0.1, 0.9, 0.999, 1e-8, 1e-6), "eps_root"),
        (lambda: adapters.adam(0.1, eps_root=lambda step: step), "eps_root"),
        (lambda: adapters.adam(0.1, nesterov=True), "nesterov: .*optax.nadam"),
        (lambda: adapters.rmsprop(0.1, bias_correction=True), r"bias_correction: .*adam\(learning_rate, b1=0"),
        (lambda: adapters.rmsprop(0.1, nesterov=True, momentum=lambda step: 0.9), "momentum: is a schedule"),
        (lambda: adapters.adagrad(0.1, 0.0, 0.0), "eps: is 0, and initial_accumulator_value too"),
        (lambda: adapters.adam(0.1, mu_dtype=jnp.bfloat16), "mu_dtype: is bfloat16.*of w .*state_dtype='bf16'"),
        (lambda: adapters.adamw(0.1, mu_dtype="float16", state_dtype="bf16"), "mu_dtype: is float16.*in bfloat16"),
        (lambda: adapters.shampoo_from_adamw(0.1, mu_dtype="bfloat16"), "mu_dtype: is bfloat16"),
        (lambda: adapters.sgd(0.1, 0.9, accumulator_dtype="float16"), "accumulator_dtype: is float16"),
    ],
)
def test_what_gradstep_cannot_do_as_optax_does_is_refused_with_a_way_out(make, text):
    with pytest.raises(gradstep.Unsupported, match=text):
        make().init({"w": jnp.ones(3)})


def test_bad_values_are_refused_by_name():
    with pytest.raises(gradstep.InvalidArgument, match="beta1"):
        adapters.adam(0.1, b1=1.5)
    with pytest.raises(TypeError, match="unknown option 'epsilon_root'"):
        adapters.adam(0.1, epsilon_root=0)
    for scale in (-1.0, float("nan"), float("inf")):
        with pytest.raises(gradstep.InvalidArgument, match=r"initial_scale: expected .*at least 0, found"):
            adapters.rmsprop(0.1, initial_scale=scale)


def test_rmsprop_with_bias_correction_is_the_adam_that_its_refusal_names(random):
    params = tree(random)
    grads = stacked_gradients(random, params)
    reference = optax.rmsprop(0.02, decay=0.99, eps_in_sqrt=False, bias_correction=True)
    expected, _ = train(reference, params, grads, "jit")
    got, _ = train(adapters.adam(0.02, b1=0, b2=0.99), params, grads, "jit")
    assert largest_error(got, expected) <= TOLERANCE


def test_other_rules_are_missing_with_a_reason():
    with pytest.raises(AttributeError, match=r"'amsgrad'; .*optax\.amsgrad"):
        adapters.amsgrad  # noqa: B018
    with pytest.raises(AttributeError, match="there are adabelief, adadelta, adafactor, adagrad, adam"):
        adapters.sm3  # noqa: B018


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
def test_complex_numbers_are_refused_with_a_way_out(compiled):
    params, grads = jnp.array([1 + 2j, 3 - 1j]), jnp.array([1 - 1j, 2j])
    transformation = adapters.adam(0.1)
    update = jax.jit(transformation.update) if compiled else transformation.update
    init = jax.jit(transformation.init) if compiled else transformation.init
    with pytest.raises(gradstep.Unsupported, match=r"params: param: is complex64.*split_real_and_imaginary"):
        init(params)
    state = transformation.init(jnp.ones(2))
    with pytest.raises(gradstep.Unsupported, match=r"updates: leaf 0: is complex64.*split_real_and_imaginary"):
        update(grads, state, jnp.ones(2))
    assert adapters.optimizer_of(state).step_count == 0
    ours, theirs = (optax.contrib.split_real_and_imaginary(module.adam(0.1)) for module in (adapters, optax))
    got, _ = ours.update(grads, ours.init(params), params)
    expected, _ = theirs.update(grads, theirs.init(params), params)
    np.testing.assert_allclose(got, expected, rtol=1e-4)
