// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// State spread over ranks: the bits of a dense reducer before an unsharded step, whatever the rule, the storage, the
// sizes and the number of ranks.
#include "optim/sharding.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "optim/first_order/defined_rules.h"
#include "optim/first_order/named_options.h"
#include "optim/saved_optimizer.h"
#include "reduce/reducer.h"
#include "unit/allocators.h"
#include "unit/failing_loops.h"
#include "unit/memory_stream.h"
#include "unit/optim/first_order/rules_as_text.h"
#include "unit/optim/ranked_model.h"
#include "unit/ranks.h"
#include "unit/recorded_log.h"

namespace gradstep::test {
namespace {

using MakeRule = std::function<Rule()>;

struct Trajectory {
  MakeRule rule = [] { return make_rule(adam()); };
  MakeRule of_vectors = nullptr;  ///< the rule of parameters of one axis; NULL = the same
  DType dtype = DType::f32;
  StepGuards guards;
  std::uint32_t flags = 0;
  std::vector<std::vector<std::int64_t>> shapes = kUneven;
  std::int32_t unused = -1;  ///< this parameter has a gradient on rank 0 alone
  std::int32_t reduced = GRADSTEP_SHARDED_GRADIENTS_LOCAL;
  int steps = 4;
};

/// Parameters of one axis in group 1, others in group 0.
Schema grouped_by_axes(const Schema& schema) {
  std::vector<gradstep_parameter> parameters;
  for (const Parameter& parameter : schema) {
    gradstep_parameter p{};
    p.struct_size = sizeof p;
    p.name = parameter.name.c_str();
    p.shape = parameter.shape.data();
    p.ndim = static_cast<std::int32_t>(parameter.shape.size());
    p.dtype = to_dlpack(parameter.dtype);
    p.device = parameter.device;
    p.group = parameter.shape.size() < 2 ? 1 : 0;
    parameters.push_back(p);
  }
  return Schema(parameters.data(), parameters.size());
}

Ranked model_of(const Trajectory& run) {
  Ranked model(run.dtype, run.flags, run.shapes);
  if (run.of_vectors) model.schema = grouped_by_axes(model.schema);
  return model;
}

RulesByGroup rules_of(const Trajectory& run) {
  return run.of_vectors ? RulesByGroup({run.rule(), run.of_vectors()}) : RulesByGroup({run.rule()});
}

void lose_gradient(Ranked& model, const Trajectory& run, std::int32_t rank) {
  if (run.unused >= 0) model.absent[static_cast<std::size_t>(run.unused)] = rank != 0;
}

/// The parameters of every rank after some steps with a dense reducer and an unsharded optimizer.
std::vector<std::vector<std::byte>> unsharded(std::int32_t ranks, const Trajectory& run,
                                              std::int32_t order = GRADSTEP_REDUCTION_RANK) {
  std::vector<std::vector<std::byte>> result;
  const auto body = [&](Communicator& comm) {
    const auto context = make_context();
    Ranked model = model_of(run);
    FirstOrderOptimizer optimizer(context, rules_of(run), model.schema);
    Reducer reducer(context, comm, default_reducer_options(), model.schema);
    std::vector<gradstep_tensor> views(model.schema.size());
    lose_gradient(model, run, comm.rank());
    for (int t = 0; t < run.steps; ++t) {
      model.draw(comm.rank(), static_cast<std::uint32_t>(t));
      host::reduce(reducer, model.grad_tensors().data(), nullptr, views.size(), 1);
      host::read_gradients(reducer, views);
      host::step(optimizer, model.param_tensors().data(), views.data(), nullptr, views.size(), run.guards);
    }
    if (comm.rank() == 0) result = model.params;
  };
  run_ranks(ranks, body, 20000, order);
  return result;
}

std::vector<std::vector<std::byte>> sharded(std::int32_t ranks, const Trajectory& run,
                                            std::int32_t order = GRADSTEP_REDUCTION_RANK) {
  std::vector<std::vector<std::vector<std::byte>>> results(static_cast<std::size_t>(ranks));
  const auto body = [&](Communicator& comm) {
    const auto context = make_context();
    Ranked model = model_of(run);
    FirstOrderOptimizer optimizer(context, rules_of(run), model.schema);
    gradstep_sharding_options exchange{};
    exchange.gradients = run.reduced;
    optimizer.attach(&comm, exchange);
    lose_gradient(model, run, comm.rank());
    for (int t = 0; t < run.steps; ++t) {
      model.draw(comm.rank(), static_cast<std::uint32_t>(t));
      EXPECT_TRUE(model.step(optimizer, run.guards).applied);
    }
    results[static_cast<std::size_t>(comm.rank())] = model.params;
  };
  run_ranks(ranks, body, 20000, order);
  for (const auto& result : results) EXPECT_EQ(result, results[0]) << "ranks differ";
  return results[0];
}

void expect_equal_bits(const Trajectory& run) {
  for (const std::int32_t ranks : {1, 2, 3, 5}) {
    EXPECT_EQ(sharded(ranks, run), unsharded(ranks, run)) << ranks << " ranks";
  }
}

TEST(Sharding, EqualsTheUnshardedStepBitForBit) {
  Trajectory run;
  expect_equal_bits(run);
}

TEST(Sharding, UnderTheEnginesOrderItStaysNear) {
  Trajectory run;
  const auto near = sharded(3, run, GRADSTEP_REDUCTION_ENGINE);
  const auto expected = unsharded(3, run, GRADSTEP_REDUCTION_ENGINE);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto* a = reinterpret_cast<const float*>(near[i].data());
    const auto* b = reinterpret_cast<const float*>(expected[i].data());
    for (std::size_t k = 0; k < expected[i].size() / sizeof(float); ++k) ASSERT_NEAR(a[k], b[k], 1e-6 * 4);
  }
}

TEST(Sharding, EqualsItForEveryRuleAndStorage) {
  auto sgd = default_options<gradstep_sgd_options>();
  sgd.learning_rate = 0.1;
  sgd.momentum = 0.9;
  auto rmsprop = default_options<gradstep_rmsprop_options>();
  rmsprop.learning_rate = 0.01;
  rmsprop.centered = 1;
  auto adagrad = default_options<gradstep_adagrad_options>();
  adagrad.learning_rate = 0.1;
  auto coded = adam();
  coded.state_dtype = GRADSTEP_STATE_DTYPE_INT8;
  auto narrow = adam();
  narrow.state_dtype = GRADSTEP_STATE_DTYPE_BF16;
  narrow.stochastic_rounding = 1;
  const gradstep_option lamb[] = {{"learning_rate", 0.01, nullptr}, {"weight_decay", 0.1, nullptr}};
  const MakeRule rules[] = {[&] { return make_rule(sgd); },     [&] { return make_rule(rmsprop); },
                            [&] { return make_rule(adagrad); }, [&] { return make_rule(coded); },
                            [&] { return make_rule(narrow); },  [&] { return make_rule(find_rule("lamb"), lamb); }};
  for (const MakeRule& rule : rules) {
    Trajectory run;
    run.rule = rule;
    EXPECT_EQ(sharded(3, run), unsharded(3, run)) << rule().name();
  }
}

TEST(Sharding, EqualsItForRulesThatAreWrittenAsText) {
  constexpr const char* kStorages[] = {"native", "bf16", "int8"};
  std::size_t next = 0;
  const auto expect_equal = [&](const RuleAsText& text) {
    const gradstep_option options[] = {{"learning_rate", 0.01, nullptr}, {"state_dtype", 0, kStorages[next++ % 3]}};
    Trajectory run;
    run.rule = [&] { return make_rule(define_rule(text.text), options); };
    run.steps = 3;
    const std::int32_t ranks = next % 2 == 0 ? 2 : 3;
    EXPECT_EQ(sharded(ranks, run), unsharded(ranks, run)) << run.rule().name() << " " << options[1].text;
  };
  for (const RuleAsText& text : all_texts()) expect_equal(text);
}

TEST(Sharding, EqualsItWhereTensorsAreLookedAtAsAWhole) {
  const gradstep_option rate = {"learning_rate", 0.01, nullptr};
  const gradstep_option decay = {"weight_decay", 0.1, nullptr};
  const std::vector<gradstep_option> of_adam[] = {
      {rate, decay, {"cautious_update", 0, "mean"}, {"trust_ratio", 1, nullptr}},
      {rate, decay, {"decay_mode", 0, "decoupled"}, {"cautious_update", 0, "sum"}, {"cautious_decay", 1, nullptr}},
      {rate, {"adaptive_clip", 0.01, nullptr}, {"adaptive_clip_units", 0, "columns"}, {"center_gradients", 1, nullptr}},
      {rate, {"trust_ratio", 1, nullptr}, {"master_weights", 1, nullptr}, {"cautious_update", 0, "mean"}}};
  for (const std::vector<gradstep_option>& options : of_adam) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      Trajectory run;
      run.dtype = dtype;
      run.rule = [&] { return make_rule(find_rule("adam"), options); };
      EXPECT_EQ(sharded(3, run), unsharded(3, run)) << run.rule().key();
    }
  }
  Trajectory run;
  run.shapes = {{7, 5}, {200, 130}, {1, 1}, {40, 700}, {3, 4, 5}, {0, 3}};
  run.rule = [&] { return make_rule(find_rule("muon"), std::vector{rate, decay}); };
  expect_equal_bits(run);
  for (const char* form : {"torch", "optax"}) {
    run.rule = [&] {
      const std::vector<gradstep_option> options = {
          rate, decay, {"form", 0, form}, {"min_factored", 2, nullptr}, {"momentum", 0.5, nullptr}};
      return make_rule(find_rule("adafactor"), options);
    };
    expect_equal_bits(run);
  }
  for (const char* form : {"reference", "simple"}) {
    run.rule = [&] {
      const std::vector<gradstep_option> options = {
          rate, decay, {"form", 0, form}, {"rank_fraction", 0.25, nullptr}, {"momentum", 0.5, nullptr}};
      return make_rule(find_rule("dion"), options);
    };
    expect_equal_bits(run);
  }
  for (const char* variance : {"rows", "longer", "elements"}) {
    run.rule = [&] {
      return make_rule(find_rule("muon"), std::vector<gradstep_option>{rate, {"variance", 0, variance}});
    };
    expect_equal_bits(run);
  }
}

/// Ranks have matrices in another order than the schema, and slices of vectors between them: what is measured of chunks
/// comes back into its order.
TEST(Sharding, EqualsItWhereMatricesAreDealtByCostAndVectorsByElements) {
  const gradstep_option rate = {"learning_rate", 0.01, nullptr};
  Trajectory run;
  run.shapes = {{3, 5}, {2 * kChunk + 9}, {120, 130}, {7}, {200, 190}, {40, 700}, {kChunk}, {260, 64}, {1, 1}};
  run.rule = [&] {
    return make_rule(find_rule("muon"), std::vector<gradstep_option>{rate, {"cautious_update", 0, "mean"}});
  };
  run.guards.max_norm = 3;
  for (const char* other : {"adam", "lamb", "prodigy"}) {
    run.of_vectors = [&] { return make_rule(find_rule(other), std::vector{rate}); };
    expect_equal_bits(run);
  }
}

/// All have as many elements; one takes as long as the others together.
TEST(Sharding, TheDearestMatrixIsAloneAndAllElementsOfVectorsAreDealt) {
  run_ranks(2, [](Communicator& comm) {
    const auto context = make_context();
    Trajectory run;
    run.shapes = {{8, 8192}, {8, 8192}, {256, 256}, {8, 8192}, {4 * kChunk}};
    run.rule = [] {
      return make_rule(find_rule("muon"), std::vector<gradstep_option>{{"learning_rate", 0.1, nullptr}});
    };
    run.of_vectors = [] { return make_rule(adam()); };
    const Ranked model = model_of(run);
    FirstOrderOptimizer optimizer(context, rules_of(run), model.schema);
    optimizer.attach(&comm, {});
    const std::int64_t size = 65536;
    for (const std::size_t thin : {0U, 1U, 3U}) {
      EXPECT_EQ(optimizer.sharding()->slice(0, thin), (Slice{0, 0}));
      EXPECT_EQ(optimizer.sharding()->slice(1, thin), (Slice{0, size}));
    }
    EXPECT_EQ(optimizer.sharding()->slice(0, 2), (Slice{0, size}));
    EXPECT_EQ(optimizer.sharding()->slice(0, 4), (Slice{0, 2 * kChunk}));
    EXPECT_EQ(optimizer.sharding()->slice(1, 4), (Slice{2 * kChunk, 2 * kChunk}));
  });
}

TEST(Sharding, EqualsItForNarrowParametersWithMasters) {
  auto o = adam();
  o.master_weights = 1;
  Trajectory run;
  run.rule = [&] { return make_rule(o); };
  run.dtype = DType::bf16;
  expect_equal_bits(run);
}

TEST(Sharding, EqualsItForWideParameters) {
  Trajectory run;
  run.dtype = DType::f64;
  expect_equal_bits(run);
}

TEST(Sharding, ClippingByNormAndValueHasTheSameBits) {
  Trajectory run;
  run.guards.max_norm = 3;
  run.guards.clip_value = 0.01;
  run.guards.grad_scale = 0.5;
  expect_equal_bits(run);
}

using Doubles = std::vector<std::vector<double>>;

/// What a rank has after one clipped step of SGD.
struct WideStep {
  bool applied = false;
  double norm = 0;
  Doubles params;
  std::int64_t gathers = 0;
  bool operator==(const WideStep& other) const {
    return applied == other.applied && norm == other.norm && params == other.params;
  }
};

WideStep wide_step(Communicator* comm, std::int32_t gradients, double max_norm, Doubles grads) {
  auto options = default_options<gradstep_sgd_options>();
  options.learning_rate = 1;
  const Schema schema = make_schema(kUneven, DType::f64);
  FirstOrderOptimizer optimizer(make_context(), make_rule(options), schema);
  gradstep_sharding_options exchange{};
  exchange.gradients = gradients;
  if (comm != nullptr) optimizer.attach(comm, exchange);
  WideStep result;
  for (const auto& grad : grads) result.params.emplace_back(grad.size());
  std::vector<gradstep_tensor> params_shown;
  std::vector<gradstep_tensor> grads_shown;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    params_shown.push_back(view_of(schema, i, result.params[i].data(), DType::f64));
    grads_shown.push_back(view_of(schema, i, grads[i].data(), DType::f64));
  }
  StepGuards guards;
  guards.max_norm = max_norm;
  guards.skip_nonfinite = true;
  const auto gathers = [&] { return comm != nullptr ? optimizer.sharding()->comm().stats().all_gathers : 0; };
  const std::int64_t before = gathers();
  const StepOutcome outcome =
      host::step(optimizer, params_shown.data(), grads_shown.data(), nullptr, schema.size(), guards);
  result.gathers = gathers() - before;
  result.applied = outcome.applied;
  result.norm = outcome.grad_norm;
  return result;
}

/// Squares of all but the first of these leave the range of f64, norms do not.
TEST(Sharding, NormsOfDoublesAreRightUpToTheEndsOfTheirRange) {
  for (const double size : {1.0, 1e150, 1e200, 1e305, 1e-140, 1e-200, 1e-307, 1e-320}) {
    Doubles grads;
    for (const auto& shape : kUneven) {
      const std::int64_t count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>{});
      grads.push_back(random_values<double>(static_cast<std::size_t>(count), static_cast<std::uint32_t>(count)));
      for (double& g : grads.back()) g *= size;
    }
    const WideStep expected = wide_step(nullptr, GRADSTEP_SHARDED_GRADIENTS_REDUCED, size, grads);
    EXPECT_TRUE(expected.applied) << size;
    EXPECT_GT(expected.norm, size);
    EXPECT_LT(expected.norm, 1000 * size);
    for (const std::int32_t gradients : {GRADSTEP_SHARDED_GRADIENTS_REDUCED, GRADSTEP_SHARDED_GRADIENTS_LOCAL}) {
      for (std::int32_t ranks = 1; ranks <= 4; ++ranks) {
        // The mean over three ranks is rounded.
        if (ranks == 3 && gradients == GRADSTEP_SHARDED_GRADIENTS_LOCAL) continue;
        run_ranks(ranks, [&](Communicator& comm) {
          const WideStep own = wide_step(&comm, gradients, size, grads);
          EXPECT_EQ(own.norm, expected.norm) << size << ", rank " << comm.rank() << " of " << ranks;
          EXPECT_TRUE(own == expected) << size << ", rank " << comm.rank() << " of " << ranks;
          EXPECT_EQ(own.gathers, size == 1 ? 2 : 3) << "sums of squares travel again only where they have to";
        });
      }
    }
  }
}

TEST(Sharding, TheNormOfTheLargestDoubleIsItselfAndThatOfInfinityIsInfinite) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (std::int32_t ranks = 1; ranks <= 4; ++ranks) {
    run_ranks(ranks, [&](Communicator& comm) {
      Doubles grads = {std::vector<double>(35), std::vector<double>(3 * kChunk + 100), std::vector<double>(kChunk),
                       std::vector<double>(1), std::vector<double>(2 * kChunk - 1)};
      grads[1][2 * kChunk + 5] = kLargest;
      const WideStep largest = wide_step(&comm, GRADSTEP_SHARDED_GRADIENTS_REDUCED, 1, grads);
      EXPECT_TRUE(largest.applied);
      EXPECT_EQ(largest.norm, kLargest);
      EXPECT_NEAR(largest.params[1][2 * kChunk + 5], -1, 1e-9) << "its coefficient is a denormal number";
      grads[4][7] = -kInfinity;
      const WideStep infinite = wide_step(&comm, GRADSTEP_SHARDED_GRADIENTS_REDUCED, 1, grads);
      EXPECT_FALSE(infinite.applied);
      EXPECT_EQ(infinite.norm, kInfinity);
    });
  }
}

TEST(Sharding, AGradientThatOneRankAloneHasReachesAll) {
  Trajectory run;
  run.flags = GRADSTEP_PARAMETER_MAY_BE_UNUSED;
  run.unused = 1;
  expect_equal_bits(run);
}

// Rank 1 gives the same list in every step: that a window had no gradient at all is between the ranks.
TEST(Sharding, WhatAStepThatWasNotMadeHasSeenOfGradientsIsSeenByTheNextOne) {
  run_ranks(2, [](Communicator& comm) {
    Ranked model(DType::f32, GRADSTEP_PARAMETER_MAY_BE_UNUSED);
    FirstOrderOptimizer optimizer(make_context(), make_rule(adam()), model.schema);
    optimizer.attach(&comm, {});
    model.draw(comm.rank(), 0);
    model.absent.assign(model.schema.size(), comm.rank() != 0);
    StepBuffers buffers = model.buffers();
    EXPECT_TRUE(optimizer.step(buffers, {}).applied);
    const auto after_one = model.params;
    if (comm.rank() == 0) {
      model.absent.assign(model.schema.size(), true);
      buffers = model.buffers();
    }
    GradientExchange exchange = optimizer.sharding()->default_exchange();
    exchange.needs_gradient = true;
    EXPECT_FALSE(optimizer.step_sharded(buffers, {}, exchange).applied);
    EXPECT_TRUE(optimizer.step(buffers, {}).applied);
    EXPECT_EQ(model.params, after_one) << "what no rank has a gradient for was stepped";
  });
}

TEST(Sharding, AGradientOfWeightZeroIsNotRead) {
  run_ranks(2, [](Communicator& comm) {
    Ranked model(DType::f32);
    FirstOrderOptimizer optimizer(make_context(), make_rule(adam()), model.schema);
    optimizer.attach(&comm, {});
    const bool is_empty = comm.rank() == 1;
    if (is_empty) {
      for (auto& grad : model.grads) grad.assign(grad.size(), std::numeric_limits<float>::quiet_NaN());
    }
    GradientExchange exchange = optimizer.sharding()->default_exchange();
    exchange.average = GRADSTEP_AVERAGE_WEIGHTED;
    exchange.weight = is_empty ? 0 : 2;
    StepGuards guards;
    guards.skip_nonfinite = true;
    EXPECT_TRUE(optimizer.step_sharded(model.buffers(), guards, exchange).applied);
  });
}

/// The file that is there stays, and no rank hangs in the gathering.
TEST(Sharding, WhatNoLoadTakesIsNotSavedByAnyRank) {
  run_ranks(2, [](Communicator& comm) {
    Ranked model(DType::f32);
    FirstOrderOptimizer optimizer(make_context(), make_rule(adam()), model.schema);
    optimizer.attach(&comm, {});
    model.draw(comm.rank(), 0);
    if (comm.rank() == 1) model.grads[1][3] = std::numeric_limits<float>::quiet_NaN();
    model.step(optimizer);
    Memory memory;
    expect_error(GRADSTEP_ERR_NUMERIC, "'p1/exp_avg' holds NaN or infinity", [&] {
      write_state_file(comm.rank() == 0 ? &memory : nullptr, "optimizer", {{"", save_optimizer(optimizer)}});
    });
    EXPECT_FALSE(memory.committed);
  });
}

TEST(Sharding, ManyElementsBelowTheLimitAreStoredAndALargerOneOnOneRankSkipsTheStepOnAll) {
  run_ranks(3, [](Communicator& comm) {
    Ranked model(DType::f32);
    FirstOrderOptimizer optimizer(make_context(), make_rule(adam()), model.schema);
    optimizer.attach(&comm, {});
    StepGuards guards;
    guards.skip_nonfinite = true;
    for (auto& grad : model.grads) std::ranges::fill(grad, 5e20F);
    EXPECT_TRUE(model.step(optimizer, guards).applied) << "their norm is above the limit of 5.8e20";
    if (comm.rank() == 1) model.grads[1].back() = 1e21F;  // a mean of 6.7e20
    EXPECT_FALSE(model.step(optimizer, guards).applied);
  });
}

TEST(Sharding, ReducedGradientsAreNotReducedAgain) {
  // On one rank there is nothing to reduce: its gradients, given to every rank, must make the same steps.
  Trajectory run;
  run.reduced = GRADSTEP_SHARDED_GRADIENTS_REDUCED;
  const auto expected = unsharded(1, run);
  run_ranks(3, [&](Communicator& comm) {
    Ranked model(run.dtype);
    FirstOrderOptimizer optimizer(make_context(), run.rule(), model.schema);
    gradstep_sharding_options exchange{};
    exchange.gradients = GRADSTEP_SHARDED_GRADIENTS_REDUCED;
    optimizer.attach(&comm, exchange);
    for (int t = 0; t < run.steps; ++t) {
      model.draw(/*rank=*/0, static_cast<std::uint32_t>(t));
      model.step(optimizer);
    }
    EXPECT_EQ(optimizer.sharding()->comm().stats().reduce_scatters, 0);
    EXPECT_EQ(model.params, expected);
  });
}

TEST(Sharding, UpdatesAreGatheredInsteadOfParameters) {
  run_ranks(3, [](Communicator& comm) {
    Ranked in_place(DType::f32);
    Ranked apart(DType::f32);
    Ranked updates(DType::f32);
    FirstOrderOptimizer stepping(make_context(), make_rule(adam()), in_place.schema);
    FirstOrderOptimizer giving(make_context(), make_rule(adam()), apart.schema);
    stepping.attach(&comm, {});
    giving.attach(&comm, {});
    in_place.draw(comm.rank(), 0);
    apart.draw(comm.rank(), 0);
    const std::size_t n = apart.schema.size();
    host::step(stepping, in_place.param_tensors().data(), in_place.grad_tensors().data(), nullptr, n);
    const auto before = apart.params;
    host::step(giving, apart.param_tensors().data(), apart.grad_tensors().data(), updates.param_tensors().data(), n);
    EXPECT_EQ(apart.params, before);
    for (std::size_t i = 0; i < n; ++i) {
      const auto* p = reinterpret_cast<const float*>(apart.params[i].data());
      const auto* u = reinterpret_cast<const float*>(updates.params[i].data());
      const auto* stepped = reinterpret_cast<const float*>(in_place.params[i].data());
      for (std::int64_t k = 0; k < apart.schema[i].size; ++k) ASSERT_EQ(p[k] + u[k], stepped[k]);
    }
  });
}

TEST(Sharding, EachRankHoldsItsShareOfTheState) {
  constexpr std::int32_t kRanks = 4;
  std::vector<std::int64_t> held(kRanks);
  run_ranks(kRanks, [&](Communicator& comm) {
    const Schema schema = make_schema({{64 * kChunk}, {10}});
    FirstOrderOptimizer optimizer(make_context(), make_rule(adam()), schema);
    optimizer.attach(&comm, {});
    for (const StoredState& stored : optimizer.state().stored()) {
      held[static_cast<std::size_t>(comm.rank())] += stored.array.bytes();
    }
  });
  std::int64_t all = 0;
  for (const std::int64_t bytes : held) {
    EXPECT_LE(bytes, 2 * 4 * (64 * kChunk / kRanks + 10));
    all += bytes;
  }
  EXPECT_EQ(all, 2 * 4 * (64 * kChunk + 10)) << "every element belongs to exactly one rank";
}

// Attached to three ranks, then to two of them, then to none: the trajectory is the one of a single process that saw
// the same gradients.
TEST(Sharding, StateMovesToAnotherNumberOfRanksAndBack) {
  Trajectory run;
  run.steps = 9;
  run.reduced = GRADSTEP_SHARDED_GRADIENTS_REDUCED;
  for (const std::int32_t format : {GRADSTEP_STATE_DTYPE_NATIVE, GRADSTEP_STATE_DTYPE_INT8}) {
    auto o = adam();
    o.state_dtype = format;
    run.rule = [&] { return make_rule(o); };
    const auto expected = unsharded(1, run);
    run_ranks(3, [&](Communicator& comm) {
      Ranked model(run.dtype);
      FirstOrderOptimizer optimizer(make_context(), run.rule(), model.schema);
      gradstep_sharding_options exchange{};
      exchange.gradients = GRADSTEP_SHARDED_GRADIENTS_REDUCED;
      const auto steps = [&](std::uint32_t first) {
        for (std::uint32_t t = first; t < first + 3; ++t) {
          model.draw(0, t);
          model.step(optimizer);
        }
      };
      optimizer.attach(&comm, exchange);
      steps(0);
      const auto halves = comm.split(comm.rank() / 2, comm.rank(), comm.deadline());
      optimizer.attach(halves.get(), exchange);
      steps(3);
      // Gathers over the halves; then every rank is alone.
      optimizer.attach(nullptr, exchange);
      EXPECT_FALSE(optimizer.is_sharded());
      steps(6);
      EXPECT_EQ(model.params, expected);
    });
  }
}

TEST(Sharding, SingleStatesAreGatheredAndDealtOut) {
  run_ranks(3, [](Communicator& comm) {
    Ranked model(DType::f32);
    FirstOrderOptimizer optimizer(make_context(), make_rule(adam()), model.schema);
    optimizer.attach(&comm, {});
    auto values = random_values<float>(static_cast<std::size_t>(model.schema[1].size), 5);
    std::vector<float> back(values.size());
    const auto array = [&](std::vector<float>& host) {
      Array a;
      a.data = host.data();
      a.size = model.schema[1].size;
      return a;
    };
    optimizer.state().set(1, "exp_avg", array(values));
    optimizer.state().get(1, "exp_avg", array(back));
    EXPECT_EQ(back, values);
    expect_error(GRADSTEP_ERR_UNSUPPORTED, "get_state", [&] { optimizer.state().view(1, "exp_avg"); });
  });
}

TEST(Sharding, ANonFiniteGradientOnOneRankSkipsTheStepOnAll) {
  run_ranks(3, [](Communicator& comm) {
    Ranked model(DType::f32);
    FirstOrderOptimizer optimizer(make_context(), make_rule(adam()), model.schema);
    optimizer.attach(&comm, {});
    model.draw(comm.rank(), 0);
    if (comm.rank() == 1) model.grads[4][9] = std::numeric_limits<float>::quiet_NaN();
    const auto before = model.params;
    StepGuards guards;
    guards.skip_nonfinite = true;
    EXPECT_FALSE(model.step(optimizer, guards).applied);
    EXPECT_EQ(optimizer.skipped_steps(), 1);
    EXPECT_EQ(optimizer.step_count(), 0);
    EXPECT_EQ(model.params, before);
    // And what a host found out on one rank alone.
    float found_inf = comm.rank() == 2 ? 1.0F : 0.0F;
    model.draw(comm.rank(), 1);
    guards = {};
    guards.found_inf = &found_inf;
    EXPECT_FALSE(model.step(optimizer, guards).applied);
    EXPECT_EQ(found_inf, 1.0F);
    EXPECT_EQ(model.params, before);
  });
}

TEST(Sharding, WithoutAnyShardingDetachingLeavesViewsAlone) {
  Ranked model(DType::f32);
  FirstOrderOptimizer optimizer(make_context(), make_rule(adam()), model.schema);
  const void* view = optimizer.state().view(1, "exp_avg").data;
  optimizer.attach(nullptr, {});
  EXPECT_EQ(optimizer.state().view(1, "exp_avg").data, view);
}

// Rank 1 takes part in the first phase of attach, late, and in no other.
TEST(Sharding, AllPhasesOfAttachShareOneDeadline) {
  std::atomic<bool> has_ended = false;
  run_ranks(
      2,
      [&](Communicator& comm) {
        if (comm.rank() == 1) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1500));
          const auto channel = comm.private_channel(comm.deadline());
          while (!has_ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return;
        }
        FirstOrderOptimizer optimizer(make_context(), make_rule(adam()), make_schema({{8}}));
        const auto start = std::chrono::steady_clock::now();
        expect_error(GRADSTEP_ERR_TIMEOUT, "", [&] { optimizer.attach(&comm, {}); });
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(3000));
        has_ended = true;
      },
      2000);
}

TEST(Sharding, ARankWithoutMemoryLeavesAllRanksAsTheyWere) {
  auto o = adam();
  o.state_dtype = GRADSTEP_STATE_DTYPE_INT8;
  Trajectory run;
  run.rule = [&] { return make_rule(o); };
  run.steps = 9;
  const auto expected = unsharded(1, run);
  run_ranks(3, [&](Communicator& comm) {
    std::int64_t left = -1;
    Ranked model(run.dtype);
    FirstOrderOptimizer optimizer(make_short_of_memory(&left), run.rule(), model.schema);
    gradstep_sharding_options exchange{};
    exchange.gradients = GRADSTEP_SHARDED_GRADIENTS_REDUCED;
    std::uint32_t t = 0;
    const auto step = [&] {
      model.draw(0, t++);
      model.step(optimizer);
    };
    // Rank 1 has no memory for the first allocation, then for the second, and so on until all of them succeed.
    const auto attach = [&](Communicator* next) {
      const bool was_sharded = optimizer.is_sharded();
      for (std::int64_t refused = 0;; ++refused) {
        left = comm.rank() == 1 ? refused : -1;
        gradstep_status status = GRADSTEP_OK;
        try {
          optimizer.attach(next, exchange);
        } catch (const Error& error) {
          status = error.status();
        }
        left = -1;
        if (status == GRADSTEP_OK) return refused;
        const gradstep_status own = comm.rank() == 1 ? GRADSTEP_ERR_OUT_OF_MEMORY : GRADSTEP_ERR_ABORTED;
        if (status != own) throw std::runtime_error(std::string("attach: ") + status_name(status));
        EXPECT_EQ(optimizer.is_sharded(), was_sharded);
      }
    };
    for (int i = 0; i < 2; ++i) step();
    EXPECT_GT(attach(&comm), 3);
    for (int i = 0; i < 2; ++i) step();
    const auto halves = comm.split(comm.rank() / 2, comm.rank(), comm.deadline());
    EXPECT_GT(attach(halves.get()), 3);
    for (int i = 0; i < 2; ++i) step();
    const std::int64_t refused = attach(nullptr);
    EXPECT_TRUE(refused > 3 || comm.rank() == 2) << "rank 2 was a half of its own, without rank 1";
    for (int i = 0; i < 3; ++i) step();
    EXPECT_EQ(model.params, expected);
  });
}

TEST(Sharding, AfterALostPeerParametersStandAndTheStateMustBeLoaded) {
  run_ranks(
      2,
      [](Communicator& comm) {
        Ranked model(DType::f32);
        FirstOrderOptimizer optimizer(make_context(), make_rule(adam()), model.schema);
        FirstOrderOptimizer saved(make_context(), make_rule(adam()), model.schema);
        optimizer.attach(&comm, {});
        if (comm.rank() == 1) return;  // never comes to the step
        const auto before = model.params;
        expect_error(GRADSTEP_ERR_PEER_LOST, "", [&] { model.step(optimizer); });
        EXPECT_EQ(model.params, before);
        expect_error(GRADSTEP_ERR_INVALID_STATE, "load", [&] { model.step(optimizer); });
        optimizer.attach(nullptr, {});
        expect_error(GRADSTEP_ERR_INVALID_STATE, "load", [&] { model.step(optimizer); });
        expect_error(GRADSTEP_ERR_INVALID_STATE, "load", [&] { saved.copy_state(optimizer); });
        expect_error(GRADSTEP_ERR_INVALID_STATE, "load", [&] { save_optimizer(optimizer); });
        optimizer.copy_state(saved);
        EXPECT_TRUE(model.step(optimizer).applied);
      },
      300);
}

// Wherever it fails, in what it does before the exchanges or in the last copy of new parameters.
TEST(Sharding, AStepThatFailsOnOneRankIsNotGoneOnFromOnAny) {
  int loops_of_a_step = 0;
  for (int failing = 0; failing <= std::max(loops_of_a_step, 1); ++failing) {
    run_ranks(2, [&](Communicator& comm) {
      FailingLoops loops;
      Ranked model(DType::f32);
      FirstOrderOptimizer optimizer(loops.make(), make_rule(adam()), model.schema);
      optimizer.attach(&comm, {});
      model.draw(comm.rank(), 0);
      const int before = loops.calls;
      if (failing == 0) {
        model.step(optimizer);
        if (comm.rank() == 1) loops_of_a_step = loops.calls - before;
        return;
      }
      if (comm.rank() == 1) {
        loops.failing = before + failing;
        expect_error(GRADSTEP_ERR_CALLBACK, "parallel_for", [&] { model.step(optimizer); });
      }
      const auto step_twice = [&] {  // a peer that the failure has overtaken learns it in its next step
        for (int k = 0; k < 2; ++k) model.step(optimizer);
      };
      EXPECT_THROW(step_twice(), Error) << "loop " << failing << ", rank " << comm.rank();
    });
  }
  EXPECT_GT(loops_of_a_step, 2);
}

TEST(Sharding, IsInTheLog) {
  RecordedLog records;
  auto options = default_options<gradstep_adam_options>();
  options.learning_rate = 0.1;
  const auto context = records.context();
  run_ranks(2, [&](Communicator& comm) {
    FirstOrderOptimizer optimizer(context, make_rule(options), make_schema(kShapes));
    optimizer.attach(&comm, gradstep_sharding_options{});
  });
  EXPECT_EQ(records.count(GRADSTEP_LOG_INFO, "optimizer adam: its state is spread over 2 ranks"), 2);
}

}  // namespace
}  // namespace gradstep::test
