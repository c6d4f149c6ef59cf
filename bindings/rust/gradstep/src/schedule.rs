// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Numbers as functions of the step counter.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use crate::callback::{guarded, release, user};
use crate::error::{Result, check, require};
use crate::sys;

type Function = Arc<dyn Fn(i64) -> Result<f64> + Send + Sync>;

/// A number as a function of the step counter t, which is 0 at the first step. `warmup_steps` w leads up to f(0) and
/// delays: f(0) (t + 1) / (w + 1) while t < w, and f(t - w) from then on.
///
/// ```
/// use gradstep::Schedule;
/// let cosine = Schedule::cosine(1e-3, 1e-5, 10_000).warmup_steps(100);
/// let own = Schedule::function(|t| 1e-3 * 0.99f64.powi(t as i32));
/// assert_eq!(own.value(1)?, 0.99e-3);
/// # Ok::<(), gradstep::Error>(())
/// ```
#[derive(Clone)]
pub struct Schedule {
    raw: sys::gradstep_schedule,
    boundaries: Vec<i64>,
    values: Vec<f64>,
    function: Option<Function>,
}

// SAFETY: the pointers of raw are NULL here; `with_c` sets them in a copy.
unsafe impl Send for Schedule {}
// SAFETY: as above.
unsafe impl Sync for Schedule {}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schedule").field("kind", &self.raw.kind).finish_non_exhaustive()
    }
}

impl Schedule {
    fn of(kind: i32) -> Self {
        // The defaults of gradstep_schedule_init, which needs no library here.
        let raw = sys::gradstep_schedule {
            struct_size: size_of::<sys::gradstep_schedule>() as u32,
            kind,
            power: 1.0,
            ..Default::default()
        };
        Self { raw, boundaries: Vec::new(), values: Vec::new(), function: None }
    }

    /// Always the same.
    pub fn constant(value: f64) -> Self {
        let mut made = Self::of(sys::GRADSTEP_SCHEDULE_CONSTANT);
        made.raw.init_value = value;
        made
    }

    /// `init_value * decay_rate^(t / decay_steps)`.
    pub fn exponential_decay(init_value: f64, decay_rate: f64, decay_steps: i64) -> Self {
        let mut made = Self::of(sys::GRADSTEP_SCHEDULE_EXPONENTIAL_DECAY);
        (made.raw.init_value, made.raw.decay_rate, made.raw.decay_steps) = (init_value, decay_rate, decay_steps);
        made
    }

    /// `init_value / (1 + decay_rate * t / decay_steps)`.
    pub fn inverse_time(init_value: f64, decay_rate: f64, decay_steps: i64) -> Self {
        let mut made = Self::of(sys::GRADSTEP_SCHEDULE_INVERSE_TIME);
        (made.raw.init_value, made.raw.decay_rate, made.raw.decay_steps) = (init_value, decay_rate, decay_steps);
        made
    }

    /// `(init_value - end_value) * (1 - min(t, decay_steps) / decay_steps)^power + end_value`.
    pub fn polynomial(init_value: f64, end_value: f64, decay_steps: i64, power: f64) -> Self {
        let mut made = Self::of(sys::GRADSTEP_SCHEDULE_POLYNOMIAL);
        (made.raw.init_value, made.raw.end_value) = (init_value, end_value);
        (made.raw.decay_steps, made.raw.power) = (decay_steps, power);
        made
    }

    /// `end_value + (init_value - end_value) * (1 + cos(pi * min(t, decay_steps) / decay_steps)) / 2`.
    pub fn cosine(init_value: f64, end_value: f64, decay_steps: i64) -> Self {
        let mut made = Self::of(sys::GRADSTEP_SCHEDULE_COSINE);
        (made.raw.init_value, made.raw.end_value, made.raw.decay_steps) = (init_value, end_value, decay_steps);
        made
    }

    /// `values[i]` for `boundaries[i-1] < t <= boundaries[i]`: one boundary less than values.
    pub fn piecewise(boundaries: impl Into<Vec<i64>>, values: impl Into<Vec<f64>>) -> Self {
        let made = Self::of(sys::GRADSTEP_SCHEDULE_PIECEWISE);
        Self { boundaries: boundaries.into(), values: values.into(), ..made }
    }

    /// The host's own function of t, called on the thread whose call needs the value. A panic fails that call with
    /// [`Error::Callback`](crate::Error::Callback).
    pub fn function(function: impl Fn(i64) -> f64 + Send + Sync + 'static) -> Self {
        Self::try_function(move |step| Ok(function(step)))
    }

    /// As [`Schedule::function`]; an error fails the call that needs the value, with its text.
    pub fn try_function(function: impl Fn(i64) -> Result<f64> + Send + Sync + 'static) -> Self {
        Self { function: Some(Arc::new(function)), ..Self::of(sys::GRADSTEP_SCHEDULE_CALLBACK) }
    }

    /// exponential_decay, inverse_time: in steps, at multiples of decay_steps.
    #[must_use]
    pub fn staircase(mut self, staircase: bool) -> Self {
        self.raw.staircase = i32::from(staircase);
        self
    }

    /// Steps that lead up to the first value.
    #[must_use]
    pub fn warmup_steps(mut self, steps: i64) -> Self {
        self.raw.warmup_steps = steps;
        self
    }

    /// The value at t = `step`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument): a negative step, a number that breaks its rule.
    /// [`Error::Callback`](crate::Error::Callback): the function failed.
    pub fn value(&self, step: i64) -> Result<f64> {
        crate::library::ready()?;
        self.check_lengths()?;
        let mut value = 0.0;
        let function = self.function.clone();
        let raw = self.raw_with(function.as_ref().map_or(std::ptr::null_mut(), |f| (&raw const *f).cast_mut().cast()));
        // SAFETY: gradstep_schedule_value only reads the schedule, and does not release it.
        check(unsafe { sys::gradstep_schedule_value(&raw, step, &mut value) })?;
        Ok(value)
    }

    /// Hands the schedule to a function of C that takes it over: it copies the numbers and releases the function, also
    /// when it fails.
    pub(crate) fn give_to(&self, take: impl FnOnce(&sys::gradstep_schedule) -> sys::gradstep_status) -> Result<()> {
        self.check_lengths()?;
        let function = self.function.clone().map_or(std::ptr::null_mut(), user::<Function>);
        let mut raw = self.raw_with(function);
        raw.release = self.function.as_ref().map(|_| release::<Function> as unsafe extern "C" fn(*mut c_void));
        check(take(&raw))
    }

    /// C gets one length for the two lists.
    fn check_lengths(&self) -> Result<()> {
        let (boundaries, values) = (self.boundaries.len(), self.values.len());
        let is_piecewise = self.raw.kind == sys::GRADSTEP_SCHEDULE_PIECEWISE;
        require(!is_piecewise || (boundaries + 1 == values && i32::try_from(values).is_ok()), || {
            format!("schedule: {boundaries} boundaries and {values} values, expected one boundary less than values")
        })
    }

    fn raw_with(&self, user: *mut c_void) -> sys::gradstep_schedule {
        let mut raw = self.raw;
        if raw.kind == sys::GRADSTEP_SCHEDULE_PIECEWISE {
            raw.n_points = i32::try_from(self.values.len()).unwrap_or(0);
            (raw.boundaries, raw.values) = (self.boundaries.as_ptr(), self.values.as_ptr());
        }
        if self.function.is_some() {
            raw.function = Some(on_value);
            raw.user = user;
        }
        raw
    }
}

unsafe extern "C" fn on_value(user: *mut c_void, step: i64, value: *mut f64) -> sys::gradstep_status {
    guarded("the schedule", || {
        // SAFETY: user is a Function that lives until its release; value is C's to be written.
        unsafe { *value = (*user.cast::<Function>())(step)? };
        Ok(())
    })
}
