// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "libraries/cusolver.h"

#include <type_traits>

#include "libraries/toolkit.h"

namespace gradstep::cuda {

namespace {

constexpr int kVectors = 1;
constexpr int kUpper = 1;  // of columns: the lower half of rows
// Values of cudaDataType.
constexpr int kReal32 = 0;
constexpr int kReal64 = 1;

CusolverFunctions find_cusolver_functions() {
  const Library library = open_cusolver(cublas_library());
  CusolverFunctions functions{};
  library.find(functions.create, "cusolverDnCreate");
  library.find(functions.destroy, "cusolverDnDestroy");
  library.find(functions.set_stream, "cusolverDnSetStream");
  library.find(functions.get_property, "cusolverGetProperty");
  library.find(functions.decomposition_f64.size, "cusolverDnDsyevd_bufferSize");
  library.find(functions.decomposition_f64.run, "cusolverDnDsyevd");
  library.find(functions.decomposition_f32.size, "cusolverDnSsyevd_bufferSize");
  library.find(functions.decomposition_f32.run, "cusolverDnSsyevd");
  auto& batched = functions.batched;
  library.find_if_there(batched.create_parameters, "cusolverDnCreateParams");
  library.find_if_there(batched.destroy_parameters, "cusolverDnDestroyParams");
  library.find_if_there(batched.size, "cusolverDnXsyevBatched_bufferSize");
  library.find_if_there(batched.run, "cusolverDnXsyevBatched");
  return functions;
}

}  // namespace

const CusolverFunctions& cusolver_functions() {
  static const CusolverFunctions functions = find_cusolver_functions();
  return functions;
}

Cusolver::Cusolver(int device) : LibraryHandle(device, cusolver_functions()) {
  const auto& batched = functions().batched;
  const bool is_there = batched.create_parameters != nullptr && batched.destroy_parameters != nullptr &&
                        batched.size != nullptr && batched.run != nullptr;
  if (is_there) check(batched.create_parameters(&parameters_), "CreateParams");
}

Cusolver::~Cusolver() {
  if (parameters_ != nullptr) functions().batched.destroy_parameters(parameters_);
}

template <class T>
void Cusolver::decompose(T* matrices, std::int64_t n, std::int64_t count, T* values, int* info, CudaQueue& queue) {
  const BesideCapture beside(device());  // it may wait, and loads what it needs at its first use
  if (parameters_ != nullptr && count > 1) return decompose_at_once(matrices, n, count, values, info, queue);
  const auto extent = static_cast<int>(n);
  const auto& decomposition = [&]() -> const auto& {
    if constexpr (std::is_same_v<T, double>) {
      return functions().decomposition_f64;
    } else {
      return functions().decomposition_f32;
    }
  }();
  int numbers = 0;
  check(decomposition.size(handle(), kVectors, kUpper, extent, matrices, extent, values, &numbers), "syevd_bufferSize");
  use(queue, static_cast<std::size_t>(numbers) * sizeof(T));
  for (std::int64_t m = 0; m < count; ++m) {
    check(decomposition.run(handle(), kVectors, kUpper, extent, matrices + m * n * n, extent, values + m * n,
                            workspace().as<T>(), numbers, info + m),
          "syevd");
  }
}

template <class T>
void Cusolver::decompose_at_once(T* matrices, std::int64_t n, std::int64_t count, T* values, int* info,
                                 CudaQueue& queue) {
  constexpr int kType = std::is_same_v<T, double> ? kReal64 : kReal32;
  const auto& batched = functions().batched;
  std::size_t device_bytes = 0;
  std::size_t host_bytes = 0;
  check(batched.size(handle(), parameters_, kVectors, kUpper, n, kType, matrices, n, kType, values, kType,
                     &device_bytes, &host_bytes, count),
        "XsyevBatched_bufferSize");
  use(queue, device_bytes);
  if (host_workspace_.size() < host_bytes) {
    queue.finish();  // the one before may be in use
    host_workspace_.resize(host_bytes);
  }
  check(batched.run(handle(), parameters_, kVectors, kUpper, n, kType, matrices, n, kType, values, kType,
                    workspace().data(), device_bytes, host_workspace_.data(), host_bytes, info, count),
        "XsyevBatched");
}

template void Cusolver::decompose(double* matrices, std::int64_t n, std::int64_t count, double* values, int* info,
                                  CudaQueue& queue);
template void Cusolver::decompose(float* matrices, std::int64_t n, std::int64_t count, float* values, int* info,
                                  CudaQueue& queue);

}  // namespace gradstep::cuda
