// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "preconditioning/preconditioning.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "preconditioning/eigenbases.h"
#include "preconditioning/phases.h"
#include "roots/background_roots.h"
#include "roots/bases.h"
#include "roots/roots.h"

namespace gradstep::cuda {

namespace {

CudaQueue& own(Queue& queue) { return static_cast<CudaQueue&>(queue); }

/// Tensors whose momenta are decoded together.
struct MomentumBatch {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::int64_t numbers = 0;
  MatrixCopies momenta;

  std::size_t bytes() const { return held_bytes(momenta); }
};

/// What is not for the background is computed when it is begun: finish() is left with nothing.
class CudaRootRun final : public RootRun {
 public:
  CudaRootRun(RootLibraries& libraries, RootStreamOwner& stream)
      : roots_(libraries), bases_(libraries), stream_(stream) {}
  CudaRootRun(const CudaRootRun&) = delete;
  CudaRootRun& operator=(const CudaRootRun&) = delete;
  ~CudaRootRun() override { CudaRootRun::stop(); }

  void begin(std::span<const RootJob> jobs, std::span<RootRecord> records, bool in_background, Queue& queue) override {
    if (in_background) {
      if (background_ == nullptr) background_ = std::make_unique<BackgroundRoots>(stream_.get());
      return background_->begin(jobs, records, own(queue));
    }
    roots_.compute(jobs, records, /*into_results=*/true, own(queue));
    bases_.compute(jobs, records, own(queue));
  }
  void finish(Queue& queue) override {
    if (background_ != nullptr) background_->finish(own(queue));
  }
  void stop() override {
    if (background_ != nullptr) background_->stop();
  }

 private:
  Roots roots_;
  Bases bases_;
  RootStreamOwner& stream_;
  std::unique_ptr<BackgroundRoots> background_;
};

class CudaPreconditioning final : public Preconditioning {
 public:
  CudaPreconditioning(int device, const std::shared_ptr<Memory>& memory)
      : phases_(device), eigenbases_(phases_), libraries_(device), root_stream_(device, memory) {
    // A step would find too late that a library is missing.
    arithmetic_ = fmt::format("CUDA {}, {}, {}", architecture_of(device), version_of(cublas_functions()),
                              version_of(cusolver_functions()));
  }

  /// Products and decompositions have the same bits on devices of one kind, by the same libraries (cuBLAS, Results
  /// Reproducibility).
  const char* arithmetic() const override { return arithmetic_.c_str(); }
  std::int64_t bytes() const override {
    return static_cast<std::int64_t>(held_bytes(phases_, libraries_, roots_, root_stream_, momenta_, squares_, scales_,
                                                all_work_, all_chunks_, all_table_));
  }

  void plan(PreconditioningPlan plan, Queue& queue) override;

  void follow_masters(const PreconditioningStep& step, Queue& queue) override {
    cuda::follow_masters(phases_.begin(step, own(queue)), own(queue));
  }

  void update_statistics(const PreconditioningStep& step, bool only_new, Queue& queue) override {
    const Those those = only_new ? Those::are_new : Those::all;
    const TensorBatch tensors = phases_.begin(step, own(queue), those);
    for (const auto& batch : phases_.batches()) {
      with_arithmetic(batch->is_wide,
                      [&](auto type) { add_statistics<decltype(type)>(*batch, step, tensors, those, own(queue)); });
    }
  }
  void precondition(const PreconditioningStep& step, bool with_statistics, Queue& queue) override {
    const TensorBatch tensors = phases_.begin(step, own(queue));
    for (const auto& batch : phases_.batches()) {
      with_arithmetic(batch->is_wide, [&](auto type) {
        using T = decltype(type);
        if (with_statistics) add_statistics<T>(*batch, step, tensors, Those::all, own(queue));
        precondition_batch<T>(*batch, tensors, own(queue));
      });
    }
  }
  void spread_exchanged(const PreconditioningStep& step, Queue& queue) override;
  void graft(const PreconditioningStep& step, Queue& queue) override;
  void finish(const PreconditioningStep& step, Queue& queue) override;

  void step_in_bases(const PreconditioningStep& step, Queue& queue) override { eigenbases_.step(step, own(queue)); }
  void finish_in_bases(const PreconditioningStep& step, Queue& queue) override { eigenbases_.finish(step, own(queue)); }

  void refresh_roots(std::span<const RootJob> jobs, std::span<RootRecord> records, Queue& queue) override {
    roots_.compute(jobs, records, /*into_results=*/false, own(queue));
  }
  std::unique_ptr<RootRun> make_root_run() override { return std::make_unique<CudaRootRun>(libraries_, root_stream_); }
  void install_roots(std::span<const RootJob> jobs, std::span<const RootRecord> records, Queue& queue) override;
  void install_bases(const PreconditioningStep& step, std::span<const RootJob> jobs,
                     std::span<const RootRecord> records, Queue& queue) override {
    eigenbases_.install(step, jobs, records, own(queue));
  }

 private:
  void plan_momenta();
  template <class T>
  void add_statistics(Batch& batch, const PreconditioningStep& step, const TensorBatch& tensors, Those those,
                      CudaQueue& queue);
  template <class T>
  void precondition_batch(Batch& batch, const TensorBatch& tensors, CudaQueue& queue);

  Phases phases_;
  Eigenbases eigenbases_;
  RootLibraries libraries_;
  Roots roots_{libraries_};
  RootStreamOwner root_stream_;
  std::string arithmetic_;
  std::vector<std::unique_ptr<MomentumBatch>> momenta_;  // none where momenta are not in codes
  ScratchBuffer squares_;
  ScratchBuffer scales_;
  // The work of all ranks' blocks.
  WorkList all_work_;
  ChunkTable all_chunks_;
  Table all_table_;
};

void CudaPreconditioning::plan(PreconditioningPlan plan, Queue& /*queue*/) {
  phases_.plan(std::move(plan));
  plan_momenta();
  for (const auto& batch : momenta_) phases_.reserve<float>(batch->numbers);
  all_work_.clear();
  for (const BlockPlan& block : phases_.plan().blocks) all_work_.append(block.exchange != nullptr ? block.size : 0);
}

void CudaPreconditioning::plan_momenta() {
  momenta_.clear();
  const std::vector<TensorPlan>& tensors = phases_.plan().tensors;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorPlan& tensor = tensors[i];
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

/// s = keep s + add (A A^T) for each axis, A being the block with that axis first, (n, all others); under KL it is
/// contracted along these before.
template <class T>
void CudaPreconditioning::add_statistics(Batch& batch, const PreconditioningStep& step, const TensorBatch& tensors,
                                         Those those, CudaQueue& queue) {
  const BlockBatch blocks = phases_.show(batch, tensors, queue);
  const std::int64_t count = batch.count();
  const rules::ShampooForm& form = phases_.plan().form;
  const TurnedBlocks<T> scratch = phases_.room_for<T>(batch, queue);
  T* products = form.is_kl() ? scratch.room : scratch.other;
  T* room = products + count * batch.square();
  for (std::size_t k = 0; k < batch.axes.size(); ++k) {
    const Axis& axis = batch.axes[k];
    AxisTables& tables = batch.tables[k];
    TurnedBlocks<T> turned = scratch;
    const std::size_t contracted_first = k == 0 && batch.axes.size() > 1 ? 1 : 0;
    turned.moved = batch.axes[form.is_kl() ? contracted_first : k].outer;
    gather_gradients(blocks, turned.moved, turned.x, queue);
    if (form.is_kl()) phases_.contract_others(batch, k, turned, queue);
    const MatrixBatch<const T> a{turned.x, axis.n, batch.size / axis.n, batch.size};
    phases_.cublas().multiply<T>(a, transposed(a), {products, axis.n, axis.n, axis.n * axis.n}, count, queue);

    std::vector<StatisticItem<T>> items;
    tables.statistics.begin();
    for (std::size_t b = 0; b < batch.blocks.size(); ++b) {
      const BlockPlan& block = phases_.block(batch, b);
      const StoredMatrix& statistic = phases_.factors_of(block)[k].statistic;
      T* numbers = statistic.as<T>();
      if (statistic.is_coded()) {
        numbers = room + static_cast<std::int64_t>(b) * axis.n * axis.n;
        // To be encoded again changes numbers: those of others stay as they are.
        if (Phases::takes_part(step.tensors[block.tensor], those)) tables.statistics.add(statistic, numbers);
      }
      items.push_back({numbers, static_cast<std::int64_t>(block.tensor)});
    }
    tables.statistics_table.begin(queue);
    const auto section = tables.statistics_table.add(items);
    tables.statistics_table.send();
    tables.statistics.read(queue);
    add_to_statistics<T>(tables.statistics_table.at(section), count, axis.n, products,
                         weight_of_product(form, batch.size, axis.n), tensors.tensors, phases_.averaging(), queue);
    tables.statistics.write(queue);
  }
}

template <class T>
void CudaPreconditioning::precondition_batch(Batch& batch, const TensorBatch& tensors, CudaQueue& queue) {
  const BlockBatch shown = phases_.show(batch, tensors, queue);
  TurnedBlocks<T> blocks = phases_.room_for<T>(batch, queue);
  gather_gradients(shown, blocks.moved, blocks.x, queue);
  phases_.contract(batch, /*by_columns=*/false, blocks, queue);
  scatter_preconditioned<T>(shown, blocks.moved, blocks.x, queue);
}

void CudaPreconditioning::spread_exchanged(const PreconditioningStep& step, Queue& queue) {
  CudaQueue& cuda_queue = own(queue);
  const TensorBatch tensors = phases_.begin(step, cuda_queue);
  std::vector<BlockItem> items;
  for (const BlockPlan& block : phases_.plan().blocks) items.push_back(block_item(block));
  all_table_.begin(cuda_queue);
  const auto section = all_table_.add(items);
  all_table_.send();
  cuda::spread_exchanged({all_chunks_.of(all_work_, cuda_queue), all_table_.at(section), tensors.tensors, 0},
                         cuda_queue);
}

void CudaPreconditioning::graft(const PreconditioningStep& step, Queue& queue) {
  CudaQueue& cuda_queue = own(queue);
  const TensorBatch tensors = phases_.begin(step, cuda_queue);
  const std::int64_t chunks = tensors.chunks.count;
  auto* squares = squares_.of<double>(cuda_queue, 2 * chunks);
  cuda::graft(tensors, phases_.plan().form.graft,
              {squares, squares + chunks, scales_.of<kernels::GraftScales>(cuda_queue, tensors.tensor_count)},
              cuda_queue);
}

/// Codes of a column share a bucket over all rows, so momenta are decoded and encoded as a whole.
void CudaPreconditioning::finish(const PreconditioningStep& step, Queue& queue) {
  CudaQueue& cuda_queue = own(queue);
  std::vector<TensorItem>& items = phases_.tensors();
  const auto* scales = scales_.of<kernels::GraftScales>(cuda_queue, static_cast<std::int64_t>(items.size()));
  if (momenta_.empty()) return cuda::finish(phases_.begin(step, cuda_queue), scales, cuda_queue);
  for (const auto& batch : momenta_) {
    float* next = phases_.scratch<float>(cuda_queue);
    batch->momenta.begin();
    const auto decoded = [&](const StoredMatrix& matrix, bool takes_part) -> float* {
      if (!matrix.exists()) return nullptr;
      float* numbers = std::exchange(next, next + matrix.size());
      if (takes_part) batch->momenta.add(matrix, numbers);
      return numbers;
    };
    for (std::size_t i = batch->begin; i < batch->end; ++i) {
      const TensorPlan& kept = phases_.plan().tensors[i];
      items[i].momentum = decoded(kept.momentum, step.tensors[i].takes_part);
      items[i].diagonal_momentum = decoded(kept.diagonal_momentum, step.tensors[i].takes_part);
    }
    TensorBatch tensors = phases_.begin(step, cuda_queue);
    const TensorItem& last = items[batch->end - 1];
    tensors.chunks.chunks += items[batch->begin].first_chunk;
    tensors.chunks.count = last.first_chunk + last.chunks - items[batch->begin].first_chunk;
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

std::unique_ptr<Preconditioning> make_preconditioning(int device, const std::shared_ptr<Memory>& memory) {
  return std::make_unique<CudaPreconditioning>(device, memory);
}

}  // namespace gradstep::cuda
