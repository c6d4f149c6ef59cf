// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A rule that was written as text, as backends see it: plain data.
#pragma once

#include <cstdint>

#include "kernels/macros.h"
#include "rules/description.h"

namespace gradstep::rules::text {

/// What one operation computes of operands a, b, c and d, each rounded to the arithmetic type.
enum class Step : std::uint8_t {
  copy,             ///< a
  negate,           ///< -a
  absolute,         ///< |a|
  sign,             ///< 1, 0 or -1; NaN stays
  root,             ///< sqrt(a)
  exponential,      ///< e^a
  logarithm,        ///< ln a
  add,              ///< a + b
  subtract,         ///< a - b
  multiply,         ///< a * b
  divide,           ///< a / b
  power,            ///< a^b
  minimum,          ///< the smaller; NaN if one is
  maximum,          ///< the larger; NaN if one is
  less,             ///< 1 where a < b, else 0
  less_equal,       ///< 1 where a <= b, else 0
  equal,            ///< 1 where a == b, else 0
  not_equal,        ///< 1 where a != b, else 0
  select,           ///< b where a is not 0, else c
  multiply_add,     ///< a * b + c; the product is rounded
  sum_of_products,  ///< a * b + c * d; the products are rounded
};

/// A register, or a number of the step.
struct Operand {
  std::int16_t index = 0;  ///< >= 0: a register. Below: number -1 - index

  GRADSTEP_FORMULA bool is_number() const { return index < 0; }
  GRADSTEP_FORMULA int number() const { return -1 - index; }
};

struct Operation {
  Step step = Step::copy;
  std::int16_t to = 0;  ///< a register; may be one of the operands
  Operand a, b, c, d;
};

/// Registers of a program. States are in the order of the text; temporaries come last.
struct Register {
  enum : std::int16_t { gradient, param, first_state, first_temporary = first_state + kMaxStates };
};

/// What the step makes of the parameter p, by the number x of the program's result.
enum class Outcome : std::uint8_t {
  value,       ///< p = x
  added,       ///< p = p + x
  subtracted,  ///< p = p - x
};

/// Pointers are into the Program, which outlives it.
struct Code {
  const Operation* operations = nullptr;
  std::int32_t operation_count = 0;
  std::int32_t number_count = 0;  ///< numbers of a step
  std::int32_t temporary_count = 0;
  std::int32_t state_count = 0;
  Outcome outcome = Outcome::value;
  Operand result;
};

}  // namespace gradstep::rules::text
