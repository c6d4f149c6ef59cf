# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""An example program of each kind passes mypy --strict, but for calls of torch's functions that have no types."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gradstep

pytest.importorskip("mypy")

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "python"
SETTINGS = """[mypy]
strict = true
follow_imports = silent
ignore_missing_imports = true
untyped_calls_exclude = torch

[mypy-gradstep.*]
ignore_missing_imports = false

[mypy-torch.distributed.checkpoint]
implicit_reexport = true
"""
PROGRAMS = {
    "numpy": [
        "first_step/first_step.py",
        "how_to/own_shards.py",
        "how_to/own_transport.py",
        "how_to/resume_elsewhere.py",
        "how_to/sparse_sync.py",
    ],
    "jax": ["jax_recipe/jax_recipe.py", "optax_training/optax_training.py"],
    "torch": [
        "torch_training/torch_training.py",
        "how_to/mixed_precision.py",
        "frameworks/zero1.py",
        "frameworks/zero2.py",
        "frameworks/fsdp2.py",
        "frameworks/torchrun_ddp.py",
    ],
    "flax": ["model_libraries/with_nnx.py"],
    "equinox": ["model_libraries/with_equinox.py"],
    "keras": ["model_libraries/with_keras.py"],
    "transformers": ["frameworks/with_trainer.py"],
    "accelerate": ["frameworks/with_accelerate.py"],
    "pytorch_lightning": ["frameworks/with_lightning.py"],
    "ray": ["frameworks/with_ray_train.py"],
}


@pytest.mark.parametrize(
    "package", [pytest.param(name, marks=[] if name == "numpy" else pytest.mark.night) for name in PROGRAMS]
)
def test_programs_are_strictly_typed(tmp_path, package):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"needs {package}")
    cache = ROOT / "build" / "mypy" / package  # kept, so that the next run is quick
    settings = tmp_path / "mypy.ini"
    settings.write_text(SETTINGS)
    programs = [EXAMPLES / name for name in PROGRAMS[package]]
    places = {str(program.parent) for program in programs}
    package_folder = Path(gradstep.__file__).parents[1]
    if package_folder.name != "site-packages":  # where mypy finds it by itself
        places.add(str(package_folder))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", settings, "--cache-dir", cache, *programs],
        capture_output=True,
        text=True,
        env={**os.environ, "MYPYPATH": os.pathsep.join(sorted(places))},
    )
    assert done.returncode == 0, done.stdout + done.stderr
