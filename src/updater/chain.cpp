// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "updater/chain.h"

#include "core/error.h"

namespace gradstep {

void Chain::check_parts() const {
  if (!has_parts()) return;
  constexpr const char* kSpread = "the host has spread the parameters";
  if (reducer) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "reducer: {}: reduce gradients before the push, and leave it out", kSpread);
  }
  if (outer) fail(GRADSTEP_ERR_UNSUPPORTED, "options.outer: {}, whose rounds are not those of one rank", kSpread);
  if (!accumulator) return;
  if (accumulator->nonfinite_policy() == GRADSTEP_NONFINITE_SKIP) {
    fail(GRADSTEP_ERR_UNSUPPORTED,
         "accumulator: skips micro-batches by what this rank has of them, and {}: use skip_nonfinite of the updater",
         kSpread);
  }
  if (!accumulator->ends_by_count()) {
    fail(GRADSTEP_ERR_UNSUPPORTED,
         "accumulator: {}, so that windows must end by a count of micro-batches (trigger steps or schedule)", kSpread);
  }
}

}  // namespace gradstep
