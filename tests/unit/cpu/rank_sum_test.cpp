// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_test_support.h"
#include "gradstep/comm.h"

namespace gradstep::test {
namespace {

class RankSums : public testing::TestWithParam<std::string> {
 protected:
  RankSums() : context_(make_cpu_context(1, GetParam().c_str())), backend_(context_->cpu()) {}

  void reduce(const TestArray& destination, const std::vector<TestArray>& sources, std::int32_t op,
              double divisor = 1) {
    std::vector<const void*> pointers;
    pointers.reserve(sources.size());
    for (const TestArray& source : sources) pointers.push_back(source.array().data);
    RankSum job;
    job.destination = destination.array().data;
    job.sources = pointers;
    job.count = destination.size();
    job.dtype = destination.dtype();
    job.op = op;
    job.divisor = divisor;
    backend_.sum_ranks(job);
  }

  static std::vector<TestArray> make_sources(DType dtype, std::int64_t size, int ranks) {
    std::vector<TestArray> sources;
    for (int rank = 0; rank < ranks; ++rank) sources.emplace_back(dtype, size).fill(rank, is_float(dtype) ? 1 : 1000);
    return sources;
  }

  std::unique_ptr<Context> context_;
  BackendCalls backend_;
};

INSTANTIATE_TEST_SUITE_P(cpu, RankSums, testing::ValuesIn(cpu::compiled_instruction_sets()),
                         [](const auto& set) { return set.param; });

/// ((s0 + s1) + s2) + ... in the arithmetic type, then the quotient, then one rounding.
double reference_sum(const std::vector<TestArray>& sources, std::int64_t i, double divisor) {
  const DType dtype = sources[0].dtype();
  const DType arithmetic = arithmetic_dtype(dtype);
  double sum = sources[0].get(i);
  for (std::size_t rank = 1; rank < sources.size(); ++rank) sum = rounded(arithmetic, sum + sources[rank].get(i));
  return rounded(dtype, rounded(arithmetic, sum / divisor));
}

TEST_P(RankSums, sums_in_the_order_of_the_ranks_bit_for_bit) {
  for (const DType dtype : kFloatTypes) {
    for (const int ranks : {1, 2, 3, 8}) {
      for (const std::int64_t size : odd_sizes()) {
        for (const double divisor : {1.0, 3.0}) {
          const std::vector<TestArray> sources = make_sources(dtype, size, ranks);
          TestArray result(dtype, size);
          reduce(result, sources, GRADSTEP_REDUCE_SUM, divisor);
          for (std::int64_t i = 0; i < size; ++i) {
            ASSERT_EQ(result.get(i), reference_sum(sources, i, divisor))
                << name_of(dtype) << " ranks " << ranks << " size " << size << " [" << i << "]";
          }
        }
      }
    }
  }
}

TEST_P(RankSums, the_destination_may_be_any_source) {
  for (const DType dtype : kFloatTypes) {
    for (std::size_t which = 0; which < 4; ++which) {
      std::vector<TestArray> sources = make_sources(dtype, 5000, 4);
      const std::vector<TestArray> before = make_sources(dtype, 5000, 4);
      reduce(sources[which], sources, GRADSTEP_REDUCE_SUM, 4);
      for (std::int64_t i = 0; i < 5000; ++i) ASSERT_EQ(sources[which].get(i), reference_sum(before, i, 4));
    }
  }
}

TEST_P(RankSums, largest_and_smallest) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64}) {
    const std::vector<TestArray> sources = make_sources(dtype, 2000, 3);
    TestArray largest(dtype, 2000);
    TestArray smallest(dtype, 2000);
    reduce(largest, sources, GRADSTEP_REDUCE_MAX);
    reduce(smallest, sources, GRADSTEP_REDUCE_MIN);
    for (std::int64_t i = 0; i < 2000; ++i) {
      const double x = sources[0].get(i);
      const double y = sources[1].get(i);
      const double z = sources[2].get(i);
      ASSERT_EQ(largest.get(i), std::max({x, y, z}));
      ASSERT_EQ(smallest.get(i), std::min({x, y, z}));
    }
  }
}

TEST_P(RankSums, nan_of_any_rank_shows_in_every_operation) {
  for (const DType dtype : kFloatTypes) {
    for (const std::int32_t op : {GRADSTEP_REDUCE_SUM, GRADSTEP_REDUCE_MAX, GRADSTEP_REDUCE_MIN}) {
      std::vector<TestArray> sources = make_sources(dtype, 33, 3);
      for (std::int64_t rank = 0; rank < 3; ++rank) {
        sources[static_cast<std::size_t>(rank)].set(rank, std::numeric_limits<double>::quiet_NaN());
      }
      TestArray result(dtype, 33);
      reduce(result, sources, op);
      for (std::int64_t i = 0; i < 33; ++i) ASSERT_EQ(std::isnan(result.get(i)), i < 3) << i;
    }
  }
}

TEST_P(RankSums, integers_wrap) {
  std::vector<TestArray> narrow = make_sources(DType::i32, 20, 2);
  std::vector<TestArray> wide = make_sources(DType::i64, 20, 2);
  for (std::int64_t i = 0; i < 20; ++i) {
    narrow[0].write(i, std::numeric_limits<std::int32_t>::max());
    narrow[1].write(i, std::int32_t{2});
    wide[0].write(i, std::numeric_limits<std::int64_t>::min());
    wide[1].write(i, std::int64_t{-1});
  }
  reduce(narrow[0], narrow, GRADSTEP_REDUCE_SUM);
  reduce(wide[1], wide, GRADSTEP_REDUCE_SUM);
  for (std::int64_t i = 0; i < 20; ++i) {
    ASSERT_EQ(narrow[0].read<std::int32_t>(i), std::numeric_limits<std::int32_t>::min() + 1);
    ASSERT_EQ(wide[1].read<std::int64_t>(i), std::numeric_limits<std::int64_t>::max());
  }
}

// 1 + 2^-9 thirty-two times over: a sum kept in bf16 between ranks would never leave 1.
TEST_P(RankSums, narrow_types_round_once) {
  std::vector<TestArray> sources = make_sources(DType::bf16, 16, 33);
  for (std::size_t rank = 0; rank < 33; ++rank) {
    for (std::int64_t i = 0; i < 16; ++i) sources[rank].set(i, rank == 0 ? 1 : std::ldexp(1.0, -9));
  }
  TestArray result(DType::bf16, 16);
  reduce(result, sources, GRADSTEP_REDUCE_SUM);
  EXPECT_EQ(result.get(7), 1.0625);
}

}  // namespace
}  // namespace gradstep::test
