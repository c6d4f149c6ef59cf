# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""How saved state gets past torch's load_state_dict, which would round every tensor to the dtype of its parameter."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


class _Shielded:
    """Hides a tensor from torch's load_state_dict."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


def shield(optimizer: torch.optim.Optimizer, state_dict: dict[str, Any]) -> dict[str, Any]:
    state = {key: _shield_entry(entry) for key, entry in state_dict["state"].items()}
    return {**state_dict, "state": state}


def _shield_entry(entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    return {name: _Shielded(value) if isinstance(value, Tensor) else value for name, value in entry.items()}


def unshield(entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    return {name: value.tensor if isinstance(value, _Shielded) else value for name, value in entry.items()}
