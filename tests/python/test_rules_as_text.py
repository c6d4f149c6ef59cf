# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Rules that are written as text."""

import io
import re
from pathlib import Path

import numpy as np
import pytest

import gradstep

ROOT = Path(__file__).resolve().parents[2]
ADAM = """
rule py_adam
hyper learning_rate in [0, inf); beta1 = 0.9 in [0, 1); beta2 = 0.999 in [0, 1); epsilon = 1e-8 in [0, inf)
state m; v unsigned
m = beta1 * m + (1 - beta1) * g
v = beta2 * v + (1 - beta2) * g^2
p = p - learning_rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
"""


def stepped(rule, steps, dtype=np.float64, **options):
    rng = np.random.default_rng(1)
    p = rng.standard_normal((7, 5)).astype(dtype)
    optimizer = gradstep.make_optimizer(rule, [p], learning_rate=0.01, **options)
    for _ in range(steps):
        optimizer.step([p], [rng.standard_normal(p.shape).astype(dtype)])
    return p


def test_a_text_has_a_name_that_makes_optimizers():
    name = gradstep.define_rule(ADAM)
    assert name == "py_adam"
    assert gradstep.define_rule("# again" + ADAM) == name
    for options in (
        {},
        {"weight_decay": 0.1, "decay_mode": "decoupled"},
        {"cautious_update": "mean"},
        {"maximize": True},
    ):
        np.testing.assert_allclose(stepped(name, 20, **options), stepped("adam", 20, **options), rtol=1e-12)


def test_it_is_described_as_other_rules_are():
    name = gradstep.define_rule(ADAM)
    about = gradstep.describe_rules()[name]
    assert about.formula == ADAM
    assert about.states == ("m", "v")
    assert list(about.options)[:5] == ["learning_rate", "beta1", "beta2", "epsilon", "weight_decay"]
    assert about.options["learning_rate"].default is None
    assert (about.options["beta2"].default, about.options["beta2"].limit) == (0.999, 1)
    assert gradstep.optimizer_class(name) is gradstep.optimizer_class(name)
    with pytest.raises(TypeError, match="lr"):
        gradstep.make_optimizer(name, [np.zeros(3)], lr=1)
    with pytest.raises(gradstep.InvalidArgument, match=r"beta1: is 1, expected in \[0, 1\)"):
        gradstep.make_optimizer(name, [np.zeros(3)], learning_rate=1, beta1=1)


def test_operations_are_those_of_numpy():
    name = gradstep.define_rule("""
        rule py_operations
        hyper h = 0.3
        state s
        s = select(g < 0, s - sqrt(abs(g)), max(s, exp(min(g, 1)))) + h^t * log(1 + p^2)
        p = clamp(p - sign(g) * abs(g)^1.5 / (s^2 + h), -2, 2)
    """)
    rng = np.random.default_rng(2)
    p = rng.standard_normal(1000)
    expected, s = p.copy(), np.zeros_like(p)
    optimizer = gradstep.make_optimizer(name, [p])
    for t in range(1, 6):
        g = rng.standard_normal(1000)
        optimizer.step([p], [g])
        s = np.where(g < 0, s - np.sqrt(np.abs(g)), np.maximum(s, np.exp(np.minimum(g, 1))))
        s = s + 0.3**t * np.log(1 + expected**2)
        expected = np.clip(expected - np.sign(g) * np.abs(g) ** 1.5 / (s**2 + 0.3), -2, 2)
        np.testing.assert_allclose(p, expected, rtol=1e-12, atol=1e-13)


def test_the_documentations_example_runs():
    arrays = [np.ones(3, np.float32)]
    # docs:begin example
    name = gradstep.define_rule("""
        rule my_lion                                       # Chen et al. 2023
        hyper learning_rate in [0, inf); beta1 = 0.9 in [0, 1); beta2 = 0.99 in [0, 1)
        state m
        u = sign(beta1 * m + (1 - beta1) * g)
        m = beta2 * m + (1 - beta2) * g
        p = p - learning_rate * u
    """)
    optimizer = gradstep.make_optimizer(name, arrays, learning_rate=1e-4, weight_decay=0.1, state_dtype="int8")
    # docs:end example
    optimizer.step(arrays, [np.ones(3, np.float32)])
    assert arrays[0][0] == np.float32(1) + np.float32(np.float32(-1e-4) - np.float32(1e-5))


def test_schedules_and_groups_serve_it():
    name = gradstep.define_rule("rule py_sgd\nhyper learning_rate\np = p - learning_rate * g")
    schedule = gradstep.schedule.cosine(0.5, decay_steps=4)
    arrays = [np.ones(3), np.ones(3)]
    rules = [(name, {"learning_rate": schedule}), ("sgd", {"learning_rate": schedule})]
    optimizer = gradstep.make_optimizer(rules, arrays, groups=[0, 1])
    for _ in range(4):
        optimizer.step(arrays, [np.full(3, 0.25)] * 2)
    assert arrays[0].tobytes() == arrays[1].tobytes()
    assert arrays[0][0] < 1


@pytest.mark.parametrize("state_dtype", ["native", "bf16", "int8"])
def test_saved_state_is_loaded_into_the_same_text(state_dtype):
    name = gradstep.define_rule(ADAM)
    p = np.ones(300, np.float32)
    first = gradstep.make_optimizer(name, [p], learning_rate=0.1, state_dtype=state_dtype)
    first.step([p], [np.linspace(-1, 1, 300, dtype=np.float32)])
    stream = io.BytesIO()
    first.save(stream)
    assert ADAM.strip().splitlines()[0].encode() in stream.getvalue()
    stream.seek(0)
    second = gradstep.make_optimizer(name, [p], learning_rate=0.1, state_dtype=state_dtype)
    second.load(stream)
    assert second.step_count == 1


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "line 1, column 1: expected 'rule' and its name, found the end of the text"),
        ("rule py_bad\np = p + q", "line 2, column 9: expected one of g, p, t, found 'q'"),
        ("rule adam\np = p", "line 1, column 6: expected the name of the rule, found 'adam', a rule of the library"),
    ],
)
def test_a_text_that_is_none_is_refused_by_line_and_column(text, error):
    with pytest.raises(gradstep.InvalidArgument, match=error):
        gradstep.define_rule(text)


def test_another_text_of_a_name_and_what_is_not_supported_yet_are_refused():
    gradstep.define_rule("rule py_taken\np = p - g")
    with pytest.raises(gradstep.InvalidArgument, match="expected another name than py_taken"):
        gradstep.define_rule("rule py_taken\np = p + g")
    with pytest.raises(gradstep.Unsupported, match="line 2, column 13: row_mean is not supported yet"):
        gradstep.define_rule("rule py_norm\np = p - g / row_mean(g)")


def test_the_limits_of_the_page_are_those_of_the_library():
    sources = ("src/rules/text/limits.h", "src/optim/first_order/defined_rules.cpp", "src/rules/room.h")
    text = "".join((ROOT / source).read_text() for source in sources)
    limits = {name: int(value) for name, value in re.findall(r"(kM\w+) = (\d+);", text)}
    page = (ROOT / "docs" / "rules_as_text.md").read_text()
    rows = dict(re.findall(r"^\| ([a-z][^|]*) \| (\d[\d, ]*) \|$", page, re.MULTILINE))
    assert rows == {
        "bytes of a text, of a name": f"{limits['kMostBytes']}, {limits['kMostNameBytes']}",
        "hyper-parameters, states": f"{limits['kMaxFields'] - 1}, {limits['kMaxStates']}",
        "different numbers, names and operations": str(limits["kMostNodes"]),
        "constants of a step that elements are computed with": str(limits["kMostNumbers"]),
        "results that are needed at the same time": str(limits["kMostTemporaries"]),
        "different sums": str(limits["kMaxSums"]),
        "levels of parentheses, signs and powers within each other": str(limits["kMostDepth"]),
        "rules of texts in a process": str(limits["kMostRules"]),
    }
