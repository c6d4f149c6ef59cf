# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep.torch.Shampoo: gradstep's rule in the place of a torch optimizer."""

import io

import pytest
from conftest import relative

import gradstep

torch = pytest.importorskip("torch")

from torch_twins import STEPS, Twins, bits, train  # noqa: E402  (imports torch)

from gradstep import torch as adapters  # noqa: E402

ADAMW = {"lr": 0.02, "betas": (0.8, 0.95), "eps": 1e-6, "weight_decay": 0.1}


def shampoo_groups(parameters):
    return [{"params": parameters[:2]}, {"params": parameters[2:], "precondition": False, "weight_decay": 0.0}]


def test_shampoo_steps_are_those_of_the_rule(random):
    twins = Twins(random, [(6, 5), (7,), (3, 4)])
    options = {"graft_type": "rmsprop", "block_size": 4, "nesterov": False, "matrix_epsilon": 1e-5}
    ours = adapters.Shampoo(twins.ours, lr=0.02, betas=(0.8, 0.95), weight_decay=0.1, **options)
    rule = gradstep.Shampoo(twins.theirs, learning_rate=0.02, beta1=0.8, beta2=0.95, weight_decay=0.1, **options)
    for step in range(STEPS):
        if step == 10:
            ours.param_groups[0]["lr"] = 0.01
            ours.param_groups[0]["matrix_epsilon"] = 1e-4
            rule.set_value("learning_rate", 0.01)
            rule.set_value("matrix_epsilon", 1e-4)
        twins.backward()
        ours.step()
        rule.step(twins.theirs, [p.grad for p in twins.theirs])
    assert bits(twins.ours) == bits(twins.theirs)
    state = ours.state[twins.ours[0]]
    assert state["statistics.3.1"].shape == (1, 1) and state["preconditioners.0.0"].shape == (4, 4)


def test_shampoo_from_adamw_leaves_groups_to_adamw(random):
    twins = Twins(random, [(6, 5), (7,), (3, 4), ()])
    ours = adapters.Shampoo.from_adamw(shampoo_groups(twins.ours), **ADAMW, block_size=4)
    groups = shampoo_groups(twins.theirs)
    theirs = torch.optim.AdamW(groups, **ADAMW)
    schedulers = [torch.optim.lr_scheduler.CosineAnnealingLR(each, T_max=STEPS) for each in (ours, theirs)]
    for _ in range(STEPS):
        twins.backward()
        for each in (ours, theirs, *schedulers):
            each.step()
    close = [relative(a.detach(), b.detach()) <= 2e-6 for a, b in zip(twins.ours, twins.theirs, strict=True)]
    assert close == [False, False, True, True]
    assert not any("." in name for name in ours.state[twins.ours[2]]), "no matrices"
    assert any("." in name for name in ours.state[twins.ours[0]])


@pytest.mark.parametrize("source", [torch.optim.AdamW, adapters.AdamW])
def test_shampoo_takes_over_an_adamw(source, random):
    twins = Twins(random, [(6, 5), (7,), (3, 4)])
    tuned = source(shampoo_groups(twins.ours), **ADAMW)
    first = adapters.Shampoo.from_adamw(tuned, block_size=4)
    second = adapters.Shampoo.from_adamw(shampoo_groups(twins.theirs), **ADAMW, block_size=4)
    assert [group["weight_decay"] for group in first.param_groups] == [0.1, 0.0]
    for _ in range(STEPS):
        twins.backward()
        first.step()
        second.step()
    assert bits(twins.ours) == bits(twins.theirs)
    with pytest.raises(gradstep.Unsupported, match="group 0 has amsgrad"):
        adapters.Shampoo.from_adamw(source(twins.ours, amsgrad=True))
    with pytest.raises(gradstep.Unsupported, match="not decoupled"):
        adapters.Shampoo.from_adamw(torch.optim.Adam(twins.ours, weight_decay=0.1))


def test_shampoo_takes_over_maximize(random):
    twins = Twins(random, [(6, 5), (7,)])
    up = adapters.Shampoo.from_adamw(torch.optim.AdamW(twins.ours, **ADAMW, maximize=True), block_size=4)
    down = adapters.Shampoo.from_adamw(twins.theirs, **ADAMW, block_size=4)
    for _ in range(STEPS):
        twins.backward()
        for parameter in twins.theirs:
            parameter.grad.neg_()
        up.step()
        down.step()
    assert bits(twins.ours) == bits(twins.theirs)


def test_shampoo_resumes_from_a_state_dict_with_the_same_bits(random):
    twins = Twins(random, [(6, 5), (7,), (3, 4), ()])
    grads = [[twins.tensor(p.shape) for p in twins.ours] for _ in range(STEPS)]
    grads[0][1] = grads[3][2] = None  # one joins late, one falls behind
    options = {**ADAMW, "block_size": 4, "preconditioning_compute_steps": 4, "root_method": "coupled_newton"}
    train(adapters.Shampoo.from_adamw(shampoo_groups(twins.ours), **options), twins.ours, grads)

    first = adapters.Shampoo.from_adamw(shampoo_groups(twins.theirs), **options)
    train(first, twins.theirs, grads[:9])
    file = io.BytesIO()
    torch.save({"model": [p.detach() for p in twins.theirs], "optimizer": first.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    resumed = [torch.nn.Parameter(p.clone()) for p in saved["model"]]
    second = adapters.Shampoo(shampoo_groups(resumed), lr=0.5)
    second.load_state_dict(saved["optimizer"])
    assert second.param_groups[0]["block_size"] == 4, "options come with the state"
    train(second, resumed, grads[9:])
    assert bits(resumed) == bits(twins.ours)


def test_shampoo_may_begin_to_precondition_a_group_later(random):
    twins = Twins(random, [(6, 5)])
    optimizer = adapters.Shampoo(twins.ours, precondition=False, block_size=8)
    twins.backward()
    optimizer.step()
    assert "statistics.0.0" not in optimizer.state[twins.ours[0]]
    optimizer.param_groups[0]["precondition"] = True
    optimizer.step()
    assert optimizer.state[twins.ours[0]]["statistics.0.0"].shape == (6, 6)
    assert optimizer.state[twins.ours[0]]["step"] == 2


def test_shampoo_refuses_by_name():
    parameters = [torch.nn.Parameter(torch.zeros(2))]
    with pytest.raises(TypeError, match=r"unknown option 'beta1'; known: graft_type, diagonal_epsilon"):
        adapters.Shampoo(parameters, beta1=0.5)
    with pytest.raises(gradstep.InvalidArgument, match="graft_type: 'lion' is unknown"):
        adapters.Shampoo(parameters, graft_type="lion")
    with pytest.raises(gradstep.InvalidArgument, match="block_size"):
        adapters.Shampoo(parameters, block_size=0)
