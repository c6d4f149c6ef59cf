// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// An optimizer whose rule is element-wise: states shaped as the parameters, stored as the options say, one kernel per
// group.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "optim/first_order/update_rule.h"
#include "optim/optimizer.h"

namespace gradstep {

class FirstOrderOptimizer final : public Optimizer {
 public:
  FirstOrderOptimizer(std::shared_ptr<Context> context, std::unique_ptr<UpdateRule> rule, Schema schema);

  /// Bytes of state that such an optimizer would hold.
  static std::int64_t state_bytes(const UpdateRule& rule, const Schema& schema);

  const char* kind() const override { return rule_->name(); }
  std::span<const char* const> state_names() const override { return names_; }
  Array state(std::size_t index, const char* name) override;
  void get_state(std::size_t index, const char* name, const Array& host) override;
  void set_state(std::size_t index, const char* name, const Array& host) override;
  std::vector<StoredState> stored_states() override;
  std::vector<std::uint8_t> state_flags() const override;
  void set_state_flags(std::span<const std::uint8_t> flags) override;
  std::int64_t other_bytes() const override;

 private:
  /// A rule's states come first, then the master weights.
  static constexpr std::size_t kMaster = kernels::kMaxStates;
  static constexpr std::size_t kSlots = kernels::kMaxStates + 1;

  struct StateBuffer {
    Buffer numbers;
    Buffer factors;  // of block codes
  };
  struct PerParameter {
    std::array<StateBuffer, kSlots> states;
    std::uint32_t active = 0;  // bit s: slot s takes part; a buffer that was switched off stays, for views of it
    std::uint64_t random_key = 0;
  };

  std::uint32_t slots_of(const Parameter& parameter, const HyperParameters& hyper_parameters) const;
  StateFormat format_of(std::size_t slot) const;
  const char* name_of_slot(std::size_t slot) const;
  StateBuffer allocate(std::size_t slot, const Parameter& parameter, std::int64_t elements) const;
  void set_initial(std::size_t slot, const Parameter& parameter, const StateBuffer& buffer,
                   std::int64_t elements) const;
  /// The slot of a name that exists for this parameter. Throws INVALID_ARGUMENT or INVALID_STATE.
  std::size_t find_state(std::size_t index, const char* name) const;
  Array numbers_of(std::size_t index, std::size_t slot) const;
  Array factors_of(std::size_t index, std::size_t slot) const;
  CodedNumbers coded(std::size_t index, std::size_t slot) const;
  void fill_items();
  void apply(double clip_value) override;
  /// What `flags` say becomes so at the site.
  void write_flags(std::span<const std::uint8_t> flags);
  void check_schedules(std::span<const Schedule> schedules) const override { rule_->check(schedules); }
  void prepare(const Schema& schema, const HyperParameters& hyper_parameters) override;
  void check_gives_updates() const override;
  void prepare_slices(const Sharding* next, bool keep) override;
  void commit_slices() noexcept override;
  void discard_slices() noexcept override { prepared_.clear(); }
  /// Allocates prepared_ for the slices of `next`.
  void allocate_slices(const Sharding* next, bool keep);

  std::unique_ptr<UpdateRule> rule_;
  std::vector<const char*> names_;
  std::vector<PerParameter> parameters_;
  std::vector<PerParameter> prepared_;    // between prepare_slices and commit_slices
  bool keeps_flags_ = false;              // likewise
  Buffer used_;                           // by parameter, one byte: 1 = a gradient has gone into the state
  Buffer constants_;                      // by group, kernels::GroupConstants
  std::vector<kernels::RuleId> kernels_;  // by group
  std::vector<UpdateItem> items_;
  UpdatePlan plan_;      // of items_
  bool filled_ = false;  // items_ are those of the bound buffers
};

}  // namespace gradstep
