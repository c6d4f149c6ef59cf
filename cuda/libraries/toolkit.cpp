// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "libraries/toolkit.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <vector>

namespace gradstep::cuda {

namespace {

constexpr const char* kNeededBy = "Shampoo on CUDA";

struct Release {
  int driver;  // that it needs, as cudaDriverGetVersion() counts
  const char* cublas;
  const char* cusolver;
};

constexpr Release kReleases[] = {{13000, "libcublas.so.13", "libcusolver.so.12"},
                                 {12000, "libcublas.so.12", "libcusolver.so.11"}};

}  // namespace

Library open_cublas() {
  int driver = 0;
  cudaDriverGetVersion(&driver);  // 0 = there is none, which others tell
  std::vector<const char*> sonames;
  for (const Release& release : kReleases) {
    if (driver == 0 || release.driver <= driver) sonames.push_back(release.cublas);
  }
  return Library("cuBLAS", kNeededBy, sonames);
}

const Library& cublas_library() {
  static const Library library = open_cublas();
  return library;
}

Library open_cusolver(const Library& cublas) {
  const Release* release =
      std::ranges::find_if(kReleases, [&](const Release& one) { return cublas.soname() == one.cublas; });
  const std::string folder = cublas.folder();
  const std::string folders[] = {folder, folder.empty() ? folder : folder + "/../../cusolver/lib"};
  return Library("cuSOLVER", kNeededBy, {&release->cusolver, 1}, folders);
}

}  // namespace gradstep::cuda
