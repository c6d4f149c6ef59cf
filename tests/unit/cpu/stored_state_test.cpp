// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// States that are not kept in f32, master weights, and stochastic rounding, against definitions written here.
#include <algorithm>
#include <map>
#include <random>

#include "cpu_test_support.h"
#include "kernels/block_code.h"
#include "kernels/stochastic_rounding.h"

namespace gradstep::test {
namespace {

constexpr rules::KernelId kAdamKernel = rules::kernel_id<rules::Adam>(0, rules::Decay::none);
constexpr rules::KernelId kSgdKernel = rules::kernel_id<rules::Sgd>(0, rules::Decay::none);

class StoredState : public testing::TestWithParam<std::string> {
 protected:
  StoredState() : context_(make_cpu_context(1, GetParam().c_str())), backend_(context_->cpu()) {}

  /// What `values` become when they are stored in codes.
  std::vector<float> coded(const std::vector<float>& values, bool is_signed) {
    const auto count = static_cast<std::int64_t>(values.size());
    std::vector<std::uint8_t> codes(values.size());
    factors_.assign((values.size() + 255) / 256, 0.0F);
    const CodedNumbers numbers{codes.data(), factors_.data(), count, is_signed};
    backend_.encode(values.data(), numbers);
    std::vector<float> back(values.size());
    backend_.decode(numbers, back.data());
    return back;
  }

  std::unique_ptr<Context> context_;
  BackendCalls backend_;
  std::vector<float> factors_;
};

INSTANTIATE_TEST_SUITE_P(cpu, StoredState, testing::ValuesIn(cpu::compiled_instruction_sets()),
                         [](const auto& set) { return set.param; });

// tests/unit/kernels/block_code_test.cpp has what the code is; here it is the formula of one number that loops agree
// with, however many numbers a block has.
template <bool kSigned>
void expect_codes_of_the_formula(BackendCalls& backend) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<double> exponent(-9, 0);
  for (std::size_t count = 1; count <= 256; ++count) {
    std::vector<float> values(count);
    for (float& value : values) {
      value = static_cast<float>(std::pow(10.0, exponent(generator)));
      if (kSigned && generator() % 2 == 0) value = -value;
    }
    float largest = 0;
    for (const float value : values) largest = std::max(largest, std::abs(value));
    std::vector<std::uint8_t> codes(count, 1);
    float factor = 0;
    const CodedNumbers numbers{codes.data(), &factor, static_cast<std::int64_t>(count), kSigned};
    backend.encode(values.data(), numbers);
    ASSERT_EQ(factor, largest);
    std::vector<float> back(count);
    backend.decode(numbers, back.data());
    const kernels::BlockCode<kSigned> formula(factor);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(codes[i], formula.encode(kernels::bits_of(values[i]))) << i << " of " << count;
      ASSERT_EQ(kernels::bits_of(back[i]), formula.decode(std::uint32_t{codes[i]})) << i << " of " << count;
    }
  }
}

TEST_P(StoredState, loops_have_the_codes_of_the_formula_for_blocks_of_any_length) {
  expect_codes_of_the_formula<true>(backend_);
  expect_codes_of_the_formula<false>(backend_);
}

TEST_P(StoredState, coding_what_was_decoded_changes_nothing) {
  for (const bool is_signed : {false, true}) {
    std::mt19937 generator(9);
    std::normal_distribution<float> normal;
    std::vector<float> values(256 * 40);
    for (float& value : values) value = is_signed ? normal(generator) : std::abs(normal(generator));
    const std::vector<float> once = coded(values, is_signed);
    EXPECT_EQ(coded(once, is_signed), once);
    // The number of largest magnitude is kept, whatever its sign.
    for (std::size_t block = 0; block < values.size(); block += 256) {
      const auto largest = std::max_element(values.begin() + static_cast<std::ptrdiff_t>(block),
                                            values.begin() + static_cast<std::ptrdiff_t>(block) + 256,
                                            [](float a, float b) { return std::abs(a) < std::abs(b); });
      EXPECT_EQ(once[static_cast<std::size_t>(largest - values.begin())], *largest);
    }
  }
}

TEST_P(StoredState, blocks_have_factors_of_their_own_and_zero_stays_zero) {
  std::vector<float> values(256 * 3 + 10, 0.0F);
  for (std::size_t i = 256; i < 512; ++i) values[i] = 1e-20F;
  values[513] = 7.0F;
  values[768] = 5.0F;
  const std::vector<float> back = coded(values, false);
  for (std::size_t i = 0; i < 256; ++i) ASSERT_EQ(back[i], 0.0F);
  for (std::size_t i = 256; i < 512; ++i) ASSERT_EQ(back[i], 1e-20F);
  EXPECT_EQ(back[513], 7.0F);
  EXPECT_EQ(back[768], 5.0F);
  EXPECT_EQ(back[770], 0.0F);
}

TEST_P(StoredState, a_number_that_is_not_finite_leaves_its_neighbours_as_they_are) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float odd : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
    for (const bool is_signed : {false, true}) {
      std::vector<float> values(256 + 70);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1 + static_cast<float>(i % 7);
      const std::vector<float> without = coded(values, is_signed);
      values[5] = odd;
      values[300] = odd;
      const std::vector<float> with = coded(values, is_signed);
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (i != 5 && i != 300) {
          ASSERT_EQ(with[i], without[i]) << i << " beside " << odd;
        }
      }
      EXPECT_EQ(with[5], is_signed && odd < 0 ? -7.0F : 7.0F);
      EXPECT_EQ(with[300], with[5]);
    }
  }
  const std::vector<float> nothing_else = coded({kInfinity, kInfinity}, false);
  EXPECT_EQ(nothing_else, (std::vector<float>{0, 0}));
}

/// One Adam step over `size` elements in a storage; params, states and what they were.
struct AdamStep {
  static constexpr rules::Adam::Constants<double> kConstants{.beta1 = 0.9,
                                                             .one_minus_beta1 = 1 - 0.9,
                                                             .beta2 = 0.99,
                                                             .one_minus_beta2 = 1 - 0.99,
                                                             .step_size = 0.02,
                                                             .root_factor = 1.5,
                                                             .epsilon = 1e-3};

  explicit AdamStep(std::int64_t size, DType dtype = DType::f32)
      : param(dtype, size), gradient(DType::f32, size), work({&size, 1}) {
    param.fill(1);
    gradient.fill(2);
  }

  void run(BackendCalls& backend, OwnItem& item, std::int64_t step = 0) {
    item.param = param.array();
    item.gradient = gradient.array();
    item.kernel = kAdamKernel;
    item.constants = group_constants(kConstants);
    UpdateJob job;
    job.work = &work;
    job.items = {&item, 1};
    job.step = step;
    backend.update(job);
  }

  TestArray param;
  TestArray gradient;
  WorkList work;
};

// The rule computes in f32 from what was stored, and what it leaves is stored again: so a step with a coded or narrow
// state is a step in f32 between a widening and a narrowing.
TEST_P(StoredState, a_step_is_the_f32_step_between_widening_and_narrowing) {
  for (const StateFormat format : {StateFormat::bf16, StateFormat::block_code}) {
    constexpr std::int64_t kSize = 17000;
    AdamStep stored(kSize);
    AdamStep wide(kSize);
    std::vector<float> m(kSize, 0.0F);
    std::vector<float> v(kSize, 0.0F);
    TestArray narrow_m(DType::bf16, kSize);
    TestArray narrow_v(DType::bf16, kSize);
    for (std::int64_t i = 0; i < kSize; ++i) {
      narrow_m.set(i, 0);
      narrow_v.set(i, 0);
    }
    std::vector<std::uint8_t> codes_m(kSize, 0);
    std::vector<std::uint8_t> codes_v(kSize, 0);
    std::vector<float> factors_m(67, 0.0F);
    std::vector<float> factors_v(67, 0.0F);
    OwnItem item;
    item.format = format;
    item.signed_states = 0b01;
    if (format == StateFormat::bf16) {
      item.states[0] = narrow_m.array().data;
      item.states[1] = narrow_v.array().data;
    } else {
      item.states[0] = codes_m.data();
      item.states[1] = codes_v.data();
      item.factors[0] = factors_m.data();
      item.factors[1] = factors_v.data();
    }
    for (int t = 0; t < 3; ++t) {
      stored.run(backend_, item, t);
      OwnItem plain;
      plain.states[0] = m.data();
      plain.states[1] = v.data();
      wide.run(backend_, plain, t);
      ASSERT_EQ(stored.param.bytes(), wide.param.bytes()) << "step " << t;
      if (format == StateFormat::block_code) {
        m = coded(m, true);
        v = coded(v, false);
        continue;
      }
      for (std::size_t i = 0; i < m.size(); ++i) {
        m[i] = static_cast<float>(decode16(DType::bf16, encode16(DType::bf16, m[i])));
        v[i] = static_cast<float>(decode16(DType::bf16, encode16(DType::bf16, v[i])));
      }
    }
  }
}

/// Steps over numbers of every kind, in place and into a buffer: codes and factors are equal. A step in place codes its
/// state in registers where a processor can; one into a buffer goes by way of scratch.
void expect_equal_codes(BackendCalls& backend, rules::KernelId kernel, const rules::GroupConstants* constants,
                        double multiplier, double clip) {
  constexpr std::int64_t kSize = 2000;
  struct Codes {
    std::vector<std::uint8_t> codes[2] = {std::vector<std::uint8_t>(kSize), std::vector<std::uint8_t>(kSize)};
    std::vector<float> factors[2] = {std::vector<float>(8), std::vector<float>(8)};
    bool operator==(const Codes&) const = default;
  };
  AdamStep problem(kSize);
  problem.param.set(800, -1);  // so that decay by zero, where there is one, leaves the gradient -0
  const TestArray param = problem.param;
  problem.gradient.set(5, std::numeric_limits<double>::quiet_NaN());
  problem.gradient.set(300, -std::numeric_limits<double>::quiet_NaN());
  problem.gradient.set(700, std::numeric_limits<double>::infinity());
  problem.gradient.set(800, -0.0);
  problem.gradient.set(1030, -std::numeric_limits<double>::infinity());
  for (std::int64_t i = 1280; i < 1536; ++i) problem.gradient.set(i, 0);
  for (std::int64_t i = 1536; i < 1792; ++i) problem.gradient.set(i, 1e-22);  // whose square is subnormal
  Codes in_place;
  Codes aside;
  TestArray update(DType::f32, kSize);
  for (int t = 0; t < 3; ++t) {
    OwnItem item;
    item.param = problem.param.array();
    item.gradient = problem.gradient.array();
    item.kernel = kernel;
    item.constants = constants;
    item.format = StateFormat::block_code;
    item.signed_states = 0b01;
    UpdateJob job;
    job.work = &problem.work;
    job.items = {&item, 1};
    job.grad_multiplier = multiplier;
    job.clip_value = clip;
    const auto run_with = [&](Codes& state) {
      for (std::size_t s = 0; s < 2; ++s) {
        item.states[s] = state.codes[s].data();
        item.factors[s] = state.factors[s].data();
      }
      backend.update(job);
    };
    run_with(in_place);
    problem.param = param;
    item.param = problem.param.array();
    item.update = update.array();
    run_with(aside);
    EXPECT_EQ(in_place, aside) << "step " << t << ", multiplier " << multiplier << ", clip " << clip;
  }
}

TEST_P(StoredState, codes_are_equal_in_place_and_aside_whatever_gradients_are) {
  // Its second state has no signs, but becomes -0 where a gradient is.
  static constexpr rules::Adamax::Constants<double> kAdamax{
      .beta1 = 0.9, .one_minus_beta1 = 1 - 0.9, .beta2 = 0.99, .step_size = 0.02, .epsilon = -0.0};
  constexpr rules::KernelId kAdamaxKernel = rules::kernel_id<rules::Adamax>(0, rules::Decay::none);
  for (const double multiplier : {1.0, -0.5}) {
    for (const double clip : {0.0, 0.75}) {
      expect_equal_codes(backend_, kAdamKernel, group_constants(AdamStep::kConstants), multiplier, clip);
      expect_equal_codes(backend_, kAdamaxKernel, group_constants(kAdamax), multiplier, clip);
    }
  }
}

TEST_P(StoredState, a_master_makes_the_f32_trajectory_and_the_parameter_is_its_rounded_value) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    constexpr std::int64_t kSize = 17000;
    AdamStep narrow(kSize, dtype);
    AdamStep wide(kSize);
    for (std::int64_t i = 0; i < kSize; ++i) wide.param.set(i, narrow.param.get(i));
    std::vector<float> states(4 * kSize, 0.0F);
    std::vector<float> master(kSize, 0.0F);  // unknown to the host's parameters: it takes them over
    for (int t = 0; t < 5; ++t) {
      OwnItem item;
      item.states[0] = &states[0];
      item.states[1] = &states[kSize];
      item.master = master.data();
      narrow.run(backend_, item, t);
      OwnItem plain;
      plain.states[0] = &states[2 * kSize];
      plain.states[1] = &states[3 * kSize];
      wide.run(backend_, plain, t);
      for (std::int64_t i = 0; i < kSize; ++i) {
        ASSERT_EQ(master[static_cast<std::size_t>(i)], wide.param.read<float>(i)) << i;
        ASSERT_EQ(narrow.param.get(i), decode16(dtype, encode16(dtype, wide.param.get(i))));
      }
      // The host writes one element: its master follows.
      narrow.param.set(7, 2.5);
      wide.param.set(7, 2.5);
    }
  }
}

/// Numbers between two neighbours of the type, some of them subnormal.
TEST_P(StoredState, stochastic_rounding_gives_a_neighbour_and_is_right_on_average) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const double x : {1.0 + 1.0 / 4096, -3.0003, 1e-7, 3e-5, -100.03, 65503.0}) {
      constexpr std::int64_t kSize = 20000;
      AdamStep problem(kSize, dtype);
      std::vector<float> states(2 * kSize, 0.0F);
      // With a gradient of -x / step and plain SGD from 0 the new parameter is x.
      static constexpr rules::Sgd::Constants<double> kOne{.learning_rate = 1, .momentum = 0, .gradient_factor = 1};
      for (std::int64_t i = 0; i < kSize; ++i) {
        problem.param.set(i, 0);
        problem.gradient.set(i, -x);
      }
      OwnItem item;
      item.param = problem.param.array();
      item.gradient = problem.gradient.array();
      item.kernel = kSgdKernel;
      item.constants = group_constants(kOne);
      item.stochastic = true;
      item.random_key = 99;
      UpdateJob job;
      job.work = &problem.work;
      job.items = {&item, 1};
      backend_.update(job);
      const double exact = static_cast<double>(static_cast<float>(x));
      std::map<double, std::int64_t> found;
      double sum = 0;
      for (std::int64_t i = 0; i < kSize; ++i) {
        ++found[problem.param.get(i)];
        sum += problem.param.get(i);
      }
      ASSERT_LE(found.size(), 2U) << x;
      const double low = found.begin()->first;
      const double high = found.rbegin()->first;
      EXPECT_LE(low, exact);
      EXPECT_GE(high, exact);
      // The mean of n numbers that are a or b, 5 standard deviations: (b - a) / 2 / sqrt(n) * 5.
      EXPECT_NEAR(sum / kSize, exact, (high - low) * 0.5 / std::sqrt(static_cast<double>(kSize)) * 5 + 1e-12) << x;
    }
  }
}

TEST_P(StoredState, random_bits_depend_on_key_step_and_element_alone) {
  constexpr std::int64_t kSize = 40000;
  static constexpr rules::Sgd::Constants<double> kConstants{.learning_rate = 0.1, .momentum = 0, .gradient_factor = 1};
  const auto stepped = [&](std::uint64_t key, std::int64_t step, std::int64_t first) {
    AdamStep problem(kSize, DType::bf16);
    OwnItem item;
    item.kernel = kSgdKernel;
    item.constants = group_constants(kConstants);
    item.stochastic = true;
    item.random_key = key;
    // From `first` on, as a rank that owns the rest would.
    item.param = problem.param.array();
    item.gradient = problem.gradient.array();
    item.first = first;
    item.param.data = static_cast<std::uint16_t*>(item.param.data) + first;
    item.gradient.data = static_cast<float*>(item.gradient.data) + first;
    item.param.size = item.gradient.size = kSize - first;
    const WorkList work({&item.param.size, 1});
    UpdateJob job;
    job.work = &work;
    job.items = {&item, 1};
    job.step = step;
    backend_.update(job);
    std::vector<double> values;
    for (std::int64_t i = 16384; i < kSize; ++i) values.push_back(problem.param.get(i));
    return values;
  };
  const auto reference = stepped(1, 0, 0);
  EXPECT_EQ(stepped(1, 0, 0), reference);
  EXPECT_EQ(stepped(1, 0, 16384), reference);
  EXPECT_NE(stepped(2, 0, 0), reference);
  EXPECT_NE(stepped(1, 1, 0), reference);
}

}  // namespace
}  // namespace gradstep::test
