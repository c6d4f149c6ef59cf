# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# The toolchain for macOS on another machine: clang as the Python package ziglang brings it, with LLVM's C++ runtime linked
# in. Nothing here runs what is built.
#
#   cmake -DCMAKE_TOOLCHAIN_FILE=cmake/macos.cmake -DGRADSTEP_ZIG=<site-packages>/ziglang/zig
#         -DGRADSTEP_MACOS_PROCESSOR=<arm64 or x86_64> -DGRADSTEP_DEPENDENCIES=FETCH ...

set(GRADSTEP_ZIG "$ENV{GRADSTEP_ZIG}" CACHE FILEPATH "The program zig of the Python package ziglang")
set(GRADSTEP_MACOS_PROCESSOR arm64 CACHE STRING "arm64 or x86_64")
if(NOT GRADSTEP_ZIG)
  message(FATAL_ERROR "GRADSTEP_ZIG, in the environment or by -D: not set")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GRADSTEP_ZIG GRADSTEP_MACOS_PROCESSOR)

set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR ${GRADSTEP_MACOS_PROCESSOR})
set(zig_processor ${GRADSTEP_MACOS_PROCESSOR})
if(zig_processor STREQUAL "arm64")
  set(zig_processor aarch64)
endif()
set(CMAKE_C_COMPILER ${GRADSTEP_ZIG} cc -target ${zig_processor}-macos.13.0)
set(CMAKE_CXX_COMPILER ${GRADSTEP_ZIG} c++ -target ${zig_processor}-macos.13.0)

set(GRADSTEP_CXX_RUNTIME_INSIDE ON)
set(CMAKE_USER_MAKE_RULES_OVERRIDE ${CMAKE_CURRENT_LIST_DIR}/macos_rules.cmake)
set(CMAKE_INSTALL_NAME_TOOL llvm-install-name-tool-19)

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
