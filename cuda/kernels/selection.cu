// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Selections of the largest elements, and of those that reach a threshold.
#include <algorithm>
#include <vector>

#include "kernels/write_chosen.h"
#include "operations.h"
#include "runtime/launch.h"
#include "runtime/table.h"

namespace gradstep::cuda {

namespace {

/// Zeros in the place of NaNs, where anything is wanted.
template <class T>
struct ZeroNans {
  static constexpr const char* kName = "zero_nans";
  static constexpr int kThreads = kSelectionThreads;

  Selected<T> selected;
  T* also;         ///< may be NULL
  Counter* found;  ///< may be NULL

  GRADSTEP_DEVICE void operator()(Block& block) const {
    if (!selected.wants_some(block)) return;
    selected.for_each(block, [&](std::int64_t i, kernels::BitsOf<T> key) {
      if (!kernels::Magnitude<T>::is_nan(key)) return;
      block.store(selected.data + i, T{0});
      if (also != nullptr) block.store(also + i, T{0});
      if (found != nullptr) block.atomic_add(found, Counter{1});
    });
  }
};

/// counts[q] += how many elements of piece q reach the key; NaNs do.
template <class T>
struct CountReaching {
  static constexpr const char* kName = "count_reaching";
  static constexpr int kThreads = kSelectionThreads;
  static constexpr bool kWaits = true;

  const T* data;
  std::int64_t size;
  std::int64_t pieces;
  kernels::BitsOf<T> key;
  Counter* counts;
  Counter* nans;  ///< may be NULL

  // A warp adds up what it has found in a piece: most have one alone.
  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t begin = block.index() * kChunk;
    const std::int64_t end = begin + kChunk < size ? begin + kChunk : size;
    std::int64_t piece_begin = begin;
    for (std::int64_t q = piece_of(begin); piece_begin < end; ++q) {
      const std::int64_t piece_end = size * (q + 1) / pieces;
      const std::int64_t own_end = piece_end < end ? piece_end : end;
      const Counter found = warp_sum(block, count(block, piece_begin, own_end));
      if (found > 0 && block.thread() % kWarp == 0) block.atomic_add(counts + q, found);
      piece_begin = own_end;
    }
  }

  /// The thread's own of [begin, end).
  GRADSTEP_DEVICE Counter count(const Block& block, std::int64_t begin, std::int64_t end) const {
    Counter found = 0;
    for (std::int64_t i = begin + block.thread(); i < end; i += kThreads) {
      const auto own = key_at(block, data, i);
      found += own >= key ? 1U : 0U;
      if (nans != nullptr && kernels::Magnitude<T>::is_nan(own)) block.atomic_add(nans, Counter{1});
    }
    return found;
  }

  /// Piece q begins at element size q / pieces.
  GRADSTEP_DEVICE std::int64_t piece_of(std::int64_t i) const {
    std::int64_t q = i * pieces / size;
    while (q + 1 < pieces && size * (q + 1) / pieces <= i) ++q;
    return q;
  }
};

struct PreparedSelection {
  Table parts_table;
  ChunkTable chunks;
  WorkList work;
  std::vector<Part> parts;
  std::vector<SelectPart> cut_for;  // what work and parts were made of
  std::vector<Cut> first_cuts;
  Table cuts_table;
  ScratchBuffer cuts;
  ScratchBuffer counts;
  ScratchBuffer found;

  std::size_t bytes() const {
    return held_bytes(parts_table, chunks, work, parts, cut_for, first_cuts, cuts_table, cuts, counts, found);
  }
};

bool same_parts(const std::vector<SelectPart>& a, std::span<const SelectPart> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const SelectPart& x, const SelectPart& y) { return x.size == y.size && x.count == y.count; });
}

/// What the kernels of one selection share.
template <class T>
struct Run {
  CudaQueue& queue;
  PreparedSelection& form;
  Chunks chunks;
  Selected<T> selected;
  Cut* cuts = nullptr;

  Run(const SelectPlan& plan, std::span<const SelectPart> cut_for, CudaQueue& in_queue)
      : queue(in_queue), form(plan.prepared.get<PreparedSelection>()) {
    if (!same_parts(form.cut_for, cut_for)) divide(cut_for);
    form.parts_table.begin(queue);
    const auto section = form.parts_table.add(form.parts);
    form.parts_table.send();
    chunks = form.chunks.of(form.work, queue);
    selected = {chunks.chunks, form.parts_table.at(section), static_cast<T*>(plan.data.data)};
    cuts = form.cuts.of<Cut>(queue, static_cast<std::int64_t>(form.parts.size()));
  }

  void divide(std::span<const SelectPart> cut_for) const {
    form.cut_for.assign(cut_for.begin(), cut_for.end());
    form.work.clear();
    form.parts.clear();
    Part part;
    for (const SelectPart& cut : cut_for) {
      form.work.append(cut.size);
      part.count = cut.count;
      part.chunks = static_cast<std::int64_t>(form.work.chunks().size()) - part.first_chunk;
      form.parts.push_back(part);
      part.first += cut.size;
      part.first_place += cut.count;
      part.first_chunk += part.chunks;
    }
  }

  void zero_nans(const NanRule& rule) const {
    if (!rule.zero) return;
    launch(queue, chunks.count,
           ZeroNans<T>{selected, static_cast<T*>(rule.also.data), reinterpret_cast<Counter*>(rule.found)});
  }

  /// cut_of(part) for every part.
  template <class CutOf>
  void set_cuts(CutOf cut_of) const {
    form.first_cuts.clear();
    for (const Part& part : form.parts) form.first_cuts.push_back(cut_of(part));
    form.cuts_table.begin(queue);
    const auto section = form.cuts_table.add(form.first_cuts);
    form.cuts_table.send();
    queue.copy(cuts, form.cuts_table.at(section), form.first_cuts.size() * sizeof(Cut));
  }

  void find_cuts() const {
    const auto count = static_cast<std::int64_t>(form.parts.size());
    auto* counts = form.counts.of<unsigned>(queue, count * kBins, /*zeroed=*/true);
    try {
      for (int top = kernels::Magnitude<T>::kBits; top > 0;) {
        const int shift = top > kDigitBits ? top - kDigitBits : 0;
        launch(queue, chunks.count, CountDigits<T>{selected, cuts, counts, top, shift});
        launch(queue, count, ChooseDigit{selected.parts, cuts, counts, shift});
        top = shift;
      }
    } catch (...) {
      form.counts = {};  // what was counted, and not chosen from, would be counted again
      throw;
    }
  }

  void write(const Selection& to, std::int64_t* nans) const {
    auto* found = form.found.of<Found>(queue, chunks.count);
    launch(queue, chunks.count, CountChosen<T>{selected, cuts, found});
    launch(queue, static_cast<std::int64_t>(form.parts.size()), ScanChosen{selected.parts, found});
    launch(queue, chunks.count,
           WriteChosen<T>{selected, cuts, found, to.indices, static_cast<T*>(to.values),
                          reinterpret_cast<Counter*>(nans)});
  }
};

template <class T>
void select_largest_of(const SelectPlan& plan, const Selection& to, CudaQueue& queue) {
  const Run<T> run(plan, plan.parts, queue);
  run.zero_nans(plan.nans);
  run.set_cuts([](const Part& part) { return Cut{0, part.count}; });
  run.find_cuts();
  run.write(to, plan.nans.zero ? nullptr : plan.nans.found);
}

/// All of the data is one part, of which any number may be wanted.
SelectPart whole(const SelectPlan& plan) { return {plan.data.size, plan.data.size}; }

template <class T>
void count_reaching_of(const SelectPlan& plan, std::int64_t pieces, std::int64_t* counts, CudaQueue& queue) {
  const SelectPart all = whole(plan);
  const Run<T> run(plan, {&all, 1}, queue);
  run.zero_nans(plan.nans);
  queue.zero(counts, static_cast<std::size_t>(pieces) * sizeof *counts);
  auto* nans = plan.nans.zero ? nullptr : reinterpret_cast<Counter*>(plan.nans.found);
  launch(queue, run.chunks.count,
         CountReaching<T>{run.selected.data, plan.data.size, pieces,
                          kernels::Magnitude<T>::key_of_threshold(plan.threshold), reinterpret_cast<Counter*>(counts),
                          nans});
}

template <class T>
void select_reaching_of(const SelectPlan& plan, const Selection& to, CudaQueue& queue) {
  const SelectPart all = whole(plan);
  const Run<T> run(plan, {&all, 1}, queue);
  run.set_cuts([&](const Part&) { return Cut{kernels::Magnitude<T>::key_of_threshold(plan.threshold) - 1, 0}; });
  run.write(to, nullptr);
}

}  // namespace

void select_largest(const SelectPlan& plan, const Selection& to, CudaQueue& queue) {
  if (plan.data.dtype == DType::f64) return select_largest_of<double>(plan, to, queue);
  select_largest_of<float>(plan, to, queue);
}

void count_reaching(const SelectPlan& plan, std::int64_t pieces, std::int64_t* counts, CudaQueue& queue) {
  if (plan.data.dtype == DType::f64) return count_reaching_of<double>(plan, pieces, counts, queue);
  count_reaching_of<float>(plan, pieces, counts, queue);
}

void select_reaching(const SelectPlan& plan, const Selection& to, CudaQueue& queue) {
  if (plan.data.dtype == DType::f64) return select_reaching_of<double>(plan, to, queue);
  select_reaching_of<float>(plan, to, queue);
}

}  // namespace gradstep::cuda
