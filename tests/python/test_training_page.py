# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""benchmarks/training_by_mode.py, and the record that docs/training_by_mode.md is made of."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECORD = json.loads((ROOT / "benchmarks" / "recorded" / "training_by_mode.json").read_text())


def test_every_mode_is_trained_by_the_same_seeds():
    runs = RECORD["runs"]
    assert set(runs) == set(RECORD["options"])
    assert {len(each) for each in runs.values()} == {3}
    assert len({tuple(run["updates"]) for each in runs.values() for run in each}) == 1
    sent = {name: each[0]["megabytes"][-1] for name, each in runs.items()}
    assert sent["half"] == pytest.approx(sent["dense"] / 2, rel=0.01)
    assert sent["dense"] / 4 < sent["int8"] == sent["fp8_e4m3"] < sent["dense"] / 3
    assert sent["dense"] / 8 < sent["int4"] < sent["dense"] / 7


def test_the_quick_size_trains_in_every_mode(tmp_path):
    pytest.importorskip("torch")
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import training_by_mode
    finally:
        sys.path.pop(0)
    record = tmp_path / "record.json"
    assert training_by_mode.main(["--quick", str(record)]) == 0
    found = json.loads(record.read_text())["runs"]
    assert list(found) == list(training_by_mode.MODES)
    for name, (run,) in found.items():
        assert run["losses"][-1] < run["losses"][0], name
