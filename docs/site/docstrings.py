# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The package's docstrings as reStructuredText.

They are written to be read in a terminal: paragraphs; lines "name: text" for arguments, continued by an indent; blocks
that stand further in, which stay as they are; and the list of keywords that gradstep._keywords writes.
"""

import re
import textwrap

KEYWORDS = "Keywords and their defaults"
ARGUMENT = re.compile(r"(?P<names>[a-z_]\w*(?:, [a-z_]\w*)*): (?P<text>\S.*)", re.DOTALL)
KEYWORD = re.compile(r"(?P<name>\w+\*?)(?P<value>[^:]*?): (?P<text>.*)", re.DOTALL)
LITERAL = re.compile(r"(``.+?``)", re.DOTALL)


def escaped(text: str) -> str:
    """Plain text, but for ``literals``."""
    parts = LITERAL.split(text)
    return "".join(part if i % 2 else re.sub(r"([\\*`|_])", r"\\\1", part) for i, part in enumerate(parts))


def folded(lines: list[str]) -> list[str]:
    """Lines with those that continue them, which stand further in."""
    items: list[str] = []
    for line in lines:
        if items and line.startswith(" "):
            items[-1] += " " + line.strip()
        else:
            items.append(line.strip())
    return items


def keyword_list(block: str) -> list[str]:
    items = []
    for item in folded(textwrap.dedent(block).splitlines()):
        if match := KEYWORD.fullmatch(item):
            literal = f"``{match['name']}{match['value']}``"
            items.append(f"* {literal}: {escaped(match['text'])}")
        else:
            items.append(f"* {escaped(item)}")
    return items


def paragraph(block: str) -> list[str]:
    """Prose, and arguments as a list of fields."""
    out: list[str] = []
    prose: list[str] = []

    def end_prose() -> None:
        if prose:
            out.extend([escaped(" ".join(prose)), ""])
            prose.clear()

    for item in folded(block.splitlines()):
        match = ARGUMENT.fullmatch(item)
        if match:
            end_prose()
            out.append(f":{match['names']}: {escaped(match['text'])}")
        elif item.startswith("- "):
            end_prose()
            out.extend([f"* {escaped(item[2:])}", ""])
        elif out and out[-1].startswith((":", "* ")):
            out.extend(["", escaped(item), ""])
        else:
            prose.append(item)
    end_prose()
    return out


def converted(docstring: str) -> list[str]:
    out: list[str] = []
    in_keywords = False
    for block in filter(None, re.split(r"\n\s*\n", docstring.strip("\n"))):
        if in_keywords:
            out.extend([*keyword_list(block), ""])
            in_keywords = False
        elif block.startswith(KEYWORDS):
            out.extend([escaped(block), ""])
            in_keywords = True
        elif all(line.startswith("    ") for line in block.splitlines()):
            out.extend(["::", "", *(f"   {line}" for line in block.splitlines()), ""])
        else:
            out.extend([*paragraph(block), ""])
    return out


def as_restructured_text(app, what, name, obj, options, lines) -> None:
    """A listener of autodoc-process-docstring."""
    text = "\n".join(lines)
    lines[:] = [] if text.startswith("Alias for field number") else converted(text)
