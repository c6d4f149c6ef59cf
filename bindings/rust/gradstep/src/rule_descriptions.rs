// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! What the C library says of its rules, and rules that are written as text.

use std::ffi::{CStr, c_char};

use crate::c_types::OptionKind;
use crate::context::Context;
use crate::error::{Result, c_string, check};
use crate::handle::records;
use crate::sys;

/// An option that a rule takes.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleOption {
    /// As [`crate::NamedRule`] takes it.
    pub name: String,
    /// None: of a kind that this crate does not know.
    pub kind: Option<OptionKind>,
    /// One line.
    pub meaning: String,
    /// The values of a choice.
    pub choices: Vec<String>,
    /// None: it must be given. The place among `choices`, for a choice.
    pub default: Option<f64>,
    /// The least legal number.
    pub minimum: f64,
    /// Legal numbers are below it.
    pub limit: f64,
}

/// A rule that [`crate::NamedRule`] makes.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleDescription {
    /// Its name.
    pub name: String,
    /// The paper, and the implementation whose numbers it reproduces.
    pub source: String,
    /// g: gradient; p: parameter; t: steps before this one.
    pub formula: String,
    /// The states that it can have.
    pub states: Vec<String>,
    /// Its own options, then those that all rules share.
    pub options: Vec<RuleOption>,
}

fn text(data: *const c_char) -> String {
    // SAFETY: texts of rules end with a NUL and stay until the process ends.
    unsafe { CStr::from_ptr(data) }.to_string_lossy().into_owned()
}

fn list(data: *const c_char) -> Vec<String> {
    if data.is_null() { Vec::new() } else { text(data).split_terminator(',').map(str::to_owned).collect() }
}

fn option_of(raw: &sys::gradstep_rule_option) -> RuleOption {
    RuleOption {
        name: text(raw.name),
        kind: OptionKind::from_c(raw.kind),
        meaning: text(raw.meaning),
        choices: list(raw.choices),
        default: Some(raw.initial).filter(|number| !number.is_nan()),
        minimum: raw.minimum,
        limit: raw.limit,
    }
}

fn rule_at(index: usize) -> Result<RuleDescription> {
    let mut raw = sys::gradstep_rule { struct_size: size_of::<sys::gradstep_rule>() as u32, ..Default::default() };
    // SAFETY: the struct is written.
    check(unsafe { sys::gradstep_rule_describe(index, &mut raw) })?;
    let blank =
        sys::gradstep_rule_option { struct_size: size_of::<sys::gradstep_rule_option>() as u32, ..Default::default() };
    // SAFETY: as many records as the count says, or none; the name is C's own.
    let options = records(blank, |records, size, capacity, count| unsafe {
        sys::gradstep_rule_options(raw.name, records, size, capacity, count)
    })?;
    Ok(RuleDescription {
        name: text(raw.name),
        source: text(raw.source),
        formula: text(raw.formula),
        states: list(raw.states),
        options: options.iter().map(option_of).collect(),
    })
}

/// The rules that there are by name. Shampoo is none of them.
///
/// # Errors
/// None that a host can cause.
pub fn describe_rules() -> Result<Vec<RuleDescription>> {
    let mut count = 0;
    // SAFETY: a number is written.
    check(unsafe { sys::gradstep_rule_count(&mut count) })?;
    (0..count).map(rule_at).collect()
}

/// Makes a rule of its text (docs/rules_as_text.md) and returns its name, for [`crate::NamedRule`]. The rule is the
/// process's; the same text gives the same name.
///
/// # Errors
/// [`crate::Error::InvalidArgument`] for a text that is no rule, with line, column, what was expected and what was
/// found, and for a name that has another text. [`crate::Error::Unsupported`] for `row_mean` and other reserved functions.
pub fn define_rule(context: &Context, rule: &str) -> Result<String> {
    let rule = c_string("text", rule)?;
    let mut name = std::ptr::null();
    // SAFETY: the text is read during the call, the name is written.
    check(unsafe { sys::gradstep_rule_define(context.as_ptr(), rule.as_ptr(), &mut name) })?;
    Ok(text(name))
}
