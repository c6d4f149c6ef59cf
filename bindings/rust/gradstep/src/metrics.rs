// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Numbers that an optimizer knows about its parameters.

use std::ffi::CStr;

use crate::sys;

/// One number about a parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// What it is.
    pub name: String,
    /// Where it belongs, as far as that applies.
    pub parameter: Option<usize>,
    /// The block of the parameter.
    pub block: Option<usize>,
    /// The axis of the block.
    pub axis: Option<usize>,
    /// The number.
    pub value: f64,
}

impl Metric {
    /// What C is given to fill in.
    pub(crate) fn blank() -> sys::gradstep_metric {
        sys::gradstep_metric { struct_size: size_of::<sys::gradstep_metric>() as u32, ..Default::default() }
    }

    pub(crate) fn from_c(raw: &sys::gradstep_metric) -> Self {
        let index = |number: i64| usize::try_from(number).ok();
        Self {
            // SAFETY: the name ends with a NUL.
            name: unsafe { CStr::from_ptr(raw.name.as_ptr()) }.to_string_lossy().into_owned(),
            parameter: index(raw.parameter),
            block: index(raw.block),
            axis: index(raw.axis),
            value: raw.value,
        }
    }
}
