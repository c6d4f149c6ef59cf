# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""State tensors that a user puts in the place of gradstep's and keeps: steps write to them, as torch's do."""

import copy
import weakref

import numpy as np
import pytest
from conftest import run_ranks

torch = pytest.importorskip("torch")

from torch_twins import Twins  # noqa: E402

import gradstep.torch as adapters  # noqa: E402

SHAPES = [(4, 3), (5,)]


def both(random, name="AdamW", **options):
    twins = Twins(random, SHAPES)
    ours, theirs = (getattr(m, name)(p, **options) for m, p in ((adapters, twins.ours), (torch.optim, twins.theirs)))
    step(twins, ours, theirs)
    return twins, ours, theirs


def step(twins, *optimizers):
    twins.backward()
    for optimizer in optimizers:
        optimizer.step()


def agree(mine, yours):
    for name in mine:
        # f32: a few steps of roundings that torch makes in another order.
        torch.testing.assert_close(mine[name], yours[name], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("held", ["step", "exp_avg", "exp_avg_sq", "all", "views of one"])
def test_a_step_writes_to_the_tensors_that_a_user_has_assigned(held, random):
    twins, ours, theirs = both(random, lr=0.02)
    sets = []
    for optimizer, parameters in ((ours, twins.ours), (theirs, twins.theirs)):
        entry = optimizer.state[parameters[0]]
        flat = torch.zeros(2, 4, 3)
        of_one = {"exp_avg": flat[0], "exp_avg_sq": flat[1]}
        mine = {name: of_one.get(name, torch.zeros(())).copy_(value) for name, value in entry.items()}
        if held not in ("all", "views of one"):
            mine = {held: mine[held]}
        elif held == "all":
            mine = {name: value.clone() for name, value in mine.items()}
        entry.update(mine)
        sets.append(mine)
    for _ in range(3):
        step(twins, ours, theirs)
        agree(*sets)
        assert all(ours.state[twins.ours[0]][name] is value for name, value in sets[0].items())
    for name, value in sets[0].items():
        if name != "step":
            value.fill_(0.5)  # is seen
            sets[1][name].fill_(0.5)
    step(twins, ours, theirs)
    agree(*sets)
    ours.param_groups[0]["maximize"] = theirs.param_groups[0]["maximize"] = True
    step(twins, ours, theirs)
    agree(*sets)
    assert twins.error() < 1e-6


def test_a_stateless_step_moves_the_state_that_is_swapped_in(random):
    stateless = pytest.importorskip("torch.optim._stateless")
    results = []
    for module in (torch.optim, adapters):
        twins = Twins(np.random.default_rng(3), SHAPES)
        optimizer = module.AdamW(twins.ours, lr=0.02)
        step(twins, optimizer)
        before = [parameter.detach().clone() for parameter in twins.ours]
        params = {str(i): p.detach().clone().requires_grad_() for i, p in enumerate(twins.ours)}
        state = copy.deepcopy(optimizer.state_dict())
        for _ in range(3):
            with stateless.swap_in_optimizer_params_and_state(optimizer, params, state):
                for parameter in params.values():
                    parameter.grad = torch.ones_like(parameter)
                optimizer.step()
        assert all(map(torch.equal, before, twins.ours))
        assert [float(entry["step"]) for entry in state["state"].values()] == [4.0, 4.0]
        assert float(optimizer.state[twins.ours[0]]["step"]) == 1
        results.append({f"{i}.{name}": t for i, entry in state["state"].items() for name, t in entry.items()} | params)
    agree(*results)


def test_a_whole_state_of_the_users_is_written_to(random):
    twins, ours, _ = both(random, "SGD", lr=0.1, momentum=0.5)
    mine = {parameter: {"momentum_buffer": torch.ones_like(parameter)} for parameter in twins.ours}
    held = [entry["momentum_buffer"] for entry in mine.values()]
    ours.state = mine
    for parameter in twins.ours:
        parameter.grad = torch.zeros_like(parameter)
    ours.step()
    ours.step()
    assert all((buffer == 0.25).all() for buffer in held)


def test_a_tensor_that_nobody_else_has_costs_no_copy(random):
    twins, ours, _ = both(random)
    assigned = torch.ones(4, 3)
    freed = weakref.ref(assigned)
    ours.state[twins.ours[0]]["exp_avg"] = assigned
    del assigned
    step(twins, ours)
    assert freed() is None
    assert ours.state[twins.ours[0]]["exp_avg"].shape == (4, 3)


def test_what_cannot_be_written_to_is_copied_once(random):
    twins, ours, _ = both(random, betas=(0.5, 0.5))
    one = torch.ones(1)
    with torch.inference_mode():
        inferred = torch.ones(5)
    held = [one.expand(4, 3), inferred]
    for parameter, tensor in zip(twins.ours, held, strict=True):
        ours.state[parameter]["exp_avg"] = tensor
        parameter.grad = torch.zeros_like(parameter)
    ours.step()
    ours.step()
    assert all((tensor == 1).all() for tensor in held)
    assert all((ours.state[parameter]["exp_avg"] == 0.25).all() for parameter in twins.ours)


def test_coded_state_is_written_to_as_numbers(random):
    twins = Twins(random, SHAPES)
    ours = adapters.AdamW(twins.ours, betas=(0.5, 0.5), state_dtype="int8")
    step(twins, ours)
    mine = torch.ones(4, 3)
    ours.state[twins.ours[0]]["exp_avg"] = mine
    for parameter in twins.ours:
        parameter.grad = torch.zeros_like(parameter)
    for expected in (0.5, 0.25):
        ours.step()
        assert (mine == expected).all()


def test_loading_and_copying_leave_the_tensors_of_others_alone(random):
    twins, ours, _ = both(random)
    saved = copy.deepcopy(ours.state_dict())
    kept = copy.deepcopy(saved)
    ours.load_state_dict(saved)
    twin = copy.deepcopy(ours)
    step(twins, ours)
    twin.step()
    for entry, same in zip(saved["state"].values(), kept["state"].values(), strict=True):
        assert all(torch.equal(entry[name], same[name]) for name in entry)


def test_while_sharded_an_assigned_tensor_is_copied():
    def body(comm):
        parameter = torch.nn.Parameter(torch.ones(6))
        parameter.grad = torch.zeros_like(parameter)
        optimizer = adapters.SGD([parameter], lr=0.1, momentum=0.5)
        optimizer.shard(comm)
        optimizer.step()
        mine = torch.ones(6)
        optimizer.state[parameter]["momentum_buffer"] = mine
        optimizer.step()
        return mine.tolist(), optimizer.state[parameter]["momentum_buffer"].tolist()

    assert run_ranks(2, body) == [([1.0] * 6, [0.5] * 6)] * 2
