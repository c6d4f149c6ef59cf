# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The update rules. Options are the fields of the C library's struct of the same rule."""

from collections.abc import Iterable
from typing import TypedDict, Unpack

from gradstep import _native
from gradstep._arrays import Array
from gradstep.context import Context
from gradstep.optimizer import Optimizer, Rule
from gradstep.schedule import Number


class CommonOptions(TypedDict, total=False):
    """What every rule takes besides its own options.

    master_weights: steps a float32 copy of every float16 and bfloat16 parameter, which is its rounded value.
    state_dtype: "native" (the arithmetic's), "bf16", or "int8" (block-wise, one byte an element).
    stochastic_rounding: rounds what is stored in 16 bits up or down at random, exact on average.
    seed: of the rounding; equal seeds give equal bits.
    """

    learning_rate: Number
    weight_decay: Number
    maximize: bool
    master_weights: bool
    state_dtype: str
    stochastic_rounding: bool
    seed: int


class SGDOptions(CommonOptions, total=False):
    momentum: Number
    dampening: Number
    nesterov: bool
    first_step: str


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum, dampening, Nesterov's form and weight decay.

    first_step: "dampen" (the momentum buffer starts at 0) or "copy" (at the first gradient, as in PyTorch).
    """

    _rule = Rule(_native.sgd_options, _native.optimizer_create_sgd, {"first_step": "SGD_FIRST_STEP_"})

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


class RMSPropOptions(CommonOptions, total=False):
    rho: Number
    epsilon: Number
    momentum: Number
    centered: bool
    epsilon_placement: str


class RMSProp(Optimizer):
    """Gradients divided by the root of their running mean square (Tieleman and Hinton 2012).

    centered: the running mean is subtracted, so that the divisor is a standard deviation (Graves 2013).
    epsilon_placement: "inside" the root (as in SINGA) or "outside" (as in PyTorch).
    """

    _rule = Rule(_native.rmsprop_options, _native.optimizer_create_rmsprop, {"epsilon_placement": "EPSILON_PLACEMENT_"})

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


class AdaGradOptions(CommonOptions, total=False):
    epsilon: Number
    lr_decay: Number
    initial_accumulator: float
    epsilon_placement: str


class AdaGrad(Optimizer):
    """Gradients divided by the root of the sum of their squares (Duchi et al. 2011).

    lr_decay: the learning rate of step t is divided by 1 + t * lr_decay.
    initial_accumulator: what the sum of squares starts at.
    epsilon_placement: "inside" the root (as in SINGA) or "outside" (as in PyTorch).
    """

    _rule = Rule(_native.adagrad_options, _native.optimizer_create_adagrad, {"epsilon_placement": "EPSILON_PLACEMENT_"})

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


class AdamOptions(CommonOptions, total=False):
    beta1: Number
    beta2: Number
    epsilon: Number
    decoupled_weight_decay: bool
    bias_correction: str
    amsgrad: bool


class Adam(Optimizer):
    """Adam (Kingma and Ba 2015), and with decoupled_weight_decay AdamW (Loshchilov and Hutter 2019).

    bias_correction: "standard" or "tf" (epsilon joins before the correction, as in TensorFlow and Lingvo).
    amsgrad: the largest second moment so far counts (Reddi et al. 2018).
    """

    _rule = Rule(_native.adam_options, _native.optimizer_create_adam, {"bias_correction": "BIAS_CORRECTION_"})

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
