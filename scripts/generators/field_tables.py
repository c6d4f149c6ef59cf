# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The fields of options structs that tests set by their names: tests/bits, and the runners of tests/languages."""

from collections.abc import Iterator
from pathlib import Path

from c_headers import Enum, Struct, field_words, read, shared_prefix

from generators.cpp_options import class_name
from generators.places import INCLUDE, ROOT, formatted
from generators.rules import capitalized as rule_name
from generators.rust_rules import NAMES
from generators.rust_types import type_name
from generators.words import capitalized

BITS = ROOT / "tests" / "bits" / "field_tables.h"
# The structs that are objects in the cases of tests/bits.
OBJECTS = ("shampoo", "accumulator", "reducer", "updater", "sharding", "step", "schedule")
FOLDER = ROOT / "tests" / "languages"
# Calls of scripts, and the structs that their keys are fields of.
CALLS = ("sgd", "rmsprop", "adagrad", "adam", "shampoo", "accumulator", "reducer", "updater", "step", "schedule")
RULES = CALLS[:4]
TYPES = {"double": "d", "int32_t": "i", "int64_t": "l"}
HEAD = """\
// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/generate from the C headers.
"""


def structs(names: tuple[str, ...] = CALLS) -> dict[str, Struct]:
    found = {each.name: each for each in read(INCLUDE) if isinstance(each, Struct)}
    return {name: found["gradstep_schedule" if name == "schedule" else f"gradstep_{name}_options"] for name in names}


def words_of(struct: Struct) -> dict[str, str]:
    """The enums of fields, or "bool"; flags are a number."""
    return dict(field_words((INCLUDE / "gradstep" / struct.header).read_text(), struct.name))


def fields(struct: Struct) -> Iterator[tuple[str, str, str | None]]:
    """Name, type in C, and enum or "bool" of each field that is a number."""
    words = words_of(struct)
    for each in struct.fields or ():
        if each.type in TYPES and not each.name.startswith("reserved"):
            yield each.name, each.type, words.get(each.name)


def enums(names: tuple[str, ...] = CALLS) -> dict[str, list[str]]:
    """The words of the enums of these structs' fields, by their numbers."""
    used = {word for struct in structs(names).values() for word in words_of(struct).values()}
    found = {}
    for each in read(INCLUDE):
        if isinstance(each, Enum) and each.name in used:
            prefix = shared_prefix(each.enumerators)
            names = [name.removeprefix(prefix).lower() for name in each.enumerators]
            found[each.name] = [name for name in names if name != "invalid"]
    return found


def c_tables() -> Iterator[str]:
    words = enums()
    for call, struct in structs().items():
        yield f"static const field k{call.capitalize()}[] = {{"
        for name, c_type, word in fields(struct):
            text = f'"{",".join(words[word])}"' if word in words else "NULL"
            yield f"""{{"{name}", offsetof({struct.name}, {name}), '{TYPES[c_type]}', {text}}},"""
        yield "};"
    yield "static const field_table kTables[] = {"
    yield from (
        f'{{"{call}", k{call.capitalize()}, sizeof(k{call.capitalize()}) / sizeof *(k{call.capitalize()})}},'
        for call in CALLS
    )
    yield "};"


def cpp_tables() -> Iterator[str]:
    yield "#pragma once"
    yield '#include "fields.hpp"'
    yield "namespace languages {"
    for enum, words in enums().items():
        if enum != "gradstep_schedule_kind":
            name = f"gradstep::{class_name(enum)}"
            yield f'\ntemplate <> inline const char* words_of<{name}>() {{ return "{",".join(words)}"; }}'
    for call, struct in structs().items():
        if call != "schedule":
            name = f"gradstep::{class_name(struct.name)}"
            yield f"\ntemplate <> inline const Setters<{name}>& setters<{name}>() {{ using O = {name};"
            yield "static const Setters<O> fields = {"
            yield ",".join(f'{{"{field}", field(&O::{field})}}' for field, _, _ in fields(struct))
            yield "}; return fields; }"
    yield "\n}  // namespace languages"


def rust_name(call: str, struct: Struct) -> str:
    return NAMES.get(rule_name(call), rule_name(call)) if call in RULES else type_name(struct.name)


def rust_tables() -> Iterator[str]:
    yield "//! Words of enums, and fields of options."
    yield ""
    yield "use gradstep::*;"
    yield ""
    yield "use crate::Result;"
    yield "use crate::fields::{Options, Value, fields, words};"
    yield ""
    yield "words! {"
    for enum, words in enums().items():
        if enum != "gradstep_schedule_kind":
            yield f"    {type_name(enum)} {{"
            yield from (f"        {word}: {capitalized(word)}," for word in words)
            yield "    }"
    yield "}"
    yield "fields! {"
    for call, struct in structs().items():
        if call not in ("step", "schedule"):
            yield f"    {rust_name(call, struct)} {{"
            yield from (f"        {name}," for name, _, word in fields(struct) if name != "candidates")
            yield "    }"
    yield "}"


def bits_tables() -> Iterator[str]:
    """For tests/bits/options.cpp, which has the types Field and Words."""
    words = enums(OBJECTS)
    yield "#pragma once"
    for struct in structs(OBJECTS).values():
        yield f"\ntemplate <> struct Fields<{struct.name}> {{ using Options = {struct.name};"
        yield f"static constexpr auto init = {struct.name}_init;"
        yield "static inline const std::vector<Field<Options>> all = {"
        for name, _, word in fields(struct):
            listed = ", ".join(f'"{each}"' for each in words.get(word or "", []))
            yield f'{{"{name}", &Options::{name}' + (f", Words{{{listed}}}}}," if listed else "},")
        yield "}; };"


def generated() -> dict[Path, str]:
    c, cpp = FOLDER / "c" / "field_tables.h", FOLDER / "cpp" / "field_tables.hpp"
    c_head = HEAD.replace("// ", "/* ", 1).replace("\n// ", "\n * ").rstrip() + " */\n"
    return {
        BITS: formatted(HEAD + "\n".join(bits_tables()), BITS),
        c: formatted(c_head + "\n".join(c_tables()), c),
        cpp: formatted(HEAD + "\n".join(cpp_tables()), cpp),
        FOLDER / "rust" / "src" / "field_tables.rs": HEAD + "\n".join(rust_tables()) + "\n",
    }
