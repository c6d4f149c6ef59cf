// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gradient_units.h"

#include <algorithm>
#include <vector>

#include "device/chunk.h"
#include "device/reduce.h"
#include "operations.h"
#include "runtime/launch.h"
#include "runtime/table.h"

namespace gradstep::cuda {

namespace {

/// UnitItem, as kernels see it.
struct Units {
  View gradient;
  View value;
  View to;
  std::int64_t length;
  std::int64_t first;
  std::int64_t chunks_of_unit;
  double clip;
  double epsilon;
};

/// Sums over a chunk.
struct UnitSums {
  double sum;
  double squares;
  double value_squares;
};

}  // namespace

template <>
inline constexpr bool kHasNoPadding<Units> =
    sizeof(Units) == 3 * sizeof(View) + 3 * sizeof(std::int64_t) + 2 * sizeof(double);

namespace {

/// In the lanes and trees of the CPU's dot products (norm.cu).
struct SumUnits {
  static constexpr const char* kName = "sum_units";
  static constexpr int kThreads = 256;
  using Shared = Teams<kThreads>::Shared;

  Chunks chunks;
  const Units* items;
  UnitSums* sums;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const Teams<kThreads> teams(block);
    const bool exists = teams.chunk < chunks.count;
    UnitSums own{};
    if (exists) {
      const Chunk chunk = block.load(chunks.chunks + teams.chunk);
      const Units& item = *block.checked(items + chunk.item);
      for_each_of_lane(block, chunk.length, [&](std::int64_t i) {
        const double g = read_in_double(block, item.gradient, chunk.offset + i);
        own.sum += g;
        if (!(item.clip > 0)) return;
        const double p = read_in_double(block, item.value, chunk.offset + i);
        own.squares += g * g;
        own.value_squares += p * p;
      });
    }
    own.sum = teams.fold(block, own.sum, shared);
    own.squares = teams.fold(block, own.squares, shared);
    own.value_squares = teams.fold(block, own.value_squares, shared);
    if (exists && teams.is_first) *block.checked(sums + teams.chunk) = own;
  }
};

/// A block has a chunk. The arithmetic is that of Combine (arrays.cu), so the CPU's bits.
struct ShapeUnits {
  static constexpr const char* kName = "shape_units";
  static constexpr int kThreads = kChunkThreads;

  const Chunk* chunks;
  const Units* items;
  const UnitSums* sums;
  const kernels::StepScalars* scalars;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const kernels::StepScalars& s = *block.checked(scalars);
    if (s.gate == 0) return;
    const Chunk chunk = block.load(chunks + block.index());
    const Units& item = *block.checked(items + chunk.item);
    if (item.gradient.data == nullptr) return;
    const std::int64_t begin = item.first + (block.index() - item.first) / item.chunks_of_unit * item.chunks_of_unit;
    UnitSums unit{};
    for (std::int64_t k = begin; k < begin + item.chunks_of_unit; ++k) {
      const UnitSums& part = *block.checked(sums + k);
      unit.sum += part.sum;
      unit.squares += part.squares;
      unit.value_squares += part.value_squares;
    }
    double factor = 1;
    double shift = 0;
    if (item.clip > 0) {
      factor = kernels::unit_clip_factor(item.clip, item.epsilon, unit.squares, unit.value_squares, s.grad_multiplier);
    } else {
      shift = -unit.sum / static_cast<double>(item.length);
    }
    if (item.to.dtype == DType::f64 || item.gradient.dtype == DType::f64) {
      run<double>(block, item, chunk, factor, shift);
    } else {
      run<float>(block, item, chunk, factor, shift);
    }
  }

  template <class T>
  GRADSTEP_DEVICE static void run(const Block& block, const Units& item, const Chunk& chunk, double factor,
                                  double shift) {
    const T times = static_cast<T>(factor);
    const T more = static_cast<T>(shift);
    for_each_element(block, chunk, [&](std::int64_t i) {
      write(block, item.to, i, times * read<T>(block, item.gradient, i) + more);
    });
  }
};

struct PreparedUnits {
  Table table;
  ChunkTable chunks;
  ScratchBuffer sums;
  std::vector<Units> items;

  std::size_t bytes() const { return held_bytes(table, chunks, sums, items); }
};

}  // namespace

void shape_gradients(const UnitPlan& plan, const kernels::StepScalars* scalars, CudaQueue& queue) {
  auto& form = plan.prepared.get<PreparedUnits>();
  form.table.begin(queue);
  form.items.clear();
  for (const UnitItem& item : plan.items) {
    form.items.push_back({form.table.view(item.gradient), form.table.view(item.value), form.table.view(item.to),
                          item.length, item.first, item.chunks_of_unit(), item.clip, item.epsilon});
  }
  const auto items = form.table.add(form.items);
  form.table.send();
  const Chunks chunks = form.chunks.of(*plan.work, queue);
  if (chunks.count == 0) return;
  auto* sums = form.sums.of<UnitSums>(queue, chunks.count);
  const std::int64_t blocks =
      (chunks.count + Teams<SumUnits::kThreads>::kCount - 1) / Teams<SumUnits::kThreads>::kCount;
  launch(queue, blocks, SumUnits{chunks, form.table.at(items), sums});
  launch(queue, chunks.count, ShapeUnits{chunks.chunks, form.table.at(items), sums, scalars});
}

}  // namespace gradstep::cuda
