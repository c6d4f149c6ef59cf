// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/overlap_check.h"

#include <algorithm>

#include "core/error.h"

namespace gradstep {

namespace {

/// Two arrays of one shape whose elements lie in the same memory, each in the other's place.
bool same_place(const Array& a, const Array& b) {
  return a.data == b.data && a.dtype == b.dtype && a.ndim == b.ndim &&
         std::equal(a.strides, a.strides + a.ndim, b.strides);
}

}  // namespace

void OverlapCheck::check(std::span<const Array> params, std::span<const Array> grads, std::span<const Array> updates) {
  const std::size_t count = params.size() + grads.size() + updates.size();
  bool unchanged = last_.size() == count;
  if (!unchanged) last_.resize(count);
  ByteRange* last = last_.data();
  unchanged = same(last, params) && unchanged;
  unchanged = same(last, grads) && unchanged;
  unchanged = same(last, updates) && unchanged;
  if (unchanged) return;
  try {
    check_all_pairs(params, grads, updates);
  } catch (...) {
    last_.clear();
    throw;
  }
}

bool OverlapCheck::same(ByteRange*& last, std::span<const Array> arrays) {
  bool same = true;
  for (const Array& array : arrays) {
    const ByteRange range = byte_range(array);
    // Other strides over the same bytes may put an update beside its gradient's place.
    same = same && last->begin == range.begin && last->end == range.end && array.contiguous();
    *last++ = range;
  }
  return same;
}

void OverlapCheck::check_all_pairs(std::span<const Array> params, std::span<const Array> grads,
                                   std::span<const Array> updates) {
  struct Entry {
    ByteRange range;
    const char* argument;
    std::size_t index;
    bool written;
  };
  std::vector<Entry> entries;
  entries.reserve(params.size() + grads.size() + updates.size());
  const auto collect = [&](std::span<const Array> list, std::size_t i, const char* argument, bool written) {
    const ByteRange range = byte_range(list[i]);
    if (range.begin != range.end) entries.push_back({range, argument, i, written});
  };
  const bool in_place = updates.empty();
  for (std::size_t i = 0; i < params.size(); ++i) {
    collect(params, i, "params", in_place);
    // An update in its gradient's very place stands for both.
    if (in_place || !same_place(grads[i], updates[i])) collect(grads, i, "grads", false);
    if (!in_place) collect(updates, i, "updates", true);
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.range.begin < b.range.begin; });

  // Sweep by address: an entry overlaps an earlier one if it overlaps the one that ends last. Buffers that are only
  // read may share memory, all of them if they like.
  const Entry* last_read = nullptr;
  const Entry* last_written = nullptr;
  const auto check_after = [](const Entry* earlier, const Entry& entry) {
    if (earlier == nullptr || earlier->range.end <= entry.range.begin) return;
    fail_argument("{}[{}] overlaps {}[{}] in memory", earlier->argument, earlier->index, entry.argument, entry.index);
  };
  for (const Entry& entry : entries) {
    check_after(last_written, entry);
    if (entry.written) check_after(last_read, entry);
    const Entry*& last = entry.written ? last_written : last_read;
    if (last == nullptr || last->range.end < entry.range.end) last = &entry;
  }
}

}  // namespace gradstep
