// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Two ranks train one perceptron of candle, each on its own random examples: their gradients are averaged, clipped and
//! stepped by AdamW.

use std::path::PathBuf;

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::{Activation, Module, Optimizer as _, Sequential, VarBuilder, VarMap, linear, loss, seq};
use gradstep::candle::{Trainer, Variables};
use gradstep::{AdamW, Communicator, Context, Optimizer, Parts, Reducer, ReducerOptions, Updater, UpdaterOptions};

const RANKS: usize = 2;
const UPDATES: usize = 200;

fn perceptron(variables: &VarMap) -> Result<Sequential> {
    let builder = VarBuilder::from_varmap(variables, DType::F32, &Device::Cpu);
    Ok(seq().add(linear(2, 32, builder.pp("0"))?).add(Activation::Relu).add(linear(32, 2, builder.pp("1"))?))
}

/// Points, and whether the product of their coordinates is positive.
fn examples(count: usize) -> Result<(Tensor, Tensor)> {
    let points = Tensor::rand(-1f32, 1.0, (count, 2), &Device::Cpu)?;
    let product = (points.get_on_dim(1, 0)? * points.get_on_dim(1, 1)?)?;
    Ok((points, product.gt(0f32)?.to_dtype(DType::U32)?))
}

// docs:begin trainer
/// Steps by the mean gradient of all ranks, from the values of rank 0.
fn trainer(context: &Context, comm: &Communicator, map: &VarMap) -> gradstep::Result<Trainer> {
    let variables = Variables::of_map(map);
    let schema = variables.parameters()?;
    let adam_w = AdamW::new(1e-2).weight_decay(1e-3);
    let reducer = Reducer::new(context, comm, &ReducerOptions::default(), &schema)?;
    let parts = Parts::new(Optimizer::new(context, &adam_w, &schema)?).reducer(reducer);
    let updater = Updater::new(context, parts, &UpdaterOptions::default().max_norm(1.0))?;
    let mut trainer = Trainer::from_updater(variables, updater);
    trainer.lend(|_, parameters| parameters.iter_mut().try_for_each(|each| comm.broadcast(each, 0)))?;
    Ok(trainer)
}
// docs:end trainer

/// The mean loss of the first and of the last tenth of the updates, and the trained values.
fn train(context: &Context, comm: &Communicator) -> Result<(f32, f32, Vec<f32>)> {
    let variables = VarMap::new();
    let model = perceptron(&variables)?;
    let mut trainer = trainer(context, comm, &variables)?;
    let mut losses = Vec::new();
    for _ in 0..UPDATES {
        let (points, labels) = examples(64)?;
        let loss = loss::cross_entropy(&model.forward(&points)?, &labels)?;
        trainer.backward_step(&loss)?;
        losses.push(loss.to_scalar::<f32>()?);
    }
    if let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) {
        if comm.rank()? == 0 {
            variables.save(folder.join("perceptron.safetensors"))?;
        }
        trainer.save(folder.join("optimizer.safetensors"))?; // all ranks call it, rank 0 writes
    }
    let values = trainer.lend(|_, parameters| {
        Ok::<_, gradstep::Error>(
            parameters.iter().filter_map(|each| each.as_slice::<f32>()).collect::<Vec<_>>().concat(),
        )
    })?;
    let tenth = UPDATES / 10;
    let mean = |losses: &[f32]| losses.iter().sum::<f32>() / losses.len() as f32;
    Ok((mean(&losses[..tenth]), mean(&losses[UPDATES - tenth..]), values))
}

fn main() -> Result<()> {
    let context = Context::builder().num_threads(1).build()?; // ranks share the processors
    let comms = Communicator::local(&context, RANKS)?;
    let ended = std::thread::scope(|scope| {
        let start = |comm| scope.spawn(|| train(&context, &{ comm }));
        let ranks: Vec<_> = comms.into_iter().map(start).collect();
        ranks.into_iter().map(|rank| rank.join().expect("a rank panicked")).collect::<Result<Vec<_>>>()
    })?;
    for (rank, (first, last, values)) in ended.iter().enumerate() {
        println!("rank {rank}: loss {first:.3} at first, {last:.3} at last");
        assert!(*last < first / 2.0, "the loss of rank {rank} has not fallen by half");
        assert_eq!(values, &ended[0].2, "the parameters of rank {rank}");
    }
    Ok(())
}
