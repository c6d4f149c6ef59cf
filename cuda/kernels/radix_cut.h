// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The k-th largest key of every part of an array, found digit after digit, from the highest on, by histograms over all
// parts at once.
#pragma once

#include "backend/work_list.h"
#include "device/view.h"
#include "kernels/magnitude.h"

namespace gradstep::cuda {

inline constexpr int kDigitBits = 11;
inline constexpr int kBins = 1 << kDigitBits;

inline constexpr int kSelectionThreads = 256;

using Counter = unsigned long long;

/// The bits of a magnitude (kernels/magnitude.h).
template <class T>
GRADSTEP_DEVICE kernels::BitsOf<T> key_at(const Block& block, const T* data, std::int64_t i) {
  return kernels::Magnitude<T>::key(block.load(reinterpret_cast<const kernels::BitsOf<T>*>(data) + i));
}

/// A part of the data.
struct Part {
  std::int64_t first = 0;
  std::int64_t count = 0;        ///< how many are wanted
  std::int64_t first_place = 0;  ///< of the first in the selection
  std::int64_t first_chunk = 0;
  std::int64_t chunks = 0;
};

/// What the kernels of a selection share.
template <class T>
struct Selected {
  const Chunk* chunks = nullptr;
  const Part* parts = nullptr;
  T* data = nullptr;

  /// body(element, key) for those of the block's chunk that are the thread's.
  template <class Body>
  GRADSTEP_DEVICE void for_each(const Block& block, Body body) const {
    const Chunk chunk = block.load(chunks + block.index());
    const std::int64_t first = block.checked(parts + chunk.item)->first + chunk.offset;
    for (std::int64_t i = first + block.thread(); i < first + chunk.length; i += block.threads()) {
      body(i, key_at(block, data, i));
    }
  }
  GRADSTEP_DEVICE std::int32_t part_of(const Block& block) const { return block.load(chunks + block.index()).item; }
  GRADSTEP_DEVICE bool wants_some(const Block& block) const { return block.checked(parts + part_of(block))->count > 0; }
};

/// What is known of a part's k-th largest key.
struct Cut {
  std::uint64_t key = 0;   ///< its digits so far
  std::int64_t equal = 0;  ///< of those that share them, how many are wanted
};

/// Counts the next digit of the elements that share a part's digits so far.
template <class T>
struct CountDigits {
  static constexpr const char* kName = "count_digits";
  static constexpr int kThreads = kSelectionThreads;
  struct Shared {
    unsigned counts[kBins];
  };

  Selected<T> selected;
  const Cut* cuts;
  unsigned* counts;  ///< [part][bin]
  int top;           ///< bits [shift, top) are the digit
  int shift;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    if (!selected.wants_some(block)) return;
    for (int b = block.thread(); b < kBins; b += kThreads) shared.counts[b] = 0;
    block.sync();
    const std::int64_t part = selected.part_of(block);
    const std::uint64_t prefix = block.checked(cuts + part)->key >> top;
    const std::uint64_t digit = (std::uint64_t{1} << (top - shift)) - 1;
    selected.for_each(block, [&](std::int64_t, std::uint64_t key) {
      if (key >> top == prefix) block.atomic_add_shared(&shared.counts[(key >> shift) & digit], 1U);
    });
    block.sync();
    unsigned* own = counts + part * kBins;
    for (int b = block.thread(); b < kBins; b += kThreads) {
      if (shared.counts[b] != 0) block.atomic_add(own + b, shared.counts[b]);
    }
  }
};

/// The digit in which the k-th largest key lies; a block has a part. Its counts are zeros again afterwards.
struct ChooseDigit {
  static constexpr const char* kName = "choose_digit";
  static constexpr int kThreads = kSelectionThreads;
  static constexpr int kOwn = kBins / kThreads;     ///< bins of a thread
  static constexpr int kGroups = kThreads / kWarp;  ///< threads whose bins a lane of the first warp has
  struct Shared {
    std::int64_t sums[kThreads];
    unsigned counts[kBins];
  };

  const Part* parts;
  Cut* cuts;
  unsigned* counts;
  int shift;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    if (block.checked(parts + block.index())->count == 0) return;
    unsigned* own = counts + block.index() * kBins;
    for (int b = block.thread(); b < kBins; b += kThreads) {
      shared.counts[b] = block.load(own + b);
      block.store(own + b, 0U);
    }
    block.sync();
    std::int64_t sum = 0;
    for (int k = 0; k < kOwn; ++k) sum += shared.counts[block.thread() * kOwn + k];
    shared.sums[block.thread()] = sum;
    block.sync();
    if (block.thread() < kWarp) choose(block, shared);
  }

  /// By the first warp: its lanes look at once which of them has the digit.
  GRADSTEP_DEVICE void choose(Block& block, const Shared& shared) const {
    const int lane = block.thread();
    Cut& cut = *block.checked(cuts + block.index());
    std::int64_t left = cut.equal;
    std::int64_t sum = 0;
    for (int g = 0; g < kGroups; ++g) sum += shared.sums[lane * kGroups + g];
    std::int64_t reached = sum;  // with the lanes above
    for (int distance = 1; distance < kWarp; distance *= 2) {
      const std::int64_t above = block.shuffle(reached, lane + distance);
      if (lane + distance < kWarp) reached += above;
    }
    if (reached < left || reached - sum >= left) return;
    left -= reached - sum;
    int group = lane * kGroups + kGroups - 1;
    while (shared.sums[group] < left) left -= shared.sums[group--];
    int bin = group * kOwn + kOwn - 1;
    while (shared.counts[bin] < static_cast<std::uint64_t>(left)) left -= shared.counts[bin--];
    cut.key |= static_cast<std::uint64_t>(bin) << shift;
    cut.equal = left;
  }
};

}  // namespace gradstep::cuda
