// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! The perceptron in candle, which differentiates it; gradstep reads candle's gradients and steps candle's variables in
//! their own memory.

use candle_core::{D, Device, Tensor, Var};
use digits::Result;
use digits::digits::{Digits, Examples, PIXELS};
use digits::ranks::{Arguments, on_ranks};
use digits::training::{Model, first_values, train};
use gradstep::TensorMut;
use gradstep::candle::Variables;

struct Perceptron {
    /// Weight, bias, weight, ...
    layers: Vec<Var>,
    /// They, under their names.
    variables: Variables,
}

impl Perceptron {
    fn new() -> Result<Self> {
        let variable = |(shape, values)| Ok(Var::from_vec(values, shape, &Device::Cpu)?);
        let layers = first_values().into_iter().map(variable).collect::<Result<Vec<_>>>()?;
        let named = layers.iter().enumerate().map(|(i, each)| (format!("param.{i}"), each.clone()));
        Ok(Self { variables: Variables::new(named), layers })
    }

    fn logits(&self, examples: &Examples) -> candle_core::Result<Tensor> {
        let mut x = Tensor::from_slice(&examples.pixels, (examples.len(), PIXELS), &Device::Cpu)?;
        for (i, layer) in self.layers.chunks_exact(2).enumerate() {
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
        self.variables.with_gradients(&loss.backward()?, add)?;
        Ok(loss.to_scalar()?)
    }

    fn lend(&mut self, step: &mut dyn FnMut(&mut [TensorMut<'_>]) -> Result<()>) -> Result<()> {
        self.variables.lend(step)
    }

    fn correct(&self, examples: &Examples) -> Result<usize> {
        let found = self.logits(examples)?.argmax(D::Minus1)?.to_vec1::<u32>()?;
        Ok(found.iter().zip(&examples.labels).filter(|(found, label)| found == label).count())
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse()?;
    let digits = Digits::read(&arguments.digits)?;
    on_ranks(&arguments, |context, comm| train(&mut Perceptron::new()?, &digits, context, comm))
}
