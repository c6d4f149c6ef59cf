// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <dlpack/dlpack.h>
#include <gtest/gtest.h>

#include <array>
#include <gradstep/gradstep.hpp>
#include <string>

#if !defined(DLPACK_MAJOR_VERSION)  // Debian 12 has DLPack 0.6
extern "C" {
struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
};
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
};
}
#endif

namespace gradstep {
namespace {

/// A 2 x 3 matrix of a producer's, as either managed tensor.
template <class Managed>
struct Produced {
  std::array<float, 8> elements{-1, -1, 1, 2, 3, 4, 5, 6};
  std::array<std::int64_t, 2> shape{2, 3};
  std::array<std::int64_t, 2> strides{1, 2};
  int deleted = 0;
  Managed managed{};

  Produced() {
    managed.dl_tensor = {elements.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape.data(), nullptr, 2 * sizeof(float)};
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) { ++static_cast<Produced*>(self->manager_ctx)->deleted; };
    if constexpr (requires { managed.version; }) managed.version = {1, 0};
  }
};

template <class Managed>
class CppDlpack : public testing::Test {
 protected:
  Produced<Managed> produced_;
};
using ManagedTypes = testing::Types<DLManagedTensor, DLManagedTensorVersioned>;
TYPED_TEST_SUITE(CppDlpack, ManagedTypes);

/// The text of the InvalidArgument that a function throws.
template <class F>
std::string refusal(F&& function) {
  try {
    function();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TYPED_TEST(CppDlpack, IsShownInItsOwnMemoryBehindItsOffset) {
  const Tensor tensor = tensor_of(&this->produced_.managed);
  EXPECT_EQ(tensor.data(), &this->produced_.elements[2]);
  EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
  EXPECT_EQ(tensor.dtype(), kDtypeF32);
  EXPECT_EQ(tensor.device().device_type, GRADSTEP_DEVICE_CPU);
  EXPECT_EQ(tensor.c().strides, nullptr);
  EXPECT_EQ(this->produced_.deleted, 0) << "it is the caller's";
}

TYPED_TEST(CppDlpack, IsSteppedByItsStrides) {
  Produced<TypeParam>& produced = this->produced_;
  produced.managed.dl_tensor.strides = produced.strides.data();
  const std::vector<float> gradient{1, 2, 3, 4, 5, 6};
  const TensorList params{tensor_of(&produced.managed)};
  const Context context;
  Optimizer::sgd(context, {.learning_rate = 1}, parameters_of(params))
      .step(params, ConstTensorList{ConstTensor(gradient, {2, 3})});
  EXPECT_EQ(produced.elements, (std::array<float, 8>{-1, -1, 0, -2, 1, -1, 2, 0}));
}

TYPED_TEST(CppDlpack, AnOwnerCallsTheDeleterOnce) {
  Produced<TypeParam>& produced = this->produced_;
  {
    DlpackOwner<TypeParam> first(&produced.managed);
    const DlpackOwner<TypeParam> second(std::move(first));
    EXPECT_EQ(tensor_of(second.get()).data(), &produced.elements[2]);
    EXPECT_EQ(produced.deleted, 0);
  }
  EXPECT_EQ(produced.deleted, 1);
  produced.managed.deleter = nullptr;  // what needs no deletion
  DlpackOwner<TypeParam>(&produced.managed).reset();
}

TYPED_TEST(CppDlpack, WhatHasNoShapeIsRefused) {
  auto& managed = this->produced_.managed;
  managed.dl_tensor.shape = nullptr;
  EXPECT_EQ(refusal([&] { static_cast<void>(tensor_of(&managed)); }), "tensor: shape is NULL, expected 2 numbers");
  managed.dl_tensor.ndim = -1;
  EXPECT_EQ(refusal([&] { static_cast<void>(tensor_of(&managed)); }), "tensor: ndim is -1, expected at least 0");
}

TYPED_TEST(CppDlpack, ElementsWithoutAnAddressAreRefused) {
  auto& managed = this->produced_.managed;
  managed.dl_tensor.data = nullptr;
  const std::string text = "tensor: data is NULL, expected the address of 6 elements";
  EXPECT_EQ(refusal([&] { static_cast<void>(tensor_of(&managed)); }), text);
  EXPECT_EQ(refusal([&] { static_cast<void>(const_tensor_of(&managed)); }), text);
  EXPECT_EQ(refusal([&] { static_cast<void>(const_tensor_of(&managed.dl_tensor)); }), text);
  this->produced_.shape = {2, 0};
  EXPECT_EQ(tensor_of(&managed).element_count(), 0U) << "no elements need no address";
}

TYPED_TEST(CppDlpack, ElementsOfSeveralLanesAreRefusedByTheCall) {
  auto& managed = this->produced_.managed;
  managed.dl_tensor.dtype.lanes = 4;
  const Context context;
  auto sgd = Optimizer::sgd(context, {.learning_rate = 1}, {{.shape = {2, 3}}});
  const TensorList params{tensor_of(&managed)};
  const std::string text = refusal([&] { sgd.step(params, ConstTensorList{const_tensor_of(&managed)}); });
  EXPECT_NE(text.find("params[0]: dtype {code 2, bits 32, lanes 4}"), std::string::npos) << text;
}

TEST(CppDlpackTensor, NoneIsAnAbsentGradient) {
  EXPECT_EQ(const_tensor_of(static_cast<const DLTensor*>(nullptr)).data(), nullptr);
  EXPECT_EQ(const_tensor_of(static_cast<const DLManagedTensorVersioned*>(nullptr)).data(), nullptr);
}

TEST(CppDlpackTensor, AScalarHasOneElement) {
  double value = 3;
  const DLTensor scalar{&value, {kDLCPU, 0}, 0, {kDLFloat, 64, 1}, nullptr, nullptr, 0};
  EXPECT_EQ(tensor_of(&scalar).element_count(), 1U);
  EXPECT_EQ(const_tensor_of(&scalar).dtype(), kDtypeF64);
}

TEST(CppDlpackVersioned, ReadOnlyMemoryIsReadAndNotWritten) {
  Produced<DLManagedTensorVersioned> produced;
  produced.managed.flags = 1;
  const std::string text = refusal([&] { static_cast<void>(tensor_of(&produced.managed)); });
  EXPECT_NE(text.find("managed: is read-only"), std::string::npos) << text;
  EXPECT_EQ(const_tensor_of(&produced.managed).data(), &produced.elements[2]);
}

TEST(CppDlpackVersioned, ACopyIsReadAndNotWritten) {
  Produced<DLManagedTensorVersioned> produced;
  produced.managed.flags = 2;
  EXPECT_EQ(refusal([&] { static_cast<void>(tensor_of(&produced.managed)); }),
            "managed: is a copy, expected the exporter's own memory; const_tensor_of() reads it");
  EXPECT_EQ(const_tensor_of(&produced.managed).data(), &produced.elements[2]);
}

TEST(CppDlpackVersioned, AnotherMajorVersionIsRefusedAndStillDeleted) {
  Produced<DLManagedTensorVersioned> produced;
  produced.managed.version = {2, 1};
  EXPECT_THROW(
      {
        const DlpackOwner<DLManagedTensorVersioned> owner(&produced.managed);
        static_cast<void>(const_tensor_of(owner.get()));
      },
      InvalidArgument);
  EXPECT_EQ(produced.deleted, 1);
  EXPECT_EQ(refusal([&] { static_cast<void>(tensor_of(&produced.managed)); }),
            "managed: has DLPack's version 2.1, expected 1");
}

/// A producer's function, as at::toDLPackVersioned.
DLManagedTensorVersioned* exported(Produced<DLManagedTensorVersioned>& produced) { return &produced.managed; }

TEST(CppDlpackVersioned, AModelOfAnotherFrameworkIsStepped) {
  Produced<DLManagedTensorVersioned> produced;
  Produced<DLManagedTensorVersioned> gradient;
  const Context context;
  // docs:begin owner
  const gradstep::DlpackOwner<DLManagedTensorVersioned> weight(exported(produced));
  const gradstep::TensorList params{gradstep::tensor_of(weight.get())};
  auto adam = gradstep::Optimizer::adam(context, {.learning_rate = 0.25}, gradstep::parameters_of(params));
  adam.step(params, gradstep::ConstTensorList{gradstep::const_tensor_of(&gradient.managed)});
  // docs:end owner
  for (std::size_t i = 2; i < produced.elements.size(); ++i) {
    EXPECT_NEAR(produced.elements[i], gradient.elements[i] - 0.25F, 1e-5F) << "Adam's first step has its rate's length";
  }
}

}  // namespace
}  // namespace gradstep
