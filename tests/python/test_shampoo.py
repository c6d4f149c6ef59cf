# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Shampoo: its formula, its matrices and metrics, and the way to it from a recipe for AdamW."""

import math

import numpy as np
import pytest
import reference
from conftest import relative

import gradstep

SHAPES = [(6, 5), (3, 4), (2, 3, 4), (7,), ()]


def ones(shapes=SHAPES, dtype=np.float32):
    return [np.ones(shape, dtype) for shape in shapes]


def gradients(random, shapes=SHAPES, dtype=np.float32):
    return [random.standard_normal(shape).astype(dtype) for shape in shapes]


def train(optimizer, parameters, grads):
    for step in grads:
        optimizer.step(parameters, step)
    return parameters


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("root_method", ["eigh", "coupled_newton"])
@pytest.mark.parametrize("weight_decay", [0.0, 0.01])
@pytest.mark.parametrize(
    "form",
    [
        {},
        {"statistics": "kl"},
        {"statistics": "kl", "ridge": "absolute"},
        {"statistics": "kl_mean", "exponent_override": 2},
    ],
    ids=lambda form: "-".join(str(value) for value in form.values()),
)
def test_it_follows_its_formula(root_method, weight_decay, form, dtype, random):
    # State is kept in f32 (6e-8). A root of exponent 1/4 of a statistic of condition 1/ridge = 1e3 amplifies its
    # rounding less than a hundred times, and 12 steps add up. In f64 the ridge of coupled Newton is of an eigenvalue
    # that power iteration finds to about 1e-6, and what eigh sums for a root is cut at 1e-11. Statistics of KL have
    # these roots in them.
    of_newton = 1e-6 if "statistics" in form else 1e-8
    tolerance = 1e-5 if dtype == np.float32 else of_newton if root_method == "coupled_newton" else 1e-10
    shapes = [(6, 5), (3, 9)]
    options = {"learning_rate": 0.05, "block_size": 4, "matrix_epsilon": 1e-3, "beta2": 0.9, **form}
    parameters = [random.standard_normal(shape).astype(dtype) for shape in shapes]
    expected = [p.astype(np.float64) for p in parameters]
    optimizer = gradstep.Shampoo(
        parameters,
        graft_type="rmsprop",
        nesterov=False,
        best_effort_shape_interpretation=False,
        root_method=root_method,
        weight_decay=weight_decay,
        **options,
    )
    rule = reference.Shampoo(weight_decay=weight_decay, **options)
    for _ in range(12):
        grads = gradients(random, shapes, dtype)
        assert optimizer.step(parameters, grads).applied
        rule.step(expected, [g.astype(np.float64) for g in grads])
    for i, (got, want) in enumerate(zip(parameters, expected, strict=True)):
        assert relative(got, want) <= tolerance
        for block, place in enumerate(sorted(key for key in rule.matrices if key[0] == i)):
            for axis, statistic in enumerate(rule.matrices[place]):
                kept = optimizer.state(i, f"statistics.{block}.{axis}")
                assert kept.dtype == dtype and relative(kept, statistic) <= min(tolerance, 1e-5)


def test_a_statistic_in_bf16_would_not_do():
    """Why state_dtype leaves statistics alone: docs/shampoo.md has the number."""
    random = np.random.default_rng(3)
    first, gradient = random.standard_normal((2, 64, 16))
    statistic = first @ first.T
    words = statistic.astype(np.float32).view(np.uint32)
    rounded = ((words + 0x7FFF + (words >> 16 & 1)) & 0xFFFF0000).view(np.float32).astype(np.float64)
    direction, moved = (reference.inverse_root(s, 4, 1e-6) @ gradient for s in (statistic, rounded))
    assert 0.4 <= np.linalg.norm(moved - direction) / np.linalg.norm(direction) <= 0.6


@pytest.mark.parametrize("quantized", [False, True])
def test_every_matrix_is_found_by_block_and_axis(quantized, random):
    shapes = [shape for shape in SHAPES if shape] + [(1, 1), (1, 9), (4, 1, 5, 2), (40, 2)]
    optimizer = gradstep.Shampoo(
        ones(shapes),
        learning_rate=0.1,
        block_size=4,
        skip_preconditioning_dim_size_gt=30,
        quantize_statistics=quantized,
        matrix_epsilon=0.25,
    )
    elements = 0
    for i in range(len(shapes)):
        names = [name for name in optimizer.state_names_of(i) if "." in name]
        assert len(names) % 2 == 0 and bool(names) == (max(shapes[i]) <= 30)
        for name in names:
            matrix = optimizer.state(i, name)
            extent = matrix.shape[0]
            value = 0.25 if name.startswith("statistics") else 1.0
            assert (matrix == value * np.eye(extent, dtype=np.float32)).all()
            assert matrix.flags.writeable != quantized, "a view where there is one, else a copy"
            assert (optimizer.get_state(i, name, "float64") == matrix).all()
            optimizer.set_state(i, name, 3 * np.eye(extent))
            assert (optimizer.get_state(i, name) == 3 * np.eye(extent)).all()
            elements += extent * extent
    if not quantized:
        momenta = 2 * sum(math.prod(shape) for shape in shapes) - math.prod(shapes[-1])  # (40, 2) has one
        assert optimizer.memory().state_bytes == 4 * (elements + momenta), "no matrix was missed"
    with pytest.raises(gradstep.InvalidState, match=r"statistics\.99\.0"):
        optimizer.get_state(0, "statistics.99.0")
    with pytest.raises(gradstep.InvalidArgument, match="expected one of momentum"):
        optimizer.state(0, "exp_avg")
    with pytest.raises(gradstep.InvalidArgument, match="index: is 99"):
        optimizer.state_names_of(99)


def test_metrics_tell_of_every_root(random):
    parameters = ones([(6, 5), (3,)])
    optimizer = gradstep.Shampoo(parameters, learning_rate=0.1, block_size=4, preconditioning_compute_steps=2)
    train(optimizer, parameters, [gradients(random, [(6, 5), (3,)]) for _ in range(2)])
    found = {(m.name, m.parameter, m.block, m.axis): m.value for m in optimizer.metrics()}
    assert found["step_count", -1, -1, -1] == 2
    places = [(0, block, axis) for block in range(4) for axis in range(2)] + [(1, 0, 0)]
    for place in places:
        assert found["root_failures", *place] == 0 and found["root_max_eigenvalue", *place] > 0
        assert 0 <= found["inverse_pth_root_errors", *place] < 0.1
        assert found["preconditioner_age", *place] == 1, "refreshed in step 0, not in step 1"
    assert sum(name == "root_retries" for name, *_ in found) == len(places)


def test_schedules_stand_for_numeric_options(random):
    grads = [gradients(random) for _ in range(8)]
    rates = gradstep.schedule.exponential_decay(0.1, decay_steps=2, decay_rate=0.5)
    scheduled, by_hand = ones(), ones()
    optimizer = gradstep.Shampoo(scheduled, learning_rate=rates, beta1=lambda step: 0.5 + 0.01 * step, block_size=4)
    train(optimizer, scheduled, grads)
    optimizer = gradstep.Shampoo(by_hand, learning_rate=1.0, block_size=4)
    for step, grad in enumerate(grads):
        optimizer.set_value("learning_rate", rates.value(step))
        optimizer.set_value("beta1", 0.5 + 0.01 * step)
        optimizer.step(by_hand, grad)
    assert [p.tobytes() for p in scheduled] == [p.tobytes() for p in by_hand]


@pytest.mark.parametrize(
    "options",
    [
        {"graft_type": "adam"},
        {"graft_type": "sqrt_n", "root_method": "coupled_newton", "refresh": "stale"},
        {"quantize_momentum": True, "quantize_statistics": True, "graft_type": "rmsprop"},
        {"preconditioning_compute_steps": 4, "statistics_compute_steps": 2},
        {"statistics": "kl", "preconditioning_compute_steps": 2, "graft_type": "none"},
    ],
    ids="-".join,
)
def test_a_resumed_run_has_the_bits_of_an_uninterrupted_one(options, tmp_path, random):
    shapes = SHAPES[:-1] if "quantize_momentum" in options else SHAPES
    grads = [gradients(random, shapes) for _ in range(12)]
    make = {"learning_rate": 0.03, "block_size": 4, **options}
    whole, resumed = ones(shapes), ones(shapes)
    train(gradstep.Shampoo(whole, **make), whole, grads)
    first = gradstep.Shampoo(resumed, **make)
    train(first, resumed, grads[:6])
    first.save(tmp_path / "state")
    second = gradstep.Shampoo(resumed, **make)
    second.load(tmp_path / "state")
    assert second.step_count == 6
    train(second, resumed, grads[6:])
    assert [p.tobytes() for p in whole] == [p.tobytes() for p in resumed]


ADAMW = {"learning_rate": 0.02, "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-6, "weight_decay": 0.1}


def test_from_adamw_without_preconditioning_is_adamw(random):
    # f32: 20 steps of a handful of roundings; the decay is added to the step instead of taken off first.
    shampoo, adamw = ones(), ones()
    optimizer = gradstep.Shampoo.from_adamw(shampoo, precondition=0.0, **ADAMW)
    grads = [gradients(random) for _ in range(20)]
    train(optimizer, shampoo, grads)
    train(gradstep.Adam(adamw, decoupled_weight_decay=True, **ADAMW), adamw, grads)
    for a, b in zip(shampoo, adamw, strict=True):
        assert relative(a, b) <= 2e-6
    assert optimizer.memory().state_bytes == 3 * sum(p.nbytes for p in shampoo), "no matrices"


def test_from_adamw_leaves_groups_to_adamw(random):
    shampoo, adamw = ones(), ones()
    groups = [0, 1, 0, 1, 2]
    optimizer = gradstep.Shampoo.from_adamw(shampoo, groups=groups, adamw_groups=[1, 2], block_size=8, **ADAMW)
    assert [optimizer.get_value("precondition", group) for group in range(3)] == [1, 0, 0]
    optimizer.set_value("learning_rate", 0.01, 2)
    other = gradstep.Adam(adamw, groups=groups, decoupled_weight_decay=True, **ADAMW)
    other.set_value("learning_rate", 0.01, 2)
    grads = [gradients(random) for _ in range(20)]
    train(optimizer, shampoo, grads)
    train(other, adamw, grads)
    close = [relative(a, b) <= 2e-6 for a, b in zip(shampoo, adamw, strict=True)]
    assert close == [False, True, False, True, True]
    with pytest.raises(gradstep.InvalidState):
        optimizer.state(1, "statistics.0.0")
    assert optimizer.state(0, "statistics.0.0").shape == (6, 6)


@pytest.mark.parametrize("signal", [0.0, 0.3, 3.0])
def test_from_adamw_keeps_the_length_of_adamws_steps(signal, random):
    # Gradients of one direction with more or less noise around it. The lengths agree as far as the preconditioned
    # directions of neighbouring steps are as alike as Adam's. A momentum applied twice would give a quarter of the
    # length under noise, and none four times the length.
    shape, rate = (24, 16), 1.0
    mean = random.standard_normal(shape)
    shampoo, adamw = ones([shape]), ones([shape])
    options = {"learning_rate": rate, "beta1": 0.9, "beta2": 0.99}
    optimizers = gradstep.Shampoo.from_adamw(shampoo, **options), gradstep.Adam(adamw, **options)
    ratios = []
    for step in range(60):
        grads = [(signal * mean + random.standard_normal(shape)).astype(np.float32)]
        lengths = [
            float(np.linalg.norm(optimizer.update(parameters, grads)[0]))
            for optimizer, parameters in zip(optimizers, (shampoo, adamw), strict=True)
        ]
        if step >= 30:
            ratios.append(lengths[0] / lengths[1])
    assert 0.9 <= np.mean(ratios) <= 1.15, np.mean(ratios)


BAD_OPTIONS = [
    ({}, "learning_rate: is not set"),
    ({"learning_rate": 0.1, "block_size": 0}, "block_size"),
    ({"learning_rate": 0.1, "beta1": 1.0}, "beta1"),
    ({"learning_rate": 0.1, "graft_type": "lion"}, "graft_type: 'lion' is unknown; known: .*sqrt_n"),
    ({"learning_rate": 0.1, "root_method": "svd"}, "known: auto, coupled_newton, eigh"),
    ({"learning_rate": 0.1, "refresh": "never"}, "known: fresh, stale"),
    ({"learning_rate": 0.1, "one_sided": "left"}, "one_sided: 'left' is unknown; known: none, input, output"),
    (
        {"learning_rate": 0.1, "statistics": "momenta"},
        "statistics: 'momenta' is unknown; known: gradients, kl, kl_mean",
    ),
    ({"learning_rate": 0.1, "ridge": "none"}, "ridge: 'none' is unknown; known: relative, absolute"),
    ({"learning_rate": 0.1, "root_retries": 13}, "root_retries"),
    ({"learning_rate": 0.1, "state_dtype": "int4"}, "state_dtype: 'int4' is unknown; known: .*bf16"),
]


@pytest.mark.parametrize(("options", "text"), BAD_OPTIONS)
def test_bad_options_are_refused_by_name(options, text):
    with pytest.raises(gradstep.InvalidArgument, match=text):
        gradstep.Shampoo(ones(), **options)


def test_bad_parameters_are_refused_by_name():
    for option in ({"state_dtype": "bf16"}, {"quantize_momentum": True}, {"quantize_statistics": True}):
        with pytest.raises(gradstep.Unsupported, match=r"'wide' is f64"):
            gradstep.Shampoo([np.ones(3)], names=["wide"], learning_rate=0.1, **option)
    with pytest.raises(TypeError, match=r"Shampoo: unknown option 'lr'; known: .*graft_type"):
        gradstep.Shampoo(ones(), lr=0.1)
    with pytest.raises(TypeError, match=r"block_size cannot be 0\.5"):
        gradstep.Shampoo(ones(), learning_rate=0.1, block_size=0.5)
