// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What Adasum and sparse sums promise of any gradients, where ranks are threads, share memory, or talk over loopback.
#include <array>
#include <cmath>
#include <cstring>

#include "unit/reduce/world_reduce.h"

namespace gradstep::test {
namespace {

using Values = std::vector<float>;
using Combination = std::tuple<std::string, std::int32_t>;

std::vector<std::string> machine_engines() {
  std::vector<std::string> names;
  for (const std::string& name : engines()) {
    if (name == "local" || name == "shm" || name == "gloo") names.push_back(name);
  }
  return names;
}

/// (engine, number of ranks)
class OnEngines : public testing::TestWithParam<Combination> {
 protected:
  const std::string& engine() const { return std::get<0>(GetParam()); }
  std::int32_t ranks() const { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Worlds, OnEngines,
                         testing::Combine(testing::ValuesIn(machine_engines()), testing::Values(2, 3, 4, 8)),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_" + std::to_string(std::get<1>(test.param));
                         });

constexpr std::int32_t kAdasum[] = {GRADSTEP_REDUCER_ADASUM_TREE, GRADSTEP_REDUCER_ADASUM_NWAY};

/// One that is gathered as a whole, and one that is cut into pieces, within a bucket or each in its own.
const std::vector<std::int64_t> kSizes = {300, 90001};

Tensors<float> tensors_of_sizes(const std::function<float(std::size_t, std::size_t)>& value) {
  Tensors<float> list;
  for (std::size_t p = 0; p < kSizes.size(); ++p) {
    list.emplace_back(std::vector<std::int64_t>{kSizes[p]});
    for (std::size_t i = 0; i < list[p].values.size(); ++i) list[p].values[i] = value(p, i);
  }
  return list;
}

/// Both rules, in one bucket and in two, within the relative error that each is allowed.
void expect_adasums(const World& world, const std::vector<Tensors<float>>& gradients, const Tensors<float>& expected,
                    const std::array<double, 2>& allowed) {
  for (const std::int64_t threshold : {1, 1 << 20}) {
    for (std::size_t rule = 0; rule < std::size(kAdasum); ++rule) {
      auto options = mode_options(kAdasum[rule]);
      options.fuse_threshold = threshold;
      const auto found = reduce_world(world, options, gradients);
      for (std::size_t p = 0; p < kSizes.size(); ++p) {
        for (std::size_t i = 0; i < expected[p].values.size(); ++i) {
          const float wanted = expected[p].values[i];
          ASSERT_NEAR(found[p].values[i], wanted, allowed[rule] * std::abs(wanted))
              << "mode " << kAdasum[rule] << ", element " << i;
        }
      }
    }
  }
}

// The tree's factors are 1/2, and it is exact. 1e-6 for 1/P of a sum of P, each addition of which is rounded.
TEST_P(OnEngines, AdasumLeavesEqualGradientsAsTheyAre) {
  const World world = make_world(engine(), ranks());
  const Values random = random_values<float>(static_cast<std::size_t>(kSizes[1]), 4);
  const auto same = tensors_of_sizes([&](std::size_t p, std::size_t i) { return random[i] + static_cast<float>(p); });
  const std::vector<Tensors<float>> gradients(static_cast<std::size_t>(ranks()), same);
  expect_adasums(world, gradients, same, {0, 1e-6});
}

// Rank r has every P-th element from r on: dot products are exactly zero, and factors exactly one.
TEST_P(OnEngines, AdasumAddsOrthogonalGradients) {
  const World world = make_world(engine(), ranks());
  const Values random = random_values<float>(static_cast<std::size_t>(kSizes[1]), 5);
  std::vector<Tensors<float>> gradients;
  for (std::int32_t r = 0; r < ranks(); ++r) {
    gradients.push_back(tensors_of_sizes(
        [&](std::size_t, std::size_t i) { return static_cast<std::int32_t>(i) % ranks() == r ? random[i] : 0; }));
  }
  expect_adasums(world, gradients, tensors_of_sizes([&](std::size_t, std::size_t i) { return random[i]; }), {0, 0});
}

TEST_P(OnEngines, AdasumHasTheBitsOfThreads) {
  const World world = make_world(engine(), ranks());
  const World threads = make_world("local", ranks());
  std::vector<Tensors<float>> gradients;
  for (std::int32_t r = 0; r < ranks(); ++r) {
    const Values own = random_values<float>(static_cast<std::size_t>(kSizes[1]), static_cast<std::uint32_t>(40 + r));
    gradients.push_back(tensors_of_sizes([&](std::size_t, std::size_t i) { return own[i] + 0.5F; }));
  }
  for (const std::int32_t mode : kAdasum) {
    const auto found = reduce_world(world, mode_options(mode), gradients);
    const auto expected = reduce_world(threads, mode_options(mode), gradients);
    for (std::size_t p = 0; p < kSizes.size(); ++p) EXPECT_EQ(found[p].values, expected[p].values) << mode;
  }
}

// Each rank's u = gradient + old residual goes out or stays, element by element and bit by bit; and what all ranks end
// with is the sum of what went out, in the order of the ranks.
TEST_P(OnEngines, SparseSumsLoseNothing) {
  const World world = make_world(engine(), ranks());
  constexpr std::size_t kSize = 60000;
  constexpr std::uint32_t kWindows = 3;
  const auto places = static_cast<std::size_t>(ranks());
  for (const std::int32_t exchange : {GRADSTEP_SPARSE_EXCHANGE_GATHER, GRADSTEP_SPARSE_EXCHANGE_SPLIT}) {
    for (const auto& [mode, sparsity] :
         {std::pair{GRADSTEP_REDUCER_SPARSE_TOPK, 0.01}, std::pair{GRADSTEP_REDUCER_SPARSE_THRESHOLD, 2.0}}) {
      auto options = mode_options(mode);
      options.sparsity = sparsity;
      options.sparse_exchange = exchange;
      options.average = GRADSTEP_AVERAGE_SUM;
      std::vector<std::vector<Values>> sent(kWindows, std::vector<Values>(places));
      std::vector<std::vector<Values>> sums = sent;
      run(world, [&](Communicator& comm) {
        const auto rank = static_cast<std::size_t>(comm.rank());
        Reducer reducer(make_context(), comm, options, make_schema({{kSize}}));
        Values old(kSize, 0);
        for (std::uint32_t window = 0; window < kWindows; ++window) {
          const auto seed = static_cast<std::uint32_t>(100 * rank + window + 1);
          TestTensor<float> gradient({kSize}, random_values<float>(kSize, seed));
          const Values u = [&] {
            Values sum = gradient.values;
            for (std::size_t i = 0; i < kSize; ++i) sum[i] += old[i];
            return sum;
          }();
          const gradstep_tensor tensor = gradient.tensor();
          host::reduce(reducer, &tensor, &tensor, 1, 1);
          const auto* residual = static_cast<const float*>(reducer.memory().residual(0).data);
          old.assign(residual, residual + kSize);
          Values& out = sent[window][rank];
          out.assign(kSize, 0);
          for (std::size_t i = 0; i < kSize; ++i) {
            ASSERT_TRUE(old[i] == 0 || old[i] == u[i]) << "a residual is all or nothing: element " << i;
            if (old[i] == 0) out[i] = u[i];
          }
          sums[window][rank] = gradient.values;
        }
      });
      for (std::uint32_t window = 0; window < kWindows; ++window) {
        std::size_t count = 0;
        Values expected(kSize, 0);
        for (const Values& out : sent[window]) {
          for (std::size_t i = 0; i < kSize; ++i) {
            expected[i] += out[i];
            if (out[i] != 0) ++count;
          }
        }
        EXPECT_GT(count, 0U);
        EXPECT_LT(count, places * kSize / 2);
        for (const Values& sum : sums[window]) ASSERT_EQ(sum, expected) << "window " << window;
      }
    }
  }
}

}  // namespace
}  // namespace gradstep::test
