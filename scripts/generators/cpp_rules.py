# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep/rule_options.hpp of the C++ layer: an aggregate for the options of each rule, with bools and enums."""

from collections.abc import Iterator

from generators.cpp_options import enumerator, old_enumerators
from generators.places import ROOT, formatted
from generators.rules import (
    Option,
    Rule,
    capitalized,
    own_enums,
    own_options,
    shared_options,
    shown,
    states_of,
    typed_rules,
    words_of,
)

OUTPUT = ROOT / "bindings" / "cpp" / "include" / "gradstep" / "rule_options.hpp"
HEAD = """\
// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// rule_options.hpp: the options of rules that C makes by name. Fields are given by designated initialisers, in their
// order. Each of these is a GroupRule where one is wanted:
//
//     Optimizer lion(context, LionOptions{.learning_rate = 1e-4}, schema);
//     auto both = Optimizer::by_group(context, {LionOptions{.learning_rate = 1e-4}, GroupRule{"adam", {...}}}, schema);
//
// Written by scripts/generate from src/rules.
#pragma once

#include <gradstep/optimizer.hpp>
#include <gradstep/options.hpp>
#include <limits>
#include <string>
#include <type_traits>

namespace gradstep::inline cpp_v0 {

namespace detail {

/// In place of a number that must be given: the library refuses it.
inline constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();

template <class T>
RuleOption option(const char* name, T value) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return {name, std::to_string(value)};
  } else {
    return {name, static_cast<double>(value)};
  }
}

}  // namespace detail
"""
TAIL = """
}  // namespace gradstep::inline cpp_v0
"""


def default(option: Option) -> tuple[str, str]:
    """Type and default of an option."""
    match option.kind:
        case "number":
            return "double", "detail::kNotGiven" if option.default is None else shown(option.default)
        case "flag":
            return "bool", "true" if option.default else "false"
        case "choice":
            kind = capitalized(option.enum)
            return kind, f"{kind}::{enumerator(option.values[int(option.default or 0)])}"
        case _:
            return "std::int64_t", "0"


def rule_lines(rule: Rule) -> Iterator[str]:
    own, shared = own_options(rule), shared_options()
    for name, values in own_enums(rule).items():
        numbered = [f"{enumerator(word)} = {number}" for number, word in enumerate(values)]
        named = ", ".join([*numbered, *old_enumerators(values)])
        yield f"\nenum class {capitalized(name)} : std::int32_t {{ {named} }};"
    yield f"\n/// {rule['name']}. Source: {rule['source']}."
    yield "///"
    yield from (f"///     {line}" for line in rule["formula"].splitlines())
    if states_of(rule):
        yield f"///\n/// {states_of(rule)}"
    yield f"struct {words_of(rule)}Options {{"
    for each in own:
        yield f"  {default(each)[0]} {each.name} = {default(each)[1]};  ///< {each.says()}"
    for each in shared:
        yield f"  {default(each)[0]} {each.name} = {default(each)[1]};"
    yield ""
    yield "  operator GroupRule() const {"
    entries = ", ".join(f'detail::option("{each.name}", {each.name})' for each in own + shared)
    yield f'    return {{"{rule["name"]}", {{{entries}}}}};'
    yield "  }"
    yield "};"


def generated() -> str:
    lines = [line for rule in typed_rules() for line in rule_lines(rule)]
    return formatted(HEAD + "\n".join(lines) + "\n" + TAIL, OUTPUT)
