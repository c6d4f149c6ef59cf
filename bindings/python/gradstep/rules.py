# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The update rules. Options are the fields of the C library's struct of the same rule."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self, TypedDict, Unpack

from gradstep import _native
from gradstep._arrays import Array
from gradstep._partition import blocks
from gradstep.context import Context
from gradstep.errors import InvalidState, Unsupported
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


class ShampooOptions(TypedDict, total=False):
    learning_rate: Number
    block_size: int
    beta1: Number
    beta2: Number
    diagonal_epsilon: Number
    matrix_epsilon: Number
    weight_decay: Number
    decoupled_weight_decay: bool
    start_preconditioning_step: int
    preconditioning_compute_steps: int
    statistics_compute_steps: int
    best_effort_shape_interpretation: bool
    graft_type: str
    graft_beta1: Number
    graft_beta2: Number
    clip_by_scaled_gradient_norm: Number
    nesterov: bool
    moving_average_for_momentum: bool
    exponent_override: int
    skip_preconditioning_dim_size_gt: int
    precondition: Number
    root_method: str
    root_precision: str
    root_padding: str
    root_retries: int
    root_lag: int
    refresh: str
    inverse_failure_threshold: Number
    quantize_momentum: bool
    quantize_statistics: bool
    one_sided: str
    eigenvalue_corrected: bool
    master_weights: bool


class Shampoo(Optimizer):
    """Distributed Shampoo (Gupta, Koren and Singer 2018; Anil et al. 2020), for float32, float16 and bfloat16.

    State beside the tensors of the parameter's shape: "statistics.{block}.{axis}", "preconditioners.{block}.{axis}".
    metrics() has error, eigenvalue, iterations, retries, failures and age of every root.

    block_size: longer dimensions are cut at its multiples, neighbours are merged up to it.
    graft_type: whose length a step has: "sgd", "adagrad", "rmsprop", "rmsprop_normalized", "sqrt_n",
        "adagrad_normalized", "adam" or "none".
    root_method: "auto", "coupled_newton" or "eigh"; root_padding: "none" or "largest" (as in Google's code).
    root_precision: "f64" or "f32".
    refresh: "fresh" (roots serve in the step that computes them) or "stale" (from the next one on).
    root_lag: roots serve so many steps later, and are computed beside the steps in between.
    one_sided: "none", or only the axes of the "input" (all but the last) or of the "output" (the last).
    eigenvalue_corrected: SOAP (Vyas et al. 2024), Adam in the eigenbasis of the statistics, by beta1, beta2 and
        diagonal_epsilon; graft_type and the momenta play no part.
    unpreconditioned: groups that step by the grafting rule alone, and keep no matrices.
    """

    _rule = Rule(
        _native.shampoo_options,
        _native.optimizer_create_shampoo,
        {
            "graft_type": "GRAFT_TYPE_",
            "root_method": "ROOT_METHOD_",
            "root_precision": "ROOT_PRECISION_",
            "root_padding": "ROOT_PADDING_",
            "refresh": "REFRESH_",
            "one_sided": "ONE_SIDED_",
        },
    )
    ADAMW_OPTIONS: ClassVar[Mapping[str, Any]] = {
        "graft_type": "adam",
        "decoupled_weight_decay": True,
        "moving_average_for_momentum": True,
        "nesterov": False,
    }
    """The flags that from_adamw chooses."""

    def __init__(
        self,
        parameters: Iterable[Array],
        *,
        names: Iterable[str] | None = None,
        groups: Iterable[int] | None = None,
        context: Context | None = None,
        unpreconditioned: Iterable[int] = (),
        **options: Unpack[ShampooOptions],
    ) -> None:
        unpreconditioned = set(unpreconditioned)
        precondition = options.get("precondition", 1.0)
        if unpreconditioned:
            options = {**options, "precondition": 0.0}  # so that no matrices are made for them
        super().__init__(parameters, names=names, groups=groups, context=context, **options)
        for group in sorted(set(range(self.group_count)) - unpreconditioned) if unpreconditioned else ():
            self.set_value("precondition", precondition, group)

    @classmethod
    def from_adamw(
        cls,
        parameters: Iterable[Array],
        *,
        learning_rate: Number,
        beta1: Number = 0.9,
        beta2: Number = 0.999,
        epsilon: Number = 1e-8,
        weight_decay: Number = 0.0,
        names: Iterable[str] | None = None,
        groups: Iterable[int] | None = None,
        context: Context | None = None,
        adamw_groups: Iterable[int] = (),
        **options: Any,
    ) -> Self:
        """Shampoo in the place of a tuned AdamW: the same learning rate, betas, epsilon and decoupled decay.

        A step of Adam is as long as the mean over time, by beta1, of the directions g / (sqrt(v) + epsilon). Here every
        preconditioned direction gets the length of that direction of its step, and the same mean is taken of them:
        graft_type="adam" with graft_beta1=0 and graft_beta2=beta2, moving_average_for_momentum with beta1, no Nesterov
        term. So beta1 averages once. With it in graft_beta1 too, the length would already be that of a mean, and
        averaging over beta1 again would make steps several times too short; in graft_beta1 alone the length
        would be right, but the direction that of a single gradient.
        What differs from Adam: the mean starts from 0 without a correction, so the first 1 / (1 - beta1) steps are
        shorter.

        adamw_groups: groups that stay with AdamW itself (embeddings and output layers, often; parameters without
            dimensions or with one above skip_preconditioning_dim_size_gt gain by it too): beta1 is in graft_beta1.
        options: those of Shampoo. With precondition=0 all groups are AdamW's. With eigenvalue_corrected the rule is
            Adam in other coordinates, by beta1, beta2 and epsilon themselves; adamw_groups then differ from AdamW in
            that their first gradient makes no step.
        """
        chosen: dict[str, Any] = {
            "learning_rate": learning_rate,
            "beta1": beta1,
            "beta2": beta2,
            "diagonal_epsilon": epsilon,
            "weight_decay": weight_decay,
            "graft_beta1": 0.0,
            "graft_beta2": beta2,
            **cls.ADAMW_OPTIONS,
            **options,
        }
        plain = set(adamw_groups)
        made = cls(parameters, names=names, groups=groups, context=context, unpreconditioned=plain, **chosen)
        if chosen.get("precondition", 1.0) == 0:
            plain = set(range(made.group_count))
        for group in plain if not chosen.get("eigenvalue_corrected") else ():
            made.set_value("beta1", 0.0, group)
            made.set_value("graft_beta1", beta1, group)
        return made

    def state_names_of(self, i: int) -> list[str]:
        """The state tensors of parameter i, with a name for every block and axis that has matrices."""
        extents = self._blocks(i)
        names = []
        for pattern in self.state_names:
            if "{" not in pattern:
                names += [pattern] if self._has_state(i, pattern) else []
                continue
            # An axis has matrices in all blocks or in none.
            axes = range(len(extents[0]) if extents else 0)
            having = [axis for axis in axes if self._has_state(i, pattern.format(block=0, axis=axis))]
            names += [pattern.format(block=block, axis=axis) for block in range(len(extents)) for axis in having]
        return names

    def _has_state(self, i: int, name: str) -> bool:
        try:
            _native.optimizer_state(self._pointer, i, name)
        except InvalidState:
            return False
        except Unsupported:  # there, but in another form
            pass
        return True

    def _blocks(self, i: int) -> list[tuple[int, ...]]:
        """The extents of the blocks of parameter i, as if it were preconditioned."""
        shape, _ = self._description(i)
        if not shape or 0 in shape:
            return []
        return blocks(shape, self._options.block_size, bool(self._options.best_effort_shape_interpretation))

    def _state_shape(self, i: int, name: str) -> tuple[int, ...]:
        _, *place = name.split(".")
        extents = self._blocks(i)
        if len(place) == 2 and all(number.isdecimal() for number in place):
            block, axis = map(int, place)
            if block < len(extents) and axis < len(extents[block]):
                return extents[block][axis], extents[block][axis]
        return super()._state_shape(i, name)
