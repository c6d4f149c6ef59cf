// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What is above the cut of its part: each chunk counts its own, a scan says where it may write, and it writes in order.
#pragma once

#include "kernels/radix_cut.h"

namespace gradstep::cuda {

/// How many elements of a chunk are above the cut, and how many at it; then, how many before the chunk in its part.
struct Found {
  std::int64_t above = 0;
  std::int64_t equal = 0;
};

/// How many of a chunk's elements are above the cut of its part, and at it.
template <class T>
struct CountChosen {
  static constexpr const char* kName = "count_chosen";
  static constexpr int kThreads = kSelectionThreads;
  struct Shared {
    unsigned above;
    unsigned equal;
  };

  Selected<T> selected;
  const Cut* cuts;
  Found* found;  ///< by chunk

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    if (block.thread() == 0) shared = {};
    block.sync();
    const std::uint64_t cut = block.checked(cuts + selected.part_of(block))->key;
    unsigned above = 0;
    unsigned equal = 0;
    selected.for_each(block, [&](std::int64_t, std::uint64_t key) {
      above += key > cut ? 1U : 0U;
      equal += key == cut ? 1U : 0U;
    });
    add_over_warp(block, above, shared.above);
    add_over_warp(block, equal, shared.equal);
    block.sync();
    if (block.thread() == 0) block.store(found + block.index(), Found{shared.above, shared.equal});
  }

  GRADSTEP_DEVICE static void add_over_warp(Block& block, unsigned count, unsigned& sum) {
    count = warp_sum(block, count);
    if (block.thread() % kWarp == 0) block.atomic_add_shared(&sum, count);
  }
};

/// From each chunk's own counts to those before it in its part; a block has a part.
struct ScanChosen {
  static constexpr const char* kName = "scan_chosen";
  static constexpr int kThreads = kSelectionThreads;
  struct Shared {
    Found sums[kThreads];
  };

  const Part* parts;
  Found* found;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const Part& part = *block.checked(parts + block.index());
    const std::int64_t share = (part.chunks + kThreads - 1) / kThreads;
    const std::int64_t begin = smaller(block.thread() * share, part.chunks);
    const std::int64_t end = smaller(begin + share, part.chunks);
    Found* own = found + part.first_chunk;
    Found sum;
    for (std::int64_t c = begin; c < end; ++c) add(sum, block.load(own + c));
    shared.sums[block.thread()] = sum;
    block.sync();
    Found before;
    for (int t = 0; t < block.thread(); ++t) add(before, shared.sums[t]);
    for (std::int64_t c = begin; c < end; ++c) {
      const Found here = block.load(own + c);
      block.store(own + c, before);
      add(before, here);
    }
  }

  GRADSTEP_DEVICE static void add(Found& sum, const Found& x) {
    sum.above += x.above;
    sum.equal += x.equal;
  }
  GRADSTEP_DEVICE static std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
};

/// A chunk writes its part of the selection, in order: warps take 32 elements after each other.
template <class T>
struct WriteChosen {
  static constexpr const char* kName = "write_chosen";
  static constexpr int kThreads = kSelectionThreads;
  static constexpr int kWarps = kThreads / kWarp;
  struct Shared {
    std::uint32_t above[kWarps];
    std::uint32_t equal[kWarps];
  };

  Selected<T> selected;
  const Cut* cuts;
  const Found* found;
  std::int32_t* indices;
  T* values;
  Counter* nans;  ///< may be NULL

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const Chunk chunk = block.load(selected.chunks + block.index());
    const Part& part = *block.checked(selected.parts + chunk.item);
    if (part.count == 0) return;
    const Cut cut = block.load(cuts + chunk.item);
    Found before = block.load(found + block.index());
    const std::int64_t first = part.first + chunk.offset;
    const int warp = block.thread() / kWarp;
    const std::uint32_t below = (1U << block.thread() % kWarp) - 1;
    for (std::int64_t tile = 0; tile < chunk.length; tile += kThreads) {
      const std::int64_t i = first + tile + block.thread();
      const bool exists = tile + block.thread() < chunk.length;
      const auto key = exists ? key_at(block, selected.data, i) : 0;
      const bool is_above = exists && key > cut.key;
      const bool is_equal = exists && key == cut.key;
      const std::uint32_t above = block.ballot(is_above);
      const std::uint32_t equal = block.ballot(is_equal);
      block.sync();  // all have read the tile before
      if (block.thread() % kWarp == 0) {
        shared.above[warp] = above;
        shared.equal[warp] = equal;
      }
      block.sync();
      Found own = before;
      for (int w = 0; w < kWarps; ++w) {
        const int of_warp_above = popcount(shared.above[w]);
        const int of_warp_equal = popcount(shared.equal[w]);
        if (w < warp) {
          own.above += of_warp_above;
          own.equal += of_warp_equal;
        }
        before.above += of_warp_above;
        before.equal += of_warp_equal;
      }
      own.above += popcount(above & below);
      own.equal += popcount(equal & below);
      if (is_above || (is_equal && own.equal < cut.equal)) write(block, part, cut, own, i, key);
    }
  }

  GRADSTEP_DEVICE void write(const Block& block, const Part& part, const Cut& cut, const Found& own, std::int64_t i,
                             kernels::BitsOf<T> key) const {
    const std::int64_t taken = own.equal < cut.equal ? own.equal : cut.equal;
    const std::int64_t place = part.first_place + own.above + taken;
    block.store(indices + place, static_cast<std::int32_t>(i));
    block.store(values + place, block.load(selected.data + i));
    if (nans != nullptr && kernels::Magnitude<T>::is_nan(key)) block.atomic_add(nans, Counter{1});
  }
};

}  // namespace gradstep::cuda
