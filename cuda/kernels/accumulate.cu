// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/accumulate.h"

#include <algorithm>
#include <vector>

#include "device/chunk.h"
#include "kernels/measure.h"
#include "operations.h"

namespace gradstep::cuda {

namespace {

using kernels::AddFormula;

struct Item {
  View gradient;
  void* sum = nullptr;
  bool is_double = false;
  bool in_fours = false;
  bool is_sums_type = false;  ///< the gradient
  std::uint8_t unused[5] = {};
};

/// What is done to each sum. In most windows it is the same to all, and then a parameter of the launch, so that the
/// table of the items stays.
struct Actions {
  AccumulateAction all = AccumulateAction::none;
  const AccumulateAction* each = nullptr;  ///< present = by item

  GRADSTEP_DEVICE AccumulateAction of(const Block& block, std::int32_t item) const {
    return each != nullptr ? block.load(each + item) : all;
  }
};

/// body(formula) for what an action does to elements, unless that is nothing.
template <AddFormula kFormula, class T, class Body>
GRADSTEP_DEVICE void with_action(AccumulateAction action, T factor, Body body) {
  if (action == AccumulateAction::assign) {
    body(kernels::Assign<kFormula, T>{factor});
  } else if (action == AccumulateAction::add) {
    body(kernels::Add<kFormula, T>{factor});
  } else if (action == AccumulateAction::absent) {
    constexpr bool kRunning = kFormula == AddFormula::running;
    body(kernels::Keep<kRunning, T>{factor});
  }
}

template <class T, class Body>
GRADSTEP_DEVICE void with_formula(const AddStep& step, AccumulateAction action, Body body) {
  const T factor = static_cast<T>(step.factor);
  switch (step.formula) {
    case AddFormula::plain:
      return with_action<AddFormula::plain>(action, factor, body);
    case AddFormula::multiplied:
      return with_action<AddFormula::multiplied>(action, factor, body);
    case AddFormula::divided:
      return with_action<AddFormula::divided>(action, factor, body);
    case AddFormula::running:
      return with_action<AddFormula::running>(action, factor, body);
  }
}

template <class T>
GRADSTEP_DEVICE T finished(const AddStep& step, T x) {
  if (step.finish == Finish::divide) return x / static_cast<T>(step.finish_value);
  if (step.finish == Finish::multiply) return x * static_cast<T>(step.finish_value);
  return x;
}

/// Reads the sum only where it counts: the first gradient of a window finds whatever was there.
template <class T, class Formula>
GRADSTEP_DEVICE T element(const Block& block, const AddStep& step, const T* sum, const View& gradient,
                          AccumulateAction action, Formula formula, std::int64_t i) {
  const bool assigns = action == AccumulateAction::assign;
  const T a = assigns ? T{0} : block.load(sum + i);
  const T g = action == AccumulateAction::absent ? T{0} : read<T>(block, gradient, i);
  return finished(step, formula(a, g));
}

/// What all launches of an add share.
struct Sums {
  const Item* items = nullptr;
  Actions actions;
  AddStep step;
};

/// A block has a chunk.
struct Accumulate {
  static constexpr const char* kName = "accumulate";
  static constexpr int kThreads = 256;

  const Chunk* chunks;
  Sums sums;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(chunks + block.index());
    const Item& item = *block.checked(sums.items + chunk.item);
    if (item.is_double) {
      run<double>(block, item, chunk);
    } else {
      run<float>(block, item, chunk);
    }
  }

  template <class T>
  GRADSTEP_DEVICE void run(Block& block, const Item& item, const Chunk& chunk) const {
    const AddStep& step = sums.step;
    const AccumulateAction action = sums.actions.of(block, chunk.item);
    with_formula<T>(step, action, [&](auto formula) {
      // To the compiler a store may change the item, which it would read again for each element.
      T* const sum = static_cast<T*>(item.sum);
      const View gradient = item.gradient;
      const bool assigns = action == AccumulateAction::assign;
      const bool in_fours = item.in_fours && action != AccumulateAction::absent;
      const auto four = [&](std::int64_t i) {
        Four<T> a{};
        const auto g = read_four<T>(block, gradient, i);
        if (!assigns) a = block.load(reinterpret_cast<const Four<T>*>(sum + i));
        for (int k = 0; k < 4; ++k) a.x[k] = finished(step, formula(a.x[k], g.x[k]));
        block.store(reinterpret_cast<Four<T>*>(sum + i), a);
      };
      const auto one = [&](std::int64_t i) {
        block.store(sum + i, element<T>(block, step, sum, gradient, action, formula, i));
      };
      walk(block, chunk, in_fours, four, one);
    });
  }
};

/// Accumulates, and sums the squares of the results in the lanes of device/reduce.h.
struct AccumulateAndSquare {
  static constexpr const char* kName = "accumulate_and_measure";

  Sums sums;

  GRADSTEP_DEVICE double operator()(Block& block, const Chunk& chunk) const {
    const Item& item = *block.checked(sums.items + chunk.item);
    return item.is_double ? run<double>(block, item, chunk) : run<float>(block, item, chunk);
  }

  template <class T>
  GRADSTEP_DEVICE double run(Block& block, const Item& item, const Chunk& chunk) const {
    double squares = 0;
    const AccumulateAction action = sums.actions.of(block, chunk.item);
    with_formula<T>(sums.step, action, [&](auto formula) {
      T* const sum = static_cast<T*>(item.sum) + chunk.offset;
      const auto finish_one = [&](std::int64_t i, T x) {
        block.store(sum + i, x);
        squares = add_product<T>(squares, x, x);
      };
      if (item.is_sums_type && item.in_fours && action != AccumulateAction::absent) {
        struct Operands {
          T a;
          T g;
        };
        const T* gradient = static_cast<const T*>(item.gradient.data) + chunk.offset;
        const bool assigns = action == AccumulateAction::assign;
        for_each_of_lane(
            block, chunk.length,
            [&](std::int64_t i) { return Operands{assigns ? T{0} : block.load(sum + i), block.load(gradient + i)}; },
            [&](std::int64_t i, Operands own) { finish_one(i, finished(sums.step, formula(own.a, own.g))); });
        return;
      }
      const View gradient = item.gradient;
      for_each_of_lane(block, chunk.length, [&](std::int64_t i) {
        finish_one(i, element<T>(block, sums.step, sum - chunk.offset, gradient, action, formula, chunk.offset + i));
      });
    });
    return squares;
  }
};

struct PreparedSums {
  ChunkTable chunks;
  Table items_table;
  Table actions_table;
  Table results_table;
  NormScratch norm;
  std::vector<Item> items;
  std::vector<AccumulateAction> actions;
  std::vector<View> results;

  std::size_t bytes() const {
    return held_bytes(chunks, items_table, actions_table, results_table, norm, items, actions, results);
  }
};

const Item* send_items(PreparedSums& form, const AccumulateJob& job, CudaQueue& queue) {
  form.items_table.begin(queue);
  form.items.clear();
  for (std::size_t k = 0; k < job.sums.size(); ++k) {
    Item item;
    if (!job.gradients.empty()) item.gradient = form.items_table.view(job.gradients[k]);
    item.sum = job.sums[k].data;
    item.is_double = job.sums[k].dtype == DType::f64;
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(item.sum) % 16 == 0;
    item.in_fours = is_aligned && item.gradient.is_aligned;
    item.is_sums_type = item.gradient.dtype == job.sums[k].dtype;
    form.items.push_back(item);
  }
  const auto items = form.items_table.add(form.items);
  form.items_table.send();
  return form.items_table.at(items);
}

/// A sum that stays as it is without a gradient need not be read.
bool leaves_absent(const AddStep& step, const AccumulateJob& job) {
  return step.formula != AddFormula::running && step.finish == Finish::nothing && job.norm == nullptr;
}

Actions send_actions(PreparedSums& form, const AccumulateJob& job, const AddStep& step, CudaQueue& queue) {
  form.actions.assign(job.actions.begin(), job.actions.end());
  if (leaves_absent(step, job)) {
    std::replace(form.actions.begin(), form.actions.end(), AccumulateAction::absent, AccumulateAction::none);
  }
  Actions actions;
  if (form.actions.empty()) return actions;
  actions.all = form.actions.front();
  if (std::all_of(form.actions.begin(), form.actions.end(), [&](auto own) { return own == actions.all; })) {
    return actions;
  }
  form.actions_table.begin(queue);
  const auto each = form.actions_table.add(form.actions);
  form.actions_table.send();
  actions.each = form.actions_table.at(each);
  return actions;
}

/// The sums whose norm the job asks for, if any of them is f64; else NULL.
const View* send_wide_results(PreparedSums& form, const AccumulateJob& job, CudaQueue& queue) {
  form.results.clear();
  form.results_table.begin(queue);
  for (std::size_t k = 0; k < job.sums.size(); ++k) {
    const bool counts = job.actions[k] != AccumulateAction::none;
    form.results.push_back(counts ? form.results_table.view(job.sums[k]) : View{});
  }
  if (std::ranges::none_of(form.results, is_double)) return nullptr;
  const auto results = form.results_table.add(form.results);
  form.results_table.send();
  return form.results_table.at(results);
}

}  // namespace

void accumulate(const AccumulateJob& job, CudaQueue& queue) {
  auto& form = job.prepared.get<PreparedSums>();
  const AddStep step = add_step(job);
  const Sums sums{send_items(form, job, queue), send_actions(form, job, step, queue), step};
  const Chunks chunks = form.chunks.of(*job.work, queue);
  if (job.norm == nullptr) return launch(queue, chunks.count, Accumulate{chunks.chunks, sums});
  const NormEnd end{job.norm, job.norm_finish, job.norm_finish_value};
  const View* results = chunks.count > 0 ? send_wide_results(form, job, queue) : nullptr;
  form.norm.launch_measure(AccumulateAndSquare{sums}, chunks, /*squares=*/nullptr,
                           results != nullptr ? NormEnd{form.norm.root(queue)} : end, queue);
  if (results != nullptr) form.norm.launch_scaled(results, chunks, end, queue);
}

namespace {

/// A block has some columns of the rows i with i mod parts = part, and adds them in the list's order: its threads look
/// through the list together, and then have a column each.
struct AddRows {
  static constexpr const char* kName = "add_rows";
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / kWarp;
  struct Shared {
    std::uint32_t votes[kWarps];
    std::int64_t rows[kThreads];    ///< the block's own of the list's next kThreads
    std::int64_t places[kThreads];  ///< theirs in the list
  };

  void* sum;
  bool is_double;
  View indices;
  View values;
  std::int64_t count;
  std::int64_t row_size;
  double factor;
  bool divides;
  std::int64_t parts;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    if (is_double) {
      run<double>(block);
    } else {
      run<float>(block);
    }
  }

  template <class T>
  GRADSTEP_DEVICE void run(Block& block) const {
    const auto& shared = block.shared<Shared>();
    const std::int64_t part = block.index() % parts;
    const std::int64_t column = block.index() / parts * kThreads + block.thread();
    for (std::int64_t first = 0; first < count; first += kThreads) {
      const int found = find(block, first, part);
      for (int k = 0; k < found && column < row_size; ++k) {
        T* to = static_cast<T*>(sum) + shared.rows[k] * row_size + column;
        const T value = read<T>(block, values, shared.places[k] * row_size + column);
        const T own = static_cast<T>(factor);
        block.store(to, block.load(to) + (divides ? value / own : own * value));
      }
    }
  }

  /// Puts the part's rows of those from `first` on into the shared list, in order; how many there are. By all threads.
  GRADSTEP_DEVICE int find(Block& block, std::int64_t first, std::int64_t part) const {
    auto& shared = block.shared<Shared>();
    const std::int64_t j = first + block.thread();
    const std::int64_t row = j < count ? row_at(block, j) : 0;
    const bool is_own = j < count && row % parts == part;
    const std::uint32_t votes = block.ballot(is_own);
    const int lane = block.thread() % kWarp;
    if (lane == 0) shared.votes[block.thread() / kWarp] = votes;
    block.sync();  // and the list before has been read
    int before = popcount(votes & ((1U << lane) - 1));
    int all = 0;
    for (int w = 0; w < kWarps; ++w) {
      const int of_warp = popcount(shared.votes[w]);
      if (w < block.thread() / kWarp) before += of_warp;
      all += of_warp;
    }
    if (is_own) {
      shared.rows[before] = row;
      shared.places[before] = j;
    }
    block.sync();
    return all;
  }

  GRADSTEP_DEVICE std::int64_t row_at(const Block& block, std::int64_t j) const {
    const std::int64_t place = place_of(block, indices, j);
    if (indices.dtype == DType::i32) return block.load(at<const std::int32_t>(indices, place));
    return block.load(at<const std::int64_t>(indices, place));
  }
};

/// So many blocks fill a device. More would only look through the list again, as would those that find little there.
constexpr std::int64_t kRowBlocks = 1024;
constexpr std::int64_t kMaxRowParts = 512;
constexpr std::int64_t kRowsOfPart = 4;

}  // namespace

void add_rows(const RowsJob& job, CudaQueue& queue) {
  Table table;
  table.begin(queue);
  const View indices = table.view(job.indices);
  const View values = table.view(job.values);
  table.send();
  if (job.indices.size == 0 || job.row_size == 0) return;
  const std::int64_t columns = parts_of(job.row_size, AddRows::kThreads);
  const std::int64_t parts =
      std::clamp<std::int64_t>(std::min(kRowBlocks / columns, job.indices.size / kRowsOfPart), 1, kMaxRowParts);
  launch(queue, columns * parts,
         AddRows{job.sum.data, job.sum.dtype == DType::f64, indices, values, job.indices.size, job.row_size, job.factor,
                 job.divides, parts});
}

}  // namespace gradstep::cuda
