// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Modules of burn, stepped whole and by burn's trait: against burn's own optimizers, and against the same slices.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn_core as burn;
use burn_core::module::{Module, Param, ParamGroup};
use burn_core::tensor::{DType, Device, Tensor, TensorData};
use burn_optim::lr_scheduler::cosine::CosineAnnealingLrSchedulerConfig;
use burn_optim::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn_optim::{AdamWConfig, GradientsParams, ModuleOptimizer, RecordState, SgdConfig, StateSource};
use common::on_ranks;
use gradstep::burn::{Config, PerParameter, State, Trainer, parameters};
use gradstep::{
    AccumulatorOptions, AdamW, Communicator, Context, Error, Optimizer, Parts, Reducer, ReducerOptions, Sgd, Shampoo,
    TensorMut, Updater, UpdaterOptions,
};

#[derive(Module, Debug)]
struct Linear {
    weight: Param<Tensor<2>>,
    bias: Option<Param<Tensor<1>>>,
}

#[derive(Module, Debug)]
struct Perceptron {
    layers: Vec<Linear>,
}

#[derive(Module, Debug)]
struct Pair {
    target: Linear,
    online: Linear,
}

/// Numbers between -1 and 1 that differ with the seed.
fn numbers(seed: usize, count: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 37 + seed * 101 + 11) % 64) as f64 / 32.0 - 1.0).collect()
}

fn tensor<const D: usize>(seed: usize, shape: [usize; D], dtype: DType) -> Tensor<D> {
    let data = TensorData::new(numbers(seed, shape.iter().product()), shape);
    Tensor::from_data(data, (&Device::flex().autodiff(), dtype))
}

fn perceptron(dtype: DType) -> Perceptron {
    let layer = |seed, inputs, outputs| Linear {
        weight: Param::from_tensor(tensor(seed, [inputs, outputs], dtype)),
        bias: Some(Param::from_tensor(tensor(seed + 1, [outputs], dtype))),
    };
    Perceptron { layers: vec![layer(0, 4, 8), layer(2, 8, 2)] }
}

const PATHS: [&str; 4] = ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"];

/// The mean square error of the batch with this number.
fn loss(module: &Perceptron, batch: usize) -> Tensor<1> {
    let dtype = module.layers[0].weight.dtype();
    let linear = |x: Tensor<2>, layer: &Linear| {
        let product = x.matmul(layer.weight.val());
        layer.bias.as_ref().map_or(product.clone(), |bias| product + bias.val().unsqueeze())
    };
    let hidden = linear(tensor(batch, [16, 4], dtype), &module.layers[0]).tanh();
    let error = linear(hidden, &module.layers[1]) - tensor(batch + 7, [16, 2], dtype);
    (error.clone() * error).mean()
}

fn gradients(module: &Perceptron, batch: usize) -> GradientsParams {
    GradientsParams::from_grads(loss(module, batch).backward(), module)
}

/// All values of the module, in the order of its parameters.
fn values(module: &Perceptron) -> Vec<f64> {
    module.layers.iter().flat_map(values_of).collect()
}

fn values_of(layer: &Linear) -> Vec<f64> {
    let of = |data: TensorData| data.iter::<f64>().collect::<Vec<_>>();
    [of(layer.weight.val().into_data()), layer.bias.iter().flat_map(|b| of(b.val().into_data())).collect()].concat()
}

/// The text of an error of this kind.
macro_rules! text {
    ($result:expr, $kind:ident) => {
        match $result {
            Err(Error::$kind(text)) => text,
            other => panic!("{other:?}, expected {}", stringify!($kind)),
        }
    };
}

/// What a panic said.
fn panic_of<R>(body: impl FnOnce() -> R) -> String {
    let caught = catch_unwind(AssertUnwindSafe(|| drop(body()))).unwrap_err();
    caught.downcast_ref::<String>().cloned().unwrap_or_else(|| caught.downcast_ref::<&str>().unwrap().to_string())
}

fn assert_near(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= tolerance, "{i}: {a}, expected {b}");
    }
}

#[test]
fn a_module_learns_at_the_rate_of_burns_schedule() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("gradstep_burn_loop_{}.safetensors", std::process::id()));
    let mut module = perceptron(DType::F32);
    let first = loss(&module, 0).into_scalar::<f32>();
    // docs:begin trainer
    let config = Config::new(AdamW::new(1e-2)).updater(UpdaterOptions::default().max_norm(1.0));
    let mut trainer = Trainer::new(&module, config)?;
    let mut schedule = CosineAnnealingLrSchedulerConfig::new(1e-2, 20).init()?;
    for batch in 0..20 {
        let gradients = GradientsParams::from_grads(loss(&module, batch).backward(), &module);
        module = trainer.step(schedule.step(), module, gradients);
    }
    trainer.save(&path)?;
    // docs:end trainer
    assert!(loss(&module, 0).into_scalar::<f32>() < first);
    let rate = trainer.updater().parts().optimizer.get_value("learning_rate", 0)?;
    assert!(rate > 0.0 && rate < 1e-2, "{rate}");
    std::fs::remove_file(path)?;
    Ok(())
}

/// Twenty steps of a trainer, of burn's own optimizer, and of burn's by the rule of the trainer.
fn assert_all_near(config: Config, rule: PerParameter, mut expected: ModuleOptimizer) {
    let [mut whole, mut own, mut single] = [(); 3].map(|()| perceptron(DType::F64));
    let mut trainer = Trainer::new(&whole, config).unwrap();
    let mut optimizer = ModuleOptimizer::from(rule);
    for batch in 0..20 {
        let rate = if batch < 10 { 0.01 } else { 0.005 };
        let batches = [&whole, &own, &single].map(|module| gradients(module, batch));
        let [first, second, third] = batches;
        whole = trainer.step(rate, whole, first);
        own = expected.step(rate, own, second);
        single = optimizer.step(rate, single, third);
    }
    assert_near(&values(&whole), &values(&own), 1e-6); // burn has its betas in f32
    assert_eq!(values(&whole), values(&single));
}

#[test]
fn sgd_and_adam_w_are_those_of_burn() {
    assert_all_near(Config::new(Sgd::new(1.0)), PerParameter::new(Sgd::new(1.0)).unwrap(), SgdConfig::new().init());
    let adam_w = || AdamW::new(1.0).epsilon(1e-5).weight_decay(0.1);
    assert_all_near(
        Config::new(adam_w()),
        PerParameter::new(adam_w()).unwrap(),
        AdamWConfig::new().with_epsilon(1e-5).with_weight_decay(0.1).init(),
    );
}

#[test]
fn half_precision_is_stepped() {
    for dtype in [DType::F16, DType::BF16] {
        let mut module = perceptron(dtype);
        let before = values(&module);
        let mut trainer = Trainer::new(&module, Config::new(Sgd::new(0.5))).unwrap();
        let gradients = gradients(&module, 0);
        let slope = gradients.get::<2>(module.layers[0].weight.id).unwrap().into_data().iter::<f64>().next().unwrap();
        trainer.push(&mut module, gradients, 1.0).unwrap();
        let after = values(&module);
        assert!((after[0] - (before[0] - 0.5 * slope)).abs() < 0.01, "{dtype:?}");
        assert_eq!(module.layers[0].weight.dtype(), dtype);
    }
}

#[test]
fn memory_stays_where_it_is() {
    let mut module = perceptron(DType::F32);
    let mut trainer = Trainer::new(&module, Config::new(Shampoo::new(0.01))).unwrap();
    let place = |trainer: &mut Trainer, module: &mut Perceptron| -> Vec<*const f32> {
        let places = |parameters: &mut [TensorMut<'_>]| {
            parameters.iter().map(|each| each.as_slice::<f32>().unwrap().as_ptr()).collect()
        };
        trainer.lend(module, |_, parameters| Ok::<_, Error>(places(parameters))).unwrap()
    };
    let (before, first) = (place(&mut trainer, &mut module), values(&module));
    let gradients = gradients(&module, 0);
    trainer.push(&mut module, gradients, 1.0).unwrap();
    assert_eq!(place(&mut trainer, &mut module), before);
    assert_ne!(values(&module), first);
    // A clone keeps its values.
    let (clone, second) = (module.clone(), values(&module));
    module = trainer.step(0.01, module, self::gradients(&clone, 1));
    assert_eq!(values(&clone), second);
    assert_ne!(values(&module), second);
}

#[test]
fn parameters_keep_their_ids_and_require_gradients() {
    let mut module = perceptron(DType::F32);
    let id = module.layers[1].weight.id;
    let mut trainer = Trainer::new(&module, Config::new(Sgd::new(0.1))).unwrap();
    for batch in 0..2 {
        let gradients = gradients(&module, batch);
        assert_eq!(gradients.len(), PATHS.len());
        module = trainer.step(0.1, module, gradients);
    }
    assert_eq!(module.layers[1].weight.id, id);
    assert!(module.layers[1].weight.is_require_grad());
}

#[test]
fn micro_batches_are_accumulated_and_their_mean_is_clipped() {
    let mut module = perceptron(DType::F64);
    let (before, batches) = (values(&module), [gradients(&module, 3), gradients(&module, 4)]);
    let of = |batch: &GradientsParams| -> Vec<f64> {
        let layers = module.layers.iter();
        layers
            .flat_map(|layer| {
                let weight = batch.get::<2>(layer.weight.id).unwrap().into_data().iter::<f64>().collect::<Vec<_>>();
                let bias = batch.get::<1>(layer.bias.as_ref().unwrap().id).unwrap().into_data();
                [weight, bias.iter::<f64>().collect()]
            })
            .flatten()
            .collect()
    };
    let mean: Vec<_> = of(&batches[0]).iter().zip(of(&batches[1])).map(|(a, b)| (a + b) / 2.0).collect();
    let norm = mean.iter().map(|g| g * g).sum::<f64>().sqrt();
    let config = Config::new(Sgd::new(1.0))
        .accumulator(AccumulatorOptions::default().steps(2))
        .updater(UpdaterOptions::default().max_norm(norm / 4.0));
    let mut trainer = Trainer::new(&module, config).unwrap();
    let [first, second] = batches;
    assert!(!trainer.push(&mut module, first, 1.0).unwrap());
    assert_eq!(values(&module), before);
    assert!(trainer.push(&mut module, second, 1.0).unwrap());
    let expected: Vec<_> = before.iter().zip(&mean).map(|(value, g)| value - g / 4.0).collect();
    assert_near(&values(&module), &expected, 1e-6);
    // A window of one, by hand.
    let gradients = gradients(&module, 5);
    trainer.push(&mut module, gradients, 1.0).unwrap();
    assert_eq!(trainer.lend(&mut module, |updater, parameters| updater.flush(parameters)), Ok(true));
    assert_eq!(trainer.updater().statistics().unwrap().steps, 2);
}

#[test]
fn frozen_parameters_have_no_state_and_are_left_alone() {
    let mut module = perceptron(DType::F32);
    let frozen = module.layers[0].clone().no_grad();
    module.layers[0] = frozen;
    let mut trainer = Trainer::new(&module, Config::new(AdamW::new(0.1))).unwrap();
    assert_eq!(parameters(&module).unwrap().len(), 2);
    let before = values(&module);
    let gradients = gradients(&module, 0);
    trainer.push(&mut module, gradients, 1.0).unwrap();
    let (after, still) = (values(&module), 4 * 8 + 8);
    assert_eq!(after[..still], before[..still]);
    assert_ne!(after[still..], before[still..]);
    // One that the trainer has no state for.
    module.layers[0] = module.layers[0].clone().unfreeze();
    let gradients = self::gradients(&module, 0);
    let text = text!(trainer.push(&mut module, gradients, 1.0), InvalidArgument);
    assert_eq!(text, r#"parameter "layers.0.weight": has a gradient, but required none when the trainer was made"#);
    assert_eq!(values(&module), after);
}

#[test]
fn a_frozen_clone_has_the_ids_of_its_layer_and_keeps_its_values() {
    let online = perceptron(DType::F64).layers.remove(0);
    let mut module = Pair { target: online.clone().no_grad(), online };
    let before = values_of(&module.online);
    let mut trainer = Trainer::new(&module, Config::new(Sgd::new(0.25))).unwrap();
    assert_eq!(trainer.lend(&mut module, |_, parameters| Ok::<_, Error>(parameters.len())), Ok(2));
    assert_eq!((values_of(&module.target), values_of(&module.online)), (before.clone(), before.clone()));
    let (weight, bias) = (module.online.weight.val(), module.online.bias.as_ref().unwrap().val());
    let squares = (weight.clone() * weight).sum() + (bias.clone() * bias).sum();
    let gradients = GradientsParams::from_grads(squares.backward(), &module);
    trainer.push(&mut module, gradients, 1.0).unwrap();
    assert_eq!(values_of(&module.target), before);
    assert_eq!(values_of(&module.online), before.iter().map(|value| value / 2.0).collect::<Vec<_>>());
    assert!(module.online.weight.is_require_grad() && !module.target.weight.is_require_grad());
}

#[test]
fn trained_parameters_that_came_to_one_id_are_refused() {
    let layers = (0..2).map(|_| perceptron(DType::F32).layers.remove(0)).collect();
    let mut module = Perceptron { layers };
    let mut trainer = Trainer::new(&module, Config::new(Sgd::new(0.25))).unwrap();
    let record = module.layers[0].clone().into_record();
    module.layers[1] = module.layers[1].clone().load_record(record);
    let before = values(&module);
    let expected = r#"parameter "layers.1.weight": has the id of "layers.0.weight", expected one of its own, by which gradients are known"#;
    assert_eq!(text!(trainer.push(&mut module, GradientsParams::new(), 1.0), InvalidArgument), expected);
    assert_eq!(text!(trainer.lend(&mut module, |_, _| Ok::<_, Error>(())), InvalidArgument), expected);
    assert_eq!(values(&module), before);
}

#[test]
fn rates_by_id_are_those_of_the_ids_that_a_record_brought() {
    let mut module = perceptron(DType::F32);
    let mut trainer = Trainer::new(&module, Config::new(Sgd::new(0.3))).unwrap();
    module = module.load_record(perceptron(DType::F32).into_record());
    let all = ParamGroup::ids_from_module(module.clone());
    let gradients = gradients(&module, 0);
    let _ = trainer.step(ModuleLrScheduler::new(0.1).with_group(all, 0.2).step(), module, gradients);
    assert_eq!(trainer.updater().parts().optimizer.get_value("learning_rate", 0), Ok(0.2));
}

#[test]
fn a_run_goes_on_from_its_saved_state_by_the_paths_of_its_parameters() {
    let path = std::env::temp_dir().join(format!("gradstep_burn_{}.safetensors", std::process::id()));
    let make = |module: &Perceptron| Trainer::new(module, Config::new(AdamW::new(0.1))).unwrap();
    let mut first = perceptron(DType::F32);
    let mut trainer = make(&first);
    for batch in 0..3 {
        let gradients = gradients(&first, batch);
        trainer.push(&mut first, gradients, 1.0).unwrap();
    }
    trainer.save(&path).unwrap();
    let mut second = perceptron(DType::F32).load_record(first.clone().into_record());
    let gradients = [&first, &second].map(|module| gradients(module, 3));
    let mut resumed = make(&second);
    resumed.load(&path).unwrap();
    let [a, b] = gradients;
    trainer.push(&mut first, a, 1.0).unwrap();
    resumed.push(&mut second, b, 1.0).unwrap();
    assert_eq!(values(&second), values(&first));
    let text = text!(make_single(&first.layers[0]).load(&path), Mismatch);
    assert!(text.contains("no parameter 'weight'"), "{text}");
    std::fs::remove_file(path).unwrap();
}

fn make_single(layer: &Linear) -> Trainer {
    Trainer::new(layer, Config::new(AdamW::new(0.1))).unwrap()
}

#[test]
fn ranks_step_by_the_mean_of_their_gradients() {
    let context = Context::builder().num_threads(1).build().unwrap();
    let work = |rank: usize, comm: Communicator| {
        let mut module = perceptron(DType::F32);
        if rank == 1 {
            module.layers[0].weight = Param::from_tensor(tensor(50, [4, 8], DType::F32));
        }
        let schema = parameters(&module).unwrap();
        let parts = Parts::new(Optimizer::new(&context, &Sgd::new(0.5), &schema).unwrap())
            .reducer(Reducer::new(&context, &comm, &ReducerOptions::default(), &schema).unwrap());
        let updater = Updater::new(&context, parts, &UpdaterOptions::default()).unwrap();
        let mut trainer = Trainer::from_updater(&module, updater).unwrap();
        let broadcast =
            |parameters: &mut [TensorMut<'_>]| parameters.iter_mut().try_for_each(|each| comm.broadcast(each, 0));
        trainer.lend(&mut module, |_, parameters| broadcast(parameters)).unwrap();
        let gradients = gradients(&module, rank);
        trainer.push(&mut module, gradients, 1.0).unwrap();
        values(&module)
    };
    let found = on_ranks(Communicator::local(&context, 2).unwrap(), work);
    assert_eq!(found[0], found[1]);
    // Half a step by each batch.
    let module = perceptron(DType::F32);
    let before = values(&module);
    let each = [0, 1].map(|batch| {
        let mut trainer = Trainer::new(&module, Config::new(Sgd::new(0.25))).unwrap();
        values(&trainer.step(0.25, module.clone(), gradients(&module, batch)))
    });
    let expected: Vec<_> = (0..before.len()).map(|i| each[0][i] + each[1][i] - before[i]).collect();
    assert_near(&found[0], &expected, 1e-6);
}

#[test]
fn what_cannot_be_stepped_is_named() {
    let text = text!(Trainer::new(&perceptron(DType::F32).valid(), Config::new(Sgd::new(0.1))), InvalidArgument);
    assert!(text.starts_with("module: no parameter requires gradients"), "{text}");
    let mut module = perceptron(DType::F32);
    module.layers.push(module.layers[0].clone());
    let text = text!(parameters(&module), InvalidArgument);
    assert!(
        text.starts_with(r#"parameter "layers.2.weight": has the id of "layers.0.weight", expected one"#),
        "{text}"
    );
    let text = text!(Trainer::new(&perceptron(DType::F32), Config::new(Sgd::new(-1.0))), InvalidArgument);
    assert!(text.contains("learning_rate"), "{text}");
}

#[test]
fn after_an_error_the_module_is_as_before() {
    let mut module = perceptron(DType::F32);
    let before = values(&module);
    let mut trainer = Trainer::new(&module, Config::new(Sgd::new(0.1))).unwrap();
    let mut wrong = gradients(&module, 0);
    wrong.register(module.layers[1].weight.id, tensor::<2>(0, [3, 8], DType::F32));
    let text = text!(trainer.push(&mut module, wrong, 1.0), InvalidArgument);
    assert!(text.contains("grads[2]"), "{text}");
    assert_eq!(values(&module), before);
    let rates = ModuleLrScheduler::new(0.1).with_group(ParamGroup::from_predicate("layers.1"), 0.2).step();
    let text = panic_of(|| trainer.step(rates, module.clone(), gradients(&module, 0)));
    let expected = r#"learning_rate: is 0.2 for "layers.1.weight", expected 0.1 as for "layers.0.weight""#;
    assert!(text.contains(expected), "{text}");
    let text = panic_of(|| trainer.step(-2.0, module.clone(), gradients(&module, 0)));
    assert!(text.contains("learning_rate") && text.contains("-2"), "{text}");
    let text = panic_of(|| {
        trainer.lend(&mut module, |_, parameters| -> gradstep::Result<()> {
            panic!("with {}", parameters.len());
        })
    });
    assert_eq!(text, "with 4");
    assert_eq!(values(&module), before);
    let mut other = perceptron(DType::F32);
    other.layers.pop();
    let gradients = GradientsParams::new();
    let text = text!(trainer.push(&mut other, gradients, 1.0), InvalidArgument);
    assert_eq!(text, r#"module: has no parameter "layers.1.weight", which the trainer was made of"#);
    assert_eq!(values(&other).len(), 4 * 8 + 8);
}

#[test]
fn burns_records_have_the_state_of_each_parameter() {
    let make = || ModuleOptimizer::from(PerParameter::new(AdamW::new(1.0)).unwrap());
    let (mut optimizer, mut module) = (make(), perceptron(DType::F32));
    for batch in 0..3 {
        let gradients = gradients(&module, batch);
        module = optimizer.step(0.1, module, gradients);
    }
    let bytes = optimizer.into_bytes().unwrap();
    let mut loaded = make().from_bytes(bytes.clone()).unwrap();
    let mut copied = optimizer.clone();
    let step = |optimizer: &mut ModuleOptimizer| values(&optimizer.step(0.1, module.clone(), gradients(&module, 3)));
    let expected = step(&mut optimizer);
    assert_eq!(step(&mut loaded), expected);
    assert_eq!(step(&mut copied), expected);
    assert_ne!(step(&mut make()), expected);
    // A record that was loaded and not stepped is saved as it is.
    let mut again = make().from_bytes(make().from_bytes(bytes.clone()).unwrap().into_bytes().unwrap()).unwrap();
    assert_eq!(step(&mut again), expected);
    let other = ModuleOptimizer::from(PerParameter::new(Sgd::new(1.0).momentum(0.9)).unwrap());
    let mut other = other.from_bytes(bytes).unwrap();
    let text = panic_of(|| step(&mut other));
    assert!(text.contains("MISMATCH"), "{text}");
    assert!(panic_of(|| make().step(-1.0, module.clone(), gradients(&module, 0))).contains("learning_rate"));
}

#[test]
fn a_record_whose_state_is_not_of_bytes_is_refused() {
    let mut source = StateSource::default();
    source.insert_tensor("7.gradstep".to_owned(), TensorData::from([1.0_f32]));
    let text = panic_of(|| State::state_unflatten("7", &mut source, &Device::flex()));
    assert!(
        text.starts_with(r#"state "gradstep" of parameter 7: dtype is F32, expected U8 as gradstep saves"#),
        "{text}"
    );
}
