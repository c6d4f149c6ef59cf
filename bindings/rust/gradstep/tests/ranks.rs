// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Reducers and updaters over several ranks.

mod common;

use common::on_ranks;
use gradstep::{
    Accumulator, AccumulatorOptions, Adam, Average, Communicator, Context, CostOptions, Error, ExchangeAlgorithm,
    Optimizer, Parameter, Parts, Reducer, ReducerMode, ReducerOptions, Sgd, ShardingOptions, StepOptions, Tensor,
    TensorMut, Updater, UpdaterOptions, UpdaterSync,
};

const RANKS: usize = 3;

fn schema() -> [Parameter; 2] {
    [Parameter::new(&[2]).name("weight"), Parameter::new(&[1]).name("bias").may_be_unused(true)]
}

/// A local reducer on each rank.
fn on_reducers(options: ReducerOptions, work: impl Fn(usize, &mut Reducer) + Sync) {
    let context = Context::new().unwrap();
    on_ranks(Communicator::local(&context, RANKS).unwrap(), |rank, comm| {
        work(rank, &mut Reducer::new(&context, &comm, &options, &schema()).unwrap());
    });
}

#[test]
fn gradients_of_all_ranks_become_their_mean() {
    on_reducers(ReducerOptions::default(), |rank, reducer| {
        let gradient = [rank as f32, 3.0];
        let mut result = [0.0f32; 2];
        let grads = [Tensor::new(&gradient, &[2]).unwrap(), Tensor::ABSENT];
        let mut results = [TensorMut::new(&mut result, &[2]).unwrap(), TensorMut::ABSENT];
        reducer.reduce(&grads, Some(&mut results), 1.0).unwrap();
        assert_eq!(result, [1.0, 3.0]);
        let views = reducer.gradients().unwrap();
        assert_eq!(views[0].as_slice::<f32>(), Some(&[1.0, 3.0][..]));
        assert!(views[1].is_absent(), "no rank had a bias");
        let norm = reducer.norm().unwrap();
        assert_eq!(norm.as_slice::<f64>(), Some(&[10f64.sqrt()][..]));
    });
}

#[test]
fn weights_of_the_ranks_weigh_and_results_take_the_gradients_place() {
    on_reducers(ReducerOptions::default().average(Average::Weighted), |rank, reducer| {
        let (mut weight, mut bias) = ([rank as f32, 4.0], [1.0f32]);
        let mut grads = [TensorMut::new(&mut weight, &[2]).unwrap(), TensorMut::new(&mut bias, &[1]).unwrap()];
        reducer.reduce_in_place(&mut grads, rank as f64).unwrap();
        assert_eq!(weight, [5.0 / 3.0, 4.0]);
    });
}

#[test]
fn a_window_is_pushed_gradient_by_gradient() {
    on_reducers(ReducerOptions::default().average(Average::Sum).fuse_threshold(1), |_, reducer| {
        reducer.begin(1.0).unwrap();
        reducer.push(1, &Tensor::new(&[2.0f32], &[1]).unwrap()).unwrap();
        let again = reducer.push(1, &Tensor::new(&[2.0f32], &[1]).unwrap()).unwrap_err();
        assert!(matches!(again, Error::InvalidState(_)), "{again}");
        assert!(matches!(reducer.gradients(), Err(Error::InvalidState(_))), "inside a window");
        reducer.push(0, &Tensor::new(&[1.0f32, 0.5], &[2]).unwrap()).unwrap();
        reducer.wait(None).unwrap();
        assert_eq!(reducer.poll(), Ok(true));
        let views = reducer.gradients().unwrap();
        assert_eq!((views[0].as_slice::<f32>(), views[1].as_slice::<f32>()), (Some(&[3.0, 1.5][..]), Some(&[6.0][..])));
        let buckets = reducer.bucket_statistics().unwrap();
        assert_eq!(buckets.iter().map(|bucket| bucket.elements).collect::<Vec<_>>(), [1, 2]);
        assert!(buckets.iter().all(|bucket| bucket.exchanges == 1 && bucket.mode == ReducerMode::Dense));
        assert_ne!(buckets[0].algorithm, ExchangeAlgorithm::None);
        assert!(reducer.comm_statistics().unwrap().bytes_sent > 0);
        reducer.push(1, &Tensor::new(&[2.0f32], &[1]).unwrap()).unwrap();
        reducer.cancel().unwrap();
    });
}

#[test]
fn what_is_not_sent_stays_in_the_residual() {
    let options = ReducerOptions::default().mode(ReducerMode::SparseThreshold).sparsity(1.0).average(Average::Sum);
    on_reducers(options, |_, reducer| {
        let gradient = [2.0f32, 0.25];
        reducer.reduce(&[Tensor::new(&gradient, &[2]).unwrap(), Tensor::ABSENT], None, 1.0).unwrap();
        assert_eq!(reducer.gradients().unwrap()[0].as_slice::<f32>(), Some(&[6.0, 0.0][..]));
        assert_eq!(reducer.residual(0).unwrap().as_slice::<f32>(), Some(&[0.0, 0.25][..]));
        let mut file = Vec::new();
        reducer.save_to(Some(&mut file)).unwrap();
        reducer.residual_mut(0).unwrap().as_mut_slice::<f32>().unwrap().fill(7.0);
        reducer.load_from(&mut &file[..], &gradstep::LoadOptions::default()).unwrap();
        assert_eq!(reducer.residual(0).unwrap().as_slice::<f32>(), Some(&[0.0, 0.25][..]));
        let error = reducer.residual(2).unwrap_err();
        assert!(matches!(&error, Error::InvalidArgument(text) if text.contains("index")), "{error}");
    });
}

#[test]
fn options_that_differ_are_a_mismatch_on_every_rank() {
    let context = Context::new().unwrap();
    on_ranks(Communicator::local(&context, 2).unwrap(), |rank, comm| {
        let options = ReducerOptions::default().fuse_threshold(1 + rank as i64);
        let error = Reducer::new(&context, &comm, &options, &schema()).unwrap_err();
        assert!(matches!(error, Error::Mismatch(_)), "{error}");
    });
}

/// Accumulator, reducer and optimizer of a rank.
fn parts(context: &Context, comm: &Communicator) -> Parts {
    let schema = [Parameter::new(&[2])];
    Parts::new(Optimizer::new(context, &Adam::new(0.25), &schema).unwrap())
        .accumulator(Accumulator::new(context, &AccumulatorOptions::default().steps(2), &schema).unwrap())
        .reducer(Reducer::new(context, comm, &ReducerOptions::default(), &schema).unwrap())
}

fn push(updater: &mut Updater, weight: &mut [f32; 2], gradient: &[f32; 2]) -> gradstep::Result<bool> {
    updater.push(&mut [TensorMut::new(weight, &[2])?], &[Tensor::new(gradient, &[2])?], 1.0)
}

#[test]
fn an_updater_steps_at_the_end_of_a_window_with_the_bits_of_its_parts() {
    let context = Context::new().unwrap();
    on_ranks(Communicator::local(&context, 2).unwrap(), |rank, comm| {
        let mut updater = Updater::new(&context, parts(&context, &comm), &UpdaterOptions::default()).unwrap();
        let (mut weight, gradients) = ([1.0f32, 2.0], [[1.0f32 + rank as f32, 3.0], [5.0, -1.0]]);
        assert_eq!(push(&mut updater, &mut weight, &gradients[0]), Ok(false));
        assert_eq!(push(&mut updater, &mut weight, &gradients[1]), Ok(true));
        let statistics = updater.statistics().unwrap();
        assert_eq!((statistics.pushes, statistics.windows, statistics.steps), (2, 1, 1));
        assert_eq!(updater.parts().optimizer.step_count(), Ok(1));

        let mut apart = parts(&context, &comm);
        let mut expected = [1.0f32, 2.0];
        let (accumulator, reducer) = (apart.accumulator.as_mut().unwrap(), apart.reducer.as_mut().unwrap());
        for gradient in &gradients {
            accumulator.add(&[Tensor::new(gradient, &[2]).unwrap()], 1.0).unwrap();
        }
        reducer.reduce(&accumulator.gradients().unwrap(), None, 1.0).unwrap();
        let mut params = [TensorMut::new(&mut expected, &[2]).unwrap()];
        apart.optimizer.step(&mut params, &reducer.gradients().unwrap()).unwrap();
        assert_eq!(weight.map(f32::to_bits), expected.map(f32::to_bits));

        assert_eq!(push(&mut updater, &mut weight, &gradients[0]), Ok(false));
        assert_eq!(updater.flush(&mut [TensorMut::new(&mut weight, &[2]).unwrap()]), Ok(true));
        let parts = updater.into_parts();
        assert_eq!(parts.optimizer.step_count(), Ok(2));
    });
}

#[test]
fn an_outer_optimizer_steps_by_what_a_round_has_changed() {
    let context = Context::new().unwrap();
    let model = [Parameter::new(&[2])];
    on_ranks(Communicator::local(&context, 2).unwrap(), |rank, comm| {
        let sgd = |rate| Optimizer::new(&context, &Sgd::new(rate), &model).unwrap();
        let reducer = Reducer::new(&context, &comm, &ReducerOptions::default(), &model).unwrap();
        let parts = Parts::new(sgd(1.0)).reducer(reducer).outer(sgd(0.5));
        let options = UpdaterOptions::default().sync(UpdaterSync::Deltas).sync_steps(2);
        let mut updater = Updater::new(&context, parts, &options).unwrap();
        let mut weight = [8.0f32, 8.0];
        let gradient = [1.0, 2.0 * rank as f32];
        assert!(push(&mut updater, &mut weight, &gradient).unwrap());
        assert_eq!(weight, [7.0, 8.0 - gradient[1]], "each rank's own step");
        assert!(push(&mut updater, &mut weight, &gradient).unwrap());
        assert_eq!(weight, [7.0, 7.0], "half of the mean change, which is 2 of both");
        assert_eq!(updater.parts().outer.as_ref().unwrap().step_count().unwrap(), 1);
    });
    let sgd = || Optimizer::new(&context, &Sgd::new(1.0), &model).unwrap();
    let refused = Updater::new(&context, Parts::new(sgd()).outer(sgd()), &UpdaterOptions::default()).unwrap_err();
    assert!(matches!(refused.error, Error::InvalidArgument(_)), "{refused}");
}

#[test]
fn a_reducer_brings_each_rank_its_share() {
    let context = Context::new().unwrap();
    on_ranks(Communicator::local(&context, 2).unwrap(), |rank, comm| {
        let train = |is_sharded: bool| {
            let mut parts = parts(&context, &comm);
            if is_sharded {
                let reducer = parts.reducer.as_mut().unwrap();
                parts.optimizer.shard(reducer, &ShardingOptions::default()).unwrap();
            }
            let mut updater = Updater::new(&context, parts, &UpdaterOptions::default()).unwrap();
            let mut weight = [1.0f32, 2.0];
            assert_eq!(push(&mut updater, &mut weight, &[1.0 + rank as f32, 3.0]), Ok(false));
            assert_eq!(push(&mut updater, &mut weight, &[5.0, -1.0]), Ok(true));
            weight.map(f32::to_bits)
        };
        assert_eq!(train(true), train(false));
    });
}

#[test]
fn ranks_step_their_parts_by_the_norm_of_the_whole() {
    let context = Context::new().unwrap();
    on_ranks(Communicator::local(&context, 2).unwrap(), |rank, comm| {
        let row = Parameter::new(&[1, 2]).name("weight").part_of(&[2, 2], &[rank, 0]);
        let mut optimizer = Optimizer::new(&context, &Sgd::new(1.0), &[row]).unwrap();
        let (mut weight, gradient) = ([8.0f32, 8.0], [[3.0f32, 0.0], [0.0, 4.0]][rank]);
        let grads = [Tensor::new(&gradient, &[1, 2]).unwrap()];
        let mut params = [TensorMut::new(&mut weight, &[1, 2]).unwrap()];
        let alone = optimizer.step(&mut params, &grads).unwrap_err();
        assert!(matches!(alone, Error::InvalidState(_)), "{alone}");
        optimizer.attach_shards(Some(&comm)).unwrap();
        let clipping = StepOptions { max_norm: 2.5, ..StepOptions::default() };
        let result = optimizer.step_with(&mut params, &grads, clipping).unwrap();
        assert_eq!(result.grad_norm, 5.0);
        optimizer.attach_shards(None).unwrap();
        assert!((weight[rank] - [6.5, 6.0][rank]).abs() < 1e-5, "{weight:?}");
        let bad = Parameter::new(&[1, 2]).part_of(&[2], &[0, 0]);
        let refused = Optimizer::new(&context, &Sgd::new(1.0), &[bad]).unwrap_err();
        assert!(refused.to_string().contains("parameters[0].whole_shape: has 1 axes, expected 2"), "{refused}");
    });
}

#[test]
fn the_ranks_of_the_guide() {
    let (gradients, expected) = ([[1.0f32, 3.0], [3.0, -1.0]], [0.5f32 - 0.25 * 2.0, 0.5 - 0.25]);
    // docs:begin ranks
    let rank_of_a_job = |context: &Context, comm: &Communicator, gradient: &[f32]| -> gradstep::Result<[f32; 2]> {
        let schema = [Parameter::new(&[2]).name("weight")];
        let parts = Parts::new(Optimizer::new(context, &Sgd::new(0.25), &schema)?)
            .accumulator(Accumulator::new(context, &AccumulatorOptions::default().steps(2), &schema)?)
            .reducer(Reducer::new(context, comm, &ReducerOptions::default(), &schema)?);
        let mut updater = Updater::new(context, parts, &UpdaterOptions::default())?;
        let mut weight = [0.5f32; 2];
        let mut applied = false;
        while !applied {
            let mut params = [TensorMut::new(&mut weight, &[2])?];
            applied = updater.push(&mut params, &[Tensor::new(gradient, &[2])?], 1.0)?;
        }
        Ok(weight)
    };
    let context = Context::new().unwrap();
    std::thread::scope(|scope| {
        let comms = Communicator::local(&context, 2).unwrap();
        let threads: Vec<_> = (comms.into_iter().zip(&gradients))
            .map(|(comm, gradient)| scope.spawn(|| rank_of_a_job(&context, &{ comm }, gradient)))
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), Ok(expected));
        }
    });
    // docs:end ranks
}

#[test]
fn saved_updaters_continue_with_the_same_bits() {
    let context = Context::new().unwrap();
    let alone = Communicator::alone(&context).unwrap();
    let make = || Updater::new(&context, parts(&context, &alone), &UpdaterOptions::default()).unwrap();
    let (mut one, mut other, mut weight) = (make(), make(), [1.0f32, 2.0]);
    push(&mut one, &mut weight, &[0.5, 0.25]).unwrap();
    let mut file = Vec::new();
    one.save_to(Some(&mut file)).unwrap();
    other.load_from(&mut &file[..], &gradstep::LoadOptions::default()).unwrap();
    let mut copy = weight;
    assert_eq!(push(&mut one, &mut weight, &[0.1, 0.2]), Ok(true));
    assert_eq!(push(&mut other, &mut copy, &[0.1, 0.2]), Ok(true));
    assert_eq!(weight.map(f32::to_bits), copy.map(f32::to_bits));
}

#[test]
fn parts_that_do_not_go_together_come_back() {
    let context = Context::new().unwrap();
    let optimizer = Optimizer::new(&context, &Sgd::new(0.5), &[Parameter::new(&[2])]).unwrap();
    let accumulator = Accumulator::new(&context, &AccumulatorOptions::default(), &[Parameter::new(&[3])]).unwrap();
    let refused =
        Updater::new(&context, Parts::new(optimizer).accumulator(accumulator), &UpdaterOptions::default()).unwrap_err();
    assert!(matches!(&refused.error, Error::Mismatch(text) if text.contains("param.0")), "{refused}");
    let options = UpdaterOptions::default().sync(UpdaterSync::Parameters).sync_steps(0);
    let refused = Updater::new(&context, Parts::new(refused.parts.optimizer), &options).unwrap_err();
    assert!(refused.error.text().contains("sync_steps"), "{refused}");
    assert_eq!(refused.parts.optimizer.step_count(), Ok(0), "it still works");
}

#[test]
fn an_updater_refuses_to_work_while_a_part_is_somewhere_else() {
    let context = Context::new().unwrap();
    let make = || Optimizer::new(&context, &Sgd::new(0.5), &[Parameter::new(&[2])]).unwrap();
    let mut updater = Updater::new(&context, Parts::new(make()), &UpdaterOptions::default()).unwrap();
    let (mut other, mut weight) = (make(), [1.0f32, 2.0]);
    std::mem::swap(&mut updater.parts_mut().optimizer, &mut other);
    assert!(matches!(push(&mut updater, &mut weight, &[1.0, 1.0]), Err(Error::InvalidState(_))));
    assert!(matches!(updater.save_to(Some(&mut Vec::new())), Err(Error::InvalidState(_))));
    std::mem::swap(&mut updater.parts_mut().optimizer, &mut other);
    assert_eq!(push(&mut updater, &mut weight, &[1.0, 1.0]), Ok(true));
    assert_eq!(weight, [0.5, 1.5]);
}

#[test]
fn the_survivors_of_a_lost_rank_go_on() {
    let context = Context::new().unwrap();
    let survivors = Communicator::local(&context, 2).unwrap();
    on_ranks(Communicator::local(&context, 3).unwrap(), |rank, comm| {
        let mut updater = Updater::new(&context, parts(&context, &comm), &UpdaterOptions::default()).unwrap();
        let mut weight = [1.0f32, 2.0];
        push(&mut updater, &mut weight, &[1.0, 3.0]).unwrap();
        if rank == 2 {
            return; // its handles are dropped: the others lose a peer
        }
        let error = push(&mut updater, &mut weight, &[1.0, 3.0]).unwrap_err();
        assert!(matches!(error, Error::PeerLost(_)), "{error}");
        let mut params = [TensorMut::new(&mut weight, &[2]).unwrap()];
        updater.recover(Some(&survivors[rank]), &mut params).unwrap();
        assert!(updater.parts().reducer.is_none(), "the updater has its own");
        assert_eq!(updater.flush(&mut params), Ok(true));
        assert!((weight[0] - 0.75).abs() < 1e-6, "{weight:?}");
    });
}

#[test]
fn costs_are_predicted_from_numbers() {
    let options = CostOptions::default().elements(1 << 20).ranks(4).bandwidth(1e9).latency(1e-4);
    let bytes = |mode: ReducerMode| {
        let costs = options.predict().unwrap();
        costs.iter().find(|cost| cost.mode == mode).unwrap().bytes
    };
    assert_eq!(bytes(ReducerMode::Dense), 2 * bytes(ReducerMode::Half));
    let error = options.ranks_per_host(3).predict().unwrap_err();
    assert!(matches!(&error, Error::InvalidArgument(text) if text.contains("ranks_per_host")), "{error}");
    assert!(options.measure(&Context::new().unwrap()).unwrap().predict().is_ok());
}
