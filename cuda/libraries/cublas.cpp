// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "libraries/cublas.h"

#include <memory>
#include <type_traits>

#include "core/error.h"
#include "libraries/library.h"

namespace gradstep::cuda {

namespace {

/// What its reference recommends for the largest devices.
constexpr std::size_t kWorkspace = std::size_t{32} << 20;
constexpr std::size_t kWorkspaceAlignment = 256;
constexpr int kDefaultMath = 0;  // TF32 only for those who ask

void check_cublas(int status, const char* call) {
  if (status == 0) return;
  fail(status == 3 ? GRADSTEP_ERR_OUT_OF_MEMORY : GRADSTEP_ERR_DEVICE, "{}: cuBLAS's status {}", call, status);
}

CublasFunctions open_cublas() {
  const Library library("cuBLAS", {"libcublas.so.13", "libcublas.so.12"});
  CublasFunctions functions{};
  library.find(functions.create, "cublasCreate_v2");
  library.find(functions.destroy, "cublasDestroy_v2");
  library.find(functions.set_stream, "cublasSetStream_v2");
  library.find(functions.set_workspace, "cublasSetWorkspace_v2");
  library.find(functions.set_math_mode, "cublasSetMathMode");
  library.find(functions.multiply_f32, "cublasSgemmStridedBatched");
  library.find(functions.multiply_f64, "cublasDgemmStridedBatched");
  return functions;
}

}  // namespace

const CublasFunctions& cublas_functions() {
  static const CublasFunctions functions = open_cublas();
  return functions;
}

Cublas::Cublas(int device) : device_(device), functions_(cublas_functions()) {
  const OnDevice current(device);
  check_cublas(functions_.create(&handle_), "cublasCreate");
  if (const int status = functions_.set_math_mode(handle_, kDefaultMath); status != 0) {
    functions_.destroy(handle_);
    check_cublas(status, "cublasSetMathMode");
  }
}

Cublas::~Cublas() {
  try {
    const OnDevice current(device_);
    functions_.destroy(handle_);
  } catch (...) {  // of a device that is gone there is nothing to give back
  }
}

/// A workspace of our own: that of the library is one for all streams, and cannot be captured.
void Cublas::use(CudaQueue& queue) {
  if (queue_ == &queue) return;
  workspace_ = Buffer(queue.scratch(), kWorkspace + kWorkspaceAlignment);  // a host's allocator may align to less
  void* workspace = workspace_.data();
  std::size_t room = workspace_.bytes();
  std::align(kWorkspaceAlignment, kWorkspace, workspace, room);
  check_cublas(functions_.set_stream(handle_, queue.stream()), "cublasSetStream");
  check_cublas(functions_.set_workspace(handle_, workspace, kWorkspace), "cublasSetWorkspace");
  queue_ = &queue;
}

// cuBLAS takes columns for rows, and so sees every matrix transposed: c^T = b^T a^T.
template <class T>
void Cublas::multiply(const MatrixBatch<const T>& a, const MatrixBatch<const T>& b, const MatrixBatch<T>& c,
                      std::int64_t count, CudaQueue& queue) {
  if (count == 0) return;
  const OnDevice current(device_);
  use(queue);
  const T one = 1;
  const T zero = 0;
  const std::int64_t inner = a.transposed ? a.rows : a.columns;
  const auto call = [&](auto* function, const char* name) {
    check_cublas(function(handle_, b.transposed ? 1 : 0, a.transposed ? 1 : 0, static_cast<int>(c.columns),
                          static_cast<int>(c.rows), static_cast<int>(inner), &one, b.first, static_cast<int>(b.columns),
                          b.stride, a.first, static_cast<int>(a.columns), a.stride, &zero, c.first,
                          static_cast<int>(c.columns), c.stride, static_cast<int>(count)),
                 name);
  };
  if constexpr (std::is_same_v<T, double>) {
    call(functions_.multiply_f64, "cublasDgemmStridedBatched");
  } else {
    call(functions_.multiply_f32, "cublasSgemmStridedBatched");
  }
}

template void Cublas::multiply(const MatrixBatch<const float>& a, const MatrixBatch<const float>& b,
                               const MatrixBatch<float>& c, std::int64_t count, CudaQueue& queue);
template void Cublas::multiply(const MatrixBatch<const double>& a, const MatrixBatch<const double>& b,
                               const MatrixBatch<double>& c, std::int64_t count, CudaQueue& queue);

}  // namespace gradstep::cuda
