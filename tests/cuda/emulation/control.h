// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What tests set and see of the emulated device. The plugin that is built with the emulation exports one function,
// gradstep_cuda_emulation(), which returns this.
#pragma once

#include <cstdint>

namespace gradstep::emulation {

struct Counts {
  std::int64_t launches = 0;      ///< of kernels, those of graphs included
  std::int64_t copies = 0;        ///< between host and device
  std::int64_t waits = 0;         ///< of the host for the device
  std::int64_t allocations = 0;   ///< of device and pinned memory
  std::int64_t copied_bytes = 0;  ///< by copies
};

/// What a kernel's warps asked of device memory (../ptx/traffic.h).
struct Traffic {
  std::int64_t bytes = 0;  ///< that they need
  std::int64_t moved = 0;  ///< whole sectors
};

/// Tests in Python have it too (tests/python/emulated_cuda.py): what is new comes last, or is put in there as well.
struct Control {
  /// The seed of what is left to chance from here on: turns of streams, of blocks and of threads.
  void (*set_seed)(std::uint64_t seed);
  Counts (*counts)();
  /// The name of the k-th launch since the last call of forget_launches(); NULL past the end.
  const char* (*launch)(std::int64_t k);
  void (*forget_launches)();
  void* (*make_stream)();
  /// A graph of what is asked of `stream` in between, and its replay.
  void (*begin_capture)(void* stream);
  void* (*end_capture)(void* stream);
  void (*replay)(void* graph, void* stream);
  /// The calling thread's.
  int (*current_device)();
  // For hosts that have no driver of their own. Memory may be taken inside a capture, too, as by packages with a pool;
  // copies are made when all that was queued is done.
  void* (*allocate)(int device, std::uint64_t bytes);
  void (*deallocate)(void* data);
  void (*copy)(void* to, const void* from, std::uint64_t bytes);
  /// The calling thread's, as current_device.
  void (*set_current_device)(int device);
  /// A function of a library that the plugin opens, by soname and name.
  void* (*symbol)(const char* soname, const char* name);
  /// From here on nothing that is asked of NCCL is ever done; or all of it is again.
  void (*hang_nccl)(bool hangs);
  /// What ncclCommGetAsyncError reports of every communicator of this rank, an ncclResult_t; 0 = nothing.
  void (*fail_nccl)(int rank, int result);
  /// NCCL's communicators that were neither destroyed nor aborted.
  std::int64_t (*nccl_communicators)();
  /// A kernel of the host's other packages: function(argument) has its turn in the order of `stream`, may be captured
  /// and replayed, and reaches the device's memory.
  void (*call)(void* stream, void (*function)(void* argument), void* argument);
  /// What is asked of `later` from here on begins after what has been asked of `earlier`.
  void (*order)(void* later, void* earlier);
  /// A bit for each device that a call has made a context on, or used one, since this was asked last.
  std::uint32_t (*used_devices)();
  /// From here on calls of NCCL that put work into a stream do not return until their communicator is aborted, as where
  /// the stream is full; or they do again.
  void (*block_nccl)(bool blocks);
  /// Lets the k-th copy or filling of memory from here on fail without having been made; 0 = none.
  void (*fail_copy)(std::int64_t k);
  /// The first number of the compute capability of all devices, which are one architecture; 9 at first.
  void (*set_compute_capability)(int major);
  /// From here on calls of NCCL's that have returned in progress, as the first of a communicator does, stay so; or they
  /// come to their end again.
  void (*keep_nccl_busy)(bool keeps);
  /// Lets the k-th kernel that runs from here on write nothing and fail with cudaErrorIllegalAddress: so does all that
  /// is asked of its device afterwards, and what was asked before and has not run has no effect. 0 = none, and all
  /// devices are well again.
  void (*fail_kernel)(std::int64_t k);
  /// From here on the accesses of kernels are counted, or no more.
  void (*count_traffic)(bool counts);
  /// The traffic of launch(k), if it was counted; 0 where it is not run as nvcc has compiled it.
  Traffic (*traffic)(std::int64_t k);
};

}  // namespace gradstep::emulation
