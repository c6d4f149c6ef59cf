# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""optax's own tests, as its package brings them, with gradstep's transformations: they pass but for a written list.

GRADSTEP_PEER_TESTS=all runs the slow ones too: 10,000 steps of each rule, and a refusal for nine pairs of dtypes.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from peers.optax_failures import EXPECTED

pytest.importorskip("jax")
optax = pytest.importorskip("optax")

PEERS = Path(__file__).parent / "peers"
SUITES = {
    "alias_test": "_src",
    "combine_test": "_src",
    "_accumulation_test": "transforms",
    "_combining_test": "transforms",
    "_conditionality_test": "transforms",
    "_freezing_test": "transforms",
    "_masking_test": "transforms",
}
# What the suites import beyond what optax does.
NEEDED = {"alias_test": ["scipy", "sklearn"], "_accumulation_test": ["flax"]}
SLOW = ("test_optimization", "test_multi_steps_mixed_precision")
ALL = os.environ.get("GRADSTEP_PEER_TESTS") == "all"

pytestmark = pytest.mark.xdist_group("optax_peers")  # one process, for they share what one run has found


def runnable(suite):
    return all(importlib.util.find_spec(module) for module in NEEDED.get(suite, []))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What became of each test that used a transformation of gradstep, by suite."""
    folder = tmp_path_factory.mktemp("peers")
    report = folder / "report.jsonl"
    root = Path(optax.__file__).parent
    files = [str(root / where / f"{suite}.py") for suite, where in SUITES.items() if runnable(suite)]
    left_out = ["LBFGS", *(() if ALL else SLOW)]
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, f"--rootdir={root}", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-p", "optax_substitution", "-k", f"not ({' or '.join(left_out)})", *files],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PEERS), *sys.path]), "GRADSTEP_PEER_REPORT": str(report)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.exists(), done.stdout + done.stderr
    found = [json.loads(line) for line in report.read_text().splitlines()]
    return {suite: [result for result in found if result["suite"] == suite] for suite in SUITES}


@pytest.mark.parametrize("suite", SUITES)
def test_optax_s_own_tests_pass_but_for_the_list(suite, results):
    if not runnable(suite):
        pytest.skip(f"{suite} needs {' and '.join(NEEDED[suite])}")
    assert results[suite], "no test of the suite uses a transformation"
    unlisted, outlived = [], []
    for result in results[suite]:
        listed = any(entry.covers(result) for entry in EXPECTED)
        case = f"{result['test']}{result['parameters']}"
        if result["outcome"] == "failed" and not listed:
            unlisted.append(f"{case}: {result['error']}")
        if result["outcome"] == "passed" and listed:
            outlived.append(case)
    assert not unlisted, "fail without a reason"
    assert not outlived, "pass although peers/optax_failures.py says that they fail"
    for entry in EXPECTED:
        if entry.suite == suite and (ALL or entry.test not in SLOW):
            assert any(map(entry.covers, results[suite])), f"no such test: {entry}"
