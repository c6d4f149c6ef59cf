// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a backend does to lists of arrays. A plan shows lists that stay until it is changed or gone; one that is run
// again and again keeps what the backend has made of it.
#pragma once

#include <cstdint>
#include <span>

#include "backend/prepared.h"
#include "backend/work_list.h"
#include "core/array.h"
#include "core/buffer_list.h"
#include "kernels/stochastic_rounding.h"

namespace gradstep {

/// The squared norm of all arrays together; those without data count as zeros.
struct NormPlan {
  const WorkList* work = nullptr;
  BufferList arrays;
  Prepared prepared;
};

/// destination = source * multiplier / divisor, rounded to destination's dtype. Sizes are equal; any strides.
struct CopyItem {
  Array destination;
  Array source;                           ///< data NULL with elements = zeros
  kernels::TensorRounding rounding = {};  ///< into 16 bits from f32, of stream 0; positions are those of the arrays
};

struct CopyPlan {
  const WorkList* work = nullptr;
  std::span<const CopyItem> items;
  Prepared prepared;
  const double* factor = nullptr;  ///< in the backend's memory; multiplies the multiplier
};

/// destination = a_factor * a + b_factor * b. Any float dtypes and strides; f64 arithmetic if any of them is f64.
struct CombineItem {
  Array destination;  ///< may be a or b
  Array a;            ///< data NULL = zeros
  Array b;            ///< likewise
  double a_factor = 1;
  double b_factor = 1;
};

struct CombinePlan {
  const WorkList* work = nullptr;
  std::span<const CombineItem> items;
  Prepared prepared;
};

/// destination = factors[0] * vectors[0] + factors[1] * vectors[1] + ..., two or more, from left to right in f64
/// whatever the dtypes, rounded once to destination's.
struct LinearCombination {
  Array destination;               ///< may be one of the vectors
  std::span<const Array> vectors;  ///< of one dtype; data NULL = zeros
  std::span<const double> factors;
};

struct LinearPlan {
  const WorkList* work = nullptr;
  std::span<const LinearCombination> items;
  Prepared prepared;
};

/// destination[i] = (((s0 + s1) + s2) + ...) [/ divisor], the sources in the order of the ranks.
struct RankSum {
  void* destination = nullptr;           ///< may be one of the sources
  std::span<const void* const> sources;  ///< same dtype and count
  std::int64_t count = 0;
  DType dtype = DType::f32;  ///< f16 and bf16 sum in f32 and round once; integers wrap
  std::int32_t op = 0;       ///< gradstep_reduce_op
  double divisor = 1;        ///< SUM of floats only
};

}  // namespace gradstep
