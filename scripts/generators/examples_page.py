# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""examples/README.md: the examples by language, from the title and the first sentence of each folder's README."""

import re
from collections.abc import Iterator
from pathlib import Path

from generators.places import ROOT

FOLDER = ROOT / "examples"
OUTPUT = FOLDER / "README.md"
LANGUAGES = {
    "python": "Python",
    "c": "C",
    "cpp": "C++",
    "cuda": "CUDA",
    "rust": "Rust",
    "java": "Java",
    "julia": "Julia",
}
TITLE_AND_LEAD = re.compile(r"# (?P<title>[^\n]+)\n\n(?P<sentence>.+?[.:])(?=\s)", re.DOTALL)


def row(readme: Path) -> str:
    found = TITLE_AND_LEAD.match(readme.read_text())
    if found is None:
        raise SystemExit(f"{readme.relative_to(ROOT)}: expected a title, an empty line and a sentence")
    sentence = " ".join(found["sentence"].split()).rstrip(":.")
    return f"| [{found['title']}]({readme.parent.relative_to(FOLDER)}) | {sentence} |"


def lines() -> Iterator[str]:
    yield from ("# Examples", "")
    yield "Each folder stands alone: copy it and follow its README. The tests run all programs, the long ones at night."
    readmes = sorted(FOLDER.glob("*/*/README.md"), key=lambda readme: (readme.parent.name != "first_step", readme))
    if unknown := sorted({readme.parent.parent.name for readme in readmes} - set(LANGUAGES)):
        raise SystemExit(f"examples/{unknown[0]}: is no language, expected one of {', '.join(LANGUAGES)}")
    for folder, language in LANGUAGES.items():
        yield from ("", f"## {language}", "", "| task | what the program shows |", "|---|---|")
        yield from (row(readme) for readme in readmes if readme.parent.parent.name == folder)


def generated() -> str:
    return "\n".join(lines()) + "\n"
