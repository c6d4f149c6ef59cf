# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The page of the Python reference that has the class of each rule."""

from generators.places import ROOT
from generators.rules import capitalized, named_rules

OUTPUT = ROOT / "docs" / "site" / "python" / "rules.rst"
HEAD = """\
First-order rules
=================

.. Written by scripts/generate from src/rules.

.. currentmodule:: gradstep
"""


def generated() -> str:
    names = [capitalized(rule["name"]) for rule in named_rules()]
    return HEAD + "".join(f"\n.. autoclass:: gradstep.{name}\n   :members:\n" for name in names)
