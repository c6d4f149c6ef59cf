// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/generate from the C headers.
#pragma once

template <>
struct Fields<gradstep_shampoo_options> {
  using Options = gradstep_shampoo_options;
  static constexpr auto init = gradstep_shampoo_options_init;
  static inline const std::vector<Field<Options>> all = {
      {"graft_type", &Options::graft_type,
       Words{"sgd", "adagrad", "rmsprop", "rmsprop_normalized", "sqrt_n", "adagrad_normalized", "adam", "none"}},
      {"learning_rate", &Options::learning_rate},
      {"beta1", &Options::beta1},
      {"beta2", &Options::beta2},
      {"diagonal_epsilon", &Options::diagonal_epsilon},
      {"matrix_epsilon", &Options::matrix_epsilon},
      {"weight_decay", &Options::weight_decay},
      {"inverse_failure_threshold", &Options::inverse_failure_threshold},
      {"clip_by_scaled_gradient_norm", &Options::clip_by_scaled_gradient_norm},
      {"graft_beta1", &Options::graft_beta1},
      {"graft_beta2", &Options::graft_beta2},
      {"precondition", &Options::precondition},
      {"block_size", &Options::block_size},
      {"start_preconditioning_step", &Options::start_preconditioning_step},
      {"preconditioning_compute_steps", &Options::preconditioning_compute_steps},
      {"statistics_compute_steps", &Options::statistics_compute_steps},
      {"skip_preconditioning_dim_size_gt", &Options::skip_preconditioning_dim_size_gt},
      {"exponent_override", &Options::exponent_override},
      {"best_effort_shape_interpretation", &Options::best_effort_shape_interpretation},
      {"nesterov", &Options::nesterov},
      {"moving_average_for_momentum", &Options::moving_average_for_momentum},
      {"decoupled_weight_decay", &Options::decoupled_weight_decay},
      {"root_method", &Options::root_method, Words{"auto", "coupled_newton", "eigh"}},
      {"root_precision", &Options::root_precision, Words{"f64", "f32"}},
      {"root_padding", &Options::root_padding, Words{"none", "largest"}},
      {"root_retries", &Options::root_retries},
      {"root_lag", &Options::root_lag},
      {"refresh", &Options::refresh, Words{"fresh", "stale"}},
      {"quantize_momentum", &Options::quantize_momentum},
      {"quantize_statistics", &Options::quantize_statistics},
      {"one_sided", &Options::one_sided, Words{"none", "input", "output"}},
      {"eigenvalue_corrected", &Options::eigenvalue_corrected},
      {"master_weights", &Options::master_weights},
      {"product_precision", &Options::product_precision, Words{"f32", "tf32"}},
      {"maximize", &Options::maximize},
      {"average_decay", &Options::average_decay},
      {"average_start", &Options::average_start},
      {"average_every", &Options::average_every},
      {"average_warmup", &Options::average_warmup},
      {"average_equal", &Options::average_equal},
      {"state_dtype", &Options::state_dtype, Words{"native", "bf16", "int8"}},
      {"stochastic_rounding", &Options::stochastic_rounding},
      {"seed", &Options::seed},
      {"statistics", &Options::statistics, Words{"gradients", "kl", "kl_mean"}},
      {"ridge", &Options::ridge, Words{"relative", "absolute"}},
  };
};

template <>
struct Fields<gradstep_accumulator_options> {
  using Options = gradstep_accumulator_options;
  static constexpr auto init = gradstep_accumulator_options_init;
  static inline const std::vector<Field<Options>> all = {
      {"mode", &Options::mode, Words{"mean_each", "sum", "mean", "running_mean", "weighted"}},
      {"trigger", &Options::trigger, Words{"steps", "schedule", "min_weight", "manual"}},
      {"nonfinite", &Options::nonfinite, Words{"none", "poison", "skip"}},
      {"steps", &Options::steps},
      {"min_weight", &Options::min_weight},
      {"keep_sums", &Options::keep_sums},
  };
};

template <>
struct Fields<gradstep_reducer_options> {
  using Options = gradstep_reducer_options;
  static constexpr auto init = gradstep_reducer_options_init;
  static inline const std::vector<Field<Options>> all = {
      {"mode", &Options::mode,
       Words{"dense", "half", "bfloat16", "sparse_threshold", "sparse_topk", "adasum_tree", "adasum_nway", "powersgd",
             "auto", "int8", "int4", "fp8_e4m3", "fp8_e5m2"}},
      {"average", &Options::average, Words{"unset", "sum", "mean", "weighted"}},
      {"control", &Options::control},
      {"fuse_threshold", &Options::fuse_threshold},
      {"bucket_elements", &Options::bucket_elements},
      {"clip_value", &Options::clip_value},
      {"half_sum", &Options::half_sum, Words{"f32", "fp16", "fp16_predivided"}},
      {"residual", &Options::residual},
      {"sparsity", &Options::sparsity},
      {"selection", &Options::selection, Words{"bucket", "tensor"}},
      {"nan_policy", &Options::nan_policy, Words{"error", "zero", "send"}},
      {"sparse_exchange", &Options::sparse_exchange, Words{"auto", "gather", "split"}},
      {"error_feedback", &Options::error_feedback, Words{"ef14", "ef21"}},
      {"momentum_correction", &Options::momentum_correction},
      {"warmup_steps", &Options::warmup_steps},
      {"rank", &Options::rank},
      {"candidates", &Options::candidates},
      {"channels", &Options::channels},
  };
};

template <>
struct Fields<gradstep_updater_options> {
  using Options = gradstep_updater_options;
  static constexpr auto init = gradstep_updater_options_init;
  static inline const std::vector<Field<Options>> all = {
      {"sync", &Options::sync, Words{"gradients", "parameters_partial", "parameters", "deltas"}},
      {"skip_nonfinite", &Options::skip_nonfinite},
      {"sync_steps", &Options::sync_steps},
      {"max_norm", &Options::max_norm},
      {"clip_value", &Options::clip_value},
      {"grad_scale", &Options::grad_scale},
      {"outer_fragments", &Options::outer_fragments},
      {"outer_delay", &Options::outer_delay},
      {"outer_mix", &Options::outer_mix},
  };
};

template <>
struct Fields<gradstep_sharding_options> {
  using Options = gradstep_sharding_options;
  static constexpr auto init = gradstep_sharding_options_init;
  static inline const std::vector<Field<Options>> all = {
      {"gradients", &Options::gradients, Words{"local", "reduced"}},
      {"average", &Options::average, Words{"unset", "sum", "mean", "weighted"}},
      {"preconditioners", &Options::preconditioners, Words{"replicated", "owned"}},
  };
};

template <>
struct Fields<gradstep_step_options> {
  using Options = gradstep_step_options;
  static constexpr auto init = gradstep_step_options_init;
  static inline const std::vector<Field<Options>> all = {
      {"skip_nonfinite", &Options::skip_nonfinite},
      {"grad_scale", &Options::grad_scale},
      {"max_norm", &Options::max_norm},
      {"clip_value", &Options::clip_value},
      {"disjoint", &Options::disjoint},
  };
};

template <>
struct Fields<gradstep_schedule> {
  using Options = gradstep_schedule;
  static constexpr auto init = gradstep_schedule_init;
  static inline const std::vector<Field<Options>> all = {
      {"kind", &Options::kind,
       Words{"constant", "exponential_decay", "inverse_time", "polynomial", "cosine", "piecewise", "callback"}},
      {"init_value", &Options::init_value},
      {"end_value", &Options::end_value},
      {"decay_steps", &Options::decay_steps},
      {"decay_rate", &Options::decay_rate},
      {"power", &Options::power},
      {"staircase", &Options::staircase},
      {"n_points", &Options::n_points},
      {"warmup_steps", &Options::warmup_steps},
  };
};