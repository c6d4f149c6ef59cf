// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What Adasum makes of numbers from the smallest to the largest of each dtype, of zeros, infinities and NaNs: the rows
// of the table in docs/gradient_sync.md. Every case is a parameter by itself, all of them in one reducer. The reference
// is the formula in long double, whose exponents hold the squares of all.
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>

#include "kernels/convert.h"
#include "unit/reduce/world_reduce.h"

namespace gradstep::test {
namespace {

using kernels::BFloat16;
using kernels::Float16;
using Real = long double;
using Vector = std::vector<Real>;

struct Range {
  double smallest;  ///< subnormal
  double normal;    ///< the smallest that is
  double largest;
  double tolerance;  ///< of a result, relative to its largest number
};

// f32: one rounding for each of at most three levels, each enlarged at most by 1.5 twice. 16 bits: half a unit more.
// f64: sums of a thousand products.
template <class T>
Range range_of() {
  if constexpr (std::is_same_v<T, Float16>) return {0x1p-24, 0x1p-14, 65504, 0x1p-11 + 1e-6};
  if constexpr (std::is_same_v<T, BFloat16>) return {0x1p-133, 0x1p-126, 0x1.fep127, 0x1p-8 + 1e-6};
  if constexpr (std::is_same_v<T, float>) return {0x1p-149, 0x1p-126, 0x1.fffffep127, 1e-6};
  return {0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023, 1e-13};
}

template <class T>
double value_of(T x) {
  return static_cast<double>(kernels::widen(x));
}

/// In [-1, 1) but not near 0, other ones for every seed.
double scattered(std::size_t i, std::size_t seed) {
  const std::uint64_t mixed = (i + 1) * 0x9e3779b97f4a7c15U ^ (seed + 1) * 0xd1b54a32d192ed03U;
  const std::uint64_t bits = (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9U;
  const double x = static_cast<double>(bits >> 11) * 0x1p-53;
  return x < 0.5 ? -0.25 - x : x - 0.25 + 0x1p-20;
}

enum class Outcome { formula, cancels, exact, nan };

struct Case {
  const char* name;
  std::size_t size;
  /// The value of rank r among `ranks`, rounded to the dtype.
  std::function<double(const Range& range, std::size_t r, std::size_t ranks, std::size_t i)> value;
  Outcome outcome = Outcome::formula;  ///< exact: bit by bit; cancels: relative to the largest that went in
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Lengths from near the smallest to the root of the largest, none of them in order.
double spread(const Range& range, std::size_t r, std::size_t ranks) {
  const auto place = static_cast<double>((5 * r + 1) % ranks + 1);
  const double share = place / static_cast<double>(ranks);
  return std::exp2(share * std::log2(range.largest) / 2 + (1 - share) * std::log2(range.normal));
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"one subnormal beside ordinary numbers", 6,
       [](const Range& range, std::size_t r, std::size_t, std::size_t i) {
         if (r % 2 == 1) return static_cast<double>(i + 1);
         return i == 3 ? range.smallest * static_cast<double>(r + 2) : 0.0;
       }},
      {"one vector, in lengths that differ as far as they can", 1024,
       [](const Range& range, std::size_t r, std::size_t ranks, std::size_t i) {
         return spread(range, r, ranks) * scattered(i, 0);
       }},
      {"vectors in lengths that differ as far as they can", 1024,
       [](const Range& range, std::size_t r, std::size_t ranks, std::size_t i) {
         return spread(range, r, ranks) * scattered(i, r);
       }},
      {"any exponents", 1000,
       [](const Range& range, std::size_t r, std::size_t, std::size_t i) {
         const double share = std::abs(scattered(i, 100 + r));
         const double exponent = share * std::log2(range.largest / 32) + (0.75 - share) * std::log2(range.smallest);
         return std::copysign(std::exp2(exponent), scattered(i, r));
       }},
      {"huge", 700,
       [](const Range& range, std::size_t r, std::size_t, std::size_t i) {
         return range.largest / 32 * scattered(i, r);
       }},
      {"huge and equal", 700,
       [](const Range& range, std::size_t, std::size_t, std::size_t i) { return range.largest * scattered(i, 0); }},
      {"tiny", 700,
       [](const Range& range, std::size_t r, std::size_t, std::size_t i) {
         return range.smallest * std::round(16 * scattered(i, r));
       }},
      {"tiny on one rank, huge on the others", 700,
       [](const Range& range, std::size_t r, std::size_t, std::size_t i) {
         return r == 0 ? range.smallest * std::round(16 * scattered(i, r)) : range.largest / 32 * scattered(i, r);
       }},
      {"zero everywhere", 7, [](const Range&, std::size_t, std::size_t, std::size_t) { return 0.0; }, Outcome::exact},
      {"zero on all ranks but one", 300,
       [](const Range&, std::size_t r, std::size_t, std::size_t i) { return r == 1 ? scattered(i, r) : 0.0; },
       Outcome::exact},
      {"orthogonal, for every rank has elements of its own", 1000,
       [](const Range&, std::size_t r, std::size_t ranks, std::size_t i) {
         return i % ranks == r ? scattered(i, r) : 0.0;
       },
       Outcome::exact},
      {"orthogonal, of the largest and the smallest numbers", 64,
       [](const Range& range, std::size_t r, std::size_t ranks, std::size_t i) {
         if (i % ranks != r) return 0.0;
         return r % 2 == 0 ? range.largest / 2 : range.smallest * 3;
       }},
      {"opposite", 300,
       [](const Range&, std::size_t r, std::size_t, std::size_t i) {
         return r % 2 == 0 ? scattered(i, 1) : -scattered(i, 1);
       },
       Outcome::cancels},
      {"opposite and huge", 300,
       [](const Range& range, std::size_t r, std::size_t, std::size_t i) {
         return (r % 2 == 0 ? range.largest : -range.largest) * scattered(i, 1);
       },
       Outcome::cancels},
      {"one NaN on one rank", 40,
       [](const Range&, std::size_t r, std::size_t, std::size_t i) {
         return r == 1 && i == 7 ? -kNaN : scattered(i, r);
       },
       Outcome::nan},
      {"one NaN among zeros", 40,
       [](const Range&, std::size_t r, std::size_t, std::size_t i) { return r == 1 && i == 7 ? kNaN : 0.0; },
       Outcome::nan},
      {"one infinity on one rank", 40,
       [](const Range&, std::size_t r, std::size_t, std::size_t i) {
         return r == 1 && i == 7 ? -kInfinity : scattered(i, r);
       },
       Outcome::nan},
      {"one infinity among zeros", 40,
       [](const Range&, std::size_t r, std::size_t, std::size_t i) { return r == 1 && i == 7 ? kInfinity : 0.0; },
       Outcome::nan},
      {"the same infinity everywhere", 40,
       [](const Range&, std::size_t, std::size_t, std::size_t i) { return i == 7 ? kInfinity : scattered(i, 0); },
       Outcome::nan},
      {"enough more to be cut into pieces", 20000,
       [](const Range&, std::size_t r, std::size_t, std::size_t i) { return scattered(i, r); }},
  };
  return all;
}

Real dot(const Vector& a, const Vector& b) {
  Real sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// f64 keeps the exponents that it shifts by from merge to merge: only what is f32 can vanish between them.
template <class T>
Vector merged(const Vector& a, const Vector& b) {
  const Real ab = dot(a, b);
  const Real aa = dot(a, a);
  const Real bb = dot(b, b);
  Vector result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    result[i] = (aa == 0 ? 1 : 1 - ab / (2 * aa)) * a[i] + (bb == 0 ? 1 : 1 - ab / (2 * bb)) * b[i];
    if constexpr (!std::is_same_v<T, double>) result[i] = static_cast<Real>(static_cast<float>(result[i]));
  }
  return result;
}

template <class T>
Vector tree(std::vector<Vector> g) {
  std::size_t power = 1;
  while (power * 2 <= g.size()) power *= 2;
  for (std::size_t r = power; r < g.size(); ++r) g[r - power] = merged<T>(g[r - power], g[r]);
  for (std::size_t d = 1; d < power; d *= 2) {
    for (std::size_t r = 0; r < power; r += 2 * d) g[r] = merged<T>(g[r], g[r + d]);
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
    const Real vv = dot(v, v);
    const Real factor = vv == 0 ? 1 : 1 - (dot(v, sum) - vv) / (static_cast<Real>(g.size()) * vv);
    for (std::size_t i = 0; i < v.size(); ++i) result[i] += factor * v[i];
  }
  return result;
}

template <class T>
std::vector<Tensors<T>> gradients_of(std::size_t ranks) {
  std::vector<Tensors<T>> gradients(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    for (const Case& c : cases()) {
      gradients[r].emplace_back(std::vector<std::int64_t>{static_cast<std::int64_t>(c.size)});
      for (std::size_t i = 0; i < c.size; ++i) {
        gradients[r].back().values[i] = kernels::convert<T>(c.value(range_of<T>(), r, ranks, i));
      }
    }
  }
  return gradients;
}

template <class T>
bool same_bits(const TestTensor<T>& a, const TestTensor<T>& b) {
  return std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(T)) == 0;
}

template <class T>
void expect_outcome(const Case& c, const std::vector<Vector>& vectors, const Vector& expected,
                    const TestTensor<T>& found) {
  if (c.outcome == Outcome::nan) {
    EXPECT_TRUE(same_bits(found, TestTensor<T>(found.shape, kernels::convert<T>(kNaN)))) << "not the one quiet NaN";
    return;
  }
  Real largest = 0;
  for (const Real x : expected) largest = std::max(largest, std::abs(x));
  if (c.outcome == Outcome::cancels) {
    for (const Vector& v : vectors) {
      for (const Real x : v) largest = std::max(largest, std::abs(x));
    }
  }
  const Range range = range_of<T>();
  const Real allowed =
      c.outcome == Outcome::exact ? 0 : range.tolerance * largest + 2 * static_cast<Real>(range.smallest);
  for (std::size_t i = 0; i < c.size; ++i) {
    const Real x = static_cast<Real>(value_of(found.values[i]));
    ASSERT_TRUE(std::abs(x - expected[i]) <= allowed) << "element " << i << ": " << x << ", expected " << expected[i];
  }
}

/// (engine, number of ranks)
class AdasumRange : public testing::TestWithParam<std::tuple<std::string, std::int32_t>> {
 protected:
  World world() const { return make_world(std::get<0>(GetParam()), std::get<1>(GetParam())); }

  template <class T>
  void expect_outcomes() const {
    const World ranks = world();
    const auto gradients = gradients_of<T>(ranks.size());
    for (const std::int32_t mode : {GRADSTEP_REDUCER_ADASUM_TREE, GRADSTEP_REDUCER_ADASUM_NWAY}) {
      auto options = mode_options(mode);
      options.fuse_threshold = 1 << 20;  // all in one bucket, which is cut
      const auto cut = reduce_world(ranks, options, gradients);
      options.fuse_threshold = 1;  // gathered whole, but for the last
      const auto whole = reduce_world(ranks, options, gradients);
      for (std::size_t k = 0; k < cases().size(); ++k) {
        const Case& c = cases()[k];
        const auto trace =
            ::testing::ScopedTrace(__FILE__, __LINE__, std::string(c.name) + ", mode " + std::to_string(mode));
        std::vector<Vector> vectors(ranks.size());
        for (std::size_t r = 0; r < ranks.size(); ++r) {
          for (const T x : gradients[r][k].values) vectors[r].push_back(static_cast<Real>(value_of(x)));
        }
        expect_outcome(c, vectors, mode == GRADSTEP_REDUCER_ADASUM_TREE ? tree<T>(vectors) : nway(vectors), cut[k]);
        EXPECT_TRUE(same_bits(cut[k], whole[k])) << "pieces and whole buckets differ";
      }
    }
  }
};

std::vector<std::string> machine_engines() {
  std::vector<std::string> names;
  for (const std::string& name : engines()) {
    if (name == "local" || name == "shm" || name == "gloo") names.push_back(name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Worlds, AdasumRange,
                         testing::Combine(testing::ValuesIn(machine_engines()), testing::Values(2, 3, 4, 8)),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_" + std::to_string(std::get<1>(test.param));
                         });

TEST_P(AdasumRange, EveryF32NumberHasItsOutcome) { expect_outcomes<float>(); }
TEST_P(AdasumRange, EveryF64NumberHasItsOutcome) { expect_outcomes<double>(); }
TEST_P(AdasumRange, EveryF16NumberHasItsOutcome) { expect_outcomes<Float16>(); }
TEST_P(AdasumRange, EveryBf16NumberHasItsOutcome) { expect_outcomes<BFloat16>(); }

template <class T>
Tensors<T> one(const std::vector<T>& values) {
  Tensors<T> list;
  list.emplace_back(std::vector<std::int64_t>{static_cast<std::int64_t>(values.size())}, values);
  return list;
}

// The projection of the second gradient on the first is 4 however short the first one is, and half of it is taken away.
TEST_P(AdasumRange, OneSubnormalTakesHalfOfWhatAgreesWithIt) {
  if (std::get<1>(GetParam()) != 2) GTEST_SKIP() << "numbers of two ranks";
  for (const std::int32_t mode : {GRADSTEP_REDUCER_ADASUM_TREE, GRADSTEP_REDUCER_ADASUM_NWAY}) {
    const auto f32 = reduce_world<float>(world(), mode_options(mode),
                                         {one<float>({0, 0, 0, 2e-42F, 0, 0}), one<float>({1, 2, 3, 4, 5, 6})});
    EXPECT_EQ(f32[0].values, (std::vector<float>{1, 2, 3, 2, 5, 6}));
    const auto f64 = reduce_world<double>(world(), mode_options(mode),
                                          {one<double>({0, 0, 0, 1e-320, 0, 0}), one<double>({1, 2, 3, 4, 5, 6})});
    EXPECT_EQ(f64[0].values, (std::vector<double>{1, 2, 3, 2, 5, 6}));
  }
}

template <class T>
void expect_infinity_in_its_place(const World& world) {
  const double m = 0.75 * range_of<T>().largest;
  const auto value = [](double x) { return kernels::convert<T>(x); };
  for (const std::int32_t mode : {GRADSTEP_REDUCER_ADASUM_TREE, GRADSTEP_REDUCER_ADASUM_NWAY}) {
    const auto found = reduce_world<T>(
        world, mode_options(mode), {one<T>({value(m), value(m), value(0)}), one<T>({value(m), value(-m), value(0)})});
    EXPECT_EQ(value_of(found[0].values[0]), kInfinity);
    EXPECT_EQ(value_of(found[0].values[1]), 0);
    EXPECT_EQ(value_of(found[0].values[2]), 0);
  }
}

// Orthogonal gradients add up, here to 1.5 times the largest number.
TEST_P(AdasumRange, AResultBeyondTheLargestNumberIsInfiniteInItsPlaceAlone) {
  if (std::get<1>(GetParam()) != 2) GTEST_SKIP() << "of more ranks, merges that follow make NaNs of it";
  expect_infinity_in_its_place<float>(world());
  expect_infinity_in_its_place<double>(world());
  expect_infinity_in_its_place<Float16>(world());
  expect_infinity_in_its_place<BFloat16>(world());
}

}  // namespace
}  // namespace gradstep::test
