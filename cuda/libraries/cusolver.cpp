// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "libraries/cusolver.h"

#include "core/error.h"
#include "libraries/library.h"

namespace gradstep::cuda {

namespace {

constexpr int kVectors = 1;
constexpr int kUpper = 1;  // of columns: the lower half of rows

void check_cusolver(int status, const char* call) {
  if (status == 0) return;
  fail(status == 2 ? GRADSTEP_ERR_OUT_OF_MEMORY : GRADSTEP_ERR_DEVICE, "{}: cuSOLVER's status {}", call, status);
}

CusolverFunctions open_cusolver() {
  const Library library("cuSOLVER", {"libcusolver.so.12", "libcusolver.so.11"});
  CusolverFunctions functions{};
  library.find(functions.create, "cusolverDnCreate");
  library.find(functions.destroy, "cusolverDnDestroy");
  library.find(functions.set_stream, "cusolverDnSetStream");
  library.find(functions.size_of_decomposition, "cusolverDnDsyevd_bufferSize");
  library.find(functions.decompose, "cusolverDnDsyevd");
  return functions;
}

}  // namespace

const CusolverFunctions& cusolver_functions() {
  static const CusolverFunctions functions = open_cusolver();
  return functions;
}

Cusolver::Cusolver(int device) : device_(device), functions_(cusolver_functions()) {
  const OnDevice current(device);
  check_cusolver(functions_.create(&handle_), "cusolverDnCreate");
}

Cusolver::~Cusolver() {
  try {
    const OnDevice current(device_);
    functions_.destroy(handle_);
  } catch (...) {  // of a device that is gone there is nothing to give back
  }
}

void Cusolver::decompose(double* matrices, std::int64_t n, std::int64_t count, double* values, int* info,
                         CudaQueue& queue) {
  const OnDevice current(device_);
  if (queue_ != &queue) {
    work_ = {};
    check_cusolver(functions_.set_stream(handle_, queue.stream()), "cusolverDnSetStream");
    queue_ = &queue;
  }
  const auto extent = static_cast<int>(n);
  int numbers = 0;
  check_cusolver(
      functions_.size_of_decomposition(handle_, kVectors, kUpper, extent, matrices, extent, values, &numbers),
      "cusolverDnDsyevd_bufferSize");
  const std::size_t bytes = static_cast<std::size_t>(numbers) * sizeof(double);
  if (work_.bytes() < bytes) work_ = Buffer(queue.scratch(), bytes);
  for (std::int64_t m = 0; m < count; ++m) {
    check_cusolver(functions_.decompose(handle_, kVectors, kUpper, extent, matrices + m * n * n, extent, values + m * n,
                                        work_.as<double>(), numbers, info + m),
                   "cusolverDnDsyevd");
  }
}

}  // namespace gradstep::cuda
