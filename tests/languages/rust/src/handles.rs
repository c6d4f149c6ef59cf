// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! The handles of a rank, at most one of each kind.

use gradstep::{Accumulator, Context, Optimizer, Parts, Reducer, Updater, UpdaterOptions};

use crate::Result;

/// An updater owns its parts; what was made after it is here beside it.
#[derive(Default)]
pub(crate) struct Handles {
    pub(crate) optimizer: Option<Optimizer>,
    pub(crate) accumulator: Option<Accumulator>,
    pub(crate) reducer: Option<Reducer>,
    pub(crate) updater: Option<Updater>,
}

/// The handles that calls go to: the last of each kind.
pub(crate) struct Lent<'a> {
    pub(crate) optimizer: Option<&'a mut Optimizer>,
    pub(crate) accumulator: Option<&'a mut Accumulator>,
    pub(crate) reducer: Option<&'a mut Reducer>,
}

impl Handles {
    pub(crate) fn lend(&mut self) -> Lent<'_> {
        let (optimizer, accumulator, reducer) = match self.updater.as_mut().map(Updater::parts_mut) {
            None => (None, None, None),
            Some(parts) => (Some(&mut parts.optimizer), parts.accumulator.as_mut(), parts.reducer.as_mut()),
        };
        Lent {
            optimizer: self.optimizer.as_mut().or(optimizer),
            accumulator: self.accumulator.as_mut().or(accumulator),
            reducer: self.reducer.as_mut().or(reducer),
        }
    }

    /// Chains the last handles.
    pub(crate) fn make_updater(&mut self, context: &Context, options: &UpdaterOptions) -> Result<()> {
        let (optimizer, accumulator, reducer) = match self.updater.take().map(Updater::into_parts) {
            None => (None, None, None),
            Some(parts) => (Some(parts.optimizer), parts.accumulator, parts.reducer),
        };
        let parts = Parts {
            optimizer: needed("optimizer", self.optimizer.take().or(optimizer))?,
            accumulator: self.accumulator.take().or(accumulator),
            reducer: self.reducer.take().or(reducer),
            outer: None,
        };
        let refused = match Updater::new(context, parts, options) {
            Ok(updater) => {
                self.updater = Some(updater);
                return Ok(());
            }
            Err(refused) => refused,
        };
        let parts = *refused.parts;
        self.optimizer = Some(parts.optimizer);
        (self.accumulator, self.reducer) = (parts.accumulator, parts.reducer);
        Err(refused.error.into())
    }

    pub(crate) fn updater(&mut self) -> Result<&mut Updater> {
        needed("updater", self.updater.as_mut())
    }
}

impl<'a> Lent<'a> {
    pub(crate) fn optimizer(self) -> Result<&'a mut Optimizer> {
        needed("optimizer", self.optimizer)
    }

    pub(crate) fn accumulator(self) -> Result<&'a mut Accumulator> {
        needed("accumulator", self.accumulator)
    }

    pub(crate) fn reducer(self) -> Result<&'a mut Reducer> {
        needed("reducer", self.reducer)
    }

    /// The accumulator or reducer that has the gradients.
    pub(crate) fn source(self, name: &str) -> Result<Source<'a>> {
        match name {
            "accumulator" => self.accumulator().map(Source::Accumulator),
            "reducer" => self.reducer().map(Source::Reducer),
            _ => Err(format!("from: {name:?} is unknown").into()),
        }
    }

    /// The optimizer beside [`Lent::source`].
    pub(crate) fn optimizer_and_source(mut self, name: &str) -> Result<(&'a mut Optimizer, Source<'a>)> {
        Ok((needed("optimizer", self.optimizer.take())?, self.source(name)?))
    }

    /// The reducer beside the accumulator whose gradients it reduces.
    pub(crate) fn reducer_and_accumulator(mut self) -> Result<(&'a mut Reducer, &'a mut Accumulator)> {
        Ok((needed("reducer", self.reducer.take())?, self.accumulator()?))
    }
}

fn needed<T>(kind: &str, handle: Option<T>) -> Result<T> {
    handle.ok_or_else(|| format!("there is no {kind}").into())
}

/// What gradients and norms are read from.
pub(crate) enum Source<'a> {
    Accumulator(&'a mut Accumulator),
    Reducer(&'a mut Reducer),
}

impl Source<'_> {
    pub(crate) fn gradients(&mut self) -> gradstep::Result<Vec<gradstep::Tensor<'_>>> {
        match self {
            Self::Accumulator(accumulator) => accumulator.gradients(),
            Self::Reducer(reducer) => reducer.gradients(),
        }
    }

    pub(crate) fn norm(&mut self) -> gradstep::Result<gradstep::Tensor<'_>> {
        match self {
            Self::Accumulator(accumulator) => accumulator.norm(),
            Self::Reducer(reducer) => reducer.norm(),
        }
    }
}
