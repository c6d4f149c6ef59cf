// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Two ranks train one perceptron of burn, each on its own random examples: their gradients are averaged, clipped and
//! stepped by AdamW at the rate of burn's schedule. Then one perceptron is trained by burn's own `ModuleOptimizer` with
//! a rule of gradstep.

use std::error::Error;
use std::path::PathBuf;

use burn::lr_scheduler::cosine::CosineAnnealingLrSchedulerConfig;
use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{GradientsParams, ModuleOptimizer};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Distribution, Int, Tensor};
use gradstep::burn::{PerParameter, Trainer, parameters};
use gradstep::{
    AdamW, Communicator, Context, Optimizer, Parts, Reducer, ReducerOptions, Shampoo, Updater, UpdaterOptions,
};

const RANKS: usize = 2;
const UPDATES: usize = 200;
const RATE: f64 = 1e-2;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[derive(Module, Debug)]
struct Perceptron {
    hidden: Linear,
    output: Linear,
}

impl Perceptron {
    fn new(device: &Device) -> Self {
        Self { hidden: LinearConfig::new(2, 32).init(device), output: LinearConfig::new(32, 2).init(device) }
    }

    /// The mean loss of new points, whose label is whether the product of their coordinates is positive.
    fn loss(&self, device: &Device) -> Tensor<1> {
        let points = Tensor::<2>::random([64, 2], Distribution::Uniform(-1.0, 1.0), device);
        let labels: Tensor<1, Int> = points.clone().prod_dim(1).greater_elem(0.0).int().flatten(0, 1);
        let found = self.output.forward(relu(self.hidden.forward(points)));
        CrossEntropyLossConfig::new().init(device).forward(found, labels)
    }
}

/// Steps by the mean gradient of all ranks, from the values of rank 0.
fn trainer(context: &Context, comm: &Communicator, model: &mut Perceptron) -> gradstep::Result<Trainer> {
    let schema = parameters(model)?;
    let adam_w = AdamW::new(RATE).weight_decay(1e-3);
    let reducer = Reducer::new(context, comm, &ReducerOptions::default(), &schema)?;
    let parts = Parts::new(Optimizer::new(context, &adam_w, &schema)?).reducer(reducer);
    let updater = Updater::new(context, parts, &UpdaterOptions::default().max_norm(1.0))?;
    let mut trainer = Trainer::from_updater(model, updater)?;
    trainer.lend(model, |_, parameters| parameters.iter_mut().try_for_each(|each| comm.broadcast(each, 0)))?;
    Ok(trainer)
}

/// The mean of the first and of the last tenth.
fn ends(losses: &[f32]) -> (f32, f32) {
    let tenth = UPDATES / 10;
    let mean = |losses: &[f32]| losses.iter().sum::<f32>() / losses.len() as f32;
    (mean(&losses[..tenth]), mean(&losses[UPDATES - tenth..]))
}

/// The losses at first and at last, and the trained values.
fn train(context: &Context, comm: &Communicator) -> Result<(f32, f32, Vec<f32>)> {
    let device = Device::flex().autodiff();
    let mut model = Perceptron::new(&device);
    let mut trainer = trainer(context, comm, &mut model)?;
    let mut schedule = CosineAnnealingLrSchedulerConfig::new(RATE, UPDATES).init()?;
    let mut losses = Vec::new();
    for _ in 0..UPDATES {
        let loss = model.loss(&device);
        losses.push(loss.clone().into_scalar::<f32>());
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = trainer.step(schedule.step(), model, gradients);
    }
    if let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) {
        if comm.rank()? == 0 {
            model.clone().save_file(folder.join("perceptron.bpk"))?;
        }
        trainer.save(folder.join("optimizer.safetensors"))?; // all ranks call it, rank 0 writes
    }
    let values = trainer.lend(&mut model, |_, parameters| {
        Ok::<_, gradstep::Error>(
            parameters.iter().filter_map(|each| each.as_slice::<f32>()).collect::<Vec<_>>().concat(),
        )
    })?;
    let (first, last) = ends(&losses);
    Ok((first, last, values))
}

/// The losses at first and at last of a loop of burn's own.
fn train_by_burn() -> Result<(f32, f32)> {
    let device = Device::flex().autodiff();
    let mut model = Perceptron::new(&device);
    // docs:begin module_optimizer
    let mut optimizer = ModuleOptimizer::from(PerParameter::new(Shampoo::from_adamw(&AdamW::new(RATE)))?);
    // docs:end module_optimizer
    let mut losses = Vec::new();
    for _ in 0..UPDATES {
        let loss = model.loss(&device);
        losses.push(loss.clone().into_scalar::<f32>());
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(RATE, model, gradients);
    }
    Ok(ends(&losses))
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
    let (first, last) = train_by_burn()?;
    println!("ModuleOptimizer: loss {first:.3} at first, {last:.3} at last");
    assert!(last < first / 2.0, "the loss of burn's loop has not fallen by half");
    Ok(())
}
