// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! One rank's loop: this is where gradstep is used. What the model computes with does not matter to it.

use gradstep::{
    Accumulator, AccumulatorOptions, AdamW, Communicator, Context, Optimizer, Parameter, Reducer, ReducerOptions,
    Tensor, TensorMut,
};

use crate::Result;
use crate::digits::{CLASSES, Digits, Examples, PIXELS};

/// Inputs and outputs of the perceptron's layers.
pub const LAYERS: [(usize, usize); 3] = [(PIXELS, 128), (128, 64), (64, CLASSES)];

const UPDATES: usize = 150;
const MICRO_BATCHES: usize = 4;
const MICRO_BATCH: usize = 8;

/// A perceptron of `LAYERS` with rectifiers between them, in the arrays of a framework: weight, bias, weight, ...
pub trait Model {
    /// Computes the mean cross-entropy of the examples and its gradients, and calls `add` with the gradients' memory.
    ///
    /// # Errors
    /// Fails where the framework or `add` fails.
    fn loss(&self, examples: &Examples, add: &mut dyn FnMut(&[Tensor<'_>]) -> Result<()>) -> Result<f32>;

    /// Calls `step` with the parameters' memory.
    ///
    /// # Errors
    /// Fails where the framework or `step` fails.
    fn lend(&mut self, step: &mut dyn FnMut(&mut [TensorMut<'_>]) -> Result<()>) -> Result<()>;

    /// How many examples the model gets right.
    ///
    /// # Errors
    /// Fails where the framework fails.
    fn correct(&self, examples: &Examples) -> Result<usize>;
}

/// The first values of the parameters, the same on all ranks: uniform numbers by He et al. 2015, and zeros.
pub fn first_values() -> Vec<(Vec<usize>, Vec<f32>)> {
    let mut state = 1u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    };
    let layer = |(inputs, outputs): (usize, usize)| {
        let bound = (6.0 / inputs as f32).sqrt();
        let weight = (0..inputs * outputs).map(|_| bound * uniform()).collect();
        [(vec![inputs, outputs], weight), (vec![outputs], vec![0.0; outputs])]
    };
    LAYERS.into_iter().flat_map(layer).collect()
}

fn schema() -> Vec<Parameter> {
    let layer = |(i, (inputs, outputs)): (usize, (usize, usize))| {
        let name = |part: &str| format!("layer{i}.{part}");
        [
            Parameter::new(&[inputs, outputs]).name(name("weight")),
            Parameter::new(&[outputs]).name(name("bias")).group(1), // not decayed
        ]
    };
    LAYERS.into_iter().enumerate().flat_map(layer).collect()
}

/// Trains the model by AdamW on this rank's part of every batch; rank 0 tells how it goes.
///
/// # Errors
/// Fails where gradstep or the model fails, where ranks differ, and where the model has learnt too little.
pub fn train(model: &mut impl Model, digits: &Digits, context: &Context, comm: &Communicator) -> Result<()> {
    let (rank, ranks) = (usize::try_from(comm.rank()?)?, usize::try_from(comm.world_size()?)?);
    let schema = schema();
    let options = AccumulatorOptions::default().steps(MICRO_BATCHES as i64);
    let mut accumulator = Accumulator::new(context, &options, &schema)?;
    let mut reducer = Reducer::new(context, comm, &ReducerOptions::default(), &schema)?;
    // docs:begin optimizer
    let adam_w = AdamW::new(3e-3).weight_decay(1e-2);
    let mut optimizer = Optimizer::new(context, &adam_w, &schema)?;
    // docs:end optimizer
    optimizer.set_value("weight_decay", Some(1), 0.0)?;

    let mut batch = 0;
    for update in 1..=UPDATES {
        let (mut loss, mut is_full) = (0.0, false);
        while !is_full {
            let micro_batch = digits.train.select(indices(batch * ranks + rank, digits.train.len()));
            loss += model.loss(&micro_batch, &mut |gradients| {
                is_full = accumulator.add(gradients, 1.0)?;
                Ok(())
            })?;
            batch += 1;
        }
        // docs:begin step
        reducer.reduce(&accumulator.gradients()?, None, 1.0)?;
        model.lend(&mut |parameters| Ok(optimizer.step(parameters, &reducer.gradients()?)?))?;
        // docs:end step
        if rank == 0 && update % 50 == 0 {
            println!("update {update}: loss {:.4}", loss / MICRO_BATCHES as f32);
        }
    }
    check_ranks(model, comm)?;
    let accuracy = model.correct(&digits.test)? as f64 / digits.test.len() as f64;
    if rank == 0 {
        println!("{ranks} ranks ({}): {:.1} % of the test images", comm.engine()?, 100.0 * accuracy);
    }
    if accuracy > 0.95 { Ok(()) } else { Err(format!("accuracy {accuracy}, expected more than 0.95").into()) }
}

/// The images of a micro-batch; a step that shares no factor with their number goes through all of them.
fn indices(micro_batch: usize, examples: usize) -> impl Iterator<Item = usize> {
    (micro_batch * MICRO_BATCH..).take(MICRO_BATCH).map(move |i| i * 769 % examples)
}

/// All ranks have the same bits.
fn check_ranks(model: &mut impl Model, comm: &Communicator) -> Result<()> {
    model.lend(&mut |parameters| {
        for (i, parameter) in parameters.iter().enumerate() {
            let own = parameter.as_slice::<f32>().ok_or("a parameter is no contiguous f32")?;
            let mut first = own.to_vec();
            comm.broadcast(&mut first, 0)?;
            if first.iter().zip(own).any(|(a, b)| a.to_bits() != b.to_bits()) {
                return Err(format!("parameter {i} differs from that of rank 0").into());
            }
        }
        Ok(())
    })
}
