# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Windows of micro-batches: modes, triggers, weights, sparse rows and policies for non-finite gradients."""

import math

import numpy as np
import pytest
from conftest import relative

import gradstep

SHAPES = [(4, 3), (5,)]


def micro_batches(random, count, dtype=np.float32):
    return [[random.standard_normal(shape).astype(dtype) for shape in SHAPES] for _ in range(count)]


def accumulator(**options):
    return gradstep.Accumulator([np.zeros(shape, np.float32) for shape in SHAPES], **options)


@pytest.mark.parametrize("mode", ["sum", "mean_each", "mean", "running_mean", "weighted"])
def test_mode_gives_its_average(mode, random):
    # f32: four additions, a few roundings of 6e-8 each.
    batches = micro_batches(random, 4)
    weights = [1.0, 2.0, 0.5, 3.0]
    window = accumulator(steps=4, mode=mode)
    for repeat in range(2):
        ready = [window.add(batch, weight) for batch, weight in zip(batches, weights, strict=True)]
        assert ready == [False, False, False, True]
        assert window.count == 4
        for i, got in enumerate(window.gradients()):
            stack = np.stack([batch[i].astype(np.float64) for batch in batches])
            want = {"sum": stack.sum(0), "weighted": np.tensordot(weights, stack, 1) / sum(weights)}.get(
                mode, stack.mean(0)
            )
            assert relative(got, want) <= 1e-6, f"window {repeat}"
    assert window.weight == (6.5 if mode == "weighted" else 4.0)


def test_norm_is_that_of_the_result(random):
    window = accumulator(steps=2)
    for batch in micro_batches(random, 2):
        window.add(batch)
    want = math.sqrt(sum(float((g.astype(np.float64) ** 2).sum()) for g in window.gradients()))
    assert window.norm == pytest.approx(want, rel=1e-6)


def test_partial_window_is_divided_by_what_was_added(random):
    batches = micro_batches(random, 2)
    window = accumulator(steps=4)
    assert not window.flush(), "an empty window is no result"
    for batch in batches:
        assert not window.add(batch)
    assert window.flush()
    assert relative(window.gradients()[0], (batches[0][0] + batches[1][0]) / 2) <= 1e-6
    window.add(batches[0])
    window.reset()
    assert window.count == 0


def test_triggers(random):
    batch = micro_batches(random, 1)[0]
    scheduled = accumulator(steps=gradstep.schedule.piecewise([0], [1.0, 3.0]))
    assert [scheduled.add(batch) for _ in range(7)] == [True, False, False, True, False, False, True]
    weighed = accumulator(min_weight=5.0, mode="weighted")
    assert [weighed.add(batch, weight) for weight in (2.0, 2.0, 1.0)] == [False, False, True]
    manual = accumulator(mode="mean")
    assert not any(manual.add(batch) for _ in range(5))
    assert manual.flush() and manual.count == 5


def test_missing_gradients_count_as_zero_and_are_seen_as_none(random):
    batches = micro_batches(random, 2)
    window = accumulator(steps=2)
    window.add([batches[0][0], None])
    window.add([batches[1][0], None])
    assert window.gradients()[1] is None
    window.add([None, batches[0][1]])
    window.add(batches[1])
    assert relative(window.gradients()[0], batches[1][0] / 2) <= 1e-6


def test_sparse_rows_add_into_the_dense_sum():
    window = accumulator(steps=2, mode="sum")
    window.add_sparse(0, np.array([1, 1, 3], np.int32), np.ones((3, 3), np.float32))
    assert not window.add([np.ones((4, 3), np.float32), None])
    window.add_sparse(0, np.array([0], np.int64), np.full((1, 3), 5.0, np.float32))
    assert window.add(None), "rows alone are a micro-batch too"
    assert window.gradients()[0][:, 0].tolist() == [6.0, 3.0, 1.0, 2.0]
    for indices, values, text in (
        (np.array([4], np.int32), np.ones((1, 3), np.float32), "4"),
        (np.array([0], np.int32), np.ones((1, 2), np.float32), "values"),
    ):
        window.add_sparse(0, indices, values)
        with pytest.raises(gradstep.InvalidArgument, match=text):
            window.add(None)
        window.discard_sparse()
    assert window.add(None) is False and window.count == 1, "the refused rows were not added"


def test_nonfinite_policies(random):
    good = micro_batches(random, 1)[0]
    bad = [good[0].copy(), good[1]]
    bad[0][0, 0] = np.inf
    skipping = accumulator(steps=2, nonfinite="skip")
    assert [skipping.add(bad), skipping.add(good), skipping.add(good)] == [False, False, True]
    assert skipping.skipped == 1 and np.array_equal(skipping.gradients()[0], good[0])
    poisoned = accumulator(steps=1, nonfinite="poison")
    poisoned.add(bad)
    assert not math.isfinite(poisoned.norm)


def test_sums_before_the_division(random):
    batches = micro_batches(random, 2)
    window = accumulator(steps=2, mode="mean", keep_sums=True)
    for batch in batches:
        window.add(batch)
    assert relative(window.sums()[0], batches[0][0] + batches[1][0]) <= 1e-6
    assert relative(window.gradients()[0], (batches[0][0] + batches[1][0]) / 2) <= 1e-6
    with pytest.raises(gradstep.Unsupported):
        accumulator(steps=2).sums()


def test_sums_are_f32_or_as_asked(random):
    half = [np.zeros(3, np.float16)]
    assert gradstep.Accumulator(half, steps=1).add([np.ones(3, np.float16)])
    for dtype in ("float32", "float64"):
        window = gradstep.Accumulator(half, steps=1, dtype=dtype)
        window.add([np.ones(3, np.float16)])
        assert window.gradients()[0].dtype == dtype


def test_results_are_writable_views_at_a_fixed_address(random):
    batch = micro_batches(random, 1)[0]
    window = accumulator(steps=1)
    window.add(batch)
    first = window.gradients()[0]
    first *= 0
    assert (window.gradients()[0] == 0).all()
    window.add(batch)
    assert np.array_equal(first, batch[0]) and window.gradients()[0].ctypes.data == first.ctypes.data


def test_bad_use_is_refused():
    batch = [np.zeros(shape, np.float32) for shape in SHAPES]
    for options, text in (
        ({"steps": 0}, "steps"),
        ({"steps": 2, "mode": "median"}, "known: mean_each, sum, mean, running_mean, weighted"),
        ({"steps": 2, "nonfinite": "ignore"}, "known: none, poison, skip"),
        ({"steps": 2, "dtype": "int8"}, "dtype: 'int8' is unknown; known: float32, float64"),
        ({}, "mean_each"),
        ({"min_weight": -1.0}, "min_weight"),
    ):
        with pytest.raises(gradstep.InvalidArgument, match=text):
            accumulator(**options)
    with pytest.raises(TypeError, match="not both"):
        accumulator(steps=2, min_weight=1.0)
    window = accumulator(steps=2)
    with pytest.raises(gradstep.InvalidState):
        window.gradients()
    with pytest.raises(gradstep.InvalidState):
        _ = window.norm
    with pytest.raises(gradstep.InvalidArgument, match="weight"):
        window.add(batch, weight=-1.0)
    with pytest.raises(gradstep.InvalidArgument, match=r"grads\[1\]: shape"):
        window.add([batch[0], batch[0]])
    assert window.count == 0, "a refused micro-batch is not added"


def test_a_mode_that_divides_by_the_number_of_steps_must_be_given_it():
    parameters = [np.zeros(2, np.float32)]
    for options in ({}, {"min_weight": 2.0}):
        with pytest.raises(
            gradstep.InvalidArgument, match=r'^steps: must be given with mode "mean_each".*"sum", "mean"'
        ):
            gradstep.Accumulator(parameters, **options)
    gradstep.Accumulator(parameters, mode="mean")
