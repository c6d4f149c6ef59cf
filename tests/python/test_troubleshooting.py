# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The error texts that docs/troubleshooting.md quotes are those that the sources write."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("src", "cuda", "bindings/python/gradstep")
# Rows of the page that stand for many texts.
FAMILIES = {"options.learning_rate"}
# Rows whose texts others write: the system's loader, Python.
OF_OTHERS = {"libgradstep.so.0: cannot open shared object file", "module 'gradstep' has no attribute 'torch'"}


def quoted() -> list[str]:
    rows = re.findall(r"^\| `([^`]+)`", (ROOT / "docs" / "troubleshooting.md").read_text(), re.MULTILINE)
    return [text for text in rows if text not in FAMILIES | OF_OTHERS]


@pytest.fixture(scope="module")
def sources() -> str:
    """All of them, with literals that follow one another joined and what is filled in left out."""
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.*"))]
    text = "\n".join(file.read_text() for file in files if file.suffix in {".cpp", ".h", ".cu", ".py"})
    return re.sub(r"\{[^{}\n]*\}", "...", re.sub(r'"\s*(?:\+ )?f?"', "", text))


@pytest.mark.parametrize("text", quoted())
def test_an_error_text_is_in_the_sources(text, sources):
    assert text.replace("...", "").strip(), text
    assert text.removesuffix("...").rstrip(": ") in sources


def test_the_page_has_rows():
    assert len(quoted()) > 20
