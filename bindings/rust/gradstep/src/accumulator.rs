// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! One sum per parameter over the micro-batches of a window.

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

#[cfg(doc)]
use crate::c_types::AccumulationTrigger;
use crate::c_types::AccumulatorOptions;
use crate::context::Context;
#[cfg(doc)]
use crate::error::Error;
use crate::error::{Result, check};
use crate::handle::{getters, handle, made, streams};
use crate::parameter::{Parameter, Schema};
use crate::schedule::Schedule;
use crate::sys;
use crate::tensor::{Dtype, Tensor, TensorMut, c_tensors};

/// Sparse rows of one parameter: row `indices[j]` of its first axis += `values[j]`.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// Index in the schema.
    pub parameter: usize,
    /// i32 or i64, one for each row.
    pub indices: Tensor<'a>,
    /// A row of the parameter for each index.
    pub values: Tensor<'a>,
}

/// One sum per parameter over the micro-batches of a window.
#[derive(Debug)]
pub struct Accumulator {
    raw: NonNull<sys::gradstep_accumulator>,
    stream: *mut c_void,
    parameters: usize,
}

handle!(Accumulator: gradstep_accumulator, gradstep_accumulator_destroy);
streams!(Accumulator);

impl Accumulator {
    /// An accumulator for the gradients of these parameters.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: an option outside its range, a bad schema. [`Error::OutOfMemory`].
    pub fn new(context: &Context, options: &AccumulatorOptions, parameters: &[Parameter]) -> Result<Self> {
        Self::create(context, options, None, None, parameters)
    }

    /// As [`Accumulator::new`] with sums of f32 or f64, and for [`AccumulationTrigger::Schedule`] the lengths of
    /// windows.
    ///
    /// # Errors
    /// As [`Accumulator::new`].
    pub fn create(
        context: &Context,
        options: &AccumulatorOptions,
        schedule: Option<&Schedule>,
        dtype: Option<Dtype>,
        parameters: &[Parameter],
    ) -> Result<Self> {
        let (mut raw, schema, mut out) = (options.to_c()?, Schema::new(parameters)?, null_mut());
        if let Some(dtype) = dtype {
            raw.dtype = dtype.to_c();
        }
        let mut create = |raw: &sys::gradstep_accumulator_options| {
            // SAFETY: options and schema live during the call; C takes the schedule over.
            unsafe {
                let (data, n) = (schema.as_ptr(), schema.len());
                sys::gradstep_accumulator_create(context.as_ptr(), raw, data, n, &mut out)
            }
        };
        match schedule {
            None => check(create(&raw))?,
            Some(schedule) => schedule.give_to(|schedule| {
                raw.schedule = schedule;
                create(&raw)
            })?,
        }
        Ok(Self { raw: made(out)?, stream: null_mut(), parameters: parameters.len() })
    }

    /// Adds one micro-batch; true when it ended the window. Allocates nothing.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: nothing is added. [`Error::Callback`], [`Error::Numeric`]: the schedule.
    pub fn add(&mut self, grads: &[Tensor<'_>], weight: f64) -> Result<bool> {
        let (n, mut ready) = (grads.len(), 0);
        // SAFETY: n tensors that are borrowed during the call.
        check(unsafe {
            sys::gradstep_accumulator_add(self.as_ptr(), c_tensors(grads), n, weight, self.stream, &mut ready)
        })?;
        Ok(ready != 0)
    }

    /// [`Accumulator::add`] with sparse rows. No gradients at all: rows alone.
    ///
    /// # Errors
    /// As [`Accumulator::add`]; an index outside the parameter, of which the text names the row.
    pub fn add_rows(&mut self, grads: &[Tensor<'_>], rows: &[Rows<'_>], weight: f64) -> Result<bool> {
        let raw: Vec<_> = rows
            .iter()
            .map(|rows| sys::gradstep_rows {
                struct_size: size_of::<sys::gradstep_rows>() as u32,
                reserved: 0,
                parameter: i64::try_from(rows.parameter).unwrap_or(i64::MAX),
                indices: rows.indices.as_c(),
                values: rows.values.as_c(),
            })
            .collect();
        let data = if grads.is_empty() { std::ptr::null() } else { c_tensors(grads) };
        let mut ready = 0;
        // SAFETY: tensors and rows are borrowed during the call.
        check(unsafe {
            let (n, rows, n_rows) = (grads.len(), raw.as_ptr(), raw.len());
            sys::gradstep_accumulator_add_ex(self.as_ptr(), data, n, rows, n_rows, weight, self.stream, &mut ready)
        })?;
        Ok(ready != 0)
    }

    /// Ends a partial window; true if there is a result.
    ///
    /// # Errors
    /// [`Error::Callback`]: parallel_for.
    pub fn flush(&mut self) -> Result<bool> {
        let mut ready = 0;
        // SAFETY: ready is written.
        check(unsafe { sys::gradstep_accumulator_flush(self.as_ptr(), self.stream, &mut ready) })?;
        Ok(ready != 0)
    }

    /// Drops the window.
    ///
    /// # Errors
    /// [`Error::InvalidState`]: in use.
    pub fn reset(&mut self) -> Result<()> {
        // SAFETY: a handle.
        check(unsafe { sys::gradstep_accumulator_reset(self.as_ptr(), self.stream) })
    }

    fn results(&mut self) -> Result<Vec<sys::gradstep_tensor>> {
        let mut views = vec![sys::gradstep_tensor::default(); self.parameters];
        // SAFETY: a view for each parameter is written.
        check(unsafe {
            sys::gradstep_accumulator_gradients(self.as_ptr(), views.as_mut_ptr(), views.len(), self.stream)
        })?;
        Ok(views)
    }

    /// Views of the result; [`Tensor::is_absent`] where no micro-batch had a gradient.
    ///
    /// # Errors
    /// [`Error::InvalidState`]: the window is open.
    pub fn gradients(&mut self) -> Result<Vec<Tensor<'_>>> {
        // SAFETY: valid until the next call that takes &mut self.
        Ok(self.results()?.into_iter().map(|view| unsafe { Tensor::from_c(view) }).collect())
    }

    /// As [`Accumulator::gradients`], to be written.
    ///
    /// # Errors
    /// As [`Accumulator::gradients`].
    pub fn gradients_mut(&mut self) -> Result<Vec<TensorMut<'_>>> {
        // SAFETY: as in gradients, and exclusive.
        Ok(self.results()?.into_iter().map(|view| unsafe { TensorMut::from_c(view) }).collect())
    }

    /// Views of the undivided sums.
    ///
    /// # Errors
    /// [`Error::InvalidState`]: the sums are divided. [`Error::Unsupported`]: the mode keeps none.
    pub fn sums(&mut self) -> Result<Vec<Tensor<'_>>> {
        let mut views = vec![sys::gradstep_tensor::default(); self.parameters];
        // SAFETY: a view for each parameter is written.
        check(unsafe { sys::gradstep_accumulator_sums(self.as_ptr(), views.as_mut_ptr(), views.len(), self.stream) })?;
        // SAFETY: valid until the next call that takes &mut self.
        Ok(views.into_iter().map(|view| unsafe { Tensor::from_c(view) }).collect())
    }

    /// The Euclidean norm over the results of all parameters, an f64 on the gradients' device.
    ///
    /// # Errors
    /// [`Error::InvalidState`]: the window is open.
    pub fn norm(&mut self) -> Result<Tensor<'_>> {
        let mut view = sys::gradstep_tensor::default();
        // SAFETY: the view is written.
        check(unsafe { sys::gradstep_accumulator_norm(self.as_ptr(), &mut view, self.stream) })?;
        // SAFETY: valid until the next call that takes &mut self.
        Ok(unsafe { Tensor::from_c(view) })
    }
}

getters! {
    Accumulator {
        /// The window's divisor.
        weight -> f64 = gradstep_accumulator_weight as f64,
        /// Micro-batches in the window.
        count -> i64 = gradstep_accumulator_count as i64,
        /// Micro-batches that were skipped since creation.
        skipped -> i64 = gradstep_accumulator_skipped as i64,
        /// Whether no add, flush or reset is under way. On the CPU always.
        poll -> bool = gradstep_accumulator_poll as i32,
    }
}
