// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What is used of cuSOLVER: symmetric eigendecompositions in f64 and f32, those of many matrices at once where the
// library has them (CUDA 12.6 Update 2 and later). Prototypes are those of its reference (cusolverDn.h); its headers
// are not needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libraries/handle.h"

// The library's handle.
struct cusolverDnContext;
struct cusolverDnParams;

namespace gradstep::cuda {

struct CusolverFunctions : HandleFunctions<cusolverDnContext> {
  static constexpr const char* kLibrary = "cuSOLVER";
  static constexpr const char* kPrefix = "cusolverDn";
  static constexpr int kOutOfMemory = 2;

  template <class T>
  struct Decomposition {
    int (*size)(Handle handle, int wants_vectors, int upper, int n, const T* a, int lda, const T* values, int* numbers);
    int (*run)(Handle handle, int wants_vectors, int upper, int n, T* a, int lda, T* values, T* work, int numbers,
               int* info);
  };
  Decomposition<double> decomposition_f64;
  Decomposition<float> decomposition_f32;
  /// NULL where the library does not have them. `type` is a cudaDataType of T's, for matrices, values and arithmetic.
  struct BatchedDecomposition {
    int (*create_parameters)(cusolverDnParams** parameters);
    int (*destroy_parameters)(cusolverDnParams* parameters);
    int (*size)(Handle handle, cusolverDnParams* parameters, int wants_vectors, int upper, std::int64_t n, int type,
                const void* a, std::int64_t lda, int type_of_values, const void* values, int type_of_arithmetic,
                std::size_t* device_bytes, std::size_t* host_bytes, std::int64_t count);
    int (*run)(Handle handle, cusolverDnParams* parameters, int wants_vectors, int upper, std::int64_t n, int type,
               void* a, std::int64_t lda, int type_of_values, void* values, int type_of_arithmetic, void* device,
               std::size_t device_bytes, void* host, std::size_t host_bytes, int* info, std::int64_t count);
  } batched;
};

/// The process's own. Throws BACKEND_UNAVAILABLE where there is no cuSOLVER.
const CusolverFunctions& cusolver_functions();

class Cusolver : public LibraryHandle<CusolverFunctions> {
 public:
  explicit Cusolver(int device);
  ~Cusolver();
  Cusolver(const Cusolver&) = delete;
  Cusolver& operator=(const Cusolver&) = delete;

  /// `count` symmetric n x n matrices side by side are replaced by their eigenvectors, one in each row; `values`
  /// (count, n), ascending; `info` (count): 0 where the iteration has converged. May wait for the device.
  template <class T>
  void decompose(T* matrices, std::int64_t n, std::int64_t count, T* values, int* info, CudaQueue& queue);

 private:
  template <class T>
  void decompose_at_once(T* matrices, std::int64_t n, std::int64_t count, T* values, int* info, CudaQueue& queue);

  cusolverDnParams* parameters_ = nullptr;  // NULL = one matrix after the other
  std::vector<std::byte> host_workspace_;
};

}  // namespace gradstep::cuda
