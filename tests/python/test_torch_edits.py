# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What users do to param_groups and to state between steps has the effect that it has on torch's own optimizers."""

import copy
from collections import defaultdict

import pytest

import gradstep

torch = pytest.importorskip("torch")

from torch_twins import STEPS, TOLERANCE, Twins, bits  # noqa: E402  (imports torch)

from gradstep import torch as adapters  # noqa: E402

SHAPES = [(4, 3), (5,), (), (4, 3)]
EDIT_AT = 7


def values(shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def new_parameter(shape, seed=11):
    return torch.nn.Parameter(values(shape, seed))


def append_a_group(optimizer):
    optimizer.param_groups.append({**optimizer.param_groups[0], "params": [new_parameter((2, 2))]})


def replace_the_list_of_groups(optimizer):
    group = optimizer.param_groups[0]
    optimizer.param_groups = [
        {**group, "params": group["params"][2:], "lr": 0.001},
        {**group, "params": group["params"][:2]},
    ]


def clear_the_groups(optimizer):
    optimizer.param_groups.clear()


def append_a_parameter(optimizer):
    optimizer.param_groups[0]["params"].append(new_parameter((2, 2)))


def remove_a_parameter(optimizer):
    del optimizer.param_groups[0]["params"][1]


def reverse_the_parameters(optimizer):
    optimizer.param_groups[0]["params"].reverse()


def replace_a_parameter(optimizer):
    optimizer.param_groups[0]["params"][0] = new_parameter((4, 3))


def replace_a_parameter_of_one_element(optimizer):
    optimizer.param_groups[0]["params"][2] = torch.nn.Parameter(optimizer.param_groups[0]["params"][2].detach().clone())


def densify_as_gaussian_splatting_does(optimizer):
    group = optimizer.param_groups[0]
    stored = optimizer.state.get(group["params"][0], None)
    for name in ("exp_avg", "exp_avg_sq"):
        stored[name] = torch.cat((stored[name], torch.zeros(3, 3)))
    del optimizer.state[group["params"][0]]
    group["params"][0] = torch.nn.Parameter(torch.cat((group["params"][0].detach(), values((3, 3), 5))))
    optimizer.state[group["params"][0]] = stored


def prune_as_gsplat_does(optimizer):
    group = optimizer.param_groups[0]
    old = group["params"][0]
    state = optimizer.state[old]
    del optimizer.state[old]
    for name in state:
        if name != "step":
            state[name] = state[name][:2]
    group["params"] = [torch.nn.Parameter(old.detach()[:2].clone()), *group["params"][1:]]
    optimizer.state[group["params"][0]] = state


def move_state_after_the_parameter(optimizer):
    group = optimizer.param_groups[0]
    old = group["params"][0]
    group["params"][0] = new_parameter((4, 3))
    optimizer.state[group["params"][0]] = optimizer.state.pop(old)


def clear_the_state(optimizer):
    optimizer.state.clear()


def assign_an_empty_state(optimizer):
    optimizer.state = defaultdict(dict)


def delete_an_entry(optimizer):
    del optimizer.state[optimizer.param_groups[0]["params"][0]]


def empty_an_entry(optimizer):
    optimizer.state[optimizer.param_groups[0]["params"][0]].clear()


def swap_two_entries(optimizer):
    first, *_, last = optimizer.param_groups[0]["params"]
    state = optimizer.state
    state[first], state[last] = state[last], state[first]


def replace_every_tensor(optimizer):
    for entry in optimizer.state.values():
        for name in entry:
            if name != "step":
                entry[name] = entry[name] / 4


def write_into_every_tensor(optimizer):
    for entry in optimizer.state.values():
        for name in entry:
            if name != "step":
                entry[name].mul_(0.5)


def forget_a_momentum(optimizer):
    entry = optimizer.state[optimizer.param_groups[0]["params"][0]]
    del entry[next(name for name in entry if "momentum" in name)]


def give_every_tensor_other_memory(optimizer):
    for entry in optimizer.state.values():
        for name, tensor in entry.items():
            tensor.data = tensor.data.clone() if name == "step" else 2 * tensor.data


def set_a_tensor(optimizer):
    entry = optimizer.state[optimizer.param_groups[0]["params"][0]]
    moment = next(tensor for name, tensor in entry.items() if name != "step")
    moment.set_(torch.full_like(moment, 0.5))


def zero_the_steps(optimizer):
    for entry in optimizer.state.values():
        if "step" in entry:
            entry["step"].zero_()


def assign_a_step(optimizer):
    for entry in list(optimizer.state.values())[:2]:
        entry["step"] = torch.tensor(3.0)


def write_a_step_and_replace_a_tensor(optimizer):
    first, second, *_ = optimizer.state.values()
    first["step"].fill_(2)
    name = next(name for name in second if name != "step")
    second[name] = torch.ones_like(second[name])


def rename_the_state_of_the_first(optimizer):
    """A parameter that is made anew, as by .to() of a module with swapped tensors."""
    old = optimizer.param_groups[0]["params"][0]
    new = torch.nn.Parameter(old.detach().clone())
    optimizer.param_groups[0]["params"][0] = new
    optimizer.state[new] = {name: tensor.clone() for name, tensor in optimizer.state.pop(old).items()}


EDITS = [
    append_a_group,
    replace_the_list_of_groups,
    clear_the_groups,
    append_a_parameter,
    remove_a_parameter,
    reverse_the_parameters,
    replace_a_parameter,
    replace_a_parameter_of_one_element,
    move_state_after_the_parameter,
    clear_the_state,
    assign_an_empty_state,
    delete_an_entry,
    empty_an_entry,
    swap_two_entries,
    replace_every_tensor,
    give_every_tensor_other_memory,
    set_a_tensor,
    write_into_every_tensor,
    zero_the_steps,
    assign_a_step,
    write_a_step_and_replace_a_tensor,
    rename_the_state_of_the_first,
]
COUNTING = {zero_the_steps, assign_a_step, write_a_step_and_replace_a_tensor}
RULES = [
    ("SGD", {"momentum": 0.9, "dampening": 0.3}),
    ("RMSprop", {"momentum": 0.5, "centered": True}),
    ("AdamW", {"amsgrad": True}),
]


def listed(optimizer):
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def run(twins, optimizers, edit, steps=STEPS):
    """Steps both, edits both in the middle, and compares every parameter that either ever had."""
    ours, theirs = optimizers
    all_ours, all_theirs = list(twins.ours), list(twins.theirs)
    for step in range(steps):
        if step == EDIT_AT:
            edit(ours)
            edit(theirs)
            known = set(all_ours)
            all_ours += [p for p in listed(ours) if p not in known]
            all_theirs += [p for p in listed(theirs) if p not in set(all_theirs)]
        twins.ours, twins.theirs = all_ours, all_theirs
        twins.backward()
        ours.step()
        theirs.step()
    assert twins.error() <= TOLERANCE[torch.float32]


@pytest.mark.parametrize("looked_at", [False, True], ids=["", "after_looking_at_state"])
@pytest.mark.parametrize(
    ("edit", "name", "options"),
    [
        pytest.param(edit, name, options, id=f"{edit.__name__}-{name}")
        for edit in EDITS
        for name, options in RULES
        if not (name == "SGD" and edit in COUNTING)  # torch's SGD counts no steps
    ],
)
def test_an_edit_has_the_effect_that_it_has_on_torch(edit, name, options, looked_at, random):
    twins = Twins(random, SHAPES)
    optimizers = [
        getattr(module, name)(p, lr=0.02, **options)
        for module, p in ((adapters, twins.ours), (torch.optim, twins.theirs))
    ]
    for optimizer in optimizers if looked_at else ():
        assert len(optimizer.state) == 0
    run(twins, optimizers, edit)


@pytest.mark.parametrize(
    "how", [forget_a_momentum, lambda o: o.param_groups[0].update(momentum=0.9)], ids=["deleted", "new"]
)
def test_sgd_starts_a_momentum_at_the_next_gradient(how, random):
    twins = Twins(random, SHAPES)
    options = {"lr": 0.02, "momentum": 0.9 if how is forget_a_momentum else 0.0, "dampening": 0.3}
    run(twins, [adapters.SGD(twins.ours, **options), torch.optim.SGD(twins.theirs, **options)], how)


@pytest.mark.parametrize("edit", [densify_as_gaussian_splatting_does, prune_as_gsplat_does], ids=lambda e: e.__name__)
@pytest.mark.parametrize("groups", [1, 2], ids=["one_group", "a_group_each"])
def test_parameters_may_be_replaced_by_longer_and_shorter_ones_with_their_state(edit, groups, random):
    twins = Twins(random, SHAPES)
    of = [
        [{"params": p[:1], "name": "means"}, {"params": p[1:]}] if groups == 2 else p
        for p in (twins.ours, twins.theirs)
    ]
    optimizers = [adapters.Adam(of[0], lr=0.02), torch.optim.Adam(of[1], lr=0.02)]
    run(twins, optimizers, edit)
    edit(optimizers[0])
    edit(optimizers[0])  # twice between two steps
    optimizers[0].param_groups[0]["params"][0].grad = None
    optimizers[0].step()


def test_a_group_that_is_taken_out_and_put_back_goes_on_with_its_state(random):
    twins = Twins(random, SHAPES)
    optimizers = [adapters.Adam(twins.ours, lr=0.02), torch.optim.Adam(twins.theirs, lr=0.02)]
    kept = []
    for step in range(STEPS):
        for i, optimizer in enumerate(optimizers):
            if step == 5:
                kept.append(optimizer.param_groups.pop())
            if step == 9:
                optimizer.param_groups.append(kept[i])
        twins.backward()
        for optimizer in optimizers:
            optimizer.step()
    assert twins.error() <= TOLERANCE[torch.float32]


def test_what_users_keep_in_state_stays_there_and_is_saved(random):
    twins = Twins(random, SHAPES)
    optimizer = adapters.Adam(twins.ours)
    for step in range(3):
        twins.backward()
        optimizer.step()
        optimizer.state[twins.ours[0]]["average"] = torch.full((2,), float(step))
        optimizer.state["run"] = {"number": step}
    saved = copy.deepcopy(optimizer.state_dict())
    assert saved["state"][0]["average"].tolist() == [2.0, 2.0] and saved["state"]["run"] == {"number": 2}
    again = adapters.Adam(twins.theirs)
    again.load_state_dict(saved)
    again.param_groups[0]["maximize"] = True
    twins.backward()
    again.step()
    assert again.state[twins.theirs[0]]["average"].tolist() == [2.0, 2.0] and again.state["run"] == {"number": 2}
    assert again.state[twins.theirs[0]]["step"] == 4


def test_entries_and_their_tensors_stay_the_same_objects_from_step_to_step(random):
    twins = Twins(random, SHAPES)
    optimizer = adapters.AdamW(twins.ours)
    state = optimizer.state
    twins.backward()
    optimizer.step()
    entry = state[twins.ours[0]]
    moments, step = entry["exp_avg"], entry["step"]
    before = moments.clone()
    twins.backward()
    optimizer.step()
    assert optimizer.state is state and state[twins.ours[0]] is entry and entry["exp_avg"] is moments
    assert step == 2 and not torch.equal(before, moments)
    optimizer.add_param_group({"params": [new_parameter((2,))]})
    assert optimizer.state[twins.ours[0]]["exp_avg"] is moments


def test_a_moment_that_a_user_has_assigned_is_followed_and_written_to(random):
    twins = Twins(random, SHAPES)
    optimizer = adapters.AdamW(twins.ours, lr=0.02, betas=(1 / 2, 1 / 2))
    twins.backward()
    optimizer.step()
    mine = torch.ones(4, 3, dtype=torch.float64)
    optimizer.state[twins.ours[0]]["exp_avg"] = mine
    for parameter in twins.ours:
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    assert (optimizer.state[twins.ours[0]]["exp_avg"] == 0.5).all() and (mine == 0.5).all()


def test_eight_bit_state_is_followed_where_it_was_edited_last_and_refused_where_it_is_old(random):
    twins = Twins(random, [(300,), (4, 3)])
    optimizer = adapters.AdamW(twins.ours, lr=0.02, betas=(0.5, 0.5), state_dtype="int8")
    twins.backward()
    optimizer.step()
    optimizer.state[twins.ours[0]]["exp_avg"].fill_(1.0)
    for parameter in twins.ours:
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    held = optimizer.state[twins.ours[0]]["exp_avg"]
    assert float((held - 0.5).abs().max()) <= 0.01  # a code's rounding
    optimizer.step()
    held.fill_(1.0)
    before = bits(twins.ours)
    with pytest.raises(gradstep.InvalidState, match=r"'param.0': 'exp_avg' was written to after a later step"):
        optimizer.step()
    assert bits(twins.ours) == before
    optimizer.state[twins.ours[0]]["exp_avg"] = torch.ones(300)
    optimizer.step()
    assert float((optimizer.state[twins.ours[0]]["exp_avg"] - 0.5).abs().max()) <= 0.01


def test_a_parameter_of_another_dtype_is_followed(random):
    twins = Twins(random, SHAPES)
    optimizer = adapters.SGD(twins.ours, lr=0.5, momentum=0.5)
    twins.backward()
    optimizer.step()
    momentum = optimizer.state[twins.ours[0]]["momentum_buffer"].clone()
    for parameter in twins.ours:
        parameter.data = parameter.data.half()
        parameter.grad = torch.zeros_like(parameter)
    expected = (twins.ours[0].detach().float() - 0.25 * momentum).half()
    optimizer.step()
    assert torch.equal(twins.ours[0], expected)
    # As many steps as there are counts are checked beforehand: nothing has moved when the last is refused.
    twins.ours[0].grad = None
    optimizer.step()
    twins.ours[0].data = twins.ours[0].data.float()
    twins.ours[0].grad = torch.zeros(4, 3)
    optimizer.step()
    assert twins.ours[0].dtype == torch.float32 and optimizer.state[twins.ours[0]]["step"] == 3


def test_parameters_may_get_their_shape_before_the_first_step(random):
    parameter = torch.nn.Parameter(torch.zeros(3))
    optimizer = adapters.Adam([parameter], lr=0.1)
    parameter.data = torch.zeros(5)
    parameter.grad = torch.ones(5)
    optimizer.step()
    assert torch.allclose(parameter, torch.full((5,), -0.1))
    parameter.data = torch.zeros(3)
    parameter.grad = torch.ones(3)
    with pytest.raises(gradstep.Mismatch, match=r"'param.0': 'exp_avg' has shape \(5,\), the parameter has \(3,\)"):
        optimizer.step()
    assert (parameter == 0).all()


@pytest.mark.parametrize(("name", "options"), [("SGD", {}), *RULES], ids=["SGD-plain", *(name for name, _ in RULES)])
@pytest.mark.filterwarnings("ignore:optimizer contains a parameter group with duplicate parameters")
def test_a_parameter_that_is_listed_twice_is_stepped_twice(name, options, random):
    twins = Twins(random, [(4, 3), (5,)])
    optimizers = [
        getattr(module, name)([p[0], p[1], p[0]], lr=0.02, **options)
        for module, p in ((adapters, twins.ours), (torch.optim, twins.theirs))
    ]
    for _ in range(STEPS):
        twins.backward()
        for optimizer in optimizers:
            optimizer.step()
    assert twins.error() <= 2 * TOLERANCE[torch.float32]  # twice the steps
    ours, theirs = (optimizer.state_dict()["param_groups"][0]["params"] for optimizer in optimizers)
    assert ours == theirs


REFUSED = {
    "a_group_without_its_options": (
        lambda o: o.param_groups.append({"params": [new_parameter((2,))], "lr": 0.1}),
        gradstep.InvalidArgument,
        r"param_groups\[1\]: has no 'amsgrad'",
    ),
    "a_list_as_a_group": (
        lambda o: o.param_groups.append([new_parameter((2,))]),
        TypeError,
        r"param_groups\[1\]: is a list",
    ),
    "a_generator_of_parameters": (
        lambda o: o.param_groups[0].update(params=iter([new_parameter((2,))])),
        TypeError,
        r"param_groups\[0\]\['params'\]: is a list_iterator",
    ),
    "no_tensor": (lambda o: o.param_groups[0]["params"].append(3.0), TypeError, "'param.4': is a float"),
    "a_parameter_in_two_groups": (
        lambda o: o.param_groups.append({**o.param_groups[0], "params": [o.param_groups[0]["params"][1]]}),
        gradstep.InvalidArgument,
        r"'param.4': is in param_groups\[0\] and param_groups\[1\]",
    ),
    "a_flag_that_cannot_be": (
        lambda o: o.param_groups[0].update(capturable=True),
        gradstep.Unsupported,
        r"param_groups\[0\]: capturable",
    ),
    "a_beta_out_of_range": (
        lambda o: o.param_groups[0].update(betas=(22.0, 0.9)),
        gradstep.InvalidArgument,
        r"^betas\[0\]: is 22, expected in \[0, 1\) \(param_groups\[0\]\)",
    ),
    "a_rate_of_two_elements": (
        lambda o: o.param_groups[0].update(lr=torch.ones(2)),
        gradstep.InvalidArgument,
        r"param_groups\[0\]: lr: is a tensor of shape \(2,\)",
    ),
    "a_moment_of_another_shape": (
        lambda o: o.state[o.param_groups[0]["params"][1]].update(exp_avg=torch.zeros(4)),
        gradstep.Mismatch,
        r"'param.1': 'exp_avg' has shape \(4,\), the parameter has \(5,\)",
    ),
    "a_moment_that_is_missing": (
        lambda o: o.state[o.param_groups[0]["params"][1]].pop("exp_avg_sq"),
        gradstep.Mismatch,
        "'param.1': has no 'exp_avg_sq'",
    ),
    "a_step_that_is_missing": (
        lambda o: o.state[o.param_groups[0]["params"][1]].pop("step"),
        gradstep.Mismatch,
        "'param.1': has no 'step'",
    ),
    "a_step_below_zero": (
        lambda o: o.state[o.param_groups[0]["params"][1]]["step"].fill_(-2),
        gradstep.InvalidArgument,
        "'param.1': 'step' is -2, expected a whole number",
    ),
    "a_moment_that_is_a_number": (
        lambda o: o.state[o.param_groups[0]["params"][1]].update(exp_avg=1.0),
        TypeError,
        "'param.1': 'exp_avg' is a float",
    ),
    "an_entry_that_is_a_list": (
        lambda o: o.state.update({o.param_groups[0]["params"][1]: [1]}),
        TypeError,
        "'param.1': is a list, expected a dict",
    ),
}


@pytest.mark.parametrize(("edit", "error", "text"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_followed_is_refused_before_anything_moves(edit, error, text, random):
    twins = Twins(random, SHAPES)
    optimizer = adapters.Adam(twins.ours)
    twins.backward()
    optimizer.step()
    twins.backward()
    before, saved = bits(twins.ours), copy.deepcopy(optimizer.state_dict())
    edit(optimizer)
    for _ in range(2):  # until it is fixed
        with pytest.raises(error, match=text):
            optimizer.step()
        assert bits(twins.ours) == before
    optimizer = adapters.Adam(twins.ours)
    optimizer.load_state_dict(saved)
    optimizer.step()
    assert bits(twins.ours) != before
