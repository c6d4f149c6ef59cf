# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# The toolchain for Windows x86-64 on another machine: Debian's cross compiler of mingw-w64 with threads of POSIX. Its
# runtimes are linked in, so that what is built needs Windows alone. What is built runs by itself where wine is.
#
#   cmake -DCMAKE_TOOLCHAIN_FILE=cmake/windows.cmake -DGRADSTEP_DEPENDENCIES=FETCH ...

set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -static)
set(CMAKE_MODULE_LINKER_FLAGS_INIT -static)
set(CMAKE_SHARED_LINKER_FLAGS_RELEASE_INIT -s)  # without its table of symbols
set(CMAKE_MODULE_LINKER_FLAGS_RELEASE_INIT -s)

# Without WINEPREFIX wine works in a folder of the user's.
set(CMAKE_CROSSCOMPILING_EMULATOR env;WINEDEBUG=-all;WINEPREFIX=${CMAKE_BINARY_DIR}/wine;/usr/lib/wine/wine64)

# Libraries and headers come from there alone, programs from here.
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
