// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The end of a step whose changes lie aside until whole tensors are known, element by element. It runs as an update
// rule does, with the change as its one state.
#pragma once

#include "kernels/macros.h"

namespace gradstep::kernels {

template <class T>
GRADSTEP_FORMULA bool is_opposed(T x, T y) {
  return (x < 0 && y > 0) || (x > 0 && y < 0);
}

/// What is done to the elements of a tensor, known when a loop is compiled or when it runs.
template <bool kMasks, bool kDecays, bool kAligned>
struct FixedChangeForm {
  static constexpr bool masks = kMasks;             ///< changes with the sign of the gradient are left out
  static constexpr bool decays = kDecays;           ///< decay * p is subtracted
  static constexpr bool decays_aligned = kAligned;  ///< unless that opposes the change
};
struct ChangeForm {
  bool masks;
  bool decays;
  bool decays_aligned;
};

template <class T, class Form>
struct ChangeFinish {
  static constexpr int kStates = 1;
  static constexpr bool kWritesStates = false;
  static constexpr bool kHasExactStates = false;

  T factor;  ///< of the change
  T decay;
  Form form;

  /// Returns the change of p. `g` has the sign of the gradient.
  GRADSTEP_FORMULA T operator()(T p, T g, const T* change) const {
    const T moved = factor * *change;
    T delta = moved;
    if (form.masks) delta = is_opposed(moved, g) ? moved : T{0};
    if (form.decays) delta = delta - (form.decays_aligned && is_opposed(moved, -p) ? T{0} : decay * p);
    return delta;
  }
};

}  // namespace gradstep::kernels
