# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# gradstep_with_tests: whether the tests are built. The library needs none of their packages, so GRADSTEP_BUILD_TESTS
# is AUTO unless somebody says else: tests that cannot be built are left out, and the log says so. ON makes it an error.

set(gradstep_with_tests OFF)
if(GRADSTEP_BUILD_TESTS STREQUAL "AUTO" OR GRADSTEP_BUILD_TESTS)
  find_package(GTest QUIET)
  find_package(cmocka QUIET)
  find_path(GRADSTEP_DLPACK_INCLUDE_DIR dlpack/dlpack.h)
  mark_as_advanced(GRADSTEP_DLPACK_INCLUDE_DIR)
  set(missing "")
  if(NOT GTest_FOUND)
    list(APPEND missing "GoogleTest (Debian: libgtest-dev)")
  endif()
  if(NOT cmocka_FOUND)
    list(APPEND missing "cmocka (Debian: libcmocka-dev)")
  endif()
  if(NOT GRADSTEP_DLPACK_INCLUDE_DIR)
    list(APPEND missing "DLPack's header (Debian: libdlpack-dev)")
  endif()
  list(JOIN missing ", " missing)
  if(NOT missing)
    set(gradstep_with_tests ON)
  elseif(GRADSTEP_BUILD_TESTS STREQUAL "AUTO")
    message(STATUS "NO TESTS will be built. Not found: ${missing}")
  else()
    message(FATAL_ERROR "GRADSTEP_BUILD_TESTS is ${GRADSTEP_BUILD_TESTS}. Not found: ${missing}")
  endif()
endif()
