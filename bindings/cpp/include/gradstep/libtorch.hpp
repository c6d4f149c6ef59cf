// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// libtorch.hpp: LibTorch's tensors as the library sees them. The program finds LibTorch itself, so gradstep.hpp leaves
// this header out. A step writes to the tensors' memory and changes no version counter of autograd.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/ordered_dict.h>

#include <gradstep/tensor.hpp>
#include <string>

namespace gradstep::inline cpp_v0 {

/// The dtype of a scalar type. Throws InvalidArgument for what the library does not know.
[[nodiscard]] inline Dtype dtype_of(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return kDtypeF32;
    case at::kDouble:
      return kDtypeF64;
    case at::kHalf:
      return kDtypeF16;
    case at::kBFloat16:
      return kDtypeBf16;
    case at::kInt:
      return kDtypeInt32;
    case at::kLong:
      return kDtypeInt64;
    default:
      throw InvalidArgument(std::string("tensor: has elements of type ") + c10::toString(type) +
                            ", expected Float, Double, Half, BFloat16, Int or Long");
  }
}

/// The memory of a tensor on the CPU or a CUDA device, with its strides; it must stay until the call that gets it has
/// returned. An undefined tensor, an absent gradient, is no tensor. Throws InvalidArgument for a tensor that is sparse,
/// lazily negated, on another device, or of other elements.
[[nodiscard]] inline Tensor tensor_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  if (tensor.layout() != at::kStrided) {
    throw InvalidArgument("tensor: has a sparse or opaque layout, expected a strided one");
  }
  if (tensor.is_neg()) throw InvalidArgument("tensor: is lazily negated, expected what resolve_neg() returns");
  if (!tensor.is_cpu() && !tensor.is_cuda()) {
    throw InvalidArgument("tensor: is on " + tensor.device().str() + ", expected cpu or cuda");
  }
  return {tensor.data_ptr(), dtype_of(tensor.scalar_type()), tensor.sizes().vec(),
          tensor.is_cuda() ? cuda(tensor.get_device()) : kCpu, tensor.strides().vec()};
}

/// What a step writes: module.parameters().
[[nodiscard]] inline TensorList tensors_of(at::TensorList tensors) {
  TensorList list;
  list.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) list.push_back(tensor_of(tensor));
  return list;
}

/// The gradients of parameters, as backward() has left them. zero_grad() gives their memory back: the list is made anew
/// for each step.
[[nodiscard]] inline ConstTensorList grads_of(at::TensorList parameters) {
  ConstTensorList list;
  list.reserve(parameters.size());
  for (const at::Tensor& parameter : parameters) list.push_back(tensor_of(parameter.grad()));
  return list;
}

/// The schema of module.named_parameters(): names, shapes, dtypes and devices; all in group 0.
[[nodiscard]] inline Parameters parameters_of(const torch::OrderedDict<std::string, at::Tensor>& named) {
  Parameters parameters;
  for (const auto& entry : named) {
    const Tensor tensor = tensor_of(entry.value());
    parameters.push_back(
        {.name = entry.key(), .shape = tensor.shape(), .dtype = tensor.dtype(), .device = tensor.device()});
  }
  return parameters;
}

}  // namespace gradstep::inline cpp_v0
