/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * accumulator.h: one sum per parameter over the micro-batches of a window.
 *
 * A window is OPEN until its trigger fires or the host flushes it, then READY: the result stands in the accumulator's
 * own buffers until the next add, which opens a new window by assigning (there is no zeroing pass).
 *
 *   mode          after each add           result              known as
 *   sum           a += g                   a                   PyTorch's .grad, no_sync
 *   mean_each     a += g / K               a  (x K/m if only m < K were added)   Lingvo, the JAX recipe
 *   mean          a += g                   a / m
 *   running_mean  a += (g - a) / (k + 1)   a                   optax.MultiSteps
 *   weighted      a += w * g, W += w       a / W               token weights
 *
 * m counts the micro-batches that were really added; each add is one. A parameter without a gradient in a micro-batch
 * counts as zero there. A weighted window of total weight 0 has the result 0.
 *
 * Not collective: an accumulator is its rank's own.
 */
#ifndef GRADSTEP_ACCUMULATOR_H
#define GRADSTEP_ACCUMULATOR_H

#include "gradstep/context.h"
#include "gradstep/schedule.h"
#include "gradstep/tensor.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct gradstep_accumulator gradstep_accumulator;

enum gradstep_accumulation_mode {
  GRADSTEP_ACCUMULATE_INVALID = -1,
  GRADSTEP_ACCUMULATE_MEAN_EACH = 0,    /* a += g / K */
  GRADSTEP_ACCUMULATE_SUM = 1,          /* a += g */
  GRADSTEP_ACCUMULATE_MEAN = 2,         /* a += g, divided by m at the end */
  GRADSTEP_ACCUMULATE_RUNNING_MEAN = 3, /* a += (g - a) / (k + 1) */
  GRADSTEP_ACCUMULATE_WEIGHTED = 4      /* a += w g, divided by the sum of weights at the end */
};

enum gradstep_accumulation_trigger {
  GRADSTEP_TRIGGER_INVALID = -1,
  GRADSTEP_TRIGGER_STEPS = 0,      /* K = steps micro-batches */
  GRADSTEP_TRIGGER_SCHEDULE = 1,   /* K = the schedule's value at the number of finished windows, rounded to nearest */
  GRADSTEP_TRIGGER_MIN_WEIGHT = 2, /* the sum of the adds' weights reaches min_weight; not with mean_each */
  GRADSTEP_TRIGGER_MANUAL = 3      /* only gradstep_accumulator_flush ends a window; not with mean_each */
};

enum gradstep_nonfinite_policy {
  GRADSTEP_NONFINITE_INVALID = -1,
  GRADSTEP_NONFINITE_NONE = 0,   /* infinities and NaNs are summed like any number */
  GRADSTEP_NONFINITE_POISON = 1, /* as NONE, and gradstep_accumulator_norm of the window says NaN or infinity */
  GRADSTEP_NONFINITE_SKIP = 2    /* a micro-batch whose norm is not finite is not added: an element is not, or the
                                    sum of squares, in f64, overflows; costs one read of it */
};

typedef struct gradstep_accumulator_options {
  uint32_t struct_size;
  int32_t mode;                      /* enum gradstep_accumulation_mode, default MEAN_EACH */
  int32_t trigger;                   /* enum gradstep_accumulation_trigger, default STEPS */
  int32_t nonfinite;                 /* enum gradstep_nonfinite_policy, default NONE */
  int64_t steps;                     /* K >= 1 for STEPS; default 1 */
  double min_weight;                 /* > 0 for MIN_WEIGHT */
  const gradstep_schedule* schedule; /* for SCHEDULE; values >= 0.5; copied */
  gradstep_dtype dtype;              /* {0,0,0} = f32, and f64 for f64 gradients; else f32 or f64 for all */
  int32_t keep_sums;                 /* bool: gradstep_accumulator_sums stays valid in READY, see there */
} gradstep_accumulator_options;

/* Sparse rows of one parameter (TensorFlow's IndexedSlices): row indices[j] of the parameter's first axis += values[j].
 * `indices` is int32 or int64 of shape (r), `values` has the shape (r, parameter.shape[1:]). Repeated indices add up.
 */
typedef struct gradstep_rows {
  uint32_t struct_size;
  int32_t reserved;
  int64_t parameter; /* index in the schema */
  const gradstep_tensor* indices;
  const gradstep_tensor* values;
} gradstep_rows;

/* Writes the defaults into the struct_size bytes at o. Returns: INVALID_ARGUMENT (o NULL, a bad struct_size). */
GRADSTEP_API gradstep_status gradstep_accumulator_options_init(gradstep_accumulator_options* o,
                                                               size_t struct_size) GRADSTEP_NOEXCEPT;

/*
 * Creates an accumulator for n parameters (n may be 0); options NULL = defaults. Memory: one buffer of the
 * accumulator's dtype per parameter. *out is the caller's to destroy.
 * Returns: INVALID_ARGUMENT (a NULL, steps < 1, min_weight not above 0, a bad enum, an unknown dtype, SCHEDULE without
 * a schedule, mean_each without a K, f32 sums of f64 parameters, a bad schema), UNSUPPORTED and BACKEND_UNAVAILABLE
 * (the schema, see gradstep_parameter), OUT_OF_MEMORY.
 */
GRADSTEP_API gradstep_status gradstep_accumulator_create(gradstep_context* context,
                                                         const gradstep_accumulator_options* options,
                                                         const gradstep_parameter* parameters, size_t n,
                                                         gradstep_accumulator** out) GRADSTEP_NOEXCEPT;

/* Gives the handle up; views of its buffers end with the last use (an updater may keep it). NULL is nothing. */
GRADSTEP_API void gradstep_accumulator_destroy(gradstep_accumulator* accumulator) GRADSTEP_NOEXCEPT;

/*
 * Adds one micro-batch: grads[i] has the shape and device of parameter i and any float dtype (f64 only into f64).
 * grads[i].data NULL (with elements) = no gradient for parameter i this time. `weight` is finite and >= 0; it counts in
 * mode WEIGHTED, where it is 0 (grads are not read) or 2^-64 to 2^64 (f64: 2^-512 to 2^512), and for MIN_WEIGHT.
 * *ready_out (may be NULL) = 1 when this add ended the window, else 0. The gradients'
 * squared norm and finiteness are gathered in the last add itself.
 * Returns: INVALID_ARGUMENT (shape, dtype, device, n, weight; nothing is added), INVALID_STATE (in use; or an earlier
 * call was broken off, see below), CALLBACK (the schedule of window lengths: nothing is added; or parallel_for),
 * NUMERIC (the schedule of window lengths gives no number from 1 to 1e15: nothing is added). After a parallel_for that
 * failed, the window is neither added to nor read nor saved (INVALID_STATE) until reset drops it or another is loaded.
 * Source: PyTorch no_sync, Lingvo GradientAggregationOptimizer, optax.MultiSteps.
 */
GRADSTEP_API gradstep_status gradstep_accumulator_add(gradstep_accumulator* accumulator, const gradstep_tensor* grads,
                                                      size_t n, double weight, void* stream,
                                                      int32_t* ready_out) GRADSTEP_NOEXCEPT;

/*
 * gradstep_accumulator_add with n_rows sparse rows, which belong to this micro-batch and are read during the call.
 * grads may be NULL with n = 0: rows alone.
 * Returns: INVALID_ARGUMENT (as add; a parameter that the schema does not have or that has no dimensions; indices of
 * another dtype than int32 and int64, or outside the parameter: the text names the row; values of another shape or no
 * float dtype, or f64 into f32 sums; nothing is added), INVALID_STATE, CALLBACK, NUMERIC (as add).
 */
GRADSTEP_API gradstep_status gradstep_accumulator_add_ex(gradstep_accumulator* accumulator,
                                                         const gradstep_tensor* grads, size_t n,
                                                         const gradstep_rows* rows, size_t n_rows, double weight,
                                                         void* stream, int32_t* ready_out) GRADSTEP_NOEXCEPT;

/*
 * Ends a partial window: the result is divided by what was really added (mean_each: multiplied by K/m). *ready_out
 * (may be NULL) = 1 if there is a result; an empty window is OK and not ready; a READY window stays as it is.
 * Returns: INVALID_ARGUMENT, INVALID_STATE (in use; or a call was broken off, see add), CALLBACK (parallel_for).
 */
GRADSTEP_API gradstep_status gradstep_accumulator_flush(gradstep_accumulator* accumulator, void* stream,
                                                        int32_t* ready_out) GRADSTEP_NOEXCEPT;

/* Drops the window: OPEN and empty. Counters of finished windows stay. Returns: INVALID_ARGUMENT, INVALID_STATE (in
 * use). */
GRADSTEP_API gradstep_status gradstep_accumulator_reset(gradstep_accumulator* accumulator,
                                                        void* stream) GRADSTEP_NOEXCEPT;

/*
 * tensors_out[i] = a view of the result of parameter i in the accumulator's dtype, writable by the host, valid from
 * READY to the next add or reset; the address stays the same until destroy. data is NULL where no micro-batch of the
 * window had a gradient.
 * Returns: INVALID_ARGUMENT (n is not the number of parameters), INVALID_STATE (the window is OPEN; or a call was
 * broken off, see add), CALLBACK (parallel_for, in the division pass of keep_sums).
 */
GRADSTEP_API gradstep_status gradstep_accumulator_gradients(gradstep_accumulator* accumulator,
                                                            gradstep_tensor* tensors_out, size_t n,
                                                            void* stream) GRADSTEP_NOEXCEPT;

/*
 * tensors_out[i] = a view of the undivided sum in the accumulator's dtype: sum g, or sum w * g in mode WEIGHTED. Always
 * valid while OPEN; in READY valid with the option keep_sums until gradstep_accumulator_gradients is called, which then
 * makes the division pass. data is NULL where no micro-batch had a gradient.
 * Returns: INVALID_ARGUMENT (n is not the number of parameters), INVALID_STATE (the sums are divided; or a call was
 * broken off, see add), UNSUPPORTED (mean_each and running_mean keep no such sum).
 */
GRADSTEP_API gradstep_status gradstep_accumulator_sums(gradstep_accumulator* accumulator, gradstep_tensor* tensors_out,
                                                       size_t n, void* stream) GRADSTEP_NOEXCEPT;

/* *weight = the window's divisor: sum of weights in mode WEIGHTED, else the number of micro-batches added.
 * Returns: INVALID_ARGUMENT (weight NULL), INVALID_STATE (in use). */
GRADSTEP_API gradstep_status gradstep_accumulator_weight(gradstep_accumulator* accumulator,
                                                         double* weight) GRADSTEP_NOEXCEPT;

/*
 * tensor_out = a view of f64[1] on the gradients' device: the Euclidean norm over the results of all parameters;
 * infinite or NaN if any element is. Valid from READY to the next add or reset.
 * Returns: INVALID_ARGUMENT (tensor_out NULL), INVALID_STATE (the window is OPEN).
 */
GRADSTEP_API gradstep_status gradstep_accumulator_norm(gradstep_accumulator* accumulator, gradstep_tensor* tensor_out,
                                                       void* stream) GRADSTEP_NOEXCEPT;

/* *count = micro-batches in the window (skipped ones not counted).
 * Returns: INVALID_ARGUMENT (count NULL), INVALID_STATE (in use). */
GRADSTEP_API gradstep_status gradstep_accumulator_count(gradstep_accumulator* accumulator,
                                                        int64_t* count) GRADSTEP_NOEXCEPT;

/* *skipped = micro-batches skipped by GRADSTEP_NONFINITE_SKIP since creation.
 * Returns: INVALID_ARGUMENT (skipped NULL), INVALID_STATE (in use). */
GRADSTEP_API gradstep_status gradstep_accumulator_skipped(gradstep_accumulator* accumulator,
                                                          int64_t* skipped) GRADSTEP_NOEXCEPT;

/* *done = 1 when no add, flush or reset is under way: buffers that they were given are the host's again. On CPU always.
 * Returns: INVALID_ARGUMENT (done NULL), INVALID_STATE (in use). */
GRADSTEP_API gradstep_status gradstep_accumulator_poll(gradstep_accumulator* accumulator,
                                                       int32_t* done) GRADSTEP_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif /* GRADSTEP_ACCUMULATOR_H */
