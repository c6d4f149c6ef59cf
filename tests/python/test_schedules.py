# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Schedules against their closed forms."""

import math

import pytest

import gradstep
from gradstep import schedule

CASES = [
    (schedule.constant(3.0), lambda t: 3.0),
    (schedule.exponential_decay(2.0, 10, 0.5), lambda t: 2.0 * 0.5 ** (t / 10)),
    (schedule.exponential_decay(2.0, 10, 0.5, staircase=True), lambda t: 2.0 * 0.5 ** (t // 10)),
    (schedule.inverse_time(2.0, 10, 0.5), lambda t: 2.0 / (1 + 0.5 * t / 10)),
    (schedule.polynomial(2.0, 0.5, 20, power=2.0), lambda t: 1.5 * (1 - min(t, 20) / 20) ** 2 + 0.5),
    (schedule.cosine(2.0, 20, end_value=0.5), lambda t: 0.5 + 1.5 * (1 + math.cos(math.pi * min(t, 20) / 20)) / 2),
    (schedule.piecewise([5, 10], [1.0, 0.1, 0.01]), lambda t: 1.0 if t <= 5 else 0.1 if t <= 10 else 0.01),
    (schedule.callback(lambda t: 7.0 - t), lambda t: 7.0 - t),
]


@pytest.mark.parametrize(("made", "expected"), CASES, ids=[repr(made).split(" at 0x")[0] for made, _ in CASES])
def test_value_is_the_closed_form(made, expected):
    for step in (0, 1, 5, 6, 10, 11, 19, 20, 25):
        assert made.value(step) == pytest.approx(expected(step), rel=1e-14)


def test_warmup_leads_to_the_first_value():
    warm = schedule.polynomial(1.0, 0.0, 10, warmup_steps=4)
    assert [warm.value(t) for t in range(4)] == pytest.approx([0.2, 0.4, 0.6, 0.8], rel=1e-14)
    assert warm.value(4) == 1.0 and warm.value(9) == pytest.approx(0.5, rel=1e-14)


def test_bad_schedules_are_refused():
    with pytest.raises(gradstep.InvalidArgument, match="decay_steps"):
        schedule.cosine(1.0, 0).value(0)
    with pytest.raises(gradstep.InvalidArgument, match="step"):
        schedule.constant(1.0).value(-1)
    with pytest.raises(gradstep.InvalidArgument, match="3 values need 2 boundaries, found 1"):
        schedule.piecewise([5], [1.0, 0.1, 0.01])
    with pytest.raises(gradstep.InvalidArgument, match="boundaries"):
        schedule.piecewise([5, 5], [1.0, 0.1, 0.01]).value(0)
    with pytest.raises(gradstep.InvalidArgument, match="init_value: is nan"):
        gradstep.SGD([memoryview(bytearray(8)).cast("d")], learning_rate=schedule.constant(math.nan))
