# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep/options.hpp of the C++ layer, from the public C headers: an enum class for each enum that a field or an
argument has, and for each options struct an aggregate with bools, those enums, and the library's own defaults.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from c_headers import Enum, Struct, field_words, read, shared_prefix

from generators.places import INCLUDE, ROOT, formatted
from generators.words import capitalized

OUTPUT = ROOT / "bindings" / "cpp" / "include" / "gradstep" / "options.hpp"
HEAD = """\
// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// options.hpp: enums and options, by the names of the C API, whose comments are the reference. Fields are given by
// designated initialisers, in their order; what is left out has the default of the library that runs.
//
// Written by scripts/generate.
#pragma once

#include <gradstep/gradstep.h>

#include <gradstep/error.hpp>
#include <gradstep/schedule.hpp>
#include <gradstep/tensor.hpp>
#include <optional>

namespace gradstep::inline cpp_v0 {

namespace detail {

/// What a *_options_init of the loaded library writes, asked for once.
template <class T, gradstep_status (*kInit)(T*, std::size_t)>
const T& defaults() {
  static const T options = [] {
    T made;
    check(kInit(&made, sizeof made));
    return made;
  }();
  return options;
}

}  // namespace detail
"""
TAIL = """
}  // namespace gradstep::inline cpp_v0
"""
# Whose numbers are no choice between names.
LEFT_OUT = {"gradstep_status_code", "gradstep_parameter_flags", "gradstep_candidate_flags", "gradstep_device_type",
            "gradstep_type_code", "gradstep_schedule_kind"}  # fmt: skip
# Structs with texts, callbacks or tensors in them are written by hand.
BY_HAND = {"gradstep_context_options", "gradstep_comm_options", "gradstep_step_options"}
# Fields that are arguments of what takes the options.
HANDLES = {"gradstep_optimizer*"}


def class_name(name: str) -> str:
    return capitalized(name.removeprefix("gradstep_"))


def enumerator(word: str) -> str:
    return f"k{capitalized(word)}"


def old_enumerators(words: Iterable[str]) -> Iterator[str]:
    """What enumerators were called before their words had capitals of their own; they go after 0.1."""
    for word in words:
        old = "k" + "".join(part.capitalize() for part in word.lower().split("_"))
        if old != enumerator(word):
            yield f'{old} [[deprecated("use {enumerator(word)}")]] = {enumerator(word)}'


def enum_lines(found: Enum) -> Iterator[str]:
    prefix = shared_prefix(found.enumerators)
    yield ""
    yield f"enum class {class_name(found.name)} : std::int32_t {{"
    names = [name for name in found.enumerators if not name.endswith("_INVALID")]
    yield from (f"  {enumerator(name.removeprefix(prefix))} = {name}," for name in names)
    yield from (f"  {old}," for old in old_enumerators(name.removeprefix(prefix) for name in names))
    yield "};"


@dataclass
class Option:
    """A field of the C++ struct: its type, its default, and what it is in the C struct ("": set where it is used)."""

    name: str
    type: str
    default: str
    c: str


def option(name: str, c_type: str, word: str | None) -> Option:
    default = f"library().{name}"
    if c_type == "const gradstep_schedule*":
        return Option(name, "std::optional<Schedule>", "{}", "")
    if c_type == "gradstep_dtype":
        return Option(name, "Dtype", default, name)
    if word == "bool":
        return Option(name, "bool", f"{default} != 0", f"{name} ? 1 : 0")
    if word:
        kind = class_name(word)
        return Option(name, kind, f"static_cast<{kind}>({default})", f"static_cast<std::int32_t>({name})")
    return Option(name, c_type if c_type == "double" else f"std::{c_type}", default, name)


def options_of(found: Struct, words: dict[str, str]) -> list[Option]:
    options = [
        option(field.name, field.type, words.get(field.name))
        for field in found.fields or ()
        if field.name != "struct_size" and not field.name.startswith("reserved") and field.type not in HANDLES
    ]
    if any(each.name == "learning_rate" for each in options):
        options.sort(key=lambda each: each.type != "double")  # a rule's numbers first, as they are written
    return options


def options_lines(found: Struct, words: dict[str, str]) -> Iterator[str]:
    options = options_of(found, words)
    yield ""
    yield f"struct {class_name(found.name)} {{"
    for each in options:
        yield f"  {each.type} {each.name} = {each.default};"
    yield ""
    yield f"  static const {found.name}& library() {{ return detail::defaults<{found.name}, {found.name}_init>(); }}"
    if not all(each.c for each in options):
        yield "  /// The C struct, without the schedule."
    yield f"  [[nodiscard]] {found.name} c() const {{"
    yield f"    {found.name} made = library();"
    for each in options:
        if each.c:
            yield f"    made.{each.name} = {each.c};"
    yield "    return made;"
    yield "  }"
    yield "};"


def generated() -> str:
    lines = [HEAD]
    declarations = read(INCLUDE)
    for found in declarations:
        if isinstance(found, Enum) and found.name not in LEFT_OUT:
            lines += enum_lines(found)
    for found in declarations:
        if isinstance(found, Struct) and found.name.endswith("_options") and found.name not in BY_HAND:
            text = (INCLUDE / "gradstep" / found.header).read_text()
            lines += options_lines(found, dict(field_words(text, found.name)))
    return formatted("\n".join(lines) + TAIL, OUTPUT)
