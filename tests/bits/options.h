// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Options structs filled by the names of their fields, and schedules. A name or word that does not exist is an error.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/handles.h"

namespace gradstep_bits {

using gradstep_handles::check;

/// Throws unless every key of `object` is one of `known`.
void check_keys(const nlohmann::json& object, const char* where, const std::vector<std::string>& known);

/// A schedule and what it points to. An object {"kind": ..., ...}, or a number, which is a constant.
class ScheduleOf {
 public:
  explicit ScheduleOf(const nlohmann::json& spec);
  /// The struct for one call, which copies it. A callback's values are handed over with it.
  const gradstep_schedule* get();
  double at_step_0() const;

 private:
  gradstep_schedule schedule_{};
  std::vector<std::int64_t> boundaries_;
  std::vector<double> values_;
  bool is_callback_ = false;
};

/// One of the public options structs: its defaults, and the fields named in `spec` but for the keys in `others`. A
/// double field may be given a schedule: its value at step 0 is taken. `object` stands in errors.
template <class Options>
Options options_of(const nlohmann::json& spec, const char* object, const std::vector<std::string>& others = {});

/// The number of `word` in a list, which is that of the C enum.
std::int32_t number_of(const std::string& word, const std::vector<const char*>& words, const std::string& where);

}  // namespace gradstep_bits
