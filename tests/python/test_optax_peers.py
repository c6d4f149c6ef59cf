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


def runnable(suite):
    return all(importlib.util.find_spec(module) for module in NEEDED.get(suite, []))


def run_suites(folder, suites):
    """What became of each test that used a transformation of gradstep, by suite."""
    report = folder / "report.jsonl"
    root = Path(optax.__file__).parent
    files = [str(root / SUITES[suite] / f"{suite}.py") for suite in suites]
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
    return {suite: [result for result in found if result["suite"] == suite] for suite in suites}


def faults_of(suite, results):
    if not results:
        yield "no test of the suite uses a transformation"
    for result in results:
        listed = any(entry.covers(result) for entry in EXPECTED)
        case = f"{result['test']}{result['parameters']}"
        if result["outcome"] == "failed" and not listed:
            yield f"{case} fails without a reason: {result['error']}"
        if result["outcome"] == "passed" and listed:
            yield f"{case} passes although peers/optax_failures.py says that it fails"
    for entry in EXPECTED:
        if entry.suite == suite and (ALL or entry.test not in SLOW) and not any(map(entry.covers, results)):
            yield f"no such test: {entry}"


# One test, for one run of them all has the imports and what is compiled once.
@pytest.mark.night
def test_optax_s_own_tests_pass_but_for_the_list(tmp_path):
    suites = [suite for suite in SUITES if runnable(suite)]
    results = run_suites(tmp_path, suites)
    faults = [f"{suite}: {fault}" for suite in suites for fault in faults_of(suite, results[suite])]
    assert not faults, "\n".join(faults)
    left_out = [f"{suite} needs {' and '.join(NEEDED[suite])}" for suite in SUITES if suite not in suites]
    if left_out:
        pytest.skip(f"the others pass: {'; '.join(left_out)}")
