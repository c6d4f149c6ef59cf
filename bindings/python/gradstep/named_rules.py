# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Optimizers by the name of their rule: the rules and their options are what the C library says of them."""

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from gradstep import _native
from gradstep._arrays import Array, Schema, schema
from gradstep._numbers import any_of_64_bits, plain, real
from gradstep._options import read_records, unknown_option
from gradstep.context import Context, context_pointer
from gradstep.errors import InvalidArgument
from gradstep.optimizer import Optimizer, above_zero
from gradstep.rules import SGD, AdaGrad, Adam, RMSProp, Shampoo
from gradstep.schedule import Schedule, as_schedule

_Option = tuple[str, float, str | None]
"""What the C library takes: a name, a number and a text that may take its place."""

_CLASSES: dict[str, type[Optimizer]] = {
    "sgd": SGD,
    "rmsprop": RMSProp,
    "adagrad": AdaGrad,
    "adam": Adam,
    "shampoo": Shampoo,
}


class RuleOption(NamedTuple):
    """An option of a rule."""

    name: str
    kind: str
    """"hyper_parameter" (takes a schedule, too), "setting", "choice", "flag" or "integer"."""
    meaning: str
    default: float | bool | str | int | None
    """None: it must be given."""
    choices: tuple[str, ...]
    """The values of a choice."""
    minimum: float
    """The least legal number."""
    limit: float
    """Legal numbers are below it."""


class RuleDescription(NamedTuple):
    """A rule."""

    name: str
    source: str
    """The paper, and the implementation whose numbers it reproduces."""
    formula: str
    """g: gradient; p: parameter; t: steps before this one."""
    states: tuple[str, ...]
    """The states that it can have."""
    options: Mapping[str, RuleOption]


_KINDS = {
    _native.OPTION_HYPER_PARAMETER: "hyper_parameter",
    _native.OPTION_SETTING: "setting",
    _native.OPTION_CHOICE: "choice",
    _native.OPTION_FLAG: "flag",
    _native.OPTION_INTEGER: "integer",
}


def _default(kind: str, initial: float, choices: tuple[str, ...]) -> float | bool | str | int | None:
    if kind == "choice":
        return choices[int(initial)]
    if kind == "flag":
        return bool(initial)
    if kind == "integer":
        return int(initial)
    return None if math.isnan(initial) else initial


def _option(record: Any) -> RuleOption:
    kind = _KINDS[record.kind]
    choices = tuple(record.choices.split(",")) if record.choices else ()
    default = _default(kind, record.initial, choices)
    return RuleOption(record.name, kind, record.meaning, default, choices, record.minimum, record.limit)


@functools.cache
def describe_rules() -> Mapping[str, RuleDescription]:
    """The rules of the C library by name, with formula, source, states and options. Shampoo is none of them."""
    found = {}
    for index in range(_native.rule_count()):
        rule = _native.rule()
        _native.rule_describe(index, rule)
        records = read_records(_native.rule_options, rule.name)
        options = MappingProxyType({record.name: _option(record) for record in records})
        found[rule.name] = RuleDescription(rule.name, rule.source, rule.formula, tuple(rule.states.split(",")), options)
    return MappingProxyType(found)


def _converted(option: RuleOption, argument: str, value: Any) -> _Option:
    if option.kind == "choice":
        if not isinstance(value, str):
            raise TypeError(f"{argument}: cannot be {value!r}, expected one of {', '.join(option.choices)}")
        return option.name, 0.0, value
    if option.kind == "integer":
        return option.name, 0.0, str(any_of_64_bits(argument, value))
    if option.kind == "flag":
        try:
            return option.name, float(plain(value, 0)), None
        except TypeError:
            raise TypeError(f"{argument}: cannot be {value!r}, expected True or False") from None
    return option.name, real(argument, value), None


class _NamedOptimizer(Optimizer):
    """An optimizer whose options are those that the C library describes."""

    _about: ClassVar[RuleDescription]

    @classmethod
    def _read(cls, options: Mapping[str, Any]) -> tuple[list[_Option], dict[str, Schedule]]:
        known = cls._about.options
        given, schedules = [], {}
        for name, value in options.items():
            if name not in known:
                raise unknown_option(cls.__name__, name, known)
            option = known[name]
            if option.kind == "hyper_parameter" and (isinstance(value, Schedule) or callable(value)):
                schedules[name] = as_schedule(value)
                value = schedules[name].value(0)
            given.append(_converted(option, f"{cls.__name__}: {name}", value))
        return given, schedules

    def _make(
        self, described: Schema, context: Context | None, options: dict[str, Any]
    ) -> tuple[Any, dict[str, Schedule]]:
        given, schedules = self._read(options)
        rule = self._about.name
        return _native.optimizer_create(context_pointer(context), rule, given, described), schedules

    @classmethod
    def state_bytes(
        cls,
        parameters: Iterable[Array],
        *,
        names: Iterable[str] | None = None,
        groups: Iterable[int] | None = None,
        **options: Any,
    ) -> int:
        given, schedules = cls._read(options)
        given = [
            (name, above_zero(number, schedules[name]) if name in schedules else number, text)
            for name, number, text in given
        ]
        return _native.rule_state_bytes(cls._about.name, given, schema(parameters, names, groups))


def _keywords(options: Iterable[RuleOption]) -> str:
    lines = []
    for option in options:
        legal = f", or {', '.join(option.choices)}" if option.choices else ""
        default = "must be given" if option.default is None else f"= {option.default!r}"
        lines.append(f"    {option.name} {default}{legal}: {option.meaning}")
    return "\n".join(lines)


@functools.cache
def optimizer_class(rule: str) -> type[Optimizer]:
    """The class of the rule of that name. Raises InvalidArgument for an unknown one, and lists those that there are."""
    if rule in _CLASSES:
        return _CLASSES[rule]
    described = describe_rules().get(rule)
    if described is None:
        known = sorted({*_CLASSES, *describe_rules()})
        raise InvalidArgument(f"rule: {rule!r} is not known, expected one of {', '.join(known)}")
    text = (
        f"{described.source}\n\n    "
        + described.formula.replace("\n", "\n    ")
        + f"\n\nKeywords, beside names, groups and context:\n\n{_keywords(described.options.values())}"
    )
    name = "".join(part.capitalize() for part in rule.split("_"))
    members = {"_about": described, "__doc__": text, "__module__": __name__}
    return type(name, (_NamedOptimizer,), members)


def make_optimizer(
    rule: str,
    parameters: Iterable[Array],
    *,
    names: Iterable[str] | None = None,
    groups: Iterable[int] | None = None,
    context: Context | None = None,
    **options: Any,
) -> Optimizer:
    """An optimizer of the rule of that name: one of describe_rules(), or "shampoo".

    The other arguments are those of the classes, as of gradstep.Adam. Rules without a class take the options that
    describe_rules() lists.

    >>> gradstep.make_optimizer("lion", arrays, learning_rate=1e-4, weight_decay=0.1)
    """
    make: Callable[..., Optimizer] = optimizer_class(rule)
    return make(parameters, names=names, groups=groups, context=context, **options)
