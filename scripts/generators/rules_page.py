# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""docs/rules.md, a page of first-order rules, from their descriptions in src/rules."""

import itertools
import json
import struct
import sys
from collections.abc import Iterator
from decimal import ROUND_DOWN, Context

from generators.places import ROOT
from generators.rules import Rule, legal, read_rules, second_names, shared_options, shown, wrapped

OUTPUT = ROOT / "docs" / "rules.md"
CONFORMANCE = ROOT / "tests" / "conformance"
HEAD = """\
# Rules

<!-- Written by scripts/generate from src/rules. -->

Every first-order rule: what it computes, takes and keeps. [choosing_a_rule.md](choosing_a_rule.md) has what each costs.
[Shampoo](shampoo.md) has a page of its own.
g is the gradient as the rule sees it ([steps](numerics.md#steps)), p the parameter, t the number of steps before this
one; other letters are states, or what is computed on the way.

- A **hyper-parameter** may be a [schedule](handles/schedule.md), and differ between parameter groups. A **setting** is
  a number that is read at creation. A **choice** takes one of several names, a **flag** true or false.
- All rules also take `maximize`, and for [storage](numerics.md#storage) `master_weights`, `state_dtype`,
  `stochastic_rounding` and `seed`; whatever the formula, [all of them](handles/optimizer.md#by-name) have
@SHARED@.
  `gradstep_rule_options` lists all options of a rule.
- A state that is there **in full** keeps the dtype of the arithmetic, whatever `state_dtype` says.
- **Bytes** are those of state for one element of a parameter: in the dtype of the arithmetic, or for other parameters
  than f64 by `state_dtype`. `master_weights` adds 4 for parameters in f16 and bf16.
- **Large gradients** could bring states out of their type's range ([numerics.md](numerics.md#large-gradients)).
- Every language makes a rule [by its name](handles/optimizer.md#by-name). A new one is
  [a header](adding_an_optimizer.md).
- A **text** says a rule in [the language for rules of your own](rules_as_text.md), where t is 1 in the first step: copy
  one, change it, define it. It computes what the rule does with the default choices; the tests run it in f64 beside the
  rule. Where the text has no `weight_decay`, the library adds one, 0 by default, of the kind that `decay_mode` says.
"""
# Shared options that HEAD names by itself.
NAMED = {"maximize", "master_weights", "state_dtype", "stochastic_rounding", "seed"}
# Bytes of a state's element. int8: a block of 256 has an f32.
STORAGE = {"f32": 4.0, "f64": 8.0, "bf16": 2.0, "int8": 1 + 4 / 256}
# What of a rule's setup can differ (a choice, or a hyper-parameter that is absent or not), and the values of such.
Condition = dict[str, int]


def conditions(rule: Rule, state: int) -> list[Condition]:
    """When a rule has the state: under any of these conditions, the shortest that there are. Empty: never."""
    names = [each["name"] for each in (*rule["choices"], *rule["fields"])]
    cases = {(*choices, *there): states >> state & 1 for choices, there, states in rule["cases"]}
    # The names that make a difference, so that what follows looks at few cases.
    varied = [
        place
        for place in range(len(names))
        if any(has != cases[(*case[:place], 0, *case[place + 1 :])] for case, has in cases.items())
    ]
    reduced = {tuple(case[place] for place in varied): has for case, has in cases.items()}
    found: list[Condition] = []
    missing = {case for case, has in reduced.items() if has}
    for size in range(len(varied) + 1):
        for places in itertools.combinations(range(len(varied)), size):
            for values in sorted({tuple(case[place] for place in places) for case in missing}):
                covered = {case for case in reduced if tuple(case[place] for place in places) == values}
                if covered & missing and all(reduced[case] for case in covered):
                    found.append({names[varied[place]]: value for place, value in zip(places, values, strict=True)})
                    missing -= covered
    return found


def in_words(rule: Rule, found: list[Condition]) -> str:
    choices = {choice["name"]: choice["values"] for choice in rule["choices"]}

    def words(name: str, value: int) -> str:
        if choices.get(name):
            return f"with `{name}` {choices[name][value]}"
        if name in choices:
            return f"with `{name}`" if value else f"without `{name}`"
        return f"with a `{name}` that is not the constant 0" if value else f"where `{name}` is the constant 0"

    if found == [{}]:
        return "always"
    return ", or ".join(" and ".join(words(*each) for each in condition.items()) for condition in found)


def in_cell(text: str) -> str:
    return text.replace("|", r"\|")


def option_lines(rule: Rule) -> Iterator[str]:
    yield "| option | | default | legal | meaning |"
    yield "|---|---|---|---|---|"
    for kind, options in (("hyper-parameter", rule["fields"]), ("setting", rule["settings"])):
        for each in options:
            default = "required" if each["initial"] is None else shown(each["initial"])
            numbers = legal(each, "≥").removeprefix("in ") or "any"
            yield f"| `{each['name']}` | {kind} | {default} | {numbers} | {in_cell(each['meaning'])} |"
    for each in rule["choices"]:
        values = each["values"]
        initial = each["initial"]
        kind, default, values = (
            ("choice", values[initial], ", ".join(values)) if values else ("flag", "true" if initial else "false", "")
        )
        yield f"| `{each['name']}` | {kind} | {default} | {values} | {in_cell(each['meaning'])} |"


def state_lines(rule: Rule) -> Iterator[str]:
    yield "| state | starts at | signs | is there |"
    yield "|---|---|---|---|"
    for place, state in enumerate(rule["states"]):
        starts = f"`{state['initial']}`" if state["initial"] else "0"
        signs = "yes" if state["has_signs"] else "no"
        there = in_words(rule, conditions(rule, place)) + (", in full" if state["is_exact"] else "")
        yield f"| `{state['name']}` | {starts} | {signs} | {there} |"
    for number in rule["numbers"]:
        starts = f"`{number['initial']}`" if number["initial"] else "0"
        yield f"| `{number['name']}` | {starts} | | always, one number of each parameter in f64 |"


def bytes_lines(rule: Rule) -> Iterator[str]:
    yield f"| bytes with | {' | '.join(STORAGE)} |"
    yield "|---" * (len(STORAGE) + 1) + "|"
    for states in sorted({states for _, _, states in rule["cases"]}, key=lambda states: (states.bit_count(), states)):
        names = [f"`{each['name']}`" for place, each in enumerate(rule["states"]) if states >> place & 1]
        exact = sum(each["is_exact"] for place, each in enumerate(rule["states"]) if states >> place & 1)
        whole = [8.0 if dtype == "f64" else 4.0 for dtype in STORAGE]
        sizes = [
            f"{(len(names) - exact) * size + exact * full:.3g}"
            for size, full in zip(STORAGE.values(), whole, strict=True)
        ]
        yield f"| {', '.join(names) or 'no state'} | {' | '.join(sizes)} |"


def recorded() -> dict[str, dict[str, list[str]]]:
    """By rule and system: the files of recorded numbers."""
    found: dict[str, dict[str, list[str]]] = {}
    for path in sorted((CONFORMANCE / "vectors").glob("*.safetensors")):
        data = path.read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        meta = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["meta"])
        found.setdefault(meta.get("optimizer", ""), {}).setdefault(meta.get("system", ""), []).append(path.stem)
    return found


def replayed() -> dict[str, dict[str, str]]:
    """By rule: the files of recorded runs, and the options that say the source's defaults."""
    sys.path.append(str(CONFORMANCE))
    from rule_translations import RULES

    found: dict[str, dict[str, str]] = {}
    for path in sorted((CONFORMANCE / "rules").glob("*.npz")):
        rule, options_of = RULES[path.stem]
        options = options_of({"lr": 1.0})
        found.setdefault(rule, {})[path.stem] = ", ".join(f"{name}={value!r}" for name, value in options.items())
    return found


def examples(rule: Rule) -> Iterator[str]:
    """With what must be given, a rate as small as any rule wants it, and the state in bf16."""
    given = {
        each["name"]: 1e-3 if each["name"] == "learning_rate" else each["minimum"] or 0
        for each in rule["fields"] + rule["settings"]
        if each["initial"] is None
    }
    numbers = [f'{{"{name}", {shown(value)}, NULL}}' for name, value in given.items()]
    entries = ", ".join([*numbers, '{"state_dtype", 0, "bf16"}'])
    keywords = ", ".join(f"{name}={shown(value)}" for name, value in given.items())
    yield from (
        "```c",
        f"const gradstep_option options[] = {{{entries}}};",
        f'status = gradstep_optimizer_create(context, "{rule["name"]}", options, {len(given) + 1}, parameters, n, '
        "&optimizer);",
        "```",
        "",
        "```python",
        f'optimizer = gradstep.make_optimizer("{rule["name"]}", arrays, {keywords}, state_dtype="bf16")',
        "```",
    )


def rule_lines(rule: Rule, files: dict[str, list[str]], runs: dict[str, str]) -> Iterator[str]:
    yield from ("", f"## {rule['name']}", "", f"Source: {rule['source']}.", "")
    yield from ("```text", *rule["formula"].splitlines(), "```", "")
    if rule["text"]:
        yield "As a text, for the default choices:" if rule["choices"] else "As a text:"
        yield from ("", "```text", *rule["text"].splitlines(), "```", "")
    else:
        yield from (f"No text says it: {rule['no_text']}.", "")
    yield from option_lines(rule)
    for name, flag in second_names(rule):
        yield from ("", f"By its second name, `{name}`, `{flag}` is true by default.")
    if rule["states"]:
        yield from ("", *state_lines(rule))
        yield from ("", *bytes_lines(rule))
    if rule["whole_states"]:
        yield from ("", "States of a tensor as a whole, in the dtype of the arithmetic:", "")
        yield from (f"- {state}" for state in rule["whole_states"].split("; "))
    rounded = Context(prec=4, rounding=ROUND_DOWN).create_decimal
    in_f32, in_f64 = (shown(float(rounded(each))) for each in rule["largest_gradient"])
    yield from ("", f"Large gradients, by the defaults: above {in_f32} in f32, {in_f64} in f64.")
    for system, names in files.items():
        listed = ", ".join(f"`{name}`" for name in names)
        yield from (
            "",
            f"Numbers recorded from {system}, [replayed by the tests](../tests/conformance/README.md): {listed}.",
        )
    if runs:
        yield from ("", "Runs of other systems, [replayed by the tests](../tests/conformance/README.md):", "")
        yield from ("| run | gradstep's options for the system's defaults |", "|---|---|")
        yield from (f"| `{name}` | {f'`{options}`' if options else 'none'} |" for name, options in runs.items())
    yield from ("", *examples(rule))


def generated() -> str:
    files, runs = recorded(), replayed()
    lines = [
        line
        for rule in read_rules()
        for line in rule_lines(rule, files.get(rule["name"], {}), runs.get(rule["name"], {}))
    ]
    *names, last = (f"`{each.name}`" for each in shared_options() if each.name not in NAMED)
    shared = "\n".join(f"  {line}" for line in wrapped(f"{', '.join(names)} and {last}", 115))
    return HEAD.replace("@SHARED@", shared) + "\n".join(lines) + "\n"
