# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What the C library says of its rules, and optimizers that are made by the name of theirs."""

import functools
import inspect
import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeVar

from gradstep import _native
from gradstep._arrays import Groups, Parameters, Schema, schema
from gradstep._keywords import Documented, Keyword, document
from gradstep._numbers import any_of_64_bits, plain, real
from gradstep._options import read_records, unknown_option
from gradstep._shared_arguments import ARGUMENTS
from gradstep.context import Context, context_pointer
from gradstep.errors import InvalidArgument
from gradstep.optimizer import Optimizer, above_zero
from gradstep.schedule import Number, Schedule, as_schedule

_Option = tuple[str, float, str | None]
"""What the C library takes: a name, a number and a text that may take its place."""


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
    """g: gradient; p: parameter; t: steps before this one. Of a rule that is text, the text."""
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


def describe_rules() -> Mapping[str, RuleDescription]:
    """The rules of the C library and those of define_rule by name, with formula, source, states and options.

    Shampoo is none of them, and "adamw" is "adam" with another default.
    """
    return _first_rules(_native.rule_count())


@functools.lru_cache(maxsize=1)
def _first_rules(count: int) -> Mapping[str, RuleDescription]:
    found = {}
    for index in range(count):
        rule = _native.rule()
        _native.rule_describe(index, rule)
        states = tuple(rule.states.split(",")) if rule.states else ()
        found[rule.name] = RuleDescription(rule.name, rule.source, rule.formula, states, _options_of(rule.name))
    return MappingProxyType(found)


def _options_of(rule: str) -> Mapping[str, RuleOption]:
    records = read_records(_native.rule_options, rule)
    return MappingProxyType({record.name: _option(record) for record in records})


_SECOND_NAMES = {"adamw": "adam"}


def _described(rule: str) -> RuleDescription:
    """The rule of that name or second name."""
    if rule not in _SECOND_NAMES:
        return describe_rules()[rule]
    return describe_rules()[_SECOND_NAMES[rule]]._replace(name=rule, options=_options_of(rule))


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


def _refused(error: InvalidArgument) -> InvalidArgument:
    """This error with the place of an option, which C says too."""
    return InvalidArgument(re.sub(r"^options\[\d+\] \((\w+)\)", r"\1", str(error)))


def _read_options(rule: str, whose: str, options: Mapping[str, Any]) -> tuple[list[_Option], dict[str, Schedule]]:
    """What C takes for the options of a rule, and the schedules among them."""
    known = _described(rule).options
    given, schedules = [], {}
    for name, value in options.items():
        if name not in known:
            raise unknown_option(whose, name, known)
        option = known[name]
        if option.kind == "hyper_parameter" and (isinstance(value, Schedule) or callable(value)):
            schedules[name] = as_schedule(value)
            value = schedules[name].value(0)
        given.append(_converted(option, f"{whose}: {name}", value))
    return given, schedules


class GroupedOptimizer(Optimizer):
    """An optimizer with a rule for each parameter group."""

    def _make(
        self, described: Schema, context: Context | None, options: dict[str, Any]
    ) -> tuple[Any, dict[str, Schedule]]:
        given: list[tuple[str, list[Any]]] = []
        self._by_group = []
        for group, pair in enumerate(options["rules"]):
            if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], Mapping)):
                raise TypeError(f"rule[{group}]: is {pair!r}, expected a tuple of a name and a dict of options")
            rule, own = pair
            if rule not in (known := [*describe_rules(), *_SECOND_NAMES]):
                raise InvalidArgument(f"rule[{group}]: {rule!r} is not known, expected one of {', '.join(known)}")
            read, schedules = _read_options(rule, f"rule[{group}] ({rule})", own)
            given.append((rule, read))
            self._by_group.append(schedules)
        self._rules = tuple(rule for rule, _ in given)
        try:
            return _native.optimizer_create_by_group(context_pointer(context), given, described), {}
        except InvalidArgument as error:
            text = re.sub(r"^groups\[(\d+)\]: (options\[\d+\] \((\w+)\))?", r"rule[\1]: \3", str(error))
            raise InvalidArgument(text) from None

    def _create(self, described: Schema, context: Context | None, options: dict[str, Any]) -> None:
        super()._create(described, context, options)
        for group, schedules in enumerate(self._by_group):
            whose = group if len(self._by_group) > 1 else -1  # a lone rule is that of all groups
            for name, value in schedules.items():
                _native.optimizer_set_schedule(self._pointer, whose, name, value._native)


class NamedOptimizer(Optimizer):
    """An optimizer whose options are those that the C library describes."""

    _name: ClassVar[str]
    """The rule's."""

    @classmethod
    def _read(cls, options: Mapping[str, Any]) -> tuple[list[_Option], dict[str, Schedule]]:
        return _read_options(cls._name, cls.__name__, options)

    def _make(
        self, described: Schema, context: Context | None, options: dict[str, Any]
    ) -> tuple[Any, dict[str, Schedule]]:
        given, schedules = self._read(options)
        try:
            return _native.optimizer_create(context_pointer(context), self._name, given, described), schedules
        except InvalidArgument as error:
            raise _refused(error) from None

    @classmethod
    def state_bytes(
        cls,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        **options: Any,
    ) -> int:
        given, schedules = cls._read(options)
        given = [
            (name, above_zero(number, schedules[name]) if name in schedules else number, text)
            for name, number, text in given
        ]
        try:
            return _native.rule_state_bytes(cls._name, given, schema(parameters, names, groups))
        except InvalidArgument as error:
            raise _refused(error) from None


_TYPES = {"hyper_parameter": Number, "setting": float, "choice": str, "flag": bool, "integer": int}


def _bounds(option: RuleOption) -> str:
    if option.kind in ("choice", "flag"):
        return ""
    if option.kind == "integer":
        return "any of 64 bits"
    if option.limit < math.inf:
        return f"in [{option.minimum:g}, {option.limit:g})"
    return f">= {option.minimum:g}" if option.minimum > -sys.float_info.max else ""


def keywords_of_rule(rule: str) -> dict[str, Documented]:
    """Its options as keywords."""
    return {
        option.name: Documented(
            _TYPES[option.kind],
            Keyword(option.meaning, _bounds(option), choices=option.choices),
            inspect.Parameter.empty if option.default is None else option.default,
        )
        for option in _described(rule).options.values()
    }


def define_rule(text: str, *, context: Context | None = None) -> str:
    """Makes a rule of its text (docs/rules_as_text.md) and returns its name.

    make_optimizer and optimizer_class take the name, describe_rules lists the rule. It stays until the process ends;
    the same text gives the same name. Raises InvalidArgument, which says line, column, what was expected and what was
    found, for a text that is no rule, and for a name that has another text.

    >>> name = gradstep.define_rule('''
    ...     rule my_momentum
    ...     hyper learning_rate; share = 0.9 in [0, 1)
    ...     state m
    ...     m = share * m + g
    ...     p = p - learning_rate * m
    ... ''')
    >>> optimizer = gradstep.make_optimizer(name, arrays, learning_rate=0.1)
    """
    name: str = _native.rule_define(context_pointer(context), text)
    return name


Class = TypeVar("Class", bound=type[NamedOptimizer])


def rule_class(rule: str) -> Callable[[Class], Class]:
    """A class decorator: the class is that rule's, and documented by what the C library says of it."""

    def make(cls: Class) -> Class:
        cls._name = rule
        cls._rules = (rule,)
        about = _described(rule)
        formula = textwrap.indent(about.formula, "    ")
        cls.__doc__ = (
            f"{about.source}.\n\n{formula}\n\nOne step count, t, serves all parameters, whenever their first gradient "
            'comes (docs/numerics.md, "Steps").'
        )
        return document(cls, keywords_of_rule(rule), ARGUMENTS)

    return make
