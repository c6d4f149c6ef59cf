# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""typed_rules.jl of the Julia package: a function for each rule."""

import re

from generators.places import ROOT
from generators.rules import (
    Rule,
    own_options,
    sentence,
    shared_options,
    shown,
    states_of,
    typed_rules,
    words_of,
    wrapped,
)

OUTPUT = ROOT / "bindings" / "julia" / "Gradstep.jl" / "src" / "typed_rules.jl"
HEAD = """\
# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Written by scripts/generate from src/rules.

export @NAMES@
"""
RULE = '''
@doc raw"""
{call}

{source}

{formula}

{options}

{rest}
"""
{name}({required}; options...) = NamedRule("{rule}"; {given}options...)
options(::typeof({name})) = options_by_name("{rule}")
'''


def coded(text: str) -> str:
    """Names with an underscore as code: Markdown takes one for emphasis."""
    return re.sub(r"(?<!`)\b\w+_\w+\b(?!`)", r"`\g<0>`", text)


def rule_text(rule: Rule) -> str:
    own = own_options(rule)
    required = [each.name for each in own if each.default is None]
    defaults = {
        "number": lambda each: shown(each.default),
        "flag": lambda each: "true" if each.default else "false",
        "choice": lambda each: f":{each.values[int(each.default or 0)]}",
    }
    keywords = [f"{each.name}\xa0=\xa0{defaults[each.kind](each)}" for each in own if each.default is not None]
    call = wrapped(f"{words_of(rule)}({', '.join(required)}; {', '.join([*keywords, 'options...'])})", 116)
    shared = ", ".join(f"`{each.name}`" for each in shared_options())
    return RULE.format(
        name=words_of(rule),
        rule=rule["name"],
        required=", ".join(required),
        call="\n".join(f"    {line}" for line in call),
        given="".join(f"{name} = {name}, " for name in required),
        source=sentence(rule["source"]),
        formula="\n".join(f"    {line}" for line in rule["formula"].splitlines()),
        options="\n".join(f"- `{each.name}`: {coded(each.says())}" for each in own),
        rest="\n".join(wrapped(f"{coded(states_of(rule))} All rules take {shared}, too.".strip(), 120)),
    )


def generated() -> str:
    names = ", ".join(words_of(rule) for rule in typed_rules())
    return HEAD.replace("@NAMES@", names) + "".join(rule_text(rule) for rule in typed_rules())
