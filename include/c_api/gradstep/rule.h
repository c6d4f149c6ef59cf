/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * rule.h: optimizers by the name of their rule. Which rules there are, what options they take, and how to make one.
 *
 *   gradstep_option options[] = {{"learning_rate", 1e-3, NULL}, {"amsgrad", 1, NULL}, {"state_dtype", 0, "bf16"}};
 *   gradstep_optimizer_create(context, "adam", options, 3, parameters, n, &optimizer);
 *
 * The options of "sgd", "rmsprop", "adagrad" and "adam" have the names, ranges and defaults of the fields of their
 * structs (optimizer.h); the optimizers are the same. "adamw" is a second name of "adam", with decoupled_weight_decay 1
 * by default; gradstep_rule_describe does not list it. Other rules have structs in rules.h, and functions there that
 * call these. gradstep_rule_describe and gradstep_rule_options say what a rule computes and takes; docs/rules.md is
 * made of the same words.
 *
 * A host may write further rules as text, see gradstep_rule_define. They have names too, and take part in everything.
 */
#ifndef GRADSTEP_RULE_H
#define GRADSTEP_RULE_H

#include "gradstep/optimizer.h"

#if defined(__cplusplus)
extern "C" {
#endif

enum gradstep_option_kind {
  GRADSTEP_OPTION_INVALID = -1,
  GRADSTEP_OPTION_HYPER_PARAMETER = 0, /* a number that a schedule may change with the steps */
  GRADSTEP_OPTION_SETTING = 1,         /* a number that is read at creation alone */
  GRADSTEP_OPTION_CHOICE = 2,          /* one of several names, or its number */
  GRADSTEP_OPTION_FLAG = 3,            /* 0 or 1 */
  GRADSTEP_OPTION_INTEGER = 4          /* a whole number of 64 bits */
};

/* Option "step_counting" of every rule: whose steps t counts. */
enum gradstep_step_counting {
  GRADSTEP_STEP_COUNTING_INVALID = -1,
  GRADSTEP_STEP_COUNTING_OPTIMIZER = 0,
  GRADSTEP_STEP_COUNTING_PARAMETER = 1 /* steps that each took part in, as PyTorch does */
};

/* Option "decay_mode" of every rule. All but the first two subtract from the parameter. */
enum gradstep_decay_mode {
  GRADSTEP_DECAY_MODE_INVALID = -1,
  GRADSTEP_DECAY_MODE_RULE = 0,        /* as the rule says */
  GRADSTEP_DECAY_MODE_COUPLED = 1,     /* weight_decay * p is added to the gradient */
  GRADSTEP_DECAY_MODE_DECOUPLED = 2,   /* learning_rate * weight_decay * p */
  GRADSTEP_DECAY_MODE_INDEPENDENT = 3, /* weight_decay * p */
  GRADSTEP_DECAY_MODE_RELATIVE = 4,    /* learning_rate / peak_learning_rate * weight_decay * p */
  GRADSTEP_DECAY_MODE_CORRECTED = 5    /* learning_rate^2 / peak_learning_rate * weight_decay * p */
};

/* Option "cautious_update" of every rule: elements whose change has the sign of the gradient are left out, and the k of
 * n that stay in a tensor are multiplied. Source: Liang et al. 2024, Cautious Optimizers. */
enum gradstep_cautious_update {
  GRADSTEP_CAUTIOUS_UPDATE_INVALID = -1,
  GRADSTEP_CAUTIOUS_UPDATE_OFF = 0,
  GRADSTEP_CAUTIOUS_UPDATE_MEAN = 1, /* by 1 / max(k / n, 1e-3) */
  GRADSTEP_CAUTIOUS_UPDATE_SUM = 2   /* by n / (k + 1) */
};

/* Option "adaptive_clip_units" of every rule: the elements that are clipped together. A tensor of one axis is one unit.
 * Source: Brock et al. 2021, High-Performance Large-Scale Image Recognition Without Normalization. */
enum gradstep_adaptive_clip_units {
  GRADSTEP_ADAPTIVE_CLIP_UNITS_INVALID = -1,
  GRADSTEP_ADAPTIVE_CLIP_UNITS_ROWS = 0,    /* all but the first axis: the weights of an output */
  GRADSTEP_ADAPTIVE_CLIP_UNITS_COLUMNS = 1, /* the first of two or three axes, all but the last of more: optax */
  GRADSTEP_ADAPTIVE_CLIP_UNITS_SECOND = 2 /* the second of two or three, all but the first of more: pytorch_optimizer */
};

/* One option by its name. This struct does not grow. */
typedef struct gradstep_option {
  const char* name;
  double value;     /* a number; a flag's 0 or 1; the number of a choice */
  const char* text; /* CHOICE: its name. INTEGER: decimal digits, for numbers beyond 2^53. NULL = value counts */
} gradstep_option;

/* A rule. Texts are UTF-8 and stay until the process ends. */
typedef struct gradstep_rule {
  uint32_t struct_size;
  int32_t reserved;
  const char* name;    /* "adam" */
  const char* source;  /* paper, algorithm, implementation whose numbers it reproduces */
  const char* formula; /* g: gradient; p: parameter; t: steps before this one. The text of a rule that is text */
  const char* states;  /* names of the states that it can have, separated by commas */
} gradstep_rule;

/* An option that a rule takes. Texts stay until the process ends. */
typedef struct gradstep_rule_option {
  uint32_t struct_size;
  int32_t kind;        /* enum gradstep_option_kind */
  const char* name;    /* "beta1" */
  const char* meaning; /* one line */
  const char* choices; /* CHOICE: the names of 0, 1, ..., separated by commas; else NULL */
  double initial;      /* the default; NaN = the host must give one */
  double minimum;      /* legal numbers are finite, at least minimum, */
  double limit;        /* and below limit, which may be infinite */
} gradstep_rule_option;

/* *count = how many rules there are: the library's, then those of gradstep_rule_define, in the order in which they
 * came. Returns: INVALID_ARGUMENT (count NULL). */
GRADSTEP_API gradstep_status gradstep_rule_count(size_t* count) GRADSTEP_NOEXCEPT;

/* *rule = the rule at `index`, below gradstep_rule_count. rule->struct_size is set by the caller.
 * Returns: INVALID_ARGUMENT (no such index, rule NULL, a bad struct_size), OUT_OF_MEMORY. */
GRADSTEP_API gradstep_status gradstep_rule_describe(size_t index, gradstep_rule* rule) GRADSTEP_NOEXCEPT;

/*
 * Makes a rule of its text, which is UTF-8 and ends with a zero byte:
 *
 *   rule my_lion
 *   hyper learning_rate in [0, inf); beta1 = 0.9 in [0, 1); beta2 = 0.99 in [0, 1)
 *   state m
 *   u = sign(beta1 * m + (1 - beta1) * g)
 *   m = beta2 * m + (1 - beta2) * g
 *   p = p - learning_rate * u
 *
 * Each element of a parameter becomes p, by its gradient g, its states, the hyper-parameters and t, which is 1 in the
 * first step. docs/rules_as_text.md has the language. *name = the rule's name, which stays until the process ends;
 * gradstep_optimizer_create and the other functions here take it. The rule has all options that rules share, and one of
 * its own more, weight_decay (learning_rate * weight_decay * p is subtracted from p), unless the text has one of that
 * name. On CUDA it is compiled by NVRTC when an optimizer is created, which fails with BACKEND_UNAVAILABLE where that
 * library is missing.
 *
 * Rules of texts belong to the process, as the list of all rules does, whatever context they were defined with; the
 * context gets a line in its log. A text that was defined before, blanks and comments aside, gives its name again. Any
 * threads may call this at the same time. A saved state holds the text and is loaded into the same one alone.
 * Returns: INVALID_ARGUMENT (a NULL; a text that is none, with line, column, what was expected and what was found; the
 * name of a rule that has another text or is the library's; a text beyond the limits of docs/rules_as_text.md),
 * UNSUPPORTED (row_mean, column_mean, orthogonalize), OUT_OF_MEMORY.
 */
GRADSTEP_API gradstep_status gradstep_rule_define(gradstep_context* context, const char* text,
                                                  const char** name) GRADSTEP_NOEXCEPT;

/*
 * The options of the rule of that name: the rule's own, then those that all rules share. Fills the first `capacity`
 * elements of `records`, each of record_size bytes; records NULL writes none. *count = how many there are.
 * Returns: INVALID_ARGUMENT (an unknown name, whose text lists the known ones; count NULL, a record_size that no
 * version has), OUT_OF_MEMORY.
 */
GRADSTEP_API gradstep_status gradstep_rule_options(const char* rule, gradstep_rule_option* records, size_t record_size,
                                                   size_t capacity, size_t* count) GRADSTEP_NOEXCEPT;

/*
 * Makes an optimizer of the rule of that name for n parameters (n may be 0). `options` has option_count elements, in
 * any order, and is read during the call with its texts; an option that is left out has its default. State is allocated
 * here. *out is the caller's to destroy (gradstep_optimizer_destroy).
 * Returns: INVALID_ARGUMENT (an unknown rule, whose text lists the known ones; an option that is unknown, given twice,
 * out of its range, or required and missing; a NULL, a bad schema), UNSUPPORTED, BACKEND_UNAVAILABLE, OUT_OF_MEMORY (as
 * gradstep_optimizer_create_adam).
 */
GRADSTEP_API gradstep_status gradstep_optimizer_create(gradstep_context* context, const char* rule,
                                                       const gradstep_option* options, size_t option_count,
                                                       const gradstep_parameter* parameters, size_t n,
                                                       gradstep_optimizer** out) GRADSTEP_NOEXCEPT;

/* The rule of a parameter group, and its options. This struct does not grow. */
typedef struct gradstep_group_rule {
  const char* rule;
  const gradstep_option* options;
  size_t option_count;
} gradstep_group_rule;

/*
 * Makes one optimizer of several rules: groups[g] is the rule of the parameters of group g, below group_count (a lone
 * one is that of all groups). One norm, one clip, one step count, one saved state; set_value and the like with group -1
 * change all groups that have a hyper-parameter of that name. The options maximize and step_counting are equal in all
 * groups. `groups` is read during the call. *out is the caller's to destroy (gradstep_optimizer_destroy).
 *
 *   gradstep_group_rule groups[] = {{"lion", lion_options, 2}, {"adam", adam_options, 1}};
 *   gradstep_optimizer_create_by_group(context, groups, 2, parameters, n, &optimizer);
 *
 * Returns: as gradstep_optimizer_create, and INVALID_ARGUMENT (group_count 0; a parameter whose group has no rule).
 */
GRADSTEP_API gradstep_status gradstep_optimizer_create_by_group(gradstep_context* context,
                                                                const gradstep_group_rule* groups, size_t group_count,
                                                                const gradstep_parameter* parameters, size_t n,
                                                                gradstep_optimizer** out) GRADSTEP_NOEXCEPT;

/*
 * Copies the averages of the weights (the options average_decay and average_equal, of Shampoo too) into n tensors, by
 * parameter: of its shape and any float dtype; data NULL = not wanted. A parameter without elements is wanted if the
 * tensor has its shape. Steps from average_start on are averaged, every average_every-th of them; with k of them in
 * it already
 *
 *   average = p                                    k = 0, and in every step before average_start
 *   average = share * average + (1 - share) * p    share: average_decay, with average_warmup at most
 *                                                  (1 + k) / (10 + k); with average_equal k / (k + 1)
 *
 * from master weights where there are some. A skipped step changes nothing and does not count; deltas
 * (gradstep_optimizer_update) cannot be given out. The averages are the states "average" too: saved, loaded and
 * sharded. Collective while the state is sharded, where every rank wants the same ones. `stream`: as in
 * gradstep_optimizer_get_state. Source: PyTorch's AveragedModel (EMA and SWA); the warm-up is that of TensorFlow's
 * ExponentialMovingAverage(num_updates).
 * The rules asgd and schedule_free have an average without these options. For schedule_free `tensors` hold the
 * parameters when the call begins: its average is made of p and of the state z. With master weights p is theirs.
 * Returns: INVALID_ARGUMENT (tensors NULL, n, another shape, no float dtype), INVALID_STATE (in use; a parameter has
 * no average, or no step was made yet; the state is lost, see gradstep_optimizer_step), CALLBACK (parallel_for),
 * OUT_OF_MEMORY, and, sharded, the statuses of a collective call.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_average(gradstep_optimizer* optimizer, const gradstep_tensor* tensors,
                                                        size_t n, void* stream) GRADSTEP_NOEXCEPT;

/* *bytes = the bytes of state that gradstep_optimizer_create with these arguments would allocate. Nothing is, and no
 * device is asked whether it is there.
 * Returns: INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY (as gradstep_optimizer_create). */
GRADSTEP_API gradstep_status gradstep_rule_state_bytes(const char* rule, const gradstep_option* options,
                                                       size_t option_count, const gradstep_parameter* parameters,
                                                       size_t n, int64_t* bytes) GRADSTEP_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif
