// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Shampoo's part of the device interface. An operation is a phase of a step over all blocks of a model: a CPU loads,
// contracts and writes block by block in its caches, another device batches over blocks of one size, and an optimizer
// cannot tell. A plan says where everything lies; it is made anew when parameters, preconditioning or ranks change.
// What changes from step to step is a PreconditioningStep.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/queue.h"
#include "backend/stored_numbers.h"
#include "backend/work_list.h"
#include "core/dtype.h"
#include "kernels/stochastic_rounding.h"
#include "rules/shampoo.h"

namespace gradstep {

// Numbers of a parameter are in its arithmetic: f64 where it is f64, else f32. Its momenta, grafting states and Adam's
// moments may be bf16.

/// body(0 of the type) for an arithmetic.
template <class Body>
auto with_arithmetic(bool is_wide, Body body) {
  return is_wide ? body(double{}) : body(float{});
}

/// The streams of random bits that state is rounded with.
enum StateStream : int {
  kMomentumStream = 1,
  kDiagonalMomentumStream,
  kDiagonalStatisticsStream,
  kDiagonalExpAvgStream,
  // Adam's moments when they have followed their bases, in a step that has rounded them before.
  kMovedStatisticsStream,
  kMovedExpAvgStream,
};

/// What is kept of a parameter as a whole. Absent matrices are not used by the form of the plan.
struct TensorPlan {
  std::int64_t size = 0;
  std::int32_t group = 0;
  DType dtype = DType::f32;     ///< the host's
  bool preconditioned = false;  ///< has blocks
  StoredMatrix momentum;
  StoredMatrix diagonal_momentum;
  StoredMatrix diagonal_statistics;
  StoredMatrix diagonal_exp_avg;
  float* master = nullptr;                  ///< f32 copy of a narrow parameter
  void* direction = nullptr;                ///< scratch for the grafting direction
  void* preconditioned_gradient = nullptr;  ///< scratch for P(g)
  std::uint64_t random_key = 0;

  bool is_wide() const { return dtype == DType::f64; }
};

/// One axis of a block, which is (outer, n, inner) around it, with its two n x n matrices.
struct FactorPlan {
  std::int64_t outer = 1;
  std::int64_t n = 1;
  std::int64_t inner = 1;
  StoredMatrix statistic;
  StoredMatrix preconditioner;  ///< eigenvalue-corrected: the eigenvectors in its columns
  std::size_t job = 0;          ///< which of a round's root jobs is for it
};

/// A box in a tensor: the tensor's element at `first + index . strides` is the block's at that index.
struct BlockPlan {
  std::size_t tensor = 0;
  std::int64_t first = 0;
  std::int64_t size = 0;
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;  ///< of the tensor, which is compact: the last is 1
  std::size_t first_factor = 0;
  std::size_t factors = 0;
  void* exchange = nullptr;  ///< present = P(g) goes here, compact, to be spread when all ranks' blocks have come
};

/// tf32: devices that have it may round the operands of f32 products to 10 bits behind the point.
enum class ProductPrecision : std::uint8_t { f32, tf32 };

struct PreconditioningPlan {
  rules::ShampooForm form;
  ProductPrecision products = ProductPrecision::f32;
  const WorkList* work = nullptr;  ///< of all tensors; stays where it is
  std::vector<TensorPlan> tensors;
  std::vector<FactorPlan> factors;  ///< of one block side by side
  std::vector<BlockPlan> blocks;    ///< by rank, what takes longest first
  // The blocks of this rank.
  std::size_t first_own_block = 0;
  std::size_t own_blocks = 0;
};

/// Where a step finds and leaves a parameter's numbers, in its arithmetic.
struct TensorStep {
  bool takes_part = false;  ///< has a gradient
  bool used = false;        ///< had one in an earlier step
  const void* gradient = nullptr;
  const void* direction = nullptr;  ///< the grafting direction: TensorPlan::direction, or the gradient
  const void* value = nullptr;
  void* outcome = nullptr;  ///< the new value, or the change
};

/// What a product enters the statistic of an axis with, beside the weight of all: KL_MEAN takes the mean over the
/// other axes.
constexpr double weight_of_product(const rules::ShampooForm& form, std::int64_t block_size, std::int64_t n) {
  return form.statistics == rules::Statistics::kl_mean ? static_cast<double>(n) / static_cast<double>(block_size) : 1;
}

struct PreconditioningStep {
  std::span<const TensorStep> tensors;
  std::span<const rules::ShampooConstants> groups;
  std::int64_t rounding_step = -1;  ///< t where bf16 state is rounded at random

  kernels::TensorRounding rounding(const TensorPlan& tensor) const { return {tensor.random_key, rounding_step}; }
};

enum class RootMethod : std::uint8_t { coupled_newton, eigh };
enum class RootPrecision : std::uint8_t { f64, f32 };

/// How an inverse p-th root is taken, checked, and tried again.
struct RootRecipe {
  RootMethod method = RootMethod::eigh;
  RootPrecision precision = RootPrecision::f64;  ///< f64 for statistics in f64
  std::int32_t exponent = 4;                     ///< p >= 1
  double matrix_epsilon = 1e-6;                  ///< the ridge is this times max(largest eigenvalue, 1e-6)
  bool absolute_ridge = false;                   ///< the ridge is matrix_epsilon
  std::int64_t padded = 0;    ///< the matrix is taken as extended to this size by a diagonal; 0 = not extended
  double pad_value = 1;       ///< what stands on that diagonal
  bool source_steps = false;  ///< coupled Newton's steps, and the rule that ends them, are distributed_shampoo.py's
  double threshold = 0.1;     ///< of the error of what is accepted
  std::int32_t retries = 0;   ///< each with ten times the ridge; after f32, in f64 first
};

/// What the computation of a matrix says beside the matrix. The host reads it for its metrics, and to tell which rounds
/// have something to install.
struct RootRecord {
  double error = 0;
  double max_eigenvalue = 0;
  std::int32_t iterations = 0;
  std::int32_t retries = 0;
  bool computed = false;  ///< false: nothing was asked for
  bool accepted = false;  ///< false: the old matrix stays

  /// By a larger ridge, which does not help against NaN.
  bool is_worth_another() const { return !accepted && !std::isnan(max_eigenvalue); }
};

enum class RootAction : std::uint8_t {
  none,
  root,          ///< of the statistic, by the recipe
  eigenvectors,  ///< of the statistic, largest eigenvalue first
  refine,        ///< a step of orthogonal iteration from the eigenvectors that the preconditioner has
};

struct RootJob {
  RootAction action = RootAction::none;
  RootRecipe recipe = {};  // NOLINT(readability-redundant-member-init): lists may leave it out
  std::int64_t n = 0;
  StoredMatrix statistic = {};       // NOLINT(readability-redundant-member-init)
  StoredMatrix preconditioner = {};  // NOLINT(readability-redundant-member-init)
  /// n * n numbers of a round, of the statistic's arithmetic, where the root waits until it is installed; a refined
  /// basis has n more, the place that each of its vectors had before. NULL = another rank's, or dropped.
  void* result = nullptr;

  bool is_wide() const { return statistic.dtype == DType::f64; }
};

/// Roots under way. Destroying it stops it.
class RootRun {
 public:
  virtual ~RootRun() = default;

  /// Roots are those of the statistics as they are now; bases are of statistics and eigenvectors that stay until
  /// finish(). Jobs and records stay where they are; jobs without an action have no record. `in_background`: the
  /// backend may compute beside the steps to come.
  virtual void begin(std::span<const RootJob> jobs, std::span<RootRecord> records, bool in_background,
                     Queue& queue) = 0;
  /// Does what is left, and returns when the records are written.
  virtual void finish(Queue& queue) = 0;
  /// Drops what has not begun.
  virtual void stop() = 0;
};

class Preconditioning {
 public:
  virtual ~Preconditioning() = default;

  /// Ranks whose arithmetic has one name compute the same from the same numbers.
  virtual const char* arithmetic() const = 0;
  /// Bytes of scratch.
  virtual std::int64_t bytes() const = 0;

  /// Takes the place of the plan before. No run is under way.
  virtual void plan(PreconditioningPlan plan, Queue& queue) = 0;

  /// Masters follow where the host has written: where one does not round to the parameter's value it takes that value.
  virtual void follow_masters(const PreconditioningStep& step, Queue& queue) = 0;

  /// The gradient into the statistics of this rank's blocks; `only_new`: of tensors that had none before.
  virtual void update_statistics(const PreconditioningStep& step, bool only_new, Queue& queue) = 0;
  /// P(g) of this rank's blocks, and the gradient into their statistics as well if wanted.
  virtual void precondition(const PreconditioningStep& step, bool with_statistics, Queue& queue) = 0;
  /// P(g) of all ranks' blocks, from where they were exchanged into the tensors.
  virtual void spread_exchanged(const PreconditioningStep& step, Queue& queue) = 0;
  /// The grafting directions, and the scales that follow from the norms of them and of P(g), for finish().
  virtual void graft(const PreconditioningStep& step, Queue& queue) = 0;
  /// The momenta and the outcomes.
  virtual void finish(const PreconditioningStep& step, Queue& queue) = 0;

  // The eigenvalue-corrected mode.
  /// Adam in the bases, its directions in the place of P(g). Tensors that are new wait.
  virtual void step_in_bases(const PreconditioningStep& step, Queue& queue) = 0;
  /// The outcomes.
  virtual void finish_in_bases(const PreconditioningStep& step, Queue& queue) = 0;

  /// Takes the memory that such roots need, before a step that could not be undone. Backends that have it already, or
  /// take none, do nothing.
  virtual void reserve_roots(std::span<const RootJob> /*jobs*/) {}
  /// At once, into the preconditioners of those that are accepted; results and bases have no part in it. Returns when
  /// the records are written.
  virtual void refresh_roots(std::span<const RootJob> jobs, std::span<RootRecord> records, Queue& queue) = 0;
  virtual std::unique_ptr<RootRun> make_root_run() = 0;
  /// What a finished run has accepted becomes the preconditioners.
  virtual void install_roots(std::span<const RootJob> jobs, std::span<const RootRecord> records, Queue& queue) = 0;
  /// Installs bases. Adam's moments follow: the first by rotation, the second by the new order of the vectors.
  virtual void install_bases(const PreconditioningStep& step, std::span<const RootJob> jobs,
                             std::span<const RootRecord> records, Queue& queue) = 0;
};

}  // namespace gradstep
