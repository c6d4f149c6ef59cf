// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A rule that was written as text, as backends see it: plain data.
#pragma once

#include <cstdint>

#include "kernels/macros.h"
#include "rules/description.h"
#include "rules/text/op.h"

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

/// A number that is equal for all elements of a tensor, and computed once a step, in f64.
struct Constant {
  double number = 0;                    ///< of Op::number
  std::int16_t a = -1, b = -1, c = -1;  ///< operands: places of constants before this one
  std::int16_t index = 0;               ///< which hyper-parameter or sum
  Op op = Op::number;
  bool is_after_sums = false;  ///< is computed when sums are known
  std::uint8_t unused[6] = {};
};

/// Operations that all elements of a block go through.
struct Walk {
  const Operation* operations = nullptr;
  std::int32_t count = 0;
  std::int32_t temporary_count = 0;
};

/// A sum over the elements of a tensor, or of all tensors that a rule steps.
struct Sum {
  Operand of;
  bool squares = false;    ///< of the squares
  bool is_shared = false;  ///< over all tensors
};

/// Pointers are into the Program, which outlives it.
struct Code {
  std::uint64_t id = 0;                 ///< no two programs of a process have one
  const Constant* constants = nullptr;  ///< each behind its operands
  std::int32_t constant_count = 0;
  std::int32_t number_count = 0;          ///< of constants that elements are computed with: numbers of the step
  const std::int16_t* numbers = nullptr;  ///< their places among constants
  // Places of hyper-parameters; -1 = there is none. The decay is that which the library adds.
  std::int32_t learning_rate = -1;
  std::int32_t weight_decay = -1;
  std::int32_t state_count = 0;
  std::int32_t sum_count = 0;
  Walk measurement;  ///< before sums are taken; writes temporaries alone
  Walk step;
  Sum sums[kMaxSums];
  Outcome outcome = Outcome::value;
  Operand result;

  std::uint32_t shared_sums() const {
    std::uint32_t bits = 0;
    for (int s = 0; s < sum_count; ++s) bits |= sums[s].is_shared ? 1U << s : 0U;
    return bits;
  }
};

/// What a constant is. `values` holds those before it; `t` steps were made.
GRADSTEP_FORMULA double value_of(const Constant& constant, const double* values, const double* hypers, std::int64_t t,
                                 const double* sums, double size) {
  const double a = constant.a < 0 ? 0 : values[constant.a];
  const double b = constant.b < 0 ? 0 : values[constant.b];
  const double c = constant.c < 0 ? 0 : values[constant.c];
  switch (constant.op) {
    case Op::number:
      return constant.number;
    case Op::hyper:
      return hypers[constant.index];
    case Op::time:
      return static_cast<double>(t + 1);
    case Op::size:
      return size;
    case Op::total:
      return sums[constant.index];
    default:
      return evaluate(constant.op, a, b, c);
  }
}

/// At the beginning of a step: all constants but those that wait for sums.
GRADSTEP_FORMULA void begin_constants(const Constant* constants, std::int32_t count, const double* hypers,
                                      std::int64_t t, double* values) {
  for (std::int32_t i = 0; i < count; ++i) {
    values[i] = constants[i].is_after_sums ? 0 : value_of(constants[i], values, hypers, t, nullptr, 0);
  }
}

/// When sums are known: the others.
GRADSTEP_FORMULA void settle_constants(const Constant* constants, std::int32_t count, const double* sums, double size,
                                       double* values) {
  for (std::int32_t i = 0; i < count; ++i) {
    if (constants[i].is_after_sums) values[i] = value_of(constants[i], values, nullptr, 0, sums, size);
  }
}

}  // namespace gradstep::rules::text
