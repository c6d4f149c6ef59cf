// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The device interface. Operations are at the size of a phase: whole lists of tensors in one call, never one tensor at
// a time. They are put into a queue and answer nothing: what they compute lies in the backend's memory, and a caller
// that needs it on the host downloads it. Structs are read before a call returns; memory that they point to is read
// when its turn comes. Handles know devices only through this.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "backend/accumulation.h"
#include "backend/arrays.h"
#include "backend/exchange_operations.h"
#include "backend/preconditioning.h"
#include "backend/queue.h"
#include "backend/step.h"
#include "backend/stored_numbers.h"
#include "core/memory.h"

namespace gradstep {

class Backend : public ExchangeOperations {
 public:
  virtual const char* name() const = 0;
  virtual const char* instruction_set() const = 0;

  /// Where its buffers live.
  virtual const std::shared_ptr<Memory>& memory() const = 0;
  /// That of a host's stream; NULL = the default one. It stays as long as the backend. Throws INVALID_ARGUMENT.
  virtual Queue& queue(void* stream) = 0;

  // Accumulation.
  virtual void accumulate(const AccumulateJob& job, Queue& queue) = 0;
  /// Takes the memory that such jobs need, of whatever window.
  virtual void reserve(const AccumulateJob& /*job*/) {}
  virtual void add_rows(const RowsJob& job, Queue& queue) = 0;

  // The step of an element-wise rule.
  /// Decides by `request`; if the step is to be made, its constants follow from `values` ([group][field], at the host)
  /// or, where they are NULL, from the plan's forms at t = scalars->steps.
  virtual void begin_step(const StepPlan& plan, const kernels::StepRequest& request, const double* values,
                          kernels::StepScalars* scalars, Queue& queue) = 0;
  /// Makes what steps of a rule that a host has written as text need: if `is_plain`, of parameters of the arithmetic
  /// type, with states of that type and no masters; what others need may be made by the first step. Throws
  /// BACKEND_UNAVAILABLE.
  virtual void prepare_program(const rules::text::Code& /*program*/, DType /*arithmetic*/, bool /*is_plain*/) {}
  /// Before update(), and if the step is made: what the plan says of gradients.
  virtual void shape_gradients(const UnitPlan& plan, const kernels::StepScalars* scalars, Queue& queue) = 0;
  /// After begin_step(). partials[c] = the sums that the rule of chunk c's item measures, over chunk c of the plan's
  /// work; 0 where it measures none, or the step is not made. Writes nothing else but masters that the host has
  /// overtaken.
  virtual void measure_sums(const SumsPlan& plan, const kernels::StepScalars* scalars, rules::Sums* partials,
                            Queue& queue) = 0;
  /// After the plan's sums are there, and if the step is made: constants and numbers become what follows from them.
  virtual void settle(const SumsPlan& plan, const kernels::StepScalars* scalars, Queue& queue) = 0;
  /// The whole of a step, at the end of which t goes on. Items with an `update` get zeros when the gate is closed.
  virtual void update(const UpdatePlan& plan, kernels::StepScalars* scalars, Queue& queue) = 0;
  /// After update(). partials[c] = how many elements of chunk c of the plan's work stay under their cautious update.
  virtual void count_staying(const FinishPlan& plan, const kernels::StepScalars* scalars, double* partials,
                             Queue& queue) = 0;
  /// Takes what orthogonalize() needs, before a step that could not be undone.
  virtual void reserve_orthogonal(const OrthogonalPlan& plan, Queue& queue) = 0;
  /// Orthogonalizes the plan's matrices, and divides them by their variances. Where the step is skipped, their values
  /// are unspecified, and variances stay.
  virtual void orthogonalize(const OrthogonalPlan& plan, const kernels::StepScalars* scalars, Queue& queue) = 0;
  /// Takes what factorize() needs, before a step that could not be undone.
  virtual void reserve_factored(const FactoredPlan& plan, Queue& queue) = 0;
  /// Gradients become changes by second moments of whole tensors, which go on if the step is made. Where it is not, the
  /// changes are unspecified.
  virtual void factorize(const FactoredPlan& plan, const kernels::StepScalars* scalars, Queue& queue) = 0;
  // The parts of a projection (rules/projection.h) between its products. If the step is made:
  /// Momenta take the gradients in.
  virtual void take_gradients(const ProjectionPlan& plan, const kernels::StepScalars* scalars, Queue& queue) = 0;
  /// Factors of P that are zero become unit vectors, where the form says so.
  virtual void fill_bases(const ProjectionPlan& plan, Queue& queue) = 0;
  /// From R and its plan's squares to Q, the changes, and what stays of the momenta.
  virtual void project(const ProjectionPlan& plan, const kernels::StepScalars* scalars, Queue& queue) = 0;
  /// After update(), and if that made the step: the changes are scaled, masked and added to param, or written to
  /// update. Without a step updates become 0.
  virtual void finish(const FinishPlan& plan, const kernels::StepScalars* scalars, Queue& queue) = 0;
  /// After update(), and if that made the step: average = share * average + (1 - share) * value by kept_share(); of
  /// share 0 the value is copied.
  virtual void average(const AveragePlan& plan, const kernels::StepScalars* scalars, Queue& queue) = 0;
  /// The end of a step that other operations have made.
  virtual void close_step(kernels::StepScalars* scalars, Queue& queue) = 0;

  // State outside a step. Plain numbers are contiguous f32, and matrices that are encoded and decoded f32 or codes.
  virtual void encode(const float* from, const CodedNumbers& to, Queue& queue) = 0;
  virtual void decode(const CodedNumbers& from, float* to, Queue& queue) = 0;
  virtual void encode(const float* from, const StoredMatrix& to, Queue& queue) = 0;
  virtual void decode(const StoredMatrix& from, float* to, Queue& queue) = 0;
  /// to = value * I.
  virtual void write_identity(const StoredMatrix& to, double value, Queue& queue) = 0;

  // Lists of arrays.
  /// partials[c] = the sum of squares over chunk c of the plan's work, of the numbers times `scale`, in f64.
  virtual void square_chunks(const NormPlan& plan, double scale, double* partials, Queue& queue) = 0;
  /// *norm = the root of what fold_partials() makes of `count` partials.
  virtual void fold(const double* partials, std::int64_t count, double* norm, Queue& queue) = 0;
  /// The norm of all arrays together. Where squares of f64 numbers leave f64's range, they are taken once more, at the
  /// scale that kernels/norm_scale.h gives.
  virtual void measure(const NormPlan& plan, double* norm, Queue& queue) = 0;
  /// No element of finite arrays has a larger magnitude than *largest: the largest itself, or on devices their norm.
  virtual void find_largest(const NormPlan& plan, double* largest, Queue& queue) { measure(plan, largest, queue); }
  virtual void copy(const CopyPlan& plan, double multiplier, double divisor, Queue& queue) = 0;
  virtual void combine(const CombinePlan& plan, Queue& queue) = 0;
  virtual void combine_vectors(const LinearPlan& plan, Queue& queue) = 0;
  virtual void sum_ranks(const RankSum& job, Queue& queue) = 0;

  /// For one optimizer, whose plans have this form. It stays valid as long as the backend. Throws UNSUPPORTED, by the
  /// option's name, for a form that the backend has not.
  virtual std::unique_ptr<Preconditioning> make_preconditioning(const rules::ShampooForm& form) = 0;
};

/// Folds the partials of a fixed number of chunks in one fixed tree. Squared norms of any part of the library are this.
double fold_partials(std::span<const double> partials);

}  // namespace gradstep
