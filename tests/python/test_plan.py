# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The planner: its formulas, read independently; its verdicts, against the clock; its command line."""

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from emulated_link import EmulatedLink, NetworkClock, run_over_link

import gradstep
from gradstep import _quantities, plan

# Ways to reduce, by the planner's names, and the options of a Reducer that goes that way.
WAYS = {
    ("dense", "own"): {},
    ("half", "own"): {},
    ("bfloat16", "own"): {},
    ("int8", "own"): {},
    ("int4", "own"): {},
    ("fp8_e4m3", "own"): {},
    ("fp8_e5m2", "own"): {},
    ("sparse_topk", "gather"): {"sparsity": 0.01, "sparse_exchange": "gather"},
    ("sparse_topk", "split"): {"sparsity": 0.01, "sparse_exchange": "split"},
    ("powersgd", "own"): {"rank": 2},
    ("adasum_tree", "own"): {},
    ("adasum_nway", "own"): {},
}
ROWS = 512


def windows_on_the_network(comm, link, elements, rounds):
    """Begin and end of every window on the network's clock, by way."""
    context = gradstep.Context(num_threads=1)
    gradient = np.random.default_rng(comm.rank).standard_normal((ROWS, elements // ROWS), dtype=np.float32)
    windows = {}
    for way, options in WAYS.items():
        reducer = gradstep.Reducer(comm, [gradient], mode=way[0], context=context, **options)
        windows[way] = []
        for _ in range(rounds):
            comm.barrier()
            begin = link.clock.now()
            reducer.reduce([gradient], in_place=False)
            windows[way].append((begin, link.clock.now()))
    return windows


@pytest.mark.parametrize(
    ("bandwidth", "latency", "elements"),
    # Every rank owns as much of each: vectors are divided by chunks of 16384 elements.
    [(125e6, 1e-3, 1 << 16), (125e6, 1e-3, 1 << 18), (125e6, 1e-3, 1 << 22), (12.5e6, 5e-3, 1 << 18)],
)
@pytest.mark.parametrize("ranks", [2, 4])
def test_forecasts_are_what_the_network_takes(ranks, bandwidth, latency, elements):
    links = EmulatedLink.world(ranks, bandwidth, latency, NetworkClock)
    by_rank = run_over_link(links, lambda comm: windows_on_the_network(comm, links[comm.rank], elements, 3))
    predicted = plan.predict(
        elements, ranks, bandwidth, latency, rows=ROWS, columns=elements // ROWS, bucket_elements=elements, message=0
    )
    forecast = {(one.mode, one.algorithm): one.network_seconds for one in predicted.modes}
    for way in WAYS:
        for window in zip(*(windows[way] for windows in by_rank), strict=True):
            begins, ends = zip(*window, strict=True)
            # Apart from the small heads of messages.
            assert max(ends) - max(begins) == pytest.approx(forecast[way], rel=0.02), way


BASE = {"parameters": 1 << 20, "ranks": 16, "bandwidth": 1e9, "latency": 1e-3, "message": 0.0}


def seconds_of(found, mode, algorithm="own"):
    return next(one.network_seconds for one in found.modes if (one.mode, one.algorithm) == (mode, algorithm))


def test_formulas():
    """Thakur, Rabenseifner and Gropp's, and what the modes send by their definitions."""
    n, p, bandwidth, latency = 4.0 * (1 << 20), 16, 1e9, 1e-3
    found = plan.predict(**BASE)
    dense = {one.algorithm: one.network_seconds for one in found.dense_algorithms}
    assert dense["ring"] == pytest.approx(2 * (p - 1) * (latency + n / (p * bandwidth)), rel=1e-12)
    assert dense["tree"] == pytest.approx(2 * math.log2(p) * latency + 2 * n * (p - 1) / p / bandwidth, rel=1e-12)
    assert dense["own"] == pytest.approx(2 * latency + 2 * n * (p - 1) / p / bandwidth, rel=1e-12)
    assert "hierarchical" not in dense
    assert seconds_of(found, "half") == pytest.approx(2 * latency + n * (p - 1) / p / bandwidth, rel=1e-12)
    selected = math.ceil(0.01 * (1 << 20))
    assert selected % 2 == 0  # lists are whole words; in front of them are two
    gathered = latency + (16 + 8 * selected) * (p - 1) / bandwidth
    assert seconds_of(found, "sparse_topk", "gather") == pytest.approx(gathered, rel=1e-12)
    # Two factors of 1024 x 2, one matrix: 8 KiB each, so that all is gathered from up to eight ranks.
    powersgd = plan.predict(**{**BASE, "ranks": 8})
    assert seconds_of(powersgd, "powersgd") == pytest.approx(2 * (latency + 8192 * 7 / bandwidth), rel=1e-12)
    hosts = plan.predict(**BASE, ranks_per_host=4, host_bandwidth=1e10, host_latency=0.0)
    dense = {one.algorithm: one.network_seconds for one in hosts.dense_algorithms}
    between = min(2 * 3 * (latency + n / 4 / bandwidth), 2 * 2 * latency + 2 * n * 3 / 4 / bandwidth)
    assert dense["hierarchical"] == pytest.approx(2 * n * 3 / 4 / 1e10 + between, rel=1e-12)
    # The four owners of a host use its link at once, and the four hosts exchange pieces of n / 4 directly.
    own = 2 * latency + 2 * (n / 4) * 3 / 4 * 4 / bandwidth
    assert dense["hosts"] == pytest.approx(2 * n * 3 / 4 / 1e10 + own, rel=1e-12)


def test_calls_and_rounds():
    modes = {(one.mode, one.algorithm): (one.calls, one.rounds) for one in plan.predict(**BASE).modes}
    assert modes["dense", "own"] == (1, 2)
    assert modes["int8", "own"] == modes["int4", "own"] == modes["fp8_e4m3", "own"] == (2, 2)
    assert modes["sparse_topk", "gather"] == (1, 1)
    assert modes["sparse_topk", "split"] == (4, 4)
    by_hosts = plan.predict(**BASE, ranks_per_host=4, algorithm="hosts", control_parameters=3).modes[0]
    assert (by_hosts.calls, by_hosts.rounds) == (2, 2 + 2 + 2 + 1)  # few numbers are gathered between hosts


def test_algorithms_apply_to_what_is_all_reduced():
    ring = plan.predict(**BASE, algorithm="ring")
    algorithms = ["ring"] * 3 + ["own"] * 4 + ["gather", "split", "ring", "own", "own"]
    assert [one.algorithm for one in ring.modes] == algorithms
    best = plan.predict(**{**BASE, "ranks": 4096}, algorithm="best", ranks_per_host=8)
    assert best.modes[0].seconds == min(one.seconds for one in best.dense_algorithms)
    assert plan.predict(**{**BASE, "ranks": 100000}, ranks_per_host=8).cheapest.seconds > 0


def test_the_cheapest_mode_and_break_evens_follow_from_the_times():
    found = plan.predict(25_000_000, 4, 125e6, 5e-3)
    assert found.cheapest.seconds == min(one.seconds for one in found.modes)
    assert plan.predict(25_000_000, 4, 1e12, 1e-6).cheapest.mode == "dense"
    assert [(one.mode, one.algorithm) for one in found.break_evens] == [
        (one.mode, one.algorithm) for one in found.modes if one.mode != "dense"
    ]
    for one in found.break_evens:
        if one.mode.startswith("adasum"):
            assert one.bandwidth is None
            continue
        if one.bandwidth == math.inf:  # it saves rounds
            fastest = plan.predict(25_000_000, 4, 1e15, 5e-3)
            mode = next(row for row in fastest.modes if (row.mode, row.algorithm) == (one.mode, one.algorithm))
            assert mode.seconds < fastest.dense.seconds, one
            continue
        for factor, faster in [(0.99, True), (1.01, False)]:
            near = plan.predict(25_000_000, 4, one.bandwidth * factor, 5e-3)
            mode = next(row for row in near.modes if (row.mode, row.algorithm) == (one.mode, one.algorithm))
            assert (mode.seconds < near.dense.seconds) == faster, one
    assert found.efficiency(found.dense) is None
    timed = plan.predict(25_000_000, 4, 125e6, 5e-3, compute=1.0)
    assert timed.efficiency(timed.dense) == pytest.approx(1 / (1 + timed.dense.seconds))


def test_buckets_pay_for_their_rounds():
    one = plan.predict(**BASE).dense_algorithms
    four = plan.predict(**BASE, bucket_elements=1 << 18).dense_algorithms
    assert four[1].seconds - one[1].seconds == pytest.approx(3 * 2 * 15 * 1e-3)


def test_the_processor_is_measured_or_given():
    measured = plan.measure_costs()
    assert all(0 < seconds < 1e-5 for seconds in measured.values())
    nothing = dict.fromkeys(measured, 0.0)
    for name, mode, elements in [
        ("encode", "int8", 1 + 1 / 16),
        ("decode", "int4", 3 + 1 / 16),
        ("convert", "half", 1),
        ("select", "sparse_topk", 1),
        ("multiply", "powersgd", 6 / 5),
        ("merge", "adasum_tree", 15 / 16),
    ]:
        given = plan.predict(**BASE, processor={**nothing, name: 1e-9})
        found = next(one for one in given.modes if one.mode == mode)
        assert found.seconds - found.network_seconds == pytest.approx(elements * (1 << 20) * 1e-9), name
    # What is given comes before what is measured.
    given = plan.predict(**BASE, measure=True, processor=nothing)
    assert all(one.seconds == one.network_seconds for one in given.modes)


def test_two_rounds_are_faster_than_trees_where_the_documentation_says():
    page = (Path(__file__).resolve().parents[2] / "docs" / "gradient_sync.md").read_text()
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \|$", page.partition("### Why there is no tree")[2], re.M)
    assert [int(ranks) for ranks, *_ in rows] == [8, 16, 32, 64]
    message = 2e-6
    for ranks, halving, doubling in rows:
        levels = math.log2(int(ranks))

        def two_rounds_and_tree(delay, ranks=int(ranks)):
            # 64 KiB: more than is gathered, less than goes round a ring. Bytes take no time.
            found = plan.predict(1 << 14, ranks, 1e30, delay, message=message).dense_algorithms
            seconds = {one.algorithm: one.network_seconds for one in found}
            return seconds["own"], seconds["tree"]

        for factor, is_faster in [(0.97, False), (1.03, True)]:
            own, tree = two_rounds_and_tree(factor * float(halving) * message)
            assert (own < tree) == is_faster, ranks
            delay = factor * float(doubling) * message
            own, _ = two_rounds_and_tree(delay)
            assert (own < levels * (delay + message)) == is_faster, ranks


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"parameters": 0}, r"^parameters: is 0, expected at least 1"),
        ({"ranks": 100001}, r"^ranks: is 100001, expected 1 to 100000"),
        ({"ranks_per_host": 3}, r"^ranks_per_host: is 3, expected a divisor of ranks \(16\)"),
        ({"bandwidth": 0.0}, r"^bandwidth: is 0, expected"),
        ({"latency": math.nan}, r"^latency: is nan, expected"),
        ({"bandwidth": "1Gbit/s"}, r"^bandwidth: cannot be '1Gbit/s'"),
        ({"sparsity": 0.0}, r"^sparsity: is 0, expected"),
        ({"rank": 0}, r"^rank: is 0, expected"),
        ({"compute": -1.0}, r"^compute: is -1.0, expected"),
        ({"processor": {"code": 1.0}}, r"^processor: 'code' is unknown; known: pack, convert, encode"),
        ({"processor": {"encode": -1.0}}, r"^processor: encode: is -1, expected"),
        ({"dtype": "int8"}, r"^dtype: 'int8' is unknown; known: float32"),
        ({"algorithm": "star"}, r"^algorithm: 'star' is unknown; known: own"),
        ({"algorithm": "hierarchical"}, r"^algorithm: is 'hierarchical', expected ranks_per_host"),
        ({"algorithm": "hosts"}, r"^algorithm: is 'hosts', expected ranks_per_host"),
    ],
)
def test_bad_input_is_named(change, text):
    with pytest.raises(gradstep.InvalidArgument, match=text):
        plan.predict(**{**BASE, **change})


def test_quantities():
    assert (
        _quantities.parse_bandwidth("1Gbit/s")
        == _quantities.parse_bandwidth("125 MB/s")
        == _quantities.parse_bandwidth("125e6")
        == 125e6
    )
    assert _quantities.parse_bandwidth("10Gbps") == 1.25e9 and _quantities.parse_bandwidth("1GiB/s") == 2**30
    assert _quantities.parse_time("5ms") == _quantities.parse_time("5000us") == _quantities.parse_time("0.005") == 5e-3
    assert (
        _quantities.parse_count("25M") == _quantities.parse_count("25e6") == 25_000_000
        and _quantities.parse_count("7B") == 7 * 10**9
    )
    assert _quantities.format_time(0.00125) == "1.25 ms" and _quantities.format_bandwidth(125e6) == "1 Gbit/s"


def run(*arguments):
    command = [sys.executable, "-W", "error", "-m", "gradstep.plan", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_command_line():
    wanted = ["--parameters", "25M", "--ranks", "4", "--bandwidth", "1Gbit/s", "--latency", "5ms"]
    table = run(*wanted, "--compute", "1s")
    assert table.returncode == 0, table.stderr
    assert "cheapest mode: " in table.stdout and "1 Gbit/s, 5 ms" in table.stdout
    given = run(*wanted, "--processor", "encode=1us", "decode=1us", "--no-stages", "--json")
    assert json.loads(given.stdout)["modes"][3]["seconds"] > 25
    found = json.loads(run(*wanted, "--json").stdout)
    expected = plan.predict(25_000_000, 4, 125e6, 5e-3)
    assert found == json.loads(json.dumps(plan.as_json(expected)))
    assert found["cheapest"]["mode"] == expected.cheapest.mode
    for arguments, text in [
        (["--ranks", "0"], "argument --ranks: is 0, expected 1 to 100000"),
        (["--bandwidth", "fast"], "argument --bandwidth: expected bytes a second"),
        (["--ranks-per-host", "3"], "argument --ranks-per-host: is 3, expected a divisor of ranks (4)"),
        (["--processor", "encode=fast"], "argument --processor: expected seconds, or a number with a unit"),
        (["--processor", "code=1ns"], "argument --processor: 'code' is unknown"),
        (["--parameters", "1.5"], "argument --parameters: expected a whole number, found '1.5'"),
    ]:
        refused = run(*wanted, *arguments)
        assert refused.returncode == 2 and text in refused.stderr


def test_the_break_even_figures_of_the_page_are_the_planners():
    """docs/gradient_sync.md, "Break-even figures"."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "gradient_sync.md").read_text()
    table = page.partition("| ranks | half |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    assert [row[0] for row in rows] == ["4", "16", "64", "256"]
    columns = [("half", "own"), ("sparse_topk", "gather"), ("sparse_topk", "split"), ("powersgd", "own")]
    for ranks, *cells in rows:
        found = plan.predict(25_000_000, int(ranks), 1e9 / 8, 1e-3, sparsity=0.01, rank=2)
        limits = {(each.mode, each.algorithm): each.bandwidth for each in found.break_evens}
        for cell, column in zip(cells, columns, strict=True):
            limit = limits[column]
            shown = None if cell == "never" else float(cell.removesuffix(" Gbit/s"))
            assert shown == (limit and pytest.approx(limit * 8 / 1e9, rel=0.06)), (ranks, column)
