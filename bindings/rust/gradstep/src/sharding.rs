// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! How an optimizer's state is dealt out to ranks.

use crate::comm::Average;
use crate::options::{c_enum, options};

c_enum! {
    /// What the gradients of a sharded step are.
    ShardedGradients {
        /// Each rank's own: the step reduce-scatters them.
        Local = GRADSTEP_SHARDED_GRADIENTS_LOCAL,
        /// Equal on all ranks already.
        Reduced = GRADSTEP_SHARDED_GRADIENTS_REDUCED,
    }
}
c_enum! {
    /// What of a Shampoo is dealt out.
    ShardedPreconditioners {
        /// The work on roots.
        Replicated = GRADSTEP_SHARDED_PRECONDITIONERS_REPLICATED,
        /// The blocks.
        Owned = GRADSTEP_SHARDED_PRECONDITIONERS_OWNED,
    }
}
options! {
    /// How state is dealt out; see sharding.h.
    ShardingOptions => gradstep_sharding_options by gradstep_sharding_options_init {
        /// What the gradients are.
        gradients: ShardedGradients,
        /// How local gradients become one: sum or mean.
        average: Average,
        /// What of a Shampoo is dealt out.
        preconditioners: ShardedPreconditioners,
    }
}
