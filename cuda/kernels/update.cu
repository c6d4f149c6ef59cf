// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/update.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "operations.h"
#include "programs/programs.h"

namespace gradstep::cuda {

namespace {

/// Which kernel an item needs: all of one kind are one launch.
struct Kind {
  rules::KernelId kernel = rules::KernelId{};
  bool is_double = false;
  bool is_plain = false;
  const rules::text::Code* program = nullptr;  ///< in place of a kernel
  bool operator==(const Kind&) const = default;
};

/// Chunks of one kind, side by side.
struct ChunksOfKind {
  Kind kind;
  std::vector<Chunk> chunks;
  Table::Section<Chunk> section;

  std::size_t bytes() const { return held_bytes(chunks); }
};

struct PreparedUpdate {
  Table items_table;
  Table chunks_table;
  ChunkTable chunks;
  ScratchBuffer ticket;
  std::vector<DeviceItem> items;
  std::vector<Kind> kinds;
  // What parts were made of.
  std::uint64_t sorted_version = 0;
  std::vector<Kind> sorted_kinds;
  std::vector<ChunksOfKind> parts;

  std::size_t bytes() const {
    return held_bytes(items_table, chunks_table, chunks, ticket, items, kinds, sorted_kinds, parts);
  }
};

bool is_direct(const Array& array, DType arithmetic) { return array.contiguous() && array.dtype == arithmetic; }

int states_of(const UpdateItem& item) {
  int states = 0;
  while (states < rules::kMaxStates && item.states[states] != nullptr) ++states;
  return states;
}

bool is_aligned(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; }

Kind kind_of(const UpdateItem& item) {
  return {item.kernel, item.param->dtype == DType::f64, is_plain(item), item.program};
}

void sort_into_parts(PreparedUpdate& form, const UpdatePlan& plan) {
  if (form.sorted_version == plan.work->version() && form.sorted_kinds == form.kinds) return;
  form.sorted_version = plan.work->version();
  form.sorted_kinds = form.kinds;
  form.parts.clear();
  for (const Chunk& chunk : plan.work->chunks()) {
    const Kind& kind = form.kinds[static_cast<std::size_t>(chunk.item)];
    auto part =
        std::find_if(form.parts.begin(), form.parts.end(), [&](const ChunksOfKind& p) { return p.kind == kind; });
    if (part == form.parts.end()) part = form.parts.insert(part, {kind, {}, {}});
    part->chunks.push_back(chunk);
  }
}

void launch_kind(const Kind& kind, const UpdateArguments& arguments, std::int64_t blocks, const CudaQueue& queue) {
  if (kind.program != nullptr) {
    return launch_update(*kind.program, kind.is_double, kind.is_plain, arguments, blocks, queue);
  }
  const UpdatesByRule& plain = kind.is_double ? kPlainUpdates_f64 : kPlainUpdates_f32;
  const UpdatesByRule& staged = kind.is_double ? kStagedUpdates_f64 : kStagedUpdates_f32;
  (kind.is_plain ? plain : staged)[static_cast<std::size_t>(kind.kernel)](arguments, blocks, queue);
}

}  // namespace

bool is_plain(const UpdateItem& item) {
  const DType arithmetic = arithmetic_dtype(item.param->dtype);
  const bool is_native = item.format == StateFormat::native || states_of(item) == 0;
  return item.update->data == nullptr && item.master == nullptr && is_native && is_direct(*item.param, arithmetic) &&
         is_direct(*item.gradient, arithmetic);
}

DeviceItem device_item(const UpdateItem& item, Table& table) {
  DeviceItem to;
  to.param = table.view(*item.param);
  to.gradient = table.view(*item.gradient);
  to.update = table.view(*item.update);
  to.in_fours = to.param.is_aligned && to.gradient.is_aligned;
  for (int s = 0; s < rules::kMaxStates; ++s) {
    to.states[s] = item.states[s];
    to.factors[s] = item.factors[s];
    to.in_fours = to.in_fours && is_aligned(item.states[s]);
  }
  to.master = item.master;
  to.constants = item.constants;
  to.numbers = item.numbers;
  to.used = item.used;
  to.count = item.count;
  to.random_key = item.random_key;
  to.first = item.first;
  to.format = item.format;
  to.signed_states = item.signed_states;
  to.exact_states = item.exact_states;
  to.stochastic = item.stochastic;
  return to;
}

void update(const UpdatePlan& plan, kernels::StepScalars* scalars, CudaQueue& queue) {
  auto& form = plan.prepared.get<PreparedUpdate>();
  form.items_table.begin(queue);
  form.items.clear();
  form.kinds.clear();
  for (const UpdateItem& item : plan.items) {
    form.items.push_back(device_item(item, form.items_table));
    form.kinds.push_back(kind_of(item));
  }
  const auto items = form.items_table.add(form.items);
  form.items_table.send();

  UpdateArguments arguments;
  arguments.items = form.items_table.at(items);
  arguments.item_count = static_cast<std::int64_t>(form.items.size());
  arguments.scalars = scalars;
  arguments.ticket = form.ticket.of<unsigned>(queue, 1, /*zeroed=*/true);
  arguments.clip_bound = plan.clip_value > 0 ? plan.clip_value : std::numeric_limits<double>::infinity();
  arguments.maximize = plan.maximize;
  arguments.marks_items = !plan.all_used || plan.counts_each;

  const bool is_one_kind =
      std::adjacent_find(form.kinds.begin(), form.kinds.end(), std::not_equal_to<>()) == form.kinds.end();
  const Chunks chunks = form.chunks.of(*plan.work, queue);
  if (form.items.empty()) return close_step(scalars, queue);
  arguments.closes = true;
  if (chunks.count == 0) {  // no elements, as on a rank whose share is empty: flags are set by a chunk of none
    form.chunks_table.begin(queue);
    const auto none = form.chunks_table.add(std::vector<Chunk>(1));
    form.chunks_table.send();
    arguments.chunks = form.chunks_table.at(none);
    return launch_kind(form.kinds.front(), arguments, 1, queue);
  }
  if (is_one_kind) {
    arguments.chunks = chunks.chunks;
    return launch_kind(form.kinds.front(), arguments, chunks.count, queue);
  }
  sort_into_parts(form, plan);
  form.chunks_table.begin(queue);
  for (ChunksOfKind& part : form.parts) part.section = form.chunks_table.add(part.chunks);
  form.chunks_table.send();
  for (const ChunksOfKind& part : form.parts) {
    arguments.chunks = form.chunks_table.at(part.section);
    arguments.closes = &part == &form.parts.back();
    launch_kind(part.kind, arguments, static_cast<std::int64_t>(part.chunks.size()), queue);
  }
}

}  // namespace gradstep::cuda
