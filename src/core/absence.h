// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A gradient may be absent, or it may have no elements. A rank whose share of a parameter is empty still has to see
// that a gradient came. So NULL means absent, and an empty array that is present has an address.
#pragma once

#include "core/array.h"

namespace gradstep {

/// No code reads or writes there.
alignas(64) inline unsigned char no_elements[64];

inline bool is_absent(const Array& array) { return array.data == nullptr; }

/// For an array that is not absent.
inline void place_if_empty(Array& array) {
  if (array.size == 0 && array.data == nullptr) array.data = no_elements;
}

}  // namespace gradstep
