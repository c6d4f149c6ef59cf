# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""docs/rules.md, which is made from sources, says what the library does."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import gradstep

ROOT = Path(__file__).resolve().parents[2]
HEAD, *SECTIONS = (ROOT / "docs" / "rules.md").read_text().split("\n## ")
PAGE = {section.partition("\n")[0]: section for section in SECTIONS}
STORAGE = {"maximize", "master_weights", "state_dtype", "stochastic_rounding", "seed"}
SHARED = STORAGE | {"step_counting", "average_decay", "decay_mode", "peak_learning_rate", "trust_ratio"}
SHARED |= {"cautious_update", "cautious_decay", "center_gradients"}
SHARED |= {"adaptive_clip", "adaptive_clip_epsilon", "adaptive_clip_units"}
SHARED |= {"average_warmup", "average_equal", "average_start", "average_every"}
KINDS = {"hyper-parameter": "hyper_parameter"}
SIZE = 1 << 14
OF_LIBRARY = gradstep.describe_rules()  # before tests write others


def test_the_page_has_the_rules_of_the_library():
    assert list(PAGE) == list(OF_LIBRARY)
    assert all(f"`{name}`" in HEAD for name in SHARED)


def tables(section: str) -> list[list[list[str]]]:
    """The cells of each table below its head."""
    found = re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)
    return [
        [
            [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
            for line in table.splitlines()[2:]
        ]
        for table in found
    ]


def legal(option: gradstep.RuleOption) -> str:
    if option.kind == "flag":
        return ""
    if option.choices:
        return ", ".join(option.choices)
    if option.minimum < -1e300:
        return "any"
    low, high = f"{option.minimum:.15g}", f"{option.limit:.15g}"
    return f"≥ {low}" if option.limit == float("inf") else f"[{low}, {high})"


def default(option: gradstep.RuleOption) -> str | float:
    if option.default is None:
        return "required"
    return str(option.default).lower() if isinstance(option.default, bool) else option.default


@pytest.mark.parametrize("rule", gradstep.describe_rules().values(), ids=lambda rule: rule.name)
def test_each_rule_is_what_the_library_says_of_it(rule):
    section = PAGE[rule.name]
    assert f"Source: {rule.source}.\n" in section
    assert f"```text\n{rule.formula}\n```" in section
    rows = {row[0].strip("`"): row[1:] for row in tables(section)[0]}
    assert set(rows) == set(rule.options) - SHARED
    for name, (kind, initial, values, meaning) in rows.items():
        option = rule.options[name]
        numbers = values.removesuffix(", whole")
        assert (KINDS.get(kind, kind), numbers, meaning) == (option.kind, legal(option), option.meaning)
        assert initial == default(option) or float(initial) == default(option)


@pytest.mark.parametrize("rule", PAGE)
def test_the_text_of_a_rule_is_there_to_copy(rule):
    """As it is shown it steps as the rule does; else the page says why there is none."""
    shown = re.search(r"^As a text.*:\n\n```text\n(.*?)```", PAGE[rule], re.DOTALL | re.MULTILINE)
    assert (shown is None) == ("\nNo text says it: " in PAGE[rule])
    if shown is None:
        return
    numbers = []
    for name in (rule, gradstep.define_rule(shown[1])):
        arrays = [np.linspace(-1, 1, 6).reshape(2, 3)]
        optimizer = gradstep.make_optimizer(name, arrays, learning_rate=1e-2, weight_decay=0)
        for _ in range(3):
            optimizer.step(arrays, [arrays[0] ** 2 - 0.1])
        numbers.append(arrays[0])
    np.testing.assert_allclose(numbers[0], numbers[1], rtol=1e-12)


@pytest.mark.parametrize("rule", gradstep.describe_rules().values(), ids=lambda rule: rule.name)
def test_bytes_are_what_the_library_allocates(rule):
    """With nothing but what must be given the states are those that the defaults have."""
    if rule.name in ("adafactor", "dion"):
        assert "States of a tensor as a whole" in PAGE[rule.name]
        return
    _, states, sizes, *_ = tables(PAGE[rule.name])

    def holds(condition: str) -> bool:
        if needed := re.fullmatch("with a `(.*)` that is not the constant 0", condition):
            return bool(rule.options[needed[1]].default)
        if chosen := re.fullmatch("with `(.*)` (.*)", condition):
            return rule.options[chosen[1]].default == chosen[2]
        return condition == "always"

    def is_there(condition: str) -> bool:
        if "one number of each parameter" in condition:
            return False
        any_of = condition.removesuffix(", in full").split(", or ")
        return any(all(map(holds, each.split(" and "))) for each in any_of)

    there = [row[0] for row in states if is_there(row[3])]
    (row,) = (row for row in sizes if row[0] == (", ".join(there) or "no state"))
    for text, dtype, state_dtype in zip(
        row[1:], ("float32", "float64", "float32", "float32"), ("native", "native", "bf16", "int8"), strict=True
    ):
        options = {name: option.minimum for name, option in rule.options.items() if option.default is None}
        cls = gradstep.optimizer_class(rule.name)
        allocated = cls.state_bytes([np.zeros((1, SIZE), dtype)], state_dtype=state_dtype, **options)
        assert float(text) == float(f"{allocated / SIZE:.3g}")


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        (rule, row[1].strip("`"))
        for rule, section in PAGE.items()
        for table in tables(section)[3:]
        for row in table
        if row[1] != "none"
    ],
)
def test_options_of_other_systems_make_the_rule(rule, options):
    made = eval(f'gradstep.make_optimizer(rule, [np.zeros((2, 3), "f4")], learning_rate=1e-3, {options})')
    assert type(made) is gradstep.optimizer_class(rule)


@pytest.mark.parametrize("rule", PAGE)
def test_examples_make_the_rule(rule, tmp_path):
    codes = dict(re.findall(r"```(c|python)\n(.*?)```", PAGE[rule], re.DOTALL))
    names = {"gradstep": gradstep, "arrays": [np.zeros((1, 3), np.float32)]}
    exec(codes["python"], names)
    assert type(names["optimizer"]) is gradstep.optimizer_class(rule)
    if shutil.which("cc") is None:
        pytest.skip("no C compiler for the example in C")
    source = tmp_path / "example.c"
    source.write_text(
        "#include <gradstep/gradstep.h>\ngradstep_status make(gradstep_context* context, const gradstep_parameter* "
        "parameters, size_t n, gradstep_optimizer* optimizer);\ngradstep_status make(gradstep_context* context, const "
        "gradstep_parameter* parameters, size_t n, gradstep_optimizer* optimizer) {\ngradstep_status status;\n"
        f"{codes['c']}return status;\n}}\n"
    )
    include = f"-I{ROOT / 'include' / 'c_api'}"
    subprocess.run(["cc", "-std=c99", "-Wall", "-Werror", include, "-fsyntax-only", source], check=True)
