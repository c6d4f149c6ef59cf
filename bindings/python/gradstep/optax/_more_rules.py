# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""More transformations: aliases of optax and of optax.contrib, whose rules gradstep makes by their names."""

import operator
from typing import Any

import jax
import jax.numpy as jnp
import optax

import gradstep
from gradstep.errors import Unsupported
from gradstep.optax._rules import (
    ScalarOrSchedule,
    adam_fields,
    alias,
    first_moment,
    is_zero,
    moment_of,
    varies,
    without_decay,
)
from gradstep.optax._states import Tree
from gradstep.optax._transformation import Mask, average_of, transformation
from gradstep.schedule import Schedule, as_schedule


@alias
def sign_sgd(learning_rate: ScalarOrSchedule, *, context: gradstep.Context | None = None, **options: Any) -> Any:
    """optax.sign_sgd. Further options are those of gradstep.Signum."""
    return transformation(
        gradstep.Signum, {"learning_rate": learning_rate, "momentum": 0.0, **options}, context=context
    )


@alias
def signum(
    learning_rate: ScalarOrSchedule,
    beta: ScalarOrSchedule = 0.9,
    accumulator_dtype: Any | None = None,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.signum. Further options are those of gradstep.Signum."""
    fields = {"learning_rate": learning_rate, "momentum": beta}
    moment = first_moment(accumulator_dtype, "accumulator_dtype")
    return transformation(gradstep.Signum, {**fields, **options}, moment=moment, context=context)


@alias
def lion(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.99,
    mu_dtype: Any | None = None,
    weight_decay: ScalarOrSchedule = 1e-3,
    mask: Mask | None = None,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.lion. Further options are those of gradstep.Lion."""
    fields = {"learning_rate": learning_rate, "beta1": b1, "beta2": b2, "weight_decay": weight_decay}
    moment = first_moment(mu_dtype)
    return transformation(gradstep.Lion, {**fields, **options}, without_decay(mask), moment=moment, context=context)


@alias
def lamb(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.999,
    eps: ScalarOrSchedule = 1e-6,
    eps_root: ScalarOrSchedule = 0.0,
    weight_decay: ScalarOrSchedule = 0.0,
    mask: Mask | None = None,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.lamb. Further options are those of gradstep.Lamb."""
    fields = {**adam_fields(learning_rate, b1, b2, eps), "epsilon_root": eps_root, "weight_decay": weight_decay}
    return transformation(gradstep.Lamb, {**fields, **options}, without_decay(mask), context=context)


@alias
def nadam(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.999,
    eps: ScalarOrSchedule = 1e-8,
    eps_root: ScalarOrSchedule = 0.0,
    mu_dtype: Any | None = None,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.nadam. Further options are those of gradstep.NAdam."""
    fields = {**adam_fields(learning_rate, b1, b2, eps), "epsilon_root": eps_root, "form": "optax"}
    return transformation(gradstep.NAdam, {**fields, **options}, moment=first_moment(mu_dtype), context=context)


@alias
def nadamw(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.999,
    eps: ScalarOrSchedule = 1e-8,
    eps_root: ScalarOrSchedule = 0.0,
    mu_dtype: Any | None = None,
    weight_decay: ScalarOrSchedule = 1e-4,
    mask: Mask | None = None,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.nadamw. Further options are those of gradstep.NAdam."""
    fields = {
        **adam_fields(learning_rate, b1, b2, eps),
        "epsilon_root": eps_root,
        "form": "optax",
        "weight_decay": weight_decay,
        "decay_mode": "decoupled",
    }
    moment = first_moment(mu_dtype)
    return transformation(gradstep.NAdam, {**fields, **options}, without_decay(mask), moment=moment, context=context)


@alias
def radam(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.999,
    eps: ScalarOrSchedule = 1e-8,
    eps_root: ScalarOrSchedule = 0.0,
    threshold: ScalarOrSchedule = 5.0,
    *,
    nesterov: bool = False,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.radam, with a threshold of at least 4. Further options are those of gradstep.RAdam."""
    fields = {
        **adam_fields(learning_rate, b1, b2, eps),
        "epsilon_root": eps_root,
        "threshold": threshold,
        "form": "optax",
        "nesterov": nesterov,
    }
    return transformation(gradstep.RAdam, {**fields, **options}, context=context)


@alias
def adamax(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.999,
    eps: ScalarOrSchedule = 1e-8,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.adamax. Further options are those of gradstep.Adamax."""
    return transformation(gradstep.Adamax, {**adam_fields(learning_rate, b1, b2, eps), **options}, context=context)


@alias
def adamaxw(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.999,
    eps: ScalarOrSchedule = 1e-8,
    weight_decay: ScalarOrSchedule = 1e-4,
    mask: Mask | None = None,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.adamaxw. Further options are those of gradstep.Adamax."""
    fields = {**adam_fields(learning_rate, b1, b2, eps), "weight_decay": weight_decay, "decay_mode": "decoupled"}
    return transformation(gradstep.Adamax, {**fields, **options}, without_decay(mask), context=context)


@alias
def adabelief(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.999,
    eps: ScalarOrSchedule = 1e-16,
    eps_root: ScalarOrSchedule = 1e-16,
    *,
    nesterov: bool = False,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.adabelief. Further options are those of gradstep.AdaBelief."""
    fields = {**adam_fields(learning_rate, b1, b2, eps), "epsilon_root": eps_root, "nesterov": nesterov}
    return transformation(gradstep.AdaBelief, {**fields, **options}, context=context)


@alias
def yogi(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.999,
    eps: ScalarOrSchedule = 1e-3,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.yogi. Further options are those of gradstep.Yogi."""
    return transformation(gradstep.Yogi, {**adam_fields(learning_rate, b1, b2, eps), **options}, context=context)


@alias
def adan(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.98,
    b2: ScalarOrSchedule = 0.92,
    b3: ScalarOrSchedule = 0.99,
    eps: ScalarOrSchedule = 1e-8,
    eps_root: ScalarOrSchedule = 1e-8,
    weight_decay: ScalarOrSchedule = 0.0,
    mask: Mask | None = None,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.adan. Further options are those of gradstep.Adan; form="authors" weighs differences as the paper's code."""
    fields = {
        **adam_fields(learning_rate, b1, b2, eps),
        "beta3": b3,
        "epsilon_root": eps_root,
        "weight_decay": weight_decay,
        "form": "optax",
    }
    return transformation(gradstep.Adan, {**fields, **options}, without_decay(mask), context=context)


@alias
def adadelta(
    learning_rate: ScalarOrSchedule = 1.0,
    rho: ScalarOrSchedule = 0.9,
    eps: ScalarOrSchedule = 1e-6,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.adadelta without decay, which optax leaves unscaled. Further options are those of gradstep.Adadelta."""
    fields = {"learning_rate": learning_rate, "rho": rho, "epsilon": eps}
    return transformation(gradstep.Adadelta, {**fields, **options}, context=context)


@alias
def ademamix(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.999,
    b3: ScalarOrSchedule = 0.9999,
    alpha: ScalarOrSchedule = 5.0,
    eps: ScalarOrSchedule = 1e-8,
    weight_decay: ScalarOrSchedule = 0.0,
    mask: Mask | None = None,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.contrib.ademamix, but for eps_root and mu_dtype. Further options are those of gradstep.AdEMAMix."""
    fields = {**adam_fields(learning_rate, b1, b2, eps), "beta3": b3, "alpha": alpha, "weight_decay": weight_decay}
    return transformation(gradstep.AdEMAMix, {**fields, **options}, without_decay(mask), context=context)


@alias
def adopt(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.9999,
    eps: ScalarOrSchedule = 1e-6,
    *,
    nesterov: bool = False,
    use_clipping: bool = True,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.contrib.adopt, but for mu_dtype and clip_value_fn. Further options are those of gradstep.Adopt."""
    fields = {
        **adam_fields(learning_rate, b1, b2, eps),
        "nesterov": nesterov,
        "clipping": "optax" if use_clipping else "none",
    }
    return transformation(gradstep.Adopt, {**fields, **options}, context=context)


@alias
def lars(
    learning_rate: ScalarOrSchedule,
    weight_decay: ScalarOrSchedule = 0.0,
    weight_decay_mask: Mask | None = True,
    trust_coefficient: ScalarOrSchedule = 0.001,
    eps: ScalarOrSchedule = 0.0,
    trust_ratio_mask: Mask | None = True,
    momentum: ScalarOrSchedule = 0.9,
    nesterov: bool = False,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.lars. Further options are those of gradstep.Lars.

    What trust_ratio_mask leaves out is stepped by optax, with its momentum in JAX: the state is then that of
    optax.chain, and optimizer_of(state) saves the rest alone.
    """
    fields = {
        "learning_rate": learning_rate,
        "momentum": momentum,
        "trust_coefficient": trust_coefficient,
        "epsilon": eps,
        "weight_decay": weight_decay,
        "nesterov": nesterov,
    }
    masked_out = without_decay(None if weight_decay_mask is True else weight_decay_mask)
    made = transformation(gradstep.Lars, {**fields, **options}, masked_out, context=context)
    if trust_ratio_mask is None or trust_ratio_mask is True:
        return made
    numbers = {"learning_rate": learning_rate, "weight_decay": weight_decay, "momentum": momentum}
    unknown = [name for name, value in numbers.items() if isinstance(value, Schedule)]
    unknown += ["momentum"] if callable(momentum) else []
    if beyond := [*options, *unknown]:
        raise Unsupported(
            f"{beyond[0]}: with a trust_ratio_mask optax steps some of the parameters, and takes neither gradstep's "
            "options and schedules nor a schedule of momentum"
        )
    others = optax.chain(
        optax.add_decayed_weights(weight_decay, weight_decay_mask),
        optax.scale_by_learning_rate(learning_rate),
        optax.trace(momentum, nesterov),
    )

    def left_out(params: Tree) -> Tree:
        chosen = trust_ratio_mask(params) if callable(trust_ratio_mask) else trust_ratio_mask
        return jax.tree_util.tree_map(operator.not_, chosen)

    return optax.chain(optax.masked(made, trust_ratio_mask), optax.masked(others, left_out))


@alias
def novograd(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.25,
    eps: ScalarOrSchedule = 1e-6,
    eps_root: ScalarOrSchedule = 0.0,
    weight_decay: ScalarOrSchedule = 0.0,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.novograd. Further options are those of gradstep.Novograd."""
    fields = {**adam_fields(learning_rate, b1, b2, eps), "epsilon_root": eps_root, "weight_decay": weight_decay}
    return transformation(gradstep.Novograd, {**fields, **options}, context=context)


@alias
def adafactor(
    learning_rate: ScalarOrSchedule | None = None,
    min_dim_size_to_factor: int = 128,
    decay_rate: float = 0.8,
    decay_offset: int = 0,
    multiply_by_parameter_scale: bool = True,
    clipping_threshold: float | None = 1.0,
    momentum: float | None = None,
    dtype_momentum: Any = jnp.float32,
    weight_decay_rate: ScalarOrSchedule | None = None,
    eps: float = 1e-30,
    factored: bool = True,
    weight_decay_mask: Mask | None = None,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.adafactor. Further options are those of gradstep.Adafactor."""
    if not is_zero(decay_offset):
        raise Unsupported(
            f"decay_offset: is {decay_offset}; gradstep's Adafactor counts from its first step; leave it 0, or use "
            "optax.adafactor"
        )
    fields = {
        "form": "optax",
        "learning_rate": 1.0 if learning_rate is None else learning_rate,
        "min_factored": min_dim_size_to_factor,
        "decay_exponent": decay_rate,
        "scales_by_parameter": multiply_by_parameter_scale,
        "clip_threshold": 0.0 if clipping_threshold is None else clipping_threshold,
        "momentum": 0.0 if momentum is None else momentum,
        "epsilon": eps,
        "factored": factored,
    }
    if weight_decay_rate is not None:
        fields |= {"weight_decay": weight_decay_rate, "decay_mode": "independent"}
    moment = None if momentum is None else first_moment(dtype_momentum, "dtype_momentum")
    masked_out = without_decay(weight_decay_mask)
    return transformation(gradstep.Adafactor, {**fields, **options}, masked_out, moment=moment, context=context)


@alias
def prodigy(
    learning_rate: ScalarOrSchedule = 1.0,
    betas: tuple[ScalarOrSchedule, ScalarOrSchedule] = (0.9, 0.999),
    beta3: ScalarOrSchedule | None = None,
    eps: ScalarOrSchedule = 1e-8,
    estim_lr0: float = 1e-6,
    estim_lr_coef: float = 1.0,
    weight_decay: ScalarOrSchedule = 0.0,
    safeguard_warmup: bool = False,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.contrib.prodigy, with a beta3 above 0. Further options are those of gradstep.Prodigy."""
    if beta3 is not None and is_zero(beta3):
        raise Unsupported("beta3: is 0, which gradstep's Prodigy takes for sqrt(betas[1]); give a number above 0")
    fields = {
        **adam_fields(learning_rate, *betas, eps),
        "beta3": 0.0 if beta3 is None else beta3,
        "d0": estim_lr0,
        "d_factor": estim_lr_coef,
        "weight_decay": weight_decay,
        "safeguard_warmup": safeguard_warmup,
        "bias_correction": True,
    }
    return transformation(gradstep.Prodigy, {**fields, **options}, context=context)


@alias
def dadapt_adamw(
    learning_rate: ScalarOrSchedule = 1.0,
    betas: tuple[ScalarOrSchedule, ScalarOrSchedule] = (0.9, 0.999),
    eps: ScalarOrSchedule = 1e-8,
    estim_lr0: float = 1e-6,
    weight_decay: ScalarOrSchedule = 0.0,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.contrib.dadapt_adamw. Further options are those of gradstep.DadaptAdam."""
    fields = {
        **adam_fields(learning_rate, *betas, eps),
        "d0": estim_lr0,
        "weight_decay": weight_decay,
        "bias_correction": True,
    }
    return transformation(gradstep.DadaptAdam, {**fields, **options}, context=context)


def _rates(learning_rate: ScalarOrSchedule, warmup_steps: int | None) -> dict[str, Any]:
    """Learning rates of optax's schedule-free rules, in which a step is weighted by the rate of the one after it."""
    rates: Any = learning_rate
    if warmup_steps is not None:
        rates = optax.warmup_constant_schedule(0.0, learning_rate, warmup_steps)
    if not varies(rates):
        return {"learning_rate": rates}
    if isinstance(rates, Schedule):
        return {"learning_rate": rates, "weight_rate": as_schedule(lambda step: rates.value(step + 1))}
    return {"learning_rate": rates, "weight_rate": lambda step: rates(step + 1)}


@alias
def schedule_free_adamw(
    learning_rate: ScalarOrSchedule = 0.0025,
    warmup_steps: int | None = None,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.999,
    eps: ScalarOrSchedule = 1e-8,
    weight_decay: ScalarOrSchedule = 0.0,
    weight_lr_power: float = 2.0,
    state_dtype: Any | None = None,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.contrib.schedule_free_adamw. Further options are those of gradstep.ScheduleFree.

    state_dtype: of z: float32, with float64 parameters float64.
    """
    fields = {
        **adam_fields(learning_rate, b1, b2, eps),
        **_rates(learning_rate, warmup_steps),
        "weight_decay": weight_decay,
        "rate_power": weight_lr_power,
        "inner": "adamw",
    }
    moment = None if state_dtype is None else moment_of("state_dtype", state_dtype, "leave it out")
    return transformation(gradstep.ScheduleFree, {**fields, **options}, moment=moment, context=context)


@alias
def schedule_free_sgd(
    learning_rate: ScalarOrSchedule = 1.0,
    warmup_steps: int | None = None,
    b1: ScalarOrSchedule = 0.9,
    weight_decay: ScalarOrSchedule | None = None,
    weight_lr_power: float = 2.0,
    state_dtype: Any | None = None,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.contrib.schedule_free_sgd. Further options are those of gradstep.ScheduleFree.

    state_dtype: of z: float32, with float64 parameters float64.
    """
    fields = {
        **_rates(learning_rate, warmup_steps),
        "beta1": b1,
        "weight_decay": weight_decay or 0.0,
        "rate_power": weight_lr_power,
        "inner": "sgd",
    }
    moment = None if state_dtype is None else moment_of("state_dtype", state_dtype, "leave it out")
    return transformation(gradstep.ScheduleFree, {**fields, **options}, moment=moment, context=context)


def schedule_free_eval_params(state: Tree, params: Tree) -> Tree:
    """optax.contrib.schedule_free_eval_params: the averages of the weights, for the last state and its parameters."""
    return average_of(state, params)
