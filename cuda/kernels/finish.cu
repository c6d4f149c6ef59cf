// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The end of a step whose changes lie aside: a factor for each tensor, then the ways of the update rules.
#include "kernels/finish.h"

#include <limits>
#include <vector>

#include "device/reduce.h"
#include "kernels/update_kernels.h"
#include "operations.h"
#include "runtime/launch.h"
#include "runtime/table.h"

namespace gradstep::cuda {

namespace {

/// What a factor follows from, as kernels see it.
struct Finished {
  const rules::GroupConstants* constants;
  const double* factor;  ///< of factored changes
  double step_scale;
  double size;
  std::int64_t first;
  std::int64_t count;
  ChangeScale scale;
  CautiousUpdate cautious;
  bool decays;
  bool decays_aligned;
  std::uint8_t unused[4];

  GRADSTEP_DEVICE kernels::ChangeForm form() const { return {cautious != CautiousUpdate::off, decays, decays_aligned}; }
};

/// -1 or 1: of what the rule saw, beside the host's gradient.
GRADSTEP_DEVICE int gradient_sign(const kernels::StepScalars& scalars, bool maximize) {
  return (scalars.grad_multiplier < 0) != maximize ? -1 : 1;
}

}  // namespace

template <>
inline constexpr bool kHasNoPadding<Finished> =
    sizeof(Finished) == 2 * sizeof(void*) + 2 * sizeof(double) + 2 * sizeof(std::int64_t) + 8;

namespace {

/// A block for each tensor folds its partials as fold_partials() does.
struct FinishFactors {
  static constexpr const char* kName = "finish_factors";
  static constexpr int kThreads = 128;
  struct Shared {
    double trees[kThreads];
  };

  const Finished* items;
  const double* values;
  const double* changes;
  const double* staying;
  double* factors;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Finished& item = *block.checked(items + block.index());
    if (item.constants == nullptr) return;
    const double rate = block.checked(item.constants)->usual.learning_rate;
    double factor = 1;
    if (item.scale == ChangeScale::step) factor = -rate * item.step_scale;
    if (item.scale == ChangeScale::factored) factor = block.load(item.factor);
    if (item.scale == ChangeScale::trust_ratio) {
      const double value_squares = sum(block, values + item.first, item.count);
      block.sync();
      factor = rules::trust_ratio(value_squares, sum(block, changes + item.first, item.count), rate);
      block.sync();
    }
    if (item.cautious != CautiousUpdate::off) {
      const double stay = sum(block, staying + item.first, item.count);
      factor = factor * rules::cautious_factor(item.cautious == CautiousUpdate::mean, stay, item.size);
    }
    if (block.thread() == 0) block.store(factors + block.index(), factor);
  }

  GRADSTEP_DEVICE static double sum(Block& block, const double* partials, std::int64_t count) {
    return fold_by_block(block, partials, count, block.shared<Shared>().trees);
  }
};

/// A block has a chunk of any item.
struct CountStaying {
  static constexpr const char* kName = "count_staying";
  static constexpr int kThreads = 256;
  struct Shared {
    unsigned count;
  };

  const Chunk* chunks;
  const Finished* items;
  const DeviceItem* operands;
  const kernels::StepScalars* scalars;
  bool maximize;
  double* partials;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    if (block.thread() == 0) shared.count = 0;
    block.sync();
    const Chunk chunk = block.load(chunks + block.index());
    const Finished& item = *block.checked(items + chunk.item);
    const DeviceItem& operand = *block.checked(operands + chunk.item);
    const kernels::StepScalars& s = *block.checked(scalars);
    unsigned own = 0;
    if (item.cautious != CautiousUpdate::off && operand.gradient.data != nullptr && s.gate != 0) {
      const int sign = gradient_sign(s, maximize) * (subtracts(item.scale) ? -1 : 1);
      own = operand.param.dtype == DType::f64 ? count<double>(block, operand, chunk, sign)
                                              : count<float>(block, operand, chunk, sign);
    }
    own = warp_sum(block, own);
    if (block.thread() % kWarp == 0) block.atomic_add_shared(&shared.count, own);
    block.sync();
    if (block.thread() == 0) block.store(partials + block.index(), static_cast<double>(shared.count));
  }

  template <class T>
  GRADSTEP_DEVICE static unsigned count(const Block& block, const DeviceItem& item, const Chunk& chunk, int sign) {
    unsigned own = 0;
    const T* changes = static_cast<const T*>(item.states[0]);
    for_each_element(block, chunk, [&](std::int64_t i) {
      const T g = read<T>(block, item.gradient, i);
      own += kernels::is_opposed(block.load(changes + i), sign < 0 ? -g : g) ? 1U : 0U;
    });
    return own;
  }
};

/// A block has a chunk of items of one arithmetic type.
template <class T>
struct FinishChanges {
  static constexpr const char* kName = "finish_changes";
  static constexpr int kThreads = 256;
  using Rule = kernels::ChangeFinish<T, kernels::ChangeForm>;
  static constexpr int kResidentBlocks = StagedWay<T, Rule>::kResidentBlocks;

  const Chunk* chunks;
  const Finished* items;
  const DeviceItem* operands;
  const double* factors;
  const kernels::StepScalars* scalars;
  bool maximize;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(chunks + block.index());
    const DeviceItem& operand = *block.checked(operands + chunk.item);
    if ((operand.param.dtype == DType::f64) != (sizeof(T) == sizeof(double))) return;
    const kernels::StepScalars& s = *block.checked(scalars);
    if (s.gate != 0 && operand.gradient.data != nullptr) {
      const Finished& item = *block.checked(items + chunk.item);
      const Rule rule{static_cast<T>(block.load(factors + chunk.item)),
                      static_cast<T>(block.checked(item.constants)->usual.decay), item.form()};
      const auto sign = static_cast<T>(gradient_sign(s, maximize));
      StagedWay<T, Rule>::run(block, operand, chunk, rule, [&](T g) { return g * sign; }, s.steps - s.gate);
    } else if (operand.update.data != nullptr) {
      for_each_element(block, chunk, [&](std::int64_t i) { write(block, operand.update, i, T{0}); });
    }
  }
};

struct PreparedFinish {
  Table table;
  ChunkTable chunks;
  ScratchBuffer factors;
  std::vector<Finished> items;
  std::vector<DeviceItem> operands;

  std::size_t bytes() const { return held_bytes(table, chunks, factors, items, operands); }
};

/// A plan on the device.
struct Shown {
  Chunks chunks;
  const Finished* items;
  const DeviceItem* operands;
};

Shown show(PreparedFinish& form, const FinishPlan& plan, CudaQueue& queue) {
  form.table.begin(queue);
  form.items.clear();
  form.operands.clear();
  for (const FinishItem& item : plan.items) {
    form.operands.push_back(device_item(item.item, form.table));
    form.items.push_back({item.item.constants,
                          item.factor,
                          item.step_scale,
                          static_cast<double>(item.size),
                          item.first,
                          item.count,
                          item.scale,
                          item.cautious,
                          item.decays,
                          item.decays_aligned,
                          {}});
  }
  const auto items = form.table.add(form.items);
  const auto operands = form.table.add(form.operands);
  form.table.send();
  return {form.chunks.of(*plan.work, queue), form.table.at(items), form.table.at(operands)};
}

}  // namespace

void count_staying(const FinishPlan& plan, const kernels::StepScalars* scalars, double* partials, CudaQueue& queue) {
  const Shown shown = show(plan.prepared.get<PreparedFinish>(), plan, queue);
  if (shown.chunks.count == 0) return;
  launch(queue, shown.chunks.count,
         CountStaying{shown.chunks.chunks, shown.items, shown.operands, scalars, plan.maximize, partials});
}

void finish(const FinishPlan& plan, const kernels::StepScalars* scalars, CudaQueue& queue) {
  auto& form = plan.prepared.get<PreparedFinish>();
  const Shown shown = show(form, plan, queue);
  if (shown.chunks.count == 0) return;
  const auto count = static_cast<std::int64_t>(form.items.size());
  auto* factors = form.factors.of<double>(queue, count);
  launch(queue, count, FinishFactors{shown.items, plan.values, plan.changes, plan.staying, factors});
  const auto run = [&]<class T>(T /*of the type*/) {
    launch(queue, shown.chunks.count,
           FinishChanges<T>{shown.chunks.chunks, shown.items, shown.operands, factors, scalars, plan.maximize});
  };
  const auto is_wide = [](const FinishItem& item) { return item.item.param->dtype == DType::f64; };
  if (!std::ranges::all_of(plan.items, is_wide)) run(float{});
  if (std::ranges::any_of(plan.items, is_wide)) run(double{});
}

}  // namespace gradstep::cuda
