// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the phases of a Shampoo step share: the plan, cut into batches of blocks of one shape; what kernels need to know
// of tensors and blocks; products over the axes of a batch; scratch.
//
// Products are taken over the first axis of a turned block: its transpose times the preconditioner puts that axis last,
// and the next one first. After all axes a block lies as it did.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/preconditioning.h"
#include "kernels/blocks.h"
#include "kernels/graft.h"
#include "kernels/stored_matrix.h"
#include "libraries/cublas.h"

namespace gradstep::cuda {

/// Scratch of a batch of blocks, and of momenta in codes: more are worked on one batch after the other. A single block
/// or tensor may need more.
inline constexpr std::int64_t kBatchNumbers = std::int64_t{32} << 20;

/// An axis of all blocks of a batch.
struct Axis {
  std::int64_t outer = 1;
  std::int64_t n = 1;
  std::int64_t inner = 1;
  auto operator<=>(const Axis&) const = default;
};

/// What is shown of an axis' matrices: of its own, so that it is sent once.
struct AxisTables {
  Table statistics_table;
  MatrixCopies statistics;
  MatrixCopies preconditioners;

  std::size_t bytes() const { return held_bytes(statistics_table, statistics, preconditioners); }
};

/// Blocks of one shape and arithmetic.
struct Batch {
  std::vector<std::size_t> blocks;  // of the plan
  std::vector<Axis> axes;
  std::vector<AxisTables> tables;  // by axis
  std::int64_t size = 0;
  bool is_wide = false;  ///< f64
  bool has_coded_statistics = false;
  bool has_coded_preconditioners = false;
  WorkList work;
  ChunkTable chunks;
  Table block_table;
  Table order_table;
  MatrixCopies bases;  // that are installed

  std::size_t bytes() const { return held_bytes(blocks, axes, tables, work, chunks, block_table, order_table, bases); }
  std::int64_t count() const { return static_cast<std::int64_t>(blocks.size()); }
  /// Elements of the largest matrix.
  std::int64_t square() const;
  /// `of_kl`: the gradients are contracted first.
  std::int64_t scratch_of_statistics(bool of_kl) const {
    return count() * ((of_kl ? 2 : 1) * size + (has_coded_statistics ? 2 : 1) * square());
  }
  std::int64_t scratch_of_products() const { return count() * (2 * size + square()); }
};

/// The blocks of a batch in scratch, and room for as many, with which they change places.
template <class T>
struct TurnedBlocks {
  T* x = nullptr;
  T* other = nullptr;
  T* room = nullptr;       ///< for matrices
  std::int64_t moved = 1;  ///< of their first axes, as in kernels/blocks.h
};

/// Which tensors take part in a phase, of those that take part in the step.
enum class Those : std::uint8_t { all, are_new, were_used };

class Phases {
 public:
  explicit Phases(int device) : cublas_(device) {}

  /// Throws UNSUPPORTED for a block that is too large.
  void plan(PreconditioningPlan plan);
  const PreconditioningPlan& plan() const { return plan_; }
  std::span<const std::unique_ptr<Batch>> batches() const { return batches_; }
  std::span<const FactorPlan> factors_of(const BlockPlan& block) const {
    return std::span(plan_.factors).subspan(block.first_factor, block.factors);
  }
  const BlockPlan& block(const Batch& batch, std::size_t b) const { return plan_.blocks[batch.blocks[b]]; }
  static bool takes_part(const TensorStep& tensor, Those those) {
    return tensor.takes_part && (those == Those::all || tensor.used == (those == Those::were_used));
  }

  /// The scratch has room for so many numbers of T at least.
  template <class T>
  void reserve(std::int64_t numbers) {
    scratch_bytes_ = std::max(scratch_bytes_, numbers * static_cast<std::int64_t>(sizeof(T)));
  }
  template <class T>
  T* scratch(CudaQueue& queue) {
    return reinterpret_cast<T*>(scratch_.of<std::byte>(queue, scratch_bytes_));
  }
  std::size_t bytes() const {
    return held_bytes(cublas_, batches_, tensors_, groups_, averaging_, tensor_table_, group_table_, averaging_table_,
                      chunks_, scratch_);
  }

  /// What kernels need to know of the tensors in this step.
  TensorBatch begin(const PreconditioningStep& step, CudaQueue& queue, Those those = Those::all);
  /// What begin() says of the tensors, beside what changes from step to step.
  std::vector<TensorItem>& tensors() { return tensors_; }
  /// What is averaged, by group, from begin() on.
  const Averaging* averaging() const { return device_averaging_; }
  BlockBatch show(Batch& batch, const TensorBatch& tensors, CudaQueue& queue);

  Cublas& cublas() { return cublas_; }
  /// Scratch for the blocks of a batch, to be gathered as they are wanted first.
  template <class T>
  TurnedBlocks<T> room_for(const Batch& batch, CudaQueue& queue);
  /// All axes contracted with the rows of their preconditioners, or with their columns if `by_columns`.
  template <class T>
  void contract(Batch& batch, bool by_columns, TurnedBlocks<T>& blocks, CudaQueue& queue) {
    for (std::size_t k = 0; k < batch.axes.size(); ++k) contract_axis(batch, k, by_columns, blocks, queue);
  }
  /// All axes but one, which then comes first.
  template <class T>
  void contract_others(Batch& batch, std::size_t axis, TurnedBlocks<T>& blocks, CudaQueue& queue) {
    for (std::size_t k = 0; k < batch.axes.size(); ++k) {
      if (k != axis) contract_axis(batch, k, /*by_columns=*/false, blocks, queue);
    }
    turn(batch, batch.axes[axis].outer, blocks, queue);
  }

 private:
  void plan_batches();
  void plan_tensors();
  template <class T>
  void contract_axis(Batch& batch, std::size_t axis, bool by_columns, TurnedBlocks<T>& blocks, CudaQueue& queue);
  template <class T>
  void turn(const Batch& batch, std::int64_t outer, TurnedBlocks<T>& blocks, const CudaQueue& queue);
  template <class T>
  MatrixBatch<const T> preconditioners(Batch& batch, std::size_t axis, T* room, CudaQueue& queue);

  Cublas cublas_;
  PreconditioningPlan plan_;
  std::vector<std::unique_ptr<Batch>> batches_;
  std::vector<TensorItem> tensors_;
  bool has_f32_ = false;
  bool has_f64_ = false;
  std::vector<GroupItem> groups_;
  std::vector<Averaging> averaging_;
  Table tensor_table_;
  Table group_table_;
  Table averaging_table_;
  const Averaging* device_averaging_ = nullptr;
  ChunkTable chunks_;
  ScratchBuffer scratch_;
  std::int64_t scratch_bytes_ = 0;
};

}  // namespace gradstep::cuda
