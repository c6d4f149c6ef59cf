# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""benchmarks/network.py: its links are as slow as they are said to be, and its quick size runs in every way."""

import functools
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

import gradstep

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import network  # noqa: E402
import slow_hosts  # noqa: E402

LINK = slow_hosts.best_link()
needs_hosts = pytest.mark.skipif((reason := slow_hosts.why_not(LINK)) is not None, reason=reason or "")
needs_gloo = pytest.mark.skipif(not gradstep.backend_available("gloo"), reason="needs gloo")

BANDWIDTH, DELAY = 12.5e6, 5e-3
QUESTIONS, BYTES = 20, 1 << 20

# Host 0 answers host 1, byte by byte, then takes what it sends.
ANSWER = f"""
import socket
listener = socket.create_server(("", 5000))
print(socket.gethostname(), flush=True)
connection, _ = listener.accept()
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for _ in range({QUESTIONS}):
    connection.sendall(connection.recv(1))
left = {BYTES}
while left:
    left -= len(connection.recv(left))
connection.sendall(b"x")
"""
ASK = f"""
import json, socket, sys, time
connection = socket.create_connection((sys.argv[1], 5000))
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
times = [time.monotonic()]
for _ in range({QUESTIONS}):
    connection.sendall(b"x")
    connection.recv(1)
    times.append(time.monotonic())
connection.sendall(bytes({BYTES}))
connection.recv(1)
whole = time.monotonic() - times[-1]
answers = [after - before for before, after in zip(times, times[1:])]
print(json.dumps({{"host": socket.gethostname(), "answer": min(answers), "whole": whole}}))
"""


@needs_hosts
def test_links_have_their_bandwidth_and_their_delay():
    with slow_hosts.SlowHosts(2, BANDWIDTH, DELAY, LINK) as hosts:
        answers = subprocess.Popen(hosts.command(0, sys.executable, "-c", ANSWER), stdout=subprocess.PIPE, text=True)
        try:
            assert answers.stdout.readline().strip() == "host0"
            asks = hosts.command(1, sys.executable, "-c", ASK, hosts.address(0))
            found = json.loads(subprocess.check_output(asks, text=True, timeout=60))
            assert answers.wait(10) == 0
        finally:
            slow_hosts.stop([answers])
        report = hosts.program_report()
    assert found["host"] == "host1"
    assert found["answer"] >= 2 * DELAY
    assert found["whole"] >= BYTES / BANDWIDTH + 2 * DELAY
    if report is not None:
        assert report["dropped"] == 0 and report["carried"][1] >= BYTES


@needs_hosts
@needs_gloo
@pytest.mark.parametrize(("hosts", "ranks_per_host"), [(2, 2), (3, 1)])
def test_the_quick_size_runs_in_every_way(hosts, ranks_per_host, capsys):
    ways = network.selected(None, ranks_per_host)
    world = network.World(hosts, ranks_per_host, 125e6, 1e-3, 4, 128, 1, ways)
    found = network.measure(world, LINK)
    rows = {row["way"]: row for row in found["rows"]}
    assert list(rows) == ways and ("dense-hosts" in ways) == (ranks_per_host > 1)
    table = capsys.readouterr().out
    for name, row in rows.items():
        assert f"| {name} " in table
        assert row["best"] >= row["limit"] * 0.98, f"{name} is faster than its link"
        assert ("forecast" in row) == (not name.startswith("torch"))
    assert rows["half"]["wire_bytes"] < 0.6 * rows["dense"]["wire_bytes"]

    # By hand: a rank sends (P - 1) / P of the bytes to owners of pieces, and the same of sums; two rounds.
    ranks = hosts * ranks_per_host
    size = 4 * 4 * 128 * 128
    on_link = 2 * (ranks - 1) / ranks * size * (ranks - ranks_per_host) / (ranks - 1) * ranks_per_host
    assert rows["dense"]["limit"] == pytest.approx(on_link / 125e6 + 2e-3)
    assert on_link <= rows["dense"]["wire_bytes"] <= 1.2 * on_link
    if ranks_per_host > 1:
        assert rows["dense-hosts"]["wire_bytes"] < 0.6 * rows["dense"]["wire_bytes"]


def run_quick(environment):
    command = [sys.executable, BENCHMARKS / "network.py", "--quick", "--networks", "1Gbit/s,1ms", "--hosts", "2x2"]
    # A shell in the background lets its children ignore SIGINT.
    heeds = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | environment, preexec_fn=heeds)


def processes_with(mark):
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in environment.read_bytes():
                found.append(environment.parent.name)
        except OSError:
            continue
    return found


@needs_hosts
@needs_gloo
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_after_an_interruption(number):
    mark = uuid.uuid4().hex
    with run_quick({"MARK": mark}) as benchmark:
        while len(processes_with(mark)) < 8:  # itself, two hosts, their link, four ranks
            assert benchmark.poll() is None
            time.sleep(0.05)
        benchmark.send_signal(number)
        assert benchmark.wait(30) != 0
    end = time.monotonic() + 10
    while processes_with(mark):
        assert time.monotonic() < end, "processes are left"
        time.sleep(0.1)


def test_it_says_why_it_does_nothing(tmp_path):
    with run_quick({"PATH": str(tmp_path)}) as benchmark:
        said = benchmark.stdout.read()
    assert benchmark.returncode == 0 and said.startswith("SKIPPED: network.py needs unshare")


@pytest.mark.parametrize("text", ["2", "1x4", "33x1", "2x0", "2x2x2", "axb"])
def test_hosts_that_there_cannot_be_are_refused(text, capsys):
    with pytest.raises(SystemExit):
        network.main(["--hosts", text])
    assert f"expected HxR with 2 to 32 hosts of 1 rank or more, found '{text}'" in capsys.readouterr().err


def test_results_renew_what_was_measured_again(tmp_path):
    world = network.World(2, 2, 125e6, 1e-3, 4, 128, 1, ["dense"])._asdict()
    results = tmp_path / "results.json"
    network.write(results, [world | {"rows": [1]}, world | {"delay": 1e-2, "rows": [2]}])
    network.write(results, [world | {"rows": [3]}])
    assert [one["rows"] for one in json.loads(results.read_text())["worlds"]] == [[3], [2]]
