# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""NumPy has no bfloat16 without ml_dtypes; PyTorch has one, and needs no other package for it."""

import copy
import sys

import numpy as np
import pytest
from conftest import run_ranks

import gradstep


@pytest.fixture(autouse=True)
def without_ml_dtypes(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)  # importing it is a ModuleNotFoundError


def test_bf16_state_of_torch_needs_no_ml_dtypes():
    torch = pytest.importorskip("torch")
    import gradstep.torch

    def made(value):
        parameter = torch.nn.Parameter(torch.full((3,), value, dtype=torch.bfloat16))
        parameter.grad = torch.ones_like(parameter)
        return parameter, gradstep.torch.AdamW([parameter], lr=0.1, state_dtype="bf16", master_weights=True)

    parameter, optimizer = made(1.0)
    optimizer.step()
    moment = optimizer.state[parameter]["exp_avg"]
    # 0.1 in bfloat16
    assert moment.dtype == torch.bfloat16
    assert moment.tolist() == [0.10009765625] * 3
    moment.zero_()  # a view
    assert optimizer.state_dict()["state"][0]["exp_avg"].tolist() == [0.0] * 3
    copied = copy.deepcopy(optimizer)
    other, resumed = made(1.0)
    resumed.load_state_dict(copied.state_dict())
    with torch.no_grad():
        other.copy_(parameter)
    optimizer.state[parameter]["exp_avg"] = torch.ones(3, dtype=torch.bfloat16)
    resumed.state[other]["exp_avg"] = torch.ones(3)
    for each in (optimizer, resumed):
        each.step()
        each.add_param_group({"params": [made(2.0)[0]]})
        each.step()
    assert parameter.tolist() == other.tolist()


def test_sharding_bf16_state_of_torch_needs_no_ml_dtypes():
    torch = pytest.importorskip("torch")
    import gradstep.torch

    def body(comm):
        parameter = torch.nn.Parameter(torch.ones(5))
        parameter.grad = torch.ones_like(parameter)
        optimizer = gradstep.torch.Adam([parameter], state_dtype="bf16")
        optimizer.step()
        optimizer.shard(comm)
        optimizer.step()
        shown = optimizer.state[parameter]["exp_avg"].tolist()
        optimizer.unshard()
        return shown == optimizer.state[parameter]["exp_avg"].float().tolist()

    assert run_ranks(2, body) == [True, True]


def test_numpy_is_said_to_need_ml_dtypes():
    optimizer = gradstep.SGD([np.ones(3, np.float32)], learning_rate=0.1, momentum=0.9, state_dtype="bf16")
    assert optimizer.get_state(0, "momentum_buffer").tolist() == [0.0] * 3
    with pytest.raises(ModuleNotFoundError, match=r"bfloat16: NumPy has no such dtype.*gradstep\[bfloat16\]"):
        optimizer.state(0, "momentum_buffer")
