# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""More transformations: aliases of optax and of optax.contrib, whose rules gradstep makes by their names."""

from typing import Any

import gradstep
from gradstep.optax._rules import ScalarOrSchedule, adam_fields, alias, first_moment, without_decay
from gradstep.optax._transformation import Mask, transformation


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
