// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The named numbers of an update rule: one schedule per field and group, and their values at the current step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/queue.h"
#include "backend/schedule.h"
#include "core/error.h"
#include "rules/description.h"

namespace gradstep {

/// Throws `status` with a text that begins with `where`.
[[noreturn]] void fail_out_of_range(const rules::Range& range, double value, gradstep_status status,
                                    const std::string& where);

/// Throws INVALID_ARGUMENT unless `value` is one of 0 .. count-1.
inline void check_choice(const char* argument, std::int32_t value, std::int32_t count, const char* choices) {
  if (value < 0 || value >= count) fail_argument("{}: is {}, expected {}", argument, value, choices);
}

class HyperParameters {
 public:
  /// All groups start with the constants `values`, one per field; they are checked.
  HyperParameters(std::span<const rules::Field> fields, std::span<const double> values, std::int32_t groups);

  std::int32_t group_count() const { return static_cast<std::int32_t>(schedules_.size()); }
  std::size_t field_count() const { return fields_.size(); }
  std::vector<const char*> names() const {
    std::vector<const char*> names;
    for (const rules::Field& field : fields_) names.push_back(field.name);
    return names;
  }

  /// New groups take group 0's schedules.
  void grow(std::int32_t groups);

  /// Throws for an unknown name; the text lists the known ones.
  std::size_t field(const char* name) const;
  /// Throws for a group that does not exist; -1 is legal and means all.
  void check_group(std::int32_t group) const;

  void set(std::int32_t group, std::size_t field, const Schedule& schedule);
  const Schedule& schedule(std::int32_t group, std::size_t field) const {
    return schedules_[static_cast<std::size_t>(group)][field];
  }
  /// The checked value at `step`, whatever was refreshed last. Numbers that lie in a device's memory are read by
  /// `queue`; NULL = in the host's.
  double evaluate(std::int32_t group, std::size_t field, std::int64_t step, Queue* queue = nullptr) const;

  /// Evaluates everything at `step`. Throws NUMERIC for a value outside its field's range, with nothing changed.
  void refresh(std::int64_t step, Queue* queue = nullptr) {
    if (!settled_) evaluate_all(step, queue);
  }
  /// The values of the last refresh, by field.
  std::span<const double> values(std::int32_t group) const {
    return {values_.data() + static_cast<std::size_t>(group) * fields_.size(), fields_.size()};
  }
  std::span<const double> all_values() const { return values_; }
  /// Does a schedule call the host?
  bool needs_host() const;
  /// For devices that evaluate them, [group][field]; shows these schedules' tables.
  std::vector<kernels::HyperParameterForm> forms() const;
  /// By field: equal on two ranks whose groups have the same schedules and, where the host is asked for a value, got
  /// the same ones at the last refresh.
  std::vector<std::uint64_t> facts() const;
  /// Stands for all of facts(), at little cost where nothing changes.
  std::uint64_t digest();
  /// True if a refresh can only give the values that stand there already.
  bool settled() const { return settled_; }

 private:
  void evaluate_all(std::int64_t step, Queue* queue);
  std::uint64_t digest_of(std::size_t field, std::uint64_t state) const;

  std::span<const rules::Field> fields_;
  std::vector<std::vector<Schedule>> schedules_;  // [group][field]
  std::vector<double> values_;                    // [group * fields + field]
  std::vector<double> fresh_;                     // a refresh in the making
  bool settled_ = false;
  std::optional<std::uint64_t> digest_;
};

}  // namespace gradstep
