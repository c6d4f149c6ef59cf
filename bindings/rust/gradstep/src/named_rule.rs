// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Rules by their names.

use std::ffi::CString;
use std::ptr::null;

use crate::context::Context;
use crate::error::{Result, c_string, check};
use crate::parameter::Schema;
use crate::rule::{Rule, sealed};
use crate::sys;

/// A rule by its name, with options by theirs, for hosts that read a configuration. Rules that are types, such as
/// [`crate::Lion`], become one by `into`, as [`crate::Optimizer::by_group`] takes them. Options have the names, ranges and defaults of the C library's
/// (`gradstep_rule_options`); [`crate::Optimizer::new`] checks them.
///
/// ```
/// # use gradstep::{Context, NamedRule, Optimizer, Parameter};
/// let lion = NamedRule::new("lion").number("learning_rate", 1e-4).text("state_dtype", "bf16");
/// let optimizer = Optimizer::new(&Context::new()?, &lion, &[Parameter::new(&[3])])?;
/// # Ok::<(), gradstep::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NamedRule {
    name: String,
    options: Vec<(String, Value)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Number(f64),
    Text(String),
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

/// A flag, or the number of a choice.
impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Self::Number(number.into())
    }
}

/// As text, which holds all 64 bits.
impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Text(number.to_string())
    }
}

/// A builder of a rule's options by their names: what is not set keeps the library's default.
macro_rules! named_options {
    ($(#[$meta:meta])* $name:ident by $rule:literal of ($($required:ident),*) {
        $($(#[$doc:meta])* $field:ident: $type:ty,)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Default)]
        pub struct $name { $(pub(crate) $field: Option<$type>,)* }

        impl $name {
            /// The rule with what it must be given, and defaults.
            pub fn new($($required: f64),*) -> Self {
                Self::default()$(.$required($required))*
            }

            $($(#[$doc])*
            #[must_use]
            pub fn $field(mut self, value: $type) -> Self {
                self.$field = Some(value);
                self
            })*
        }

        impl From<$name> for $crate::NamedRule {
            fn from(rule: $name) -> Self {
                Self::new($rule)$(.with(stringify!($field), rule.$field.map($crate::options::Field::into_c)))*
            }
        }

        impl $crate::rule::Rule for $name {}
        impl $crate::rule::sealed::Create for $name {
            fn create(
                &self,
                context: &$crate::context::Context,
                schema: &$crate::parameter::Schema<'_>,
                out: &mut *mut $crate::sys::gradstep_optimizer,
            ) -> $crate::Result<()> {
                $crate::rule::sealed::Create::create(&$crate::NamedRule::from(*self), context, schema, out)
            }

            fn state_bytes(&self, schema: &$crate::parameter::Schema<'_>) -> $crate::Result<i64> {
                $crate::rule::sealed::Create::state_bytes(&$crate::NamedRule::from(*self), schema)
            }
        }
    };
}
pub(crate) use named_options;

impl NamedRule {
    /// The rule of that name, with no options yet.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), options: Vec::new() }
    }

    /// Gives a number.
    pub fn number(mut self, name: &str, value: f64) -> Self {
        self.options.push((name.to_owned(), Value::Number(value)));
        self
    }

    /// Sets a flag.
    pub fn flag(self, name: &str, value: bool) -> Self {
        self.number(name, f64::from(u8::from(value)))
    }

    /// Gives the name of a choice, or a whole number beyond 2^53.
    pub fn text(mut self, name: &str, text: &str) -> Self {
        self.options.push((name.to_owned(), Value::Text(text.to_owned())));
        self
    }

    pub(crate) fn with(mut self, name: &str, value: Option<impl Into<Value>>) -> Self {
        self.options.extend(value.map(|value| (name.to_owned(), value.into())));
        self
    }

    /// What C takes.
    pub(crate) fn to_c(&self) -> Result<CRule> {
        let mut texts = Vec::new();
        for (option, value) in &self.options {
            let text = match value {
                Value::Number(_) => None,
                Value::Text(text) => Some(c_string("an option's text", text.as_str())?),
            };
            texts.push((c_string("an option's name", option.as_str())?, text));
        }
        let options = self
            .options
            .iter()
            .zip(&texts)
            .map(|((_, value), (name, text))| sys::gradstep_option {
                name: name.as_ptr(),
                value: if let Value::Number(number) = value { *number } else { 0.0 },
                text: text.as_ref().map_or(null(), |text| text.as_ptr()),
            })
            .collect();
        Ok(CRule { name: c_string("rule", self.name.as_str())?, options, _texts: texts })
    }
}

/// A rule with its options, for C.
pub(crate) struct CRule {
    name: CString,
    options: Vec<sys::gradstep_option>,
    _texts: Vec<(CString, Option<CString>)>, // what the options point at
}

impl CRule {
    /// Valid as long as this.
    pub(crate) fn as_group(&self) -> sys::gradstep_group_rule {
        sys::gradstep_group_rule {
            rule: self.name.as_ptr(),
            options: self.options.as_ptr(),
            option_count: self.options.len(),
        }
    }
}

impl Rule for NamedRule {}

impl sealed::Create for NamedRule {
    fn create(&self, context: &Context, schema: &Schema<'_>, out: &mut *mut sys::gradstep_optimizer) -> Result<()> {
        let rule = self.to_c()?;
        // SAFETY: rule and schema live during the call.
        check(unsafe {
            sys::gradstep_optimizer_create(
                context.as_ptr(),
                rule.name.as_ptr(),
                rule.options.as_ptr(),
                rule.options.len(),
                schema.as_ptr(),
                schema.len(),
                out,
            )
        })
    }

    fn state_bytes(&self, schema: &Schema<'_>) -> Result<i64> {
        let (rule, mut bytes) = (self.to_c()?, 0);
        // SAFETY: rule and schema live during the call.
        check(unsafe {
            sys::gradstep_rule_state_bytes(
                rule.name.as_ptr(),
                rule.options.as_ptr(),
                rule.options.len(),
                schema.as_ptr(),
                schema.len(),
                &mut bytes,
            )
        })?;
        Ok(bytes)
    }
}
