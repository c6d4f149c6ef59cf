// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "device/chunk.h"
#include "device/reduce.h"
#include "operations.h"
#include "rules/constants.h"
#include "runtime/launch.h"
#include "runtime/table.h"

namespace gradstep::cuda {

namespace {

/// TrustItem, as kernels see it.
struct Trusted {
  View param;
  View update;
  View change;
  const rules::GroupConstants* constants;
  std::int64_t first;
  std::int64_t count;
};

}  // namespace

template <>
inline constexpr bool kHasNoPadding<Trusted> =
    sizeof(Trusted) == 3 * sizeof(View) + sizeof(void*) + 2 * sizeof(std::int64_t);

namespace {

/// A block for each tensor folds its partials as fold_partials() does.
struct TrustRatios {
  static constexpr const char* kName = "trust_ratios";
  static constexpr int kThreads = 128;
  struct Shared {
    double trees[kThreads];
  };

  const Trusted* items;
  const double* values;
  const double* changes;
  double* ratios;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Trusted& item = *block.checked(items + block.index());
    const double value_squares = squares(block, values + item.first, item.count);
    block.sync();
    const double change_squares = squares(block, changes + item.first, item.count);
    if (block.thread() != 0) return;
    const double rate = block.checked(item.constants)->usual.learning_rate;
    block.store(ratios + block.index(), rules::trust_ratio(value_squares, change_squares, rate));
  }

  GRADSTEP_DEVICE static double squares(Block& block, const double* partials, std::int64_t count) {
    return fold_by_block<double, kThreads>(block, count, block.shared<Shared>().trees,
                                           [&](std::int64_t i) { return block.load(partials + i); });
  }
};

/// The arithmetic of Combine and Copy (arrays.cu), so the CPU's bits.
struct ApplyTrust {
  static constexpr const char* kName = "apply_trust";
  static constexpr int kThreads = 256;

  const Chunk* chunks;
  const Trusted* items;
  const double* ratios;
  const kernels::StepScalars* scalars;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(chunks + block.index());
    const Trusted item = *block.checked(items + chunk.item);  // in registers: no store changes it
    const bool moves = block.checked(scalars)->gate != 0 && item.change.data != nullptr;
    const double ratio = block.load(ratios + chunk.item);
    if (item.change.dtype == DType::f64) {
      run<double>(block, item, chunk, moves, ratio);
    } else {
      run<float>(block, item, chunk, moves, ratio);
    }
  }

  template <class T>
  GRADSTEP_DEVICE static void run(Block& block, const Trusted& item, const Chunk& chunk, bool moves, double ratio) {
    const T times = static_cast<T>(ratio);
    if (item.update.data != nullptr) {
      walk(
          block, chunk, false, [](std::int64_t) {},
          [&](std::int64_t i) { write(block, item.update, i, moves ? read<T>(block, item.change, i) * times : T{0}); });
    } else if (moves) {
      walk(
          block, chunk, false, [](std::int64_t) {},
          [&](std::int64_t i) {
            write(block, item.param, i, read<T>(block, item.param, i) + times * read<T>(block, item.change, i));
          });
    }
  }
};

struct PreparedTrust {
  Table table;
  ChunkTable chunks;
  ScratchBuffer ratios;
  std::vector<Trusted> items;
};

}  // namespace

void apply_trust(const TrustPlan& plan, const kernels::StepScalars* scalars, CudaQueue& queue) {
  auto& form = plan.prepared.get<PreparedTrust>();
  form.table.begin(queue);
  form.items.clear();
  for (const TrustItem& item : plan.items) {
    form.items.push_back({form.table.view(item.param), form.table.view(item.update), form.table.view(item.change),
                          item.constants, item.first, item.count});
  }
  const auto items = form.table.add(form.items);
  form.table.send();
  const Chunks chunks = form.chunks.of(*plan.work, queue);
  if (chunks.count == 0) return;
  const auto count = static_cast<std::int64_t>(form.items.size());
  auto* ratios = form.ratios.of<double>(queue, count);
  launch(queue, count, TrustRatios{form.table.at(items), plan.values, plan.changes, ratios});
  launch(queue, chunks.count, ApplyTrust{chunks.chunks, form.table.at(items), ratios, scalars});
}

}  // namespace gradstep::cuda
