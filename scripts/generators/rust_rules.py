# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""typed_rules.rs of the Rust crate: a builder for the options of each rule."""

from collections.abc import Iterator

from generators.places import ROOT
from generators.rules import (
    Option,
    Rule,
    capitalized,
    named_rules,
    own_enums,
    own_options,
    public_enums,
    sentence,
    shared_options,
    states_of,
    words_of,
    wrapped,
)
from generators.rust_types import type_name
from generators.words import capitalized as in_words

OUTPUT = ROOT / "bindings" / "rust" / "gradstep" / "src" / "typed_rules.rs"
HEAD = """\
// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/generate from src/rules.
//! Rules that C makes by their names.

use crate::c_types::*;
use crate::named_rule::named_options;

/// Options of a rule: its own, and those that all of them have.
macro_rules! rule {
    ($(#[$meta:meta])* $name:ident by $rule:literal of ($($required:ident),*) { $($own:tt)* }) => {
        named_options! {
            $(#[$meta])*
            $name by $rule of ($($required),*) {
                $($own)*
@SHARED@
            }
        }
    };
}
"""
ENUM = """
/// Option of [`{rule}`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum {name} {{
{variants}
}}

impl crate::options::Field for {name} {{
    type C = i32;
    fn into_c(self) -> i32 {{
        self as i32
    }}
}}"""
OLD_VARIANT = """
impl {name} {{
    /// The old name of [`Self::{variant}`].
    #[deprecated(note = "use {variant}")]
    pub const {old}: Self = Self::{variant};
}}"""
TYPES = {"number": "f64", "flag": "bool", "integer": "i64"}
# Types that the crate does not call as the others do.
NAMES = {"RMSProp": "RmsProp", "SGD": "Sgd"}


def rust_name(rule: Rule) -> str:
    return NAMES.get(words_of(rule), words_of(rule))


def enum_name(enum: str) -> str:
    return type_name(f"gradstep_{enum}") if enum in public_enums() else capitalized(enum)


def option_lines(option: Option, indent: str) -> Iterator[str]:
    yield from (f"{indent}/// {line}" for line in wrapped(sentence(option.says()), 116 - len(indent)))
    yield f"{indent}{option.name}: {TYPES.get(option.kind) or enum_name(option.enum)},"


def rule_lines(rule: Rule) -> Iterator[str]:
    for name, values in own_enums(rule).items():
        if name in public_enums():
            continue
        variants = "\n".join(f"    /// `{word}`.\n    {in_words(word)}," for word in values)
        yield ENUM.format(rule=rust_name(rule), name=capitalized(name), variants=variants)
        for old, variant in ((capitalized(word), in_words(word)) for word in values):
            if old != variant:
                yield OLD_VARIANT.format(name=capitalized(name), variant=variant, old=old)
    yield ""
    required = ", ".join(option.name for option in own_options(rule) if option.default is None)
    yield "rule! {"
    yield from (f"    /// {line}" for line in wrapped(f"{words_of(rule)}. Source: {rule['source']}.", 112))
    yield "    ///"
    yield "    /// ```text"
    yield from (f"    /// {line}" for line in rule["formula"].splitlines())
    yield "    /// ```"
    if states_of(rule):
        yield "    ///"
        yield from (f"    /// {line}" for line in wrapped(states_of(rule), 112))
    yield f'    {rust_name(rule)} by "{rule["name"]}" of ({required}) {{'
    for each in own_options(rule):
        yield from option_lines(each, "        ")
    yield "    }"
    yield "}"


def generated() -> str:
    shared = [line for each in shared_options() for line in option_lines(each, " " * 16)]
    lines = [line for rule in named_rules() for line in rule_lines(rule)]
    return HEAD.replace("@SHARED@", "\n".join(shared)) + "\n".join(lines) + "\n"
