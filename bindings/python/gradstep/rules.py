# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Written by scripts/generate from src/rules.
"""The first-order rules. Their documentation is what the C library says of them."""

from collections.abc import Iterable
from typing import Unpack

from gradstep._arrays import Array
from gradstep._named_optimizer import NamedOptimizer, rule_class
from gradstep._shared_options import SharedOptions
from gradstep.context import Context
from gradstep.schedule import Number


class SGDOptions(SharedOptions, total=False):
    learning_rate: Number
    momentum: Number
    dampening: Number
    weight_decay: Number
    nesterov: bool
    first_step: str


@rule_class("sgd")
class SGD(NamedOptimizer):
    def __init__(
        self,
        parameters: Iterable[Array],
        *,
        names: Iterable[str] | None = None,
        groups: Iterable[int] | None = None,
        context: Context | None = None,
        **options: Unpack[SGDOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class RMSPropOptions(SharedOptions, total=False):
    learning_rate: Number
    rho: Number
    epsilon: Number
    weight_decay: Number
    momentum: Number
    epsilon_placement: str
    centered: bool


@rule_class("rmsprop")
class RMSProp(NamedOptimizer):
    def __init__(
        self,
        parameters: Iterable[Array],
        *,
        names: Iterable[str] | None = None,
        groups: Iterable[int] | None = None,
        context: Context | None = None,
        **options: Unpack[RMSPropOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class AdaGradOptions(SharedOptions, total=False):
    learning_rate: Number
    epsilon: Number
    weight_decay: Number
    lr_decay: Number
    initial_accumulator: float
    epsilon_placement: str


@rule_class("adagrad")
class AdaGrad(NamedOptimizer):
    def __init__(
        self,
        parameters: Iterable[Array],
        *,
        names: Iterable[str] | None = None,
        groups: Iterable[int] | None = None,
        context: Context | None = None,
        **options: Unpack[AdaGradOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class AdamOptions(SharedOptions, total=False):
    learning_rate: Number
    beta1: Number
    beta2: Number
    epsilon: Number
    weight_decay: Number
    bias_correction: str
    decoupled_weight_decay: bool
    amsgrad: bool


@rule_class("adam")
class Adam(NamedOptimizer):
    def __init__(
        self,
        parameters: Iterable[Array],
        *,
        names: Iterable[str] | None = None,
        groups: Iterable[int] | None = None,
        context: Context | None = None,
        **options: Unpack[AdamOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class LionOptions(SharedOptions, total=False):
    learning_rate: Number
    beta1: Number
    beta2: Number
    weight_decay: Number


@rule_class("lion")
class Lion(NamedOptimizer):
    def __init__(
        self,
        parameters: Iterable[Array],
        *,
        names: Iterable[str] | None = None,
        groups: Iterable[int] | None = None,
        context: Context | None = None,
        **options: Unpack[LionOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class LambOptions(SharedOptions, total=False):
    learning_rate: Number
    beta1: Number
    beta2: Number
    epsilon: Number
    epsilon_root: Number
    weight_decay: Number


@rule_class("lamb")
class Lamb(NamedOptimizer):
    def __init__(
        self,
        parameters: Iterable[Array],
        *,
        names: Iterable[str] | None = None,
        groups: Iterable[int] | None = None,
        context: Context | None = None,
        **options: Unpack[LambOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


CLASSES: dict[str, type[NamedOptimizer]] = {
    "sgd": SGD,
    "rmsprop": RMSProp,
    "adagrad": AdaGrad,
    "adam": Adam,
    "lion": Lion,
    "lamb": Lamb,
}
__all__ = [
    "SGD",
    "AdaGrad",
    "Adam",
    "Lamb",
    "Lion",
    "RMSProp",
]
