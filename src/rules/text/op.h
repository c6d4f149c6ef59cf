// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What expressions of a text are made of.
#pragma once

#include <cstdint>

#include "kernels/elementary.h"
#include "kernels/macros.h"

namespace gradstep::rules::text {

enum class Op : std::uint8_t {
  // What there is before a step.
  number,
  hyper,
  time,
  size,   ///< the number of elements of the tensor
  total,  ///< a sum over elements
  gradient,
  param,
  state,
  // One operand.
  negate,
  absolute,
  sign,
  root,
  exponential,
  logarithm,
  // Two operands.
  add,
  subtract,
  multiply,
  divide,
  power,
  minimum,
  maximum,
  less,
  less_equal,
  equal,
  not_equal,
  // Three operands: the second where the first is not 0, else the third.
  select,
};

/// An operation of constants, which are f64.
GRADSTEP_FORMULA double evaluate(Op op, double a, double b, double c) {
  switch (op) {
    case Op::negate:
      return -a;
    case Op::absolute:
      return kernels::magnitude(a);
    case Op::sign:
      return kernels::sign<double>(a);
    case Op::root:
      return kernels::square_root(a);
    case Op::exponential:
      return kernels::exponential(a);
    case Op::logarithm:
      return kernels::logarithm_of_any(a);
    case Op::add:
      return a + b;
    case Op::subtract:
      return a - b;
    case Op::multiply:
      return a * b;
    case Op::divide:
      return a / b;
    case Op::power:
      return kernels::power_of_any(a, b);
    case Op::minimum:
      return kernels::smaller_of(a, b);
    case Op::maximum:
      return kernels::larger_of(a, b);
    case Op::less:
      return a < b ? 1 : 0;
    case Op::less_equal:
      return a <= b ? 1 : 0;
    case Op::equal:
      return a == b ? 1 : 0;
    case Op::not_equal:
      return a != b ? 1 : 0;
    default:
      return a != 0 ? b : c;
  }
}

}  // namespace gradstep::rules::text
