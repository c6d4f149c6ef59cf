// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <numeric>

#include "cpu_test_support.h"
#include "kernels/convert.h"

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

/// Loops have conversions of their own, which are those of kernels/convert.h (tests/unit/cpu/convert_test.cpp), NaNs'
/// payloads aside.
template <class Stored, class Copy>
void expect_conversions_of_one_number(DType type, Copy copy) {
  constexpr std::int64_t kAll = 1 << 16;
  TestArray stored(type, kAll + 5);
  TestArray floats(DType::f32, kAll + 5);
  for (std::int64_t i = 0; i < stored.size(); ++i) stored.write(i, static_cast<std::uint16_t>(i));
  copy(floats, stored.array());
  for (std::int64_t i = 0; i < stored.size(); ++i) {
    const float expected = kernels::to_float(Stored{static_cast<std::uint16_t>(i)});
    const float found = floats.read<float>(i);
    ASSERT_TRUE(std::isnan(expected) ? std::isnan(found)
                                     : std::bit_cast<std::uint32_t>(found) == std::bit_cast<std::uint32_t>(expected))
        << i << ": " << found << ", expected " << expected;
  }
  // Each number of the type, the ties beside it, what is next to them, and what is too large, too small, or none.
  std::vector<float> numbers;
  for (std::uint32_t bits = 0; bits < 0xffff; ++bits) {
    const float a = kernels::to_float(Stored{static_cast<std::uint16_t>(bits)});
    const float tie = a + (kernels::to_float(Stored{static_cast<std::uint16_t>(bits + 1)}) - a) / 2;
    for (const float x : {a, tie, std::nextafter(tie, 1e30F), std::nextafter(tie, -1e30F)}) numbers.push_back(x);
  }
  for (const std::uint32_t bits : {0x477fefffU, 0x477ff000U, 0x477fffffU, 0x47800000U, 0x7f7fffffU, 0x7f800000U,
                                   0x7f800001U, 0x7fffffffU, 1U, 0x33000000U, 0x33000001U, 0x007fffffU}) {
    numbers.push_back(std::bit_cast<float>(bits));
    numbers.push_back(std::bit_cast<float>(bits | 0x80000000U));
  }
  const auto count = static_cast<std::int64_t>(numbers.size());
  TestArray wide(DType::f32, count);
  TestArray narrow(type, count);
  for (std::int64_t i = 0; i < count; ++i) wide.write(i, numbers[static_cast<std::size_t>(i)]);
  copy(narrow, wide.array());
  for (std::int64_t i = 0; i < count; ++i) {
    const float x = numbers[static_cast<std::size_t>(i)];
    const std::uint16_t found = narrow.read<std::uint16_t>(i);
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(kernels::to_float(Stored{found}))) << std::hexfloat << x;
    } else {
      ASSERT_EQ(found, kernels::convert<Stored>(x).bits) << std::hexfloat << x;
    }
  }
}

TEST_P(CopyLoops, sixteen_bits_are_converted_as_one_number_is) {
  const auto run = [this](const TestArray& to, const Array& from) { copy(to, from); };
  expect_conversions_of_one_number<kernels::Float16>(DType::f16, run);
  expect_conversions_of_one_number<kernels::BFloat16>(DType::bf16, run);
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

/// How memory lies behind `shape` if dimension order[0] is outermost in it, and so on.
std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& shape, const std::vector<std::size_t>& order) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    strides[order[k]] = stride;
    stride *= shape[order[k]];
  }
  return strides;
}

template <class T>
void expect_permuted_copies(DType dtype, const std::vector<std::int64_t>& shape,
                            const std::function<void(const Array& to, const Array& from)>& copy) {
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    const std::vector<std::int64_t> strides = strides_of(shape, order);
    Array whole = compact_array(nullptr, 1, dtype);
    for (const std::int64_t extent : shape) whole.size *= extent;
    const auto size = static_cast<std::size_t>(whole.size);
    std::vector<T> rows(size);
    std::vector<T> permuted(size);
    std::vector<T> back(size);
    std::iota(rows.begin(), rows.end(), T{1});
    Array view = whole;
    view.data = permuted.data();
    view.ndim = static_cast<std::int32_t>(shape.size());
    view.shape = shape.data();
    view.strides = strides.data();
    copy(view, compact_array(rows.data(), whole.size, dtype));
    for (std::size_t i = 0; i < size; ++i) {
      std::size_t rest = i;
      std::int64_t place = 0;
      for (std::size_t d = shape.size(); d-- > 0;) {
        place += static_cast<std::int64_t>(rest % static_cast<std::size_t>(shape[d])) * strides[d];
        rest /= static_cast<std::size_t>(shape[d]);
      }
      ASSERT_EQ(permuted[static_cast<std::size_t>(place)], rows[i]) << i;
    }
    copy(compact_array(back.data(), whole.size, dtype), view);
    ASSERT_TRUE(back == rows);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_P(CopyLoops, any_order_of_dimensions_is_copied_to_rows_and_back) {
  const auto copy = [&](const Array& to, const Array& from) {
    WorkList work;
    work.append(to.size);
    const CopyItem item{to, from};
    backend_.copy(work, {&item, 1}, 1, 1);
  };
  const std::vector<std::vector<std::int64_t>> shapes = {{4, 4},        {7, 9},       {130, 257}, {3, 70, 3, 3},
                                                         {2, 33, 1, 5}, {5, 4, 3, 2}, {6, 17, 16}};
  for (const auto& shape : shapes) {
    expect_permuted_copies<std::uint16_t>(DType::bf16, shape, copy);
    expect_permuted_copies<std::uint32_t>(DType::f32, shape, copy);
    expect_permuted_copies<std::uint64_t>(DType::f64, shape, copy);
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
