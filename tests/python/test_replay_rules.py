# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Rules, and rounds of local steps, beside the systems that they come from (tests/conformance)."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "conformance"
PROGRAM = FOLDER / "replay_rules"


def replay(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, PROGRAM, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("folder", ["rules", "rounds"])
def test_every_case_is_within_its_tolerance(folder):
    done = replay(FOLDER / folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith(" 0 misses")
    replayed = {line.split()[0] for line in done.stdout.splitlines() if line.endswith(" ok")}
    assert replayed == {path.stem for path in (FOLDER / folder).glob("*.npz")}


def test_another_outer_step_is_a_miss(tmp_path):
    arrays = dict(np.load(FOLDER / "rounds" / "diloco_2.npz"))
    arrays["default/outer_0"] = arrays["default/outer_0"] + np.float32(1e-4)
    np.savez(tmp_path / "diloco_2.npz", **arrays)
    done = replay(tmp_path)
    assert done.returncode == 1
    assert done.stdout.count("MISS") == 2


@pytest.mark.parametrize("change", ["the numbers", "the source"])
def test_a_difference_is_a_miss_and_an_unknown_rule_has_a_reason(tmp_path, change):
    arrays = dict(np.load(FOLDER / "rules" / "lion_optax.npz"))
    if change == "the numbers":
        arrays["full/p_0"] = arrays["full/p_0"] + np.float32(1e-4)
        np.savez(tmp_path / "lion_optax.npz", **arrays)
        done = replay(tmp_path)
        assert done.returncode == 1
        assert "lion_optax full float64: 0.0001 of" in done.stdout
        assert done.stdout.count("MISS") == 2
    else:
        np.savez(tmp_path / "tiger_optax.npz", **arrays)
        done = replay(tmp_path)
        assert done.returncode == 0
        assert "tiger_optax full: skipped, no rule 'lion'" in done.stdout
