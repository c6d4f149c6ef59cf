// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What distinguishes one first-order rule from another. Everything else is in FirstOrderOptimizer.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/constants.h"
#include "kernels/rules.h"
#include "optim/first_order/state_storage.h"
#include "optim/hyper_parameters.h"

namespace gradstep {

class UpdateRule {
 public:
  explicit UpdateRule(const StateStorage& storage) : storage_(storage) {}
  virtual ~UpdateRule() = default;
  UpdateRule(const UpdateRule&) = delete;
  UpdateRule& operator=(const UpdateRule&) = delete;

  const StateStorage& storage() const { return storage_; }

  /// "sgd": the name of the rule in the API and in files.
  virtual const char* name() const = 0;
  virtual std::span<const HyperParameterField> fields() const = 0;
  /// The constants of the options, by field.
  virtual std::span<const double> defaults() const = 0;
  virtual std::span<const char* const> state_names() const = 0;
  virtual bool maximize() const = 0;

  /// Bit s = state s exists for parameters of this group (with `schedules` by field). The kernel gets those that exist,
  /// in the order of their names.
  virtual std::uint32_t states_of(std::span<const Schedule> schedules) const = 0;
  /// Bit s = state s has values below zero.
  virtual std::uint32_t signed_states() const = 0;
  /// What state s starts with.
  virtual double initial_value(std::size_t /*state*/) const { return 0; }

  /// Throws for a combination of schedules that the rule cannot take. Called at creation and before a change of one.
  virtual void check(std::span<const Schedule> schedules) const = 0;

  /// The kernel for a group.
  virtual kernels::RuleId kernel(std::span<const Schedule> schedules) const = 0;

  /// How the kernel's constants follow from the hyper-parameters.
  virtual kernels::RuleForm form() const = 0;

 private:
  StateStorage storage_;
};

/// Throws unless `value` is one of 0 .. count-1.
inline void check_choice(const char* argument, std::int32_t value, std::int32_t count, const char* choices) {
  if (value < 0 || value >= count) fail_argument("{}: is {}, expected {}", argument, value, choices);
}

}  // namespace gradstep
