// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Sums that rules measure, and what parameters' constants and numbers become by them.
#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "device/reduce.h"
#include "kernels/kept_numbers.h"
#include "kernels/program_constants.h"
#include "kernels/update.h"
#include "operations.h"
#include "programs/programs.h"
#include "runtime/launch.h"

namespace gradstep::cuda {

namespace {

/// SettledItem, as kernels see it.
struct Settled {
  rules::RuleForm rule;
  rules::NumberPlaces numbers;
  rules::GroupConstants* constants = nullptr;
  const std::uint8_t* used = nullptr;
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int32_t leader = -1;
  std::int32_t has_gradient = 0;
  std::int32_t sum_count = 0;
  std::uint32_t shared_sums = 0;
  const rules::text::Constant* program = nullptr;  ///< its constants
  double* program_numbers = nullptr;
  std::int64_t constant_count = 0;
  double size = 0;

  GRADSTEP_DEVICE bool is_shared(int sum) const { return ((shared_sums >> sum) & 1U) != 0; }
};

}  // namespace

template <>
inline constexpr bool kHasNoPadding<Settled> =
    kHasNoPadding<rules::RuleForm> && sizeof(Settled) == sizeof(rules::RuleForm) + sizeof(rules::NumberPlaces) +
                                                             4 * sizeof(void*) + 6 * sizeof(std::int64_t);

namespace {

/// A block for each parameter folds its partials.
struct FoldSums {
  static constexpr const char* kName = "fold_sums";
  static constexpr int kThreads = 128;
  struct Shared {
    double trees[kThreads];
  };

  const Settled* items;
  const rules::Sums* partials;
  const kernels::StepScalars* scalars;
  rules::Sums* sums;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    if (block.checked(scalars)->gate == 0) return;
    const Settled& item = *block.checked(items + block.index());
    if (item.count == 0) return;
    const rules::Sums* own = block.checked(partials + item.first, item.count);
    for (int s = 0; s < item.sum_count; ++s) {
      const double sum = fold_by_block<double, kThreads>(block, item.count, block.shared<Shared>().trees,
                                                         [&](std::int64_t c) { return own[c].of[s]; });
      if (block.thread() == 0) block.store(&sums[block.index()].of[s], sum);
    }
  }
};

/// A thread for each parameter, in one block.
struct Settle {
  static constexpr const char* kName = "settle";
  static constexpr int kThreads = 128;
  static constexpr bool kWaits = true;

  const Settled* items;
  std::int32_t count;
  const kernels::StepScalars* scalars;
  rules::Sums* sums;  ///< by parameter; shared ones of leaders become sums over all that they lead

  GRADSTEP_DEVICE void operator()(Block& block) const {
    if (block.checked(scalars)->gate == 0) return;
    for (std::int32_t i = block.thread(); i < count; i += kThreads) {
      if (block.checked(items + i)->leader == i) add_followers(block, i);
    }
    block.sync();
    for (std::int32_t i = block.thread(); i < count; i += kThreads) settle(block, i);
  }

  GRADSTEP_DEVICE void add_followers(const Block& block, std::int32_t leader) const {
    rules::Sums all;
    for (std::int32_t i = leader; i < count; ++i) {
      const Settled& item = *block.checked(items + i);
      if (item.leader != leader || item.count == 0) continue;
      for (int s = 0; s < item.sum_count; ++s) all.of[s] += block.load(&sums[i].of[s]);
    }
    const Settled& item = *block.checked(items + leader);
    for (int s = 0; s < item.sum_count; ++s) {
      if (item.is_shared(s)) block.store(&sums[leader].of[s], all.of[s]);
    }
  }

  GRADSTEP_DEVICE void settle(const Block& block, std::int32_t i) const {
    const Settled& item = *block.checked(items + i);
    if (item.constants == nullptr || (item.has_gradient == 0 && item.leader < 0)) return;
    rules::Sums own;
    for (int s = 0; s < item.sum_count; ++s) {
      if (item.is_shared(s) || item.count > 0) own.of[s] = block.load(&sums[item.is_shared(s) ? item.leader : i].of[s]);
    }
    if (item.program != nullptr) {
      const auto constants_of = static_cast<std::int32_t>(item.constant_count);
      return rules::text::settle_constants(block.checked(item.program, constants_of), constants_of, own.of, item.size,
                                           block.checked(item.program_numbers, constants_of));
    }
    KeptNumbers numbers(block, item.numbers);
    rules::GroupConstants& constants = *block.checked(item.constants);
    rules::advance(item.rule, own.of, numbers.of, block.load(item.used) != 0 ? constants.usual : constants.first);
    numbers.store(block, item.numbers);
  }
};

/// The chunks of one kernel, or of a program in one arithmetic.
struct MeasuredKind {
  LaunchMeasure launch = nullptr;
  const rules::text::Code* program = nullptr;
  bool is_double = false;
  std::vector<Chunk> chunks;
  std::vector<std::int64_t> places;
  Table::Section<Chunk> chunk_section;
  Table::Section<std::int64_t> place_section;

  std::size_t bytes() const { return held_bytes(chunks, places); }
};

struct PreparedSums {
  Table items_table;
  Table settled_table;
  Table programs_table;
  Table chunks_table;
  ScratchBuffer sums;
  std::vector<DeviceItem> items;
  std::vector<Settled> settled;
  std::uint64_t sorted_version = 0;  // of the work that kinds are made of
  std::vector<MeasuredKind> kinds;

  std::size_t bytes() const {
    return held_bytes(items_table, settled_table, programs_table, chunks_table, sums, items, settled, kinds);
  }
};

LaunchMeasure measure_of(const UpdateItem& item) {
  const MeasuresByRule& measures = item.param->dtype == DType::f64 ? kMeasures_f64 : kMeasures_f32;
  return measures[static_cast<std::size_t>(item.kernel)];
}

void sort_by_kind(PreparedSums& form, const SumsPlan& plan) {
  if (form.sorted_version == plan.work->version()) return;
  form.sorted_version = plan.work->version();
  form.kinds.clear();
  const std::span<const Chunk> chunks = plan.work->chunks();
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const UpdateItem& item = plan.items[static_cast<std::size_t>(chunks[c].item)];
    const rules::text::Code* program = item.program;
    const LaunchMeasure launch = program == nullptr ? measure_of(item) : nullptr;
    if (program != nullptr ? program->sum_count == 0 : launch == nullptr) continue;
    const bool is_double = item.param->dtype == DType::f64;
    auto kind = std::ranges::find_if(form.kinds, [&](const MeasuredKind& one) {
      return one.launch == launch && one.program == program && one.is_double == is_double;
    });
    if (kind == form.kinds.end()) kind = form.kinds.insert(kind, {launch, program, is_double, {}, {}, {}, {}});
    kind->chunks.push_back(chunks[c]);
    kind->places.push_back(static_cast<std::int64_t>(c));
  }
}

}  // namespace

void measure_sums(const SumsPlan& plan, const kernels::StepScalars* scalars, rules::Sums* partials, CudaQueue& queue) {
  auto& form = plan.prepared.get<PreparedSums>();
  form.items_table.begin(queue);
  form.items.clear();
  for (const UpdateItem& item : plan.items) form.items.push_back(device_item(item, form.items_table));
  const auto items = form.items_table.add(form.items);
  form.items_table.send();

  sort_by_kind(form, plan);
  form.chunks_table.begin(queue);
  for (MeasuredKind& kind : form.kinds) {
    kind.chunk_section = form.chunks_table.add(kind.chunks);
    kind.place_section = form.chunks_table.add(kind.places);
  }
  form.chunks_table.send();

  MeasureArguments arguments;
  arguments.items = form.items_table.at(items);
  arguments.scalars = scalars;
  arguments.sums = partials;
  arguments.clip_bound = plan.clip_value > 0 ? plan.clip_value : std::numeric_limits<double>::infinity();
  arguments.maximize = plan.maximize;
  for (const MeasuredKind& kind : form.kinds) {
    arguments.chunks = form.chunks_table.at(kind.chunk_section);
    arguments.places = form.chunks_table.at(kind.place_section);
    arguments.count = static_cast<std::int64_t>(kind.chunks.size());
    if (kind.program != nullptr) {
      launch_measure(*kind.program, kind.is_double, arguments, queue);
    } else {
      kind.launch(arguments, queue);
    }
  }
}

void settle(const SumsPlan& plan, const kernels::StepScalars* scalars, CudaQueue& queue) {
  auto& form = plan.prepared.get<PreparedSums>();
  const ProgramConstants programs(form.programs_table, plan.settled, queue);
  form.settled_table.begin(queue);
  form.settled.clear();
  for (const SettledItem& item : plan.settled) {
    const DeviceProgram program = programs.of(item.program);
    form.settled.push_back({item.rule, item.numbers, item.constants, item.used, item.first, item.count, item.leader,
                            item.has_gradient ? 1 : 0, item.sum_count, item.shared_sums, program.constants,
                            item.program_numbers, program.count, item.size});
  }
  const auto section = form.settled_table.add(form.settled);
  form.settled_table.send();
  const Settled* items = form.settled_table.at(section);
  const auto count = static_cast<std::int64_t>(form.settled.size());
  auto* sums = form.sums.of<rules::Sums>(queue, count);
  launch(queue, count, FoldSums{items, plan.sums, scalars, sums});
  launch(queue, 1, Settle{items, static_cast<std::int32_t>(count), scalars, sums});
}

}  // namespace gradstep::cuda
