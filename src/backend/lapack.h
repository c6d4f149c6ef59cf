// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Symmetric eigendecompositions (dsyevd, ssyevd) of a LAPACK that the user has named by its path.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gradstep {

/// Scratch of a thread.
template <class T>
struct LapackScratch {
  std::vector<T> numbers;
  std::vector<std::int64_t> integers;

  /// The least sizes of its documentation for an n x n matrix.
  static std::size_t numbers_for(std::int64_t n) { return static_cast<std::size_t>(1 + 6 * n + 2 * n * n); }
  static std::size_t integers_for(std::int64_t n) { return static_cast<std::size_t>(3 + 5 * n); }

  void reserve(std::int64_t n) {
    numbers.reserve(numbers_for(n));
    integers.reserve(integers_for(n));
  }
  std::size_t bytes() const { return numbers.capacity() * sizeof(T) + integers.capacity() * sizeof(std::int64_t); }
};

/// How many threads of its own a library uses; not every library says.
struct LapackThreads {
  int (*set)(int) = nullptr;  ///< returns what it was
  bool is_process_wide = false;
};

/// Callable from many threads at once, as far as the library is. It stays open until the process ends.
class Lapack {
 public:
  /// Throws BACKEND_UNAVAILABLE if there is no such library, or no symmetric eigensolver in it. Names may begin with
  /// "scipy_"; integers of 32 and of 64 bits are distinguished by a query.
  static std::shared_ptr<const Lapack> open(const std::string& path);

  /// Eigenvalues of a symmetric n x n matrix, ascending, and its eigenvectors in the rows of `vectors`. False if the
  /// iteration did not converge.
  template <class T>
  bool decompose(const T* a, std::int64_t n, T* values, T* vectors, LapackScratch<T>& scratch) const;

 private:
  using Solver = void (*)();

  template <class T>
  Solver solver() const;
  template <class T, class Integer>
  bool call(T* a, std::int64_t n, T* values, LapackScratch<T>& scratch) const;

  Solver dsyevd_ = nullptr;
  Solver ssyevd_ = nullptr;
  bool has_wide_integers_ = false;
  LapackThreads threads_;
};

extern template bool Lapack::decompose(const double*, std::int64_t, double*, double*, LapackScratch<double>&) const;
extern template bool Lapack::decompose(const float*, std::int64_t, float*, float*, LapackScratch<float>&) const;

}  // namespace gradstep
