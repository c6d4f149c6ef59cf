# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Optimizers by the name of their rule."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gradstep._arrays import Groups, Parameters
from gradstep._named_optimizer import GroupedOptimizer, NamedOptimizer, describe_rules, rule_class
from gradstep.context import Context
from gradstep.errors import InvalidArgument
from gradstep.optimizer import Optimizer
from gradstep.rules import CLASSES
from gradstep.shampoo import Shampoo

_CLASSES: dict[str, type[Optimizer]] = {**CLASSES, "shampoo": Shampoo}


def _class_of_text(rule: str) -> type[NamedOptimizer]:
    """The class of a rule that define_rule() has made, with an __init__ of its own to be documented."""

    class OfText(NamedOptimizer):
        def __init__(
            self,
            parameters: Parameters,
            *,
            names: Iterable[str] | None = None,
            groups: Groups | None = None,
            context: Context | None = None,
            **options: Any,
        ) -> None:
            super().__init__(parameters, names=names, groups=groups, context=context, **options)

    OfText.__name__ = OfText.__qualname__ = rule
    return rule_class(rule)(OfText)


def optimizer_class(rule: str) -> type[Optimizer]:
    """The class of the rule of that name. Raises InvalidArgument for an unknown one, and lists those that there are."""
    if rule not in _CLASSES and rule in describe_rules():
        _CLASSES[rule] = _class_of_text(rule)
    if rule not in _CLASSES:
        raise InvalidArgument(f"rule: {rule!r} is not known, expected one of {', '.join(sorted(_CLASSES))}")
    return _CLASSES[rule]


def make_optimizer(
    rule: str | Sequence[tuple[str, Mapping[str, Any]]],
    parameters: Parameters,
    *,
    names: Iterable[str] | None = None,
    groups: Groups | None = None,
    context: Context | None = None,
    **options: Any,
) -> Optimizer:
    """An optimizer of the rule of that name: one of describe_rules(), "adamw" or "shampoo".

    The other arguments are those of its class, optimizer_class(rule).

    >>> gradstep.make_optimizer("lion", arrays, learning_rate=1e-4, weight_decay=0.1)

    A list has a rule and its options for each of the `groups`: one optimizer, one norm, one clip, one saved state.
    `maximize` and `step_counting` are equal in all of them.

    >>> rules = [("lion", {"learning_rate": 1e-4}), ("adam", {"learning_rate": 1e-3})]
    >>> gradstep.make_optimizer(rules, arrays, groups=[0, 1, 1])
    """
    if not isinstance(rule, str):
        if options:
            raise TypeError(f"{next(iter(options))}: the options of rules by group stand beside each rule")
        return GroupedOptimizer(parameters, names=names, groups=groups, context=context, rules=list(rule))
    make: Callable[..., Optimizer] = optimizer_class(rule)
    return make(parameters, names=names, groups=groups, context=context, **options)
