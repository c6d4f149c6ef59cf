// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! What hosts do wrong: the C library's words, and nothing changed. Use after a handle is dropped, and memory that
//! moves while it is lent, do not compile: the crate's first page shows that.

mod common;

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use common::on_ranks;
use gradstep::{
    Accumulator, AccumulatorOptions, Allocate, Communicator, Context, Device, Error, LoadOptions, Optimizer, Parameter,
    Reducer, ReducerMode, ReducerOptions, Schedule, Sgd, StepOptions, Tensor, TensorMut,
};

fn schema() -> [Parameter; 1] {
    [Parameter::new(&[2]).name("weight")]
}

fn sgd(context: &Context) -> Optimizer {
    Optimizer::new(context, &Sgd::new(0.5).momentum(0.5), &schema()).unwrap()
}

fn step(optimizer: &mut Optimizer, weight: &mut [f32; 2]) -> gradstep::Result<()> {
    optimizer.step(&mut [TensorMut::new(weight, &[2])?], &[Tensor::new(&[1.0f32, 2.0], &[2])?])
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

#[test]
fn bad_options_are_named_with_what_was_expected() {
    let context = Context::new().unwrap();
    let text = text!(Optimizer::new(&context, &Sgd::new(-1.0), &schema()).map(drop), InvalidArgument);
    assert!(text.contains("learning_rate") && text.contains("-1"), "{text}");
    let options = AccumulatorOptions::default().steps(0);
    let text = text!(Accumulator::new(&context, &options, &schema()).map(drop), InvalidArgument);
    assert!(text.contains("steps") && text.contains('0'), "{text}");
    let alone = Communicator::alone(&context).unwrap();
    let options = ReducerOptions::default().mode(ReducerMode::SparseTopK).sparsity(2.0);
    let text = text!(Reducer::new(&context, &alone, &options, &schema()).map(drop), InvalidArgument);
    assert!(text.contains("sparsity") && text.contains('2'), "{text}");
    let text = text!(Context::builder().num_threads(-3).build().map(drop), InvalidArgument);
    assert!(text.contains("num_threads") && text.contains("-3"), "{text}");
    let text = text!(Optimizer::new(&context, &Sgd::new(1.0), &[Parameter::new(&[1; 33])]).map(drop), InvalidArgument);
    assert!(text.contains("33"), "{text}");
}

#[test]
fn lists_and_shapes_that_c_cannot_have_are_told_as_they_were_given() {
    let context = Context::new().unwrap();
    let schedule = Schedule::piecewise([1, 2], [0.1]);
    let expected = "schedule: 2 boundaries and 1 values, expected one boundary less than values";
    assert_eq!(text!(schedule.value(0), InvalidArgument), expected);
    let mut optimizer = sgd(&context);
    assert_eq!(text!(optimizer.set_schedule("learning_rate", None, &schedule), InvalidArgument), expected);
    let huge = [Parameter::new(&[1]), Parameter::new(&[2, usize::MAX])];
    let text = text!(Optimizer::new(&context, &Sgd::new(1.0), &huge).map(drop), InvalidArgument);
    assert_eq!(text, "parameters[1].shape[1]: is 18446744073709551615, expected at most 9223372036854775807");
}

#[test]
fn the_same_memory_twice_is_refused() {
    let context = Context::new().unwrap();
    let schema = [Parameter::new(&[2]), Parameter::new(&[2])];
    let mut optimizer = Optimizer::new(&context, &Sgd::new(0.5), &schema).unwrap();
    let (mut weight, gradient) = ([1.0f32; 3], [1.0f32; 2]);
    let show = |first: usize| {
        let data = weight[first..].as_ptr().cast_mut().cast();
        // SAFETY: not kept: the two overlap, which the call finds before it writes.
        unsafe { TensorMut::from_raw_parts(data, gradstep::Dtype::F32, Device::Cpu, &[2], None) }
    };
    let mut params = [show(0), show(1)];
    let grads = [Tensor::new(&gradient, &[2]).unwrap(); 2];
    let text = text!(optimizer.step(&mut params, &grads), InvalidArgument);
    assert!(text.contains("overlap"), "{text}");
    weight[0] += 1.0;
    assert_eq!((weight, optimizer.step_count()), ([2.0, 1.0, 1.0], Ok(0)));
}

#[test]
fn streams_are_for_devices() {
    let context = Context::new().unwrap();
    let (mut optimizer, mut weight) = (sgd(&context), [1.0f32; 2]);
    let mut comm = Communicator::alone(&context).unwrap();
    let mut reducer = Reducer::new(&context, &comm, &ReducerOptions::default(), &schema()).unwrap();
    let stream = std::ptr::dangling_mut::<c_void>();
    // SAFETY: on the CPU it is refused before it is read.
    unsafe {
        optimizer.set_stream(stream);
        comm.set_stream(stream);
        reducer.set_stream(stream);
    }
    assert!(text!(step(&mut optimizer, &mut weight), InvalidArgument).contains("stream"));
    assert!(text!(comm.all_reduce(&mut weight, gradstep::ReduceOp::Sum), InvalidArgument).contains("stream"));
    assert!(text!(reducer.reduce(&[Tensor::ABSENT], None, 1.0), InvalidArgument).contains("stream"));
    // SAFETY: the CPU's.
    unsafe { optimizer.set_stream(std::ptr::null_mut()) };
    assert_eq!(step(&mut optimizer, &mut weight), Ok(()));
}

#[test]
fn a_parallel_for_that_leaves_out_repeats_or_panics_is_an_error() {
    type Bad = fn(i64, &(dyn Fn(i64) + Sync));
    let bad: [(Bad, &str); 3] = [
        (|_, _| (), "parallel_for"),
        (|n, body| (0..n).chain(0..1).for_each(body), "parallel_for"),
        (|_, _| panic!("no threads today"), "panicked: no threads today"),
    ];
    let shape = [1 << 20]; // elements: enough for several pieces
    let (mut weight, gradient) = (vec![1.0f32; shape[0]], vec![1.0f32; shape[0]]);
    for (parallel_for, words) in bad {
        let context = Context::builder().parallel_for(parallel_for).build().unwrap();
        let mut optimizer = Optimizer::new(&context, &Sgd::new(0.5), &[Parameter::new(&shape)]).unwrap();
        let mut params = [TensorMut::new(&mut weight, &shape).unwrap()];
        let text = text!(optimizer.step(&mut params, &[Tensor::new(&gradient, &shape).unwrap()]), Callback);
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn an_interrupt_ends_a_waiting_call() {
    for interrupt in [|| true, || panic!("while asked")] {
        let context = Context::builder().interrupt(interrupt).build().unwrap();
        let ranks = Communicator::local(&context, 2).unwrap();
        text!(ranks[0].barrier(), Aborted);
    }
}

/// Memory of which there is none, or from the system.
struct Counted {
    left: AtomicUsize,
    held: Arc<AtomicUsize>,
}

// SAFETY: the system's allocator keeps these promises.
unsafe impl Allocate for Counted {
    fn allocate(&self, bytes: usize, alignment: usize, _: Device) -> *mut c_void {
        let layout = std::alloc::Layout::from_size_align(bytes, alignment).unwrap();
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err() {
            panic!("none left");
        }
        self.held.fetch_add(1, Ordering::Relaxed);
        // SAFETY: C asks for no empty blocks.
        unsafe { std::alloc::alloc(layout) }.cast()
    }

    unsafe fn deallocate(&self, data: *mut c_void, bytes: usize, alignment: usize, _: Device) {
        self.held.fetch_sub(1, Ordering::Relaxed);
        let layout = std::alloc::Layout::from_size_align(bytes, alignment).unwrap();
        // SAFETY: from allocate, with the same numbers.
        unsafe { std::alloc::dealloc(data.cast(), layout) }
    }
}

#[test]
fn an_allocator_that_has_none_left_leaks_nothing() {
    let mut failures = 0;
    for left in 0.. {
        let held = Arc::new(AtomicUsize::new(0));
        let allocator = Counted { left: AtomicUsize::new(left), held: held.clone() };
        let made = Context::builder().allocator(allocator).build().and_then(|context| {
            Accumulator::new(&context, &AccumulatorOptions::default(), &schema()).map(drop)?;
            Optimizer::new(&context, &Sgd::new(0.5).momentum(0.5), &schema()).map(drop)
        });
        assert_eq!(held.load(Ordering::Relaxed), 0, "with {left} blocks");
        match made {
            Ok(()) => break,
            Err(error) => assert!(matches!(error, Error::OutOfMemory(_)), "{error}"),
        }
        failures += 1;
    }
    assert!(failures > 1, "the allocator was asked {failures} times");
}

#[test]
fn a_callback_that_calls_its_own_handle_gets_invalid_state() {
    let optimizer = Arc::new(Mutex::new(None::<Arc<Optimizer>>));
    let (inner, (found, told)) = (optimizer.clone(), mpsc::channel());
    let schedule = Schedule::function(move |_| {
        let handle = inner.lock().unwrap().clone();
        found.send(handle.map(|handle| handle.step_count())).unwrap();
        0.25
    });
    let context = Context::new().unwrap();
    let mut handle = sgd(&context);
    handle.set_schedule("learning_rate", None, &schedule).unwrap();
    let handle = Arc::new(handle);
    *optimizer.lock().unwrap() = Some(handle.clone());
    assert_eq!(handle.get_value("learning_rate", 0), Ok(0.25));
    assert!(matches!(told.recv().unwrap(), Some(Err(Error::InvalidState(_)))));
    optimizer.lock().unwrap().take();
}

#[test]
fn a_handle_dropped_by_a_callback_during_its_own_call_ends_the_call_first() {
    let optimizer = Arc::new(Mutex::new(None::<Arc<Optimizer>>));
    let taken = optimizer.clone();
    let schedule = Schedule::function(move |_| {
        drop(taken.lock().unwrap().take());
        0.25
    });
    let mut handle = sgd(&Context::new().unwrap());
    handle.set_schedule("learning_rate", None, &schedule).unwrap();
    let handle = Arc::new(handle);
    *optimizer.lock().unwrap() = Some(handle.clone());
    assert_eq!(handle.get_value("learning_rate", 0), Ok(0.25));
    assert_eq!(Arc::strong_count(&handle), 1);
}

#[test]
fn many_threads_on_one_handle_work_or_get_invalid_state() {
    let optimizer = sgd(&Context::new().unwrap());
    let counts = on_ranks(vec![(); 4], |_, ()| {
        let mut worked = 0;
        for _ in 0..500 {
            match optimizer.memory().and_then(|_| optimizer.get_value("momentum", 0)) {
                Ok(value) => worked += usize::from(value == 0.5),
                Err(error) => assert!(matches!(error, Error::InvalidState(_)), "{error}"),
            }
        }
        worked
    });
    assert!(counts.iter().sum::<usize>() > 0);
}

#[test]
fn files_that_are_something_else_change_nothing() {
    let context = Context::new().unwrap();
    let (mut optimizer, mut weight) = (sgd(&context), [1.0f32; 2]);
    step(&mut optimizer, &mut weight).unwrap();
    let mut file = Vec::new();
    optimizer.save_to(Some(&mut file)).unwrap();
    let options = LoadOptions::default();
    text!(optimizer.load_from(&mut &file[..file.len() / 2], &options), Corrupt);
    text!(optimizer.load_from(&mut &b"not a file"[..], &options), Corrupt);
    let mut accumulator = Accumulator::new(&context, &AccumulatorOptions::default(), &schema()).unwrap();
    text!(accumulator.load_from(&mut &file[..], &options), Mismatch);
    assert!(text!(optimizer.load("/nowhere/at/all", &options), Io).contains("/nowhere/at/all"));
    struct Panics;
    impl std::io::Read for Panics {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            panic!("the disk is gone")
        }
    }
    assert!(text!(optimizer.load_from(&mut Panics, &options), Callback).contains("panicked: the disk is gone"));
    assert_eq!(optimizer.step_count(), Ok(1));
    let momentum = optimizer.state(0, "momentum_buffer").unwrap();
    assert_eq!(momentum.as_slice::<f32>(), Some(&[1.0, 2.0][..]));
}

#[test]
fn tensors_of_the_options_are_checked() {
    let (mut optimizer, mut weight, gradient) = (sgd(&Context::new().unwrap()), [1.0f32; 2], [1.0f32; 2]);
    let norm = [1.0f32];
    let options = StepOptions { grad_norm: Some(Tensor::new(&norm, &[1]).unwrap()), ..Default::default() };
    let (mut params, grads) = ([TensorMut::new(&mut weight, &[2]).unwrap()], [Tensor::new(&gradient, &[2]).unwrap()]);
    let text = text!(optimizer.step_with(&mut params, &grads, options), InvalidArgument);
    assert!(text.contains("grad_norm"), "{text}");
    let mut outcome = [0.0f64; 4];
    let options = StepOptions { outcome: Some(TensorMut::new(&mut outcome, &[4]).unwrap()), ..Default::default() };
    optimizer.step_with(&mut params, &grads, options).unwrap();
    assert_eq!((outcome[0], outcome[3]), (1.0, 1.0));
}
