// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Adasum against its formulas in f64, its identities, and Horovod's and Trax's published cases.
#include "reduce/adasum.h"

#include <algorithm>
#include <memory>

#include "unit/reduce/world_reduce.h"

namespace gradstep::test {
namespace {

constexpr std::int32_t kModes[] = {GRADSTEP_REDUCER_ADASUM_TREE, GRADSTEP_REDUCER_ADASUM_NWAY};

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Vector merged(const Vector& a, const Vector& b) {
  const double ab = dot(a, b);
  const double aa = dot(a, a);
  const double bb = dot(b, b);
  Vector result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    result[i] = (aa == 0 ? 1 : 1 - ab / (2 * aa)) * a[i] + (bb == 0 ? 1 : 1 - ab / (2 * bb)) * b[i];
  }
  return result;
}

Vector tree(std::vector<Vector> g) {
  std::size_t power = 1;
  while (power * 2 <= g.size()) power *= 2;
  for (std::size_t r = power; r < g.size(); ++r) g[r - power] = merged(g[r - power], g[r]);
  for (std::size_t d = 1; d < power; d *= 2) {
    for (std::size_t r = 0; r < power; r += 2 * d) g[r] = merged(g[r], g[r + d]);
  }
  return g[0];
}

Vector nway(const std::vector<Vector>& g) {
  Vector sum(g[0].size(), 0);
  for (const Vector& v : g) {
    for (std::size_t i = 0; i < v.size(); ++i) sum[i] += v[i];
  }
  Vector result(sum.size(), 0);
  for (const Vector& v : g) {
    const double vv = dot(v, v);
    const double factor = vv == 0 ? 1 : 1 - (dot(v, sum) - vv) / (static_cast<double>(g.size()) * vv);
    for (std::size_t i = 0; i < v.size(); ++i) result[i] += factor * v[i];
  }
  return result;
}

/// `tolerance` is relative to the largest number there, or to `scale` where what is added may cancel.
template <class T>
void expect_near(const std::vector<T>& found, const Vector& expected, double tolerance, double scale = 0) {
  double largest = scale;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(found[i]), expected[i], tolerance * largest) << i;
  }
}

template <class T>
std::vector<Tensors<T>> random_gradients(std::size_t ranks, const std::vector<std::int64_t>& sizes) {
  std::vector<Tensors<T>> gradients(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto seed = static_cast<std::uint32_t>(31 * r + i);
      gradients[r].emplace_back(std::vector<std::int64_t>{sizes[i]},
                                random_values<T>(static_cast<std::size_t>(sizes[i]), seed));
      // Vectors of unlike lengths, with something in common.
      for (std::size_t k = 0; k < gradients[r][i].values.size(); ++k) {
        gradients[r][i].values[k] = static_cast<T>(static_cast<double>(r + 1) * gradients[r][i].values[k] + 0.7);
      }
    }
  }
  return gradients;
}

template <class T>
std::vector<Vector> of_parameter(const std::vector<Tensors<T>>& gradients, std::size_t i) {
  std::vector<Vector> vectors;
  for (const auto& g : gradients) vectors.emplace_back(g[i].values.begin(), g[i].values.end());
  return vectors;
}

template <class T>
void compare_with_formulas(const World& world, const std::vector<std::int64_t>& sizes, double tolerance) {
  const auto gradients = random_gradients<T>(world.size(), sizes);
  for (const std::int32_t mode : kModes) {
    const auto found = reduce_world(world, mode_options(mode), gradients);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto vectors = of_parameter(gradients, i);
      const Vector expected = mode == GRADSTEP_REDUCER_ADASUM_TREE ? tree(vectors) : nway(vectors);
      expect_near(found[i].values, expected, tolerance, static_cast<double>(world.size()));
    }
  }
}

/// A bucket that is gathered as a whole, and one that is cut into pieces: chunk borders inside parameters, parameters
/// inside pieces, and an empty one.
const std::vector<std::int64_t> kSmall = {5, 1, 700};
const std::vector<std::int64_t> kLarge = {40000, 3, 0, 90001, 16384};

class AdasumOnEngines : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, AdasumOnEngines, testing::ValuesIn(engines()),
                         [](const auto& test) { return test.param; });

// 1e-6: two or three f32 roundings per merge; factors come from f64 dots.
TEST_P(AdasumOnEngines, EveryModeIsItsFormula) {
  for (const std::int32_t ranks : {2, 3, 4}) {
    const World world = make_world(GetParam(), ranks);
    compare_with_formulas<float>(world, kSmall, 1e-6);
    compare_with_formulas<float>(world, kLarge, 1e-6);
  }
}

TEST(Adasum, AnyNumberOfRanks) {
  for (const std::int32_t ranks : {1, 5, 6, 7, 8, 11}) {
    const World world = make_world("local", ranks);
    compare_with_formulas<float>(world, kSmall, 2e-6);
    compare_with_formulas<float>(world, kLarge, 2e-6);
    compare_with_formulas<double>(world, kLarge, 1e-13);
  }
}

TEST(Adasum, BitsDependNeitherOnBucketsNorOnTheEngine) {
  for (const std::int32_t mode : kModes) {
    const auto gradients = random_gradients<float>(3, kLarge);
    std::vector<Tensors<float>> results;
    for (const auto& [engine, threshold] :
         {std::pair{"local", 2097152}, std::pair{"local", 1}, std::pair{"local", 50000}, std::pair{"host_gather", 1},
          std::pair{"host_pairs", 2097152}}) {
      auto options = mode_options(mode);
      options.fuse_threshold = threshold;
      results.push_back(reduce_world(make_world(engine, 3), options, gradients));
    }
    for (const auto& result : results) {
      for (std::size_t i = 0; i < kLarge.size(); ++i) EXPECT_EQ(result[i].values, results[0][i].values);
    }
  }
}

Tensors<float> one(const std::vector<float>& values) {
  Tensors<float> list;
  list.emplace_back(std::vector<std::int64_t>{static_cast<std::int64_t>(values.size())}, values);
  return list;
}

TEST(Adasum, TheOrderOfMergesIsTheDocumentedOne) {
  const std::vector<Tensors<float>> four = {one({1, 0}), one({1, 1}), one({0, 2}), one({-1, 1})};
  const std::vector<Tensors<float>> three(four.begin(), four.begin() + 3);
  const World world4 = make_world("local", 4);
  const World world3 = make_world("local", 3);
  const auto tree_options = mode_options(GRADSTEP_REDUCER_ADASUM_TREE);
  expect_near(reduce_world(world4, tree_options, four)[0].values, {0.5441176, 2.3897059}, 1e-6);
  expect_near(reduce_world(world3, tree_options, three)[0].values, {0.95, 1.65}, 1e-6);
  expect_near(reduce_world(world4, mode_options(GRADSTEP_REDUCER_ADASUM_NWAY), four)[0].values, {0.75, 3.0}, 1e-6);
}

TEST(Adasum, IdenticalGradientsAreLeftAsTheyAre) {
  for (const std::int32_t mode : kModes) {
    const Tensors<float> g = one(random_values<float>(1000, 3));
    const auto found = reduce_world<float>(make_world("local", 4), mode_options(mode), {g, g, g, g});
    expect_near(found[0].values, Vector(g[0].values.begin(), g[0].values.end()), 3e-7);
  }
}

// A parameter that is zero on one rank and not on another, zero everywhere, and absent.
TEST(Adasum, AZeroGradientAddsNothingAndTakesNothing) {
  for (const std::int32_t mode : kModes) {
    const std::vector<Tensors<float>> gradients = {one({0, 0, 0}), one({1, -2, 3}), one({0, 0, 0})};
    expect_near(reduce_world(make_world("local", 3), mode_options(mode), gradients)[0].values, {1, -2, 3}, 0);
    const std::vector<Tensors<float>> zeros = {one({0}), one({0})};
    EXPECT_EQ(reduce_world(make_world("local", 2), mode_options(mode), zeros)[0].values[0], 0);
  }
}

// Horovod's test_orthogonal: the columns of an orthonormal basis add up; its sizes, among them one of half a million.
TEST(Adasum, HorovodOrthogonalGradientsAdd) {
  constexpr std::size_t kRanks = 4;
  for (const std::int64_t n : {std::int64_t{20 * kRanks - 17}, std::int64_t{2 * kRanks + 1}, std::int64_t{kRanks + 2},
                               std::int64_t{1} << 19}) {
    std::vector<Vector> basis;
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      Vector v = random_values<double>(static_cast<std::size_t>(n), r);
      for (const Vector& b : basis) {
        const double along = dot(v, b);
        for (std::size_t i = 0; i < v.size(); ++i) v[i] -= along * b[i];
      }
      const double norm = std::sqrt(dot(v, v));
      for (double& x : v) x /= norm;
      basis.push_back(v);
    }
    Vector sum(static_cast<std::size_t>(n), 0);
    std::vector<Tensors<double>> gradients;
    for (const Vector& v : basis) {
      gradients.emplace_back();
      gradients.back().emplace_back(std::vector<std::int64_t>{n}, v);
      for (std::size_t i = 0; i < v.size(); ++i) sum[i] += v[i];
    }
    for (const std::int32_t mode : kModes) {
      expect_near(reduce_world(make_world("local", kRanks), mode_options(mode), gradients)[0].values, sum, 1e-9);
    }
  }
}

// Horovod's test_parallel: multiples of one vector are averaged. (The n-way rule averages only equal ones.)
TEST(Adasum, HorovodParallelGradientsAverage) {
  constexpr std::size_t kRanks = 4;
  const Vector direction = random_values<double>(1 << 19, 1);
  const Vector lengths = {0.3, 2.5, 1.0, 7.0};
  std::vector<Tensors<double>> gradients;
  for (const double length : lengths) {
    gradients.emplace_back();
    gradients.back().emplace_back(std::vector<std::int64_t>{1 << 19}, direction);
    for (double& x : gradients.back()[0].values) x *= length;
  }
  Vector mean = direction;
  for (double& x : mean) x *= (0.3 + 2.5 + 1.0 + 7.0) / 4;
  const auto options = mode_options(GRADSTEP_REDUCER_ADASUM_TREE);
  expect_near(reduce_world(make_world("local", kRanks), options, gradients)[0].values, mean, 1e-12);
}

// Horovod's test_stability: gradients of very different and of very small lengths lose nothing.
TEST(Adasum, HorovodTinyGradientsStayFinite) {
  std::vector<Tensors<float>> gradients;
  for (const float scale : {1e-20F, 1e-3F, 1e-35F, 1.0F}) {
    auto values = random_values<float>(1024, 2);
    for (float& x : values) x *= scale;
    gradients.push_back(one(values));
  }
  const auto found = reduce_world(make_world("local", 4), mode_options(GRADSTEP_REDUCER_ADASUM_TREE), gradients);
  expect_near(found[0].values, tree(of_parameter(gradients, 0)), 1e-6);
}

// Dots are f64: in f32 these squares would overflow, or vanish.
TEST(Adasum, DotsNeitherOverflowNorVanish) {
  for (const float scale : {1e30F, 1e-30F}) {
    const auto found = reduce_world<float>(make_world("local", 2), mode_options(GRADSTEP_REDUCER_ADASUM_TREE),
                                           {one({scale, 0}), one({scale, scale})});
    const double s = static_cast<double>(scale);
    expect_near(found[0].values, {0.5 * s + 0.75 * s, 0.75 * s}, 1e-6);
  }
}

TEST(Adasum, MeansAreRefused) {
  run_outcomes(make_world("local", 1), [](Communicator& comm) {
    for (const std::int32_t average : {GRADSTEP_AVERAGE_MEAN, GRADSTEP_AVERAGE_WEIGHTED}) {
      auto options = mode_options(GRADSTEP_REDUCER_ADASUM_NWAY);
      options.average = average;
      expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.average",
                   [&] { Reducer(make_context(), comm, options, make_schema({{3}})); });
    }
  });
}

// By hosts.

using Hosts = std::vector<std::uint64_t>;

/// Two of two, in turns, of unequal sizes, three hosts, one host, and a host for each rank.
const std::vector<Hosts> kAdasumHosts = {{5, 5, 9, 9},          {1, 2, 1, 2, 2}, {3, 3, 3, 4},
                                         {1, 1, 2, 3, 3, 2, 3}, {8, 8},          {1, 2, 3}};

/// By host, in the order of their first ranks: the sum of its ranks in their order / their number.
template <class T>
std::vector<Tensors<T>> means_of_hosts(const Hosts& hosts, const std::vector<Tensors<T>>& gradients) {
  std::vector<std::uint64_t> seen;
  std::vector<Tensors<T>> means;
  for (std::size_t r = 0; r < hosts.size(); ++r) {
    const auto host = static_cast<std::size_t>(std::ranges::find(seen, hosts[r]) - seen.begin());
    if (host == seen.size()) {
      seen.push_back(hosts[r]);
      means.push_back(gradients[r]);
      continue;
    }
    for (std::size_t i = 0; i < gradients[r].size(); ++i) {
      for (std::size_t k = 0; k < gradients[r][i].values.size(); ++k) {
        means[host][i].values[k] += gradients[r][i].values[k];
      }
    }
  }
  for (std::size_t h = 0; h < seen.size(); ++h) {
    const auto ranks = static_cast<T>(std::ranges::count(hosts, seen[h]));
    for (auto& tensor : means[h]) {
      for (T& value : tensor.values) value /= ranks;
    }
  }
  return means;
}

template <class T>
void expect_adasum_of_means(const std::string& engine, const Hosts& hosts, const gradstep_reducer_options& options,
                            const std::vector<Tensors<T>>& gradients) {
  const auto means = means_of_hosts(hosts, gradients);
  const auto expected = reduce_world(make_world("local", static_cast<std::int32_t>(means.size())), options, means);
  run(make_world(engine, static_cast<std::int32_t>(hosts.size())), [&](Communicator& comm) {
    comm.group_by_hosts(hosts, comm.deadline());
    auto own = gradients[static_cast<std::size_t>(comm.rank())];
    Reducer reducer(make_context(), comm, options, make_schema(shapes_of(own), dtype_of<T>()));
    const auto views = views_of(own);
    for (int window = 0; window < 2; ++window) {
      own = gradients[static_cast<std::size_t>(comm.rank())];
      host::reduce(reducer, views.data(), views.data(), views.size(), 1);
      for (std::size_t i = 0; i < own.size(); ++i) {
        EXPECT_EQ(own[i].values, expected[i].values) << "parameter " << i << " of " << hosts.size() << " ranks";
      }
    }
  });
}

TEST_P(AdasumOnEngines, ByHostsTheBitsAreThoseOfTheHostsMeans) {
  if (GetParam() == "host_gather") GTEST_SKIP() << "no sums by hosts";
  for (const Hosts& hosts : kAdasumHosts) {
    for (const std::int32_t mode : kModes) {
      for (const std::int32_t threshold : {1, 2097152}) {
        auto options = mode_options(mode);
        options.fuse_threshold = threshold;
        expect_adasum_of_means(GetParam(), hosts, options, random_gradients<float>(hosts.size(), kSmall));
        expect_adasum_of_means(GetParam(), hosts, options, random_gradients<float>(hosts.size(), kLarge));
      }
    }
  }
}

// Squares that leave f64's range are measured again: all ranks take part, those that own nothing too.
TEST(Adasum, ByHostsHugeAndTinyGradientsCountToo) {
  for (const Hosts& hosts : kAdasumHosts) {
    for (const std::int32_t mode : kModes) {
      for (const double length : {1e200, 1e-200}) {
        auto gradients = random_gradients<double>(hosts.size(), kLarge);
        for (auto& tensors : gradients) {
          for (double& value : tensors[0].values) value *= length;
        }
        expect_adasum_of_means("local", hosts, mode_options(mode), gradients);
      }
    }
  }
}

// Ranks of all groups wait for the one that does not come: an owner, or one that owns nothing.
TEST_P(AdasumOnEngines, ByHostsARankThatAbortsEndsTheWindowOfAll) {
  if (GetParam() == "host_gather") GTEST_SKIP() << "no sums by hosts";
  for (const std::int32_t absent : {0, 4}) {
    const World world = make_world(GetParam(), 5);
    const auto gradients = random_gradients<float>(5, kLarge);
    std::vector<std::unique_ptr<Reducer>> reducers(5);
    run(world, [&](Communicator& comm) {
      comm.group_by_hosts({1, 1, 2, 2, 2}, comm.deadline());
      reducers[static_cast<std::size_t>(comm.rank())] = std::make_unique<Reducer>(
          make_context(), comm, mode_options(GRADSTEP_REDUCER_ADASUM_TREE), make_schema(shapes_of(gradients[0])));
    });
    const auto outcomes = run_outcomes(world, [&](Communicator& comm) {
      if (comm.rank() == absent) return comm.abort();
      auto own = gradients[static_cast<std::size_t>(comm.rank())];
      const auto views = views_of(own);
      host::reduce(*reducers[static_cast<std::size_t>(comm.rank())], views.data(), views.data(), views.size(), 1);
    });
    for (std::size_t r = 0; r < outcomes.size(); ++r) {
      if (static_cast<std::int32_t>(r) == absent) continue;
      EXPECT_NE(outcomes[r].status, GRADSTEP_OK) << r;
      EXPECT_LT(outcomes[r].milliseconds, 10000) << outcomes[r].text;
    }
  }
}

}  // namespace
}  // namespace gradstep::test
