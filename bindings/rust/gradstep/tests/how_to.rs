// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! What the pages of docs/how_to quote.

mod common;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use common::on_ranks;
use gradstep::{
    AccumulationMode, Accumulator, AccumulatorOptions, Adam, AdamW, Communicator, Connect, Context, Engine, Error,
    LoadOptions, Optimizer, Parameter, Parts, Reducer, ReducerMode, ReducerOptions, Result, Sgd, Shampoo,
    ShardedGradients, ShardingOptions, StepOptions, Tensor, TensorMut, Updater, UpdaterOptions, UpdaterSync,
};

fn schema() -> [Parameter; 1] {
    [Parameter::new(&[4]).name("weight")]
}

/// A folder of a test, which removes it.
fn new_folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("gradstep-how-to-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
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
        // Gradients of the scaled loss.
        let grads = [Tensor::new(&scaled, &[4])?];
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
    let folder = new_folder("save");
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
        // Collective: averages, steps, and gathers the parameters.
        adam.step(&mut params, &grads)?;
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
fn state_of_two_ranks_is_resumed_on_three() -> Result<()> {
    let context = Context::new()?;
    let folder = new_folder("resume");
    let file = folder.join("adam.safetensors");
    let gradient = [1.0f32, 2.0, 3.0, 4.0]; // reduced already: equal on all ranks
    let step = |optimizer: &mut Optimizer, weight: &mut [f32; 4]| {
        optimizer.step(&mut [TensorMut::new(weight, &[4])?], &[Tensor::new(&gradient, &[4])?])
    };
    let (mut whole, mut expected) = (Optimizer::new(&context, &Adam::new(0.5), &schema())?, [5.0f32; 4]);
    step(&mut whole, &mut expected)?;
    let saved = expected;
    step(&mut whole, &mut expected)?;
    let save = |_: usize, comm: Communicator| -> Result<()> {
        let (schema, mut weight) = (schema(), [5.0f32; 4]);
        let mut params = [TensorMut::new(&mut weight, &[4])?];
        let grads = [Tensor::new(&gradient, &[4])?];
        // docs:begin save_shared
        // On two ranks:
        let mut adam = Optimizer::new(&context, &Adam::new(0.5), &schema)?;
        adam.shard(&comm, &ShardingOptions::default().gradients(ShardedGradients::Reduced))?;
        adam.step(&mut params, &grads)?;
        // Collective; rank 0 writes the state of the whole.
        adam.save(&file)?;
        // docs:end save_shared
        assert_eq!(weight, saved);
        Ok(())
    };
    for done in on_ranks(Communicator::local(&context, 2)?, save) {
        done?;
    }
    let resume = |_: usize, comm: Communicator| -> Result<()> {
        let (schema, mut weight) = (schema(), saved);
        let mut params = [TensorMut::new(&mut weight, &[4])?];
        let grads = [Tensor::new(&gradient, &[4])?];
        // docs:begin resume_elsewhere
        // Later, on three:
        let mut adam = Optimizer::new(&context, &Adam::new(0.5), &schema)?;
        adam.shard(&comm, &ShardingOptions::default().gradients(ShardedGradients::Reduced))?;
        adam.load(&file, &LoadOptions::default())?; // collective; each rank keeps its share
        adam.step(&mut params, &grads)?;
        // docs:end resume_elsewhere
        assert_eq!(weight, expected);
        Ok(())
    };
    for done in on_ranks(Communicator::local(&context, 3)?, resume) {
        done?;
    }
    std::fs::remove_dir_all(&folder).unwrap();
    Ok(())
}

#[test]
fn each_rank_steps_its_rows_of_a_whole() {
    let context = Context::new().unwrap();
    let work = |first_row: usize, comm: Communicator| -> Result<()> {
        let (mut rows, gradient) = ([8.0f32; 2], [[3.0f32, 0.0], [0.0, 4.0]][first_row]);
        let mut params = [TensorMut::new(&mut rows, &[1, 2])?];
        let grads = [Tensor::new(&gradient, &[1, 2])?];
        // docs:begin own_shards
        let part = Parameter::new(&[1, 2]).name("matrix").part_of(&[2, 2], &[first_row, 0]);
        let mut optimizer = Optimizer::new(&context, &Sgd::new(1.0), &[part])?;
        optimizer.attach_shards(Some(&comm))?;
        let clipping = StepOptions { max_norm: 2.5, ..Default::default() }; // the norm is that of the whole
        optimizer.step_with(&mut params, &grads, clipping)?;
        // docs:end own_shards
        let expected = [14.5, 14.0][first_row]; // half of the gradient, whose norm is 5
        assert!((rows[0] + rows[1] - expected).abs() < 1e-5, "{rows:?}");
        Ok(())
    };
    for done in on_ranks(Communicator::local(&context, 2).unwrap(), work) {
        done.unwrap();
    }
}

#[test]
fn shampoo_keeps_the_length_of_an_adamws_step() -> Result<()> {
    let context = Context::new()?;
    let schema = [Parameter::new(&[2, 2]).name("matrix")];
    // docs:begin shampoo
    let recipe = AdamW::new(0.02).beta2(0.99).weight_decay(1e-4);
    let shampoo = Shampoo::from_adamw(&recipe).preconditioning_compute_steps(10);
    let soap = Shampoo::from_adamw(&recipe).eigenvalue_corrected(true);
    let mut optimizer = Optimizer::new(&context, &shampoo, &schema)?;
    // docs:end shampoo
    let last_length = |optimizer: &mut Optimizer| -> Result<f32> {
        let (mut weight, mut before, gradient) = ([5.0f32; 4], [5.0f32; 4], [1.0f32, 2.0, 2.0, 4.0]);
        for _ in 0..100 {
            before = weight;
            optimizer.step(&mut [TensorMut::new(&mut weight, &[2, 2])?], &[Tensor::new(&gradient, &[2, 2])?])?;
        }
        Ok(before.iter().zip(&weight).map(|(old, new)| (old - new) * (old - new)).sum::<f32>().sqrt())
    };
    let expected = last_length(&mut Optimizer::new(&context, &recipe, &schema)?)?;
    let found = last_length(&mut optimizer)?;
    assert!((found - expected).abs() < 1e-4, "{found} {expected}");
    assert!(last_length(&mut Optimizer::new(&context, &soap, &schema)?)? > 0.0);
    Ok(())
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
    let folder = new_folder("recover");
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
                // Ranks 0 and 1 are left, which is your launcher's to know. Each communicator has another generation.
                let how = Connect::new(Engine::Auto, rank as i32, 2).store_path(&folder).generation(1);
                updater.recover(Some(&Communicator::connect(&context, &how)?), &mut params)?;
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
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_newcomer_joins_between_two_windows() {
    let context = Context::new().unwrap();
    let folder = new_folder("grow");
    let gradient = [1.0f32, 2.0, 3.0, 4.0];
    let founder = |rank: i32| -> Result<[f32; 4]> {
        let (schema, mut weight) = (schema(), [5.0f32; 4]);
        let mut params = [TensorMut::new(&mut weight, &[4])?];
        let grads = [Tensor::new(&gradient, &[4])?];
        let comm = Communicator::connect(&context, &Connect::new(Engine::Auto, rank, 2).store_path(&folder))?;
        let reducer = Reducer::new(&context, &comm, &ReducerOptions::default(), &schema)?;
        let parts = Parts::new(sgd(&context, 1.0)).reducer(reducer);
        let mut updater = Updater::new(&context, parts, &UpdaterOptions::default())?;
        let mut grown = None;
        let deadline = Instant::now() + Duration::from_secs(60);
        while grown.is_none() {
            assert!(Instant::now() < deadline, "no newcomer came");
            // docs:begin grow
            updater.push(&mut params, &grads, 1.0)?;
            let larger = Connect::new(Engine::Auto, rank, 3).store_path(&folder).generation(1);
            if Communicator::pending(Some(&comm), &larger)? == 1 {
                // newcomers that wait, the same on all ranks
                let comm = grown.insert(Communicator::connect(&context, &larger)?);
                updater.recover(Some(comm), &mut params)?;
            }
            // docs:end grow
        }
        updater.push(&mut params, &grads, 1.0)?;
        Ok(weight)
    };
    let newcomer = |rank: i32| -> Result<[f32; 4]> {
        let (schema, mut weight) = (schema(), [0.0f32; 4]);
        let mut params = [TensorMut::new(&mut weight, &[4])?];
        let optimizer = sgd(&context, 1.0);
        // docs:begin join
        let alone = Communicator::alone(&context)?; // a reducer over it says how this rank reduces
        let reducer = Reducer::new(&context, &alone, &ReducerOptions::default(), &schema)?;
        let mut updater = Updater::new(&context, Parts::new(optimizer).reducer(reducer), &UpdaterOptions::default())?;
        let how = Connect::new(Engine::Auto, rank, 3).store_path(&folder).generation(1);
        let comm = Communicator::connect(&context, &how)?; // waits for the others
        // Parameters, state and step count are theirs from here on.
        updater.recover(Some(&comm), &mut params)?;
        // docs:end join
        updater.push(&mut params, &[Tensor::new(&gradient, &[4])?], 1.0)?;
        Ok(weight)
    };
    let weights = on_ranks(vec![(); 3], |rank, ()| {
        let rank = rank as i32;
        if rank < 2 { founder(rank).unwrap() } else { newcomer(rank).unwrap() }
    });
    assert!(weights[0][0] < 4.0, "a step before the newcomer came, and one with it: {weights:?}");
    assert_eq!(weights, [weights[0]; 3]);
    std::fs::remove_dir_all(&folder).unwrap();
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
