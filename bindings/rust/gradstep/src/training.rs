// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! What the trainers of frameworks' models are made of.

use crate::c_types::{AccumulatorOptions, UpdaterOptions};
use crate::{Accumulator, Context, Optimizer, Parameter, Parts, Result, Rule, Updater};

/// Makes an optimizer of a schema.
type Create = Box<dyn FnOnce(&Context, &[Parameter]) -> Result<Optimizer>>;

/// A trainer's rule, and what is done with gradients before they are stepped.
pub struct Config {
    optimizer: Create,
    context: Option<Context>,
    accumulator: Option<AccumulatorOptions>,
    updater: UpdaterOptions,
}

impl Config {
    /// Steps by the rule, once for each call.
    pub fn new(rule: impl Rule + 'static) -> Self {
        Self {
            optimizer: Box::new(move |context, parameters| Optimizer::new(context, &rule, parameters)),
            context: None,
            accumulator: None,
            updater: UpdaterOptions::default(),
        }
    }

    /// The threads and the log. Default: a new [`Context`].
    #[must_use]
    pub fn context(mut self, context: Context) -> Self {
        self.context = Some(context);
        self
    }

    /// Several calls make a step: micro-batches. Default: each call makes one.
    #[must_use]
    pub fn accumulator(mut self, options: AccumulatorOptions) -> Self {
        self.accumulator = Some(options);
        self
    }

    /// `max_norm`, `clip_value`, `skip_nonfinite`, `grad_scale`.
    #[must_use]
    pub fn updater(mut self, options: UpdaterOptions) -> Self {
        self.updater = options;
        self
    }

    /// The updater of these parameters.
    pub(crate) fn into_updater(self, schema: &[Parameter]) -> Result<Updater> {
        let context = self.context.map_or_else(Context::new, Ok)?;
        let mut parts = Parts::new((self.optimizer)(&context, schema)?);
        if let Some(options) = self.accumulator {
            parts = parts.accumulator(Accumulator::new(&context, &options, schema)?);
        }
        Ok(Updater::new(&context, parts, &self.updater)?)
    }
}
