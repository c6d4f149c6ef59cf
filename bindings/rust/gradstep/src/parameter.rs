// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! The host's parameters, as handles know them.

use std::ffi::CString;
use std::marker::PhantomData;

use crate::error::{Result, c_string, require};
use crate::sys;
use crate::tensor::{Device, Dtype};

/// A parameter of the model, described once when a handle is made. The list of them is the handle's schema.
///
/// ```
/// use gradstep::{Dtype, Parameter};
/// let schema = [Parameter::new(&[64, 10]).name("weight"), Parameter::new(&[10]).name("bias").group(1)];
/// let half = Parameter::new(&[64, 10]).dtype(Dtype::BF16);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    shape: Vec<usize>,
    name: Option<String>,
    dtype: Dtype,
    device: Device,
    group: i32,
    may_be_unused: bool,
    part: Option<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    whole_shape: Vec<usize>,
    offset: Vec<usize>,
}

impl Parameter {
    /// An f32 parameter in the host's memory, in group 0.
    pub fn new(shape: &[usize]) -> Self {
        Self {
            shape: shape.to_vec(),
            name: None,
            dtype: Dtype::F32,
            device: Device::Cpu,
            group: 0,
            may_be_unused: false,
            part: None,
        }
    }

    /// 1 to 1024 bytes, unique in the schema. Default: `param.<index>`.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// f32, f64, f16 or bf16.
    #[must_use]
    pub fn dtype(mut self, dtype: Dtype) -> Self {
        self.dtype = dtype;
        self
    }

    /// Where it is.
    #[must_use]
    pub fn device(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    /// Selects the hyper-parameters of an optimizer.
    #[must_use]
    pub fn group(mut self, group: i32) -> Self {
        self.group = group;
        self
    }

    /// Whether some rank may have no gradient for it in some window.
    #[must_use]
    pub fn may_be_unused(mut self, may_be_unused: bool) -> Self {
        self.may_be_unused = may_be_unused;
        self
    }

    /// What this rank has is a part, which begins at `offset`, of a whole of this shape: see
    /// [`crate::Optimizer::attach_shards`]. Both have as many axes as the parameter.
    #[must_use]
    pub fn part_of(mut self, whole_shape: &[usize], offset: &[usize]) -> Self {
        self.part = Some(Part { whole_shape: whole_shape.to_vec(), offset: offset.to_vec() });
        self
    }

    fn lists(&self) -> impl Iterator<Item = (&'static str, &[usize])> {
        let part = self.part.iter();
        std::iter::once(("shape", self.shape.as_slice()))
            .chain(part.flat_map(|part| [("whole_shape", part.whole_shape.as_slice()), ("offset", &part.offset)]))
    }
}

/// Parameters as C sees them, while they and their names live.
pub struct Schema<'a> {
    raw: Vec<sys::gradstep_parameter>,
    _names: Vec<Option<CString>>,
    _parameters: PhantomData<&'a [Parameter]>,
}

impl<'a> Schema<'a> {
    pub(crate) fn new(parameters: &'a [Parameter]) -> Result<Self> {
        let name_of = |(i, parameter): (usize, &Parameter)| {
            parameter.name.as_deref().map(|name| c_string(&format!("parameters[{i}].name"), name)).transpose()
        };
        for (i, parameter) in parameters.iter().enumerate() {
            for (what, list) in parameter.lists() {
                require(list.len() == parameter.shape.len(), || {
                    format!("parameters[{i}].{what}: has {} axes, expected {}", list.len(), parameter.shape.len())
                })?;
                for (axis, &extent) in list.iter().enumerate() {
                    require(i64::try_from(extent).is_ok(), || {
                        format!("parameters[{i}].{what}[{axis}]: is {extent}, expected at most {}", i64::MAX)
                    })?;
                }
            }
        }
        let names = parameters.iter().enumerate().map(name_of).collect::<Result<Vec<_>>>()?;
        let raw = parameters.iter().zip(&names).map(|(parameter, name)| sys::gradstep_parameter {
            struct_size: size_of::<sys::gradstep_parameter>() as u32,
            flags: if parameter.may_be_unused { sys::GRADSTEP_PARAMETER_MAY_BE_UNUSED } else { 0 },
            name: name.as_ref().map_or(std::ptr::null(), |name| name.as_ptr()),
            shape: parameter.shape.as_ptr().cast(),
            ndim: i32::try_from(parameter.shape.len()).unwrap_or(i32::MAX),
            group: parameter.group,
            dtype: parameter.dtype.to_c(),
            device: parameter.device.to_c(),
            reserved: 0,
            whole_shape: parameter.part.as_ref().map_or(std::ptr::null(), |part| part.whole_shape.as_ptr().cast()),
            offset: parameter.part.as_ref().map_or(std::ptr::null(), |part| part.offset.as_ptr().cast()),
        });
        Ok(Self { raw: raw.collect(), _names: names, _parameters: PhantomData })
    }

    pub(crate) fn as_ptr(&self) -> *const sys::gradstep_parameter {
        self.raw.as_ptr()
    }

    pub(crate) fn len(&self) -> usize {
        self.raw.len()
    }
}
