# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""help() and inspect.signature() show real keywords: the C library's own defaults, and bounds that it keeps."""

import inspect
import math
import pydoc
import re
from typing import get_type_hints

import numpy as np
import pytest

import gradstep
from gradstep._keywords import keywords_of
from gradstep._named_optimizer import keywords_of_rule
from gradstep.reducer import ReducerOptions
from gradstep.schedule import Number
from gradstep.shampoo import ShampooOptions
from gradstep.updater import UpdaterOptions

RULES = {gradstep.optimizer_class(rule): rule for rule in gradstep.describe_rules()}
TABLES = {gradstep.Shampoo: ShampooOptions, gradstep.Reducer: ReducerOptions, gradstep.Updater: UpdaterOptions}
STRUCTS = {
    gradstep.Shampoo: gradstep._native.shampoo_options,
    gradstep.Reducer: gradstep._native.reducer_options,
    gradstep.Updater: gradstep._native.updater_options,
}
# The keywords of each class by name: their types, and what is said of them.
SAID = {
    **{cls: keywords_of(table) for cls, table in TABLES.items()},
    **{cls: {name: each[:2] for name, each in keywords_of_rule(rule).items()} for cls, rule in RULES.items()},
}
KEYWORDS = [(cls, name) for cls, said in SAID.items() for name in said]


def make(cls, **options):
    parameters = [np.zeros((2, 2), np.float32)]
    if cls is gradstep.Reducer:
        return gradstep.Reducer(gradstep.Communicator.self(), parameters, **options)
    if cls is gradstep.Updater:
        return gradstep.Updater(gradstep.SGD(parameters, learning_rate=0.1), **options)
    return cls(parameters, **{"learning_rate": 0.1, **options})


@pytest.mark.parametrize("cls", TABLES, ids=lambda cls: cls.__name__)
def test_the_signature_has_every_option_of_the_c_struct(cls):
    parameters = inspect.signature(cls).parameters
    assert not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    assert set(gradstep._options.option_names(STRUCTS[cls])) <= set(parameters)


@pytest.mark.parametrize("cls", TABLES, ids=lambda cls: cls.__name__)
def test_the_defaults_shown_are_those_of_the_c_library(cls):
    shown = {
        name: inspect.signature(cls).parameters[name].default
        for name in TABLES[cls].__annotations__
        if name != "learning_rate"
    }
    assert inspect.Parameter.empty not in shown.values()
    make(cls, **shown)  # they are legal, all together
    struct = STRUCTS[cls]()
    gradstep._options.set_options(struct, cls.__name__, shown, gradstep._keywords.enums_of(TABLES[cls]))
    untouched = STRUCTS[cls]()
    assert {name: getattr(struct, name) for name in shown} == {name: getattr(untouched, name) for name in shown}


@pytest.mark.parametrize("cls", RULES, ids=lambda cls: cls.__name__)
def test_a_rules_keywords_are_the_options_of_the_c_library(cls):
    assert gradstep.rules.CLASSES[RULES[cls]] is cls
    options = gradstep.describe_rules()[RULES[cls]].options
    parameters = inspect.signature(cls).parameters
    assert not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    assert set(parameters) == {"parameters", "names", "groups", "context", *options}
    given = {name: option.default for name, option in options.items() if option.default is not None}
    shown = {name: parameters[name].default for name in options}
    assert given == {name: default for name, default in shown.items() if default is not inspect.Parameter.empty}
    make(cls, **given)  # they are legal, all together


@pytest.mark.parametrize("cls", RULES, ids=lambda cls: cls.__name__)
def test_type_checkers_know_a_rules_keywords(cls):
    table = getattr(gradstep.rules, f"{cls.__name__}Options")
    assert get_type_hints(table) == {name: kind for name, (kind, _) in SAID[cls].items()}


@pytest.mark.parametrize("rule", [*RULES, gradstep.Shampoo], ids=lambda rule: rule.__name__)
def test_the_learning_rate_must_be_given_and_the_signature_says_so(rule):
    assert inspect.signature(rule).parameters["learning_rate"].default is inspect.Parameter.empty
    with pytest.raises(gradstep.InvalidArgument, match=r"learning_rate.*is not"):
        rule([np.zeros(2, np.float32)])


def outside_and_inside(bounds):
    """Values just outside of what the text says, and just inside."""
    number = r"(-?[0-9.]+(?:e[+-]?[0-9]+)?)"
    if found := re.fullmatch(rf">= {number}", bounds):
        low = float(found[1])
        return [low - 1], [low]
    if found := re.fullmatch(rf"> {number}", bounds):
        return [float(found[1])], [float(found[1]) + 0.5]
    if found := re.fullmatch(rf"in \[{number}, {number}(\)|\])", bounds):
        low, high = float(found[1]), float(found[2])
        below, above = math.nextafter(high, low), math.nextafter(high, math.inf)
        return [low - 1e-9, above if found[3] == "]" else high], [low, high if found[3] == "]" else below]
    found = re.fullmatch(rf"{number} to {number}", bounds)
    assert found, f"{bounds!r} says nothing that can be checked"
    return [float(found[1]) - 1, float(found[2]) + 1], [float(found[1]), float(found[2])]


# What else an option needs before its own bounds count.
COMPANY = {
    "average_every": {"average_decay": 0.5},
    "average_start": {"average_decay": 0.5},
    "bucket_elements": {"fuse_threshold": 1},
    "momentum_correction": {"mode": "sparse_topk"},
    "warmup_steps": {"mode": "sparse_topk"},
}
# Numbers of steps, which are whole ones.
WHOLE = {
    "iterations",
    "alpha_steps",
    "beta3_steps",
    "average_start",
    "average_every",
    "warmup_steps",
    "min_factored",
    "gram_restart_every",
    "rank",
}
# Rules with an average of their own take none by options.
AVERAGING = {"Asgd", "ScheduleFree"}
BOUNDED = [
    (cls, name)
    for cls, name in KEYWORDS
    if SAID[cls][name][1].bounds not in ("", "finite", "any of 64 bits")
    and not (cls.__name__ in AVERAGING and name.startswith("average_"))
]


@pytest.mark.parametrize(("cls", "name"), BOUNDED, ids=lambda value: getattr(value, "__name__", value))
def test_the_bounds_shown_are_those_that_are_kept(cls, name):
    kind, keyword = SAID[cls][name]
    outside, inside = outside_and_inside(keyword.bounds)
    as_kind = int if kind is int else float
    company = {other: value for other, value in COMPANY.get(name, {}).items() if other in SAID[cls]}
    for value in outside:
        with pytest.raises(gradstep.InvalidArgument, match=name):
            make(cls, **{**company, name: as_kind(value)})
    for value in inside:
        kept = math.floor(value) if name in WHOLE else value
        make(cls, **{**company, name: as_kind(kept)})


@pytest.mark.parametrize(("cls", "name"), KEYWORDS, ids=lambda value: getattr(value, "__name__", value))
def test_help_says_what_every_keyword_is_for(cls, name):
    text = pydoc.plain(pydoc.render_doc(cls))
    kind, keyword = SAID[cls][name]
    for argument in ("context: ", "parameters: " if cls is not gradstep.Updater else "accumulator: "):
        assert f"\n |  {argument}" in text
    entry = re.search(rf"^ \|      {name}\*?(?: = | \()(?:.*\n)(?: \|          .*\n)*", text, re.MULTILINE)
    assert entry, f"help({cls.__name__}) has no entry for {name}"
    said = " ".join(entry[0].replace(" |", "").split())
    assert keyword.text in said and keyword.bounds in said
    assert (f"{name}*" in said) == (kind == Number)
    default = inspect.signature(cls).parameters[name].default
    for known in gradstep._options.known_names(keyword.enum).values() if keyword.enum else keyword.choices:
        assert f'"{known}"' in said
    shown = f'"{default}"' if isinstance(default, str) else repr(default)
    assert default is inspect.Parameter.empty or f"= {shown}" in said


def test_signatures_of_the_others_name_their_keywords():
    for function in (
        gradstep.Accumulator,
        gradstep.Context,
        gradstep.Communicator.local,
        gradstep.Communicator.shm,
        gradstep.Communicator.gloo,
        gradstep.Communicator.connect,
        gradstep.Communicator.mpi,
        gradstep.Communicator.host,
        gradstep.Adam.step,
        gradstep.Adam.update,
    ):
        text = pydoc.plain(pydoc.render_doc(function))
        for parameter in inspect.signature(function).parameters.values():
            assert parameter.kind is not inspect.Parameter.VAR_KEYWORD
            if function is gradstep.Accumulator:
                assert re.search(rf"^ \|  {parameter.name}: ", text, re.MULTILINE), parameter.name
        if "timeout" in inspect.signature(function).parameters:
            assert re.search(r"timeout.*: seconds, > 0", text), "units and bounds"


def test_a_subclass_with_its_own_signature_shows_it():
    class Mine(gradstep.Adam):
        def __init__(self, parameters, speed):
            super().__init__(parameters, learning_rate=speed)

    assert list(inspect.signature(Mine).parameters) == ["parameters", "speed"]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"lr": 0.1}, "learning_rate"),
        ({"learning_rate": 0.1, "betas": (0.9, 0.999)}, "beta1 and beta2"),
        ({"learning_rate": 0.1, "eps": 1e-8}, "epsilon"),
        ({"learning_rate": 0.1, "wieght_decay": 0.1}, "weight_decay"),
    ],
)
def test_other_libraries_words_are_answered_with_ours(given, meant):
    with pytest.raises(TypeError, match=f"unknown option .* known: .*; did you mean {meant}\\?$"):
        gradstep.Adam([np.zeros(2)], **given)
