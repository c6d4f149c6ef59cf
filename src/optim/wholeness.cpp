// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/wholeness.h"

#include "core/error.h"

namespace gradstep {

void Wholeness::check(bool can_be_reached) const {
  if (lost_ || parted_) {
    fail(GRADSTEP_ERR_INVALID_STATE,
         "optimizer: an exchange of its sharded state failed, and the state is lost: {}load a saved state",
         can_be_reached ? "" : "attach a communicator of the ranks that are left (or none), then ");
  }
  if (torn_ || unpublished_) {
    fail(GRADSTEP_ERR_INVALID_STATE,
         "optimizer: a step was broken off half-way: load a saved state and set the parameters to those saved with it");
  }
}

void Wholeness::change(FunctionRef<void()> body) {
  nothing_has_changed();
  try {
    body();
  } catch (...) {
    if (!torn_ && context_.loops_begun() != loops_before_) {
      torn_ = true;
      context_.log().write(GRADSTEP_LOG_ERROR, "optimizer {}: a step was broken off half-way", kind_);
    }
    throw;
  }
}

void Wholeness::exchange_failed(Communicator& comm, bool has_stepped) {
  unpublished_ = unpublished_ || has_stepped;
  // The other ranks cannot go on without this one's share, and would take its next exchange for this one.
  if (torn_ || unpublished_ || is_of_this_rank(translate_exception())) comm.abort();
  parted_ = comm.status().code != GRADSTEP_OK;
}

}  // namespace gradstep
