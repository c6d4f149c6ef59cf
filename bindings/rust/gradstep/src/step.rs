// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Options and results of a step.

use crate::tensor::{Tensor, TensorMut};

/// Options of one step.
#[derive(Debug, Default)]
pub struct StepOptions<'a> {
    /// A step that counts as non-finite is skipped as a whole.
    pub skip_nonfinite: bool,
    /// Finite; None is 1.
    pub grad_scale: Option<f64>,
    /// Clips the norm of all gradients; 0: off.
    pub max_norm: f64,
    /// Clips each element; 0: off.
    pub clip_value: f64,
    /// f64 of one element: the gradients' norm, if it is known.
    pub grad_norm: Option<Tensor<'a>>,
    /// f32 of one element: non-zero skips the step, and non-finite gradients set it to 1.
    pub found_inf: Option<TensorMut<'a>>,
    /// f32 of one element: a factor of grad_scale.
    pub grad_scale_tensor: Option<Tensor<'a>>,
    /// f64 of four elements: applied, norm, clip coefficient and t.
    pub outcome: Option<TensorMut<'a>>,
    /// No tensors overlap of which one is written, which safe code cannot break: they are not compared.
    pub disjoint: bool,
}

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepResult {
    /// false: it was skipped.
    pub applied: bool,
    /// Before grad_scale; NaN when the step had no need to know it.
    pub grad_norm: f64,
    /// 1 when nothing was clipped.
    pub clip_coefficient: f64,
}
