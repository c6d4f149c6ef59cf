// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "device/reduce.h"
#include "device/view.h"
#include "kernels/adasum.h"
#include "operations.h"
#include "runtime/launch.h"
#include "runtime/table.h"

namespace gradstep::cuda {

namespace {

/// A team of a block's threads has a chunk.
struct Square {
  static constexpr const char* kName = "square";
  static constexpr int kThreads = 256;
  static constexpr int kTeams = kThreads / kTeam;
  struct Shared {
    double quarters[kTeams][2];
    double trees[kThreads];
    bool last;
  };

  const Chunk* chunks;
  std::int64_t count;
  const View* views;
  double* squares;
  unsigned* ticket;
  double* norm;  ///< NULL = the squares are wanted

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const int team = block.thread() / kTeam;
    const std::int64_t c = block.index() * kTeams + team;
    double sum = 0;
    if (c < count) {
      const Chunk chunk = block.load(chunks + c);
      const View& view = *block.checked(views + chunk.item);
      if (view.data != nullptr) {
        for_each_of_lane(block.thread() % kTeam, chunk.length, [&](std::int64_t i) {
          const double x = value(block, view, chunk.offset + i);
          sum += x * x;
        });
      }
    }
    sum = fold_team(block, sum, shared.quarters[team]);
    if (c < count && block.thread() % kTeam == 0) block.store(squares + c, sum);
    if (norm == nullptr || !is_last(block, ticket, shared.last)) return;
    const double all = fold_by_block<double, kThreads>(block, count, shared.trees,
                                                       [&](std::int64_t i) { return block.load(squares + i); });
    if (block.thread() == 0) block.store(norm, kernels::square_root(all));
  }

  GRADSTEP_DEVICE static double value(const Block& block, const View& view, std::int64_t i) {
    if (view.dtype == DType::f64) return read<double>(block, view, i);
    return static_cast<double>(read<float>(block, view, i));
  }
};

struct Fold {
  static constexpr const char* kName = "fold";
  static constexpr int kThreads = 512;
  struct Shared {
    double trees[kThreads];
  };

  const double* partials;
  std::int64_t count;
  double* norm;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const double all = fold_by_block<double, kThreads>(block, count, block.shared<Shared>().trees,
                                                       [&](std::int64_t i) { return block.load(partials + i); });
    if (block.thread() == 0) block.store(norm, kernels::square_root(all));
  }
};

struct Pair {
  View a;
  View b;
};

struct Dot {
  static constexpr const char* kName = "dot";
  static constexpr int kThreads = 256;
  static constexpr int kTeams = kThreads / kTeam;
  struct Shared {
    double quarters[kTeams][2];
  };

  const Chunk* chunks;
  std::int64_t count;
  const Pair* pairs;
  Dots* dots;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const int team = block.thread() / kTeam;
    const std::int64_t c = block.index() * kTeams + team;
    Dots sum;
    if (c < count) {
      const Chunk chunk = block.load(chunks + c);
      const Pair& pair = *block.checked(pairs + chunk.item);
      for_each_of_lane(block.thread() % kTeam, chunk.length, [&](std::int64_t i) {
        const double x = Square::value(block, pair.a, chunk.offset + i);
        const double y = Square::value(block, pair.b, chunk.offset + i);
        sum.ab += x * y;
        sum.aa += x * x;
        sum.bb += y * y;
      });
    }
    sum.ab = fold_team(block, sum.ab, shared.quarters[team]);
    sum.aa = fold_team(block, sum.aa, shared.quarters[team]);
    sum.bb = fold_team(block, sum.bb, shared.quarters[team]);
    if (c < count && block.thread() % kTeam == 0) *block.checked(dots + c) = sum;
  }
};

struct NormForm {
  ChunkTable chunks;
  Table table;
  ScratchBuffer squares;
  ScratchBuffer ticket;
  std::vector<View> views;
};

struct DotForm {
  ChunkTable chunks;
  Table table;
  std::vector<Pair> pairs;
};

std::int64_t teams_of(std::int64_t chunks) { return (chunks + Square::kTeams - 1) / Square::kTeams; }

/// `partials` NULL = in the form's own.
void square(const NormPlan& plan, double* partials, double* norm, CudaQueue& queue) {
  auto& form = plan.prepared.get<NormForm>();
  form.table.begin(queue);
  form.views.clear();
  for (const Array& array : plan.arrays) form.views.push_back(form.table.view(array));
  const auto views = form.table.add(form.views);
  form.table.send();
  const Chunks chunks = form.chunks.of(*plan.work, queue);
  if (partials == nullptr) partials = form.squares.of<double>(queue, chunks.count);
  unsigned* ticket = form.ticket.of<unsigned>(queue, 1, /*zeroed=*/true);
  const std::int64_t blocks = chunks.count == 0 && norm != nullptr ? 1 : teams_of(chunks.count);
  launch(queue, blocks, Square{chunks.chunks, chunks.count, form.table.at(views), partials, ticket, norm});
}

}  // namespace

void square_chunks(const NormPlan& plan, double* partials, CudaQueue& queue) { square(plan, partials, nullptr, queue); }

void fold(const double* partials, std::int64_t count, double* norm, CudaQueue& queue) {
  launch(queue, 1, Fold{partials, count, norm});
}

void measure(const NormPlan& plan, double* norm, CudaQueue& queue) { square(plan, nullptr, norm, queue); }

void dot_chunks(const CombinePlan& plan, Dots* dots, CudaQueue& queue) {
  auto& form = plan.prepared.get<DotForm>();
  form.table.begin(queue);
  form.pairs.clear();
  for (const CombineItem& item : plan.items) form.pairs.push_back({form.table.view(item.a), form.table.view(item.b)});
  const auto pairs = form.table.add(form.pairs);
  form.table.send();
  const Chunks chunks = form.chunks.of(*plan.work, queue);
  launch(queue, teams_of(chunks.count), Dot{chunks.chunks, chunks.count, form.table.at(pairs), dots});
}

}  // namespace gradstep::cuda
