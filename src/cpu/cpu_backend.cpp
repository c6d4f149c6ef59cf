// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu_backend.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "cpu/instruction_set.h"
#include "cpu/linear_algebra/preconditioning.h"
#include "cpu/loops.h"
#include "cpu/selection.h"

namespace gradstep::cpu {

namespace {

/// Waking the pool costs about as much as this many elements.
constexpr std::int64_t kSerialElements = 2 * kChunk;

/// Jobs that write more than this find little of it in a cache afterwards.
constexpr std::int64_t kPastCacheBytes = std::int64_t{8} << 20;

bool is_small(std::span<const Chunk> chunks) {
  std::int64_t elements = 0;
  for (const Chunk& chunk : chunks) {
    elements += chunk.length;
    if (elements > kSerialElements) return false;
  }
  return true;
}

/// Dividing by a power of two and multiplying by its reciprocal give the same bits; the latter is faster.
bool has_exact_reciprocal(double divisor) {
  int exponent = 0;
  return std::abs(std::frexp(divisor, &exponent)) == 0.5 && std::abs(exponent) < 64;
}

AddStep add_step(const AccumulateJob& job) {
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
      if (has_exact_reciprocal(job.factor)) {
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
  if (job.finish == Finish::divide && has_exact_reciprocal(job.finish_value)) {
    step.finish = Finish::multiply;
    step.finish_value = 1 / job.finish_value;
  }
  if (step.finish_value == 1) step.finish = Finish::nothing;

  std::int64_t bytes = 0;
  for (const Array& sum : job.sums) bytes += sum.bytes();
  step.past_cache = bytes > kPastCacheBytes;
  return step;
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(Context& context, const Loops& loops) : context_(context), loops_(loops) {}

  const char* name() const override { return "cpu"; }
  const char* instruction_set() const override { return loops_.instruction_set; }

  void accumulate(const AccumulateJob& job) override {
    const AddStep step = add_step(job);
    const std::span<const Chunk> chunks = job.work->chunks();
    for_each_chunk(chunks, [&](std::size_t i) {
      const auto item = static_cast<std::size_t>(chunks[i].item);
      const Array none;
      loops_.accumulate(step, job.actions[item], job.sums[item], job.gradients.empty() ? none : job.gradients[item],
                        chunks[i], job.squares.empty() ? nullptr : &job.squares[i]);
    });
  }

  void add_rows(const Array& sum, const Array& indices, const Array& values, std::int64_t row_size,
                double factor) override {
    constexpr std::int64_t kParts = 16;
    if (indices.size * row_size <= kSerialElements) {
      loops_.add_rows(sum, indices, values, row_size, factor, RowPart{});
      return;
    }
    context_.parallel_for(kParts, [&](std::int64_t part) {
      loops_.add_rows(sum, indices, values, row_size, factor, RowPart{part, kParts});
    });
  }

  void square_chunks(const WorkList& work, std::span<const Array> arrays, std::span<double> squares) override {
    const std::span<const Chunk> chunks = work.chunks();
    for_each_chunk(chunks, [&](std::size_t i) {
      const Array& array = arrays[static_cast<std::size_t>(chunks[i].item)];
      squares[i] = array.data != nullptr ? loops_.square(array, chunks[i]) : 0;
    });
  }

  void update(const UpdateJob& job) override {
    const std::span<const Chunk> chunks = job.work->chunks();
    UpdateScalars scalars;
    scalars.grad_multiplier = job.grad_multiplier;
    scalars.clip_bound = job.clip_value > 0 ? job.clip_value : std::numeric_limits<double>::infinity();
    scalars.step = job.step;
    for_each_chunk(chunks, [&](std::size_t i) {
      const UpdateItem& item = job.items[static_cast<std::size_t>(chunks[i].item)];
      if (item.gradient.data != nullptr) {
        const bool is_double = item.param.dtype == DType::f64;
        loops_.update[static_cast<std::size_t>(item.rule)][is_double ? 1 : 0](item, chunks[i], scalars);
      } else if (item.update.data != nullptr) {
        loops_.copy(CopyItem{item.update, {}}, chunks[i], 1, 1);
      }
    });
  }

  void encode(const float* from, const CodedNumbers& to) override {
    for_each_piece(to.count, [&](std::int64_t first, std::int64_t count) { loops_.encode(from, to, first, count); });
  }

  void decode(const CodedNumbers& from, float* to) override {
    for_each_piece(from.count, [&](std::int64_t first, std::int64_t count) { loops_.decode(from, to, first, count); });
  }

  void copy(const WorkList& work, std::span<const CopyItem> items, double multiplier, double divisor) override {
    if (has_exact_reciprocal(divisor) && multiplier == 1) {
      multiplier = 1 / divisor;
      divisor = 1;
    }
    const std::span<const Chunk> chunks = work.chunks();
    for_each_chunk(chunks, [&](std::size_t i) {
      loops_.copy(items[static_cast<std::size_t>(chunks[i].item)], chunks[i], multiplier, divisor);
    });
  }

  void dot_chunks(const WorkList& work, std::span<const CombineItem> items, std::span<Dots> dots) override {
    const std::span<const Chunk> chunks = work.chunks();
    for_each_chunk(chunks, [&](std::size_t i) {
      const CombineItem& item = items[static_cast<std::size_t>(chunks[i].item)];
      dots[i] = loops_.dot(item.a, item.b, chunks[i]);
    });
  }

  void combine(const WorkList& work, std::span<const CombineItem> items) override {
    const std::span<const Chunk> chunks = work.chunks();
    for_each_chunk(chunks,
                   [&](std::size_t i) { loops_.combine(items[static_cast<std::size_t>(chunks[i].item)], chunks[i]); });
  }

  void combine_vectors(const WorkList& work, std::span<const LinearCombination> items) override {
    const std::span<const Chunk> chunks = work.chunks();
    for_each_chunk(chunks, [&](std::size_t i) {
      loops_.combine_vectors(items[static_cast<std::size_t>(chunks[i].item)], chunks[i]);
    });
  }

  void clamp(const Array& data, double bound) override {
    for_each_piece(data.size, [&](std::int64_t first, std::int64_t count) { loops_.clamp(data, first, count, bound); });
  }

  std::int64_t count_nonfinite(const Array& data) override {
    std::atomic<std::int64_t> found{0};
    for_each_piece(data.size, [&](std::int64_t first, std::int64_t count) {
      found.fetch_add(loops_.count_nonfinite(data, first, count), std::memory_order_relaxed);
    });
    return found.load();
  }

  void select(const SelectJob& job, std::vector<std::int32_t>& indices) override {
    select_elements(context_, loops_, job, indices);
  }

  void take(const Array& data, std::span<const std::int32_t> indices, void* values, bool clear) override {
    with_numbers(data, [&]<class T>(T* numbers) {
      T* to = static_cast<T*>(values);
      for (std::size_t j = 0; j < indices.size(); ++j) to[j] = numbers[indices[j]];
      if (clear) put_numbers<T>(numbers, indices, nullptr);
    });
  }

  void put(const Array& data, std::span<const std::int32_t> indices, const void* values, bool add) override {
    with_numbers(data, [&]<class T>(T* numbers) {
      const T* from = static_cast<const T*>(values);
      if (!add) return put_numbers(numbers, indices, from);
      for (std::size_t j = 0; j < indices.size(); ++j) numbers[indices[j]] += from[j];
    });
  }

  void project_rows(const LowRank& job) override {
    for_each_part(job.rows, kSerialElements / 4, job.cols,
                  [&](auto begin, auto end) { loops_.project_rows(job, begin, end); });
  }
  void project_columns(const LowRank& job) override {
    for_each_part(job.cols, kSerialElements / 4, job.rows,
                  [&](auto begin, auto end) { loops_.project_columns(job, begin, end); });
  }
  void orthonormalize(const LowRank& job) override { loops_.orthonormalize(job); }
  void expand(const LowRank& job, const Array& result, double factor) override {
    for_each_part(job.rows, kSerialElements / 4, job.cols,
                  [&](auto begin, auto end) { loops_.expand(job, result, factor, begin, end); });
  }

  void sum_sparse(const SparseSum& job, std::vector<std::int32_t>& touched) override {
    sum_sparse_lists(context_, loops_, job, touched);
  }

  void sum_ranks(const RankSum& job) override {
    for_each_piece(job.count, [&](std::int64_t first, std::int64_t count) { loops_.sum_ranks(job, first, count); });
  }

  std::unique_ptr<Preconditioning> make_preconditioning() override {
    return cpu::make_preconditioning(context_, choose_arithmetic(loops_));
  }

 private:
  /// body(begin, end) for parts of `lines` lines of `length` elements each, of about `elements` elements.
  template <class Body>
  void for_each_part(std::int64_t lines, std::int64_t elements, std::int64_t length, Body body) {
    const std::int64_t part = std::max<std::int64_t>(1, elements / std::max<std::int64_t>(length, 1));
    const std::int64_t parts = (lines + part - 1) / part;
    const auto run = [&](std::int64_t i) { body(i * part, std::min(lines, (i + 1) * part)); };
    if (lines * length <= kSerialElements) {
      for (std::int64_t i = 0; i < parts; ++i) run(i);
    } else {
      context_.parallel_for(parts, run);
    }
  }

  template <class Body>
  static void with_numbers(const Array& data, Body body) {
    if (data.dtype == DType::f64) return body(static_cast<double*>(data.data));
    body(static_cast<float*>(data.data));
  }

  template <class T>
  static void put_numbers(T* numbers, std::span<const std::int32_t> indices, const T* values) {
    for (std::size_t j = 0; j < indices.size(); ++j) numbers[indices[j]] = values != nullptr ? values[j] : T{0};
  }

  /// body(i) for every chunk, on the caller alone when that is faster.
  template <class Body>
  void for_each_chunk(std::span<const Chunk> chunks, Body body) {
    if (is_small(chunks)) {
      for (std::size_t i = 0; i < chunks.size(); ++i) body(i);
    } else {
      context_.parallel_for(static_cast<std::int64_t>(chunks.size()),
                            [&](std::int64_t i) { body(static_cast<std::size_t>(i)); });
    }
  }

  /// body(first, count) for every chunk of `elements`, likewise.
  template <class Body>
  void for_each_piece(std::int64_t elements, Body body) {
    const std::int64_t pieces = (elements + kChunk - 1) / kChunk;
    const auto piece = [&](std::int64_t i) { body(i * kChunk, std::min(kChunk, elements - i * kChunk)); };
    if (elements <= kSerialElements) {
      for (std::int64_t i = 0; i < pieces; ++i) piece(i);
    } else {
      context_.parallel_for(pieces, piece);
    }
  }

  Context& context_;
  const Loops& loops_;
};

}  // namespace

std::unique_ptr<Backend> make_backend(Context& context) {
  return std::make_unique<CpuBackend>(context, choose_loops());
}

}  // namespace gradstep::cpu
