# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Rules that torch has too, and gradstep makes by their names."""

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor

import gradstep
from gradstep.torch._arguments import EXTRAS, Extras, Group, Parameters, Words, pair
from gradstep.torch._optimizer import Optimizer
from gradstep.torch._part import UNCOUNTED, TorchState
from gradstep.torch._rules import Moments


@functools.lru_cache(maxsize=16)
def _product_of_momenta(count: int, beta1: float, momentum_decay: float) -> float:
    if count > 0 and beta1**count < 1e-46:
        return 0.0  # in f32, as the product, whose factors are at most beta1
    return math.prod(beta1 * (1 - 0.5 * 0.96 ** (i * momentum_decay)) for i in range(1, count + 1))


def _mu_product(count: int, values: Mapping[str, float]) -> float:
    """The product of torch's NAdam's momenta of the first steps."""
    return _product_of_momenta(count, values["beta1"], values["momentum_decay"])


class MomentsAndDecay(Moments):
    """Base of those whose weight decay joins the gradient unless it is asked to be decoupled."""

    def _constants(self, group: Group) -> dict[str, Any]:
        mode = "decoupled" if group["decoupled_weight_decay"] else "coupled"
        return {**super()._constants(group), "decay_mode": mode}


class RAdam(MomentsAndDecay):
    """torch.optim.RAdam."""

    _rule = gradstep.RAdam
    _twin = torch.optim.RAdam

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        **extras: Unpack[Extras],
    ) -> None:
        options = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, options, extras)


class NAdam(MomentsAndDecay):
    """torch.optim.NAdam.

    `mu_product`, which torch keeps, is computed: of the count of steps, betas[0] and momentum_decay. It is shown and
    saved, and not read; numbers that are changed while it is not yet 0 change it as if they had been so from the start.
    """

    _rule = gradstep.NAdam
    _twin = torch.optim.NAdam
    _torch_state = TorchState(counts=True, words={}, counted={"mu_product": _mu_product})

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        **extras: Unpack[Extras],
    ) -> None:
        options = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, options, extras)

    def _values(self, group: Group) -> dict[str, Any]:
        return {**super()._values(group), "momentum_decay": group["momentum_decay"]}


class Adamax(Moments):
    """torch.optim.Adamax."""

    _rule = gradstep.Adamax
    _twin = torch.optim.Adamax

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
        **extras: Unpack[Extras],
    ) -> None:
        options = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, options, extras)


class Adadelta(Optimizer):
    """torch.optim.Adadelta."""

    _rule = gradstep.Adadelta
    _twin = torch.optim.Adadelta
    _words: ClassVar[Words] = {"learning_rate": "lr", "epsilon": "eps"}

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
        **extras: Unpack[Extras],
    ) -> None:
        options = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, options, extras)

    def _values(self, group: Group) -> dict[str, Any]:
        return {
            "learning_rate": group["lr"],
            "rho": group["rho"],
            "epsilon": group["eps"],
            "weight_decay": group["weight_decay"],
        }

    @staticmethod
    def _alike(count: int, groups: Sequence[Mapping[str, Any]]) -> int:
        return 0  # nothing is corrected by the count


class Rprop(Optimizer):
    """torch.optim.Rprop."""

    _rule = gradstep.Rprop
    _twin = torch.optim.Rprop
    _words: ClassVar[Words] = {
        "learning_rate": "lr",
        "eta_minus": "etas[0]",
        "eta_plus": "etas[1]",
        "minimum_step": "step_sizes[0]",
        "maximum_step": "step_sizes[1]",
    }
    _torch_state = TorchState(counts=True, words={"previous_gradient": "prev"}, counted={})

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        **extras: Unpack[Extras],
    ) -> None:
        options = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, options, extras)

    def _values(self, group: Group) -> dict[str, Any]:
        eta_minus, eta_plus = pair("etas", group["etas"])
        minimum_step, maximum_step = pair("step_sizes", group["step_sizes"])
        return {
            "learning_rate": group["lr"],
            "eta_minus": eta_minus,
            "eta_plus": eta_plus,
            "minimum_step": minimum_step,
            "maximum_step": maximum_step,
        }

    @staticmethod
    def _alike(count: int, groups: Sequence[Mapping[str, Any]]) -> int:
        return min(count, 1)  # the first step is lr


def _share_of_average(count: int, values: Mapping[str, float]) -> float:
    """torch's mu, of the next step."""
    return 1 / max(1.0, count - values["averaging_start"])


class ASGD(Optimizer):
    """torch.optim.ASGD.

    `mu`, which torch keeps, is computed: of the count of steps and t0. It is shown and saved, and not read. `eta` is
    kept in f64, where torch rounds it to f32.
    """

    _rule = gradstep.Asgd
    _twin = torch.optim.ASGD
    _words: ClassVar[Words] = {
        "learning_rate": "lr",
        "shrinkage": "lambd",
        "exponent": "alpha",
        "averaging_start": "t0",
    }
    _torch_state = TorchState(counts=True, words={}, counted={"mu": _share_of_average})

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
        **extras: Unpack[Extras],
    ) -> None:
        options = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, options, extras)

    def _values(self, group: Group) -> dict[str, Any]:
        return {
            "learning_rate": group["lr"],
            "shrinkage": group["lambd"],
            "exponent": group["alpha"],
            "averaging_start": group["t0"],
            "weight_decay": group["weight_decay"],
        }


class Adafactor(Optimizer):
    """torch.optim.Adafactor.

    Where eps[0] is None, the parameters of a group have one dtype, whose epsilon it is.
    """

    _rule = gradstep.Adafactor
    _needs_whole = True
    _twin = torch.optim.Adafactor
    _words: ClassVar[Words] = {
        "learning_rate": "lr",
        "decay_exponent": "beta2_decay",
        "epsilon": "eps[0]",
        "least_scale": "eps[1]",
        "clip_threshold": "d",
    }
    _torch_state = TorchState(
        counts=True,
        words={"row_variance": "row_var", "column_variance": "col_var"},
        counted={},
        shapes={
            "row_variance": lambda shape: (*shape[:-1], 1),
            "column_variance": lambda shape: (*shape[:-2], 1, shape[-1]),
        },
    )

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        **extras: Unpack[Extras],
    ) -> None:
        options = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, options, extras)

    def _values(self, group: Group) -> dict[str, Any]:
        return {"learning_rate": group["lr"], "weight_decay": group["weight_decay"]}

    def _constants(self, group: Group) -> dict[str, Any]:
        epsilon, least_scale = group["eps"]
        if epsilon is None:
            dtypes = {parameter.dtype for parameter in group["params"]} or {torch.float32}
            if len(dtypes) > 1:
                found = ", ".join(sorted(map(str, dtypes)))
                raise gradstep.Unsupported(f"eps[0]: is None for parameters of {found}, expected a number or one dtype")
            epsilon = torch.finfo(*dtypes).eps
        return {
            **super()._constants(group),
            "decay_exponent": -group["beta2_decay"],
            "epsilon": epsilon,
            "least_scale": least_scale,
            "clip_threshold": group["d"],
        }


class MuonExtras(Extras, total=False):
    """product_precision: "f32", that of the parameters, or "bf16", to which torch rounds matrices. iterate: "matrix" as
    torch, or "gram" (docs/numerics.md), with gram_restart_every."""

    product_precision: str
    iterate: str
    gram_restart_every: int


class Muon(Optimizer):
    """torch.optim.Muon, with matrices multiplied in the parameters' precision, where torch rounds to bfloat16.

    product_precision="bf16" rounds them too, after the division by the norm. iterate="gram" multiplies smaller
    matrices.
    """

    _rule = gradstep.Muon
    _needs_whole = True
    _twin = torch.optim.Muon
    _for_all_groups = (*EXTRAS, "product_precision", "iterate", "gram_restart_every")
    _probe = (0, 0)
    _words: ClassVar[Words] = {
        "learning_rate": "lr",
        "epsilon": "eps",
        "iterations": "ns_steps",
        "coefficient_a": "ns_coefficients[0]",
        "coefficient_b": "ns_coefficients[1]",
        "coefficient_c": "ns_coefficients[2]",
    }
    _torch_state = UNCOUNTED
    _scales: ClassVar[Mapping[str | None, str]] = {
        None: "shape",
        "original": "shape",
        "match_rms_adamw": "rms",
        "spectral_unclamped": "spectral",
    }

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
        **extras: Unpack[MuonExtras],
    ) -> None:
        options = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, options, extras)

    def _values(self, group: Group) -> dict[str, Any]:
        return {
            "learning_rate": group["lr"],
            "momentum": group["momentum"],
            "weight_decay": group["weight_decay"],
        }

    def _constants(self, group: Group) -> dict[str, Any]:
        a, b, c = group["ns_coefficients"]
        return {
            "nesterov": group["nesterov"],
            "coefficients": "own",
            "coefficient_a": a,
            "coefficient_b": b,
            "coefficient_c": c,
            "epsilon": group["eps"],
            "normalizer": "max",
            "iterations": group["ns_steps"],
            "step_scale": self._scales[group["adjust_lr_fn"]],
        }

    @staticmethod
    def _alike(count: int, groups: Sequence[Mapping[str, Any]]) -> int:
        return 0  # the momentum is not corrected by the count
