// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! What each handle promises, over the border and back.

use gradstep::{
    Accumulator, AccumulatorOptions, Adam, AdamW, Communicator, Context, DecayMode, Error, Lamb, Lion, LoadOptions,
    NamedRule, Optimizer, Parameter, ReduceOp, Rule, Schedule, Sgd, Shampoo, StateDtype, StepOptions, Tensor,
    TensorMut,
};

fn sgd(context: &Context, rule: &Sgd) -> Optimizer {
    Optimizer::new(context, rule, &[Parameter::new(&[2]).name("w")]).unwrap()
}

fn step(optimizer: &mut Optimizer, weight: &mut [f32; 2], gradient: &[f32; 2]) -> gradstep::Result<()> {
    optimizer.step(&mut [TensorMut::new(weight, &[2])?], &[Tensor::new(gradient, &[2])?])
}

#[test]
fn rules_with_structs_in_c_take_the_options_of_all_and_go_by_group() -> Result<(), Error> {
    let adam = Adam::new(0.25).decay_mode(DecayMode::Independent).weight_decay(0.5);
    let parameters = [Parameter::new(&[1]).group(0), Parameter::new(&[1]).group(1)];
    let mut optimizer = Optimizer::by_group(&Context::new()?, &[adam.into(), Sgd::new(0.5).into()], &parameters)?;
    let (mut first, mut second, gradient) = ([1.0f64], [1.0f64], [4.0f64]);
    let grads = [Tensor::new(&gradient, &[1])?, Tensor::new(&gradient, &[1])?];
    let error = optimizer.step(&mut [TensorMut::new(&mut first, &[1])?, TensorMut::new(&mut second, &[1])?], &grads);
    assert!(matches!(error, Err(Error::InvalidArgument(_)))); // the schema says f32
    let (mut first, mut second, gradient) = ([1.0f32], [1.0f32], [4.0f32]);
    let grads = [Tensor::new(&gradient, &[1])?, Tensor::new(&gradient, &[1])?];
    optimizer.step(&mut [TensorMut::new(&mut first, &[1])?, TensorMut::new(&mut second, &[1])?], &grads)?;
    // Adam's first step is as long as the learning rate; half of the weight decays, whatever the learning rate is.
    assert!((first[0] - 0.25).abs() < 1e-6, "{first:?}");
    assert_eq!(second, [-1.0]);
    Ok(())
}

#[test]
fn adamw_is_a_name_and_shampoo_takes_its_place() -> Result<(), Error> {
    let context = Context::new()?;
    let stepped = |rule: &dyn Fn() -> gradstep::Result<Optimizer>| -> gradstep::Result<[f32; 2]> {
        let (mut optimizer, mut weight) = (rule()?, [1.0, -1.0]);
        for gradient in [[0.5, 2.0], [-1.0, 2.0]] {
            step(&mut optimizer, &mut weight, &gradient)?;
        }
        Ok(weight)
    };
    let schema = [Parameter::new(&[2]).name("w")];
    let adamw = AdamW::new(0.25).beta1(0.0).beta2(0.5).epsilon(0.125).weight_decay(0.5);
    let adam = Adam::new(0.25).beta1(0.0).beta2(0.5).epsilon(0.125).weight_decay(0.5).decoupled_weight_decay(true);
    let expected = stepped(&|| Optimizer::new(&context, &adam, &schema))?;
    assert_eq!(stepped(&|| Optimizer::new(&context, &adamw, &schema))?, expected);
    assert_eq!(stepped(&|| Optimizer::new(&context, &NamedRule::from(adamw), &schema))?, expected);
    // Without matrices, and without a mean over the steps, Shampoo's step is that of its grafting rule.
    let shampoo = Shampoo::from_adamw(&adamw).precondition(0.0);
    let found = stepped(&|| Optimizer::new(&context, &shampoo, &schema))?;
    assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6), "{found:?}");
    Ok(())
}

#[test]
fn a_step_is_made_in_place() {
    let mut optimizer = sgd(&Context::new().unwrap(), &Sgd::new(0.5)); // which outlives its context
    let mut weight = [1.0f32, 2.0];
    step(&mut optimizer, &mut weight, &[1.0, -1.0]).unwrap();
    assert_eq!(weight, [0.5, 2.5]);
    assert_eq!(optimizer.step_count(), Ok(1));
}

#[test]
fn the_step_of_the_guide() -> gradstep::Result<()> {
    // docs:begin step
    use gradstep::{Adam, Context, Optimizer, Parameter, Tensor, TensorMut};

    let context = Context::new()?;
    let parameters = [Parameter::new(&[2, 2]).name("weight")];
    let mut adam = Optimizer::new(&context, &Adam::new(0.25), &parameters)?;
    let (mut weight, gradient) = ([0.0f32; 4], [1.0f32, -1.0, 2.0, -2.0]);
    adam.step(&mut [TensorMut::new(&mut weight, &[2, 2])?], &[Tensor::new(&gradient, &[2, 2])?])?;
    // docs:end step
    // Adam's first step is as long as the learning rate, against the gradient's sign, but for epsilon.
    for (w, expected) in weight.iter().zip([-0.25f32, 0.25, -0.25, 0.25]) {
        assert!((w - expected).abs() < 1e-6, "{weight:?}");
    }
    Ok(())
}

#[test]
fn groups_have_rules_of_their_own_and_weights_an_average() {
    let context = Context::new().unwrap();
    let lion = NamedRule::new("lion").number("learning_rate", 0.5).number("average_decay", 0.5);
    let groups = [lion, NamedRule::new("sgd").number("learning_rate", 0.25).number("average_decay", 0.5)];
    let parameters = [Parameter::new(&[2]), Parameter::new(&[1]).group(1)];
    let mut optimizer = Optimizer::by_group(&context, &groups, &parameters).unwrap();
    let (mut a, mut b) = ([1.0f32, 2.0], [3.0f32]);
    let average = |optimizer: &mut Optimizer| -> gradstep::Result<([f32; 2], [f32; 1])> {
        let (mut first, mut second) = ([0.0f32; 2], [0.0f32]);
        optimizer.average(&mut [TensorMut::new(&mut first, &[2])?, TensorMut::new(&mut second, &[1])?])?;
        Ok((first, second))
    };
    assert!(average(&mut optimizer).unwrap_err().to_string().contains("has no average yet"));
    for _ in 0..2 {
        let params = &mut [TensorMut::new(&mut a, &[2]).unwrap(), TensorMut::new(&mut b, &[1]).unwrap()];
        let grads = [Tensor::new(&[7.0f32, -7.0], &[2]).unwrap(), Tensor::new(&[1.0f32], &[1]).unwrap()];
        optimizer.step(params, &grads).unwrap();
    }
    assert_eq!((a, b), ([0.0, 3.0], [2.5]));
    assert_eq!(average(&mut optimizer).unwrap(), ([0.25, 2.75], [2.625]));
    let missing = Optimizer::by_group(&context, &groups, &[Parameter::new(&[2]).group(2)]);
    assert!(missing.err().unwrap().to_string().contains("its group is 2"));
}

#[test]
fn a_rule_is_made_by_its_name_and_options() {
    let context = Context::new().unwrap();
    let lion = NamedRule::new("lion").number("learning_rate", 0.5).flag("maximize", true).text("state_dtype", "bf16");
    let parameters = [Parameter::new(&[2]).name("w")];
    let mut optimizer = Optimizer::new(&context, &lion, &parameters).unwrap();
    let mut weight = [1.0f32, 2.0];
    step(&mut optimizer, &mut weight, &[3.0, -0.25]).unwrap();
    assert_eq!(weight, [1.5, 1.5]);
    assert_eq!(Optimizer::state_bytes(&lion, &parameters), Ok(4));
    for (rule, text) in [
        (NamedRule::new("lions"), "rule: 'lions' is not known"),
        (lion.clone().number("lr", 1.0), "options[3].name: 'lr' is not an option of lion"),
        (NamedRule::new("lion"), "options: learning_rate is not there"),
        (NamedRule::new("li\0on"), "rule"),
    ] {
        match Optimizer::new(&context, &rule, &parameters) {
            Err(Error::InvalidArgument(found)) => assert!(found.contains(text), "{found}"),
            other => panic!("{:?}", other.err()),
        }
    }
}

#[test]
fn a_typed_rule_is_the_rule_of_its_name() {
    let context = Context::new().unwrap();
    let parameters = [Parameter::new(&[2]).name("w")];
    let stepped = |mut optimizer: Optimizer| {
        let mut weight = [1.0f32, 2.0];
        step(&mut optimizer, &mut weight, &[3.0, -0.25]).unwrap();
        step(&mut optimizer, &mut weight, &[-1.0, 0.5]).unwrap();
        weight.map(f32::to_bits)
    };
    fn made(context: &Context, rule: &impl Rule, parameters: &[Parameter]) -> Optimizer {
        Optimizer::new(context, rule, parameters).unwrap()
    }
    let lion = Lion::new(0.5).beta1(0.5).maximize(true).state_dtype(StateDtype::Bf16).seed(i64::MIN);
    let seed = i64::MIN.to_string();
    let named = NamedRule::new("lion").number("learning_rate", 0.5).number("beta1", 0.5).flag("maximize", true);
    let named = named.text("state_dtype", "bf16").text("seed", &seed);
    assert_eq!(stepped(made(&context, &lion, &parameters)), stepped(made(&context, &named, &parameters)));
    assert_eq!(Optimizer::state_bytes(&lion, &parameters), Ok(4));
    let by_group = Optimizer::by_group(&context, &[lion.into()], &parameters).unwrap();
    assert_eq!(stepped(by_group), stepped(made(&context, &named, &parameters)));
    let lamb = Lamb::new(0.5).weight_decay(0.25).decay_mode(DecayMode::Coupled);
    let named = NamedRule::new("lamb").number("learning_rate", 0.5).number("weight_decay", 0.25);
    let named = named.text("decay_mode", "coupled");
    assert_eq!(stepped(made(&context, &lamb, &parameters)), stepped(made(&context, &named, &parameters)));
    match Optimizer::new(&context, &Lion::new(0.5).beta1(1.0), &parameters) {
        Err(Error::InvalidArgument(found)) => assert!(found.contains("(beta1): is 1"), "{found}"),
        other => panic!("{:?}", other.err()),
    }
}

#[test]
fn rules_describe_themselves() {
    let rules = gradstep::describe_rules().unwrap();
    let adam = rules.iter().find(|rule| rule.name == "adam").unwrap();
    assert_eq!(adam.states, ["exp_avg", "exp_avg_sq", "max_exp_avg_sq"]);
    let option = |name: &str| adam.options.iter().find(|option| option.name == name).unwrap();
    assert_eq!((option("beta2").default, option("beta2").limit), (Some(0.999), 1.0));
    assert_eq!(option("learning_rate").default, None);
    assert_eq!(option("bias_correction").choices, ["standard", "tf"]);
    assert_eq!(option("amsgrad").kind, Some(gradstep::OptionKind::Flag));
    assert!(rules.iter().all(|rule| !rule.source.is_empty() && !rule.formula.is_empty()));
}

#[test]
fn rules_are_written_as_text() {
    let context = Context::new().unwrap();
    let text = "rule rust_momentum\nhyper learning_rate; share = 0.5 in [0, 1)\nstate m\n\
                m = share * m + (1 - share) * g\np = p - learning_rate * m\n";
    let name = gradstep::define_rule(&context, text).unwrap();
    assert_eq!(name, "rust_momentum");
    assert_eq!(gradstep::define_rule(&context, text).unwrap(), name);
    let rules = gradstep::describe_rules().unwrap();
    assert!(rules.iter().any(|rule| rule.name == name && rule.formula == text && rule.states == ["m"]));
    let rule = NamedRule::new(&name).number("learning_rate", 2.0);
    let parameters = [Parameter::new(&[2])];
    let mut optimizer = Optimizer::new(&context, &rule, &parameters).unwrap();
    let mut weight = [1.0f32, 2.0];
    step(&mut optimizer, &mut weight, &[0.5, -1.0]).unwrap();
    assert_eq!(weight, [0.5, 3.0]);
    match gradstep::define_rule(&context, "rule rust_bad\np = p + q") {
        Err(Error::InvalidArgument(found)) => {
            assert!(found.contains("line 2, column 9: expected one of g, p, t, found 'q'"), "{found}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_option_of_momentum_arrives() {
    let context = Context::new().unwrap();
    let mut optimizer = sgd(&context, &Sgd::new(0.5).momentum(0.5).nesterov(true).maximize(true));
    let mut weight = [0.0f32, 0.0];
    step(&mut optimizer, &mut weight, &[2.0, 0.0]).unwrap();
    // b = -2, d = g + 0.5 b = -3, p = 0.5 * 3
    assert_eq!(weight, [1.5, 0.0]);
    assert_eq!(optimizer.state(0, "momentum_buffer").unwrap().as_slice::<f32>(), Some(&[-2.0, 0.0][..]));
}

#[test]
fn a_momentum_that_becomes_necessary_again_starts_at_zero() {
    let context = Context::new().unwrap();
    let mut optimizer = sgd(&context, &Sgd::new(0.5).momentum(0.5));
    step(&mut optimizer, &mut [0.0; 2], &[2.0, 1.0]).unwrap();
    let buffer = |optimizer: &Optimizer| {
        optimizer.state(0, "momentum_buffer").map(|state| state.as_slice::<f32>().map(<[f32]>::to_vec))
    };
    assert_eq!(buffer(&optimizer), Ok(Some(vec![2.0, 1.0])));
    optimizer.set_value("momentum", None, 0.0).unwrap();
    optimizer.set_value("momentum", None, 0.5).unwrap(); // for which no view of the buffer may be in use
    assert_eq!(buffer(&optimizer), Ok(Some(vec![0.0, 0.0])));
}

#[test]
fn an_error_has_the_librarys_words() {
    let context = Context::new().unwrap();
    let error = Optimizer::new(&context, &Adam::default(), &[Parameter::new(&[2])]).unwrap_err();
    assert!(matches!(&error, Error::InvalidArgument(text) if text.contains("learning_rate")), "{error}");
    let mut optimizer = sgd(&context, &Sgd::new(0.5));
    let (mut weight, gradient) = ([0.0f32; 2], [0.0f32; 3]);
    let error = optimizer
        .step(&mut [TensorMut::new(&mut weight, &[2]).unwrap()], &[Tensor::new(&gradient, &[3]).unwrap()])
        .unwrap_err();
    assert!(matches!(&error, Error::InvalidArgument(text) if text.contains("grads[0]")), "{error}");
    let error = optimizer.set_value("no_such", None, 1.0).unwrap_err();
    assert!(error.text().contains("no_such") && error.text().contains("learning_rate"), "{error}");
}

#[test]
fn lists_of_other_lengths_are_refused_before_c_reads_them() {
    let mut optimizer = sgd(&Context::new().unwrap(), &Sgd::new(0.5));
    let mut weight = [0.0f32; 2];
    let error = optimizer.step(&mut [TensorMut::new(&mut weight, &[2]).unwrap()], &[]).unwrap_err();
    assert_eq!(error.text(), "grads: 0 tensors, expected 1, one for each parameter");
}

#[test]
fn a_tensor_has_the_elements_of_its_shape() {
    let error = Tensor::new(&[0.0f32; 5], &[2, 3]).unwrap_err();
    assert_eq!(error.text(), "data: 5 elements, expected 6 for the shape [2, 3]");
    assert!(Tensor::new(&[0.0f32; 5], &[usize::MAX, 2]).is_err());
    let name = Parameter::new(&[1]).name("a\0b");
    let error = Optimizer::new(&Context::new().unwrap(), &Sgd::new(1.0), &[name]).unwrap_err();
    assert_eq!(error.text(), "parameters[0].name has a NUL at byte 1");
}

#[test]
fn a_schedule_is_a_closure_and_its_panic_an_error() {
    let mut optimizer = sgd(&Context::new().unwrap(), &Sgd::new(0.5));
    let mut weight = [0.0f32; 2];
    let schedule = Schedule::function(|t| if t < 1 { 0.25 } else { panic!("no rate for step {t}") });
    optimizer.set_schedule("learning_rate", None, &schedule).unwrap();
    step(&mut optimizer, &mut weight, &[1.0, 0.0]).unwrap();
    assert_eq!(weight, [-0.25, 0.0]);
    let error = step(&mut optimizer, &mut weight, &[1.0, 0.0]).unwrap_err();
    assert!(matches!(&error, Error::Callback(text) if text.contains("panicked: no rate for step 1")), "{error}");
    assert_eq!(weight, [-0.25, 0.0], "a step that fails changes nothing");
    drop(schedule);
    optimizer.set_value("learning_rate", None, 1.0).unwrap();
    step(&mut optimizer, &mut weight, &[1.0, 0.0]).unwrap();
    assert_eq!(weight, [-1.25, 0.0]);
}

#[test]
fn a_schedule_is_released_once() {
    let counter = std::sync::Arc::new(());
    let held = counter.clone();
    let schedule = Schedule::function(move |_| {
        let _ = &held;
        1.0
    });
    let mut optimizer = sgd(&Context::new().unwrap(), &Sgd::new(0.5));
    assert!(optimizer.set_schedule("no_such", None, &schedule).is_err());
    optimizer.set_schedule("learning_rate", None, &schedule).unwrap();
    drop(schedule);
    assert_eq!(std::sync::Arc::strong_count(&counter), 2);
    drop(optimizer);
    assert_eq!(std::sync::Arc::strong_count(&counter), 1);
}

#[test]
fn a_second_thread_on_a_handle_gets_invalid_state() {
    use std::sync::mpsc::channel;
    let mut optimizer = sgd(&Context::new().unwrap(), &Sgd::new(0.5));
    let ((entered, inside), (leave, may_leave)) = (channel::<()>(), channel::<()>());
    let may_leave = std::sync::Mutex::new(may_leave);
    let schedule = Schedule::function(move |_| {
        entered.send(()).unwrap();
        may_leave.lock().unwrap().recv().unwrap();
        0.125
    });
    optimizer.set_schedule("learning_rate", None, &schedule).unwrap();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| optimizer.get_value("learning_rate", 0));
        inside.recv().unwrap();
        assert!(matches!(optimizer.step_count(), Err(Error::InvalidState(_))));
        leave.send(()).unwrap();
        assert_eq!(first.join().unwrap(), Ok(0.125));
    });
    assert_eq!(optimizer.step_count(), Ok(0));
}

#[test]
fn options_of_a_step_arrive_and_its_result_returns() {
    let mut optimizer = sgd(&Context::new().unwrap(), &Sgd::new(1.0));
    let (mut weight, gradient) = ([0.0f32; 2], [3.0f32, 4.0]);
    let options = StepOptions { max_norm: 2.5, ..Default::default() };
    let result = optimizer
        .step_with(&mut [TensorMut::new(&mut weight, &[2]).unwrap()], &[Tensor::new(&gradient, &[2]).unwrap()], options)
        .unwrap();
    assert!(result.applied && result.grad_norm == 5.0);
    // c = 2.5 / (5 + 1e-6), rounded to f32 in the end: 1e-6 is above that.
    assert!((result.clip_coefficient - 0.5).abs() < 1e-6 && (weight[0] + 1.5).abs() < 1e-5);
}

#[test]
fn an_accumulator_means_its_window() {
    let context = Context::new().unwrap();
    let options = AccumulatorOptions::default().steps(2);
    let mut accumulator =
        Accumulator::new(&context, &options, &[Parameter::new(&[2]), Parameter::new(&[1]).may_be_unused(true)])
            .unwrap();
    assert!(matches!(accumulator.gradients(), Err(Error::InvalidState(_))));
    let (first, second) = ([1.0f32, 2.0], [3.0f32, 6.0]);
    let absent = Tensor::ABSENT;
    assert_eq!(accumulator.add(&[Tensor::new(&first, &[2]).unwrap(), absent], 1.0), Ok(false));
    assert_eq!(accumulator.add(&[Tensor::new(&second, &[2]).unwrap(), absent], 1.0), Ok(true));
    let views = accumulator.gradients().unwrap();
    assert_eq!(views[0].as_slice::<f32>(), Some(&[2.0, 4.0][..]));
    assert_eq!(views[0].as_slice::<f64>(), None);
    assert!(views[1].is_absent());
}

#[test]
fn saved_state_continues_with_the_same_bits() {
    let context = Context::new().unwrap();
    let (mut one, mut other) =
        (sgd(&context, &Sgd::new(0.1).momentum(0.9)), sgd(&context, &Sgd::new(0.1).momentum(0.9)));
    let mut weight = [1.0f32, 2.0];
    step(&mut one, &mut weight, &[0.3, 0.7]).unwrap();
    let mut file = Vec::new();
    one.save_to(Some(&mut file)).unwrap();
    other.load_from(&mut &file[..], &LoadOptions::default()).unwrap();
    let mut copy = weight;
    step(&mut one, &mut weight, &[0.1, 0.2]).unwrap();
    step(&mut other, &mut copy, &[0.1, 0.2]).unwrap();
    assert_eq!(weight.map(f32::to_bits), copy.map(f32::to_bits));
    file[20] ^= 1;
    assert!(matches!(other.load_from(&mut &file[..], &LoadOptions::default()), Err(Error::Corrupt(_))));
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is full"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let error = one.save_to(Some(&mut Full)).unwrap_err();
    assert!(matches!(&error, Error::Callback(text) if text.contains("the disk is full")), "{error}");
}

#[test]
fn ranks_in_threads_sum_and_split() {
    let ranks = Communicator::local(&Context::new().unwrap(), 3).unwrap();
    std::thread::scope(|scope| {
        for comm in ranks {
            scope.spawn(move || {
                let rank = comm.rank().unwrap();
                let mut sums = vec![rank as f32, 1.0];
                comm.all_reduce(&mut sums, ReduceOp::Sum).unwrap();
                assert_eq!(sums, [3.0, 3.0]);
                let mut all = [0i64; 3];
                comm.all_gather(&[i64::from(rank)], &mut all).unwrap();
                assert_eq!(all, [0, 1, 2]);
                let pair = comm.split((rank < 2).then_some(0), rank).unwrap();
                assert_eq!(pair.map(|pair| pair.world_size().unwrap()), (rank < 2).then_some(2));
                // Any number from 0 on: the hash of a host's name, for example.
                let color = if rank < 2 { i32::MAX } else { 65_536 + rank };
                let part = comm.split(Some(color), -rank).unwrap().expect("a color");
                let place = (part.rank().unwrap(), part.world_size().unwrap());
                assert_eq!(place, [(1, 2), (0, 2), (0, 1)][rank as usize]);
                assert_eq!(comm.vote(rank != 1), Ok(false));
            });
        }
    });
    let error = Communicator::local(&Context::new().unwrap(), 2000).unwrap_err();
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
}

#[test]
fn an_abort_ends_the_call_of_another_thread() {
    let ranks = Communicator::local(&Context::new().unwrap(), 2).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| ranks[0].barrier());
        ranks[0].abort().unwrap();
        assert!(matches!(waiting.join().unwrap(), Err(Error::Aborted(_))));
    });
    assert!(matches!(ranks[0].error(), Some(Error::Aborted(_))));
}

#[test]
fn the_hosts_threads_run_every_piece() {
    let pieces = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(0));
    let counter = pieces.clone();
    let run_backwards = move |n: i64, body: &(dyn Fn(i64) + Sync)| {
        counter.fetch_add(n, std::sync::atomic::Ordering::Relaxed);
        (0..n).rev().for_each(body);
    };
    let context = Context::builder().parallel_for(run_backwards).build().unwrap();
    let shape = [1 << 20]; // elements: enough for several pieces
    let mut optimizer = Optimizer::new(&context, &Sgd::new(0.5), &[Parameter::new(&shape)]).unwrap();
    let (mut weight, gradient) = (vec![1.0f32; shape[0]], vec![1.0f32; shape[0]]);
    let mut params = [TensorMut::new(&mut weight, &shape).unwrap()];
    optimizer.step(&mut params, &[Tensor::new(&gradient, &shape).unwrap()]).unwrap();
    assert!(weight.iter().all(|&w| w == 0.5));
    assert!(pieces.load(std::sync::atomic::Ordering::Relaxed) > 1);
}

#[test]
fn shampoo_has_its_state_and_metrics() {
    let context = Context::new().unwrap();
    let rule = Shampoo::new(0.1).start_preconditioning_step(0);
    let mut shampoo = Optimizer::new(&context, &rule, &[Parameter::new(&[2, 2])]).unwrap();
    let (mut weight, gradient) = ([1.0f32; 4], [0.5f32, 0.0, 0.0, 0.25]);
    shampoo
        .step(&mut [TensorMut::new(&mut weight, &[2, 2]).unwrap()], &[Tensor::new(&gradient, &[2, 2]).unwrap()])
        .unwrap();
    assert!(weight[0] < 1.0);
    let metrics = shampoo.metrics().unwrap();
    assert!(metrics.iter().any(|metric| metric.name == "step_count" && metric.value == 1.0));
    assert!(shampoo.memory().unwrap().state_bytes > 0);
}
