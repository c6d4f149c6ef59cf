// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! candle's variables, stepped in candle's memory: against candle's own optimizers, and against the same slices.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use candle_core::backprop::GradStore;
use candle_core::{CpuStorage, DType, Device, Storage, Tensor, Var};
use candle_nn::{Module, Optimizer, VarBuilder, VarMap};
use common::on_ranks;
use gradstep::candle::{Config, Trainer, Variables};
use gradstep::{
    AccumulatorOptions, Adam, AdamW, Communicator, Context, Element, Error, Parameter, Parts, Reducer, ReducerOptions,
    Sgd, Shampoo, TensorMut, Updater, UpdaterOptions,
};

const CPU: &Device = &Device::Cpu;

/// Numbers between -1 and 1 that differ with the seed.
fn numbers(seed: u32, count: usize) -> Vec<f32> {
    (0..count as u32).map(|i| ((i * 37 + seed * 101 + 11) % 64) as f32 / 32.0 - 1.0).collect()
}

fn tensor(seed: u32, shape: (usize, usize), dtype: DType) -> Tensor {
    Tensor::from_vec(numbers(seed, shape.0 * shape.1), shape, CPU).unwrap().to_dtype(dtype).unwrap()
}

/// A perceptron's variables by their names.
fn perceptron(dtype: DType) -> Vec<(String, Var)> {
    let shapes = [("0.bias", (1, 8)), ("0.weight", (8, 4)), ("1.bias", (1, 2)), ("1.weight", (2, 8))];
    let variable = |(i, (name, shape))| (String::from(name), Var::from_tensor(&tensor(i, shape, dtype)).unwrap());
    (0..).zip(shapes).map(variable).collect()
}

fn vars(variables: &[(String, Var)]) -> Vec<Var> {
    variables.iter().map(|(_, variable)| variable.clone()).collect()
}

/// The loss of the batch with this number, in f32 or f64: candle has no products of bf16.
fn loss(variables: &[(String, Var)], batch: u32) -> Tensor {
    let [b0, w0, b1, w1] = variables else { panic!("four variables") };
    let dtype = if w0.1.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    let linear = |x: &Tensor, weight: &Var, bias: &Var| {
        x.matmul(&weight.t()?.to_dtype(dtype)?)?.broadcast_add(&bias.to_dtype(dtype)?)
    };
    let hidden = linear(&tensor(batch, (16, 4), dtype), &w0.1, &b0.1).unwrap().tanh().unwrap();
    let found = linear(&hidden, &w1.1, &b1.1).unwrap();
    (found - tensor(batch + 7, (16, 2), dtype)).unwrap().sqr().unwrap().mean_all().unwrap()
}

fn gradients(variables: &[(String, Var)], batch: u32) -> GradStore {
    loss(variables, batch).backward().unwrap()
}

fn values(variable: &Var) -> Vec<f64> {
    variable.flatten_all().unwrap().to_dtype(DType::F64).unwrap().to_vec1().unwrap()
}

/// The bits of all variables; those of 16 and 32 bits are exact as f64.
fn bits(variables: &[(String, Var)]) -> Vec<Vec<u64>> {
    variables.iter().map(|(_, variable)| values(variable).into_iter().map(f64::to_bits).collect()).collect()
}

fn trainer(variables: &[(String, Var)], config: Config) -> Trainer {
    Trainer::new(vars(variables), config).unwrap()
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

/// Twenty steps of both optimizers from the same values.
fn assert_near<O: Optimizer>(config: Config, expected: impl Fn(Vec<Var>) -> O) {
    let (own, candles) = (perceptron(DType::F64), perceptron(DType::F64));
    let (mut trainer, mut expected) = (trainer(&own, config), expected(vars(&candles)));
    for batch in 0..20 {
        if batch == 10 {
            trainer.set_learning_rate(0.005);
            expected.set_learning_rate(0.005);
        }
        trainer.backward_step(&loss(&own, batch)).unwrap();
        expected.backward_step(&loss(&candles, batch)).unwrap();
        assert_eq!(trainer.learning_rate(), expected.learning_rate());
    }
    for ((name, own), (_, expected)) in own.iter().zip(&candles) {
        for (a, b) in values(own).into_iter().zip(values(expected)) {
            assert!((a - b).abs() <= 1e-11, "{name}: {a}, expected {b}");
        }
    }
}

#[test]
fn a_model_of_layers_learns() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("gradstep_candle_layers_{}.safetensors", std::process::id()));
    let (x, y) = (tensor(1, (16, 4), DType::F32), tensor(2, (16, 1), DType::F32));
    let variables = VarMap::new();
    let model = candle_nn::linear(4, 1, VarBuilder::from_varmap(&variables, DType::F32, CPU))?;
    let mean_square = || candle_nn::loss::mse(&model.forward(&x)?, &y);
    let first = mean_square()?.to_scalar::<f32>()?;
    // docs:begin trainer
    let adam_w = AdamW::new(1e-2).weight_decay(1e-2);
    let config = Config::new(adam_w).updater(UpdaterOptions::default().max_norm(1.0));
    let mut trainer = Trainer::from_var_map(&variables, config)?;
    for _ in 0..20 {
        let loss = candle_nn::loss::mse(&model.forward(&x)?, &y)?;
        trainer.backward_step(&loss)?;
    }
    trainer.save(&path)?;
    // docs:end trainer
    assert!(mean_square()?.to_scalar::<f32>()? < first);
    std::fs::remove_file(path)?;
    Ok(())
}

#[test]
fn sgd_is_that_of_candle() {
    assert_near(Config::new(Sgd::new(0.1)), |vars| candle_nn::SGD::new(vars, 0.1).unwrap());
}

#[test]
fn adam_and_adam_w_are_those_of_candle() {
    for weight_decay in [0.0, 0.1] {
        let params = candle_nn::ParamsAdamW { lr: 0.01, weight_decay, ..Default::default() };
        let adam_w = AdamW::new(0.01).weight_decay(weight_decay);
        assert_near(Config::new(adam_w), |vars| candle_nn::AdamW::new(vars, params.clone()).unwrap());
    }
}

/// A handle on copies of the gradients, made contiguous, and of the variables.
fn assert_bits<T: Element + candle_core::WithDType>(dtype: DType) {
    let context = Context::new().unwrap();
    let adam = Adam::new(0.01).weight_decay(0.1);
    let own = perceptron(dtype);
    let schema = Variables::new(own.clone()).parameters().unwrap();
    let mut direct = gradstep::Optimizer::new(&context, &adam, &schema).unwrap();
    let flat = |tensor: &Tensor| tensor.flatten_all().unwrap().to_vec1::<T>().unwrap();
    let mut slices: Vec<_> = own.iter().map(|(_, variable)| flat(variable)).collect();
    let mut trainer = trainer(&own, Config::new(adam));
    for batch in 0..5 {
        let mut gradients = gradients(&own, batch);
        let transposed = gradients.get(&own[1].1).unwrap().t().unwrap().contiguous().unwrap().t().unwrap();
        assert!(!transposed.is_contiguous());
        gradients.insert(&own[1].1, transposed);
        let copies: Vec<_> = own.iter().map(|(_, variable)| flat(gradients.get(variable).unwrap())).collect();
        trainer.step(&gradients).unwrap();
        let shape = |i: usize| own[i].1.dims();
        let grads: Vec<_> =
            copies.iter().enumerate().map(|(i, copy)| gradstep::Tensor::new(copy, shape(i)).unwrap()).collect();
        let params = slices.iter_mut().enumerate().map(|(i, slice)| TensorMut::new(slice, shape(i)).unwrap());
        direct.step(&mut params.collect::<Vec<_>>(), &grads).unwrap();
    }
    for ((name, variable), slice) in own.iter().zip(slices) {
        assert!(flat(variable) == slice, "{name} as {dtype:?}");
    }
}

#[test]
fn steps_have_the_bits_of_steps_on_slices() {
    assert_bits::<f32>(DType::F32);
    assert_bits::<f64>(DType::F64);
    assert_bits::<half::f16>(DType::F16);
    assert_bits::<half::bf16>(DType::BF16);
}

#[test]
fn variables_stay_where_they_are() {
    let own = perceptron(DType::F32);
    let places = || -> Vec<_> {
        let place = |(_, variable): &(String, Var)| match &*variable.storage_and_layout().0 {
            Storage::Cpu(CpuStorage::F32(values)) => values.as_ptr(),
            other => panic!("{other:?}"),
        };
        own.iter().map(place).collect()
    };
    let (before, first) = (places(), bits(&own));
    let mut trainer = trainer(&own, Config::new(Shampoo::new(0.01)));
    trainer.backward_step(&loss(&own, 0)).unwrap();
    assert_eq!(places(), before);
    assert_ne!(bits(&own), first);
}

#[test]
fn micro_batches_are_accumulated_and_their_mean_is_clipped() {
    let config =
        |updater| Config::new(Sgd::new(1.0)).accumulator(AccumulatorOptions::default().steps(2)).updater(updater);
    let own = perceptron(DType::F64);
    let before: Vec<_> = own.iter().map(|(_, variable)| values(variable)).collect();
    let mut trainer = trainer(&own, config(UpdaterOptions::default().max_norm(0.5)));
    let batches = [gradients(&own, 3), gradients(&own, 4)];
    assert!(!trainer.push(&batches[0], 1.0).unwrap());
    assert!(trainer.push(&batches[1], 1.0).unwrap());
    let mean = |variable: &Var| {
        let [a, b] = batches.each_ref().map(|batch| batch.get(variable).unwrap());
        ((a + b).unwrap() / 2.0).unwrap().flatten_all().unwrap().to_vec1::<f64>().unwrap()
    };
    let means: Vec<_> = own.iter().map(|(_, variable)| mean(variable)).collect();
    let norm = means.iter().flatten().map(|g| g * g).sum::<f64>().sqrt();
    assert!(norm > 0.5, "{norm}");
    for (((name, variable), before), mean) in own.iter().zip(before).zip(means) {
        for ((after, before), mean) in values(variable).into_iter().zip(before).zip(mean) {
            let expected = before - mean * 0.5 / norm;
            assert!((after - expected).abs() < 1e-6, "{name}: {after}, expected {expected}");
        }
    }
    // A window of one, by hand.
    trainer.push(&gradients(&own, 5), 1.0).unwrap();
    assert_eq!(trainer.lend(|updater, parameters| updater.flush(parameters)), Ok(true));
    assert_eq!(trainer.updater().statistics().unwrap().steps, 2);
}

#[test]
fn variables_without_a_gradient_and_those_of_integers_are_left_alone() {
    let mut own = perceptron(DType::F32);
    let counter = Var::from_tensor(&Tensor::new(&[3u32, 4], CPU).unwrap()).unwrap();
    let alone = Var::from_tensor(&tensor(9, (2, 2), DType::F32)).unwrap();
    let before = values(&alone);
    let mut all = vars(&own);
    all.splice(1..1, [counter.clone(), alone.clone()]);
    let mut trainer = Trainer::new(all, Config::new(Adam::new(0.1))).unwrap();
    trainer.backward_step(&loss(&own, 0)).unwrap();
    assert_eq!(values(&alone), before);
    assert_eq!(counter.to_vec1::<u32>().unwrap(), [3, 4]);
    let stepped = bits(&own);
    own = perceptron(DType::F32);
    self::trainer(&own, Config::new(Adam::new(0.1))).backward_step(&loss(&own, 0)).unwrap();
    assert_eq!(bits(&own), stepped);
}

/// A map with the variables, which are then in no certain order.
fn map(variables: &[(String, Var)]) -> VarMap {
    let map = VarMap::new();
    map.data().lock().unwrap().extend(variables.iter().cloned());
    map
}

#[test]
fn a_run_goes_on_from_its_saved_state_by_the_names_of_its_variables() {
    let path = std::env::temp_dir().join(format!("gradstep_candle_{}.safetensors", std::process::id()));
    let make = |own: &[(String, Var)]| Trainer::from_var_map(&map(own), Config::new(Adam::new(0.1))).unwrap();
    let (first, second) = (perceptron(DType::F32), perceptron(DType::F32));
    let mut trainer = make(&first);
    (0..3).for_each(|batch| trainer.backward_step(&loss(&first, batch)).unwrap());
    trainer.save(&path).unwrap();
    for ((_, from), (_, to)) in first.iter().zip(&second) {
        to.set(from).unwrap();
    }
    trainer.backward_step(&loss(&first, 3)).unwrap();
    let mut resumed = make(&second);
    resumed.load(&path).unwrap();
    resumed.backward_step(&loss(&second, 3)).unwrap();
    assert_eq!(bits(&second), bits(&first));
    let mut nameless = self::trainer(&second, Config::new(Adam::new(0.1)));
    let text = text!(nameless.load(&path), Mismatch);
    assert!(text.contains("param.0") || text.contains("0.bias"), "{text}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn ranks_step_by_the_mean_of_their_gradients() {
    let context = Context::builder().num_threads(1).build().unwrap();
    let work = |rank: usize, comm: Communicator| {
        let own = perceptron(DType::F32);
        if rank == 1 {
            own[0].1.set(&tensor(50, (1, 8), DType::F32)).unwrap();
        }
        let variables = Variables::new(own.clone());
        let schema = variables.parameters().unwrap();
        let parts = Parts::new(gradstep::Optimizer::new(&context, &Sgd::new(0.5), &schema).unwrap())
            .reducer(Reducer::new(&context, &comm, &ReducerOptions::default(), &schema).unwrap());
        let updater = Updater::new(&context, parts, &UpdaterOptions::default()).unwrap();
        let mut trainer = Trainer::from_updater(variables, updater);
        trainer.lend(|_, parameters| parameters.iter_mut().try_for_each(|each| comm.broadcast(each, 0))).unwrap();
        trainer.backward_step(&loss(&own, rank as u32)).unwrap();
        own.iter().map(|(_, variable)| values(variable)).collect::<Vec<_>>()
    };
    let found = on_ranks(Communicator::local(&context, 2).unwrap(), work);
    assert_eq!(found[0], found[1]);
    let own = perceptron(DType::F32);
    let batches = [gradients(&own, 0), gradients(&own, 1)];
    for ((name, variable), found) in own.iter().zip(&found[0]) {
        let sum = batches.each_ref().map(|batch| batch.get(variable).unwrap());
        let expected = (variable.as_tensor() - ((sum[0] + sum[1]).unwrap() * 0.25).unwrap()).unwrap();
        for (a, b) in found.iter().zip(values(&Var::from_tensor(&expected).unwrap())) {
            assert!((a - b).abs() < 1e-6, "{name}: {a}, expected {b}");
        }
    }
}

#[test]
fn what_cannot_be_stepped_is_named() {
    let eight = Var::from_tensor(&tensor(0, (2, 2), DType::F32).to_dtype(DType::F8E4M3).unwrap()).unwrap();
    let variables = Variables::new([(String::from("fc.weight"), eight.clone())]);
    for text in [text!(variables.parameters(), Unsupported), text!(variables.lend(|_| Ok::<_, Error>(())), Unsupported)]
    {
        assert_eq!(text, r#"variable "fc.weight": F8E4M3, expected f32, f64, f16 or bf16"#);
    }
    let error = Trainer::new(vec![eight], Config::new(Sgd::new(0.1))).unwrap_err().to_string();
    assert!(error.contains(r#"UNSUPPORTED: variable "param.0": F8E4M3"#), "{error}");

    let tied = Var::from_tensor(&tensor(0, (2, 2), DType::F32)).unwrap();
    let variables = Variables::new(["decoder", "encoder"].map(|name| (String::from(name), tied.clone())));
    let text = text!(variables.parameters(), InvalidArgument);
    assert_eq!(text, r#"variable "encoder": the variable "decoder" again, expected each once"#);
    let text = text!(variables.lend(|_| Ok::<_, Error>(())), InvalidState);
    assert_eq!(text, r#"variable "encoder": another call has its memory"#);
    assert_eq!(values(&tied).len(), 4);

    let error = text!(Trainer::from_var_map(&VarMap::new(), Config::new(Sgd::new(-1.0))), InvalidArgument);
    assert!(error.contains("learning_rate"), "{error}");
}

#[test]
fn gradients_that_do_not_fit_change_nothing() {
    let own = perceptron(DType::F32);
    let before = bits(&own);
    let mut trainer = Trainer::from_var_map(&map(&own), Config::new(Sgd::new(0.1))).unwrap();
    let cases = [
        (own[3].1.as_tensor().clone(), "INVALID_ARGUMENT", r#"gradient of "1.weight": is a variable itself"#),
        (Tensor::new(&[[1u32; 8]; 2], CPU).unwrap(), "UNSUPPORTED", r#"gradient of "1.weight": expected f32"#),
        (tensor(0, (3, 8), DType::F32), "INVALID_ARGUMENT", "grads[3]"),
    ];
    for (gradient, status, expected) in cases {
        let mut store = gradients(&own, 0);
        store.insert(&own[3].1, gradient);
        let error = trainer.step(&store).unwrap_err().to_string();
        assert!(error.contains(status) && error.contains(expected), "{error}");
        assert_eq!(bits(&own), before);
    }
    trainer.set_learning_rate(-2.0);
    let text = text!(trainer.push(&gradients(&own, 0), 1.0), InvalidArgument);
    assert!(text.contains("learning_rate") && text.contains("-2"), "{text}");
    assert_eq!(bits(&own), before);
    trainer.step(&gradients(&own, 0)).unwrap();
    assert_ne!(bits(&own), before);
}

#[test]
fn lent_memory_comes_back_whatever_happens() {
    let own = perceptron(DType::F32);
    let (before, variables) = (bits(&own), Variables::new(own.clone()));
    let caught = catch_unwind(AssertUnwindSafe(|| {
        variables.lend(|parameters| -> gradstep::Result<()> {
            assert_eq!(parameters.len(), 4);
            // candle has no operation for a variable whose memory is lent, and it cannot be lent again.
            assert!((own[0].1.as_tensor() + 1.0).is_err());
            assert!(matches!(variables.lend(|_| Ok::<_, Error>(())), Err(Error::InvalidState(_))));
            panic!("by the host")
        })
    }));
    assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"by the host"));
    assert_eq!(bits(&own), before);
}

#[test]
fn groups_of_a_schema_have_their_own_values() {
    let own = perceptron(DType::F32);
    let (context, variables) = (Context::new().unwrap(), Variables::new(own.clone()));
    let of_bias = |(parameter, (name, _)): (Parameter, &(String, Var))| parameter.group(name.ends_with("bias").into());
    let schema: Vec<_> = variables.parameters().unwrap().into_iter().zip(&own).map(of_bias).collect();
    let mut optimizer = gradstep::Optimizer::new(&context, &Sgd::new(0.1), &schema).unwrap();
    optimizer.set_value("learning_rate", Some(1), 0.0).unwrap();
    let updater = Updater::new(&context, Parts::new(optimizer), &UpdaterOptions::default()).unwrap();
    let before = bits(&own);
    Trainer::from_updater(variables, updater).backward_step(&loss(&own, 0)).unwrap();
    for (((name, _), before), after) in own.iter().zip(before).zip(bits(&own)) {
        assert_eq!(before == after, name.ends_with("bias"), "{name}");
    }
}
