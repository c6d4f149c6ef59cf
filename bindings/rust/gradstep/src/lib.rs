// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! gradstep turns gradients into parameter updates on buffers that the host owns:
//!
//! ```text
//! your gradients -> Accumulator -> Reducer        -> Optimizer -> your parameters
//!                   micro-batches  Communicator      SGD ... Shampoo
//! ```
//!
//! Each is useful alone, and [`Updater`] is all three in one push. What the options mean to the formula is in the
//! headers of the C API, whose words are used here.
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
//! What gradstep shows of its own memory borrows the handle, and what it is lent stays where it is. So these do not
//! compile:
//!
//! ```compile_fail,E0502
//! # let context = gradstep::Context::new()?;
//! # let schema = [gradstep::Parameter::new(&[2])];
//! let mut accumulator = gradstep::Accumulator::new(&context, &Default::default(), &schema)?;
//! let gradients = accumulator.gradients()?;
//! accumulator.reset()?; // they would be gone
//! println!("{gradients:?}");
//! # Ok::<(), gradstep::Error>(())
//! ```
//! ```compile_fail,E0502
//! # let context = gradstep::Context::new()?;
//! # let schema = [gradstep::Parameter::new(&[2])];
//! # let mut optimizer = gradstep::Optimizer::new(&context, &gradstep::Sgd::new(0.1).momentum(0.9), &schema)?;
//! let state = optimizer.state(0, "momentum_buffer")?;
//! optimizer.set_value("momentum", None, 0.5)?; // after a momentum of 0 it would zero the buffer
//! println!("{state:?}");
//! # Ok::<(), gradstep::Error>(())
//! ```
//! ```compile_fail,E0505
//! # let context = gradstep::Context::new()?;
//! # let schema = [gradstep::Parameter::new(&[2])];
//! # let optimizer = gradstep::Optimizer::new(&context, &gradstep::Adam::new(1e-3), &schema)?;
//! let state = optimizer.state(0, "exp_avg")?;
//! drop(optimizer);
//! println!("{state:?}");
//! # Ok::<(), gradstep::Error>(())
//! ```
//! ```compile_fail,E0505
//! let weight = vec![0.0f32; 2];
//! let tensor = gradstep::Tensor::new(&weight, &[2])?;
//! drop(weight);
//! println!("{tensor:?}");
//! # Ok::<(), gradstep::Error>(())
//! ```
//!
//! Threads. Every handle can be moved to another thread. What takes `&self` may be called by several at once: one of
//! them works, the others get [`Error::InvalidState`].

#![cfg_attr(docsrs, feature(doc_cfg))]

pub(crate) use gradstep_sys as sys;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod accumulator;
mod buffers;
#[cfg(feature = "burn")]
pub mod burn;
mod c_types;
mod callback;
#[cfg(feature = "candle")]
pub mod candle;
mod collectives;
mod comm;
mod connect;
mod context;
mod cost;
mod error;
mod handle;
mod host;
mod library;
mod metrics;
mod named_rule;
#[cfg(feature = "ndarray")]
mod ndarray;
mod optimizer;
mod options;
mod parameter;
mod reducer;
mod rule;
mod rule_descriptions;
mod schedule;
mod state;
mod step;
mod tensor;
pub mod trace;
#[cfg(any(feature = "burn", feature = "candle"))]
mod training;
mod typed_rules;
mod updater;

pub use accumulator::{Accumulator, Rows};
pub use buffers::{Source, Target};
pub use c_types::*;
// The old name, deprecated: Rust has no warning for it.
#[doc(hidden)]
pub use collectives::HostCollectives as Collectives;
pub use collectives::{HostCollectives, Optional};
pub use comm::{CommOptions, Communicator};
pub use connect::{Connect, Engine, Store, unique_id};
pub use context::{Allocate, Context, ContextBuilder};
pub use error::{Error, Result};
#[cfg(feature = "dlopen")]
pub use library::load;
#[allow(deprecated)]
pub use library::load_plugin;
pub use library::{backend_available, backend_status, build_info, load_backend, version};
pub use metrics::Metric;
pub use named_rule::NamedRule;
pub use optimizer::{Optimizer, Ranks};
pub use options::Candidates;
pub use parameter::Parameter;
pub use reducer::Reducer;
pub use rule::Rule;
pub use rule_descriptions::{RuleDescription, RuleOption, define_rule, describe_rules};
pub use schedule::Schedule;
pub use step::{StepOptions, StepResult};
pub use tensor::{Device, Dtype, Element, Tensor, TensorMut};
pub use typed_rules::*;
pub use updater::{Parts, Refused, Updater};
