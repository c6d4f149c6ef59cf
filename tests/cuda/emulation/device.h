// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A device with CUDA's execution model, on the CPU. Its memory is closed to the host (tests/detached); kernels are
// function objects, whose blocks run in any order and whose threads are fibers where they wait for each other; streams
// take turns by chance. What a program may not do ends it with a text that names the kernel: touching the host's
// memory, an access that is not aligned, a barrier that some threads do not come to, and, inside a capture, whatever
// CUDA refuses there.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "cuda/emulation/fibers.h"

#pragma GCC visibility push(default)

namespace gradstep::emulation {

inline constexpr int kWarp = 32;

/// What the threads of a block share.
struct BlockState {
  const char* kernel = "";
  std::int64_t index = 0;
  std::int64_t blocks = 0;
  int threads = 0;
  std::byte* shared = nullptr;
  std::byte* exchange = nullptr;  ///< two slots of 16 bytes for each thread
};

/// Ends the program unless [data, data + bytes) is the device's.
void check_access(const char* kernel, const void* data, std::size_t bytes, std::size_t alignment);
/// As check_access(), for what accesses it without being looked at: under the address sanitizer all of it must be a
/// buffer's, too.
void check_range(const char* kernel, const void* data, std::size_t bytes, std::size_t alignment);

/// A thread's view of its block: what cuda/device/block.h has for a GPU.
class Block {
 public:
  Block(BlockState& state, int thread) : state_(state), thread_(thread) {}

  int thread() const { return thread_; }
  int threads() const { return state_.threads; }
  std::int64_t index() const { return state_.index; }
  std::int64_t blocks() const { return state_.blocks; }

  void sync() { wait_for_block(); }

  // By all threads of a warp.
  template <class T>
  T shuffle(T value, int lane) {
    return exchanged<T>(share(value), lane % kWarp);
  }
  template <class T>
  T shuffle_xor(T value, int mask) {
    return shuffle(value, thread_ % kWarp ^ mask);
  }
  /// A bit for each lane of the warp.
  std::uint32_t ballot(bool vote) {
    const std::byte* slots = share(vote);
    std::uint32_t votes = 0;
    for (int lane = 0; lane < kWarp; ++lane) votes |= exchanged<bool>(slots, lane) ? 1U << lane : 0U;
    return votes;
  }

  template <class T>
  T& shared() {
    return *reinterpret_cast<T*>(state_.shared);
  }

  template <class T>
  T load(const T* from) const {
    check_access(state_.kernel, from, sizeof(T), alignof(T));
    return *from;
  }
  template <class T>
  void store(T* to, T value) const {
    check_access(state_.kernel, to, sizeof(T), alignof(T));
    *to = value;
  }
  /// Memory that formulas read and write themselves.
  template <class T>
  T* checked(T* data, std::int64_t count = 1) const {
    check_range(state_.kernel, data, sizeof(T) * static_cast<std::size_t>(count), alignof(T));
    return data;
  }

  // Blocks run one after the other.
  template <class T>
  T atomic_add(T* to, T value) const {
    const T before = load(to);
    store(to, static_cast<T>(before + value));
    return before;
  }
  void atomic_max(std::uint32_t* to, std::uint32_t value) const {
    const std::uint32_t before = load(to);
    store(to, before < value ? value : before);
  }
  template <class T>
  T atomic_add_shared(T* to, T value) const {
    const T before = *to;
    *to = static_cast<T>(before + value);
    return before;
  }
  void fence() const {}

 private:
  /// Returns the warp's slots when all its threads have written theirs. Two sets take turns, so that no thread
  /// overwrites what another has yet to read.
  template <class T>
  const std::byte* share(const T& value) {
    static_assert(sizeof(T) <= kSlot && std::is_trivially_copyable_v<T>);
    std::byte* slots = state_.exchange + (parity_ * state_.threads + thread_ / kWarp * kWarp) * kSlot;
    parity_ ^= 1;
    __builtin_memcpy(slots + thread_ % kWarp * kSlot, &value, sizeof value);
    wait_for_warp();
    return slots;
  }
  template <class T>
  static T exchanged(const std::byte* slots, int lane) {
    T value;
    __builtin_memcpy(&value, slots + lane * kSlot, sizeof value);
    return value;
  }

  static constexpr int kSlot = 16;

  BlockState& state_;
  int thread_;
  int parity_ = 0;
};

struct Launch {
  const char* kernel = "";
  std::int64_t blocks = 0;
  int threads = 0;
  std::size_t shared_bytes = 0;
  bool waits = false;  ///< threads wait for each other
  std::function<void(Block&)> body;
  // The kernel object of what nvcc compiles, too.
  const std::type_info* type = nullptr;
  std::vector<std::byte> object = {};
};

template <class Kernel>
std::vector<std::byte> bytes_of(const Kernel& kernel) {
  const auto* first = reinterpret_cast<const std::byte*>(&kernel);
  return {first, first + sizeof kernel};
}

cudaError_t launch(Launch launch, cudaStream_t stream);

// For the libraries.
/// What follows in the stream begins when `ready` says so, which is asked when its turn has come, and often, with the
/// machine's lock. False in a capture.
bool put_when(cudaStream_t stream, std::function<bool()> ready);
std::recursive_mutex& machine_mutex();
/// With the device's memory open. Under the machine's lock.
void at_device(const std::function<void()>& body);
/// The calling thread's.
int current_device_number();
/// Whether a library's call that waits, or may load what it needs, is refused: true beside a capture, unless the thread
/// says that it knows. The captures are spoiled then.
bool is_refused_beside_captures();

/// The symbols of CUDA's driver.
const std::map<std::string, void*>& driver_symbols();

// nccl.cpp
const std::map<std::string, void*>& nccl_symbols();
void hang_nccl(bool hangs);
void fail_nccl(int rank, int result);
void block_nccl(bool blocks);
void keep_nccl_busy(bool keeps);
std::int64_t nccl_communicators();

// programs.cpp
const std::map<std::string, void*>& nvrtc_symbols();
void add_module_symbols(std::map<std::string, void*>& driver);

// libraries.cpp
void* library_symbol(const char* soname, const char* name);

}  // namespace gradstep::emulation

#pragma GCC visibility pop
