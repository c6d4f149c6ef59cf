# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The examples run, and show what they say."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gradstep

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(*command):
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_first_step():
    assert "[0.75 2.25 2.75 4.25]" in run(EXAMPLES / "00_first_step" / "first_step.py")


def test_jax_recipe():
    assert "NumPy: largest difference in 50 iterations" in run(EXAMPLES / "03_jax_recipe" / "jax_recipe.py")


def test_torch_training():
    pytest.importorskip("torch")
    assert "resumed in the middle: the same bits" in run(EXAMPLES / "07_torch" / "torch_training.py")


def test_cuda_graph_of_pytorch_says_why_it_cannot_run():
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    program = EXAMPLES / "10_cuda" / "torch_graph.py"
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 77 and "nothing to run on: PyTorch finds no CUDA device" in done.stdout, done.stderr


def test_optax_training():
    pytest.importorskip("optax")
    assert "resumed in the middle: the same bits" in run(EXAMPLES / "08_optax" / "optax_training.py")


@pytest.mark.night
def test_transformer():
    pytest.importorskip("torch")
    output = run(EXAMPLES / "09_transformer" / "transformer.py", "--quick")
    assert output.count("resumed in the middle: the same bits") == 2 and "ranks agree in every bit" in output


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("accumulate_gradients", "PyTorch: "),
        ("adasum", "adasum_tree  distance to the truth"),
        ("local_steps", "diloco  distance to the truth"),
        ("sparse_sync", "MB sent, a dense sum sends 32.0 MB"),
        ("shampoo_from_adamw", "SOAP     mean square"),
        ("resume_elsewhere", "resumed on 1: the same bits"),
        ("lost_peer", "2 survivors made 12 steps and have the same bits"),
        ("grow_and_shrink", "2 ranks became 4 and then 3; those that stayed have the same bits"),
        ("mixed_precision", "skipped step 5 and halved the scale"),
        ("own_shards", "3 ranks with shards have the numbers of one with the whole"),
    ],
)
def test_how_to(program, says):
    assert says in run(EXAMPLES / "how_to" / f"{program}.py")


@pytest.mark.skipif(not gradstep.backend_available("gloo"), reason="needs gloo")
def test_digits_demo(tmp_path):
    missing = [name for name in ("matplotlib", "rich", "sklearn", "tqdm") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    shutil.copytree(EXAMPLES / "digits_demo", tmp_path / "examples" / "digits_demo")
    output = run(tmp_path / "examples" / "digits_demo" / "demo.py", "--updates", 12)
    assert output.count("ranks agree in every bit: ok") >= 8
    for recipe in ("half", "sparse 1 %, residual", "Adasum", "partial parameters"):
        assert f"│ {recipe} " in output
    assert not re.search(r"│ +-? +│", output), "every cell of the tables was measured"
    assert output.count(" > 12 │") >= 1, "a goal that is not reached within the run is no missing number"
    written = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*") if path.suffix != ".pyc"}
    assert written == {"examples", "build"}, "the documentation's picture is renewed by --picture alone"
    assert (tmp_path / "build" / "demo" / "digits.png").stat().st_size > 10000
