// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The only place where kernels are launched.
#pragma once

#include <type_traits>

#include "device/block.h"
#include "runtime/queue.h"

namespace gradstep::cuda {

template <class Kernel>
concept Shares = requires { typename Kernel::Shared; };

template <class Kernel>
constexpr std::size_t shared_bytes() {
  if constexpr (Shares<Kernel>) {
    return sizeof(typename Kernel::Shared);
  } else {
    return 0;
  }
}

template <class Kernel>
constexpr bool waits() {
  if constexpr (requires { Kernel::kWaits; }) {
    return Kernel::kWaits;
  } else {
    return Shares<Kernel>;
  }
}

#if defined(__CUDACC__)
/// Blocks that a multiprocessor is to hold at least, by which nvcc chooses how many registers a thread may have: 64
/// unless the kernel says else. Left alone, it spills to hold a few more.
template <class Kernel>
constexpr int resident_blocks() {
  if constexpr (requires { Kernel::kResidentBlocks; }) {
    return Kernel::kResidentBlocks;
  } else {
    return Kernel::kThreads >= 64 ? 1024 / Kernel::kThreads : 1;
  }
}

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, resident_blocks<Kernel>())
    run_kernel(const __grid_constant__ Kernel kernel) {
  Block block;
  kernel(block);
}
#endif

/// Puts `blocks` blocks of the kernel into the queue; none is no work.
template <class Kernel>
void launch(const CudaQueue& queue, std::int64_t blocks, const Kernel& kernel) {
  static_assert(std::is_trivially_copyable_v<Kernel> && sizeof(Kernel) <= 4096, "parameters of a launch");
  constexpr std::size_t kShared = shared_bytes<Kernel>();
  static_assert(waits<Kernel>() || kShared == 0, "whoever shares waits");
  static_assert(kShared <= 48 * 1024, "more needs an attribute of the function");
  if (blocks == 0) return;
  const OnDevice current(queue.device());
#if defined(__CUDACC__)
  Kernel parameter = kernel;
  void* parameters[] = {&parameter};
  check(cudaLaunchKernel(run_kernel<Kernel>, dim3(static_cast<unsigned>(blocks)), dim3(Kernel::kThreads), parameters,
                         kShared, queue.stream()),
        Kernel::kName);
#else
  check(emulation::launch({Kernel::kName, blocks, Kernel::kThreads, kShared, waits<Kernel>(),
                           [kernel](Block& block) { kernel(block); }, &typeid(Kernel), emulation::bytes_of(kernel)},
                          queue.stream()),
        Kernel::kName);
#endif
}

/// How many parts of `size` cover `count`.
constexpr std::int64_t parts_of(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

/// With a thread for each of `count` elements; the last block has threads for none.
template <class Kernel>
void launch_each(const CudaQueue& queue, std::int64_t count, const Kernel& kernel) {
  launch(queue, parts_of(count, Kernel::kThreads), kernel);
}

}  // namespace gradstep::cuda
