# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep.optax.muon beside optax.contrib.muon."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")

import jax.numpy as jnp  # noqa: E402
from optax_training import STEPS, TOLERANCE, largest_error, stacked_gradients, train, tree  # noqa: E402

import gradstep  # noqa: E402
from gradstep import optax as adapters  # noqa: E402  (imports jax)

Axes = optax.contrib.MuonDimensionNumbers
COSINE = optax.cosine_decay_schedule(0.02, STEPS)


def cube(random):
    """A matrix, a vector, a tensor of three axes, one of four and a scalar."""
    shapes = {"w": (5, 7), "b": (7,), "heads": (3, 6, 4), "kernel": (2, 3, 4, 5), "gain": ()}
    return {name: jnp.asarray(random.standard_normal(shape), jnp.float32) for name, shape in shapes.items()}


BY_NAME = {
    "w": Axes(1, 0),
    "b": None,
    "heads": Axes(reduction_axis=-1, output_axis=1),  # a batch of three
    "kernel": Axes((0, 1, 2), 3),
    "gain": None,
}
CASES = [
    {"learning_rate": 0.02},
    {"learning_rate": COSINE, "beta": 0.8, "weight_decay": 0.1, "adam_weight_decay": 0.2, "adam_learning_rate": 0.01},
    {"learning_rate": 0.02, "nesterov": False, "ns_steps": 3, "eps": 1e-6},
    {"learning_rate": 0.02, "ns_coeffs": "dion", "consistent_rms": 0.2, "adam_eps_root": 1e-6},
    {"learning_rate": 0.02, "ns_coeffs": ((2.0, -1.5, 0.5),) * 4, "adam_b1": 0.8, "adam_b2": 0.95},
    {"learning_rate": 0.02, "ns_coeffs": (2.0, -1.5, 0.5), "adam_learning_rate": COSINE},
    {"learning_rate": 0.02, "muon_weight_dimension_numbers": BY_NAME, "weight_decay": 0.1},
    {"learning_rate": 0.02, "muon_weight_dimension_numbers": BY_NAME, "consistent_rms": 0.2},
    {
        "learning_rate": 0.02,
        "muon_weight_dimension_numbers": lambda params: jax.tree.map(
            lambda x: Axes(0, tuple(range(1, x.ndim))) if x.ndim > 1 else None, params
        ),
        "weight_decay": 0.1,
        "weight_decay_mask": lambda params: jax.tree.map(lambda x: x.ndim == 2, params),
    },
]


@pytest.mark.parametrize("how", ["eager", "jit"])
@pytest.mark.parametrize("number", range(len(CASES)))
def test_updates_are_those_of_optax(number, how, random):
    options = CASES[number]
    params = cube(random)
    grads = stacked_gradients(random, params)
    expected, _ = train(optax.contrib.muon(**options), params, grads, "jit")
    transformation = adapters.muon(**options)
    got, state = train(transformation, params, grads, how)
    assert largest_error(got, expected) <= TOLERANCE
    assert adapters.optimizer_of(state).step_count == STEPS


def test_one_step_is_optaxs_to_rounding(random):
    params = cube(random)
    grads = jax.tree.map(lambda g: g[0], stacked_gradients(random, params))
    ours, theirs = adapters.muon(0.1), optax.contrib.muon(0.1)
    got, _ = ours.update(grads, ours.init(params), params)
    expected, _ = theirs.update(grads, theirs.init(params), params)
    assert largest_error(got, expected) <= 1e-5


def test_a_batch_of_matrices_is_as_many_parameters(random):
    params = cube(random)
    made = adapters.muon(0.1, muon_weight_dimension_numbers=BY_NAME)
    optimizer = adapters.optimizer_of(made.init(params))
    # In the order of the leaves: b, gain, heads, kernel, w.
    shapes = [optimizer.get_state(i, "momentum_buffer").shape for i in range(2, 7)]
    assert shapes == [(4, 6)] * 3 + [(24, 5), (7, 5)]


def test_without_matrices_all_is_nadamw(random):
    params = {"b": jnp.ones(3), "c": jnp.zeros(())}
    grads = stacked_gradients(random, params)
    got, _ = train(adapters.muon(0.02), params, grads, "eager")
    expected, _ = train(adapters.nadamw(0.02, weight_decay=0.0), params, grads, "eager")
    assert largest_error(got, expected) == 0


def test_a_saved_run_goes_on(random, tmp_path):
    params = cube(random)
    grads = stacked_gradients(random, params)
    options = {"learning_rate": 0.02, "muon_weight_dimension_numbers": BY_NAME, "weight_decay": 0.1}
    first = adapters.muon(**options)
    half, state = train(first, params, grads, "eager")
    adapters.optimizer_of(state).save(str(tmp_path / "state"))
    second = adapters.muon(**options)
    resumed = second.init(half)
    optimizer = adapters.optimizer_of(resumed)
    optimizer.load(str(tmp_path / "state"))
    resumed = resumed._replace(count=jnp.int32(optimizer.step_count))
    gradient = jax.tree.map(lambda g: g[0], grads)
    mine, _ = first.update(gradient, state, half)
    theirs, _ = second.update(gradient, resumed, half)
    assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), mine, theirs))


def test_numbers_may_stand_for_subtrees(random):
    params = tree(random)
    numbers = {"layer": {"w": Axes(), "b": None}, "rows": None}
    grads = stacked_gradients(random, params)
    got, _ = train(adapters.muon(0.02, muon_weight_dimension_numbers=numbers), params, grads, "eager")
    expected, _ = train(adapters.muon(0.02), params, grads, "eager")
    assert largest_error(got, expected) == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"adaptive": True}, "adaptive: "),
        ({"preconditioning": "aol"}, "preconditioning: is 'aol'"),
        ({"nesterov": False, "adam_eps_root": 1e-6}, "adam_eps_root: is 1e-06"),
        ({"ns_coeffs": ((1.0, 0.0, 0.0), (2.0, 0.0, 0.0))}, "ns_coeffs: has different triples"),
    ],
)
def test_what_the_rule_has_not_is_refused(options, text):
    with pytest.raises(gradstep.Unsupported, match=text):
        adapters.muon(0.1, **options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"ns_coeffs": "other"}, "ns_coeffs: is 'other', expected numbers or one of standard, dion"),
        ({"ns_coeffs": (1.0, 2.0)}, r"ns_coeffs: has shape \(2,\)"),
        ({"ns_coeffs": "dion", "ns_steps": 3}, "ns_steps: is 3, ns_coeffs has 5 triples"),
        ({"beta": 1.5}, "momentum: is 1.5"),
    ],
)
def test_bad_arguments_are_refused_by_name(options, text):
    with pytest.raises(gradstep.InvalidArgument, match=text):
        adapters.muon(0.1, **options)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        (Axes(0, 0), "have an axis twice"),
        (Axes(0, 2), "output_axis of .*w.* is 2, expected axes of 2"),
        ({"w": 3}, "is 3 for .*w.*, expected None or MuonDimensionNumbers"),
    ],
)
def test_bad_dimension_numbers_are_refused(numbers, text):
    with pytest.raises(gradstep.InvalidArgument, match=text):
        adapters.muon(0.1, muon_weight_dimension_numbers=numbers).init({"w": np.ones((2, 3), np.float32)})


def test_a_vector_is_no_matrix():
    with pytest.raises(gradstep.InvalidArgument, match="has 1 axes, muon needs 2 or more"):
        adapters.muon(0.1, muon_weight_dimension_numbers=Axes()).init({"b": np.ones(3, np.float32)})


def test_decay_needs_the_parameters(random):
    params = cube(random)
    made = adapters.muon(0.1, weight_decay=0.1)
    with pytest.raises(gradstep.InvalidArgument, match="params: is None; weight_decay"):
        made.update(params, made.init(params))
