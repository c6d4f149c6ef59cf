// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Accumulator, reducer and optimizer in one push.

use std::ffi::c_void;
use std::fmt;
use std::ptr::{NonNull, null_mut};

use crate::accumulator::Accumulator;
use crate::c_types::{UpdaterOptions, UpdaterStatistics};
use crate::comm::Communicator;
use crate::context::Context;
use crate::error::{Error, Result, c_string, check};
use crate::handle::{getters, handle, made, streams};
use crate::optimizer::Optimizer;
use crate::reducer::Reducer;
use crate::sys;
use crate::tensor::{Tensor, TensorMut, c_tensors, c_tensors_mut, check_counts};

/// The handles that an [`Updater`] chains.
#[derive(Debug)]
pub struct Parts {
    /// Steps the parameters.
    pub optimizer: Optimizer,
    /// None: every push is a window.
    pub accumulator: Option<Accumulator>,
    /// None: no network.
    pub reducer: Option<Reducer>,
    /// An optimizer of the same parameters, for [`UpdaterSync::Deltas`](crate::UpdaterSync::Deltas): steps by what rounds
    /// of local steps have changed (DiLoCo). None: there are no rounds.
    pub outer: Option<Optimizer>,
}

impl Parts {
    /// An optimizer alone.
    pub fn new(optimizer: Optimizer) -> Self {
        Self { optimizer, accumulator: None, reducer: None, outer: None }
    }

    /// With windows of several micro-batches.
    #[must_use]
    pub fn accumulator(mut self, accumulator: Accumulator) -> Self {
        self.accumulator = Some(accumulator);
        self
    }

    /// With the gradients of several ranks.
    #[must_use]
    pub fn reducer(mut self, reducer: Reducer) -> Self {
        self.reducer = Some(reducer);
        self
    }

    /// With an outer optimizer.
    #[must_use]
    pub fn outer(mut self, outer: Optimizer) -> Self {
        self.outer = Some(outer);
        self
    }

    fn as_c(&self) -> CParts {
        CParts {
            optimizer: self.optimizer.as_ptr(),
            accumulator: self.accumulator.as_ref().map_or(null_mut(), Accumulator::as_ptr),
            reducer: self.reducer.as_ref().map_or(null_mut(), Reducer::as_ptr),
            outer: self.outer.as_ref().map_or(null_mut(), Optimizer::as_ptr),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CParts {
    optimizer: *mut sys::gradstep_optimizer,
    accumulator: *mut sys::gradstep_accumulator,
    reducer: *mut sys::gradstep_reducer,
    outer: *mut sys::gradstep_optimizer,
}

/// [`Updater::new`] did not take the parts: here they are.
#[derive(Debug)]
pub struct Refused {
    /// Why.
    pub error: Error,
    /// As they were.
    pub parts: Box<Parts>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Refused {}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        refused.error
    }
}

/// Accumulator, reducer and optimizer in one push.
///
/// ```
/// use gradstep::{Accumulator, AccumulatorOptions, Context, Optimizer, Parameter, Parts, Sgd, Tensor, TensorMut};
/// use gradstep::{Updater, UpdaterOptions};
/// let (context, schema) = (Context::new()?, [Parameter::new(&[2])]);
/// let parts = Parts::new(Optimizer::new(&context, &Sgd::new(0.5), &schema)?)
///     .accumulator(Accumulator::new(&context, &AccumulatorOptions::default().steps(2), &schema)?);
/// let mut updater = Updater::new(&context, parts, &UpdaterOptions::default())?;
/// let (mut weight, gradient) = ([1.0f32, 2.0], [1.0f32, 4.0]);
/// for applied in [false, true] {
///     let mut params = [TensorMut::new(&mut weight, &[2])?];
///     assert_eq!(updater.push(&mut params, &[Tensor::new(&gradient, &[2])?], 1.0)?, applied);
/// }
/// assert_eq!(weight, [0.5, 0.0]);
/// # Ok::<(), gradstep::Error>(())
/// ```
#[derive(Debug)]
pub struct Updater {
    raw: NonNull<sys::gradstep_updater>,
    stream: *mut c_void,
    parts: Parts,
    /// The parts that C chains, see `intact`.
    chained: CParts,
}

handle!(Updater: gradstep_updater, gradstep_updater_destroy);
streams!(Updater);

impl Updater {
    /// Chains the parts. Not collective.
    ///
    /// # Errors
    /// With the parts in it: [`Error::Mismatch`] (their schemas differ), [`Error::Unsupported`] (parts and options that
    /// do not go together, see updater.h), [`Error::InvalidArgument`].
    pub fn new(context: &Context, parts: Parts, options: &UpdaterOptions) -> Result<Self, Refused> {
        match Self::create(context, &parts, options) {
            Ok(raw) => Ok(Self { raw, stream: null_mut(), chained: parts.as_c(), parts }),
            Err(error) => Err(Refused { error, parts: Box::new(parts) }),
        }
    }

    fn create(context: &Context, parts: &Parts, options: &UpdaterOptions) -> Result<NonNull<sys::gradstep_updater>> {
        let (mut options, parts, mut out) = (options.to_c()?, parts.as_c(), null_mut());
        // SAFETY: handles, and options that live during the call.
        check(unsafe {
            let CParts { optimizer, accumulator, reducer, outer } = parts;
            options.outer = outer;
            sys::gradstep_updater_create(context.as_ptr(), optimizer, accumulator, reducer, &options, &mut out)
        })?;
        made(out)
    }

    /// The parts, for use between pushes. A part that was exchanged for another one is in its place again before the
    /// next call of the updater, which is [`Error::InvalidState`] otherwise.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// As [`Updater::parts`].
    pub fn parts_mut(&mut self) -> &mut Parts {
        &mut self.parts
    }

    /// Ends the chain.
    pub fn into_parts(self) -> Parts {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: made by create, destroyed once; the parts are moved out once.
        unsafe {
            sys::gradstep_updater_destroy(this.raw.as_ptr());
            std::ptr::read(&this.parts)
        }
    }

    /// C reads and writes the memory of the parts that it was given. While those are not here, views of them may be in
    /// use somewhere else.
    pub(crate) fn intact(&self) -> Result<()> {
        if self.parts.as_c() == self.chained {
            return Ok(());
        }
        Err(Error::InvalidState("updater: a part was exchanged for another one".to_owned()))
    }

    /// Adds a micro-batch; at the end of the window reduces and steps. True if the parameters were stepped. Collective
    /// when it ends a window.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: nothing happened. [`Error::InvalidState`]: the last window's exchange failed: flush
    /// retries it, resetting the accumulator drops it. [`Error::Callback`], [`Error::Numeric`], and those of a
    /// collective call; updater.h says what is kept then.
    pub fn push(&mut self, params: &mut [TensorMut<'_>], grads: &[Tensor<'_>], weight: f64) -> Result<bool> {
        self.intact()?;
        check_counts(params.len(), "grads", grads.len())?;
        let (n, mut applied) = (params.len(), 0);
        // SAFETY: n tensors each, borrowed during the call.
        check(unsafe {
            let (params, grads) = (c_tensors_mut(params), c_tensors(grads));
            sys::gradstep_updater_push(self.as_ptr(), params, grads, n, weight, self.stream, &mut applied)
        })?;
        Ok(applied != 0)
    }

    /// Ends a partial window, or retries one whose exchange failed. Collective with a reducer.
    ///
    /// # Errors
    /// As [`Updater::push`].
    pub fn flush(&mut self, params: &mut [TensorMut<'_>]) -> Result<bool> {
        self.intact()?;
        let (n, mut applied) = (params.len(), 0);
        // SAFETY: n tensors, borrowed during the call.
        check(unsafe {
            sys::gradstep_updater_flush(self.as_ptr(), c_tensors_mut(params), n, self.stream, &mut applied)
        })?;
        Ok(applied != 0)
    }

    /// Continues over a new communicator of survivors, ranks that stay and newcomers; collective among them. None: this
    /// rank goes on alone, without a reducer, and sharded state is gathered with the ranks that recover then. The
    /// updater's reducer is its own from here on, and no more among the [`Updater::parts`].
    ///
    /// # Errors
    /// [`Error::InvalidState`], [`Error::Mismatch`], [`Error::Aborted`] (another rank could not), and those of a
    /// collective call: nothing has changed, and the updater still needs a recover.
    pub fn recover(&mut self, comm: Option<&Communicator>, params: &mut [TensorMut<'_>]) -> Result<()> {
        self.intact()?;
        let (n, comm) = (params.len(), comm.map_or(null_mut(), Communicator::as_ptr));
        // SAFETY: n tensors, borrowed during the call.
        check(unsafe { sys::gradstep_updater_recover(self.as_ptr(), comm, c_tensors_mut(params), n, self.stream) })?;
        self.parts.reducer = None;
        self.chained.reducer = null_mut();
        Ok(())
    }

    /// Counts and times.
    ///
    /// # Errors
    /// [`Error::InvalidState`]: in use.
    pub fn statistics(&self) -> Result<UpdaterStatistics> {
        let mut statistics = UpdaterStatistics::blank();
        // SAFETY: the struct is written.
        check(unsafe { sys::gradstep_updater_stats(self.as_ptr(), &mut statistics) })?;
        Ok(UpdaterStatistics::from_c(&statistics))
    }

    /// The statistics as text for Prometheus. `labels` go into the braces of every line: `job="7"`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: labels with a line break or a brace. [`Error::InvalidState`]: in use.
    pub fn counters(&self, labels: &str) -> Result<String> {
        let labels = c_string("labels", labels)?;
        // SAFETY: the function takes a text and a buffer of text.
        crate::library::text(|buf, cap, len| unsafe {
            sys::gradstep_updater_counters(self.as_ptr(), labels.as_ptr(), buf, cap, len)
        })
    }
}

getters! {
    Updater {
        /// Whether nothing is under way in the updater and its parts.
        poll -> bool = gradstep_updater_poll as i32,
    }
}
