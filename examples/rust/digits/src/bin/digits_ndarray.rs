// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! The perceptron in plain ndarray, forward and backward; gradstep steps the arrays in place.

use digits::Result;
use digits::digits::{Digits, Examples, PIXELS};
use digits::ranks::{Arguments, on_ranks};
use digits::training::{Model, first_values, train};
use gradstep::{Tensor, TensorMut};
use ndarray::{Array1, Array2, ArrayView2, Axis};

struct Layer {
    weight: Array2<f32>,
    bias: Array1<f32>,
}

struct Perceptron {
    layers: Vec<Layer>,
}

impl Perceptron {
    fn new() -> Result<Self> {
        let mut values = first_values().into_iter();
        let mut layers = Vec::new();
        while let (Some((shape, weight)), Some((_, bias))) = (values.next(), values.next()) {
            let weight = Array2::from_shape_vec((shape[0], shape[1]), weight)?;
            layers.push(Layer { weight, bias: Array1::from_vec(bias) });
        }
        Ok(Self { layers })
    }

    /// The input of each layer, and the logits.
    fn forward(&self, images: ArrayView2<'_, f32>) -> Vec<Array2<f32>> {
        let mut activations = vec![images.to_owned()];
        for (i, Layer { weight, bias }) in self.layers.iter().enumerate() {
            let mut output = activations[i].dot(weight) + bias;
            if i + 1 < self.layers.len() {
                output.mapv_inplace(|x| x.max(0.0));
            }
            activations.push(output);
        }
        activations
    }
}

fn images(examples: &Examples) -> Result<ArrayView2<'_, f32>> {
    Ok(ArrayView2::from_shape((examples.len(), PIXELS), &examples.pixels)?)
}

impl Model for Perceptron {
    fn loss(&self, examples: &Examples, add: &mut dyn FnMut(&[Tensor<'_>]) -> Result<()>) -> Result<f32> {
        let mut activations = self.forward(images(examples)?);
        let mut error = activations.pop().ok_or("no layers")?; // the logits, which become the gradient by them
        let mut loss = 0.0;
        let count = examples.len() as f32;
        for (mut row, &label) in error.rows_mut().into_iter().zip(&examples.labels) {
            let largest = row.fold(f32::NEG_INFINITY, |a, &b| a.max(b));
            row.mapv_inplace(|x| (x - largest).exp());
            let sum = row.sum();
            row.mapv_inplace(|x| x / sum / count);
            loss -= (row[label as usize] * count).ln() / count;
            row[label as usize] -= 1.0 / count;
        }
        let mut gradients = Vec::new(); // from the last layer to the first
        for (layer, input) in self.layers.iter().zip(&activations).rev() {
            gradients.push((input.t().dot(&error), error.sum_axis(Axis(0))));
            error = error.dot(&layer.weight.t());
            error.zip_mut_with(input, |e, &x| {
                if x <= 0.0 {
                    *e = 0.0
                }
            });
        }
        // Arrays are shown as they are, whatever their strides.
        let tensors =
            gradients.iter().rev().flat_map(|(weight, bias)| [Tensor::from(&**weight), Tensor::from(&**bias)]);
        add(&tensors.collect::<Vec<_>>())?;
        Ok(loss)
    }

    fn lend(&mut self, step: &mut dyn FnMut(&mut [TensorMut<'_>]) -> Result<()>) -> Result<()> {
        let tensors = self
            .layers
            .iter_mut()
            .flat_map(|Layer { weight, bias }| [TensorMut::from(&mut **weight), TensorMut::from(&mut **bias)]);
        step(&mut tensors.collect::<Vec<_>>())
    }

    fn correct(&self, examples: &Examples) -> Result<usize> {
        let logits = self.forward(images(examples)?).pop().ok_or("no layers")?;
        let is_right = |(row, &label): (ndarray::ArrayView1<'_, f32>, &u32)| {
            row.iter().enumerate().all(|(digit, &logit)| digit == label as usize || logit < row[label as usize])
        };
        Ok(logits.rows().into_iter().zip(&examples.labels).filter(|pair| is_right((pair.0, pair.1))).count())
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse()?;
    let digits = Digits::read(&arguments.digits)?;
    on_ranks(&arguments, |context, comm| train(&mut Perceptron::new()?, &digits, context, comm))
}
