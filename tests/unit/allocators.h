// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "backend/context.h"
#include "core/platform/system.h"
#include "cpu/cpu_backend.h"

namespace gradstep::test {

/// A context of one thread that takes its memory from `allocator`.
inline std::shared_ptr<Context> make_context(const gradstep_allocator& allocator) {
  auto options = default_context_options();
  options.num_threads = 1;
  options.allocator = &allocator;
  auto context = std::make_shared<Context>(options);
  context->add_backend({GRADSTEP_DEVICE_CPU, 0}, cpu::make_backend(*context));
  return context;
}

/// A context that counts in `live` the bytes which it has taken and not given back.
inline std::shared_ptr<Context> make_counting(std::atomic<std::int64_t>* live) {
  gradstep_allocator allocator{};
  allocator.struct_size = sizeof allocator;
  allocator.user = live;
  allocator.allocate = [](void* user, std::size_t bytes, std::size_t alignment, std::int32_t, std::int32_t, void*) {
    *static_cast<std::atomic<std::int64_t>*>(user) += static_cast<std::int64_t>(bytes);
    return platform::allocate(alignment, (bytes + alignment - 1) / alignment * alignment);
  };
  allocator.deallocate = [](void* user, void* data, std::size_t bytes, std::size_t, std::int32_t, std::int32_t, void*) {
    *static_cast<std::atomic<std::int64_t>*>(user) -= static_cast<std::int64_t>(bytes);
    platform::deallocate(data);
  };
  return make_context(allocator);
}

/// A context whose allocator refuses one allocation: the one after `*left` others; -1 = none.
inline std::shared_ptr<Context> make_short_of_memory(std::int64_t* left) {
  gradstep_allocator allocator{};
  allocator.struct_size = sizeof allocator;
  allocator.user = left;
  allocator.allocate = [](void* user, std::size_t bytes, std::size_t alignment, std::int32_t, std::int32_t,
                          void*) -> void* {
    auto& countdown = *static_cast<std::int64_t*>(user);
    const bool refused = countdown == 0;
    if (countdown >= 0) --countdown;
    if (refused) return nullptr;
    return platform::allocate(alignment, (bytes + alignment - 1) / alignment * alignment);
  };
  allocator.deallocate = [](void*, void* data, std::size_t, std::size_t, std::int32_t, std::int32_t, void*) {
    platform::deallocate(data);
  };
  return make_context(allocator);
}

}  // namespace gradstep::test
