// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! What the pages of docs/how_to quote.

mod common;

use common::on_ranks;
use gradstep::{
    AccumulationMode, Accumulator, AccumulatorOptions, Adam, Communicator, Context, Error, LoadOptions, Optimizer,
    Parameter, Parts, Reducer, ReducerMode, ReducerOptions, Result, Sgd, ShardingOptions, StepOptions, Tensor,
    TensorMut, Updater, UpdaterOptions, UpdaterSync,
};

fn schema() -> [Parameter; 1] {
    [Parameter::new(&[4]).name("weight")]
}

fn sgd(context: &Context, learning_rate: f64) -> Optimizer {
    Optimizer::new(context, &Sgd::new(learning_rate), &schema()).unwrap()
}

#[test]
fn micro_batches_are_one_step() -> Result<()> {
    let context = Context::new()?;
    let mut optimizer = sgd(&context, 1.0);
    let (mut weight, gradients) = ([5.0f32; 4], [[1.0f32, 2.0, 3.0, 4.0], [3.0, 2.0, 1.0, 0.0]]);
    let schema = schema();
    // docs:begin accumulate
    let options = AccumulatorOptions::default().mode(AccumulationMode::Mean).steps(2);
    let mut accumulator = Accumulator::new(&context, &options, &schema)?;
    for gradient in &gradients {
        // one for each micro-batch
        if accumulator.add(&[Tensor::new(gradient, &[4])?], 1.0)? {
            optimizer.step(&mut [TensorMut::new(&mut weight, &[4])?], &accumulator.gradients()?)?;
        }
    }
    // docs:end accumulate
    assert_eq!(weight, [3.0; 4]);
    Ok(())
}

#[test]
fn an_overflow_skips_the_step_and_halves_the_scale() -> Result<()> {
    let context = Context::new()?;
    let mut optimizer = sgd(&context, 1.0);
    let (mut weight, mut scaled, mut scale) = ([5.0f32; 4], [1024.0f32, 2048.0, 0.0, 0.0], 1024.0);
    for (last, expected) in [(0.0, 1024.0), (f32::INFINITY, 512.0)] {
        scaled[3] = last;
        let mut params = [TensorMut::new(&mut weight, &[4])?];
        let grads = [Tensor::new(&scaled, &[4])?]; // of the scaled loss
        // docs:begin scaler
        let options =
            StepOptions { skip_nonfinite: true, grad_scale: Some(1.0 / scale), max_norm: 100.0, ..Default::default() };
        let result = optimizer.step_with(&mut params, &grads, options)?;
        if !result.applied {
            scale /= 2.0; // an overflow: nothing has changed
        }
        // docs:end scaler
        assert_eq!(scale, expected);
        assert_eq!(weight, [4.0, 3.0, 5.0, 5.0]);
    }
    Ok(())
}

#[test]
fn a_run_is_saved_and_resumed() -> Result<()> {
    let context = Context::new()?;
    let folder = std::env::temp_dir().join(format!("gradstep-how-to-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let make = || Optimizer::new(&context, &Adam::new(0.5), &schema());
    let step = |optimizer: &mut Optimizer, weight: &mut [f32; 4]| {
        optimizer.step(&mut [TensorMut::new(weight, &[4])?], &[Tensor::new(&[1.0f32, 2.0, 3.0, 4.0], &[4])?])
    };
    let (mut adam, mut weight) = (make()?, [5.0f32; 4]);
    step(&mut adam, &mut weight)?;
    // docs:begin save
    adam.save(folder.join("adam.safetensors"))?;
    let mut resumed = make()?; // with the options of the first one
    resumed.load(folder.join("adam.safetensors"), &LoadOptions::default())?;
    // docs:end save
    let mut copy = weight;
    step(&mut adam, &mut weight)?;
    step(&mut resumed, &mut copy)?;
    assert_eq!(weight, copy);
    std::fs::remove_dir_all(&folder).unwrap();
    Ok(())
}

#[test]
fn each_rank_keeps_a_share_of_the_state() {
    let context = Context::new().unwrap();
    let work = |rank: usize, comm: Communicator| -> Result<()> {
        let mut adam = Optimizer::new(&context, &Adam::new(1.0), &schema())?;
        let (mut weight, gradient) = ([5.0f32; 4], [1.0 + 2.0 * rank as f32; 4]);
        let mut params = [TensorMut::new(&mut weight, &[4])?];
        let grads = [Tensor::new(&gradient, &[4])?];
        // docs:begin shard
        adam.shard(&comm, &ShardingOptions::default())?; // this rank's share of the state, from here on
        adam.step(&mut params, &grads)?; // collective: averages, steps, and gathers the parameters
        // docs:end shard
        assert!((weight[0] - 4.0).abs() < 1e-6, "{weight:?}");
        let mut moment = [0.0f32; 4];
        adam.get_state(0, "exp_avg", &mut TensorMut::new(&mut moment, &[4])?)?;
        assert!((moment[3] - 0.2).abs() < 1e-6, "0.1 of the mean gradient, 2: {moment:?}");
        Ok(())
    };
    for done in on_ranks(Communicator::local(&context, 2).unwrap(), work) {
        done.unwrap();
    }
}

#[test]
fn a_sparse_reducer_sends_the_largest() {
    let context = Context::new().unwrap();
    let work = |_: usize, comm: Communicator| -> Result<()> {
        let (schema, mut weight, gradient) = (schema(), [5.0f32; 4], [1.0f32, 4.0, 2.0, 3.0]);
        let optimizer = sgd(&context, 1.0);
        let mut params = [TensorMut::new(&mut weight, &[4])?];
        let grads = [Tensor::new(&gradient, &[4])?];
        // docs:begin sparse
        let options = ReducerOptions::default().mode(ReducerMode::SparseTopK).sparsity(0.25);
        let parts = Parts::new(optimizer).reducer(Reducer::new(&context, &comm, &options, &schema)?);
        let mut updater = Updater::new(&context, parts, &UpdaterOptions::default())?;
        updater.push(&mut params, &grads, 1.0)?;
        // docs:end sparse
        assert_eq!(weight, [5.0, 1.0, 5.0, 5.0]);
        Ok(())
    };
    for done in on_ranks(Communicator::local(&context, 2).unwrap(), work) {
        done.unwrap();
    }
}

#[test]
fn adasum_adds_what_ranks_do_not_agree_on() {
    let context = Context::new().unwrap();
    let work = |rank: usize, comm: Communicator| -> Result<()> {
        let (schema, mut weight) = (schema(), [5.0f32; 4]);
        let gradient = if rank == 0 { [1.0f32, 1.0, -1.0, 0.0] } else { [1.0, 0.0, 0.0, 0.0] };
        let optimizer = sgd(&context, 1.0);
        // docs:begin adasum
        let options = ReducerOptions::default().mode(ReducerMode::AdasumTree);
        let parts = Parts::new(optimizer).reducer(Reducer::new(&context, &comm, &options, &schema)?);
        let mut updater = Updater::new(&context, parts, &UpdaterOptions::default())?;
        // docs:end adasum
        updater.push(&mut [TensorMut::new(&mut weight, &[4])?], &[Tensor::new(&gradient, &[4])?], 1.0)?;
        // a (1 - ab / 2 aa) + b (1 - ab / 2 bb) with ab = 1, aa = 3, bb = 1
        assert!((weight[0] - (5.0 - 5.0 / 6.0 - 0.5)).abs() < 1e-6, "{weight:?}");
        assert!((weight[1] - (5.0 - 5.0 / 6.0)).abs() < 1e-6, "{weight:?}");
        Ok(())
    };
    for done in on_ranks(Communicator::local(&context, 2).unwrap(), work) {
        done.unwrap();
    }
}

#[test]
fn survivors_of_a_lost_rank_go_on() {
    let context = Context::new().unwrap();
    let survivors = Communicator::local(&context, 2).unwrap();
    let work = |rank: usize, comm: Communicator| -> Result<()> {
        let (schema, mut weight, gradient) = (schema(), [5.0f32; 4], [1.0f32, 2.0, 3.0, 4.0]);
        let parts = Parts::new(sgd(&context, 1.0))
            .accumulator(Accumulator::new(&context, &AccumulatorOptions::default(), &schema)?)
            .reducer(Reducer::new(&context, &comm, &ReducerOptions::default(), &schema)?);
        let mut updater = Updater::new(&context, parts, &UpdaterOptions::default())?;
        if rank == 2 {
            return Ok(()); // its handles are dropped: the others lose a peer
        }
        let mut params = [TensorMut::new(&mut weight, &[4])?];
        let grads = [Tensor::new(&gradient, &[4])?];
        // docs:begin recover
        match updater.push(&mut params, &grads, 1.0) {
            Err(Error::PeerLost(_) | Error::Timeout(_)) => {
                let left = &survivors[rank]; // connected anew: the ranks that are left, another generation
                updater.recover(Some(left), &mut params)?;
                updater.flush(&mut params)?; // finishes the window that failed, or finds it finished
            }
            pushed => {
                pushed?;
            }
        }
        // docs:end recover
        assert_eq!(weight, [4.0, 3.0, 2.0, 1.0]);
        Ok(())
    };
    for done in on_ranks(Communicator::local(&context, 3).unwrap(), work) {
        done.unwrap();
    }
}

#[test]
fn rounds_of_local_steps_meet_an_outer_optimizer() {
    let context = Context::new().unwrap();
    let work = |rank: usize, comm: Communicator| -> Result<()> {
        let (schema, mut weight, gradient) = (schema(), [8.0f32; 4], [1.0 + 2.0 * rank as f32; 4]);
        // docs:begin local_steps
        let inner = Optimizer::new(&context, &Sgd::new(1.0), &schema)?;
        let outer = Optimizer::new(&context, &Sgd::new(0.5), &schema)?;
        let reducer = Reducer::new(&context, &comm, &ReducerOptions::default(), &schema)?;
        let options = UpdaterOptions::default().sync(UpdaterSync::Deltas).sync_steps(2);
        let mut updater = Updater::new(&context, Parts::new(inner).reducer(reducer).outer(outer), &options)?;
        // docs:end local_steps
        for _ in 0..2 {
            updater.push(&mut [TensorMut::new(&mut weight, &[4])?], &[Tensor::new(&gradient, &[4])?], 1.0)?;
        }
        assert_eq!(weight, [6.0; 4], "half of the mean change, which is 4");
        Ok(())
    };
    for done in on_ranks(Communicator::local(&context, 2).unwrap(), work) {
        done.unwrap();
    }
}
