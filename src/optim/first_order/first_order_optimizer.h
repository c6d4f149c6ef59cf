// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// An optimizer whose rules are element-wise: one rule or several, by group; one kernel per group, run over the
// parameters and their state.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/held_bytes.h"
#include "optim/first_order/finish_phases.h"
#include "optim/first_order/gradient_units.h"
#include "optim/first_order/rule.h"
#include "optim/first_order/sums_phase.h"
#include "optim/optimizer.h"
#include "optim/weight_averages.h"

namespace gradstep {

class FirstOrderOptimizer final : public Optimizer {
 public:
  /// One rule for all groups.
  FirstOrderOptimizer(std::shared_ptr<Context> context, Rule rule, Schema schema)
      : FirstOrderOptimizer(std::move(context), RulesByGroup({std::move(rule)}), std::move(schema)) {}
  FirstOrderOptimizer(std::shared_ptr<Context> context, RulesByGroup rules, Schema schema);

  /// Bytes of state that such an optimizer would hold.
  static std::int64_t state_bytes(const RulesByGroup& rules, const Schema& schema);
  static std::int64_t state_bytes(const Rule& rule, const Schema& schema) {
    return state_bytes(RulesByGroup({rule}), schema);
  }

 private:
  /// The slots of a parameter: a rule's states come first.
  static constexpr std::size_t kMaster = rules::kMaxStates;
  static constexpr std::size_t kSteps = kMaster + 1;
  static constexpr std::size_t kAverage = kMaster + 2;                 ///< and its number of steps behind it
  static constexpr std::size_t kWhole = kMaster + 4;                   ///< and the following
  static constexpr std::size_t kNumbers = kWhole + WholeState::kMost;  ///< likewise
  /// Every rank keeps those of all parameters.
  static constexpr bool is_number(std::size_t slot) {
    return slot == kSteps || slot == kAverage + 1 || slot >= kNumbers;
  }

  /// What a step needs to know of each group.
  struct GroupLists {
    std::vector<rules::RuleForm> forms;
    std::vector<const rules::text::Code*> programs;  ///< NULL = a rule of the list
    std::vector<rules::KernelId> kernels;
    std::size_t numbers_each = 0;  ///< the most constants of a program
    std::string key;               ///< of all rules and kernels
  };
  struct ParameterFacts {
    std::uint64_t random_key = 0;
    FinishOptions finish;
  };
  /// What is known of parameters from `first` on before the optimizer has them.
  struct Additions {
    std::vector<ParameterWish> wishes;
    std::vector<ParameterFacts> facts;
    kernels::StepLimits limits;  ///< of all parameters
  };

  struct ConstantBuffers {
    Buffer values;           ///< rules::GroupConstants, by group, or by parameter
    Buffer program_numbers;  ///< as many doubles for each of `values`
    Buffer group_of;         ///< where `values` are by parameter, std::int32_t
    Buffer counts;           ///< by parameter, double*, if each counts its steps
    Buffer places;           ///< by parameter, rules::NumberPlaces, if rules settle their constants

    static constexpr auto all() {
      return std::array{&ConstantBuffers::values, &ConstantBuffers::program_numbers, &ConstantBuffers::group_of,
                        &ConstantBuffers::counts, &ConstantBuffers::places};
    }
    std::size_t bytes() const { return held_bytes(values, program_numbers, group_of, counts, places); }
  };

  /// What is kept by parameter, of those from `first` on.
  struct NumberLists {
    std::size_t first = 0;
    std::vector<std::int32_t> groups;
    std::vector<double*> counts;
    std::vector<rules::NumberPlaces> numbers;

    void make_room(std::size_t parameters) {
      groups.resize(parameters - first);
      counts.resize(groups.size());
      numbers.resize(groups.size());
    }
  };

  static Traits traits_of(const RulesByGroup& rules);
  static std::vector<StateWish> wishes_of(const Rule& rule, const Parameter& parameter,
                                          const HyperParameters& hyper_parameters, std::int32_t owner);
  /// Throws INVALID_ARGUMENT where a rule and its schedules do not go together.
  GroupLists lists_of(const HyperParameters& hyper_parameters) const;
  void fill_items();
  /// Throws BACKEND_UNAVAILABLE for a rule that the backend cannot run.
  void prepare_programs(const Schema& schema, std::size_t first);
  void apply(double clip_value) override;
  void prepare(const Schema& schema, const HyperParameters& hyper_parameters, std::size_t first) override;
  /// Throws INVALID_ARGUMENT for a shape that a rule does not take.
  Additions additions_of(const Schema& schema, const HyperParameters& hyper_parameters, std::size_t first);
  /// Which parameters were used, of those whose state does not begin anew.
  std::vector<std::uint8_t> flags_that_stay(std::span<const ParameterWish> wishes);
  /// Buffers that take the place of constants_; none where there is room, and else for parameters to come, too.
  ConstantBuffers room_for(std::size_t parameters, const GroupLists& groups, std::size_t first) const;
  /// What a step needs to know of groups_ and constants_.
  void plan_constants(std::size_t parameters);
  void on(StateEvent event) override;
  std::int64_t scratch_bytes() const override;
  std::vector<double> undivided() const override;
  OwnerOf owners(const Sharding* next) override;
  /// The rank that has the state of a parameter which is stepped as a whole; -1 = no rank alone.
  std::int32_t owner_of(const Rule& rule, const Parameter& parameter, std::size_t i) const;
  void set_all_used(bool all_used);
  /// Whether constants are by parameter, not by group.
  bool has_own_constants() const;
  void list_numbers(const Schema& schema, NumberLists& lists);
  rules::NumberPlaces number_places(const Schema& schema, std::size_t parameter) const;
  std::vector<OwnAverage> own_averages(std::int32_t groups) const;
  /// A number that is kept for each parameter; NULL = it is not.
  double* number_of(std::size_t parameter, std::size_t slot) const;

  RulesByGroup rules_;
  GroupLists groups_;
  ConstantBuffers constants_;
  std::vector<UpdateItem> items_;
  UpdatePlan plan_;  // of items_
  GradientUnits units_;
  SumsPhase sums_;
  FinishPhases finish_;
  WeightAverages averages_;
  bool filled_ = false;  // items_ are those of the bound buffers
};

}  // namespace gradstep
