/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/* empty.h: a call across a library's border that does nothing, with the arguments of gradstep_optimizer_step. */
#ifndef GRADSTEP_BENCHMARKS_EMPTY_H
#define GRADSTEP_BENCHMARKS_EMPTY_H

#include <stddef.h>
#include <stdint.h>

__attribute__((visibility("default"))) int32_t bench_empty(void* handle, const void* a, const void* b, size_t n,
                                                           void* stream);

#endif /* GRADSTEP_BENCHMARKS_EMPTY_H */
