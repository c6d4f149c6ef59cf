# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Pages of the public headers: what they declare, under the comments that they have there."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from c_headers import COMMENT, INLINE, Alias, Declaration, Enum, Function, Struct, prose, read_header

MACRO = re.compile(r"(?P<comment>/\*(?:(?!\*/).)*\*/)\n#define (?P<name>GRADSTEP_\w+) (?P<value>\S+)\n", re.DOTALL)


@dataclass
class Member:
    code: str
    comments: list[str] = field(default_factory=list)


def members(body: str, separator: str) -> list[Member]:
    """Fields or enumerators. A comment on a line of its own is about what follows, others about what is before them."""
    found: list[Member] = []
    code, waiting, on_line_of_last = "", [], False
    for token in re.split(rf"(/\*.*?\*/|{separator})", body, flags=re.DOTALL):
        if token.startswith("/*"):
            if code.strip() or not on_line_of_last:
                waiting.append(prose(token))
            else:
                found[-1].comments.append(prose(token))
        elif token == separator:
            found.append(Member(" ".join(code.split()), waiting))
            code, waiting, on_line_of_last = "", [], True
        else:
            code += token
            on_line_of_last = on_line_of_last and "\n" not in token
    if code.strip():
        found.append(Member(" ".join(code.split()), waiting))
    return found


class Page:
    """One header as reStructuredText."""

    def __init__(self, path: Path, kinds: dict[str, str]) -> None:
        self._name = path.name
        self._text = path.read_text()
        self._declarations = read_header(path)
        self._kinds = kinds  # of all names that have a place in the reference

    def lines(self) -> list[str]:
        head = prose(next(found[0] for found in COMMENT.finditer(self._text) if f"{self._name}:" in found[0]))
        title, _, words = head.partition(":")
        out = [title, "=" * len(title), "", f"``#include <gradstep/{self._name}>``", ""]
        out += self._words(words.strip()[:1].upper() + words.strip()[1:])
        for macro in MACRO.finditer(self._text):
            out += [f".. c:macro:: {macro['name']}", "", f"   Is {macro['value']}.", ""]
            out += indented(self._words(prose(macro["comment"])))
        done: set[str] = set()
        for found in self._declarations:
            if found.name not in done:
                done.update(found.family if isinstance(found, Function) else [found.name])
                out += self._declaration(found)
        return out

    def _declaration(self, found: Declaration) -> list[str]:
        if isinstance(found, Function):
            family = [each for each in self._declarations if each.name in found.family]
            signatures = [f"{each.returns} {each.name}({each.arguments})" for each in family]
            out = [f".. c:function:: {signatures[0]}", *(f"                 {each}" for each in signatures[1:])]
        elif isinstance(found, Alias):
            out = [f".. c:type:: {found.type} {found.name}"]
        else:
            out = [f".. c:{'enum' if isinstance(found, Enum) else 'struct'}:: {found.name}"]
        out += ["", *indented(self._words(found.comment))]
        if isinstance(found, Enum) or (isinstance(found, Struct) and found.fields is not None):
            kind, separator = ("enumerator", ",") if isinstance(found, Enum) else ("member", ";")
            for member in members(self._body(found.name), separator):
                out += [f"   .. c:{kind}:: {member.code}", ""]
                out += [line for comment in member.comments for line in indented(self._words(comment), 6)]
        return out

    def _body(self, name: str) -> str:
        match = re.search(rf"(?:struct|enum) {name} \{{(.*?)^\}}", self._text, re.DOTALL | re.MULTILINE)
        assert match, f"{self._name}: no body of {name}"
        return match[1]

    def _words(self, text: str) -> list[str]:
        """A comment's paragraphs, lists and tables; what it returns as a field."""
        out: list[str] = []
        for block in filter(None, re.split(r"\n\s*\n", text)):
            for is_table, lines in self._runs(block.splitlines()):
                if is_table:
                    out += ["::", "", *(f"   {line}" for line in lines), ""]
                    continue
                for item in self._items(lines):
                    words, found, returns = item.partition("Returns:")
                    if words.strip():
                        marker = "* " if words.startswith("- ") else ""
                        out += [marker + self._linked(words.removeprefix("- ").strip()), ""]
                    if found:
                        out += [f":Returns: {self._linked(returns.strip())}", ""]
        return out

    @staticmethod
    def _runs(lines: list[str]) -> list[tuple[bool, list[str]]]:
        """Lines of one kind that follow each other: tables and formulas stand further in, and so does what continues
        the item of a list."""
        runs: list[tuple[bool, list[str]]] = []
        for line in lines:
            in_list = bool(runs) and not runs[-1][0] and any(each.startswith("- ") for each in runs[-1][1])
            is_table = line.startswith(" ") and not in_list
            if not runs or runs[-1][0] != is_table:
                runs.append((is_table, []))
            runs[-1][1].append(line)
        return runs

    @staticmethod
    def _items(lines: list[str]) -> list[str]:
        """Paragraphs of a block, and the items of its lists."""
        items: list[str] = []
        for line in lines:
            if not items or line.startswith("- "):
                items.append(line)
            else:
                items[-1] += " " + line.strip()
        return items

    def _linked(self, text: str) -> str:
        def replaced(match: re.Match) -> str:
            word = match[0]
            if word in self._kinds:
                return f":c:{self._kinds[word]}:`{word}`"
            return f"``{word}``" if "_" in word else word

        pieces = re.split(r"(\b[A-Za-z]\w*\b)", text)
        out = ""
        for i, piece in enumerate(pieces):
            if i % 2 == 0:
                out += re.sub(r"([\\*`|_])", r"\\\1", piece)
                continue
            word = replaced(re.fullmatch(r"\w+", piece))
            # Markup must stand apart from what it touches; an escaped space is none.
            if word.startswith((":", "`")):
                word = f"\\ {word}\\ "
            out += word
        return out


def indented(lines: list[str], spaces: int = 3) -> list[str]:
    return [" " * spaces + line if line else "" for line in lines]


def kinds_of(headers: list[Path]) -> dict[str, str]:
    roles = {Function: "func", Struct: "struct", Enum: "enum", Alias: "type"}
    kinds: dict[str, str] = {}
    for path in headers:
        for found in read_header(path):
            kinds[found.name] = roles[type(found)]
            if isinstance(found, Enum):
                kinds.update(dict.fromkeys(found.enumerators, "enumerator"))
        kinds.update({match["name"]: "macro" for match in MACRO.finditer(path.read_text())})
    return kinds


def write(include: Path, out: Path) -> None:
    """A page for each header, and their index."""
    left_out = {"gradstep.h", *INLINE}
    headers = [path for path in sorted((include / "gradstep").glob("*.h")) if path.name not in left_out]
    kinds = kinds_of(headers)
    out.mkdir(parents=True, exist_ok=True)
    for path in headers:
        (out / f"{path.stem}.rst").write_text("\n".join(Page(path, kinds).lines()))
    title = "C reference"
    introduction = (
        "Made from the comments of the public headers, which ``gradstep/gradstep.h`` includes all. "
        ":doc:`base` has the rules that every call keeps."
    )
    first = ["base", "tensor", "context"]
    order = first + [path.stem for path in headers if path.stem not in first]
    index = [title, "=" * len(title), "", introduction, "", ".. toctree::", "   :maxdepth: 1", "", *indented(order), ""]
    (out / "index.rst").write_text("\n".join(index))
