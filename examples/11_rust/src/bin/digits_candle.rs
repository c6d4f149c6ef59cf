// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! The perceptron in candle, which differentiates it; gradstep reads candle's gradients and steps candle's variables in
//! their own memory.

use std::cell::Cell;

use candle_core::{CpuStorage, D, Device, InplaceOp1, Layout, Storage, Tensor, Var, bail};
use digits::Result;
use digits::digits::{Digits, Examples, PIXELS};
use digits::ranks::{Arguments, on_ranks};
use digits::training::{Model, first_values, train};
use gradstep::TensorMut;

struct Perceptron {
    /// Weight, bias, weight, ...
    variables: Vec<Var>,
}

impl Perceptron {
    fn new() -> Result<Self> {
        let variable = |(shape, values)| Ok(Var::from_vec(values, shape, &Device::Cpu)?);
        Ok(Self { variables: first_values().into_iter().map(variable).collect::<Result<_>>()? })
    }

    fn logits(&self, examples: &Examples) -> candle_core::Result<Tensor> {
        let mut x = Tensor::from_slice(&examples.pixels, (examples.len(), PIXELS), &Device::Cpu)?;
        for (i, layer) in self.variables.chunks_exact(2).enumerate() {
            x = if i == 0 { x } else { x.relu()? };
            x = x.matmul(&layer[0])?.broadcast_add(&layer[1])?;
        }
        Ok(x)
    }
}

impl Model for Perceptron {
    fn loss(&self, examples: &Examples, add: &mut dyn FnMut(&[gradstep::Tensor<'_>]) -> Result<()>) -> Result<f32> {
        let logits = self.logits(examples)?;
        let labels = Tensor::from_slice(&examples.labels, (examples.len(), 1), &Device::Cpu)?;
        let of_labels = logits.gather(&labels, D::Minus1)?.squeeze(D::Minus1)?;
        let loss = (logits.log_sum_exp(D::Minus1)? - of_labels)?.mean_all()?;
        let by_variable = loss.backward()?;
        let gradient =
            |variable: &Var| Ok(by_variable.get(variable).ok_or("a variable has no gradient")?.contiguous()?);
        let gradients = self.variables.iter().map(gradient).collect::<Result<Vec<_>>>()?;
        let memory: Vec<_> = gradients.iter().map(Tensor::storage_and_layout).collect();
        let tensors =
            memory.iter().zip(&gradients).map(|((storage, layout), gradient)| tensor(storage, layout, gradient));
        add(&tensors.collect::<Result<Vec<_>>>()?)?;
        Ok(loss.to_scalar()?)
    }

    fn lend(&mut self, step: &mut dyn FnMut(&mut [TensorMut<'_>]) -> Result<()>) -> Result<()> {
        let shapes: Vec<_> = self.variables.iter().map(|variable| variable.dims().to_vec()).collect();
        with_memory(&self.variables, Vec::new(), &mut |memory| {
            let tensors = memory.into_iter().zip(&shapes).map(|(values, shape)| TensorMut::new(values, shape));
            step(&mut tensors.collect::<Result<Vec<_>, _>>()?)
        })
    }

    fn correct(&self, examples: &Examples) -> Result<usize> {
        let found = self.logits(examples)?.argmax(D::Minus1)?.to_vec1::<u32>()?;
        Ok(found.iter().zip(&examples.labels).filter(|(found, label)| found == label).count())
    }
}

/// A gradient where candle has it.
fn tensor<'a>(storage: &'a Storage, layout: &Layout, gradient: &'a Tensor) -> Result<gradstep::Tensor<'a>> {
    let Storage::Cpu(CpuStorage::F32(values)) = storage else { return Err("a gradient is no f32 of the CPU".into()) };
    let (start, end) = layout.contiguous_offsets().ok_or("a gradient is not contiguous")?;
    Ok(gradstep::Tensor::new(&values[start..end], gradient.dims())?)
}

/// Calls `body` with the memory of all variables. candle lends that of one during an operation in place: the operation
/// on the next one is made inside.
fn with_memory(
    variables: &[Var],
    lent: Vec<&mut [f32]>,
    body: &mut dyn FnMut(Vec<&mut [f32]>) -> Result<()>,
) -> Result<()> {
    let Some((variable, others)) = variables.split_first() else { return body(lent) };
    let and_others = |values: &mut [f32]| {
        let mut lent: Vec<&mut [f32]> = lent;
        lent.push(values);
        with_memory(others, lent, body)
    };
    Ok(variable.inplace_op1(&Lend(Cell::new(Some(and_others))))?)
}

/// The operation that lends a variable's memory, once.
struct Lend<F>(Cell<Option<F>>);

impl<F: FnOnce(&mut [f32]) -> Result<()>> InplaceOp1 for Lend<F> {
    fn name(&self) -> &'static str {
        "lend"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> candle_core::Result<()> {
        let (CpuStorage::F32(values), Some((start, end))) = (storage, layout.contiguous_offsets()) else {
            bail!("lend: the variable is no contiguous f32")
        };
        let Some(body) = self.0.take() else { bail!("lend: a second time") };
        body(&mut values[start..end]).map_err(candle_core::Error::msg)
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse()?;
    let digits = Digits::read(&arguments.digits)?;
    on_ranks(&arguments, |context, comm| train(&mut Perceptron::new()?, &digits, context, comm))
}
