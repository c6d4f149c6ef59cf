// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Which of several cuBLAS and cuSOLVER a process gets, by the loader of the system: libraries of those names lie in
// folders as packages have them. Each test has a process of its own, for nothing that is loaded goes away.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "core/error.h"
#include "libraries/toolkit.h"

namespace {

int driver_version = 13000;

}  // namespace

cudaError_t cudaDriverGetVersion(int* version) {
  *version = driver_version;
  return cudaSuccess;
}

namespace gradstep::cuda {
namespace {

using Say = const char*();

std::string who(const Library& library) {
  Say* say = nullptr;
  library.find(say, "gradstep_test_library");
  return say();
}

/// As a package loads what it brings along.
void load(const char* file) {
  const std::string path = std::string(GRADSTEP_TEST_LIBRARIES) + '/' + file;
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) std::fprintf(stderr, "%s\n", dlerror());
}

/// What cuBLAS and cuSOLVER are, or the error's text.
std::string found() {
  try {
    const Library cublas = open_cublas();
    return who(cublas) + ", " + who(open_cusolver(cublas));
  } catch (...) {
    translate_exception();
    return last_error();
  }
}

/// In a new process, after `prepare`.
void expect_found(const char* expected, const std::function<void()>& prepare) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        prepare();
        std::fprintf(stderr, "found: %s.\n", found().c_str());
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), expected);
}

/// The loader's folders, of the processes to come.
void search_in(const char* folder) {
  if (folder == nullptr) {
    unsetenv("LD_LIBRARY_PATH");
  } else {
    setenv("LD_LIBRARY_PATH", (std::string(GRADSTEP_TEST_LIBRARIES) + '/' + folder).c_str(), 1);
  }
}

/// Has this machine one of that name by itself?
bool is_installed(const char* soname) { return dlopen(soname, RTLD_LAZY | RTLD_LOCAL) != nullptr; }

TEST(ToolkitDeathTest, CusolverIsFoundBesideTheCublasOfAPackageThatHasLoadedNoMore) {
  search_in(nullptr);
  expect_found("found: wheel's cuBLAS 13, wheel's cuSOLVER 12\\.", [] { load("wheel/cublas/lib/libcublas.so.13"); });
  expect_found("found: toolkit's cuBLAS 12, toolkit's cuSOLVER 11\\.", [] { load("toolkit/lib/libcublas.so.12"); });
}

TEST(ToolkitDeathTest, WhatIsLoadedGoesBeforeWhatIsNewer) {
  search_in("path");
  expect_found("found: toolkit's cuBLAS 12, toolkit's cuSOLVER 11\\.", [] { load("toolkit/lib/libcublas.so.12"); });
  expect_found("found: path's cuBLAS 13, path's cuSOLVER 12\\.", [] {});
  expect_found("found: path's cuBLAS 13, wheel's cuSOLVER 12\\.", [] { load("wheel/cusolver/lib/libcusolver.so.12"); });
}

TEST(ToolkitDeathTest, NothingIsTakenThatTheDriverIsTooOldFor) {
  search_in("path");
  expect_found("found: path's cuBLAS 12, toolkit's cuSOLVER 11\\.", [] {
    driver_version = 12080;
    load("toolkit/lib/libcusolver.so.11");
  });
}

TEST(ToolkitDeathTest, ACublasThatIsMissingIsNamed) {
  search_in(nullptr);
  if (is_installed("libcublas.so.13") || is_installed("libcublas.so.12")) GTEST_SKIP() << "this machine has one";
  expect_found("found: Shampoo on CUDA needs cuBLAS, which cannot be opened: libcublas.so.13: .*; libcublas.so.12: ",
               [] {});
}

TEST(ToolkitDeathTest, ACusolverThatIsMissingIsNamed) {
  search_in("path");
  if (is_installed("libcusolver.so.11")) GTEST_SKIP() << "this machine has one";
  expect_found("found: Shampoo on CUDA needs cuSOLVER, which cannot be opened: libcusolver.so.11: ",
               [] { driver_version = 12080; });
}

}  // namespace
}  // namespace gradstep::cuda
