# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers as functions of the step counter, for any hyper-parameter and for the length of an accumulation window.

The first step is step 0. Every kind can follow a linear warm-up: with w = warmup_steps the value is
f(0) * (t + 1) / (w + 1) while t < w, and f(t - w) from then on.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from gradstep import _native
from gradstep._numbers import integer, set_number


class Schedule:
    """A schedule; make one with the functions of this module."""

    def __init__(
        self,
        kind: str,
        *,
        boundaries: Sequence[int] | None = None,
        values: Sequence[float] | None = None,
        function: Callable[[int], float] | None = None,
        **fields: float,
    ) -> None:
        self._native = _native.ScheduleArguments(boundaries, values, function)
        self._native.kind = getattr(_native, "SCHEDULE_" + kind.upper())
        for name, value in fields.items():
            set_number(self._native, name, value, f"{kind}: {name}")
        self.kind = kind
        points = {"boundaries": boundaries, "values": values}
        self._given = {
            **{name: list(numbers) for name, numbers in points.items() if numbers is not None},
            **({} if function is None else {"function": function}),
            **fields,
        }

    def value(self, step: int) -> float:
        """The schedule's value at `step` >= 0."""
        return float(_native.schedule_value(self._native, integer("step", step)))

    def __repr__(self) -> str:
        """The call that makes it."""
        unsaid = {"warmup_steps": 0, "staircase": 0}
        given = [f"{name}={value!r}" for name, value in self._given.items() if unsaid.get(name) != value]
        arguments = ", ".join(given)
        if self.kind == "constant":
            arguments = arguments.removeprefix("init_")
        return f"schedule.{self.kind}({arguments})"


Number: TypeAlias = float | Schedule | Callable[[int], float]
"""A hyper-parameter: a constant, a schedule, or a function of the step."""


def constant(value: float, *, warmup_steps: int = 0) -> Schedule:
    """`value` at every step after the warm-up."""
    return Schedule("constant", init_value=value, warmup_steps=warmup_steps)


def exponential_decay(
    init_value: float, decay_steps: int, decay_rate: float, staircase: bool = False, *, warmup_steps: int = 0
) -> Schedule:
    """init_value * decay_rate ** (t / decay_steps), the exponent floored if staircase."""
    return Schedule(
        "exponential_decay",
        init_value=init_value,
        decay_steps=decay_steps,
        decay_rate=decay_rate,
        staircase=int(staircase),
        warmup_steps=warmup_steps,
    )


def inverse_time(
    init_value: float, decay_steps: int, decay_rate: float, staircase: bool = False, *, warmup_steps: int = 0
) -> Schedule:
    """init_value / (1 + decay_rate * t / decay_steps), the quotient floored if staircase."""
    return Schedule(
        "inverse_time",
        init_value=init_value,
        decay_steps=decay_steps,
        decay_rate=decay_rate,
        staircase=int(staircase),
        warmup_steps=warmup_steps,
    )


def polynomial(
    init_value: float, end_value: float, decay_steps: int, power: float = 1.0, *, warmup_steps: int = 0
) -> Schedule:
    """From init_value to end_value in decay_steps, as (1 - t / decay_steps) ** power."""
    return Schedule(
        "polynomial",
        init_value=init_value,
        end_value=end_value,
        decay_steps=decay_steps,
        power=power,
        warmup_steps=warmup_steps,
    )


def cosine(init_value: float, decay_steps: int, end_value: float = 0.0, *, warmup_steps: int = 0) -> Schedule:
    """From init_value to end_value in decay_steps, along half a cosine."""
    return Schedule(
        "cosine", init_value=init_value, end_value=end_value, decay_steps=decay_steps, warmup_steps=warmup_steps
    )


def piecewise(boundaries: Sequence[int], values: Sequence[float], *, warmup_steps: int = 0) -> Schedule:
    """values[i] for boundaries[i - 1] < t <= boundaries[i]; one more value than boundaries."""
    return Schedule("piecewise", boundaries=boundaries, values=values, warmup_steps=warmup_steps)


def callback(function: Callable[[int], float], *, warmup_steps: int = 0) -> Schedule:
    """function(step). What it raises comes out of the call that asked for the value."""
    return Schedule("callback", function=function, warmup_steps=warmup_steps)


def as_schedule(value: Any) -> Schedule:
    """A schedule as it is; a number as a constant; a function as a callback."""
    if isinstance(value, Schedule):
        return value
    return callback(value) if callable(value) else constant(value)
