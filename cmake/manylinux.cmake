# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# The toolchain of the wheels and of whatever else has to run on machines that are older than the one that builds: clang
# as the Python package ziglang brings it, against the symbols of glibc 2.28, with LLVM's C++ runtime linked in.
#
#   cmake -DCMAKE_TOOLCHAIN_FILE=cmake/manylinux.cmake -DGRADSTEP_ZIG=<site-packages>/ziglang/zig ...

set(GRADSTEP_ZIG "$ENV{GRADSTEP_ZIG}" CACHE FILEPATH "The program zig of the Python package ziglang")
if(NOT GRADSTEP_ZIG)
  message(FATAL_ERROR "GRADSTEP_ZIG, in the environment or by -D: not set")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GRADSTEP_ZIG)

set(CMAKE_C_COMPILER ${GRADSTEP_ZIG} cc -target ${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu.2.28)
set(CMAKE_CXX_COMPILER ${GRADSTEP_ZIG} c++ -target ${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu.2.28)
