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
 * MAY_BE_UNUSED, average = WEIGHTED, options.control = 1, or an updater whose accumulator skips non-finite
 * micro-batches, one control all-reduce of f64 [W, ranks with a gradient, touched ...] goes with the buckets. Else a
 * window of mode DENSE costs exactly one all-reduce per bucket, one of another mode what its exchanges need. Source:
 * SINGA DistOpt (plan, threshold), PyTorch DDP (reverse order, small first bucket).
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
 * How the gradients of the ranks become one. Every mode gives all ranks the same bits; and every mode but AUTO, which
 * chooses by measurement, gives the same bits on every engine that sums in the order of ranks. docs/gradient_sync.md
 * says which is for what.
 *
 * DENSE: the sum of everything, in the arithmetic dtype.
 *
 * HALF, BFLOAT16: clipped to +-clip_value, cast to 16 bits, summed as half_sum says, cast back: half the bytes. Source:
 * SINGA (half), PyTorch's compression hooks.
 *
 * SPARSE_THRESHOLD, SPARSE_TOPK: u = gradient + residual; every rank sends those u with |u| >= sparsity (zeros never),
 * or the k = ceil(sparsity n) largest of n, ties to the lowest index; the result is their sum over the ranks, and zero
 * elsewhere; the residual keeps what was not sent. Residuals are in units of the sum, this rank's own, start at zero,
 * and change only when a whole window has succeeded and its outcome is finite. Source: SINGA.
 *
 * ADASUM_TREE, ADASUM_NWAY: gradients that agree are averaged, orthogonal ones added, for each parameter by itself. The
 * tree merges pairs, A(a, b) = (1 - a.b / (2 |a|^2)) a + (1 - a.b / (2 |b|^2)) b with a the lower rank's: first rank
 * r >= P' into r - P', where P' is the largest power of two in P, then rank i and i XOR d for d = 1, 2, 4, ... N-way
 * is sum_i g_i (1 - (g_i.S - |g_i|^2) / (P |g_i|^2)) with S = sum_j g_j. Dots are over whole parameters, whatever the
 * buckets. Everything is computed in f64 and rounded to the arithmetic dtype, once in each merge of the tree, once in
 * all n-way. A zero gradient's factor is 1. Finite gradients of any length give the formula; a merge beyond the dtype's
 * largest number is infinite there; a NaN or an infinity on any rank makes NaNs of its whole parameter on all, and of
 * no other. Never divides by P: average is UNSET or SUM. Source: Horovod (tree), Trax (both).
 * Where comm has reduction_order HOSTS, the vectors are the hosts' means: g_h is the sum of the gradients of host h's
 * ranks, in their order, divided by their number, in the arithmetic dtype; hosts in the order of their first ranks, P
 * their number. One host: the mean of its ranks, as DENSE. Source: Horovod (hierarchical Adasum, of hosts of one size).
 *
 * POWERSGD: parameters of two and more dimensions, seen as matrices M of shape[0] rows, travel as factors: P = M Q,
 * summed and orthogonalised, then Q = M^T P, averaged; the result is P Q^T, and the residual M - P Q^T is added next
 * time. Q of the last window starts the next one. What `rank` columns would not make smaller travels densely. Source:
 * Vogels, Karimireddy, Jaggi 2019.
 *
 * INT8: u = gradient + residual travels in block codes: 8 bits for each element, and an f32 factor for each 256 of
 * them, a little more than a quarter of the bytes of DENSE. Each rank owns a piece of each bucket: it decodes all
 * ranks' u, sums them in f32, encodes the sum and sends it to all, which decode the same codes. The residual is what
 * the codes of this rank's u leave out and, in its own piece, what those of the sum leave out. It is in units of the
 * sum, starts at zero, and changes only when a whole window has succeeded and its outcome is finite. A gradient or a
 * sum that is not finite makes NaNs of its whole bucket, on all ranks. f32, f16 and bf16 parameters. Where comm sums by
 * hosts, u is summed in f32 inside each host, these sums travel between hosts in the ranks' stead, and residuals are
 * those of the ranks that sent them. Source: Dettmers 2015 (8-bit gradients), Seide et al. 2014 (error feedback).
 *
 * INT4, FP8_E4M3, FP8_E5M2: as INT8, in other codes. A block of elements shares the f32 factor a / m, a its largest
 * magnitude, and a code is the number of the format that is nearest to element / factor, to even at ties. INT4:
 * integers from -7 to 7, m = 7, blocks of 64; with factors a little more than an eighth of the bytes of DENSE. FP8:
 * 8-bit floating point, subnormal numbers included, blocks of 256; E4M3 has 3 bits of significand and m = 448, E5M2 has
 * 2 and m = 57344. A block without a magnitude of m 2^-100 counts as zeros; its elements stay in the residual. Source:
 * OCP 8-bit Floating Point Specification (OFP8) 1.0, Micikevicius et al. 2022 (FP8); QSGD, Alistarh et al. 2017 (few
 * bits and a factor).
 *
 * AUTO: one of options.candidates for each bucket, whichever a cost model says is the fastest here: DENSE, HALF or
 * SPARSE_TOPK unless others are asked for. SPARSE_TOPK, POWERSGD and the modes of codes, which change results by more
 * than rounding, only where they save the time of a round beside. A bucket that no candidate can carry (f64 by codes,
 * vectors by POWERSGD, more than 2^31 - 1 elements by SPARSE_TOPK) is dense. Latency, bandwidth and what a rank does by
 * itself are measured at creation, all ranks take the largest of what they found, and rank 0 chooses for all.
 * It stays: where the candidates allow it, gradstep_reducer_load and gradstep_updater_recover bring back the choice
 * that was made for the same buckets, with its residuals. gradstep_reducer_stats says what was chosen and what was
 * predicted.
 */
enum gradstep_reducer_mode {
  GRADSTEP_REDUCER_INVALID = -1,
  GRADSTEP_REDUCER_DENSE = 0,            /* everything */
  GRADSTEP_REDUCER_HALF = 1,             /* in f16 */
  GRADSTEP_REDUCER_BFLOAT16 = 2,         /* in bf16 */
  GRADSTEP_REDUCER_SPARSE_THRESHOLD = 3, /* what is as large as `sparsity` */
  GRADSTEP_REDUCER_SPARSE_TOPK = 4,      /* the largest, a fraction `sparsity` of all */
  GRADSTEP_REDUCER_ADASUM_TREE = 5,      /* Adasum of pairs */
  GRADSTEP_REDUCER_ADASUM_NWAY = 6,      /* Adasum of all ranks at once */
  GRADSTEP_REDUCER_POWERSGD = 7,         /* low-rank factors */
  GRADSTEP_REDUCER_AUTO = 8,             /* whichever is the fastest here, for each bucket */
  GRADSTEP_REDUCER_INT8 = 9,             /* in codes of 8 bits */
  GRADSTEP_REDUCER_INT4 = 10,            /* in integers of 4 bits */
  GRADSTEP_REDUCER_FP8_E4M3 = 11,        /* in floating point of 8 bits, 4 of them the exponent's */
  GRADSTEP_REDUCER_FP8_E5M2 = 12         /* in floating point of 8 bits, 5 of them the exponent's */
};

/* Flags of options.candidates beside 1 << mode. */
enum gradstep_candidate_flags {
  /* The sums of a bucket are by hosts or in the order of ranks, whichever is faster. comm has reduction_order HOSTS;
   * without this flag all its sums are by hosts. */
  GRADSTEP_CANDIDATE_HOSTS = 1 << 30
};

/* How mode HALF adds, always in the order of the ranks. */
enum gradstep_half_sum {
  GRADSTEP_HALF_SUM_INVALID = -1,
  GRADSTEP_HALF_SUM_F32 = 0,            /* in f32, divided there, rounded once */
  GRADSTEP_HALF_SUM_FP16 = 1,           /* every addition rounded to f16, divided after: overflows at 65504 (SINGA) */
  GRADSTEP_HALF_SUM_FP16_PREDIVIDED = 2 /* as FP16, divided before the cast (PyTorch); average MEAN only */
};

/* What a sparse mode selects from. */
enum gradstep_selection {
  GRADSTEP_SELECTION_INVALID = -1,
  GRADSTEP_SELECTION_BUCKET = 0, /* all elements of a bucket together (SINGA) */
  GRADSTEP_SELECTION_TENSOR = 1  /* each parameter by itself */
};

/* What a sparse mode does when gradient + residual is NaN. */
enum gradstep_nan_policy {
  GRADSTEP_NAN_INVALID = -1,
  GRADSTEP_NAN_ERROR = 0, /* the window fails with NUMERIC on all ranks, and changes nothing */
  GRADSTEP_NAN_ZERO = 1,  /* counts as zero; gradstep_reducer_stats says how many there were */
  GRADSTEP_NAN_SEND = 2   /* counts as the largest number there is: it goes out and is seen by all ranks */
};

/* How the selected elements reach the other ranks; the results have the same bits. */
enum gradstep_sparse_exchange {
  GRADSTEP_SPARSE_EXCHANGE_INVALID = -1,
  GRADSTEP_SPARSE_EXCHANGE_AUTO = 0,   /* whichever would have sent less for the last window of this bucket */
  GRADSTEP_SPARSE_EXCHANGE_GATHER = 1, /* every rank gets every selection: grows with the number of ranks */
  GRADSTEP_SPARSE_EXCHANGE_SPLIT = 2   /* each rank sums its share of the indices, then all get the sums */
};

/* What a sparse mode sends, and what it keeps. */
enum gradstep_error_feedback {
  GRADSTEP_ERROR_FEEDBACK_INVALID = -1,
  /* Sends of gradient + residual; keeps what was not sent (Seide et al. 2014, SINGA). */
  GRADSTEP_ERROR_FEEDBACK_EF14 = 0,
  /* Sends of the difference between the gradient and an estimate of it that all ranks together know; the result is the
   * sum of all estimates, dense. SPARSE_TOPK only, average not WEIGHTED (Richtarik, Sokolov, Fatkhullin 2021). */
  GRADSTEP_ERROR_FEEDBACK_EF21 = 1
};

typedef struct gradstep_reducer_options {
  uint32_t struct_size;
  int32_t mode;            /* enum gradstep_reducer_mode */
  int32_t average;         /* enum gradstep_average */
  int32_t control;         /* bool: every window has the control all-reduce */
  int64_t fuse_threshold;  /* elements, >= 1; default 2097152 */
  int64_t bucket_elements; /* room that a packed bucket may take: 0, the default, or >= 2 fuse_threshold, which none
                              exceeds */
  double clip_value;       /* HALF and BFLOAT16: >= 0; 0 = off, the default */
  int32_t half_sum;        /* enum gradstep_half_sum */
  int32_t residual;        /* bool, default 1; sparse modes and codes: 1 keeps what was not sent, 0 drops it */
  double sparsity;         /* the threshold (>= 0), or the fraction that is kept (0 < sparsity <= 1); default 0.05 */
  int32_t selection;       /* enum gradstep_selection */
  int32_t nan_policy;      /* enum gradstep_nan_policy */
  int32_t sparse_exchange; /* enum gradstep_sparse_exchange */
  int32_t error_feedback;  /* enum gradstep_error_feedback */
  /* SPARSE_TOPK: 0 <= momentum_correction < 1, 0 = off. v = momentum_correction v + gradient goes into the residual in
   * the gradient's stead, and v becomes zero where something is sent; the optimizer then needs no momentum. The
   * fraction that is sent falls from 1 to `sparsity` within warmup_steps windows: sparsity^((t+1)/(warmup_steps+1)) in
   * window t. Source: Deep Gradient Compression (Lin et al. 2018). */
  double momentum_correction;
  int64_t warmup_steps; /* >= 0 */
  int32_t rank;         /* POWERSGD: columns of the factors, >= 1, default 2 */
  int32_t candidates;   /* flags; AUTO: 1 << mode for DENSE, HALF, SPARSE_TOPK, POWERSGD, INT8, INT4 and FP8_*, no mode
                           = the first three; and enum gradstep_candidate_flags */
  /* Buckets that may be under way at once, each over a channel of its own, so that one bucket's bytes travel during
   * another one's delays. 0 to 16; 0 = four over engine gloo of at most 16 ranks, else one. One is used where exchanges
   * cannot overlap (see gradstep_reducer_push), and on a device. */
  int32_t channels;
  int32_t reserved;
} gradstep_reducer_options;

/* How the last exchange of a bucket went. */
enum gradstep_exchange_algorithm {
  GRADSTEP_EXCHANGE_INVALID = -1,
  GRADSTEP_EXCHANGE_NONE = 0,          /* there was none yet, or there is one rank */
  GRADSTEP_EXCHANGE_ALL_REDUCE = 1,    /* a sum of all elements */
  GRADSTEP_EXCHANGE_PIECES = 2,        /* each rank worked on its piece of all ranks' elements */
  GRADSTEP_EXCHANGE_GATHER = 3,        /* each rank got all ranks' elements */
  GRADSTEP_EXCHANGE_SPARSE_GATHER = 4, /* each rank got all ranks' selections */
  GRADSTEP_EXCHANGE_SPARSE_SPLIT = 5,  /* each rank summed its share of the selections */
  GRADSTEP_EXCHANGE_FACTORS = 6,       /* all-reduces of low-rank factors */
  GRADSTEP_EXCHANGE_SCATTER = 7        /* each rank got its slices of the sum (gradstep_optimizer_attach_reducer) */
};

/* One bucket of the plan; also the element of gradstep_reducer_stats. Times are since creation, in nanoseconds. */
typedef struct gradstep_bucket_statistics {
  uint32_t struct_size;
  int32_t mode; /* enum gradstep_reducer_mode, what was chosen for this bucket */
  int64_t elements;
  int64_t parameters;
  int64_t exchanges;   /* since creation */
  int64_t bytes_dense; /* what one dense exchange of it sends per rank */
  int64_t bytes_sent;  /* since creation, by this rank */
  int64_t pack_nanoseconds;
  int64_t exchange_nanoseconds; /* selection included */
  int64_t select_nanoseconds;   /* sparse modes: finding what is sent */
  int64_t selected;             /* sparse modes: elements that this rank has sent, since creation */
  int64_t nonfinite; /* since creation. HALF, BFLOAT16: elements of the sum that became infinite or NaN, of this rank's
                        share of it where it is scattered; sparse: NaNs dropped */
  int32_t algorithm; /* enum gradstep_exchange_algorithm */
  int32_t by_hosts;  /* bool: its sums are by hosts, see enum gradstep_reduction_order */
  /* AUTO: what the cost model says of one window, 0 = it was no candidate; sums by the faster of the allowed orders.
   * See there which was chosen. */
  int64_t predicted_dense_nanoseconds;
  int64_t predicted_half_nanoseconds;
  int64_t predicted_sparse_gather_nanoseconds;
  int64_t predicted_sparse_split_nanoseconds;
  int64_t wait_nanoseconds; /* that the host's thread waited for exchanges; what these took beyond it was hidden */
  int64_t predicted_int8_nanoseconds;
  int64_t predicted_powersgd_nanoseconds;
  int64_t predicted_int4_nanoseconds;
  int64_t predicted_fp8_nanoseconds; /* both forms send as much */
} gradstep_bucket_statistics;

/* Writes the defaults into the struct_size bytes at o. Returns: INVALID_ARGUMENT (o NULL, a bad struct_size). */
GRADSTEP_API gradstep_status gradstep_reducer_options_init(gradstep_reducer_options* o,
                                                           size_t struct_size) GRADSTEP_NOEXCEPT;

/*
 * Creates a reducer for the gradients of n parameters (n may be 0); options NULL = defaults. Collective. It takes a
 * channel of its own (gradstep_comm_dup), or several, so that comm can be shared or destroyed. Memory: one buffer of
 * the arithmetic dtype per parameter; sparse modes two, and one more for residuals; HALF and BFLOAT16 half of one more;
 * EF21 two and momentum correction two more; POWERSGD three and the factors; INT8, INT4 and FP8 three and the codes.
 * *out is the caller's to destroy. Returns: INVALID_ARGUMENT (an option outside its range or not for its mode or comm,
 * a bad schema), INVALID_STATE (comm is in use), UNSUPPORTED (a bucket of more than 2^31 - 1 elements in a sparse mode;
 * f64 with INT8, INT4 or FP8; the schema, see gradstep_parameter), BACKEND_UNAVAILABLE (the schema), MISMATCH (the
 * ranks' schemas or options differ; reported on every rank), OUT_OF_MEMORY, and the statuses of a collective call.
 */
GRADSTEP_API gradstep_status gradstep_reducer_create(gradstep_context* context, gradstep_comm* comm,
                                                     const gradstep_reducer_options* options,
                                                     const gradstep_parameter* parameters, size_t n,
                                                     gradstep_reducer** out) GRADSTEP_NOEXCEPT;

/* Gives the handle up. An exchange in progress is aborted; the call waits for nothing but a callback of a host's
 * communicator that is running. NULL is nothing. */
GRADSTEP_API void gradstep_reducer_destroy(gradstep_reducer* reducer) GRADSTEP_NOEXCEPT;

/*
 * Reduces a whole window. Collective: a window is reduced on all ranks, or pushed on all. grads[i] has the shape of
 * parameter i and any float dtype (f64 only for f64); data NULL contributes zeros. The outcome is written to results[i]
 * (same shape and float dtypes, may be grads[i] itself; rounded to its dtype) unless results or its data is NULL;
 * gradstep_reducer_gradients shows it without a copy. `weight` (finite, >= 0) matters for WEIGHTED: 0 (grads are not
 * read) or 2^-96 to 2^96 (f64: 2^-768 to 2^768). Where no rank had a gradient for a MAY_BE_UNUSED parameter,
 * results[i] is left alone.
 * A window whose outcome is not finite, or is not where it is rounded to results of 16 bits, leaves nothing behind:
 * residuals, velocities, estimates and factors stay what they were before it, on all ranks alike; dtypes of results are
 * therefore to be the same on all ranks.
 * Returns: INVALID_ARGUMENT (shape, dtype, device, n, weight), INVALID_STATE (pushes of a window are pending),
 * UNSUPPORTED (results of a reducer that serves gradstep_optimizer_attach_reducer), NUMERIC (NaN in a sparse mode with
 * NAN_ERROR), and the statuses of a collective call, after which grads, results and residuals are untouched.
 */
GRADSTEP_API gradstep_status gradstep_reducer_reduce(gradstep_reducer* reducer, const gradstep_tensor* grads,
                                                     const gradstep_tensor* results, size_t n, double weight,
                                                     void* stream) GRADSTEP_NOEXCEPT;

/*
 * gradstep_reducer_begin, gradstep_reducer_push and gradstep_reducer_wait do what gradstep_reducer_reduce does, one
 * gradient at a time, as back-propagation produces them: begin (optional; weight 1 without it), push each parameter at
 * most once, wait. A bucket leaves when it is full and all earlier ones have left: push starts its exchange on the
 * progress thread of the reducer's channel and returns, and the host computes the next gradient meanwhile. At wait,
 * parameters not pushed count as NULL; it returns when all buckets have been exchanged, and writes results as reduce
 * does (results NULL: none are written).
 *
 * On a device grad is borrowed until wait. On the CPU the exchange reads only what push has copied: grad may change as
 * soon as push has returned. The ranks may push in different orders; wait is collective. Exchanges run inside push and
 * wait, and push is collective, where nothing can overlap: one rank, a communicator made by gradstep_comm_split, MPI
 * without MPI_THREAD_MULTIPLE, and a host's collectives unless their vtable has any_thread, dup and abort.
 *
 * An argument error changes nothing. An error of the exchange is kept: pushes return it as soon as it is known, and
 * wait returns it and ends the window. With several channels a NUMERIC error is returned by wait alone. Each exchange
 * has the communicator's timeout, and none outlives that of wait.
 * Returns: INVALID_ARGUMENT (weight, index, shape, dtype, device, n), INVALID_STATE (begin inside a window; a second
 * push of a parameter), UNSUPPORTED (wait: results, as gradstep_reducer_reduce), NUMERIC (push and wait: NaN in a
 * sparse mode with NAN_ERROR), and the statuses of a collective call.
 */
GRADSTEP_API gradstep_status gradstep_reducer_begin(gradstep_reducer* reducer, double weight,
                                                    void* stream) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_reducer_push(gradstep_reducer* reducer, size_t index, const gradstep_tensor* grad,
                                                   void* stream) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_reducer_wait(gradstep_reducer* reducer, const gradstep_tensor* results, size_t n,
                                                   void* stream) GRADSTEP_NOEXCEPT;

/*
 * *done = 1 when no bucket that has left is still being exchanged: a gradstep_reducer_wait then has at most the buckets
 * to exchange that were not full. An exchange that has failed is over: wait returns its error. Not collective.
 * Returns: INVALID_ARGUMENT (done NULL), INVALID_STATE (in use).
 */
GRADSTEP_API gradstep_status gradstep_reducer_poll(gradstep_reducer* reducer, int32_t* done) GRADSTEP_NOEXCEPT;

/*
 * The gradients of the windows that follow are multiplied by `scale`, finite and > 0: a loss scaler's. Until the first
 * call it is 1. What a mode keeps between windows is multiplied by the quotient of this scale and the last one, in
 * place, exactly where that is a power of two (what would be infinite becomes the largest finite number), so that it
 * goes on in the units of the gradients that are to come. Without a change nothing is done. All ranks give the same
 * scale before the same window; it is not compared. Saved with the reducer: after gradstep_reducer_load it is that of
 * the file, 1 in files without one. Not collective.
 * Returns: INVALID_ARGUMENT (scale), INVALID_STATE (inside a window; in use), CALLBACK (parallel_for).
 */
GRADSTEP_API gradstep_status gradstep_reducer_set_loss_scale(gradstep_reducer* reducer, double scale) GRADSTEP_NOEXCEPT;

/*
 * Drops an open window; without one it does nothing. If a bucket has already left, the channel is aborted: peers get an
 * error, not a hang. Nothing of the window runs afterwards.
 * Returns: INVALID_ARGUMENT, INVALID_STATE (in use).
 */
GRADSTEP_API gradstep_status gradstep_reducer_cancel(gradstep_reducer* reducer) GRADSTEP_NOEXCEPT;

/*
 * tensors_out[i] = a view of the reduced gradient i inside its bucket, in the arithmetic dtype, valid until the next
 * window begins; data NULL where no rank had one.
 * Returns: INVALID_ARGUMENT (n is not the number of parameters), INVALID_STATE (before the first window, inside one, or
 * the last one failed), UNSUPPORTED (a reducer that serves gradstep_optimizer_attach_reducer).
 */
GRADSTEP_API gradstep_status gradstep_reducer_gradients(gradstep_reducer* reducer, gradstep_tensor* tensors_out,
                                                        size_t n, void* stream) GRADSTEP_NOEXCEPT;

/*
 * tensor_out = a view of f64[1]: the Euclidean norm of the reduced gradients of all parameters; computed in this call,
 * once per window, and valid until the next window begins. Not collective.
 * Returns: INVALID_ARGUMENT (tensor_out NULL), INVALID_STATE and UNSUPPORTED (as gradstep_reducer_gradients), CALLBACK
 * (parallel_for).
 */
GRADSTEP_API gradstep_status gradstep_reducer_norm(gradstep_reducer* reducer, gradstep_tensor* tensor_out,
                                                   void* stream) GRADSTEP_NOEXCEPT;

/*
 * tensor_out = a view of parameter `index`'s residual: this rank's, shaped as the parameter, in the bucket's dtype;
 * valid until the next window begins. The host may write to it.
 * Returns: INVALID_ARGUMENT (index out of range), INVALID_STATE (inside a window, or the mode keeps none).
 */
GRADSTEP_API gradstep_status gradstep_reducer_residual(gradstep_reducer* reducer, size_t index,
                                                       gradstep_tensor* tensor_out) GRADSTEP_NOEXCEPT;

/*
 * Writes up to `capacity` records of record_size bytes, one per bucket in the order in which they leave; *count = how
 * many there are. records NULL only counts.
 * Returns: INVALID_ARGUMENT (count NULL, a record_size that no version has), INVALID_STATE (in use).
 */
GRADSTEP_API gradstep_status gradstep_reducer_stats(gradstep_reducer* reducer, gradstep_bucket_statistics* records,
                                                    size_t record_size, size_t capacity,
                                                    size_t* count) GRADSTEP_NOEXCEPT;

/* *stats = what the reducer's own channels have done. stats->struct_size is set by the caller.
 * Returns: INVALID_ARGUMENT (stats NULL, a bad struct_size), INVALID_STATE (in use). */
GRADSTEP_API gradstep_status gradstep_reducer_comm_stats(gradstep_reducer* reducer,
                                                         gradstep_comm_statistics* stats) GRADSTEP_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif /* GRADSTEP_REDUCER_H */
