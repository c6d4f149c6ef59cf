// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the address sanitizer finds in programs whose threads are fibers. It would give each fiber a stack of its own
// for what outlives its function, by two system calls of megabytes for every thread of every block.
extern "C" const char* __asan_default_options();  // NOLINT(bugprone-reserved-identifier): the sanitizer's name
extern "C" const char* __asan_default_options() { return "detect_stack_use_after_return=0"; }
