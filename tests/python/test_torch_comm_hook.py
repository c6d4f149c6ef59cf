# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep.torch.comm_hook under DistributedDataParallel: what it computes, what it keeps, how it fails."""

import copy
import gc
import hashlib
import io
import os
import time
import traceback

import numpy as np
import pytest
from conftest import run_ranks
from processes import run_processes

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

import gradstep  # noqa: E402
import gradstep.torch  # noqa: E402

MODES = {
    "dense": {},
    "half": {"mode": "half"},
    "bfloat16": {"mode": "bfloat16"},
    "top-K with residuals": {"mode": "sparse_topk", "sparsity": 0.05},
    "Adasum": {"mode": "adasum_tree"},
    "PowerSGD": {"mode": "powersgd", "rank": 2},
}
SMALL_BUCKETS = {"bucket_cap_mb": 0.005}


class Branches(torch.nn.Module):
    """Layers that run in another order than they are registered in, so that DDP packs its buckets anew."""

    def __init__(self):
        super().__init__()
        self.last = torch.nn.Linear(24, 4)
        self.first = torch.nn.Linear(8, 40)
        self.middle = torch.nn.Linear(40, 24)
        self.other = torch.nn.Linear(40, 24)
        self.nobodys = torch.nn.Linear(3, 3)

    def forward(self, x, other=False, spare=True):
        hidden = torch.tanh(self.first(x))
        y = self.last(torch.tanh((self.other if other else self.middle)(hidden)))
        return y if spare else y + 0 * (self.other(hidden).sum() + self.nobodys(x[:, :3]).sum())


def in_group(rank, world_size, path, bodies):
    """What each of the bodies returns, or the text of its failure, by name; within one process group over gloo."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(path, world_size), rank=rank, world_size=world_size)
    found = {}
    for body in bodies:
        try:
            found[body.__name__] = body(rank, world_size)
        except Exception:
            found[body.__name__] = traceback.format_exc()
            break  # the ranks are no longer in step
    gc.collect()  # DDP must go before its group
    dist.destroy_process_group()
    return found


def run(folder, world_size, bodies):
    return run_processes(world_size, in_group, str(folder / "store"), bodies, timeout=300)


def make_model():
    torch.manual_seed(0)
    return Branches()


def batch(rank, step):
    generator = torch.Generator().manual_seed(1000 * rank + step)
    return torch.randn(16, 8, generator=generator), torch.randn(16, 4, generator=generator)


def loss_of(model, rank, step, **arguments):
    x, y = batch(rank, step)
    return torch.nn.functional.mse_loss(model(x, **arguments), y)


def gradients_of(model):
    return [None if p.grad is None else p.grad.detach().clone() for p in model.parameters()]


def descend(model):
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p -= 0.1 * p.grad
                p.grad = None


def same(a, b):
    return all((x is None and y is None) or torch.equal(x, y) for x, y in zip(a, b, strict=True))


def in_rank_order(gradients):
    """The mean that gradstep promises: summed from rank 0 on, then divided."""
    mean = []
    for gradient in gradients:
        parts = [torch.empty_like(gradient) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, gradient.contiguous())
        total = parts[0].clone()
        for part in parts[1:]:
            total += part
        mean.append(total / len(parts))
    return mean


def compare_modes(rank, world_size):
    """Each mode beside a Reducer that was given this rank's gradients, over steps between which DDP packs anew."""
    comm = gradstep.torch.connect()
    for name, options in MODES.items():
        model = DistributedDataParallel(make_model(), **SMALL_BUCKETS)
        hook = gradstep.torch.comm_hook(model, comm, **options)
        layouts = []

        def spy(state, bucket, hook=hook, layouts=layouts):
            if bucket.index() == 0:
                layouts.append([])
            layouts[-1].append([tuple(p.shape) for p in bucket.parameters()])
            return hook(state, bucket)

        model.register_comm_hook(None, spy)
        twin = make_model()
        reducer = gradstep.Reducer(comm, [p.detach() for p in twin.parameters()], **options)
        for step in range(4):
            loss_of(model, rank, step, spare=False).backward()
            loss_of(twin, rank, step, spare=False).backward()
            expected = gradients_of(twin)
            if name == "dense":
                assert same(gradients_of(model.module), in_rank_order(expected)), f"step {step}: not the mean"
            reducer.reduce(expected)
            assert same(gradients_of(model.module), expected), f"{name}, step {step}: other bits than a Reducer's"
            for mine, reduced in zip(twin.parameters(), expected, strict=True):
                mine.grad = reduced
            descend(model.module)
            descend(twin)
        assert len(layouts) == 4 and len(layouts[1]) > 1 and layouts[0] != layouts[1], "DDP packs its buckets anew"
    return True


def compare_with_ddp(rank, world_size):
    """Two ranks: a sum of two numbers has one order, and halving is exact. So DDP's own mean has the same bits."""
    for arguments in ({}, {"gradient_as_bucket_view": True}, {"static_graph": True}, {"find_unused_parameters": True}):
        models = [DistributedDataParallel(make_model(), **SMALL_BUCKETS, **arguments) for _ in range(2)]
        models[1].register_comm_hook(None, gradstep.torch.comm_hook(models[1]))
        spare = "find_unused_parameters" in arguments
        for step in range(4):
            for model in models:
                uses_other = spare and (rank + step) % 2 == 0
                with model.no_sync():  # gradients of two micro-batches
                    loss_of(model, rank, 10 + step, spare=spare).backward() if step == 2 and not arguments else None
                loss_of(model, rank, step, other=uses_other, spare=spare).backward()
            found = [gradients_of(model.module) for model in models]
            assert same(*found), f"{arguments}, step {step}"
            if spare:
                assert models[1].module.nobodys.weight.grad is None, "no rank had a gradient"
            for model in models:
                descend(model.module)
    return True


def train_on_uneven_inputs(rank, world_size):
    model = DistributedDataParallel(make_model(), **SMALL_BUCKETS)
    model.register_comm_hook(None, gradstep.torch.comm_hook(model, mode="sparse_topk", sparsity=0.1))
    with model.join():
        for step in range(3 + 2 * rank):
            loss_of(model, rank, step, spare=False).backward()
            descend(model.module)
    digest = hashlib.sha256()
    for p in model.parameters():
        digest.update(p.detach().numpy().tobytes())
    return digest.hexdigest()


def resume_sparse(rank, world_size):
    return resume(rank, MODES["top-K with residuals"])


def resume_powersgd(rank, world_size):
    return resume(rank, MODES["PowerSGD"])


def resume(rank, options):
    """Eight steps in one go, and with everything made anew after four."""

    def start(module):
        model = DistributedDataParallel(module, **SMALL_BUCKETS)
        hook = gradstep.torch.comm_hook(model, comm, **options)
        model.register_comm_hook(None, hook)
        return model, hook

    def train(model, steps):
        for step in steps:
            loss_of(model, rank, step, spare=False).backward()
            descend(model.module)

    comm = gradstep.torch.connect()
    whole, _ = start(make_model())
    train(whole, range(8))
    model, hook = start(make_model())
    train(model, range(4))
    file = io.BytesIO()
    torch.save(hook.state_dict(), file)
    file.seek(0)
    model, hook = start(copy.deepcopy(model.module))
    hook.load_state_dict(torch.load(file))
    train(model, range(4, 8))
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), whole.parameters(), strict=True))
    return True


def train_with_a_scaler(rank, world_size):
    """One window is infinite on rank 0, one NaN on rank 1, and the scale grows: what is kept follows."""
    comm = gradstep.torch.connect()
    for name in ("dense", "top-K with residuals", "PowerSGD"):
        module = torch.nn.Linear(40, 10, bias=False)
        torch.nn.init.zeros_(module.weight)
        model = DistributedDataParallel(module)
        scaler = torch.amp.GradScaler("cpu", init_scale=65536.0, growth_interval=10)
        hook = gradstep.torch.comm_hook(model, comm, scaler=scaler, **MODES[name])
        model.register_comm_hook(None, hook)
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        skipped, scales = 0, set()
        for step in range(32):
            factor = {(3, 0): 1e38, (7, 1): float("nan")}.get((step, rank), 1.0)
            scale = scaler.get_scale()
            scaler.scale(model(torch.ones(1, 40)).sum() * factor).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            skipped += scaler.get_scale() < scale
            scales.add(scale)
        assert skipped == 2 and len(scales) > 2, f"{name}: {skipped} steps were skipped"
        kept = 0 if name == "dense" else torch.as_tensor(hook.reducer.residual(0)) / scale
        given = kept - module.weight.detach()
        assert torch.allclose(given, torch.full_like(given, 30)), f"{name}: {given.min()} to {given.max()} of 30"
    return True


def lose_a_peer(rank, world_size):
    model = DistributedDataParallel(make_model(), **SMALL_BUCKETS)
    model.register_comm_hook(None, gradstep.torch.comm_hook(model, timeout=10.0))
    for step in range(3):
        if step == 2 and rank == 1:
            os._exit(0)
        try:
            loss_of(model, rank, step, spare=False).backward()
        except gradstep.PeerLost as error:
            return step, str(error)
        descend(model.module)
    return None


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory):
    """What each body found on each rank: one pair of processes for all, for importing torch takes seconds."""
    bodies = [
        compare_modes,
        compare_with_ddp,
        train_on_uneven_inputs,
        resume_sparse,
        resume_powersgd,
        train_with_a_scaler,
    ]
    return run(tmp_path_factory.mktemp("two"), 2, bodies)


@pytest.mark.parametrize(
    ("body", "promise"),
    [
        ("compare_modes", "every mode has the bits of a Reducer, whatever DDP's buckets are"),
        ("compare_with_ddp", "dense has the bits of DDP's own mean"),
        ("resume_sparse", "a resumed run has the bits of an uninterrupted one"),
        ("resume_powersgd", "a resumed run has the bits of an uninterrupted one"),
        (
            "train_with_a_scaler",
            "an overflow skips one step, and nothing is lost or counts twice when the scale changes",
        ),
    ],
)
def test_on_two_ranks(two_ranks, body, promise):
    assert [found.get(body, found) for found in two_ranks] == [True, True], promise


def test_ranks_with_less_data_join(two_ranks):
    first, second = (found["train_on_uneven_inputs"] for found in two_ranks)
    assert first == second


def test_a_lost_peer_is_gradsteps_exception_out_of_backward(tmp_path):
    survivor, dead = run(tmp_path, 2, [lose_a_peer])
    step, text = survivor["lose_a_peer"]
    assert dead is None and step == 2 and "rank 1" in text


def test_every_mode_has_the_bits_of_a_reducer_on_four_ranks(tmp_path):
    assert run(tmp_path, 4, [compare_modes]) == [{"compare_modes": True}] * 4


class Bucket:
    """What the hook sees of dist.GradBucket."""

    def __init__(self, index, last, parameters, gradients):
        self._index, self._last, self._parameters, self._gradients = index, last, parameters, gradients

    def index(self):
        return self._index

    def is_last(self):
        return self._last

    def parameters(self):
        return self._parameters

    def gradients(self):
        return self._gradients

    def buffer(self):
        return self._gradients[0]


def two_parameters():
    return [torch.nn.Parameter(torch.zeros(3)), torch.nn.Parameter(torch.zeros(2))]


def test_buckets_leave_while_backward_goes_on():
    def exchange(comm):
        first, second = two_parameters()
        hook = gradstep.torch.comm_hook([("second", second), ("first", first)], comm, fuse_threshold=1)
        early = hook(None, Bucket(0, False, [first], [torch.full((3,), comm.rank + 1.0)]))
        end = time.monotonic() + 20
        while hook.reducer.bucket_statistics()[0].exchanges == 0:
            assert time.monotonic() < end, "the first bucket waits for the last"
            time.sleep(0.01)
        assert not early.done()
        late = hook(None, Bucket(1, True, [second], [torch.ones(2)]))
        assert late.wait().tolist() == [1, 1]
        return early.wait().tolist()

    assert run_ranks(2, exchange) == [[1.5] * 3] * 2


def test_a_backward_pass_that_broke_off_leaves_nothing_behind():
    parameters = two_parameters()
    with gradstep.Communicator.self() as comm:
        hook = gradstep.torch.comm_hook(list(zip("ab", parameters, strict=True)), comm)
    hook(None, Bucket(0, False, parameters[1:], [torch.full((2,), 9.0)]))
    done = hook(None, Bucket(0, True, parameters[:1], [torch.ones(3)]))
    assert done.wait().tolist() == [1, 1, 1]
    assert hook.reducer.gradients()[1].tolist() == [0, 0]


def test_errors_name_what_is_wrong():
    first, second = two_parameters()
    comm = gradstep.Communicator.self()
    hook = gradstep.torch.comm_hook([("first", first)], comm)
    with pytest.raises(gradstep.InvalidArgument, match=r"bucket 0: a parameter of shape \(2,\) is none of the model's"):
        hook(None, Bucket(0, True, [first, second], [torch.ones(3), torch.ones(2)]))
    with pytest.raises(gradstep.Unsupported, match="bucket 0: its gradient is sparse"):
        hook(None, Bucket(0, True, [first], [torch.ones(3).to_sparse()]))
    assert hook(None, Bucket(0, True, [first], [torch.ones(3)])).wait().tolist() == [1, 1, 1], "it is as it was"
    with pytest.raises(gradstep.InvalidArgument, match="model: no parameter requires a gradient"):
        gradstep.torch.comm_hook([("frozen", torch.zeros(2))], comm)
    with pytest.raises(gradstep.Mismatch, match="state_dict: expected that of a CommHook"):
        hook.load_state_dict({})
    with pytest.raises(TypeError, match="unknown option 'sparsty'"):
        gradstep.torch.comm_hook([("first", first)], comm, sparsty=0.1)
    assert np.array_equal(first.detach().numpy(), np.zeros(3))
