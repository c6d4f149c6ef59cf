// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! The host's arrays, of the dtypes that parameters have.

use gradstep::{Dtype, Tensor, TensorMut};
use half::{bf16, f16};

use crate::Result;

#[derive(Clone)]
enum Elements {
    F32(Vec<f32>),
    F64(Vec<f64>),
    F16(Vec<f16>),
    BF16(Vec<bf16>),
}

/// One expression on the elements of any dtype.
macro_rules! each {
    ($elements:expr, $values:ident => $body:expr) => {
        match $elements {
            Elements::F32($values) => $body,
            Elements::F64($values) => $body,
            Elements::F16($values) => $body,
            Elements::BF16($values) => $body,
        }
    };
}

#[derive(Clone)]
pub(crate) struct Array {
    pub(crate) shape: Vec<usize>,
    elements: Elements,
}

impl Array {
    /// An array of as many numbers as the shape has elements.
    pub(crate) fn new(dtype: Dtype, shape: &[usize], numbers: impl Iterator<Item = f64>) -> Result<Self> {
        let numbers = numbers.take(shape.iter().product());
        let elements = match dtype {
            Dtype::F32 => Elements::F32(numbers.map(|number| number as f32).collect()),
            Dtype::F64 => Elements::F64(numbers.collect()),
            Dtype::F16 => Elements::F16(numbers.map(f16::from_f64).collect()),
            Dtype::BF16 => Elements::BF16(numbers.map(bf16::from_f64).collect()),
            other => return Err(format!("{other:?} is no dtype of parameters").into()),
        };
        Ok(Self { shape: shape.to_vec(), elements })
    }

    /// From little-endian bytes.
    pub(crate) fn read(dtype: Dtype, shape: &[usize], bytes: &[u8]) -> Result<Self> {
        let numbers = bytes.chunks_exact(dtype.size()).map(|bytes| match *bytes {
            [a, b] if dtype == Dtype::F16 => f16::from_le_bytes([a, b]).into(),
            [a, b] => bf16::from_le_bytes([a, b]).into(),
            [a, b, c, d] => f32::from_le_bytes([a, b, c, d]).into(),
            _ => f64::from_le_bytes(bytes.try_into().expect("the chunks' length")),
        });
        Self::new(dtype, shape, numbers)
    }

    pub(crate) fn dtype(&self) -> Dtype {
        match self.elements {
            Elements::F32(_) => Dtype::F32,
            Elements::F64(_) => Dtype::F64,
            Elements::F16(_) => Dtype::F16,
            Elements::BF16(_) => Dtype::BF16,
        }
    }

    pub(crate) fn len(&self) -> usize {
        each!(&self.elements, values => values.len())
    }

    pub(crate) fn set_nan(&mut self, element: usize) {
        match &mut self.elements {
            Elements::F32(values) => values[element] = f32::NAN,
            Elements::F64(values) => values[element] = f64::NAN,
            Elements::F16(values) => values[element] = f16::NAN,
            Elements::BF16(values) => values[element] = bf16::NAN,
        }
    }

    pub(crate) fn tensor(&self) -> gradstep::Result<Tensor<'_>> {
        each!(&self.elements, values => Tensor::new(values, &self.shape))
    }

    pub(crate) fn tensor_mut(&mut self) -> gradstep::Result<TensorMut<'_>> {
        each!(&mut self.elements, values => TensorMut::new(values, &self.shape))
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        each!(&self.elements, values => values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }
}

/// The elements of a view, little-endian; nothing where it is absent.
pub(crate) fn bytes_of(view: &Tensor<'_>) -> Result<Vec<u8>> {
    fn little_endian<T: Copy, const N: usize>(values: &[T], bytes: impl Fn(T) -> [u8; N]) -> Vec<u8> {
        values.iter().flat_map(|&value| bytes(value)).collect()
    }
    if view.is_absent() {
        return Ok(Vec::new());
    }
    let f32s = || view.as_slice().map(|values| little_endian(values, f32::to_le_bytes));
    let f64s = || view.as_slice().map(|values| little_endian(values, f64::to_le_bytes));
    f32s().or_else(f64s).ok_or_else(|| format!("{view:?}: expected f32 or f64").into())
}

pub(crate) fn tensors(arrays: &[Option<Array>]) -> gradstep::Result<Vec<Tensor<'_>>> {
    arrays.iter().map(|array| array.as_ref().map_or(Ok(Tensor::ABSENT), Array::tensor)).collect()
}

pub(crate) fn tensors_mut(arrays: &mut [Array]) -> gradstep::Result<Vec<TensorMut<'_>>> {
    arrays.iter_mut().map(Array::tensor_mut).collect()
}
