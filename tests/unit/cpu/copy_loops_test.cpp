// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_test_support.h"

namespace gradstep::test {
namespace {

class CopyLoops : public testing::TestWithParam<std::string> {
 protected:
  CopyLoops() : context_(make_cpu_context(1, GetParam().c_str())), backend_(context_->cpu()) {}

  void copy(const TestArray& to, const Array& from, double multiplier = 1, double divisor = 1) {
    WorkList work;
    work.append(to.size());
    const CopyItem item{to.array(), from};
    backend_.copy(work, {&item, 1}, multiplier, divisor);
  }

  std::unique_ptr<Context> context_;
  BackendCalls backend_;
};

INSTANTIATE_TEST_SUITE_P(cpu, CopyLoops, testing::ValuesIn(cpu::compiled_instruction_sets()),
                         [](const auto& set) { return set.param; });

TEST_P(CopyLoops, between_all_dtypes_and_layouts_rounds_once) {
  for (const DType to_type : kFloatTypes) {
    for (const DType from_type : kFloatTypes) {
      for (const Layout to_layout : kLayouts) {
        for (const Layout from_layout : kLayouts) {
          for (const std::int64_t size : {0, 1, 17, 1025, 16400}) {
            TestArray from(from_type, size, from_layout);
            TestArray to(to_type, size, to_layout);
            copy(to, from.fill(1).array());
            for (std::int64_t i = 0; i < size; ++i) {
              ASSERT_EQ(to.get(i), rounded(to_type, from.get(i)))
                  << name_of(from_type) << " to " << name_of(to_type) << " size " << size << " [" << i << "]";
            }
          }
        }
      }
    }
  }
}

// f64 arithmetic where either side is f64, else f32: one product, one quotient, one rounding to the destination.
TEST_P(CopyLoops, scales_by_multiplier_and_divisor) {
  for (const DType to_type : kFloatTypes) {
    for (const DType from_type : kFloatTypes) {
      for (const double divisor : {1.0, 4.0, 3.0}) {
        for (const double multiplier : {1.0, 0.37}) {
          TestArray from(from_type, 1500);
          TestArray to(to_type, 1500);
          copy(to, from.fill(2).array(), multiplier, divisor);
          const bool in_double = to_type == DType::f64 || from_type == DType::f64;
          for (std::int64_t i = 0; i < 1500; ++i) {
            const double x = from.get(i);
            const double in_float = static_cast<double>(static_cast<float>(x) * static_cast<float>(multiplier) /
                                                        static_cast<float>(divisor));
            ASSERT_EQ(to.get(i), rounded(to_type, in_double ? x * multiplier / divisor : in_float)) << i;
          }
        }
      }
    }
  }
}

TEST_P(CopyLoops, a_source_without_data_is_zeros) {
  for (const DType type : kFloatTypes) {
    for (const Layout layout : kLayouts) {
      TestArray to(type, 1100, layout);
      Array absent;
      absent.size = 1100;
      absent.dtype = type;
      copy(to.fill(1), absent, 0.5, 3);
      for (std::int64_t i = 0; i < 1100; ++i) ASSERT_EQ(to.get(i), 0);
    }
  }
}

TEST_P(CopyLoops, may_scale_in_place) {
  TestArray array(DType::f32, 40000);
  const TestArray before = array.fill(1);
  copy(array, array.array(), 1, 3);
  for (std::int64_t i = 0; i < array.size(); ++i) ASSERT_EQ(array.read<float>(i), before.read<float>(i) / 3.0F);
}

TEST_P(CopyLoops, equal_dtypes_keep_every_bit) {
  for (const Layout layout : kLayouts) {
    TestArray halves(DType::f16, 1 << 16);
    TestArray halves_copy(DType::f16, 1 << 16, layout);
    for (std::int64_t i = 0; i < halves.size(); ++i) halves.write(i, static_cast<std::uint16_t>(i));
    copy(halves_copy, halves.array());
    for (std::int64_t i = 0; i < halves.size(); ++i) ASSERT_EQ(halves_copy.read<std::uint16_t>(i), i);
    TestArray integers(DType::i64, 3000, layout);
    TestArray integers_copy(DType::i64, 3000);
    for (std::int64_t i = 0; i < 3000; ++i) integers.write(i, i * 0x0123456789abc);
    copy(integers_copy, integers.array());
    for (std::int64_t i = 0; i < 3000; ++i) ASSERT_EQ(integers_copy.read<std::int64_t>(i), i * 0x0123456789abc);
  }
}

TEST_P(CopyLoops, gaps_between_strided_elements_are_not_touched) {
  TestArray to(DType::f32, 100, Layout::strided);
  TestArray from(DType::f64, 100);
  copy(to, from.fill(1).array());
  for (std::size_t byte = 4; byte < to.bytes().size(); ++byte) {
    if (byte % 12 >= 4) {
      ASSERT_EQ(to.bytes()[byte], std::byte{0x5a}) << byte;
    }
  }
}

}  // namespace
}  // namespace gradstep::test
