// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the address sanitizer finds in programs whose threads are fibers. It would give each fiber a stack of its own
// for what outlives its function, by two system calls of megabytes for every thread of every block.
// The names are the sanitizer's.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wreserved-identifier"
#endif
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_stack_use_after_return=0"; }
