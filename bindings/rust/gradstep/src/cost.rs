// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! What an exchange of gradients will cost, on a network that need not be there.

use crate::c_types::{Cost, CostOptions};
use crate::context::Context;
#[cfg(doc)]
use crate::error::Error;
use crate::error::{Result, check};
use crate::handle::records;
use crate::sys;

impl CostOptions {
    /// With the seconds for an element that are measured here, by the context's threads; takes some milliseconds.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Callback`] (parallel_for).
    pub fn measure(self, context: &Context) -> Result<Self> {
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
            .multiply_seconds(raw.multiply_seconds)
            .encode_seconds(raw.encode_seconds)
            .decode_seconds(raw.decode_seconds))
    }

    /// The old name of [`CostOptions::measure`].
    ///
    /// # Errors
    /// As [`CostOptions::measure`].
    #[deprecated(note = "use measure")]
    pub fn measured(self, context: &Context) -> Result<Self> {
        self.measure(context)
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
        // SAFETY: as many records as the count says, or none.
        let records = records(Cost::blank(), |records, size, capacity, count| unsafe {
            sys::gradstep_predict_costs(&options, records, size, capacity, count)
        })?;
        Ok(records.iter().map(Cost::from_c).collect())
    }
}
