// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Update rules on the host's own parameters.

use std::ffi::c_void;
use std::ptr::{NonNull, null, null_mut};

use crate::c_types::{Memory, ShardingOptions};
use crate::comm::Communicator;
use crate::context::Context;
#[cfg(doc)]
use crate::error::Error;
use crate::error::{Result, c_string, check};
use crate::handle::{getters, handle, made, records, streams};
use crate::metrics::Metric;
use crate::named_rule::{CRule, NamedRule};
use crate::options::Field;
use crate::parameter::{Parameter, Schema};
use crate::reducer::Reducer;
use crate::rule::Rule;
use crate::schedule::Schedule;
use crate::step::{StepOptions, StepResult};
use crate::sys;
use crate::tensor::{Tensor, TensorMut, c_tensors, c_tensors_mut, check_counts};

/// An update rule with its state, for the parameters of a schema.
#[derive(Debug)]
pub struct Optimizer {
    raw: NonNull<sys::gradstep_optimizer>,
    stream: *mut c_void,
}

handle!(Optimizer: gradstep_optimizer, gradstep_optimizer_destroy);
streams!(Optimizer);

/// The ranks that an optimizer's state is dealt out to, for [`Optimizer::shard`]: a `&Communicator` or a `&mut Reducer`.
pub trait Ranks: sealed::Attach {}
impl Ranks for &Communicator {}
impl Ranks for &mut Reducer {}

mod sealed {
    use super::{Communicator, Optimizer, Reducer, Result, ShardingOptions, check, sys};

    pub trait Attach {
        fn attach(self, optimizer: &mut Optimizer, options: &ShardingOptions) -> Result<()>;
    }

    impl Attach for &Communicator {
        fn attach(self, optimizer: &mut Optimizer, options: &ShardingOptions) -> Result<()> {
            let options = options.to_c()?;
            // SAFETY: two handles, and options that live during the call.
            check(unsafe { sys::gradstep_optimizer_attach_comm(optimizer.as_ptr(), self.as_ptr(), &options) })
        }
    }

    impl Attach for &mut Reducer {
        fn attach(self, optimizer: &mut Optimizer, options: &ShardingOptions) -> Result<()> {
            let options = options.to_c()?;
            // SAFETY: two handles, and options that live during the call.
            check(unsafe { sys::gradstep_optimizer_attach_reducer(optimizer.as_ptr(), self.as_ptr(), &options) })
        }
    }
}

/// None is -1: all groups.
fn c_group(group: Option<i32>) -> i32 {
    group.unwrap_or(-1)
}

impl Optimizer {
    /// An optimizer by the rule, whose state starts at zero.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: an option outside its range, a bad schema. [`Error::Unsupported`],
    /// [`Error::BackendUnavailable`], [`Error::OutOfMemory`].
    pub fn new(context: &Context, rule: &impl Rule, parameters: &[Parameter]) -> Result<Self> {
        let (schema, mut out) = (Schema::new(parameters)?, null_mut());
        rule.create(context, &schema, &mut out)?;
        Ok(Self { raw: made(out)?, stream: null_mut() })
    }

    /// Makes one optimizer of several rules: `groups[g]` is that of the parameters of group g. One norm, one clip, one
    /// step count, one saved state.
    ///
    /// ```
    /// # use gradstep::{Context, NamedRule, Optimizer, Parameter};
    /// let groups = [
    ///     NamedRule::new("lion").number("learning_rate", 1e-4),
    ///     NamedRule::new("adam").number("learning_rate", 1e-3),
    /// ];
    /// let parameters = [Parameter::new(&[3, 4]).group(0), Parameter::new(&[3]).group(1)];
    /// let optimizer = Optimizer::by_group(&Context::new()?, &groups, &parameters)?;
    /// # Ok::<(), gradstep::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Optimizer::new`]; [`Error::InvalidArgument`] for a parameter whose group has no rule, too.
    pub fn by_group(context: &Context, groups: &[NamedRule], parameters: &[Parameter]) -> Result<Self> {
        let (schema, mut out) = (Schema::new(parameters)?, null_mut());
        let own = groups.iter().map(NamedRule::to_c).collect::<Result<Vec<_>>>()?;
        let rules: Vec<_> = own.iter().map(CRule::as_group).collect();
        // SAFETY: rules and schema live during the call.
        check(unsafe {
            sys::gradstep_optimizer_create_by_group(
                context.as_ptr(),
                rules.as_ptr(),
                rules.len(),
                schema.as_ptr(),
                schema.len(),
                &mut out,
            )
        })?;
        Ok(Self { raw: made(out)?, stream: null_mut() })
    }

    /// The bytes of state that [`Optimizer::new`] would allocate.
    ///
    /// # Errors
    /// As [`Optimizer::new`].
    pub fn state_bytes(rule: &impl Rule, parameters: &[Parameter]) -> Result<i64> {
        rule.state_bytes(&Schema::new(parameters)?)
    }

    /// Steps `params[i]` in place by `grads[i]`; [`Tensor::ABSENT`] leaves parameter i alone. Collective while the
    /// state is sharded. Allocates nothing.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] names the tensor, and nothing is changed. [`Error::Numeric`], [`Error::Callback`]: a
    /// schedule. Also the errors of a collective call.
    #[inline]
    pub fn step(&mut self, params: &mut [TensorMut<'_>], grads: &[Tensor<'_>]) -> Result<()> {
        check_counts(params.len(), "grads", grads.len())?;
        let n = params.len();
        // SAFETY: n tensors each, borrowed during the call.
        check(unsafe {
            sys::gradstep_optimizer_step(self.as_ptr(), c_tensors_mut(params), c_tensors(grads), n, self.stream)
        })
    }

    /// [`Optimizer::step`] with options.
    ///
    /// # Errors
    /// As [`Optimizer::step`]; an option outside its range, or a tensor of another dtype or number of elements.
    pub fn step_with(
        &mut self,
        params: &mut [TensorMut<'_>],
        grads: &[Tensor<'_>],
        options: StepOptions<'_>,
    ) -> Result<StepResult> {
        check_counts(params.len(), "grads", grads.len())?;
        let n = params.len();
        self.step_ex(c_tensors_mut(params), c_tensors(grads), std::ptr::null(), n, options)
    }

    /// Writes what a step would add into `updates`, and leaves the parameters as they are. State and step count change
    /// as in a step.
    ///
    /// # Errors
    /// As [`Optimizer::step_with`]. [`Error::Unsupported`]: with master weights.
    pub fn update(
        &mut self,
        params: &[Tensor<'_>],
        grads: &[Tensor<'_>],
        updates: &mut [TensorMut<'_>],
        options: StepOptions<'_>,
    ) -> Result<StepResult> {
        check_counts(params.len(), "grads", grads.len())?;
        check_counts(params.len(), "updates", updates.len())?;
        self.step_ex(c_tensors(params), c_tensors(grads), c_tensors_mut(updates), params.len(), options)
    }

    fn step_ex(
        &mut self,
        params: *const sys::gradstep_tensor,
        grads: *const sys::gradstep_tensor,
        updates: *const sys::gradstep_tensor,
        n: usize,
        mut options: StepOptions<'_>,
    ) -> Result<StepResult> {
        let mut raw = sys::gradstep_step_options::default();
        // SAFETY: init fills a struct of this size.
        check(unsafe { sys::gradstep_step_options_init(&mut raw, size_of_val(&raw)) })?;
        let mut result = sys::gradstep_step_result {
            struct_size: size_of::<sys::gradstep_step_result>() as u32,
            ..Default::default()
        };
        let read = |tensor: &Option<Tensor<'_>>| tensor.as_ref().map_or(std::ptr::null(), Tensor::as_c);
        let written = |tensor: &mut Option<TensorMut<'_>>| tensor.as_mut().map_or(null_mut(), TensorMut::as_c);
        raw.skip_nonfinite = options.skip_nonfinite.into_c();
        raw.grad_scale = options.grad_scale.unwrap_or(raw.grad_scale);
        raw.max_norm = options.max_norm;
        raw.clip_value = options.clip_value;
        raw.grad_norm = read(&options.grad_norm);
        raw.found_inf = written(&mut options.found_inf);
        raw.result = &mut result;
        raw.grad_scale_tensor = read(&options.grad_scale_tensor);
        raw.outcome = written(&mut options.outcome);
        raw.disjoint = options.disjoint.into_c();
        // SAFETY: n tensors each, and those of the options, are borrowed during the call.
        check(unsafe { sys::gradstep_optimizer_step_ex(self.as_ptr(), params, grads, updates, n, &raw, self.stream) })?;
        Ok(StepResult {
            applied: result.applied != 0,
            grad_norm: result.grad_norm,
            clip_coefficient: result.clip_coefficient,
        })
    }

    /// Sets hyper-parameter `name` of a group, or of all with None, to a constant. State that becomes necessary, a
    /// momentum for example, starts at zero: a view of it must not be in use.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: an unknown name (the text lists the known ones), group or value out of range.
    pub fn set_value(&mut self, name: &str, group: Option<i32>, value: f64) -> Result<()> {
        let name = c_string("name", name)?;
        // SAFETY: the name ends with a NUL.
        check(unsafe { sys::gradstep_optimizer_set_value(self.as_ptr(), c_group(group), name.as_ptr(), value) })
    }

    /// Sets hyper-parameter `name` of a group, or of all with None, to a schedule over t.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: as [`Optimizer::set_value`]; a number of the schedule that breaks its rule.
    pub fn set_schedule(&mut self, name: &str, group: Option<i32>, schedule: &Schedule) -> Result<()> {
        let name = c_string("name", name)?;
        schedule.give_to(|raw| {
            // SAFETY: the name ends with a NUL; C takes the schedule over.
            unsafe { sys::gradstep_optimizer_set_schedule(self.as_ptr(), c_group(group), name.as_ptr(), raw) }
        })
    }

    /// Hyper-parameter `name` is read from the f64 of one element that the tensor shows, in every step.
    ///
    /// # Safety
    /// The number stays where it is, and no code writes to it during a call, until another value takes its place or the
    /// optimizer, and every updater that had it, is gone.
    ///
    /// # Errors
    /// As [`Optimizer::set_value`].
    pub unsafe fn set_tensor(&mut self, name: &str, group: Option<i32>, tensor: &Tensor<'_>) -> Result<()> {
        let name = c_string("name", name)?;
        // SAFETY: the caller's promise.
        check(unsafe {
            sys::gradstep_optimizer_set_tensor(self.as_ptr(), c_group(group), name.as_ptr(), tensor.as_c())
        })
    }

    /// What the next step would use.
    ///
    /// # Errors
    /// As [`Optimizer::set_value`]; [`Error::Numeric`], [`Error::Callback`]: a schedule.
    pub fn get_value(&self, name: &str, group: i32) -> Result<f64> {
        let (name, mut value) = (c_string("name", name)?, 0.0);
        // SAFETY: the name ends with a NUL, the value is written.
        check(unsafe { sys::gradstep_optimizer_get_value(self.as_ptr(), group, name.as_ptr(), &mut value) })?;
        Ok(value)
    }

    /// The old name of [`Optimizer::get_value`].
    ///
    /// # Errors
    /// As [`Optimizer::get_value`].
    #[deprecated(note = "use get_value")]
    pub fn value(&self, name: &str, group: i32) -> Result<f64> {
        self.get_value(name, group)
    }

    /// Makes [`Optimizer::step_count`] `count`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: negative.
    pub fn set_step_count(&mut self, count: i64) -> Result<()> {
        // SAFETY: a handle and a number.
        check(unsafe { sys::gradstep_optimizer_set_step_count(self.as_ptr(), count) })
    }

    /// Appends parameters, whose state starts at zero.
    ///
    /// # Errors
    /// As [`Optimizer::new`]; a name that is taken. The optimizer is as before then.
    pub fn add_parameters(&mut self, parameters: &[Parameter]) -> Result<()> {
        let schema = Schema::new(parameters)?;
        // SAFETY: the schema lives during the call.
        check(unsafe { sys::gradstep_optimizer_add_parameters(self.as_ptr(), schema.as_ptr(), schema.len()) })
    }

    /// The names of the rule's state tensors.
    ///
    /// # Errors
    /// [`Error::InvalidState`]: in use.
    pub fn state_names(&self) -> Result<Vec<String>> {
        // SAFETY: the function takes a buffer of text.
        let text = crate::library::text(|buf, cap, len| unsafe {
            sys::gradstep_optimizer_state_names(self.as_ptr(), buf, cap, len)
        })?;
        Ok(text.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    fn view(&self, index: usize, name: &str) -> Result<sys::gradstep_tensor> {
        let (name, mut view) = (c_string("name", name)?, sys::gradstep_tensor::default());
        // SAFETY: the name ends with a NUL, the view is written.
        check(unsafe { sys::gradstep_optimizer_state(self.as_ptr(), index, name.as_ptr(), &mut view) })?;
        Ok(view)
    }

    /// A view of state `name` of parameter `index`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: unknown index or name. [`Error::InvalidState`]: it does not exist, e.g. no momentum.
    /// [`Error::Unsupported`]: stored in another form, or sharded: see [`Optimizer::get_state`].
    pub fn state(&self, index: usize, name: &str) -> Result<Tensor<'_>> {
        // SAFETY: valid as long as the handle. What writes there or replaces the memory takes &mut self: steps, loads,
        // setters of state and of hyper-parameters, shard. What takes &self and may install roots that are due, as
        // this call itself, has none left to install at the same step count.
        self.view(index, name).map(|view| unsafe { Tensor::from_c(view) })
    }

    /// As [`Optimizer::state`], to be written.
    ///
    /// # Errors
    /// As [`Optimizer::state`].
    pub fn state_mut(&mut self, index: usize, name: &str) -> Result<TensorMut<'_>> {
        // SAFETY: as in state, and exclusive.
        self.view(index, name).map(|view| unsafe { TensorMut::from_c(view) })
    }

    /// Copies state `name` of parameter `index` into a tensor of any float dtype. Collective while the state is
    /// sharded.
    ///
    /// # Errors
    /// As [`Optimizer::state`], and the errors of a collective call.
    pub fn get_state(&mut self, index: usize, name: &str, tensor: &mut TensorMut<'_>) -> Result<()> {
        let name = c_string("name", name)?;
        // SAFETY: the name ends with a NUL, the tensor is borrowed during the call.
        check(unsafe {
            sys::gradstep_optimizer_get_state(self.as_ptr(), index, name.as_ptr(), tensor.as_c(), self.stream)
        })
    }

    /// Copies the averages of the weights (options `average_decay` and `average_equal`; rules asgd and schedule_free)
    /// into one tensor for each parameter, of any float dtype. For schedule_free they hold the parameters when the call
    /// begins. Collective while the state is sharded.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: another number of tensors or another shape. [`Error::InvalidState`]: there are none,
    /// or no step was made yet. Also the errors of a collective call.
    pub fn average(&mut self, tensors: &mut [TensorMut<'_>]) -> Result<()> {
        let n = tensors.len();
        // SAFETY: n tensors, borrowed during the call.
        check(unsafe { sys::gradstep_optimizer_average(self.as_ptr(), c_tensors_mut(tensors), n, self.stream) })
    }

    /// Copies a tensor into state `name` of parameter `index`. Collective while the state is sharded.
    ///
    /// # Errors
    /// As [`Optimizer::get_state`].
    pub fn set_state(&mut self, index: usize, name: &str, tensor: &Tensor<'_>) -> Result<()> {
        let name = c_string("name", name)?;
        // SAFETY: the name ends with a NUL, the tensor is borrowed during the call.
        check(unsafe {
            sys::gradstep_optimizer_set_state(self.as_ptr(), index, name.as_ptr(), tensor.as_c(), self.stream)
        })
    }

    /// State, step count and skip counter become those of `source`.
    ///
    /// # Errors
    /// [`Error::Mismatch`]: rule, names, shapes or dtypes differ.
    pub fn copy_state(&mut self, source: &mut Optimizer) -> Result<()> {
        // SAFETY: two handles.
        check(unsafe { sys::gradstep_optimizer_copy_state(self.as_ptr(), source.as_ptr()) })
    }

    /// Collective: deals the state out to the ranks of a `&Communicator`, and steps are collective from then on; or to
    /// those of a `&mut Reducer` of the same parameters, which from then on brings each of them its share of the
    /// gradients. An updater of that reducer and this optimizer makes the steps.
    ///
    /// # Errors
    /// With nothing changed on any rank; see sharding.h.
    pub fn shard(&mut self, ranks: impl Ranks, options: &ShardingOptions) -> Result<()> {
        ranks.attach(self, options)
    }

    /// Collective: the ranks of the communicator have parts of the parameters ([`crate::Parameter::part_of`]), and each
    /// steps its own; None ends that.
    ///
    /// # Errors
    /// With nothing changed on any rank; see sharding.h.
    pub fn attach_shards(&mut self, comm: Option<&Communicator>) -> Result<()> {
        let comm = comm.map_or(null_mut(), Communicator::as_ptr);
        // SAFETY: two handles.
        check(unsafe { sys::gradstep_optimizer_attach_shards(self.as_ptr(), comm) })
    }

    /// Gathers the state on every rank again. Collective while it is sharded.
    ///
    /// # Errors
    /// As [`Optimizer::shard`].
    pub fn unshard(&mut self) -> Result<()> {
        // SAFETY: a handle, and no options.
        check(unsafe { sys::gradstep_optimizer_attach_comm(self.as_ptr(), null_mut(), null()) })
    }

    /// The old name of [`Optimizer::shard`] and [`Optimizer::unshard`].
    ///
    /// # Errors
    /// As theirs.
    #[deprecated(note = "use shard, or unshard for None")]
    pub fn attach_comm(&mut self, comm: Option<&Communicator>, options: &ShardingOptions) -> Result<()> {
        match comm {
            Some(comm) => self.shard(comm, options),
            None => self.unshard(),
        }
    }

    /// The old name of [`Optimizer::shard`].
    ///
    /// # Errors
    /// As [`Optimizer::shard`].
    #[deprecated(note = "use shard")]
    pub fn attach_reducer(&mut self, reducer: &mut Reducer, options: &ShardingOptions) -> Result<()> {
        self.shard(reducer, options)
    }

    /// Counters, and what a Shampoo knows about its roots.
    ///
    /// # Errors
    /// [`Error::Callback`]: parallel_for.
    pub fn metrics(&mut self) -> Result<Vec<Metric>> {
        // SAFETY: as many records as the count says, or none.
        let records = records(Metric::blank(), |records, size, capacity, count| unsafe {
            sys::gradstep_optimizer_metrics(self.as_ptr(), records, size, capacity, count)
        })?;
        Ok(records.iter().map(Metric::from_c).collect())
    }

    /// What the handle holds now.
    ///
    /// # Errors
    /// [`Error::InvalidState`]: in use.
    pub fn memory(&self) -> Result<Memory> {
        let mut memory = Memory::blank();
        // SAFETY: the struct is written.
        check(unsafe { sys::gradstep_optimizer_memory(self.as_ptr(), &mut memory) })?;
        Ok(Memory::from_c(&memory))
    }
}

getters! {
    Optimizer {
        /// One more than the largest group of the schema.
        group_count -> i32 = gradstep_optimizer_group_count as i32,
        /// The number of applied steps.
        step_count -> i64 = gradstep_optimizer_step_count as i64,
        /// Whether no step is under way. On the CPU always.
        poll -> bool = gradstep_optimizer_poll as i32,
    }
}

/// Other ways to a new hyper-parameter while state is shown, which do not compile either:
///
/// ```compile_fail,E0502
/// # let context = gradstep::Context::new()?;
/// # let schema = [gradstep::Parameter::new(&[2])];
/// # let mut optimizer = gradstep::Optimizer::new(&context, &gradstep::Sgd::new(0.1).momentum(0.9), &schema)?;
/// let state = optimizer.state(0, "momentum_buffer")?;
/// optimizer.set_schedule("momentum", None, &gradstep::Schedule::constant(0.5))?;
/// println!("{state:?}");
/// # Ok::<(), gradstep::Error>(())
/// ```
/// ```compile_fail,E0502
/// # let context = gradstep::Context::new()?;
/// # let schema = [gradstep::Parameter::new(&[2])];
/// # let mut optimizer = gradstep::Optimizer::new(&context, &gradstep::Sgd::new(0.1).momentum(0.9), &schema)?;
/// let (state, momentum) = (optimizer.state(0, "momentum_buffer")?, [0.5]);
/// unsafe { optimizer.set_tensor("momentum", None, &gradstep::Tensor::new(&momentum, &[1])?)? };
/// println!("{state:?}");
/// # Ok::<(), gradstep::Error>(())
/// ```
#[cfg(doctest)]
struct Shown;
