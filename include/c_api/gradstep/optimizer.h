/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * optimizer.h: update rules on the host's own parameters, and what all optimizers do. Shampoo's options are in
 * shampoo.h, state that is dealt out to ranks in sharding.h.
 *
 * t counts applied steps and is 0 in the first. Every double field of an options struct is a hyper-parameter, unless
 * its comment says otherwise: the value it has at creation is a constant for all groups; gradstep_optimizer_set_value,
 * _set_schedule and _set_tensor change it by its field name, per group. A weight_decay or momentum that is the constant
 * 0 (or an exponential decay from 0) is absent: it costs nothing and keeps no buffer. Arithmetic is f32 for f32, f16
 * and bf16 parameters and f64 for f64 ones.
 *
 * One step count serves all parameters. With Adam's bias correction a parameter whose first gradient comes late, or
 * that is added late, is corrected as if its moments were old: with the usual betas its first step is up to 3.16 times
 * learning_rate long, and later ones up to 6.6 times (docs/numerics.md, "Steps").
 *
 * In a step the gradient that a rule sees is clip(g * grad_scale * c, +-clip_value), negated under maximize, where c =
 * min(1, max_norm / (|grad_scale| * norm + 1e-6)) if max_norm > 0 (PyTorch's clip_grad_norm_), else 1. A step counts as
 * non-finite if the norm is, or if what it would store could leave the type's range (docs/numerics.md).
 */
#ifndef GRADSTEP_OPTIMIZER_H
#define GRADSTEP_OPTIMIZER_H

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
  /* One byte an element, by blocks of 256 as in Dettmers et al. 2022 ("8-bit optimizers via block-wise quantization"):
     zero, or how many octaves the element is below the largest magnitude of its block, in steps that widen with the
     distance, and its sign (sums of squares have none). The largest is kept exactly, an f32 for each block. */
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
 * Fields that several rules share:
 *
 * maximize: 1 negates the gradients.
 *
 * state_dtype: how the state tensors are stored. BF16 and INT8 are UNSUPPORTED for f64 parameters.
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
  int32_t nesterov;            /* bool; needs momentum > 0 and dampening = 0 */
  double learning_rate;        /* must be set */
  double momentum;             /* >= 0, default 0 */
  double dampening;            /* default 0; ignored without momentum */
  double weight_decay;         /* >= 0, default 0 */
  int32_t first_step;          /* enum gradstep_sgd_first_step */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int32_t reserved;
  int64_t seed; /* for stochastic_rounding */
} gradstep_sgd_options;

/*
 * RMSProp (Tieleman and Hinton 2012). g += weight_decay * p; a = rho a + (1 - rho) g^2; d = g / sqrt(a + epsilon), or
 * by epsilon_placement g / (sqrt(a) + epsilon); centered (Graves 2013): c = rho c + (1 - rho) g, and a - c^2 stands for
 * a under the root; with momentum b = momentum * b + d, and b stands for d; p -= learning_rate * d. State "square_avg",
 * "grad_avg" if centered, "momentum_buffer" with momentum. Source: SINGA opt.py; centered and momentum as in PyTorch.
 */
typedef struct gradstep_rmsprop_options {
  uint32_t struct_size;
  int32_t epsilon_placement;   /* enum gradstep_epsilon_placement */
  double learning_rate;        /* must be set */
  double rho;                  /* in [0, 1), default 0.9 */
  double epsilon;              /* >= 0, default 1e-8 */
  double weight_decay;         /* >= 0, default 0 */
  double momentum;             /* >= 0, default 0 */
  int32_t centered;            /* bool */
  int32_t maximize;            /* bool */
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int32_t reserved;
  int64_t seed; /* for stochastic_rounding */
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
  int32_t maximize;           /* bool */
  int32_t reserved0;
  int32_t master_weights;      /* bool */
  int32_t state_dtype;         /* enum gradstep_state_dtype */
  int32_t stochastic_rounding; /* bool */
  int32_t reserved;
  int64_t seed; /* for stochastic_rounding */
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
  int32_t bias_correction;        /* enum gradstep_bias_correction */
  double learning_rate;           /* must be set */
  double beta1;                   /* in [0, 1), default 0.9 */
  double beta2;                   /* in [0, 1), default 0.999 */
  double epsilon;                 /* >= 0, default 1e-8 */
  double weight_decay;            /* >= 0, default 0 */
  int32_t decoupled_weight_decay; /* bool */
  int32_t maximize;               /* bool */
  int32_t master_weights;         /* bool */
  int32_t state_dtype;            /* enum gradstep_state_dtype */
  int32_t stochastic_rounding;    /* bool */
  int32_t amsgrad;                /* bool */
  int64_t seed;                   /* for stochastic_rounding */
} gradstep_adam_options;

/* What a step did. Written also when the step was skipped. */
typedef struct gradstep_step_result {
  uint32_t struct_size;
  int32_t applied;         /* bool: 0 = skipped */
  double grad_norm;        /* before grad_scale; NaN when the step had no need to know it */
  double clip_coefficient; /* c above; 1 when nothing was clipped */
} gradstep_step_result;

typedef struct gradstep_step_options {
  uint32_t struct_size;
  int32_t skip_nonfinite;           /* bool: a step that counts as non-finite is skipped as a whole */
  double grad_scale;                /* finite; default 1 */
  double max_norm;                  /* >= 0; 0 = off */
  double clip_value;                /* >= 0; 0 = off */
  const gradstep_tensor* grad_norm; /* f64[1]: the gradients' norm before grad_scale; NULL = computed when needed */
  gradstep_tensor* found_inf;       /* f32[1]: non-zero skips the step; a non-finite step sets it to 1; may be NULL */
  gradstep_step_result* result;     /* may be NULL */
  /* f32[1]: a factor of grad_scale, finite, read when the step runs; NULL = 1. */
  const gradstep_tensor* grad_scale_tensor;
  /* f64[4], written when the step has run or was skipped: applied (1 or 0), grad_norm and clip_coefficient as in
   * gradstep_step_result, and t after it. May be NULL. */
  gradstep_tensor* outcome;
  int32_t disjoint; /* bool: the host promises that no written tensor overlaps another; the check is skipped */
  int32_t reserved;
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

/*
 * gradstep_sgd_options_init, gradstep_rmsprop_options_init, gradstep_adagrad_options_init, gradstep_adam_options_init
 * and gradstep_step_options_init: write the defaults into the struct_size bytes at o. A learning_rate becomes NaN,
 * which create refuses.
 * Returns: INVALID_ARGUMENT (o NULL, a bad struct_size).
 */
GRADSTEP_API gradstep_status gradstep_sgd_options_init(gradstep_sgd_options* o, size_t struct_size) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_rmsprop_options_init(gradstep_rmsprop_options* o,
                                                           size_t struct_size) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_adagrad_options_init(gradstep_adagrad_options* o,
                                                           size_t struct_size) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_adam_options_init(gradstep_adam_options* o, size_t struct_size) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_step_options_init(gradstep_step_options* o, size_t struct_size) GRADSTEP_NOEXCEPT;

/*
 * gradstep_optimizer_create_*: create an optimizer for n parameters (n may be 0). State starts at zero and is allocated
 * here. *out is the caller's to destroy.
 * Returns: INVALID_ARGUMENT (a NULL, a field outside its range or not finite, learning_rate not set, a bad schema),
 * UNSUPPORTED (a state_dtype other than NATIVE for f64 parameters; the schema, see gradstep_parameter),
 * BACKEND_UNAVAILABLE (the schema), OUT_OF_MEMORY.
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

/* Gives the handle up; views of its state end with the last use (an updater may keep it). NULL is nothing. */
GRADSTEP_API void gradstep_optimizer_destroy(gradstep_optimizer* optimizer) GRADSTEP_NOEXCEPT;

/*
 * Steps params[i] in place by grads[i]. params have the dtype, shape and device of the schema; grads the shape and
 * device, and any float dtype (f64 only for f64 parameters). grads[i].data NULL: parameter i is left alone. No tensor
 * that is written overlaps another one of the call. Collective while the state is sharded.
 * Returns: INVALID_ARGUMENT (names the tensor; nothing is changed), INVALID_STATE (in use; or the state is lost: see
 * gradstep_optimizer_attach_comm and below), NUMERIC (the value of a schedule or of gradstep_optimizer_set_tensor is
 * out of its field's range; nothing is changed), CALLBACK (a schedule: nothing is changed; or parallel_for),
 * OUT_OF_MEMORY, and, sharded, the statuses of a collective call.
 *
 * A parallel_for that fails half-way leaves some parameters and states stepped and others not. The step count stands,
 * and the state is lost: steps, saves, copies and reads of it are INVALID_STATE until a state is loaded or copied in.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_step(gradstep_optimizer* optimizer, const gradstep_tensor* params,
                                                     const gradstep_tensor* grads, size_t n,
                                                     void* stream) GRADSTEP_NOEXCEPT;

/*
 * Writes the deltas into updates[i] (the dtype, shape and device of parameter i) and leaves params as they are;
 * params[i] + updates[i] in the arithmetic dtype is what a step would have stored. updates may be exactly grads. Where
 * grads[i].data is NULL the update is zero. State and step count change as in a step.
 * Returns: INVALID_ARGUMENT, INVALID_STATE, NUMERIC, CALLBACK, OUT_OF_MEMORY (as step), UNSUPPORTED (parameters with
 * master weights), and, sharded, the statuses of a collective call.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_update(gradstep_optimizer* optimizer, const gradstep_tensor* params,
                                                       const gradstep_tensor* grads, const gradstep_tensor* updates,
                                                       size_t n, void* stream) GRADSTEP_NOEXCEPT;

/*
 * gradstep_optimizer_step, or with updates gradstep_optimizer_update, with options (NULL = defaults). A skipped step
 * changes nothing but the skip counter (metric "skipped_steps") and what the options ask to be written; skipped
 * `updates` are zero. The tensors of the options are where the parameters are. Tensors are compared with each other
 * for overlaps whenever one has moved since the last call; where all gradients move at each step, disjoint saves that.
 * If the promise is broken, what overlaps holds garbage.
 * Returns: INVALID_ARGUMENT (as step; an option outside its range; a tensor of the options of another dtype or with
 * another number of elements), UNSUPPORTED (as update), INVALID_STATE, CALLBACK, OUT_OF_MEMORY (as step), NUMERIC (as
 * step; grad_scale_tensor holds no finite number: on a device the step is skipped instead), and, sharded, MISMATCH
 * (some ranks ask for the norm or a check of finiteness, others not) and the statuses of a collective call.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_step_ex(gradstep_optimizer* optimizer, const gradstep_tensor* params,
                                                        const gradstep_tensor* grads, const gradstep_tensor* updates,
                                                        size_t n, const gradstep_step_options* options,
                                                        void* stream) GRADSTEP_NOEXCEPT;

/*
 * gradstep_optimizer_set_value and gradstep_optimizer_set_schedule: set hyper-parameter `name` of one group, or of all
 * groups with -1, to a constant or a schedule over t. Buffers that become necessary (momentum) start at zero. The
 * schedule is copied, see gradstep_schedule.
 * Returns: INVALID_ARGUMENT (unknown name: the text lists the known ones; group out of range; constant out of range; a
 * bad schedule), INVALID_STATE (in use; precondition of a Shampoo whose blocks are dealt out), OUT_OF_MEMORY.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_set_value(gradstep_optimizer* optimizer, int32_t group,
                                                          const char* name, double value) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_optimizer_set_schedule(gradstep_optimizer* optimizer, int32_t group,
                                                             const char* name,
                                                             const gradstep_schedule* schedule) GRADSTEP_NOEXCEPT;

/*
 * Hyper-parameter `name` of one group, or of all groups with -1, is from here on the f64[1] of the host that tensor
 * shows, where the parameters are: every step reads it anew when it runs, and checks it as a schedule's value. The
 * number is borrowed until gradstep_optimizer_set_value, _set_schedule or another _set_tensor takes its place for every
 * group that reads it, or the optimizer is destroyed; the host does not write to it during a call on the optimizer.
 * New groups of gradstep_optimizer_add_parameters take group 0's tensor, too. A momentum or weight_decay in memory is
 * never absent. Ranks that share an optimizer's state keep equal numbers in their tensors. A save notes the value of
 * the moment for information; loads and copy_state leave the tensor in its place.
 * Returns: INVALID_ARGUMENT (a NULL, unknown name, group out of range, another dtype or number of elements),
 * INVALID_STATE (in use; precondition of a Shampoo whose blocks are dealt out), NUMERIC (the value is needed at once,
 * and out of range: matrix_epsilon of a Shampoo, for new statistics), OUT_OF_MEMORY.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_set_tensor(gradstep_optimizer* optimizer, int32_t group,
                                                           const char* name,
                                                           const gradstep_tensor* tensor) GRADSTEP_NOEXCEPT;

/*
 * *value = what the next step would use. group -1 is group 0.
 * Returns: INVALID_ARGUMENT (a NULL, unknown name, group out of range), INVALID_STATE (in use), NUMERIC (the value of a
 * schedule or a tensor is out of range), CALLBACK (a schedule failed).
 */
GRADSTEP_API gradstep_status gradstep_optimizer_get_value(gradstep_optimizer* optimizer, int32_t group,
                                                          const char* name, double* value) GRADSTEP_NOEXCEPT;

/* *count = number of groups: one more than the largest group of the schema.
 * Returns: INVALID_ARGUMENT (count NULL), INVALID_STATE (in use). */
GRADSTEP_API gradstep_status gradstep_optimizer_group_count(gradstep_optimizer* optimizer,
                                                            int32_t* count) GRADSTEP_NOEXCEPT;

/*
 * Appends parameters; their state starts at zero. New groups take group 0's hyper-parameters. Views of the state of
 * earlier parameters stay valid, and so do their shapes.
 * Returns: INVALID_ARGUMENT (as create; a name that is taken), INVALID_STATE (in use; the state is sharded),
 * UNSUPPORTED, BACKEND_UNAVAILABLE, OUT_OF_MEMORY (as create); on failure the optimizer is as before.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_add_parameters(gradstep_optimizer* optimizer,
                                                               const gradstep_parameter* parameters,
                                                               size_t n) GRADSTEP_NOEXCEPT;

/*
 * *count = t, the number of applied steps.
 * Returns: INVALID_ARGUMENT (count NULL), INVALID_STATE (in use), NUMERIC (on a device, which evaluates schedules
 * itself: a hyper-parameter has left its range there, and the steps since were not made; reported once).
 */
GRADSTEP_API gradstep_status gradstep_optimizer_step_count(gradstep_optimizer* optimizer,
                                                           int64_t* count) GRADSTEP_NOEXCEPT;

/* t = count, 0 to 2^53: schedules and bias corrections compute with t as a double. Returns: INVALID_ARGUMENT (a count
 * out of range), INVALID_STATE (in use), CALLBACK (parallel_for, for roots of a Shampoo that are under way). */
GRADSTEP_API gradstep_status gradstep_optimizer_set_step_count(gradstep_optimizer* optimizer,
                                                               int64_t count) GRADSTEP_NOEXCEPT;

/*
 * Writes the state names of the rule, separated by commas ("exp_avg,exp_avg_sq"); where there is one for each block and
 * axis, its pattern ("statistics.{block}.{axis}") (text, see base.h).
 * Returns: INVALID_ARGUMENT (cap is too small), INVALID_STATE (in use).
 */
GRADSTEP_API gradstep_status gradstep_optimizer_state_names(gradstep_optimizer* optimizer, char* buf, size_t cap,
                                                            size_t* len) GRADSTEP_NOEXCEPT;

/*
 * tensor_out = a view of state `name` of parameter `index`, shaped as the parameter unless the rule says else, valid
 * until destroy or an attach_comm that shards the state. The host may write to it between steps.
 * Returns: INVALID_ARGUMENT (index, unknown name), INVALID_STATE (in use; the buffer does not exist, e.g. no momentum;
 * or the state is lost, see gradstep_optimizer_step), UNSUPPORTED (stored in another form, sharded by attach_comm or
 * attach_reducer, or an owner's, see gradstep_optimizer_attach_shards: use get_state).
 */
GRADSTEP_API gradstep_status gradstep_optimizer_state(gradstep_optimizer* optimizer, size_t index, const char* name,
                                                      gradstep_tensor* tensor_out) GRADSTEP_NOEXCEPT;

/*
 * gradstep_optimizer_get_state and gradstep_optimizer_set_state: copy state `name` of parameter `index` into or out of
 * a host tensor of the state's shape and any float dtype. Collective while the state is sharded by attach_comm or
 * attach_reducer; of a part of a parameter it is the part's, without an exchange, unless it has an owner
 * (gradstep_optimizer_attach_shards).
 * Returns: INVALID_ARGUMENT (index, unknown name, another shape or no float dtype), INVALID_STATE (in use; the buffer
 * does not exist, e.g. no momentum; an owner's, while no ranks are attached; get_state: the state is lost, see
 * gradstep_optimizer_step), CALLBACK (parallel_for), OUT_OF_MEMORY, and, sharded, the statuses of a collective call.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_get_state(gradstep_optimizer* optimizer, size_t index, const char* name,
                                                          const gradstep_tensor* tensor,
                                                          void* stream) GRADSTEP_NOEXCEPT;
GRADSTEP_API gradstep_status gradstep_optimizer_set_state(gradstep_optimizer* optimizer, size_t index, const char* name,
                                                          const gradstep_tensor* tensor,
                                                          void* stream) GRADSTEP_NOEXCEPT;

/*
 * destination's state, step count and skip counter become source's; both may be the same. Collective while the state is
 * sharded, and where tensors have owners (gradstep_optimizer_attach_shards): each then has the same owner in both.
 * Returns: INVALID_ARGUMENT, INVALID_STATE (one is in use; source's state is lost, see gradstep_optimizer_step; one has
 * owners and is not attached), MISMATCH (rule, names, shapes, dtypes, buffers or owners: the text names what differs),
 * CALLBACK (parallel_for), and, with owners, ABORTED (it failed on another rank) and the statuses of a collective call.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_copy_state(gradstep_optimizer* destination,
                                                           gradstep_optimizer* source) GRADSTEP_NOEXCEPT;

/*
 * Writes up to `capacity` records of record_size bytes each; *count = how many there are. records NULL only counts.
 * All rules: "step_count", "skipped_steps". Shampoo, for each statistic (parameter, block, axis):
 * "inverse_pth_root_errors" (of a root H of D = S + ridge I about max |H^p D - I|, of the last refresh whose error was
 * above 0: docs/shampoo.md says how it is measured), "root_max_eigenvalue" (the estimate that the ridge was made from),
 * "root_iterations" (of coupled Newton), "root_retries" and "root_failures" (totals), "preconditioner_age" (steps since
 * the one whose statistics its last successful refresh used).
 * Returns: INVALID_ARGUMENT (count NULL, a record_size that no version has), INVALID_STATE (in use), CALLBACK
 * (parallel_for, for roots of a Shampoo that are under way).
 */
GRADSTEP_API gradstep_status gradstep_optimizer_metrics(gradstep_optimizer* optimizer, gradstep_metric* records,
                                                        size_t record_size, size_t capacity,
                                                        size_t* count) GRADSTEP_NOEXCEPT;

/* *memory = what the handle holds now, on this rank. memory->struct_size is set by the caller.
 * Returns: INVALID_ARGUMENT (memory NULL, a bad struct_size), INVALID_STATE (in use). */
GRADSTEP_API gradstep_status gradstep_optimizer_memory(gradstep_optimizer* optimizer,
                                                       gradstep_memory* memory) GRADSTEP_NOEXCEPT;

/*
 * gradstep_*_state_bytes: *bytes = the bytes of state that a create with these arguments would allocate. Nothing is,
 * and no device is asked whether it is there.
 * Returns: INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY (as create).
 */
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

/* *done = 1 when no step is under way: tensors that it was given are the host's again. On CPU always: roots that a
 * Shampoo computes for later steps touch none of them, and do not count.
 * Returns: INVALID_ARGUMENT (done NULL), INVALID_STATE (in use). */
GRADSTEP_API gradstep_status gradstep_optimizer_poll(gradstep_optimizer* optimizer, int32_t* done) GRADSTEP_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif /* GRADSTEP_OPTIMIZER_H */
