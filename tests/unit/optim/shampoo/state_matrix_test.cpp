// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/state_matrix.h"

#include "cpu/cpu_backend.h"
#include "unit/support.h"

namespace gradstep::test {
namespace {

std::vector<StateMatrix*> pointers(std::vector<StateMatrix>& matrices) {
  std::vector<StateMatrix*> list;
  for (StateMatrix& matrix : matrices) list.push_back(&matrix);
  return list;
}

std::ptrdiff_t distance(const void* from, const void* to) {
  return static_cast<const char*>(to) - static_cast<const char*>(from);
}

TEST(StateMatrix, ThoseOfOneShapeLieAtOneDistanceOfWholeCacheLines) {
  const auto context = make_context();
  for (const Coding coding : {Coding::none, Coding::int8, Coding::int16}) {
    std::vector<StateMatrix> matrices;
    for (const std::int64_t n : {3, 5, 3, 5, 3}) matrices.emplace_back(n, n, coding);
    allocate_matrices(Site(context->cpu()), pointers(matrices));
    const auto view = [&](std::size_t k) { return matrices[k].view(); };
    for (std::size_t k = 0; k < matrices.size(); ++k) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view(k).numbers) % 64, 0U);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view(k).buckets) % 64, 0U);
      EXPECT_EQ(view(k).buckets != nullptr, coding != Coding::none);
      EXPECT_EQ(view(k).diagonal != nullptr, coding == Coding::int16);
    }
    EXPECT_EQ(distance(view(0).numbers, view(2).numbers), 64);  // 9 numbers of 4 bytes or fewer
    EXPECT_EQ(distance(view(2).numbers, view(4).numbers), 64);
    EXPECT_EQ(distance(view(1).numbers, view(3).numbers), coding == Coding::none ? 128 : 64);
    if (coding == Coding::none) continue;
    EXPECT_EQ(distance(view(0).buckets, view(2).buckets), 64);
  }
}

TEST(StateMatrix, MemoryIsZerosAndGoesWithTheLastMatrixInIt) {
  std::int64_t held = 0;
  auto options = default_context_options();
  gradstep_allocator allocator{};
  allocator.struct_size = sizeof allocator;
  allocator.user = &held;
  allocator.allocate = [](void* user, std::size_t bytes, std::size_t alignment, std::int32_t, std::int32_t,
                          void*) -> void* {
    *static_cast<std::int64_t*>(user) += static_cast<std::int64_t>(bytes);
    void* data = std::aligned_alloc(alignment, bytes);
    std::memset(data, 0xff, bytes);
    return data;
  };
  allocator.deallocate = [](void* user, void* data, std::size_t bytes, std::size_t /*alignment*/, std::int32_t,
                            std::int32_t, void*) {
    *static_cast<std::int64_t*>(user) -= static_cast<std::int64_t>(bytes);
    std::free(data);
  };
  options.allocator = &allocator;
  const auto context = std::make_shared<Context>(options);
  context->add_backend({GRADSTEP_DEVICE_CPU, 0}, cpu::make_backend(*context));
  std::vector<StateMatrix> matrices(2, StateMatrix(4, 4, Coding::none));
  allocate_matrices(Site(context->cpu()), pointers(matrices));
  for (const StateMatrix& matrix : matrices) {
    for (int k = 0; k < 16; ++k) EXPECT_EQ(matrix.view().floats()[k], 0);
  }
  EXPECT_EQ(held, 128);
  matrices[0].release();
  EXPECT_FALSE(matrices[0].is_here());
  EXPECT_TRUE(matrices[0].exists());
  EXPECT_EQ(held, 128);
  matrices[1].release();
  EXPECT_EQ(held, 0);
}

}  // namespace
}  // namespace gradstep::test
