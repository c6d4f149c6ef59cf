// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What is used of cuBLAS: batches of products of matrices that lie side by side. Prototypes are those of its reference
// (cublas_v2.h); its headers are not needed.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/convert.h"
#include "libraries/handle.h"

struct cublasContext;  // of the library

namespace gradstep::cuda {

struct CublasFunctions : HandleFunctions<cublasContext> {
  static constexpr const char* kLibrary = "cuBLAS";
  static constexpr const char* kPrefix = "cublas";
  static constexpr int kOutOfMemory = 3;

  int (*set_workspace)(Handle handle, void* workspace, std::size_t bytes);
  int (*set_math_mode)(Handle handle, int mode);
  int (*multiply_f32)(Handle handle, int transposes_a, int transposes_b, int m, int n, int k, const float* alpha,
                      const float* a, int lda, long long stride_a, const float* b, int ldb, long long stride_b,
                      const float* beta, float* c, int ldc, long long stride_c, int count);
  int (*multiply_f64)(Handle handle, int transposes_a, int transposes_b, int m, int n, int k, const double* alpha,
                      const double* a, int lda, long long stride_a, const double* b, int ldb, long long stride_b,
                      const double* beta, double* c, int ldc, long long stride_c, int count);
  int (*multiply_typed)(Handle handle, int transposes_a, int transposes_b, int m, int n, int k, const void* alpha,
                        const void* a, int type_a, int lda, long long stride_a, const void* b, int type_b, int ldb,
                        long long stride_b, const void* beta, void* c, int type_c, int ldc, long long stride_c,
                        int count, int arithmetic, int algorithm);
};

/// The process's own. Throws BACKEND_UNAVAILABLE where there is no cuBLAS.
const CublasFunctions& cublas_functions();

/// Row-major matrices, one every `stride` numbers; a stride of 0 is one matrix for all.
template <class T>
struct MatrixBatch {
  T* first = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;
  bool transposed = false;   ///< is used as its transpose, which has `columns` rows
  std::int64_t between = 0;  ///< numbers from one row to the next; 0 = `columns`
};

template <class T>
MatrixBatch<T> transposed(MatrixBatch<T> batch) {
  batch.transposed = !batch.transposed;
  return batch;
}

/// Products of numbers in 16 bits are summed in f32, and scaled.
template <class T>
using SumOf = std::conditional_t<sizeof(T) == 2, float, T>;

class Cublas : public LibraryHandle<CublasFunctions> {
 public:
  explicit Cublas(int device);

  /// From now on products of f32 numbers may be made by tensor cores, which round each to TF32 first (10 bits behind
  /// the point) and sum in f32. A new handle's are those of the f32 numbers.
  void round_operands(bool to_tf32);

  /// Products whose result has 16 bits are rounded once, when they are whole.
  void round_results_once();

  /// c = a b for `count` matrices each.
  template <class T>
  void multiply(const MatrixBatch<const T>& a, const MatrixBatch<const T>& b, const MatrixBatch<T>& c,
                std::int64_t count, CudaQueue& queue);
  /// c = c - a b, where c is neither a nor b.
  template <class T>
  void subtract_product(const MatrixBatch<const T>& a, const MatrixBatch<const T>& b, const MatrixBatch<T>& c,
                        std::int64_t count, CudaQueue& queue);

  /// c = keep c + scale a b, where c is neither a nor b. A product of f32, f64 or bf16.
  template <class T>
  void add_product(SumOf<T> scale, const MatrixBatch<const T>& a, const MatrixBatch<const T>& b, SumOf<T> keep,
                   const MatrixBatch<T>& c, std::int64_t count, CudaQueue& queue);

 private:
  void begin(CudaQueue& queue);

  bool has_workspace_ = false;
};

}  // namespace gradstep::cuda
