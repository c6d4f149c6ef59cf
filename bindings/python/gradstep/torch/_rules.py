# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The rules that torch has too."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor

import gradstep
from gradstep.torch._arguments import Extras, Group, Parameters, Words, pair
from gradstep.torch._optimizer import Optimizer
from gradstep.torch._part import UNCOUNTED


class SGD(Optimizer):
    """torch.optim.SGD."""

    _rule = gradstep.SGD
    _twin = torch.optim.SGD
    _words: ClassVar[Words] = {"learning_rate": "lr"}
    _torch_state = UNCOUNTED

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
        **extras: Unpack[Extras],
    ) -> None:
        options = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, options, extras)

    def _values(self, group: Group) -> dict[str, Any]:
        return {
            "learning_rate": group["lr"],
            "momentum": group["momentum"],
            "dampening": group["dampening"],
            "weight_decay": group["weight_decay"],
        }

    def _constants(self, group: Group) -> dict[str, Any]:
        return {"nesterov": group["nesterov"], **super()._constants(group), "first_step": "copy"}

    @staticmethod
    def _alike(count: int, groups: Sequence[Mapping[str, Any]]) -> int:
        return min(count, 1)  # the first gradient is the momentum


class RMSprop(Optimizer):
    """torch.optim.RMSprop."""

    _rule = gradstep.RMSProp
    _twin = torch.optim.RMSprop
    _words: ClassVar[Words] = {"learning_rate": "lr", "rho": "alpha", "epsilon": "eps"}

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        **extras: Unpack[Extras],
    ) -> None:
        options = {
            "lr": lr,
            "alpha": alpha,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "centered": centered,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, options, extras)

    def _values(self, group: Group) -> dict[str, Any]:
        return {
            "learning_rate": group["lr"],
            "rho": group["alpha"],
            "epsilon": group["eps"],
            "weight_decay": group["weight_decay"],
            "momentum": group["momentum"],
        }

    def _constants(self, group: Group) -> dict[str, Any]:
        return {"centered": group["centered"], **super()._constants(group), "epsilon_placement": "outside"}

    @staticmethod
    def _alike(count: int, groups: Sequence[Mapping[str, Any]]) -> int:
        return 0  # nothing is corrected by the count


class Adagrad(Optimizer):
    """torch.optim.Adagrad."""

    _rule = gradstep.AdaGrad
    _twin = torch.optim.Adagrad
    _words: ClassVar[Words] = {
        "learning_rate": "lr",
        "epsilon": "eps",
        "initial_accumulator": "initial_accumulator_value",
    }
    _state_from_the_start = True

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        **extras: Unpack[Extras],
    ) -> None:
        options = {
            "lr": lr,
            "lr_decay": lr_decay,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "eps": eps,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, options, extras)

    def _values(self, group: Group) -> dict[str, Any]:
        return {
            "learning_rate": group["lr"],
            "lr_decay": group["lr_decay"],
            "weight_decay": group["weight_decay"],
            "epsilon": group["eps"],
        }

    def _constants(self, group: Group) -> dict[str, Any]:
        return {
            "initial_accumulator": group["initial_accumulator_value"],
            **super()._constants(group),
            "epsilon_placement": "outside",
        }

    @staticmethod
    def _alike(count: int, groups: Sequence[Mapping[str, Any]]) -> int:
        return 0 if all(group.get("lr_decay") == 0 for group in groups) else count


class Moments(Optimizer):
    """Base of rules with torch's lr, betas, eps and weight_decay."""

    _words: ClassVar[Words] = {"learning_rate": "lr", "beta1": "betas[0]", "beta2": "betas[1]", "epsilon": "eps"}

    def _values(self, group: Group) -> dict[str, Any]:
        beta1, beta2 = pair("betas", group["betas"])
        return {
            "learning_rate": group["lr"],
            "beta1": beta1,
            "beta2": beta2,
            "epsilon": group["eps"],
            "weight_decay": group["weight_decay"],
        }


class Adam(Moments):
    """torch.optim.Adam."""

    _rule = gradstep.Adam
    _twin = torch.optim.Adam

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
        **extras: Unpack[Extras],
    ) -> None:
        options = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, options, extras)

    def _constants(self, group: Group) -> dict[str, Any]:
        return {
            "amsgrad": group["amsgrad"],
            **super()._constants(group),
            "decoupled_weight_decay": group["decoupled_weight_decay"],
        }


class AdamW(Adam):
    """torch.optim.AdamW."""

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        **extras: Unpack[Extras],
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            maximize=maximize,
            foreach=foreach,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
            **extras,
        )

    def _complete(self, group: Group) -> None:
        super()._complete(group)
        group["decoupled_weight_decay"] = True
