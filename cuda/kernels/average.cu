// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "device/chunk.h"
#include "operations.h"
#include "runtime/launch.h"
#include "runtime/table.h"

namespace gradstep::cuda {

namespace {

/// AverageItem, as kernels see it.
struct Averaged {
  View average;
  View value;
  kernels::AverageForm form;
  double* count;
};

}  // namespace

template <>
inline constexpr bool kHasNoPadding<Averaged> =
    sizeof(Averaged) == 2 * sizeof(View) + sizeof(kernels::AverageForm) + sizeof(double*);

namespace {

/// The factors are those of Combine (arrays.cu), so the CPU's bits.
struct Average {
  static constexpr const char* kName = "average";
  static constexpr int kThreads = 256;

  const Chunk* chunks;
  const Averaged* items;
  const kernels::StepScalars* scalars;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    if (block.checked(scalars)->gate == 0) return;
    const Chunk chunk = block.load(chunks + block.index());
    const Averaged item = *block.checked(items + chunk.item);  // in registers: no store changes it
    const double share = kernels::kept_share(item.form, block.load(item.count));
    if (share == 1) return;
    if (item.average.dtype == DType::f64) {
      run<double>(block, item, share, chunk);
    } else {
      run<float>(block, item, share, chunk);
    }
  }

  template <class T>
  GRADSTEP_DEVICE static void run(Block& block, const Averaged& item, double share, const Chunk& chunk) {
    const bool is_first = share == 0;
    const T keeps = static_cast<T>(share);
    const T takes = static_cast<T>(1 - share);
    const auto next = [&](T average, T value) { return is_first ? value : keeps * average + takes * value; };
    const auto four = [&](std::int64_t i) {
      Four<T> a = read_four<T>(block, item.average, i);
      const Four<T> v = read_four<T>(block, item.value, i);
      for (int k = 0; k < 4; ++k) a.x[k] = next(a.x[k], v.x[k]);
      write_four(block, item.average, i, a);
    };
    const auto one = [&](std::int64_t i) {
      write(block, item.average, i, next(read<T>(block, item.average, i), read<T>(block, item.value, i)));
    };
    walk(block, chunk, item.average.is_aligned && is_read_in_fours(item.value), four, one);
  }
};

/// Counts that all blocks of Average have read.
struct CountAverages {
  static constexpr const char* kName = "count_averages";
  static constexpr int kThreads = 128;

  const Averaged* items;
  std::int64_t item_count;
  const kernels::StepScalars* scalars;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    if (block.checked(scalars)->gate == 0) return;
    for (std::int64_t i = block.thread(); i < item_count; i += kThreads) {
      double* count = block.checked(items + i)->count;
      block.store(count, block.load(count) + 1);
    }
  }
};

struct PreparedAverage {
  Table table;
  ChunkTable chunks;
  std::vector<Averaged> items;

  std::size_t bytes() const { return held_bytes(table, chunks, items); }
};

}  // namespace

void average(const AveragePlan& plan, const kernels::StepScalars* scalars, CudaQueue& queue) {
  auto& form = plan.prepared.get<PreparedAverage>();
  form.table.begin(queue);
  form.items.clear();
  for (const AverageItem& item : plan.items) {
    form.items.push_back({form.table.view(item.average), form.table.view(item.value), item.form, item.count});
  }
  const auto items = form.table.add(form.items);
  form.table.send();
  const Chunks chunks = form.chunks.of(*plan.work, queue);
  const auto count = static_cast<std::int64_t>(form.items.size());
  if (chunks.count > 0) launch(queue, chunks.count, Average{chunks.chunks, form.table.at(items), scalars});
  if (count > 0) launch(queue, 1, CountAverages{form.table.at(items), count, scalars});
}

}  // namespace gradstep::cuda
