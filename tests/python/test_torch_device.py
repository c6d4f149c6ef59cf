# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep.torch on a CUDA device: an emulated one, which has the bits of the host."""

import copy
import gc

import numpy as np
import pytest
from emulated_cuda import FOLDER, control, needs_device

import gradstep

torch = pytest.importorskip("torch")

from emulated_torch import Graph, answers, current_stream, library_copies, library_waits, present, upload  # noqa: E402

from gradstep import torch as adapters  # noqa: E402

pytestmark = needs_device

SHAPES = [(5, 7), (40,), (3, 2, 4), ()]
RULES = [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.5, "centered": True}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}),
    ("Adam", {"lr": 0.01, "amsgrad": True}),
    ("AdamW", {"lr": 0.01}),
]
CAPTURABLE = [rule for rule in RULES if rule[0] not in ("SGD", "Adagrad")]


@pytest.fixture(autouse=True)
def the_emulated_device(monkeypatch):
    monkeypatch.setenv("GRADSTEP_PLUGIN_DIR", FOLDER)
    control().set_seed(1)
    gc.collect()  # optimizers of earlier tests would wait for the device in the middle of this one
    with present(monkeypatch):
        yield


class Pair:
    """Equal parameters at the host and on the device, and gradients for both."""

    def __init__(self, random, shapes=SHAPES, dtype=torch.float32, number=0):
        self._random = random
        self._dtype = dtype
        self.host = [torch.nn.Parameter(self._tensor(shape)) for shape in shapes]
        self.device = [torch.nn.Parameter(upload(p.detach(), number)) for p in self.host]

    def _tensor(self, shape):
        return torch.from_numpy(np.array(self._random.standard_normal(shape))).to(self._dtype)

    def backward(self, without=()):
        """New gradients in the memory of the old ones, as a graph wants them."""
        for i, (a, b) in enumerate(zip(self.host, self.device, strict=True)):
            grad = self._tensor(a.shape)
            if i in without:
                a.grad = b.grad = None
            elif a.grad is None or b.grad is None:
                a.grad, b.grad = grad, upload(grad, b.device.index)
            else:
                a.grad.copy_(grad)
                b.grad.copy_(upload(grad))

    def assert_equal(self):
        for a, b in zip(self.host, self.device, strict=True):
            assert torch.equal(a.detach(), b.detach().cpu())


def both(pair, name, host=None, **options):
    """The rule at the host and on the device. `host`: options that are others there."""
    make = getattr(adapters, name)
    return make(pair.host, **{**options, **(host or {})}), make(pair.device, **options)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("name", "options"), RULES, ids=lambda value: value if isinstance(value, str) else "")
def test_steps_on_the_device_have_the_bits_of_the_host(name, options, dtype, random):
    pair = Pair(random, dtype=dtype)
    host, device = both(pair, name, **options)
    for step in range(6):
        pair.backward(without=(1, 3) if step == 2 else ())
        host.step()
        device.step()
    pair.assert_equal()
    for a, b in zip(pair.host, pair.device, strict=True):
        shown = device.state[b]
        assert list(host.state[a]) == list(shown) and float(host.state[a]["step"]) == float(shown["step"])
        for key, value in host.state[a].items():
            if key != "step":
                assert shown[key].device == b.device and torch.equal(value, shown[key].cpu())


@pytest.mark.parametrize("options", [{}, {"max_norm": 0.5}, {"clip_value": 0.1, "grad_scale": 0.5}], ids=str)
def test_a_step_sends_and_asks_the_device_for_nothing(options, random):
    pair = Pair(random)
    groups = [{"params": pair.device[:2]}, {"params": pair.device[2:], "maximize": True}]  # two gradstep optimizers
    device, host = (
        adapters.AdamW(groups),
        adapters.AdamW([{**groups[0], "params": pair.host[:2]}, {"params": pair.host[2:], "maximize": True}]),
    )
    for step in range(4):
        pair.backward()
        if step > 0:
            before = (library_waits(), answers(), library_copies())
        device.step(**options)
        if step > 0:
            assert (library_waits(), answers(), library_copies()) == before
        host.step(**options)
    pair.assert_equal()
    assert device.last_step == pytest.approx(host.last_step, nan_ok=True)


def test_a_grad_scaler_decides_on_the_device(random):
    pair = Pair(random)
    host, device = both(pair, "AdamW", lr=0.05)
    scale, found = torch.tensor(4.0), torch.tensor(0.0)
    for step in range(6):
        pair.backward()
        scale.fill_(2.0**step)
        found.fill_(step in (0, 3))
        for optimizer, place in ((host, lambda t: t.clone()), (device, upload)):
            optimizer.grad_scale, optimizer.found_inf = place(scale), place(found)
            before = (library_waits(), answers())
            optimizer.step()
            if optimizer is device and step > 0:
                assert (library_waits(), answers()) == before
            del optimizer.grad_scale, optimizer.found_inf
        assert device.last_step.applied == host.last_step.applied == (step not in (0, 3))
    pair.assert_equal()
    assert device.state[pair.device[0]]["step"] == 4


def test_where_counts_differ_the_host_asks_whether_a_scaled_step_is_made(random):
    pair = Pair(random)
    host, device = both(pair, "Adam", lr=0.05)
    for step in range(5):
        pair.backward(without=(1,) if step == 1 else ())
        for optimizer, place in ((host, lambda t: t), (device, upload)):
            optimizer.grad_scale, optimizer.found_inf = place(torch.tensor(2.0)), place(torch.tensor(float(step == 3)))
            optimizer.step()
    pair.assert_equal()
    assert [int(device.state[p]["step"]) for p in pair.device] == [4, 3, 4, 4]


def test_torchs_own_scaler_skips_the_step_that_overflows(random, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)  # or the scaler turns itself off
    pair = Pair(random)
    host, device = both(pair, "SGD", lr=0.05, momentum=0.9)
    scalers = [torch.amp.GradScaler(device=kind, init_scale=8.0, growth_interval=2) for kind in ("cpu", "cuda")]
    for step in range(5):
        pair.backward()
        if step == 2:
            for parameters in (pair.host, pair.device):
                parameters[1].grad[0] = float("inf")
        for optimizer, scaler, parameter in zip((host, device), scalers, (pair.host[3], pair.device[3]), strict=True):
            scaler.scale(parameter.detach().sum())
            scaler.step(optimizer)
            scaler.update()
    pair.assert_equal()
    assert scalers[0].get_scale() == scalers[1].get_scale() != 8.0


@pytest.mark.parametrize("seed", range(4))
def test_steps_are_in_the_order_of_torchs_current_stream(seed, random):
    control().set_seed(seed)
    pair = Pair(random)
    host, device = both(pair, "SGD", lr=0.5)
    pair.backward()
    with current_stream():
        for _ in range(3):
            for a, b in zip(pair.host, pair.device, strict=True):
                a.grad.mul_(0.5)
                b.grad.mul_(0.5)  # queued, as the step is
            host.step()
            device.step()
            for a, b in zip(pair.host, pair.device, strict=True):
                a.data.mul_(0.9)
                b.data.mul_(0.9)
    pair.assert_equal()


@pytest.mark.parametrize("as_tensor", [False, True], ids=["number", "tensor"])
@pytest.mark.parametrize(("name", "options"), CAPTURABLE, ids=lambda value: value if isinstance(value, str) else "")
def test_a_captured_step_is_replayed_with_what_tensors_then_say(name, options, as_tensor, random):
    pair = Pair(random)
    rate = upload(torch.tensor(0.25))
    lrs = {"lr": 0.25, "host": {"capturable": False}} | (
        {"lr": rate, "host": {"capturable": False, "lr": 0.25}} if as_tensor else {}
    )
    host, device = both(pair, name, **{**options, **lrs, "capturable": True})
    pair.backward()
    graph = Graph()
    for _ in range(2):
        host.step(max_norm=1.0)
        with graph.its_stream():  # the step before a capture is on its stream
            device.step(max_norm=1.0)
    assert device.state[pair.device[0]]["step"].device.type == "cuda"
    with graph:
        device.step(max_norm=1.0)
    for value in (0.125, 0.5, 0.0625):
        pair.backward()
        rate.fill_(value)
        if as_tensor:
            host.param_groups[0]["lr"] = value
        host.step(max_norm=1.0)
        graph.replay()
        assert device.last_step == host.last_step
        assert device.state[pair.device[0]]["step"] == host.state[pair.host[0]]["step"]
    pair.assert_equal()
    pair.backward()
    host.param_groups[0]["lr"] = float(rate) if as_tensor else 0.25
    host.step()
    device.step()  # goes on from there
    pair.assert_equal()


def test_a_capture_that_no_group_has_announced_is_refused(random):
    pair = Pair(random)
    _, device = both(pair, "AdamW")
    pair.backward()
    device.step()
    with Graph(), pytest.raises(gradstep.InvalidState, match=r"param_groups\[0\]: capturable: is False, .*captured"):
        device.step()
    with pytest.raises(gradstep.Unsupported, match=r"capturable: is True, parameter 'param.0' is on cpu"):
        adapters.AdamW(pair.host, capturable=True)


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        (name, flags)
        for name in ("RMSprop", "Adam", "AdamW")
        for flags in ({}, {"fused": True}, {"capturable": True})
        if name != "RMSprop" or "fused" not in flags  # which torch's has not
    ],
    ids=str,
)
def test_state_dicts_pass_between_torch_and_the_device(name, flags, random):
    pair = Pair(random)
    first = getattr(torch.optim, name)(pair.host, lr=0.02, foreach=False)
    for _ in range(3):
        pair.backward()
        first.step()
    for a, b in zip(pair.host, pair.device, strict=True):
        b.data.copy_(upload(a.detach()))
    device = getattr(adapters, name)(pair.device, **flags)
    saved = copy.deepcopy(first.state_dict())
    device.load_state_dict(saved)
    device.param_groups[0].update(flags)
    for _ in range(3):
        pair.backward()
        first.step()
        device.step()
    kind = "cuda" if flags else "cpu"
    shown = device.state_dict()
    assert {entry["step"].device.type for entry in shown["state"].values()} == {kind}
    assert {
        entry["exp_avg_sq" if "exp_avg_sq" in entry else "square_avg"].device.type for entry in shown["state"].values()
    } == {"cuda"}
    # And back into torch's, at the host: whose state it then is.
    host = [torch.nn.Parameter(p.detach().cpu()) for p in pair.device]
    second = getattr(torch.optim, name)(host, lr=0.5, foreach=False)
    at_host = {key: {k: v.cpu() for k, v in entry.items()} for key, entry in shown["state"].items()}
    groups = [{**group, "fused": False, "capturable": False} for group in shown["param_groups"]]
    second.load_state_dict({"state": at_host, "param_groups": groups})
    for _ in range(3):
        pair.backward()
        for p, q in zip(host, pair.host, strict=True):
            p.grad = q.grad.clone()
        first.step()
        second.step()
    for p, q in zip(host, pair.host, strict=True):
        assert float((p - q).detach().abs().max()) <= 1e-6 * max(1.0, float(q.detach().abs().max()))


@pytest.mark.parametrize("fused", [False, True])
def test_state_is_seen_and_edited_on_the_device(fused, random):
    pair = Pair(random)
    host, device = both(pair, "Adam", lr=0.05, fused=fused)

    def step():
        pair.backward()
        host.step()
        device.step()

    step()
    for optimizer, parameters in ((host, pair.host), (device, pair.device)):
        optimizer.state[parameters[0]]["exp_avg"].mul_(2)  # a view
    step()
    for optimizer, parameters in ((host, pair.host), (device, pair.device)):
        optimizer.state[parameters[1]]["exp_avg_sq"] = torch.ones_like(parameters[1])
        optimizer.state[parameters[2]]["step"].fill_(7)
    step()
    for optimizer, parameters in ((host, pair.host), (device, pair.device)):
        del optimizer.state[parameters[3]]
        optimizer.param_groups[0]["lr"] = 0.01
    step()
    pair.assert_equal()
    assert [int(device.state[p]["step"]) for p in pair.device] == [4, 4, 9, 1]


def test_a_group_may_be_on_several_devices(random):
    here, there = Pair(random), Pair(random, number=1)
    host = adapters.SGD(here.host + there.host, lr=0.1, momentum=0.9)
    device = adapters.SGD(here.device + there.device, lr=0.1, momentum=0.9)
    for _ in range(3):
        here.backward()
        there.backward()
        host.step(max_norm=1.0)
        device.step(max_norm=1.0)
    for pair in (here, there):
        for a, b in zip(pair.host, pair.device, strict=True):
            torch.testing.assert_close(a.detach(), b.detach().cpu(), rtol=1e-6, atol=1e-7)
    assert device.state[there.device[0]]["momentum_buffer"].device == torch.device("cuda", 1)
    assert len(device.state_dict()["state"]) == 8


def test_a_model_that_is_moved_to_the_device_keeps_its_state(random):
    pair = Pair(random)
    host, moved = adapters.Adam(pair.host, lr=0.05), [torch.nn.Parameter(p.detach().clone()) for p in pair.host]
    optimizer = adapters.Adam(moved, lr=0.05)
    pair.backward()
    for p, q in zip(moved, pair.host, strict=True):
        p.grad = q.grad.clone()
    host.step()
    optimizer.step()
    state = copy.deepcopy(optimizer.state_dict())
    device = adapters.Adam([torch.nn.Parameter(upload(p.detach())) for p in moved])
    device.load_state_dict(state)
    pair.device = device.param_groups[0]["params"]
    pair.backward()
    host.step()
    device.step()
    pair.assert_equal()


def test_what_cannot_be_stepped_is_refused_by_name_and_place(random):
    pair = Pair(random)
    _, device = both(pair, "SGD", lr=0.1)
    pair.backward()
    before = [p.detach().cpu() for p in pair.device]
    pair.device[1].grad = upload(torch.ones(40), 1)
    with pytest.raises(
        gradstep.InvalidArgument, match=r"gradient of 'param.1': is .* on cuda:1, the parameter .* on cuda:0"
    ):
        device.step()
    assert all(torch.equal(p.detach().cpu(), q) for p, q in zip(pair.device, before, strict=True))
    with pytest.raises(gradstep.BackendUnavailable, match="cuda:7"):
        adapters.SGD([_elsewhere()])


def _elsewhere():
    """A parameter that says it is on a device that is not there."""
    tensor = upload(torch.ones(2))
    tensor._memory.number = 7
    return tensor


def test_shampoo_is_stepped_on_the_device(random):
    pair = Pair(random, [(12, 8), (6,)])
    host, device = both(pair, "Shampoo", lr=0.05, block_size=16)
    for _ in range(4):
        pair.backward()
        host.step()
        device.step()
    for a, b in zip(pair.host, pair.device, strict=True):
        torch.testing.assert_close(a.detach(), b.detach().cpu(), rtol=5e-4, atol=5e-4)  # as tests/cuda/shampoo_test
