// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! gradstep's records arrive at the facade of the crate `log`. Its logger is one for the process, and this file is one.
#![cfg(feature = "log")]

use std::sync::Mutex;

use gradstep::{Context, Optimizer, Parameter, Sgd, StepOptions, Tensor, TensorMut};

struct Kept(Mutex<Vec<(log::Level, String, String)>>);

impl log::Log for Kept {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        self.0.lock().unwrap().push((record.level(), record.target().to_owned(), record.args().to_string()));
    }
    fn flush(&self) {}
}

#[test]
fn a_skipped_step_is_a_warning() {
    static KEPT: Kept = Kept(Mutex::new(Vec::new()));
    log::set_logger(&KEPT).unwrap();
    log::set_max_level(log::LevelFilter::Warn);
    let context = Context::builder().log_crate().build().unwrap();
    let mut optimizer = Optimizer::new(&context, &Sgd::new(0.5), &[Parameter::new(&[1])]).unwrap();
    let mut weight = [1.0f32];
    let mut params = [TensorMut::new(&mut weight, &[1]).unwrap()];
    let options = StepOptions { skip_nonfinite: true, ..Default::default() };
    let result = optimizer.step_with(&mut params, &[Tensor::new(&[f32::NAN], &[1]).unwrap()], options).unwrap();
    assert!(!result.applied);
    let kept = KEPT.0.lock().unwrap();
    let [(level, target, text)] = &kept[..] else { panic!("{kept:?}") };
    assert!(*level == log::Level::Warn && target == "gradstep" && text.contains("skipped"), "{kept:?}");
}
