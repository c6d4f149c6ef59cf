// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// All that a kernel may use of its device: where its thread is, barriers, shuffles, votes, shared memory, integer
// atomics and checked accesses. A kernel is a function object:
//
//   struct Kernel {
//     static constexpr const char* kName = "kernel";
//     static constexpr int kThreads = 256;  // in a block
//     struct Shared { ... };                // what a block shares, uninitialised; none = nothing
//     static constexpr bool kWaits = true;  // its threads wait for each other; none = those that share do
//     GRADSTEP_DEVICE void operator()(Block& block) const;
//   };
//
// This source is compiled by nvcc, and as C++ for the emulated device of tests/cuda.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#if defined(__CUDACC__)
#define GRADSTEP_DEVICE __device__ __forceinline__
/// Before a loop whose bodies index arrays that are to stay in registers.
#define GRADSTEP_UNROLL _Pragma("unroll")
/// Before a loop whose body is long, and whose arrays may be in memory.
#define GRADSTEP_ROLLED _Pragma("unroll 1")
#else
#define GRADSTEP_DEVICE inline
#define GRADSTEP_UNROLL
#define GRADSTEP_ROLLED
#include "cuda/emulation/device.h"
#endif

namespace gradstep::cuda {

inline constexpr int kWarp = 32;

#if defined(__CUDACC__)

class Block {
 public:
  GRADSTEP_DEVICE int thread() const { return static_cast<int>(threadIdx.x); }
  GRADSTEP_DEVICE int threads() const { return static_cast<int>(blockDim.x); }
  GRADSTEP_DEVICE std::int64_t index() const { return blockIdx.x; }
  GRADSTEP_DEVICE std::int64_t blocks() const { return gridDim.x; }

  GRADSTEP_DEVICE void sync() { __syncthreads(); }

  // By all threads of a warp.
  template <class T>
  GRADSTEP_DEVICE T shuffle(T value, int lane) {
    return __shfl_sync(kAll, value, lane);
  }
  template <class T>
  GRADSTEP_DEVICE T shuffle_xor(T value, int mask) {
    return __shfl_xor_sync(kAll, value, mask);
  }
  GRADSTEP_DEVICE std::uint32_t ballot(bool vote) { return __ballot_sync(kAll, vote); }

  template <class T>
  GRADSTEP_DEVICE T& shared() {
    extern __shared__ uint4 gradstep_shared[];
    return *reinterpret_cast<T*>(gradstep_shared);
  }

  // Values of up to 16 bytes, aligned to their size, in global memory. Shared memory is not reached by these.
  template <class T>
  GRADSTEP_DEVICE T load(const T* from) const {
    return *global(from);
  }
  template <class T>
  GRADSTEP_DEVICE void store(T* to, T value) const {
    *global(to) = value;
  }
  /// Memory that formulas read and write themselves.
  template <class T>
  GRADSTEP_DEVICE T* checked(T* data, std::int64_t /*count*/ = 1) const {
    return data;
  }

  /// What was there before.
  template <class T>
  GRADSTEP_DEVICE T atomic_add(T* to, T value) const {
    return atomicAdd(to, value);
  }
  GRADSTEP_DEVICE void atomic_max(std::uint32_t* to, std::uint32_t value) const { atomicMax(to, value); }
  /// atomic_add() in shared memory.
  template <class T>
  GRADSTEP_DEVICE T atomic_add_shared(T* to, T value) const {
    return atomicAdd(to, value);
  }
  GRADSTEP_DEVICE void fence() const { __threadfence(); }

 private:
  /// Tells the compiler that the memory is global: of pointers out of tables it does not know, and makes slower
  /// accesses.
  template <class T>
  GRADSTEP_DEVICE static T* global(T* data) {
    __builtin_assume(__isGlobal(data));
    return data;
  }

  static constexpr unsigned kAll = 0xffffffffU;
};

#else

using emulation::Block;

#endif

/// Which of the launch's threads it is.
GRADSTEP_DEVICE std::int64_t element_of(const Block& block) { return block.index() * block.threads() + block.thread(); }

GRADSTEP_DEVICE int popcount(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __popc(bits);
#else
  return std::popcount(bits);
#endif
}

/// The sum over a warp, in all of its threads. Sums integers, whose order does not matter.
template <class T>
GRADSTEP_DEVICE T warp_sum(Block& block, T value) {
  static_assert(std::is_integral_v<T>);
  for (int mask = kWarp / 2; mask > 0; mask /= 2) value += block.shuffle_xor(value, mask);
  return value;
}

/// True in all threads of the block that comes last, which then sees what the others have written and has made
/// *ticket zero again. By all threads; a barrier.
GRADSTEP_DEVICE bool is_last(Block& block, unsigned* ticket, bool& shared) {
  block.sync();
  if (block.thread() == 0) {
    block.fence();  // for all of the block, whose writes lie before the barrier
    shared = block.atomic_add(ticket, 1U) == static_cast<unsigned>(block.blocks() - 1);
    if (shared) block.store(ticket, 0U);
    block.fence();
  }
  block.sync();
  return shared;
}

}  // namespace gradstep::cuda
