# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep.torch beside torch.optim, and inside what torch builds on optimizers."""

import copy
import io
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest

import gradstep

torch = pytest.importorskip("torch")

from torch_twins import STEPS, TOLERANCE, Twins, bits, train  # noqa: E402  (imports torch)

from gradstep import torch as adapters  # noqa: E402


def random_options(name, random):
    """Keywords that torch.optim.<name> and the adapter share."""
    options = {"lr": float(random.uniform(0.001, 0.03)), "maximize": bool(random.integers(2))}
    options["weight_decay"] = float(random.choice([0.0, 0.02]))
    momentum = float(random.choice([0.0, 0.5, 0.9]))
    if name == "SGD":
        options["momentum"] = momentum
        if momentum and random.integers(2):
            options["nesterov"] = True
        else:
            options["dampening"] = float(random.choice([0.0, 0.3]))
    elif name == "RMSprop":
        options |= {"momentum": momentum, "centered": bool(random.integers(2)), "alpha": float(random.uniform(0.8, 1))}
        options["eps"] = float(random.choice([1e-8, 1e-3]))
    elif name == "Adagrad":
        options |= {"lr_decay": float(random.choice([0.0, 0.1])), "eps": float(random.choice([1e-10, 1e-3]))}
        options["initial_accumulator_value"] = float(random.choice([0.0, 0.5]))
    else:
        options |= {"betas": (float(random.uniform(0.5, 0.99)), float(random.uniform(0.9, 0.9999)))}
        options |= {"amsgrad": bool(random.integers(2)), "eps": float(random.choice([1e-8, 1e-3]))}
    return options


def random_shapes(random):
    ranks = [0, *random.integers(1, 4, 3)]
    return [tuple(int(n) for n in random.integers(1, 9, rank)) for rank in ranks]


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("case", range(8))
@pytest.mark.parametrize("name", ["SGD", "RMSprop", "Adagrad", "Adam", "AdamW"])
def test_steps_are_those_of_torch(name, case, dtype):
    random = np.random.default_rng([case, len(name), ord(name[-1])])
    options = random_options(name, random)
    twins = Twins(random, random_shapes(random), dtype)
    ours = getattr(adapters, name)(twins.ours, **options)
    theirs = getattr(torch.optim, name)(twins.theirs, **options)
    for step in range(STEPS):
        # Parameters that miss gradients fall behind in torch's counting.
        twins.backward(without=(1, 3) if case % 2 and step in (0, 7) else ())
        ours.step()
        theirs.step()
    assert twins.error() <= TOLERANCE[dtype], options


@pytest.mark.parametrize("name", ["SGD", "RMSprop", "Adagrad", "Adam", "AdamW"])
def test_defaults_are_those_of_torch(name):
    parameter = torch.nn.Parameter(torch.zeros(2))
    ours = getattr(adapters, name)([parameter]).defaults
    theirs = getattr(torch.optim, name)([parameter]).defaults
    assert ours == theirs


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_low_precision_parameters_are_stepped_in_place_with_one_rounding(dtype, random):
    twins = Twins(random, [(40,), (3, 5)], dtype)
    expected = [torch.nn.Parameter(p.detach().double()) for p in twins.ours]
    addresses = [p.data_ptr() for p in twins.ours]
    twins.backward()
    for exact, ours in zip(expected, twins.ours, strict=True):
        exact.grad = ours.grad.double()
    adapters.Adam(twins.ours, lr=0.1).step()
    torch.optim.Adam(expected, lr=0.1).step()
    assert addresses == [p.data_ptr() for p in twins.ours]
    rounding = torch.finfo(dtype).eps / 2
    for ours, exact in zip(twins.ours, expected, strict=True):
        assert ((ours.double() - exact).abs() <= rounding * exact.abs() + 1e-6).all()


def test_schedulers_change_what_gradstep_uses(random):
    twins = Twins(random, [(7, 3), (5,)])
    ours, theirs = adapters.AdamW(twins.ours, lr=0.02), torch.optim.AdamW(twins.theirs, lr=0.02)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR
    schedulers = [cosine(ours, T_max=STEPS), cosine(theirs, T_max=STEPS)]
    for _ in range(STEPS):
        twins.backward()
        for optimizer, scheduler in zip((ours, theirs), schedulers, strict=True):
            optimizer.step()
            scheduler.step()
        assert ours.param_groups[0]["lr"] == theirs.param_groups[0]["lr"]
    assert twins.error() <= TOLERANCE[torch.float32]


def test_schedulers_may_change_betas_and_momentum(random):
    twins = Twins(random, [(4, 4)])
    ours, theirs = adapters.Adam(twins.ours), torch.optim.Adam(twins.theirs)
    one_cycle = torch.optim.lr_scheduler.OneCycleLR
    schedulers = [one_cycle(optimizer, max_lr=0.02, total_steps=STEPS + 1) for optimizer in (ours, theirs)]
    for _ in range(STEPS):
        twins.backward()
        ours.step()
        theirs.step()
        for scheduler in schedulers:
            scheduler.step()
    assert ours.param_groups[0]["betas"] == theirs.param_groups[0]["betas"] != (0.9, 0.999)
    assert twins.error() <= TOLERANCE[torch.float32]


@pytest.mark.parametrize("unscale", [False, True], ids=["fused", "unscaled_by_hand"])
def test_grad_scaler_skips_the_step_that_overflows(unscale):
    def model():
        torch.manual_seed(3)
        return torch.nn.Linear(5, 2)

    models = [model(), model()]
    optimizers = [adapters.SGD(models[0].parameters(), lr=0.05), torch.optim.SGD(models[1].parameters(), lr=0.05)]
    scalers = [torch.amp.GradScaler(device="cpu", init_scale=2.0**10, growth_interval=3) for _ in models]
    inputs = torch.randn(STEPS, 8, 5)
    for step in range(STEPS):
        for model, optimizer, scaler in zip(models, optimizers, scalers, strict=True):
            optimizer.zero_grad()
            scaler.scale(model(inputs[step]).square().mean()).backward()
            if step == 4:
                model.weight.grad[0, 0] = math.inf
            before = bits(model.parameters())
            if unscale:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            scaler.step(optimizer)
            assert (bits(model.parameters()) == before) == (step == 4)
            scaler.update()
    assert scalers[0].get_scale() == scalers[1].get_scale() != 2.0**10
    assert len(models) == 2 and optimizers[0].last_step.applied
    for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True):
        assert float((a - b).detach().abs().max()) <= 1e-6


def test_max_norm_clips_over_all_groups_and_flags(random):
    # Two groups of one gradstep optimizer; then two optimizers, as maximize differs.
    for flags in ({}, {"maximize": True}):
        twins = Twins(random, [(6, 2), (3,), (4,)])

        def groups(parameters, flags=flags):
            return [{"params": parameters[:1], "weight_decay": 0.1}, {"params": parameters[1:], **flags}]

        ours = adapters.SGD(groups(twins.ours), lr=0.1, momentum=0.9)
        theirs = torch.optim.SGD(groups(twins.theirs), lr=0.1, momentum=0.9)
        for _ in range(STEPS):
            twins.backward()
            norm = torch.nn.utils.clip_grad_norm_(twins.theirs, 1.0)
            ours.step(max_norm=1.0)
            theirs.step()
            assert ours.last_step.grad_norm == pytest.approx(float(norm), rel=1e-6)
        assert twins.error() <= TOLERANCE[torch.float32]


def test_grad_scale_and_closure():
    parameter = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    optimizer = adapters.SGD([parameter], lr=1.0)

    def closure():
        optimizer.zero_grad()
        loss = (parameter**2).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure, grad_scale=0.25).item() == 5.0
    assert parameter.tolist() == [0.5, 1.0]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"momentum": 0.9, "dampening": 0.3}),
        ("RMSprop", {"momentum": 0.9, "centered": True}),
        ("Adagrad", {"initial_accumulator_value": 0.1, "lr_decay": 0.1}),
        ("Adam", {"amsgrad": True}),
        ("AdamW", {}),
        ("AdamW", {"master_weights": True}),
        ("AdamW", {"state_dtype": "bf16", "stochastic_rounding": True, "seed": 5}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else value,
)
def test_state_dict_in_the_middle_changes_no_bit(name, options, random):
    dtype = torch.bfloat16 if "master_weights" in options else torch.float32
    twins = Twins(random, [(4, 3), (300,), ()], dtype)
    grads = [[twins.tensor(p.shape) for p in twins.ours] for _ in range(STEPS)]
    grads[0][1] = grads[3][2] = None  # one joins late, one falls behind
    make = getattr(adapters, name)
    train(make(twins.ours, lr=0.03, **options), twins.ours, grads)

    first = make(twins.theirs, lr=0.03, **options)
    train(first, twins.theirs, grads[:9])
    file = io.BytesIO()
    torch.save({"model": [p.detach() for p in twins.theirs], "optimizer": first.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    resumed = [torch.nn.Parameter(p.clone()) for p in saved["model"]]
    second = make(resumed, lr=0.5, **options)
    second.load_state_dict(saved["optimizer"])
    assert second.param_groups[0]["lr"] == 0.03
    train(second, resumed, grads[9:])
    as_bits = [p.detach().view(torch.int16 if dtype is torch.bfloat16 else torch.int32) for p in twins.ours]
    for expected, p in zip(as_bits, resumed, strict=True):
        assert torch.equal(expected, p.detach().view(expected.dtype))


def test_eight_bit_state_is_rounded_once_more_by_a_state_dict(random):
    twins = Twins(random, [(4, 3), (300,)])
    first = adapters.AdamW(twins.ours, state_dtype="int8")
    twins.backward()
    first.step()
    saved = copy.deepcopy(first.state_dict())
    second = adapters.AdamW(twins.ours, state_dtype="int8")
    second.load_state_dict(saved)
    for parameter in twins.ours:
        for name in ("exp_avg", "exp_avg_sq"):
            before, after = first.state[parameter][name], second.state[parameter][name]
            # The code errs by a 32nd of what is near a block's largest number, less elsewhere.
            assert float((before - after).abs().max()) <= 2.0**-5 * float(before.abs().max())


@pytest.mark.parametrize("name", ["SGD", "RMSprop", "Adagrad", "Adam", "AdamW"])
def test_state_dicts_pass_between_torch_and_gradstep(name, random):
    twins = Twins(random, [(4, 3), (5,)])
    options = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
    ours, theirs = getattr(adapters, name)(twins.ours, **options), getattr(torch.optim, name)(twins.theirs, **options)
    for _ in range(5):
        twins.backward()
        ours.step()
        theirs.step()
    saved = copy.deepcopy(ours.state_dict()), copy.deepcopy(theirs.state_dict())
    ours, theirs = getattr(adapters, name)(twins.ours, **options), getattr(torch.optim, name)(twins.theirs, **options)
    theirs.load_state_dict(saved[0])
    ours.load_state_dict(saved[1])
    for _ in range(5):
        twins.backward()
        ours.step()
        theirs.step()
    assert twins.error() <= TOLERANCE[torch.float32]


def test_groups_added_later_start_from_their_first_step(random):
    twins = Twins(random, [(4, 3), (5,), (6,)])
    ours, theirs = adapters.Adam(twins.ours[:1], lr=0.02), torch.optim.Adam(twins.theirs[:1], lr=0.02)
    for step in range(STEPS):
        if step == 5:
            ours.add_param_group({"params": twins.ours[1:2], "lr": 0.01})
            theirs.add_param_group({"params": twins.theirs[1:2], "lr": 0.01})
        if step == 8:
            ours.add_param_group({"params": twins.ours[2:], "amsgrad": True})
            theirs.add_param_group({"params": twins.theirs[2:], "amsgrad": True})
        twins.backward()
        ours.step()
        theirs.step()
    assert twins.error() <= TOLERANCE[torch.float32]
    with pytest.raises(gradstep.InvalidArgument, match=r"betas\[0\]: is 1.5, .*param_groups\[3\]"):
        ours.add_param_group({"params": [torch.nn.Parameter(torch.zeros(2))], "betas": (1.5, 0.9)})
    assert len(ours.param_groups) == 3
    ours.step()


def test_flags_may_change_in_param_groups(random):
    twins = Twins(random, [(4, 3), (5,)])
    ours, theirs = adapters.SGD(twins.ours, lr=0.02, momentum=0.9), torch.optim.SGD(twins.theirs, lr=0.02, momentum=0.9)
    for step in range(STEPS):
        for optimizer in (ours, theirs):
            optimizer.param_groups[0]["maximize"] = step % 7 > 3
            optimizer.param_groups[0]["nesterov"] = step > 9
        twins.backward()
        ours.step()
        theirs.step()
    assert twins.error() <= TOLERANCE[torch.float32]


def test_copies_and_pickles_go_on_alone(random):
    twins = Twins(random, [(4, 3)])
    optimizer = adapters.Adam(twins.ours, num_threads=1)
    twins.backward()
    optimizer.step()
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        (parameter,) = other.param_groups[0]["params"]
        assert parameter is not twins.ours[0] and other.state[parameter]["step"] == 1
        before = bits(twins.ours)
        parameter.grad = torch.ones(4, 3)
        other.step()
        assert bits(twins.ours) == before and other.state[parameter]["step"] == 2
    assert optimizer.state[twins.ours[0]]["step"] == 1


def test_state_is_seen_without_a_copy(random):
    twins = Twins(random, [(4, 3)])
    optimizer = adapters.AdamW(twins.ours)
    assert len(optimizer.state) == 0
    twins.backward()
    optimizer.step()
    entry = optimizer.state[twins.ours[0]]
    assert list(entry) == ["step", "exp_avg", "exp_avg_sq"] and entry["step"] == 1
    entry["exp_avg"].zero_()
    assert (optimizer.state[twins.ours[0]]["exp_avg"] == 0).all()


def test_hooks_named_parameters_and_zero_grad():
    model = torch.nn.Linear(2, 2)
    optimizer = adapters.SGD(model.named_parameters(), lr=0.1)
    seen = []
    optimizer.register_step_pre_hook(lambda *_: seen.append("pre"))
    optimizer.register_step_post_hook(lambda *_: seen.append("post"))
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert seen == ["pre", "post"]
    optimizer.zero_grad()
    assert model.weight.grad is None
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]


def test_autograd_notices_that_parameters_have_changed():
    parameter = torch.nn.Parameter(torch.ones(3))
    optimizer = adapters.SGD([parameter], lr=0.1)
    loss = (parameter**2).sum()
    parameter.grad = torch.ones(3)
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_what_cannot_be_stepped_is_refused_by_name():
    weight = torch.nn.Embedding(5, 3, sparse=True).weight
    optimizer = adapters.SGD([weight], lr=0.1)
    weight[torch.tensor([1])].sum().backward()
    weight.grad = torch.eye(5, 3).to_sparse()
    with pytest.raises(gradstep.Unsupported, match="expected dense ones"):
        optimizer.step()
    with pytest.raises(gradstep.Unsupported, match=r"'param.1': is on meta"):
        adapters.SGD([weight, torch.nn.Parameter(torch.zeros(2, device="meta"))])
    with pytest.raises(gradstep.Unsupported, match="differentiable"):
        adapters.Adam([weight], differentiable=True)
    with pytest.raises(ValueError, match="learning rate: nan"):
        adapters.Adam([weight], lr=math.nan)
    with pytest.raises(TypeError, match="unknown option 'momentun'"):
        adapters.Adam([weight], momentun=0.9)
    sgd_state = adapters.SGD([torch.nn.Parameter(torch.zeros(2))], momentum=0.9)
    sgd_state.param_groups[0]["params"][0].grad = torch.ones(2)
    sgd_state.step()
    with pytest.raises(gradstep.Mismatch, match="has no 'exp_avg'"):
        adapters.Adam([torch.nn.Parameter(torch.zeros(2))]).load_state_dict(
            {**sgd_state.state_dict(), "param_groups": adapters.Adam([weight]).state_dict()["param_groups"]}
        )


def test_torch_and_jax_come_only_on_demand():
    program = "import sys, gradstep; print({'torch', 'jax', 'optax', 'ml_dtypes'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "set()\n"


SCHEDULERS = {
    "LambdaLR": {"lr_lambda": lambda epoch: 0.95**epoch},
    "MultiplicativeLR": {"lr_lambda": lambda _: 0.95},
    "StepLR": {"step_size": 3},
    "MultiStepLR": {"milestones": [3, 9]},
    "ConstantLR": {},
    "LinearLR": {},
    "ExponentialLR": {"gamma": 0.9},
    "PolynomialLR": {"total_iters": 10},
    "CosineAnnealingLR": {"T_max": 10},
    "CosineAnnealingWarmRestarts": {"T_0": 4},
    "CyclicLR": {"base_lr": 0.001, "max_lr": 0.02, "step_size_up": 3},
    "OneCycleLR": {"max_lr": 0.02, "total_steps": STEPS + 1},
    "ReduceLROnPlateau": {"patience": 1},
}


@pytest.mark.parametrize("as_tensor", [False, True], ids=["", "lr_as_tensor"])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_every_scheduler_of_torch_is_followed(name, as_tensor, random):
    twins = Twins(random, [(4, 3), (5,)])
    pairs = []
    for module, p in ((adapters, twins.ours), (torch.optim, twins.theirs)):
        lr = torch.tensor(0.02) if as_tensor else 0.02
        optimizer = module.SGD([{"params": p[:1]}, {"params": p[1:], "weight_decay": 0.1}], lr=lr, momentum=0.9)
        pairs.append((optimizer, getattr(torch.optim.lr_scheduler, name)(optimizer, **SCHEDULERS[name])))
    for _ in range(STEPS):
        twins.backward()
        for optimizer, scheduler in pairs:
            optimizer.step()
            scheduler.step(*([1.0] if name == "ReduceLROnPlateau" else []))
    assert [g["lr"] for g in pairs[0][0].param_groups] == [g["lr"] for g in pairs[1][0].param_groups]
    assert twins.error() <= TOLERANCE[torch.float32]


@pytest.mark.filterwarnings("ignore:Dynamo does not know how to trace the builtin")
def test_a_training_step_may_be_compiled(random):
    twins = Twins(random, [(4, 3), (5,)])
    pairs = [(adapters.AdamW(twins.ours), twins.ours), (torch.optim.AdamW(twins.theirs), twins.theirs)]

    def train(optimizer, parameters, inputs):
        loss = sum((parameter * x).square().sum() for parameter, x in zip(parameters, inputs, strict=True))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    steps = [torch.compile(train, backend="eager") for _ in pairs]
    for _ in range(3):
        inputs = [twins.tensor(parameter.shape) for parameter in twins.ours]
        losses = [step(*pair, inputs) for step, pair in zip(steps, pairs, strict=True)]
        assert float(losses[0]) == pytest.approx(float(losses[1]), rel=1e-5)
    assert twins.error() <= TOLERANCE[torch.float32]
    assert pairs[0][0].state[twins.ours[0]]["step"] == 3


def test_a_scheduler_that_leaves_the_range_is_refused_with_the_group_and_can_go_on(random):
    twins = Twins(random, [(4, 3)])
    optimizer = adapters.Adam(twins.ours, betas=(0.9, 0.999))
    scheduler = torch.optim.lr_scheduler.CyclicLR(
        optimizer, base_lr=0.001, max_lr=0.01, step_size_up=1, base_momentum=0.5, max_momentum=22.0
    )
    twins.backward()
    before = bits(twins.ours)
    with pytest.raises(
        gradstep.InvalidArgument, match=r"^betas\[0\]: is 22, expected in \[0, 1\) \(param_groups\[0\]\)"
    ):
        optimizer.step()
    assert bits(twins.ours) == before
    scheduler.step()
    optimizer.step()
    assert bits(twins.ours) != before


@pytest.mark.parametrize(
    ("name", "options", "calls"),
    [
        ("SGD", {"momentum": 0.9, "dampening": 0.3}, 2),
        ("RMSprop", {"momentum": 0.5, "centered": True}, 1),
        ("RMSprop", {"stochastic_rounding": True}, 4),
        ("Adagrad", {}, 1),
        ("Adagrad", {"lr_decay": 0.1}, 4),
        ("Adam", {}, 4),
    ],
)
def test_parameters_of_many_counts_are_stepped_together_where_the_rule_does_not_count(name, options, calls, random):
    twins = Twins(random, [(5,), (3,), (4,), (2,)])
    ours = getattr(adapters, name)(twins.ours, lr=0.02, **options)
    theirs = getattr(torch.optim, name)(
        twins.theirs, lr=0.02, **{key: value for key, value in options.items() if key != "stochastic_rounding"}
    )
    for step in range(4):  # one more parameter in each; in the last they have made 3, 2, 1 and no step
        twins.backward(without=range(step + 1, 4))
        (part,) = ours._layout.parts.values()
        grads = [parameter.grad for parameter in part.parameters]
        made = len(part.calls(grads, [grad is not None for grad in grads]))
        ours.step()
        theirs.step()
    assert made == calls
    assert twins.error() <= TOLERANCE[torch.float32]
