// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// NumPy's arrays, read by the layout that its C API promises to compiled modules (PyArrayObject_fields in NumPy's
// ndarraytypes.h). That takes a few loads, where the buffer protocol formats a text and allocates for every array.
#pragma once

#include "gradstep/tensor.h"
#include "python_object.h"

namespace gradstep_python {

/// Fills *tensor and *read_only from a C-contiguous numpy.ndarray whose dtype learn_numpy_array() has met. False, with
/// nothing changed and no Python error, for everything else. tensor->data is valid while `object` lives and is not
/// resized, tensor->shape while its shape is not set anew.
bool read_numpy_array(PyObject* object, gradstep_tensor* tensor, bool* read_only);

/// Learns from an array that a protocol has described what read_numpy_array() needs: the type numpy.ndarray, that its
/// layout is as expected, and the meaning of the array's dtype. Objects of other types change nothing.
void learn_numpy_array(PyObject* object, const gradstep_tensor& tensor, bool read_only);

/// Asks the processor for the memory of an array that will be read soon.
inline void prefetch_array(PyObject* object) { __builtin_prefetch(object); }

}  // namespace gradstep_python
