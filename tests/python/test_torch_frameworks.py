# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/python/frameworks run on two ranks, learn, and end with the same bits on both."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

PROGRAMS = Path(__file__).resolve().parents[2] / "examples" / "python" / "frameworks"
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
MPIRUN = ("mpirun", "--oversubscribe", "-n", "2", sys.executable)
RAY_V1 = ("env", "RAY_TRAIN_V2_ENABLED=0", sys.executable)
PATIENT = {"RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "200"}  # the tests run beside each other
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@pytest.mark.parametrize(
    ("launcher", "program", "needs"),
    [
        (TORCHRUN, "torchrun_ddp", None),
        (TORCHRUN, "zero1", None),
        (TORCHRUN, "zero2", None),
        (TORCHRUN, "fsdp2", None),
        pytest.param(TORCHRUN, "with_accelerate", "accelerate", marks=pytest.mark.night),
        pytest.param(TORCHRUN, "with_trainer", "transformers", marks=pytest.mark.night),
        pytest.param(TORCHRUN, "with_lightning", "pytorch_lightning", marks=pytest.mark.night),
        (MPIRUN, "mpirun_updater", None),
        ((sys.executable,), "actors", None),
        pytest.param((sys.executable,), "with_ray_train", "ray.train", marks=pytest.mark.night),
        pytest.param(RAY_V1, "with_ray_train", "ray.train", marks=pytest.mark.night),
    ],
)
def test_program(launcher, program, needs):
    if needs is not None:
        pytest.importorskip(needs)
    if shutil.which(launcher[0]) is None:
        pytest.skip(f"needs {launcher[0]}")
    done = subprocess.run(
        [*launcher, PROGRAMS / f"{program}.py"],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **AS_ROOT, **PATIENT},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    ranks = re.findall(r"^rank (\d) of 2: accuracy (\S+), digest (\w+)(.*)$", done.stdout, re.MULTILINE)
    assert sorted(rank for rank, *_ in ranks) == ["0", "1"], done.stdout
    assert len({digest for *_, digest, _ in ranks}) == 1, "the ranks have the same bits"
    assert float(ranks[0][1]) > 0.85, "a guess is right in one of ten"
    if program == "torchrun_ddp":
        sent, dense = map(float, re.findall(r"([\d.]+) MB", ranks[0][3]))
        assert 0 < sent < dense / 2


@pytest.mark.night
def test_trls_trainer_takes_the_optimizer():
    pytest.importorskip("trl")
    done = subprocess.run(
        [sys.executable, PROGRAMS / "with_trl.py"],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "over 60 steps" in done.stdout
