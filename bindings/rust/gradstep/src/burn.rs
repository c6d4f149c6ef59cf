// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Trains modules of burn, on every backend that burn is built with.
//!
//! [`Trainer`] steps a whole module in one call: it takes the place of burn's `ModuleOptimizer` in a training loop, and
//! can accumulate micro-batches, clip by the norm over all parameters and average over ranks. [`PerParameter`] is
//! burn's trait `Optimizer`, which sees one parameter at a time: a `ModuleOptimizer` for burn's `Learner` is made of it.
//!
//! ```no_run
//! use burn_core::module::Module;
//! use burn_core::tensor::Tensor;
//! use burn_optim::GradientsParams;
//! use gradstep::burn::{Config, Trainer};
//! use gradstep::{AdamW, UpdaterOptions};
//!
//! fn train<M: Module>(mut module: M, loss: impl Fn(&M) -> Tensor<1>) -> gradstep::Result<M> {
//!     let config = Config::new(AdamW::new(1e-3)).updater(UpdaterOptions::default().max_norm(1.0));
//!     let mut trainer = Trainer::new(&module, config)?;
//!     for _ in 0..100 {
//!         let gradients = GradientsParams::from_grads(loss(&module).backward(), &module);
//!         module = trainer.step(1e-3, module, gradients);
//!     }
//!     Ok(module)
//! }
//! ```
//!
//! Memory. Parameters and gradients pass through burn's `TensorData`. burn moves a tensor's memory there and back where
//! nothing else has the tensor and its backend keeps it in the host's memory, contiguous, as `Flex` does: then
//! nothing is copied. A tensor that something else still has, a clone of the module say, is copied by burn, and one of
//! a device is copied to the host and back.

use std::any::Any;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use burn_core::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn_core::tensor::{DType, Device, GradientCheckpointingStrategy, Shape, Tensor, TensorData};
use burn_optim::lr_scheduler::module_lr_scheduler::ModuleLearningRate;
use burn_optim::{GradientsParams, LearningRate, RecordState, StateSink, StateSource};

use crate::c_types::LoadOptions;
use crate::error::require;
pub use crate::training::Config;
use crate::{Context, Dtype, Error, Optimizer, Parameter, Result, Rule, TensorMut, Updater};

/// Calls a function of an element type with that of the dtype.
macro_rules! of_dtype {
    ($what:expr, $dtype:expr, $function:ident($($argument:expr),*)) => {
        match dtype_of($what, $dtype)? {
            Dtype::F64 => $function::<f64>($($argument),*),
            Dtype::F16 => $function::<half::f16>($($argument),*),
            Dtype::BF16 => $function::<half::bf16>($($argument),*),
            _ => $function::<f32>($($argument),*),
        }
    };
}

/// The schema of handles for the module's parameters that require gradients, under their paths in it. A program may
/// change an entry's group, or say that it may be unused. Initializes the parameters that burn has left for their first
/// use.
///
/// # Errors
/// [`Error::Unsupported`]: the named parameter is of a dtype that gradstep does not have. [`Error::InvalidArgument`]:
/// none requires gradients, or two of them have one id, as clones do.
pub fn parameters<M: Module>(module: &M) -> Result<Vec<Parameter>> {
    Ok(Found::of(module)?.schema)
}

/// A module's optimizer by an [`Updater`]: a step is a push of all gradients.
///
/// [`Config`] makes it of a rule. Every other [`Updater`] becomes one by [`Trainer::from_updater`], for example one that
/// reduces the gradients of several ranks.
#[derive(Debug)]
pub struct Trainer {
    paths: Vec<String>,
    updater: Updater,
}

impl Trainer {
    /// A trainer of the module's parameters that require gradients, by their paths.
    ///
    /// # Errors
    /// As [`parameters`], [`Optimizer::new`], [`crate::Accumulator::new`] and [`Updater::new`].
    pub fn new<M: Module>(module: &M, config: Config) -> Result<Self> {
        let Found { paths, schema, .. } = Found::of(module)?;
        Ok(Self { paths, updater: config.into_updater(&schema)? })
    }

    /// An updater whose parts were made of [`parameters`] of this module.
    ///
    /// # Errors
    /// As [`parameters`].
    pub fn from_updater<M: Module>(module: &M, updater: Updater) -> Result<Self> {
        let Found { paths, .. } = Found::of(module)?;
        Ok(Self { paths, updater })
    }

    /// The updater: counts, and by [`Updater::parts`] the optimizer with its hyper-parameters and state.
    pub fn updater(&self) -> &Updater {
        &self.updater
    }

    /// As [`Trainer::updater`], to be changed.
    pub fn updater_mut(&mut self) -> &mut Updater {
        &mut self.updater
    }

    /// [`Trainer::push`] with weight 1 at this learning rate, which is a number or burn's schedule's. It is called as
    /// `ModuleOptimizer::step` is.
    ///
    /// # Panics
    /// The errors of [`Trainer::push`]; a learning rate that is refused, or that is not one for all parameters.
    #[must_use]
    pub fn step<M: Module>(
        &mut self,
        learning_rate: impl Into<ModuleLearningRate>,
        mut module: M,
        gradients: GradientsParams,
    ) -> M {
        let stepped = self.push_at(Some(&learning_rate.into()), &mut module, gradients, 1.0);
        stepped.unwrap_or_else(|error| panic!("{error}"));
        module
    }

    /// One micro-batch at the learning rate that the optimizer has; true if the module was stepped. A parameter that has
    /// no gradient keeps its value. After an error the module is as before.
    ///
    /// # Errors
    /// As [`Updater::push`] and [`Trainer::lend`]. [`Error::InvalidArgument`]: a gradient of a parameter that required
    /// none when the trainer was made. [`Error::Unsupported`]: the named gradient is of a dtype that gradstep does not
    /// have.
    pub fn push<M: Module>(&mut self, module: &mut M, gradients: GradientsParams, weight: f64) -> Result<bool> {
        self.push_at(None, module, gradients, weight)
    }

    /// At these learning rates, which must be one for all parameters, or at that of the optimizer.
    fn push_at<M: Module>(
        &mut self,
        rates: Option<&ModuleLearningRate>,
        module: &mut M,
        mut gradients: GradientsParams,
        weight: f64,
    ) -> Result<bool> {
        let (lent, read) = Lent::take(&self.paths, module, Some(&mut gradients))?;
        let updater = &mut self.updater;
        if let Some(rates) = rates {
            updater.parts_mut().optimizer.set_value("learning_rate", None, lent.rate_of_all(rates)?)?;
        }
        lent.with(|parameters| {
            let each = read.iter().zip(&self.paths).map(|(memory, path)| match memory {
                Some(memory) => memory.seen(&format!("gradient of {path:?}")),
                None => Ok(crate::Tensor::ABSENT),
            });
            updater.push(parameters, &each.collect::<Result<Vec<_>>>()?, weight)
        })
    }

    /// Calls `body` with the updater and the module's parameters as tensors of its own memory: to end a partial window,
    /// `trainer.lend(&mut module, |updater, parameters| updater.flush(parameters))`, to recover after a lost peer, or
    /// for a broadcast. The parameters are back in the module when this returns, or when `body` panics.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: the module lacks parameters that the trainer was made of, or two of them have one
    /// id. [`Error::Unsupported`]: the named parameter is of a dtype that gradstep does not have. Errors of `body`.
    pub fn lend<M: Module, R, E: From<Error>>(
        &mut self,
        module: &mut M,
        body: impl FnOnce(&mut Updater, &mut [TensorMut<'_>]) -> Result<R, E>,
    ) -> Result<R, E> {
        let (lent, _) = Lent::take(&self.paths, module, None)?;
        lent.with(|parameters| body(&mut self.updater, parameters))
    }

    /// Writes the state of optimizer, accumulator and reducer to the file; the module is burn's to save. Collective with
    /// a reducer: rank 0 writes.
    ///
    /// # Errors
    /// As [`Updater::save`].
    pub fn save(&mut self, path: impl AsRef<Path>) -> Result<()> {
        self.updater.save(path)
    }

    /// Takes over what [`Trainer::save`] has written, by the parameters' paths.
    ///
    /// # Errors
    /// As [`Updater::load`].
    pub fn load(&mut self, path: impl AsRef<Path>) -> Result<()> {
        self.updater.load(path, &LoadOptions::default())
    }
}

/// Makes an optimizer of a schema.
type Create = dyn Fn(&Context, &[Parameter]) -> Result<Optimizer> + Send + Sync;

/// burn's trait `Optimizer` by a rule of gradstep: each parameter has a handle of its own.
///
/// burn hands over one parameter at a time, with the learning rate of its group. So what looks at all parameters is not
/// here: a norm over all of them, micro-batches, ranks; [`Trainer`] has these. States are in burn's records, which
/// load what they hold into an optimizer of the same rule. burn does not say which parameter it hands over, so the random
/// bits of `stochastic_rounding` are those of one name: equal for all parameters, by element and step. [`Trainer`]'s
/// differ by path.
///
/// ```no_run
/// use burn_optim::ModuleOptimizer;
/// use gradstep::AdamW;
/// use gradstep::burn::PerParameter;
///
/// let optimizer = ModuleOptimizer::from(PerParameter::new(AdamW::new(1e-3))?); // for burn's Learner, too
/// # Ok::<(), gradstep::Error>(())
/// ```
///
/// Errors of gradstep are panics with its text, since `step` of the trait returns none: an option outside its range, a
/// dtype that gradstep does not have, a rule without a `learning_rate`, or a record of another rule or with other data.
#[derive(Clone)]
pub struct PerParameter {
    context: Arc<Context>,
    create: Arc<Create>,
}

impl PerParameter {
    /// By the rule. burn says the learning rate at each step.
    ///
    /// # Errors
    /// As [`Context::new`].
    pub fn new(rule: impl Rule + Send + Sync + 'static) -> Result<Self> {
        Ok(Self::with_context(Context::new()?, rule))
    }

    /// As [`PerParameter::new`], with the threads and the log of the context.
    pub fn with_context(context: Context, rule: impl Rule + Send + Sync + 'static) -> Self {
        let create = move |context: &Context, parameters: &[Parameter]| Optimizer::new(context, &rule, parameters);
        Self { context: Arc::new(context), create: Arc::new(create) }
    }

    fn step_one(
        &self,
        learning_rate: LearningRate,
        memory: &mut Memory,
        gradient: &Memory,
        state: Option<State>,
    ) -> Result<State> {
        let schema = [Parameter::new(&memory.shape).dtype(dtype_of("parameter", memory.data.dtype())?)];
        let mut optimizer = match state.map(|State(held)| held) {
            Some(Held::Live(optimizer)) => optimizer.into_inner().unwrap_or_else(PoisonError::into_inner),
            Some(Held::Saved(bytes)) => {
                let mut optimizer = (self.create)(&self.context, &schema)?;
                optimizer.load_from(&mut bytes.as_slice(), &LoadOptions::default())?;
                optimizer
            }
            None => (self.create)(&self.context, &schema)?,
        };
        optimizer.set_value("learning_rate", None, learning_rate)?;
        optimizer.step(&mut [memory.written("parameter")?], &[gradient.seen("gradient")?])?;
        Ok(State(Held::Live(Mutex::new(optimizer))))
    }
}

impl burn_optim::Optimizer for PerParameter {
    type State<const D: usize> = State;

    fn step<const D: usize>(
        &self,
        learning_rate: LearningRate,
        tensor: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<State>,
    ) -> (Tensor<D>, Option<State>) {
        let device = tensor.device();
        let (mut memory, gradient) = (Memory::of(tensor.into_data()), Memory::of(gradient.into_data()));
        let state = self.step_one(learning_rate, &mut memory, &gradient, state);
        let state = state.unwrap_or_else(|error| panic!("{error}"));
        let dtype = memory.data.dtype();
        (Tensor::from_data(memory.data, (&device, dtype)), Some(state))
    }

    /// States are in the host's memory.
    fn to_device<const D: usize>(state: State, _: &Device) -> State {
        state
    }
}

/// The state of one parameter of [`PerParameter`]. In burn's records it is the bytes that [`Optimizer::save`] writes.
pub struct State(Held);

enum Held {
    Live(Mutex<Optimizer>),
    /// What a record had, until the next step makes a handle of it.
    Saved(Vec<u8>),
}

impl State {
    /// # Panics
    /// There is no memory for them.
    fn saved(&self) -> Vec<u8> {
        match &self.0 {
            Held::Saved(bytes) => bytes.clone(),
            Held::Live(optimizer) => {
                let mut bytes = Vec::new();
                let mut optimizer = optimizer.lock().unwrap_or_else(PoisonError::into_inner);
                optimizer.save_to(Some(&mut bytes)).unwrap_or_else(|error| panic!("{error}"));
                bytes
            }
        }
    }
}

impl Clone for State {
    /// The copy becomes a handle of its own at its next step.
    fn clone(&self) -> Self {
        Self(Held::Saved(self.saved()))
    }
}

/// The name in records, behind the parameter's id.
const LEAF: &str = "gradstep";

impl RecordState for State {
    fn state_flatten(&self, prefix: &str, out: &mut StateSink) {
        let bytes = self.saved();
        let length = bytes.len();
        out.push_tensor(prefix, LEAF, TensorData::new(bytes, [length]));
    }

    fn state_unflatten(prefix: &str, source: &mut StateSource, _: &Device) -> Option<Self> {
        let data = source.take_tensor(prefix, LEAF)?;
        let bytes = data.as_slice::<u8>().unwrap_or_else(|error| {
            panic!(
                "state {LEAF:?} of parameter {prefix}: dtype is {:?}, expected U8 as gradstep saves: {error:?}",
                data.dtype()
            )
        });
        Some(Self(Held::Saved(bytes.to_vec())))
    }
}

/// Keeps `self.path` while burn walks a module.
macro_rules! walks_by_path {
    () => {
        fn enter_module(&mut self, name: &str, _: &str) {
            self.path.push(name.to_owned());
        }

        fn exit_module(&mut self, _: &str, _: &str) {
            self.path.pop();
        }
    };
}

/// What a module has that is trained.
#[derive(Default)]
struct Found {
    path: Vec<String>,
    paths: Vec<String>,
    schema: Vec<Parameter>,
    ids: HashMap<ParamId, usize>,
    error: Option<Error>,
}

impl Found {
    fn of<M: Module>(module: &M) -> Result<Self> {
        let mut found = Self::default();
        module.visit(&mut found);
        if let Some(error) = found.error.take() {
            return Err(error);
        }
        require(!found.paths.is_empty(), || {
            "module: no parameter requires gradients, expected one on a device with autodiff at least".to_owned()
        })?;
        Ok(found)
    }

    fn add<const D: usize>(&mut self, param: &Param<Tensor<D>>) -> Result<()> {
        let path = self.path.join(".");
        let dtype = dtype_of(&format!("parameter {path:?}"), param.dtype())?;
        let other = self.ids.insert(param.id, self.paths.len());
        require_own_id(&path, other.map(|i| self.paths[i].as_str()))?;
        self.schema.push(Parameter::new(&param.shape()).name(&path).dtype(dtype));
        self.paths.push(path);
        Ok(())
    }
}

impl ModuleVisitor for Found {
    walks_by_path!();

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if self.error.is_none() && param.is_require_grad() {
            self.error = self.add(param).err();
        }
    }
}

/// Gradients are known by their parameter's id: two parameters of one id would have one gradient.
fn require_own_id(path: &str, other: Option<&str>) -> Result<()> {
    require(other.is_none(), || {
        let other = other.unwrap_or_default();
        format!("parameter {path:?}: has the id of {other:?}, expected one of its own, by which gradients are known")
    })
}

/// What a parameter has beside its values.
struct Setting<'a> {
    path: &'a str,
    id: ParamId,
    device: Device,
    requires_grad: bool,
    is_distributed: bool,
    checkpointing: Option<GradientCheckpointingStrategy>,
}

/// A parameter's tensor, of any rank.
trait AnyTensor {
    /// Its memory, once nothing else has the tensor.
    fn read(self: Box<Self>) -> Memory;

    /// Itself, to become a `Tensor<D>` again.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<const D: usize> AnyTensor for Tensor<D> {
    fn read(self: Box<Self>) -> Memory {
        Memory::of(self.into_data())
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Takes the tensors of a module, and leaves empty ones.
struct Take<'a, 'g> {
    path: Vec<String>,
    wanted: HashMap<&'a str, usize>,
    gradients: Option<&'g mut GradientsParams>,
    ids: HashMap<ParamId, &'a str>,
    taken: Vec<Option<(Setting<'a>, Box<dyn AnyTensor>)>>,
    read: Vec<Option<Memory>>,
    /// Parameters that are not wanted, but may have a gradient: those with the id of a wanted one have none.
    others: Vec<(ParamId, String)>,
    error: Option<Error>,
}

impl ModuleMapper for Take<'_, '_> {
    walks_by_path!();

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let path = self.path.join(".");
        let Some((&path, &index)) = self.wanted.get_key_value(path.as_str()) else {
            if self.gradients.as_ref().is_some_and(|gradients| gradients.get::<D>(param.id).is_some()) {
                self.others.push((param.id, path));
            }
            return param;
        };
        if let Err(error) = require_own_id(path, self.ids.insert(param.id, path)) {
            self.error.get_or_insert(error);
            return param;
        }
        let gradient = self.gradients.as_mut().and_then(|gradients| gradients.remove::<D>(param.id));
        self.read[index] = gradient.map(|gradient| Memory::of(gradient.inner().into_data()));
        let (id, tensor, mapper) = param.consume();
        let (requires_grad, is_distributed) = (tensor.is_require_grad(), tensor.is_distributed());
        let checkpointing = tensor.gradient_checkpointing_strategy();
        let tensor = tensor.inner();
        let device = tensor.device();
        let empty = Tensor::empty([0; D], &device);
        let setting = Setting { path, id, device, requires_grad, is_distributed, checkpointing };
        self.taken[index] = Some((setting, Box::new(tensor)));
        Param::from_mapped_value(id, empty, mapper)
    }
}

/// A parameter outside its module.
enum Part {
    Tensor(Box<dyn AnyTensor>),
    Memory(Memory),
}

/// Puts the tensors back.
struct Put<'a> {
    path: Vec<String>,
    parts: HashMap<&'a str, (Setting<'a>, Part)>,
}

impl ModuleMapper for Put<'_> {
    walks_by_path!();

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some((setting, part)) = self.parts.remove(self.path.join(".").as_str()) else {
            return param;
        };
        let mut tensor = match part {
            Part::Memory(Memory { data, .. }) => {
                let dtype = data.dtype();
                Tensor::from_data(data, (&setting.device, dtype))
            }
            Part::Tensor(tensor) => match tensor.into_any().downcast::<Tensor<D>>() {
                Ok(tensor) => *tensor,
                Err(_) => return param,
            },
        };
        let (id, _, mapper) = param.consume();
        if let Some(strategy) = setting.checkpointing {
            tensor = tensor.autodiff().with_gradient_checkpointing_strategy(strategy);
        }
        if setting.requires_grad {
            tensor = tensor.require_grad();
        }
        if setting.is_distributed {
            tensor = tensor.set_distributed(id);
        }
        Param::from_mapped_value(id, tensor, mapper)
    }
}

/// The parameters' memory, outside the module until this is dropped.
struct Lent<'a, M: Module> {
    module: &'a mut M,
    memory: Vec<(Setting<'a>, Memory)>,
    /// The parameters behind those of `memory`.
    unread: std::vec::IntoIter<(Setting<'a>, Box<dyn AnyTensor>)>,
}

impl<'a, M: Module> Lent<'a, M> {
    /// With the gradients of the parameters, in their order.
    fn take(
        paths: &'a [String],
        module: &'a mut M,
        gradients: Option<&mut GradientsParams>,
    ) -> Result<(Self, Vec<Option<Memory>>)> {
        let (mut lent, read) = Self::take_tensors(paths, module, gradients)?;
        lent.read();
        Ok((lent, read))
    }

    fn take_tensors(
        paths: &'a [String],
        module: &'a mut M,
        gradients: Option<&mut GradientsParams>,
    ) -> Result<(Self, Vec<Option<Memory>>)> {
        let mut take = Take {
            path: Vec::new(),
            wanted: paths.iter().enumerate().map(|(i, path)| (path.as_str(), i)).collect(),
            gradients,
            ids: HashMap::new(),
            taken: paths.iter().map(|_| None).collect(),
            read: paths.iter().map(|_| None).collect(),
            others: Vec::new(),
            error: None,
        };
        let emptied = module.clone().map(&mut take);
        if let Some(error) = take.error {
            return Err(error);
        }
        let other = take.others.iter().find(|(id, _)| !take.ids.contains_key(id));
        require(other.is_none(), || {
            let path = other.map_or("", |(_, path)| path);
            format!("parameter {path:?}: has a gradient, but required none when the trainer was made")
        })?;
        let missing = take.taken.iter().position(Option::is_none);
        require(missing.is_none(), || {
            format!("module: has no parameter {:?}, which the trainer was made of", paths[missing.unwrap_or_default()])
        })?;
        *module = emptied; // and nothing but `taken` has the tensors
        let taken: Vec<_> = take.taken.into_iter().flatten().collect();
        Ok((Self { module, memory: Vec::with_capacity(taken.len()), unread: taken.into_iter() }, take.read))
    }

    /// Reads the tensors. One that burn panics for is lost, and stays empty in the module.
    fn read(&mut self) {
        for (setting, tensor) in self.unread.by_ref() {
            self.memory.push((setting, tensor.read()));
        }
    }

    /// The learning rate, which must be one for all parameters.
    fn rate_of_all(&self, rates: &ModuleLearningRate) -> Result<LearningRate> {
        let rate_of = |setting: &Setting<'_>| rates.lr_from_param(setting.id, Some(setting.path));
        let (first, _) = &self.memory[0];
        let rate = rate_of(first);
        for (setting, _) in &self.memory {
            let found = rate_of(setting);
            require(found == rate, || {
                let (path, first) = (setting.path, first.path);
                format!(
                    "learning_rate: is {found} for {path:?}, expected {rate} as for {first:?}; PerParameter takes both"
                )
            })?;
        }
        Ok(rate)
    }

    fn with<R, E: From<Error>>(mut self, body: impl FnOnce(&mut [TensorMut<'_>]) -> Result<R, E>) -> Result<R, E> {
        let each = self.memory.iter_mut();
        let tensors = each.map(|(setting, memory)| memory.written(&format!("parameter {:?}", setting.path)));
        body(&mut tensors.collect::<Result<Vec<_>>>()?)
    }
}

impl<M: Module> Drop for Lent<'_, M> {
    fn drop(&mut self) {
        let read = self.memory.drain(..).map(|(setting, memory)| (setting, Part::Memory(memory)));
        let unread = self.unread.by_ref().map(|(setting, tensor)| (setting, Part::Tensor(tensor)));
        let parts = read.chain(unread).map(|(setting, part)| (setting.path, (setting, part))).collect();
        *self.module = self.module.clone().map(&mut Put { path: Vec::new(), parts });
    }
}

fn dtype_of(what: &str, dtype: DType) -> Result<Dtype> {
    match dtype {
        DType::F32 => Ok(Dtype::F32),
        DType::F64 => Ok(Dtype::F64),
        DType::F16 => Ok(Dtype::F16),
        DType::BF16 => Ok(Dtype::BF16),
        _ => Err(Error::Unsupported(format!("{what}: {dtype:?}, expected F32, F64, F16 or BF16"))),
    }
}

/// A tensor's values in the host's memory, and their shape.
struct Memory {
    data: TensorData,
    shape: Shape,
}

impl Memory {
    fn of(data: TensorData) -> Self {
        let shape = data.shape().clone();
        Self { data, shape }
    }

    /// As a tensor that is read.
    fn seen(&self, what: &str) -> Result<crate::Tensor<'_>> {
        fn whole<'a, T: Element>(what: &str, memory: &'a Memory) -> Result<crate::Tensor<'a>> {
            crate::Tensor::new(memory.data.as_slice::<T>().map_err(|error| unreadable(what, &error))?, &memory.shape)
        }
        of_dtype!(what, self.data.dtype(), whole(what, self))
    }

    /// As a tensor that is written.
    fn written(&mut self, what: &str) -> Result<TensorMut<'_>> {
        fn whole<'a, T: Element>(what: &str, memory: &'a mut Memory) -> Result<TensorMut<'a>> {
            let Memory { data, shape } = memory;
            TensorMut::new(data.as_mut_slice::<T>().map_err(|error| unreadable(what, &error))?, shape)
        }
        of_dtype!(what, self.data.dtype(), whole(what, self))
    }
}

/// What both libraries know.
trait Element: crate::Element + burn_core::tensor::Element {}
impl<T: crate::Element + burn_core::tensor::Element> Element for T {}

fn unreadable(what: &str, error: &impl std::fmt::Debug) -> Error {
    Error::Unsupported(format!("{what}: {error:?}"))
}

#[cfg(all(test, feature = "burn-tests"))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    struct Unreadable;

    impl AnyTensor for Unreadable {
        fn read(self: Box<Self>) -> Memory {
            panic!("the device is lost")
        }

        fn into_any(self: Box<Self>) -> Box<dyn Any> {
            self
        }
    }

    #[test]
    fn what_can_be_read_is_back_after_a_panic_of_burn() {
        let device = Device::flex().autodiff();
        let mut module: Vec<_> =
            (0..4).map(|i| Param::from_tensor(Tensor::<1>::from_floats([i as f32], &device))).collect();
        let paths = Found::of(&module).unwrap().paths;
        let (mut lent, _) = Lent::take_tensors(&paths, &mut module, None).unwrap();
        let mut unread: Vec<_> = lent.unread.by_ref().collect();
        unread[1].1 = Box::new(Unreadable);
        lent.unread = unread.into_iter();
        assert!(catch_unwind(AssertUnwindSafe(move || lent.read())).is_err());
        for (i, parameter) in module.iter().enumerate().filter(|&(i, _)| i != 1) {
            assert_eq!(parameter.val().into_data(), TensorData::from([i as f32]));
            assert!(parameter.is_require_grad());
        }
        assert_eq!(module[1].shape().num_elements(), 0);
    }
}
