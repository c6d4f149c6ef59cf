// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks that have parts of the parameters step as one, beside one rank that has all of them.
#include <cmath>
#include <limits>
#include <mutex>

#include "optim/first_order/defined_rules.h"
#include "optim/shampoo/shampoo.h"
#include "unit/optim/first_order/rules_as_text.h"
#include "unit/optim/parts_model.h"

namespace gradstep::test {
namespace {

using Options = std::vector<gradstep_option>;

constexpr gradstep_option kDecay = {"weight_decay", 0.1, nullptr};

std::vector<Rule> element_wise_rules() {
  return {rule_of("sgd", {kRate, kDecay, {"momentum", 0.9, nullptr}}),
          rule_of("adam", {kRate, kDecay, {"amsgrad", 1, nullptr}}),
          rule_of("adam", {kRate, {"state_dtype", 0, "bf16"}, {"average_decay", 0.9, nullptr}}),
          rule_of("adam", {kRate, {"step_counting", 0, "parameter"}}), rule_of("lion")};
}

TEST(PartsStep, ElementWiseRulesHaveTheBitsOfWholeParameters) {
  for (const Rule& rule : element_wise_rules()) {
    const auto expected = trained_whole(rule);
    for (const Layout& layout : layouts()) {
      run_attached(layout, rule, [&](Communicator& comm, PartsModel& model, Optimizer& optimizer) {
        model.train(optimizer, 0, kSteps);
        for (std::size_t i = 0; i < kWholes.size(); ++i) {
          EXPECT_EQ(model.params[i], part_of(expected[i], model.places[i]))
              << rule.key() << ", p" << i << ", rank " << comm.rank() << " of " << comm.world_size();
        }
      });
    }
  }
}

TEST(PartsStep, UpdatesAreThoseOfTheParts) {
  const Rule rule = rule_of("adam");
  PartsModel whole = PartsModel::whole();
  const auto alone = optimizer_of(rule, whole);
  whole.draw(0);
  whole.step(*alone, {}, /*gives_updates=*/true);
  run_attached(in_a_grid(), rule, [&](Communicator&, PartsModel& model, Optimizer& optimizer) {
    model.draw(0);
    model.step(optimizer, {}, /*gives_updates=*/true);
    for (std::size_t i = 0; i < kWholes.size(); ++i) {
      EXPECT_EQ(model.grads[i], part_of(whole.grads[i], model.places[i]));
    }
  });
}

/// Every element of a whole counts once, whatever ranks have a replica of it: so sums differ in their last bits alone.
void expect_near(const Layout& layout, const Rule& rule, const StepGuards& guards, const std::vector<Shape>& wholes) {
  const auto expected = trained_whole(rule, guards, wholes);
  run_attached(
      layout, rule,
      [&](Communicator& comm, PartsModel& model, Optimizer& optimizer) {
        model.train(optimizer, 0, kSteps, guards);
        for (std::size_t i = 0; i < wholes.size(); ++i) {
          const std::vector<float> own = part_of(expected[i], model.places[i]);
          ASSERT_EQ(model.params[i].size(), own.size());
          for (std::size_t k = 0; k < own.size(); ++k) {
            ASSERT_NEAR(model.params[i][k], own[k], 2e-6F)
                << rule.key() << ", p" << i << "[" << k << "], rank " << comm.rank() << " of " << comm.world_size();
          }
        }
      },
      wholes);
}

TEST(PartsStep, WhatIsMeasuredOfTensorsIsMeasuredOfTheWhole) {
  const std::vector<Shape> wholes = {{6, 10}, {kChunk + 100}, {5, 4, 3}, {3}};
  const Rule rules[] = {rule_of("lamb", {kRate, kDecay}),
                        rule_of("adam", {kRate, kDecay, {"trust_ratio", 1, nullptr}, {"cautious_update", 0, "mean"}}),
                        rule_of("adam", {kRate, {"cautious_update", 0, "sum"}}), rule_of("prodigy"),
                        make_rule(define_rule(kModelSums.text), Options{kRate})};
  for (const Rule& rule : rules) {
    for (const Layout& layout : layouts(wholes)) expect_near(layout, rule, {}, wholes);
  }
}

TEST(PartsStep, TheNormIsThatOfAllPartsAndHasTheSameBitsOnAllRanks) {
  PartsModel whole = PartsModel::whole();
  const auto alone = optimizer_of(rule_of("sgd"), whole);
  StepGuards guards;
  guards.max_norm = 3;
  whole.draw(0);
  const double expected = whole.step(*alone, guards).grad_norm;
  ASSERT_GT(expected, 3);
  for (const Layout& layout : layouts()) {
    std::mutex mutex;
    std::vector<double> norms;
    run_attached(layout, rule_of("sgd"), [&](Communicator&, PartsModel& model, Optimizer& optimizer) {
      model.draw(0);
      const StepOutcome outcome = model.step(optimizer, guards);
      EXPECT_EQ(outcome.clip_coefficient, 3 / (outcome.grad_norm + 1e-6));
      const std::lock_guard lock(mutex);
      norms.push_back(outcome.grad_norm);
    });
    EXPECT_NEAR(norms[0], expected, 1e-12 * expected);
    EXPECT_EQ(norms, std::vector<double>(norms.size(), norms[0]));
    expect_near(layout, rule_of("sgd"), guards, kWholes);
  }
}

TEST(PartsStep, WhatOneRankFindsNotFiniteSkipsTheStepOnAll) {
  run_attached(by_rows(3), rule_of("adam"), [](Communicator& comm, PartsModel& model, Optimizer& optimizer) {
    const auto before = model.params;
    model.draw(0);
    if (comm.rank() == 1) model.grads[0][0] = std::numeric_limits<float>::infinity();
    StepGuards guards;
    guards.skip_nonfinite = true;
    EXPECT_FALSE(model.step(optimizer, guards).applied);
    model.draw(0);
    guards = {};
    float found_inf = comm.rank() == 2 ? 1 : 0;
    guards.found_inf = &found_inf;
    EXPECT_FALSE(model.step(optimizer, guards).applied);
    EXPECT_EQ(found_inf, 1);
    EXPECT_EQ(model.params, before);
    EXPECT_EQ(optimizer.skipped_steps(), 2);
    found_inf = 0;
    EXPECT_TRUE(model.step(optimizer, guards).applied);
    EXPECT_EQ(optimizer.step_count(), 1);
  });
}

TEST(PartsStep, ASaveIsThatOfTheWholeAndLoadsInAnyLayout) {
  for (const Rule& rule : element_wise_rules()) {
    PartsModel whole = PartsModel::whole();
    const auto alone = optimizer_of(rule, whole);
    whole.train(*alone, 0, kSteps);
    const std::string expected = save(*alone);
    const auto at_start = whole.params;
    for (const Layout& layout : layouts()) {
      run_attached(layout, rule, [&](Communicator& comm, PartsModel& model, Optimizer& optimizer) {
        model.train(optimizer, 0, kSteps);
        EXPECT_TRUE(save(optimizer) == expected)
            << rule.key() << ", rank " << comm.rank() << " of " << comm.world_size();
      });
    }
    whole.train(*alone, kSteps, 2 * kSteps);
    for (const Layout& layout : layouts()) {
      run_ranks(static_cast<std::int32_t>(layout.size()), [&](Communicator& comm) {
        PartsModel model(layout[static_cast<std::size_t>(comm.rank())]);
        for (std::size_t i = 0; i < kWholes.size(); ++i) model.params[i] = part_of(at_start[i], model.places[i]);
        const auto optimizer = optimizer_of(rule, model);
        load(*optimizer, expected);  // before ranks are attached, or after
        attach_parts(*optimizer, &comm);
        if (comm.world_size() == 4) load(*optimizer, expected);
        model.train(*optimizer, kSteps, 2 * kSteps);
        for (std::size_t i = 0; i < kWholes.size(); ++i) {
          EXPECT_EQ(model.params[i], part_of(whole.params[i], model.places[i])) << rule.key() << ", p" << i;
        }
      });
    }
  }
}

TEST(PartsStep, StatesAreThoseOfTheRanksPart) {
  PartsModel whole = PartsModel::whole();
  const auto alone = optimizer_of(rule_of("adam"), whole);
  whole.train(*alone, 0, kSteps);
  const Array all = alone->state().view(0, "exp_avg");
  const std::vector<float> expected(static_cast<const float*>(all.data),
                                    static_cast<const float*>(all.data) + all.size);
  run_attached(by_columns(2), rule_of("adam"), [&](Communicator& comm, PartsModel& model, Optimizer& optimizer) {
    model.train(optimizer, 0, kSteps);
    std::vector<float> own(model.params[0].size());
    if (comm.rank() == 0) {  // no exchange
      optimizer.state().get(0, "exp_avg", compact_array(own.data(), static_cast<std::int64_t>(own.size()), DType::f32));
      EXPECT_EQ(own, part_of(expected, model.places[0]));
    }
    const Array view = optimizer.state().view(0, "exp_avg");
    EXPECT_EQ(
        std::vector<float>(static_cast<const float*>(view.data), static_cast<const float*>(view.data) + view.size),
        part_of(expected, model.places[0]));
  });
}

TEST(PartsStep, RandomRoundingIsTheSameForReplicasAndAnotherForEachPart) {
  const std::vector<Shape> wholes = {{4, 4096}};
  const Rule rule = rule_of("adam", {kRate, {"state_dtype", 0, "bf16"}, {"stochastic_rounding", 1, nullptr}});
  Layout layout(4);
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    layout[static_cast<std::size_t>(rank)].push_back(piece_of(all_of(wholes[0]), 0, rank % 2, 2));
  }
  std::vector<std::vector<float>> states(4);
  run_attached(
      layout, rule,
      [&](Communicator& comm, PartsModel& model, Optimizer& optimizer) {
        std::ranges::fill(model.grads[0], 0.3F);
        model.step(optimizer);
        std::vector<float>& own = states[static_cast<std::size_t>(comm.rank())];
        own.resize(model.params[0].size());
        optimizer.state().get(0, "exp_avg", compact_array(own.data(), std::ssize(own), DType::f32));
      },
      wholes);
  EXPECT_EQ(states[0], states[2]);
  EXPECT_EQ(states[1], states[3]);
  EXPECT_NE(states[0], states[1]);
}

TEST(PartsStep, RulesOfWholeTensorsStepParametersThatEveryRankHasWhole) {
  const std::vector<Shape> wholes = {{12, 10}, {7}};
  const Layout replicas(2, {all_of(wholes[0]), all_of(wholes[1])});
  for (const char* name : {"adafactor", "adam"}) {
    const Rule rule =
        name == std::string("adam") ? rule_of(name, {kRate, {"center_gradients", 1, nullptr}}) : rule_of(name);
    const auto expected = trained_whole(rule, {}, wholes);
    run_attached(
        replicas, rule,
        [&](Communicator&, PartsModel& model, Optimizer& optimizer) {
          model.train(optimizer, 0, kSteps);
          EXPECT_EQ(model.params, expected) << name;
        },
        wholes);
  }
}

TEST(PartsStep, PartsThatARuleCannotStepAreRefusedOnAllRanks) {
  const std::vector<Shape> wholes = {{6, 10}, {4, 4}};
  for (const Layout& layout : {by_rows(2, wholes), on_the_last(2, wholes)}) {
    run_ranks(2, [&](Communicator& comm) {
      const PartsModel model(layout[static_cast<std::size_t>(comm.rank())], wholes);
      auto options = default_shampoo_options();
      options.learning_rate = 0.01;
      Shampoo shampoo(make_context(), options, model.schema);
      expect_error(GRADSTEP_ERR_UNSUPPORTED, "parameter 'p0': shampoo steps whole tensors on every rank",
                   [&] { attach_parts(shampoo, &comm); });
      EXPECT_FALSE(shampoo.is_sharded());
      const auto coded = optimizer_of(rule_of("adam", {kRate, {"state_dtype", 0, "int8"}}), model);
      expect_error(GRADSTEP_ERR_UNSUPPORTED, "parameter 'p0': state in 8-bit codes",
                   [&] { attach_parts(*coded, &comm); });
    });
  }
}

TEST(PartsStep, CodesOfTheWholeAreNotLoadedIntoParts) {
  const Rule coded = rule_of("adam", {kRate, {"state_dtype", 0, "int8"}});
  PartsModel whole = PartsModel::whole();
  const auto alone = optimizer_of(coded, whole);
  whole.train(*alone, 0, 1);
  const auto optimizer = optimizer_of(coded, PartsModel(by_rows(2)[0]));
  expect_error(GRADSTEP_ERR_UNSUPPORTED, "parameter 'p0': state in 8-bit codes cannot be loaded by parts of (6,10)",
               [&] { load(*optimizer, save(*alone)); });
}

TEST(PartsStep, PartsAreSteppedAndSavedWhileTheyAreAttached) {
  run_ranks(2, [](Communicator& comm) {
    PartsModel model(by_rows(2)[static_cast<std::size_t>(comm.rank())]);
    const auto optimizer = optimizer_of(rule_of("adam"), model);
    const auto expect_refused = [&] {
      expect_error(GRADSTEP_ERR_INVALID_STATE, "parameter 'p0': is a part of (6,10)", [&] { model.step(*optimizer); });
      expect_error(GRADSTEP_ERR_INVALID_STATE, "parameter 'p0': is a part of (6,10)", [&] { save(*optimizer); });
    };
    expect_refused();
    attach_parts(*optimizer, &comm);
    model.train(*optimizer, 0, 2);
    attach_parts(*optimizer, nullptr);
    expect_refused();
    attach_parts(*optimizer, &comm);
    model.train(*optimizer, 2, kSteps);
    const auto expected = trained_whole(rule_of("adam"));
    for (std::size_t i = 0; i < kWholes.size(); ++i) {
      EXPECT_EQ(model.params[i], part_of(expected[i], model.places[i]));
    }
  });
}

TEST(PartsStep, StateOfPartsIsNotDealtOut) {
  run_ranks(2, [](Communicator& comm) {
    const PartsModel model(by_rows(2)[static_cast<std::size_t>(comm.rank())]);
    const auto optimizer = optimizer_of(rule_of("adam"), model);
    expect_error(GRADSTEP_ERR_UNSUPPORTED, "parameter 'p0': is a part of (6,10), expected whole parameters",
                 [&] { optimizer->attach(&comm, {}); });
    // One rank deals out the state, the other says that it has parts.
    const auto whole = optimizer_of(rule_of("adam"), PartsModel::whole());
    expect_error(GRADSTEP_ERR_MISMATCH, "whether the host has spread the parameters",
                 [&] { comm.rank() == 0 ? whole->attach(&comm, {}) : attach_parts(*whole, &comm); });
    EXPECT_FALSE(whole->is_sharded());
  });
}

TEST(PartsStep, RanksThatDoNotFitAreRefusedAndNothingChanges) {
  run_ranks(2, [](Communicator& comm) {
    PartsModel twice(by_rows(2)[0]);
    const auto optimizer = optimizer_of(rule_of("adam"), twice);
    expect_error(GRADSTEP_ERR_MISMATCH, "parameter 'p0': the parts of all ranks have 30 elements, expected the 60",
                 [&] { attach_parts(*optimizer, &comm); });
    EXPECT_FALSE(optimizer->is_sharded());
    PartsModel model(by_rows(2)[static_cast<std::size_t>(comm.rank())]);
    const auto other = optimizer_of(rule_of("adam"), model);
    if (comm.rank() == 1) other->set_step_count(3);
    expect_error(GRADSTEP_ERR_MISMATCH, "the step count", [&] { attach_parts(*other, &comm); });
    other->set_step_count(0);
    attach_parts(*other, &comm);
    const auto before = model.params;
    model.absent[1] = comm.rank() == 1;
    expect_error(GRADSTEP_ERR_MISMATCH, "grads[1]: 1 of 2 ranks have a gradient of their part, expected all or none",
                 [&] { model.step(*other); });
    StepGuards guards;
    guards.max_norm = comm.rank();
    model.absent[1] = false;
    expect_error(GRADSTEP_ERR_MISMATCH, "disagree on max_norm", [&] { model.step(*other, guards); });
    EXPECT_EQ(model.params, before);
    model.train(*other, 0, 1);
    EXPECT_EQ(other->step_count(), 1) << "nothing was lost";
  });
}

}  // namespace
}  // namespace gradstep::test
