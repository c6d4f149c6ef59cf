# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What the ranks of test_torch_spread.py do: processes of a gloo group, with models that are spread over them."""

import math
import os
import tempfile
import traceback
import warnings
from contextlib import contextmanager
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import gradstep
from gradstep import torch as adapters

# The 1 x 3 weight and the last bias leave most ranks without an element; nothing is divisible by 4.
SHAPES = [(7, 5), (5,), (13, 7), (1, 3), (1,)]
STEPS = 4

ELEMENTWISE = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
    "Adam": {"lr": 0.02, "amsgrad": True},
    "AdamW": {"lr": 0.02},
    "RMSprop": {"lr": 0.01, "centered": True, "momentum": 0.5},
    "Adagrad": {"lr": 0.05, "lr_decay": 0.1},
    "RAdam": {"lr": 0.02},
    "NAdam": {"lr": 0.02},
    "Adamax": {"lr": 0.02},
    "Adadelta": {"lr": 0.5},
    "Rprop": {"lr": 0.02},
    "ASGD": {"lr": 0.05, "t0": 1},
}
WHOLE = {
    "Adafactor": {"lr": 0.05},
    "Muon": {"lr": 0.02},
    "Shampoo": {"lr": 0.02, "block_size": 4, "graft_type": "adam"},
}


def meshes(world_size):
    """Meshes with placements of a matrix."""
    flat = init_device_mesh("cpu", (world_size,))
    found = [(flat, [Shard(0)]), (flat, [Shard(1)]), (flat, [Replicate()])]
    if world_size == 4:
        square = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        pairs = [
            [Replicate(), Shard(0)],
            [Shard(1), Replicate()],
            [Shard(0), Shard(1)],
            [Shard(0), Shard(0)],
        ]
        found += [(square, placements) for placements in pairs]
    return found


def random(shape, *seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(hash(seed)))


def placed(shape, placements):
    """The placements for a shape: axes that it does not have are not cut."""
    return [Shard(0) if p == Shard(1) and len(shape) < 2 else p for p in placements]


def spread_model(mesh, placements, shapes):
    return [
        torch.nn.Parameter(distribute_tensor(random(shape, i), mesh, placed(shape, placements)))
        for i, shape in enumerate(shapes)
    ]


def plain_model(shapes):
    return [torch.nn.Parameter(random(shape, i)) for i, shape in enumerate(shapes)]


def backward(parameters, step, without=()):
    """Equal gradients for a model that is spread and one that is not."""
    for i, parameter in enumerate(parameters):
        grad = random(parameter.shape, step, i, 7)
        if isinstance(parameter, DTensor):
            grad = distribute_tensor(grad, parameter.device_mesh, parameter.placements)
        parameter.grad = None if i in without else grad


def full(tensor):
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def bits(tensors):
    return [full(tensor).detach().contiguous().view(torch.uint8).tolist() for tensor in tensors]


def state_bits(optimizer, parameters):
    entries = [optimizer.state[parameter] for parameter in parameters]
    return [{name: bits([value.reshape(-1)])[0] for name, value in map_full(entry)} for entry in entries]


def map_full(entry):
    return [(name, full(value)) for name, value in sorted(entry.items())]


def compare(name, options, rank, world_size, shapes, **step_options):
    """Trains a spread model and a plain one, which must have equal bits, states included."""
    for mesh, placements in meshes(world_size):
        plain, spread = plain_model(shapes), spread_model(mesh, placements, shapes)
        ours = getattr(adapters, name)(spread, **options)
        whole = getattr(adapters, name)(plain, **options)
        for step in range(STEPS):
            without = {2} if step == 1 else ()
            for optimizer, parameters in ((ours, spread), (whole, plain)):
                backward(parameters, step, without)
                optimizer.step(**step_options)
        where = f"{name} on {tuple(mesh.shape)} {placements}"
        assert bits(spread) == bits(plain), where
        assert state_bits(ours, spread) == state_bits(whole, plain), f"state of {where}"
        for parameter in spread:
            for state in ours.state[parameter].values():
                assert isinstance(state, DTensor) == (state.ndim > 0 and state.shape == parameter.shape), where
                assert not isinstance(state, DTensor) or state.placements == parameter.placements, where


def elementwise(rank, world_size):
    for name, options in ELEMENTWISE.items():
        compare(name, options, rank, world_size, SHAPES, clip_value=1.5)


def reduced_state(rank, world_size):
    for options in ({"state_dtype": "bf16"}, {"master_weights": True}):
        compare("AdamW", {"lr": 0.02, **options}, rank, world_size, SHAPES)


def whole_tensors(rank, world_size):
    for name, options in WHOLE.items():
        shapes = [shape for shape in SHAPES if len(shape) == 2] if name == "Muon" else SHAPES
        compare(name, options, rank, world_size, shapes)


def owners(rank, world_size):
    parameters = spread_model(init_device_mesh("cpu", (world_size,)), [Shard(0)], [(32, 8)] * 8)
    optimizer = adapters.Muon(parameters, lr=0.02)
    backward(parameters, 0)
    optimizer.step()
    (part,) = optimizer._layout.parts.values()
    assert sorted(part._owner_of) == sorted(list(range(world_size)) * (8 // world_size))
    assert part.optimizer.memory().state_bytes == 8 * 32 * 8 * 4 // world_size, "a rank has its share of the momenta"


def an_owner_that_fails(rank, world_size):
    parameters = spread_model(init_device_mesh("cpu", (world_size,)), [Shard(0)], [(32, 8)] * 8)
    optimizer = adapters.Muon(parameters, lr=0.02)
    backward(parameters, 0)
    optimizer.step()
    before = [parameter.detach().clone() for parameter in parameters], optimizer.state_dict()
    whole = state_bits(optimizer, parameters)
    backward(parameters, 1)
    with failing_on(rank, optimizer, "step"):
        if rank == 1:
            refuses(ArithmeticError, "of this rank alone", optimizer.step)
        else:
            refuses(gradstep.Aborted, "rank 1 could not step", optimizer.step)
    refuses(gradstep.InvalidState, "failed on one rank and was made on others", optimizer.step)
    refuses(gradstep.InvalidState, "failed on one rank and was made on others", optimizer.state_dict)
    with torch.no_grad():
        for parameter, old in zip(parameters, before[0], strict=True):
            parameter.copy_(old)
    optimizer.load_state_dict(before[1])
    assert state_bits(optimizer, parameters) == whole
    optimizer.step()


def an_owner_that_cannot_be_read(rank, world_size):
    parameters = spread_model(init_device_mesh("cpu", (world_size,)), [Shard(0)], [(32, 8)] * 8)
    optimizer = adapters.Muon(parameters, lr=0.02)
    backward(parameters, 0)
    optimizer.step()
    with failing_on(rank, optimizer, "_state"):
        if rank == 1:
            refuses(ArithmeticError, "of this rank alone", optimizer.state_dict)
        else:
            refuses(gradstep.Aborted, "rank 1, which has its state, failed", optimizer.state_dict)
    assert len(optimizer.state_dict()["state"]) == 8


@contextmanager
def failing_on(rank, optimizer, method):
    """A method of gradstep's optimizer that raises on rank 1."""

    def fail(*arguments, **options):
        raise ArithmeticError("of this rank alone")

    (part,) = optimizer._layout.parts.values()
    if rank == 1:
        setattr(part.optimizer, method, fail)
    yield
    if rank == 1:
        delattr(part.optimizer, method)


def coded_state(rank, world_size):
    """Blocks of 8-bit codes begin at a shard: the numbers are those of another rounding."""
    for mesh, placements in meshes(world_size):
        plain, spread = plain_model(SHAPES), spread_model(mesh, placements, SHAPES)
        for parameters in (plain, spread):
            optimizer = adapters.AdamW(parameters, lr=0.02, state_dtype="int8")
            for step in range(3):
                backward(parameters, step)
                optimizer.step()
            assert optimizer.state[parameters[0]]["exp_avg"].shape == SHAPES[0]
        for a, b in zip(spread, plain, strict=True):
            # Steps of at most 0.02 each, of moments whose codes err by some percent.
            torch.testing.assert_close(a.full_tensor(), b, rtol=0, atol=0.01)


def random_rounding(rank, world_size):
    """Shards round by random numbers of their own, replicas by equal ones."""
    alone = torch.nn.Parameter(torch.ones(64, 64, dtype=torch.bfloat16))
    alone.grad = torch.ones_like(alone)
    adapters.SGD([alone], lr=1e-3, stochastic_rounding=True, seed=3).step()
    rounded_alone = alone.flatten().tolist()
    for mesh, placements in meshes(world_size):
        ones = torch.ones(64, 64, dtype=torch.bfloat16)
        weight = torch.nn.Parameter(distribute_tensor(ones, mesh, placements))
        optimizer = adapters.SGD([weight], lr=1e-3, stochastic_rounding=True, seed=3)
        weight.grad = torch.ones_like(weight)
        optimizer.step()
        told = [None] * world_size
        cuts = zip(placements, mesh.get_coordinate(), strict=True)
        place = tuple(index for placement, index in cuts if placement.is_shard())
        dist.all_gather_object(told, (place, weight.to_local().flatten().tolist()))
        by_shard = {}
        for place, numbers in told:
            assert by_shard.setdefault(place, numbers) == numbers, "replicas are equal"
            assert len(set(numbers)) == 2, "rounds up and down"
            if not place:
                assert numbers == rounded_alone, "a replica has no other name than a plain tensor"
        assert len({tuple(numbers) for numbers in by_shard.values()}) == len(by_shard), "shards differ"


def norms(rank, world_size):
    for mesh, placements in meshes(world_size):
        for name in ("AdamW", "Adafactor"):
            plain, spread = plain_model(SHAPES), spread_model(mesh, placements, SHAPES)
            ours, whole = getattr(adapters, name)(spread, lr=0.02), getattr(adapters, name)(plain, lr=0.02)
            for step in range(3):
                for optimizer, parameters in ((ours, spread), (whole, plain)):
                    backward(parameters, step)
                    optimizer.step(max_norm=0.5)
            # The norm of f32 gradients in f64, summed in another order.
            assert math.isclose(ours.last_step.grad_norm, whole.last_step.grad_norm, rel_tol=1e-12), placements
            assert ours.last_step.clip_coefficient < 1
            told = [None] * world_size
            dist.all_gather_object(told, ours.last_step)
            assert len(set(told)) == 1, "the ranks agree on all bits of the norm"
            for a, b in zip(spread, plain, strict=True):
                torch.testing.assert_close(a.full_tensor(), b, rtol=1e-6, atol=1e-6)


def mixed_with_plain_parameters(rank, world_size):
    flat = init_device_mesh("cpu", (world_size,))
    spread, plain = spread_model(flat, [Shard(0)], SHAPES), plain_model(SHAPES)
    spread[1:2] = plain_model(SHAPES)[1:2]
    ours, whole = adapters.Adam(spread, lr=0.02), adapters.Adam(plain, lr=0.02)
    for optimizer, parameters in ((ours, spread), (whole, plain)):
        backward(parameters, 0)
        optimizer.step(max_norm=0.5)
    assert math.isclose(ours.last_step.grad_norm, whole.last_step.grad_norm, rel_tol=1e-12)
    for a, b in zip(spread, plain, strict=True):
        torch.testing.assert_close(full(a), b, rtol=1e-6, atol=1e-6)


def make_model():
    torch.manual_seed(3)
    return torch.nn.Sequential(
        torch.nn.Linear(7, 13), torch.nn.Tanh(), torch.nn.Linear(13, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1)
    )


def shard_layers(model, mesh):
    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def loss_of(model, step, rank=0):
    x = random((6, 7), step, rank, 11)
    return (model(x) - x.sum(1, keepdim=True)).square().mean()


def fsdp_parity(rank, world_size):
    """Trains by FSDP2 with optimizers of both sides."""
    cases = [
        ("SGD", {"lr": 0.05, "momentum": 0.9}, None),
        ("Adam", {"lr": 0.02}, None),
        ("AdamW", {"lr": 0.02}, 0.3),
        ("AdamW", {"lr": 0.02, "fused": True}, 0.3),
    ]
    shapes = [(world_size,)] + ([(2, 2)] if world_size == 4 else [])
    for shape in shapes:
        names = ("replicate", "shard")[-len(shape) :]
        mesh = init_device_mesh("cpu", shape, mesh_dim_names=names)
        for name, options, max_norm in cases:
            ours_model, their_model = (shard_layers(make_model(), mesh) for _ in range(2))
            ours = getattr(adapters, name)(ours_model.parameters(), **options)
            theirs = getattr(torch.optim, name)(their_model.parameters(), **options)
            for step in range(10):
                for model, optimizer in ((ours_model, ours), (their_model, theirs)):
                    optimizer.zero_grad()
                    loss_of(model, step, rank).backward()
                if max_norm is not None:
                    norm = torch.nn.utils.clip_grad_norm_(their_model.parameters(), max_norm).full_tensor()
                ours.step(max_norm=max_norm)
                theirs.step()
                if max_norm is not None:
                    assert math.isclose(ours.last_step.grad_norm, norm, rel_tol=1e-5)
            for a, b in zip(ours_model.parameters(), their_model.parameters(), strict=True):
                # Ten steps of a handful of f32 roundings that torch makes in another order.
                torch.testing.assert_close(a.full_tensor(), b.full_tensor(), rtol=1e-5, atol=1e-6)


def fsdp_and_tensor_parallelism(rank, world_size):
    """Matrices of both kinds of placement: FSDP2 cuts what tensor parallelism has cut."""
    mesh = init_device_mesh("cpu", (world_size // 2, 2), mesh_dim_names=("dp", "tp"))
    for name, options in (("AdamW", {"lr": 0.02}), ("Adafactor", {"lr": 0.02}), ("Shampoo", WHOLE["Shampoo"])):

        def model():
            made = torch.nn.Sequential(torch.nn.Linear(7, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
            for i, parameter in enumerate(made.parameters()):
                with torch.no_grad():
                    parameter.copy_(random(parameter.shape, i))
            return made

        plain, spread = model(), model()
        parallelize_module(spread, mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
        fully_shard(spread, mesh=mesh["dp"])
        ours = getattr(adapters, name)(spread.parameters(), **options)
        whole = getattr(adapters, name)(plain.parameters(), **options)
        for step in range(3):
            for made, optimizer in ((spread, ours), (plain, whole)):
                optimizer.zero_grad()
                loss_of(made, step).backward()
                optimizer.step(max_norm=0.3)
        for a, b in zip(spread.parameters(), plain.parameters(), strict=True):
            # Sums of f32 products in another order, magnified by divisions by small moments.
            torch.testing.assert_close(a.full_tensor(), b, rtol=1e-3, atol=1e-4)


def infinities(rank, world_size):
    for name in ("AdamW", "Adafactor"):
        parameters = spread_model(init_device_mesh("cpu", (world_size,)), [Shard(0)], SHAPES)
        optimizer = getattr(adapters, name)(parameters, lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
        scaler.scale(torch.zeros(()))
        backward(parameters, 0)
        if rank == 1:
            parameters[0].grad.to_local()[0, 0] = math.inf
        before = bits(parameters)
        scaler.step(optimizer)
        assert bits(parameters) == before and not optimizer.last_step.applied
        scaler.update()
        assert scaler.get_scale() == 2.0, "all scalers back off"
        backward(parameters, 1)
        scaler.step(optimizer)
        assert bits(parameters) != before and optimizer.last_step.applied
        scaler.update()

        backward(parameters, 2)
        optimizer.grad_scale, optimizer.found_inf = torch.tensor(2.0 + rank), torch.tensor(0.0)
        refuses(gradstep.Mismatch, "grad_scale: is .* on this rank and", optimizer.step)


def other_placements_of_gradients(rank, world_size):
    flat = init_device_mesh("cpu", (world_size,))
    plain, spread = plain_model(SHAPES[:2]), spread_model(flat, [Shard(0)], SHAPES[:2])
    ours, whole = adapters.AdamW(spread, lr=0.02), adapters.AdamW(plain, lr=0.02)
    backward(plain, 0)
    spread[0].grad = distribute_tensor(plain[0].grad, flat, [Replicate()])
    spread[1].grad = DTensor.from_local(plain[1].grad / world_size, flat, [Partial()])
    ours.step()
    whole.step()
    assert bits(spread) == bits(plain)


def refusals(rank, world_size):
    flat = init_device_mesh("cpu", (world_size,))
    parts = torch.nn.Parameter(DTensor.from_local(torch.zeros(3), flat, [Partial()]))
    refuses(
        gradstep.Unsupported,
        r"parameter 'w': is placed \(Partial\(sum\)\), expected shards",
        lambda: adapters.SGD([("w", parts)]),
    )
    rows = world_size * (world_size + 1)
    ragged = DTensor.from_local(
        torch.zeros(2 * rank + 2, 2), flat, [Shard(0)], run_check=False, shape=torch.Size((rows, 2)), stride=(2, 1)
    )
    adapters.SGD([ragged])
    refuses(
        gradstep.Unsupported,
        r"parameter 'w': is placed \(Shard\(dim=0\)\) with a shard of shape \(\d, 2\), expected .*: Muon needs whole",
        lambda: adapters.Muon([("w", torch.nn.Parameter(ragged))]),
    )
    turned = DeviceMesh("cpu", [*reversed(range(world_size))])
    refuses(
        gradstep.Unsupported,
        r"parameter 'w': its mesh has the ranks \[\d, .*, expected them in ascending order",
        lambda: adapters.SGD([("w", torch.nn.Parameter(DTensor.from_local(torch.zeros(2), turned, [Shard(0)])))]),
    )
    (weight,) = spread_model(flat, [Shard(0)], [(6, 4)])
    plain = torch.nn.Parameter(torch.zeros(3, dtype=torch.bfloat16))
    optimizer = adapters.SGD([{"params": [("b", plain)], "foreach": False}, {"params": [("w", weight)]}], lr=0.1)
    before = bits([weight])
    refuses(gradstep.Unsupported, "shard: parameter 'w' is a DTensor", lambda: optimizer.shard(adapters.connect()))
    backward([weight], 0)
    optimizer.step()
    assert bits([weight]) != before
    plain.grad = torch.ones_like(plain)
    if rank == 0:
        optimizer.step()  # alone: the plain parameter has not been sharded either


def refuses(error, text, call):
    with pytest.raises(error, match=text):
        call()


def edits(rank, world_size):
    """What torch's users do to state and groups between steps."""
    flat = init_device_mesh("cpu", (world_size,))
    for name in ("AdamW", "Adafactor"):
        plain, spread = plain_model(SHAPES), spread_model(flat, [Shard(0)], SHAPES)
        results = []
        for parameters in (spread, plain):
            optimizer = getattr(adapters, name)(parameters[:3], lr=0.02)
            backward(parameters, 0)
            optimizer.step()
            state = "exp_avg_sq" if name == "AdamW" else "variance"
            with torch.no_grad():
                optimizer.state[parameters[1]][state].mul_(2.0)
            optimizer.add_param_group({"params": parameters[3:], "lr": 0.01})
            optimizer.param_groups[0]["lr"] = 0.03
            for step in (1, 2):
                backward(parameters, step)
                optimizer.step()
            optimizer.param_groups[0]["maximize"] = True
            backward(parameters, 3)
            optimizer.step()
            results.append((bits(parameters), state_bits(optimizer, parameters)))
        assert results[0] == results[1], name


def state_dicts(rank, world_size):
    """A state_dict() of torch's own optimizer, and of an unsharded run of this one, loads into a spread model's."""
    flat = init_device_mesh("cpu", (world_size,))
    for spread_too in (False, True):
        results = []
        for kind in (torch.optim.AdamW, adapters.AdamW):
            first = spread_model(flat, [Shard(0)], SHAPES) if spread_too else plain_model(SHAPES)
            before = kind(first, lr=0.02)
            for step in range(2):
                backward(first, step)
                before.step()
            second = spread_model(flat, [Shard(0)], SHAPES)
            after = adapters.AdamW(second, lr=0.5)
            after.load_state_dict(before.state_dict())
            assert after.param_groups[0]["lr"] == 0.02
            backward(second, 2)
            after.step()
            results.append([p.full_tensor() for p in second])
        for a, b in zip(*results, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)


def checkpointed(name):
    options = {**ELEMENTWISE, **WHOLE}[name]
    shapes = [(7, 5), (13, 7), (1, 3)] if name == "Muon" else SHAPES
    return options, shapes


class Named(torch.nn.Module):
    def __init__(self, parameters):
        super().__init__()
        self.weights = torch.nn.ParameterList(parameters)


def save_checkpoint(rank, world_size, folder):
    flat = init_device_mesh("cpu", (world_size,))
    for name in CHECKPOINTED:
        options, shapes = checkpointed(name)
        parameters = spread_model(flat, [Shard(0)], shapes)
        optimizer = getattr(adapters, name)(parameters, **options)
        for step in range(2):
            backward(parameters, step)
            optimizer.step()
        model = Named(parameters)
        saved = {"model": model.state_dict(), "optimizer": get_optimizer_state_dict(model, optimizer)}
        dcp.save(saved, checkpoint_id=f"{folder}/{name}")


def load_checkpoint(rank, world_size, folder):
    """Goes on from a checkpoint, and has the bits of a plain run that was not stopped."""
    flat = init_device_mesh("cpu", (world_size,))
    for name in CHECKPOINTED:
        options, shapes = checkpointed(name)
        parameters = spread_model(flat, [Shard(0)], shapes)
        with torch.no_grad():
            for parameter in parameters:
                parameter.zero_()
        optimizer = getattr(adapters, name)(parameters, **{**options, "lr": 0.5})
        model = Named(parameters)
        found = {"model": model.state_dict(), "optimizer": get_optimizer_state_dict(model, optimizer)}
        dcp.load(found, checkpoint_id=f"{folder}/{name}")
        model.load_state_dict(found["model"])
        set_optimizer_state_dict(model, optimizer, found["optimizer"])
        plain = plain_model(shapes)
        whole = getattr(adapters, name)(plain, **options)
        for step in range(2):
            backward(plain, step)
            whole.step()
        for step in range(2, 4):
            for each, those in ((optimizer, parameters), (whole, plain)):
                backward(those, step)
                each.step()
        assert bits(parameters) == bits(plain), name
        assert state_bits(optimizer, parameters) == state_bits(whole, plain), name


CHECKPOINTED = ["SGD", "AdamW", "NAdam", "ASGD", "Adafactor", "Muon", "Shampoo"]


def full_state_dicts(rank, world_size):
    """get_optimizer_state_dict and set_optimizer_state_dict with whole tensors on every rank."""
    flat = init_device_mesh("cpu", (world_size,))
    options = StateDictOptions(full_state_dict=True)
    for name in ("AdamW", "Adafactor"):
        first, second = (spread_model(flat, [Shard(0)], SHAPES) for _ in range(2))
        before, after = (getattr(adapters, name)(parameters, lr=0.02) for parameters in (first, second))
        backward(first, 0)
        before.step()
        found = get_optimizer_state_dict(Named(first), before, options=options)
        assert not any(isinstance(v, DTensor) for entry in found["state"].values() for v in entry.values())
        set_optimizer_state_dict(Named(second), after, found, options=options)
        with torch.no_grad():
            for a, b in zip(second, first, strict=True):
                a.copy_(b)
        for optimizer, parameters in ((before, first), (after, second)):
            backward(parameters, 1)
            optimizer.step()
        assert bits(first) == bits(second), name


ON_ANY = [
    elementwise,
    reduced_state,
    whole_tensors,
    owners,
    an_owner_that_fails,
    an_owner_that_cannot_be_read,
    coded_state,
    random_rounding,
    norms,
    mixed_with_plain_parameters,
    fsdp_parity,
    fsdp_and_tensor_parallelism,
    infinities,
    other_placements_of_gradients,
    refusals,
    edits,
    state_dicts,
    full_state_dicts,
]


def run_all(rank, world_size, bodies, *arguments):
    """Runs each body in a process group of its own. Returns what has failed, as text by name."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    failures = {}
    for name in bodies:
        store = os.path.join(arguments[0], f"{name}-{world_size}")
        dist.init_process_group(
            "gloo", init_method=f"file://{store}", rank=rank, world_size=world_size, timeout=timedelta(seconds=60)
        )
        try:
            globals()[name](rank, world_size, *arguments[1:])
            dist.barrier()
        except BaseException:  # as torch.distributed.checkpoint's
            failures[name] = traceback.format_exc(limit=-6)[-1500:]
        finally:
            dist.destroy_process_group()
    return failures


if __name__ == "__main__":  # by hand: spread_ranks.py WORLD_SIZE NAME...
    import sys

    from processes import run_processes

    with tempfile.TemporaryDirectory() as folder:
        for found in run_processes(int(sys.argv[1]), run_all, sys.argv[2:], folder, timeout=600, start="forkserver"):
            for name, text in (found or {"": "died"}).items():
                print(name, text)
