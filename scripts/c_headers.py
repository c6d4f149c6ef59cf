# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What the public headers declare, read from their text.

The headers keep to a small part of C, and read() refuses every declaration that it does not know, so that no struct,
enum or function can be missed. A comment belongs to the declarations that follow it without an empty line.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


class Unreadable(Exception):
    pass


@dataclass
class Field:
    name: str
    type: str


@dataclass
class Declaration:
    header: str
    line: int
    name: str
    comment: str
    family: list[str]  # the names of all that share the comment, in their order


@dataclass
class Struct(Declaration):
    fields: list[Field] | None = None  # None: opaque

    @property
    def grows(self) -> bool:
        return bool(self.fields) and self.fields[0] == Field("struct_size", "uint32_t")


@dataclass
class Enum(Declaration):
    enumerators: list[str] = field(default_factory=list)


@dataclass
class Function(Declaration):
    returns: str = ""
    arguments: str = ""


@dataclass
class Alias(Declaration):
    type: str = ""


# Headers of inline functions alone, which call the others: nothing in them is part of the library's interface.
INLINE = {"rules.h"}
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# What only C++ sees; then the lines of the preprocessor.
NOT_C = [
    re.compile(r"^#if defined\(__cplusplus\)$.*?^#endif$", re.DOTALL | re.MULTILINE),
    re.compile(r"^#(?:\\\n|.)*$", re.MULTILINE),
]
STRUCT = re.compile(r"typedef struct (?P<name>\w+) \{(?P<body>.*)\} (?P=name)")
OPAQUE = re.compile(r"typedef struct (?P<name>\w+) (?P=name)")
ENUM = re.compile(r"enum (?P<name>\w+) \{(?P<body>.*)\}")
ALIAS = re.compile(r"typedef (?P<type>\w+) (?P<name>\w+)")
FUNCTION = re.compile(r"GRADSTEP_API (?P<returns>.+?)(?P<name>\w+)\((?P<arguments>.*)\) GRADSTEP_NOEXCEPT")
CALLBACK = re.compile(r"[\w ]+\*? ?\(\*(?P<name>\w+)\)\(.*\)")
MEMBER = re.compile(r"(?P<type>[\w ]+?[ *]+)(?P<name>\w+)(?P<extent>\[\d+\])?")
ENUMERATOR = re.compile(r"(\w+) = -?\w+( << \w+)?")
INCLUDED = re.compile(r'^#include "gradstep/(\w+\.h)"', re.MULTILINE)
# A comment before a member and one behind it; commas of enumerators and semicolons of fields come before the latter.
COMMENTED_MEMBER = re.compile(
    r"(?P<before>(?:\s*/\*(?:(?!\*/).)*\*/)?)\s*(?P<code>[^/;{}]+?)[;,]?(?P<after>[ \t]*/\*(?:(?!\*/).)*\*/)?[ \t]*\n",
    re.DOTALL,
)
COMMENTED_FIELD = re.compile(
    r"^\s*\w+ (?P<name>\w+);\s*/\* (?:flags of )?(?P<words>enum (?P<enum>gradstep_\w+)|bool\b)"
)


def blank(match: re.Match) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def prose(comment: str) -> str:
    """The words of a comment, without its frame; lines stay lines."""
    lines = comment.removeprefix("/*").removesuffix("*/").splitlines()
    return "\n".join(re.sub(r"^ ?\* ?", "", line.strip()) for line in lines).strip()


def one_line(code: str) -> str:
    code = re.sub(r"\s+", " ", code).strip()
    return re.sub(r" ?([(),]) ?", r"\1", code).replace(",", ", ").replace(")GRADSTEP", ") GRADSTEP")


def read_field(text: str, where: str) -> Field:
    if match := CALLBACK.fullmatch(text):
        return Field(match["name"], text.replace(f"(*{match['name']})", "(*)"))
    if match := MEMBER.fullmatch(text):
        return Field(match["name"], match["type"].strip() + (match["extent"] or ""))
    raise Unreadable(f"{where}: expected one field, found: {text}")


def read_declaration(code: str, header: str, line: int, comment: str) -> Declaration:
    where = f"{header}:{line}"
    found = one_line(code)
    if match := FUNCTION.fullmatch(found):
        return Function(
            header, line, match["name"], comment, [match["name"]], match["returns"].strip(), match["arguments"]
        )
    if match := STRUCT.fullmatch(re.sub(r"\s+", " ", code).strip()):
        members = [one_line(member) for member in match["body"].split(";")]
        if members.pop() != "":
            raise Unreadable(f"{where}: the last field of {match['name']} has no semicolon")
        return Struct(
            header, line, match["name"], comment, [match["name"]], [read_field(member, where) for member in members]
        )
    if match := OPAQUE.fullmatch(found):
        return Struct(header, line, match["name"], comment, [match["name"]])
    if match := ENUM.fullmatch(found):
        enumerators = [ENUMERATOR.fullmatch(text.strip()) for text in match["body"].split(",")]
        if not all(enumerators):
            raise Unreadable(f"{where}: an enumerator of {match['name']} has no number")
        return Enum(header, line, match["name"], comment, [match["name"]], [each[1] for each in enumerators if each])
    if match := ALIAS.fullmatch(found):
        return Alias(header, line, match["name"], comment, [match["name"]], match["type"])
    raise Unreadable(f"{where}: a declaration of a kind that scripts/c_headers.py does not know: {found}")


def read_header(path: Path) -> list[Declaration]:
    text = path.read_text()
    comments = {match.end(): prose(match[0]) for match in COMMENT.finditer(text)}
    code = COMMENT.sub(blank, text)
    for pattern in NOT_C:
        code = pattern.sub(blank, code)
    declarations: list[Declaration] = []
    begin = depth = 0
    last_end = -1
    for position, character in enumerate(code):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character != ";" or depth != 0:
            continue
        start = begin + len(code[begin:position]) - len(code[begin:position].lstrip())
        line = text.count("\n", 0, start) + 1
        comment = next((words for end, words in comments.items() if text[end:start] == "\n"), "")
        found = read_declaration(code[start:position], path.name, line, comment)
        if declarations and text[last_end + 1 : start] == "\n" and declarations[-1].comment:
            found.comment = declarations[-1].comment
            found.family = declarations[-1].family
            found.family.append(found.name)
        declarations.append(found)
        begin, last_end = position + 1, position
    if depth != 0 or code[begin:].strip():
        raise Unreadable(f"{path.name}: ends inside a declaration: {code[begin:].strip()[:80]}")
    return declarations


def read(include: Path) -> list[Declaration]:
    """All declarations of the library in include/gradstep/*.h, in the order of files and lines."""
    paths = sorted(path for path in (include / "gradstep").glob("*.h") if path.name not in INLINE)
    return [found for path in paths for found in read_header(path)]


def field_words(text: str, struct: str) -> Iterator[tuple[str, str]]:
    """(field, its enum or "bool") of the fields of a struct that are such, by their comments in the header's text."""
    match = re.search(rf"typedef struct {struct} \{{(.*?)\}} {struct};", text, re.DOTALL)
    for line in match[1].splitlines() if match else ():
        if found := COMMENTED_FIELD.match(line):
            yield found["name"], found["enum"] or "bool"


def member_comments(text: str, found: Declaration) -> dict[str, str]:
    """What the header says of each field of a struct, or enumerator of an enum, in one line each; "" is nothing."""
    kind = "struct" if isinstance(found, Struct) else "enum"
    match = re.search(rf"{kind} {found.name} \{{(.*?)\n\}}", text, re.DOTALL)
    comments = {}
    for member in COMMENTED_MEMBER.finditer(match[1] + "\n" if match else ""):
        name = re.search(r"\(\*(\w+)\)\(|(\w+)(?:\[\d+\])?(?: = .*)?$", member["code"].strip())
        if name:
            words = [" ".join(prose(member[each].strip()).split()) for each in ("before", "after") if member[each]]
            comments[name[1] or name[2]] = " ".join(words).strip()
    return comments


def shared_prefix(names: list[str]) -> str:
    """The words that all enumerators of an enum begin with."""
    words = [name.split("_") for name in names]
    common = 0
    while all(len(word) > common + 1 and word[common] == words[0][common] for word in words):
        common += 1
    return "".join(word + "_" for word in words[0][:common])


def in_order(folder: Path, name: str, done: list[str]) -> list[str]:
    """The header `name` behind those of the library that it includes, each of them once."""
    for included in INCLUDED.findall((folder / name).read_text()):
        if included not in INLINE:
            in_order(folder, included, done)
    if name not in done:
        done.append(name)
    return done


def plain_text(include: Path) -> str:
    """All declarations as one text of plain C, without comments and macros, each type before its use."""
    folder = include / "gradstep"
    texts = []
    for name in in_order(folder, "gradstep.h", []):
        text = (folder / name).read_text()
        for pattern in (COMMENT, *NOT_C):
            text = pattern.sub("", text)
        text = re.sub(r"GRADSTEP_API |\s*\bGRADSTEP_NOEXCEPT", "", text)
        texts.append(re.sub(r"\n\s*\n+", "\n", re.sub(r" +\n", "\n", text)).strip())
    return "\n".join(text for text in texts if text) + "\n"
