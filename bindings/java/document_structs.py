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

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from c_headers import Enum, Struct, member_comments, read

SETTER_OR_GETTER = re.compile(r"  public (?:void (?P<setter>set)|\w+ get)(?P<name>\w+)\(")
CONSTANT = re.compile(r"  public final static int (\w+) =")
CLASS = re.compile(r"public (?:final class|interface) (\w+)")


Headers = tuple[dict[str, tuple[str, dict[str, str]]], dict[str, str], dict[str, str]]


def read_headers(folder: Path) -> Headers:
    """Structs by the names of their classes, enumerators and, for each enum, what its enumerators begin with."""
    structs: dict[str, tuple[str, dict[str, str]]] = {}
    enumerators: dict[str, str] = {}
    prefixes: dict[str, str] = {}
    for found in read(folder.parent):
        text = (folder / found.header).read_text()
        if isinstance(found, Struct) and found.fields:
            # gradstep_comm_options is CommunicatorOptions there.
            name = re.sub("^gradstep_comm_", "communicator_", found.name).removeprefix("gradstep_")
            structs[name.replace("_", "")] = (found.name, member_comments(text, found))
        elif isinstance(found, Enum):
            members = member_comments(text, found)
            enumerators.update({name.removeprefix("GRADSTEP_"): comment for name, comment in members.items()})
            invalid = [name for name in members if name.endswith("INVALID")]
            prefix = invalid[0].removeprefix("GRADSTEP_").removesuffix("INVALID") if invalid else "ERR_"
            prefixes[found.name.removeprefix("gradstep_")] = prefix
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


def document(path: Path, headers: Headers) -> None:
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
