/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * reducer.h: gradients of all ranks become one, in fused buckets.
 *
 * The plan is fixed at creation: parameters in reverse order (the order of back-propagation), split by dtype (f32 for
 * f32, f16 and bf16; f64 for f64); one with more than fuse_threshold elements is a bucket of its own, the others are
 * packed until a bucket holds more than the threshold; the first bucket closes at an eighth of it, so that the exchange
 * starts early. Its hash is compared across ranks at creation.
 *
 * All ranks get the same bits. A rank without a gradient for a parameter contributes zeros. With parameters flagged
 * MAY_BE_UNUSED or with average = WEIGHTED one control all-reduce of f64 [W, ranks with a gradient, touched ...] goes
 * with the buckets; else a window costs exactly one all-reduce per bucket. Source: SINGA DistOpt (plan, threshold),
 * PyTorch DDP (reverse order, small first bucket).
 */
#ifndef GRADSTEP_REDUCER_H
#define GRADSTEP_REDUCER_H

#include "gradstep/comm.h"
#include "gradstep/context.h"
#include "gradstep/tensor.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct gradstep_reducer gradstep_reducer;

/*
 * How the gradients of the ranks become one. Every mode gives all ranks the same bits, and the same bits on every
 * engine. docs/gradient_sync.md says which is for what.
 *
 * ADASUM_TREE, ADASUM_NWAY: gradients that agree are averaged, orthogonal ones added, for each parameter by itself. The
 * tree merges pairs, A(a, b) = (1 - a.b / (2 |a|^2)) a + (1 - a.b / (2 |b|^2)) b with a the lower rank's: first rank
 * r >= P' into r - P', where P' is the largest power of two in P, then rank i and i XOR d for d = 1, 2, 4, ... N-way
 * is sum_i g_i (1 - (g_i.S - |g_i|^2) / (P |g_i|^2)) with S = sum_j g_j. Dots are f64 over whole parameters, whatever
 * the buckets; a zero gradient's factor is 1. Never divides by P: average is UNSET or SUM. Source: Horovod (tree), Trax
 * (both).
 */
enum gradstep_reducer_mode {
  GRADSTEP_REDUCER_INVALID = -1,
  GRADSTEP_REDUCER_DENSE = 0,
  GRADSTEP_REDUCER_ADASUM_TREE = 5,
  GRADSTEP_REDUCER_ADASUM_NWAY = 6
};

typedef struct gradstep_reducer_options {
  uint32_t struct_size;
  int32_t mode;    /* enum gradstep_reducer_mode */
  int32_t average; /* enum gradstep_average */
  int32_t reserved;
  int64_t fuse_threshold; /* elements, >= 1; default 2097152 */
} gradstep_reducer_options;

/* One bucket of the plan; also the element of gradstep_reducer_stats. */
typedef struct gradstep_bucket_statistics {
  uint32_t struct_size;
  int32_t mode; /* enum gradstep_reducer_mode, what was chosen for this bucket */
  int64_t elements;
  int64_t parameters;
  int64_t exchanges;   /* since creation */
  int64_t bytes_dense; /* what one dense exchange of it sends per rank */
  int64_t bytes_sent;  /* since creation, by this rank */
  int64_t pack_nanoseconds;
  int64_t exchange_nanoseconds;
} gradstep_bucket_statistics;

/* Returns: INVALID_ARGUMENT. */
GRADSTEP_API gradstep_status gradstep_reducer_options_init(gradstep_reducer_options* o,
                                                           size_t struct_size) GRADSTEP_NOEXCEPT;

/*
 * Creates a reducer for the gradients of n parameters. Collective. It takes a channel of its own (gradstep_comm_dup),
 * so that comm can be shared or destroyed. Memory: one buffer of the arithmetic dtype per parameter. Returns:
 * INVALID_ARGUMENT, MISMATCH (the ranks' schemas or options differ; reported on every rank), and the errors of
 * collective calls.
 */
GRADSTEP_API gradstep_status gradstep_reducer_create(gradstep_context* context, gradstep_comm* comm,
                                                     const gradstep_reducer_options* options,
                                                     const gradstep_parameter* parameters, size_t n,
                                                     gradstep_reducer** out) GRADSTEP_NOEXCEPT;
/* Never blocks. */
GRADSTEP_API void gradstep_reducer_destroy(gradstep_reducer* reducer) GRADSTEP_NOEXCEPT;

/*
 * Reduces a whole window. Collective. grads[i] has the shape of parameter i and any float dtype (f64 only for f64);
 * data NULL contributes zeros. The outcome is written to results[i] (same shape, may be grads[i] itself; rounded to its
 * dtype) unless results or its data is NULL; gradstep_reducer_gradients shows it without a copy. `weight` (finite, >=
 * 0) matters for WEIGHTED. Where no rank had a gradient for a MAY_BE_UNUSED parameter, results[i] is left alone.
 * Returns: INVALID_ARGUMENT, INVALID_STATE (pushes of a window are pending), and the errors of collective calls, after
 * which grads and results are untouched.
 */
GRADSTEP_API gradstep_status gradstep_reducer_reduce(gradstep_reducer* reducer, const gradstep_tensor* grads,
                                                     const gradstep_tensor* results, size_t n, double weight,
                                                     void* stream) GRADSTEP_NOEXCEPT;

/*
 * The same one gradient at a time, as back-propagation produces them: begin (optional; weight 1 without it), push each
 * parameter at most once, wait. A bucket leaves when it is full and all earlier ones have left; at wait, parameters not
 * pushed count as NULL. grad is borrowed until wait. The ranks may push in different orders. An argument error
 * changes nothing; an error of the exchange is kept, later pushes return it, and wait returns it and ends the window.
 * Returns: INVALID_STATE for begin inside a window and for a second push of a parameter.
 */
GRADSTEP_API gradstep_status gradstep_reducer_begin(gradstep_reducer* reducer, double weight,
                                                    void* stream) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_reducer_push(gradstep_reducer* reducer, size_t index, const gradstep_tensor* grad,
                                                   void* stream) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_reducer_wait(gradstep_reducer* reducer, const gradstep_tensor* results, size_t n,
                                                   void* stream) GRADSTEP_NOEXCEPT;

/* Drops an open window. If a bucket has already left, the channel is aborted: peers get an error, not a hang. */
GRADSTEP_API gradstep_status gradstep_reducer_cancel(gradstep_reducer* reducer) GRADSTEP_NOEXCEPT;

/* tensors_out[i] = a view of the reduced gradient i inside its bucket, valid until the next window begins; data NULL
 * where no rank had one. Returns: INVALID_STATE before the first window and inside one. */
GRADSTEP_API gradstep_status gradstep_reducer_gradients(gradstep_reducer* reducer, gradstep_tensor* tensors_out,
                                                        size_t n) GRADSTEP_NOEXCEPT;

/* tensor_out = a view of f64[1]: the norm of the reduced gradients; computed in this call, once per window. */
GRADSTEP_API gradstep_status gradstep_reducer_norm(gradstep_reducer* reducer,
                                                   gradstep_tensor* tensor_out) GRADSTEP_NOEXCEPT;

/* Writes up to `capacity` records of record_size bytes, one per bucket in the order in which they leave; *count = how
 * many there are. records NULL only counts. */
GRADSTEP_API gradstep_status gradstep_reducer_stats(gradstep_reducer* reducer, gradstep_bucket_statistics* records,
                                                    size_t record_size, size_t capacity,
                                                    size_t* count) GRADSTEP_NOEXCEPT;

/* *stats = what the reducer's own channel has done. stats->struct_size is set by the caller. */
GRADSTEP_API gradstep_status gradstep_reducer_comm_stats(gradstep_reducer* reducer,
                                                         gradstep_comm_statistics* stats) GRADSTEP_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif /* GRADSTEP_REDUCER_H */
