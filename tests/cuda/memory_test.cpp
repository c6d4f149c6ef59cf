// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What optimizers take of the host's memory and the device's, beside what they say.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "allocations/held_memory.h"
#include "cuda/emulated.h"

namespace gradstep::test {
namespace {

constexpr std::size_t kMany = 2'000;

/// The host's memory and the device's, counted.
gradstep_allocator allocator_of_both() {
  static const gradstep_allocator host = counted_allocator();
  gradstep_allocator both = host;
  both.allocate = [](void*, std::size_t bytes, std::size_t alignment, std::int32_t type, std::int32_t id,
                     void* stream) -> void* {
    if (type != GRADSTEP_DEVICE_CUDA) return host.allocate(nullptr, bytes, alignment, type, id, stream);
    count_live(static_cast<long>(bytes));
    return emulated_cuda().allocate(id, bytes);
  };
  both.deallocate = [](void*, void* data, std::size_t bytes, std::size_t alignment, std::int32_t type, std::int32_t id,
                       void* stream) {
    if (type != GRADSTEP_DEVICE_CUDA) return host.deallocate(nullptr, data, bytes, alignment, type, id, stream);
    count_live(-static_cast<long>(bytes));
    emulated_cuda().deallocate(data);
  };
  return both;
}

class CudaMemory : public testing::TestWithParam<Holding> {};

TEST_P(CudaMemory, OfManySmallParametersIsReported) {
  emulated_cuda().set_seed(1);
  std::vector<void*> regions;
  const auto make_numbers = [&](std::size_t count) {
    const std::vector<float> numbers(count, 0.5F);
    regions.push_back(emulated_cuda().allocate(0, count * sizeof(float)));
    emulated_cuda().copy(regions.back(), numbers.data(), count * sizeof(float));
    return static_cast<float*>(regions.back());
  };
  // The device keeps what is queued, and the names of what has run.
  const auto finish = [&] {
    float number = 0;
    emulated_cuda().copy(&number, regions[0], sizeof number);
    emulated_cuda().forget_launches();
  };
  const Held held =
      held_by_optimizer(GetParam(), kMany, {{GRADSTEP_DEVICE_CUDA, 0}, allocator_of_both(), make_numbers, finish});
  held.expect_reported(GetParam(), kMany);
  for (void* region : regions) emulated_cuda().deallocate(region);
}

INSTANTIATE_TEST_SUITE_P(Rules, CudaMemory, testing::ValuesIn(kHoldings),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace gradstep::test
