// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/ptx/happens_before.h"

#include <algorithm>

#include "cuda/ptx/program.h"

namespace gradstep::ptx {

namespace {

/// Within a block: the same thread, or another epoch.
bool is_ordered_in_block(const Moment& before, const Moment& own) {
  return before.thread == own.thread || before.epoch < own.epoch;
}

/// A read before a write.
bool is_ordered_in_warp(const Moment& read, const Moment& own) {
  return read.block == own.block && read.thread / kWarp == own.thread / kWarp && read.exchange < own.exchange;
}

void note_read(History& history, const Moment& own) {
  // It takes the place of one that lies before it. Two lanes stand for all that read together: a writer differs from
  // the first or from the second.
  int of_warp = 0;
  for (std::size_t k = 0; k < history.readers; ++k) {
    Moment& read = history.reads[k];
    if (read.block != own.block) continue;
    if (is_ordered_in_block(read, own)) {
      read = own;
      return;
    }
    if (read.thread / kWarp == own.thread / kWarp && read.exchange == own.exchange) ++of_warp;
  }
  if (of_warp < 2 && history.readers < History::kReaders) history.reads[history.readers++] = own;
}

/// Notes an access. `is_ordered` tells whether a moment lies before it.
template <class IsOrdered>
bool note_access(History& history, Access how, const Moment& own, IsOrdered is_ordered) {
  const bool are_atomic = how == Access::atomic && history.is_atomic;
  if (history.write.block >= 0 && !are_atomic && !is_ordered(history.write)) return false;
  if (how == Access::read) {
    note_read(history, own);
    return true;
  }
  for (std::size_t k = 0; k < history.readers; ++k) {
    const Moment& read = history.reads[k];
    if (!is_ordered(read) && !is_ordered_in_warp(read, own)) return false;
  }
  history.write = own;
  history.is_atomic = how == Access::atomic;
  history.readers = 0;
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

template <class Note>
bool Histories::each(std::size_t first, std::size_t bytes, Note note) {
  for (std::size_t at = first; at < first + bytes;) {
    Word& word = words_[at / kWord];
    const std::size_t begin = at % kWord;
    const std::size_t end = std::min(kWord, begin + first + bytes - at);
    at += end - begin;
    if (word.parts == nullptr && end - begin == kWord) {
      if (!note(word.whole)) return false;
      continue;
    }
    if (word.parts == nullptr) {
      word.parts = std::make_unique<std::array<History, kWord>>();
      word.parts->fill(word.whole);
    }
    for (std::size_t k = begin; k < end; ++k) {
      if (!note((*word.parts)[k])) return false;
    }
  }
  return true;
}

Histories& HappensBefore::page(std::uintptr_t address) {
  const std::uintptr_t number = address / kPage;
  Found& found = found_[number % found_.size()];
  if (found.page == nullptr || found.number != number) {
    const auto [place, is_new] = pages_.try_emplace(number);
    if (is_new) place->second.start(kPage);
    found = {number, &place->second};
  }
  return *found.page;
}

bool HappensBefore::note(std::uintptr_t address, std::size_t bytes, Access how, const Moment& own,
                         const Knowledge& of_thread, const Knowledge& of_block) {
  const auto is_ordered = [&](const Moment& before) {
    if (before.block == own.block) return is_ordered_in_block(before, own);
    return of_thread.has(before) || of_block.has(before);
  };
  // Accesses are aligned: none lies in two pages.
  return page(address).each(address % kPage, bytes,
                            [&](History& history) { return note_access(history, how, own, is_ordered); });
}

bool SharedOrder::note(std::size_t address, std::size_t bytes, Access how, const Moment& own) {
  const auto is_ordered = [&own](const Moment& before) { return is_ordered_in_block(before, own); };
  return histories_.each(address, bytes, [&](History& history) { return note_access(history, how, own, is_ordered); });
}

}  // namespace gradstep::ptx
