/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A library in the place of cuBLAS or cuSOLVER, which says who it is. */
__attribute__((visibility("default"))) const char* gradstep_test_library(void);

const char* gradstep_test_library(void) { return GRADSTEP_TEST_LIBRARY; }
