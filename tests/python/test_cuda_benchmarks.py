# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The programs that scripts/gpu_check measures with, in small sizes on the emulated device."""

import gc
import sys
import types
import weakref
from pathlib import Path

import pytest
from emulated_cuda import FOLDER, control, needs_device

torch = pytest.importorskip("torch")

from emulated_torch_cuda import present_with_fused_rules  # noqa: E402

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import cuda_contest  # noqa: E402
import cuda_shampoo  # noqa: E402
import cuda_torch  # noqa: E402

pytestmark = [needs_device, pytest.mark.night]


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


def titles(text):
    """Titles of the tables, in their order."""
    lines = text.splitlines()
    return [lines[k - 1].split(" | ")[0] for k, line in enumerate(lines) if line.startswith("|---")]


@pytest.mark.parametrize("section", ["tensors", "window"])
def test_a_graph_that_fails_leaves_the_calls_their_rows(section, capfd, monkeypatch):
    def refused(self):
        raise RuntimeError("operation not permitted | when stream is capturing")

    monkeypatch.setattr(torch.cuda.CUDAGraph, "capture_begin", refused)
    assert run(cuda_torch, section) == 1
    captured = capfd.readouterr()
    first, second = (title.removesuffix(", graphs") for title in titles(captured.out))
    assert first == second and "differ" not in first
    found = rows(captured.out)
    assert {"tensors": "PyTorch fused", "window": "gradstep"}[section] in found
    assert sum("RuntimeError: operation not permitted / when stream is capturing" in name for name in found) == 2
    assert f"{section}, graphs: AssertionError" in captured.err


def test_a_contender_that_fails_late_keeps_its_rounds(capfd, monkeypatch):
    calls = []

    def fails_late(x, k, **_):
        calls.append(k)
        if len(calls) > cuda_contest.WARM_UP + 2 * 2:  # the round that is not counted, and one that is
            raise RuntimeError("late")
        return (x[:k], torch.arange(k).to("cuda"))

    monkeypatch.setattr(torch, "topk", fails_late)
    assert run(cuda_torch, "topk") == 1
    found = rows(capfd.readouterr().out)
    assert "gradstep, with a residual" in found
    (late,) = (line for name, line in found.items() if name.startswith("torch.topk"))
    _, name, best, median, *_ = late.split("|")
    assert "RuntimeError: late" in name and float(best) == float(median) > 0


def test_what_cannot_be_compared_is_printed_and_fails(capfd, monkeypatch):
    def refused(*_):
        raise RuntimeError("an illegal access")

    monkeypatch.setattr(cuda_torch, "difference", refused)
    assert run(cuda_torch, "rules") == 1
    captured = capfd.readouterr()
    assert titles(captured.out) == ["| 5000 f32, not compared"] and "AdamW: PyTorch fused" in rows(captured.out)
    assert "5000 f32: not compared: RuntimeError: an illegal access" in captured.err


def test_the_versions_are_said_once(capfd):
    assert run(cuda_torch, "tensors", "topk") == 0
    lines = [line for line in capfd.readouterr().out.splitlines() if line.startswith("PyTorch ")]
    assert len(lines) == 1 and lines[0].startswith(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}")


@pytest.mark.parametrize(
    "section",
    cuda_shampoo.SECTIONS,
)
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


@pytest.fixture
def peer(monkeypatch):
    package = types.ModuleType("distributed_shampoo")
    package.DistributedShampoo = AnotherShampoo
    package.RMSpropPreconditionerConfig = lambda beta2: beta2
    monkeypatch.setitem(sys.modules, "distributed_shampoo", package)
    return AnotherShampoo


def test_a_peer_of_shampoo_takes_part(capfd, peer):
    assert run(cuda_shampoo, "model") == 0, capfd.readouterr().err
    out = capfd.readouterr().out
    assert "Meta's Distributed Shampoo" in rows(out) and "Meta's Distributed Shampoo: cosine" in out


@pytest.mark.parametrize("at", ["the first step", "a later one"])
def test_a_peer_that_fails_takes_no_row_with_it(at, capfd, peer, monkeypatch):
    calls = []

    def fails(self):
        calls.append(self)
        if at == "the first step" or len(calls) > 1:
            raise RuntimeError("linalg.eigh: no convergence")

    monkeypatch.setattr(peer, "step", fails)
    assert run(cuda_shampoo, "model") == 0, capfd.readouterr().err
    out = capfd.readouterr().out
    assert "| Meta's Distributed Shampoo: failed (RuntimeError: linalg.eigh: no convergence) | 0 |" in out
    assert len(titles(out)) == 2 and "gradstep, eigh" in rows(out)


def a_contest(makers, seconds):
    return cuda_shampoo.measure(makers, [(4, 4)], 2, seconds)


def test_a_first_run_that_is_long_is_the_only_one(capfd):
    """Any of these is longer than no time."""
    names = [f"gradstep, {method}" for method in cuda_shampoo.METHODS]
    found = a_contest({name: lambda own: cuda_shampoo.ours(own, 4, 1) for name in names}, 0)
    assert [(one.name, len(one.rounds), one.steps) for one in found] == [(name, 1, 2) for name in names]
    assert "gradstep, eigh: 2 step(s) for the first time: " in capfd.readouterr().out


class Memory:
    """In the place of a tensor, which the emulation's queue keeps."""


def test_what_does_not_fit_keeps_no_memory(capfd):
    held = []

    def too_large(own):
        own.append(Memory())
        state = Memory()
        held.extend(map(weakref.ref, (own[-1], state)))
        raise torch.cuda.OutOfMemoryError("tried to allocate 1 TiB")

    def last(own):
        assert len(held) == 2 and not any(reference() for reference in held)
        return cuda_shampoo.ours(own, 4, 1)

    found = a_contest({"too large": too_large, "last": last}, 60)
    assert found[0].failure.startswith("does not fit into the device's memory") and found[0].is_too_large
    assert not found[1].failure and found[1].rounds
    assert "too large: does not fit" in capfd.readouterr().out


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
    """Replaces a function of torch's. The table is printed, and says so."""
    others = {"topk": lambda x, k, **_: (x[:k], torch.arange(k).to("cuda"))}
    monkeypatch.setattr(module, name, others.get(name, lambda *_, **__: None))
    assert run(cuda_torch, section) == 1
    captured = capfd.readouterr()
    assert f"{section}: AssertionError" in captured.err
    assert titles(captured.out) and all(title.endswith(", results differ") for title in titles(captured.out))


def test_methods_that_differ_from_the_cpu_are_no_result(capfd, monkeypatch):
    own = cuda_shampoo.ours
    monkeypatch.setattr(
        cuda_shampoo, "ours", lambda *a, **o: own(*a, **o, **({"nesterov": False} if "root_method" in o else {}))
    )
    assert run(cuda_shampoo, "products") == 1
    captured = capfd.readouterr()
    assert "eigh: steps differ from the CPU's" in captured.err
    assert titles(captured.out) == ["| TFLOP/s, results differ"] and "blocks of 8" in rows(captured.out)


def test_roots_that_differ_do_not_end_the_table(capfd, monkeypatch):
    own, calls = cuda_shampoo.time_roots, []

    def another(*arguments, **options):
        found = own(*arguments, **options)
        calls.append(options)
        if len(calls) == 1:  # of 4, f64
            found.root = found.root * 2
        return found

    monkeypatch.setattr(cuda_shampoo, "time_roots", another)
    assert run(cuda_shampoo, "roots") == 1
    captured = capfd.readouterr()
    assert "roots of 4, f64: the methods differ by" in captured.err
    assert {"4, f64 differs", "8"} <= set(rows(captured.out))


def test_the_rate_of_roots_counts_five_products_a_step_but_for_the_first_and_the_last(capfd):
    found = cuda_shampoo.time_roots(4, 2, True, root_method="coupled_newton", root_precision="f64")
    assert 2 <= found.steps <= 40
    assert found.teraflops(4) == pytest.approx((5 * found.steps - 4) * 2 * 64 / (found.milliseconds * 1e-3) / 1e12)
    assert cuda_shampoo.time_roots(4, 2, True, root_method="eigh", root_precision="f64").steps == 0


def test_what_is_missing_is_said(capfd, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert run(cuda_torch) == run(cuda_shampoo) == cuda_contest.NOTHING_TO_RUN_ON
    assert "finds no GPU" in capfd.readouterr().err
