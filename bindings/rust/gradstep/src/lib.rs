// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! gradstep turns gradients into parameter updates on buffers that the host owns:
//!
//! ```text
//! your gradients -> Accumulator -> Communicator -> Optimizer -> your parameters
//!                   micro-batches  all_reduce      SGD ... Shampoo
//! ```
//!
//! Each is useful alone. What the options mean to the formula is in the headers of the C API, whose words are used here.
//!
//! ```
//! use gradstep::{Adam, Context, Optimizer, Parameter, Tensor, TensorMut};
//!
//! let context = Context::new()?;
//! let mut adam = Optimizer::new(&context, &Adam::new(1e-3), &[Parameter::new(&[2, 3]).name("weight")])?;
//! let (mut weight, gradient) = ([0.0f32; 6], [1.0f32; 6]);
//! adam.step(&mut [TensorMut::new(&mut weight, &[2, 3])?], &[Tensor::new(&gradient, &[2, 3])?])?;
//! assert!(weight.iter().all(|w| (w + 1e-3).abs() < 1e-8));
//! # Ok::<(), gradstep::Error>(())
//! ```
//!
//! Threads. Every handle can be moved to another thread. What takes `&self` may be called by several at once: one of them
//! works, the others get [`Error::InvalidState`].

pub(crate) use gradstep_sys as sys;

mod accumulator;
mod callback;
mod comm;
mod context;
mod error;
mod library;
#[cfg(feature = "ndarray")]
mod ndarray;
mod optimizer;
mod options;
mod rules;
mod schedule;
mod state;
mod tensor;

pub use accumulator::{Accumulator, AccumulatorOptions, Mode, NonFinite, Rows, Trigger};
pub use comm::{Average, Communicator, Connect, Engine, ReduceOp, ReductionOrder, Source, Store, Target, unique_id};
pub use context::{Allocate, Context, ContextBuilder, LogLevel};
pub use error::{Error, Result};
#[cfg(feature = "dlopen")]
pub use library::load;
pub use library::{backend_available, backend_status, build_info, load_plugin, version};
pub use optimizer::{
    Metric, Optimizer, Rule, ShardedGradients, ShardedPreconditioners, ShardingOptions, StepOptions, StepResult,
};
pub use rules::{AdaGrad, Adam, BiasCorrection, EpsilonPlacement, FirstStep, RmsProp, Sgd, Shampoo, StateDtype};
pub use rules::{GraftType, OneSided, Refresh, RootMethod, RootPadding, RootPrecision};
pub use schedule::Schedule;
pub use state::LoadOptions;
pub use tensor::{Device, Dtype, Element, Parameter, Tensor, TensorMut};
