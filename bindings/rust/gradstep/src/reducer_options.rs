// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! How a reducer combines gradients. Formulas and defaults: reducer.h.

use crate::comm::Average;
use crate::handle::FromC;
use crate::options::{Field, c_enum, options};

c_enum! {
    /// How the gradients of the ranks become one; reducer.h has the formulas, docs/gradient_sync.md which is for what.
    ReducerMode {
        /// The sum of everything.
        Dense = GRADSTEP_REDUCER_DENSE,
        /// In f16: half the bytes.
        Half = GRADSTEP_REDUCER_HALF,
        /// In bf16.
        BFloat16 = GRADSTEP_REDUCER_BFLOAT16,
        /// What is as large as the threshold `sparsity`.
        SparseThreshold = GRADSTEP_REDUCER_SPARSE_THRESHOLD,
        /// The largest, a fraction `sparsity` of all.
        SparseTopK = GRADSTEP_REDUCER_SPARSE_TOPK,
        /// Adasum by a tree.
        AdasumTree = GRADSTEP_REDUCER_ADASUM_TREE,
        /// Adasum of all ranks at once.
        AdasumNWay = GRADSTEP_REDUCER_ADASUM_NWAY,
        /// Low-rank factors.
        PowerSgd = GRADSTEP_REDUCER_POWERSGD,
        /// Whichever a cost model says is the fastest here, for each bucket.
        Auto = GRADSTEP_REDUCER_AUTO,
    }
}
c_enum! {
    /// How [`ReducerMode::Half`] adds.
    HalfSum {
        /// In f32.
        F32 = GRADSTEP_HALF_SUM_F32,
        /// Every addition rounded to f16, divided after.
        Fp16 = GRADSTEP_HALF_SUM_FP16,
        /// The same of what was divided before.
        Fp16Predivided = GRADSTEP_HALF_SUM_FP16_PREDIVIDED,
    }
}
c_enum! {
    /// What a sparse mode selects from.
    Selection {
        /// All elements of a bucket.
        Bucket = GRADSTEP_SELECTION_BUCKET,
        /// Each parameter by itself.
        Tensor = GRADSTEP_SELECTION_TENSOR,
    }
}
c_enum! {
    /// What a sparse mode does with NaN.
    NanPolicy {
        /// The window fails as [`Error::Numeric`](crate::Error::Numeric).
        Error = GRADSTEP_NAN_ERROR,
        /// It counts as zero.
        Zero = GRADSTEP_NAN_ZERO,
        /// It is sent.
        Send = GRADSTEP_NAN_SEND,
    }
}
c_enum! {
    /// How selected elements reach the other ranks; the results have the same bits.
    SparseExchange {
        /// Whichever would have sent less last time.
        Auto = GRADSTEP_SPARSE_EXCHANGE_AUTO,
        /// Every rank gets every selection.
        Gather = GRADSTEP_SPARSE_EXCHANGE_GATHER,
        /// Each rank sums its share of the indices.
        Split = GRADSTEP_SPARSE_EXCHANGE_SPLIT,
    }
}
c_enum! {
    /// What a sparse mode sends, and what it keeps.
    ErrorFeedback {
        /// Gradient and residual; it keeps what was not sent.
        Ef14 = GRADSTEP_ERROR_FEEDBACK_EF14,
        /// The difference from an estimate that all ranks know.
        Ef21 = GRADSTEP_ERROR_FEEDBACK_EF21,
    }
}
/// The modes that [`ReducerMode::Auto`] chooses from: `[ReducerMode::Dense, ReducerMode::Half].into()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidates(i32);

impl<const N: usize> From<[ReducerMode; N]> for Candidates {
    fn from(modes: [ReducerMode; N]) -> Self {
        Self(modes.into_iter().fold(0, |flags, mode| flags | 1 << mode.into_c()))
    }
}

impl Field for Candidates {
    type C = i32;
    fn into_c(self) -> i32 {
        self.0
    }
}

options! {
    /// Options of a reducer.
    ReducerOptions => gradstep_reducer_options by gradstep_reducer_options_init {
        /// Default: dense.
        mode: ReducerMode,
        /// Default: what the mode says.
        average: Average,
        /// Every window has the control all-reduce.
        control: bool,
        /// Elements; default 2097152.
        fuse_threshold: i64,
        /// Capacity of a packed bucket; default 0: the least.
        bucket_elements: i64,
        /// Half and bfloat16; default 0: off.
        clip_value: f64,
        /// How mode Half adds.
        half_sum: HalfSum,
        /// Sparse: keeps what was not sent; default true.
        residual: bool,
        /// The threshold, or the fraction that is kept; default 0.05.
        sparsity: f64,
        /// What a sparse mode selects from.
        selection: Selection,
        /// What it does with NaN.
        nan_policy: NanPolicy,
        /// How selected elements travel.
        sparse_exchange: SparseExchange,
        /// What is sent and kept.
        error_feedback: ErrorFeedback,
        /// Of Deep Gradient Compression; default 0: off.
        momentum_correction: f64,
        /// Windows within which the fraction falls to `sparsity`.
        warmup_steps: i64,
        /// Columns of PowerSGD's factors; default 2.
        rank: i32,
        /// What mode Auto chooses from; default: dense, half and top-k.
        candidates: Candidates,
    }
}

impl FromC<i32> for ReducerMode {
    fn from_c(code: i32) -> Self {
        Self::from_c(code).unwrap_or(Self::Dense)
    }
}
