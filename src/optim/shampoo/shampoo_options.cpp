// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/shampoo_options.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "optim/option_fields.h"
#include "optim/weight_averages.h"

namespace gradstep {

namespace {

// beta2 may be 1, which turns the averages into sums.
constexpr std::int32_t kLargestLag = 1000;
constexpr std::int32_t kLargestExponent = 1024;  // a root takes time in proportion to it
constexpr double kAboveOne = 1 + std::numeric_limits<double>::epsilon();

using Options = gradstep_shampoo_options;

constexpr OptionFields<Options, kShampooFields> kFields({
    {kLearningRate, &Options::learning_rate, {"learning_rate", rules::at_least(0), rules::kRequired}},
    {kBeta1, &Options::beta1, {"beta1", rules::kFraction}},
    {kBeta2, &Options::beta2, {"beta2", {0, kAboveOne}}},
    {kDiagonalEpsilon, &Options::diagonal_epsilon, {"diagonal_epsilon", rules::at_least(0)}},
    {kMatrixEpsilon, &Options::matrix_epsilon, {"matrix_epsilon", rules::at_least(0)}},
    {kWeightDecay, &Options::weight_decay, {"weight_decay", rules::at_least(0)}},
    {kFailureThreshold, &Options::inverse_failure_threshold, {"inverse_failure_threshold", rules::at_least(0)}},
    {kClipScaledNorm, &Options::clip_by_scaled_gradient_norm, {"clip_by_scaled_gradient_norm", rules::at_least(0)}},
    {kGraftBeta1, &Options::graft_beta1, {"graft_beta1", rules::kFraction}},
    {kGraftBeta2, &Options::graft_beta2, {"graft_beta2", rules::kFraction}},
    {kPrecondition, &Options::precondition, {"precondition", rules::at_least(0)}},
});

void check_at_least(const char* argument, std::int64_t value, std::int64_t least) {
  if (value < least) fail_argument("{}: is {}, expected at least {}", argument, value, least);
}

void refuse(bool wanted, const char* option) {
  if (wanted) fail(GRADSTEP_ERR_UNSUPPORTED, "options.{}: does not go with options.eigenvalue_corrected", option);
}

}  // namespace

std::span<const rules::Field> ShampooOptions::fields() { return kFields.fields(); }

ShampooOptions::ShampooOptions(const gradstep_shampoo_options& o)
    : values(kFields.values(o)),
      block_size(o.block_size),
      root_steps(o.preconditioning_compute_steps),
      statistics_steps(o.statistics_compute_steps),
      skip_above(o.skip_preconditioning_dim_size_gt),
      exponent_override(o.exponent_override),
      merge(o.best_effort_shape_interpretation != 0),
      retries(o.root_retries),
      momentum_coding(o.quantize_momentum != 0 ? Coding::int8 : Coding::none),
      matrix_coding(o.quantize_statistics != 0 ? Coding::int16 : Coding::none) {
  check_choice("options.graft_type", o.graft_type, 8, "0 (sgd) to 7 (none)");
  check_at_least("options.block_size", o.block_size, 1);
  check_at_least("options.start_preconditioning_step", o.start_preconditioning_step, 0);
  check_at_least("options.preconditioning_compute_steps", o.preconditioning_compute_steps, 1);
  check_at_least("options.statistics_compute_steps", o.statistics_compute_steps, 1);
  check_at_least("options.skip_preconditioning_dim_size_gt", o.skip_preconditioning_dim_size_gt, 1);
  check_choice("options.exponent_override", o.exponent_override, kLargestExponent + 1, "0 to 1024");
  check_choice("options.root_method", o.root_method, 3, "0 (auto), 1 (coupled_newton) or 2 (eigh)");
  check_choice("options.root_precision", o.root_precision, 2, "0 (f64) or 1 (f32)");
  check_choice("options.product_precision", o.product_precision, 2, "0 (f32) or 1 (tf32)");
  check_choice("options.root_padding", o.root_padding, 2, "0 (none) or 1 (largest)");
  check_choice("options.root_retries", o.root_retries, 13, "0 to 12");
  check_choice("options.refresh", o.refresh, 2, "0 (fresh) or 1 (stale)");
  check_choice("options.one_sided", o.one_sided, 3, "0 (none), 1 (input) or 2 (output)");
  if (!rules::kFraction.holds(o.average_decay)) {
    fail_argument("options.average_decay: is {}, expected a number in [0, 1)", o.average_decay);
  }
  check_at_least("options.average_start", o.average_start, 0);
  check_at_least("options.average_every", o.average_every, 0);
  check_choice("options.root_lag", o.root_lag, kLargestLag + 1, "0 to 1000");
  check_choice("options.statistics", o.statistics, 3, "0 (gradients), 1 (kl) or 2 (kl_mean)");
  check_choice("options.ridge", o.ridge, 2, "0 (relative) or 1 (absolute)");
  form.graft = static_cast<Graft>(o.graft_type);
  form.nesterov = o.nesterov != 0;
  form.moving_average = o.moving_average_for_momentum != 0;
  form.decoupled_decay = o.decoupled_weight_decay != 0;
  form.eigenvalue_corrected = o.eigenvalue_corrected != 0;
  form.start_step = o.start_preconditioning_step;
  form.statistics = static_cast<rules::Statistics>(o.statistics);
  absolute_ridge = o.ridge == GRADSTEP_RIDGE_ABSOLUTE;
  method = o.root_method == GRADSTEP_ROOT_METHOD_COUPLED_NEWTON ? RootMethod::coupled_newton : RootMethod::eigh;
  pad_to_largest = o.root_padding == GRADSTEP_ROOT_PADDING_LARGEST;
  precision = o.root_precision == GRADSTEP_ROOT_PRECISION_F32 ? RootPrecision::f32 : RootPrecision::f64;
  products = static_cast<ProductPrecision>(o.product_precision);
  lag = std::max(o.root_lag, o.refresh == GRADSTEP_REFRESH_STALE ? 1 : 0);
  sides = static_cast<Sides>(o.one_sided);
  storage = storage_of(o);
  if (storage.format == StateFormat::block_code) {
    fail(GRADSTEP_ERR_UNSUPPORTED,
         "options.state_dtype: is int8, which shampoo has for momenta alone: options.quantize_momentum");
  }
  maximize = o.maximize != 0;
  average = {o.average_decay, o.average_start, std::max<std::int64_t>(o.average_every, 1),
             o.average_warmup != 0 ? 1 : 0, o.average_equal != 0 ? 1 : 0};
  check_average(average);
  if (!eigenvalue_corrected()) return;
  refuse(o.root_lag != 0, "root_lag");
  refuse(o.refresh == GRADSTEP_REFRESH_STALE, "refresh");
  refuse(momentum_coding != Coding::none, "quantize_momentum");
  refuse(matrix_coding != Coding::none, "quantize_statistics");
  refuse(form.is_kl(), "statistics");
}

void read_values(std::span<const double> values, rules::ShampooValues& read) {
  read.learning_rate = values[kLearningRate];
  read.beta1 = values[kBeta1];
  read.beta2 = values[kBeta2];
  read.diagonal_epsilon = values[kDiagonalEpsilon];
  read.matrix_epsilon = values[kMatrixEpsilon];
  read.weight_decay = values[kWeightDecay];
  read.failure_threshold = values[kFailureThreshold];
  read.clip_scaled_norm = values[kClipScaledNorm];
  read.graft_beta1 = values[kGraftBeta1];
  read.graft_beta2 = values[kGraftBeta2];
  read.precondition = values[kPrecondition];
}

gradstep_shampoo_options default_shampoo_options() {
  gradstep_shampoo_options options{};
  options.learning_rate = std::numeric_limits<double>::quiet_NaN();
  options.beta1 = 0.9;
  options.beta2 = 0.999;
  options.diagonal_epsilon = 1e-10;
  options.matrix_epsilon = 1e-6;
  options.inverse_failure_threshold = 0.1;
  options.graft_beta1 = 0.9;
  options.graft_beta2 = 0.999;
  options.precondition = 1;
  options.block_size = 128;
  options.start_preconditioning_step = 5;
  options.preconditioning_compute_steps = 1;
  options.statistics_compute_steps = 1;
  options.skip_preconditioning_dim_size_gt = 4096;
  options.best_effort_shape_interpretation = 1;
  options.nesterov = 1;
  options.root_retries = 6;
  options.average_every = 1;
  return options;
}

}  // namespace gradstep
