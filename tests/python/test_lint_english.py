# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/lint_english finds what CONTRIBUTING.md forbids in documents, comments and docstrings, and not in code."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def lint():
    loader = importlib.machinery.SourceFileLoader("lint_english", str(ROOT / "scripts" / "lint_english"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint_english", loader))
    sys.modules["lint_english"] = module  # its dataclass asks for it
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "text", "kinds"),
    [
        ("a.md", "The norm. Of a vector it is the length.\n", ["start"]),
        ("a.md", "The norm\nis told. `Of` code and\n\n```c\n// Of nothing\n```\n", ["word"]),
        ("a.md", f"- {'word ' * 36}.\n", ["length"]),
        ("a.md", f"{'word ' * 18}. {'word ' * 18}.\n\n| {'cell ' * 20}; {'cell ' * 20} |\n", []),
        ("a.md", 'The rule quotes "Of" and "nobody".\n', []),
        ("a.h", "/// Returns it. Those are\n/// copied.\nint nobody;  // whoever asks\n", ["start", "word"]),
        ("a.c", "/* The same\n * as before. */\nint of = 1;\n", ["start"]),
        ("a.py", '"""Returns it.\n\nThose that are left."""\nx = "# Of text"  # seldom\n', ["start", "word"]),
        ("a.jl", "# Whoever calls\nf(x) = x\n", ["start", "word"]),
        ("a.py", f'"""{"word " * 50}."""\n', []),
    ],
)
def test_findings_of_a_file(lint, tmp_path, name, text, kinds):
    file = tmp_path / name
    file.write_text(text)
    assert [kind for _, kind, _ in lint.faults(file)] == kinds
