/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * optimizer.h: update rules on the host's own parameters.
 *
 * t counts applied steps and is 0 in the first. Every double field of an options struct is a hyper-parameter: the
 * value it has at creation is a constant for all groups; gradstep_optimizer_set_value and _set_schedule change it by
 * its field name, per group. A weight_decay or momentum that is the constant 0 (or an exponential decay from 0) is
 * absent: it costs nothing and keeps no buffer. Arithmetic is f32 for f32, f16 and bf16 parameters and f64 for f64
 * ones.
 *
 * In a step the gradient that a rule sees is clip(g * grad_scale * c, +-clip_value), negated under maximize, where c =
 * min(1, max_norm / (|grad_scale| * norm + 1e-6)) if max_norm > 0 (PyTorch's clip_grad_norm_), else 1.
 */
#ifndef GRADSTEP_OPTIMIZER_H
#define GRADSTEP_OPTIMIZER_H

#include "gradstep/comm.h"
#include "gradstep/context.h"
#include "gradstep/schedule.h"
#include "gradstep/tensor.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct gradstep_optimizer gradstep_optimizer;

/* How state tensors are stored. f64 parameters take NATIVE only. */
enum gradstep_state_dtype {
  GRADSTEP_STATE_DTYPE_INVALID = -1,
  GRADSTEP_STATE_DTYPE_NATIVE = 0, /* f32; f64 for f64 parameters */
  GRADSTEP_STATE_DTYPE_BF16 = 1,
  /* One byte an element: an index into a table of 256 numbers between -1 and 1 (0 and 1 for sums of squares), spaced
     as in Dettmers et al. 2022 ("8-bit optimizers via block-wise quantization"), and one f32 factor for each
     block of 256 elements, the one of largest magnitude, which is kept exactly. */
  GRADSTEP_STATE_DTYPE_INT8 = 2
};

enum gradstep_epsilon_placement {
  GRADSTEP_EPSILON_PLACEMENT_INVALID = -1,
  GRADSTEP_EPSILON_PLACEMENT_INSIDE = 0, /* g / sqrt(a + epsilon): SINGA */
  GRADSTEP_EPSILON_PLACEMENT_OUTSIDE = 1 /* g / (sqrt(a) + epsilon): PyTorch */
};

enum gradstep_sgd_first_step {
  GRADSTEP_SGD_FIRST_STEP_INVALID = -1,
  GRADSTEP_SGD_FIRST_STEP_DAMPEN = 0, /* SINGA: the buffer starts at 0 and the first gradient is dampened too */
  GRADSTEP_SGD_FIRST_STEP_COPY = 1    /* PyTorch: the first gradient is copied into the buffer */
};

enum gradstep_bias_correction {
  GRADSTEP_BIAS_CORRECTION_INVALID = -1,
  GRADSTEP_BIAS_CORRECTION_STANDARD = 0,
  GRADSTEP_BIAS_CORRECTION_TF = 1 /* TensorFlow and Lingvo: epsilon joins sqrt(v) before the correction */
};

/*
 * Fields that all rules share:
 *
 * master_weights: 1 keeps an f32 copy of every f16 and bf16 parameter as state "master_weights"; the rule steps it and
 * the parameter is its rounded value. Where the host has changed a parameter since the last step, the parameter counts
 * and its master follows. f32 and f64 parameters need none. gradstep_optimizer_update is UNSUPPORTED with it.
 *
 * stochastic_rounding: 1 rounds what is stored in 16 bits (f16 and bf16 parameters without a master, BF16 state) up or
 * down with probabilities that make the expected value exact. The random bits depend on (seed, parameter name, element,
 * t) alone: a run can be repeated on any number of threads and ranks. `update` rounds its deltas to nearest.
 */

/*
 * SGD. g += weight_decay * p; with momentum: b = momentum * b + (1 - dampening) * g, d = g + momentum * b if nesterov
 * else b; p -= learning_rate * d. State "momentum_buffer". Source: SINGA opt.py.
 */
typedef struct gradstep_sgd_options {
  uint32_t struct_size;
  int32_t nesterov;     /* needs momentum > 0 and dampening = 0 */
  double learning_rate; /* must be set */
  double momentum;      /* >= 0, default 0 */
  double dampening;     /* default 0; ignored without momentum */
  double weight_decay;  /* >= 0, default 0 */
  int32_t first_step;   /* enum gradstep_sgd_first_step */
  int32_t maximize;
  int32_t master_weights;
  int32_t state_dtype; /* enum gradstep_state_dtype */
  int32_t stochastic_rounding;
  int32_t reserved;
  int64_t seed;
} gradstep_sgd_options;

/*
 * RMSProp (Tieleman and Hinton 2012). g += weight_decay * p; a = rho a + (1 - rho) g^2; d = g / sqrt(a + epsilon), or
 * by epsilon_placement g / (sqrt(a) + epsilon); centered (Graves 2013): c = rho c + (1 - rho) g, and a - c^2 stands for
 * a under the root; with momentum b = momentum * b + d, and b stands for d; p -= learning_rate * d. State "square_avg",
 * "grad_avg" if centered, "momentum_buffer" with momentum. Source: SINGA opt.py; centered and momentum as in PyTorch.
 */
typedef struct gradstep_rmsprop_options {
  uint32_t struct_size;
  int32_t epsilon_placement; /* enum gradstep_epsilon_placement */
  double learning_rate;      /* must be set */
  double rho;                /* in [0, 1), default 0.9 */
  double epsilon;            /* >= 0, default 1e-8 */
  double weight_decay;       /* >= 0, default 0 */
  double momentum;           /* >= 0, default 0 */
  int32_t centered;
  int32_t maximize;
  int32_t master_weights;
  int32_t state_dtype; /* enum gradstep_state_dtype */
  int32_t stochastic_rounding;
  int32_t reserved;
  int64_t seed;
} gradstep_rmsprop_options;

/*
 * AdaGrad (Duchi et al. 2011). g += weight_decay * p; a += g^2; p -= learning_rate / (1 + t * lr_decay) * g /
 * sqrt(a + epsilon), or by epsilon_placement g / (sqrt(a) + epsilon). State "sum", which starts at
 * initial_accumulator. Source: SINGA opt.py; lr_decay and initial_accumulator as in PyTorch.
 */
typedef struct gradstep_adagrad_options {
  uint32_t struct_size;
  int32_t epsilon_placement;  /* enum gradstep_epsilon_placement */
  double learning_rate;       /* must be set */
  double epsilon;             /* >= 0, default 1e-8 */
  double weight_decay;        /* >= 0, default 0 */
  double lr_decay;            /* >= 0, default 0 */
  double initial_accumulator; /* >= 0, default 0; no hyper-parameter: read at creation alone */
  int32_t maximize;
  int32_t reserved0;
  int32_t master_weights;
  int32_t state_dtype; /* enum gradstep_state_dtype */
  int32_t stochastic_rounding;
  int32_t reserved;
  int64_t seed;
} gradstep_adagrad_options;

/*
 * Adam (Kingma and Ba 2015, algorithm 1). m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2;
 * p -= learning_rate * (m / (1 - beta1^(t+1))) / (sqrt(v / (1 - beta2^(t+1))) + epsilon), or in the TF form
 * p -= learning_rate * sqrt(1 - beta2^(t+1)) / (1 - beta1^(t+1)) * m / (sqrt(v) + epsilon). weight_decay adds to g, or
 * with decoupled_weight_decay (AdamW, Loshchilov and Hutter 2019) p -= learning_rate * weight_decay * p first.
 * Scheduled betas enter the corrections with their current value, as in SINGA. amsgrad (Reddi et al. 2018) puts the
 * largest v so far under the root. State "exp_avg", "exp_avg_sq", "max_exp_avg_sq" if amsgrad.
 */
typedef struct gradstep_adam_options {
  uint32_t struct_size;
  int32_t bias_correction; /* enum gradstep_bias_correction */
  double learning_rate;    /* must be set */
  double beta1;            /* in [0, 1), default 0.9 */
  double beta2;            /* in [0, 1), default 0.999 */
  double epsilon;          /* >= 0, default 1e-8 */
  double weight_decay;     /* >= 0, default 0 */
  int32_t decoupled_weight_decay;
  int32_t maximize;
  int32_t master_weights;
  int32_t state_dtype; /* enum gradstep_state_dtype */
  int32_t stochastic_rounding;
  int32_t amsgrad;
  int64_t seed;
} gradstep_adam_options;

/* Whose step length a preconditioned direction gets, and what is used before start_preconditioning_step. */
enum gradstep_graft_type {
  GRADSTEP_GRAFT_TYPE_INVALID = -1,
  GRADSTEP_GRAFT_TYPE_SGD = 0,                /* u = g */
  GRADSTEP_GRAFT_TYPE_ADAGRAD = 1,            /* v += g^2, u = g / (sqrt(v) + diagonal_epsilon) */
  GRADSTEP_GRAFT_TYPE_RMSPROP = 2,            /* v = w1 v + w2 g^2 with the w of the statistics, u as above */
  GRADSTEP_GRAFT_TYPE_RMSPROP_NORMALIZED = 3, /* RMSPROP of g / (|g| + 1e-16) */
  GRADSTEP_GRAFT_TYPE_SQRT_N = 4,             /* u = sign(g) */
  GRADSTEP_GRAFT_TYPE_ADAGRAD_NORMALIZED = 5, /* ADAGRAD of g / (|g| + 1e-16) */
  GRADSTEP_GRAFT_TYPE_ADAM = 6,               /* Adam's direction, by graft_beta1, graft_beta2 and diagonal_epsilon */
  GRADSTEP_GRAFT_TYPE_NONE = 7                /* the direction keeps its length; u = g */
};

enum gradstep_root_method {
  GRADSTEP_ROOT_METHOD_INVALID = -1,
  GRADSTEP_ROOT_METHOD_AUTO = 0,           /* chosen by size and device: EIGH on CPU */
  GRADSTEP_ROOT_METHOD_COUPLED_NEWTON = 1, /* Google's iteration, in f64 */
  GRADSTEP_ROOT_METHOD_EIGH = 2            /* a symmetric eigendecomposition, in f64 */
};

enum gradstep_root_precision {
  GRADSTEP_ROOT_PRECISION_INVALID = -1,
  GRADSTEP_ROOT_PRECISION_F64 = 0,
  GRADSTEP_ROOT_PRECISION_F32 = 1 /* UNSUPPORTED in this version */
};

enum gradstep_root_padding {
  GRADSTEP_ROOT_PADDING_INVALID = -1,
  GRADSTEP_ROOT_PADDING_NONE = 0,
  GRADSTEP_ROOT_PADDING_LARGEST = 1 /* Google: roots are those of statistics extended by 1s to the largest block */
};

enum gradstep_refresh {
  GRADSTEP_REFRESH_INVALID = -1,
  GRADSTEP_REFRESH_FRESH = 0, /* the roots of a step serve in it */
  GRADSTEP_REFRESH_STALE = 1  /* they serve from the next step on, as in Google's sharded mode */
};

enum gradstep_one_sided {
  GRADSTEP_ONE_SIDED_INVALID = -1,
  GRADSTEP_ONE_SIDED_NONE = 0,
  GRADSTEP_ONE_SIDED_INPUT = 1, /* UNSUPPORTED in this version, as OUTPUT */
  GRADSTEP_ONE_SIDED_OUTPUT = 2
};

/*
 * Distributed Shampoo (Gupta, Koren and Singer 2018; Anil et al. 2020), for f32, f16 and bf16 parameters.
 *
 * Small neighbouring dimensions of a parameter are merged (best_effort_shape_interpretation), long ones are cut into
 * blocks of block_size. Each axis j of each block has a statistic S = w1 S + w2 G, G being g contracted with itself
 * over all other axes, w1 = beta2, w2 = 1 - beta2 (1 if beta2 = 1), and a preconditioner (S + ridge I)^(-1/p) with
 * ridge = matrix_epsilon * max(largest eigenvalue of S, 1e-6), p = 2 * merged dimensions or exponent_override. P(g) is
 * g multiplied by the preconditioners along all axes. With u from graft_type, divided by max(1, |u| / sqrt(elements) /
 * clip_by_scaled_gradient_norm) in the RMSPROP forms where that is > 0:
 *
 *   s = P(g) |u| / (|P(g)| + 1e-16); s += weight_decay p; u += weight_decay p
 *   m = beta1 m + w s; n = beta1 n + w u        w = 1 - beta1 if moving_average_for_momentum, else 1
 *   d = s and m from step start_preconditioning_step on, u and n before it
 *   p -= learning_rate * (w d + beta1 (m or n) if nesterov, else m or n)
 *
 * SQRT_N has one momentum: n = beta1 m + w u, and the selected one is stored. decoupled_weight_decay: p -=
 * learning_rate * weight_decay * p instead. Parameters without dimensions, with one above
 * skip_preconditioning_dim_size_gt or in a group with precondition = 0 step by d = u alone.
 *
 * root_lag = k: the roots of step t serve from step t + k on, whenever they were computed: threads of the context's
 * background lane work on them meanwhile, and step t + k does what is left. refresh STALE is root_lag 1. Up to
 * (k - 1) / preconditioning_compute_steps + 1 refreshes are under way at once.
 *
 * one_sided INPUT preconditions all axes but the last of the merged tensor, OUTPUT the last; p = 2 * the axes that are
 * preconditioned, and a dimension above skip_preconditioning_dim_size_gt takes only its own axis out. A tensor of one
 * axis has both sides in it.
 *
 * eigenvalue_corrected: SOAP (Vyas et al. 2024). Parameters of two dimensions and more run Adam (beta1, beta2,
 * diagonal_epsilon, bias correction, weight decay after the step) in the eigenbasis of their statistics, which one step
 * of orthogonal iteration renews after a step that is a multiple of preconditioning_compute_steps; all others run Adam.
 * The first gradient of a parameter makes its basis and does not move it. Statistics start at zero. State
 * "diagonal_exp_avg" and "diagonal_statistics" are Adam's moments in the basis, "preconditioners.{block}.{axis}" the
 * eigenvectors in columns. Grafting, momentum, root and ridge options, start_preconditioning_step and
 * decoupled_weight_decay do not apply; root_lag and quantisation are UNSUPPORTED with it.
 *
 * A root whose error (max |M - I| of the iteration, or of EIGH max |H^p D x - x| on probes) is NaN or at least
 * inverse_failure_threshold is tried again root_retries times with 10, 100 ... times the ridge (root_precision F32: in
 * f64 first); then the previous preconditioner stays. root_retries = 0 also takes the seed's rule for when
 * COUPLED_NEWTON stops.
 *
 * State "momentum" (m; preconditioned parameters, and SQRT_N), "diagonal_momentum" (n; not SQRT_N),
 * "diagonal_statistics" (v), "diagonal_exp_avg" (ADAM), "statistics.{block}.{axis}" and
 * "preconditioners.{block}.{axis}", the latter two shaped (extent, extent), blocks counted with the last axis fastest.
 * quantize_momentum keeps the momenta in int8, quantize_statistics statistics and preconditioners in int16 with the
 * diagonal apart in f32, each column with one f32 factor; get_state and set_state convert. master_weights keeps f32
 * copies of f16 and bf16 parameters, state "master_weights", as in the other rules.
 *
 * Source: Google's distributed_shampoo.py, with its defaults but for root_padding and root_retries, which are
 * LARGEST and 0 there.
 */
typedef struct gradstep_shampoo_options {
  uint32_t struct_size;
  int32_t graft_type;                       /* enum gradstep_graft_type */
  double learning_rate;                     /* must be set */
  double beta1;                             /* in [0, 1), default 0.9 */
  double beta2;                             /* in [0, 1], default 0.999 */
  double diagonal_epsilon;                  /* >= 0, default 1e-10 */
  double matrix_epsilon;                    /* >= 0, default 1e-6; statistics start at this times I */
  double weight_decay;                      /* >= 0, default 0 */
  double inverse_failure_threshold;         /* >= 0, default 0.1 */
  double clip_by_scaled_gradient_norm;      /* >= 0, default 0 = off */
  double graft_beta1;                       /* ADAM: in [0, 1), default 0.9 */
  double graft_beta2;                       /* ADAM: in [0, 1), default 0.999 */
  double precondition;                      /* 0 or more, default 1; the constant 0 = u alone */
  int64_t block_size;                       /* > 0, default 128 */
  int64_t start_preconditioning_step;       /* >= 0, default 5 */
  int64_t preconditioning_compute_steps;    /* > 0, default 1: roots where t is a multiple of it */
  int64_t statistics_compute_steps;         /* > 0, default 1 */
  int64_t skip_preconditioning_dim_size_gt; /* > 0, default 4096 */
  int32_t exponent_override;                /* 0 to 1024, default 0 = 2 * dimensions */
  int32_t best_effort_shape_interpretation; /* default 1 */
  int32_t nesterov;                         /* default 1 */
  int32_t moving_average_for_momentum;
  int32_t decoupled_weight_decay;
  int32_t root_method;    /* enum gradstep_root_method */
  int32_t root_precision; /* enum gradstep_root_precision */
  int32_t root_padding;   /* enum gradstep_root_padding */
  int32_t root_retries;   /* 0 to 12, default 6 */
  int32_t root_lag;       /* steps, 0 to 1000, default 0 */
  int32_t refresh;        /* enum gradstep_refresh */
  int32_t quantize_momentum;
  int32_t quantize_statistics;
  int32_t one_sided; /* enum gradstep_one_sided */
  int32_t eigenvalue_corrected;
  int32_t master_weights;
} gradstep_shampoo_options;

/* What a step did. Written also when the step was skipped. */
typedef struct gradstep_step_result {
  uint32_t struct_size;
  int32_t applied;         /* 0 = skipped */
  double grad_norm;        /* before grad_scale; NaN when the step had no need to know it */
  double clip_coefficient; /* c above; 1 when nothing was clipped */
} gradstep_step_result;

typedef struct gradstep_step_options {
  uint32_t struct_size;
  int32_t skip_nonfinite;           /* 1: a non-finite gradient anywhere skips the whole step */
  double grad_scale;                /* finite; default 1 */
  double max_norm;                  /* >= 0; 0 = off */
  double clip_value;                /* >= 0; 0 = off */
  const gradstep_tensor* grad_norm; /* f64[1]: the gradients' norm before grad_scale; NULL = computed when needed */
  gradstep_tensor* found_inf;       /* f32[1]: non-zero skips the step; non-finite gradients set it to 1; may be NULL */
  gradstep_step_result* result;     /* may be NULL */
} gradstep_step_options;

/* One number about a parameter: a NUL-terminated name and where it belongs; -1 where an index does not apply. */
typedef struct gradstep_metric {
  uint32_t struct_size;
  int32_t reserved;
  char name[40];
  int64_t parameter;
  int64_t block;
  int64_t axis;
  double value;
} gradstep_metric;

/* Bytes that an optimizer holds: state tensors, and everything else (schema, work lists, scratch). */
typedef struct gradstep_memory {
  uint32_t struct_size;
  int32_t reserved;
  int64_t state_bytes;
  int64_t other_bytes;
} gradstep_memory;

/* Defaults; learning_rate becomes NaN, which create refuses. Returns: INVALID_ARGUMENT. */
GRADSTEP_API gradstep_status gradstep_sgd_options_init(gradstep_sgd_options* o, size_t struct_size) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_rmsprop_options_init(gradstep_rmsprop_options* o,
                                                           size_t struct_size) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_adagrad_options_init(gradstep_adagrad_options* o,
                                                           size_t struct_size) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_adam_options_init(gradstep_adam_options* o, size_t struct_size) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_shampoo_options_init(gradstep_shampoo_options* o,
                                                           size_t struct_size) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_step_options_init(gradstep_step_options* o, size_t struct_size) GRADSTEP_NOEXCEPT;

/*
 * Creates an optimizer for n parameters (n may be 0). State starts at zero and is allocated here.
 * Returns: INVALID_ARGUMENT (a NULL, a field outside its range or not finite, learning_rate not set, a bad schema),
 * UNSUPPORTED, BACKEND_UNAVAILABLE, OUT_OF_MEMORY.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_create_sgd(gradstep_context* context,
                                                           const gradstep_sgd_options* options,
                                                           const gradstep_parameter* parameters, size_t n,
                                                           gradstep_optimizer** out) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_optimizer_create_rmsprop(gradstep_context* context,
                                                               const gradstep_rmsprop_options* options,
                                                               const gradstep_parameter* parameters, size_t n,
                                                               gradstep_optimizer** out) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_optimizer_create_adagrad(gradstep_context* context,
                                                               const gradstep_adagrad_options* options,
                                                               const gradstep_parameter* parameters, size_t n,
                                                               gradstep_optimizer** out) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_optimizer_create_adam(gradstep_context* context,
                                                            const gradstep_adam_options* options,
                                                            const gradstep_parameter* parameters, size_t n,
                                                            gradstep_optimizer** out) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_optimizer_create_shampoo(gradstep_context* context,
                                                               const gradstep_shampoo_options* options,
                                                               const gradstep_parameter* parameters, size_t n,
                                                               gradstep_optimizer** out) GRADSTEP_NOEXCEPT;
GRADSTEP_API void gradstep_optimizer_destroy(gradstep_optimizer* optimizer) GRADSTEP_NOEXCEPT;

/*
 * Steps params[i] in place by grads[i]. params have the dtype, shape and device of the schema; grads the shape and
 * device, and any float dtype (f64 only for f64 parameters). grads[i].data NULL: parameter i is left alone.
 * Returns: INVALID_ARGUMENT (names the tensor; nothing is changed), INVALID_STATE (in use; or the state is lost: see
 * attach_comm and below), CALLBACK (a schedule: nothing is changed; or parallel_for).
 * A parallel_for that fails half-way leaves some parameters and states stepped and others not. The step count stands,
 * and the state is lost: steps, saves, copies and reads of it are INVALID_STATE until a state is loaded or copied in.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_step(gradstep_optimizer* optimizer, const gradstep_tensor* params,
                                                     const gradstep_tensor* grads, size_t n,
                                                     void* stream) GRADSTEP_NOEXCEPT;

/*
 * Writes the deltas into updates[i] (the dtype and shape of parameter i) and leaves params as they are; params[i] +
 * updates[i] in the arithmetic dtype is what a step would have stored. updates may be exactly grads. Where
 * grads[i].data is NULL the update is zero.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_update(gradstep_optimizer* optimizer, const gradstep_tensor* params,
                                                       const gradstep_tensor* grads, const gradstep_tensor* updates,
                                                       size_t n, void* stream) GRADSTEP_NOEXCEPT;

/*
 * Both with options (NULL = defaults); updates NULL steps in place. A skipped step changes nothing but the skip
 * counter (metric "skipped_steps") and what the options ask to be written; skipped `updates` are zero.
 * Returns: also INVALID_ARGUMENT for an option outside its range.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_step_ex(gradstep_optimizer* optimizer, const gradstep_tensor* params,
                                                        const gradstep_tensor* grads, const gradstep_tensor* updates,
                                                        size_t n, const gradstep_step_options* options,
                                                        void* stream) GRADSTEP_NOEXCEPT;

/*
 * Sets hyper-parameter `name` of one group, or of all groups with -1, to a constant or a schedule over t. Buffers that
 * become necessary (momentum) start at zero.
 * Returns: INVALID_ARGUMENT (unknown name: the text lists the known ones; group out of range; value out of range).
 */
GRADSTEP_API gradstep_status gradstep_optimizer_set_value(gradstep_optimizer* optimizer, int32_t group,
                                                          const char* name, double value) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_optimizer_set_schedule(gradstep_optimizer* optimizer, int32_t group,
                                                             const char* name,
                                                             const gradstep_schedule* schedule) GRADSTEP_NOEXCEPT;

/* *value = what the next step would use. group -1 is group 0. */
GRADSTEP_API gradstep_status gradstep_optimizer_get_value(gradstep_optimizer* optimizer, int32_t group,
                                                          const char* name, double* value) GRADSTEP_NOEXCEPT;

/* Number of groups: one more than the largest group of the schema. */
GRADSTEP_API gradstep_status gradstep_optimizer_group_count(gradstep_optimizer* optimizer,
                                                            int32_t* count) GRADSTEP_NOEXCEPT;

/* Appends parameters; their state starts at zero. New groups take group 0's hyper-parameters. Views of the state of
 * earlier parameters stay valid. Returns: as create; on failure the optimizer is as before. */
GRADSTEP_API gradstep_status gradstep_optimizer_add_parameters(gradstep_optimizer* optimizer,
                                                               const gradstep_parameter* parameters,
                                                               size_t n) GRADSTEP_NOEXCEPT;

GRADSTEP_API gradstep_status gradstep_optimizer_step_count(gradstep_optimizer* optimizer,
                                                           int64_t* count) GRADSTEP_NOEXCEPT;
/* count >= 0. */
GRADSTEP_API gradstep_status gradstep_optimizer_set_step_count(gradstep_optimizer* optimizer,
                                                               int64_t count) GRADSTEP_NOEXCEPT;

/* Writes the state names of the rule, separated by commas ("exp_avg,exp_avg_sq"); where there is one for each block and
 * axis, its pattern ("statistics.{block}.{axis}"). Text rules as gradstep_build_info. */
GRADSTEP_API gradstep_status gradstep_optimizer_state_names(gradstep_optimizer* optimizer, char* buf, size_t cap,
                                                            size_t* len) GRADSTEP_NOEXCEPT;

/*
 * tensor_out = a view of state `name` of parameter `index`, shaped as the parameter unless the rule says else, valid
 * until destroy or an attach_comm that shards the state.
 * Returns: INVALID_ARGUMENT (index, unknown name), INVALID_STATE (the buffer does not exist, e.g. no momentum; or the
 * state is lost, see attach_comm), UNSUPPORTED (stored in another form: use get_state).
 */
GRADSTEP_API gradstep_status gradstep_optimizer_state(gradstep_optimizer* optimizer, size_t index, const char* name,
                                                      gradstep_tensor* tensor_out) GRADSTEP_NOEXCEPT;

/* Copies state into or out of a host tensor of the state's shape and any float dtype. Returns: as state. */
GRADSTEP_API gradstep_status gradstep_optimizer_get_state(gradstep_optimizer* optimizer, size_t index, const char* name,
                                                          const gradstep_tensor* tensor,
                                                          void* stream) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_optimizer_set_state(gradstep_optimizer* optimizer, size_t index, const char* name,
                                                          const gradstep_tensor* tensor,
                                                          void* stream) GRADSTEP_NOEXCEPT;

/* destination's state, step count and skip counter become source's. Returns: MISMATCH naming what differs (rule, names,
 * shapes, dtypes, buffers), INVALID_STATE (source's state is lost, see attach_comm). */
GRADSTEP_API gradstep_status gradstep_optimizer_copy_state(gradstep_optimizer* destination,
                                                           gradstep_optimizer* source) GRADSTEP_NOEXCEPT;

/*
 * Writes up to `capacity` records of record_size bytes each; *count = how many there are. records NULL only counts.
 * All rules: "step_count", "skipped_steps". Shampoo, for each statistic (parameter, block, axis):
 * "inverse_pth_root_errors" (of the last refresh whose error was above 0), "root_max_eigenvalue", "root_iterations",
 * "root_retries" and "root_failures" (totals), "preconditioner_age" (steps since the one whose statistics its last
 * successful refresh used).
 */
GRADSTEP_API gradstep_status gradstep_optimizer_metrics(gradstep_optimizer* optimizer, gradstep_metric* records,
                                                        size_t record_size, size_t capacity,
                                                        size_t* count) GRADSTEP_NOEXCEPT;

/* What the handle holds now. memory->struct_size is set by the caller. */
GRADSTEP_API gradstep_status gradstep_optimizer_memory(gradstep_optimizer* optimizer,
                                                       gradstep_memory* memory) GRADSTEP_NOEXCEPT;

/* Bytes of state that a create with these arguments would allocate. Returns: as create. */
GRADSTEP_API gradstep_status gradstep_sgd_state_bytes(const gradstep_sgd_options* options,
                                                      const gradstep_parameter* parameters, size_t n,
                                                      int64_t* bytes) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_rmsprop_state_bytes(const gradstep_rmsprop_options* options,
                                                          const gradstep_parameter* parameters, size_t n,
                                                          int64_t* bytes) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_adagrad_state_bytes(const gradstep_adagrad_options* options,
                                                          const gradstep_parameter* parameters, size_t n,
                                                          int64_t* bytes) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_adam_state_bytes(const gradstep_adam_options* options,
                                                       const gradstep_parameter* parameters, size_t n,
                                                       int64_t* bytes) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_shampoo_state_bytes(const gradstep_shampoo_options* options,
                                                          const gradstep_parameter* parameters, size_t n,
                                                          int64_t* bytes) GRADSTEP_NOEXCEPT;

/* What the gradients of a sharded step are. */
enum gradstep_sharded_gradients {
  GRADSTEP_SHARDED_GRADIENTS_INVALID = -1,
  GRADSTEP_SHARDED_GRADIENTS_LOCAL = 0,  /* each rank's own: the step reduce-scatters them */
  GRADSTEP_SHARDED_GRADIENTS_REDUCED = 1 /* equal on all ranks already */
};

/* What is dealt out to the ranks of a Shampoo. Other rules do not look at it. */
enum gradstep_sharded_preconditioners {
  GRADSTEP_SHARDED_PRECONDITIONERS_INVALID = -1,
  GRADSTEP_SHARDED_PRECONDITIONERS_REPLICATED = 0, /* the roots: each is computed once, and gathered on all ranks */
  GRADSTEP_SHARDED_PRECONDITIONERS_OWNED = 1       /* the blocks: preconditioned gradients are gathered on all ranks */
};

typedef struct gradstep_sharding_options {
  uint32_t struct_size;
  int32_t gradients;       /* enum gradstep_sharded_gradients */
  int32_t average;         /* enum gradstep_average of LOCAL gradients: SUM or MEAN (UNSET) */
  int32_t preconditioners; /* enum gradstep_sharded_preconditioners */
} gradstep_sharding_options;

/* Defaults: LOCAL gradients, of which the mean counts. Returns: INVALID_ARGUMENT if o is NULL or struct_size is out of
 * range. */
GRADSTEP_API gradstep_status gradstep_sharding_options_init(gradstep_sharding_options* o,
                                                            size_t struct_size) GRADSTEP_NOEXCEPT;

/*
 * Collective. Shards the state over the ranks of comm: each keeps one contiguous share of the model, in whole chunks of
 * 16384 elements, and drops the rest. From then on a step is collective: gradients are reduce-scattered (LOCAL), each
 * rank steps its share, and the new parameters are gathered on all. Parameters are written when everything has arrived.
 * With reduction_order RANK the results have the bits of a dense reducer and an unsharded step, clipping included.
 * State and parameters must be equal on all ranks before. A further call shards anew; comm NULL gathers the state and
 * ends it, and does nothing where none is sharded. get_state, set_state and copy_state are collective meanwhile; views
 * (gradstep_optimizer_state) are UNSUPPORTED, and those handed out before become invalid with this call. The optimizer
 * takes a channel of its own (gradstep_comm_dup); options NULL = defaults.
 * Returns, with nothing changed on any rank: INVALID_ARGUMENT, MISMATCH (ranks whose parameters, rule or step count
 * differ), OUT_OF_MEMORY, ABORTED (another rank failed, e.g. had no memory: its own status says why), UNSUPPORTED
 * (OWNED with eigenvalue_corrected), and the statuses of a collective call.
 * After a failed step the parameters are as before it and the state is lost: steps, saves, copies and reads of it
 * return INVALID_STATE until state is loaded or copied in, after another attach_comm. Source: Lingvo ShardedAdam;
 * Rajbhandari et al. 2020 (ZeRO, stage 1).
 *
 * Shampoo deals out other things (options->preconditioners), the costliest first, each to the rank with the least to
 * do. Gradients are all-reduced (LOCAL), and every rank steps the whole model. REPLICATED: each root is computed by one
 * rank and gathered on all. OWNED: each block's statistics and preconditioners are on one rank, and its preconditioned
 * gradient is gathered on all, in every step. The results have the bits of one rank with the reduced gradients; all
 * ranks must have the same options and instruction set, or MISMATCH. Roots that are under way are installed by this
 * call; metrics are as of the last step. Source: Google's distributed_shampoo.py, its pmap and pjit modes.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_attach_comm(gradstep_optimizer* optimizer, gradstep_comm* comm,
                                                            const gradstep_sharding_options* options) GRADSTEP_NOEXCEPT;

/* Reports a failure of work that an earlier call queued; on CPU there is none. */
GRADSTEP_API gradstep_status gradstep_optimizer_poll(gradstep_optimizer* optimizer) GRADSTEP_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif /* GRADSTEP_OPTIMIZER_H */
