// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What types of arrays offer through DLPack.
#pragma once

#include "array_protocols.h"
#include "python_object.h"

namespace gradstep_python {

/// The exchange table of DLPack 1 of a type's objects, or NULL.
const DLPackExchangeTable* exchange_table_of(PyTypeObject* type);

/// Whether the type's package exports no read-only arrays where an export does not say so.
bool exports_writable(PyTypeObject* type);

/// Fills *tensor from a writable array by the exchange table of its type, without taking a reference: the tensor is
/// valid while `object` lives and is not given other memory. False without a Python error for everything else, and for
/// tensors that may be negative views of complex numbers.
bool read_by_exchange_table(PyObject* object, gradstep_tensor* tensor);

/// Whether strides are those of row-major order to the last, and elements several: no view of complex numbers has that.
bool is_plain(const gradstep_tensor& tensor);

}  // namespace gradstep_python
