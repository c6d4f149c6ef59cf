// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Trains models of candle: [`Trainer`] is a `candle_nn::Optimizer` by every rule of gradstep, and steps candle's
//! variables in candle's own memory.
//!
//! ```
//! use candle_core::{DType, Device, Tensor};
//! use candle_nn::{Module, Optimizer, VarBuilder, VarMap};
//! use gradstep::candle::{Config, Trainer};
//! use gradstep::{AccumulatorOptions, AdamW, UpdaterOptions};
//!
//! let variables = VarMap::new();
//! let model = candle_nn::linear(2, 1, VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu))?;
//! let adam_w = AdamW::new(1e-2).weight_decay(1e-2);
//! let config = Config::new(adam_w)
//!     .updater(UpdaterOptions::default().max_norm(1.0))
//!     .accumulator(AccumulatorOptions::default().steps(2)); // two micro-batches make a step
//! let mut trainer = Trainer::from_var_map(&variables, config)?;
//! let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
//! for _ in 0..4 {
//!     trainer.backward_step(&model.forward(&x)?.sqr()?.mean_all()?)?;
//! }
//! assert_eq!(trainer.updater().statistics()?.steps, 2);
//! # Ok::<(), candle_core::Error>(())
//! ```

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use candle_core::backprop::GradStore;
use candle_core::{CpuStorage, DType, DeviceLocation, InplaceOp1, Layout, Storage, Var};
use candle_nn::VarMap;

use crate::c_types::LoadOptions;
use crate::error::require;
use crate::tensor::{Device, Element};
pub use crate::training::Config;
#[cfg(doc)]
use crate::{Accumulator, Optimizer};
use crate::{Dtype, Error, Parameter, Result, Tensor, TensorMut, Updater};

impl From<Error> for candle_core::Error {
    fn from(error: Error) -> Self {
        Self::wrap(error)
    }
}

/// candle's variables under their names, in an order that all ranks and later runs of a program share.
#[derive(Debug, Clone)]
pub struct Variables(Vec<(String, Var)>);

impl Variables {
    /// Variables in the given order. Variables of integers are left out, as in candle's own optimizers.
    pub fn new(variables: impl IntoIterator<Item = (String, Var)>) -> Self {
        Self(variables.into_iter().filter(|(_, variable)| variable.dtype().is_float()).collect())
    }

    /// The variables of the map, ordered by their names.
    ///
    /// # Panics
    /// A thread that held the map's lock has panicked.
    pub fn of_map(map: &VarMap) -> Self {
        let data = map.data().lock().expect("no thread has panicked with the map");
        let mut named: Vec<_> = data.iter().map(|(name, variable)| (name.clone(), variable.clone())).collect();
        named.sort_by(|(a, _), (b, _)| a.cmp(b));
        Self::new(named)
    }

    /// The schema of handles for these variables. A program may change an entry's group, or say that it may be unused.
    ///
    /// # Errors
    /// [`Error::Unsupported`]: the named variable is not in the host's memory, or of a dtype that gradstep has not.
    /// [`Error::InvalidArgument`]: a variable is there under two names.
    pub fn parameters(&self) -> Result<Vec<Parameter>> {
        let mut names = HashMap::new();
        let parameter = |(name, variable): &(String, Var)| {
            check_place(&format!("variable {name:?}"), variable.device().location())?;
            let dtype = dtype_of(variable.dtype()).ok_or_else(|| of_no_dtype(name, variable))?;
            let other = names.insert(variable.id(), name.clone());
            require(other.is_none(), || {
                format!("variable {name:?}: the variable {:?} again, expected each once", other.unwrap_or_default())
            })?;
            Ok(Parameter::new(variable.dims()).name(name).dtype(dtype))
        };
        self.0.iter().map(parameter).collect()
    }

    /// Calls `body` with the variables as tensors of candle's own memory. Until `body` returns, candle's storages are
    /// without it: an operation of candle that reads a variable is an error of candle's, or panics.
    ///
    /// # Errors
    /// [`Error::InvalidState`]: another call has a variable's memory. [`Error::Unsupported`]: a variable's memory is
    /// not contiguous, not the host's, or of a dtype that gradstep has not. Errors of `body`.
    pub fn lend<R, E: From<Error>>(&self, body: impl FnOnce(&mut [TensorMut<'_>]) -> Result<R, E>) -> Result<R, E> {
        let mut lent = Lent { variables: &self.0, memory: Vec::with_capacity(self.0.len()) };
        for (name, variable) in &self.0 {
            let memory = exchange(variable, TAKEN).map_err(|error| Error::Unsupported(error.to_string()))?;
            if matches!(memory, CpuStorage::F4(_)) {
                Err(Error::InvalidState(format!("variable {name:?}: another call has its memory")))?;
            }
            lent.memory.push(memory);
        }
        let tensors =
            lent.memory.iter_mut().zip(&self.0).map(|(memory, (name, variable))| written(name, variable, memory));
        body(&mut tensors.collect::<Result<Vec<_>>>()?)
    }

    /// Calls `body` with the gradients of the variables in candle's own memory, of any strides; [`Tensor::ABSENT`] for
    /// a variable that has none.
    ///
    /// # Errors
    /// [`Error::Unsupported`]: the gradient of the named variable is not in the host's memory, or of a dtype that
    /// gradstep has not. Errors of `body`.
    pub fn with_gradients<R, E: From<Error>>(
        &self,
        gradients: &GradStore,
        body: impl FnOnce(&[Tensor<'_>]) -> Result<R, E>,
    ) -> Result<R, E> {
        let found: Vec<_> = self.0.iter().map(|(_, variable)| gradients.get(variable)).collect();
        let held: Vec<_> = found.iter().map(|gradient| gradient.map(candle_core::Tensor::storage_and_layout)).collect();
        let tensors = held.iter().zip(&self.0).map(|(held, (name, _))| match held {
            None => Ok(Tensor::ABSENT),
            Some((storage, layout)) => read(&format!("gradient of {name:?}"), storage, layout),
        });
        body(&tensors.collect::<Result<Vec<_>>>()?)
    }
}

/// candle's optimizer by an [`Updater`]: a step is a push.
///
/// [`Config`] makes it of a rule. Every other [`Updater`] becomes one by [`Trainer::from_updater`], for example one that
/// reduces the gradients of several ranks:
///
/// ```
/// # use candle_core::{DType, Device};
/// # use candle_nn::{VarBuilder, VarMap};
/// # use gradstep::candle::{Trainer, Variables};
/// # use gradstep::{Communicator, Context, Optimizer, Parts, Reducer, ReducerOptions, Sgd, Updater, UpdaterOptions};
/// # let map = VarMap::new();
/// # candle_nn::linear(2, 1, VarBuilder::from_varmap(&map, DType::F32, &Device::Cpu))?;
/// # let context = Context::new()?;
/// # let comm = Communicator::alone(&context)?;
/// let variables = Variables::of_map(&map);
/// let schema = variables.parameters()?;
/// let parts = Parts::new(Optimizer::new(&context, &Sgd::new(0.1), &schema)?)
///     .reducer(Reducer::new(&context, &comm, &ReducerOptions::default(), &schema)?);
/// let updater = Updater::new(&context, parts, &UpdaterOptions::default()).map_err(gradstep::Error::from)?;
/// let mut trainer = Trainer::from_updater(variables, updater);
/// // All ranks begin with the values of rank 0.
/// trainer.lend(|_, parameters| parameters.iter_mut().try_for_each(|parameter| comm.broadcast(parameter, 0)))?;
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Trainer {
    variables: Variables,
    updater: Updater,
    /// Whether the last learning rate was refused: a setter of candle's returns nothing.
    learning_rate: Result<()>,
}

impl Trainer {
    /// A trainer of all variables of the map, by their names.
    ///
    /// # Errors
    /// As [`Variables::parameters`], [`Optimizer::new`], [`Accumulator::new`] and [`Updater::new`].
    pub fn from_var_map(map: &VarMap, config: Config) -> Result<Self> {
        Self::from_config(Variables::of_map(map), config)
    }

    fn from_config(variables: Variables, config: Config) -> Result<Self> {
        let updater = config.into_updater(&variables.parameters()?)?;
        Ok(Self::from_updater(variables, updater))
    }

    /// An updater whose parts were made of [`Variables::parameters`] of these variables.
    pub fn from_updater(variables: Variables, updater: Updater) -> Self {
        Self { variables, updater, learning_rate: Ok(()) }
    }

    /// The updater: counts, and by [`Updater::parts`] the optimizer with its hyper-parameters and state.
    pub fn updater(&self) -> &Updater {
        &self.updater
    }

    /// As [`Trainer::updater`], to be changed.
    pub fn updater_mut(&mut self) -> &mut Updater {
        &mut self.updater
    }

    /// One micro-batch; true if the variables were stepped. `step` of candle's trait is this with weight 1.
    ///
    /// # Errors
    /// As [`Updater::push`], [`Variables::lend`] and [`Variables::with_gradients`]. [`Error::InvalidArgument`]: the
    /// learning rate that was set last.
    pub fn push(&mut self, gradients: &GradStore, weight: f64) -> Result<bool> {
        std::mem::replace(&mut self.learning_rate, Ok(()))?;
        let Self { variables, updater, .. } = self;
        // The variables first: a gradient that is one of them is found to have no memory.
        variables.lend(|parameters| {
            variables.with_gradients(gradients, |gradients| updater.push(parameters, gradients, weight))
        })
    }

    /// Calls `body` with the updater and the variables' memory, as [`Variables::lend`]: to end a partial window,
    /// `trainer.lend(|updater, parameters| updater.flush(parameters))`, or to recover after a lost peer.
    ///
    /// # Errors
    /// As [`Variables::lend`].
    pub fn lend<R, E: From<Error>>(
        &mut self,
        body: impl FnOnce(&mut Updater, &mut [TensorMut<'_>]) -> Result<R, E>,
    ) -> Result<R, E> {
        let Self { variables, updater, .. } = self;
        variables.lend(|parameters| body(updater, parameters))
    }

    /// Writes the state of optimizer, accumulator and reducer to the file; the variables are candle's to save.
    /// Collective with a reducer: rank 0 writes.
    ///
    /// # Errors
    /// As [`Updater::save`].
    pub fn save(&mut self, path: impl AsRef<Path>) -> Result<()> {
        self.updater.save(path)
    }

    /// Takes over what [`Trainer::save`] has written, by the variables' names.
    ///
    /// # Errors
    /// As [`Updater::load`].
    pub fn load(&mut self, path: impl AsRef<Path>) -> Result<()> {
        self.updater.load(path, &LoadOptions::default())
    }
}

impl candle_nn::Optimizer for Trainer {
    type Config = Config;

    /// Variables without names, such as `VarMap::all_vars` gives in no certain order, are called `param.<index>`: state
    /// that is saved by these names fits only a program that has the same order. [`Trainer::from_var_map`] has names.
    fn new(variables: Vec<Var>, config: Config) -> candle_core::Result<Self> {
        let floats = variables.into_iter().filter(|variable| variable.dtype().is_float());
        let named = floats.enumerate().map(|(i, variable)| (format!("param.{i}"), variable));
        Ok(Self::from_config(Variables::new(named), config)?)
    }

    fn step(&mut self, gradients: &GradStore) -> candle_core::Result<()> {
        self.push(gradients, 1.0)?;
        Ok(())
    }

    /// That of group 0; NaN with a rule that has none.
    fn learning_rate(&self) -> f64 {
        self.updater.parts().optimizer.get_value("learning_rate", 0).unwrap_or(f64::NAN)
    }

    /// That of all groups. If it is refused, the next step returns the error.
    fn set_learning_rate(&mut self, learning_rate: f64) {
        self.learning_rate = self.updater.parts_mut().optimizer.set_value("learning_rate", None, learning_rate);
    }
}

/// What a storage holds while its memory is lent: nothing, of a dtype that candle has no operations for.
const TAKEN: CpuStorage = CpuStorage::F4(Vec::new());

/// The variables' memory, outside candle's storages until this is dropped: no lock is held meanwhile.
struct Lent<'a> {
    variables: &'a [(String, Var)],
    memory: Vec<CpuStorage>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        for ((_, variable), memory) in self.variables.iter().zip(self.memory.drain(..)) {
            exchange(variable, memory).expect("a storage that could be taken can be put back");
        }
    }
}

/// Puts memory into a variable's storage, and returns what was there.
fn exchange(variable: &Var, memory: CpuStorage) -> candle_core::Result<CpuStorage> {
    let operation = Exchange(RefCell::new(memory));
    variable.inplace_op1(&operation)?;
    Ok(operation.0.into_inner())
}

struct Exchange(RefCell<CpuStorage>);

impl InplaceOp1 for Exchange {
    fn name(&self) -> &'static str {
        "gradstep"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, _: &Layout) -> candle_core::Result<()> {
        std::mem::swap(storage, &mut self.0.borrow_mut());
        Ok(())
    }
}

fn dtype_of(dtype: DType) -> Option<Dtype> {
    match dtype {
        DType::F32 => Some(Dtype::F32),
        DType::F64 => Some(Dtype::F64),
        DType::F16 => Some(Dtype::F16),
        DType::BF16 => Some(Dtype::BF16),
        _ => None,
    }
}

fn of_no_dtype(name: &str, variable: &Var) -> Error {
    Error::Unsupported(format!("variable {name:?}: {:?}, expected f32, f64, f16 or bf16", variable.dtype()))
}

fn check_place(what: &str, location: DeviceLocation) -> Result<()> {
    match location {
        DeviceLocation::Cpu => Ok(()),
        _ => Err(Error::Unsupported(format!("{what}: on {location:?}, expected the host's memory"))),
    }
}

/// A variable's memory, to be written.
fn written<'a>(name: &str, variable: &'a Var, memory: &'a mut CpuStorage) -> Result<TensorMut<'a>> {
    fn whole<'a, T: Element>(name: &str, variable: &'a Var, values: &'a mut [T]) -> Result<TensorMut<'a>> {
        let range = variable.layout().contiguous_offsets().map(|(begin, end)| begin..end);
        let values = range.and_then(|range| values.get_mut(range));
        let values = values.ok_or_else(|| Error::Unsupported(format!("variable {name:?}: is not contiguous")))?;
        TensorMut::new(values, variable.dims())
    }
    match memory {
        CpuStorage::F32(values) => whole(name, variable, values),
        CpuStorage::F64(values) => whole(name, variable, values),
        CpuStorage::F16(values) => whole(name, variable, values),
        CpuStorage::BF16(values) => whole(name, variable, values),
        _ => Err(of_no_dtype(name, variable)),
    }
}

/// A gradient where candle has it.
fn read<'a>(what: &str, storage: &'a Storage, layout: &'a Layout) -> Result<Tensor<'a>> {
    fn seen<'a, T: Element>(what: &str, values: &'a [T], layout: &'a Layout) -> Result<Tensor<'a>> {
        let (shape, strides, begin) = (layout.dims(), layout.stride(), layout.start_offset());
        let last = shape.iter().zip(strides).map(|(extent, stride)| extent.saturating_sub(1) * stride).sum::<usize>();
        let inside = shape.contains(&0) || begin + last < values.len();
        require(inside, || format!("{what}: {} elements, expected more than {}", values.len(), begin + last))?;
        // An isize is as large as a usize, and no stride of candle's is negative.
        // SAFETY: the slice is borrowed for 'a.
        let strides = unsafe { std::slice::from_raw_parts(strides.as_ptr().cast::<isize>(), strides.len()) };
        let strides = (!layout.is_contiguous()).then_some(strides);
        let data = values.as_ptr().wrapping_add(begin).cast();
        // SAFETY: element 0 and the last one are inside values, which is borrowed for 'a.
        Ok(unsafe { Tensor::from_raw_parts(data, T::DTYPE, Device::Cpu, shape, strides) })
    }
    let Storage::Cpu(memory) = storage else {
        return Err(Error::Unsupported(format!("{what}: expected the host's memory")));
    };
    match memory {
        CpuStorage::F32(values) => seen(what, values, layout),
        CpuStorage::F64(values) => seen(what, values, layout),
        CpuStorage::F16(values) => seen(what, values, layout),
        CpuStorage::BF16(values) => seen(what, values, layout),
        CpuStorage::F4(_) => Err(Error::InvalidArgument(format!("{what}: is a variable itself"))),
        _ => Err(Error::Unsupported(format!("{what}: expected f32, f64, f16 or bf16"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_devices_is_refused_by_the_name_of_the_variable() {
        assert_eq!(check_place("variable \"fc\"", DeviceLocation::Cpu), Ok(()));
        let found = check_place("variable \"fc\"", DeviceLocation::Cuda { gpu_id: 1 });
        let expected = "variable \"fc\": on Cuda { gpu_id: 1 }, expected the host's memory";
        assert_eq!(found, Err(Error::Unsupported(expected.to_owned())));
    }
}
