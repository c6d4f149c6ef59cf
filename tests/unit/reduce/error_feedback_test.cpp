// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/error_feedback.h"

#include <algorithm>
#include <string>

#include "unit/reduce/exchange_fixture.h"

namespace gradstep::test {
namespace {

constexpr std::int64_t kFeedbackSizes[] = {2, 0, 3};

void set_numbers(const Array& array, const Floats& values) {
  std::ranges::copy(values, static_cast<float*>(array.data));
}

TEST(ErrorFeedback, WhatIsPackedIsKeptByCommitAlone) {
  const auto context = make_context();
  const Site site(context->cpu());
  ErrorFeedback feedback(site, DType::f32, kFeedbackSizes, "residual", /*keeps=*/true);
  EXPECT_EQ(floats_of(feedback.kept()), Floats(5, 0)) << "before the first window";
  set_numbers(feedback.packed(), {1, 2, 3, 4, 5});
  EXPECT_EQ(floats_of(feedback.kept()), Floats(5, 0));
  feedback.commit();
  EXPECT_EQ(floats_of(feedback.kept()), (Floats{1, 2, 3, 4, 5}));
  set_numbers(feedback.packed(), {6, 6, 6, 6, 6});
  EXPECT_EQ(floats_of(feedback.kept()), (Floats{1, 2, 3, 4, 5})) << "a window that fails leaves nothing";
}

TEST(ErrorFeedback, ItIsListedByParameter) {
  const auto context = make_context();
  const Site site(context->cpu());
  ErrorFeedback feedback(site, DType::f32, kFeedbackSizes, "velocity", /*keeps=*/true);
  set_numbers(feedback.kept(), {1, 2, 3, 4, 5});
  std::vector<KeptTensor> tensors;
  feedback.list(tensors);
  ASSERT_EQ(tensors.size(), 3U);
  const Floats expected[] = {{1, 2}, {}, {3, 4, 5}};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(tensors[i].position, i);
    EXPECT_EQ(std::string(tensors[i].name), "velocity");
    EXPECT_EQ(floats_of(tensors[i].array), expected[i]);
    EXPECT_FALSE(tensors[i].replicated);
    EXPECT_TRUE(tensors[i].is_scaled);
  }
}

TEST(ErrorFeedback, WhereNothingIsKeptThereIsNothing) {
  const auto context = make_context();
  const Site site(context->cpu());
  ErrorFeedback feedback(site, DType::f32, kFeedbackSizes, "residual", /*keeps=*/false);
  const void* packed = feedback.packed().data;
  feedback.commit();
  EXPECT_EQ(feedback.packed().data, packed);
  EXPECT_EQ(feedback.kept().data, nullptr);
  std::vector<KeptTensor> tensors;
  feedback.list(tensors);
  EXPECT_TRUE(tensors.empty());
}

TEST(ErrorFeedback, AnotherFinishesTheWindowThatFailedHere) {
  const auto context = make_context();
  const Site site(context->cpu());
  ErrorFeedback failed(site, DType::f32, kFeedbackSizes, "residual", /*keeps=*/true);
  set_numbers(failed.packed(), {1, 2, 3, 4, 5});
  ErrorFeedback next(site, DType::f32, kFeedbackSizes, "residual", /*keeps=*/true);
  next.finish(failed, site.queue());
  EXPECT_EQ(floats_of(next.kept()), (Floats{1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace gradstep::test
