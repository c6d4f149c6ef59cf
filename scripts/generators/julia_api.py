# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The low layer of the Julia package, from the public headers: a struct for each struct, a named tuple for each enum, a
function for each function, and which integer fields are enums or bools.
"""

import re
from collections.abc import Iterator

from c_headers import Alias, Declaration, Enum, Function, Struct, field_words, read, shared_prefix

from generators.places import INCLUDE, ROOT

OUTPUT = ROOT / "bindings" / "julia" / "Gradstep.jl" / "src" / "c_api.jl"
HEAD = """\
# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Written by scripts/generate from include/c_api/gradstep. The comments there are the reference.
"""
SCALARS = {
    "int32_t": "Int32",
    "int64_t": "Int64",
    "uint8_t": "UInt8",
    "uint16_t": "UInt16",
    "uint32_t": "UInt32",
    "uint64_t": "UInt64",
    "size_t": "Csize_t",
    "double": "Float64",
    "char": "UInt8",
    "void": "Cvoid",
}
KEYWORDS = {"function", "local"}  # of Julia's, among the names


class Types:
    def __init__(self, declarations: list[Declaration]) -> None:
        self.names = dict(SCALARS)
        self.names.update({found.name: found.name for found in declarations if isinstance(found, Struct)})
        self.names.update({found.name: SCALARS[found.type] for found in declarations if isinstance(found, Alias)})

    def julia(self, c_type: str, *, argument: bool = False) -> str:
        """The Julia type of a C type. A text that is an argument is a Cstring, which Julia makes of a String."""
        if "(*)" in c_type:
            return "Ptr{Cvoid}"
        if match := re.fullmatch(r"(\w+)\[(\d+)\]", c_type):
            return f"NTuple{{{match[2]}, {self.names[match[1]]}}}"
        if argument and c_type == "const char*":
            return "Cstring"
        words = re.sub(r"\b(const|struct)\b", "", c_type).replace(" ", "")
        base = words.rstrip("*")
        found = self.names[base]
        for _ in range(len(words) - len(base)):
            found = f"Ptr{{{found}}}"
        return found


def julia_name(name: str) -> str:
    return f'var"{name}"' if name in KEYWORDS else name


def sorted_structs(declarations: list[Declaration]) -> Iterator[Struct]:
    """The structs that have fields, each after those that it mentions."""
    structs = {found.name: found for found in declarations if isinstance(found, Struct) and found.fields is not None}
    done: set[str] = set()

    def visit(found: Struct) -> Iterator[Struct]:
        if found.name in done:
            return
        done.add(found.name)
        for field in found.fields or ():
            if "(*)" in field.type:
                continue
            for name in re.findall(r"gradstep_\w+", field.type):
                if name in structs:
                    yield from visit(structs[name])
        yield found

    for found in structs.values():
        yield from visit(found)


def numbers(text: str) -> dict[str, str]:
    return dict(re.findall(r"^\s+(GRADSTEP_\w+) = (-?\w+(?: << \w+)?)", text, re.MULTILINE))


def enum_lines(found: Enum, value: dict[str, str]) -> Iterator[str]:
    prefix = "GRADSTEP_" if len(found.enumerators) == 1 else shared_prefix(found.enumerators)
    named = [(name.removeprefix(prefix).lower(), value[name]) for name in found.enumerators]
    entries = ", ".join(f"{julia_name(word)} = Int32({number})" for word, number in named if word != "invalid")
    yield f"const {found.name} = ({entries},)"


def function_line(found: Function, types: Types) -> str:
    arguments = []
    for text in found.arguments.split(", ") if found.arguments != "void" else ():
        match = re.fullmatch(r"(?P<type>.+?[ *])(?P<name>\w+)", text)
        assert match, f"{found.name}: {text}"
        arguments.append(f"{match['name']}::{types.julia(match['type'].strip(), argument=True)}")
    returns = types.julia(found.returns, argument=True)
    return f"@c {found.name}({', '.join(arguments)})::{returns}"


def generated() -> str:
    declarations = read(INCLUDE)
    types = Types(declarations)
    texts = {path.name: path.read_text() for path in sorted((INCLUDE / "gradstep").glob("*.h"))}
    value = {name: number for text in texts.values() for name, number in numbers(text).items()}
    version = re.search(r"#define GRADSTEP_ABI_VERSION (\w+)", texts["base.h"])
    assert version
    lines = [HEAD, f"const GRADSTEP_ABI_VERSION = {version[1]}", "", "# Handles."]
    lines += [
        f"abstract type {found.name} end" for found in declarations if isinstance(found, Struct) and not found.fields
    ]
    lines += ["", "# Enums, by the ends of their names."]
    for found in declarations:
        if isinstance(found, Enum):
            lines += enum_lines(found, value)
    words = []
    for struct in sorted_structs(declarations):
        lines += ["", f"struct {struct.name}"]
        lines += [f"    {julia_name(field.name)}::{types.julia(field.type)}" for field in struct.fields or ()]
        lines += ["end"]
        words += [(struct.name, name, word) for name, word in field_words(texts[struct.header], struct.name)]
    lines += ["", "# What integer fields hold.", "const FIELD_WORDS = Dict{Tuple{DataType, Symbol}, Any}("]
    lines += [f"    ({struct}, :{name}) => {'Bool' if word == 'bool' else word}," for struct, name, word in words]
    lines += [")", ""]
    lines += [function_line(found, types) for found in declarations if isinstance(found, Function)]
    return "\n".join(lines) + "\n"
