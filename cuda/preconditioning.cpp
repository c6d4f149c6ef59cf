// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Products are taken over the first axis of a turned block: its transpose times the preconditioner puts that axis last,
// and the next one first. After all axes a block lies as it did.
#include "preconditioning.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/error.h"
#include "kernels/blocks.h"
#include "kernels/graft.h"
#include "kernels/stored_matrix.h"
#include "libraries/cublas.h"
#include "roots/roots.h"

namespace gradstep::cuda {

namespace {

/// Scratch of a batch of blocks, and of momenta in codes: more are worked on one batch after the other. A single block
/// or tensor may need more.
constexpr std::int64_t kBatchNumbers = std::int64_t{32} << 20;

CudaQueue& own(Queue& queue) { return static_cast<CudaQueue&>(queue); }

[[noreturn]] void refuse_bases() {
  fail(GRADSTEP_ERR_UNSUPPORTED, "options.eigenvalue_corrected: is not there for CUDA in this version of gradstep");
}

/// An axis of all blocks of a batch.
struct Axis {
  std::int64_t outer = 1;
  std::int64_t n = 1;
  std::int64_t inner = 1;
  auto operator<=>(const Axis&) const = default;
};

/// Blocks of one shape.
struct Batch {
  std::vector<std::size_t> blocks;  // of the plan
  std::vector<Axis> axes;
  std::int64_t size = 0;
  bool has_coded_statistics = false;
  bool has_coded_preconditioners = false;
  WorkList work;
  ChunkTable chunks;
  Table block_table;
  Table statistics_table;
  MatrixCopies statistics;
  MatrixCopies preconditioners;

  std::int64_t count() const { return static_cast<std::int64_t>(blocks.size()); }
  /// Of the largest matrix.
  std::int64_t square() const {
    std::int64_t largest = 0;
    for (const Axis& axis : axes) largest = std::max(largest, axis.n * axis.n);
    return largest;
  }
  std::int64_t scratch_of_statistics() const { return count() * (size + (has_coded_statistics ? 2 : 1) * square()); }
  std::int64_t scratch_of_products() const { return count() * (2 * size + square()); }
};

/// Tensors whose momenta are decoded together.
struct MomentumBatch {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::int64_t numbers = 0;
  MatrixCopies momenta;
};

/// Roots that are computed when they are begun: what finish() is left with is nothing.
class CudaRootRun final : public RootRun {
 public:
  explicit CudaRootRun(Roots& roots) : roots_(roots) {}

  void begin(std::span<const RootJob> jobs, std::span<RootRecord> records, bool /*in_background*/,
             Queue& queue) override {
    roots_.compute(jobs, records, /*into_results=*/true, own(queue));
  }
  void finish(Queue& /*queue*/) override {}
  void stop() override {}

 private:
  Roots& roots_;
};

class CudaPreconditioning final : public Preconditioning {
 public:
  explicit CudaPreconditioning(int device) : cublas_(device), roots_(device) {
    cusolver_functions();  // a step would find too late that it is missing
  }

  const char* arithmetic() const override { return "cuda"; }
  std::int64_t bytes() const override { return cublas_.bytes() + roots_.bytes() + scratch_numbers_ * 4; }

  void plan(PreconditioningPlan plan, Queue& queue) override;

  void write_identity(const StoredMatrix& to, float value, Queue& queue) override {
    cuda::write_identity(to, value, own(queue));
  }
  void encode(const float* from, const StoredMatrix& to, Queue& queue) override {
    MatrixCopies copies;
    copies.begin();
    copies.add(to, const_cast<float*>(from));  // is read
    copies.write(own(queue));
  }
  void decode(const StoredMatrix& from, float* to, Queue& queue) override {
    MatrixCopies copies;
    copies.begin();
    copies.add(from, to);
    copies.read(own(queue));
  }

  void follow_masters(const PreconditioningStep& step, Queue& queue) override {
    cuda::follow_masters(begin_phase(step, own(queue)), own(queue));
  }

  void update_statistics(const PreconditioningStep& step, bool only_new, Queue& queue) override {
    const TensorBatch tensors = begin_phase(step, own(queue), only_new);
    for (const auto& batch : batches_) add_statistics(*batch, step, tensors, only_new, own(queue));
  }
  void precondition(const PreconditioningStep& step, bool with_statistics, Queue& queue) override {
    const TensorBatch tensors = begin_phase(step, own(queue));
    for (const auto& batch : batches_) {
      if (with_statistics) add_statistics(*batch, step, tensors, /*only_new=*/false, own(queue));
      precondition_batch(*batch, tensors, own(queue));
    }
  }
  void spread_exchanged(const PreconditioningStep& step, Queue& queue) override;
  void graft(const PreconditioningStep& step, Queue& queue) override;
  void finish(const PreconditioningStep& step, Queue& queue) override;

  void step_in_bases(const PreconditioningStep& /*step*/, Queue& /*queue*/) override { refuse_bases(); }
  void finish_in_bases(const PreconditioningStep& /*step*/, Queue& /*queue*/) override { refuse_bases(); }

  void refresh_roots(std::span<const RootJob> jobs, std::span<RootRecord> records, Queue& queue) override {
    roots_.compute(jobs, records, /*into_results=*/false, own(queue));
  }
  std::unique_ptr<RootRun> make_root_run() override { return std::make_unique<CudaRootRun>(roots_); }
  void install_roots(std::span<const RootJob> jobs, std::span<const RootRecord> records, Queue& queue) override;
  void install_bases(const PreconditioningStep& /*step*/, std::span<const RootJob> /*jobs*/,
                     std::span<const RootRecord> /*records*/, Queue& /*queue*/) override {
    refuse_bases();
  }

 private:
  std::span<const FactorPlan> factors_of(const BlockPlan& block) const {
    return std::span(plan_.factors).subspan(block.first_factor, block.factors);
  }
  void plan_batches();
  void plan_tensors();
  TensorBatch begin_phase(const PreconditioningStep& step, CudaQueue& queue, bool only_new = false);
  BlockBatch show(Batch& batch, const TensorBatch& tensors, CudaQueue& queue);
  void add_statistics(Batch& batch, const PreconditioningStep& step, const TensorBatch& tensors, bool only_new,
                      CudaQueue& queue);
  void precondition_batch(Batch& batch, const TensorBatch& tensors, CudaQueue& queue);
  MatrixBatch<const float> preconditioners(Batch& batch, std::size_t axis, float* room, CudaQueue& queue);

  Cublas cublas_;
  Roots roots_;
  PreconditioningPlan plan_;
  std::vector<std::unique_ptr<Batch>> batches_;
  std::vector<std::unique_ptr<MomentumBatch>> momenta_;  // none where momenta are not in codes
  std::vector<TensorItem> tensors_;
  std::vector<GroupItem> groups_;
  std::vector<Averaging> averaging_;
  Table tensor_table_;
  Table group_table_;
  Table averaging_table_;
  const Averaging* device_averaging_ = nullptr;
  ChunkTable chunks_;
  ScratchBuffer scratch_;
  std::int64_t scratch_numbers_ = 0;
  ScratchBuffer squares_;
  ScratchBuffer scales_;
  // Of all ranks' blocks.
  WorkList all_work_;
  ChunkTable all_chunks_;
  Table all_table_;
};

void CudaPreconditioning::plan(PreconditioningPlan plan, Queue& /*queue*/) {
  for (const BlockPlan& block : plan.blocks) {
    if (block.size > std::numeric_limits<std::int32_t>::max()) {
      fail(GRADSTEP_ERR_UNSUPPORTED, "a block of {} elements is too large for CUDA: choose a smaller block_size",
           block.size);
    }
  }
  plan_ = std::move(plan);
  plan_batches();
  plan_tensors();
  scratch_numbers_ = 0;
  for (const auto& batch : batches_) {
    scratch_numbers_ = std::max({scratch_numbers_, batch->scratch_of_statistics(), batch->scratch_of_products()});
  }
  for (const auto& batch : momenta_) scratch_numbers_ = std::max(scratch_numbers_, batch->numbers);
  all_work_.clear();
  for (const BlockPlan& block : plan_.blocks) all_work_.append(block.exchange != nullptr ? block.size : 0);
}

void CudaPreconditioning::plan_batches() {
  std::map<std::vector<Axis>, std::vector<std::size_t>> shapes;
  for (std::size_t b = plan_.first_own_block; b < plan_.first_own_block + plan_.own_blocks; ++b) {
    std::vector<Axis> axes;
    for (const FactorPlan& factor : factors_of(plan_.blocks[b])) axes.push_back({factor.outer, factor.n, factor.inner});
    shapes[std::move(axes)].push_back(b);
  }
  batches_.clear();
  for (const auto& [axes, blocks] : shapes) {
    const std::int64_t size = plan_.blocks[blocks.front()].size;
    std::int64_t numbers = 2 * size;
    for (const Axis& axis : axes) numbers = std::max(numbers, 2 * size + axis.n * axis.n);
    const auto most = static_cast<std::size_t>(std::max<std::int64_t>(1, kBatchNumbers / numbers));
    for (std::size_t first = 0; first < blocks.size(); first += most) {
      auto batch = std::make_unique<Batch>();
      const auto begin = blocks.begin() + static_cast<std::ptrdiff_t>(first);
      batch->blocks.assign(begin, begin + static_cast<std::ptrdiff_t>(std::min(most, blocks.size() - first)));
      batch->axes = axes;
      batch->size = size;
      for (const std::size_t b : batch->blocks) {
        batch->work.append(size);
        for (const FactorPlan& factor : factors_of(plan_.blocks[b])) {
          batch->has_coded_statistics = batch->has_coded_statistics || factor.statistic.is_coded();
          batch->has_coded_preconditioners = batch->has_coded_preconditioners || factor.preconditioner.is_coded();
        }
      }
      batches_.push_back(std::move(batch));
    }
  }
}

void CudaPreconditioning::plan_tensors() {
  const std::span<const Chunk> chunks = plan_.work->chunks();
  tensors_.assign(plan_.tensors.size(), TensorItem{});
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const TensorPlan& from = plan_.tensors[i];
    TensorItem& to = tensors_[i];
    to.momentum = from.momentum.is_coded() ? nullptr : from.momentum.floats();
    to.diagonal_momentum = from.diagonal_momentum.is_coded() ? nullptr : from.diagonal_momentum.floats();
    to.statistics = from.diagonal_statistics.floats();
    to.exp_avg = from.diagonal_exp_avg.floats();
    to.master = from.master;
    to.direction = from.direction;
    to.preconditioned_gradient = from.preconditioned_gradient;
    to.size = from.size;
    to.group = from.group;
    to.preconditioned = from.preconditioned ? 1 : 0;
    to.is_half = from.dtype == DType::f16 ? 1 : 0;
  }
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    TensorItem& tensor = tensors_[static_cast<std::size_t>(chunks[c].item)];
    if (tensor.chunks++ == 0) tensor.first_chunk = static_cast<std::int64_t>(c);
  }
  momenta_.clear();
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const TensorPlan& tensor = plan_.tensors[i];
    std::int64_t numbers = 0;
    for (const StoredMatrix* matrix : {&tensor.momentum, &tensor.diagonal_momentum}) {
      if (matrix->is_coded()) numbers += matrix->size();
    }
    if (numbers == 0) continue;
    if (momenta_.empty() || momenta_.back()->numbers + numbers > kBatchNumbers) {
      momenta_.push_back(std::make_unique<MomentumBatch>());
      momenta_.back()->begin = i;
    }
    momenta_.back()->numbers += numbers;
    momenta_.back()->end = i + 1;
  }
}

/// What kernels need to know of the tensors in this step. `only_new`: others take no part.
TensorBatch CudaPreconditioning::begin_phase(const PreconditioningStep& step, CudaQueue& queue, bool only_new) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const TensorStep& from = step.tensors[i];
    TensorItem& to = tensors_[i];
    to.gradient = from.gradient;
    to.input = from.direction;
    to.value = from.value;
    to.outcome = from.outcome;
    to.takes_part = from.takes_part && !(only_new && from.used) ? 1 : 0;
  }
  groups_.clear();
  averaging_.clear();
  for (const kernels::ShampooConstants& c : step.groups) {
    groups_.push_back({c.root, c.moments, c.finish, c.clip_scaled_norm});
    averaging_.push_back({c.keep, c.add});
  }
  tensor_table_.begin(queue);
  const auto tensors = tensor_table_.add(tensors_);
  tensor_table_.send();
  group_table_.begin(queue);
  const auto groups = group_table_.add(groups_);
  group_table_.send();
  averaging_table_.begin(queue);
  const auto averaging = averaging_table_.add(averaging_);
  averaging_table_.send();
  device_averaging_ = averaging_table_.at(averaging);
  return {chunks_.of(*plan_.work, queue), tensor_table_.at(tensors), static_cast<std::int64_t>(tensors_.size()),
          group_table_.at(groups)};
}

BlockBatch CudaPreconditioning::show(Batch& batch, const TensorBatch& tensors, CudaQueue& queue) {
  std::vector<BlockItem> items;
  for (const std::size_t b : batch.blocks) items.push_back(block_item(plan_.blocks[b]));
  batch.block_table.begin(queue);
  const auto section = batch.block_table.add(items);
  batch.block_table.send();
  return {batch.chunks.of(batch.work, queue), batch.block_table.at(section), tensors.tensors, batch.size};
}

/// s = keep s + add (A A^T) for each axis, A being the block with that axis first, (n, all others).
void CudaPreconditioning::add_statistics(Batch& batch, const PreconditioningStep& step, const TensorBatch& tensors,
                                         bool only_new, CudaQueue& queue) {
  const BlockBatch blocks = show(batch, tensors, queue);
  const std::int64_t count = batch.count();
  float* gradients = scratch_.of<float>(queue, scratch_numbers_);
  float* products = gradients + count * batch.size;
  float* room = products + count * batch.square();
  for (std::size_t k = 0; k < batch.axes.size(); ++k) {
    const Axis& axis = batch.axes[k];
    gather_gradients(blocks, axis.outer, gradients, queue);
    const MatrixBatch<const float> a{gradients, axis.n, batch.size / axis.n, batch.size};
    cublas_.multiply<float>(a, transposed(a), {products, axis.n, axis.n, axis.n * axis.n}, count, queue);

    std::vector<StatisticItem> items;
    batch.statistics.begin();
    for (std::size_t b = 0; b < batch.blocks.size(); ++b) {
      const BlockPlan& block = plan_.blocks[batch.blocks[b]];
      const StoredMatrix& statistic = factors_of(block)[k].statistic;
      float* numbers = statistic.floats();
      if (statistic.is_coded()) {
        numbers = room + static_cast<std::int64_t>(b) * axis.n * axis.n;
        const TensorStep& tensor = step.tensors[block.tensor];
        // To be encoded again changes numbers: those of others stay as they are.
        if (tensor.takes_part && !(only_new && tensor.used)) batch.statistics.add(statistic, numbers);
      }
      items.push_back({numbers, static_cast<std::int64_t>(block.tensor)});
    }
    batch.statistics_table.begin(queue);
    const auto section = batch.statistics_table.add(items);
    batch.statistics_table.send();
    batch.statistics.read(queue);
    add_to_statistics(batch.statistics_table.at(section), count, axis.n, products, tensors.tensors, device_averaging_,
                      queue);
    batch.statistics.write(queue);
  }
}

/// Side by side: where they lie if they do, else in `room`.
MatrixBatch<const float> CudaPreconditioning::preconditioners(Batch& batch, std::size_t axis, float* room,
                                                              CudaQueue& queue) {
  const std::int64_t n = batch.axes[axis].n;
  const auto matrix = [&](std::size_t b) -> const StoredMatrix& {
    return factors_of(plan_.blocks[batch.blocks[b]])[axis].preconditioner;
  };
  if (!batch.has_coded_preconditioners) {
    const std::ptrdiff_t stride = batch.blocks.size() > 1 ? matrix(1).floats() - matrix(0).floats() : n * n;
    bool is_even = stride >= n * n;
    for (std::size_t b = 1; b < batch.blocks.size() && is_even; ++b) {
      is_even = matrix(b).floats() - matrix(b - 1).floats() == stride;
    }
    if (is_even) return {matrix(0).floats(), n, n, stride};
  }
  batch.preconditioners.begin();
  for (std::size_t b = 0; b < batch.blocks.size(); ++b) {
    batch.preconditioners.add(matrix(b), room + static_cast<std::int64_t>(b) * n * n);
  }
  batch.preconditioners.read(queue);
  return {room, n, n, n * n};
}

void CudaPreconditioning::precondition_batch(Batch& batch, const TensorBatch& tensors, CudaQueue& queue) {
  const BlockBatch blocks = show(batch, tensors, queue);
  const std::int64_t count = batch.count();
  const std::int64_t size = batch.size;
  float* from = scratch_.of<float>(queue, scratch_numbers_);
  float* to = from + count * size;
  float* room = to + count * size;
  std::int64_t moved = batch.axes.empty() ? 1 : batch.axes.front().outer;
  gather_gradients(blocks, moved, from, queue);
  for (std::size_t k = 0; k < batch.axes.size(); ++k) {
    const Axis& axis = batch.axes[k];
    if (moved != axis.outer) {  // axes between them have no preconditioner
      transpose(from, axis.outer / moved, size / (axis.outer / moved), count, to, queue);
      std::swap(from, to);
    }
    const MatrixBatch<const float> x{from, axis.n, size / axis.n, size};
    cublas_.multiply<float>(transposed(x), preconditioners(batch, k, room, queue), {to, size / axis.n, axis.n, size},
                            count, queue);
    std::swap(from, to);
    moved = axis.outer * axis.n;
  }
  scatter_preconditioned(blocks, moved, from, queue);
}

void CudaPreconditioning::spread_exchanged(const PreconditioningStep& step, Queue& queue) {
  CudaQueue& cuda_queue = own(queue);
  const TensorBatch tensors = begin_phase(step, cuda_queue);
  std::vector<BlockItem> items;
  for (const BlockPlan& block : plan_.blocks) items.push_back(block_item(block));
  all_table_.begin(cuda_queue);
  const auto section = all_table_.add(items);
  all_table_.send();
  cuda::spread_exchanged({all_chunks_.of(all_work_, cuda_queue), all_table_.at(section), tensors.tensors, 0},
                         cuda_queue);
}

void CudaPreconditioning::graft(const PreconditioningStep& step, Queue& queue) {
  CudaQueue& cuda_queue = own(queue);
  const TensorBatch tensors = begin_phase(step, cuda_queue);
  const std::int64_t chunks = tensors.chunks.count;
  auto* squares = squares_.of<double>(cuda_queue, 2 * chunks);
  cuda::graft(tensors, plan_.form.graft,
              {squares, squares + chunks, scales_.of<kernels::GraftScales>(cuda_queue, tensors.tensor_count)},
              cuda_queue);
}

/// Codes of a column share a bucket over all rows, so momenta are decoded and encoded as a whole.
void CudaPreconditioning::finish(const PreconditioningStep& step, Queue& queue) {
  CudaQueue& cuda_queue = own(queue);
  const auto* scales = scales_.of<kernels::GraftScales>(cuda_queue, static_cast<std::int64_t>(tensors_.size()));
  if (momenta_.empty()) return cuda::finish(begin_phase(step, cuda_queue), scales, cuda_queue);
  for (const auto& batch : momenta_) {
    float* next = scratch_.of<float>(cuda_queue, scratch_numbers_);
    batch->momenta.begin();
    const auto decoded = [&](const StoredMatrix& matrix, bool takes_part) -> float* {
      if (!matrix.exists()) return nullptr;
      float* numbers = std::exchange(next, next + matrix.size());
      if (takes_part) batch->momenta.add(matrix, numbers);
      return numbers;
    };
    for (std::size_t i = batch->begin; i < batch->end; ++i) {
      tensors_[i].momentum = decoded(plan_.tensors[i].momentum, step.tensors[i].takes_part);
      tensors_[i].diagonal_momentum = decoded(plan_.tensors[i].diagonal_momentum, step.tensors[i].takes_part);
    }
    TensorBatch tensors = begin_phase(step, cuda_queue);
    const TensorItem& last = tensors_[batch->end - 1];
    tensors.chunks.chunks += tensors_[batch->begin].first_chunk;
    tensors.chunks.count = last.first_chunk + last.chunks - tensors_[batch->begin].first_chunk;
    batch->momenta.read(cuda_queue);
    cuda::finish(tensors, scales, cuda_queue);
    batch->momenta.write(cuda_queue);
  }
}

void CudaPreconditioning::install_roots(std::span<const RootJob> jobs, std::span<const RootRecord> records,
                                        Queue& queue) {
  MatrixCopies copies;
  copies.begin();
  for (std::size_t at = 0; at < jobs.size(); ++at) {
    if (records[at].accepted && jobs[at].result != nullptr) copies.add(jobs[at].preconditioner, jobs[at].result);
  }
  copies.write(own(queue));
}

}  // namespace

std::unique_ptr<Preconditioning> make_preconditioning(int device, const kernels::ShampooForm& form) {
  if (form.eigenvalue_corrected) refuse_bases();
  return std::make_unique<CudaPreconditioning>(device);
}

}  // namespace gradstep::cuda
