// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Shampoo's options after their checks.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "backend/preconditioning.h"
#include "gradstep/shampoo.h"
#include "kernels/average.h"
#include "optim/first_order/state_storage.h"
#include "optim/hyper_parameters.h"

namespace gradstep {

using kernels::Coding;
using kernels::Graft;

/// The sides of a tensor that are preconditioned; a tensor of one axis has only one side.
enum class Sides : std::uint8_t {
  all,
  input,   ///< all axes but the last
  output,  ///< the last axis
};

/// The hyper-parameters, by the places that read_values() takes them from.
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

  static std::span<const rules::Field> fields();

  std::array<double, kShampooFields> values;
  rules::ShampooForm form;
  std::int64_t block_size = 0;
  std::int64_t root_steps = 1;
  std::int64_t statistics_steps = 1;
  std::int64_t skip_above = 0;
  std::int32_t exponent_override = 0;
  bool merge = true;
  RootMethod method = RootMethod::eigh;
  RootPrecision precision = RootPrecision::f64;
  ProductPrecision products = ProductPrecision::f32;
  bool pad_to_largest = false;
  std::int32_t retries = 0;
  bool absolute_ridge = false;
  std::int64_t lag = 0;  ///< roots of step c serve from step c + lag on
  Sides sides = Sides::all;
  StateStorage storage;  ///< native or bf16
  bool maximize = false;
  kernels::AverageForm average;
  Coding momentum_coding = Coding::none;
  Coding matrix_coding = Coding::none;

  bool eigenvalue_corrected() const { return form.eigenvalue_corrected; }
  Graft graft() const { return form.graft; }
  /// True if an axis with a long dimension is left alone instead of its whole tensor.
  bool skips_axes() const { return sides != Sides::all || eigenvalue_corrected(); }
  /// Refreshes that can be under way at once.
  std::int64_t rounds() const { return (lag + root_steps - 1) / root_steps; }
};

/// Reads the values of a group at some step, which are in the order of ShampooField.
void read_values(std::span<const double> values, rules::ShampooValues& read);

gradstep_shampoo_options default_shampoo_options();

}  // namespace gradstep
