# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep.torch's RAdam, Adamax, Adadelta and Muon beside torch's own."""

import pytest
import torch
from torch_twins import STEPS, TOLERANCE, Twins

import gradstep.torch

SHAPES = [(4, 3), (7,), ()]
CASES = [
    ("RAdam", {"lr": 0.1, "betas": (0.9, 0.9)}),
    ("RAdam", {"lr": 0.1, "betas": (0.8, 0.95), "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {"lr": 0.1}),
    ("Adamax", {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.5, "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("name", "options"), CASES)
def test_steps_are_torchs(random, name, options, dtype):
    twins = Twins(random, SHAPES, dtype)
    ours = getattr(gradstep.torch, name)(twins.ours, **options)
    theirs = getattr(torch.optim, name)(twins.theirs, **options)
    for step in range(STEPS):
        twins.backward(without={1} if step < 3 else ())
        ours.step()
        theirs.step()
    assert twins.error() < 10 * TOLERANCE[dtype]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_state_dicts_go_either_way(random, name, options):
    twins = Twins(random, SHAPES)
    ours = getattr(gradstep.torch, name)(twins.ours, **options)
    theirs = getattr(torch.optim, name)(twins.theirs, **options)
    for _ in range(3):
        twins.backward()
        ours.step()
        theirs.step()
    mine, torchs = ours.state_dict(), theirs.state_dict()
    assert [set(entry) for entry in mine["state"].values()] == [set(entry) for entry in torchs["state"].values()]
    ours.load_state_dict(torchs)
    theirs.load_state_dict(mine)
    for _ in range(3):
        twins.backward()
        ours.step()
        theirs.step()
    assert twins.error() < 10 * TOLERANCE[torch.float32]


def orthogonalized(matrix, coefficients, steps):
    """torch's iteration without its rounding to bfloat16."""
    x = matrix / matrix.norm().clamp(min=1e-7)
    a, b, c = coefficients
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x


@pytest.mark.parametrize("scale", [None, "match_rms_adamw"])
@pytest.mark.parametrize("nesterov", [True, False])
def test_muon_is_torchs_but_for_bfloat16(random, nesterov, scale):
    twins = Twins(random, [(6, 8)], torch.float64)
    options = {"lr": 0.1, "momentum": 0.8, "nesterov": nesterov, "adjust_lr_fn": scale, "ns_steps": 4}
    ours = gradstep.torch.Muon(twins.ours, **options)
    theirs = torch.optim.Muon(twins.theirs, **options)
    expected = twins.ours[0].detach().clone()
    momentum = torch.zeros_like(expected)
    for _ in range(5):
        twins.backward()
        ours.step()
        theirs.step()
        gradient = twins.ours[0].grad
        momentum = 0.8 * momentum + 0.2 * gradient
        looked = 0.2 * gradient + 0.8 * momentum if nesterov else momentum
        step = orthogonalized(looked, (3.4445, -4.775, 2.0315), 4)
        factor = 0.2 * 8**0.5 if scale else 1
        expected = expected * (1 - 0.1 * 0.1) - 0.1 * factor * step
    assert torch.allclose(twins.ours[0].detach(), expected, rtol=0, atol=1e-12)
    assert twins.error() < 0.02  # bfloat16
    assert "momentum_buffer" in ours.state_dict()["state"][0]


def test_muon_says_what_torch_says_of_its_arguments(random):
    parameter = torch.nn.Parameter(torch.zeros(3, 3))
    with pytest.raises(ValueError, match="Adjust learning rate function"):
        gradstep.torch.Muon([parameter], adjust_lr_fn="none")
    with pytest.raises(gradstep.InvalidArgument, match="has 1 axes, muon needs 2 or more"):
        gradstep.torch.Muon([torch.nn.Parameter(torch.zeros(3))])
