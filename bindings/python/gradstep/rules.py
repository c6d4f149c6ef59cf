# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Written by scripts/generate from src/rules.
"""The first-order rules. Their documentation is what the C library says of them."""

from collections.abc import Iterable
from typing import TypedDict, Unpack

from gradstep._arrays import Groups, Parameters
from gradstep._named_optimizer import NamedOptimizer, rule_class
from gradstep.context import Context
from gradstep.schedule import Number


class SharedOptions(TypedDict, total=False):
    """What every rule but Shampoo takes besides its own options."""

    maximize: bool
    master_weights: bool
    state_dtype: str
    stochastic_rounding: bool
    seed: int
    step_counting: str
    average_decay: float
    decay_mode: str
    peak_learning_rate: float
    trust_ratio: bool
    cautious_update: str
    cautious_decay: bool
    adaptive_clip: float
    adaptive_clip_epsilon: float
    adaptive_clip_units: str
    center_gradients: bool
    average_warmup: bool
    average_equal: bool
    average_start: float
    average_every: float


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
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
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
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
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
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
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
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[AdamOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class AdamWOptions(SharedOptions, total=False):
    learning_rate: Number
    beta1: Number
    beta2: Number
    epsilon: Number
    weight_decay: Number
    bias_correction: str
    decoupled_weight_decay: bool
    amsgrad: bool


@rule_class("adamw")
class AdamW(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[AdamWOptions],
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
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
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
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[LambOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class MuonOptions(SharedOptions, total=False):
    learning_rate: Number
    momentum: Number
    variance_beta: Number
    weight_decay: Number
    iterations: float
    epsilon: float
    scale_factor: float
    coefficient_a: float
    coefficient_b: float
    coefficient_c: float
    variance_epsilon: float
    gram_restart_every: float
    momentum_form: str
    nesterov: bool
    step_scale: str
    coefficients: str
    normalizer: str
    variance: str
    variance_floor: str
    variance_length: str
    product_precision: str
    iterate: str


@rule_class("muon")
class Muon(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[MuonOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class SignumOptions(SharedOptions, total=False):
    learning_rate: Number
    momentum: Number
    weight_decay: Number
    nesterov: bool


@rule_class("signum")
class Signum(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[SignumOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class NAdamOptions(SharedOptions, total=False):
    learning_rate: Number
    beta1: Number
    beta2: Number
    epsilon: Number
    epsilon_root: Number
    momentum_decay: Number
    weight_decay: Number
    form: str


@rule_class("nadam")
class NAdam(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[NAdamOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class RAdamOptions(SharedOptions, total=False):
    learning_rate: Number
    beta1: Number
    beta2: Number
    epsilon: Number
    epsilon_root: Number
    threshold: Number
    weight_decay: Number
    form: str
    nesterov: bool


@rule_class("radam")
class RAdam(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[RAdamOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class AdamaxOptions(SharedOptions, total=False):
    learning_rate: Number
    beta1: Number
    beta2: Number
    epsilon: Number
    weight_decay: Number


@rule_class("adamax")
class Adamax(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[AdamaxOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class AdadeltaOptions(SharedOptions, total=False):
    learning_rate: Number
    rho: Number
    epsilon: Number
    weight_decay: Number


@rule_class("adadelta")
class Adadelta(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[AdadeltaOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class RpropOptions(SharedOptions, total=False):
    learning_rate: Number
    eta_minus: Number
    eta_plus: Number
    minimum_step: Number
    maximum_step: Number
    weight_decay: Number


@rule_class("rprop")
class Rprop(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[RpropOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class AdaBeliefOptions(SharedOptions, total=False):
    learning_rate: Number
    beta1: Number
    beta2: Number
    epsilon: Number
    epsilon_root: Number
    weight_decay: Number
    nesterov: bool


@rule_class("adabelief")
class AdaBelief(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[AdaBeliefOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class YogiOptions(SharedOptions, total=False):
    learning_rate: Number
    beta1: Number
    beta2: Number
    epsilon: Number
    weight_decay: Number
    initial_accumulator: float


@rule_class("yogi")
class Yogi(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[YogiOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class AdanOptions(SharedOptions, total=False):
    learning_rate: Number
    beta1: Number
    beta2: Number
    beta3: Number
    epsilon: Number
    epsilon_root: Number
    weight_decay: Number
    form: str


@rule_class("adan")
class Adan(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[AdanOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class AdEMAMixOptions(SharedOptions, total=False):
    learning_rate: Number
    beta1: Number
    beta2: Number
    beta3: Number
    alpha: Number
    epsilon: Number
    weight_decay: Number
    alpha_steps: float
    beta3_steps: float
    warmup: str


@rule_class("ademamix")
class AdEMAMix(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[AdEMAMixOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class AdoptOptions(SharedOptions, total=False):
    learning_rate: Number
    beta1: Number
    beta2: Number
    epsilon: Number
    weight_decay: Number
    clipping: str
    nesterov: bool


@rule_class("adopt")
class Adopt(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[AdoptOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class LaPropOptions(SharedOptions, total=False):
    learning_rate: Number
    beta1: Number
    beta2: Number
    epsilon: Number
    weight_decay: Number


@rule_class("laprop")
class LaProp(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[LaPropOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class AsgdOptions(SharedOptions, total=False):
    learning_rate: Number
    shrinkage: Number
    exponent: Number
    averaging_start: Number
    weight_decay: Number


@rule_class("asgd")
class Asgd(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[AsgdOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class LarsOptions(SharedOptions, total=False):
    learning_rate: Number
    momentum: Number
    trust_coefficient: Number
    epsilon: Number
    weight_decay: Number
    form: str
    nesterov: bool


@rule_class("lars")
class Lars(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[LarsOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class NovogradOptions(SharedOptions, total=False):
    learning_rate: Number
    beta1: Number
    beta2: Number
    epsilon: Number
    epsilon_root: Number
    weight_decay: Number


@rule_class("novograd")
class Novograd(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[NovogradOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class MarsOptions(SharedOptions, total=False):
    learning_rate: Number
    beta1: Number
    beta2: Number
    gamma: Number
    epsilon: Number
    weight_decay: Number
    form: str


@rule_class("mars")
class Mars(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[MarsOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class SophiaOptions(SharedOptions, total=False):
    learning_rate: Number
    beta1: Number
    gamma: Number
    clip_threshold: Number
    epsilon: Number
    weight_decay: Number


@rule_class("sophia")
class Sophia(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[SophiaOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class ScheduleFreeOptions(SharedOptions, total=False):
    learning_rate: Number
    beta1: Number
    beta2: Number
    epsilon: Number
    weight_rate: Number
    weight_decay: Number
    warmup_steps: float
    weight_power: float
    rate_power: float
    inner: str
    waits: bool


@rule_class("schedule_free")
class ScheduleFree(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[ScheduleFreeOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class ProdigyOptions(SharedOptions, total=False):
    learning_rate: Number
    beta1: Number
    beta2: Number
    beta3: Number
    epsilon: Number
    weight_decay: Number
    d0: float
    d_factor: float
    d_growth: float
    bias_correction: bool
    safeguard_warmup: bool


@rule_class("prodigy")
class Prodigy(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[ProdigyOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class DadaptAdamOptions(SharedOptions, total=False):
    learning_rate: Number
    beta1: Number
    beta2: Number
    epsilon: Number
    weight_decay: Number
    d0: float
    d_growth: float
    bias_correction: bool


@rule_class("dadapt_adam")
class DadaptAdam(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[DadaptAdamOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class AdafactorOptions(SharedOptions, total=False):
    learning_rate: Number
    momentum: Number
    weight_decay: Number
    decay_exponent: float
    epsilon: float
    least_scale: float
    clip_threshold: float
    min_factored: float
    form: str
    scales_by_parameter: bool
    factored: bool


@rule_class("adafactor")
class Adafactor(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[AdafactorOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


class DionOptions(SharedOptions, total=False):
    learning_rate: Number
    momentum: Number
    weight_decay: Number
    rank: float
    rank_fraction: float
    epsilon: float
    form: str


@rule_class("dion")
class Dion(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[DionOptions],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)


CLASSES: dict[str, type[NamedOptimizer]] = {
    "sgd": SGD,
    "rmsprop": RMSProp,
    "adagrad": AdaGrad,
    "adam": Adam,
    "adamw": AdamW,
    "lion": Lion,
    "lamb": Lamb,
    "muon": Muon,
    "signum": Signum,
    "nadam": NAdam,
    "radam": RAdam,
    "adamax": Adamax,
    "adadelta": Adadelta,
    "rprop": Rprop,
    "adabelief": AdaBelief,
    "yogi": Yogi,
    "adan": Adan,
    "ademamix": AdEMAMix,
    "adopt": Adopt,
    "laprop": LaProp,
    "asgd": Asgd,
    "lars": Lars,
    "novograd": Novograd,
    "mars": Mars,
    "sophia": Sophia,
    "schedule_free": ScheduleFree,
    "prodigy": Prodigy,
    "dadapt_adam": DadaptAdam,
    "adafactor": Adafactor,
    "dion": Dion,
}
__all__ = [
    "SGD",
    "AdEMAMix",
    "AdaBelief",
    "AdaGrad",
    "Adadelta",
    "Adafactor",
    "Adam",
    "AdamW",
    "Adamax",
    "Adan",
    "Adopt",
    "Asgd",
    "DadaptAdam",
    "Dion",
    "LaProp",
    "Lamb",
    "Lars",
    "Lion",
    "Mars",
    "Muon",
    "NAdam",
    "Novograd",
    "Prodigy",
    "RAdam",
    "RMSProp",
    "Rprop",
    "ScheduleFree",
    "Signum",
    "Sophia",
    "Yogi",
]
