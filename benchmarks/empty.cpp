// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A C++ library with one function: the yardstick of load_time.c.
extern "C" __attribute__((visibility("default"))) int bench_empty_cpp() { return 0; }
