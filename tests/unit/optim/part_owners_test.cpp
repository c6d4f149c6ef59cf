// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks that have parts of tensors which a rule steps as wholes, beside one rank that has all of them.
#include "optim/part_owners.h"

#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <numeric>

#include "unit/comm/worlds.h"
#include "unit/optim/parts_model.h"

namespace gradstep::test {
namespace {

constexpr gradstep_option kDecay = {"weight_decay", 0.1, nullptr};
constexpr gradstep_option kCenters = {"center_gradients", 1, nullptr};

/// Two chunks with a rest, small ones, and three axes.
const std::vector<Shape> kMatrices = {{6, 10}, {7, 5000}, {5, 4, 3}, {9, 2}};

std::vector<Layout> all_layouts(const std::vector<Shape>& wholes) {
  std::vector<Layout> all = layouts(wholes);
  for (const std::int64_t ranks : {1, 3}) {
    all.push_back(by_rows(ranks, wholes));
    all.push_back(by_columns(ranks, wholes));
  }
  return all;
}

std::vector<Rule> rules_of_matrices() {
  return {rule_of("muon", {kRate, kDecay}),
          rule_of("muon", {kRate, {"variance", 0, "rows"}, {"average_decay", 0.9, nullptr}}), rule_of("dion"),
          rule_of("adafactor", {kRate, {"momentum", 0.9, nullptr}})};
}

std::vector<Rule> rules_of_tensors() {
  return {rule_of("adafactor"),
          rule_of("adam", {kRate, kDecay, {"adaptive_clip", 0.01, nullptr}, {"trust_ratio", 1, nullptr}}),
          rule_of("adam", {kRate, kCenters, {"state_dtype", 0, "int8"}, {"step_counting", 0, "parameter"}}),
          rule_of("adam", {kRate, kCenters, {"state_dtype", 0, "bf16"}, {"stochastic_rounding", 1, nullptr}}),
          rule_of("novograd", {kRate, kCenters}),
          rule_of("sgd", {kRate, kCenters, {"momentum", 0.9, nullptr}})};
}

/// Absent gradients and clipping included.
void train(PartsModel& model, Optimizer& optimizer, std::uint32_t begin, std::uint32_t end) {
  for (std::uint32_t t = begin; t < end; ++t) {
    model.draw(t);
    std::fill(model.absent.begin(), model.absent.end(), false);
    model.absent[t % model.absent.size()] = t % 2 == 1;
    StepGuards guards;
    guards.max_norm = 5;
    model.step(optimizer, guards);
    EXPECT_LT(optimizer.last_outcome().clip_coefficient, 1);
  }
}

void expect_parts(const PartsModel& model, const std::vector<std::vector<float>>& expected, const Communicator& comm,
                  const std::string& what) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(model.params[i], part_of(expected[i], model.places[i]))
        << what << ", p" << i << ", rank " << comm.rank() << " of " << comm.world_size();
  }
}

void expect_bits_of_wholes(const std::vector<Rule>& rules, const std::vector<Shape>& wholes) {
  for (const Rule& rule : rules) {
    PartsModel whole = PartsModel::whole(wholes);
    train(whole, *optimizer_of(rule, whole), 0, kSteps);
    for (const Layout& layout : all_layouts(wholes)) {
      run_attached(
          layout, rule,
          [&](Communicator& comm, PartsModel& model, Optimizer& optimizer) {
            train(model, optimizer, 0, kSteps);
            expect_parts(model, whole.params, comm, rule.key());
          },
          wholes);
    }
  }
}

TEST(PartOwners, StepsHaveTheBitsOfWholeMatrices) { expect_bits_of_wholes(rules_of_matrices(), kMatrices); }

TEST(PartOwners, StepsHaveTheBitsOfWholeTensors) { expect_bits_of_wholes(rules_of_tensors(), kWholes); }

TEST(PartOwners, UpdatesAreThoseOfTheParts) {
  for (const Rule& rule : {rule_of("muon"), rule_of("adafactor")}) {
    PartsModel whole = PartsModel::whole(kMatrices);
    const auto alone = optimizer_of(rule, whole);
    whole.draw(0);
    whole.absent[1] = true;
    whole.step(*alone, {}, /*gives_updates=*/true);
    for (const Layout& layout : all_layouts(kMatrices)) {
      run_attached(
          layout, rule,
          [&](Communicator&, PartsModel& model, Optimizer& optimizer) {
            const auto before = model.params;
            model.draw(0);
            model.absent[1] = true;
            model.step(optimizer, {}, /*gives_updates=*/true);
            for (std::size_t i = 0; i < kMatrices.size(); ++i) {
              EXPECT_EQ(model.grads[i], part_of(whole.grads[i], model.places[i])) << rule.key() << ", p" << i;
            }
            EXPECT_EQ(model.params, before);
          },
          kMatrices);
    }
  }
}

TEST(PartOwners, GoWithParametersThatAreSteppedElementByElement) {
  const std::vector<Shape> wholes = {{6, 10}, {kChunk + 100}, {5, 4, 3}, {3}};
  const RulesByGroup rules({rule_of("muon", {kRate, kDecay}), rule_of("adam")});
  PartsModel whole = PartsModel::whole(wholes, /*has_groups=*/true);
  const auto alone = optimizer_of(rules, whole);
  whole.train(*alone, 0, kSteps);
  const std::string saved = save(*alone);
  for (const Layout& layout : all_layouts(wholes)) {
    run_ranks(static_cast<std::int32_t>(layout.size()), [&](Communicator& comm) {
      PartsModel model(layout[static_cast<std::size_t>(comm.rank())], wholes, /*has_groups=*/true);
      const auto optimizer = optimizer_of(rules, model);
      attach_parts(*optimizer, &comm);
      model.train(*optimizer, 0, kSteps);
      expect_parts(model, whole.params, comm, "muon+adam");
      EXPECT_TRUE(save(*optimizer) == saved);
      StepGuards guards;
      guards.max_norm = 1;
      model.draw(kSteps);
      model.step(*optimizer, guards);
      EXPECT_LT(optimizer->last_outcome().clip_coefficient, 1);
    });
  }
}

TEST(PartOwners, NarrowParametersTakeGradientsOfAnyType) {
  const std::vector<Shape> wholes = {{8, 6}};
  const Rule rule = rule_of("muon", {kRate, {"stochastic_rounding", 1, nullptr}});
  const auto values = to_bfloat16(random_values<float>(48, 1));
  const auto step = [&](Optimizer& optimizer, std::vector<kernels::BFloat16>& params, const PartsModel& model,
                        auto grad, DType dtype) {
    for (std::uint32_t t = 0; t < kSteps; ++t) {
      const gradstep_tensor p = view_of(optimizer.schema(), 0, params.data(), DType::bf16);
      auto grads = grad(t, model.places[0]);
      const gradstep_tensor g = view_of(optimizer.schema(), 0, grads.data(), dtype);
      host::step(optimizer, &p, &g, nullptr, 1, {});
    }
  };
  const auto narrow = [](std::uint32_t t, const std::vector<std::size_t>& places) {
    return to_bfloat16(part_of(random_values<float>(48, 100 + t), places));
  };
  const auto wide = [&](std::uint32_t t, const std::vector<std::size_t>& places) { return widen(narrow(t, places)); };
  const PartsModel whole = PartsModel::whole(wholes);
  auto expected = values;
  FirstOrderOptimizer alone(make_context(), rule, schema_of(wholes, {all_of(wholes[0])}, DType::bf16));
  step(alone, expected, whole, narrow, DType::bf16);
  for (const Layout& layout : {by_rows(3, wholes), by_columns(2, wholes)}) {
    run_ranks(static_cast<std::int32_t>(layout.size()), [&](Communicator& comm) {
      const std::vector<PartOf>& own = layout[static_cast<std::size_t>(comm.rank())];
      const PartsModel model(own, wholes);
      FirstOrderOptimizer optimizer(make_context(), rule, schema_of(wholes, own, DType::bf16));
      attach_parts(optimizer, &comm);
      std::vector<kernels::BFloat16> params;
      for (const std::size_t place : model.places[0]) params.push_back(values[place]);
      if (comm.rank() == 0) {
        step(optimizer, params, model, wide, DType::f32);
      } else {
        step(optimizer, params, model, narrow, DType::bf16);
      }
      for (std::size_t k = 0; k < params.size(); ++k) EXPECT_EQ(params[k].bits, expected[model.places[0][k]].bits);
    });
  }
}

TEST(PartOwners, WhatOneRankFindsNotFiniteSkipsTheStepOnAll) {
  const auto expected = trained_whole(rule_of("muon"), {}, kMatrices);
  run_attached(
      by_rows(3, kMatrices), rule_of("muon"),
      [&](Communicator& comm, PartsModel& model, Optimizer& optimizer) {
        const auto before = model.params;
        StepGuards guards;
        guards.skip_nonfinite = true;
        model.draw(0);
        if (comm.rank() == 1) model.grads[0][0] = std::numeric_limits<float>::infinity();
        EXPECT_FALSE(model.step(optimizer, guards).applied);
        float found_inf = comm.rank() == 2 ? 1 : 0;
        guards = {};
        guards.found_inf = &found_inf;
        model.draw(0);
        EXPECT_FALSE(model.step(optimizer, guards, /*gives_updates=*/true).applied);
        EXPECT_EQ(found_inf, 1);
        for (const std::vector<float>& update : model.grads) EXPECT_EQ(update, std::vector<float>(update.size(), 0));
        EXPECT_EQ(model.params, before);
        EXPECT_EQ(optimizer.skipped_steps(), 2);
        model.train(optimizer, 0, kSteps);
        expect_parts(model, expected, comm, "after skipped steps");
      },
      kMatrices);
}

TEST(PartOwners, ASaveIsThatOfTheWholeAndLoadsInAnyLayout) {
  std::vector<Rule> rules = rules_of_matrices();
  rules.push_back(rule_of("adam", {kRate, kCenters, {"state_dtype", 0, "int8"}}));
  for (const Rule& rule : rules) {
    PartsModel whole = PartsModel::whole(kMatrices);
    const auto alone = optimizer_of(rule, whole);
    whole.train(*alone, 0, kSteps);
    const std::string expected = save(*alone);
    const auto at_start = whole.params;
    whole.train(*alone, kSteps, 2 * kSteps);
    for (const Layout& layout : all_layouts(kMatrices)) {
      run_attached(
          layout, rule,
          [&](Communicator& comm, PartsModel& model, Optimizer& optimizer) {
            model.train(optimizer, 0, kSteps);
            EXPECT_TRUE(save(optimizer) == expected)
                << rule.key() << ", rank " << comm.rank() << " of " << comm.world_size();
            const auto other = optimizer_of(rule, model);
            attach_parts(*other, &comm);
            load(*other, expected);
            for (std::size_t i = 0; i < kMatrices.size(); ++i) model.params[i] = part_of(at_start[i], model.places[i]);
            model.train(*other, kSteps, 2 * kSteps);
            expect_parts(model, whole.params, comm, rule.key());
          },
          kMatrices);
    }
  }
}

TEST(PartOwners, StateIsNowhereUntilRanksAreAttached) {
  const Rule rule = rule_of("muon");
  PartsModel whole = PartsModel::whole(kMatrices);
  const auto alone = optimizer_of(rule, whole);
  whole.train(*alone, 0, 1);
  const std::string saved = save(*alone);
  const PartsModel model(by_rows(2, kMatrices)[0], kMatrices);
  const auto optimizer = optimizer_of(rule, model);
  EXPECT_EQ(FirstOrderOptimizer::state_bytes(rule, model.schema), 0);
  float number = 0;
  const char* const text = "parameter 'p0': is a part of (6,10): attach the ranks that have the others first";
  const auto refuses = [&](const std::function<void()>& call) { expect_error(GRADSTEP_ERR_INVALID_STATE, text, call); };
  refuses([&] { load(*optimizer, saved); });
  refuses([&] { (void)optimizer->state().view(0, "momentum_buffer"); });
  refuses([&] { optimizer->state().get(0, "momentum_buffer", compact_array(&number, 1, DType::f32)); });
  refuses([&] { optimizer->state().set(0, "momentum_buffer", compact_array(&number, 1, DType::f32)); });
}

/// Bytes of the state that this rank has.
std::int64_t own_bytes(Optimizer& optimizer) {
  std::int64_t bytes = 0;
  for (const StoredState& stored : optimizer.state().kept()) bytes += stored.array.bytes();
  return bytes;
}

TEST(PartOwners, OneRankHasTheStateOfATensorAndAllReadIt) {
  const Rule rule = rule_of("muon");
  PartsModel whole = PartsModel::whole(kMatrices);
  const auto alone = optimizer_of(rule, whole);
  whole.train(*alone, 0, kSteps);
  std::vector<std::vector<float>> expected;
  for (std::size_t i = 0; i < kMatrices.size(); ++i) {
    std::vector<float>& momentum = expected.emplace_back(whole.params[i].size());
    alone->state().get(i, "momentum_buffer", compact_array(momentum.data(), std::ssize(momentum), DType::f32));
  }
  std::mutex mutex;
  std::vector<std::int64_t> bytes;
  run_attached(
      by_columns(3, kMatrices), rule,
      [&](Communicator& comm, PartsModel& model, Optimizer& optimizer) {
        model.train(optimizer, 0, kSteps);
        {
          const std::lock_guard lock(mutex);
          bytes.push_back(own_bytes(optimizer));
        }
        for (std::size_t i = 0; i < kMatrices.size(); ++i) {
          EXPECT_TRUE(std::ranges::equal(optimizer.state().shape(i, "momentum_buffer"), kMatrices[i]));
          std::vector<float> found(static_cast<std::size_t>(whole.schema[i].size));
          const Array host = compact_array(found.data(), std::ssize(found), DType::f32);
          optimizer.state().get(i, "momentum_buffer", host);
          EXPECT_EQ(found, expected[i]);
          expect_error(GRADSTEP_ERR_UNSUPPORTED, "is shared by ranks: get_state copies it",
                       [&] { (void)optimizer.state().view(i, "momentum_buffer"); });
          std::ranges::fill(found, 0.5F + static_cast<float>(i));
          const std::vector<float> written = found;
          optimizer.state().set(i, "momentum_buffer", host);
          std::ranges::fill(found, 0.0F);
          optimizer.state().get(i, "momentum_buffer", host);
          EXPECT_EQ(found, written) << comm.rank();
        }
      },
      kMatrices);
  EXPECT_EQ(std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}), own_bytes(*alone));
  EXPECT_LT(std::ranges::max(bytes), own_bytes(*alone));
}

TEST(PartOwners, AnAverageIsThatOfTheRanksPart) {
  const Rule rules[] = {rule_of("muon", {kRate, {"average_decay", 0.5, nullptr}}),
                        rule_of("schedule_free", {kRate, kCenters})};
  for (const Rule& rule : rules) {
    PartsModel whole = PartsModel::whole(kMatrices);
    const auto alone = optimizer_of(rule, whole);
    whole.train(*alone, 0, kSteps);
    const auto average = [](Optimizer& optimizer, const PartsModel& model, std::size_t i) {
      std::vector<float> found = model.params[i];
      const OwnAverage& own = optimizer.own_average(i);
      optimizer.state().check_average(i, own);
      optimizer.state().get_average(i, own, optimizer.average_share(i),
                                    compact_array(found.data(), std::ssize(found), DType::f32));
      return found;
    };
    run_attached(
        in_a_grid(kMatrices), rule,
        [&](Communicator&, PartsModel& model, Optimizer& optimizer) {
          model.train(optimizer, 0, kSteps);
          for (std::size_t i = 0; i < kMatrices.size(); ++i) {
            EXPECT_EQ(average(optimizer, model, i), part_of(average(*alone, whole, i), model.places[i])) << rule.key();
          }
        },
        kMatrices);
  }
}

TEST(PartOwners, StateStaysWithItsOwnerWhileRanksAreDetachedAndInAnyOrder) {
  for (const Rule& rule : rules_of_matrices()) {
    PartsModel whole = PartsModel::whole(kMatrices);
    const auto alone = optimizer_of(rule, whole);
    whole.train(*alone, 0, kSteps);
    for (const Layout& layout : all_layouts(kMatrices)) {
      run_attached(
          layout, rule,
          [&](Communicator& comm, PartsModel& model, Optimizer& optimizer) {
            const auto reversed = comm.split(0, comm.world_size() - comm.rank(), comm.deadline());
            model.train(optimizer, 0, 1);
            const std::int64_t bytes = own_bytes(optimizer);
            attach_parts(optimizer, nullptr);
            EXPECT_EQ(own_bytes(optimizer), bytes);
            attach_parts(optimizer, reversed.get());
            EXPECT_EQ(own_bytes(optimizer), bytes);
            model.train(optimizer, 1, 2);
            attach_parts(optimizer, &comm);  // from one order to the other
            EXPECT_EQ(own_bytes(optimizer), bytes);
            model.train(optimizer, 2, kSteps);
            expect_parts(model, whole.params, comm, rule.key());
          },
          kMatrices);
    }
  }
}

TEST(PartOwners, StateIsNotBegunAnewWhereItsOwnerIsNotAmongTheRanks) {
  const std::vector<Shape> wholes = {{6, 10}, {9, 2}};  // the second one is whole on every rank
  run_attached(
      in_replicas(wholes), rule_of("muon"),
      [&](Communicator& comm, PartsModel& model, Optimizer& optimizer) {
        model.train(optimizer, 0, 1);
        attach_parts(optimizer, nullptr);
        const auto half = comm.split(comm.rank() / 2, comm.rank(), comm.deadline());
        if (comm.rank() < 2) return attach_parts(optimizer, half.get());
        expect_error(GRADSTEP_ERR_INVALID_STATE,
                     "parameter 'p0': the rank that has its state is not among these 2: attach that one too",
                     [&] { attach_parts(optimizer, half.get()); });
        EXPECT_FALSE(optimizer.is_sharded());
      },
      wholes);
}

TEST(PartOwners, StateIsCopiedWhereBothHaveTheSameOwnersOrOnNoRank) {
  const std::vector<Shape> wholes = {{6, 10}};
  run_attached(
      by_rows(3, wholes), rule_of("muon"),
      [&](Communicator& comm, PartsModel& model, Optimizer& optimizer) {
        const auto own_bits = [](Optimizer& of) {
          const Array momentum = of.state().kept().at(0).array;
          std::string bits(static_cast<std::size_t>(momentum.bytes()), '\0');
          if (!bits.empty()) std::memcpy(bits.data(), momentum.data, bits.size());
          return bits;
        };
        model.train(optimizer, 0, 1);
        const auto other = optimizer_of(rule_of("muon"), model);
        expect_error(GRADSTEP_ERR_INVALID_STATE, "attach the ranks that have the others first",
                     [&] { other->copy_state(optimizer); });
        const auto reversed = comm.split(0, comm.world_size() - comm.rank(), comm.deadline());
        attach_parts(*other, reversed.get());  // its owner is rank 2
        const bool is_owner = comm.rank() != 1;
        expect_error(is_owner ? GRADSTEP_ERR_MISMATCH : GRADSTEP_ERR_ABORTED,
                     is_owner ? "state buffers" : "another rank could not copy the state",
                     [&] { other->copy_state(optimizer); });
        EXPECT_EQ(other->step_count(), 0);
        const auto like = optimizer_of(rule_of("muon"), model);
        attach_parts(*like, &comm);
        like->copy_state(optimizer);
        EXPECT_EQ(like->step_count(), 1);
        EXPECT_EQ(own_bits(*like), own_bits(optimizer));
      },
      wholes);
}

TEST(PartOwners, StateThatAScheduleNeedsIsMadeAtTheOwner) {
  const Rule rule = rule_of("sgd", {kRate, kCenters});
  PartsModel whole = PartsModel::whole();
  const auto alone = optimizer_of(rule, whole);
  whole.train(*alone, 0, 2);
  alone->set_schedule(-1, "momentum", Schedule(0.9));
  whole.train(*alone, 2, kSteps);
  const std::string saved = save(*alone);
  for (const Layout& layout : all_layouts(kWholes)) {
    for (const bool is_detached : {false, true}) {
      run_attached(layout, rule, [&](Communicator& comm, PartsModel& model, Optimizer& optimizer) {
        model.train(optimizer, 0, 2);
        if (is_detached) attach_parts(optimizer, nullptr);
        optimizer.set_schedule(-1, "momentum", Schedule(0.9));
        if (is_detached) attach_parts(optimizer, &comm);
        model.train(optimizer, 2, kSteps);
        expect_parts(model, whole.params, comm, "sgd");
        EXPECT_TRUE(save(optimizer) == saved);
      });
    }
  }
}

TEST(PartOwners, AnEngineThatOnlyGathersIsRefused) {
  const std::vector<Shape> wholes = {{6, 10}};
  run(make_world("host_gather", 2), [&](Communicator& comm) {
    PartsModel model(by_rows(2, wholes)[static_cast<std::size_t>(comm.rank())], wholes);
    const auto optimizer = optimizer_of(rule_of("muon"), model);
    expect_error(GRADSTEP_ERR_UNSUPPORTED, "engine only gathers: it cannot send one rank the parts of (6,10)",
                 [&] { attach_parts(*optimizer, &comm); });
    EXPECT_FALSE(optimizer->is_sharded());
    const auto whole = optimizer_of(rule_of("muon"), PartsModel::whole(wholes));
    attach_parts(*whole, &comm);
  });
}

TEST(PartOwners, ABrokenStepIsOneOnAllRanksAndALoadGoesOn) {
  const std::vector<Shape> wholes = {{6, 10}, {9, 2}};
  const Rule rule = rule_of("muon");
  PartsModel whole = PartsModel::whole(wholes);
  const auto alone = optimizer_of(rule, whole);
  whole.train(*alone, 0, 1);
  const std::string saved = save(*alone);
  const auto at_start = whole.params;
  whole.train(*alone, 1, 2);
  CommSettings settings;
  settings.timeout_ms = 20000;
  const auto next = make_local_communicators(make_context(), 2, settings);
  run_attached(
      by_rows(2, wholes), rule,
      [&](Communicator& comm, PartsModel& model, Optimizer& optimizer) {
        model.train(optimizer, 0, 1);
        model.draw(1);
        if (comm.rank() == 1) optimizer.sharding()->comm().abort();
        EXPECT_THROW(model.step(optimizer), Error);
        expect_error(GRADSTEP_ERR_INVALID_STATE, "the state is lost", [&] { model.step(optimizer); });
        attach_parts(optimizer, next[static_cast<std::size_t>(comm.rank())].get());
        expect_error(GRADSTEP_ERR_INVALID_STATE, "is lost: load", [&] { model.step(optimizer); });
        load(optimizer, saved);
        for (std::size_t i = 0; i < wholes.size(); ++i) model.params[i] = part_of(at_start[i], model.places[i]);
        model.train(optimizer, 1, 2);
        expect_parts(model, whole.params, comm, "after a load");
      },
      wholes);
}

}  // namespace
}  // namespace gradstep::test
