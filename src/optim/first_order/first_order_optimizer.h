// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// An optimizer whose rule is element-wise: one kernel per group, run over the parameters and their state.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "optim/first_order/first_order_state.h"
#include "optim/first_order/rule.h"
#include "optim/optimizer.h"

namespace gradstep {

class FirstOrderOptimizer final : public Optimizer {
 public:
  FirstOrderOptimizer(std::shared_ptr<Context> context, Rule rule, Schema schema);

  /// Bytes of state that such an optimizer would hold.
  static std::int64_t state_bytes(const Rule& rule, const Schema& schema);

  const char* kind() const override { return rule_.name(); }
  std::span<const char* const> state_names() const override { return state_.names(); }
  Array state(std::size_t index, const char* name) override;
  void get_state(std::size_t index, const char* name, const Array& host) override;
  void set_state(std::size_t index, const char* name, const Array& host) override;
  std::vector<StoredState> stored_states() override { return state_.stored(); }
  std::vector<std::uint8_t> state_flags() const override;
  void set_state_flags(std::span<const std::uint8_t> flags) override;
  std::int64_t other_bytes() const override;

 private:
  std::vector<FirstOrderState::Want> wants(const Schema& schema, const HyperParameters& hyper_parameters) const;
  void fill_items();
  void apply(double clip_value) override;
  /// What `flags` say becomes so at the site.
  void write_flags(std::span<const std::uint8_t> flags);
  void check_schedules(std::span<const Schedule> schedules) const override { rule_.check(schedules); }
  void prepare(const Schema& schema, const HyperParameters& hyper_parameters) override;
  void check_gives_updates() const override;
  void prepare_slices(const Sharding* next, bool keep, const Deadline& deadline) override;
  void commit_slices() noexcept override;
  void discard_slices() noexcept override;
  std::string sharding_key() const override;

  Rule rule_;
  FirstOrderState state_;
  Buffer used_;                             // by parameter, one byte: 1 = a gradient has gone into the state
  Buffer unused_;                           // those of slices that are prepared as at creation: all 0
  Buffer constants_;                        // by group, rules::GroupConstants
  std::vector<rules::KernelId> kernels_;    // by group
  std::vector<std::uint64_t> random_keys_;  // by parameter
  std::vector<UpdateItem> items_;
  UpdatePlan plan_;      // of items_
  bool filled_ = false;  // items_ are those of the bound buffers
};

}  // namespace gradstep
