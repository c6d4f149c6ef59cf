// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Whether parameters and state belong together, here and among the ranks that share the state.
#pragma once

#include <cstdint>

#include "backend/context.h"
#include "comm/communicator.h"
#include "core/function_ref.h"

namespace gradstep {

class Wholeness {
 public:
  /// Both outlive it. `kind` is the optimizer's, for the log.
  Wholeness(const Context& context, const char* kind) : context_(context), kind_(kind) {}

  /// False from a failed exchange or half a step on, until state is loaded or copied in.
  bool holds() const { return !parted_ && !unpublished_ && has_share(); }
  /// What this rank has of the state has made as many steps as are counted, whatever the other ranks and the parameters
  /// have made.
  bool has_share() const { return !lost_ && !torn_; }
  /// The state has made a step that has not reached all parameters.
  bool is_ahead() const { return unpublished_; }
  /// Throws INVALID_STATE. `can_be_reached`: the ranks that share the state, as far as is known.
  void check(bool can_be_reached) const;

  /// Runs what changes parameters and state. What fails before its first loop has begun has changed nothing.
  void change(FunctionRef<void()> body);
  /// In a change: what was done so far leaves parameters and state as good as they were, if it fails right here.
  void nothing_has_changed() { loops_before_ = context_.loops_begun(); }

  /// In the handler of what an exchange has thrown. `has_stepped`: not all of the parameters are where the state is.
  void exchange_failed(Communicator& comm, bool has_stepped);
  void lose() { lost_ = true; }
  void restore() { lost_ = parted_ = unpublished_ = torn_ = false; }

 private:
  const Context& context_;
  const char* kind_;
  bool lost_ = false;              // the numbers are gone
  bool parted_ = false;            // an exchange failed: the ranks' slices may not belong together
  bool unpublished_ = false;       // the state has made a step whose parameters have not all come
  bool torn_ = false;              // a step was broken off: some parameters and states have made it, others have not
  std::int64_t loops_before_ = 0;  // of the context, when the step began to change something
};

}  // namespace gradstep
