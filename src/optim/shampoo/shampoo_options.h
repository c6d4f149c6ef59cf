// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Shampoo's options after their checks.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "gradstep/shampoo.h"
#include "optim/hyper_parameters.h"
#include "optim/shampoo/roots.h"
#include "optim/shampoo/state_matrix.h"

namespace gradstep {

enum class Graft : std::uint8_t {
  sgd,
  adagrad,
  rmsprop,
  rmsprop_normalized,
  sqrt_n,
  adagrad_normalized,
  adam,
  none,
};

constexpr bool is_normalized(Graft graft) {
  return graft == Graft::rmsprop_normalized || graft == Graft::adagrad_normalized;
}
/// The direction is the gradient itself.
constexpr bool is_plain(Graft graft) { return graft == Graft::sgd || graft == Graft::none; }
constexpr bool is_rmsprop(Graft graft) { return graft == Graft::rmsprop || graft == Graft::rmsprop_normalized; }
constexpr bool is_adagrad(Graft graft) { return graft == Graft::adagrad || graft == Graft::adagrad_normalized; }
constexpr bool has_statistics(Graft graft) { return is_rmsprop(graft) || is_adagrad(graft) || graft == Graft::adam; }

/// The sides of a tensor that are preconditioned; a tensor of one axis has only one side.
enum class Sides : std::uint8_t {
  all,
  input,   ///< all axes but the last
  output,  ///< the last axis
};

/// The weight of what is added to an average; sums (beta = 1) take all of it.
constexpr double added_weight(double beta) { return beta == 1 ? 1 : 1 - beta; }

/// The hyper-parameters, in the order of the struct.
enum ShampooField : std::size_t {
  kLearningRate,
  kBeta1,
  kBeta2,
  kDiagonalEpsilon,
  kMatrixEpsilon,
  kWeightDecay,
  kFailureThreshold,
  kClipScaledNorm,
  kGraftBeta1,
  kGraftBeta2,
  kPrecondition,
  kShampooFields,
};

struct ShampooOptions {
  /// Throws INVALID_ARGUMENT or UNSUPPORTED; the hyper-parameters are checked by HyperParameters.
  explicit ShampooOptions(const gradstep_shampoo_options& options);

  static std::span<const HyperParameterField> fields();

  std::array<double, kShampooFields> values;
  Graft graft = Graft::sgd;
  std::int64_t block_size = 0;
  std::int64_t start_step = 0;
  std::int64_t root_steps = 1;
  std::int64_t statistics_steps = 1;
  std::int64_t skip_above = 0;
  std::int32_t exponent_override = 0;
  bool merge = true;
  bool nesterov = true;
  bool moving_average = false;
  bool decoupled_decay = false;
  RootMethod method = RootMethod::eigh;
  RootPrecision precision = RootPrecision::f64;
  bool pad_to_largest = false;
  std::int32_t retries = 0;
  std::int64_t lag = 0;  ///< roots of step c serve from step c + lag on
  Sides sides = Sides::all;
  bool eigenvalue_corrected = false;
  bool master_weights = false;
  Coding momentum_coding = Coding::none;
  Coding matrix_coding = Coding::none;

  /// True if an axis with a long dimension is left alone instead of its whole tensor.
  bool skips_axes() const { return sides != Sides::all || eigenvalue_corrected; }
  /// Refreshes that can be under way at once.
  std::int64_t rounds() const { return (lag + root_steps - 1) / root_steps; }
};

gradstep_shampoo_options default_shampoo_options();

}  // namespace gradstep
