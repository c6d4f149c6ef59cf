// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! What the update rules have in common: how an optimizer is made of their options.

use crate::c_types::{GraftType, Shampoo};
use crate::context::Context;
use crate::error::{Result, check};
use crate::parameter::Schema;
use crate::sys;
use crate::typed_rules::AdamW;

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

    /// Shampoo in the place of a tuned AdamW, by its learning rate, betas, epsilon and decay: a step keeps AdamW's
    /// length, and only its direction is another (docs/shampoo.md). Other options are the defaults; with
    /// `eigenvalue_corrected` the rule is SOAP.
    ///
    /// ```
    /// # use gradstep::{AdamW, Context, Optimizer, Parameter, Shampoo};
    /// let shampoo = Shampoo::from_adamw(&AdamW::new(1e-3).weight_decay(0.1)).preconditioning_compute_steps(10);
    /// let optimizer = Optimizer::new(&Context::new()?, &shampoo, &[Parameter::new(&[3, 4])])?;
    /// # Ok::<(), gradstep::Error>(())
    /// ```
    pub fn from_adamw(adamw: &AdamW) -> Self {
        let beta2 = adamw.beta2.unwrap_or(0.999);
        Self { learning_rate: adamw.learning_rate, ..Self::default() }
            .beta1(adamw.beta1.unwrap_or(0.9))
            .beta2(beta2)
            .diagonal_epsilon(adamw.epsilon.unwrap_or(1e-8))
            .weight_decay(adamw.weight_decay.unwrap_or(0.0))
            .graft_beta1(0.0)
            .graft_beta2(beta2)
            .graft_type(GraftType::Adam)
            .decoupled_weight_decay(true)
            .moving_average_for_momentum(true)
            .nesterov(false)
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
