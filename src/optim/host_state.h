// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// An optimizer's state as hosts and files see it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "backend/site.h"
#include "core/schema.h"
#include "optim/state/state_store.h"

namespace gradstep {

class SteppedModel;

/// An average of the weights that a rule has by itself: (1 - share) * p + share * state.
struct OwnAverage {
  const char* state = nullptr;                                  ///< NULL = none
  std::function<double(const double* values)> share = nullptr;  ///< by the hyper-parameters of the group
};

/// Shows the state of a model, which outlives it and all that is shown.
class HostState {
 public:
  explicit HostState(SteppedModel& model);

  std::span<const char* const> names() const;
  /// The buffer of one state. Throws INVALID_ARGUMENT, INVALID_STATE, or UNSUPPORTED where no such buffer exists.
  Array view(std::size_t index, const char* name) const;
  /// The shape of a state; that of the parameter where the name says nothing else, and of the whole with an owner.
  std::span<const std::int64_t> shape(std::size_t index, const char* name) const;
  /// Copies a state to or from a tensor of the state's size and any float dtype; get() also to one of this rank's part
  /// of it. To read what is spread over ranks, or is an owner's, is collective.
  void get(std::size_t index, const char* name, const Array& host) const;
  void set(std::size_t index, const char* name, const Array& host) const;
  /// Throws INVALID_STATE unless a parameter has an average of its weights.
  void check_average(std::size_t index, const OwnAverage& own = {}) const;
  /// Copies the average of a parameter. One of the rule's own may be made of a state and the parameter, whose numbers
  /// `host` then holds beforehand; `share`: of the state.
  void get_average(std::size_t index, const OwnAverage& own, double share, const Array& host) const;

  /// Every buffer that exists, in an order that is the same on all ranks; together with flags and counters it is the
  /// whole state.
  std::vector<StoredState> stored() const;
  /// The states that are in place: without an exchange, and without what is still computed.
  std::vector<StoredState> kept() const { return store_.stored(); }
  /// By parameter, 1 = a gradient has gone into its state.
  std::vector<std::uint8_t> flags() const;
  void set_flags(std::span<const std::uint8_t> flags) const;

 private:
  /// The slot of a state that exists, and that ranks can find. Throws INVALID_ARGUMENT or INVALID_STATE.
  std::size_t find(std::size_t index, const char* name) const;

  SteppedModel& model_;
  const Schema& schema_;
  const Site& site_;
  StateStore& store_;
};

}  // namespace gradstep
