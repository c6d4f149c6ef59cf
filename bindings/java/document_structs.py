#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: document_structs.py HEADER_DIR GENERATED_DIR

Gives the classes that SWIG has written for structs of options, and the interface of constants, the comments that the
fields and enumerators have in the C headers. A file that has its Javadoc is left alone.
"""

import html
import re
import sys
import textwrap
from pathlib import Path

COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
STRUCT = re.compile(r"typedef struct gradstep_\w+ \{(.*?)\} gradstep_(\w+);", re.DOTALL)
ENUM = re.compile(r"enum gradstep_(\w+) \{(.*?)\};", re.DOTALL)
# A comment before a member and one behind it; commas of enumerators and semicolons of fields come before the latter.
MEMBER = re.compile(
    r"(?P<before>(?:\s*/\*(?:(?!\*/).)*\*/)?)\s*(?P<code>[^/;,{}]+?)[;,]?(?P<after>[ \t]*/\*(?:(?!\*/).)*\*/)?[ \t]*\n",
    re.DOTALL,
)
SETTER_OR_GETTER = re.compile(r"  public (?:void (?P<setter>set)|\w+ get)(?P<name>\w+)\(")
CONSTANT = re.compile(r"  public final static int (\w+) =")
CLASS = re.compile(r"public (?:final class|interface) (\w+)")


def words_of(*comments: str | None) -> str:
    texts = [" ".join(re.sub(r"^\s*\* ?", " ", comment, flags=re.MULTILINE).split()) for comment in comments if comment]
    return " ".join(text.removeprefix("/*").removesuffix("*/").strip() for text in texts)


def members_of(body: str) -> dict[str, str]:
    found = {}
    for member in MEMBER.finditer(body + "\n"):
        name = re.search(r"(\w+)(?:\[\d+\])?(?: = .*)?$", member["code"].strip())
        if name:
            found[name[1]] = words_of(member["before"], member["after"])
    return found


def read_headers(folder: Path) -> tuple[dict[str, tuple[str, dict[str, str]]], dict[str, str], dict[str, str]]:
    """Structs by the names of their classes, enumerators and, for each enum, what its enumerators begin with."""
    structs: dict[str, tuple[str, dict[str, str]]] = {}
    enumerators: dict[str, str] = {}
    prefixes: dict[str, str] = {}
    for header in sorted(folder.glob("*.h")):
        text = header.read_text()
        for match in STRUCT.finditer(text):
            # gradstep_comm_options is CommunicatorOptions there.
            name = re.sub("^comm_", "communicator_", match[2]).replace("_", "")
            structs[name] = (f"gradstep_{match[2]}", members_of(match[1]))
        for match in ENUM.finditer(text):
            members = members_of(match[2])
            enumerators.update({name.removeprefix("GRADSTEP_"): comment for name, comment in members.items()})
            invalid = [name for name in members if name.endswith("INVALID")]
            prefixes[match[1]] = invalid[0].removeprefix("GRADSTEP_").removesuffix("INVALID") if invalid else "ERR_"
    return structs, enumerators, prefixes


def sentence(text: str, prefixes: dict[str, str]) -> str:
    text = re.sub(r"enum gradstep_(\w+)", lambda enum: f"a constant of Constants named {prefixes[enum[1]]}...", text)
    text = re.sub(r"^bool\b", "0 or 1", text)
    text = html.escape(text.replace("GRADSTEP_", ""), quote=False).replace("@", "&#64;")
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", ":")) else text + "."


def javadoc(text: str, tag: str = "", indent: str = "  ") -> list[str]:
    lines = textwrap.wrap(text, 112)
    if tag:
        lines += ["", tag]
    return [indent + "/**", *(f"{indent} * {line}".rstrip() for line in lines), indent + " */"]


def about(name: str, structs: dict[str, tuple[str, dict[str, str]]]) -> str:
    if name == "coreConstants":
        return "The enumerators of the C headers; see {@link Constants}."
    return (
        f"The fields of {structs[name.lower()][0]}, of which the C header says more. A new one has the defaults; it is "
        "read during the calls that it is given to; after {@link #close} a use is an IllegalStateException."
    )


def document(path: Path, headers: tuple[dict[str, tuple[str, dict[str, str]]], dict[str, str], dict[str, str]]) -> None:
    structs, enumerators, prefixes = headers
    text = path.read_text()
    declared = CLASS.search(text)
    if declared is None or f" */\n{declared[0]}" in text:
        return
    fields = structs.get(declared[1].lower(), ("", {}))[1]
    comments = {name.replace("_", ""): (name, comment) for name, comment in fields.items()}
    written: list[str] = []
    for line in text.split("\n"):
        if accessor := SETTER_OR_GETTER.match(line):
            if accessor["name"].lower() in comments and written[-1] != "   */":
                name, comment = comments[accessor["name"].lower()]
                tag = "@param value the new one" if accessor["setter"] else "@return the value"
                written += javadoc(sentence(comment or name.replace("_", " "), prefixes), tag)
        elif constant := CONSTANT.match(line):
            written += javadoc(sentence(enumerators.get(constant[1]) or constant[1], prefixes))
        elif declared[0] in line:
            written += javadoc(about(declared[1], structs), indent="")
        elif line.startswith(f"  public {declared[1]}()"):
            written += javadoc("The defaults.")
        elif "public void close()" in line:
            written += javadoc("Gives the struct up; calls that are inside finish first. A second time does nothing.")
        written.append(line)
    path.write_text("\n".join(written))


def main() -> None:
    headers = read_headers(Path(sys.argv[1]))
    for path in sorted(Path(sys.argv[2]).glob("*.java")):
        document(path, headers)


if __name__ == "__main__":
    main()
