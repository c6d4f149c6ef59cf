// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What libraries have in common that work in a stream, by handles.
#pragma once

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "core/error.h"
#include "core/held_bytes.h"
#include "core/memory.h"
#include "runtime/queue.h"

namespace gradstep::cuda {

template <class Context>
struct HandleFunctions {
  using Handle = Context*;

  int (*create)(Handle* handle);
  int (*destroy)(Handle handle);
  int (*set_stream)(Handle handle, cudaStream_t stream);
  /// `part`: 0 to 2 for the version's major, minor and patch number.
  int (*get_property)(int part, int* value);
};

/// As in "cuBLAS 13.1.0".
template <class Functions>
std::string version_of(const Functions& functions) {
  int version[3] = {};
  for (int part = 0; part < 3; ++part) functions.get_property(part, &version[part]);
  return fmt::format("{} {}.{}.{}", Functions::kLibrary, version[0], version[1], version[2]);
}

/// A handle on a device, and a workspace in the order of the queue that it is used with. `Functions` are
/// HandleFunctions and more; kLibrary, its name; kPrefix, of what it calls its functions; kOutOfMemory, its status.
template <class Functions>
class LibraryHandle {
 public:
  LibraryHandle(const LibraryHandle&) = delete;
  LibraryHandle& operator=(const LibraryHandle&) = delete;

  std::int64_t bytes() const { return static_cast<std::int64_t>(held_bytes(workspace_)); }

 protected:
  LibraryHandle(int device, const Functions& functions) : device_(device), functions_(functions) {
    const BesideCapture beside(device_);
    check(functions_.create(&handle_), "Create");
  }
  ~LibraryHandle() {
    give_back(device_, [&] { functions_.destroy(handle_); });
  }

  static void check(int status, const char* function) {
    if (status == 0) return;
    fail(status == Functions::kOutOfMemory ? GRADSTEP_ERR_OUT_OF_MEMORY : GRADSTEP_ERR_DEVICE, "{}{}: {}'s status {}",
         Functions::kPrefix, function, Functions::kLibrary, status);
  }

  /// From here on work goes to `queue`, with a workspace of so many bytes at least. True if one of them is new.
  bool use(CudaQueue& queue, std::size_t bytes) {
    const unsigned long long capture = queue.capture().id;
    const bool is_other = queue_ != &queue || capture_ != capture;
    if (is_other) {
      workspace_ = {};
      check(functions_.set_stream(handle_, queue.stream()), "SetStream");
      queue_ = &queue;
      capture_ = capture;
    }
    if (workspace_.bytes() >= bytes) return is_other;
    workspace_ = Buffer(queue.scratch(), bytes);
    return true;
  }

  int device() const { return device_; }
  const Functions& functions() const { return functions_; }
  typename Functions::Handle handle() const { return handle_; }
  const Buffer& workspace() const { return workspace_; }

 private:
  int device_;
  const Functions& functions_;
  typename Functions::Handle handle_ = nullptr;
  CudaQueue* queue_ = nullptr;
  unsigned long long capture_ = 0;
  Buffer workspace_;
};

}  // namespace gradstep::cuda
