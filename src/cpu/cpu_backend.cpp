// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu_backend.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

#include "cpu/adasum.h"
#include "cpu/chunk_runner.h"
#include "cpu/compact_chunk.h"
#include "cpu/factorize.h"
#include "cpu/instruction_set.h"
#include "cpu/linear_algebra/orthogonalize.h"
#include "cpu/linear_algebra/preconditioning.h"
#include "cpu/linear_algebra/stored_matrix.h"
#include "cpu/loops.h"
#include "cpu/rule_step.h"
#include "cpu/selection.h"
#include "kernels/norm_scale.h"
#include "rules/constants.h"

namespace gradstep::cpu {

namespace {

/// Jobs that write more than this find little of it in a cache afterwards.
constexpr std::int64_t kPastCacheBytes = std::int64_t{8} << 20;

AddStep step_of(const AccumulateJob& job) {
  AddStep step{gradstep::add_step(job)};
  std::int64_t bytes = 0;
  for (const Array& sum : job.sums) bytes += sum.bytes();
  step.past_cache = bytes > kPastCacheBytes;
  return step;
}

template <class T>
void keep_factors_of(const LowRank& job) {
  auto* q = static_cast<T*>(job.q);
  const auto* before = static_cast<const T*>(job.q_before);
  for (std::int64_t k = 0; k < job.rank; ++k, q += job.cols, before += job.cols) {
    if (std::all_of(q, q + job.cols, [](T x) { return x == 0; })) std::copy_n(before, job.cols, q);
  }
}

template <class T>
void take_gradient(const ProjectedItem& item, const Chunk& chunk) {
  T* momentum = static_cast<T*>(item.momentum) + chunk.offset;
  const T* gradient = static_cast<const T*>(item.change.data) + chunk.offset;
  for (std::int32_t i = 0; i < chunk.length; ++i) momentum[i] += gradient[i];
}

template <class T>
void fill_basis(const ProjectedItem& item) {
  T* vector = static_cast<T*>(item.basis);
  for (std::int64_t k = 0; k < item.rank; ++k, vector += item.basis_length()) {
    if (std::all_of(vector, vector + item.basis_length(), [](T x) { return x == 0; })) vector[k] = 1;
  }
}

/// Q from R and the squares of its factors, and the scales between them.
template <class T>
void move_factors(const ProjectedItem& item, const double* squares) {
  const std::int64_t length = item.length();
  const std::int64_t chunks = item.chunks_of_factor();
  for (std::int64_t k = 0; k < item.rank; ++k) {
    const double sum = fold_partials({squares + item.first + k * chunks, static_cast<std::size_t>(chunks)});
    const double scale = item.form.scale(sum);
    item.scales[k] = scale;
    if (item.form.keeps(sum)) continue;
    const T* from = static_cast<const T*>(item.products) + k * length;
    T* to = static_cast<T*>(item.factors) + k * length;
    for (std::int64_t i = 0; i < length; ++i) to[i] = static_cast<T>(scale * static_cast<double>(from[i]));
  }
}

class CpuBackend final : public Backend, private ChunkRunner {
 public:
  CpuBackend(Context& context, const Loops& loops)
      : ChunkRunner(context),
        context_(context),
        loops_(loops),
        memory_(context.allocator()),
        rule_step_(*this, context, loops) {}

  const char* name() const override { return "cpu"; }
  const char* instruction_set() const override { return loops_.instruction_set; }

  const std::shared_ptr<Memory>& memory() const override { return memory_; }

  Queue& queue(void* stream) override {
    if (stream != nullptr) fail_argument("stream: is {}, expected NULL on CPU", stream);
    return queue_;
  }

  void accumulate(const AccumulateJob& job, Queue& /*queue*/) override {
    const AddStep step = step_of(job);
    const std::span<const Chunk> chunks = job.work->chunks();
    const bool measures = job.norm != nullptr;
    double* squares = measures ? partials_of(job.prepared, chunks.size()) : nullptr;
    for_each_chunk(chunks, [&](std::size_t i) {
      const auto item = static_cast<std::size_t>(chunks[i].item);
      const Array none;
      accumulate_chunk(step, job.actions[item], job.sums[item], job.gradients.empty() ? none : job.gradients[item],
                       chunks[i], measures ? squares + i : nullptr);
    });
    if (!measures) return;
    *job.norm = root_of_squares(chunks, {squares, chunks.size()}, [&](std::size_t i) {
      return job.actions[i] != AccumulateAction::none ? job.sums[i] : Array{};
    });
    if (job.norm_finish == Finish::divide) *job.norm /= job.norm_finish_value;
    if (job.norm_finish == Finish::multiply) *job.norm *= job.norm_finish_value;
  }

  void reserve(const AccumulateJob& job) override { partials_of(job.prepared, job.work->chunks().size()); }

  void add_rows(const RowsJob& job, Queue& /*queue*/) override {
    constexpr std::int64_t kParts = 16;
    if (job.indices.size * job.row_size <= kSerialElements) {
      loops_.add_rows(job, RowPart{});
      return;
    }
    context_.parallel_for(kParts, [&](std::int64_t part) { loops_.add_rows(job, RowPart{part, kParts}); });
  }

  void square_chunks(const NormPlan& plan, double scale, double* partials, Queue& /*queue*/) override {
    square_chunks(plan.work->chunks(), scale, partials, [&](std::size_t i) { return Array{plan.arrays[i]}; });
  }

  void fold(const double* partials, std::int64_t count, double* norm, Queue& /*queue*/) override {
    *norm = std::sqrt(fold_partials({partials, static_cast<std::size_t>(count)}));
  }

  void measure(const NormPlan& plan, double* norm, Queue& queue) override {
    const std::size_t count = plan.work->chunks().size();
    double* partials = partials_of(plan.prepared, count);
    square_chunks(plan, 1, partials, queue);
    *norm =
        root_of_squares(plan.work->chunks(), {partials, count}, [&](std::size_t i) { return Array{plan.arrays[i]}; });
  }

  void find_largest(const NormPlan& plan, double* largest, Queue& /*queue*/) override {
    const std::span<const Chunk> chunks = plan.work->chunks();
    const std::span<double> found(partials_of(plan.prepared, chunks.size()), chunks.size());
    for_each_chunk(chunks, [&](std::size_t i) {
      const Array& array = plan.arrays[static_cast<std::size_t>(chunks[i].item)];
      found[i] = array.data != nullptr ? largest_of_chunk(array, chunks[i]) : 0;
    });
    *largest = found.empty() ? 0 : std::ranges::max(found);
  }

  void begin_step(const StepPlan& plan, const kernels::StepRequest& request, const double* values,
                  kernels::StepScalars* scalars, Queue& queue) override {
    rule_step_.begin(plan, request, values, scalars, queue);
  }
  void shape_gradients(const UnitPlan& plan, const kernels::StepScalars* scalars, Queue& /*queue*/) override {
    rule_step_.shape_gradients(plan, scalars);
  }
  void measure_sums(const SumsPlan& plan, const kernels::StepScalars* scalars, rules::Sums* partials,
                    Queue& /*queue*/) override {
    rule_step_.measure_sums(plan, scalars, partials);
  }
  void settle(const SumsPlan& plan, const kernels::StepScalars* scalars, Queue& /*queue*/) override {
    rule_step_.settle(plan, scalars);
  }
  void update(const UpdatePlan& plan, kernels::StepScalars* scalars, Queue& /*queue*/) override {
    rule_step_.update(plan, scalars);
  }
  void count_staying(const FinishPlan& plan, const kernels::StepScalars* scalars, double* partials,
                     Queue& /*queue*/) override {
    rule_step_.count_staying(plan, scalars, partials);
  }
  void reserve_orthogonal(const OrthogonalPlan& plan, Queue& /*queue*/) override {
    cpu::reserve_orthogonal(context_, plan);
  }
  void orthogonalize(const OrthogonalPlan& plan, const kernels::StepScalars* scalars, Queue& /*queue*/) override {
    if (scalars->gate != 0) cpu::orthogonalize(context_, loops_, plan);
  }
  void reserve_factored(const FactoredPlan& plan, Queue& /*queue*/) override { cpu::reserve_factored(plan); }
  void factorize(const FactoredPlan& plan, const kernels::StepScalars* scalars, Queue& /*queue*/) override {
    if (scalars->gate != 0) cpu::factorize(context_, loops_, plan);
  }
  void take_gradients(const ProjectionPlan& plan, const kernels::StepScalars* scalars, Queue& /*queue*/) override {
    if (scalars->gate == 0) return;
    const std::span<const Chunk> chunks = plan.work->chunks();
    for_each_chunk(chunks, [&](std::size_t i) {
      const ProjectedItem& item = plan.items[static_cast<std::size_t>(chunks[i].item)];
      with_arithmetic(item.change.dtype == DType::f64, [&]<class T>(T) { take_gradient<T>(item, chunks[i]); });
    });
  }
  void fill_bases(const ProjectionPlan& plan, Queue& /*queue*/) override {
    for (const ProjectedItem& item : plan.items) {
      if (!item.form.fills_basis()) continue;
      with_arithmetic(item.change.dtype == DType::f64, [&]<class T>(T) { fill_basis<T>(item); });
    }
  }
  void project(const ProjectionPlan& plan, const kernels::StepScalars* scalars, Queue& /*queue*/) override {
    if (scalars->gate == 0) return;
    for (const ProjectedItem& item : plan.items) {
      with_arithmetic(item.change.dtype == DType::f64, [&]<class T>(T) { move_factors<T>(item, plan.squares); });
      // A column of R belongs to the rows of a transposed matrix.
      LowRank job = {.m = item.change, .rows = item.rows, .cols = item.columns, .rank = item.rank};
      job.m.data = item.momentum;
      job.p = item.is_transposed() ? item.products : item.basis;
      job.q = item.is_transposed() ? item.basis : item.products;
      job.result = item.change.data;
      const double dropped = rules::dropped_share(item.constants->usual);
      for_each_part(job.rows, rows_of_part(job), job.cols * job.rank,
                    [&](auto begin, auto end) { loops_.expand_scaled(job, item.scales, dropped, begin, end); });
    }
  }
  void finish(const FinishPlan& plan, const kernels::StepScalars* scalars, Queue& /*queue*/) override {
    rule_step_.finish(plan, scalars);
  }
  void average(const AveragePlan& plan, const kernels::StepScalars* scalars, Queue& /*queue*/) override {
    rule_step_.average(plan, scalars);
  }
  void close_step(kernels::StepScalars* scalars, Queue& /*queue*/) override { kernels::close_step(*scalars); }

  void encode(const float* from, const CodedNumbers& to, Queue& /*queue*/) override {
    for_each_piece(to.count, [&](std::int64_t first, std::int64_t count) { loops_.encode(from, to, first, count); });
  }

  void decode(const CodedNumbers& from, float* to, Queue& /*queue*/) override {
    for_each_piece(from.count, [&](std::int64_t first, std::int64_t count) { loops_.decode(from, to, first, count); });
  }
  void encode(const float* from, const StoredMatrix& to, Queue& /*queue*/) override { write_matrix(loops_, from, to); }
  void decode(const StoredMatrix& from, float* to, Queue& /*queue*/) override { copy_matrix(loops_, from, to); }
  void write_identity(const StoredMatrix& to, double value, Queue& /*queue*/) override {
    cpu::write_identity(loops_, to, value);
  }

  void copy(const CopyPlan& plan, double multiplier, double divisor, Queue& /*queue*/) override {
    if (plan.factor != nullptr) multiplier *= *plan.factor;
    if (kernels::has_exact_reciprocal(divisor) && multiplier == 1) {
      multiplier = 1 / divisor;
      divisor = 1;
    }
    const std::span<const Chunk> chunks = plan.work->chunks();
    for_each_chunk(chunks, [&](std::size_t i) {
      loops_.copy(plan.items[static_cast<std::size_t>(chunks[i].item)], chunks[i], multiplier, divisor);
    });
  }

  void dot_chunks(const CombinePlan& plan, Dots* dots, Queue& /*queue*/) override {
    const std::span<const Chunk> chunks = plan.work->chunks();
    for_each_chunk(chunks, [&](std::size_t i) {
      const CombineItem& item = plan.items[static_cast<std::size_t>(chunks[i].item)];
      dots[i] = loops_.dot(item.a, item.b, chunks[i]);
    });
  }

  void adasum(const AdasumPlan& plan, Queue& queue) override {
    combine_vectors({plan.work, plan.prepared.get<AdasumForm>().combinations_of(plan), {}}, queue);
  }

  void combine(const CombinePlan& plan, Queue& /*queue*/) override {
    const std::span<const Chunk> chunks = plan.work->chunks();
    for_each_chunk(chunks, [&](std::size_t i) {
      loops_.combine(plan.items[static_cast<std::size_t>(chunks[i].item)], chunks[i]);
    });
  }

  void combine_vectors(const LinearPlan& plan, Queue& /*queue*/) override {
    const std::span<const Chunk> chunks = plan.work->chunks();
    for_each_chunk(chunks, [&](std::size_t i) {
      loops_.combine_vectors(plan.items[static_cast<std::size_t>(chunks[i].item)], chunks[i]);
    });
  }

  void clamp(const Array& data, double bound, Queue& /*queue*/) override {
    for_each_piece(data.size, [&](std::int64_t first, std::int64_t count) { loops_.clamp(data, first, count, bound); });
  }

  void count_nonfinite(const Array& data, std::int64_t* count, Queue& /*queue*/) override {
    *count += count_in_pieces(data.size, [&](std::int64_t first, std::int64_t length) {
      return loops_.count_nonfinite(data, first, length);
    });
  }

  void encode_rest(float* numbers, const CodedNumbers& to, std::int64_t* nonfinite, Queue& /*queue*/) override {
    *nonfinite += count_in_pieces(to.count, [&](std::int64_t first, std::int64_t count) {
      return loops_.encode_rest(numbers, to, first, count);
    });
  }
  void add_decoded(const CodedNumbers& from, float* sums, double divisor, Queue& /*queue*/) override {
    for_each_piece(from.count, [&](std::int64_t first, std::int64_t count) {
      loops_.add_decoded(from, sums, static_cast<float>(divisor), first, count);
    });
  }

  void select_largest(const SelectPlan& plan, const Selection& to, Queue& /*queue*/) override {
    cpu::select_largest(context_, loops_, selections_, plan, to);
  }
  void count_reaching(const SelectPlan& plan, std::int64_t pieces, std::int64_t* counts, Queue& /*queue*/) override {
    cpu::count_reaching(context_, loops_, plan, pieces, counts);
  }
  void select_reaching(const SelectPlan& plan, const Selection& to, Queue& /*queue*/) override {
    cpu::select_reaching(context_, loops_, plan, to);
  }
  void count_pieces(const SparseList& list, std::int64_t elements, std::int64_t pieces, std::int64_t* counts,
                    Queue& /*queue*/) override {
    cpu::count_pieces(list, elements, pieces, counts);
  }
  void take(const Array& data, const SparseList& list, void* values, Queue& /*queue*/) override {
    cpu::take(data, list, values);
  }
  void put(const Array& data, const SparseList& list, bool add, Queue& /*queue*/) override {
    cpu::put(data, list, add);
  }
  void sum_sparse(const SparseSum& job, Queue& /*queue*/) override { cpu::sum_sparse(context_, loops_, job); }

  void reserve_low_rank(const LowRankPlan& plan, Queue& /*queue*/) override { projections_of(plan); }
  void project_rows(const LowRankPlan& plan, Queue& /*queue*/) override {
    for (const LowRank& job : plan.matrices) {
      for_each_part(job.rows, rows_of_part(job), job.cols,
                    [&](auto begin, auto end) { loops_.project_rows(job, begin, end); });
    }
  }
  void project_columns(const LowRankPlan& plan, Queue& /*queue*/) override {
    for (const LowRank& job : plan.matrices) {
      // Lines of the cache are fetched for a few columns of each row: as wide as there is work for some threads.
      const std::int64_t columns = job.cols >= 1024 ? 256 : 64;
      for_each_part(job.cols, columns, job.rows,
                    [&](auto begin, auto end) { loops_.project_columns(job, begin, end); });
    }
  }
  void orthonormalize(const LowRankPlan& plan, Queue& /*queue*/) override {
    std::int64_t products = 0;
    for (const LowRank& job : plan.matrices) products += job.rank * job.rank * job.rows;
    const std::int64_t rank = highest_rank(plan);
    double* along = projections_of(plan);
    const auto run = [&](std::int64_t i) {
      loops_.orthonormalize(plan.matrices[static_cast<std::size_t>(i)], along + i * rank);
    };
    const auto count = static_cast<std::int64_t>(plan.matrices.size());
    if (products <= kSerialElements) {
      for (std::int64_t i = 0; i < count; ++i) run(i);
    } else {
      context_.parallel_for(count, run);
    }
  }
  void keep_factors(const LowRankPlan& plan, Queue& /*queue*/) override {
    for (const LowRank& job : plan.matrices) {
      if (job.m.dtype == DType::f64) {
        keep_factors_of<double>(job);
      } else {
        keep_factors_of<float>(job);
      }
    }
  }
  void expand(const LowRankPlan& plan, double factor, Queue& /*queue*/) override {
    for (const LowRank& job : plan.matrices) {
      for_each_part(job.rows, rows_of_part(job), job.cols,
                    [&](auto begin, auto end) { loops_.expand(job, factor, begin, end); });
    }
  }

  void sum_ranks(const RankSum& job, Queue& /*queue*/) override {
    for_each_piece(job.count, [&](std::int64_t first, std::int64_t count) { loops_.sum_ranks(job, first, count); });
  }

  std::unique_ptr<Preconditioning> make_preconditioning(const rules::ShampooForm& /*form*/) override {
    return cpu::make_preconditioning(context_, loops_);
  }

 private:
  /// The sum of what count_piece(first, count) returns for each piece.
  template <class CountPiece>
  std::int64_t count_in_pieces(std::int64_t elements, CountPiece count_piece) {
    std::atomic<std::int64_t> found{0};
    for_each_piece(elements, [&](std::int64_t first, std::int64_t count) {
      found.fetch_add(count_piece(first, count), std::memory_order_relaxed);
    });
    return found.load();
  }
  static std::int64_t highest_rank(const LowRankPlan& plan) {
    std::int64_t rank = 0;
    for (const LowRank& job : plan.matrices) rank = std::max(rank, job.rank);
    return rank;
  }
  /// Scratch for the projections of a vector of each matrix.
  double* projections_of(const LowRankPlan& plan) {
    return partials_of(plan.prepared, plan.matrices.size() * static_cast<std::size_t>(highest_rank(plan)));
  }

  void accumulate_chunk(const AddStep& step, AccumulateAction action, const Array& sum, const Array& gradient,
                        const Chunk& chunk, double* squares) {
    const bool reads = action == AccumulateAction::assign || action == AccumulateAction::add;
    if (!reads || !CompactChunk::is_for(gradient)) {
      return loops_.accumulate(step, action, sum, gradient, chunk, squares);
    }
    CompactChunk compact(loops_, gradient, chunk);
    loops_.accumulate(step, action, sum, compact.read(), chunk, squares);
  }

  /// `array_of(item)` has no data where there are no numbers.
  template <class ArrayOf>
  void square_chunks(std::span<const Chunk> chunks, double scale, double* squares, ArrayOf array_of) {
    for_each_chunk(chunks, [&](std::size_t i) {
      const Array array = array_of(static_cast<std::size_t>(chunks[i].item));
      squares[i] = array.data == nullptr ? 0
                   : scale == 1          ? square_chunk(array, chunks[i])
                                         : square_scaled_chunk(array, chunks[i], scale);
    });
  }

  /// A norm from the squares of chunks. Squares of f64 numbers may have left f64's range: they are then taken once
  /// more, of the numbers times a power of two.
  template <class ArrayOf>
  double root_of_squares(std::span<const Chunk> chunks, std::span<double> squares, ArrayOf array_of) {
    const double norm = std::sqrt(fold_partials(squares));
    const double scale = kernels::norm_scale(norm);
    const auto is_wide = [&](const Chunk& chunk) {
      const Array array = array_of(static_cast<std::size_t>(chunk.item));
      return array.data != nullptr && array.dtype == DType::f64;
    };
    if (scale == 1 || std::ranges::none_of(chunks, is_wide)) return norm;
    square_chunks(chunks, scale, squares.data(), array_of);
    return std::sqrt(fold_partials(squares)) / scale;
  }

  /// As an array of which `chunk` alone is there, in `numbers`.
  Array scaled_chunk(const Array& array, const Chunk& chunk, double scale, std::span<double, kChunk> numbers) {
    const auto before = static_cast<std::uintptr_t>(chunk.offset * std::int64_t{sizeof(double)});
    void* begin = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(numbers.data()) - before);
    const Array scaled = compact_array(begin, array.size, DType::f64);
    loops_.copy(CopyItem{scaled, array}, chunk, scale, 1);
    return scaled;
  }

  [[gnu::noinline]] double square_scaled_chunk(const Array& array, const Chunk& chunk, double scale) {
    alignas(64) double numbers[kChunk];
    return loops_.square(scaled_chunk(array, chunk, scale, numbers), chunk);
  }

  [[gnu::noinline]] double largest_of_chunk(const Array& array, const Chunk& chunk) {
    alignas(64) double numbers[kChunk];
    scaled_chunk(array, chunk, 1, numbers);
    double largest = 0;
    for (std::int64_t i = 0; i < chunk.length; ++i) largest = std::max(largest, std::abs(numbers[i]));
    return largest;
  }

  double square_chunk(const Array& array, const Chunk& chunk) {
    if (!CompactChunk::is_for(array)) return loops_.square(array, chunk);
    CompactChunk compact(loops_, array, chunk);
    return loops_.square(compact.read(), chunk);
  }

  static double* partials_of(const Prepared& prepared, std::size_t count) {
    auto& partials = prepared.get<std::vector<double>>();
    // Lists whose length varies from call to call rarely need more.
    if (partials.capacity() < count) partials.reserve(std::max<std::size_t>(16, std::bit_ceil(count)));
    partials.resize(count);
    return partials.data();
  }

  /// At least as many rows as the loops of low_rank.h take in one pass.
  static std::int64_t rows_of_part(const LowRank& job) {
    return std::max<std::int64_t>(4, kSerialElements / std::max<std::int64_t>(job.cols, 1));
  }

  Context& context_;
  const Loops& loops_;
  std::shared_ptr<Memory> memory_;
  HostQueue queue_;
  SelectionScratch selections_;
  RuleStep rule_step_;
};

}  // namespace

std::unique_ptr<Backend> make_backend(Context& context) {
  return std::make_unique<CpuBackend>(context, choose_loops());
}

}  // namespace gradstep::cpu
