// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What calls give back to Python.
#pragma once

#include <cstdint>
#include <vector>

#include "gradstep/tensor.h"
#include "python_object.h"

namespace gradstep_python {

/// Adds one more result: None is replaced, a second result makes a tuple. Steals both references; NULL stays an error.
PyObject* append_result(PyObject* results, PyObject* item);

/// (shape, dtype name) of a Python array.
PyObject* describe_array(PyObject* array);

/// (type, id) of the device that a Python array is on, as DLPack numbers them.
PyObject* device_of_array(PyObject* array);

/// A tensor that gradstep owns: (address, shape, dtype name, device), or None where its data is NULL.
PyObject* describe_view(const gradstep_tensor& tensor);
PyObject* describe_views(const std::vector<gradstep_tensor>& tensors);

/// A DLPack 1 capsule of what such a tuple describes, which holds `owner`.
PyObject* export_view(PyObject* view, PyObject* owner);

}  // namespace gradstep_python
