// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Shapes that no memory holds are refused by every handle, before anything is made of them.
#include <sys/resource.h>

#include <array>
#include <functional>
#include <string_view>

#include "gradstep/gradstep.h"
#include "handles.h"
#include "unit/support.h"

namespace gradstep::test {
namespace {

using gradstep_handles::AccumulatorHandle;
using gradstep_handles::check;
using gradstep_handles::CommHandle;
using gradstep_handles::ContextHandle;
using gradstep_handles::defaults_of;
using gradstep_handles::OptimizerHandle;
using gradstep_handles::UpdaterHandle;

/// Kilobytes.
long peak_of_process() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

class LargeModel : public ::testing::Test {
 protected:
  /// `create` is refused at once, by the name of the parameter.
  void expect_refused(const char* handle, const std::function<gradstep_status()>& create) const {
    const long before = peak_of_process();
    EXPECT_EQ(create(), GRADSTEP_ERR_OUT_OF_MEMORY) << handle;
    EXPECT_TRUE(
        std::string_view(gradstep_last_error())
            .starts_with(
                "parameters[1] ('huge'): with shape (536870912,536870912) the model has 1152921504606846976 bytes"))
        << handle << ": " << gradstep_last_error();
    EXPECT_LT(peak_of_process() - before, 8 << 10) << handle;
  }
  static gradstep_parameter parameter(const char* name, std::array<std::int64_t, 2>& shape) {
    gradstep_parameter described{};
    described.struct_size = sizeof described;
    described.name = name;
    described.shape = shape.data();
    described.ndim = 2;
    described.dtype = to_dlpack(DType::f32);
    described.device = {GRADSTEP_DEVICE_CPU, 0};
    return described;
  }

  ContextHandle context_ = gradstep_handles::make_context(1);
  std::array<std::int64_t, 2> small_ = {2, 3};
  std::array<std::int64_t, 2> huge_ = {1 << 29, 1 << 29};
  std::array<gradstep_parameter, 2> model_ = {parameter("small", small_), parameter("huge", huge_)};
};

TEST_F(LargeModel, IsRefusedByOptimizers) {
  auto sgd = defaults_of(gradstep_sgd_options_init);
  auto adam = defaults_of(gradstep_adam_options_init);
  auto shampoo = defaults_of(gradstep_shampoo_options_init);
  sgd.learning_rate = adam.learning_rate = shampoo.learning_rate = 0.1;
  gradstep_optimizer* out = nullptr;
  expect_refused("sgd", [&] { return gradstep_optimizer_create_sgd(context_.get(), &sgd, model_.data(), 2, &out); });
  expect_refused("adam", [&] { return gradstep_optimizer_create_adam(context_.get(), &adam, model_.data(), 2, &out); });
  expect_refused("shampoo",
                 [&] { return gradstep_optimizer_create_shampoo(context_.get(), &shampoo, model_.data(), 2, &out); });
  EXPECT_EQ(out, nullptr);
}

TEST_F(LargeModel, IsRefusedWhereParametersAreAdded) {
  auto options = defaults_of(gradstep_sgd_options_init);
  options.learning_rate = 0.1;
  gradstep_optimizer* out = nullptr;
  check(gradstep_optimizer_create_sgd(context_.get(), &options, model_.data(), 1, &out));
  const OptimizerHandle optimizer(out);
  expect_refused("add_parameters", [&] { return gradstep_optimizer_add_parameters(out, &model_[1], 1); });
  huge_ = {3, 4};
  check(gradstep_optimizer_add_parameters(out, &model_[1], 1));
}

TEST_F(LargeModel, IsRefusedByAccumulators) {
  const auto options = defaults_of(gradstep_accumulator_options_init);
  gradstep_accumulator* out = nullptr;
  expect_refused("accumulator",
                 [&] { return gradstep_accumulator_create(context_.get(), &options, model_.data(), 2, &out); });
}

TEST_F(LargeModel, IsRefusedByReducersInEveryMode) {
  gradstep_comm* comm = nullptr;
  check(gradstep_comm_create_local(context_.get(), 1, &comm));
  const CommHandle owned(comm);
  auto options = defaults_of(gradstep_reducer_options_init);
  for (options.mode = GRADSTEP_REDUCER_DENSE; options.mode <= GRADSTEP_REDUCER_FP8_E5M2; ++options.mode) {
    gradstep_reducer* out = nullptr;
    expect_refused("reducer",
                   [&] { return gradstep_reducer_create(context_.get(), comm, &options, model_.data(), 2, &out); });
  }
}

/// An updater has the model of its parts, and goes on after a refusal.
TEST_F(LargeModel, IsRefusedByThePartsOfUpdaters) {
  auto sgd = defaults_of(gradstep_sgd_options_init);
  sgd.learning_rate = 1;
  gradstep_optimizer* created = nullptr;
  check(gradstep_optimizer_create_sgd(context_.get(), &sgd, model_.data(), 1, &created));
  const OptimizerHandle optimizer(created);
  const auto options = defaults_of(gradstep_updater_options_init);
  gradstep_updater* out = nullptr;
  check(gradstep_updater_create(context_.get(), created, nullptr, nullptr, &options, &out));
  const UpdaterHandle updater(out);
  EXPECT_EQ(gradstep_optimizer_add_parameters(created, &model_[1], 1), GRADSTEP_ERR_OUT_OF_MEMORY);
  TestTensor<float> param({2, 3}), grad({2, 3}, 1.0F);
  const gradstep_tensor p = param.tensor();
  const gradstep_tensor g = grad.tensor();
  check(gradstep_updater_push(out, &p, &g, 1, 1, nullptr, nullptr));
  EXPECT_EQ(param.values[5], -1);
}

}  // namespace
}  // namespace gradstep::test
