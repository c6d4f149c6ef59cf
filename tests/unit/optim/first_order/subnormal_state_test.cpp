// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What is stored of moments below the smallest normal number.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "optim/first_order/defined_rules.h"
#include "optim/first_order/named_options.h"
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

const std::vector<std::int64_t> kShape = {777};  // blocks, vectors and a tail

template <class T>
constexpr T kSmallest = std::numeric_limits<T>::min();

/// One tensor and its optimizer.
template <class T>
struct Tiny {
  FirstOrderOptimizer optimizer;
  TestTensor<T> param{kShape, random_values<T>(777, 1)};
  TestTensor<T> grad{kShape};

  explicit Tiny(const Rule& rule) : optimizer(make_context(), rule, make_schema({kShape}, dtype_of<T>())) {}

  /// Steps by random gradients up to this magnitude.
  void step(T magnitude, std::uint32_t seed = 7) {
    grad.values = random_values<T>(grad.values.size(), seed);
    for (T& g : grad.values) g *= magnitude;
    const gradstep_tensor p = param.tensor();
    const gradstep_tensor g = grad.tensor();
    host::step(optimizer, &p, &g, nullptr, 1);
  }
  std::vector<T> state(const char* name) {
    std::vector<T> values(param.values.size());
    optimizer.state().get(0, name, compact_array(values.data(), 777, dtype_of<T>()));
    return values;
  }
};

Rule rule_of(const RuleType& type, std::vector<gradstep_option> options) {
  options.push_back({"learning_rate", 0.01, nullptr});
  return make_rule(type, options);
}

template <class T>
T expected(T x) {
  return std::abs(x) < kSmallest<T> ? std::copysign(T{0}, x) : x;
}

template <class T>
class SubnormalState : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SubnormalState, Types);

TYPED_TEST(SubnormalState, AMomentThatFallsBelowTheSmallestNormalNumberBecomesTheZeroOfItsSign) {
  using T = TypeParam;
  Tiny<T> tiny(rule_of(find_rule("sgd"), {{"momentum", 0.5, nullptr}}));
  std::vector<T> moment(777, T{0});
  bool had_small = false;
  for (int t = 0; t < 12; ++t) {
    tiny.step(t < 3 ? 16 * kSmallest<T> : T{0});
    const std::vector<T> stored = tiny.state("momentum_buffer");
    for (std::size_t i = 0; i < moment.size(); ++i) {
      const T exact = T(0.5) * moment[i] + tiny.grad.values[i];
      had_small = had_small || (exact != 0 && std::abs(exact) < kSmallest<T>);
      moment[i] = expected(exact);
      ASSERT_EQ(stored[i], moment[i]) << "step " << t << ", element " << i;
      ASSERT_EQ(std::signbit(stored[i]), std::signbit(moment[i])) << "step " << t << ", element " << i;
    }
  }
  EXPECT_TRUE(had_small);
  for (const T x : moment) EXPECT_EQ(x, 0);
}

TYPED_TEST(SubnormalState, AMeanSquareOfTinyGradientsIsZeroAndTheStepStillFollowsTheFirstMoment) {
  using T = TypeParam;
  Tiny<T> tiny(rule_of(find_rule("adam"), {{"epsilon", 1e-6, nullptr}}));
  std::ranges::fill(tiny.param.values, T{0});
  tiny.step(std::sqrt(kSmallest<T>));
  for (const T v : tiny.state("exp_avg_sq")) EXPECT_EQ(v, 0);
  const std::vector<T> moment = tiny.state("exp_avg");
  for (std::size_t i = 0; i < moment.size(); ++i) EXPECT_NEAR(moment[i] / (T(0.1) * tiny.grad.values[i]), 1, 1e-6);
  for (std::size_t i = 0; i < moment.size(); ++i) {
    EXPECT_NEAR(tiny.param.values[i] / (T(-0.01 / 1e-6) * tiny.grad.values[i]), 1, 1e-5) << "element " << i;
  }
}

TYPED_TEST(SubnormalState, ARuleOfTextStoresWhatTheCompiledRuleStores) {
  using T = TypeParam;
  const RuleType& text = define_rule(find_rule("adam").about.text);
  Tiny<T> of_text(rule_of(text, {}));
  Tiny<T> compiled(rule_of(find_rule("adam"), {}));
  for (int t = 0; t < 8; ++t) {
    const T magnitude = t % 2 == 0 ? 4 * std::sqrt(kSmallest<T>) : 4 * kSmallest<T>;
    of_text.step(magnitude);
    compiled.step(magnitude);
    EXPECT_EQ(of_text.state("m"), compiled.state("exp_avg"));
    EXPECT_EQ(of_text.state("v"), compiled.state("exp_avg_sq"));
    for (const char* name : {"m", "v"}) {
      for (const T x : of_text.state(name)) EXPECT_FALSE(std::fpclassify(x) == FP_SUBNORMAL) << name << ' ' << x;
    }
  }
}

TEST(SubnormalStateInBf16, IsRoundedFromWhatTheF32StateWouldBe) {
  const std::vector<gradstep_option> in_bf16 = {{"momentum", 0.5, nullptr}, {"state_dtype", 0, "bf16"}};
  Tiny<float> tiny(rule_of(find_rule("sgd"), in_bf16));
  for (int t = 0; t < 12; ++t) {
    tiny.step(t < 3 ? 16 * kSmallest<float> : 0.0F);
    for (const float x : tiny.state("momentum_buffer")) EXPECT_FALSE(std::fpclassify(x) == FP_SUBNORMAL) << x;
  }
  for (const float x : tiny.state("momentum_buffer")) EXPECT_EQ(x, 0);
}

/// Loops that step in place leave subnormal numbers to the code of their block. Loops that write updates store states
/// first.
TEST(SubnormalStateIn8Bits, IsWhatItIsWhereStatesAreStoredFirst) {
  for (const float scale : {0x1p-50F, 0x1p-62F, 0x1p-63F, 0x1p-75F, 0x1p-100F, 0x1p-125F, 0x1p-130F}) {
    const std::vector<gradstep_option> in_8_bits = {{"state_dtype", 0, "int8"}, {"beta1", 0.5, nullptr}};
    Tiny<float> in_place(rule_of(find_rule("adam"), in_8_bits));
    Tiny<float> aside(rule_of(find_rule("adam"), in_8_bits));
    for (int t = 0; t < 20; ++t) {
      in_place.step(t < 8 ? scale : 0, static_cast<std::uint32_t>(t));
      aside.grad.values = in_place.grad.values;
      TestTensor<float> updates(kShape);
      const gradstep_tensor p = aside.param.tensor();
      const gradstep_tensor g = aside.grad.tensor();
      const gradstep_tensor u = updates.tensor();
      host::step(aside.optimizer, &p, &g, &u, 1);
      for (const char* name : {"exp_avg", "exp_avg_sq"}) {
        const std::vector<float> a = in_place.state(name);
        const std::vector<float> b = aside.state(name);
        ASSERT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0)
            << name << ", step " << t << ", " << scale;
      }
    }
  }
}

TEST(SubnormalStateOfParameters, StaysAsItIs) {
  Tiny<float> tiny(rule_of(find_rule("asgd"), {}));
  for (float& p : tiny.param.values) p *= kSmallest<float>;
  tiny.step(0);
  EXPECT_EQ(tiny.state("ax"), tiny.param.values);
  EXPECT_EQ(std::fpclassify(tiny.param.values[0]), FP_SUBNORMAL);
}

}  // namespace
}  // namespace gradstep::test
