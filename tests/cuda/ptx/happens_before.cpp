// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/ptx/happens_before.h"

#include <algorithm>

namespace gradstep::ptx {

namespace {

constexpr int kWarp = 32;

/// Within a block: the same thread, or another epoch.
bool is_ordered_in_block(const Moment& before, const Moment& own) {
  return before.thread == own.thread || before.epoch < own.epoch;
}

/// A read before a write.
bool is_ordered_in_warp(const Moment& read, const Moment& own) {
  return read.block == own.block && read.thread / kWarp == own.thread / kWarp && read.exchange < own.exchange;
}

/// Notes an access of one byte. `is_ordered` tells whether a moment lies before it.
template <class IsOrdered>
bool note(History& history, Access how, const Moment& own, IsOrdered is_ordered) {
  const bool are_atomic = how == Access::atomic && history.is_atomic;
  if (history.write.block >= 0 && !are_atomic && !is_ordered(history.write)) return false;
  if (how == Access::read) {
    // It takes the place of one that lies before it. Of a warp that reads together, two speak for all.
    std::size_t of_warp = 0;
    for (Moment& read : history.reads) {
      if (read.block != own.block) continue;
      if (is_ordered_in_block(read, own)) {
        read = own;
        return true;
      }
      if (read.thread / kWarp == own.thread / kWarp && read.exchange == own.exchange) ++of_warp;
    }
    if (of_warp < 2) history.reads.push_back(own);
    return true;
  }
  const bool are_read_before = std::all_of(history.reads.begin(), history.reads.end(), [&](const Moment& read) {
    return is_ordered(read) || is_ordered_in_warp(read, own);
  });
  if (!are_read_before) return false;
  history.write = own;
  history.is_atomic = how == Access::atomic;
  history.reads.clear();
  return true;
}

}  // namespace

bool Knowledge::has(const Moment& moment) const {
  const auto found = blocks_.find(moment.block);
  if (found == blocks_.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&moment](const Moment& known) {
    return moment.epoch < known.epoch || (moment.epoch == known.epoch && moment.thread == known.thread);
  });
}

void Knowledge::add(const Moment& moment) {
  std::vector<Moment>& known = blocks_[moment.block];
  for (Moment& one : known) {
    if (one.thread != moment.thread) continue;
    one.epoch = std::max(one.epoch, moment.epoch);
    return;
  }
  known.push_back(moment);
}

void Knowledge::add(const Knowledge& other) {
  for (const auto& [block, moments] : other.blocks_) {
    for (const Moment& moment : moments) add(moment);
  }
}

bool HappensBefore::note(std::uintptr_t address, std::size_t bytes, Access how, const Moment& own,
                         const Knowledge& of_thread, const Knowledge& of_block) {
  const auto is_ordered = [&](const Moment& before) {
    if (before.block == own.block) return is_ordered_in_block(before, own);
    return of_thread.has(before) || of_block.has(before);
  };
  for (std::size_t k = 0; k < bytes;) {
    std::array<History, 8>& word = words_[(address + k) / 8];
    do {
      if (!ptx::note(word[(address + k) % 8], how, own, is_ordered)) return false;
      ++k;
    } while (k < bytes && (address + k) % 8 != 0);
  }
  return true;
}

bool SharedOrder::note(std::size_t address, std::size_t bytes, Access how, const Moment& own) {
  const auto is_ordered = [&own](const Moment& before) { return is_ordered_in_block(before, own); };
  for (std::size_t k = 0; k < bytes; ++k) {
    if (!ptx::note(bytes_[address + k], how, own, is_ordered)) return false;
  }
  return true;
}

}  // namespace gradstep::ptx
