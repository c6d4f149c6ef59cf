// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Micro-batches with a dense gradient for one parameter and sparse rows for another; the window's result must be the
// recorded mean of both.
#include <array>
#include <string>

#include "support.h"

namespace gradstep_conformance {
namespace {

class AccumulatorVectors : public testing::TestWithParam<int> {};

TEST_P(AccumulatorVectors, DenseAndSparseMicroBatchesAverageAsInLingvo) {
  VectorFile file = read_vector_file(vector_path("lingvo_accumulate"));
  const int micro_batches = file.meta.at("micro_batches").get<int>();
  const double tolerance = file.meta.at("relative_tolerance").get<double>();
  StoredArray& dense_mean = file["dense_mean"];
  StoredArray& sparse_mean = file["sparse_mean"];
  const std::array<gradstep_parameter, 2> parameters = {parameter_of(dense_mean), parameter_of(sparse_mean)};

  const ContextHandle context = make_context(GetParam());
  gradstep_accumulator_options options;
  check(gradstep_accumulator_options_init(&options, sizeof options));
  options.mode = GRADSTEP_ACCUMULATE_MEAN_EACH;
  options.steps = micro_batches;
  gradstep_accumulator* created = nullptr;
  check(gradstep_accumulator_create(context.get(), &options, parameters.data(), parameters.size(), &created));
  const AccumulatorHandle accumulator(created);

  for (int k = 0; k < micro_batches; ++k) {
    const std::string suffix = std::to_string(k);
    gradstep_tensor absent = sparse_mean.view();
    absent.data = nullptr;
    const std::array<gradstep_tensor, 2> grads = {file["dense" + suffix].view(), absent};
    const gradstep_tensor indices = file["idx" + suffix].view();
    const gradstep_tensor values = file["val" + suffix].view();
    gradstep_rows rows{};
    rows.struct_size = sizeof rows;
    rows.parameter = 1;
    rows.indices = &indices;
    rows.values = &values;
    std::int32_t ready = -1;
    check(gradstep_accumulator_add_ex(accumulator.get(), grads.data(), grads.size(), &rows, 1, 1, nullptr, &ready));
    EXPECT_EQ(ready, k + 1 == micro_batches ? 1 : 0);
  }
  std::array<gradstep_tensor, 2> results{};
  check(gradstep_accumulator_gradients(accumulator.get(), results.data(), results.size(), nullptr));
  EXPECT_LE(relative_error(static_cast<const float*>(results[0].data), dense_mean.f32(), dense_mean.f32_count()),
            tolerance);
  EXPECT_LE(relative_error(static_cast<const float*>(results[1].data), sparse_mean.f32(), sparse_mean.f32_count()),
            tolerance);
}

INSTANTIATE_TEST_SUITE_P(Lingvo, AccumulatorVectors, testing::Values(1, 2),
                         [](const auto& test) { return "threads_" + std::to_string(test.param); });

}  // namespace
}  // namespace gradstep_conformance
