// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! A reducer's plan, and what became of it.

use std::time::Duration;

use crate::handle::{FromC, record};
use crate::options::c_enum;
use crate::reducer_options::ReducerMode;

c_enum! {
    /// How the last exchange of a bucket went.
    ExchangeAlgorithm {
        /// There was none yet, or there is one rank.
        None = GRADSTEP_EXCHANGE_NONE,
        /// An all-reduce of all elements.
        AllReduce = GRADSTEP_EXCHANGE_ALL_REDUCE,
        /// Each rank worked on its piece.
        Pieces = GRADSTEP_EXCHANGE_PIECES,
        /// Each rank got all ranks' elements.
        Gather = GRADSTEP_EXCHANGE_GATHER,
        /// Each rank got all ranks' selections.
        SparseGather = GRADSTEP_EXCHANGE_SPARSE_GATHER,
        /// Each rank summed its share of the selections.
        SparseSplit = GRADSTEP_EXCHANGE_SPARSE_SPLIT,
        /// All-reduces of low-rank factors.
        Factors = GRADSTEP_EXCHANGE_FACTORS,
    }
}

impl FromC<i32> for ExchangeAlgorithm {
    fn from_c(code: i32) -> Self {
        Self::from_c(code).unwrap_or(Self::None)
    }
}

record! {
    /// One bucket of the plan. Counts and times are since creation.
    BucketStatistics from gradstep_bucket_statistics {
        /// What was chosen for this bucket.
        mode: ReducerMode = mode,
        /// Elements.
        elements: i64 = elements,
        /// Parameters.
        parameters: i64 = parameters,
        /// Exchanges.
        exchanges: i64 = exchanges,
        /// What one dense exchange of it sends per rank.
        bytes_dense: i64 = bytes_dense,
        /// Sent by this rank.
        bytes_sent: i64 = bytes_sent,
        /// Packing.
        pack_time: Duration = pack_nanoseconds,
        /// Exchanging, selection included.
        exchange_time: Duration = exchange_nanoseconds,
        /// Finding what is sent.
        select_time: Duration = select_nanoseconds,
        /// That the host's thread waited for exchanges.
        wait_time: Duration = wait_nanoseconds,
        /// Sparse modes: elements that this rank has sent.
        selected: i64 = selected,
        /// Elements of the sum that became infinite or NaN, or sparse NaNs that were dropped.
        nonfinite: i64 = nonfinite,
        /// How the last exchange went.
        algorithm: ExchangeAlgorithm = algorithm,
        /// Auto: what the cost model says of one window; zero where it was no candidate.
        predicted_dense: Duration = predicted_dense_nanoseconds,
        /// As predicted_dense.
        predicted_half: Duration = predicted_half_nanoseconds,
        /// As predicted_dense.
        predicted_sparse_gather: Duration = predicted_sparse_gather_nanoseconds,
        /// As predicted_dense.
        predicted_sparse_split: Duration = predicted_sparse_split_nanoseconds,
    }
}
