# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Rules that torch has too, and gradstep makes by their names."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor

import gradstep
from gradstep.torch._arguments import Extras, Group, Parameters, Words
from gradstep.torch._optimizer import Optimizer
from gradstep.torch._rules import Moments


class RAdam(Moments):
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

    def _constants(self, group: Group) -> dict[str, Any]:
        mode = "decoupled" if group["decoupled_weight_decay"] else "coupled"
        return {"maximize": group["maximize"], "decay_mode": mode}


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

    def _constants(self, group: Group) -> dict[str, Any]:
        return {"maximize": group["maximize"]}


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

    def _constants(self, group: Group) -> dict[str, Any]:
        return {"maximize": group["maximize"]}

    @staticmethod
    def _alike(count: int, groups: Sequence[Mapping[str, Any]]) -> int:
        return 0  # nothing is corrected by the count


class Muon(Optimizer):
    """torch.optim.Muon, with matrices multiplied in the parameters' precision, where torch rounds to bfloat16."""

    _rule = gradstep.Muon
    _twin = torch.optim.Muon
    _probe = (0, 0)
    _words: ClassVar[Words] = {
        "learning_rate": "lr",
        "epsilon": "eps",
        "iterations": "ns_steps",
        "coefficient_a": "ns_coefficients[0]",
        "coefficient_b": "ns_coefficients[1]",
        "coefficient_c": "ns_coefficients[2]",
    }
    _counts_in_torch = False
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
        **extras: Unpack[Extras],
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
