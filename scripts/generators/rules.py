# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The descriptions of the rules in src/rules, which print_rules.cpp prints, and what their options are to languages."""

import functools
import json
import os
import subprocess
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from c_headers import Enum, read, shared_prefix

from generators.places import INCLUDE, ROOT

Rule = dict[str, Any]
# Rules whose options struct is written by hand in C, and whose types in other languages come from that.
HAND_WRITTEN = {"sgd", "rmsprop", "adagrad", "adam"}
# Types that are not called by the words of the rule.
NAMES = {
    "adabelief": "AdaBelief",
    "adagrad": "AdaGrad",
    "adamw": "AdamW",
    "ademamix": "AdEMAMix",
    "laprop": "LaProp",
    "nadam": "NAdam",
    "radam": "RAdam",
    "rmsprop": "RMSProp",
    "sgd": "SGD",
}


@functools.cache
def read_descriptions() -> dict[str, Any]:
    """By "rules", in the order of the list, "shared" and "second_names". The C++ compiler is CXX or c++."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "print_rules"
        source = Path(__file__).parent / "print_rules.cpp"
        compiler = os.environ.get("CXX", "c++")
        includes = [f"-I{ROOT / 'src'}", f"-I{INCLUDE}"]
        subprocess.run([compiler, "-std=c++20", *includes, source, "-o", program], check=True)
        printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    descriptions: dict[str, Any] = json.loads(printed)
    return descriptions


def read_rules() -> list[Rule]:
    return list(read_descriptions()["rules"])


def named_rules() -> list[Rule]:
    """By all their names: a rule that has a second one is followed by what it is under that."""
    return [named for rule in read_rules() for named in (rule, *second_rules(rule))]


def second_names(rule: Rule) -> list[tuple[str, str]]:
    """And the flag that is true under the name."""
    return [(name, flag) for of, name, flag in read_descriptions()["second_names"] if of == rule["name"]]


def second_rules(rule: Rule) -> Iterator[Rule]:
    for name, flag in second_names(rule):
        source = f"{rule['source']}. {capitalized(rule['name'])} with {flag}"
        choices = [{**choice, "initial": 1} if choice["name"] == flag else choice for choice in rule["choices"]]
        yield {**rule, "name": name, "source": source, "choices": choices, "first_name": rule["name"]}


def typed_rules() -> list[Rule]:
    """The rules whose types are generated, in every language but C."""
    return [rule for rule in named_rules() if rule["name"] not in HAND_WRITTEN]


@dataclass
class Option:
    """An option of a rule. A choice has an enum of C: `enum`, whose name has no "gradstep_"."""

    name: str
    kind: str  # "number", "choice", "flag" or "integer"
    meaning: str
    default: float | None  # None: it must be given
    legal: str  # of a number: "in [0, 1)"
    values: list[str] = field(default_factory=list)  # of a choice: the names of 0, 1, ...
    enum: str = ""

    def says(self) -> str:
        """In one line: "share of the mean that a step keeps; in [0, 1), default 0.9"."""
        if self.kind == "flag" and self.default:
            return f"{self.meaning}; default true"
        if self.kind != "number":
            return self.meaning
        default = "must be given" if self.default is None else f"default {shown(self.default)}"
        return "; ".join([self.meaning, f"{self.legal}, {default}" if self.legal else default])


@functools.cache
def public_enums() -> dict[str, list[str]]:
    """The words of the enums of the public headers, by their numbers, by their names without "gradstep_"."""
    found = {}
    for each in read(INCLUDE):
        if isinstance(each, Enum):
            prefix = shared_prefix(each.enumerators)
            words = [name.removeprefix(prefix).lower() for name in each.enumerators]
            found[each.name.removeprefix("gradstep_")] = [word for word in words if word != "invalid"]
    return found


def number_option(described: Rule) -> Option:
    return Option(described["name"], "number", described["meaning"], described["initial"], legal(described))


def choice_option(name: str, meaning: str, default: int, values: list[str], owner: str) -> Option:
    """The enum of the public headers that has the choice's name and values, or else one of the rule's own."""
    enum = name if public_enums().get(name) == values else f"{owner}_{name}"
    return Option(name, "choice", meaning, default, "", values, enum)


def own_options(rule: Rule) -> list[Option]:
    options = [number_option(each) for each in (*rule["fields"], *rule["settings"])]
    for each in rule["choices"]:
        if each["values"]:
            options.append(choice_option(each["name"], each["meaning"], each["initial"], each["values"], rule["name"]))
        else:
            options.append(Option(each["name"], "flag", each["meaning"], each["initial"], ""))
    return options


def shared_options() -> list[Option]:
    """The options that all rules have, behind their own."""
    options = []
    for each in read_descriptions()["shared"]:
        found = each["field"]
        match each["kind"]:
            case "number":
                options.append(number_option(found))
            case "choice":
                options.append(choice_option(found["name"], found["meaning"], 0, each["values"], "shared"))
            case kind:
                options.append(Option(found["name"], kind, found["meaning"], 0, ""))
    assert all(option.enum in ("", option.name) for option in options), "enums of rule.h and shared_options.h differ"
    return options


def own_enums(rule: Rule) -> dict[str, list[str]]:
    """The values of choices for which the public headers have no enum, by the enum's name."""
    return {each.enum: each.values for each in own_options(rule) if each.enum not in ("", each.name)}


def words_of(rule: Rule) -> str:
    """The rule's name as that of a type: "SignMomentum"."""
    return capitalized(rule["name"])


def capitalized(name: str) -> str:
    return "".join(NAMES.get(word) or word.capitalize() for word in name.split("_"))


def states_of(rule: Rule) -> str:
    """In words: "State exp_avg, exp_avg_sq."; "" without states."""
    names = [kept["name"] for kept in (*rule["states"], *rule["numbers"])]
    whole = rule["whole_states"]
    listed = f"State {', '.join(names)}." if names else ""
    return f"{listed} State of a tensor as a whole: {whole}.".strip() if whole else listed


def sentence(text: str) -> str:
    """With a capital, unless it begins with an option's name."""
    begin = text[:1].upper() if text.split(" ")[0].rstrip(":").isalpha() else text[:1]
    return f"{begin}{text[1:]}."


def wrapped(text: str, width: int) -> list[str]:
    """In lines, none of which begins with an asterisk: many a language sees a list there."""
    return [line.replace("\xa0", " ") for line in textwrap.wrap(text.replace(" * ", "\xa0*\xa0"), width)]


def shown(number: float) -> str:
    """As it is written: 0.999, 1e-08 as 1e-8."""
    mantissa, sign, exponent = f"{number:.15g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if sign else mantissa


def legal(described: Rule, at_least: str = ">=") -> str:
    """The legal numbers: ">= 0", "in [0, 1)"; "" = any."""
    low, high = described["minimum"], described["limit"]
    if described["whole"]:
        return f"in [{shown(low)}, {shown(high)}), whole"
    if low is None and high is None:
        return ""
    if high is None:
        return f"{at_least} {shown(low)}"
    return f"< {shown(high)}" if low is None else f"in [{shown(low)}, {shown(high)})"
