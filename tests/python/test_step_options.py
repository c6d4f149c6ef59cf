# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays that a step reads its scale from and writes its outcome to, and the promise that no arrays overlap."""

import math

import numpy as np
import pytest
import reference
from conftest import relative

import gradstep

SHAPES = [(5, 7), (33,), (), (2, 3, 4)]


def norm_of(grads):
    return math.sqrt(sum(float((g**2).sum()) for g in grads))


@pytest.fixture
def grads(random):
    return [random.standard_normal(shape) for shape in SHAPES]


@pytest.mark.parametrize("method", ["step", "update"])
def test_grad_scale_tensor_multiplies_grad_scale_and_is_read_at_every_step(method, random):
    start = [random.standard_normal(shape) for shape in SHAPES]
    parameters, expected = [p.copy() for p in start], [p.copy() for p in start]
    optimizer = gradstep.Adam(parameters, learning_rate=0.1)
    rule = reference.Adam(learning_rate=0.1)
    factor = np.ones(1, np.float32)
    for step in range(6):
        grads = [random.standard_normal(shape) for shape in SHAPES]
        factor[0] = 0.75**step
        result = getattr(optimizer, method)(parameters, grads, grad_scale=2.0, grad_scale_tensor=factor)
        if method == "update":
            parameters = [p + u for p, u in zip(parameters, result, strict=True)]
        rule.step(expected, [2.0 * float(factor[0]) * g for g in grads])
    # f64 on both sides, which round differently in the last place of each of 6 steps.
    assert all(relative(got, want) <= 1e-14 for got, want in zip(parameters, expected, strict=True))


def test_max_norm_clips_what_grad_scale_tensor_has_scaled(grads):
    parameters = [np.zeros(shape) for shape in SHAPES]
    norm, scale = norm_of(grads), -0.25
    result = gradstep.SGD(parameters, learning_rate=1.0).step(
        parameters, grads, grad_scale=scale, grad_scale_tensor=np.array(4.0, np.float32), max_norm=norm / 2
    )
    coefficient = (norm / 2) / (norm + 1e-6)
    assert result.grad_norm == pytest.approx(norm, rel=1e-14), "before the scale"
    assert result.clip_coefficient == pytest.approx(coefficient, rel=1e-14)
    assert all(relative(p, coefficient * g) <= 1e-14 for p, g in zip(parameters, grads, strict=True))


@pytest.mark.parametrize("method", ["step", "update"])
def test_outcome_is_what_the_step_did(method, grads):
    parameters = [np.zeros(shape) for shape in SHAPES]
    optimizer = gradstep.SGD(parameters, learning_rate=1.0)
    call = getattr(optimizer, method)
    norm = norm_of(grads)

    outcome = np.full(4, 9.0)
    call(parameters, grads, outcome=outcome)
    assert outcome[0] == 1 and math.isnan(outcome[1]) and outcome[2] == 1 and outcome[3] == 1

    call(parameters, grads, grad_scale=3.0, max_norm=norm, outcome=outcome)
    assert outcome[[0, 3]].tolist() == [1, 2]
    assert outcome[1] == pytest.approx(norm, rel=1e-14), "before grad_scale"
    assert outcome[2] == pytest.approx(1 / 3, rel=1e-6)

    grads[1][4] = np.inf
    call(parameters, grads, skip_nonfinite=True, outcome=outcome)
    assert outcome[[0, 3]].tolist() == [0, 2], "a skipped step does not count"


def test_outcome_and_the_result_of_a_step_say_the_same(grads):
    parameters = [np.zeros(shape) for shape in SHAPES]
    optimizer = gradstep.Adam(parameters, learning_rate=0.1)
    outcome = np.zeros(4)
    result = optimizer.step(parameters, grads, max_norm=0.5, outcome=outcome)
    assert gradstep.StepResult(bool(outcome[0]), *outcome[1:3].tolist()) == result
    assert outcome[3] == optimizer.step_count


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("error", "keyword", "array", "text"),
    [
        (gradstep.InvalidArgument, "outcome", np.zeros(3), r"outcome: is f64 \(3\), expected f64 \(4\)"),
        (gradstep.InvalidArgument, "outcome", np.zeros(4, np.float32), r"outcome: is f32 \(4\), expected f64 \(4\)"),
        (gradstep.InvalidArgument, "outcome", np.zeros(8)[::2], r"outcome: is strided f64 \(4\), expected f64 \(4\)"),
        (gradstep.InvalidArgument, "outcome", read_only(np.zeros(4)), "outcome: ndarray is read-only"),
        (gradstep.InvalidArgument, "outcome", 4.0, "outcome: expected an array .*, found float"),
        (gradstep.InvalidArgument, "grad_scale_tensor", np.ones(1), r"grad_scale_tensor: is f64 \(1\), expected f32"),
        (gradstep.InvalidArgument, "grad_scale_tensor", np.ones(2, np.float32), r"is f32 \(2\), expected f32 \(1\)"),
        (gradstep.InvalidArgument, "grad_scale_tensor", 1.0, "grad_scale_tensor: expected an array .*, found float"),
        (gradstep.NumericError, "grad_scale_tensor", np.full(1, np.nan, np.float32), "grad_scale_tensor: holds nan"),
    ],
)
@pytest.mark.parametrize("method", ["step", "update"])
def test_arrays_that_do_not_fit_are_refused_before_anything_has_changed(method, error, keyword, array, text):
    parameters = [np.ones(2)]
    optimizer = gradstep.SGD(parameters, learning_rate=1.0, momentum=0.5)
    with pytest.raises(error, match=text):
        getattr(optimizer, method)(parameters, [np.ones(2)], **{keyword: array})
    assert (
        (parameters[0] == 1).all() and optimizer.step_count == 0 and (optimizer.state(0, "momentum_buffer") == 0).all()
    )


def test_disjoint_is_a_promise_that_nobody_checks():
    parameters = [np.arange(8.0)]
    optimizer = gradstep.SGD(parameters, learning_rate=0.0)
    with pytest.raises(gradstep.InvalidArgument, match="overlap"):
        optimizer.step(parameters, [parameters[0]])
    assert optimizer.step(parameters, [parameters[0]], disjoint=True).applied
    with pytest.raises(gradstep.InvalidArgument, match="overlap"):
        optimizer.step(parameters, [parameters[0]], disjoint=False)


@pytest.mark.parametrize("method", ["step", "update"])
def test_disjoint_changes_no_bit(method, random):
    start = [random.standard_normal(shape).astype(np.float32) for shape in SHAPES]
    grads = [[random.standard_normal(shape).astype(np.float32) for shape in SHAPES] for _ in range(4)]

    def stepped(**keywords):
        parameters = [p.copy() for p in start]
        optimizer = gradstep.Adam(parameters, learning_rate=0.1)
        made = [getattr(optimizer, method)(parameters, step, max_norm=1.0, **keywords) for step in grads]
        return [p.tobytes() for p in (parameters if method == "step" else made[-1])]

    assert stepped(disjoint=True) == stepped()


@pytest.mark.parametrize("method", ["step", "update"])
def test_unknown_options_are_refused_before_anything_has_changed(method):
    parameters = [np.ones(2)]
    optimizer = gradstep.SGD(parameters, learning_rate=1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_value'"):
        getattr(optimizer, method)(parameters, [np.ones(2)], max_value=1.0)
    assert (parameters[0] == 1).all() and optimizer.step_count == 0
