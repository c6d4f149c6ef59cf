// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! What an exchange of gradients will cost, on a network that need not be there.

use crate::context::Context;
#[cfg(doc)]
use crate::error::Error;
use crate::error::{Result, check};
use crate::handle::{FromC, record, records};
use crate::options::{c_enum, options};
use crate::reducer_options::ReducerMode;
use crate::sys;

c_enum! {
    /// What carries an exchange.
    CostAlgorithm {
        /// gradstep's own collectives.
        Own = GRADSTEP_COST_OWN,
        /// A ring.
        Ring = GRADSTEP_COST_RING,
        /// Recursive halving and doubling.
        Tree = GRADSTEP_COST_TREE,
        /// Inside hosts, and between them.
        Hierarchical = GRADSTEP_COST_HIERARCHICAL,
        /// Of top-k: everybody gets every selection.
        SparseGather = GRADSTEP_COST_SPARSE_GATHER,
        /// Of top-k: everybody sums a share.
        SparseSplit = GRADSTEP_COST_SPARSE_SPLIT,
    }
}
options! {
    /// A network and a processor in numbers; cost.h has the formulas.
    CostOptions => gradstep_cost_options by gradstep_cost_options_init {
        /// Of all parameters; must be set.
        elements: i64,
        /// Must be set.
        ranks: i64,
        /// Bytes a second each way between hosts; must be set.
        bandwidth: f64,
        /// Seconds between hosts; must be set.
        latency: f64,
        /// 4, the default, or 8.
        element_bytes: i32,
        /// Divides the ranks; default 1.
        ranks_per_host: i64,
        /// Default 2097152.
        bucket_elements: i64,
        /// Inside a host; default 5e9.
        host_bandwidth: f64,
        /// Inside a host; default 5e-6.
        host_latency: f64,
        /// Seconds for each message; default 2e-6.
        message: f64,
        /// Of top-k; default 0.01.
        sparsity: f64,
        /// Of PowerSGD; default 2.
        rank: i32,
        /// The engine can only gather.
        no_exchange: bool,
        /// Of PowerSGD's matrices; default 1024.
        rows: i64,
        /// Of PowerSGD's matrices; default 1024.
        columns: i64,
        /// Seconds for an element, into a bucket.
        pack_seconds: f64,
        /// To 16 bits and back.
        convert_seconds: f64,
        /// When the largest are selected.
        select_seconds: f64,
        /// Of a sparse list that is summed.
        entry_seconds: f64,
        /// To a dense sum.
        add_seconds: f64,
        /// By Adasum.
        merge_seconds: f64,
        /// By one column.
        multiply_seconds: f64,
    }
}

impl FromC<i32> for CostAlgorithm {
    fn from_c(code: i32) -> Self {
        Self::from_c(code).unwrap_or(Self::Own)
    }
}

record! {
    /// One way to exchange all elements once.
    Cost from gradstep_cost {
        /// Of a reducer.
        mode: ReducerMode = mode,
        /// What carries it.
        algorithm: CostAlgorithm = algorithm,
        /// That a rank sends.
        bytes: i64 = bytes,
        /// In all.
        seconds: f64 = seconds,
        /// Messages and bytes.
        network_seconds: f64 = network_seconds,
    }
}

impl CostOptions {
    /// With the seconds for an element that are measured here, by the context's threads; takes some milliseconds.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Callback`] (parallel_for).
    pub fn measured(self, context: &Context) -> Result<Self> {
        let mut raw = self.to_c()?;
        // SAFETY: the struct is written.
        check(unsafe { sys::gradstep_cost_options_measure(&mut raw, context.as_ptr()) })?;
        Ok(self
            .pack_seconds(raw.pack_seconds)
            .convert_seconds(raw.convert_seconds)
            .select_seconds(raw.select_seconds)
            .entry_seconds(raw.entry_seconds)
            .add_seconds(raw.add_seconds)
            .merge_seconds(raw.merge_seconds)
            .multiply_seconds(raw.multiply_seconds))
    }

    /// What each mode costs by each algorithm.
    ///
    /// ```
    /// let options = gradstep::CostOptions::default().elements(1 << 20).ranks(8).bandwidth(1e9).latency(1e-4);
    /// let costs = options.predict()?;
    /// assert!(costs.iter().all(|cost| cost.seconds >= cost.network_seconds));
    /// # Ok::<(), gradstep::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: a number that breaks its rule.
    pub fn predict(self) -> Result<Vec<Cost>> {
        let options = self.to_c()?;
        // SAFETY: as many records as are told, or none.
        let records = records(Cost::blank(), |records, size, capacity, count| unsafe {
            sys::gradstep_predict_costs(&options, records, size, capacity, count)
        })?;
        Ok(records.iter().map(Cost::from_c).collect())
    }
}
