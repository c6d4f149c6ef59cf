// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The named numbers of an update rule: one schedule per field and group, and their values at the current step.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "backend/queue.h"
#include "backend/schedule.h"

namespace gradstep {

/// A hyper-parameter's name and legal values. The name is the one of the options struct's field.
struct HyperParameterField {
  const char* name;
  double minimum = -std::numeric_limits<double>::max();
  double limit = std::numeric_limits<double>::infinity();  ///< values are below it
};

class HyperParameters {
 public:
  /// All groups start with the constants `values`, one per field; they are checked.
  HyperParameters(std::span<const HyperParameterField> fields, std::span<const double> values, std::int32_t groups);

  std::int32_t group_count() const { return static_cast<std::int32_t>(schedules_.size()); }
  std::size_t field_count() const { return fields_.size(); }
  std::vector<const char*> names() const {
    std::vector<const char*> names;
    for (const HyperParameterField& field : fields_) names.push_back(field.name);
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
  /// Of the last refresh, by field.
  std::span<const double> values(std::int32_t group) const {
    return {values_.data() + static_cast<std::size_t>(group) * fields_.size(), fields_.size()};
  }
  std::span<const double> all_values() const { return values_; }
  /// Does a schedule call the host?
  bool needs_host() const;
  /// For devices that evaluate them, [group][field]; shows these schedules' tables.
  std::vector<kernels::HyperParameterForm> forms() const;
  /// True if a refresh can only give the values that stand there already.
  bool settled() const { return settled_; }

 private:
  void evaluate_all(std::int64_t step, Queue* queue);
  void check_value(std::size_t field, double value, gradstep_status status, const std::string& where) const;

  std::span<const HyperParameterField> fields_;
  std::vector<std::vector<Schedule>> schedules_;  // [group][field]
  std::vector<double> values_;                    // [group * fields + field]
  std::vector<double> fresh_;                     // a refresh in the making
  bool settled_ = false;
};

}  // namespace gradstep
