// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/text/growth.h"

#include <algorithm>
#include <vector>

namespace gradstep::rules::text {

namespace {

/// The highest power of a gradient that each node grows with, if its states are averages: as x * g^growth.
class Growth {
 public:
  explicit Growth(const Parsed& parsed) : parsed_(parsed), of_(parsed.graph.size()), of_states_(parsed.states.size()) {
    for (int pass = 0; pass < kPasses; ++pass) {
      for (std::size_t i = 0; i < of_.size(); ++i) of_[i] = growth_of(parsed.graph[static_cast<NodeId>(i)]);
      for (std::size_t s = 0; s < of_states_.size(); ++s) {
        of_states_[s] = of_[static_cast<std::size_t>(parsed.states[s].after)];
      }
    }
  }

  double largest_of_states() const {
    double largest = 1;
    for (const double growth : of_states_) largest = std::max(largest, growth);
    return largest;
  }

 private:
  // A state that multiplies itself by a gradient grows without end: the text shows only some of it.
  static constexpr int kPasses = 4;
  static constexpr double kLargest = 8;

  double at(NodeId id) const { return id == kNoNode ? 0 : of_[static_cast<std::size_t>(id)]; }

  double growth_of(const Node& node) const {
    switch (node.op) {
      case Op::gradient:
        return 1;
      case Op::state:
        return of_states_[static_cast<std::size_t>(node.index)];
      case Op::total: {
        const Parsed::Sum& sum = parsed_.sums[static_cast<std::size_t>(node.index)];
        return std::min(kLargest, at(sum.of) * (sum.squares ? 2 : 1));
      }
      case Op::multiply:
        return std::min(kLargest, at(node.a) + at(node.b));
      case Op::divide:
      case Op::negate:
      case Op::absolute:
        return at(node.a);
      case Op::root:
        return at(node.a) / 2;
      case Op::power: {
        const Node& exponent = parsed_.graph[node.b];
        const bool is_known = exponent.op == Op::number && exponent.number > 0;
        return std::min(kLargest, at(node.a) * (is_known ? exponent.number : 1));
      }
      case Op::add:
      case Op::subtract:
      case Op::minimum:
      case Op::maximum:
        return std::max(at(node.a), at(node.b));
      case Op::select:
        return std::max(at(node.b), at(node.c));
      default:
        return 0;
    }
  }

  const Parsed& parsed_;
  std::vector<double> of_;  // by node
  std::vector<double> of_states_;
};

}  // namespace

double growth_of_states(const Parsed& parsed) { return Growth(parsed).largest_of_states(); }

}  // namespace gradstep::rules::text
