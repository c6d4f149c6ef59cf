// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// An optimizer whose rule is element-wise: state buffers shaped as the parameters, one kernel per group.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "optim/optimizer.h"
#include "optim/update_rule.h"

namespace gradstep {

class FirstOrderOptimizer final : public Optimizer {
 public:
  FirstOrderOptimizer(std::shared_ptr<Context> context, std::unique_ptr<UpdateRule> rule, Schema schema);

  /// Bytes of state that such an optimizer would hold.
  static std::int64_t state_bytes(const UpdateRule& rule, const Schema& schema);

  const char* kind() const override { return rule_->name(); }
  std::span<const char* const> state_names() const override { return rule_->state_names(); }
  Array state(std::size_t index, const char* name) override;
  std::vector<StoredState> stored_states() override;
  std::vector<std::uint8_t> state_flags() const override;
  void set_state_flags(std::span<const std::uint8_t> flags) override;
  void state_written(std::size_t index) override;
  std::int64_t other_bytes() const override;

 private:
  struct PerParameter {
    std::array<Buffer, kernels::kMaxStates> states;
    std::uint32_t active = 0;  // bit s: state s takes part; a buffer that was switched off stays, for views of it
    bool used = false;         // a gradient has gone into the state
  };
  struct PerGroup {
    RuleConstants constants;
    RuleConstants first_constants;
    kernels::RuleId kernel;
  };

  void fill_items();
  void apply(double grad_multiplier, double clip_value) override;
  void check_schedules(std::span<const Schedule> schedules) const override { rule_->check(schedules); }
  void prepare(const Schema& schema, const HyperParameters& hyper_parameters) override;

  std::unique_ptr<UpdateRule> rule_;
  std::vector<PerParameter> parameters_;
  std::vector<PerGroup> groups_;
  std::vector<UpdateItem> items_;
  bool all_used_ = false;  // no parameter needs the constants of a first gradient any more
  bool filled_ = false;    // items_ are those of the bound buffers, for all steps to come
};

}  // namespace gradstep
