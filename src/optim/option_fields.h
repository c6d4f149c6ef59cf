// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The hyper-parameters of a rule as one list: each line ties the place where kernels read a value, the field of the
// options that holds it at creation, its name and its range.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "optim/hyper_parameters.h"

namespace gradstep {

template <class Options>
struct OptionField {
  std::size_t place;
  double Options::* member;
  rules::Field field;
};

/// The lines in the order of their places, whatever order they are written in. Does not compile unless every place from
/// 0 to kCount - 1 has one.
template <class Options, std::size_t kCount>
class OptionFields {
 public:
  consteval explicit OptionFields(const OptionField<Options> (&lines)[kCount]) {
    for (const OptionField<Options>& line : lines) {
      if (line.member == nullptr || members_.at(line.place) != nullptr) throw "a place has no line, or two";
      members_[line.place] = line.member;
      fields_[line.place] = line.field;
    }
  }

  constexpr std::span<const rules::Field> fields() const { return fields_; }

  /// What the options hold, by place.
  constexpr std::array<double, kCount> values(const Options& options) const {
    std::array<double, kCount> values{};
    for (std::size_t i = 0; i < kCount; ++i) values[i] = options.*members_[i];
    return values;
  }

 private:
  std::array<double Options::*, kCount> members_{};
  std::array<rules::Field, kCount> fields_{};
};

}  // namespace gradstep
