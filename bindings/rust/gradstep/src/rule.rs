// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! What the update rules have in common: how an optimizer is made of their options.

use crate::context::Context;
use crate::error::{Result, check};
use crate::parameter::Schema;
use crate::sys;
use crate::{AdaGrad, Adam, RmsProp, Sgd, Shampoo};

/// An update rule: [`Sgd`], [`RmsProp`], [`AdaGrad`], [`Adam`], [`Shampoo`], [`crate::Lion`] and others of C's list of
/// rules, or one by its name, [`crate::NamedRule`].
pub trait Rule: sealed::Create {}

pub(crate) mod sealed {
    use super::{Context, Result, Schema, sys};

    pub trait Create {
        fn create(&self, context: &Context, schema: &Schema<'_>, out: &mut *mut sys::gradstep_optimizer) -> Result<()>;
        fn state_bytes(&self, schema: &Schema<'_>) -> Result<i64>;
    }
}

macro_rules! rules {
    ($($rule:ident: $create:ident, $state_bytes:ident;)*) => {$(
        impl $rule {
            /// The rule with its learning rate, and defaults.
            pub fn new(learning_rate: f64) -> Self {
                Self::default().learning_rate(learning_rate)
            }
        }
        impl Rule for $rule {}
        impl sealed::Create for $rule {
            fn create(
                &self,
                context: &Context,
                schema: &Schema<'_>,
                out: &mut *mut sys::gradstep_optimizer,
            ) -> Result<()> {
                let options = self.to_c()?;
                // SAFETY: options and schema live during the call.
                check(unsafe { sys::$create(context.as_ptr(), &options, schema.as_ptr(), schema.len(), out) })
            }

            fn state_bytes(&self, schema: &Schema<'_>) -> Result<i64> {
                let (options, mut bytes) = (self.to_c()?, 0);
                // SAFETY: options and schema live during the call.
                check(unsafe { sys::$state_bytes(&options, schema.as_ptr(), schema.len(), &mut bytes) })?;
                Ok(bytes)
            }
        }
    )*};
}
rules! {
    Sgd: gradstep_optimizer_create_sgd, gradstep_sgd_state_bytes;
    RmsProp: gradstep_optimizer_create_rmsprop, gradstep_rmsprop_state_bytes;
    AdaGrad: gradstep_optimizer_create_adagrad, gradstep_adagrad_state_bytes;
    Adam: gradstep_optimizer_create_adam, gradstep_adam_state_bytes;
    Shampoo: gradstep_optimizer_create_shampoo, gradstep_shampoo_state_bytes;
}
