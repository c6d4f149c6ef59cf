# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""include/gradstep_api.json, the C API for languages that read no headers: functions, structs with the place of every
field, enumerators and constants. Sizes and offsets are those of tests/abi/layout.txt, which a test compares with the
compiler's.
"""

import json
import re

from c_headers import field_words

from generators.places import INCLUDE, ROOT

HEADERS = INCLUDE / "gradstep"
OUTPUT = ROOT / "include" / "gradstep_api.json"
# A name, " = ", and what is recorded of it.
LINE = re.compile(r"(?P<kind>\w+) (?P<name>[\w.]+) = (?P<rest>.*)")
FIELD = re.compile(r"at (\d+), (\d+) bytes, (.*)")
FUNCTION = re.compile(r"(.*?) ?\((.*)\)")
CONSTANT = re.compile(r"^#define (GRADSTEP_\w+) (?:\(\(uint32_t\))?(0x\w+|\d+)\b", re.MULTILINE)


def written(value: object, levels: int, indent: str = "") -> str:
    """JSON with a line for each entry of the outer levels, and of a list there."""
    inner = indent + " "
    if isinstance(value, dict) and levels > 0 and value:
        lines = [f"{inner}{json.dumps(key)}: {written(each, levels - 1, inner)}" for key, each in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, dict) and "fields" in value:
        rest = json.dumps({key: each for key, each in value.items() if key != "fields"})
        fields = ",\n".join(f"{inner}{json.dumps(field)}" for field in value["fields"])
        return f'{rest[:-1]}, "fields": [\n{fields}]}}'
    return json.dumps(value)


def argument(text: str) -> dict[str, str]:
    type_, name = re.fullmatch(r"(.*[ *])(\w+)", text).groups()
    return {"name": name, "type": type_.strip()}


def generated() -> str:
    functions, structs, enums, types = {}, {}, {}, {}
    text = "\n".join(path.read_text() for path in sorted(HEADERS.glob("*.h")))
    for line in (ROOT / "tests" / "abi" / "layout.txt").read_text().splitlines():
        found = LINE.fullmatch(line)
        if not found:
            raise ValueError(f"layout.txt: not understood: {line}")
        name, rest = found["name"], found["rest"]
        match found["kind"]:
            case "function":
                returns, arguments = FUNCTION.fullmatch(rest).groups()
                each = [] if arguments == "void" else arguments.split(", ")
                functions[name] = {"returns": returns, "arguments": [argument(given) for given in each]}
            case "struct":
                structs[name] = {"size": int(rest.removesuffix(" bytes")), "fields": []}
            case "field":
                struct, field = name.split(".")
                offset, size, type_ = FIELD.fullmatch(rest).groups()
                fields = structs[struct]["fields"]
                fields.append({"name": field, "type": type_, "offset": int(offset), "size": int(size)})
            case "enumerator":
                enum, enumerator = name.split(".")
                enums.setdefault(enum, {})[enumerator] = int(rest)
            case "handle":
                types[name] = "opaque"
            case "type":
                types[name] = rest
            case "version1":
                structs[name]["version1_size"] = int(rest.split()[0])
            case kind:
                raise ValueError(f"layout.txt: lines of an unknown kind: {kind}")
    for struct, layout in structs.items():
        words = dict(field_words(text, struct))
        for field in layout["fields"]:
            if field["name"] in words:
                field["values"] = words[field["name"]]
    constants = {name: int(number, 0) for name, number in CONSTANT.findall(text)}
    api = {
        "library": "libgradstep.so.0",
        "abi": "LP64, little-endian: 64-bit Linux",
        "constants": constants,
        "types": types,
        "enums": enums,
        "structs": structs,
        "functions": functions,
    }
    return written(api, 2) + "\n"
