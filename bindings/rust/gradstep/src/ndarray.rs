// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Arrays of ndarray as tensors, whatever their strides, without a copy.

use ndarray::{ArrayRef, Dimension};

use crate::tensor::{Device, Element, Tensor, TensorMut};

impl<'a, T: Element, D: Dimension> From<&'a ArrayRef<T, D>> for Tensor<'a> {
    /// ```
    /// use gradstep::Tensor;
    /// let array = ndarray::arr2(&[[1.0f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(Tensor::from(&*array).shape(), [2, 2]);
    /// ```
    fn from(array: &'a ArrayRef<T, D>) -> Self {
        let strides = (!array.is_standard_layout()).then(|| array.strides());
        // SAFETY: the array is borrowed for 'a, and shape and strides are its own.
        unsafe { Self::from_raw_parts(array.as_ptr().cast(), T::DTYPE, Device::Cpu, array.shape(), strides) }
    }
}

impl<'a, T: Element, D: Dimension> From<&'a mut ArrayRef<T, D>> for TensorMut<'a> {
    /// ```
    /// use gradstep::TensorMut;
    /// let mut array = ndarray::arr2(&[[1.0f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(TensorMut::from(&mut *array).as_slice::<f32>(), Some(&[1.0, 2.0, 3.0, 4.0][..]));
    /// let mut transposed = array.reversed_axes();
    /// assert_eq!(TensorMut::from(&mut *transposed).as_slice::<f32>(), None); // of other strides
    /// ```
    fn from(array: &'a mut ArrayRef<T, D>) -> Self {
        let data = array.as_mut_ptr().cast();
        let strides = (!array.is_standard_layout()).then(|| array.strides());
        // SAFETY: the array is borrowed exclusively for 'a, its elements are at places of their own, and shape and
        // strides are its own.
        unsafe { Self::from_raw_parts(data, T::DTYPE, Device::Cpu, array.shape(), strides) }
    }
}
