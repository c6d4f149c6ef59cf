# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep.torch's NAdam, RAdam, Adamax, Adadelta, Rprop, ASGD, Adafactor and Muon beside torch's own."""

import pytest
import torch
from torch_twins import STEPS, TOLERANCE, Twins

import gradstep.torch

SHAPES = [(4, 3), (7,), ()]
CASES = [
    ("NAdam", {"lr": 0.1}),
    ("NAdam", {"lr": 0.1, "betas": (0.8, 0.95), "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "momentum_decay": 0.5, "maximize": True, "foreach": True}),
    ("RAdam", {"lr": 0.1, "betas": (0.9, 0.9)}),
    ("RAdam", {"lr": 0.1, "betas": (0.8, 0.95), "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {"lr": 0.1}),
    ("Adamax", {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.1, "etas": (0.25, 1.5), "step_sizes": (1e-2, 0.3), "maximize": True, "foreach": False}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.5, "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("ASGD", {}),
    ("ASGD", {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 2, "weight_decay": 0.1}),
    ("ASGD", {"lr": 0.1, "lambd": 0.05, "t0": 0, "maximize": True, "foreach": True}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.5, "beta2_decay": -0.5, "eps": (1e-4, 0.3), "d": 2.0, "weight_decay": 0.1}),
    ("Adafactor", {"lr": 0.1, "eps": (1e-30, 1e-2), "maximize": True, "foreach": True}),
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
    # torch's NAdam has its product of momenta in f32 whatever the parameters are in, its ASGD the step size.
    rounded = {"NAdam": 1e-8, "ASGD": 1e-7}
    allowed = rounded.get(name, 0) if name in rounded and dtype == torch.float64 else 10 * TOLERANCE[dtype]
    assert twins.error() < allowed


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


def saved_and_stepped(random, name, options):
    """Three steps of both, and the entries of their state_dict()s."""
    twins = Twins(random, SHAPES)
    ours = getattr(gradstep.torch, name)(twins.ours, **options)
    theirs = getattr(torch.optim, name)(twins.theirs, **options)
    for step in range(3):
        twins.backward(without={1} if step < 1 else ())
        ours.step()
        theirs.step()
    return twins, ours, theirs


KEEPS_MORE = ("NAdam", "Rprop", "ASGD", "Adafactor")


@pytest.mark.parametrize(("name", "options"), [case for case in CASES if case[0] in KEEPS_MORE])
def test_entries_have_torchs_names_numbers_and_dtypes(random, name, options):
    _, ours, theirs = saved_and_stepped(random, name, options)
    mine = ours.state_dict()["state"]
    for number, torchs in theirs.state_dict()["state"].items():
        assert mine[number].keys() == torchs.keys()
        for key, value in torchs.items():
            found = mine[number][key]
            assert found.dtype == value.dtype and found.shape == value.shape, key
            assert torch.allclose(found, value, rtol=1e-5, atol=1e-6), key


def test_nadams_product_of_momenta_goes_by_each_parameters_own_steps_and_groups_numbers(random):
    twins = Twins(random, [(3,), (3,)])
    groups = [[{"params": [a]}, {"params": [b], "momentum_decay": 2.0}] for a, b in (twins.ours, twins.theirs)]
    ours = gradstep.torch.NAdam(groups[0], betas=(0.5, 0.9))
    theirs = torch.optim.NAdam(groups[1], betas=(0.5, 0.9))
    for step in range(4):
        twins.backward(without={0} if step == 1 else ())
        ours.step()
        theirs.step()
        for a, b in zip(twins.ours, twins.theirs, strict=True):
            assert float(ours.state[a]["mu_product"]) == pytest.approx(float(theirs.state[b]["mu_product"]), rel=1e-5)


def test_nadams_product_of_momenta_ends_at_zero(random):
    parameter = torch.nn.Parameter(torch.ones(2))
    ours = gradstep.torch.NAdam([parameter])
    parameter.grad = torch.ones(2)
    ours.step()
    saved = ours.state_dict()
    saved["state"][0]["step"] = torch.tensor(1e7)
    ours.load_state_dict(saved)
    assert float(ours.state[parameter]["mu_product"]) == 0


def test_asgds_averages_and_step_sizes_follow_each_parameters_own_steps_and_groups_numbers(random):
    twins = Twins(random, [(3,), (3,)])
    groups = [[{"params": [a]}, {"params": [b], "t0": 1, "lambd": 0.2}] for a, b in (twins.ours, twins.theirs)]
    ours, theirs = gradstep.torch.ASGD(groups[0], lr=0.1), torch.optim.ASGD(groups[1], lr=0.1)
    for step in range(6):
        for optimizer in (ours, theirs):
            optimizer.param_groups[0]["lr"] = 0.1 * 0.5**step  # acts a step late
        twins.backward(without={0} if step == 1 else ())
        ours.step()
        theirs.step()
        for a, b in zip(twins.ours, twins.theirs, strict=True):
            for key in ("step", "eta", "mu", "ax") if theirs.state[b] else ():
                torch.testing.assert_close(ours.state[a][key], theirs.state[b][key], rtol=1e-6, atol=1e-6)
    assert twins.error() < 1e-6


def test_asgds_step_size_may_be_edited_and_is_kept_when_groups_change(random):
    def double(optimizer, parameters):
        optimizer.state[parameters[0]]["eta"].mul_(2)

    def replace(optimizer, parameters):
        optimizer.state[parameters[0]]["eta"] = torch.tensor(0.3)

    def grow(optimizer, parameters):
        optimizer.param_groups[0]["params"].append(parameters[1])

    twins = Twins(random, [(3,), (2,)])
    ours, theirs = gradstep.torch.ASGD(twins.ours[:1], lr=0.1), torch.optim.ASGD(twins.theirs[:1], lr=0.1)
    for edit in (double, replace, grow, None):
        twins.backward()
        ours.step()
        theirs.step()
        if edit is not None:
            edit(ours, twins.ours)
            edit(theirs, twins.theirs)
    assert twins.error() < 1e-6
    saved = ours.state_dict()
    saved["state"][0]["eta"] = torch.ones(2)
    with pytest.raises(gradstep.Mismatch, match=r"'eta' has shape \(2,\), expected one element"):
        ours.load_state_dict(saved)


def test_asgd_is_rebuilt_with_all_bits_of_its_step_size(random):
    twins = Twins(random, [(4,), (2,)], torch.float64)
    made = [gradstep.torch.ASGD(parameters[:1], lr=0.1) for parameters in (twins.ours, twins.theirs)]
    for step in range(4):
        twins.backward()
        for optimizer in made:
            optimizer.step()
        if step == 1:
            made[0].param_groups[0]["params"].append(twins.ours[1])
    assert torch.equal(twins.ours[0], twins.theirs[0])


def test_rprops_first_step_of_each_parameter_is_lr(random):
    twins = Twins(random, [(3,), (3,)])
    ours = gradstep.torch.Rprop(twins.ours, lr=0.1)
    for without in ({1}, {}):
        twins.backward(without)
        before = [p.detach().clone() for p in twins.ours]
        ours.param_groups[0]["lr"] = 0.1 if without else 0.2  # the first parameter has a step size of its own by now
        ours.step()
    assert torch.allclose((twins.ours[1] - before[1]).abs(), torch.full((3,), 0.2))
    assert ((twins.ours[0] - before[0]).abs() <= 0.1 * 1.2 + 1e-6).all()


def test_names_of_gradsteps_are_answered_with_torchs():
    parameter = torch.nn.Parameter(torch.zeros(3))
    with pytest.raises(TypeError, match="say 'etas' for 'eta_minus'"):
        gradstep.torch.Rprop([parameter], eta_minus=0.5)
    with pytest.raises(ValueError, match="Invalid eta values"):
        gradstep.torch.Rprop([parameter], etas=(1.5, 1.2))
    with pytest.raises(ValueError, match="Invalid momentum_decay value"):
        gradstep.torch.NAdam([parameter], momentum_decay=-1)
    with pytest.raises(TypeError, match="say 'lambd' for 'shrinkage'"):
        gradstep.torch.ASGD([parameter], shrinkage=0.5)
    with pytest.raises(ValueError, match="Invalid lambd value"):
        gradstep.torch.ASGD([parameter], lambd=-1)
    with pytest.raises(TypeError, match="say 'd' for 'clip_threshold'"):
        gradstep.torch.Adafactor([parameter], clip_threshold=2.0)
    with pytest.raises(ValueError, match="beta2_decay should be <= 0"):
        gradstep.torch.Adafactor([parameter], beta2_decay=0.8)
    ours = gradstep.torch.Rprop([parameter])
    ours.param_groups[0]["step_sizes"] = (-1.0, 50.0)
    parameter.grad = torch.ones(3)
    with pytest.raises(gradstep.InvalidArgument, match=r"step_sizes\[0\].*param_groups\[0\]"):
        ours.step()


def test_adafactors_factors_have_torchs_shapes_and_may_be_edited(random):
    twins = Twins(random, [(2, 4, 3), (5,)])
    ours, theirs = gradstep.torch.Adafactor(twins.ours, lr=0.1), torch.optim.Adafactor(twins.theirs, lr=0.1)
    for _ in range(4):
        twins.backward()
        ours.step()
        theirs.step()
        for optimizer, parameters in ((ours, twins.ours), (theirs, twins.theirs)):
            state = optimizer.state[parameters[0]]
            assert state["row_var"].shape == (2, 4, 1) and state["col_var"].shape == (2, 1, 3)
            state["row_var"].mul_(2)
            state["col_var"] = state["col_var"] * 3
    assert twins.error() < 1e-5
    saved = ours.state_dict()
    saved["state"][0]["col_var"] = torch.ones(2, 3, 1)
    with pytest.raises(gradstep.Mismatch, match=r"'col_var' has shape \(2, 3, 1\), expected \(2, 1, 3\)"):
        ours.load_state_dict(saved)


def test_adafactors_epsilon_is_that_of_the_groups_one_dtype(random):
    twins = Twins(random, [(4, 3), (7,)], torch.float64)
    ours, theirs = gradstep.torch.Adafactor(twins.ours), torch.optim.Adafactor(twins.theirs)
    for parameters, optimizer in ((twins.ours, ours), (twins.theirs, theirs)):
        for parameter in parameters:
            parameter.grad = torch.full_like(parameter, 1e-17)  # whose squares are below it
        optimizer.step()
    assert twins.error() < 1e-12
    mixed = [torch.nn.Parameter(torch.zeros(2, dtype=dtype)) for dtype in (torch.float32, torch.float64)]
    with pytest.raises(gradstep.Unsupported, match=r"eps\[0\]: is None for parameters of torch.float32, torch.float64"):
        gradstep.torch.Adafactor(mixed)
    gradstep.torch.Adafactor(mixed, eps=(1e-8, 1e-3))


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


@pytest.mark.parametrize("shape", [(6, 8), (40, 12)])
def test_muon_in_bf16_is_near_torchs(random, shape):
    twins = Twins(random, [shape])
    ours = gradstep.torch.Muon(twins.ours, lr=0.1, product_precision="bf16")
    theirs = torch.optim.Muon(twins.theirs, lr=0.1)
    start = twins.ours[0].detach().clone()
    twins.backward()
    ours.step()
    theirs.step()
    moved = [parameters[0].detach() - start for parameters in (twins.ours, twins.theirs)]
    # Last places of bfloat16: torch rounds before it divides by the norm, too.
    assert (moved[0] - moved[1]).norm() < 0.05 * moved[1].norm()
    with pytest.raises(gradstep.InvalidArgument, match="product_precision"):
        gradstep.torch.Muon(twins.ours, product_precision="f16")
    with pytest.raises(TypeError, match="'product_precision' is for all groups"):
        gradstep.torch.Muon([{"params": twins.ours, "product_precision": "bf16"}])


@pytest.mark.parametrize("shape", [(6, 12), (40, 12)])
def test_muon_by_gram_iterations_is_near_that_by_matrices(random, shape):
    twins = Twins(random, [shape])
    matrix = gradstep.torch.Muon(twins.theirs, lr=0.1)
    gram = gradstep.torch.Muon(twins.ours, lr=0.1, iterate="gram", gram_restart_every=2)
    for _ in range(3):
        twins.backward()
        matrix.step()
        gram.step()
    assert twins.error() < 1e-4
    with pytest.raises(gradstep.InvalidArgument, match="iterate"):
        gradstep.torch.Muon(twins.ours, iterate="square")


def test_muon_says_what_torch_says_of_its_arguments(random):
    parameter = torch.nn.Parameter(torch.zeros(3, 3))
    with pytest.raises(ValueError, match="Adjust learning rate function"):
        gradstep.torch.Muon([parameter], adjust_lr_fn="none")
    with pytest.raises(gradstep.InvalidArgument, match="has 1 axes, muon needs 2 or more"):
        gradstep.torch.Muon([torch.nn.Parameter(torch.zeros(3))])
