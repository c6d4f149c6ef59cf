// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the plugin uses of cuBLAS and cuSOLVER (the driver is in device.cpp and programs.cpp, NVRTC there too, NCCL in
// nccl.cpp), on the emulated device: by Eigen, as work of a stream. A handle that has no workspace or stream, and
// memory that is not the device's, end the program. As NVIDIA's, this is compiled for speed and without sanitizers:
// what is accessed is checked in whole ranges.
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <type_traits>

#include "cuda/emulation/device.h"
#include "libraries/cublas.h"
#include "libraries/cusolver.h"
#include "libraries/library.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
  bool has_workspace = false;
  int math_mode = 0;
};

struct cusolverDnContext {
  cudaStream_t stream = nullptr;
};

namespace gradstep::emulation {

namespace {

constexpr int kNotInitialized = 1;
constexpr int kInvalidValue = 7;

template <class T>
Launch one_thread(const char* name, T body) {
  return {name, 1, 1, 0, false, std::move(body)};
}

template <class Context>
int create(Context** handle) {
  *handle = new Context;
  return 0;
}

template <class Context>
int destroy(Context* handle) {
  delete handle;
  return 0;
}

template <class Context>
int set_stream(Context* handle, cudaStream_t stream) {
  handle->stream = stream;
  if constexpr (std::is_same_v<Context, cublasContext>) handle->has_workspace = false;  // is the library's again
  return 0;
}

int set_workspace(cublasContext* handle, void* workspace, std::size_t bytes) {
  if (workspace == nullptr || bytes == 0 || reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0)
    return kInvalidValue;
  handle->has_workspace = true;
  return 0;
}

constexpr int kDefaultMath = 0;
constexpr int kTf32Math = 3;
constexpr int kSumsInFullMath = 16;

int set_math_mode(cublasContext* handle, int mode) {
  if (mode != kDefaultMath && mode != kTf32Math && mode != kSumsInFullMath) return kInvalidValue;
  handle->math_mode = mode;
  return 0;
}

/// To ten bits behind the point, ties away from zero, as PTX's cvt.rna.tf32.f32 does: what tensor cores make of an
/// operand.
float rounded_to_tf32(float x) {
  if (!std::isfinite(x)) return x;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x1000U) & ~0x1fffU);
}

/// A property by its libraryPropertyType: major, minor or patch.
template <int kMajor>
int property(int type, int* value) {
  constexpr int kValues[] = {kMajor, 1, 0};
  if (type < 0 || type > 2) return kInvalidValue;
  *value = kValues[type];
  return 0;
}

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

/// By columns, as the libraries have them, which lie `between` numbers after one another.
template <class T>
struct Operand {
  T* data;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t between;

  Eigen::Map<Matrix<std::remove_const_t<T>>, 0, Eigen::OuterStride<>> in(const Block& block) const {
    auto* first = const_cast<std::remove_const_t<T>*>(block.checked(data, between * (columns - 1) + rows));
    return {first, rows, columns, Eigen::OuterStride<>(between)};
  }
  Matrix<std::remove_const_t<T>> copy(const Block& block, bool transposes, bool rounds) const {
    Matrix<std::remove_const_t<T>> x = in(block);
    if constexpr (std::is_same_v<std::remove_const_t<T>, float>) {
      if (rounds) x = x.unaryExpr(&rounded_to_tf32).eval();
    }
    if (transposes) x.transposeInPlace();
    return x;
  }
};

/// Sums are in the type of the numbers.
template <class T>
int multiply(cublasContext* handle, int transposes_a, int transposes_b, int m, int n, int k, const T* alpha, const T* a,
             int lda, long long stride_a, const T* b, int ldb, long long stride_b, const T* beta, T* c, int ldc,
             long long stride_c, int count) {
  if (!handle->has_workspace) return kNotInitialized;
  if (m < 1 || n < 1 || k < 1 || count < 1 || lda < (transposes_a != 0 ? k : m) || ldb < (transposes_b != 0 ? n : k) ||
      ldc < m) {
    return kInvalidValue;
  }
  const T scale = *alpha;
  const T keep = *beta;
  const bool rounds = handle->math_mode == kTf32Math;
  const auto body = [=](Block& block) {
    for (int item = 0; item < count; ++item) {
      const Operand<const T> x{a + item * stride_a, transposes_a != 0 ? k : m, transposes_a != 0 ? m : k, lda};
      const Operand<const T> y{b + item * stride_b, transposes_b != 0 ? n : k, transposes_b != 0 ? k : n, ldb};
      // Sums of products of columns.
      const Matrix<T> rows = x.copy(block, transposes_a == 0, rounds);
      const Matrix<T> columns = y.copy(block, transposes_b != 0, rounds);
      auto z = Operand<T>{c + item * stride_c, m, n, ldc}.in(block);
      for (int j = 0; j < n; ++j) {
        for (int i = 0; i < m; ++i) {
          const T sum = rows.col(i).dot(columns.col(j));
          z(i, j) = scale * sum + (keep == 0 ? 0 : keep * z(i, j));
        }
      }
    }
  };
  launch(one_thread(sizeof(T) == sizeof(float) ? "cublas_f32" : "cublas_f64", body), handle->stream);
  return 0;
}

constexpr int kTypeBf16 = 14;
constexpr int kSumsInF32 = 68;
constexpr int kAnyAlgorithm = -1;

/// Takes bf16 alone; sums in f32 and rounds once.
int multiply_typed(cublasContext* handle, int transposes_a, int transposes_b, int m, int n, int k, const void* alpha,
                   const void* a, int type_a, int lda, long long stride_a, const void* b, int type_b, int ldb,
                   long long stride_b, const void* beta, void* c, int type_c, int ldc, long long stride_c, int count,
                   int arithmetic, int algorithm) {
  using kernels::BFloat16;
  if (!handle->has_workspace) return kNotInitialized;
  if (m < 1 || n < 1 || k < 1 || count < 1 || lda < (transposes_a != 0 ? k : m) || ldb < (transposes_b != 0 ? n : k) ||
      ldc < m || type_a != kTypeBf16 || type_b != kTypeBf16 || type_c != kTypeBf16 || arithmetic != kSumsInF32 ||
      algorithm != kAnyAlgorithm || handle->math_mode != kSumsInFullMath) {
    return kInvalidValue;
  }
  const float scale = *static_cast<const float*>(alpha);
  const float keep = *static_cast<const float*>(beta);
  const auto body = [=](Block& block) {
    const auto widened = [&](const void* numbers, int rows, int columns, int between, std::int64_t first, bool turn) {
      const auto* from =
          block.checked(static_cast<const BFloat16*>(numbers) + first, std::int64_t{between} * (columns - 1) + rows);
      Matrix<float> x(rows, columns);
      for (int j = 0; j < columns; ++j) {
        for (int i = 0; i < rows; ++i) x(i, j) = kernels::to_float(from[std::int64_t{j} * between + i]);
      }
      if (turn) x.transposeInPlace();
      return x;
    };
    for (int item = 0; item < count; ++item) {
      const Matrix<float> rows =
          widened(a, transposes_a != 0 ? k : m, transposes_a != 0 ? m : k, lda, item * stride_a, transposes_a == 0);
      const Matrix<float> columns =
          widened(b, transposes_b != 0 ? n : k, transposes_b != 0 ? k : n, ldb, item * stride_b, transposes_b != 0);
      auto* z = block.checked(static_cast<BFloat16*>(c) + item * stride_c, std::int64_t{ldc} * (n - 1) + m);
      for (int j = 0; j < n; ++j) {
        for (int i = 0; i < m; ++i) {
          BFloat16& to = z[std::int64_t{j} * ldc + i];
          const float before = keep == 0 ? 0 : keep * kernels::to_float(to);
          to = kernels::to_bfloat16(scale * rows.col(i).dot(columns.col(j)) + before);
        }
      }
    }
  };
  launch(one_thread("cublas_bf16", body), handle->stream);
  return 0;
}

constexpr int kExecutionFailed = 6;

template <class T>
int size_of_decomposition(cusolverDnContext* /*handle*/, int /*wants_vectors*/, int /*upper*/, int n, const T* /*a*/,
                          int /*lda*/, const T* /*values*/, int* numbers) {
  *numbers = n * n + 32;
  return 0;
}

template <class T>
int decompose(cusolverDnContext* handle, int wants_vectors, int upper, int n, T* a, int lda, T* values, T* work,
              int numbers, int* info) {
  if (wants_vectors != 1 || n < 1 || lda != n || numbers < n * n + 32) return kInvalidValue;
  if (is_refused_beside_captures()) return kExecutionFailed;
  const auto body = [=](Block& block) {
    const std::int64_t size = std::int64_t{n} * n;
    std::fill_n(block.checked(work, numbers), numbers, T{-1});
    Eigen::Map<Matrix<T>> matrix(block.checked(a, size), n, n);
    const Matrix<T> lower = upper != 0 ? Matrix<T>(matrix.transpose()) : Matrix<T>(matrix);
    const Eigen::SelfAdjointEigenSolver<Matrix<T>> solver(lower);
    matrix = solver.eigenvectors();
    Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>>(block.checked(values, n), n) = solver.eigenvalues();
    block.store(info, solver.info() == Eigen::Success ? 0 : 1);
  };
  launch(one_thread(sizeof(T) == sizeof(float) ? "cusolver_f32" : "cusolver_f64", body), handle->stream);
  return 0;
}

/// Nothing is in it.
struct Parameters {};

int create_parameters(cusolverDnParams** parameters) {
  *parameters = reinterpret_cast<cusolverDnParams*>(new Parameters);
  return 0;
}

int destroy_parameters(cusolverDnParams* parameters) {
  delete reinterpret_cast<Parameters*>(parameters);
  return 0;
}

constexpr int kReal64 = 1;
constexpr std::size_t kHostBytes = 48;

std::size_t batch_bytes(std::int64_t n, int type, std::int64_t count) {
  return static_cast<std::size_t>((n * n + 32) * count) * (type == kReal64 ? 8 : 4);
}

int size_of_batch(cusolverDnContext* /*handle*/, cusolverDnParams* /*parameters*/, int /*wants_vectors*/, int /*upper*/,
                  std::int64_t n, int type, const void* /*a*/, std::int64_t /*lda*/, int /*type_of_values*/,
                  const void* /*values*/, int /*type_of_arithmetic*/, std::size_t* device_bytes,
                  std::size_t* host_bytes, std::int64_t count) {
  *device_bytes = batch_bytes(n, type, count);
  *host_bytes = kHostBytes;
  return 0;
}

template <class T>
int decompose_typed_batch(cusolverDnContext* handle, int upper, std::int64_t n, T* a, T* values, std::byte* device,
                          int* info, std::int64_t count) {
  const auto body = [=](Block& block) {
    const std::size_t bytes = batch_bytes(n, sizeof(T) == 8 ? kReal64 : 0, count);
    std::fill_n(block.checked(device, static_cast<std::int64_t>(bytes)), bytes, std::byte{0xff});
    for (std::int64_t k = 0; k < count; ++k) {
      Eigen::Map<Matrix<T>> matrix(block.checked(a + k * n * n, n * n), n, n);
      const Matrix<T> lower = upper != 0 ? Matrix<T>(matrix.transpose()) : Matrix<T>(matrix);
      const Eigen::SelfAdjointEigenSolver<Matrix<T>> solver(lower);
      matrix = solver.eigenvectors();
      Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>>(block.checked(values + k * n, n), n) = solver.eigenvalues();
      block.store(info + k, solver.info() == Eigen::Success ? 0 : 1);
    }
  };
  launch(one_thread(sizeof(T) == 4 ? "cusolver_f32_batched" : "cusolver_f64_batched", body), handle->stream);
  return 0;
}

int decompose_batch(cusolverDnContext* handle, cusolverDnParams* parameters, int wants_vectors, int upper,
                    std::int64_t n, int type, void* a, std::int64_t lda, int type_of_values, void* values,
                    int type_of_arithmetic, void* device, std::size_t device_bytes, void* host, std::size_t host_bytes,
                    int* info, std::int64_t count) {
  if (parameters == nullptr || wants_vectors != 1 || n < 1 || lda != n || type_of_values != type ||
      type_of_arithmetic != type || device_bytes < batch_bytes(n, type, count) || host_bytes < kHostBytes ||
      count < 1) {
    return kInvalidValue;
  }
  if (is_refused_beside_captures()) return kExecutionFailed;
  std::memset(host, 0xff, host_bytes);
  auto* work = static_cast<std::byte*>(device);
  return type == kReal64 ? decompose_typed_batch(handle, upper, n, static_cast<double*>(a),
                                                 static_cast<double*>(values), work, info, count)
                         : decompose_typed_batch(handle, upper, n, static_cast<float*>(a), static_cast<float*>(values),
                                                 work, info, count);
}

template <class Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

/// Libraries by soname, with their functions.
const std::map<std::string, std::map<std::string, void*>>& libraries() {
  static const std::map<std::string, std::map<std::string, void*>> all = {
      {"libcublas.so.13",
       {{"cublasCreate_v2", address_of(create<cublasContext>)},
        {"cublasDestroy_v2", address_of(destroy<cublasContext>)},
        {"cublasSetStream_v2", address_of(set_stream<cublasContext>)},
        {"cublasSetWorkspace_v2", address_of(set_workspace)},
        {"cublasSetMathMode", address_of(set_math_mode)},
        {"cublasGetProperty", address_of(property<13>)},
        {"cublasSgemmStridedBatched", address_of(multiply<float>)},
        {"cublasDgemmStridedBatched", address_of(multiply<double>)},
        {"cublasGemmStridedBatchedEx", address_of(multiply_typed)}}},
      {"libcusolver.so.12",
       {{"cusolverDnCreate", address_of(create<cusolverDnContext>)},
        {"cusolverDnDestroy", address_of(destroy<cusolverDnContext>)},
        {"cusolverDnSetStream", address_of(set_stream<cusolverDnContext>)},
        {"cusolverGetProperty", address_of(property<12>)},
        {"cusolverDnDsyevd_bufferSize", address_of(size_of_decomposition<double>)},
        {"cusolverDnDsyevd", address_of(decompose<double>)},
        {"cusolverDnSsyevd_bufferSize", address_of(size_of_decomposition<float>)},
        {"cusolverDnSsyevd", address_of(decompose<float>)},
        {"cusolverDnCreateParams", address_of(create_parameters)},
        {"cusolverDnDestroyParams", address_of(destroy_parameters)},
        {"cusolverDnXsyevBatched_bufferSize", address_of(size_of_batch)},
        {"cusolverDnXsyevBatched", address_of(decompose_batch)}}},
      {"libcuda.so.1", driver_symbols()},
      {"libnvrtc.so.13", nvrtc_symbols()},
      {"libnccl.so.2", nccl_symbols()}};
  return all;
}

std::set<std::string>& hidden() {
  static std::set<std::string> sonames;
  return sonames;
}

}  // namespace

void* library_symbol(const char* soname, const char* name) { return libraries().at(soname).at(name); }

}  // namespace gradstep::emulation

namespace gradstep::cuda {

[[gnu::visibility("default")]] void* open_shared_library(const char* soname, std::string& reason) {
  const auto& all = emulation::libraries();
  const auto found = all.find(soname);
  if (found != all.end() && !emulation::hidden().contains(soname))
    return const_cast<void*>(static_cast<const void*>(&found->second));
  reason = std::string(soname) + ": cannot open shared object file";
  return nullptr;
}

[[gnu::visibility("default")]] void* find_loaded_library(const char* /*soname*/) { return nullptr; }

[[gnu::visibility("default")]] std::string folder_of_library(void* /*library*/) { return ""; }

[[gnu::visibility("default")]] void* find_symbol(void* library, const char* name) {
  const auto& functions = *static_cast<const std::map<std::string, void*>*>(library);
  const auto found = functions.find(name);
  if (emulation::hidden().contains(name)) return nullptr;
  return found != functions.end() ? found->second : nullptr;
}

}  // namespace gradstep::cuda

/// From here on a library that has not been opened yet, or a function that has not been looked for, is not there; NULL
/// = all are again.
extern "C" __attribute__((visibility("default"))) void gradstep_cuda_emulation_hide(const char* soname) {
  if (soname == nullptr) {
    gradstep::emulation::hidden().clear();
  } else {
    gradstep::emulation::hidden().insert(soname);
  }
}
