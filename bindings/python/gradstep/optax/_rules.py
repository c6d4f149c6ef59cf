# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The transformations: optax's arguments, as options of gradstep's rules."""

import functools
import math
from collections.abc import Callable
from typing import Any, ParamSpec, TypeAlias

import jax
import numpy as np
import optax

import gradstep
from gradstep.errors import InvalidArgument, Unsupported
from gradstep.optax._tracing import refuse_injected
from gradstep.optax._transformation import Mask, MaskedOut, Moment, transformation
from gradstep.schedule import Schedule

ScalarOrSchedule: TypeAlias = float | Schedule | Callable[[Any], Any]
"""A constant; a gradstep schedule; or an optax one, a function of the step in JAX."""

Arguments = ParamSpec("Arguments")


def alias(make: Callable[Arguments, Any]) -> Callable[Arguments, Any]:
    """What all of them refuse before they look at their arguments."""

    @functools.wraps(make)
    def checked(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Any:
        refuse_injected(arguments, keywords)
        return make(*arguments, **keywords)

    return checked


@alias
def sgd(
    learning_rate: ScalarOrSchedule,
    momentum: ScalarOrSchedule | None = None,
    nesterov: bool = False,
    accumulator_dtype: Any | None = None,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.sgd. Further options are those of gradstep.SGD.

    accumulator_dtype: of the momentum: float32, bfloat16, or with float64 parameters float64.
    """
    fields: dict[str, Any] = {
        "learning_rate": learning_rate,
        "momentum": momentum or 0.0,
        "nesterov": nesterov and bool(momentum),
    }
    moment = None
    if accumulator_dtype is not None and momentum:
        moment = moment_of("accumulator_dtype", accumulator_dtype, "leave it out")
        if moment.dtype.name == "bfloat16":
            fields["state_dtype"] = "bf16"
    return transformation(gradstep.SGD, {**fields, **options}, moment=moment, context=context)


@alias
def rmsprop(
    learning_rate: ScalarOrSchedule,
    decay: ScalarOrSchedule = 0.9,
    eps: ScalarOrSchedule = 1e-8,
    initial_scale: float = 0.0,
    eps_in_sqrt: bool = True,
    centered: bool = False,
    momentum: ScalarOrSchedule | None = None,
    nesterov: bool = False,
    bias_correction: bool = False,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.rmsprop, but for bias_correction. Further options are those of gradstep.RMSProp.

    optax's momentum is of steps that the learning rate has scaled already, gradstep's of steps that it scales
    afterwards: the same while the rate is constant. Where it is not, or with nesterov, optax.trace keeps the momentum,
    in JAX: the state is that of optax.chain, with a State and optax's, and optimizer_of(state) saves the former alone.
    """
    if bias_correction:
        raise Unsupported(
            "bias_correction: gradstep's RMSProp has none; with eps_in_sqrt=False this is "
            "gradstep.optax.adam(learning_rate, b1=0, b2=decay, eps=eps), else use optax.rmsprop"
        )
    if not (0 <= initial_scale < math.inf):
        raise InvalidArgument(f"initial_scale: expected a finite number of at least 0, found {initial_scale}")
    traced = bool(momentum) and (nesterov or varies(learning_rate))
    if traced and varies(momentum):
        raise Unsupported(
            "momentum: is a schedule, which takes a constant learning_rate and no nesterov; give a number"
        )
    fields = {
        "learning_rate": learning_rate,
        "rho": decay,
        "epsilon": eps,
        "epsilon_placement": "inside" if eps_in_sqrt else "outside",
        "centered": centered,
        "momentum": 0.0 if traced else momentum or 0.0,
    }
    first_state = {"square_avg": float(initial_scale)} if initial_scale else {}
    made = transformation(gradstep.RMSProp, {**fields, **options}, first_state=first_state, context=context)
    return optax.chain(made, optax.trace(momentum, nesterov)) if traced else made


@alias
def adagrad(
    learning_rate: ScalarOrSchedule,
    initial_accumulator_value: float = 0.1,
    eps: ScalarOrSchedule = 1e-7,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.adagrad, but not with eps and initial_accumulator_value both 0. Further options: gradstep.AdaGrad's."""
    if is_zero(eps) and is_zero(initial_accumulator_value):
        raise Unsupported(
            "eps: is 0, and initial_accumulator_value too: gradstep divides 0 by 0 where a gradient has always been 0, "
            "optax leaves it at rest; give one of them a value above 0"
        )
    fields = {"learning_rate": learning_rate, "initial_accumulator": initial_accumulator_value, "epsilon": eps}
    return transformation(gradstep.AdaGrad, {**fields, **options}, context=context)


@alias
def adam(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.999,
    eps: ScalarOrSchedule = 1e-8,
    eps_root: float = 0.0,
    mu_dtype: Any | None = None,
    *,
    nesterov: bool = False,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.adam, but for eps_root and nesterov. Further options are those of gradstep.Adam; its amsgrad is PyTorch's.

    mu_dtype: float32, with float64 parameters float64, with state_dtype="bf16" bfloat16.
    """
    _refuse_other_adams(eps_root, nesterov)
    fields = adam_fields(learning_rate, b1, b2, eps)
    return transformation(gradstep.Adam, {**fields, **options}, moment=first_moment(mu_dtype), context=context)


@alias
def adamw(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.999,
    eps: ScalarOrSchedule = 1e-8,
    eps_root: float = 0.0,
    mu_dtype: Any | None = None,
    weight_decay: ScalarOrSchedule = 1e-4,
    mask: Mask | None = None,
    *,
    nesterov: bool = False,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.adamw, but for eps_root and nesterov. Further options are those of gradstep.Adam; its amsgrad is PyTorch's.

    mu_dtype: float32, with float64 parameters float64, with state_dtype="bf16" bfloat16.
    mask: a tree of bools, or a function that makes one of the parameters: which of them decay.
    """
    _refuse_other_adams(eps_root, nesterov)
    fields = {**adam_fields(learning_rate, b1, b2, eps), "weight_decay": weight_decay, "decoupled_weight_decay": True}
    moment = first_moment(mu_dtype)
    return transformation(gradstep.Adam, {**fields, **options}, without_decay(mask), moment=moment, context=context)


@alias
def shampoo(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.999,
    weight_decay: ScalarOrSchedule = 0.0,
    mask: Mask | None = None,
    *,
    precondition_mask: Mask | None = None,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """gradstep.Shampoo, whose further options it takes.

    mask: a tree of bools, or a function that makes one of the parameters: which of them decay.
    precondition_mask: likewise, which are preconditioned; the others step by the grafting rule and keep no matrices.
    """
    fields = {"learning_rate": learning_rate, "beta1": b1, "beta2": b2, "weight_decay": weight_decay}
    masked_out = without_decay(mask)
    if precondition_mask is not None:
        masked_out.append(MaskedOut(precondition_mask, {"precondition": 0.0}))
    return transformation(gradstep.Shampoo, {**fields, **options}, masked_out, context=context)


@alias
def shampoo_from_adamw(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.999,
    eps: ScalarOrSchedule = 1e-8,
    eps_root: float = 0.0,
    mu_dtype: Any | None = None,
    weight_decay: ScalarOrSchedule = 1e-4,
    mask: Mask | None = None,
    *,
    precondition_mask: Mask | None = None,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """Shampoo in the place of a tuned adamw(), with steps of its length; gradstep.Shampoo.from_adamw says how.

    precondition_mask: which parameters are preconditioned; the others stay with AdamW itself.
    """
    _refuse_other_adams(eps_root)
    fields = {
        "learning_rate": learning_rate,
        "beta1": b1,
        "beta2": b2,
        "graft_beta1": 0.0,
        "graft_beta2": b2,
        "diagonal_epsilon": eps,
        "weight_decay": weight_decay,
        **gradstep.Shampoo.ADAMW_OPTIONS,
    }
    masked_out = without_decay(mask)
    if precondition_mask is not None:
        momentum = {} if options.get("eigenvalue_corrected") else {"beta1": 0.0, "graft_beta1": b1}
        masked_out.append(MaskedOut(precondition_mask, {"precondition": 0.0, **momentum}))
    moment = None if mu_dtype is None else moment_of("mu_dtype", mu_dtype, "leave it out")
    return transformation(gradstep.Shampoo, {**fields, **options}, masked_out, moment=moment, context=context)


def adam_fields(
    learning_rate: ScalarOrSchedule, b1: ScalarOrSchedule, b2: ScalarOrSchedule, eps: ScalarOrSchedule
) -> dict[str, Any]:
    return {"learning_rate": learning_rate, "beta1": b1, "beta2": b2, "epsilon": eps}


def varies(value: ScalarOrSchedule | None) -> bool:
    return callable(value) or isinstance(value, Schedule)


def is_zero(value: ScalarOrSchedule) -> bool:
    return not varies(value) and value == 0


def without_decay(mask: Mask | None) -> list[MaskedOut]:
    return [] if mask is None else [MaskedOut(mask, {"weight_decay": 0.0})]


def moment_of(argument: str, dtype: Any, remedy: str) -> Moment:
    return Moment(argument, np.dtype(jax.dtypes.canonicalize_dtype(dtype)), remedy)


def first_moment(dtype: Any | None, argument: str = "mu_dtype") -> Moment | None:
    if dtype is None:
        return None
    return moment_of(argument, dtype, "state_dtype='bf16' keeps all moments in bfloat16; else leave it out")


def _refuse_other_adams(eps_root: Any, nesterov: bool = False) -> None:
    if not is_zero(eps_root):
        raise Unsupported(
            f"eps_root: is {eps_root}; gradstep's rule adds eps to the root and nothing under it; leave it 0, or use "
            "optax's own transformation"
        )
    if nesterov:
        raise Unsupported(
            "nesterov: gradstep's Adam has no Nesterov momentum; use gradstep.optax.nadam or nadamw, or optax.nadam"
        )
