// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What ranks tell each other of a window beside its gradients: their weights, and which parameters have a gradient.
#pragma once

#include <vector>

#include "comm/communicator.h"

namespace gradstep {

class ControlRound {
 public:
  explicit ControlRound(std::size_t parameters) : numbers_(numbers_of(parameters)) {}
  /// How many travel.
  static std::size_t numbers_of(std::size_t parameters) { return kFirstParameter + parameters; }

  /// A new window, of this rank's weight; no parameter has a gradient.
  void begin(double weight);
  double own_weight() const { return numbers_[kWeight]; }
  void set_touched(std::size_t parameter) {
    numbers_[kFirstParameter + parameter] = 1;
    numbers_[kRanksWithGradient] = 1;
  }
  /// Sums over the ranks. Collective.
  void exchange(Communicator& comm, const Deadline& deadline);

  // After exchange().
  double total_weight() const { return numbers_[kWeight]; }
  bool any_gradient() const { return numbers_[kRanksWithGradient] > 0; }
  bool is_touched(std::size_t parameter) const { return numbers_[kFirstParameter + parameter] > 0; }

 private:
  enum Number : std::size_t {
    kWeight,
    kRanksWithGradient,
    kFirstParameter  // 1 for each that has a gradient
  };

  std::vector<double> numbers_;
};

}  // namespace gradstep
