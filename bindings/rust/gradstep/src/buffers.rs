// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! What collectives read and write: slices and tensors.

use crate::sys;
use crate::tensor::{Element, Tensor, TensorMut};

mod sealed {
    use super::sys;

    pub trait Read {
        fn with<R>(&self, call: impl FnOnce(*const sys::gradstep_tensor) -> R) -> R;
    }
    pub trait Write {
        fn with_mut<R>(&mut self, call: impl FnOnce(*const sys::gradstep_tensor) -> R) -> R;
    }
}

/// What a collective reads: a slice, a `Vec`, an array, or a contiguous [`Tensor`].
pub trait Source: sealed::Read {}

/// What a collective writes: a slice, a `Vec`, an array, or a contiguous [`TensorMut`].
pub trait Target: sealed::Write {}

impl Source for Tensor<'_> {}
impl sealed::Read for Tensor<'_> {
    fn with<R>(&self, call: impl FnOnce(*const sys::gradstep_tensor) -> R) -> R {
        call(self.as_c())
    }
}
impl Target for TensorMut<'_> {}
impl sealed::Write for TensorMut<'_> {
    fn with_mut<R>(&mut self, call: impl FnOnce(*const sys::gradstep_tensor) -> R) -> R {
        call(self.as_c().cast_const())
    }
}

macro_rules! buffers {
    ($($type:ty $(, $extent:ident)?;)*) => {$(
        impl<T: Element $(, const $extent: usize)?> Source for $type {}
        impl<T: Element $(, const $extent: usize)?> sealed::Read for $type {
            fn with<R>(&self, call: impl FnOnce(*const sys::gradstep_tensor) -> R) -> R {
                let shape = [self.len()];
                call(Tensor::of_slice(&self[..], &shape).as_c())
            }
        }
        impl<T: Element $(, const $extent: usize)?> Target for $type {}
        impl<T: Element $(, const $extent: usize)?> sealed::Write for $type {
            fn with_mut<R>(&mut self, call: impl FnOnce(*const sys::gradstep_tensor) -> R) -> R {
                let shape = [self.len()];
                call(TensorMut::of_slice(&mut self[..], &shape).as_c().cast_const())
            }
        }
    )*};
}
buffers! {
    [T];
    Vec<T>;
    [T; N], N;
}
