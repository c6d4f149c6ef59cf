# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The Python package: a class for each rule, whose keywords type checkers know, and the names of their numbers."""

from collections.abc import Iterator
from pathlib import Path

from generators.places import ROOT
from generators.rules import Rule, named_rules, read_rules, shared_options, words_of

PACKAGE = ROOT / "bindings" / "python" / "gradstep"
HEAD = """\
# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Written by scripts/generate from src/rules.
\"\"\"The first-order rules. Their documentation is what the C library says of them.\"\"\"

from collections.abc import Iterable
from typing import TypedDict, Unpack

from gradstep._arrays import Groups, Parameters
from gradstep._named_optimizer import NamedOptimizer, rule_class
from gradstep.context import Context
from gradstep.schedule import Number


class SharedOptions(TypedDict, total=False):
    \"\"\"What every rule but Shampoo takes besides its own options.\"\"\"

@SHARED@
"""
CLASS = """

class {name}Options(SharedOptions, total=False):
{options}


@rule_class("{rule}")
class {name}(NamedOptimizer):
    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Unpack[{name}Options],
    ) -> None:
        super().__init__(parameters, names=names, groups=groups, context=context, **options)
"""
NUMBERS = """\
# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Written by scripts/generate from src/rules.

NUMBERS = frozenset(
    {{{names}    }}
)
\"\"\"The states that are one number for each parameter.\"\"\"
"""
TAIL = """

CLASSES: dict[str, type[NamedOptimizer]] = {{
{classes}
}}
__all__ = [
{names}
]
"""


TYPES = {"number": "float", "choice": "str", "flag": "bool", "integer": "int"}


def options_of(rule: Rule) -> Iterator[str]:
    yield from (f"    {field['name']}: Number" for field in rule["fields"])
    yield from (f"    {setting['name']}: float" for setting in rule["settings"])
    yield from (f"    {choice['name']}: {'str' if choice['values'] else 'bool'}" for choice in rule["choices"])


def generated() -> dict[Path, str]:
    numbers = {number["name"] for rule in read_rules() for number in rule["numbers"]} | {"step", "average_count"}
    names = "".join(f'\n        "{name}",' for name in sorted(numbers)) + "\n"
    return {PACKAGE / "rules.py": classes_text(), PACKAGE / "_kept_numbers.py": NUMBERS.format(names=names)}


def classes_text() -> str:
    rules = {rule["name"]: rule for rule in named_rules()}
    classes = {name: words_of(rule) for name, rule in rules.items()}
    shared = (f"    {option.name}: {TYPES[option.kind]}" for option in shared_options())
    text = HEAD.replace("@SHARED@", "\n".join(shared))
    for name, rule in rules.items():
        text += CLASS.format(name=classes[name], rule=name, options="\n".join(options_of(rule)))
    return text + TAIL.format(
        classes="\n".join(f'    "{rule}": {name},' for rule, name in classes.items()),
        names="\n".join(
            f'    "{name}",' for name in sorted(classes.values(), key=lambda name: (not name.isupper(), name))
        ),
    )
