# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""docs/choosing_a_rule.md, which scripts/generate makes of a record, is about the rules that there are."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import gradstep

ROOT = Path(__file__).resolve().parents[2]
RECORD = json.loads((ROOT / "benchmarks" / "recorded" / "choosing_a_rule.json").read_text())
PAGE = (ROOT / "docs" / "choosing_a_rule.md").read_text()
ROWS = {row[1]: row for row in re.findall(r"^(\| \[`(\w+)`\]\(rules\.md.*\|)$", PAGE, re.MULTILINE)}
CELLS = {name: [cell.strip() for cell in row[0].strip("|").split("|")] for name, row in ROWS.items()}
SIZE = 1 << 14
RULES = list(gradstep.describe_rules())  # before tests define rules of their own


def test_every_rule_has_a_measured_step():
    assert set(RECORD["costs"]) == set(RULES), "run benchmarks/choosing_a_rule.py --missing, then scripts/generate"
    assert list(CELLS) == RULES, "run scripts/generate"


def test_what_is_tuned_is_written_for_the_rules_that_there_are():
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from generators.choosing_page import TUNED
    finally:
        sys.path.pop(0)
    assert set(TUNED) == set(RULES)


@pytest.mark.parametrize("place", [1, 2, 3])
@pytest.mark.parametrize("rule", RULES)
def test_bytes_are_those_that_an_optimizer_holds(rule, place):
    parameters = [np.ones((SIZE // 128, 128), np.float32)]
    options = gradstep.describe_rules()[rule].options.values()
    given = {option.name: max(option.minimum, 0.01) for option in options if option.default is None}
    dtype = ["native", "bf16", "int8"][place - 1]
    optimizer = gradstep.make_optimizer(rule, parameters, state_dtype=dtype, **given)
    optimizer.step(parameters, [np.ones_like(parameters[0])])
    held = optimizer.memory().state_bytes / SIZE
    if CELLS[rule][place] == "factors":
        assert held == 4 * (SIZE / 128 + 128) / SIZE
    elif CELLS[rule][place] == "4 + factors":
        assert held == 4 + 4 * 128 * 128 / SIZE  # of full rank
    else:
        assert float(CELLS[rule][place]) == pytest.approx(held, rel=0.01)


def test_ten_rules_are_trained_and_three_with_coded_state():
    assert len(RECORD["runs"]) == 10
    assert all(len(run["updates"]) == len(run["losses"]) == len(run["seconds"]) for run in RECORD["runs"].values())
    assert set(RECORD["eight_bit"]) == {"lion", "ademamix", "muon"}
    assert all(len(losses) == 3 for runs in RECORD["eight_bit"].values() for losses in runs.values())
    assert RECORD["processor"] in PAGE and "shared with other work" in PAGE
