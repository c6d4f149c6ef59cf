// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The only place where kernels are launched.
#pragma once

#include <type_traits>

#include "device/kernel.h"
#include "runtime/queue.h"

namespace gradstep::cuda {

#if defined(__CUDACC__)
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
