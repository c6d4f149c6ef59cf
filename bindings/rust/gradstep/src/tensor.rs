// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Tensors: borrowed views of the host's memory, and of what handles hold.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;

#[cfg(doc)]
use crate::error::Error;
use crate::error::{Result, require};
use crate::sys;

/// The dtypes that gradstep knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dtype {
    /// 32-bit floating point.
    F32,
    /// 64-bit floating point.
    F64,
    /// IEEE's 16-bit floating point.
    F16,
    /// The upper half of an f32.
    BF16,
    /// 32-bit integers.
    I32,
    /// 64-bit integers.
    I64,
    /// Bytes, which communicators carry and do not add.
    U8,
}

impl Dtype {
    const ALL: [Self; 7] = [Self::F32, Self::F64, Self::F16, Self::BF16, Self::I32, Self::I64, Self::U8];

    /// Bytes of an element.
    pub const fn size(self) -> usize {
        self.to_c().bits as usize / 8
    }

    #[inline]
    pub(crate) const fn to_c(self) -> sys::gradstep_dtype {
        let (code, bits) = match self {
            Self::F32 => (sys::GRADSTEP_TYPE_FLOAT, 32),
            Self::F64 => (sys::GRADSTEP_TYPE_FLOAT, 64),
            Self::F16 => (sys::GRADSTEP_TYPE_FLOAT, 16),
            Self::BF16 => (sys::GRADSTEP_TYPE_BFLOAT, 16),
            Self::I32 => (sys::GRADSTEP_TYPE_INT, 32),
            Self::I64 => (sys::GRADSTEP_TYPE_INT, 64),
            Self::U8 => (sys::GRADSTEP_TYPE_UINT, 8),
        };
        sys::gradstep_dtype { code: code as u8, bits, lanes: 1 }
    }

    /// None for dtypes that only gradstep's own buffers have, if any.
    pub(crate) fn from_c(code: i32, bits: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| {
            let c = dtype.to_c();
            i32::from(c.code) == code && i32::from(c.bits) == bits
        })
    }
}

/// Where memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Device {
    /// The host's memory.
    #[default]
    Cpu,
    /// Memory of the CUDA device with this number.
    Cuda(i32),
    /// The host's memory, pinned for CUDA: the same as [`Device::Cpu`] everywhere.
    CudaHost,
}

impl Device {
    #[inline]
    pub(crate) fn to_c(self) -> sys::gradstep_device {
        let (device_type, device_id) = match self {
            Self::Cpu => (sys::GRADSTEP_DEVICE_CPU, 0),
            Self::Cuda(id) => (sys::GRADSTEP_DEVICE_CUDA, id),
            Self::CudaHost => (sys::GRADSTEP_DEVICE_CUDA_HOST, 0),
        };
        sys::gradstep_device { device_type, device_id }
    }

    pub(crate) fn from_c(device: sys::gradstep_device) -> Option<Self> {
        match device.device_type {
            sys::GRADSTEP_DEVICE_CPU => Some(Self::Cpu),
            sys::GRADSTEP_DEVICE_CUDA => Some(Self::Cuda(device.device_id)),
            sys::GRADSTEP_DEVICE_CUDA_HOST => Some(Self::CudaHost),
            _ => None,
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// Elements of tensors: `f32`, `f64`, `i32`, `i64`, `u8`, and with the feature `half` its `f16` and `bf16`.
pub trait Element: Copy + Send + Sync + sealed::Sealed + 'static {
    /// How gradstep calls it.
    const DTYPE: Dtype;
}

macro_rules! elements {
    ($($(#[$meta:meta])* $type:ty = $dtype:ident,)*) => {$(
        $(#[$meta])*
        impl sealed::Sealed for $type {}
        $(#[$meta])*
        impl Element for $type {
            const DTYPE: Dtype = Dtype::$dtype;
        }
    )*};
}

elements! {
    f32 = F32,
    f64 = F64,
    i32 = I32,
    i64 = I64,
    u8 = U8,
    #[cfg(feature = "half")]
    half::f16 = F16,
    #[cfg(feature = "half")]
    half::bf16 = BF16,
}

/// A tensor that is read: memory that is borrowed for `'a`, and the shape that it is seen in. It has the layout of
/// DLPack's `DLTensor`; to make one costs nothing, so that a step over slices allocates nothing.
///
/// ```
/// let data = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let tensor = gradstep::Tensor::new(&data, &[2, 3])?;
/// assert_eq!(tensor.as_slice::<f32>(), Some(&data[..]));
/// # Ok::<(), gradstep::Error>(())
/// ```
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Tensor<'a> {
    raw: sys::gradstep_tensor,
    memory: PhantomData<&'a [u8]>,
}

/// A tensor that is written, too: it borrows its memory exclusively.
#[repr(transparent)]
pub struct TensorMut<'a> {
    raw: sys::gradstep_tensor,
    memory: PhantomData<&'a mut [u8]>,
}

// SAFETY: a Tensor is a &[T] and a TensorMut a &mut [T] of elements that are Send and Sync.
unsafe impl Send for Tensor<'_> {}
// SAFETY: as above.
unsafe impl Sync for Tensor<'_> {}
// SAFETY: as above.
unsafe impl Send for TensorMut<'_> {}
// SAFETY: as above.
unsafe impl Sync for TensorMut<'_> {}

#[inline]
fn describe(
    data: *mut c_void,
    dtype: Dtype,
    device: Device,
    shape: &[usize],
    strides: Option<&[isize]>,
) -> sys::gradstep_tensor {
    sys::gradstep_tensor {
        data,
        device: device.to_c(),
        // More than 32 dimensions are refused by C, whatever their number.
        ndim: i32::try_from(shape.len()).unwrap_or(i32::MAX),
        dtype: dtype.to_c(),
        // An i64 and a usize, and an isize, are the same on 64-bit systems; C does not write to shapes.
        shape: shape.as_ptr().cast::<i64>().cast_mut(),
        strides: strides.map_or(std::ptr::null_mut(), |strides| strides.as_ptr().cast::<i64>().cast_mut()),
        byte_offset: 0,
    }
}

#[inline]
fn check_length(shape: &[usize], length: usize) -> Result<()> {
    let elements = shape.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent));
    require(elements == Some(length), || {
        let expected = elements.map_or("more than a usize can count".to_owned(), |elements| elements.to_string());
        format!("data: {length} elements, expected {expected} for the shape {shape:?}")
    })
}

impl<'a> Tensor<'a> {
    /// In the place of a gradient: there is none.
    pub const ABSENT: Tensor<'static> = Tensor {
        raw: sys::gradstep_tensor {
            data: std::ptr::null_mut(),
            device: sys::gradstep_device { device_type: 0, device_id: 0 },
            ndim: 0,
            dtype: sys::gradstep_dtype { code: 0, bits: 0, lanes: 0 },
            shape: std::ptr::null_mut(),
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        },
        memory: PhantomData,
    };

    /// The elements of `data`, row-major, in the given shape.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: the shape has another number of elements.
    #[inline]
    pub fn new<T: Element>(data: &'a [T], shape: &'a [usize]) -> Result<Self> {
        check_length(shape, data.len())?;
        Ok(Self::of_slice(data, shape))
    }

    /// A slice in a shape that is known to have its number of elements.
    pub(crate) fn of_slice<T: Element>(data: &'a [T], shape: &'a [usize]) -> Self {
        // SAFETY: the slice has the elements of the shape, and is borrowed for 'a.
        unsafe { Self::from_raw_parts(data.as_ptr().cast(), T::DTYPE, Device::Cpu, shape, None) }
    }

    /// Memory by its address, a device's for example. `strides` count elements; None is row-major.
    ///
    /// # Safety
    /// From `data`, the place of element 0, the elements that shape and strides reach lie in memory of `device`,
    /// aligned to their size, and no code writes to them during `'a`. On a device they stay until the work that a call
    /// has queued with them is done. strides has as many entries as shape.
    #[inline]
    pub unsafe fn from_raw_parts(
        data: *const c_void,
        dtype: Dtype,
        device: Device,
        shape: &'a [usize],
        strides: Option<&'a [isize]>,
    ) -> Self {
        Self { raw: describe(data.cast_mut(), dtype, device, shape, strides), memory: PhantomData }
    }

    /// What C has filled in.
    ///
    /// # Safety
    /// C's view is valid, and no code writes to it, during 'a.
    pub(crate) unsafe fn from_c(raw: sys::gradstep_tensor) -> Self {
        Self { raw, memory: PhantomData }
    }
}

impl<'a> TensorMut<'a> {
    /// Stands for a result that is not wanted.
    pub const ABSENT: TensorMut<'static> = TensorMut { raw: Tensor::ABSENT.raw, memory: PhantomData };

    /// The elements of `data`, row-major, in the given shape.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: the shape has another number of elements.
    #[inline]
    pub fn new<T: Element>(data: &'a mut [T], shape: &'a [usize]) -> Result<Self> {
        check_length(shape, data.len())?;
        Ok(Self::of_slice(data, shape))
    }

    /// A slice in a shape that is known to have its number of elements.
    pub(crate) fn of_slice<T: Element>(data: &'a mut [T], shape: &'a [usize]) -> Self {
        // SAFETY: the slice has the elements of the shape, and is borrowed exclusively for 'a.
        unsafe { Self::from_raw_parts(data.as_mut_ptr().cast(), T::DTYPE, Device::Cpu, shape, None) }
    }

    /// Memory by its address, a device's for example. `strides` count elements; None is row-major.
    ///
    /// # Safety
    /// As [`Tensor::from_raw_parts`], no other code reads the elements during `'a`, and no two of them are at one
    /// place.
    #[inline]
    pub unsafe fn from_raw_parts(
        data: *mut c_void,
        dtype: Dtype,
        device: Device,
        shape: &'a [usize],
        strides: Option<&'a [isize]>,
    ) -> Self {
        Self { raw: describe(data, dtype, device, shape, strides), memory: PhantomData }
    }

    /// What C has filled in.
    ///
    /// # Safety
    /// C's view is valid, and no other code reads or writes it, during 'a.
    pub(crate) unsafe fn from_c(raw: sys::gradstep_tensor) -> Self {
        Self { raw, memory: PhantomData }
    }

    /// These elements, to be read.
    pub fn as_tensor(&self) -> Tensor<'_> {
        Tensor { raw: self.raw, memory: PhantomData }
    }

    /// The elements, row-major, if they are of type `T`, contiguous, and in the host's memory.
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        let length = self.as_tensor().host_length::<T>()?;
        // SAFETY: as many elements of T, borrowed as self is.
        Some(unsafe { std::slice::from_raw_parts(self.raw.data.cast::<T>(), length) })
    }

    /// The elements, row-major, if they are of type `T`, contiguous, and in the host's memory.
    pub fn as_mut_slice<T: Element>(&mut self) -> Option<&mut [T]> {
        let length = self.as_tensor().host_length::<T>()?;
        // SAFETY: as many elements of T, borrowed exclusively as self is.
        Some(unsafe { std::slice::from_raw_parts_mut(self.raw.data.cast::<T>(), length) })
    }

    pub(crate) fn as_c(&mut self) -> *mut sys::gradstep_tensor {
        &raw mut self.raw
    }
}

impl<'a> Tensor<'a> {
    /// Whether there is no gradient here.
    pub fn is_absent(&self) -> bool {
        self.raw.data.is_null()
    }

    /// The extent of each dimension.
    pub fn shape(&self) -> &'a [usize] {
        if self.raw.ndim <= 0 || self.raw.shape.is_null() {
            return &[];
        }
        // SAFETY: ndim extents that are not negative, valid for 'a; an i64 is as large as a usize.
        unsafe { std::slice::from_raw_parts(self.raw.shape.cast::<usize>(), self.raw.ndim as usize) }
    }

    /// The dtype; None for an absent tensor.
    pub fn dtype(&self) -> Option<Dtype> {
        Dtype::from_c(i32::from(self.raw.dtype.code), i32::from(self.raw.dtype.bits))
    }

    /// Where the memory is; None for an absent tensor.
    pub fn device(&self) -> Option<Device> {
        Device::from_c(self.raw.device)
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.shape().iter().product()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.is_absent() || self.len() == 0
    }

    /// The elements, row-major, if they are of type `T`, contiguous, and in the host's memory.
    pub fn as_slice<T: Element>(&self) -> Option<&'a [T]> {
        let length = self.host_length::<T>()?;
        // SAFETY: as many elements of T, borrowed for 'a.
        Some(unsafe { std::slice::from_raw_parts(self.raw.data.cast::<T>(), length) })
    }

    /// How many elements there are, if they can be seen as a slice of T.
    fn host_length<T: Element>(&self) -> Option<usize> {
        let on_host = matches!(self.device(), Some(Device::Cpu | Device::CudaHost));
        let contiguous = self.raw.strides.is_null() && self.raw.byte_offset == 0;
        (!self.is_absent() && on_host && contiguous && self.dtype() == Some(T::DTYPE)).then(|| self.len())
    }

    pub(crate) fn as_c(&self) -> *const sys::gradstep_tensor {
        &raw const self.raw
    }
}

impl fmt::Debug for Tensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_absent() {
            return f.write_str("Tensor::ABSENT");
        }
        let (dtype, device) = (self.dtype(), self.device());
        f.debug_struct("Tensor").field("shape", &self.shape()).field("dtype", &dtype).field("device", &device).finish()
    }
}

impl fmt::Debug for TensorMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_tensor().fmt(f)
    }
}

impl<'a> From<TensorMut<'a>> for Tensor<'a> {
    fn from(tensor: TensorMut<'a>) -> Self {
        Self { raw: tensor.raw, memory: PhantomData }
    }
}

/// The arrays of C are those of Rust: both types are transparent.
pub(crate) fn c_tensors(tensors: &[Tensor<'_>]) -> *const sys::gradstep_tensor {
    tensors.as_ptr().cast()
}

/// As [`c_tensors`], of tensors that C writes to.
pub(crate) fn c_tensors_mut(tensors: &mut [TensorMut<'_>]) -> *const sys::gradstep_tensor {
    tensors.as_mut_ptr().cast_const().cast()
}

/// A number for each parameter: C gets one length for all lists of a call.
#[inline]
pub(crate) fn check_counts(parameters: usize, what: &str, count: usize) -> Result<()> {
    require(count == parameters, || format!("{what}: {count} tensors, expected {parameters}, one for each parameter"))
}
