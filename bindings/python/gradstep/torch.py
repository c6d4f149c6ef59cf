# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep's rules as torch.optim optimizers, for parameters on the CPU.

Names, defaults and formulas are torch.optim's; parameters and gradients are used where they lie. What works on a torch
optimizer works on these: parameter groups, learning-rate schedulers, hooks, torch.amp.GradScaler, and state_dict(),
whose tensors have torch's names, so that either side loads the other's. foreach and fused, which choose among torch's
implementations, are taken and ignored; capturable and differentiable are refused. Shampoo, which torch does not have,
takes the options of gradstep.Shampoo, each of them per group.
"""

from typing import Any, Self, Unpack

import torch
from torch import Tensor

import gradstep
from gradstep._options import option_names
from gradstep._torch import Extras, Group, Optimizer, Parameters
from gradstep.errors import Unsupported

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "Shampoo"]


class SGD(Optimizer):
    """torch.optim.SGD."""

    _rule = gradstep.SGD

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
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
        }
        super().__init__(params, defaults, extras, differentiable=differentiable)

    def _values(self, group: Group) -> dict[str, Any]:
        return {
            "learning_rate": group["lr"],
            "momentum": group["momentum"],
            "dampening": group["dampening"],
            "weight_decay": group["weight_decay"],
        }

    def _constants(self, group: Group) -> dict[str, Any]:
        return {"nesterov": group["nesterov"], "maximize": group["maximize"], "first_step": "copy"}


class RMSprop(Optimizer):
    """torch.optim.RMSprop."""

    _rule = gradstep.RMSProp

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
        defaults = {
            "lr": lr,
            "alpha": alpha,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "centered": centered,
            "maximize": maximize,
        }
        super().__init__(params, defaults, extras, capturable=capturable, differentiable=differentiable)

    def _values(self, group: Group) -> dict[str, Any]:
        return {
            "learning_rate": group["lr"],
            "rho": group["alpha"],
            "epsilon": group["eps"],
            "weight_decay": group["weight_decay"],
            "momentum": group["momentum"],
        }

    def _constants(self, group: Group) -> dict[str, Any]:
        return {"centered": group["centered"], "maximize": group["maximize"], "epsilon_placement": "outside"}


class Adagrad(Optimizer):
    """torch.optim.Adagrad."""

    _rule = gradstep.AdaGrad
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
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "eps": eps,
            "maximize": maximize,
        }
        super().__init__(params, defaults, extras, differentiable=differentiable)

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
            "maximize": group["maximize"],
            "epsilon_placement": "outside",
        }


class Adam(Optimizer):
    """torch.optim.Adam."""

    _rule = gradstep.Adam

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
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults, extras, capturable=capturable, differentiable=differentiable)

    def _values(self, group: Group) -> dict[str, Any]:
        beta1, beta2 = group["betas"]
        return {
            "learning_rate": group["lr"],
            "beta1": beta1,
            "beta2": beta2,
            "epsilon": group["eps"],
            "weight_decay": group["weight_decay"],
        }

    def _constants(self, group: Group) -> dict[str, Any]:
        return {
            "amsgrad": group["amsgrad"],
            "maximize": group["maximize"],
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
            capturable=capturable,
            differentiable=differentiable,
            decoupled_weight_decay=True,
            **extras,
        )

    def _complete(self, group: Group) -> None:
        super()._complete(group)
        group["decoupled_weight_decay"] = True


_RENAMED = {"learning_rate", "beta1", "beta2", "graft_beta1", "graft_beta2", "precondition", "weight_decay"}
_SHAMPOO_DEFAULTS = gradstep.Shampoo._rule.options()
_SHAMPOO_OPTIONS = [name for name in option_names(type(_SHAMPOO_DEFAULTS)) if name not in _RENAMED]
_SHAMPOO_NUMBERS = {name for name in _SHAMPOO_OPTIONS if isinstance(getattr(_SHAMPOO_DEFAULTS, name), float)}


class Shampoo(Optimizer):
    """gradstep.Shampoo. Every option can be given for all parameters or in a group.

    graft_betas: graft_beta1 and graft_beta2.
    precondition: a group with False steps by the grafting rule alone, and keeps no matrices.
    options: the further ones of gradstep.Shampoo; numbers, for torch has its own schedulers.
    """

    _rule = gradstep.Shampoo

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        weight_decay: float = 0,
        *,
        graft_betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        precondition: bool = True,
        context: gradstep.Context | None = None,
        num_threads: int | None = None,
        **options: Any,
    ) -> None:
        for name in options:
            if name not in _SHAMPOO_OPTIONS:
                raise TypeError(f"Shampoo: unknown option {name!r}; known: {', '.join(_SHAMPOO_OPTIONS)}")
        defaults = {
            "lr": lr,
            "betas": betas,
            "weight_decay": weight_decay,
            "graft_betas": graft_betas,
            "precondition": precondition,
            **options,
        }
        super().__init__(params, defaults, {"context": context, "num_threads": num_threads})

    @classmethod
    def from_adamw(
        cls,
        params: Parameters | torch.optim.Optimizer,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        **options: Any,
    ) -> Self:
        """Shampoo in the place of a tuned AdamW, with steps of its length; gradstep.Shampoo.from_adamw says how.

        params: as AdamW takes them; or an AdamW, of torch or of this module, whose groups and numbers are taken over.
        Groups with precondition=False stay with AdamW itself.
        """
        if isinstance(params, torch.optim.Optimizer):
            params = [_adamw_group(index, group) for index, group in enumerate(params.param_groups)]
        listed = list(params)
        in_groups = bool(listed) and isinstance(listed[0], dict)
        groups: list[Group] = [dict(group) for group in listed] if in_groups else [{"params": listed}]
        for group in groups:
            beta1, beta2 = group.get("betas", betas)
            plain = not group.get("precondition", options.get("precondition", True))
            in_graft = plain and not group.get("eigenvalue_corrected", options.get("eigenvalue_corrected"))
            group["betas"] = (0.0 if in_graft else beta1, beta2)
            group["graft_betas"] = (beta1 if in_graft else 0.0, beta2)
            if "eps" in group:
                group["diagonal_epsilon"] = group.pop("eps")
        chosen = {"diagonal_epsilon": eps, **gradstep.Shampoo.ADAMW_OPTIONS, **options}
        return cls(groups, lr, betas, weight_decay, **chosen)

    def _values(self, group: Group) -> dict[str, Any]:
        (beta1, beta2), (graft_beta1, graft_beta2) = group["betas"], group["graft_betas"]
        return {
            "learning_rate": group["lr"],
            "beta1": beta1,
            "beta2": beta2,
            "weight_decay": group["weight_decay"],
            "graft_beta1": graft_beta1,
            "graft_beta2": graft_beta2,
            **{name: value for name, value in group.items() if name in _SHAMPOO_NUMBERS},
        }

    def _constants(self, group: Group) -> dict[str, Any]:
        flags = {name: group[name] for name in _SHAMPOO_OPTIONS if name in group and name not in _SHAMPOO_NUMBERS}
        return {"precondition": float(bool(group["precondition"])), **flags}


def _adamw_group(index: int, group: Group) -> Group:
    """What Shampoo takes over of a group of an AdamW."""
    for flag in ("amsgrad", "maximize"):
        if group.get(flag):
            raise Unsupported(f"params: group {index} has {flag}, which Shampoo has not")
    if group["weight_decay"] and not group.get("decoupled_weight_decay"):
        raise Unsupported(f"params: group {index} has a weight decay that is not decoupled, as in Adam; expected AdamW")
    taken = ("params", "param_names", "lr", "betas", "eps", "weight_decay", "precondition")
    return {name: group[name] for name in taken if name in group}
