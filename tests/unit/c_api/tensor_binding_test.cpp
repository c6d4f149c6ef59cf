// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/tensor_binding.h"

#include "unit/support.h"

namespace gradstep::test {
namespace {

class Binding : public ::testing::Test {
 protected:
  Binding() { read(); }
  void read() {
    params = {p0.tensor(), p1.tensor()};
    grads = {g0.tensor(), g1.tensor()};
  }
  const StepBuffers& bind(const gradstep_tensor* updates = nullptr) {
    return binding.bind(schema, params.data(), grads.data(), updates, 2);
  }

  Schema schema = make_schema({{5, 4}, {3}});
  TestTensor<float> p0{{5, 4}};
  TestTensor<float> p1{{3}};
  TestTensor<float> g0{{5, 4}};
  TestTensor<float> g1{{3}};
  std::vector<gradstep_tensor> params;
  std::vector<gradstep_tensor> grads;
  StepBinding binding;
};

TEST_F(Binding, TheSameTensorsAgainAreTheSameVersion) {
  const StepBuffers first = bind();
  EXPECT_EQ(first.params[0].data, p0.values.data());
  EXPECT_EQ(first.grads[1].data, g1.values.data());
  const StepBuffers again = bind();
  EXPECT_TRUE(again.params.shows_again(first.params));
  EXPECT_TRUE(again.grads.shows_again(first.grads));
}

TEST_F(Binding, AnotherGradientIsAnotherVersionOfTheGradientsAlone) {
  const StepBuffers first = bind();
  TestTensor<float> other({3});
  grads[1] = other.tensor();
  const StepBuffers second = bind();
  EXPECT_TRUE(second.params.shows_again(first.params));
  EXPECT_FALSE(second.grads.shows_again(first.grads));
  EXPECT_EQ(second.grads[1].data, other.values.data());
}

TEST_F(Binding, AGradientThatIsAbsentAgainIsTheSameVersion) {
  const StepBuffers present = bind();
  grads[1] = {};
  const StepBuffers first = bind();
  EXPECT_FALSE(first.grads.shows_again(present.grads));
  EXPECT_EQ(first.grads[1].data, nullptr);
  EXPECT_TRUE(bind().grads.shows_again(first.grads));
  read();
  EXPECT_FALSE(bind().grads.shows_again(first.grads));
}

TEST(BindingOfEmptyTensors, WithoutDataAreTheSameVersionAgainAndHaveTheirShape) {
  const Schema schema = make_schema({{0, 3}});
  TestTensor<float> empty({0, 3});
  gradstep_tensor param = empty.tensor();
  gradstep_tensor grad = param;
  param.data = grad.data = nullptr;
  StepBinding binding;
  const auto bind = [&]() -> const StepBuffers& { return binding.bind(schema, &param, &grad, nullptr, 1); };
  const StepBuffers first = bind();
  EXPECT_TRUE(bind().params.shows_again(first.params));
  EXPECT_TRUE(bind().grads.shows_again(first.grads));
  param.ndim = 0;
  param.shape = nullptr;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "params[0]: is absent, parameter 'p0' has shape (0,3)", [&] { bind(); });
}

TEST_F(Binding, StridesOfACompactTensorAreNoOtherTensorAndOthersAre) {
  std::int64_t strides[] = {4, 1};
  const StepBuffers first = bind();
  params[0].strides = strides;
  EXPECT_TRUE(bind().params.shows_again(first.params));
  strides[0] = 1;
  strides[1] = 5;
  const StepBuffers transposed = bind();
  EXPECT_FALSE(transposed.params.shows_again(first.params));
  EXPECT_FALSE(transposed.params[0].contiguous());
}

TEST_F(Binding, AnotherShapeDtypeOrDeviceAtTheSameAddressIsRefused) {
  bind();
  params[0].shape = g0.shape.data();
  g0.shape[0] = 4;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "params[0]: shape (4,4), parameter 'p0' has (5,4)", [&] { bind(); });
  g0.shape[0] = 5;
  params[0].dtype = to_dlpack(DType::bf16);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "params[0]: dtype bf16", [&] { bind(); });
  read();
  params[1].device.device_type = GRADSTEP_DEVICE_CUDA;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "params[1]: is on cuda:0", [&] { bind(); });
}

TEST_F(Binding, AFailureIsNotRememberedAsABinding) {
  grads[0] = p0.tensor();
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "params[0] overlaps grads[0]", [&] { bind(); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "params[0] overlaps grads[0]", [&] { bind(); });
  read();
  EXPECT_EQ(bind().grads[0].data, g0.values.data());
}

TEST_F(Binding, BuffersThatWereNotComparedAreComparedWithoutThePromise) {
  grads[0] = p0.tensor();
  const StepBuffers& promised = binding.bind(schema, params.data(), grads.data(), nullptr, 2, /*disjoint=*/true);
  EXPECT_EQ(promised.grads[0].data, p0.values.data());
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "params[0] overlaps grads[0]", [&] { bind(); });
  read();
  const StepBuffers compared = bind();
  const StepBuffers& again = binding.bind(schema, params.data(), grads.data(), nullptr, 2, /*disjoint=*/true);
  EXPECT_TRUE(again.params.shows_again(compared.params));
  grads[0] = p0.tensor();
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "params[0] overlaps grads[0]", [&] { bind(); });
}

TEST_F(Binding, WhatIsWrittenMayNotOverlapItself) {
  std::int64_t strides[] = {1, 1};
  params[0].strides = strides;
  const char* text = "params[0]: is written, and its elements share memory (shape (5,4), strides (1,1))";
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, text, [&] { bind(); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, text,
               [&] { binding.bind(schema, params.data(), grads.data(), nullptr, 2, /*disjoint=*/true); });
  TestTensor<float> u0({5, 4});
  TestTensor<float> u1({3});
  gradstep_tensor updates[] = {u0.tensor(), u1.tensor()};
  EXPECT_EQ(bind(updates).params[0].data, p0.values.data()) << "is only read";
  updates[0].strides = strides;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "updates[0]: is written", [&] { bind(updates); });
  read();
  std::int64_t none[] = {0, 1};
  grads[0].strides = none;
  EXPECT_EQ(bind().grads[0].data, g0.values.data()) << "is only read";
}

TEST_F(Binding, UpdatesComeAndGo) {
  TestTensor<float> u0({5, 4});
  TestTensor<float> u1({3});
  const gradstep_tensor updates[] = {u0.tensor(), u1.tensor()};
  EXPECT_TRUE(bind().updates.empty());
  EXPECT_EQ(bind(updates).updates[0].data, u0.values.data());
  EXPECT_TRUE(bind().updates.empty());
}

TEST_F(Binding, AParameterThatWasAddedIsMissed) {
  bind();
  schema = make_schema({{5, 4}, {3}, {2}});
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "params: n is 2, the schema has 3 parameters", [&] { bind(); });
}

}  // namespace
}  // namespace gradstep::test
