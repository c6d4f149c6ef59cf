# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep.torch optimizers whose state is spread over the ranks: less on each, the same bits as without."""

import copy
import math

import pytest
from conftest import run_ranks

import gradstep

torch = pytest.importorskip("torch")

from torch_twins import bits  # noqa: E402  (imports torch)

from gradstep import torch as adapters  # noqa: E402

# More than one chunk of 16384 elements for every rank, and small tensors that share one.
SHAPES = [(300, 200), (70000,), (3,), ()]
STEPS = 6
RULES = [
    ("SGD", {"momentum": 0.9}),
    ("Adagrad", {}),
    ("AdamW", {"amsgrad": True}),
    ("AdamW", {"state_dtype": "int8"}),
    ("Shampoo", {"block_size": 64, "graft_type": "adam"}),
]
ids = [f"{name}-{'-'.join(options)}" for name, options in RULES]


def random(shape, *seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(hash(seed)))


def model():
    return [torch.nn.Parameter(random(shape, i)) for i, shape in enumerate(SHAPES)]


def backward(parameters, comm, step, reduced, without=()):
    """Gradients of this rank, or their mean over all ranks as a reducer makes it."""
    for i, parameter in enumerate(parameters):
        parameter.grad = random(parameter.shape, comm.rank, step, i)
        if (i, step) in without:
            parameter.grad = None
        elif reduced:
            comm.all_reduce(parameter.grad)
            parameter.grad /= comm.world_size


def groups(parameters):
    return [{"params": parameters[:2]}, {"params": parameters[2:], "lr": 0.003}]


@pytest.mark.parametrize("world_size", [1, 2, 3])
@pytest.mark.parametrize(("name", "options"), RULES, ids=ids)
@pytest.mark.parametrize("gradients", ["local", "reduced"])
def test_sharded_steps_have_the_bits_of_unsharded_ones(name, options, gradients, world_size):
    # Parameters fall behind, as torch counts; no rank has a gradient for them then.
    without = {(1, 0), (3, 0), (2, 2)}

    def train(comm, sharded):
        parameters = model()
        optimizer = getattr(adapters, name)(groups(parameters), lr=0.02, **options)
        if sharded:
            optimizer.shard(comm, gradients=gradients)
        for step in range(STEPS):
            backward(parameters, comm, step, not (sharded and gradients == "local"), without)
            optimizer.step(max_norm=1.0 if step == 4 and gradients == "reduced" else None)
        return bits(parameters)

    whole = run_ranks(world_size, lambda comm: train(comm, False))
    assert all(result == whole[0] for result in whole + run_ranks(world_size, lambda comm: train(comm, True)))


def test_a_gradient_on_one_rank_alone_steps_the_parameter_on_all():
    def train(comm):
        parameters = model()
        optimizer = adapters.Adam(parameters, lr=0.02)
        optimizer.shard(comm)
        for step in range(3):
            backward(parameters, comm, step, False)
            if comm.rank == 1:
                parameters[2].grad = None
            parameters[3].grad = None
            optimizer.step()
        return bits(parameters), [optimizer.state[p]["step"].item() if p in optimizer.state else 0 for p in parameters]

    first, second = run_ranks(2, train)
    assert first == second and first[1] == [3, 3, 3, 0]
    assert first[0][3] == bits(model())[3], "a frozen parameter stays where it is"


def test_an_infinity_on_one_rank_skips_the_step_on_all():
    def train(comm):
        parameters = model()
        optimizer = adapters.SGD(parameters, lr=0.1)
        optimizer.shard(comm)
        scaler = torch.amp.GradScaler(device="cpu", init_scale=4.0)
        scaler.scale(torch.zeros(()))
        backward(parameters, comm, 0, False)
        if comm.rank == 1:
            parameters[0].grad[0, 0] = math.inf
        before = bits(parameters)
        scaler.step(optimizer)
        assert bits(parameters) == before and not optimizer.last_step.applied
        scaler.update()
        backward(parameters, comm, 1, False)
        scaler.step(optimizer)
        return bits(parameters) != before

    assert run_ranks(2, train) == [True, True]


@pytest.mark.parametrize("gradients", ["local", "reduced"])
@pytest.mark.parametrize("unscaled", [False, True], ids=["", "unscaled_before"])
@pytest.mark.parametrize("lacks", [False, True], ids=["", "no_gradient_on_rank_0"])
def test_an_infinity_on_one_rank_makes_all_scalers_back_off(gradients, unscaled, lacks):
    def train(comm):
        parameter = torch.nn.Parameter(torch.zeros(1))
        optimizer = adapters.SGD([parameter], lr=1.0)
        optimizer.shard(comm, gradients=gradients)
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        scales = []
        for step in range(3):
            optimizer.zero_grad()
            infinite = step == 1 and (comm.rank == 1 or gradients == "reduced")
            scaler.scale((parameter * (math.inf if infinite else 1.0 + comm.rank)).sum()).backward()
            if gradients == "reduced":
                comm.all_reduce(parameter.grad)
                parameter.grad /= 2
            elif lacks and comm.rank == 0 and step == 1:
                parameter.grad = None
            if unscaled:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
            scales.append(scaler.get_scale())
        return parameter.item(), scales

    # Two steps by the mean of 1 and 2.
    assert run_ranks(2, train) == [(-3.0, [8.0, 4.0, 4.0])] * 2


def test_scales_that_differ_are_refused_on_all_ranks():
    def train(comm):
        parameter = torch.nn.Parameter(torch.zeros(1))
        optimizer = adapters.SGD([parameter], lr=1.0)
        optimizer.shard(comm)
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0 - 4.0 * comm.rank)
        scaler.scale(parameter.sum()).backward()
        with pytest.raises(gradstep.Mismatch, match=r"grad_scale: is 0\.125 on rank 0, 0\.25 on rank 1, "):
            scaler.step(optimizer)
        return parameter.item()

    assert run_ranks(2, train) == [0.0, 0.0]


def test_a_scaler_may_have_seen_no_gradient():
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = adapters.SGD([parameter], lr=1.0)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(torch.zeros(()))
    scaler.step(optimizer)
    assert parameter.item() == 0


@pytest.mark.parametrize("looked_at", [False, True], ids=["", "after_looking_at_state"])
def test_edits_state_dicts_and_the_end_of_sharding_change_no_bit(looked_at):
    def edit(optimizer, parameters, step):
        if step == 1:
            optimizer.param_groups[0]["lr"] = 0.01
        if step == 2:
            optimizer.param_groups[0]["maximize"] = True
        if step == 3:
            old, new = parameters[1], torch.nn.Parameter(random((40000,), 9))
            entry = optimizer.state.pop(old)
            optimizer.param_groups[0]["params"][1] = parameters[1] = new
            optimizer.state[new] = {n: t if n == "step" else t[:40000].clone() for n, t in entry.items()}
        if step == 4:
            optimizer.add_param_group({"params": [torch.nn.Parameter(random((50,), 8))]})
            parameters.append(optimizer.param_groups[-1]["params"][0])

    def train(comm, sharded):
        parameters = model()
        optimizer = adapters.AdamW(groups(parameters), lr=0.02)
        if looked_at:
            held = optimizer.state
            backward(parameters, comm, 0, True)
            optimizer.step()
            moments = held[parameters[0]]["exp_avg"]
        if sharded:
            optimizer.shard(comm)
        if looked_at:
            assert moments.isfinite().all()
        for step in range(STEPS):
            edit(optimizer, parameters, step)
            backward(parameters, comm, step, not sharded or step == 5)
            if sharded and step == 5:
                optimizer.unshard()
            optimizer.step()
            if step == 2:
                saved = copy.deepcopy(optimizer.state_dict())
                optimizer.load_state_dict(saved)
        tensors = [t.clone() for entry in optimizer.state_dict()["state"].values() for t in entry.values()]
        return bits(parameters), bits(tensors)

    whole = run_ranks(2, lambda comm: train(comm, False))
    assert all(result == whole[0] for result in whole + run_ranks(2, lambda comm: train(comm, True)))


def test_tensors_of_a_state_dict_outlive_the_whole_state():
    def train(comm):
        parameters = model()
        optimizer = adapters.Adam(parameters)
        backward(parameters, comm, 0, True)
        optimizer.step()
        saved = optimizer.state_dict()["state"]
        expected = copy.deepcopy(saved)
        optimizer.shard(comm)
        taken = [torch.ones(70000) for _ in range(8)]  # what was freed would be used again
        assert len(taken) == 8
        return all(torch.equal(saved[i][name], expected[i][name]) for i in saved for name in saved[i])

    assert run_ranks(2, train) == [True, True]


def test_each_rank_holds_its_share():
    def held(comm):
        parameters = model()
        optimizer = adapters.Adam(parameters)
        (part,) = optimizer._layout.parts.values()
        before = part.optimizer.memory().state_bytes
        optimizer.shard(comm)
        return part.optimizer.memory().state_bytes / before

    assert all(share < 0.7 for share in run_ranks(2, held))


def test_what_ranks_disagree_on_is_refused_on_all():
    def clip_locally(comm):
        parameters = model()
        optimizer = adapters.Adam(parameters)
        optimizer.shard(comm)
        backward(parameters, comm, 0, False, without={(1, 0)})
        optimizer.step()
        before = bits(parameters)
        backward(parameters, comm, 1, False)
        with pytest.raises(gradstep.Unsupported, match="max_norm: of local gradients"):
            optimizer.step(max_norm=1.0)
        return bits(parameters) == before

    def lack_a_reduced_gradient(comm):
        parameters = model()
        optimizer = adapters.Adam(parameters)
        optimizer.shard(comm, gradients="reduced")
        backward(parameters, comm, 0, True)
        if comm.rank == 1:
            parameters[2].grad = None
        with pytest.raises(gradstep.Mismatch, match=r"gradients\[2\]: 1 of 2 ranks have one"):
            optimizer.step()
        return bits(parameters) == bits(model())

    assert run_ranks(2, clip_locally) == [True, True]
    assert run_ranks(2, lack_a_reduced_gradient) == [True, True]


def test_loaded_state_with_things_of_the_users_own_can_be_sharded():
    parameters = [torch.nn.Parameter(torch.zeros(300))]
    optimizer = adapters.Adam(parameters)
    parameters[0].grad = torch.ones(300)
    optimizer.step()
    saved = copy.deepcopy(optimizer.state_dict())
    saved["state"][0]["mine"] = 7
    loaded = adapters.Adam(parameters)
    loaded.load_state_dict(saved)
    loaded.shard(gradstep.Communicator.self())
    assert loaded.state[parameters[0]]["mine"] == 7
    assert torch.equal(loaded.state[parameters[0]]["exp_avg"], saved["state"][0]["exp_avg"])
