// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The named numbers of an optimizer's rules: one schedule per field and group, and their values at the current step.
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

/// What a group's rule computes with, and the values that it starts with.
struct GroupFields {
  std::span<const rules::Field> fields;
  std::span<const double> values;
};

class HyperParameters {
 public:
  /// All groups start with the constants `values`, one per field; they are checked.
  HyperParameters(std::span<const rules::Field> fields, std::span<const double> values, std::int32_t groups)
      : HyperParameters(std::vector<GroupFields>(1, {fields, values}), groups) {}
  /// By group; those behind the last one are like it. Several groups are there from the start.
  HyperParameters(std::span<const GroupFields> by_group, std::int32_t groups);

  std::int32_t group_count() const { return static_cast<std::int32_t>(groups_.size()); }
  /// The most fields that a group has: the distance of groups in lists of values.
  std::size_t field_count() const { return field_count_; }
  /// All names, in the order of the groups.
  std::vector<const char*> names() const;
  /// The fields of a group.
  std::span<const rules::Field> fields(std::int32_t group) const { return at(group).fields; }

  /// New groups take the last one's schedules if it has a rule of its own, else group 0's.
  void grow(std::int32_t groups);

  /// Throws for a name that the group does not have; the text lists those it has. -1 = group 0.
  std::size_t field(std::int32_t group, const char* name) const;
  /// Throws for a group that does not exist; -1 is legal and means all.
  void check_group(std::int32_t group) const;

  /// -1 = all groups that have the name; throws if none has.
  void set(std::int32_t group, const char* name, const Schedule& schedule);
  const Schedule& schedule(std::int32_t group, std::size_t field) const { return at(group).schedules[field]; }
  std::span<const Schedule> schedules(std::int32_t group) const { return at(group).schedules; }
  /// The checked value at `step`, whatever was refreshed last. Numbers that lie in a device's memory are read by
  /// `queue`; NULL = in the host's.
  double evaluate(std::int32_t group, std::size_t field, std::int64_t step, Queue* queue = nullptr) const;

  /// Evaluates everything at `step`. Throws NUMERIC for a value outside its field's range, with nothing changed.
  void refresh(std::int64_t step, Queue* queue = nullptr) {
    if (is_listed_) {
      if (!varying_.empty()) evaluate_varying(step, queue);
    } else {
      evaluate_all(step, queue);
    }
  }
  /// The values of the last refresh, by field.
  std::span<const double> values(std::int32_t group) const {
    return {values_.data() + static_cast<std::size_t>(group) * field_count_, fields(group).size()};
  }
  std::span<const double> all_values() const { return values_; }
  /// Does a schedule call the host?
  bool needs_host() const;
  /// For devices that evaluate them, [group][field]; shows these schedules' tables.
  std::vector<kernels::HyperParameterForm> forms() const;
  /// By name: equal on two ranks whose groups have the same schedules and, where the host is asked for a value, got
  /// the same ones at the last refresh.
  std::vector<std::uint64_t> facts() const;
  /// In a text about a fact that ranks disagree on.
  std::string fact_text(std::size_t i) const;
  /// Stands for all of facts(), at little cost where nothing changes.
  std::uint64_t digest() const;
  /// True if a refresh can only give the values that stand there already.
  bool settled() const { return is_listed_ && varying_.empty(); }

 private:
  struct Group {
    std::span<const rules::Field> fields;
    std::vector<Schedule> schedules;

    /// The place of a field; fields.size() = it has none of that name.
    std::size_t find(const char* name) const;
  };

  /// A value that no constant gives.
  struct Varying {
    std::size_t group = 0;
    std::size_t field = 0;
    std::size_t like = 0;  ///< the place in the list of an equal schedule before it; its own = there is none
  };

  const Group& at(std::int32_t group) const { return groups_[static_cast<std::size_t>(group)]; }
  void check_value(std::int32_t group, std::size_t field, std::int64_t step, double value) const;
  void evaluate_all(std::int64_t step, Queue* queue);
  void evaluate_varying(std::int64_t step, Queue* queue);
  void list_varying();
  void forget_values();
  std::uint64_t digest_of(const char* name, std::uint64_t state) const;

  std::vector<Group> groups_;
  std::size_t rules_ = 1;  // groups that were given fields of their own
  std::size_t field_count_ = 0;
  std::vector<double> values_;  // [group * field_count + field]
  std::vector<double> fresh_;   // a refresh in the making: all values, then those that vary
  std::vector<Varying> varying_;
  bool is_listed_ = false;  // constants stand in values_, all else in varying_
  mutable std::optional<std::uint64_t> digest_;
};

}  // namespace gradstep
