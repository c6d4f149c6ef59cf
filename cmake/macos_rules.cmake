# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# What CMake's own rules for macOS leave out on other systems, for macos.cmake. Libraries are found by rpaths. zig makes no
# bundles, so a module is linked as a library, which dlopen takes too.

set(CMAKE_SHARED_LIBRARY_RUNTIME_C_FLAG "-Wl,-rpath,")
set(CMAKE_SHARED_MODULE_CREATE_CXX_FLAGS -dynamiclib)
