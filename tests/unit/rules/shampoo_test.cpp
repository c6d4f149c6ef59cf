// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/shampoo.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gradstep::rules {
namespace {

ShampooValues values() {
  ShampooValues v;
  v.learning_rate = 0.01;
  v.beta1 = 0.95;
  v.beta2 = 0.99;
  v.weight_decay = 0.1;
  v.graft_beta1 = 0.9;
  v.graft_beta2 = 0.999;
  return v;
}

ShampooConstants shampoo_constants(const ShampooForm& form, const ShampooValues& v, std::int64_t t) {
  ShampooConstants constants;
  set_shampoo_constants(form, v, t, /*adds=*/true, constants);
  return constants;
}

TEST(ShampooConstants, TheRateInAnEigenbasisHasBothBiasCorrections) {
  ShampooForm form;
  form.eigenvalue_corrected = true;
  const ShampooValues v = values();
  for (const std::int64_t t : {1, 2, 10, 1000}) {
    const auto n = static_cast<double>(t);
    const double expected = v.learning_rate * std::sqrt(1 - std::pow(v.beta2, n)) / (1 - std::pow(v.beta1, n));
    EXPECT_NEAR(shampoo_constants(form, v, t).f32.corrected.scale, expected, 1e-7 * expected) << t;
    EXPECT_NEAR(shampoo_constants(form, v, t).f64.corrected.scale, expected, 1e-14 * expected) << t;
  }
  // The first gradient only makes the basis: the second is the first that counts.
  EXPECT_EQ(shampoo_constants(form, v, 0).f64.corrected.scale, shampoo_constants(form, v, 1).f64.corrected.scale);
}

TEST(ShampooConstants, GraftingByAdamCorrectsFromTheFirstStepOn) {
  ShampooForm form;
  form.graft = Graft::adam;
  const auto adam = read<Adam, float>(shampoo_constants(form, values(), 0).direction);
  EXPECT_FLOAT_EQ(adam.step_size, 10);
  EXPECT_FLOAT_EQ(adam.root_factor, std::sqrt(1000.0F));
}

TEST(ShampooConstants, SumsTakeAllOfWhatIsAdded) {
  ShampooForm form;
  form.graft = Graft::rmsprop;
  ShampooValues v = values();
  v.beta2 = 1;
  const ShampooConstants c = shampoo_constants(form, v, 5);
  EXPECT_EQ(c.keep, 1);
  EXPECT_EQ(c.add, 1);
  EXPECT_EQ((read<RmsProp, float>(c.direction).one_minus_rho), 1);
}

TEST(ShampooConstants, PreconditioningTakesOverAtItsStartStep) {
  ShampooForm form;
  form.start_step = 3;
  EXPECT_FALSE(shampoo_constants(form, values(), 2).f32.grafted.selects_preconditioned);
  EXPECT_TRUE(shampoo_constants(form, values(), 3).f64.grafted.selects_preconditioned);
}

TEST(GraftScales, GiveThePreconditionedGradientTheGraftingNorm) {
  kernels::GraftScales scales;
  set_scales(Graft::sgd, 0, 16, true, 6, 2, scales);
  EXPECT_EQ(scales.preconditioned, 3);
  EXPECT_EQ(scales.graft_divisor, 1);
  scales = {};
  set_scales(Graft::none, 0, 16, true, 6, 2, scales);
  EXPECT_EQ(scales.preconditioned, 1);
}

TEST(GraftScales, ALimitIsOnTheRootMeanSquareOfRmspropOnly) {
  kernels::GraftScales scales;
  set_scales(Graft::rmsprop, 0.5, 16, true, 6, 2, scales);  // 6 / sqrt(16) is three times the limit
  EXPECT_EQ(scales.graft_divisor, 3);
  EXPECT_EQ(scales.preconditioned, 1);
  scales = {};
  set_scales(Graft::adagrad, 0.5, 16, true, 6, 2, scales);
  EXPECT_EQ(scales.graft_divisor, 1);
  scales = {};
  set_scales(Graft::rmsprop, 0.5, 16, true, std::numeric_limits<double>::quiet_NaN(), 2, scales);
  EXPECT_EQ(scales.graft_divisor, 1);
}

}  // namespace
}  // namespace gradstep::rules
