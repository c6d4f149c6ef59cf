# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors of gradstep.torch's state that users keep, or give other memory."""

import copy

import pytest

torch = pytest.importorskip("torch")

from gradstep import torch as adapters  # noqa: E402  (imports torch)


def values(shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def new_parameter(shape, seed=11):
    return torch.nn.Parameter(values(shape, seed))


@pytest.mark.parametrize("looked_at", [False, True], ids=["", "after_looking_at_state"])
@pytest.mark.parametrize("grown", [False, True], ids=["", "grown"])
@pytest.mark.parametrize("options", [{}, {"state_dtype": "int8"}], ids=["views", "copies"])
def test_tensors_of_a_state_dict_that_is_kept_belong_together(looked_at, grown, options):
    first, second = new_parameter((300,)), new_parameter((5,), 3)
    optimizer = adapters.Adam([first, second], lr=0.02, **options)

    def step(n, parameters=(first, second)):
        for i in range(n):
            for p in (first, second):
                p.grad = None
            for p in parameters:
                p.grad = values(p.shape, i)
            optimizer.step()

    step(2)
    held = optimizer.state if looked_at else None
    saved = optimizer.state_dict()
    at_once = copy.deepcopy(saved)
    if grown:
        optimizer.add_param_group({"params": [new_parameter((3,))]})
    step(3, [first])
    if held is not None:
        assert len(optimizer.state) == 2  # which renews copies
    now = optimizer.state_dict() if not options else at_once
    assert [e["step"].item() for e in now["state"].values()] == ([2, 2] if options else [5, 2])
    for i, entry in saved["state"].items():
        assert all(torch.equal(tensor, now["state"][i][name]) for name, tensor in entry.items()), i


def test_step_tensors_that_nobody_has_are_not_written():
    parameter = new_parameter((4,))
    optimizer = adapters.Adam([parameter])
    parameter.grad = torch.ones(4)
    optimizer.step()
    for _ in range(3):
        optimizer.state_dict()
    optimizer.step()
    assert optimizer._shown._left == []
    kept = optimizer.state_dict()
    optimizer.step()
    assert kept["state"][0]["step"] == 3 and len(optimizer._shown._left) == 1


@pytest.mark.parametrize("options", [{}, {"state_dtype": "int8"}], ids=["views", "copies"])
@pytest.mark.parametrize("stepped_since", [False, True])
def test_what_is_given_other_memory_is_saved(options, stepped_since):
    parameter = new_parameter((300,))
    optimizer = adapters.Adam([parameter], lr=0.02, **options)
    parameter.grad = torch.ones(300)
    optimizer.step()
    moment = optimizer.state[parameter]["exp_avg"]
    if stepped_since:
        optimizer.step()
    moment.data = torch.full((300,), 0.5)
    optimizer.step()
    saved = optimizer.state_dict()["state"][0]
    # 8 bits keep 3 per cent.
    torch.testing.assert_close(saved["exp_avg"], torch.full((300,), 0.55), rtol=0.05 if options else 1e-6, atol=0)
    assert saved["step"] == 2 + stepped_since
