# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Shampoo in the form of a torch.optim optimizer."""

from typing import Any, ClassVar, Self

import torch
from torch import Tensor

import gradstep
from gradstep import _native
from gradstep._options import option_names
from gradstep.errors import Unsupported
from gradstep.torch._arguments import THREADS, Group, Parameters, Words, check_keywords, pair
from gradstep.torch._optimizer import Optimizer

_RENAMED = {"learning_rate", "beta1", "beta2", "graft_beta1", "graft_beta2", "precondition", "weight_decay"}
_SHAMPOO_DEFAULTS = _native.shampoo_options()
_SHAMPOO_OPTIONS = [name for name in option_names(type(_SHAMPOO_DEFAULTS)) if name not in _RENAMED]
_SHAMPOO_NUMBERS = {name for name in _SHAMPOO_OPTIONS if isinstance(getattr(_SHAMPOO_DEFAULTS, name), float)}


class Shampoo(Optimizer):
    """gradstep.Shampoo. Every option can be given for all parameters or in a group.

    graft_betas: graft_beta1 and graft_beta2.
    precondition: a group with False steps by the grafting rule alone, and keeps no matrices.
    options: the further ones of gradstep.Shampoo; numbers, for torch has its own schedulers.
    """

    _rule = gradstep.Shampoo
    _needs_whole = True
    _words: ClassVar[Words] = {
        "learning_rate": "lr",
        "beta1": "betas[0]",
        "beta2": "betas[1]",
        "graft_beta1": "graft_betas[0]",
        "graft_beta2": "graft_betas[1]",
    }
    _for_all_groups = THREADS

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
        check_keywords("Shampoo", options, _SHAMPOO_OPTIONS, self._words)
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
        beta1, beta2 = pair("betas", group["betas"])
        graft_beta1, graft_beta2 = pair("graft_betas", group["graft_betas"])
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
    if group.get("amsgrad"):
        raise Unsupported(f"params: group {index} has amsgrad, which Shampoo has not")
    if group["weight_decay"] and not group.get("decoupled_weight_decay"):
        raise Unsupported(f"params: group {index} has a weight decay that is not decoupled, as in Adam; expected AdamW")
    taken = ("params", "param_names", "lr", "betas", "eps", "weight_decay", "maximize", "precondition")
    return {name: group[name] for name in taken if name in group}
