// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/lapack.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "core/error.h"
#include "core/platform/dynamic_library.h"

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
  return platform::find_symbol(library, (std::string(naming.prefix) + name + naming.suffix).c_str());
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

/// While one lives, the library uses no threads of its own: with one matrix a thread they would only get in each
/// other's way. Where its setting is of the whole process, the last one to end restores it.
class OneThread {
 public:
  explicit OneThread(const LapackThreads& threads) : threads_(threads) {
    if (threads_.set == nullptr) return;
    const std::lock_guard lock(mutex());
    const int before = threads_.set(1);
    if (!threads_.is_process_wide) {
      before_ = before;
    } else if (Setting& setting = settings()[threads_.set]; setting.users++ == 0) {
      setting.before = before;
    }
  }
  ~OneThread() {
    if (threads_.set == nullptr) return;
    const std::lock_guard lock(mutex());
    if (!threads_.is_process_wide) {
      threads_.set(before_);
    } else if (Setting& setting = settings()[threads_.set]; --setting.users == 0) {
      threads_.set(setting.before);
    }
  }
  /// So that the first one to live takes no memory.
  static void prepare(const LapackThreads& threads) {
    if (threads.set == nullptr) return;
    const std::lock_guard lock(mutex());
    settings()[threads.set];
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  struct Setting {
    int users = 0;
    int before = 0;
  };

  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }
  /// By library. Never destroyed: threads may be at work when the process ends.
  static std::map<int (*)(int), Setting>& settings() {
    static auto* const settings = new std::map<int (*)(int), Setting>;
    return *settings;
  }

  const LapackThreads& threads_;
  int before_ = 0;
};

/// OpenBLAS's functions have the prefix and suffix of its BLAS, with or without the underscore between, or neither.
template <class Function>
Function find_openblas(void* library, const Naming& naming, const std::string& name) {
  const std::string prefixed = naming.prefix + name;
  for (const std::string& symbol : {prefixed + (naming.suffix + 1), prefixed + naming.suffix, name}) {
    if (void* found = platform::find_symbol(library, symbol.c_str())) return reinterpret_cast<Function>(found);
  }
  return nullptr;
}

LapackThreads threads_of(void* library, const Naming& naming) {
  constexpr int kOpenMp = 2;  // whose setting is the calling thread's
  const auto parallel = find_openblas<int (*)()>(library, naming, "openblas_get_parallel");
  return {find_openblas<int (*)(int)>(library, naming, "openblas_set_num_threads_local"),
          parallel == nullptr || parallel() != kOpenMp};
}

}  // namespace

std::shared_ptr<const Lapack> Lapack::open(const std::string& path) {
  void* library = platform::open_library(path);
  if (library == nullptr) {
    fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "options.lapack_library: '{}' cannot be opened: {}", path,
         platform::library_error());
  }
  auto lapack = std::make_shared<Lapack>();
  for (const Naming& naming : kNamings) {
    lapack->dsyevd_ = reinterpret_cast<Solver>(find(library, naming, "dsyevd"));
    lapack->ssyevd_ = reinterpret_cast<Solver>(find(library, naming, "ssyevd"));
    if (lapack->dsyevd_ == nullptr || lapack->ssyevd_ == nullptr) continue;
    lapack->has_wide_integers_ = writes_wide_integers(lapack->dsyevd_);
    lapack->threads_ = threads_of(library, naming);
    OneThread::prepare(lapack->threads_);
    return lapack;
  }
  platform::close_library(library);
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
  const std::size_t numbers = LapackScratch<T>::numbers_for(n);
  const std::size_t integers = LapackScratch<T>::integers_for(n);
  if (scratch.numbers.size() < numbers) scratch.numbers.resize(numbers);
  if (scratch.integers.size() < integers) scratch.integers.resize(integers);
  std::copy_n(a, n * n, vectors);
  const OneThread one_thread(threads_);
  return has_wide_integers_ ? call<T, std::int64_t>(vectors, n, values, scratch)
                            : call<T, std::int32_t>(vectors, n, values, scratch);
}

template bool Lapack::decompose(const double*, std::int64_t, double*, double*, LapackScratch<double>&) const;
template bool Lapack::decompose(const float*, std::int64_t, float*, float*, LapackScratch<float>&) const;

}  // namespace gradstep
