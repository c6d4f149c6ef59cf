# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The aliases of gradstep.optax beside those of optax and optax.contrib."""

import inspect

import pytest

import gradstep

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")

import jax.numpy as jnp  # noqa: E402
from optax_training import STEPS, TOLERANCE, largest_error, stacked_gradients, train, tree  # noqa: E402

from gradstep import optax as adapters  # noqa: E402  (imports jax)

MASK = {"layer": True, "rows": [False, True]}
COSINE = optax.cosine_decay_schedule(0.02, STEPS)
HALVING = gradstep.schedule.exponential_decay(0.1, 1, 0.5)
DISTANCES = {"learning_rate": optax.linear_schedule(1.0, 0.1, STEPS), "betas": (0.8, 0.95), "weight_decay": 0.1}
CASES = [
    ("sign_sgd", {"learning_rate": COSINE}),
    ("signum", {"learning_rate": 0.02, "beta": 0.8}),
    ("lion", {"learning_rate": 0.02}),
    ("lion", {"learning_rate": COSINE, "b1": 0.8, "b2": 0.95, "weight_decay": 0.1, "mask": MASK}),
    ("lamb", {"learning_rate": 0.02}),
    ("lamb", {"learning_rate": COSINE, "b1": 0.8, "eps_root": 1e-6, "weight_decay": 0.1, "mask": MASK}),
    ("nadam", {"learning_rate": 0.02, "b1": 0.8, "eps_root": 1e-6}),
    ("nadamw", {"learning_rate": COSINE, "weight_decay": 0.1, "mask": MASK}),
    ("radam", {"learning_rate": 0.02, "b2": 0.9}),
    ("radam", {"learning_rate": 0.02, "b2": 0.8, "threshold": 4.5, "nesterov": True}),
    ("adamax", {"learning_rate": 0.02, "b2": 0.9}),
    ("adamaxw", {"learning_rate": COSINE, "weight_decay": 0.1, "mask": MASK}),
    ("adabelief", {"learning_rate": 0.02, "eps": 1e-6, "eps_root": 1e-8}),
    ("adabelief", {"learning_rate": 0.02, "eps": 1e-6, "eps_root": 1e-8, "nesterov": True}),
    ("yogi", {"learning_rate": 0.02}),
    ("adan", {"learning_rate": 0.02, "b3": 0.9, "weight_decay": 0.1, "mask": MASK}),
    ("adadelta", {"learning_rate": 0.5, "rho": 0.8}),
    ("ademamix", {"learning_rate": 0.02, "b3": 0.99, "alpha": 2.0, "weight_decay": 0.1, "mask": MASK}),
    ("adopt", {"learning_rate": 0.02, "b2": 0.9, "eps": 1e-3}),
    ("adopt", {"learning_rate": 0.02, "b2": 0.9, "eps": 1e-2, "nesterov": True, "use_clipping": False}),
    ("adafactor", {"learning_rate": 0.02}),
    ("adafactor", {"min_dim_size_to_factor": 2, "clipping_threshold": 0.5, "decay_rate": 0.7, "eps": 1e-6}),
    (
        "adafactor",
        {
            "learning_rate": COSINE,
            "min_dim_size_to_factor": 2,
            "multiply_by_parameter_scale": False,
            "clipping_threshold": None,
            "momentum": 0.8,
            "weight_decay_rate": 0.01,
            "weight_decay_mask": MASK,
        },
    ),
    ("adafactor", {"learning_rate": 0.02, "min_dim_size_to_factor": 2, "factored": False}),
    ("lars", {"learning_rate": 0.5}),
    ("lars", {"learning_rate": COSINE, "weight_decay": 0.1, "weight_decay_mask": MASK, "nesterov": True, "eps": 1e-3}),
    ("lars", {"learning_rate": 0.5, "trust_ratio_mask": MASK}),
    (
        "lars",
        {
            "learning_rate": COSINE,
            "weight_decay": 0.1,
            "weight_decay_mask": lambda params: jax.tree.map(lambda p: p.ndim > 0, params),
            "trust_ratio_mask": lambda params: jax.tree.map(lambda p: p.ndim > 1, params),
            "nesterov": True,
        },
    ),
    ("novograd", {"learning_rate": 0.02}),
    ("novograd", {"learning_rate": COSINE, "b1": 0.8, "b2": 0.9, "eps_root": 1e-3, "weight_decay": 0.1}),
    ("prodigy", {"estim_lr0": 1e-3}),
    ("prodigy", {**DISTANCES, "estim_lr0": 1e-3, "estim_lr_coef": 0.5, "beta3": 0.9, "safeguard_warmup": True}),
    ("dadapt_adamw", {"estim_lr0": 1e-3}),
    ("dadapt_adamw", {**DISTANCES, "estim_lr0": 1e-2}),
    ("schedule_free_adamw", {"learning_rate": 0.02, "b2": 0.9}),
    ("schedule_free_adamw", {"learning_rate": 0.02, "warmup_steps": 7, "b1": 0.8, "weight_decay": 0.1}),
    ("schedule_free_adamw", {"learning_rate": COSINE, "weight_lr_power": 1.0}),
    ("schedule_free_sgd", {"learning_rate": 0.1}),
    ("schedule_free_sgd", {"learning_rate": 0.1, "warmup_steps": 7, "weight_decay": 0.1, "weight_lr_power": 0.0}),
]


@pytest.mark.parametrize("how", ["eager", "jit"])
@pytest.mark.parametrize(
    ("name", "options"), CASES, ids=lambda value: "-".join(value) if isinstance(value, dict) else value
)
def test_updates_are_those_of_optax(name, options, how, random):
    params = tree(random)
    grads = stacked_gradients(random, params)
    peer = getattr(optax, name, None) or getattr(optax.contrib, name)
    expected, _ = train(peer(**options), params, grads, "jit")
    transformation = getattr(adapters, name)(**options)
    got, state = train(transformation, params, grads, how)
    assert largest_error(got, expected) <= TOLERANCE
    assert adapters.optimizer_of(state).step_count == STEPS


NEW = ["adafactor", "lars", "novograd", "prodigy", "dadapt_adamw", "schedule_free_adamw", "schedule_free_sgd"]


@pytest.mark.parametrize("name", NEW)
def test_signatures_begin_with_those_of_optax(name):
    peer = getattr(optax, name, None) or getattr(optax.contrib, name)
    ours, theirs = (inspect.signature(function).parameters for function in (getattr(adapters, name), peer))
    described = [[(p.name, p.kind, p.default) for p in parameters.values()] for parameters in (ours, theirs)]
    assert described[0][: len(described[1])] == described[1]


@pytest.mark.parametrize("how", ["eager", "jit"])
@pytest.mark.parametrize(("name", "options"), [case for case in CASES if case[0].startswith("schedule_free")])
def test_averages_of_schedule_free_are_those_of_optax(name, options, how, random):
    params = tree(random)
    grads = stacked_gradients(random, params)
    trained, state = train(getattr(optax.contrib, name)(**options), params, grads, "jit")
    expected = optax.contrib.schedule_free_eval_params(state, trained)
    transformation = getattr(adapters, name)(**options)
    average = adapters.schedule_free_eval_params
    average = jax.jit(average) if how == "jit" else average
    first = transformation.init(params)
    assert largest_error(average(first, params), params) == 0, "before the first step it is the parameters"
    trained, state = train(transformation, params, grads, how)
    assert largest_error(average(state, trained), expected) <= 5 * TOLERANCE  # divides differences by b1
    stale = state._replace(count=state.count - 1)
    with pytest.raises((gradstep.InvalidState, jax.errors.JaxRuntimeError), match="is of step 19, its optimizer is at"):
        jax.block_until_ready(average(stale, trained))


def test_averages_are_found_behind_wrappers_and_have_the_parameters_dtypes(random):
    params = tree(random, jnp.bfloat16)
    transformation = optax.chain(optax.clip(1.0), adapters.schedule_free_sgd(0.1))
    updates, state = transformation.update(params, transformation.init(params), params)
    found = adapters.schedule_free_eval_params(state, optax.apply_updates(params, updates))
    assert jax.tree.all(jax.tree.map(lambda a, b: a.dtype == b.dtype and a.shape == b.shape, found, params))
    plain = adapters.adam(0.1)
    _, state = plain.update(params, plain.init(params))
    with pytest.raises(gradstep.InvalidState, match="average"):
        adapters.schedule_free_eval_params(state, params)


def test_schedule_free_takes_schedules_of_gradstep(random):
    params = tree(random)
    grads = stacked_gradients(random, params)
    schedules = (optax.exponential_decay(0.1, 1, 0.8), gradstep.schedule.exponential_decay(0.1, 1, 0.8))
    results = [train(adapters.schedule_free_sgd(rates), params, grads, "eager")[0] for rates in schedules]
    assert largest_error(*results) <= TOLERANCE


def test_optax_makes_other_rules_of_gradstep_schedule_free(random):
    params = tree(random)
    grads = stacked_gradients(random, params)
    made = [optax.contrib.schedule_free(module.adam(0.02, b1=0.0), 0.02) for module in (optax, adapters)]
    results = [train(transformation, params, grads, "jit")[0] for transformation in made]
    assert largest_error(*results) <= TOLERANCE
    with pytest.raises(AttributeError, match=r"optax\.contrib\.schedule_free wraps other rules"):
        adapters.schedule_free  # noqa: B018


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("name", ["adafactor", "lamb", "lars", "prodigy", "schedule_free_sgd"])
def test_rules_that_read_the_parameters_need_them(name, compiled):
    params = {"w": jnp.ones(3)}
    transformation = getattr(adapters, name)(0.1)
    state = transformation.init(params)
    update = jax.jit(transformation.update) if compiled else transformation.update
    with pytest.raises(gradstep.InvalidArgument, match=r"params: is None; .* needs the parameters"):
        update(params, state)
    assert adapters.optimizer_of(state).step_count == 0


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: adapters.lars(0.1, trust_ratio_mask=MASK, maximize=True), r"maximize: with a trust_ratio_mask"),
        (lambda: adapters.lars(HALVING, trust_ratio_mask=MASK), r"learning_rate: with a trust_ratio_mask"),
        (lambda: adapters.lars(0.1, trust_ratio_mask=MASK, momentum=COSINE), r"momentum: with a trust_ratio_mask"),
        (lambda: adapters.adafactor(decay_offset=3), r"decay_offset: is 3; .*optax\.adafactor"),
        (lambda: adapters.adafactor(momentum=0.9, dtype_momentum="bfloat16"), "dtype_momentum: is bfloat16"),
        (lambda: adapters.prodigy(beta3=0.0), r"beta3: is 0, .*above 0"),
        (
            lambda: adapters.schedule_free_sgd(state_dtype="bfloat16"),
            "state_dtype: is bfloat16, .*float32; leave it out",
        ),
        (lambda: adapters.schedule_free_adamw(state_dtype="float16"), "state_dtype: is float16"),
    ],
)
def test_what_gradstep_cannot_do_as_optax_does_is_refused_with_a_way_out(make, text):
    with pytest.raises(gradstep.Unsupported, match=text):
        make().init({"w": jnp.ones(3)})


def test_every_alias_is_tried():
    tried = {name for name, _ in CASES}
    others = {"adagrad", "adam", "adamw", "muon", "optimizer_of", "release", "rmsprop", "sgd", "shampoo"}
    others |= {"shampoo_from_adamw", "schedule_free_eval_params", "sophia"}  # in files or tests of their own
    assert tried == {name for name in adapters.__all__ if name.islower()} - others
