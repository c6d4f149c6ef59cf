// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "libraries/cusolver.h"

#include "libraries/library.h"

namespace gradstep::cuda {

namespace {

constexpr int kVectors = 1;
constexpr int kUpper = 1;  // of columns: the lower half of rows

CusolverFunctions open_cusolver() {
  const Library library(CusolverFunctions::kLibrary, {"libcusolver.so.12", "libcusolver.so.11"});
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

void Cusolver::decompose(double* matrices, std::int64_t n, std::int64_t count, double* values, int* info,
                         CudaQueue& queue) {
  const OnDevice current(device());
  const auto extent = static_cast<int>(n);
  int numbers = 0;
  check(functions().size_of_decomposition(handle(), kVectors, kUpper, extent, matrices, extent, values, &numbers),
        "Dsyevd_bufferSize");
  use(queue, static_cast<std::size_t>(numbers) * sizeof(double));
  for (std::int64_t m = 0; m < count; ++m) {
    check(functions().decompose(handle(), kVectors, kUpper, extent, matrices + m * n * n, extent, values + m * n,
                                workspace().as<double>(), numbers, info + m),
          "Dsyevd");
  }
}

}  // namespace gradstep::cuda
