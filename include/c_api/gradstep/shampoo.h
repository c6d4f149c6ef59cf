/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * shampoo.h: the options of the optimizer Shampoo, and of SOAP. What all optimizers do is in optimizer.h; what is dealt
 * out to ranks in sharding.h. docs/shampoo.md says which option is for what.
 */
#ifndef GRADSTEP_SHAMPOO_H
#define GRADSTEP_SHAMPOO_H

#include "gradstep/optimizer.h"

#if defined(__cplusplus)
extern "C" {
#endif

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
  GRADSTEP_ROOT_METHOD_COUPLED_NEWTON = 1, /* Google's iteration, in scaled steps */
  GRADSTEP_ROOT_METHOD_EIGH = 2            /* by the tridiagonal form of the statistic, or its eigenvectors */
};

/* What roots are computed in. */
enum gradstep_root_precision {
  GRADSTEP_ROOT_PRECISION_INVALID = -1,
  GRADSTEP_ROOT_PRECISION_F64 = 0,
  GRADSTEP_ROOT_PRECISION_F32 = 1 /* a root that fails is tried again in f64 first, see root_retries */
};

/* What the f32 products of a device may do to their operands: statistics, P(g), and SOAP's rotations. Roots and bases
 * are not concerned. */
enum gradstep_product_precision {
  GRADSTEP_PRODUCT_PRECISION_INVALID = -1,
  GRADSTEP_PRODUCT_PRECISION_F32 = 0,
  GRADSTEP_PRODUCT_PRECISION_TF32 = 1 /* CUDA: tensor cores, which keep 10 of 23 bits; sums in f32. CPU: as F32 */
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

/* Which axes of the merged tensor are preconditioned. */
enum gradstep_one_sided {
  GRADSTEP_ONE_SIDED_INVALID = -1,
  GRADSTEP_ONE_SIDED_NONE = 0,  /* all */
  GRADSTEP_ONE_SIDED_INPUT = 1, /* all but the last */
  GRADSTEP_ONE_SIDED_OUTPUT = 2 /* the last */
};

/* What is contracted with itself over all other axes, and enters the statistic of an axis. */
enum gradstep_shampoo_statistics {
  GRADSTEP_SHAMPOO_STATISTICS_INVALID = -1,
  GRADSTEP_SHAMPOO_STATISTICS_GRADIENTS = 0, /* g */
  GRADSTEP_SHAMPOO_STATISTICS_KL = 1,        /* KL-Shampoo: g multiplied by the preconditioners of the other axes */
  GRADSTEP_SHAMPOO_STATISTICS_KL_MEAN = 2    /* KL, divided by the number of elements of the other axes */
};

/* What is added to a statistic's diagonal before its root is taken. */
enum gradstep_ridge {
  GRADSTEP_RIDGE_INVALID = -1,
  GRADSTEP_RIDGE_RELATIVE = 0, /* matrix_epsilon * max(largest eigenvalue, 1e-6) */
  GRADSTEP_RIDGE_ABSOLUTE = 1  /* matrix_epsilon, as in Meta's Shampoo */
};

/*
 * Distributed Shampoo (Gupta, Koren and Singer 2018; Anil et al. 2020). f64 parameters have their state, statistics,
 * roots and bases in f64, and their arithmetic; root_precision and product_precision do not concern them. Others are
 * computed in f32.
 *
 * Small neighbouring dimensions of a parameter are merged (best_effort_shape_interpretation), long ones are cut into
 * blocks of block_size. Each axis j of each block has a statistic S = w1 S + w2 G, G being g contracted with itself
 * over all other axes, w1 = beta2, w2 = 1 - beta2 (1 if beta2 = 1), and a preconditioner (S + ridge I)^(-1/p) with
 * ridge = matrix_epsilon * max(largest eigenvalue of S, 1e-6) or, ABSOLUTE, matrix_epsilon, and p = 2 * merged
 * dimensions or exponent_override. EIGH takes eigenvalues of S + ridge I below ridge / 2, which rounding has made, for
 * ridge / 2. P(g) is g multiplied by the preconditioners along all axes. With u from graft_type, divided by max(1, |u|
 * / sqrt(elements) / clip_by_scaled_gradient_norm) in the RMSPROP forms where that is > 0:
 *
 *   s = P(g) |u| / (|P(g)| + 1e-16); s += weight_decay p; u += weight_decay p
 *   m = beta1 m + w s; n = beta1 n + w u        w = 1 - beta1 if moving_average_for_momentum, else 1
 *   d = s and m from step start_preconditioning_step on, u and n before it
 *   p -= learning_rate * (w d + beta1 (m or n) if nesterov, else m or n)
 *
 * SQRT_N has one momentum: n = beta1 m + w u, and the selected one is stored. decoupled_weight_decay: p -=
 * learning_rate * weight_decay * p instead. Parameters without dimensions, with one above
 * skip_preconditioning_dim_size_gt (but see one_sided and eigenvalue_corrected) or in a group with precondition = 0
 * step by d = u alone.
 *
 * root_lag = k: the roots of step t serve from step t + k on, whenever they were computed: threads of the context's
 * background lane work on them meanwhile, and step t + k does what is left. refresh STALE is root_lag 1. Up to
 * (k - 1) / preconditioning_compute_steps + 1 refreshes are under way at once.
 *
 * one_sided INPUT preconditions all axes but the last of the merged tensor, OUTPUT the last; p = 2 * the axes that are
 * preconditioned, and a dimension above skip_preconditioning_dim_size_gt takes only its own axis out. A tensor of one
 * axis has both sides in it.
 *
 * statistics KL: KL-Shampoo (Lin et al. 2025, arXiv 2509.03378), as in Meta's Shampoo. G is h contracted with itself; h
 * is g multiplied by the preconditioners along all axes of its block but j. These preconditioners are the last roots,
 * identities before the first. KL_MEAN divides G by the number of elements of the block's other axes; with
 * exponent_override = 2 the G of a matrix is the paper's, g S^-1 g^T / columns. A block with one preconditioned axis
 * has the statistics of GRADIENTS. UNSUPPORTED with eigenvalue_corrected.
 *
 * eigenvalue_corrected: SOAP (Vyas et al. 2024). Parameters of two dimensions and more run Adam (beta1, beta2,
 * diagonal_epsilon, bias correction, weight decay after the step) in the eigenbasis of their statistics, which one step
 * of orthogonal iteration renews after a step that is a multiple of preconditioning_compute_steps; all others run Adam.
 * The first gradient of a parameter makes its basis and does not move it. A dimension above
 * skip_preconditioning_dim_size_gt has no basis; the others of its parameter have theirs. Statistics start at zero.
 * State "diagonal_exp_avg" and "diagonal_statistics" are Adam's moments in the basis, "preconditioners.{block}.{axis}"
 * the eigenvectors in columns. Grafting, momentum, root and ridge options, start_preconditioning_step and
 * decoupled_weight_decay do not apply; root_lag, refresh STALE and quantisation are UNSUPPORTED with it.
 *
 * A root whose error (max |M - I| of the iteration, or of EIGH max |H^p D x - x| on probes) is NaN or at least
 * inverse_failure_threshold is tried again root_retries times with 10, 100 ... times the ridge (root_precision F32: in
 * f64 first); then the previous preconditioner stays. COUPLED_NEWTON (Iannazzo 2006) scales its steps to
 * the interval of the eigenvalues, at most 100 of them; root_retries = 0 takes the source's steps, and its rule for
 * when they stop.
 *
 * State "momentum" (m; preconditioned parameters, and SQRT_N), "diagonal_momentum" (n; not SQRT_N),
 * "diagonal_statistics" (v), "diagonal_exp_avg" (ADAM), "statistics.{block}.{axis}" and
 * "preconditioners.{block}.{axis}", the latter two shaped (extent, extent), blocks counted with the last axis fastest.
 * quantize_momentum keeps the momenta in int8, quantize_statistics statistics and preconditioners in int16 with the
 * diagonal apart in f32, each column with one f32 factor; get_state and set_state convert. Both, and state_dtype BF16,
 * are UNSUPPORTED for f64 parameters. state_dtype BF16 keeps "momentum", "diagonal_momentum", "diagonal_statistics" and
 * "diagonal_exp_avg" in bf16 (momenta in int8 with quantize_momentum); statistics and preconditioners stay, for the
 * error of a statistic that is short of rank comes back in its root many times over. master_weights keeps f32 copies of
 * f16 and bf16 parameters, state "master_weights", and stochastic_rounding rounds, as in the other rules (optimizer.h).
 *
 * average_decay, average_warmup, average_equal, average_start, average_every: an average of the weights, as in the
 * other rules (gradstep_optimizer_average).
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
  int32_t best_effort_shape_interpretation; /* bool, default 1 */
  int32_t nesterov;                         /* bool, default 1 */
  int32_t moving_average_for_momentum;      /* bool: momenta add 1 - beta1 of what is new, not all of it */
  int32_t decoupled_weight_decay;           /* bool: p -= learning_rate * weight_decay * p, not part of the momentum */
  int32_t root_method;                      /* enum gradstep_root_method */
  int32_t root_precision;                   /* enum gradstep_root_precision */
  int32_t root_padding;                     /* enum gradstep_root_padding */
  int32_t root_retries;                     /* 0 to 12, default 6 */
  int32_t root_lag;                         /* steps, 0 to 1000, default 0 */
  int32_t refresh;                          /* enum gradstep_refresh */
  int32_t quantize_momentum;                /* bool: momenta in int8 */
  int32_t quantize_statistics;              /* bool: statistics and preconditioners in int16 */
  int32_t one_sided;                        /* enum gradstep_one_sided */
  int32_t eigenvalue_corrected;             /* bool: SOAP, Adam in the eigenbasis of the statistics */
  int32_t master_weights;                   /* bool: steps f32 copies of f16 and bf16 parameters */
  int32_t product_precision;                /* enum gradstep_product_precision */
  int32_t maximize;                         /* bool: negates the gradients, before all else */
  double average_decay;                     /* in [0, 1), 0 = none, the default; no hyper-parameter: read at creation */
  int64_t average_start;                    /* >= 0, default 0 */
  int64_t average_every;                    /* >= 0, default 1; 0 is 1 */
  int32_t average_warmup;                   /* bool: average_decay is at most (1 + n) / (10 + n) after n steps */
  int32_t average_equal;                    /* bool: the mean of the averaged steps, in place of average_decay */
  int32_t state_dtype;                      /* enum gradstep_state_dtype: NATIVE or BF16, see above */
  int32_t stochastic_rounding;              /* bool, as in the other rules */
  int64_t seed;                             /* for stochastic_rounding */
  int32_t statistics;                       /* enum gradstep_shampoo_statistics */
  int32_t ridge;                            /* enum gradstep_ridge */
} gradstep_shampoo_options;

/* Writes the defaults into the struct_size bytes at o; learning_rate becomes NaN, which create refuses.
 * Returns: INVALID_ARGUMENT (o NULL, a bad struct_size). */
GRADSTEP_API gradstep_status gradstep_shampoo_options_init(gradstep_shampoo_options* o,
                                                           size_t struct_size) GRADSTEP_NOEXCEPT;

/*
 * Creates a Shampoo for n parameters (n may be 0). State starts as the options say and is allocated here. *out is the
 * caller's to destroy.
 * Returns: INVALID_ARGUMENT (a NULL, a field outside its range or not finite, learning_rate not set, a bad schema;
 * quantize_momentum of a parameter without dimensions), UNSUPPORTED (state_dtype INT8; state_dtype BF16,
 * quantize_momentum or quantize_statistics for f64 parameters; root_lag, refresh STALE, quantize_momentum,
 * quantize_statistics, or statistics other than GRADIENTS, with eigenvalue_corrected; the schema, see
 * gradstep_parameter), BACKEND_UNAVAILABLE (the schema), OUT_OF_MEMORY.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_create_shampoo(gradstep_context* context,
                                                               const gradstep_shampoo_options* options,
                                                               const gradstep_parameter* parameters, size_t n,
                                                               gradstep_optimizer** out) GRADSTEP_NOEXCEPT;

/*
 * *bytes = the bytes of state that gradstep_optimizer_create_shampoo with these arguments would allocate. Nothing is.
 * No device is asked. Returns: INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY (as gradstep_optimizer_create_shampoo).
 */
GRADSTEP_API gradstep_status gradstep_shampoo_state_bytes(const gradstep_shampoo_options* options,
                                                          const gradstep_parameter* parameters, size_t n,
                                                          int64_t* bytes) GRADSTEP_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif /* GRADSTEP_SHAMPOO_H */
