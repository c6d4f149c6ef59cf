// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "device/view.h"
#include "kernels/adasum.h"
#include "kernels/measure.h"
#include "kernels/norm_scale.h"
#include "operations.h"

namespace gradstep::cuda {

namespace {

struct Square {
  static constexpr const char* kName = "square";

  const View* views;

  GRADSTEP_DEVICE double operator()(Block& block, const Chunk& chunk) const {
    const View& view = *block.checked(views + chunk.item);
    double sum = 0;
    if (view.data == nullptr) return sum;
    if (view.is_aligned && view.dtype == DType::f32) {
      const float* data = at<const float>(view, chunk.offset);
      for_each_of_lane(
          block, chunk.length, [&](std::int64_t i) { return block.load(data + i); },
          [&](std::int64_t, float x) { sum = add_product<float>(sum, x, x); });
      return sum;
    }
    for_each_of_lane(block, chunk.length, [&](std::int64_t i) {
      const double x = read_in_double(block, view, chunk.offset + i);
      sum += x * x;
    });
    return sum;
  }
};

/// The sums of squares of the arrays' numbers times a scale: that which a norm asks for, and then what becomes of it.
struct MeasureScaled {
  static constexpr const char* kName = "measure_scaled";
  static constexpr int kThreads = 256;
  struct Shared {
    typename Teams<kThreads>::Shared teams;
    double trees[kThreads];
    bool last;
  };

  const View* views;
  Chunks chunks;
  double* squares;  ///< by chunk
  unsigned* ticket;
  const double* root;  ///< of the unscaled squares' sum; NULL = `scale` is given
  double scale;
  NormEnd end;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const Teams<kThreads> teams(block);
    double factor = scale;
    if (root != nullptr) {
      const double unscaled = block.load(root);
      factor = kernels::norm_scale(unscaled);
      if (factor == 1) {
        if (block.index() == 0 && block.thread() == 0) block.store(end.norm, end.of(unscaled));
        return;
      }
    }
    const bool exists = teams.chunk < chunks.count;
    double sum = exists ? square(block, block.load(chunks.chunks + teams.chunk), factor) : 0;
    sum = teams.fold(block, sum, shared.teams);
    if (exists && teams.is_first) block.store(squares + teams.chunk, sum);
    if (end.norm == nullptr || !is_last(block, ticket, shared.last)) return;
    const double all = fold_by_block(block, squares, chunks.count, shared.trees);
    if (block.thread() == 0) block.store(end.norm, end.of(kernels::square_root(all) / factor));
  }

  GRADSTEP_DEVICE double square(Block& block, const Chunk& chunk, double factor) const {
    const View& view = *block.checked(views + chunk.item);
    double sum = 0;
    if (view.data == nullptr) return sum;
    for_each_of_lane(block, chunk.length, [&](std::int64_t i) {
      const double x = read_in_double(block, view, chunk.offset + i) * factor;
      sum += x * x;
    });
    return sum;
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
    const double all = fold_by_block(block, partials, count, block.shared<Shared>().trees);
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
  using Shared = Teams<kThreads>::Shared;

  Chunks chunks;
  const Pair* pairs;
  Dots* dots;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const Teams<kThreads> teams(block);
    const bool exists = teams.chunk < chunks.count;
    Dots sum;
    if (exists) {
      const Chunk chunk = block.load(chunks.chunks + teams.chunk);
      const Pair& pair = *block.checked(pairs + chunk.item);
      for_each_of_lane(block, chunk.length, [&](std::int64_t i) {
        const double x = read_in_double(block, pair.a, chunk.offset + i);
        const double y = read_in_double(block, pair.b, chunk.offset + i);
        sum.ab += x * y;
        sum.aa += x * x;
        sum.bb += y * y;
      });
    }
    sum.ab = teams.fold(block, sum.ab, shared);
    sum.aa = teams.fold(block, sum.aa, shared);
    sum.bb = teams.fold(block, sum.bb, shared);
    if (exists && teams.is_first) *block.checked(dots + teams.chunk) = sum;
  }
};

struct NormForm {
  ChunkTable chunks;
  Table table;
  NormScratch norm;
  std::vector<View> views;

  std::size_t bytes() const { return held_bytes(chunks, table, norm, views); }
};

struct DotForm {
  ChunkTable chunks;
  Table table;
  std::vector<Pair> pairs;

  std::size_t bytes() const { return held_bytes(chunks, table, pairs); }
};

const View* send_views(NormForm& form, const NormPlan& plan, CudaQueue& queue) {
  form.table.begin(queue);
  form.views.clear();
  for (const Array& array : plan.arrays) form.views.push_back(form.table.view(array));
  const auto views = form.table.add(form.views);
  form.table.send();
  return form.table.at(views);
}

}  // namespace

void NormScratch::launch_scaled(const View* views, const Chunks& chunks, double* squares, const double* root,
                                double scale, const NormEnd& end, CudaQueue& queue) {
  auto* ticket = ticket_.of<unsigned>(queue, 1, /*zeroed=*/true);
  launch(queue, parts_of(chunks.count, Teams<MeasureScaled::kThreads>::kCount),
         MeasureScaled{views, chunks, squares, ticket, root, scale, end});
}

void square_chunks(const NormPlan& plan, double scale, double* partials, CudaQueue& queue) {
  auto& form = plan.prepared.get<NormForm>();
  const View* views = send_views(form, plan, queue);
  const Chunks chunks = form.chunks.of(*plan.work, queue);
  if (scale != 1) return form.norm.launch_scaled(views, chunks, scale, partials, queue);
  form.norm.launch_measure(Square{views}, chunks, partials, NormEnd{}, queue);
}

void fold(const double* partials, std::int64_t count, double* norm, CudaQueue& queue) {
  launch(queue, 1, Fold{partials, count, norm});
}

void measure(const NormPlan& plan, double* norm, CudaQueue& queue) {
  auto& form = plan.prepared.get<NormForm>();
  const View* views = send_views(form, plan, queue);
  const Chunks chunks = form.chunks.of(*plan.work, queue);
  const bool is_wide = std::ranges::any_of(form.views, is_double) && chunks.count > 0;
  const NormEnd end{is_wide ? form.norm.root(queue) : norm};
  form.norm.launch_measure(Square{views}, chunks, /*squares=*/nullptr, end, queue);
  if (is_wide) form.norm.launch_scaled(views, chunks, NormEnd{norm}, queue);
}

void dot_chunks(const CombinePlan& plan, Dots* dots, CudaQueue& queue) {
  auto& form = plan.prepared.get<DotForm>();
  form.table.begin(queue);
  form.pairs.clear();
  for (const CombineItem& item : plan.items) form.pairs.push_back({form.table.view(item.a), form.table.view(item.b)});
  const auto pairs = form.table.add(form.pairs);
  form.table.send();
  const Chunks chunks = form.chunks.of(*plan.work, queue);
  launch(queue, parts_of(chunks.count, Teams<Dot::kThreads>::kCount), Dot{chunks, form.table.at(pairs), dots});
}

}  // namespace gradstep::cuda
