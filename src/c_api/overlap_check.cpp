// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/overlap_check.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/shape.h"

namespace gradstep {

namespace {

/// Two arrays of one shape whose elements lie in the same memory, each in the other's place.
bool same_place(const Array& a, const Array& b) {
  return a.data == b.data && a.dtype == b.dtype && a.ndim == b.ndim &&
         std::equal(a.strides, a.strides + a.ndim, b.strides);
}

/// How an array lies over lines of `period` bytes: in each that it touches from `begin` on, `length` bytes.
struct Stripe {
  std::int64_t begin = 0;
  std::int64_t length = 0;
};

/// Nothing if it does not lie so: a stride is neither a multiple of the period, nor of steps within a line.
std::optional<Stripe> stripe_of(const Array& array, std::int64_t period) {
  const std::int64_t element = size_of(array.dtype);
  std::int64_t first = 0;  // of a line, from the array's first element
  std::int64_t length = element;
  for (std::int32_t d = 0; d < array.ndim; ++d) {
    const std::int64_t stride = array.strides[d] * element;
    if (array.shape[d] == 1 || stride % period == 0) continue;
    const std::int64_t extent = (array.shape[d] - 1) * stride;
    first += std::min<std::int64_t>(extent, 0);
    length += std::abs(extent);
  }
  if (length > period) return std::nullopt;
  const auto begin =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(array.data) % static_cast<std::uintptr_t>(period));
  return Stripe{((begin + first) % period + period) % period, length};
}

/// Whether arrays whose bytes interleave are certainly apart, as columns of one matrix are. Some that are apart in
/// other ways are not found to be so, compact ones never.
bool lie_beside_each_other(const Array& a, const Array& b) {
  if (a.contiguous() || b.contiguous()) return false;
  for (const Array* lines : {&a, &b}) {
    for (std::int32_t d = 0; d < lines->ndim; ++d) {
      const std::int64_t period = std::abs(lines->strides[d]) * size_of(lines->dtype);
      if (period == 0) continue;
      const auto of_a = stripe_of(a, period);
      const auto of_b = stripe_of(b, period);
      if (!of_a || !of_b) continue;
      const std::int64_t from_a = (of_b->begin - of_a->begin + period) % period;
      const std::int64_t from_b = (of_a->begin - of_b->begin + period) % period;
      if (from_a >= of_a->length && from_b >= of_b->length) return true;
    }
  }
  return false;
}

}  // namespace

void check_overlap(std::span<const Array> params, std::span<const Array> grads, std::span<const Array> updates) {
  struct Entry {
    ByteRange range;
    const Array* array;
    const char* argument;
    std::size_t index;
    bool written;
  };
  std::vector<Entry> entries;
  entries.reserve(params.size() + grads.size() + updates.size());
  const auto collect = [&](std::span<const Array> list, std::size_t i, const char* argument, bool written) {
    const ByteRange range = byte_range(list[i]);
    if (range.begin != range.end) entries.push_back({range, &list[i], argument, i, written});
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

  // A sweep by address. Buffers that are only read may share memory, all of them if they like: of compact ones that
  // which ends last stands for all.
  const Entry* last_read = nullptr;
  std::vector<const Entry*> open;  // the others that have not ended
  const auto check_after = [](const Entry& earlier, const Entry& entry) {
    if (!earlier.written && !entry.written) return;
    if (earlier.range.end <= entry.range.begin || lie_beside_each_other(*earlier.array, *entry.array)) return;
    fail_argument("{}[{}] overlaps {}[{}] in memory", earlier.argument, earlier.index, entry.argument, entry.index);
  };
  for (const Entry& entry : entries) {
    std::erase_if(open, [&](const Entry* earlier) { return earlier->range.end <= entry.range.begin; });
    for (const Entry* earlier : open) check_after(*earlier, entry);
    if (last_read != nullptr) check_after(*last_read, entry);
    if (entry.written || !entry.array->contiguous()) {
      open.push_back(&entry);
    } else if (last_read == nullptr || last_read->range.end < entry.range.end) {
      last_read = &entry;
    }
  }
}

}  // namespace gradstep
