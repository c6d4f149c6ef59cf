// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Gradients of all ranks become one, in fused buckets.

use std::ffi::c_void;
use std::ptr::{NonNull, null, null_mut};

#[cfg(doc)]
use crate::c_types::Average;
use crate::c_types::{BucketStatistics, CommStatistics, ReducerOptions};
use crate::comm::Communicator;
use crate::context::Context;
#[cfg(doc)]
use crate::error::Error;
use crate::error::{Result, c_string, check};
use crate::handle::{getters, handle, made, records, streams};
use crate::parameter::{Parameter, Schema};
use crate::sys;
use crate::tensor::{Tensor, TensorMut, c_tensors, c_tensors_mut, check_counts};

/// Gradients of all ranks become one. All ranks get the same bits.
///
/// ```
/// use gradstep::{Communicator, Context, Parameter, Reducer, ReducerOptions, Tensor};
/// let context = Context::new()?;
/// let mean = |comm: Communicator| {
///     let mut reducer = Reducer::new(&context, &comm, &ReducerOptions::default(), &[Parameter::new(&[2])])?;
///     let gradient = [comm.rank()? as f32, 1.0];
///     reducer.reduce(&[Tensor::new(&gradient, &[2])?], None, 1.0)?;
///     assert_eq!(reducer.gradients()?[0].as_slice::<f32>(), Some(&[0.5, 1.0][..]));
///     Ok::<_, gradstep::Error>(())
/// };
/// let comms = Communicator::local(&context, 2)?.into_iter();
/// std::thread::scope(|scope| {
///     let threads: Vec<_> = comms.map(|comm| scope.spawn(|| mean(comm))).collect();
///     threads.into_iter().try_for_each(|thread| thread.join().unwrap())
/// })?;
/// # Ok::<(), gradstep::Error>(())
/// ```
#[derive(Debug)]
pub struct Reducer {
    raw: NonNull<sys::gradstep_reducer>,
    stream: *mut c_void,
    parameters: usize,
}

handle!(Reducer: gradstep_reducer, gradstep_reducer_destroy);
streams!(Reducer);

impl Reducer {
    /// A reducer for the gradients of these parameters; collective. It takes a channel of its own: the communicator can
    /// be shared, or dropped.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: an option outside its range or not for its mode, a bad schema. [`Error::Mismatch`]:
    /// the ranks' schemas or options differ. Also those of a collective call.
    pub fn new(
        context: &Context,
        comm: &Communicator,
        options: &ReducerOptions,
        parameters: &[Parameter],
    ) -> Result<Self> {
        let (options, schema, mut out) = (options.to_c()?, Schema::new(parameters)?, null_mut());
        // SAFETY: options and schema live during the call.
        check(unsafe {
            let (data, n) = (schema.as_ptr(), schema.len());
            sys::gradstep_reducer_create(context.as_ptr(), comm.as_ptr(), &options, data, n, &mut out)
        })?;
        Ok(Self { raw: made(out)?, stream: null_mut(), parameters: parameters.len() })
    }

    /// Reduces a whole window; collective. [`Tensor::ABSENT`] contributes zeros. The outcome is what
    /// [`Reducer::gradients`] shows; `results[i]`, of any float dtype, gets a copy unless it is [`TensorMut::ABSENT`].
    /// `weight` matters for [`Average::Weighted`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], [`Error::InvalidState`] (inside a window), [`Error::Numeric`] (NaN in a sparse
    /// mode), and those of a collective call, after which results and residuals are untouched.
    pub fn reduce(&mut self, grads: &[Tensor<'_>], results: Option<&mut [TensorMut<'_>]>, weight: f64) -> Result<()> {
        let results = self.c_results(results)?;
        check_counts(self.parameters, "grads", grads.len())?;
        // SAFETY: n tensors each, borrowed during the call.
        check(unsafe {
            sys::gradstep_reducer_reduce(self.as_ptr(), c_tensors(grads), results, grads.len(), weight, self.stream)
        })
    }

    /// As [`Reducer::reduce`], where the outcome takes the gradients' place. [`TensorMut::ABSENT`] contributes zeros,
    /// and gets nothing.
    ///
    /// # Errors
    /// As [`Reducer::reduce`].
    pub fn reduce_in_place(&mut self, grads: &mut [TensorMut<'_>], weight: f64) -> Result<()> {
        let (n, grads) = (grads.len(), c_tensors_mut(grads));
        // SAFETY: n tensors that are borrowed exclusively during the call; results may be grads.
        check(unsafe { sys::gradstep_reducer_reduce(self.as_ptr(), grads, grads, n, weight, self.stream) })
    }

    fn c_results(&self, results: Option<&mut [TensorMut<'_>]>) -> Result<*const sys::gradstep_tensor> {
        let Some(results) = results else { return Ok(null()) };
        check_counts(self.parameters, "results", results.len())?;
        Ok(c_tensors_mut(results))
    }

    /// Begins a window of this weight; without it, the first push does, with weight 1.
    ///
    /// # Errors
    /// [`Error::InvalidState`]: inside a window. [`Error::InvalidArgument`]: the weight.
    pub fn begin(&mut self, weight: f64) -> Result<()> {
        // SAFETY: a handle and a number.
        check(unsafe { sys::gradstep_reducer_begin(self.as_ptr(), weight, self.stream) })
    }

    /// One parameter's gradient, as back-propagation produces it. A bucket leaves when it is full; its exchange goes on
    /// while the host computes, where the communicator can. In the host's memory the gradient has been copied on
    /// return; on a device it stays until [`Reducer::wait`] is done.
    ///
    /// # Errors
    /// [`Error::InvalidState`]: a second push of a parameter. The error of an exchange, as soon as it is known.
    pub fn push(&mut self, parameter: usize, grad: &Tensor<'_>) -> Result<()> {
        // SAFETY: a tensor that is borrowed during the call; of a device its maker has promised more.
        check(unsafe { sys::gradstep_reducer_push(self.as_ptr(), parameter, grad.as_c(), self.stream) })
    }

    /// Ends the window; collective. What was not pushed counts as absent. `results` as in [`Reducer::reduce`].
    ///
    /// # Errors
    /// As [`Reducer::reduce`]; after an error of an exchange the window has ended, too.
    pub fn wait(&mut self, results: Option<&mut [TensorMut<'_>]>) -> Result<()> {
        let results = self.c_results(results)?;
        // SAFETY: n tensors that are borrowed during the call, or none.
        check(unsafe { sys::gradstep_reducer_wait(self.as_ptr(), results, self.parameters, self.stream) })
    }

    /// The gradients of the next windows are multiplied by `scale`; what the mode keeps becomes so, too. All ranks give
    /// the same. 1 until the first call; after a load that of the file.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: not finite or not above 0; [`Error::InvalidState`]: inside a window.
    pub fn set_loss_scale(&mut self, scale: f64) -> Result<()> {
        // SAFETY: a handle.
        check(unsafe { sys::gradstep_reducer_set_loss_scale(self.as_ptr(), scale) })
    }

    /// Drops an open window. If a bucket has left, the channel is aborted: peers get an error.
    ///
    /// # Errors
    /// [`Error::InvalidState`]: in use.
    pub fn cancel(&mut self) -> Result<()> {
        // SAFETY: a handle.
        check(unsafe { sys::gradstep_reducer_cancel(self.as_ptr()) })
    }

    /// Views of the reduced gradients; [`Tensor::is_absent`] where no rank had one.
    ///
    /// # Errors
    /// [`Error::InvalidState`]: before the first window, inside one, or the last one failed.
    pub fn gradients(&self) -> Result<Vec<Tensor<'_>>> {
        let mut views = vec![sys::gradstep_tensor::default(); self.parameters];
        // SAFETY: a view for each parameter is written.
        check(unsafe { sys::gradstep_reducer_gradients(self.as_ptr(), views.as_mut_ptr(), views.len(), self.stream) })?;
        // SAFETY: valid until the next window begins, which takes &mut self.
        Ok(views.into_iter().map(|view| unsafe { Tensor::from_c(view) }).collect())
    }

    /// The Euclidean norm of the reduced gradients of all parameters, an f64 on their device.
    ///
    /// # Errors
    /// As [`Reducer::gradients`]; [`Error::Callback`]: parallel_for.
    pub fn norm(&mut self) -> Result<Tensor<'_>> {
        let mut view = sys::gradstep_tensor::default();
        // SAFETY: the view is written.
        check(unsafe { sys::gradstep_reducer_norm(self.as_ptr(), &mut view, self.stream) })?;
        // SAFETY: valid until the next window begins, which takes &mut self.
        Ok(unsafe { Tensor::from_c(view) })
    }

    fn view_of_residual(&self, parameter: usize) -> Result<sys::gradstep_tensor> {
        let mut view = sys::gradstep_tensor::default();
        // SAFETY: the view is written.
        check(unsafe { sys::gradstep_reducer_residual(self.as_ptr(), parameter, &mut view) })?;
        Ok(view)
    }

    /// A view of this rank's residual of a parameter.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: no such parameter. [`Error::InvalidState`]: inside a window, or the mode keeps none.
    pub fn residual(&self, parameter: usize) -> Result<Tensor<'_>> {
        // SAFETY: valid until the next window begins, which takes &mut self.
        self.view_of_residual(parameter).map(|view| unsafe { Tensor::from_c(view) })
    }

    /// As [`Reducer::residual`], to be written.
    ///
    /// # Errors
    /// As [`Reducer::residual`].
    pub fn residual_mut(&mut self, parameter: usize) -> Result<TensorMut<'_>> {
        // SAFETY: as in residual, and exclusive.
        self.view_of_residual(parameter).map(|view| unsafe { TensorMut::from_c(view) })
    }

    /// The plan: the buckets in the order in which they leave, and what was done with each.
    ///
    /// # Errors
    /// [`Error::InvalidState`]: in use.
    pub fn bucket_statistics(&self) -> Result<Vec<BucketStatistics>> {
        // SAFETY: as many records as the count says, or none.
        let records = records(BucketStatistics::blank(), |records, size, capacity, count| unsafe {
            sys::gradstep_reducer_stats(self.as_ptr(), records, size, capacity, count)
        })?;
        Ok(records.iter().map(BucketStatistics::from_c).collect())
    }

    /// The old name of [`Reducer::bucket_statistics`].
    ///
    /// # Errors
    /// As [`Reducer::bucket_statistics`].
    #[deprecated(note = "use bucket_statistics")]
    pub fn buckets(&self) -> Result<Vec<BucketStatistics>> {
        self.bucket_statistics()
    }

    /// What the reducer's own channel has done.
    ///
    /// # Errors
    /// [`Error::InvalidState`]: in use.
    pub fn comm_statistics(&self) -> Result<CommStatistics> {
        let mut statistics = CommStatistics::blank();
        // SAFETY: the struct is written.
        check(unsafe { sys::gradstep_reducer_comm_stats(self.as_ptr(), &mut statistics) })?;
        Ok(CommStatistics::from_c(&statistics))
    }

    /// The statistics as text for Prometheus. `labels` go into the braces of every line: `job="7"`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: labels with a line break or a brace. [`Error::InvalidState`]: in use.
    pub fn counters(&self, labels: &str) -> Result<String> {
        let labels = c_string("labels", labels)?;
        // SAFETY: the function takes a text and a buffer of text.
        crate::library::text(|buf, cap, len| unsafe {
            sys::gradstep_reducer_counters(self.as_ptr(), labels.as_ptr(), buf, cap, len)
        })
    }
}

getters! {
    Reducer {
        /// Whether no bucket that has left is still being exchanged.
        poll -> bool = gradstep_reducer_poll as i32,
    }
}
