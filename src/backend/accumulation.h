// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a backend does for accumulators.
#pragma once

#include <cstdint>
#include <span>

#include "backend/prepared.h"
#include "backend/work_list.h"
#include "core/array.h"
#include "core/buffer_list.h"
#include "kernels/accumulate.h"

namespace gradstep {

/// What an add does to one parameter of an accumulator.
enum class AccumulateAction : std::uint8_t {
  none,    ///< leave it
  assign,  ///< the first gradient of the window
  add,     ///< a further one
  absent,  ///< no gradient this time, but there is a sum (matters to the running mean and to finishing)
};

enum class AccumulateFormula : std::uint8_t {
  plain,     ///< a + g
  divided,   ///< a + g / factor
  weighted,  ///< a + factor * g
  running,   ///< a + (g - a) / factor
};

/// What is done to the sum after the formula, in the same pass.
enum class Finish : std::uint8_t { nothing, divide, multiply };

struct AccumulateJob {
  const WorkList* work = nullptr;
  std::span<const Array> sums;  ///< contiguous, f32 or f64
  BufferList gradients;         ///< any float dtype and strides; not looked at for `none` and `absent`; may be empty
  std::span<const AccumulateAction> actions;
  AccumulateFormula formula = AccumulateFormula::plain;
  double factor = 1;
  Finish finish = Finish::nothing;
  double finish_value = 1;
  /// Present = becomes the norm of the results, with norm_finish done to it.
  double* norm = nullptr;
  Finish norm_finish = Finish::nothing;
  double norm_finish_value = 1;
  Prepared prepared;
};

/// How an add is made, with the cheapest operations that give the bits of the job's.
struct AddStep {
  kernels::AddFormula formula = kernels::AddFormula::plain;
  double factor = 1;
  Finish finish = Finish::nothing;
  double finish_value = 1;
};

inline AddStep add_step(const AccumulateJob& job) {
  using kernels::AddFormula;
  AddStep step;
  step.factor = job.factor;
  switch (job.formula) {
    case AccumulateFormula::plain:
      break;
    case AccumulateFormula::weighted:
      step.formula = AddFormula::multiplied;
      break;
    case AccumulateFormula::divided:
      step.formula = AddFormula::divided;
      if (kernels::has_exact_reciprocal(job.factor)) {
        step.formula = AddFormula::multiplied;
        step.factor = 1 / job.factor;
      }
      break;
    case AccumulateFormula::running:
      step.formula = AddFormula::running;
      break;
  }
  if (step.formula != AddFormula::running && step.factor == 1) step.formula = AddFormula::plain;
  step.finish = job.finish;
  step.finish_value = job.finish_value;
  if (job.finish == Finish::divide && kernels::has_exact_reciprocal(job.finish_value)) {
    step.finish = Finish::multiply;
    step.finish_value = 1 / job.finish_value;
  }
  if (step.finish_value == 1) step.finish = Finish::nothing;
  return step;
}

/// sum[index[j]] += factor * values[j] for rows of `row_size` elements, j ascending.
struct RowsJob {
  Array sum;  ///< contiguous, f32 or f64
  Array indices;
  Array values;
  std::int64_t row_size = 1;
  double factor = 1;
  bool divides = false;  ///< by the factor; otherwise values are multiplied by it
};

}  // namespace gradstep
