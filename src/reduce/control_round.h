// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What ranks tell each other of a window beside its gradients: their weights, and which parameters have a gradient.
#pragma once

#include <vector>

#include "comm/communicator.h"
#include "core/schema.h"
#include "gradstep/reducer.h"

namespace gradstep {

class ControlRound {
 public:
  /// `schema` outlives it.
  ControlRound(const Schema& schema, const gradstep_reducer_options& options);

  /// From now on every window has one.
  void always() { is_needed_ = true; }
  /// By the options, by parameters that may be unused, or by always().
  bool is_needed() const { return is_needed_; }
  /// Gradients are averaged by the weights.
  bool is_weighted() const { return is_weighted_; }
  /// Parameters may have no gradient on any rank.
  bool has_optional() const { return has_optional_; }
  /// How many numbers travel.
  static std::size_t numbers_of(std::size_t parameters) { return kFirstParameter + parameters; }

  /// A new window, of this rank's weight; no parameter has a gradient.
  void begin(double weight);
  void set_touched(std::size_t parameter) {
    sums_[kFirstParameter + parameter] = 1;
    sums_[kRanksWithGradient] = 1;
  }
  /// Sums over the ranks. Collective.
  void exchange(Communicator& comm, const Deadline& deadline);
  /// What exchange() sums, for a caller that sums it in an exchange of its own: complete() takes the place of
  /// exchange() then.
  Array numbers() { return compact_array(sums_.data(), static_cast<std::int64_t>(sums_.size()), DType::f64); }
  void complete() { is_exchanged_ = true; }
  bool is_exchanged() const { return is_exchanged_; }

  // After exchange().
  double total_weight() const { return sums_[kWeight]; }
  bool any_gradient() const { return sums_[kRanksWithGradient] > 0; }
  /// Some rank has a gradient of it; in a window without exchange(), and where it may not be unused: always.
  bool has_gradient(std::size_t parameter) const {
    return !is_exchanged_ || !schema_[parameter].may_be_unused || sums_[kFirstParameter + parameter] > 0;
  }

 private:
  enum Number : std::size_t {
    kWeight,
    kRanksWithGradient,
    kFirstParameter  // 1 for each that has a gradient
  };

  const Schema& schema_;
  std::vector<double> sums_;
  bool is_weighted_;
  bool has_optional_;
  bool is_needed_;
  bool is_exchanged_ = false;  // in this window
};

}  // namespace gradstep
