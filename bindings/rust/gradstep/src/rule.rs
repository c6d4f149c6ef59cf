// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! What the update rules have in common: how an optimizer is made of their options.

use crate::c_types::Shampoo;
use crate::context::Context;
use crate::error::{Result, check};
use crate::parameter::Schema;
use crate::sys;

/// An update rule: [`crate::Sgd`], [`crate::Adam`], [`crate::Lion`] and others of C's list of rules, one of them by its
/// name, [`crate::NamedRule`], or [`Shampoo`].
pub trait Rule: sealed::Create {}

pub(crate) mod sealed {
    use super::{Context, Result, Schema, sys};

    pub trait Create {
        fn create(&self, context: &Context, schema: &Schema<'_>, out: &mut *mut sys::gradstep_optimizer) -> Result<()>;
        fn state_bytes(&self, schema: &Schema<'_>) -> Result<i64>;
    }
}

impl Shampoo {
    /// The rule with its learning rate, and defaults.
    pub fn new(learning_rate: f64) -> Self {
        Self::default().learning_rate(learning_rate)
    }
}

impl Rule for Shampoo {}

impl sealed::Create for Shampoo {
    fn create(&self, context: &Context, schema: &Schema<'_>, out: &mut *mut sys::gradstep_optimizer) -> Result<()> {
        let (options, data) = (self.to_c()?, schema.as_ptr());
        // SAFETY: options and schema live during the call.
        check(unsafe { sys::gradstep_optimizer_create_shampoo(context.as_ptr(), &options, data, schema.len(), out) })
    }

    fn state_bytes(&self, schema: &Schema<'_>) -> Result<i64> {
        let (options, mut bytes) = (self.to_c()?, 0);
        // SAFETY: options and schema live during the call.
        check(unsafe { sys::gradstep_shampoo_state_bytes(&options, schema.as_ptr(), schema.len(), &mut bytes) })?;
        Ok(bytes)
    }
}
