// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The library's results are tested where a library is known to be: tests/python/test_lapack.py takes NumPy's own.
#include "backend/lapack.h"

#include "unit/support.h"

namespace gradstep::test {
namespace {

#if defined(_WIN32)
constexpr const char* kAnyLibrary = "kernel32.dll";
#else
constexpr const char* kAnyLibrary = "libc.so.6";
#endif

TEST(Lapack, AFileThatIsNotThereIsNamed) {
  expect_error(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "/nowhere/liblapack.so",
               [] { Lapack::open("/nowhere/liblapack.so"); });
  auto options = default_context_options();
  options.lapack_library = "/nowhere/liblapack.so";
  expect_error(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "options.lapack_library", [&] { Context{options}; });
}

TEST(Lapack, ALibraryWithoutAnEigensolverIsRefused) {
  expect_error(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "dsyevd_", [] { Lapack::open(kAnyLibrary); });
}

}  // namespace
}  // namespace gradstep::test
