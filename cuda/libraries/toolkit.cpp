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
  const char* nvrtc;
};

constexpr Release kReleases[] = {{13000, "libcublas.so.13", "libcusolver.so.12", "libnvrtc.so.13"},
                                 {12000, "libcublas.so.12", "libcusolver.so.11", "libnvrtc.so.12"}};

/// Libraries of releases that the driver can run, the newest first.
std::vector<const char*> sonames_of(const char* Release::* library) {
  int driver = 0;
  cudaDriverGetVersion(&driver);  // 0 = there is none, which others tell
  std::vector<const char*> sonames;
  for (const Release& release : kReleases) {
    if (driver == 0 || release.driver <= driver) sonames.push_back(release.*library);
  }
  return sonames;
}

}  // namespace

Library open_cublas() { return Library("cuBLAS", kNeededBy, sonames_of(&Release::cublas)); }

Library open_nvrtc() {
  std::vector<std::string> folders;
  for (const Release& release : kReleases) {
    void* const cublas = find_loaded_library(release.cublas);
    if (cublas == nullptr) continue;
    folders.push_back(folder_of_library(cublas));
    if (!folders.back().empty()) folders.push_back(folders.back() + "/../../cuda_nvrtc/lib");
  }
  return Library("NVRTC", "a rule that is written as text, on CUDA,", sonames_of(&Release::nvrtc), folders);
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
