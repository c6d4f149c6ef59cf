# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The programs that scripts/gpu_check measures with, in small sizes on the emulated device."""

import gc
import sys
import types
from pathlib import Path

import pytest
from emulated_cuda import FOLDER, control, needs_device

torch = pytest.importorskip("torch")

from emulated_torch_cuda import present_with_fused_rules  # noqa: E402

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import cuda_contest  # noqa: E402
import cuda_shampoo  # noqa: E402
import cuda_torch  # noqa: E402

pytestmark = needs_device


@pytest.fixture(autouse=True)
def the_emulated_device(monkeypatch):
    monkeypatch.setenv("GRADSTEP_PLUGIN_DIR", FOLDER)
    control().set_seed(1)
    gc.collect()  # optimizers of earlier tests would wait for the device in the middle of this one
    with present_with_fused_rules(monkeypatch):
        yield


def run(program, *arguments):
    return program.main(["--small", *arguments])


def rows(text):
    """By their first cell."""
    return {line.split(" | ")[0].removeprefix("| "): line for line in text.splitlines() if line.startswith("| ")}


@pytest.mark.parametrize(
    ("section", "row"),
    [
        ("rules", "AdamW: PyTorch fused"),
        ("tensors", "PyTorch fused, a graph"),
        ("window", "PyTorch: _foreach_zero_, _foreach_add_, clip_grad_norm_, fused, a graph"),
        ("topk", "torch.topk of magnitudes"),
    ],
)
def test_contenders_agree_and_are_reported(section, row, capfd):
    assert run(cuda_torch, section) == 0, capfd.readouterr().err
    assert row in rows(capfd.readouterr().out)


@pytest.mark.parametrize("section", cuda_shampoo.SECTIONS)
def test_shampoo_is_measured_without_its_peer(section, capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed_shampoo", None)  # whatever is installed here
    assert run(cuda_shampoo, section) == 0, capfd.readouterr().err
    out = capfd.readouterr().out
    assert ("Meta's Distributed Shampoo: not installed" in out) == (section in ("model", "transformer"))
    assert any(name.startswith(("gradstep, coupled_newton", "blocks of 8", "8")) for name in rows(out)), out


class AnotherShampoo(torch.optim.SGD):
    """In the place of Meta's."""

    def __init__(self, parameters, lr, betas, grafting_config, **_):
        super().__init__(parameters, lr)


def test_a_peer_of_shampoo_takes_part(capfd, monkeypatch):
    package = types.ModuleType("distributed_shampoo")
    package.DistributedShampoo = AnotherShampoo
    package.RMSpropPreconditionerConfig = lambda beta2: beta2
    monkeypatch.setitem(sys.modules, "distributed_shampoo", package)
    assert run(cuda_shampoo, "model") == 0, capfd.readouterr().err
    out = capfd.readouterr().out
    assert "Meta's Distributed Shampoo" in rows(out) and "Meta's Distributed Shampoo: cosine" in out


@pytest.mark.parametrize(
    ("module", "name", "section"),
    [
        (torch.optim.SGD, "step", "rules"),
        (torch.optim.Adam, "step", "tensors"),
        (torch.nn.utils, "clip_grad_norm_", "window"),
        (torch, "topk", "topk"),
    ],
)
def test_a_contender_that_computes_something_else_is_no_result(module, name, section, capfd, monkeypatch):
    """Of torch's, whose place something else takes."""
    others = {"topk": lambda x, k, **_: (x[:k], torch.arange(k).to("cuda"))}
    monkeypatch.setattr(module, name, others.get(name, lambda *_, **__: None))
    assert run(cuda_torch, section) == 1
    captured = capfd.readouterr()
    assert f"{section}: AssertionError" in captured.err and not rows(captured.out)


def test_methods_that_differ_from_the_cpu_are_no_result(capfd, monkeypatch):
    own = cuda_shampoo.ours
    monkeypatch.setattr(
        cuda_shampoo, "ours", lambda *a, **o: own(*a, **o, **({"nesterov": False} if "root_method" in o else {}))
    )
    assert run(cuda_shampoo, "products") == 1
    assert "differ from the CPU's" in capfd.readouterr().err


def test_what_is_missing_is_said(capfd, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert run(cuda_torch) == run(cuda_shampoo) == cuda_contest.NOTHING_TO_RUN_ON
    assert "finds no GPU" in capfd.readouterr().err
