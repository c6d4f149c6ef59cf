// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Memory layouts of the array protocols that Python objects speak: DLPack's managed tensors and C exchange table, and
// the C side of NumPy's array interface. gradstep_tensor has the layout of DLTensor, so it stands for it here.
#pragma once

#include <cstdint>

#include "gradstep/tensor.h"

namespace gradstep_python {

/// In capsules named "dltensor": exporters that predate DLPack 1.0 do not say whether the data may be written.
struct ManagedTensor {
  gradstep_tensor tensor;
  void* manager_context;
  void (*deleter)(ManagedTensor*);
};

struct DLPackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};

/// In capsules named "dltensor_versioned".
struct ManagedTensorVersioned {
  DLPackVersion version;
  void* manager_context;
  void (*deleter)(ManagedTensorVersioned*);
  std::uint64_t flags;
  gradstep_tensor tensor;
};

constexpr std::uint64_t kDLPackFlagReadOnly = 1;

/// In the capsule "dlpack_exchange_api" that a type's __dlpack_c_exchange_api__ holds (DLPack 1.2): conversions without
/// a Python call. Functions return 0, or -1 with a Python error.
struct DLPackExchangeTable {
  DLPackVersion version;
  DLPackExchangeTable* previous;
  void* allocate;
  int (*managed_tensor_from_object)(void* object, ManagedTensorVersioned** out);
  void* managed_tensor_to_object;
  /// Fills *out with what the object owns, and says nothing of whether it may be written. May be NULL.
  int (*tensor_from_object)(void* object, gradstep_tensor* out);
  void* current_stream;
};

constexpr std::uint32_t kDLPackMajorVersion = 1;

/// What NumPy's __array_struct__ capsule points to.
struct ArrayInterface {
  int two;  // always 2: a check that this is what it claims to be
  int ndim;
  char type_kind;
  int item_size;
  int flags;
  std::intptr_t* shape;
  std::intptr_t* strides;  // in bytes
  void* data;
  void* description;
};

constexpr int kArrayInterfaceNotSwapped = 0x200;
constexpr int kArrayInterfaceWriteable = 0x400;

}  // namespace gradstep_python
