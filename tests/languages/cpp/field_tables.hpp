// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/generate from the C headers.
#pragma once
#include "fields.hpp"
namespace languages {

template <>
inline const char* words_of<gradstep::AccumulationMode>() {
  return "mean_each,sum,mean,running_mean,weighted";
}

template <>
inline const char* words_of<gradstep::AccumulationTrigger>() {
  return "steps,schedule,min_weight,manual";
}

template <>
inline const char* words_of<gradstep::NonfinitePolicy>() {
  return "none,poison,skip";
}

template <>
inline const char* words_of<gradstep::Average>() {
  return "unset,sum,mean,weighted";
}

template <>
inline const char* words_of<gradstep::StateDtype>() {
  return "native,bf16,int8";
}

template <>
inline const char* words_of<gradstep::EpsilonPlacement>() {
  return "inside,outside";
}

template <>
inline const char* words_of<gradstep::SgdFirstStep>() {
  return "dampen,copy";
}

template <>
inline const char* words_of<gradstep::BiasCorrection>() {
  return "standard,tf";
}

template <>
inline const char* words_of<gradstep::ReducerMode>() {
  return "dense,half,bfloat16,sparse_threshold,sparse_topk,adasum_tree,adasum_nway,powersgd,auto,int8,int4,fp8_e4m3,"
         "fp8_e5m2";
}

template <>
inline const char* words_of<gradstep::HalfSum>() {
  return "f32,fp16,fp16_predivided";
}

template <>
inline const char* words_of<gradstep::Selection>() {
  return "bucket,tensor";
}

template <>
inline const char* words_of<gradstep::NanPolicy>() {
  return "error,zero,send";
}

template <>
inline const char* words_of<gradstep::SparseExchange>() {
  return "auto,gather,split";
}

template <>
inline const char* words_of<gradstep::ErrorFeedback>() {
  return "ef14,ef21";
}

template <>
inline const char* words_of<gradstep::GraftType>() {
  return "sgd,adagrad,rmsprop,rmsprop_normalized,sqrt_n,adagrad_normalized,adam,none";
}

template <>
inline const char* words_of<gradstep::RootMethod>() {
  return "auto,coupled_newton,eigh";
}

template <>
inline const char* words_of<gradstep::RootPrecision>() {
  return "f64,f32";
}

template <>
inline const char* words_of<gradstep::ProductPrecision>() {
  return "f32,tf32";
}

template <>
inline const char* words_of<gradstep::RootPadding>() {
  return "none,largest";
}

template <>
inline const char* words_of<gradstep::Refresh>() {
  return "fresh,stale";
}

template <>
inline const char* words_of<gradstep::OneSided>() {
  return "none,input,output";
}

template <>
inline const char* words_of<gradstep::ShampooStatistics>() {
  return "gradients,kl,kl_mean";
}

template <>
inline const char* words_of<gradstep::Ridge>() {
  return "relative,absolute";
}

template <>
inline const char* words_of<gradstep::UpdaterSync>() {
  return "gradients,parameters_partial,parameters,deltas";
}

template <>
inline const Setters<gradstep::SgdOptions>& setters<gradstep::SgdOptions>() {
  using O = gradstep::SgdOptions;
  static const Setters<O> fields = {{"nesterov", field(&O::nesterov)},
                                    {"learning_rate", field(&O::learning_rate)},
                                    {"momentum", field(&O::momentum)},
                                    {"dampening", field(&O::dampening)},
                                    {"weight_decay", field(&O::weight_decay)},
                                    {"first_step", field(&O::first_step)},
                                    {"maximize", field(&O::maximize)},
                                    {"master_weights", field(&O::master_weights)},
                                    {"state_dtype", field(&O::state_dtype)},
                                    {"stochastic_rounding", field(&O::stochastic_rounding)},
                                    {"seed", field(&O::seed)}};
  return fields;
}

template <>
inline const Setters<gradstep::RmsPropOptions>& setters<gradstep::RmsPropOptions>() {
  using O = gradstep::RmsPropOptions;
  static const Setters<O> fields = {{"epsilon_placement", field(&O::epsilon_placement)},
                                    {"learning_rate", field(&O::learning_rate)},
                                    {"rho", field(&O::rho)},
                                    {"epsilon", field(&O::epsilon)},
                                    {"weight_decay", field(&O::weight_decay)},
                                    {"momentum", field(&O::momentum)},
                                    {"centered", field(&O::centered)},
                                    {"maximize", field(&O::maximize)},
                                    {"master_weights", field(&O::master_weights)},
                                    {"state_dtype", field(&O::state_dtype)},
                                    {"stochastic_rounding", field(&O::stochastic_rounding)},
                                    {"seed", field(&O::seed)}};
  return fields;
}

template <>
inline const Setters<gradstep::AdaGradOptions>& setters<gradstep::AdaGradOptions>() {
  using O = gradstep::AdaGradOptions;
  static const Setters<O> fields = {{"epsilon_placement", field(&O::epsilon_placement)},
                                    {"learning_rate", field(&O::learning_rate)},
                                    {"epsilon", field(&O::epsilon)},
                                    {"weight_decay", field(&O::weight_decay)},
                                    {"lr_decay", field(&O::lr_decay)},
                                    {"initial_accumulator", field(&O::initial_accumulator)},
                                    {"maximize", field(&O::maximize)},
                                    {"master_weights", field(&O::master_weights)},
                                    {"state_dtype", field(&O::state_dtype)},
                                    {"stochastic_rounding", field(&O::stochastic_rounding)},
                                    {"seed", field(&O::seed)}};
  return fields;
}

template <>
inline const Setters<gradstep::AdamOptions>& setters<gradstep::AdamOptions>() {
  using O = gradstep::AdamOptions;
  static const Setters<O> fields = {{"bias_correction", field(&O::bias_correction)},
                                    {"learning_rate", field(&O::learning_rate)},
                                    {"beta1", field(&O::beta1)},
                                    {"beta2", field(&O::beta2)},
                                    {"epsilon", field(&O::epsilon)},
                                    {"weight_decay", field(&O::weight_decay)},
                                    {"decoupled_weight_decay", field(&O::decoupled_weight_decay)},
                                    {"maximize", field(&O::maximize)},
                                    {"master_weights", field(&O::master_weights)},
                                    {"state_dtype", field(&O::state_dtype)},
                                    {"stochastic_rounding", field(&O::stochastic_rounding)},
                                    {"amsgrad", field(&O::amsgrad)},
                                    {"seed", field(&O::seed)}};
  return fields;
}

template <>
inline const Setters<gradstep::ShampooOptions>& setters<gradstep::ShampooOptions>() {
  using O = gradstep::ShampooOptions;
  static const Setters<O> fields = {{"graft_type", field(&O::graft_type)},
                                    {"learning_rate", field(&O::learning_rate)},
                                    {"beta1", field(&O::beta1)},
                                    {"beta2", field(&O::beta2)},
                                    {"diagonal_epsilon", field(&O::diagonal_epsilon)},
                                    {"matrix_epsilon", field(&O::matrix_epsilon)},
                                    {"weight_decay", field(&O::weight_decay)},
                                    {"inverse_failure_threshold", field(&O::inverse_failure_threshold)},
                                    {"clip_by_scaled_gradient_norm", field(&O::clip_by_scaled_gradient_norm)},
                                    {"graft_beta1", field(&O::graft_beta1)},
                                    {"graft_beta2", field(&O::graft_beta2)},
                                    {"precondition", field(&O::precondition)},
                                    {"block_size", field(&O::block_size)},
                                    {"start_preconditioning_step", field(&O::start_preconditioning_step)},
                                    {"preconditioning_compute_steps", field(&O::preconditioning_compute_steps)},
                                    {"statistics_compute_steps", field(&O::statistics_compute_steps)},
                                    {"skip_preconditioning_dim_size_gt", field(&O::skip_preconditioning_dim_size_gt)},
                                    {"exponent_override", field(&O::exponent_override)},
                                    {"best_effort_shape_interpretation", field(&O::best_effort_shape_interpretation)},
                                    {"nesterov", field(&O::nesterov)},
                                    {"moving_average_for_momentum", field(&O::moving_average_for_momentum)},
                                    {"decoupled_weight_decay", field(&O::decoupled_weight_decay)},
                                    {"root_method", field(&O::root_method)},
                                    {"root_precision", field(&O::root_precision)},
                                    {"root_padding", field(&O::root_padding)},
                                    {"root_retries", field(&O::root_retries)},
                                    {"root_lag", field(&O::root_lag)},
                                    {"refresh", field(&O::refresh)},
                                    {"quantize_momentum", field(&O::quantize_momentum)},
                                    {"quantize_statistics", field(&O::quantize_statistics)},
                                    {"one_sided", field(&O::one_sided)},
                                    {"eigenvalue_corrected", field(&O::eigenvalue_corrected)},
                                    {"master_weights", field(&O::master_weights)},
                                    {"product_precision", field(&O::product_precision)},
                                    {"maximize", field(&O::maximize)},
                                    {"average_decay", field(&O::average_decay)},
                                    {"average_start", field(&O::average_start)},
                                    {"average_every", field(&O::average_every)},
                                    {"average_warmup", field(&O::average_warmup)},
                                    {"average_equal", field(&O::average_equal)},
                                    {"state_dtype", field(&O::state_dtype)},
                                    {"stochastic_rounding", field(&O::stochastic_rounding)},
                                    {"seed", field(&O::seed)},
                                    {"statistics", field(&O::statistics)},
                                    {"ridge", field(&O::ridge)}};
  return fields;
}

template <>
inline const Setters<gradstep::AccumulatorOptions>& setters<gradstep::AccumulatorOptions>() {
  using O = gradstep::AccumulatorOptions;
  static const Setters<O> fields = {
      {"mode", field(&O::mode)},   {"trigger", field(&O::trigger)},       {"nonfinite", field(&O::nonfinite)},
      {"steps", field(&O::steps)}, {"min_weight", field(&O::min_weight)}, {"keep_sums", field(&O::keep_sums)}};
  return fields;
}

template <>
inline const Setters<gradstep::ReducerOptions>& setters<gradstep::ReducerOptions>() {
  using O = gradstep::ReducerOptions;
  static const Setters<O> fields = {{"mode", field(&O::mode)},
                                    {"average", field(&O::average)},
                                    {"control", field(&O::control)},
                                    {"fuse_threshold", field(&O::fuse_threshold)},
                                    {"bucket_elements", field(&O::bucket_elements)},
                                    {"clip_value", field(&O::clip_value)},
                                    {"half_sum", field(&O::half_sum)},
                                    {"residual", field(&O::residual)},
                                    {"sparsity", field(&O::sparsity)},
                                    {"selection", field(&O::selection)},
                                    {"nan_policy", field(&O::nan_policy)},
                                    {"sparse_exchange", field(&O::sparse_exchange)},
                                    {"error_feedback", field(&O::error_feedback)},
                                    {"momentum_correction", field(&O::momentum_correction)},
                                    {"warmup_steps", field(&O::warmup_steps)},
                                    {"rank", field(&O::rank)},
                                    {"candidates", field(&O::candidates)},
                                    {"channels", field(&O::channels)}};
  return fields;
}

template <>
inline const Setters<gradstep::UpdaterOptions>& setters<gradstep::UpdaterOptions>() {
  using O = gradstep::UpdaterOptions;
  static const Setters<O> fields = {{"sync", field(&O::sync)},
                                    {"skip_nonfinite", field(&O::skip_nonfinite)},
                                    {"sync_steps", field(&O::sync_steps)},
                                    {"max_norm", field(&O::max_norm)},
                                    {"clip_value", field(&O::clip_value)},
                                    {"grad_scale", field(&O::grad_scale)},
                                    {"outer_fragments", field(&O::outer_fragments)},
                                    {"outer_delay", field(&O::outer_delay)},
                                    {"outer_mix", field(&O::outer_mix)}};
  return fields;
}

template <>
inline const Setters<gradstep::StepOptions>& setters<gradstep::StepOptions>() {
  using O = gradstep::StepOptions;
  static const Setters<O> fields = {{"skip_nonfinite", field(&O::skip_nonfinite)},
                                    {"grad_scale", field(&O::grad_scale)},
                                    {"max_norm", field(&O::max_norm)},
                                    {"clip_value", field(&O::clip_value)},
                                    {"disjoint", field(&O::disjoint)}};
  return fields;
}

}  // namespace languages