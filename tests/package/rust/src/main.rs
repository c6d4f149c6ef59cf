// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! usage: outside INSTRUCTION_SET. Steps Adam, and sums over two threads; the instruction set must be what the library has
//! chosen.

use gradstep::{Adam, Communicator, Context, Optimizer, Parameter, ReduceOp, Tensor, TensorMut};

fn step(context: &Context) -> gradstep::Result<[f32; 4]> {
    let mut adam = Optimizer::new(context, &Adam::new(0.25), &[Parameter::new(&[2, 2]).name("weight")])?;
    let (mut weight, gradient) = ([0.0f32; 4], [1.0f32, -1.0, 2.0, -2.0]);
    adam.step(&mut [TensorMut::new(&mut weight, &[2, 2])?], &[Tensor::new(&gradient, &[2, 2])?])?;
    Ok(weight)
}

fn sum(context: &Context) -> gradstep::Result<()> {
    std::thread::scope(|scope| {
        let ranks: Vec<_> = Communicator::local(context, 2)?
            .into_iter()
            .map(|comm| {
                scope.spawn(move || {
                    let mut value = [1.0f32];
                    comm.all_reduce(&mut value[..], ReduceOp::Sum).map(|()| value[0])
                })
            })
            .collect();
        for rank in ranks {
            assert_eq!(rank.join().expect("no panic")?, 2.0);
        }
        Ok(())
    })
}

fn main() -> gradstep::Result<()> {
    let instruction_set = std::env::args().nth(1).expect("an instruction set");
    let info = gradstep::build_info()?;
    assert!(info.contains(&format!("\"{instruction_set}\"")), "{info}");
    let context = Context::new()?;
    // Adam's first step is as long as the learning rate, against the gradient's sign, but for epsilon.
    for (found, expected) in step(&context)?.iter().zip([-0.25f32, 0.25, -0.25, 0.25]) {
        assert!((found - expected).abs() < 1e-6, "{found}, expected {expected}");
    }
    sum(&context)?;
    println!("gradstep {}, {instruction_set}", gradstep::version()?);
    Ok(())
}
