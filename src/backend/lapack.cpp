// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/lapack.h"

#include <dlfcn.h>

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace gradstep {

namespace {

/// Fortran: every argument by address, the lengths of characters behind.
template <class T, class Integer>
using SymmetricSolver = void (*)(const char* job, const char* triangle, const Integer* n, T* a, const Integer* lda,
                                 T* values, T* work, const Integer* work_size, Integer* integers,
                                 const Integer* integers_size, Integer* info, std::size_t job_length,
                                 std::size_t triangle_length);

struct Naming {
  const char* prefix;
  const char* suffix;
};

constexpr Naming kNamings[] = {{"", "_"}, {"scipy_", "_"}, {"", "_64_"}, {"scipy_", "_64_"}};

void* find(void* library, const Naming& naming, const char* name) {
  return dlsym(library, (std::string(naming.prefix) + name + naming.suffix).c_str());
}

/// A query of workspace sizes writes zero to info: all of its 64 bits, or the lower half.
bool writes_wide_integers(void (*dsyevd)()) {
  const std::int64_t n = 2;
  const std::int64_t query = -1;
  std::int64_t info = -1;
  std::int64_t integers = 0;
  double work = 0;
  double a[4] = {};
  double values[2] = {};
  const auto solve = reinterpret_cast<SymmetricSolver<double, std::int64_t>>(dsyevd);
  solve("V", "U", &n, a, &n, values, &work, &query, &integers, &query, &info, 1, 1);
  return info == 0;
}

template <class T>
void transpose(T* a, std::int64_t n) {
  constexpr std::int64_t kTile = 16;
  for (std::int64_t i0 = 0; i0 < n; i0 += kTile) {
    for (std::int64_t j0 = 0; j0 <= i0; j0 += kTile) {
      for (std::int64_t i = i0; i < std::min(n, i0 + kTile); ++i) {
        for (std::int64_t j = j0; j < std::min(i, j0 + kTile); ++j) std::swap(a[i * n + j], a[j * n + i]);
      }
    }
  }
}

}  // namespace

std::shared_ptr<const Lapack> Lapack::open(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "options.lapack_library: '{}' cannot be opened: {}", path, dlerror());
  }
  auto lapack = std::make_shared<Lapack>();
  for (const Naming& naming : kNamings) {
    lapack->dsyevd_ = reinterpret_cast<Solver>(find(library, naming, "dsyevd"));
    lapack->ssyevd_ = reinterpret_cast<Solver>(find(library, naming, "ssyevd"));
    if (lapack->dsyevd_ == nullptr || lapack->ssyevd_ == nullptr) continue;
    lapack->has_wide_integers_ = writes_wide_integers(lapack->dsyevd_);
    const std::string set_threads = std::string(naming.prefix) + "openblas_set_num_threads_local" + (naming.suffix + 1);
    lapack->set_local_threads_ = reinterpret_cast<int (*)(int)>(dlsym(library, set_threads.c_str()));
    return lapack;
  }
  dlclose(library);
  fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "options.lapack_library: '{}' has no dsyevd_ and ssyevd_", path);
}

template <>
Lapack::Solver Lapack::solver<double>() const {
  return dsyevd_;
}
template <>
Lapack::Solver Lapack::solver<float>() const {
  return ssyevd_;
}

template <class T, class Integer>
bool Lapack::call(T* a, std::int64_t n, T* values, LapackScratch<T>& scratch) const {
  const auto size = static_cast<Integer>(n);
  const auto work = static_cast<Integer>(scratch.numbers.size());
  const auto integers = static_cast<Integer>(scratch.integers.size());
  Integer info = 0;
  const auto solve = reinterpret_cast<SymmetricSolver<T, Integer>>(solver<T>());
  solve("V", "U", &size, a, &size, values, scratch.numbers.data(), &work,
        reinterpret_cast<Integer*>(scratch.integers.data()), &integers, &info, 1, 1);
  return info == 0;
}

template <class T>
bool Lapack::decompose(const T* a, std::int64_t n, T* values, T* vectors, LapackScratch<T>& scratch) const {
  // The least sizes of its documentation.
  const auto numbers = static_cast<std::size_t>(1 + 6 * n + 2 * n * n);
  const auto integers = static_cast<std::size_t>(3 + 5 * n);
  if (scratch.numbers.size() < numbers) scratch.numbers.resize(numbers);
  if (scratch.integers.size() < integers) scratch.integers.resize(integers);
  std::copy_n(a, n * n, vectors);
  // One matrix a thread: the library's own threads would only get in each other's way.
  const int threads = set_local_threads_ != nullptr ? set_local_threads_(1) : 0;
  const bool converged = has_wide_integers_ ? call<T, std::int64_t>(vectors, n, values, scratch)
                                            : call<T, std::int32_t>(vectors, n, values, scratch);
  if (set_local_threads_ != nullptr) set_local_threads_(threads);
  transpose(vectors, n);  // from columns one after the other
  return converged;
}

template bool Lapack::decompose(const double*, std::int64_t, double*, double*, LapackScratch<double>&) const;
template bool Lapack::decompose(const float*, std::int64_t, float*, float*, LapackScratch<float>&) const;

}  // namespace gradstep
