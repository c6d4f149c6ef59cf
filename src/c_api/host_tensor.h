// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A host's tensors: read here, and seen no further down.
#pragma once

#include <string>

#include "core/array.h"
#include "core/schema.h"
#include "gradstep/tensor.h"

namespace gradstep {

/// shape_text() for a tensor that has passed no check yet: a shape that cannot be read is described.
std::string shape_text(const gradstep_tensor& tensor);

/// True if the elements lie compactly in row-major order (strides of dimensions of one element do not matter).
bool is_compact(const gradstep_tensor& tensor);

/// Checks a tensor on its own: device, known dtype, shape, alignment. `argument` and `index` are for the text.
Array to_array(const char* argument, std::size_t index, const gradstep_tensor& tensor);

/// For a single tensor argument.
Array to_array(const char* argument, const gradstep_tensor* tensor);

/// On `home`, a device, and contiguous.
Array to_contiguous_array(const char* argument, const gradstep_tensor* tensor,
                          gradstep_device home = {GRADSTEP_DEVICE_CPU, 0});

/// Throws unless the tensor is on `home`.
void check_home(const char* argument, const gradstep_tensor& tensor, gradstep_device home);

/// Throws INVALID_ARGUMENT if elements of `array`, which is that tensor and is to be written, share memory.
void check_written(const char* argument, std::size_t i, const gradstep_tensor& tensor, const Array& array);

/// Checks tensors[i] as a buffer of parameter i with its own dtype; it must be present.
Array parameter_array(const Schema& schema, const char* argument, std::size_t i, const gradstep_tensor& tensor);

/// Whether the host gives nothing for a parameter: no data. An array without elements needs none, and is one by its
/// shape.
bool is_left_out(const Parameter& parameter, const gradstep_tensor& tensor);

/// Checks tensors[i] as a gradient of parameter i: any float dtype, f64 only for f64; data NULL = absent.
Array gradient_array(const Schema& schema, const char* argument, std::size_t i, const gradstep_tensor& tensor);

/// True if the tensor shows `buffer`, a compact one of this parameter that passed its checks before.
bool shows_again(const Parameter& parameter, const gradstep_tensor& tensor, const Array& buffer);

/// A contiguous view of a buffer of gradstep's own that holds parameter i. Its shape points into the schema.
gradstep_tensor view_of(const Schema& schema, std::size_t i, void* data, DType dtype);

}  // namespace gradstep
