// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a backend does in the step of an optimizer with an element-wise rule.
//
// The numbers that decide a step stay where the data is: begin_step() measures the norm, decides and writes the rules'
// constants, and update() reads them there. No answer travels to the host.
#pragma once

#include <cstdint>
#include <span>

#include "backend/arrays.h"
#include "backend/state_format.h"
#include "kernels/average.h"
#include "kernels/schedule.h"
#include "kernels/step.h"
#include "rules/factoring.h"
#include "rules/kernels.h"
#include "rules/newton_schulz.h"
#include "rules/projection.h"

namespace gradstep {

namespace rules::text {
struct Code;
}  // namespace rules::text

/// How a step begins.
struct StepPlan {
  NormPlan gradients;
  kernels::StepLimits limits;
  std::span<const rules::RuleForm> rules;  ///< by group; empty = the host computes the numbers of its rule
  /// By group; NULL = its rule is one of the list. Empty = all are.
  std::span<const rules::text::Code* const> programs;
  std::span<double> program_numbers;                   ///< as many for each of constants; in the backend's memory
  std::int32_t fields = 0;                             ///< of the group that has most
  std::span<const kernels::HyperParameterForm> forms;  ///< [group][field], at the host
  std::span<rules::GroupConstants> constants;          ///< by group or by parameter, in the backend's memory
  /// Present: constants are by parameter. Its group, and the steps before this one that it took part in: what rules
  /// call t. In the backend's memory.
  const std::int32_t* group_of = nullptr;
  const double* const* counts = nullptr;
  const rules::NumberPlaces* numbers = nullptr;  ///< likewise: what parameters keep for their rules
  bool all_used = false;                         ///< no parameter needs the constants of a first gradient any more
  Prepared prepared;
};

/// One parameter in an update. The arrays lie in lists that stay during a step; other lists take a new plan.
struct UpdateItem {
  const Array* param = &kNoArray;
  const Array* gradient = &kNoArray;           ///< data NULL with elements = the parameter is left alone
  const Array* update = &kNoArray;             ///< present = the delta goes here and param is only read
  const rules::text::Code* program = nullptr;  ///< in place of a kernel
  const double* numbers = nullptr;             ///< what the program's constants are
  rules::KernelId kernel = rules::KernelId{};
  StateFormat format = StateFormat::native;
  bool stochastic = false;         ///< what is stored in 16 bits is rounded stochastically
  std::uint8_t signed_states = 0;  ///< block_code: bit s = state s has signs
  std::uint8_t exact_states = 0;   ///< bit s = state s is native, whatever the format
  void* states[rules::kMaxStates] = {};
  float* factors[rules::kMaxStates] = {};  ///< block_code: one per 256 elements
  float* master = nullptr;                 ///< present = what is stepped; param is its rounded value
  const rules::GroupConstants* constants = nullptr;
  std::uint8_t* used = nullptr;  ///< 1 = a gradient has gone into the state; becomes 1
  double* count = nullptr;       ///< present: the steps that param took part in; one more after this one
  std::uint64_t random_key = 0;
  std::int64_t first = 0;  ///< position of param's first element in the tensor that random_key belongs to
};

struct UpdatePlan {
  const WorkList* work = nullptr;
  std::span<const UpdateItem> items;
  bool maximize = false;     ///< gradients are negated
  bool all_used = false;     ///< of all items is known that a gradient has gone into their state
  bool counts_each = false;  ///< items have counts
  double clip_value = 0;     ///< clamps what comes out of the multiplication to ±clip_value; 0 = off
  Prepared prepared;
};

/// A parameter whose constants follow from sums over tensors, or from numbers that it keeps.
struct SettledItem {
  rules::RuleForm rule;
  rules::NumberPlaces numbers;
  rules::GroupConstants* constants = nullptr;  ///< its own; NULL = its rule needs no more than begin_step()
  const std::uint8_t* used = nullptr;          ///< as in UpdateItem
  std::int64_t first = 0;                      ///< index of its first partial sum
  std::int64_t count = 0;                      ///< number of its partial sums; 0 = its rule measures none
  /// Its shared sums are taken over all items that have this leader, of which it is the first; -1 = it has none.
  std::int32_t leader = -1;
  std::int32_t sum_count = 0;
  std::uint32_t shared_sums = 0;               ///< bit s = sum s is shared, others are over the parameter alone
  bool has_gradient = false;                   ///< without one, numbers of its own stay as they are
  const rules::text::Code* program = nullptr;  ///< in place of a rule of the list
  double* program_numbers = nullptr;           ///< what its constants become
  double size = 0;                             ///< elements of the whole parameter

  /// The item where sum s of this one, the i-th, is kept.
  std::size_t place_of_sum(std::size_t i, int s) const {
    return ((shared_sums >> s) & 1U) != 0 ? static_cast<std::size_t>(leader) : i;
  }
};

/// What lies between begin_step() and update() for rules that measure or keep numbers.
struct SumsPlan {
  const WorkList* work = nullptr;
  std::span<const UpdateItem> items;  ///< as in the update
  std::span<const SettledItem> settled;
  bool maximize = false;
  double clip_value = 0;
  const rules::Sums* sums = nullptr;  ///< by chunk of the whole parameters, in the backend's memory
  Prepared prepared;
};

/// The average of a parameter over the steps.
struct AverageItem {
  Array average;  ///< contiguous f32 or f64
  Array value;    ///< any float dtype and strides
  kernels::AverageForm form;
  double* count = nullptr;  ///< steps that were made; one more afterwards
};

struct AveragePlan {
  const WorkList* work = nullptr;
  std::span<const AverageItem> items;
  Prepared prepared;
};

/// What a change is multiplied by.
enum class ChangeScale : std::uint8_t {
  none,
  factored,     ///< FinishItem::factor: the change is a direction
  trust_ratio,  ///< |value| / |change|, the change without its learning rate; 1 where one of them is 0 (You et al.
                ///< 2020)
  step,         ///< -learning_rate * step_scale: the change is a direction
};

/// The change is a direction, whose factor is negative.
constexpr bool subtracts(ChangeScale scale) { return scale == ChangeScale::factored || scale == ChangeScale::step; }

/// How the elements whose change has the sign of the gradient are left out (Liang et al. 2024, Cautious Optimizers),
/// and what the others are multiplied by. n: elements; k: those that stay.
enum class CautiousUpdate : std::uint8_t {
  off,
  mean,  ///< 1 / max(k / n, 1e-3): C-Optim's AdamW
  sum,   ///< n / (k + 1): C-Optim's Lion, pytorch_optimizer
};

/// A parameter whose change lies aside until whole tensors are known.
struct FinishItem {
  /// param, master, update, stochastic, random_key and first as in an update. states[0]: the change, contiguous in the
  /// arithmetic type, which update() has written; the gradient, or the change where `cautious` is off. A gradient
  /// without data: left alone.
  UpdateItem item;
  ChangeScale scale = ChangeScale::none;
  double step_scale = 1;
  const double* factor = nullptr;  ///< of factored changes, in the backend's memory
  CautiousUpdate cautious = CautiousUpdate::off;
  bool decays = false;  ///< constants' decay * param is subtracted as well
  /// Decay only where param and change have one sign (Chen et al. 2025, Cautious Weight Decay).
  bool decays_aligned = false;
  std::int64_t size = 0;   ///< elements of the whole tensor
  std::int64_t first = 0;  ///< index of its first partial sum
  std::int64_t count = 0;  ///< number of its partial sums
};

struct FinishPlan {
  const WorkList* work = nullptr;
  std::span<const FinishItem> items;
  bool maximize = false;  ///< gradients are negated
  // By chunk, of the whole parameters, in the backend's memory; read where an item's form asks for it.
  const double* values = nullptr;   ///< sums of squares of param
  const double* changes = nullptr;  ///< sums of squares of change
  const double* staying = nullptr;  ///< numbers of elements that stay under the cautious update
  Prepared prepared;
};

/// A gradient whose units are clipped, or centered. Views show the elements of a unit side by side, one unit after the
/// other.
struct UnitItem {
  Array gradient;           ///< no data = left alone
  Array value;              ///< the parameter, which clipping reads; centering does not
  Array to;                 ///< the result, in the arithmetic type; may be the gradient
  std::int64_t length = 0;  ///< elements of a unit
  std::int64_t first = 0;   ///< its first chunk
  double clip = 0;          ///< > 0: units are clipped (kernels/gradient_units.h); 0: their mean is subtracted
  double epsilon = 0;       ///< lower bound of the parameter's norm

  std::int64_t chunks_of_unit() const { return chunks_of(length); }
};

struct UnitPlan {
  const WorkList* work = nullptr;  ///< no chunk has elements of two units
  std::span<const UnitItem> items;
  Prepared prepared;
};

/// A matrix that is orthogonalized in place (rules/newton_schulz.h). Contiguous, rows by columns, f32 or f64.
struct OrthogonalItem {
  Array matrix;  ///< no data = left alone
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  rules::NewtonSchulz form;
  // What it is divided by then (rules/variance.h).
  rules::Variance variance = {};
  void* variances = nullptr;  ///< variance.count(rows, columns) of the matrix's type, which go on
  const rules::GroupConstants* constants = nullptr;

  bool operator==(const OrthogonalItem& other) const {
    return matrix.data == other.matrix.data && matrix.dtype == other.matrix.dtype && rows == other.rows &&
           columns == other.columns && form == other.form && variance == other.variance &&
           variances == other.variances && constants == other.constants;
  }
};

/// A gradient that becomes a direction, of which the change of its parameter is a multiple, by second moments of the
/// whole tensor (rules/factoring.h).
struct FactoredItem {
  Array change;  ///< the gradient; contiguous, in the arithmetic type; no data = left alone
  Array value;   ///< the parameter
  rules::Factoring form;
  rules::FactoredAxes axes;
  // Numbers of the arithmetic type, which go on.
  void* rows = nullptr;      ///< or a number for each element
  void* columns = nullptr;   ///< of factored tensors
  void* momentum = nullptr;  ///< NULL = none
  const rules::GroupConstants* constants = nullptr;
  double* factor = nullptr;  ///< becomes what the direction has to be multiplied by, then added to the parameter
};

struct FactoredPlan {
  std::span<const FactoredItem> items;
  Prepared prepared;
};

struct OrthogonalPlan {
  std::span<const OrthogonalItem> items;
  Prepared prepared;
};

/// A momentum whose part of low rank becomes the change (rules/projection.h). Its matrix is rows by columns, and has
/// `rank` pairs of factors, one factor after the other; all contiguous, in the arithmetic type.
struct ProjectedItem {
  Array change;  ///< the gradient, then P Q^T; no data = left alone
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t rank = 0;
  rules::Projection form;
  void* momentum = nullptr;
  void* factors = nullptr;   ///< Q, which goes on
  void* basis = nullptr;     ///< P; scratch, as all that follows
  void* products = nullptr;  ///< R
  double* scales = nullptr;  ///< by factor: what R is multiplied by
  std::int64_t first = 0;    ///< index of the first partial sum of R
  const rules::GroupConstants* constants = nullptr;

  bool is_transposed() const { return form.is_transposed(rows, columns); }
  /// Numbers of a factor of Q and R, and of P.
  std::int64_t length() const { return is_transposed() ? rows : columns; }
  std::int64_t basis_length() const { return is_transposed() ? columns : rows; }
  /// Partial sums of a factor of R.
  std::int64_t chunks_of_factor() const { return chunks_of(length()); }
};

struct ProjectionPlan {
  const WorkList* work = nullptr;  ///< of the changes
  std::span<const ProjectedItem> items;
  const double* squares = nullptr;  ///< by chunk of the factors of R, factor by factor; in the backend's memory
  Prepared prepared;
};

}  // namespace gradstep
