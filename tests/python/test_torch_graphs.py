# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Whole networks with gradstep.torch in a CUDA graph, as PyTorch's notes capture them, on an emulated device."""

import gc
import importlib.util
import sys
from pathlib import Path

import pytest
from emulated_cuda import FOLDER, control, needs_device

import gradstep

torch = pytest.importorskip("torch")

from emulated_torch_cuda import present_with_graphs  # noqa: E402

from gradstep import torch as adapters  # noqa: E402

pytestmark = needs_device

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "python" / "cuda_graph" / "torch_graph.py"
RULES = [
    ("SGD", {"lr": 0.1, "momentum": 0.5}),
    ("Adam", {"amsgrad": True, "capturable": True}),
    ("AdamW", {"weight_decay": 0.1, "capturable": True}),
    ("RMSprop", {"momentum": 0.5, "capturable": True}),
]


@pytest.fixture(autouse=True)
def the_emulated_device(monkeypatch):
    monkeypatch.setenv("GRADSTEP_PLUGIN_DIR", FOLDER)
    control().set_seed(1)
    gc.collect()  # optimizers of earlier tests would wait for the device in the middle of this one
    with present_with_graphs(monkeypatch):
        yield


class Training:
    """A network, and data and a learning rate in tensors that stay."""

    def __init__(self, rule, options):
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).to("cuda")
        self.rate = torch.full((), 0.1, device="cuda")
        self.points = torch.zeros(16, 3, device="cuda")
        self.optimizer = getattr(adapters, rule)(self.model.parameters(), **{"lr": self.rate, **options})

    def next(self, update):
        torch.manual_seed(update)
        self.points.copy_(torch.randn(16, 3).to("cuda"))
        self.rate.fill_(0.1 / (1 + update))

    def update(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.model(self.points).square().mean().backward()
        self.optimizer.step(max_norm=1.0)

    def warm_up(self, updates):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for update in updates:
                self.next(update)
                self.update()
        torch.cuda.current_stream().wait_stream(side)

    def capture(self):
        graph = torch.cuda.CUDAGraph()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            self.update()
        return graph

    def numbers(self):
        return [p.detach().cpu() for p in self.model.parameters()]

    def assert_equals(self, other):
        assert all(torch.equal(p, q) for p, q in zip(self.numbers(), other.numbers(), strict=True))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("rule", "options"), RULES, ids=[rule for rule, _ in RULES])
def test_a_captured_network_is_trained_as_call_by_call(rule, options, seed):
    control().set_seed(seed)
    captured, eager = Training(rule, options), Training(rule, options)
    captured.warm_up(range(3))
    graph = captured.capture()
    for update in range(3, 7):
        captured.next(update)
        graph.replay()
    eager.warm_up(range(7))
    captured.assert_equals(eager)
    assert captured.optimizer.last_step == eager.optimizer.last_step
    shown = captured.optimizer.state_dict()["state"]
    assert {float(entry["step"]) for entry in shown.values()} == {7.0}


def test_steps_call_by_call_and_replays_take_turns():
    captured, eager = Training("AdamW", {"capturable": True}), Training("AdamW", {"capturable": True})
    captured.warm_up(range(2))
    first = captured.capture()
    kept = [p.grad for p in captured.model.parameters()]  # of the first graph's memory
    second = captured.capture()
    for update in range(2, 10):
        captured.next(update)
        torch.cuda.synchronize()
        if update % 3 == 0:
            captured.update()
        else:
            (first if update % 3 == 1 else second).replay()
    eager.warm_up(range(10))
    captured.assert_equals(eager)
    del kept


def test_even_a_first_step_may_be_captured():
    captured, eager = Training("AdamW", {"capturable": True}), Training("AdamW", {"capturable": True})
    graph = captured.capture()
    for update in range(4):
        captured.next(update)
        graph.replay()
    eager.warm_up(range(4))
    captured.assert_equals(eager)


def test_a_capture_asks_for_other_streams_to_be_done():
    training = Training("AdamW", {"capturable": True})
    training.warm_up(range(1))
    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(side):
        training.update()
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin()  # torch.cuda.graph would have waited
        with pytest.raises(gradstep.InvalidState, match="what was asked on another stream before is not done"):
            training.optimizer.step()
        graph.capture_end()


def test_the_example_runs_there(capsys):
    spec = importlib.util.spec_from_file_location("torch_graph", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    sys.modules["torch_graph"] = example
    spec.loader.exec_module(example)
    example.UPDATES = 12
    example.main()
    assert "the same bits" in capsys.readouterr().out
