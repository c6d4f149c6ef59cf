# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""c_types.rs of the Rust crate, from the public C headers: an enum for each enum that a field or an argument has, a
builder for each options struct, and a record for each struct of results.
"""

import functools
import re
from collections.abc import Iterator

from c_headers import Declaration, Enum, Struct, field_words, member_comments, read, shared_prefix

from generators.cpp_options import BY_HAND, LEFT_OUT
from generators.places import INCLUDE, ROOT
from generators.rules import wrapped
from generators.words import capitalized

OUTPUT = ROOT / "bindings" / "rust" / "gradstep" / "src" / "c_types.rs"
HEAD = """\
// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/generate from the C headers.
//! Enums, options and records of the C API.

use std::time::Duration;

use crate::handle::record;
use crate::options::{Candidates, c_enum, options};

"""
# What is not called by the words of C.
NAMES = {"gradstep_shampoo_options": "Shampoo"}
# Aliases of what was called in another way before; they go after 0.1.
OLD_NAMES = {
    "gradstep_accumulation_mode": "Mode",
    "gradstep_accumulation_trigger": "Trigger",
    "gradstep_nonfinite_policy": "NonFinite",
    "gradstep_sgd_first_step": "FirstStep",
}
# Rules that are made by their names, as the others of src/rules: rust_rules.py writes their builders.
RULES = {f"gradstep_{rule}_options" for rule in ("sgd", "rmsprop", "adagrad", "adam")}
RECORDS = {"gradstep_cost", "gradstep_memory"}
# Fields that the builders do not have: they are set by what takes the options.
NOT_BUILT = {"gradstep_dtype", "const gradstep_schedule*", "gradstep_optimizer*"}
TYPES = {"double": "f64", "int64_t": "i64", "int32_t": "i32"}


def type_name(c_name: str) -> str:
    return NAMES.get(c_name) or capitalized(c_name.removeprefix("gradstep_"))


@functools.cache
def header_text(header: str) -> str:
    return (INCLUDE / "gradstep" / header).read_text()


def comment_lines(text: str, indent: str) -> Iterator[str]:
    yield from (f"{indent}/// {line}" for line in wrapped(text, 116 - len(indent)))


def about(found: Declaration) -> str:
    """The first paragraph of its own comment, up to a table, or where to look."""
    paragraph = " ".join(found.comment.split("\n\n")[0].split()) if len(found.family) == 1 else ""
    return paragraph if paragraph.endswith((".", ":")) else f"`{found.name}` of {found.header}."


def ended(text: str) -> str:
    """As a sentence: with a capital, unless it begins with a formula; in words where Markdown would see a quotation."""
    text = re.sub(r"^>= (?=\S)", "at least ", text)
    text = re.sub(r"^> (?=\S)", "above ", text).removesuffix("; of these:")
    first = text.split(" ")[0].rstrip(":,;")
    begin = text[:1].upper() if first.isalpha() and len(first) > 1 else text[:1]
    return begin + text[1:] + ("" if text.endswith((".", ":")) else ".")


def enum_lines(found: Enum) -> Iterator[str]:
    prefix = shared_prefix(found.enumerators)
    comments = member_comments(header_text(found.header), found)
    yield "c_enum! {"
    yield from comment_lines(about(found), "    ")
    yield f"    {type_name(found.name)} {{"
    for name in found.enumerators:
        if name.endswith("_INVALID"):
            continue
        word = name.removeprefix(prefix)
        yield from comment_lines(ended(comments[name] or f"`{word.lower()}`"), "        ")
        yield f"        {capitalized(word)} = {name},"
    yield "    }"
    yield "}"
    if old := OLD_NAMES.get(found.name):
        yield f"/// The old name of [`{type_name(found.name)}`]."
        yield f'#[deprecated(note = "use {type_name(found.name)}")]'
        yield f"pub type {old} = {type_name(found.name)};"


def option_type(struct: str, name: str, c_type: str, word: str | None) -> str:
    if (struct, name) == ("gradstep_reducer_options", "candidates"):
        return "Candidates"
    if word:
        return word if word == "bool" else type_name(word)
    return TYPES[c_type]


def option_words(text: str, word: str | None) -> str:
    """A comment of C's without what the type says; "" if that was all."""
    for said in (f"flags of enum {word}", f"enum {word}", "bool"):
        text = text.removeprefix(said)
    text = text.lstrip(":;, ")
    return re.sub(r"\bdefault 1\b", "default true", text, flags=re.IGNORECASE) if word == "bool" else text


def fields_of(found: Struct) -> Iterator[tuple[str, str, str | None, str]]:
    """Name, type in C, enum or "bool", and words of each field that means something."""
    words = dict(field_words(header_text(found.header), found.name))
    comments = member_comments(header_text(found.header), found)
    for each in found.fields or ():
        if each.name != "struct_size" and not each.name.startswith("reserved"):
            word = words.get(each.name)
            said = f"see [`{type_name(word)}`]" if word and word != "bool" else each.name.replace("_", " ")
            yield each.name, each.type, word, option_words(comments[each.name], word) or said


def options_lines(found: Struct) -> Iterator[str]:
    yield "options! {"
    yield from comment_lines(about(found), "    ")
    yield f"    {type_name(found.name)} => {found.name} by {found.name}_init {{"
    for name, c_type, word, comment in fields_of(found):
        if c_type not in NOT_BUILT:
            yield from comment_lines(ended(comment), "        ")
            yield f"        {name}: {option_type(found.name, name, c_type, word)},"
    yield "    }"
    yield "}"


def time_name(name: str) -> str:
    """Nanoseconds of C are a Duration: "pack_time"; what is predicted of an exchange is called by that alone."""
    stem = name.removesuffix("nanoseconds").removesuffix("_")
    return stem if stem.startswith("predicted") else f"{stem}_time".lstrip("_")


def record_lines(found: Struct) -> Iterator[str]:
    yield "record! {"
    yield from comment_lines(about(found), "    ")
    yield f"    {type_name(found.name)} from {found.name} {{"
    for name, c_type, word, comment in fields_of(found):
        is_time = name.endswith("nanoseconds")
        shown = time_name(name) if is_time else name
        kind = "Duration" if is_time else option_type(found.name, name, c_type, word)
        yield from comment_lines(ended(comment.replace("nanoseconds", "time")), "        ")
        yield f"        {shown}: {kind} = {name},"
    yield "    }"
    yield "}"


def generated() -> str:
    lines: list[str] = []
    declarations = read(INCLUDE)
    for found in declarations:
        if isinstance(found, Enum) and found.name not in LEFT_OUT:
            lines += enum_lines(found)
    for found in declarations:
        if not isinstance(found, Struct) or found.name in BY_HAND | RULES:
            continue
        if found.name.endswith("_options"):
            lines += options_lines(found)
        elif found.name.endswith("_statistics") or found.name in RECORDS:
            lines += record_lines(found)
    return HEAD + "\n".join(lines) + "\n"
