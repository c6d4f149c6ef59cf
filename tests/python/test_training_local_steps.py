# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""benchmarks/training_local_steps.py, and the record that docs/training_local_steps.md is made of."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECORD = json.loads((ROOT / "benchmarks" / "recorded" / "training_local_steps.json").read_text())


def test_every_way_is_trained_by_the_same_seeds():
    runs = RECORD["runs"]
    assert set(runs) == set(RECORD["options"])
    assert {len(each) for each in runs.values()} == {3}
    assert len({tuple(run["updates"]) for each in runs.values() for run in each}) == 1


def test_local_steps_send_less_by_their_number():
    sent = {name: each[0]["megabytes"][-1] for name, each in RECORD["runs"].items()}
    assert sent["K = 10"] == pytest.approx(sent["dense"] / 10, rel=0.01)
    assert sent["K = 10, streaming"] == pytest.approx(sent["K = 10"], rel=0.01)
    assert sent["K = 50"] == pytest.approx(sent["dense"] / 50, rel=0.01)
    assert sent["K = 10, int8"] < sent["K = 10"] / 3


def test_local_steps_take_less_time():
    seconds = {name: min(run["seconds"][-1] for run in each) for name, each in RECORD["runs"].items()}
    assert seconds["K = 50"] < seconds["K = 10"] < seconds["dense"]


def test_the_quick_size_trains_in_every_way(tmp_path):
    pytest.importorskip("torch")
    record = tmp_path / "record.json"
    command = [sys.executable, ROOT / "benchmarks" / "training_local_steps.py", "--quick", record]
    said = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert said.returncode == 0, said.stderr
    if said.stdout.startswith("SKIPPED"):
        pytest.skip(said.stdout)
    found = json.loads(record.read_text())
    assert list(found["runs"]) == list(RECORD["options"])
    for name, (run,) in found["runs"].items():
        assert run["losses"][-1] < 4.5, name
