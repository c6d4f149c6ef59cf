# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# The toolchain for 64-bit ARM on another machine: Debian's cross compiler, against a folder with the libraries and
# headers of that architecture. What is built runs by itself where the emulator of qemu-user is.
#
#   cmake -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake -DGRADSTEP_SYSROOT=<folder> ...
#
# scripts/test aarch64 makes such a folder of Debian's packages.

set(GRADSTEP_SYSROOT "$ENV{GRADSTEP_SYSROOT}" CACHE PATH "A Debian system for arm64: usr/include and usr/lib are used")
if(NOT GRADSTEP_SYSROOT)
  message(FATAL_ERROR "GRADSTEP_SYSROOT, in the environment or by -D: not set")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GRADSTEP_SYSROOT)

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_SYSROOT ${GRADSTEP_SYSROOT})
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;${GRADSTEP_SYSROOT})

# Libraries and headers come from there alone, programs from here.
set(CMAKE_FIND_ROOT_PATH ${GRADSTEP_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
