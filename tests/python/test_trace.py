# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The timeline of two ranks, its merging, and counters as text for Prometheus."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import run_ranks
from traced import MICRO_BATCHES, WINDOWS

import gradstep
from gradstep import trace

PROGRAM = Path(__file__).with_name("traced.py")
NANOSECOND = 0.0015
"""In microseconds: what rounding may change."""


@pytest.fixture(scope="module")
def timelines(tmp_path_factory):
    """Paths of the files that two ranks have written."""
    folder = tmp_path_factory.mktemp("traces")
    environment = {**os.environ, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "GRADSTEP_TRACE": str(folder / "run")}
    ranks = [subprocess.Popen([sys.executable, PROGRAM], env={**environment, "RANK": str(rank)}) for rank in range(2)]
    assert [rank.wait(120) for rank in ranks] == [0, 0]
    return [folder / f"run.{rank}.json" for rank in range(2)]


def phases(events):
    return [event for event in events if event["ph"] == "X"]


def test_every_phase_is_there_with_its_sizes(timelines):
    for path in timelines:
        events = phases(trace.read(path))
        named = {name: [event for event in events if event["name"] == name] for name in {e["name"] for e in events}}
        expected = {"window", "accumulate", "pack", "exchange", "wait", "step", "roots", "all_reduce"}
        assert expected <= named.keys()
        assert len(named["window"]) == WINDOWS
        assert len(named["step"]) == WINDOWS
        assert len(named["accumulate"]) == WINDOWS * MICRO_BATCHES
        assert [event["args"]["window"] for event in named["window"]] == list(range(WINDOWS))
        for event in named["exchange"]:
            assert event["args"].keys() == {"bucket", "bytes", "mode", "window"}
        of_first = [e["args"]["window"] for e in named["exchange"] if e["args"]["bucket"] == 0]
        assert of_first == list(range(WINDOWS))
        exchanged = {event["args"]["bucket"]: event["args"]["bytes"] for event in named["exchange"]}
        assert sum(exchanged.values()) == 4 * (2 * 256 * 256 + 256)


def test_events_are_of_the_format_and_nest(timelines):
    for path in timelines:
        events = json.loads(path.read_text())
        assert {event["ph"] for event in events} == {"M", "X"}
        of_thread = {}
        for event in phases(events):
            assert event.keys() == {"ph", "name", "cat", "pid", "tid", "ts", "dur", "args"}
            assert event["ts"] > 0 and event["dur"] >= 0
            of_thread.setdefault(event["tid"], []).append(event)
        for nested in of_thread.values():
            open_ends = []
            for event in sorted(nested, key=lambda event: (event["ts"], -event["dur"])):
                while open_ends and open_ends[-1] <= event["ts"] + NANOSECOND:
                    open_ends.pop()
                end = event["ts"] + event["dur"]
                assert not open_ends or end <= open_ends[-1] + NANOSECOND
                open_ends.append(end)


def test_ranks_merge_into_one_timeline(timelines, tmp_path):
    merged = tmp_path / "all.json"
    trace.main([*map(str, timelines), "-o", str(merged)])
    events = json.loads(merged.read_text())
    assert {event["pid"] for event in events} == {0, 1}
    assert len(events) == sum(len(trace.read(path)) for path in timelines)
    times = [event["ts"] for event in phases(events)]
    assert times == sorted(times)
    names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names == {"rank 0 of 2", "rank 1 of 2"}
    # One machine, one clock: no time is moved.
    assert times == sorted(event["ts"] for path in timelines for event in phases(trace.read(path)))


def test_clocks_of_other_machines_are_moved_by_the_ends_of_collectives(timelines):
    first, second = (trace.read(path) for path in timelines)
    ahead = 5e6
    for event in second:
        if event["name"] == "clock":
            event["args"]["name"] = "another machine"
        if "ts" in event:
            event["ts"] += ahead
    moved = sorted(event["ts"] for event in phases(trace.merge([first, second])) if event["pid"] == 1)
    offsets = [after - before for after, before in zip(moved, sorted(e["ts"] for e in phases(second)), strict=True)]
    assert max(offsets) - min(offsets) < 2 * NANOSECOND
    assert abs(offsets[0] + ahead) < ahead / 100


def test_a_file_that_was_not_completed_can_be_read(timelines, tmp_path):
    cut = tmp_path / "cut.json"
    cut.write_text(timelines[0].read_text()[:-40])
    assert 0 < len(trace.read(cut)) < len(trace.read(timelines[0]))
    cut.write_text("no trace")
    with pytest.raises(gradstep.InvalidArgument, match=r"cut\.json: is no trace"):
        trace.read(cut)


def test_traces_of_one_rank_do_not_merge(timelines):
    with pytest.raises(gradstep.InvalidArgument, match=r"are of ranks \[0, 0\], expected different ones"):
        trace.merge([trace.read(timelines[0])] * 2)


def test_start_and_stop(tmp_path):
    path = tmp_path / "own.json"
    values, grads = [np.ones(3, np.float32)], [np.ones(3, np.float32)]
    optimizer = gradstep.SGD(values, learning_rate=0.1)
    optimizer.step(values, grads)
    assert list(tmp_path.iterdir()) == []  # off writes nothing
    trace.start(path)
    with pytest.raises(gradstep.InvalidState, match=r"own\.json"):
        trace.start(tmp_path / "second.json")
    optimizer.step(values, grads)
    trace.stop()
    optimizer.step(values, grads)
    steps = [event["args"] for event in phases(trace.read(path)) if event["name"] == "step"]
    assert steps == [{"parameters": 1}]
    with pytest.raises(gradstep.InputOutputError, match="nowhere"):
        trace.start(tmp_path / "nowhere" / "trace.json")


LINE = re.compile(r'gradstep_(comm|reducer|updater)_\w+_total(\{\w+="[^"]*"(,\w+="[^"]*")*\})? -?\d+(\.\d+)?')


def samples(text):
    """Values by name and labels; every family has its HELP and TYPE before its lines."""
    found, family = {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family = line.split()[2]
        elif line.startswith("# TYPE "):
            assert line == f"# TYPE {family} counter"
        else:
            assert LINE.fullmatch(line), line
            assert re.split(r"[{ ]", line)[0] == family
            name, _, value = line.rpartition(" ")
            found[name] = float(value)
    return found


def test_counters_are_text_for_prometheus():
    def train(comm):
        values, grads = [np.ones(8, np.float32)], [np.ones(8, np.float32)]
        reducer = gradstep.Reducer(comm, values)
        updater = gradstep.Updater(gradstep.SGD(values, learning_rate=0.1), reducer=reducer)
        for _ in range(3):
            updater.push(values, grads)
        comm.barrier()
        # docs:begin counters
        texts = comm.counters('job="7"'), reducer.counters(), updater.counters(f'rank="{comm.rank}"')
        # docs:end counters
        return texts

    for rank, texts in enumerate(run_ranks(2, train)):
        of_comm, of_reducer, of_updater = map(samples, texts)
        assert of_comm['gradstep_comm_calls_total{call="barrier",job="7"}'] == 1
        assert of_comm['gradstep_comm_seconds_total{job="7"}'] > 0
        assert of_reducer['gradstep_reducer_exchanges_total{bucket="0",mode="dense"}'] == 3
        assert of_reducer['gradstep_reducer_sent_bytes_total{bucket="0",mode="dense"}'] == 3 * 32
        assert of_updater[f'gradstep_updater_steps_total{{rank="{rank}"}}'] == 3
        assert of_updater[f'gradstep_updater_seconds_total{{phase="step",rank="{rank}"}}'] > 0


def test_labels_that_would_break_the_lines_are_refused():
    with (
        gradstep.Communicator.self() as comm,
        pytest.raises(gradstep.InvalidArgument, match=r"(?s)labels: .* line break or a brace"),
    ):
        comm.counters('job="7"}\n')
