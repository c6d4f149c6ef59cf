// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Nanoseconds of one optimizer step on one tensor of 16 elements from Rust, and the bytes that a call takes from
//! Rust's allocator: by this crate, its tensors made anew for each step, and by the functions of C with tensors that
//! are kept. Both are timed in turns as in benchmarks/call_cost.c, in rounds of many calls; the best and the median
//! round are printed as JSON.
//!
//! ```sh
//! cargo bench --bench call_cost
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;
use std::time::Instant;

use gradstep::{Adam, Context, Optimizer, Parameter, Rule, Sgd, Tensor, TensorMut};
use gradstep_sys as sys;

const ELEMENTS: usize = 16;
const SHAPE: [usize; 1] = [ELEMENTS];
const ROUNDS: usize = 101;
const CALLS: usize = 20_000;
/// A power of two, so that the sums of steps are exact.
const LEARNING_RATE: f64 = 1.0 / (1 << 20) as f64;

/// The system's allocator, which notes what this thread has asked for.
struct Counting;

thread_local! {
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = BYTES.try_with(|bytes| bytes.set(bytes.get() + layout.size()));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, data: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(data, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

type Values = [f32; ELEMENTS];
/// One round.
type Steps = Box<dyn FnMut(&mut Values, &Values)>;

/// What is timed: steps of one optimizer.
struct Subject {
    name: &'static str,
    steps: Steps,
    values: Values,
    rounds: Vec<f64>,
    bytes: usize,
}

impl Subject {
    fn new(name: &'static str, mut step: impl FnMut(&mut Values, &Values) + 'static) -> Self {
        let steps = move |values: &mut Values, gradient: &Values| (0..CALLS).for_each(|_| step(values, gradient));
        Self { name, steps: Box::new(steps), values: [0.0; ELEMENTS], rounds: Vec::with_capacity(ROUNDS), bytes: 0 }
    }

    fn time(&mut self, gradient: &Values) {
        let (before, begin) = (BYTES.get(), Instant::now());
        (self.steps)(&mut self.values, gradient);
        self.rounds.push(begin.elapsed().as_nanos() as f64 / CALLS as f64);
        self.bytes += BYTES.get() - before;
    }

    fn json(&mut self) -> String {
        self.rounds.sort_by(f64::total_cmp);
        let (name, best, median) = (self.name, self.rounds[0], self.rounds[ROUNDS / 2]);
        let bytes = self.bytes as f64 / (ROUNDS * CALLS) as f64;
        format!("\"{name}\": {{\"best_ns\": {best:.2}, \"median_ns\": {median:.2}, \"bytes\": {bytes:.2}}}")
    }
}

/// Steps by the safe layer.
fn safe(name: &'static str, context: &Context, rule: &impl Rule) -> Subject {
    let mut optimizer = Optimizer::new(context, rule, &[Parameter::new(&SHAPE)]).expect("an optimizer");
    Subject::new(name, move |values, gradient| {
        let mut params = [TensorMut::new(values, &SHAPE).expect("a tensor")];
        let grads = [Tensor::new(gradient, &SHAPE).expect("a tensor")];
        optimizer.step(&mut params, &grads).expect("a step");
    })
}

static C_SHAPE: [i64; 1] = [ELEMENTS as i64];
const DEVICE: sys::gradstep_device = sys::gradstep_device { device_type: sys::GRADSTEP_DEVICE_CPU, device_id: 0 };
const DTYPE: sys::gradstep_dtype = sys::gradstep_dtype { code: sys::GRADSTEP_TYPE_FLOAT as u8, bits: 32, lanes: 1 };

/// An optimizer of C by its functions, kept until the process ends.
macro_rules! c_optimizer {
    ($options:ident, $init:ident, $create:ident) => {{
        let mut context_options = sys::gradstep_context_options::default();
        let (mut context, mut options, mut optimizer) = (null_mut(), sys::$options::default(), null_mut());
        let parameter = sys::gradstep_parameter {
            struct_size: size_of::<sys::gradstep_parameter>() as u32,
            shape: C_SHAPE.as_ptr(),
            ndim: 1,
            dtype: DTYPE,
            device: DEVICE,
            ..Default::default()
        };
        // SAFETY: structs of these sizes, which live during the calls.
        unsafe {
            let size = size_of_val(&context_options);
            assert_eq!(sys::gradstep_context_options_init(&mut context_options, size), sys::GRADSTEP_OK);
            context_options.num_threads = 1;
            assert_eq!(sys::gradstep_context_create(&context_options, &mut context), sys::GRADSTEP_OK);
            let size = size_of_val(&options);
            assert_eq!(sys::$init(&mut options, size), sys::GRADSTEP_OK);
            options.learning_rate = LEARNING_RATE;
            assert_eq!(sys::$create(context, &options, &parameter, 1, &mut optimizer), sys::GRADSTEP_OK);
        }
        optimizer
    }};
}

/// Steps by the function of C, whose tensors are made once.
fn c(name: &'static str, optimizer: *mut sys::gradstep_optimizer) -> Subject {
    let shape = C_SHAPE.as_ptr().cast_mut();
    let view = sys::gradstep_tensor { device: DEVICE, ndim: 1, dtype: DTYPE, shape, ..Default::default() };
    let (mut params, mut grads) = (view, view);
    Subject::new(name, move |values, gradient| {
        params.data = values.as_mut_ptr().cast();
        grads.data = gradient.as_ptr().cast_mut().cast();
        // SAFETY: a handle, and two tensors whose memory lives during the call.
        let status = unsafe { sys::gradstep_optimizer_step(optimizer, &params, &grads, 1, null_mut()) };
        assert_eq!(status, sys::GRADSTEP_OK);
    })
}

fn main() {
    let context = Context::builder().num_threads(1).build().expect("a context");
    let c_sgd = c_optimizer!(gradstep_sgd_options, gradstep_sgd_options_init, gradstep_optimizer_create_sgd);
    let c_adam = c_optimizer!(gradstep_adam_options, gradstep_adam_options_init, gradstep_optimizer_create_adam);
    let mut subjects = [
        safe("sgd_step", &context, &Sgd::new(LEARNING_RATE)),
        c("sgd_step_c", c_sgd),
        safe("adam_step", &context, &Adam::new(LEARNING_RATE)),
        c("adam_step_c", c_adam),
    ];
    let gradient = [1.0; ELEMENTS];
    for _ in 0..ROUNDS {
        subjects.iter_mut().for_each(|subject| subject.time(&gradient));
    }
    // Every step took one learning rate off: with SGD exactly, with Adam (a constant gradient corrected for its bias,
    // and epsilon 1e-8) up to f32 rounding, of which 2 million steps were seen to keep well below a thousandth.
    let expected = -((ROUNDS * CALLS) as f64) * LEARNING_RATE;
    for Subject { name, values, .. } in &subjects {
        let tolerance = if name.starts_with("sgd") { 0.0 } else { 1e-3 * expected.abs() };
        assert!((f64::from(values[0]) - expected).abs() <= tolerance, "{name}: {}, expected {expected}", values[0]);
    }
    println!("{{{}}}", subjects.each_mut().map(Subject::json).join(", "));
}
