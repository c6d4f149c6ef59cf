/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.h: structs for the options of rules that rule.h makes by name. Written by scripts/generate from src/rules.
 *
 *   gradstep_lion_options options = gradstep_lion_options_default();
 *   options.learning_rate = 1e-4;
 *   gradstep_optimizer_create_lion(context, &options, parameters, n, &optimizer);
 *
 * All functions here are inline. They are compiled into the host, and so are the structs: no function of the library
 * sees one, they have no struct_size, and a host is recompiled to use what a newer header adds. Ranges are checked by
 * the library, whose error names the option.
 *
 * gradstep_*_rule calls nothing of the library. It gives a gradstep_group_rule, for gradstep_optimizer_create_by_group,
 * gradstep_rule_state_bytes, and for hosts that have opened the library by dlopen, which call gradstep_optimizer_create
 * by the pointer that they have. gradstep_optimizer_create_* is such a call for hosts that are linked with the library;
 * where it is not used, this header needs no link. gradstep_table.h has none of this: its hosts give names and values.
 *
 * Fields that all rules have:
 *
 * maximize: steps up the gradient.
 *
 * master_weights: steps an f32 copy of every f16 and bf16 parameter.
 *
 * state_dtype: how state is stored; int8: one byte an element, coded in blocks.
 *
 * stochastic_rounding: rounds what is stored in 16 bits at random, exact on average.
 *
 * seed: starts stochastic_rounding: equal seeds give equal bits.
 *
 * step_counting: whose steps t counts; parameter: those that each took part in, as PyTorch does.
 *
 * average_decay: keeps an average of the weights: this share of it at each step; 0 = none; in [0, 1), default 0.
 *
 * decay_mode: coupled: weight_decay * p is added to the gradient. Others subtract from p: decoupled
 * learning_rate * weight_decay * p; independent weight_decay * p; relative learning_rate /
 * peak_learning_rate * weight_decay * p; corrected learning_rate^2 / peak_learning_rate * weight_decay * p. rule: as
 * the rule says.
 *
 * peak_learning_rate: the largest learning rate of the schedule, for decay_mode; >= 0, default 0.
 *
 * trust_ratio: scales the change of each tensor to the tensor's length, times the learning rate (LAMB).
 *
 * cautious_update: leaves out elements whose change has the sign of the gradient, and multiplies the others: mean by 1
 * / max(k / n, 1e-3), sum by n / (k + 1), where k of n elements of the tensor stay.
 *
 * cautious_decay: weights decay only where that does not oppose the change.
 *
 * adaptive_clip: shortens each unit of a gradient to this times the length of its unit of p; 0 = off; >= 0, default 0.
 *
 * adaptive_clip_epsilon: the least length of a unit of p for adaptive_clip; >= 0, default 0.001.
 *
 * adaptive_clip_units: elements that one unit has. rows: all but the first axis; columns: the first of two or three
 * axes, all but the last of more (optax); second: the second of two or three axes, all but the first of more
 * (pytorch_optimizer). A tensor of one axis is one unit.
 *
 * center_gradients: subtracts from each row of a gradient its mean, where there are two axes or more.
 *
 * average_warmup: average_decay is at most (1 + n) / (10 + n) while n steps are in the average.
 *
 * average_equal: keeps the mean of the weights after all averaged steps (SWA), in place of average_decay.
 *
 * average_start: the first step that is averaged, from 0; until then the average is the weights; in [0, 1000000000),
 * whole, default 0.
 *
 * average_every: every such step is averaged, from average_start on; in [1, 1000000000), whole, default 1.
 */
#ifndef GRADSTEP_RULES_H
#define GRADSTEP_RULES_H

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "gradstep/rule.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Memory of the host for a rule's options by names and values, which gradstep_*_rule fills. It stays where it is while
 * they are in use. */
typedef struct gradstep_rule_buffer {
  gradstep_option options[42];
  char seed[24];
} gradstep_rule_buffer;

static inline gradstep_option gradstep_rule_number(const char* name, double value) GRADSTEP_NOEXCEPT {
  const gradstep_option option = {name, value, NULL};
  return option;
}

static inline gradstep_option gradstep_rule_seed(int64_t seed, gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_option option = {"seed", 0, buffer->seed};
  snprintf(buffer->seed, sizeof buffer->seed, "%" PRId64, seed);
  return option;
}

/*
 * lion. Source: Chen et al. 2023, Symbolic Discovery of Optimization Algorithms, algorithm 2; the numbers of optax.
 *
 *   u = sign(beta1 * m + (1 - beta1) * g), where sign(0) = 0
 *   m = beta2 * m + (1 - beta2) * g
 *   p = p - learning_rate * u
 *
 * State exp_avg.
 */
typedef struct gradstep_lion_options {
  double learning_rate;        /* >= 0, must be set: step size */
  double beta1;                /* in [0, 1), default 0.9: share of the momentum in the direction */
  double beta2;                /* in [0, 1), default 0.99: share of the momentum that a step keeps */
  double weight_decay;         /* >= 0, default 0: learning_rate * weight_decay * p is subtracted from p */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_lion_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_lion_options gradstep_lion_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_lion_options options = {NAN, 0.9, 0.99, 0, 0, 0,     0, 0, 0, 0, 0, 0,
                                         0,   0,   0,    0, 0, 0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_lion_rule(const gradstep_lion_options* options,
                                                     gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"lion", buffer->options, options == NULL ? 0U : 24U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("beta1", options->beta1);
  buffer->options[2] = gradstep_rule_number("beta2", options->beta2);
  buffer->options[3] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[4] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[5] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[6] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[7] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[8] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[9] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[10] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[11] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[12] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[13] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[14] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[15] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[16] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[17] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[18] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[19] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[20] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[21] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[22] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[23] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_lion(gradstep_context* context,
                                                             const gradstep_lion_options* options,
                                                             const gradstep_parameter* parameters, size_t n,
                                                             gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_lion_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/*
 * lamb. Source: You et al. 2020, Large Batch Optimization for Deep Learning, algorithm 2; the numbers of optax.
 *
 *   m = beta1 * m + (1 - beta1) * g
 *   v = beta2 * v + (1 - beta2) * g^2
 *   u = m / (1 - beta1^(t+1)) / (sqrt(v / (1 - beta2^(t+1)) + epsilon_root) + epsilon) + weight_decay * p
 *   p = p - learning_rate * norm(p) / norm(u) * u, or without the ratio where a norm is 0; norms of the tensor
 *
 * State exp_avg, exp_avg_sq.
 */
typedef struct gradstep_lamb_options {
  double learning_rate;        /* >= 0, must be set: step size */
  double beta1;                /* in [0, 1), default 0.9: share of the mean that a step keeps */
  double beta2;                /* in [0, 1), default 0.999: share of the mean square that a step keeps */
  double epsilon;              /* >= 0, default 1e-6: keeps the denominator from zero */
  double epsilon_root;         /* >= 0, default 0: joins the corrected mean square under the root */
  double weight_decay;         /* >= 0, default 0: times p is added to u */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_lamb_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_lamb_options gradstep_lamb_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_lamb_options options = {NAN, 0.9, 0.999, 1e-6, 0, 0, 0,     0, 0, 0, 0, 0, 0,
                                         0,   0,   0,     0,    0, 0, 0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_lamb_rule(const gradstep_lamb_options* options,
                                                     gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"lamb", buffer->options, options == NULL ? 0U : 26U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("beta1", options->beta1);
  buffer->options[2] = gradstep_rule_number("beta2", options->beta2);
  buffer->options[3] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[4] = gradstep_rule_number("epsilon_root", options->epsilon_root);
  buffer->options[5] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[6] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[7] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[8] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[9] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[10] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[11] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[12] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[13] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[14] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[15] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[16] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[17] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[18] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[19] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[20] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[21] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[22] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[23] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[24] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[25] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_lamb(gradstep_context* context,
                                                             const gradstep_lamb_options* options,
                                                             const gradstep_parameter* parameters, size_t n,
                                                             gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_lamb_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/* Option of muon. */
enum gradstep_muon_momentum_form {
  GRADSTEP_MUON_MOMENTUM_FORM_INVALID = -1,
  GRADSTEP_MUON_MOMENTUM_FORM_AVERAGE = 0,
  GRADSTEP_MUON_MOMENTUM_FORM_SUM = 1,
  GRADSTEP_MUON_MOMENTUM_FORM_CORRECTED = 2
};

/* Option of muon. */
enum gradstep_muon_step_scale {
  GRADSTEP_MUON_STEP_SCALE_INVALID = -1,
  GRADSTEP_MUON_STEP_SCALE_SHAPE = 0,
  GRADSTEP_MUON_STEP_SCALE_RMS = 1,
  GRADSTEP_MUON_STEP_SCALE_SPECTRAL = 2,
  GRADSTEP_MUON_STEP_SCALE_LARGEST = 3,
  GRADSTEP_MUON_STEP_SCALE_KERNEL = 4,
  GRADSTEP_MUON_STEP_SCALE_NONE = 5
};

/* Option of muon. */
enum gradstep_muon_coefficients {
  GRADSTEP_MUON_COEFFICIENTS_INVALID = -1,
  GRADSTEP_MUON_COEFFICIENTS_SIMPLE = 0,
  GRADSTEP_MUON_COEFFICIENTS_QUINTIC = 1,
  GRADSTEP_MUON_COEFFICIENTS_POLAR_EXPRESS = 2,
  GRADSTEP_MUON_COEFFICIENTS_POLAR_EXPRESS_NVIDIA = 3,
  GRADSTEP_MUON_COEFFICIENTS_CANS = 4,
  GRADSTEP_MUON_COEFFICIENTS_AOL = 5,
  GRADSTEP_MUON_COEFFICIENTS_DEEPSEEKV4 = 6,
  GRADSTEP_MUON_COEFFICIENTS_CUBIC = 7,
  GRADSTEP_MUON_COEFFICIENTS_OWN = 8
};

/* Option of muon. */
enum gradstep_muon_normalizer {
  GRADSTEP_MUON_NORMALIZER_INVALID = -1,
  GRADSTEP_MUON_NORMALIZER_ADD = 0,
  GRADSTEP_MUON_NORMALIZER_MAX = 1,
  GRADSTEP_MUON_NORMALIZER_SAFE = 2
};

/* Option of muon. */
enum gradstep_muon_variance {
  GRADSTEP_MUON_VARIANCE_INVALID = -1,
  GRADSTEP_MUON_VARIANCE_NONE = 0,
  GRADSTEP_MUON_VARIANCE_ROWS = 1,
  GRADSTEP_MUON_VARIANCE_LONGER = 2,
  GRADSTEP_MUON_VARIANCE_ELEMENTS = 3
};

/* Option of muon. */
enum gradstep_muon_variance_floor {
  GRADSTEP_MUON_VARIANCE_FLOOR_INVALID = -1,
  GRADSTEP_MUON_VARIANCE_FLOOR_ADD = 0,
  GRADSTEP_MUON_VARIANCE_FLOOR_MAX = 1
};

/* Option of muon. */
enum gradstep_muon_variance_length {
  GRADSTEP_MUON_VARIANCE_LENGTH_INVALID = -1,
  GRADSTEP_MUON_VARIANCE_LENGTH_KEPT = 0,
  GRADSTEP_MUON_VARIANCE_LENGTH_FREE = 1,
  GRADSTEP_MUON_VARIANCE_LENGTH_FULL = 2
};

/* Option of muon. */
enum gradstep_muon_product_precision {
  GRADSTEP_MUON_PRODUCT_PRECISION_INVALID = -1,
  GRADSTEP_MUON_PRODUCT_PRECISION_F32 = 0,
  GRADSTEP_MUON_PRODUCT_PRECISION_BF16 = 1
};

/* Option of muon. */
enum gradstep_muon_iterate {
  GRADSTEP_MUON_ITERATE_INVALID = -1,
  GRADSTEP_MUON_ITERATE_MATRIX = 0,
  GRADSTEP_MUON_ITERATE_GRAM = 1
};

/*
 * muon. Source: Jordan et al. 2024, Muon; options where KellerJordan/Muon, torch, Moonlight, dion, NVIDIA and optax
 * differ, the numbers of each. Li et al. 2025, NorMuon; Si et al. 2025, AdaMuon: the option variance.
 *
 *   m = momentum * m + (1 - momentum) * g
 *   u = (1 - momentum) * g + momentum * m if nesterov else m
 *   o = orthogonalize(u) of the first axis against all others
 *   with variance: v = variance_beta * v + (1 - variance_beta) * mean(o^2), o = o / (sqrt(v) + variance_epsilon),
 * scaled by variance_length p = p - learning_rate * scale_factor * step_scale * o; every parameter needs 2 axes or more
 *
 * State momentum_buffer. State of a tensor as a whole: with variance: variance, a number for each row, for each place
 * of the longer axis, or for each element.
 */
typedef struct gradstep_muon_options {
  double learning_rate;      /* >= 0, must be set: step size */
  double momentum;           /* in [0, 1), default 0.95: share of the momentum that a step keeps */
  double variance_beta;      /* in [0, 1), default 0.95: share of the variance that a step keeps */
  double weight_decay;       /* >= 0, default 0: learning_rate * weight_decay * p is subtracted from p */
  double iterations;         /* in [1, 101), whole, default 5: Newton-Schulz iterations */
  double epsilon;            /* >= 0, default 1e-7: keeps the norm that a matrix is divided by from zero */
  double scale_factor;       /* >= 0, default 1: multiplies what step_scale says */
  double coefficient_a;      /* default 3.4445: for coefficients = own: X = a X + (b A + c A^2) X, A = X X^T */
  double coefficient_b;      /* default -4.775: likewise */
  double coefficient_c;      /* default 2.0315: likewise */
  double variance_epsilon;   /* >= 0, default 1e-8: keeps the root of the variance from zero */
  double gram_restart_every; /* in [1, 21), whole, default 3: for iterate = gram: X is made anew before iterations n, 2
                                n, ..., counted from 1; a large n makes products in bf16 fail */
  int32_t momentum_form;     /* enum gradstep_muon_momentum_form: average: m = momentum * m + (1 - momentum) * g
                                (KellerJordan, torch, NVIDIA); sum: m = momentum * m + g (Moonlight, dion); corrected: the
                                average, corrected for its bias (optax) */
  int32_t nesterov;          /* bool: looks one step ahead */
  int32_t step_scale; /* enum gradstep_muon_step_scale: shape: sqrt(max(1, rows / columns)) (KellerJordan, torch); rms:
                         0.2 sqrt(max(rows, columns)) (Moonlight, torch); spectral: sqrt(rows / columns) (dion, torch,
                         NVIDIA); largest: sqrt(max(rows, columns)) (NVIDIA); kernel: sqrt(max(1, columns / rows)), for
                         weights of inputs x outputs (optax); none: 1 */
  int32_t coefficients; /* enum gradstep_muon_coefficients: the Newton-Schulz iterations' numbers */
  int32_t normalizer;   /* enum gradstep_muon_normalizer: what a matrix is divided by first. add: norm + epsilon; max:
                           max(norm, epsilon); safe: 1.02 norm + epsilon */
  int32_t variance; /* enum gradstep_muon_variance: what o is divided by the root of: a mean square of each of the rows
                       (NorMuon: dion, pytorch_optimizer), of the longer axis (NorMuon: NVIDIA), of the elements
                       (AdaMuon); kept as the state variance */
  int32_t variance_floor;    /* enum gradstep_muon_variance_floor: add: sqrt(v) + variance_epsilon; max: sqrt(max(v,
                                variance_epsilon)) */
  int32_t variance_length;   /* enum gradstep_muon_variance_length: how long o is then. kept: as before (NorMuon); free:
                                as it comes (AdaMuon: NVIDIA); full: sqrt(min(rows, columns)), with v / (1 -
                                variance_beta^(t+1)) (AdaMuon: pytorch_optimizer) */
  int32_t product_precision; /* enum gradstep_muon_product_precision: precision of the Newton-Schulz iterations. f32:
                                that of the arithmetic type; bf16: iterates are rounded to it, and products sum in f32
                                (NVIDIA, KellerJordan, torch), in bits that depend on the processor */
  int32_t iterate; /* enum gradstep_muon_iterate: what the Newton-Schulz iterations change. matrix: X; gram: X X^T and a
                      matrix by which X is multiplied at the end, which takes fewer operations (Zhang et al. 2026, Gram
                      Newton-Schulz); as matrix where one axis is less than 1.5 times the other */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_muon_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_muon_options gradstep_muon_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_muon_options options = {NAN, 0.95, 0.95, 0, 5, 1e-7, 1, 3.4445, -4.775, 2.0315, 1e-8, 3, 0, 1,
                                         0,   0,    0,    0, 0, 0,    0, 0,      0,      0,      0,    0, 0, 0,
                                         0,   0,    0,    0, 0, 0,    0, 0.001,  0,      0,      0,    0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_muon_rule(const gradstep_muon_options* options,
                                                     gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"muon", buffer->options, options == NULL ? 0U : 42U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("momentum", options->momentum);
  buffer->options[2] = gradstep_rule_number("variance_beta", options->variance_beta);
  buffer->options[3] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[4] = gradstep_rule_number("iterations", options->iterations);
  buffer->options[5] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[6] = gradstep_rule_number("scale_factor", options->scale_factor);
  buffer->options[7] = gradstep_rule_number("coefficient_a", options->coefficient_a);
  buffer->options[8] = gradstep_rule_number("coefficient_b", options->coefficient_b);
  buffer->options[9] = gradstep_rule_number("coefficient_c", options->coefficient_c);
  buffer->options[10] = gradstep_rule_number("variance_epsilon", options->variance_epsilon);
  buffer->options[11] = gradstep_rule_number("gram_restart_every", options->gram_restart_every);
  buffer->options[12] = gradstep_rule_number("momentum_form", options->momentum_form);
  buffer->options[13] = gradstep_rule_number("nesterov", options->nesterov);
  buffer->options[14] = gradstep_rule_number("step_scale", options->step_scale);
  buffer->options[15] = gradstep_rule_number("coefficients", options->coefficients);
  buffer->options[16] = gradstep_rule_number("normalizer", options->normalizer);
  buffer->options[17] = gradstep_rule_number("variance", options->variance);
  buffer->options[18] = gradstep_rule_number("variance_floor", options->variance_floor);
  buffer->options[19] = gradstep_rule_number("variance_length", options->variance_length);
  buffer->options[20] = gradstep_rule_number("product_precision", options->product_precision);
  buffer->options[21] = gradstep_rule_number("iterate", options->iterate);
  buffer->options[22] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[23] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[24] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[25] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[26] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[27] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[28] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[29] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[30] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[31] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[32] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[33] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[34] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[35] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[36] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[37] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[38] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[39] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[40] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[41] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_muon(gradstep_context* context,
                                                             const gradstep_muon_options* options,
                                                             const gradstep_parameter* parameters, size_t n,
                                                             gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_muon_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/*
 * signum. Source: Bernstein et al. 2018, signSGD; the numbers of optax, with nesterov those of NVIDIA.
 *
 *   m = momentum * m + (1 - momentum) * g
 *   u = m; with nesterov momentum * m / (1 - momentum^(t+2)) + (1 - momentum) * g / (1 - momentum^(t+1))
 *   p = p - learning_rate * sign(u), where sign(0) = 0; without momentum sign(g)
 *
 * State momentum_buffer.
 */
typedef struct gradstep_signum_options {
  double learning_rate;        /* >= 0, must be set: step size */
  double momentum;             /* in [0, 1), default 0.9: share of the momentum that a step keeps; 0: signSGD */
  double weight_decay;         /* >= 0, default 0: learning_rate * weight_decay * p is subtracted from p */
  int32_t nesterov;            /* bool: looks one step ahead */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_signum_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_signum_options gradstep_signum_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_signum_options options = {NAN, 0.9, 0, 0, 0, 0,     0, 0, 0, 0, 0, 0,
                                           0,   0,   0, 0, 0, 0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_signum_rule(const gradstep_signum_options* options,
                                                       gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"signum", buffer->options, options == NULL ? 0U : 24U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("momentum", options->momentum);
  buffer->options[2] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[3] = gradstep_rule_number("nesterov", options->nesterov);
  buffer->options[4] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[5] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[6] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[7] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[8] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[9] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[10] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[11] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[12] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[13] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[14] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[15] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[16] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[17] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[18] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[19] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[20] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[21] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[22] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[23] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_signum(gradstep_context* context,
                                                               const gradstep_signum_options* options,
                                                               const gradstep_parameter* parameters, size_t n,
                                                               gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_signum_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/* Option of nadam. */
enum gradstep_nadam_form {
  GRADSTEP_NADAM_FORM_INVALID = -1,
  GRADSTEP_NADAM_FORM_TORCH = 0,
  GRADSTEP_NADAM_FORM_OPTAX = 1
};

/*
 * nadam. Source: Dozat 2016, Incorporating Nesterov Momentum into Adam; the numbers of torch and of optax, which
 * differ.
 *
 *   m = beta1 * m + (1 - beta1) * g
 *   v = beta2 * v + (1 - beta2) * g^2
 *   d = sqrt(v / (1 - beta2^(t+1)) + epsilon_root) + epsilon
 *   form torch, mu(i) = beta1 * (1 - 0.96^(i * momentum_decay) / 2), M = mu(1) * ... * mu(t+1):
 *   p = p - learning_rate * ((1 - mu(t+1)) / (1 - M) * g + mu(t+2) / (1 - M * mu(t+2)) * m) / d
 *   form optax: p = p - learning_rate * ((1 - beta1) / (1 - beta1^(t+1)) * g + beta1 / (1 - beta1^(t+2)) * m) / d
 *
 * State exp_avg, exp_avg_sq.
 */
typedef struct gradstep_nadam_options {
  double learning_rate;        /* >= 0, must be set: step size */
  double beta1;                /* in [0, 1), default 0.9: share of the mean that a step keeps */
  double beta2;                /* in [0, 1), default 0.999: share of the mean square that a step keeps */
  double epsilon;              /* >= 0, default 1e-8: keeps the denominator from zero */
  double epsilon_root;         /* >= 0, default 0: joins the corrected mean square under the root */
  double momentum_decay;       /* >= 0, default 0.004: how soon the momentum of form torch reaches beta1 */
  double weight_decay;         /* >= 0, default 0: times p is added to the gradient */
  int32_t form;                /* enum gradstep_nadam_form: torch or optax */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_nadam_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_nadam_options gradstep_nadam_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_nadam_options options = {NAN, 0.9, 0.999, 1e-8, 0, 0.004, 0, 0,     0, 0, 0, 0, 0, 0,
                                          0,   0,   0,     0,    0, 0,     0, 0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_nadam_rule(const gradstep_nadam_options* options,
                                                      gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"nadam", buffer->options, options == NULL ? 0U : 28U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("beta1", options->beta1);
  buffer->options[2] = gradstep_rule_number("beta2", options->beta2);
  buffer->options[3] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[4] = gradstep_rule_number("epsilon_root", options->epsilon_root);
  buffer->options[5] = gradstep_rule_number("momentum_decay", options->momentum_decay);
  buffer->options[6] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[7] = gradstep_rule_number("form", options->form);
  buffer->options[8] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[9] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[10] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[11] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[12] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[13] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[14] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[15] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[16] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[17] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[18] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[19] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[20] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[21] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[22] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[23] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[24] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[25] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[26] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[27] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_nadam(gradstep_context* context,
                                                              const gradstep_nadam_options* options,
                                                              const gradstep_parameter* parameters, size_t n,
                                                              gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_nadam_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/* Option of radam. */
enum gradstep_radam_form {
  GRADSTEP_RADAM_FORM_INVALID = -1,
  GRADSTEP_RADAM_FORM_TORCH = 0,
  GRADSTEP_RADAM_FORM_OPTAX = 1
};

/*
 * radam. Source: Liu et al. 2020, On the Variance of the Adaptive Learning Rate; the numbers of torch and of optax.
 *
 *   m = beta1 * m + (1 - beta1) * g
 *   v = beta2 * v + (1 - beta2) * g^2
 *   M = m / (1 - beta1^(t+1)); with nesterov beta1 * m / (1 - beta1^(t+2)) + (1 - beta1) * g / (1 - beta1^(t+1))
 *   R = 2 / (1 - beta2) - 1, r = R - 2 * (t+1) * beta2^(t+1) / (1 - beta2^(t+1))
 *   s = sqrt((r - 4) * (r - 2) * R / ((R - 4) * (R - 2) * r)) where r is above the threshold, and else p = p -
 * learning_rate * M form torch: p = p - learning_rate * s * M * sqrt(1 - beta2^(t+1)) / (sqrt(v) + epsilon) form optax:
 * p = p - learning_rate * s * M / (sqrt(v / (1 - beta2^(t+1)) + epsilon_root) + epsilon)
 *
 * State exp_avg, exp_avg_sq.
 */
typedef struct gradstep_radam_options {
  double learning_rate;        /* >= 0, must be set: step size */
  double beta1;                /* in [0, 1), default 0.9: share of the mean that a step keeps */
  double beta2;                /* in [0, 1), default 0.999: share of the mean square that a step keeps */
  double epsilon;              /* >= 0, default 1e-8: keeps the denominator from zero */
  double epsilon_root;         /* >= 0, default 0: joins the corrected mean square under the root */
  double threshold;            /* >= 4, default 5: the smallest r, for form optax; torch has 5 */
  double weight_decay;         /* >= 0, default 0: times p is added to the gradient */
  int32_t form;                /* enum gradstep_radam_form: torch or optax */
  int32_t nesterov;            /* bool: looks one step ahead */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_radam_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_radam_options gradstep_radam_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_radam_options options = {NAN, 0.9, 0.999, 1e-8, 0, 5, 0, 0,     0, 0, 0, 0, 0, 0, 0,
                                          0,   0,   0,     0,    0, 0, 0, 0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_radam_rule(const gradstep_radam_options* options,
                                                      gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"radam", buffer->options, options == NULL ? 0U : 29U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("beta1", options->beta1);
  buffer->options[2] = gradstep_rule_number("beta2", options->beta2);
  buffer->options[3] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[4] = gradstep_rule_number("epsilon_root", options->epsilon_root);
  buffer->options[5] = gradstep_rule_number("threshold", options->threshold);
  buffer->options[6] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[7] = gradstep_rule_number("form", options->form);
  buffer->options[8] = gradstep_rule_number("nesterov", options->nesterov);
  buffer->options[9] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[10] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[11] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[12] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[13] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[14] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[15] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[16] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[17] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[18] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[19] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[20] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[21] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[22] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[23] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[24] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[25] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[26] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[27] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[28] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_radam(gradstep_context* context,
                                                              const gradstep_radam_options* options,
                                                              const gradstep_parameter* parameters, size_t n,
                                                              gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_radam_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/*
 * adamax. Source: Kingma and Ba 2015, Adam, algorithm 2; the numbers of torch and optax.
 *
 *   m = beta1 * m + (1 - beta1) * g
 *   u = max(beta2 * u, abs(g) + epsilon)
 *   p = p - learning_rate / (1 - beta1^(t+1)) * m / u
 *
 * State exp_avg, exp_inf.
 */
typedef struct gradstep_adamax_options {
  double learning_rate;        /* >= 0, must be set: step size */
  double beta1;                /* in [0, 1), default 0.9: share of the mean that a step keeps */
  double beta2;                /* in [0, 1), default 0.999: share of the largest magnitude that a step keeps */
  double epsilon;              /* >= 0, default 1e-8: keeps the denominator from zero */
  double weight_decay;         /* >= 0, default 0: times p is added to the gradient */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_adamax_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_adamax_options gradstep_adamax_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_adamax_options options = {NAN, 0.9, 0.999, 1e-8, 0, 0,     0, 0, 0, 0, 0, 0, 0,
                                           0,   0,   0,     0,    0, 0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_adamax_rule(const gradstep_adamax_options* options,
                                                       gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"adamax", buffer->options, options == NULL ? 0U : 25U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("beta1", options->beta1);
  buffer->options[2] = gradstep_rule_number("beta2", options->beta2);
  buffer->options[3] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[4] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[5] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[6] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[7] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[8] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[9] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[10] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[11] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[12] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[13] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[14] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[15] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[16] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[17] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[18] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[19] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[20] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[21] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[22] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[23] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[24] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_adamax(gradstep_context* context,
                                                               const gradstep_adamax_options* options,
                                                               const gradstep_parameter* parameters, size_t n,
                                                               gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_adamax_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/*
 * adadelta. Source: Zeiler 2012, ADADELTA, algorithm 1; the numbers of torch and optax.
 *
 *   v = rho * v + (1 - rho) * g^2
 *   d = sqrt(D + epsilon) / sqrt(v + epsilon) * g
 *   D = rho * D + (1 - rho) * d^2
 *   p = p - learning_rate * d
 *
 * State square_avg, acc_delta.
 */
typedef struct gradstep_adadelta_options {
  double learning_rate;        /* >= 0, must be set: step size */
  double rho;                  /* in [0, 1), default 0.9: share of both means that a step keeps */
  double epsilon;              /* >= 0, default 1e-6: keeps roots from zero, and lets the first steps begin */
  double weight_decay;         /* >= 0, default 0: times p is added to the gradient */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_adadelta_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_adadelta_options gradstep_adadelta_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_adadelta_options options = {NAN, 0.9, 1e-6, 0, 0, 0,     0, 0, 0, 0, 0, 0,
                                             0,   0,   0,    0, 0, 0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_adadelta_rule(const gradstep_adadelta_options* options,
                                                         gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"adadelta", buffer->options, options == NULL ? 0U : 24U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("rho", options->rho);
  buffer->options[2] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[3] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[4] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[5] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[6] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[7] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[8] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[9] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[10] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[11] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[12] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[13] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[14] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[15] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[16] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[17] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[18] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[19] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[20] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[21] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[22] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[23] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_adadelta(gradstep_context* context,
                                                                 const gradstep_adadelta_options* options,
                                                                 const gradstep_parameter* parameters, size_t n,
                                                                 gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_adadelta_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/*
 * rprop. Source: Riedmiller and Braun 1993, RPROP; the numbers of torch.
 *
 *   s = -1, 0 or 1, by the signs of g and of g before
 *   step = clamp(step * (eta_plus if s > 0, eta_minus if s < 0, else 1), minimum_step, maximum_step)
 *   g = 0 where s < 0
 *   p = p - sign(g) * step; the first step is learning_rate
 *
 * State previous_gradient, step_size.
 */
typedef struct gradstep_rprop_options {
  double learning_rate;        /* >= 0, must be set: first step size of every element; later ones are states */
  double eta_minus;            /* in [0, 1), default 0.5: times the step size where the gradient has turned */
  double eta_plus;             /* >= 1, default 1.2: times the step size where it has not */
  double minimum_step;         /* >= 0, default 1e-6: least step size */
  double maximum_step;         /* >= 0, default 50: largest step size */
  double weight_decay;         /* >= 0, default 0: times p is added to the gradient */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_rprop_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_rprop_options gradstep_rprop_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_rprop_options options = {NAN, 0.5, 1.2, 1e-6, 50, 0, 0,     0, 0, 0, 0, 0, 0,
                                          0,   0,   0,   0,    0,  0, 0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_rprop_rule(const gradstep_rprop_options* options,
                                                      gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"rprop", buffer->options, options == NULL ? 0U : 26U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("eta_minus", options->eta_minus);
  buffer->options[2] = gradstep_rule_number("eta_plus", options->eta_plus);
  buffer->options[3] = gradstep_rule_number("minimum_step", options->minimum_step);
  buffer->options[4] = gradstep_rule_number("maximum_step", options->maximum_step);
  buffer->options[5] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[6] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[7] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[8] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[9] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[10] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[11] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[12] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[13] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[14] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[15] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[16] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[17] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[18] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[19] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[20] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[21] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[22] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[23] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[24] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[25] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_rprop(gradstep_context* context,
                                                              const gradstep_rprop_options* options,
                                                              const gradstep_parameter* parameters, size_t n,
                                                              gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_rprop_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/*
 * adabelief. Source: Zhuang et al. 2020, AdaBelief; the numbers of optax.
 *
 *   m = beta1 * m + (1 - beta1) * g
 *   s = beta2 * s + (1 - beta2) * (g - m)^2 + epsilon_root
 *   M = m / (1 - beta1^(t+1)); with nesterov beta1 * m / (1 - beta1^(t+2)) + (1 - beta1) * g / (1 - beta1^(t+1))
 *   p = p - learning_rate * M / (sqrt(s / (1 - beta2^(t+1))) + epsilon)
 *
 * State exp_avg, exp_avg_var.
 */
typedef struct gradstep_adabelief_options {
  double learning_rate;        /* >= 0, must be set: step size */
  double beta1;                /* in [0, 1), default 0.9: share of the mean that a step keeps */
  double beta2;                /* in [0, 1), default 0.999: share of the mean squared surprise that a step keeps */
  double epsilon;              /* >= 0, default 1e-16: keeps the denominator from zero */
  double epsilon_root;         /* >= 0, default 1e-16: is added to s in every step */
  double weight_decay;         /* >= 0, default 0: learning_rate * weight_decay * p is subtracted from p */
  int32_t nesterov;            /* bool: looks one step ahead */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_adabelief_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_adabelief_options gradstep_adabelief_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_adabelief_options options = {NAN, 0.9, 0.999, 1e-16, 1e-16, 0, 0,     0, 0, 0, 0, 0, 0, 0,
                                              0,   0,   0,     0,     0,     0, 0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_adabelief_rule(const gradstep_adabelief_options* options,
                                                          gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"adabelief", buffer->options, options == NULL ? 0U : 27U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("beta1", options->beta1);
  buffer->options[2] = gradstep_rule_number("beta2", options->beta2);
  buffer->options[3] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[4] = gradstep_rule_number("epsilon_root", options->epsilon_root);
  buffer->options[5] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[6] = gradstep_rule_number("nesterov", options->nesterov);
  buffer->options[7] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[8] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[9] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[10] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[11] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[12] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[13] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[14] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[15] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[16] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[17] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[18] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[19] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[20] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[21] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[22] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[23] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[24] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[25] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[26] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_adabelief(gradstep_context* context,
                                                                  const gradstep_adabelief_options* options,
                                                                  const gradstep_parameter* parameters, size_t n,
                                                                  gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_adabelief_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/*
 * yogi. Source: Zaheer et al. 2018, Adaptive Methods for Nonconvex Optimization, algorithm 2; the numbers of optax.
 *
 *   m = beta1 * m + (1 - beta1) * g
 *   v = v - (1 - beta2) * sign(v - g^2) * g^2; both start at initial_accumulator
 *   p = p - learning_rate * m / (1 - beta1^(t+1)) / (sqrt(v / (1 - beta2^(t+1))) + epsilon)
 *
 * State exp_avg, exp_avg_sq.
 */
typedef struct gradstep_yogi_options {
  double learning_rate;        /* >= 0, must be set: step size */
  double beta1;                /* in [0, 1), default 0.9: share of the mean that a step keeps */
  double beta2;                /* in [0, 1), default 0.999: 1 - beta2 of g^2 is how far v moves */
  double epsilon;              /* >= 0, default 0.001: keeps the denominator from zero */
  double weight_decay;         /* >= 0, default 0: learning_rate * weight_decay * p is subtracted from p */
  double initial_accumulator;  /* >= 0, default 1e-6: what m and v start with */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_yogi_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_yogi_options gradstep_yogi_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_yogi_options options = {NAN, 0.9, 0.999, 0.001, 0, 1e-6, 0,     0, 0, 0, 0, 0, 0,
                                         0,   0,   0,     0,     0, 0,    0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_yogi_rule(const gradstep_yogi_options* options,
                                                     gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"yogi", buffer->options, options == NULL ? 0U : 26U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("beta1", options->beta1);
  buffer->options[2] = gradstep_rule_number("beta2", options->beta2);
  buffer->options[3] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[4] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[5] = gradstep_rule_number("initial_accumulator", options->initial_accumulator);
  buffer->options[6] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[7] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[8] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[9] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[10] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[11] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[12] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[13] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[14] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[15] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[16] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[17] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[18] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[19] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[20] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[21] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[22] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[23] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[24] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[25] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_yogi(gradstep_context* context,
                                                             const gradstep_yogi_options* options,
                                                             const gradstep_parameter* parameters, size_t n,
                                                             gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_yogi_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/* Option of adan. */
enum gradstep_adan_form {
  GRADSTEP_ADAN_FORM_INVALID = -1,
  GRADSTEP_ADAN_FORM_AUTHORS = 0,
  GRADSTEP_ADAN_FORM_OPTAX = 1
};

/*
 * adan. Source: Xie et al. 2022, Adan, algorithm 1; the numbers of pytorch_optimizer and of optax.
 *
 *   d = g - g before, 0 in the first step; k = beta2 for form authors, 1 - beta2 for form optax
 *   m = beta1 * m + (1 - beta1) * g
 *   D = beta2 * D + (1 - beta2) * d
 *   n = beta3 * n + (1 - beta3) * (g + k * d)^2
 *   u = m / (1 - beta1^(t+1)) + k * D / (1 - beta2^(t+1))
 *   p = p - learning_rate * u / (sqrt(n / (1 - beta3^(t+1)) + epsilon_root) + epsilon)
 *
 * State exp_avg, exp_avg_diff, exp_avg_sq, previous_gradient.
 */
typedef struct gradstep_adan_options {
  double learning_rate;        /* >= 0, must be set: step size */
  double beta1;                /* in [0, 1), default 0.98: share of the mean that a step keeps */
  double beta2;                /* in [0, 1), default 0.92: share of the mean difference that a step keeps */
  double beta3;                /* in [0, 1), default 0.99: share of the mean square that a step keeps */
  double epsilon;              /* >= 0, default 1e-8: keeps the denominator from zero */
  double epsilon_root;         /* >= 0, default 0: joins the corrected mean square under the root */
  double weight_decay;         /* >= 0, default 0: learning_rate * weight_decay * p is subtracted from p */
  int32_t form;                /* enum gradstep_adan_form: authors (as pytorch_optimizer) or optax: what k is */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_adan_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_adan_options gradstep_adan_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_adan_options options = {NAN, 0.98, 0.92, 0.99, 1e-8, 0, 0, 0,     0, 0, 0, 0, 0, 0,
                                         0,   0,    0,    0,    0,    0, 0, 0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_adan_rule(const gradstep_adan_options* options,
                                                     gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"adan", buffer->options, options == NULL ? 0U : 28U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("beta1", options->beta1);
  buffer->options[2] = gradstep_rule_number("beta2", options->beta2);
  buffer->options[3] = gradstep_rule_number("beta3", options->beta3);
  buffer->options[4] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[5] = gradstep_rule_number("epsilon_root", options->epsilon_root);
  buffer->options[6] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[7] = gradstep_rule_number("form", options->form);
  buffer->options[8] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[9] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[10] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[11] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[12] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[13] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[14] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[15] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[16] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[17] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[18] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[19] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[20] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[21] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[22] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[23] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[24] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[25] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[26] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[27] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_adan(gradstep_context* context,
                                                             const gradstep_adan_options* options,
                                                             const gradstep_parameter* parameters, size_t n,
                                                             gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_adan_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/* Option of ademamix. */
enum gradstep_ademamix_warmup {
  GRADSTEP_ADEMAMIX_WARMUP_INVALID = -1,
  GRADSTEP_ADEMAMIX_WARMUP_LOGARITHM = 0,
  GRADSTEP_ADEMAMIX_WARMUP_HALF_LIFE = 1
};

/*
 * ademamix. Source: Pagliardini et al. 2024, The AdEMAMix Optimizer, algorithm 1; the numbers of optax,
 * pytorch_optimizer and NVIDIA.
 *
 *   m = beta1 * m + (1 - beta1) * g
 *   s = B * s + (1 - B) * g
 *   v = beta2 * v + (1 - beta2) * g^2
 *   u = (m / (1 - beta1^(t+1)) + A * s) / (sqrt(v / (1 - beta2^(t+1))) + epsilon)
 *   p = p - learning_rate * u
 *   A rises from 0 to alpha in alpha_steps, B from beta1 to beta3 in beta3_steps: by their logarithms, or by half-lives
 *
 * State exp_avg_fast, exp_avg_slow, exp_avg_sq.
 */
typedef struct gradstep_ademamix_options {
  double learning_rate; /* >= 0, must be set: step size */
  double beta1;         /* in [0, 1), default 0.9: share of the fast mean that a step keeps */
  double beta2;         /* in [0, 1), default 0.999: share of the mean square that a step keeps */
  double beta3;         /* in [0, 1), default 0.9999: share of the slow mean that a step keeps */
  double alpha;         /* >= 0, default 5: weight of the slow mean */
  double epsilon;       /* >= 0, default 1e-8: keeps the denominator from zero */
  double weight_decay;  /* >= 0, default 0: learning_rate * weight_decay * p is subtracted from p */
  double alpha_steps;   /* in [0, 1000000000), whole, default 0: steps in which alpha rises; 0 = none */
  double beta3_steps;   /* in [0, 1000000000), whole, default 0: steps in which beta3 rises; 0 = none */
  int32_t warmup;   /* enum gradstep_ademamix_warmup: how beta3 rises. logarithm: as the paper and pytorch_optimizer;
                       half_life: linear in it, as NVIDIA */
  int32_t maximize; /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_ademamix_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_ademamix_options gradstep_ademamix_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_ademamix_options options = {NAN, 0.9, 0.999, 0.9999, 5, 1e-8, 0, 0, 0,     0, 0, 0, 0, 0, 0,
                                             0,   0,   0,     0,      0, 0,    0, 0, 0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_ademamix_rule(const gradstep_ademamix_options* options,
                                                         gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"ademamix", buffer->options, options == NULL ? 0U : 30U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("beta1", options->beta1);
  buffer->options[2] = gradstep_rule_number("beta2", options->beta2);
  buffer->options[3] = gradstep_rule_number("beta3", options->beta3);
  buffer->options[4] = gradstep_rule_number("alpha", options->alpha);
  buffer->options[5] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[6] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[7] = gradstep_rule_number("alpha_steps", options->alpha_steps);
  buffer->options[8] = gradstep_rule_number("beta3_steps", options->beta3_steps);
  buffer->options[9] = gradstep_rule_number("warmup", options->warmup);
  buffer->options[10] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[11] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[12] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[13] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[14] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[15] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[16] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[17] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[18] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[19] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[20] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[21] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[22] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[23] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[24] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[25] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[26] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[27] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[28] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[29] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_ademamix(gradstep_context* context,
                                                                 const gradstep_ademamix_options* options,
                                                                 const gradstep_parameter* parameters, size_t n,
                                                                 gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_ademamix_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/* Option of adopt. */
enum gradstep_adopt_clipping {
  GRADSTEP_ADOPT_CLIPPING_INVALID = -1,
  GRADSTEP_ADOPT_CLIPPING_OPTAX = 0,
  GRADSTEP_ADOPT_CLIPPING_PYTORCH_OPTIMIZER = 1,
  GRADSTEP_ADOPT_CLIPPING_NONE = 2
};

/*
 * adopt. Source: Taniguchi et al. 2024, ADOPT, algorithm 2; the numbers of optax and of pytorch_optimizer.
 *
 *   the first step: v = g^2, and nothing else
 *   u = clamp(g / max(sqrt(v), epsilon), -C, C), with the v of the step before
 *   C = t^(1/4) for clipping optax, (t+1)^(1/4) for pytorch_optimizer
 *   m = beta1 * m + (1 - beta1) * u
 *   v = beta2 * v + (1 - beta2) * g^2
 *   p = p - learning_rate * (beta1 * m + (1 - beta1) * u if nesterov else m)
 *
 * State exp_avg, exp_avg_sq.
 */
typedef struct gradstep_adopt_options {
  double learning_rate; /* >= 0, must be set: step size */
  double beta1;         /* in [0, 1), default 0.9: share of the mean that a step keeps */
  double beta2;         /* in [0, 1), default 0.9999: share of the mean square that a step keeps */
  double epsilon;       /* >= 0, default 1e-6: least denominator */
  double weight_decay;  /* >= 0, default 0: times p is added to the gradient */
  int32_t clipping;     /* enum gradstep_adopt_clipping: how u is clipped: by t as optax counts it, as pytorch_optimizer
                           does, or none */
  int32_t nesterov;     /* bool: looks one step ahead */
  int32_t maximize;     /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_adopt_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_adopt_options gradstep_adopt_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_adopt_options options = {NAN, 0.9, 0.9999, 1e-6, 0, 0, 0,     0, 0, 0, 0, 0, 0, 0,
                                          0,   0,   0,      0,    0, 0, 0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_adopt_rule(const gradstep_adopt_options* options,
                                                      gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"adopt", buffer->options, options == NULL ? 0U : 27U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("beta1", options->beta1);
  buffer->options[2] = gradstep_rule_number("beta2", options->beta2);
  buffer->options[3] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[4] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[5] = gradstep_rule_number("clipping", options->clipping);
  buffer->options[6] = gradstep_rule_number("nesterov", options->nesterov);
  buffer->options[7] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[8] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[9] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[10] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[11] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[12] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[13] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[14] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[15] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[16] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[17] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[18] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[19] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[20] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[21] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[22] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[23] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[24] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[25] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[26] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_adopt(gradstep_context* context,
                                                              const gradstep_adopt_options* options,
                                                              const gradstep_parameter* parameters, size_t n,
                                                              gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_adopt_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/*
 * laprop. Source: Ziyin et al. 2020, LaProp, algorithm 1; the numbers of NVIDIA.
 *
 *   v = beta2 * v + (1 - beta2) * g^2
 *   m = beta1 * m + (1 - beta1) * g / (sqrt(v / (1 - beta2^(t+1))) + epsilon)
 *   p = p - learning_rate * m / (1 - beta1^(t+1))
 *
 * State exp_avg, exp_avg_sq.
 */
typedef struct gradstep_laprop_options {
  double learning_rate;        /* >= 0, must be set: step size */
  double beta1;                /* in [0, 1), default 0.9: share of the mean that a step keeps */
  double beta2;                /* in [0, 1), default 0.999: share of the mean square that a step keeps */
  double epsilon;              /* >= 0, default 1e-15: keeps the denominator from zero */
  double weight_decay;         /* >= 0, default 0: learning_rate * weight_decay * p is subtracted from p */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_laprop_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_laprop_options gradstep_laprop_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_laprop_options options = {NAN, 0.9, 0.999, 1e-15, 0, 0,     0, 0, 0, 0, 0, 0, 0,
                                           0,   0,   0,     0,     0, 0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_laprop_rule(const gradstep_laprop_options* options,
                                                       gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"laprop", buffer->options, options == NULL ? 0U : 25U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("beta1", options->beta1);
  buffer->options[2] = gradstep_rule_number("beta2", options->beta2);
  buffer->options[3] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[4] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[5] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[6] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[7] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[8] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[9] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[10] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[11] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[12] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[13] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[14] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[15] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[16] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[17] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[18] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[19] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[20] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[21] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[22] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[23] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[24] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_laprop(gradstep_context* context,
                                                               const gradstep_laprop_options* options,
                                                               const gradstep_parameter* parameters, size_t n,
                                                               gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_laprop_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/*
 * asgd. Source: Polyak and Juditsky 1992, Acceleration of Stochastic Approximation by Averaging; the numbers of torch.
 *
 *   eta = learning_rate at first, mu = 1 / max(1, t - averaging_start)
 *   p = p * (1 - shrinkage * eta) - eta * g
 *   ax = ax + mu * (p - ax), the average of the weights
 *   eta = learning_rate / (1 + shrinkage * learning_rate * (t+1))^exponent, of the next step
 *
 * State ax, eta.
 */
typedef struct gradstep_asgd_options {
  double learning_rate;        /* >= 0, must be set: step size; a new one acts a step late, as in torch */
  double shrinkage;            /* >= 0, default 0.0001: lambda: shrinks p, and the step size with the steps */
  double exponent;             /* >= 0, default 0.75: alpha: how fast the step size falls */
  double averaging_start;      /* >= 0, default 1000000: t0: steps before the average begins */
  double weight_decay;         /* >= 0, default 0: times p is added to the gradient */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_asgd_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_asgd_options gradstep_asgd_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_asgd_options options = {NAN, 0.0001, 0.75, 1000000, 0, 0,     0, 0, 0, 0, 0, 0, 0,
                                         0,   0,      0,    0,       0, 0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_asgd_rule(const gradstep_asgd_options* options,
                                                     gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"asgd", buffer->options, options == NULL ? 0U : 25U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("shrinkage", options->shrinkage);
  buffer->options[2] = gradstep_rule_number("exponent", options->exponent);
  buffer->options[3] = gradstep_rule_number("averaging_start", options->averaging_start);
  buffer->options[4] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[5] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[6] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[7] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[8] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[9] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[10] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[11] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[12] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[13] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[14] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[15] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[16] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[17] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[18] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[19] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[20] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[21] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[22] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[23] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[24] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_asgd(gradstep_context* context,
                                                             const gradstep_asgd_options* options,
                                                             const gradstep_parameter* parameters, size_t n,
                                                             gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_asgd_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/* Option of lars. */
enum gradstep_lars_form {
  GRADSTEP_LARS_FORM_INVALID = -1,
  GRADSTEP_LARS_FORM_OPTAX = 0,
  GRADSTEP_LARS_FORM_PYTORCH_OPTIMIZER = 1
};

/*
 * lars. Source: You et al. 2017, Large Batch Training of Convolutional Networks; the numbers of optax and of
 * pytorch_optimizer.
 *
 *   norms are of the tensor; r is 1 where it would be 0 or divide by 0
 *   u = g + weight_decay * p
 *   form optax: r = trust_coefficient * norm(p) / (norm(u) + epsilon)
 *   form pytorch_optimizer: r = trust_coefficient * norm(p) / (norm(g) + weight_decay * norm(p) + epsilon)
 *   m = momentum * m + rate * r * u, rate = learning_rate for form optax, 1 for pytorch_optimizer
 *   d = rate * r * u + momentum * m if nesterov, else m
 *   p = p - d for form optax, p - learning_rate * d for pytorch_optimizer
 *
 * State momentum.
 */
typedef struct gradstep_lars_options {
  double learning_rate;     /* >= 0, must be set: step size */
  double momentum;          /* in [0, 1), default 0.9: share of the momentum that a step keeps */
  double trust_coefficient; /* >= 0, default 0.001: length of a step beside that of its parameter */
  double epsilon;           /* >= 0, default 0: joins the length of u */
  double weight_decay;      /* >= 0, default 0: times p is added to the gradient */
  int32_t form; /* enum gradstep_lars_form: optax or pytorch_optimizer: what the ratio is, and when the learning rate
                   multiplies */
  int32_t nesterov;            /* bool: looks one step ahead */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_lars_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_lars_options gradstep_lars_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_lars_options options = {NAN, 0.9, 0.001, 0, 0, 0, 0,     0, 0, 0, 0, 0, 0, 0,
                                         0,   0,   0,     0, 0, 0, 0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_lars_rule(const gradstep_lars_options* options,
                                                     gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"lars", buffer->options, options == NULL ? 0U : 27U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("momentum", options->momentum);
  buffer->options[2] = gradstep_rule_number("trust_coefficient", options->trust_coefficient);
  buffer->options[3] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[4] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[5] = gradstep_rule_number("form", options->form);
  buffer->options[6] = gradstep_rule_number("nesterov", options->nesterov);
  buffer->options[7] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[8] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[9] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[10] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[11] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[12] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[13] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[14] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[15] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[16] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[17] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[18] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[19] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[20] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[21] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[22] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[23] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[24] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[25] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[26] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_lars(gradstep_context* context,
                                                             const gradstep_lars_options* options,
                                                             const gradstep_parameter* parameters, size_t n,
                                                             gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_lars_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/*
 * novograd. Source: Ginsburg et al. 2019, Stochastic Gradient Methods with Layer-wise Adaptive Moments; the numbers of
 * optax.
 *
 *   v, one number of the tensor: norm(g)^2 in the first step, then beta2 * v + (1 - beta2) * norm(g)^2
 *   m = beta1 * m + (g / (sqrt(v + epsilon_root) + epsilon) + weight_decay * p)
 *   p = p - learning_rate * m
 *
 * State exp_avg, squared_norm.
 */
typedef struct gradstep_novograd_options {
  double learning_rate;        /* >= 0, must be set: step size */
  double beta1;                /* in [0, 1), default 0.9: share of the momentum that a step keeps */
  double beta2;                /* in [0, 1), default 0.25: share of the mean squared norm that a step keeps */
  double epsilon;              /* >= 0, default 1e-6: keeps the denominator from zero */
  double epsilon_root;         /* >= 0, default 0: joins the mean squared norm under the root */
  double weight_decay;         /* >= 0, default 0: times p joins the momentum */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_novograd_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_novograd_options gradstep_novograd_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_novograd_options options = {NAN, 0.9, 0.25, 1e-6, 0, 0, 0,     0, 0, 0, 0, 0, 0,
                                             0,   0,   0,    0,    0, 0, 0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_novograd_rule(const gradstep_novograd_options* options,
                                                         gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"novograd", buffer->options, options == NULL ? 0U : 26U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("beta1", options->beta1);
  buffer->options[2] = gradstep_rule_number("beta2", options->beta2);
  buffer->options[3] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[4] = gradstep_rule_number("epsilon_root", options->epsilon_root);
  buffer->options[5] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[6] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[7] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[8] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[9] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[10] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[11] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[12] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[13] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[14] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[15] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[16] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[17] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[18] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[19] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[20] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[21] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[22] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[23] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[24] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[25] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_novograd(gradstep_context* context,
                                                                 const gradstep_novograd_options* options,
                                                                 const gradstep_parameter* parameters, size_t n,
                                                                 gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_novograd_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/* Option of mars. */
enum gradstep_mars_form { GRADSTEP_MARS_FORM_INVALID = -1, GRADSTEP_MARS_FORM_ADAMW = 0, GRADSTEP_MARS_FORM_LION = 1 };

/*
 * mars. Source: Yuan et al. 2024, MARS: Unleashing the Power of Variance Reduction, algorithms 1 and 2; the numbers of
 * pytorch_optimizer.
 *
 *   c = g + gamma * beta1 / (1 - beta1) * (g - g before), which is 0 at first
 *   c = c / max(1, norm(c)), the norm of the tensor
 *   m = beta1 * m + (1 - beta1) * c
 *   form adamw: v = beta2 * v + (1 - beta2) * c^2
 *   p = p - learning_rate * m / (1 - beta1^(t+1)) / ((sqrt(v + 1e-15) + epsilon) / sqrt(1 - beta2^(t+1)))
 *   form lion: p = p - learning_rate * sign(m)
 *
 * State exp_avg, exp_avg_sq, previous_gradient.
 */
typedef struct gradstep_mars_options {
  double learning_rate;        /* >= 0, must be set: step size */
  double beta1;                /* in [0, 1), default 0.95: share of the mean that a step keeps */
  double beta2;                /* in [0, 1), default 0.99: share of the mean square that a step keeps; of form adamw */
  double gamma;                /* >= 0, default 0.025: how much of the gradient's change is added to it */
  double epsilon;              /* >= 0, default 1e-8: keeps the denominator from zero; of form adamw */
  double weight_decay;         /* >= 0, default 0: learning_rate * weight_decay * p is subtracted from p */
  int32_t form;                /* enum gradstep_mars_form: adamw or lion: the rule that gets the gradient */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_mars_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_mars_options gradstep_mars_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_mars_options options = {NAN, 0.95, 0.99, 0.025, 1e-8, 0, 0,     0, 0, 0, 0, 0, 0, 0,
                                         0,   0,    0,    0,     0,    0, 0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_mars_rule(const gradstep_mars_options* options,
                                                     gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"mars", buffer->options, options == NULL ? 0U : 27U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("beta1", options->beta1);
  buffer->options[2] = gradstep_rule_number("beta2", options->beta2);
  buffer->options[3] = gradstep_rule_number("gamma", options->gamma);
  buffer->options[4] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[5] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[6] = gradstep_rule_number("form", options->form);
  buffer->options[7] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[8] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[9] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[10] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[11] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[12] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[13] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[14] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[15] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[16] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[17] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[18] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[19] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[20] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[21] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[22] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[23] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[24] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[25] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[26] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_mars(gradstep_context* context,
                                                             const gradstep_mars_options* options,
                                                             const gradstep_parameter* parameters, size_t n,
                                                             gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_mars_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/*
 * sophia. Source: Liu et al. 2023, Sophia, algorithm 3; the numbers of optax.
 *
 *   m = beta1 * m + (1 - beta1) * g
 *   u = m / (1 - beta1^(t+1)) / max(gamma * h, epsilon)
 *   p = p - learning_rate * clamp(u, -clip_threshold, clip_threshold)
 *   h, the state hessian, is 0 at first; the host sets it, every few steps: beta2 * h + (1 - beta2) * its estimate
 *
 * State exp_avg, hessian.
 */
typedef struct gradstep_sophia_options {
  double learning_rate;        /* >= 0, must be set: step size */
  double beta1;                /* in [0, 1), default 0.965: share of the mean that a step keeps */
  double gamma;                /* >= 0, default 0.01: scale of the curvature */
  double clip_threshold;       /* >= 0, default 1: largest change of an element, beside the learning rate */
  double epsilon;              /* >= 0, default 1e-8: least denominator */
  double weight_decay;         /* >= 0, default 0.0001: learning_rate * weight_decay * p is subtracted from p */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_sophia_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_sophia_options gradstep_sophia_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_sophia_options options = {NAN, 0.965, 0.01, 1, 1e-8, 0.0001, 0,     0, 0, 0, 0, 0, 0,
                                           0,   0,     0,    0, 0,    0,      0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_sophia_rule(const gradstep_sophia_options* options,
                                                       gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"sophia", buffer->options, options == NULL ? 0U : 26U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("beta1", options->beta1);
  buffer->options[2] = gradstep_rule_number("gamma", options->gamma);
  buffer->options[3] = gradstep_rule_number("clip_threshold", options->clip_threshold);
  buffer->options[4] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[5] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[6] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[7] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[8] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[9] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[10] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[11] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[12] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[13] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[14] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[15] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[16] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[17] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[18] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[19] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[20] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[21] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[22] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[23] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[24] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[25] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_sophia(gradstep_context* context,
                                                               const gradstep_sophia_options* options,
                                                               const gradstep_parameter* parameters, size_t n,
                                                               gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_sophia_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/* Option of schedule_free. */
enum gradstep_schedule_free_inner {
  GRADSTEP_SCHEDULE_FREE_INNER_INVALID = -1,
  GRADSTEP_SCHEDULE_FREE_INNER_ADAMW = 0,
  GRADSTEP_SCHEDULE_FREE_INNER_SGD = 1,
  GRADSTEP_SCHEDULE_FREE_INNER_RADAM = 2
};

/*
 * schedule_free. Source: Defazio et al. 2024, The Road Less Scheduled, algorithm 1; the numbers of schedulefree, and of
 * optax with its schedule for the weights as weight_rate.
 *
 *   p is y, where gradients are taken; z = p at first; the average x = p + (1 - 1 / beta1) * (z - p)
 *   rate = learning_rate * min(1, (t+1) / warmup_steps); inner radam: times its rectification
 *   w = (t+1)^weight_power * (largest rate so far)^rate_power, c = w / (sum of all w), or 0
 *   v = beta2 * v + (1 - beta2) * g^2
 *   u = g / (sqrt(v / (1 - beta2^(t+1))) + epsilon) + weight_decay * p; inner sgd: g + weight_decay * p
 *   p = p + c * (z - p) - rate * (1 - beta1 * (1 - c)) * u
 *   z = z - rate * u
 *
 * State z, exp_avg_sq, weight_sum, largest_rate.
 */
typedef struct gradstep_schedule_free_options {
  double learning_rate; /* >= 0, must be set: step size */
  double beta1;         /* in [0.001, 1), default 0.9: how near the gradient's place is to the average */
  double beta2;         /* in [0, 1), default 0.999: share of the mean square that a step keeps; not of inner sgd */
  double epsilon;       /* >= 0, default 1e-8: keeps the denominator from zero; not of inner sgd */
  double weight_rate;   /* >= 0, default 0: the learning rate that steps are weighted by; 0 = learning_rate */
  double weight_decay;  /* >= 0, default 0: times p joins the direction */
  double warmup_steps;  /* in [0, 1000000000), whole, default 0: steps in which the learning rate grows from 0 */
  double weight_power;  /* >= 0, default 0: r: a step weighs (t+1)^r */
  double rate_power;    /* >= 0, default 2: a step weighs its largest learning rate so far to this power */
  int32_t inner;        /* enum gradstep_schedule_free_inner: adamw, sgd or radam: the rule that gives the direction */
  int32_t waits;        /* bool: inner radam: nothing moves while the variance is unknown (silent_sgd_phase) */
  int32_t maximize;     /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_schedule_free_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_schedule_free_options gradstep_schedule_free_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_schedule_free_options options = {NAN, 0.9, 0.999, 1e-8, 0, 0, 0, 0, 2,     0, 1, 0, 0, 0, 0, 0,
                                                  0,   0,   0,     0,    0, 0, 0, 0, 0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_schedule_free_rule(const gradstep_schedule_free_options* options,
                                                              gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"schedule_free", buffer->options, options == NULL ? 0U : 31U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("beta1", options->beta1);
  buffer->options[2] = gradstep_rule_number("beta2", options->beta2);
  buffer->options[3] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[4] = gradstep_rule_number("weight_rate", options->weight_rate);
  buffer->options[5] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[6] = gradstep_rule_number("warmup_steps", options->warmup_steps);
  buffer->options[7] = gradstep_rule_number("weight_power", options->weight_power);
  buffer->options[8] = gradstep_rule_number("rate_power", options->rate_power);
  buffer->options[9] = gradstep_rule_number("inner", options->inner);
  buffer->options[10] = gradstep_rule_number("waits", options->waits);
  buffer->options[11] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[12] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[13] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[14] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[15] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[16] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[17] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[18] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[19] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[20] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[21] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[22] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[23] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[24] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[25] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[26] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[27] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[28] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[29] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[30] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_schedule_free(gradstep_context* context,
                                                                      const gradstep_schedule_free_options* options,
                                                                      const gradstep_parameter* parameters, size_t n,
                                                                      gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_schedule_free_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/*
 * prodigy. Source: Mishchenko and Defazio 2023, Prodigy, algorithm 3; the numbers of prodigyopt, and of optax with
 * bias_correction.
 *
 *   one d of all parameters, d0 at first; p0 = p at first; r = d * learning_rate, corrected where asked for
 *   N = beta3 * N + d / d0 * r * sum((p0 - p) * g)
 *   s = beta3 * s + d / d0 * r * g, with safeguard_warmup d / d0 * d * g
 *   m = beta1 * m + (1 - beta1) * d * g
 *   v = beta2 * v + (1 - beta2) * (d * g)^2
 *   D = d_factor * N / sum(abs(s)); d = max(d, D) while it is d0; d = min(largest D so far, d * d_growth)
 *   p = p - r * (m / (sqrt(v) + d * epsilon) + weight_decay * p), with the new d
 *   a step in which all s are 0 changes nothing and does not count as one
 *
 * State exp_avg, exp_avg_sq, s, p0, d, d_max, d_numerator, d_steps.
 */
typedef struct gradstep_prodigy_options {
  double learning_rate;        /* >= 0, must be set: step size, beside the distance d; 1 is usual */
  double beta1;                /* in [0, 1), default 0.9: share of the mean that a step keeps */
  double beta2;                /* in [0, 1), default 0.999: share of the mean square that a step keeps */
  double beta3;                /* in [0, 1), default 0: share of the estimate of d that a step keeps; 0 = sqrt(beta2) */
  double epsilon;              /* >= 0, default 1e-8: d * epsilon keeps the denominator from zero */
  double weight_decay;         /* >= 0, default 0: d * learning_rate * weight_decay * p is subtracted from p */
  double d0;                   /* >= 1e-30, default 1e-6: the distance at first */
  double d_factor;             /* >= 0, default 1: times the estimate of the distance */
  double d_growth;             /* >= 1, default 1e300: d grows at most by this factor in a step */
  int32_t bias_correction;     /* bool: the learning rate is times sqrt(1 - beta2^k) / (1 - beta1^k) */
  int32_t safeguard_warmup;    /* bool: the learning rate does not join the denominator of the estimate */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_prodigy_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_prodigy_options gradstep_prodigy_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_prodigy_options options = {NAN, 0.9, 0.999, 0, 1e-8, 0, 1e-6, 1, 1e300, 0, 0, 0, 0, 0, 0, 0,
                                            0,   0,   0,     0, 0,    0, 0,    0, 0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_prodigy_rule(const gradstep_prodigy_options* options,
                                                        gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"prodigy", buffer->options, options == NULL ? 0U : 31U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("beta1", options->beta1);
  buffer->options[2] = gradstep_rule_number("beta2", options->beta2);
  buffer->options[3] = gradstep_rule_number("beta3", options->beta3);
  buffer->options[4] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[5] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[6] = gradstep_rule_number("d0", options->d0);
  buffer->options[7] = gradstep_rule_number("d_factor", options->d_factor);
  buffer->options[8] = gradstep_rule_number("d_growth", options->d_growth);
  buffer->options[9] = gradstep_rule_number("bias_correction", options->bias_correction);
  buffer->options[10] = gradstep_rule_number("safeguard_warmup", options->safeguard_warmup);
  buffer->options[11] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[12] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[13] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[14] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[15] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[16] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[17] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[18] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[19] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[20] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[21] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[22] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[23] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[24] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[25] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[26] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[27] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[28] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[29] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[30] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_prodigy(gradstep_context* context,
                                                                const gradstep_prodigy_options* options,
                                                                const gradstep_parameter* parameters, size_t n,
                                                                gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_prodigy_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/*
 * dadapt_adam. Source: Defazio and Mishchenko 2023, Learning-Rate-Free Learning by D-Adaptation, algorithm 5; the
 * numbers of pytorch_optimizer, and of optax with bias_correction.
 *
 *   one d of all parameters, d0 at first; r = d * learning_rate, corrected where asked for; b = sqrt(beta2)
 *   N = b * N + (1 - b) * r * sum(g * s / (sqrt(v) + epsilon)), with s and v of the step before
 *   m = beta1 * m + (1 - beta1) * r * g
 *   v = beta2 * v + (1 - beta2) * g^2
 *   s = b * s + (1 - b) * r * g
 *   D = N / ((1 - b) * sum(abs(s))); d = max(d, min(D, d * d_growth))
 *   p = p - m / (sqrt(v) + epsilon) - r * weight_decay * p
 *   a step in which all s are 0 changes nothing and does not count as one
 *
 * State exp_avg, exp_avg_sq, s, d, d_numerator, d_steps.
 */
typedef struct gradstep_dadapt_adam_options {
  double learning_rate;        /* >= 0, must be set: step size, beside the distance d; 1 is usual */
  double beta1;                /* in [0, 1), default 0.9: share of the mean that a step keeps */
  double beta2;                /* in [0, 1), default 0.999: share of the mean square that a step keeps */
  double epsilon;              /* >= 0, default 1e-8: keeps the denominator from zero */
  double weight_decay;         /* >= 0, default 0: d * learning_rate * weight_decay * p is subtracted from p */
  double d0;                   /* >= 1e-30, default 1e-6: the distance at first */
  double d_growth;             /* >= 1, default 1e300: d grows at most by this factor in a step */
  int32_t bias_correction;     /* bool: the learning rate is times sqrt(1 - beta2^k) / (1 - beta1^k) */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_dadapt_adam_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_dadapt_adam_options gradstep_dadapt_adam_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_dadapt_adam_options options = {NAN, 0.9, 0.999, 1e-8, 0, 1e-6, 1e300, 0,     0, 0, 0, 0, 0, 0,
                                                0,   0,   0,     0,    0, 0,    0,     0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_dadapt_adam_rule(const gradstep_dadapt_adam_options* options,
                                                            gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"dadapt_adam", buffer->options, options == NULL ? 0U : 28U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("beta1", options->beta1);
  buffer->options[2] = gradstep_rule_number("beta2", options->beta2);
  buffer->options[3] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[4] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[5] = gradstep_rule_number("d0", options->d0);
  buffer->options[6] = gradstep_rule_number("d_growth", options->d_growth);
  buffer->options[7] = gradstep_rule_number("bias_correction", options->bias_correction);
  buffer->options[8] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[9] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[10] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[11] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[12] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[13] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[14] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[15] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[16] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[17] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[18] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[19] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[20] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[21] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[22] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[23] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[24] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[25] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[26] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[27] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_dadapt_adam(gradstep_context* context,
                                                                    const gradstep_dadapt_adam_options* options,
                                                                    const gradstep_parameter* parameters, size_t n,
                                                                    gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_dadapt_adam_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/* Option of adafactor. */
enum gradstep_adafactor_form {
  GRADSTEP_ADAFACTOR_FORM_INVALID = -1,
  GRADSTEP_ADAFACTOR_FORM_TORCH = 0,
  GRADSTEP_ADAFACTOR_FORM_OPTAX = 1
};

/*
 * adafactor. Source: Shazeer and Stern 2018, Adafactor: Adaptive Learning Rates with Sublinear Memory Cost, algorithms
 * 4 and 5; the numbers of torch and of optax.
 *
 *   b = 1 - (t+1)^-decay_exponent; rms: the root mean square of a tensor
 *   r = b * r + (1 - b) * mean(g^2) over each row, c likewise over each column, v = r * c / mean(r)
 *   tensors without factors: v = b * v + (1 - b) * g^2
 *   u = g / sqrt(v), u = u / max(1, rms(u) / clip_threshold)
 *   rate = learning_rate for form optax, min(learning_rate, 1 / sqrt(t+1)) for torch
 *   d = rate * max(rms(p), least_scale) * u; with momentum m = momentum * m + (1 - momentum) * d, d = m
 *   p = p - d
 *
 * State of a tensor as a whole: row_variance and column_variance of factored tensors, a number for each row and column;
 * variance, one for each element, of others; momentum, one for each element, unless it is the constant 0.
 */
typedef struct gradstep_adafactor_options {
  double learning_rate;  /* >= 0, must be set: step size, beside the length of p */
  double momentum;       /* in [0, 1), default 0: share of the mean change that a step keeps */
  double weight_decay;   /* >= 0, default 0: learning_rate * weight_decay * p is subtracted from p */
  double decay_exponent; /* >= 0, default 0.8: a step takes (t+1)^-decay_exponent of the mean squares anew */
  double epsilon;        /* >= 1e-300, default 1e-30: form torch: least denominator; form optax: joins the squares */
  double least_scale;    /* >= 0, default 0.001: least root mean square of p that counts */
  double clip_threshold; /* >= 0, default 1: largest root mean square of a direction; 0 = any */
  double
      min_factored; /* in [0, 1000000000), whole, default 128: form optax: least length of the shorter factored axis */
  int32_t form; /* enum gradstep_adafactor_form: torch or optax: which axes are factored, what epsilon does, and what
                   bounds the rate */
  int32_t scales_by_parameter; /* bool: steps are in proportion to the length of p */
  int32_t factored;            /* bool: matrices keep mean squares of rows and columns alone */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_adafactor_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_adafactor_options gradstep_adafactor_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_adafactor_options options = {NAN, 0, 0, 0.8, 1e-30, 0.001, 1, 128, 0,     1, 1, 0, 0, 0, 0, 0,
                                              0,   0, 0, 0,   0,     0,     0, 0,   0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_adafactor_rule(const gradstep_adafactor_options* options,
                                                          gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"adafactor", buffer->options, options == NULL ? 0U : 31U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("momentum", options->momentum);
  buffer->options[2] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[3] = gradstep_rule_number("decay_exponent", options->decay_exponent);
  buffer->options[4] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[5] = gradstep_rule_number("least_scale", options->least_scale);
  buffer->options[6] = gradstep_rule_number("clip_threshold", options->clip_threshold);
  buffer->options[7] = gradstep_rule_number("min_factored", options->min_factored);
  buffer->options[8] = gradstep_rule_number("form", options->form);
  buffer->options[9] = gradstep_rule_number("scales_by_parameter", options->scales_by_parameter);
  buffer->options[10] = gradstep_rule_number("factored", options->factored);
  buffer->options[11] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[12] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[13] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[14] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[15] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[16] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[17] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[18] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[19] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[20] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[21] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[22] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[23] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[24] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[25] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[26] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[27] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[28] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[29] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[30] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_adafactor(gradstep_context* context,
                                                                  const gradstep_adafactor_options* options,
                                                                  const gradstep_parameter* parameters, size_t n,
                                                                  gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_adafactor_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

/* Option of dion. */
enum gradstep_dion_form {
  GRADSTEP_DION_FORM_INVALID = -1,
  GRADSTEP_DION_FORM_REFERENCE = 0,
  GRADSTEP_DION_FORM_SIMPLE = 1
};

/*
 * dion. Source: Ahn et al. 2025, Dion: Distributed Orthonormalized Updates (arXiv 2504.05295), algorithm 1; the numbers
 * of dion_reference and of dion_simple of microsoft/dion.
 *
 *   m = m + g, rows by the first axis, columns by all others
 *   P = the orthonormal basis of m Q, R = m^T P
 *   m = m - (1 - momentum) * P R^T
 *   Q = R / (lengths of its columns + epsilon)
 *   p = p - learning_rate * sqrt(rows / columns) * P Q^T; every parameter needs 2 axes or more
 *
 * State of a tensor as a whole: momentum, in the parameter's shape; Q, a row of `columns` numbers for each of its
 * columns (of `rows` numbers where the matrix is transposed), which begins with random numbers by the parameter's name.
 */
typedef struct gradstep_dion_options {
  double learning_rate; /* >= 0, must be set: step size */
  double momentum;      /* in [0, 1), default 0.95: share of P R^T that stays in m */
  double weight_decay;  /* >= 0, default 0: learning_rate * weight_decay * p is subtracted from p */
  double rank; /* in [0, 1000000000), whole, default 0: columns of Q, at most the shorter side of the matrix; 0: by
                  rank_fraction */
  double rank_fraction; /* >= 0, default 1: columns of Q in shares of the shorter side, rounded up */
  double epsilon;       /* >= 0, default 1e-8: added to the lengths that columns of R are divided by */
  int32_t form; /* enum gradstep_dion_form: reference: wide matrices are transposed; where a column of R is zero, that
                   of Q stays (dion_reference); simple: never transposed; where a column of R is zero, that of Q becomes
                   zero; a zero column of P becomes one of the identity (dion_simple) */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int64_t seed;
  int32_t step_counting; /* enum gradstep_step_counting */
  double average_decay;
  int32_t decay_mode; /* enum gradstep_decay_mode */
  double peak_learning_rate;
  int32_t trust_ratio;     /* bool */
  int32_t cautious_update; /* enum gradstep_cautious_update */
  int32_t cautious_decay;  /* bool */
  double adaptive_clip;
  double adaptive_clip_epsilon;
  int32_t adaptive_clip_units; /* enum gradstep_adaptive_clip_units */
  int32_t center_gradients;    /* bool */
  int32_t average_warmup;      /* bool */
  int32_t average_equal;       /* bool */
  double average_start;
  double average_every;
} gradstep_dion_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_dion_options gradstep_dion_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_dion_options options = {NAN, 0.95, 0, 0, 1, 1e-8, 0,     0, 0, 0, 0, 0, 0, 0,
                                         0,   0,    0, 0, 0, 0,    0.001, 0, 0, 0, 0, 0, 1};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_dion_rule(const gradstep_dion_options* options,
                                                     gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"dion", buffer->options, options == NULL ? 0U : 27U};
  if (options == NULL) return rule;
  buffer->options[0] = gradstep_rule_number("learning_rate", options->learning_rate);
  buffer->options[1] = gradstep_rule_number("momentum", options->momentum);
  buffer->options[2] = gradstep_rule_number("weight_decay", options->weight_decay);
  buffer->options[3] = gradstep_rule_number("rank", options->rank);
  buffer->options[4] = gradstep_rule_number("rank_fraction", options->rank_fraction);
  buffer->options[5] = gradstep_rule_number("epsilon", options->epsilon);
  buffer->options[6] = gradstep_rule_number("form", options->form);
  buffer->options[7] = gradstep_rule_number("maximize", options->maximize);
  buffer->options[8] = gradstep_rule_number("master_weights", options->master_weights);
  buffer->options[9] = gradstep_rule_number("state_dtype", options->state_dtype);
  buffer->options[10] = gradstep_rule_number("stochastic_rounding", options->stochastic_rounding);
  buffer->options[11] = gradstep_rule_seed(options->seed, buffer);
  buffer->options[12] = gradstep_rule_number("step_counting", options->step_counting);
  buffer->options[13] = gradstep_rule_number("average_decay", options->average_decay);
  buffer->options[14] = gradstep_rule_number("decay_mode", options->decay_mode);
  buffer->options[15] = gradstep_rule_number("peak_learning_rate", options->peak_learning_rate);
  buffer->options[16] = gradstep_rule_number("trust_ratio", options->trust_ratio);
  buffer->options[17] = gradstep_rule_number("cautious_update", options->cautious_update);
  buffer->options[18] = gradstep_rule_number("cautious_decay", options->cautious_decay);
  buffer->options[19] = gradstep_rule_number("adaptive_clip", options->adaptive_clip);
  buffer->options[20] = gradstep_rule_number("adaptive_clip_epsilon", options->adaptive_clip_epsilon);
  buffer->options[21] = gradstep_rule_number("adaptive_clip_units", options->adaptive_clip_units);
  buffer->options[22] = gradstep_rule_number("center_gradients", options->center_gradients);
  buffer->options[23] = gradstep_rule_number("average_warmup", options->average_warmup);
  buffer->options[24] = gradstep_rule_number("average_equal", options->average_equal);
  buffer->options[25] = gradstep_rule_number("average_start", options->average_start);
  buffer->options[26] = gradstep_rule_number("average_every", options->average_every);
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_dion(gradstep_context* context,
                                                             const gradstep_dion_options* options,
                                                             const gradstep_parameter* parameters, size_t n,
                                                             gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_dion_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}

#if defined(__cplusplus)
}
#endif

#endif
