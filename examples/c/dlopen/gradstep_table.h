/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * gradstep_table.h: gradstep for a program that opens the library itself and is not linked with it; POSIX. It needs no
 * header of gradstep's, whose comments are the reference. Written by scripts/generate.
 */
#ifndef GRADSTEP_TABLE_H
#define GRADSTEP_TABLE_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define GRADSTEP_ABI_VERSION 0x00000001

typedef int32_t gradstep_status;
enum gradstep_status_code {
  GRADSTEP_OK = 0,
  GRADSTEP_ERR_INVALID_ARGUMENT = -1,
  GRADSTEP_ERR_INVALID_STATE = -2,
  GRADSTEP_ERR_UNSUPPORTED = -3,
  GRADSTEP_ERR_OUT_OF_MEMORY = -4,
  GRADSTEP_ERR_BACKEND_UNAVAILABLE = -5,
  GRADSTEP_ERR_DEVICE = -6,
  GRADSTEP_ERR_NUMERIC = -7,
  GRADSTEP_ERR_TIMEOUT = -8,
  GRADSTEP_ERR_PEER_LOST = -9,
  GRADSTEP_ERR_ABORTED = -10,
  GRADSTEP_ERR_MISMATCH = -11,
  GRADSTEP_ERR_IO = -12,
  GRADSTEP_ERR_CORRUPT = -13,
  GRADSTEP_ERR_CALLBACK = -14,
  GRADSTEP_ERR_INTERNAL = -99
};
enum gradstep_device_type {
  GRADSTEP_DEVICE_INVALID = -1,
  GRADSTEP_DEVICE_CPU = 1,
  GRADSTEP_DEVICE_CUDA = 2,
  GRADSTEP_DEVICE_CUDA_HOST = 3
};
enum gradstep_type_code {
  GRADSTEP_TYPE_INVALID = -1,
  GRADSTEP_TYPE_INT = 0,
  GRADSTEP_TYPE_UINT = 1,
  GRADSTEP_TYPE_FLOAT = 2,
  GRADSTEP_TYPE_BFLOAT = 4
};
typedef struct gradstep_device {
  int32_t device_type;
  int32_t device_id;
} gradstep_device;
typedef struct gradstep_dtype {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} gradstep_dtype;
typedef struct gradstep_tensor {
  void* data;
  gradstep_device device;
  int32_t ndim;
  gradstep_dtype dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} gradstep_tensor;
enum gradstep_parameter_flags { GRADSTEP_PARAMETER_MAY_BE_UNUSED = 1 };
typedef struct gradstep_parameter {
  uint32_t struct_size;
  uint32_t flags;
  const char* name;
  const int64_t* shape;
  int32_t ndim;
  int32_t group;
  gradstep_dtype dtype;
  gradstep_device device;
  int32_t reserved;
  const int64_t* whole_shape;
  const int64_t* offset;
} gradstep_parameter;
typedef struct gradstep_tensor_list gradstep_tensor_list;
typedef struct gradstep_parameter_list gradstep_parameter_list;
typedef struct gradstep_context gradstep_context;
enum gradstep_log_level {
  GRADSTEP_LOG_INVALID = -1,
  GRADSTEP_LOG_OFF = 0,
  GRADSTEP_LOG_ERROR = 1,
  GRADSTEP_LOG_WARNING = 2,
  GRADSTEP_LOG_INFO = 3,
  GRADSTEP_LOG_DEBUG = 4
};
typedef struct gradstep_allocator {
  uint32_t struct_size;
  uint32_t reserved;
  void* user;
  void* (*allocate)(void* user, size_t bytes, size_t alignment, int32_t device_type, int32_t device_id, void* stream);
  void (*deallocate)(void* user, void* data, size_t bytes, size_t alignment, int32_t device_type, int32_t device_id,
                     void* stream);
  void (*release)(void* user);
} gradstep_allocator;
typedef struct gradstep_context_options {
  uint32_t struct_size;
  int32_t num_threads;
  int32_t background_threads;
  int32_t log_level;
  void (*log)(void* user, int32_t level, const char* text);
  void* log_user;
  void (*log_release)(void* user);
  gradstep_status (*parallel_for)(void* user, int64_t n, void (*body)(void* body_user, int64_t i), void* body_user);
  void* parallel_for_user;
  void (*parallel_for_release)(void* user);
  int32_t (*interrupt)(void* user);
  void* interrupt_user;
  void (*interrupt_release)(void* user);
  const gradstep_allocator* allocator;
  const char* lapack_library;
} gradstep_context_options;
enum gradstep_schedule_kind {
  GRADSTEP_SCHEDULE_INVALID = -1,
  GRADSTEP_SCHEDULE_CONSTANT = 0,
  GRADSTEP_SCHEDULE_EXPONENTIAL_DECAY = 1,
  GRADSTEP_SCHEDULE_INVERSE_TIME = 2,
  GRADSTEP_SCHEDULE_POLYNOMIAL = 3,
  GRADSTEP_SCHEDULE_COSINE = 4,
  GRADSTEP_SCHEDULE_PIECEWISE = 5,
  GRADSTEP_SCHEDULE_CALLBACK = 6
};
typedef struct gradstep_schedule {
  uint32_t struct_size;
  int32_t kind;
  double init_value;
  double end_value;
  int64_t decay_steps;
  double decay_rate;
  double power;
  int32_t staircase;
  int32_t n_points;
  int64_t warmup_steps;
  const int64_t* boundaries;
  const double* values;
  gradstep_status (*function)(void* user, int64_t step, double* value);
  void* user;
  void (*release)(void* user);
} gradstep_schedule;
typedef struct gradstep_accumulator gradstep_accumulator;
enum gradstep_accumulation_mode {
  GRADSTEP_ACCUMULATE_INVALID = -1,
  GRADSTEP_ACCUMULATE_MEAN_EACH = 0,
  GRADSTEP_ACCUMULATE_SUM = 1,
  GRADSTEP_ACCUMULATE_MEAN = 2,
  GRADSTEP_ACCUMULATE_RUNNING_MEAN = 3,
  GRADSTEP_ACCUMULATE_WEIGHTED = 4
};
enum gradstep_accumulation_trigger {
  GRADSTEP_TRIGGER_INVALID = -1,
  GRADSTEP_TRIGGER_STEPS = 0,
  GRADSTEP_TRIGGER_SCHEDULE = 1,
  GRADSTEP_TRIGGER_MIN_WEIGHT = 2,
  GRADSTEP_TRIGGER_MANUAL = 3
};
enum gradstep_nonfinite_policy {
  GRADSTEP_NONFINITE_INVALID = -1,
  GRADSTEP_NONFINITE_NONE = 0,
  GRADSTEP_NONFINITE_POISON = 1,
  GRADSTEP_NONFINITE_SKIP = 2
};
typedef struct gradstep_accumulator_options {
  uint32_t struct_size;
  int32_t mode;
  int32_t trigger;
  int32_t nonfinite;
  int64_t steps;
  double min_weight;
  const gradstep_schedule* schedule;
  gradstep_dtype dtype;
  int32_t keep_sums;
} gradstep_accumulator_options;
typedef struct gradstep_rows {
  uint32_t struct_size;
  int32_t reserved;
  int64_t parameter;
  const gradstep_tensor* indices;
  const gradstep_tensor* values;
} gradstep_rows;
typedef struct gradstep_comm gradstep_comm;
enum gradstep_reduce_op {
  GRADSTEP_REDUCE_INVALID = -1,
  GRADSTEP_REDUCE_SUM = 0,
  GRADSTEP_REDUCE_MAX = 1,
  GRADSTEP_REDUCE_MIN = 2
};
enum gradstep_reduction_order {
  GRADSTEP_REDUCTION_INVALID = -1,
  GRADSTEP_REDUCTION_RANK = 0,
  GRADSTEP_REDUCTION_ENGINE = 1,
  GRADSTEP_REDUCTION_HOSTS = 2
};
enum gradstep_average {
  GRADSTEP_AVERAGE_INVALID = -1,
  GRADSTEP_AVERAGE_UNSET = 0,
  GRADSTEP_AVERAGE_SUM = 1,
  GRADSTEP_AVERAGE_MEAN = 2,
  GRADSTEP_AVERAGE_WEIGHTED = 3
};
typedef struct gradstep_store {
  uint32_t struct_size;
  uint32_t reserved;
  void* user;
  gradstep_status (*set)(void* user, const char* key, const void* data, size_t len);
  gradstep_status (*get)(void* user, const char* key, void* data, size_t* len, int64_t timeout_ms);
  void (*release)(void* user);
} gradstep_store;
typedef struct gradstep_comm_options {
  uint32_t struct_size;
  int32_t rank;
  int32_t world_size;
  int32_t reduction_order;
  const char* engine;
  int64_t timeout_ms;
  const void* id;
  size_t id_len;
  const gradstep_store* store;
  const char* store_path;
  const char* network_interface;
  int64_t generation;
  int32_t device;
  int32_t reserved;
} gradstep_comm_options;
typedef struct gradstep_comm_vtable {
  uint32_t struct_size;
  int32_t rank;
  int32_t world_size;
  int32_t any_thread;
  uint32_t device_types;
  int32_t rank_ordered;
  gradstep_status (*all_gather)(void* user, const void* send, void* receive, int64_t bytes, void* stream,
                                int64_t timeout_ms);
  gradstep_status (*all_reduce)(void* user, void* data, int64_t count, int32_t type_code, int32_t bits, int32_t op,
                                void* stream, int64_t timeout_ms);
  gradstep_status (*reduce_scatter)(void* user, const void* send, void* receive, int64_t count, int32_t type_code,
                                    int32_t bits, int32_t op, void* stream, int64_t timeout_ms);
  gradstep_status (*broadcast)(void* user, void* data, int64_t bytes, int32_t root, void* stream, int64_t timeout_ms);
  gradstep_status (*send)(void* user, const void* data, int64_t bytes, int32_t to, void* stream, int64_t timeout_ms);
  gradstep_status (*recv)(void* user, void* data, int64_t bytes, int32_t from, void* stream, int64_t timeout_ms);
  gradstep_status (*send_recv)(void* user, const void* send, int64_t send_bytes, int32_t to, void* receive,
                               int64_t receive_bytes, int32_t from, void* stream, int64_t timeout_ms);
  gradstep_status (*barrier)(void* user, void* stream, int64_t timeout_ms);
  gradstep_status (*dup)(void* user, int64_t timeout_ms, struct gradstep_comm_vtable* out, void** out_user);
  void (*abort)(void* user);
  void (*release)(void* user);
  gradstep_status (*exchange)(void* user, const void* const* send, const int64_t* send_bytes, void* const* receive,
                              const int64_t* receive_bytes, void* stream, int64_t timeout_ms);
  gradstep_status (*poll)(void* user);
} gradstep_comm_vtable;
typedef struct gradstep_comm_statistics {
  uint32_t struct_size;
  int32_t reserved;
  int64_t all_reduces;
  int64_t all_gathers;
  int64_t reduce_scatters;
  int64_t broadcasts;
  int64_t sends;
  int64_t receives;
  int64_t barriers;
  int64_t bytes_sent;
  int64_t nanoseconds;
  int64_t exchanges;
  int64_t rounds;
} gradstep_comm_statistics;
typedef struct gradstep_reducer gradstep_reducer;
enum gradstep_reducer_mode {
  GRADSTEP_REDUCER_INVALID = -1,
  GRADSTEP_REDUCER_DENSE = 0,
  GRADSTEP_REDUCER_HALF = 1,
  GRADSTEP_REDUCER_BFLOAT16 = 2,
  GRADSTEP_REDUCER_SPARSE_THRESHOLD = 3,
  GRADSTEP_REDUCER_SPARSE_TOPK = 4,
  GRADSTEP_REDUCER_ADASUM_TREE = 5,
  GRADSTEP_REDUCER_ADASUM_NWAY = 6,
  GRADSTEP_REDUCER_POWERSGD = 7,
  GRADSTEP_REDUCER_AUTO = 8,
  GRADSTEP_REDUCER_INT8 = 9,
  GRADSTEP_REDUCER_INT4 = 10,
  GRADSTEP_REDUCER_FP8_E4M3 = 11,
  GRADSTEP_REDUCER_FP8_E5M2 = 12
};
enum gradstep_candidate_flags { GRADSTEP_CANDIDATE_HOSTS = 1 << 30 };
enum gradstep_half_sum {
  GRADSTEP_HALF_SUM_INVALID = -1,
  GRADSTEP_HALF_SUM_F32 = 0,
  GRADSTEP_HALF_SUM_FP16 = 1,
  GRADSTEP_HALF_SUM_FP16_PREDIVIDED = 2
};
enum gradstep_selection {
  GRADSTEP_SELECTION_INVALID = -1,
  GRADSTEP_SELECTION_BUCKET = 0,
  GRADSTEP_SELECTION_TENSOR = 1
};
enum gradstep_nan_policy {
  GRADSTEP_NAN_INVALID = -1,
  GRADSTEP_NAN_ERROR = 0,
  GRADSTEP_NAN_ZERO = 1,
  GRADSTEP_NAN_SEND = 2
};
enum gradstep_sparse_exchange {
  GRADSTEP_SPARSE_EXCHANGE_INVALID = -1,
  GRADSTEP_SPARSE_EXCHANGE_AUTO = 0,
  GRADSTEP_SPARSE_EXCHANGE_GATHER = 1,
  GRADSTEP_SPARSE_EXCHANGE_SPLIT = 2
};
enum gradstep_error_feedback {
  GRADSTEP_ERROR_FEEDBACK_INVALID = -1,
  GRADSTEP_ERROR_FEEDBACK_EF14 = 0,
  GRADSTEP_ERROR_FEEDBACK_EF21 = 1
};
typedef struct gradstep_reducer_options {
  uint32_t struct_size;
  int32_t mode;
  int32_t average;
  int32_t control;
  int64_t fuse_threshold;
  int64_t bucket_elements;
  double clip_value;
  int32_t half_sum;
  int32_t residual;
  double sparsity;
  int32_t selection;
  int32_t nan_policy;
  int32_t sparse_exchange;
  int32_t error_feedback;
  double momentum_correction;
  int64_t warmup_steps;
  int32_t rank;
  int32_t candidates;
  int32_t channels;
  int32_t reserved;
} gradstep_reducer_options;
enum gradstep_exchange_algorithm {
  GRADSTEP_EXCHANGE_INVALID = -1,
  GRADSTEP_EXCHANGE_NONE = 0,
  GRADSTEP_EXCHANGE_ALL_REDUCE = 1,
  GRADSTEP_EXCHANGE_PIECES = 2,
  GRADSTEP_EXCHANGE_GATHER = 3,
  GRADSTEP_EXCHANGE_SPARSE_GATHER = 4,
  GRADSTEP_EXCHANGE_SPARSE_SPLIT = 5,
  GRADSTEP_EXCHANGE_FACTORS = 6,
  GRADSTEP_EXCHANGE_SCATTER = 7
};
typedef struct gradstep_bucket_statistics {
  uint32_t struct_size;
  int32_t mode;
  int64_t elements;
  int64_t parameters;
  int64_t exchanges;
  int64_t bytes_dense;
  int64_t bytes_sent;
  int64_t pack_nanoseconds;
  int64_t exchange_nanoseconds;
  int64_t select_nanoseconds;
  int64_t selected;
  int64_t nonfinite;
  int32_t algorithm;
  int32_t by_hosts;
  int64_t predicted_dense_nanoseconds;
  int64_t predicted_half_nanoseconds;
  int64_t predicted_sparse_gather_nanoseconds;
  int64_t predicted_sparse_split_nanoseconds;
  int64_t wait_nanoseconds;
  int64_t predicted_int8_nanoseconds;
  int64_t predicted_powersgd_nanoseconds;
  int64_t predicted_int4_nanoseconds;
  int64_t predicted_fp8_nanoseconds;
} gradstep_bucket_statistics;
enum gradstep_cost_algorithm {
  GRADSTEP_COST_INVALID = -1,
  GRADSTEP_COST_OWN = 0,
  GRADSTEP_COST_RING = 1,
  GRADSTEP_COST_TREE = 2,
  GRADSTEP_COST_HIERARCHICAL = 3,
  GRADSTEP_COST_SPARSE_GATHER = 4,
  GRADSTEP_COST_SPARSE_SPLIT = 5,
  GRADSTEP_COST_HOSTS = 6
};
typedef struct gradstep_cost_options {
  uint32_t struct_size;
  int32_t element_bytes;
  int64_t elements;
  int64_t ranks;
  int64_t ranks_per_host;
  int64_t bucket_elements;
  double bandwidth;
  double latency;
  double host_bandwidth;
  double host_latency;
  double message;
  double sparsity;
  int32_t rank;
  int32_t no_exchange;
  int64_t rows;
  int64_t columns;
  double pack_seconds;
  double convert_seconds;
  double select_seconds;
  double entry_seconds;
  double add_seconds;
  double merge_seconds;
  double multiply_seconds;
  int64_t control_parameters;
  int32_t channels;
  int32_t no_stages;
  double encode_seconds;
  double decode_seconds;
} gradstep_cost_options;
typedef struct gradstep_cost {
  uint32_t struct_size;
  int32_t mode;
  int32_t algorithm;
  int32_t reserved;
  int64_t bytes;
  double seconds;
  double network_seconds;
  int64_t calls;
  int64_t rounds;
} gradstep_cost;
typedef struct gradstep_optimizer gradstep_optimizer;
enum gradstep_state_dtype {
  GRADSTEP_STATE_DTYPE_INVALID = -1,
  GRADSTEP_STATE_DTYPE_NATIVE = 0,
  GRADSTEP_STATE_DTYPE_BF16 = 1,
  GRADSTEP_STATE_DTYPE_INT8 = 2
};
enum gradstep_epsilon_placement {
  GRADSTEP_EPSILON_PLACEMENT_INVALID = -1,
  GRADSTEP_EPSILON_PLACEMENT_INSIDE = 0,
  GRADSTEP_EPSILON_PLACEMENT_OUTSIDE = 1
};
enum gradstep_sgd_first_step {
  GRADSTEP_SGD_FIRST_STEP_INVALID = -1,
  GRADSTEP_SGD_FIRST_STEP_DAMPEN = 0,
  GRADSTEP_SGD_FIRST_STEP_COPY = 1
};
enum gradstep_bias_correction {
  GRADSTEP_BIAS_CORRECTION_INVALID = -1,
  GRADSTEP_BIAS_CORRECTION_STANDARD = 0,
  GRADSTEP_BIAS_CORRECTION_TF = 1
};
typedef struct gradstep_sgd_options {
  uint32_t struct_size;
  int32_t nesterov;
  double learning_rate;
  double momentum;
  double dampening;
  double weight_decay;
  int32_t first_step;
  int32_t maximize;
  int32_t master_weights;
  int32_t state_dtype;
  int32_t stochastic_rounding;
  int32_t reserved;
  int64_t seed;
} gradstep_sgd_options;
typedef struct gradstep_rmsprop_options {
  uint32_t struct_size;
  int32_t epsilon_placement;
  double learning_rate;
  double rho;
  double epsilon;
  double weight_decay;
  double momentum;
  int32_t centered;
  int32_t maximize;
  int32_t master_weights;
  int32_t state_dtype;
  int32_t stochastic_rounding;
  int32_t reserved;
  int64_t seed;
} gradstep_rmsprop_options;
typedef struct gradstep_adagrad_options {
  uint32_t struct_size;
  int32_t epsilon_placement;
  double learning_rate;
  double epsilon;
  double weight_decay;
  double lr_decay;
  double initial_accumulator;
  int32_t maximize;
  int32_t reserved0;
  int32_t master_weights;
  int32_t state_dtype;
  int32_t stochastic_rounding;
  int32_t reserved;
  int64_t seed;
} gradstep_adagrad_options;
typedef struct gradstep_adam_options {
  uint32_t struct_size;
  int32_t bias_correction;
  double learning_rate;
  double beta1;
  double beta2;
  double epsilon;
  double weight_decay;
  int32_t decoupled_weight_decay;
  int32_t maximize;
  int32_t master_weights;
  int32_t state_dtype;
  int32_t stochastic_rounding;
  int32_t amsgrad;
  int64_t seed;
} gradstep_adam_options;
typedef struct gradstep_step_result {
  uint32_t struct_size;
  int32_t applied;
  double grad_norm;
  double clip_coefficient;
} gradstep_step_result;
typedef struct gradstep_step_options {
  uint32_t struct_size;
  int32_t skip_nonfinite;
  double grad_scale;
  double max_norm;
  double clip_value;
  const gradstep_tensor* grad_norm;
  gradstep_tensor* found_inf;
  gradstep_step_result* result;
  const gradstep_tensor* grad_scale_tensor;
  gradstep_tensor* outcome;
  int32_t disjoint;
  int32_t reserved;
} gradstep_step_options;
typedef struct gradstep_metric {
  uint32_t struct_size;
  int32_t reserved;
  char name[40];
  int64_t parameter;
  int64_t block;
  int64_t axis;
  double value;
} gradstep_metric;
typedef struct gradstep_memory {
  uint32_t struct_size;
  int32_t reserved;
  int64_t state_bytes;
  int64_t other_bytes;
} gradstep_memory;
enum gradstep_option_kind {
  GRADSTEP_OPTION_INVALID = -1,
  GRADSTEP_OPTION_HYPER_PARAMETER = 0,
  GRADSTEP_OPTION_SETTING = 1,
  GRADSTEP_OPTION_CHOICE = 2,
  GRADSTEP_OPTION_FLAG = 3,
  GRADSTEP_OPTION_INTEGER = 4
};
enum gradstep_step_counting {
  GRADSTEP_STEP_COUNTING_INVALID = -1,
  GRADSTEP_STEP_COUNTING_OPTIMIZER = 0,
  GRADSTEP_STEP_COUNTING_PARAMETER = 1
};
enum gradstep_decay_mode {
  GRADSTEP_DECAY_MODE_INVALID = -1,
  GRADSTEP_DECAY_MODE_RULE = 0,
  GRADSTEP_DECAY_MODE_COUPLED = 1,
  GRADSTEP_DECAY_MODE_DECOUPLED = 2,
  GRADSTEP_DECAY_MODE_INDEPENDENT = 3,
  GRADSTEP_DECAY_MODE_RELATIVE = 4,
  GRADSTEP_DECAY_MODE_CORRECTED = 5
};
enum gradstep_cautious_update {
  GRADSTEP_CAUTIOUS_UPDATE_INVALID = -1,
  GRADSTEP_CAUTIOUS_UPDATE_OFF = 0,
  GRADSTEP_CAUTIOUS_UPDATE_MEAN = 1,
  GRADSTEP_CAUTIOUS_UPDATE_SUM = 2
};
enum gradstep_adaptive_clip_units {
  GRADSTEP_ADAPTIVE_CLIP_UNITS_INVALID = -1,
  GRADSTEP_ADAPTIVE_CLIP_UNITS_ROWS = 0,
  GRADSTEP_ADAPTIVE_CLIP_UNITS_COLUMNS = 1,
  GRADSTEP_ADAPTIVE_CLIP_UNITS_SECOND = 2
};
typedef struct gradstep_option {
  const char* name;
  double value;
  const char* text;
} gradstep_option;
typedef struct gradstep_rule {
  uint32_t struct_size;
  int32_t reserved;
  const char* name;
  const char* source;
  const char* formula;
  const char* states;
} gradstep_rule;
typedef struct gradstep_rule_option {
  uint32_t struct_size;
  int32_t kind;
  const char* name;
  const char* meaning;
  const char* choices;
  double initial;
  double minimum;
  double limit;
} gradstep_rule_option;
typedef struct gradstep_group_rule {
  const char* rule;
  const gradstep_option* options;
  size_t option_count;
} gradstep_group_rule;
enum gradstep_graft_type {
  GRADSTEP_GRAFT_TYPE_INVALID = -1,
  GRADSTEP_GRAFT_TYPE_SGD = 0,
  GRADSTEP_GRAFT_TYPE_ADAGRAD = 1,
  GRADSTEP_GRAFT_TYPE_RMSPROP = 2,
  GRADSTEP_GRAFT_TYPE_RMSPROP_NORMALIZED = 3,
  GRADSTEP_GRAFT_TYPE_SQRT_N = 4,
  GRADSTEP_GRAFT_TYPE_ADAGRAD_NORMALIZED = 5,
  GRADSTEP_GRAFT_TYPE_ADAM = 6,
  GRADSTEP_GRAFT_TYPE_NONE = 7
};
enum gradstep_root_method {
  GRADSTEP_ROOT_METHOD_INVALID = -1,
  GRADSTEP_ROOT_METHOD_AUTO = 0,
  GRADSTEP_ROOT_METHOD_COUPLED_NEWTON = 1,
  GRADSTEP_ROOT_METHOD_EIGH = 2
};
enum gradstep_root_precision {
  GRADSTEP_ROOT_PRECISION_INVALID = -1,
  GRADSTEP_ROOT_PRECISION_F64 = 0,
  GRADSTEP_ROOT_PRECISION_F32 = 1
};
enum gradstep_product_precision {
  GRADSTEP_PRODUCT_PRECISION_INVALID = -1,
  GRADSTEP_PRODUCT_PRECISION_F32 = 0,
  GRADSTEP_PRODUCT_PRECISION_TF32 = 1
};
enum gradstep_root_padding {
  GRADSTEP_ROOT_PADDING_INVALID = -1,
  GRADSTEP_ROOT_PADDING_NONE = 0,
  GRADSTEP_ROOT_PADDING_LARGEST = 1
};
enum gradstep_refresh { GRADSTEP_REFRESH_INVALID = -1, GRADSTEP_REFRESH_FRESH = 0, GRADSTEP_REFRESH_STALE = 1 };
enum gradstep_one_sided {
  GRADSTEP_ONE_SIDED_INVALID = -1,
  GRADSTEP_ONE_SIDED_NONE = 0,
  GRADSTEP_ONE_SIDED_INPUT = 1,
  GRADSTEP_ONE_SIDED_OUTPUT = 2
};
enum gradstep_shampoo_statistics {
  GRADSTEP_SHAMPOO_STATISTICS_INVALID = -1,
  GRADSTEP_SHAMPOO_STATISTICS_GRADIENTS = 0,
  GRADSTEP_SHAMPOO_STATISTICS_KL = 1,
  GRADSTEP_SHAMPOO_STATISTICS_KL_MEAN = 2
};
enum gradstep_ridge { GRADSTEP_RIDGE_INVALID = -1, GRADSTEP_RIDGE_RELATIVE = 0, GRADSTEP_RIDGE_ABSOLUTE = 1 };
typedef struct gradstep_shampoo_options {
  uint32_t struct_size;
  int32_t graft_type;
  double learning_rate;
  double beta1;
  double beta2;
  double diagonal_epsilon;
  double matrix_epsilon;
  double weight_decay;
  double inverse_failure_threshold;
  double clip_by_scaled_gradient_norm;
  double graft_beta1;
  double graft_beta2;
  double precondition;
  int64_t block_size;
  int64_t start_preconditioning_step;
  int64_t preconditioning_compute_steps;
  int64_t statistics_compute_steps;
  int64_t skip_preconditioning_dim_size_gt;
  int32_t exponent_override;
  int32_t best_effort_shape_interpretation;
  int32_t nesterov;
  int32_t moving_average_for_momentum;
  int32_t decoupled_weight_decay;
  int32_t root_method;
  int32_t root_precision;
  int32_t root_padding;
  int32_t root_retries;
  int32_t root_lag;
  int32_t refresh;
  int32_t quantize_momentum;
  int32_t quantize_statistics;
  int32_t one_sided;
  int32_t eigenvalue_corrected;
  int32_t master_weights;
  int32_t product_precision;
  int32_t maximize;
  double average_decay;
  int64_t average_start;
  int64_t average_every;
  int32_t average_warmup;
  int32_t average_equal;
  int32_t state_dtype;
  int32_t stochastic_rounding;
  int64_t seed;
  int32_t statistics;
  int32_t ridge;
} gradstep_shampoo_options;
enum gradstep_sharded_gradients {
  GRADSTEP_SHARDED_GRADIENTS_INVALID = -1,
  GRADSTEP_SHARDED_GRADIENTS_LOCAL = 0,
  GRADSTEP_SHARDED_GRADIENTS_REDUCED = 1
};
enum gradstep_sharded_preconditioners {
  GRADSTEP_SHARDED_PRECONDITIONERS_INVALID = -1,
  GRADSTEP_SHARDED_PRECONDITIONERS_REPLICATED = 0,
  GRADSTEP_SHARDED_PRECONDITIONERS_OWNED = 1
};
typedef struct gradstep_sharding_options {
  uint32_t struct_size;
  int32_t gradients;
  int32_t average;
  int32_t preconditioners;
} gradstep_sharding_options;
typedef struct gradstep_updater gradstep_updater;
enum gradstep_updater_sync {
  GRADSTEP_SYNC_INVALID = -1,
  GRADSTEP_SYNC_GRADIENTS = 0,
  GRADSTEP_SYNC_PARAMETERS_PARTIAL = 1,
  GRADSTEP_SYNC_PARAMETERS = 2,
  GRADSTEP_SYNC_DELTAS = 3
};
typedef struct gradstep_updater_options {
  uint32_t struct_size;
  int32_t sync;
  int32_t skip_nonfinite;
  int32_t sync_steps;
  double max_norm;
  double clip_value;
  double grad_scale;
  gradstep_optimizer* outer;
  int32_t outer_fragments;
  int32_t outer_delay;
  double outer_mix;
} gradstep_updater_options;
typedef struct gradstep_updater_statistics {
  uint32_t struct_size;
  int32_t dropped_windows;
  int64_t pushes;
  int64_t windows;
  int64_t steps;
  int64_t skipped_steps;
  int64_t accumulate_nanoseconds;
  int64_t reduce_nanoseconds;
  int64_t step_nanoseconds;
} gradstep_updater_statistics;
typedef struct gradstep_stream {
  uint32_t struct_size;
  int32_t reserved;
  void* user;
  gradstep_status (*write)(void* user, const void* data, size_t size);
  gradstep_status (*read)(void* user, void* data, size_t size, size_t* got);
  void (*release)(void* user);
} gradstep_stream;
typedef struct gradstep_load_options {
  uint32_t struct_size;
  int32_t allow_unchecked;
} gradstep_load_options;

/* The functions, without their "gradstep_". */
typedef struct gradstep_table {
  uint32_t (*abi_version)(void);
  gradstep_status (*accumulator_options_init)(gradstep_accumulator_options* o, size_t struct_size);
  gradstep_status (*accumulator_create)(gradstep_context* context, const gradstep_accumulator_options* options,
                                        const gradstep_parameter* parameters, size_t n, gradstep_accumulator** out);
  void (*accumulator_destroy)(gradstep_accumulator* accumulator);
  gradstep_status (*accumulator_add)(gradstep_accumulator* accumulator, const gradstep_tensor* grads, size_t n,
                                     double weight, void* stream, int32_t* ready_out);
  gradstep_status (*accumulator_add_ex)(gradstep_accumulator* accumulator, const gradstep_tensor* grads, size_t n,
                                        const gradstep_rows* rows, size_t n_rows, double weight, void* stream,
                                        int32_t* ready_out);
  gradstep_status (*accumulator_flush)(gradstep_accumulator* accumulator, void* stream, int32_t* ready_out);
  gradstep_status (*accumulator_reset)(gradstep_accumulator* accumulator, void* stream);
  gradstep_status (*accumulator_gradients)(gradstep_accumulator* accumulator, gradstep_tensor* tensors_out, size_t n,
                                           void* stream);
  gradstep_status (*accumulator_sums)(gradstep_accumulator* accumulator, gradstep_tensor* tensors_out, size_t n,
                                      void* stream);
  gradstep_status (*accumulator_weight)(gradstep_accumulator* accumulator, double* weight);
  gradstep_status (*accumulator_norm)(gradstep_accumulator* accumulator, gradstep_tensor* tensor_out, void* stream);
  gradstep_status (*accumulator_count)(gradstep_accumulator* accumulator, int64_t* count);
  gradstep_status (*accumulator_skipped)(gradstep_accumulator* accumulator, int64_t* skipped);
  gradstep_status (*accumulator_poll)(gradstep_accumulator* accumulator, int32_t* done);
  gradstep_status (*backend_load)(const char* path);
  int32_t (*backend_available)(const char* name);
  gradstep_status (*backend_status)(const char* name, char* buf, size_t cap, size_t* len);
  const char* (*version_string)(void);
  gradstep_status (*build_info)(char* buf, size_t cap, size_t* len);
  const char* (*status_name)(gradstep_status status);
  const char* (*last_error)(void);
  void (*set_last_error)(const char* text);
  gradstep_status (*comm_options_init)(gradstep_comm_options* o, size_t struct_size);
  gradstep_status (*comm_create)(gradstep_context* context, const gradstep_comm_options* options, gradstep_comm** out);
  gradstep_status (*comm_create_local)(gradstep_context* context, int32_t world_size, gradstep_comm** out);
  gradstep_status (*comm_create_local_ex)(gradstep_context* context, int32_t world_size,
                                          const gradstep_comm_options* options, gradstep_comm** out);
  gradstep_status (*comm_create_host)(gradstep_context* context, const gradstep_comm_vtable* vtable, void* user,
                                      gradstep_comm** out);
  gradstep_status (*comm_create_host_ex)(gradstep_context* context, const gradstep_comm_vtable* vtable, void* user,
                                         const gradstep_comm_options* options, gradstep_comm** out);
  gradstep_status (*comm_wrap_mpi)(gradstep_context* context, const void* comm_address, gradstep_comm** out);
  gradstep_status (*comm_wrap_mpi_ex)(gradstep_context* context, const void* comm_address,
                                      const gradstep_comm_options* options, gradstep_comm** out);
  gradstep_status (*comm_attach_nccl)(gradstep_comm* comm, int32_t device, void* nccl_comm, gradstep_comm** out);
  void (*comm_destroy)(gradstep_comm* comm);
  gradstep_status (*comm_unique_id)(const char* engine, void* buf, size_t cap, size_t* len);
  gradstep_status (*comm_unique_id_ex)(const char* engine, const char* network_interface, void* buf, size_t cap,
                                       size_t* len);
  gradstep_status (*comm_rank)(gradstep_comm* comm, int32_t* rank);
  gradstep_status (*comm_world_size)(gradstep_comm* comm, int32_t* world_size);
  gradstep_status (*comm_local_rank)(gradstep_comm* comm, int32_t* local_rank);
  gradstep_status (*comm_engine)(gradstep_comm* comm, char* buf, size_t cap, size_t* len);
  gradstep_status (*comm_all_reduce)(gradstep_comm* comm, const gradstep_tensor* tensor, int32_t op, void* stream);
  gradstep_status (*comm_all_gather)(gradstep_comm* comm, const gradstep_tensor* input, const gradstep_tensor* output,
                                     void* stream);
  gradstep_status (*comm_all_gather_v)(gradstep_comm* comm, const gradstep_tensor* input, const gradstep_tensor* output,
                                       const int64_t* counts, void* stream);
  gradstep_status (*comm_reduce_scatter)(gradstep_comm* comm, const gradstep_tensor* input,
                                         const gradstep_tensor* output, int32_t op, void* stream);
  gradstep_status (*comm_broadcast)(gradstep_comm* comm, const gradstep_tensor* tensor, int32_t root, void* stream);
  gradstep_status (*comm_send)(gradstep_comm* comm, const gradstep_tensor* tensor, int32_t to, void* stream);
  gradstep_status (*comm_recv)(gradstep_comm* comm, const gradstep_tensor* tensor, int32_t from, void* stream);
  gradstep_status (*comm_barrier)(gradstep_comm* comm);
  gradstep_status (*comm_vote)(gradstep_comm* comm, int32_t yes, int32_t* all_yes);
  gradstep_status (*comm_split)(gradstep_comm* comm, int32_t color, int32_t key, gradstep_comm** out);
  gradstep_status (*comm_dup)(gradstep_comm* comm, gradstep_comm** out);
  gradstep_status (*comm_abort)(gradstep_comm* comm);
  gradstep_status (*comm_status)(gradstep_comm* comm, gradstep_status* status, char* buf, size_t cap, size_t* len);
  gradstep_status (*comm_stats)(gradstep_comm* comm, gradstep_comm_statistics* stats);
  gradstep_status (*context_options_init)(gradstep_context_options* o, size_t struct_size);
  gradstep_status (*context_create)(const gradstep_context_options* options, gradstep_context** out);
  void (*context_destroy)(gradstep_context* context);
  gradstep_status (*cost_options_init)(gradstep_cost_options* o, size_t struct_size);
  gradstep_status (*cost_options_measure)(gradstep_cost_options* o, gradstep_context* context);
  gradstep_status (*predict_costs)(const gradstep_cost_options* options, gradstep_cost* records, size_t record_size,
                                   size_t capacity, size_t* count);
  gradstep_status (*sgd_options_init)(gradstep_sgd_options* o, size_t struct_size);
  gradstep_status (*rmsprop_options_init)(gradstep_rmsprop_options* o, size_t struct_size);
  gradstep_status (*adagrad_options_init)(gradstep_adagrad_options* o, size_t struct_size);
  gradstep_status (*adam_options_init)(gradstep_adam_options* o, size_t struct_size);
  gradstep_status (*step_options_init)(gradstep_step_options* o, size_t struct_size);
  gradstep_status (*optimizer_create_sgd)(gradstep_context* context, const gradstep_sgd_options* options,
                                          const gradstep_parameter* parameters, size_t n, gradstep_optimizer** out);
  gradstep_status (*optimizer_create_rmsprop)(gradstep_context* context, const gradstep_rmsprop_options* options,
                                              const gradstep_parameter* parameters, size_t n, gradstep_optimizer** out);
  gradstep_status (*optimizer_create_adagrad)(gradstep_context* context, const gradstep_adagrad_options* options,
                                              const gradstep_parameter* parameters, size_t n, gradstep_optimizer** out);
  gradstep_status (*optimizer_create_adam)(gradstep_context* context, const gradstep_adam_options* options,
                                           const gradstep_parameter* parameters, size_t n, gradstep_optimizer** out);
  void (*optimizer_destroy)(gradstep_optimizer* optimizer);
  gradstep_status (*optimizer_step)(gradstep_optimizer* optimizer, const gradstep_tensor* params,
                                    const gradstep_tensor* grads, size_t n, void* stream);
  gradstep_status (*optimizer_update)(gradstep_optimizer* optimizer, const gradstep_tensor* params,
                                      const gradstep_tensor* grads, const gradstep_tensor* updates, size_t n,
                                      void* stream);
  gradstep_status (*optimizer_step_ex)(gradstep_optimizer* optimizer, const gradstep_tensor* params,
                                       const gradstep_tensor* grads, const gradstep_tensor* updates, size_t n,
                                       const gradstep_step_options* options, void* stream);
  gradstep_status (*optimizer_set_value)(gradstep_optimizer* optimizer, int32_t group, const char* name, double value);
  gradstep_status (*optimizer_set_schedule)(gradstep_optimizer* optimizer, int32_t group, const char* name,
                                            const gradstep_schedule* schedule);
  gradstep_status (*optimizer_set_tensor)(gradstep_optimizer* optimizer, int32_t group, const char* name,
                                          const gradstep_tensor* tensor);
  gradstep_status (*optimizer_get_value)(gradstep_optimizer* optimizer, int32_t group, const char* name, double* value);
  gradstep_status (*optimizer_group_count)(gradstep_optimizer* optimizer, int32_t* count);
  gradstep_status (*optimizer_add_parameters)(gradstep_optimizer* optimizer, const gradstep_parameter* parameters,
                                              size_t n);
  gradstep_status (*optimizer_step_count)(gradstep_optimizer* optimizer, int64_t* count);
  gradstep_status (*optimizer_set_step_count)(gradstep_optimizer* optimizer, int64_t count);
  gradstep_status (*optimizer_state_names)(gradstep_optimizer* optimizer, char* buf, size_t cap, size_t* len);
  gradstep_status (*optimizer_state)(gradstep_optimizer* optimizer, size_t index, const char* name,
                                     gradstep_tensor* tensor_out);
  gradstep_status (*optimizer_get_state)(gradstep_optimizer* optimizer, size_t index, const char* name,
                                         const gradstep_tensor* tensor, void* stream);
  gradstep_status (*optimizer_set_state)(gradstep_optimizer* optimizer, size_t index, const char* name,
                                         const gradstep_tensor* tensor, void* stream);
  gradstep_status (*optimizer_copy_state)(gradstep_optimizer* destination, gradstep_optimizer* source);
  gradstep_status (*optimizer_metrics)(gradstep_optimizer* optimizer, gradstep_metric* records, size_t record_size,
                                       size_t capacity, size_t* count);
  gradstep_status (*optimizer_memory)(gradstep_optimizer* optimizer, gradstep_memory* memory);
  gradstep_status (*sgd_state_bytes)(const gradstep_sgd_options* options, const gradstep_parameter* parameters,
                                     size_t n, int64_t* bytes);
  gradstep_status (*rmsprop_state_bytes)(const gradstep_rmsprop_options* options, const gradstep_parameter* parameters,
                                         size_t n, int64_t* bytes);
  gradstep_status (*adagrad_state_bytes)(const gradstep_adagrad_options* options, const gradstep_parameter* parameters,
                                         size_t n, int64_t* bytes);
  gradstep_status (*adam_state_bytes)(const gradstep_adam_options* options, const gradstep_parameter* parameters,
                                      size_t n, int64_t* bytes);
  gradstep_status (*optimizer_poll)(gradstep_optimizer* optimizer, int32_t* done);
  gradstep_status (*reducer_options_init)(gradstep_reducer_options* o, size_t struct_size);
  gradstep_status (*reducer_create)(gradstep_context* context, gradstep_comm* comm,
                                    const gradstep_reducer_options* options, const gradstep_parameter* parameters,
                                    size_t n, gradstep_reducer** out);
  void (*reducer_destroy)(gradstep_reducer* reducer);
  gradstep_status (*reducer_reduce)(gradstep_reducer* reducer, const gradstep_tensor* grads,
                                    const gradstep_tensor* results, size_t n, double weight, void* stream);
  gradstep_status (*reducer_begin)(gradstep_reducer* reducer, double weight, void* stream);
  gradstep_status (*reducer_push)(gradstep_reducer* reducer, size_t index, const gradstep_tensor* grad, void* stream);
  gradstep_status (*reducer_wait)(gradstep_reducer* reducer, const gradstep_tensor* results, size_t n, void* stream);
  gradstep_status (*reducer_poll)(gradstep_reducer* reducer, int32_t* done);
  gradstep_status (*reducer_set_loss_scale)(gradstep_reducer* reducer, double scale);
  gradstep_status (*reducer_cancel)(gradstep_reducer* reducer);
  gradstep_status (*reducer_gradients)(gradstep_reducer* reducer, gradstep_tensor* tensors_out, size_t n, void* stream);
  gradstep_status (*reducer_norm)(gradstep_reducer* reducer, gradstep_tensor* tensor_out, void* stream);
  gradstep_status (*reducer_residual)(gradstep_reducer* reducer, size_t index, gradstep_tensor* tensor_out);
  gradstep_status (*reducer_stats)(gradstep_reducer* reducer, gradstep_bucket_statistics* records, size_t record_size,
                                   size_t capacity, size_t* count);
  gradstep_status (*reducer_comm_stats)(gradstep_reducer* reducer, gradstep_comm_statistics* stats);
  gradstep_status (*rendezvous_pending)(gradstep_comm* comm, const gradstep_comm_options* options, int32_t* pending);
  gradstep_status (*rule_count)(size_t* count);
  gradstep_status (*rule_describe)(size_t index, gradstep_rule* rule);
  gradstep_status (*rule_define)(gradstep_context* context, const char* text, const char** name);
  gradstep_status (*rule_options)(const char* rule, gradstep_rule_option* records, size_t record_size, size_t capacity,
                                  size_t* count);
  gradstep_status (*optimizer_create)(gradstep_context* context, const char* rule, const gradstep_option* options,
                                      size_t option_count, const gradstep_parameter* parameters, size_t n,
                                      gradstep_optimizer** out);
  gradstep_status (*optimizer_create_by_group)(gradstep_context* context, const gradstep_group_rule* groups,
                                               size_t group_count, const gradstep_parameter* parameters, size_t n,
                                               gradstep_optimizer** out);
  gradstep_status (*optimizer_average)(gradstep_optimizer* optimizer, const gradstep_tensor* tensors, size_t n,
                                       void* stream);
  gradstep_status (*rule_state_bytes)(const char* rule, const gradstep_option* options, size_t option_count,
                                      const gradstep_parameter* parameters, size_t n, int64_t* bytes);
  gradstep_status (*schedule_init)(gradstep_schedule* s, size_t struct_size);
  gradstep_status (*schedule_value)(const gradstep_schedule* s, int64_t step, double* value);
  gradstep_status (*shampoo_options_init)(gradstep_shampoo_options* o, size_t struct_size);
  gradstep_status (*optimizer_create_shampoo)(gradstep_context* context, const gradstep_shampoo_options* options,
                                              const gradstep_parameter* parameters, size_t n, gradstep_optimizer** out);
  gradstep_status (*shampoo_state_bytes)(const gradstep_shampoo_options* options, const gradstep_parameter* parameters,
                                         size_t n, int64_t* bytes);
  gradstep_status (*sharding_options_init)(gradstep_sharding_options* o, size_t struct_size);
  gradstep_status (*optimizer_attach_comm)(gradstep_optimizer* optimizer, gradstep_comm* comm,
                                           const gradstep_sharding_options* options);
  gradstep_status (*optimizer_attach_reducer)(gradstep_optimizer* optimizer, gradstep_reducer* reducer,
                                              const gradstep_sharding_options* options);
  gradstep_status (*optimizer_attach_shards)(gradstep_optimizer* optimizer, gradstep_comm* comm);
  gradstep_status (*load_options_init)(gradstep_load_options* o, size_t struct_size);
  gradstep_status (*optimizer_save)(gradstep_optimizer* optimizer, const gradstep_stream* stream);
  gradstep_status (*accumulator_save)(gradstep_accumulator* accumulator, const gradstep_stream* stream);
  gradstep_status (*reducer_save)(gradstep_reducer* reducer, const gradstep_stream* stream);
  gradstep_status (*updater_save)(gradstep_updater* updater, const gradstep_stream* stream);
  gradstep_status (*optimizer_load)(gradstep_optimizer* optimizer, const gradstep_stream* stream,
                                    const gradstep_load_options* options);
  gradstep_status (*accumulator_load)(gradstep_accumulator* accumulator, const gradstep_stream* stream,
                                      const gradstep_load_options* options);
  gradstep_status (*reducer_load)(gradstep_reducer* reducer, const gradstep_stream* stream,
                                  const gradstep_load_options* options);
  gradstep_status (*updater_load)(gradstep_updater* updater, const gradstep_stream* stream,
                                  const gradstep_load_options* options);
  gradstep_status (*optimizer_save_file)(gradstep_optimizer* optimizer, const char* path);
  gradstep_status (*accumulator_save_file)(gradstep_accumulator* accumulator, const char* path);
  gradstep_status (*reducer_save_file)(gradstep_reducer* reducer, const char* path);
  gradstep_status (*updater_save_file)(gradstep_updater* updater, const char* path);
  gradstep_status (*optimizer_load_file)(gradstep_optimizer* optimizer, const char* path,
                                         const gradstep_load_options* options);
  gradstep_status (*accumulator_load_file)(gradstep_accumulator* accumulator, const char* path,
                                           const gradstep_load_options* options);
  gradstep_status (*reducer_load_file)(gradstep_reducer* reducer, const char* path,
                                       const gradstep_load_options* options);
  gradstep_status (*updater_load_file)(gradstep_updater* updater, const char* path,
                                       const gradstep_load_options* options);
  gradstep_status (*tensor_list_create)(gradstep_tensor_list** out);
  void (*tensor_list_destroy)(gradstep_tensor_list* list);
  gradstep_status (*tensor_list_push)(gradstep_tensor_list* list, uint64_t address, int32_t type_code, int32_t bits,
                                      int32_t device_type, int32_t device_id, int32_t ndim, const int64_t* shape,
                                      const int64_t* strides);
  gradstep_status (*tensor_list_set_data)(gradstep_tensor_list* list, size_t index, uint64_t address, uint64_t bytes);
  gradstep_status (*tensor_list_set_addresses)(gradstep_tensor_list* list, const uint64_t* addresses, size_t n);
  gradstep_status (*tensor_list_get)(const gradstep_tensor_list* list, size_t index, uint64_t* address,
                                     int32_t* type_code, int32_t* bits, int32_t* device_type, int32_t* device_id,
                                     int32_t* ndim, int64_t* shape, int64_t* strides, int32_t capacity);
  gradstep_status (*tensor_list_clear)(gradstep_tensor_list* list);
  gradstep_tensor* (*tensor_list_data)(gradstep_tensor_list* list);
  size_t (*tensor_list_size)(const gradstep_tensor_list* list);
  gradstep_status (*parameter_list_create)(gradstep_parameter_list** out);
  void (*parameter_list_destroy)(gradstep_parameter_list* list);
  gradstep_status (*parameter_list_push)(gradstep_parameter_list* list, const char* name, int32_t type_code,
                                         int32_t bits, int32_t device_type, int32_t device_id, int32_t ndim,
                                         const int64_t* shape, int32_t group, uint32_t flags);
  gradstep_status (*parameter_list_set_part)(gradstep_parameter_list* list, size_t index, const int64_t* whole_shape,
                                             const int64_t* offset);
  gradstep_status (*parameter_list_clear)(gradstep_parameter_list* list);
  const gradstep_parameter* (*parameter_list_data)(const gradstep_parameter_list* list);
  size_t (*parameter_list_size)(const gradstep_parameter_list* list);
  gradstep_status (*trace_start)(const char* path);
  gradstep_status (*trace_stop)(void);
  gradstep_status (*comm_counters)(gradstep_comm* comm, const char* labels, char* buf, size_t cap, size_t* len);
  gradstep_status (*reducer_counters)(gradstep_reducer* reducer, const char* labels, char* buf, size_t cap,
                                      size_t* len);
  gradstep_status (*updater_counters)(gradstep_updater* updater, const char* labels, char* buf, size_t cap,
                                      size_t* len);
  gradstep_status (*updater_options_init)(gradstep_updater_options* o, size_t struct_size);
  gradstep_status (*updater_create)(gradstep_context* context, gradstep_optimizer* optimizer,
                                    gradstep_accumulator* accumulator, gradstep_reducer* reducer,
                                    const gradstep_updater_options* options, gradstep_updater** out);
  void (*updater_destroy)(gradstep_updater* updater);
  gradstep_status (*updater_push)(gradstep_updater* updater, const gradstep_tensor* params,
                                  const gradstep_tensor* grads, size_t n, double weight, void* stream,
                                  int32_t* applied_out);
  gradstep_status (*updater_flush)(gradstep_updater* updater, const gradstep_tensor* params, size_t n, void* stream,
                                   int32_t* applied_out);
  gradstep_status (*updater_recover)(gradstep_updater* updater, gradstep_comm* comm, const gradstep_tensor* params,
                                     size_t n, void* stream);
  gradstep_status (*updater_poll)(gradstep_updater* updater, int32_t* done);
  gradstep_status (*updater_stats)(gradstep_updater* updater, gradstep_updater_statistics* stats);
} gradstep_table;

/*
 * Opens the library at `path` (as dlopen does: "libgradstep.so.0" is looked for), compares its ABI with this header's,
 * and fills the table. Returns 1, or 0 with the reason in `error`, of `capacity` bytes. The library stays open.
 */
static inline int gradstep_table_open(gradstep_table* table, const char* path, char* error, size_t capacity) {
  static const struct {
    const char* name;
    size_t offset;
  } functions[] = {{"gradstep_abi_version", offsetof(gradstep_table, abi_version)},
                   {"gradstep_accumulator_options_init", offsetof(gradstep_table, accumulator_options_init)},
                   {"gradstep_accumulator_create", offsetof(gradstep_table, accumulator_create)},
                   {"gradstep_accumulator_destroy", offsetof(gradstep_table, accumulator_destroy)},
                   {"gradstep_accumulator_add", offsetof(gradstep_table, accumulator_add)},
                   {"gradstep_accumulator_add_ex", offsetof(gradstep_table, accumulator_add_ex)},
                   {"gradstep_accumulator_flush", offsetof(gradstep_table, accumulator_flush)},
                   {"gradstep_accumulator_reset", offsetof(gradstep_table, accumulator_reset)},
                   {"gradstep_accumulator_gradients", offsetof(gradstep_table, accumulator_gradients)},
                   {"gradstep_accumulator_sums", offsetof(gradstep_table, accumulator_sums)},
                   {"gradstep_accumulator_weight", offsetof(gradstep_table, accumulator_weight)},
                   {"gradstep_accumulator_norm", offsetof(gradstep_table, accumulator_norm)},
                   {"gradstep_accumulator_count", offsetof(gradstep_table, accumulator_count)},
                   {"gradstep_accumulator_skipped", offsetof(gradstep_table, accumulator_skipped)},
                   {"gradstep_accumulator_poll", offsetof(gradstep_table, accumulator_poll)},
                   {"gradstep_backend_load", offsetof(gradstep_table, backend_load)},
                   {"gradstep_backend_available", offsetof(gradstep_table, backend_available)},
                   {"gradstep_backend_status", offsetof(gradstep_table, backend_status)},
                   {"gradstep_version_string", offsetof(gradstep_table, version_string)},
                   {"gradstep_build_info", offsetof(gradstep_table, build_info)},
                   {"gradstep_status_name", offsetof(gradstep_table, status_name)},
                   {"gradstep_last_error", offsetof(gradstep_table, last_error)},
                   {"gradstep_set_last_error", offsetof(gradstep_table, set_last_error)},
                   {"gradstep_comm_options_init", offsetof(gradstep_table, comm_options_init)},
                   {"gradstep_comm_create", offsetof(gradstep_table, comm_create)},
                   {"gradstep_comm_create_local", offsetof(gradstep_table, comm_create_local)},
                   {"gradstep_comm_create_local_ex", offsetof(gradstep_table, comm_create_local_ex)},
                   {"gradstep_comm_create_host", offsetof(gradstep_table, comm_create_host)},
                   {"gradstep_comm_create_host_ex", offsetof(gradstep_table, comm_create_host_ex)},
                   {"gradstep_comm_wrap_mpi", offsetof(gradstep_table, comm_wrap_mpi)},
                   {"gradstep_comm_wrap_mpi_ex", offsetof(gradstep_table, comm_wrap_mpi_ex)},
                   {"gradstep_comm_attach_nccl", offsetof(gradstep_table, comm_attach_nccl)},
                   {"gradstep_comm_destroy", offsetof(gradstep_table, comm_destroy)},
                   {"gradstep_comm_unique_id", offsetof(gradstep_table, comm_unique_id)},
                   {"gradstep_comm_unique_id_ex", offsetof(gradstep_table, comm_unique_id_ex)},
                   {"gradstep_comm_rank", offsetof(gradstep_table, comm_rank)},
                   {"gradstep_comm_world_size", offsetof(gradstep_table, comm_world_size)},
                   {"gradstep_comm_local_rank", offsetof(gradstep_table, comm_local_rank)},
                   {"gradstep_comm_engine", offsetof(gradstep_table, comm_engine)},
                   {"gradstep_comm_all_reduce", offsetof(gradstep_table, comm_all_reduce)},
                   {"gradstep_comm_all_gather", offsetof(gradstep_table, comm_all_gather)},
                   {"gradstep_comm_all_gather_v", offsetof(gradstep_table, comm_all_gather_v)},
                   {"gradstep_comm_reduce_scatter", offsetof(gradstep_table, comm_reduce_scatter)},
                   {"gradstep_comm_broadcast", offsetof(gradstep_table, comm_broadcast)},
                   {"gradstep_comm_send", offsetof(gradstep_table, comm_send)},
                   {"gradstep_comm_recv", offsetof(gradstep_table, comm_recv)},
                   {"gradstep_comm_barrier", offsetof(gradstep_table, comm_barrier)},
                   {"gradstep_comm_vote", offsetof(gradstep_table, comm_vote)},
                   {"gradstep_comm_split", offsetof(gradstep_table, comm_split)},
                   {"gradstep_comm_dup", offsetof(gradstep_table, comm_dup)},
                   {"gradstep_comm_abort", offsetof(gradstep_table, comm_abort)},
                   {"gradstep_comm_status", offsetof(gradstep_table, comm_status)},
                   {"gradstep_comm_stats", offsetof(gradstep_table, comm_stats)},
                   {"gradstep_context_options_init", offsetof(gradstep_table, context_options_init)},
                   {"gradstep_context_create", offsetof(gradstep_table, context_create)},
                   {"gradstep_context_destroy", offsetof(gradstep_table, context_destroy)},
                   {"gradstep_cost_options_init", offsetof(gradstep_table, cost_options_init)},
                   {"gradstep_cost_options_measure", offsetof(gradstep_table, cost_options_measure)},
                   {"gradstep_predict_costs", offsetof(gradstep_table, predict_costs)},
                   {"gradstep_sgd_options_init", offsetof(gradstep_table, sgd_options_init)},
                   {"gradstep_rmsprop_options_init", offsetof(gradstep_table, rmsprop_options_init)},
                   {"gradstep_adagrad_options_init", offsetof(gradstep_table, adagrad_options_init)},
                   {"gradstep_adam_options_init", offsetof(gradstep_table, adam_options_init)},
                   {"gradstep_step_options_init", offsetof(gradstep_table, step_options_init)},
                   {"gradstep_optimizer_create_sgd", offsetof(gradstep_table, optimizer_create_sgd)},
                   {"gradstep_optimizer_create_rmsprop", offsetof(gradstep_table, optimizer_create_rmsprop)},
                   {"gradstep_optimizer_create_adagrad", offsetof(gradstep_table, optimizer_create_adagrad)},
                   {"gradstep_optimizer_create_adam", offsetof(gradstep_table, optimizer_create_adam)},
                   {"gradstep_optimizer_destroy", offsetof(gradstep_table, optimizer_destroy)},
                   {"gradstep_optimizer_step", offsetof(gradstep_table, optimizer_step)},
                   {"gradstep_optimizer_update", offsetof(gradstep_table, optimizer_update)},
                   {"gradstep_optimizer_step_ex", offsetof(gradstep_table, optimizer_step_ex)},
                   {"gradstep_optimizer_set_value", offsetof(gradstep_table, optimizer_set_value)},
                   {"gradstep_optimizer_set_schedule", offsetof(gradstep_table, optimizer_set_schedule)},
                   {"gradstep_optimizer_set_tensor", offsetof(gradstep_table, optimizer_set_tensor)},
                   {"gradstep_optimizer_get_value", offsetof(gradstep_table, optimizer_get_value)},
                   {"gradstep_optimizer_group_count", offsetof(gradstep_table, optimizer_group_count)},
                   {"gradstep_optimizer_add_parameters", offsetof(gradstep_table, optimizer_add_parameters)},
                   {"gradstep_optimizer_step_count", offsetof(gradstep_table, optimizer_step_count)},
                   {"gradstep_optimizer_set_step_count", offsetof(gradstep_table, optimizer_set_step_count)},
                   {"gradstep_optimizer_state_names", offsetof(gradstep_table, optimizer_state_names)},
                   {"gradstep_optimizer_state", offsetof(gradstep_table, optimizer_state)},
                   {"gradstep_optimizer_get_state", offsetof(gradstep_table, optimizer_get_state)},
                   {"gradstep_optimizer_set_state", offsetof(gradstep_table, optimizer_set_state)},
                   {"gradstep_optimizer_copy_state", offsetof(gradstep_table, optimizer_copy_state)},
                   {"gradstep_optimizer_metrics", offsetof(gradstep_table, optimizer_metrics)},
                   {"gradstep_optimizer_memory", offsetof(gradstep_table, optimizer_memory)},
                   {"gradstep_sgd_state_bytes", offsetof(gradstep_table, sgd_state_bytes)},
                   {"gradstep_rmsprop_state_bytes", offsetof(gradstep_table, rmsprop_state_bytes)},
                   {"gradstep_adagrad_state_bytes", offsetof(gradstep_table, adagrad_state_bytes)},
                   {"gradstep_adam_state_bytes", offsetof(gradstep_table, adam_state_bytes)},
                   {"gradstep_optimizer_poll", offsetof(gradstep_table, optimizer_poll)},
                   {"gradstep_reducer_options_init", offsetof(gradstep_table, reducer_options_init)},
                   {"gradstep_reducer_create", offsetof(gradstep_table, reducer_create)},
                   {"gradstep_reducer_destroy", offsetof(gradstep_table, reducer_destroy)},
                   {"gradstep_reducer_reduce", offsetof(gradstep_table, reducer_reduce)},
                   {"gradstep_reducer_begin", offsetof(gradstep_table, reducer_begin)},
                   {"gradstep_reducer_push", offsetof(gradstep_table, reducer_push)},
                   {"gradstep_reducer_wait", offsetof(gradstep_table, reducer_wait)},
                   {"gradstep_reducer_poll", offsetof(gradstep_table, reducer_poll)},
                   {"gradstep_reducer_set_loss_scale", offsetof(gradstep_table, reducer_set_loss_scale)},
                   {"gradstep_reducer_cancel", offsetof(gradstep_table, reducer_cancel)},
                   {"gradstep_reducer_gradients", offsetof(gradstep_table, reducer_gradients)},
                   {"gradstep_reducer_norm", offsetof(gradstep_table, reducer_norm)},
                   {"gradstep_reducer_residual", offsetof(gradstep_table, reducer_residual)},
                   {"gradstep_reducer_stats", offsetof(gradstep_table, reducer_stats)},
                   {"gradstep_reducer_comm_stats", offsetof(gradstep_table, reducer_comm_stats)},
                   {"gradstep_rendezvous_pending", offsetof(gradstep_table, rendezvous_pending)},
                   {"gradstep_rule_count", offsetof(gradstep_table, rule_count)},
                   {"gradstep_rule_describe", offsetof(gradstep_table, rule_describe)},
                   {"gradstep_rule_define", offsetof(gradstep_table, rule_define)},
                   {"gradstep_rule_options", offsetof(gradstep_table, rule_options)},
                   {"gradstep_optimizer_create", offsetof(gradstep_table, optimizer_create)},
                   {"gradstep_optimizer_create_by_group", offsetof(gradstep_table, optimizer_create_by_group)},
                   {"gradstep_optimizer_average", offsetof(gradstep_table, optimizer_average)},
                   {"gradstep_rule_state_bytes", offsetof(gradstep_table, rule_state_bytes)},
                   {"gradstep_schedule_init", offsetof(gradstep_table, schedule_init)},
                   {"gradstep_schedule_value", offsetof(gradstep_table, schedule_value)},
                   {"gradstep_shampoo_options_init", offsetof(gradstep_table, shampoo_options_init)},
                   {"gradstep_optimizer_create_shampoo", offsetof(gradstep_table, optimizer_create_shampoo)},
                   {"gradstep_shampoo_state_bytes", offsetof(gradstep_table, shampoo_state_bytes)},
                   {"gradstep_sharding_options_init", offsetof(gradstep_table, sharding_options_init)},
                   {"gradstep_optimizer_attach_comm", offsetof(gradstep_table, optimizer_attach_comm)},
                   {"gradstep_optimizer_attach_reducer", offsetof(gradstep_table, optimizer_attach_reducer)},
                   {"gradstep_optimizer_attach_shards", offsetof(gradstep_table, optimizer_attach_shards)},
                   {"gradstep_load_options_init", offsetof(gradstep_table, load_options_init)},
                   {"gradstep_optimizer_save", offsetof(gradstep_table, optimizer_save)},
                   {"gradstep_accumulator_save", offsetof(gradstep_table, accumulator_save)},
                   {"gradstep_reducer_save", offsetof(gradstep_table, reducer_save)},
                   {"gradstep_updater_save", offsetof(gradstep_table, updater_save)},
                   {"gradstep_optimizer_load", offsetof(gradstep_table, optimizer_load)},
                   {"gradstep_accumulator_load", offsetof(gradstep_table, accumulator_load)},
                   {"gradstep_reducer_load", offsetof(gradstep_table, reducer_load)},
                   {"gradstep_updater_load", offsetof(gradstep_table, updater_load)},
                   {"gradstep_optimizer_save_file", offsetof(gradstep_table, optimizer_save_file)},
                   {"gradstep_accumulator_save_file", offsetof(gradstep_table, accumulator_save_file)},
                   {"gradstep_reducer_save_file", offsetof(gradstep_table, reducer_save_file)},
                   {"gradstep_updater_save_file", offsetof(gradstep_table, updater_save_file)},
                   {"gradstep_optimizer_load_file", offsetof(gradstep_table, optimizer_load_file)},
                   {"gradstep_accumulator_load_file", offsetof(gradstep_table, accumulator_load_file)},
                   {"gradstep_reducer_load_file", offsetof(gradstep_table, reducer_load_file)},
                   {"gradstep_updater_load_file", offsetof(gradstep_table, updater_load_file)},
                   {"gradstep_tensor_list_create", offsetof(gradstep_table, tensor_list_create)},
                   {"gradstep_tensor_list_destroy", offsetof(gradstep_table, tensor_list_destroy)},
                   {"gradstep_tensor_list_push", offsetof(gradstep_table, tensor_list_push)},
                   {"gradstep_tensor_list_set_data", offsetof(gradstep_table, tensor_list_set_data)},
                   {"gradstep_tensor_list_set_addresses", offsetof(gradstep_table, tensor_list_set_addresses)},
                   {"gradstep_tensor_list_get", offsetof(gradstep_table, tensor_list_get)},
                   {"gradstep_tensor_list_clear", offsetof(gradstep_table, tensor_list_clear)},
                   {"gradstep_tensor_list_data", offsetof(gradstep_table, tensor_list_data)},
                   {"gradstep_tensor_list_size", offsetof(gradstep_table, tensor_list_size)},
                   {"gradstep_parameter_list_create", offsetof(gradstep_table, parameter_list_create)},
                   {"gradstep_parameter_list_destroy", offsetof(gradstep_table, parameter_list_destroy)},
                   {"gradstep_parameter_list_push", offsetof(gradstep_table, parameter_list_push)},
                   {"gradstep_parameter_list_set_part", offsetof(gradstep_table, parameter_list_set_part)},
                   {"gradstep_parameter_list_clear", offsetof(gradstep_table, parameter_list_clear)},
                   {"gradstep_parameter_list_data", offsetof(gradstep_table, parameter_list_data)},
                   {"gradstep_parameter_list_size", offsetof(gradstep_table, parameter_list_size)},
                   {"gradstep_trace_start", offsetof(gradstep_table, trace_start)},
                   {"gradstep_trace_stop", offsetof(gradstep_table, trace_stop)},
                   {"gradstep_comm_counters", offsetof(gradstep_table, comm_counters)},
                   {"gradstep_reducer_counters", offsetof(gradstep_table, reducer_counters)},
                   {"gradstep_updater_counters", offsetof(gradstep_table, updater_counters)},
                   {"gradstep_updater_options_init", offsetof(gradstep_table, updater_options_init)},
                   {"gradstep_updater_create", offsetof(gradstep_table, updater_create)},
                   {"gradstep_updater_destroy", offsetof(gradstep_table, updater_destroy)},
                   {"gradstep_updater_push", offsetof(gradstep_table, updater_push)},
                   {"gradstep_updater_flush", offsetof(gradstep_table, updater_flush)},
                   {"gradstep_updater_recover", offsetof(gradstep_table, updater_recover)},
                   {"gradstep_updater_poll", offsetof(gradstep_table, updater_poll)},
                   {"gradstep_updater_stats", offsetof(gradstep_table, updater_stats)}};
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    snprintf(error, capacity, "%s", dlerror());
    return 0;
  }
  for (size_t k = 0; k < sizeof functions / sizeof *functions; ++k) {
    void* found = dlsym(library, functions[k].name);
    if (found == NULL) {
      snprintf(error, capacity, "%s has no %s", path, functions[k].name);
      return 0;
    }
    memcpy((char*)table + functions[k].offset, &found, sizeof found);
    if (k == 0 && table->abi_version() != GRADSTEP_ABI_VERSION) {
      snprintf(error, capacity, "%s has version %x of the interface, this program was compiled for %x", path,
               (unsigned)table->abi_version(), (unsigned)GRADSTEP_ABI_VERSION);
      return 0;
    }
  }
  return 1;
}

#endif
