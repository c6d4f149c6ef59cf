# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""benchmarks/scale.py, and the record that docs/scale.md is made of."""

import json
import sys
from pathlib import Path

import pytest

import gradstep
from gradstep import _native

ROOT = Path(__file__).resolve().parents[2]
RECORD = json.loads((ROOT / "benchmarks" / "recorded" / "scale.json").read_text())


@pytest.fixture
def scale():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import scale
    finally:
        sys.path.pop(0)
    return scale


def test_the_record_is_what_the_planner_says(scale):
    assert RECORD["networks"] == scale.NETWORKS
    assert RECORD["bucket_elements"] == _native.cost_options().bucket_elements
    for name, network in scale.NETWORKS.items():
        for ranks in scale.RANKS:
            rows = RECORD["forecasts"][name][str(ranks)]
            found = scale.forecast(network, ranks)
            assert [(row["mode"], row["way"]) for row in rows] == [(row["mode"], row["way"]) for row in found]
            for row, again in zip(rows, found, strict=True):
                numbers = ("bytes", "seconds", "rounds")
                assert [again[key] for key in numbers] == pytest.approx([row[key] for key in numbers], rel=1e-9)
        for ranks in scale.COMPARED:
            rows, found = RECORD["break_evens"][name][str(ranks)], scale.break_evens(network, ranks)
            assert [(row["mode"], row["way"]) for row in rows] == [(row["mode"], row["way"]) for row in found]
            for row, again in zip(rows, found, strict=True):
                assert again["bandwidth"] == (row["bandwidth"] and pytest.approx(row["bandwidth"], rel=1e-6))


def test_at_its_break_even_a_mode_takes_as_long_as_dense(scale):
    network = scale.NETWORKS["slow"]
    (limit,) = [row for row in scale.break_evens(network, 1_024) if (row["mode"], row["way"]) == ("int8", "hosts")]
    at_limit = {**network, "bandwidth": limit["bandwidth"]}
    seconds = {row["mode"]: row["seconds"] for row in scale.forecast(at_limit, 1_024) if row["way"] == "hosts"}
    assert seconds["int8"] == pytest.approx(seconds["dense"], rel=1e-3)


@pytest.mark.skipif(not gradstep.backend_available("gloo"), reason="needs gloo")
def test_a_rank_has_a_descriptor_for_each_peer(scale):
    scale.connected(2)
    few, many = scale.connected(2), scale.connected(6)
    assert many["descriptors"] - few["descriptors"] == pytest.approx(4, abs=0.5)
    recorded = {row["ranks"]: row["descriptors"] for row in RECORD["connected"]}
    assert many["descriptors"] == pytest.approx(recorded[4] + 2, abs=0.5)


def test_what_a_rank_raises_is_raised(scale, monkeypatch):
    ends = gradstep.Communicator.local(3, timeout=0.5)

    def fail_one(rank, world_size, store):
        if rank == 1:
            raise OSError("no descriptor is left")
        return ends[rank]

    monkeypatch.setattr(gradstep.Communicator, "gloo", fail_one)
    with pytest.raises(OSError, match="no descriptor is left"):
        scale.connected(3)
