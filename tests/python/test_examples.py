# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The examples run in a copy of their folder, and show what they say."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gradstep

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"


@pytest.fixture
def run(tmp_path):
    def run_copied(folder, program, *arguments, status=0):
        copy = shutil.copytree(EXAMPLES / folder, tmp_path / folder)
        command = [sys.executable, program, *map(str, arguments)]
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=300)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    return run_copied


@pytest.mark.parametrize("readme", sorted(EXAMPLES.glob("*/README.md")), ids=lambda readme: readme.parent.name)
def test_the_commands_of_a_readme_name_programs_of_its_folder(readme):
    named = re.findall(r"^    (?:python3?|torchrun) .*?(\w+\.py)", readme.read_text(), re.MULTILINE)
    assert named
    assert [name for name in named if not (readme.parent / name).is_file()] == []


def test_no_file_names_a_place_outside_of_its_folder():
    files = [file for file in EXAMPLES.parent.glob("*/*/**/*") if file.is_file() and "target" not in file.parts]
    texts = {file: file.read_text(errors="ignore") for file in files if file.suffix != ".pyc"}
    naming = {file.relative_to(EXAMPLES.parent) for file, text in texts.items() if "../" in text}
    assert {file for file in naming if file.name not in ("README.md", "Cargo.toml")} == set()


def test_first_step(run):
    assert "[0.75 2.25 2.75 4.25]" in run("first_step", "first_step.py")


def test_jax_recipe(run):
    assert "NumPy: largest difference in 50 iterations" in run("jax_recipe", "jax_recipe.py")


def test_torch_training(run):
    pytest.importorskip("torch")
    assert "resumed in the middle: the same bits" in run("torch_training", "torch_training.py")


def test_cuda_graph_of_pytorch_says_why_it_cannot_run(run):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    output = run("cuda_graph", "torch_graph.py", status=77)
    assert "nothing to run on: PyTorch finds no CUDA device" in output


def test_optax_training(run):
    pytest.importorskip("optax")
    assert "resumed in the middle: the same bits" in run("optax_training", "optax_training.py")


@pytest.mark.night
@pytest.mark.parametrize(("program", "library"), [("keras", "keras"), ("nnx", "flax"), ("equinox", "equinox")])
def test_model_libraries(run, program, library):
    for package in (library, "optax", "sklearn", "torch"):
        if importlib.util.find_spec(package) is None:  # to import Keras is to choose its backend
            pytest.skip(f"needs {package}")
    found = re.search(rf"^{program}: accuracy (\S+)$", run("model_libraries", f"with_{program}.py"), re.MULTILINE)
    assert found and float(found[1]) > 0.9, "a guess is right in one of ten"


@pytest.mark.night
def test_transformer(run):
    pytest.importorskip("torch")
    output = run("transformer", "transformer.py", "--quick")
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
        ("own_transport", "over their own pipes; the bits are those of threads"),
        ("own_shards", "3 ranks with shards have the numbers of one with the whole"),
    ],
)
def test_how_to(run, program, says):
    assert says in run("how_to", f"{program}.py")


@pytest.mark.skipif(not gradstep.backend_available("gloo"), reason="needs gloo")
def test_digits_demo(run, tmp_path):
    missing = [name for name in ("matplotlib", "rich", "sklearn", "tqdm") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    output = run("digits_demo", "demo.py", "--updates", 12)
    assert output.count("ranks agree in every bit: ok") >= 8
    for recipe in ("half", "sparse 1 %, residual", "Adasum", "partial parameters"):
        assert f"│ {recipe} " in output
    assert not re.search(r"│ +-? +│", output), "every cell of the tables was measured"
    assert output.count(" > 12 │") >= 1, "a goal that is not reached within the run is no missing number"
    assert (tmp_path / "digits_demo" / "digits.png").stat().st_size > 10000
