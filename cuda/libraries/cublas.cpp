// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "libraries/cublas.h"

#include <memory>
#include <type_traits>

#include "libraries/toolkit.h"

namespace gradstep::cuda {

namespace {

/// What its reference recommends for the largest devices.
constexpr std::size_t kWorkspace = std::size_t{32} << 20;
constexpr std::size_t kWorkspaceAlignment = 256;
// cublasMath_t.
constexpr int kDefaultMath = 0;
constexpr int kTf32Math = 3;
constexpr int kSumsInFullMath = 16;
// cudaDataType_t, cublasComputeType_t, cublasGemmAlgo_t.
constexpr int kTypeBf16 = 14;
constexpr int kSumsInF32 = 68;
constexpr int kAnyAlgorithm = -1;

CublasFunctions find_cublas_functions() {
  const Library& library = cublas_library();
  CublasFunctions functions{};
  library.find(functions.create, "cublasCreate_v2");
  library.find(functions.destroy, "cublasDestroy_v2");
  library.find(functions.set_stream, "cublasSetStream_v2");
  library.find(functions.get_property, "cublasGetProperty");
  library.find(functions.set_workspace, "cublasSetWorkspace_v2");
  library.find(functions.set_math_mode, "cublasSetMathMode");
  library.find(functions.multiply_f32, "cublasSgemmStridedBatched");
  library.find(functions.multiply_f64, "cublasDgemmStridedBatched");
  library.find(functions.multiply_typed, "cublasGemmStridedBatchedEx");
  return functions;
}

template <class T>
int row_length(const MatrixBatch<T>& batch) {
  return static_cast<int>(batch.between != 0 ? batch.between : batch.columns);
}

}  // namespace

const CublasFunctions& cublas_functions() {
  static const CublasFunctions functions = find_cublas_functions();
  return functions;
}

Cublas::Cublas(int device) : LibraryHandle(device, cublas_functions()) { round_operands(false); }

void Cublas::round_operands(bool to_tf32) {
  const OnDevice current(device());
  check(functions().set_math_mode(handle(), to_tf32 ? kTf32Math : kDefaultMath), "SetMathMode");
}

void Cublas::round_results_once() {
  const OnDevice current(device());
  check(functions().set_math_mode(handle(), kDefaultMath | kSumsInFullMath), "SetMathMode");
}

/// A workspace of our own: that of the library, which a handle has again whenever its stream is set, is one for all
/// streams, and cannot be captured.
void Cublas::begin(CudaQueue& queue) {
  if (use(queue, kWorkspace + kWorkspaceAlignment)) has_workspace_ = false;  // a host's allocator may align to less
  if (has_workspace_) return;
  void* own = workspace().data();
  std::size_t room = workspace().bytes();
  std::align(kWorkspaceAlignment, kWorkspace, own, room);
  check(functions().set_workspace(handle(), own, kWorkspace), "SetWorkspace");
  has_workspace_ = true;
}

// cuBLAS takes columns for rows, and so sees every matrix transposed: c^T = b^T a^T.
template <class T>
void Cublas::add_product(SumOf<T> scale, const MatrixBatch<const T>& a, const MatrixBatch<const T>& b, SumOf<T> keep,
                         const MatrixBatch<T>& c, std::int64_t count, CudaQueue& queue) {
  if (count == 0) return;
  const BesideCapture beside(device());  // it loads what it needs at its first use
  begin(queue);
  const std::int64_t inner = a.transposed ? a.rows : a.columns;
  const auto call = [&](auto* function, const char* name) {
    check(function(handle(), b.transposed ? 1 : 0, a.transposed ? 1 : 0, static_cast<int>(c.columns),
                   static_cast<int>(c.rows), static_cast<int>(inner), &scale, b.first, row_length(b), b.stride, a.first,
                   row_length(a), a.stride, &keep, c.first, row_length(c), c.stride, static_cast<int>(count)),
          name);
  };
  if constexpr (sizeof(T) == 2) {
    check(functions().multiply_typed(handle(), b.transposed ? 1 : 0, a.transposed ? 1 : 0, static_cast<int>(c.columns),
                                     static_cast<int>(c.rows), static_cast<int>(inner), &scale, b.first, kTypeBf16,
                                     row_length(b), b.stride, a.first, kTypeBf16, row_length(a), a.stride, &keep,
                                     c.first, kTypeBf16, row_length(c), c.stride, static_cast<int>(count), kSumsInF32,
                                     kAnyAlgorithm),
          "GemmStridedBatchedEx");
  } else if constexpr (std::is_same_v<T, double>) {
    call(functions().multiply_f64, "DgemmStridedBatched");
  } else {
    call(functions().multiply_f32, "SgemmStridedBatched");
  }
}

template <class T>
void Cublas::multiply(const MatrixBatch<const T>& a, const MatrixBatch<const T>& b, const MatrixBatch<T>& c,
                      std::int64_t count, CudaQueue& queue) {
  add_product<T>(1, a, b, 0, c, count, queue);
}

template <class T>
void Cublas::subtract_product(const MatrixBatch<const T>& a, const MatrixBatch<const T>& b, const MatrixBatch<T>& c,
                              std::int64_t count, CudaQueue& queue) {
  add_product<T>(-1, a, b, 1, c, count, queue);
}

template void Cublas::add_product(float scale, const MatrixBatch<const float>& a, const MatrixBatch<const float>& b,
                                  float keep, const MatrixBatch<float>& c, std::int64_t count, CudaQueue& queue);
template void Cublas::add_product(double scale, const MatrixBatch<const double>& a, const MatrixBatch<const double>& b,
                                  double keep, const MatrixBatch<double>& c, std::int64_t count, CudaQueue& queue);
template void Cublas::add_product(float scale, const MatrixBatch<const kernels::BFloat16>& a,
                                  const MatrixBatch<const kernels::BFloat16>& b, float keep,
                                  const MatrixBatch<kernels::BFloat16>& c, std::int64_t count, CudaQueue& queue);
template void Cublas::multiply(const MatrixBatch<const float>& a, const MatrixBatch<const float>& b,
                               const MatrixBatch<float>& c, std::int64_t count, CudaQueue& queue);
template void Cublas::multiply(const MatrixBatch<const double>& a, const MatrixBatch<const double>& b,
                               const MatrixBatch<double>& c, std::int64_t count, CudaQueue& queue);
template void Cublas::multiply(const MatrixBatch<const kernels::BFloat16>& a,
                               const MatrixBatch<const kernels::BFloat16>& b, const MatrixBatch<kernels::BFloat16>& c,
                               std::int64_t count, CudaQueue& queue);
template void Cublas::subtract_product(const MatrixBatch<const double>& a, const MatrixBatch<const double>& b,
                                       const MatrixBatch<double>& c, std::int64_t count, CudaQueue& queue);

}  // namespace gradstep::cuda
