// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/state/state_tensor.h"

#include <algorithm>

#include "core/platform/system.h"
#include "cpu/cpu_backend.h"
#include "unit/support.h"

namespace gradstep::test {
namespace {

std::vector<StateTensor*> pointers(std::vector<StateTensor>& tensors) {
  std::vector<StateTensor*> list;
  for (StateTensor& tensor : tensors) list.push_back(&tensor);
  return list;
}

StateTensor square(std::int64_t n, Encoding encoding) { return {{n, n, encoding}, {0, n * n}}; }

std::ptrdiff_t distance(const void* from, const void* to) {
  return static_cast<const char*>(to) - static_cast<const char*>(from);
}

TEST(StateTensor, MatricesOfOneFormLieAtOneDistance) {
  const auto context = make_context();
  for (const Encoding encoding : {Encoding::f32, Encoding::columns_int8, Encoding::columns_int16}) {
    std::vector<StateTensor> matrices;
    for (const std::int64_t n : {3, 5, 3, 5, 3}) matrices.push_back(square(n, encoding));
    allocate_tensors(Site(context->cpu()), pointers(matrices), /*side_by_side=*/true);
    const auto view = [&](std::size_t k) { return matrices[k].matrix(); };
    for (std::size_t k = 0; k < matrices.size(); ++k) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view(k).numbers) % 16, 0U);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view(k).buckets) % 16, 0U);
      EXPECT_EQ(view(k).buckets != nullptr, encoding != Encoding::f32);
      EXPECT_EQ(view(k).diagonal != nullptr, encoding == Encoding::columns_int16);
    }
    const bool is_f32 = encoding == Encoding::f32;
    const bool is_int8 = encoding == Encoding::columns_int8;
    const std::ptrdiff_t nine = is_f32 ? 48 : is_int8 ? 16 : 32;  // padded to a multiple of 16 bytes
    EXPECT_EQ(distance(view(0).numbers, view(2).numbers), nine);
    EXPECT_EQ(distance(view(2).numbers, view(4).numbers), nine);
    EXPECT_EQ(distance(view(1).numbers, view(3).numbers), is_f32 ? 112 : is_int8 ? 32 : 64);
    if (is_f32) continue;
    EXPECT_EQ(distance(view(0).buckets, view(2).buckets), 16);
  }
}

TEST(StateTensor, RandomNumbersFollowFromKeyAndPlaceAlone) {
  const auto context = make_context();
  const Site site(context->cpu());
  const auto begun = [&](std::uint64_t key, Slice slice) {
    TensorForm form{1, 100, Encoding::f64};
    form.random_key = key;
    std::vector<StateTensor> tensors(1, StateTensor(form, slice));
    allocate_tensors(site, pointers(tensors), /*side_by_side=*/true);
    tensors[0].write_initial(*context, site);
    const double* numbers = static_cast<const double*>(tensors[0].numbers().data);
    return std::vector<double>(numbers, numbers + slice.size);
  };
  const std::vector<double> whole = begun(7, {0, 100});
  EXPECT_EQ(begun(7, {40, 60}), std::vector<double>(whole.begin() + 40, whole.end()));
  EXPECT_NE(begun(8, {0, 100}), whole);
  EXPECT_GE(*std::ranges::min_element(whole), -1);
  EXPECT_LT(*std::ranges::min_element(whole), -0.8);
  EXPECT_GT(*std::ranges::max_element(whole), 0.8);
  EXPECT_LT(*std::ranges::max_element(whole), 1);
}

TEST(StateTensor, MemoryIsZerosAndGoesWithTheLastTensorInIt) {
  std::int64_t held = 0;
  auto options = default_context_options();
  gradstep_allocator allocator{};
  allocator.struct_size = sizeof allocator;
  allocator.user = &held;
  allocator.allocate = [](void* user, std::size_t bytes, std::size_t alignment, std::int32_t, std::int32_t,
                          void*) -> void* {
    *static_cast<std::int64_t*>(user) += static_cast<std::int64_t>(bytes);
    void* data = platform::allocate(alignment, bytes);
    std::memset(data, 0xff, bytes);
    return data;
  };
  allocator.deallocate = [](void* user, void* data, std::size_t bytes, std::size_t /*alignment*/, std::int32_t,
                            std::int32_t, void*) {
    *static_cast<std::int64_t*>(user) -= static_cast<std::int64_t>(bytes);
    platform::deallocate(data);
  };
  options.allocator = &allocator;
  const auto context = std::make_shared<Context>(options);
  context->add_backend({GRADSTEP_DEVICE_CPU, 0}, cpu::make_backend(*context));
  std::vector<StateTensor> matrices(2, square(4, Encoding::f32));
  EXPECT_FALSE(matrices[0].is_here());
  EXPECT_TRUE(matrices[0].exists());
  allocate_tensors(Site(context->cpu()), pointers(matrices), /*side_by_side=*/true);
  for (const StateTensor& matrix : matrices) {
    for (int k = 0; k < 16; ++k) EXPECT_EQ(matrix.matrix().as<float>()[k], 0);
  }
  EXPECT_EQ(held, 128);
  matrices[0] = {};
  EXPECT_EQ(held, 128);
  matrices[1] = {};
  EXPECT_EQ(held, 0);
}

TEST(StateTensor, BytesAreThoseOfNumbersAndFactors) {
  const auto bytes = [](Encoding encoding) { return TensorForm{20, 30, encoding}.bytes(); };
  EXPECT_EQ(bytes(Encoding::f32), 600 * 4);
  EXPECT_EQ(bytes(Encoding::f64), 600 * 8);
  EXPECT_EQ(bytes(Encoding::bf16), 600 * 2);
  EXPECT_EQ(bytes(Encoding::blocks), 600 + 3 * 4);
  EXPECT_EQ(bytes(Encoding::columns_int8), 600 + 30 * 4);
  EXPECT_EQ(bytes(Encoding::columns_int16), 600 * 2 + 2 * 30 * 4);
  EXPECT_EQ((TensorForm{20, 30, Encoding::blocks}).bytes(257), 257 + 2 * 4);
}

TEST(StateTensor, BeginsWithItsInitialNumbersInEveryEncoding) {
  const auto context = make_context();
  const Site site(context->cpu());
  for (const Encoding encoding :
       {Encoding::f32, Encoding::bf16, Encoding::blocks, Encoding::columns_int8, Encoding::columns_int16}) {
    for (const bool is_diagonal : {false, true}) {
      if (is_diagonal && (encoding == Encoding::bf16 || encoding == Encoding::blocks)) continue;  // no matrices
      StateTensor tensor({8, 8, encoding, /*has_signs=*/false, is_diagonal, 0.5}, {0, 64});
      StateTensor* const list[] = {&tensor};
      allocate_tensors(site, list, /*side_by_side=*/false);
      tensor.write_initial(*context, site);
      std::vector<float> numbers(64);
      if (tensor.is_coded()) {
        tensor.decode(site, numbers.data());
      } else {
        site.copy(compact_array(numbers.data(), 64, DType::f32), tensor.numbers());
      }
      for (std::size_t k = 0; k < 64; ++k) {
        const float expected = !is_diagonal || k % 9 == 0 ? 0.5F : 0.0F;
        EXPECT_NEAR(numbers[k], expected, 1e-7) << static_cast<int>(encoding) << " " << is_diagonal << " " << k;
      }
    }
  }
}

}  // namespace
}  // namespace gradstep::test
