// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The k largest of n are found in three steps. A bound that a few more than k elements reach is guessed from a sample,
// or taken from a histogram of all elements' leading bits where the guess fails. The elements that reach it are the
// candidates; reading all of them costs two passes over the data at the speed of memory. The k-th largest candidate is
// found by a radix histogram, digit after digit. The guess decides how long it takes, never what comes out.
#include "cpu/selection.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "core/held_bytes.h"
#include "kernels/magnitude.h"

namespace gradstep::cpu {

namespace {

constexpr int kDigitBits = 11;
constexpr std::int64_t kSampleSize = 32 * 1024;
/// Below this a histogram costs no more than a sample.
constexpr std::int64_t kSampledElements = 1 << 18;

template <class T>
using Magnitude = kernels::Magnitude<T>;

int key_bits(const Array& data) {
  return data.dtype == DType::f64 ? Magnitude<double>::kBits : Magnitude<float>::kBits;
}

template <class T>
std::uint64_t key_in(const Array& data, std::int64_t i) {
  return Magnitude<T>::key(std::bit_cast<kernels::BitsOf<T>>(static_cast<const T*>(data.data)[i]));
}

std::uint64_t key_at(const Array& data, std::int64_t i) {
  return data.dtype == DType::f64 ? key_in<double>(data, i) : key_in<float>(data, i);
}

std::uint64_t key_of(const Array& data, double threshold) {
  return data.dtype == DType::f64 ? Magnitude<double>::key_of_threshold(threshold)
                                  : Magnitude<float>::key_of_threshold(threshold);
}

/// Grows only, so that what is as large as before costs nothing.
template <class T>
T* room(std::vector<T>& numbers, std::int64_t count) {
  if (numbers.size() < static_cast<std::size_t>(count)) numbers.resize(static_cast<std::size_t>(count));
  return numbers.data();
}

/// body(chunk, begin, length) for every chunk of `elements`.
template <class Body>
void for_each_chunk(Context& context, std::int64_t elements, Body body) {
  const std::int64_t chunks = chunks_of(elements);
  const auto run = [&](std::int64_t c) {
    const std::int64_t begin = c * kChunk;
    body(static_cast<std::size_t>(c), begin, std::min(kChunk, elements - begin));
  };
  if (chunks <= 2) {
    for (std::int64_t c = 0; c < chunks; ++c) run(c);
  } else {
    context.parallel_for(chunks, run);
  }
}

struct Cut {
  std::uint64_t key = 0;   ///< of the last element that is selected
  std::int64_t equal = 0;  ///< how many with that key are
};

}  // namespace

/// Selects from one array after the other.
class Selector {
 public:
  /// Writes the `count` largest of `data`, whose first element has index `first`.
  void write_largest(Context& context, const Loops& loops, const Array& data, std::int64_t count, std::int32_t first,
                     std::int32_t* indices) {
    if (count <= 0) return;
    std::uint64_t bound = data.size >= kSampledElements ? guessed_bound(data, count) : 0;
    std::int64_t reached = bound > 0 ? count_above(context, loops, data, bound) : 0;
    if (reached < count) {
      bound = counted_bound(context, loops, data, count);
      reached = count_above(context, loops, data, bound);
    }
    const std::int32_t* candidates = find_above(context, loops, data, bound);
    std::uint64_t* keys = room(keys_, reached);
    for (std::int64_t i = 0; i < reached; ++i) keys[i] = key_at(data, candidates[i]);
    Cut cut = radix_cut(reached, count, key_bits(data));
    for (std::int64_t i = 0; i < reached; ++i) {
      const std::uint64_t key = key_at(data, candidates[i]);
      if (key > cut.key || (key == cut.key && cut.equal-- > 0)) *indices++ = first + candidates[i];
    }
  }

  void find(Context& context, const Loops& loops, const Array& data, double threshold) {
    const std::uint64_t key = key_of(data, threshold);
    found_count_ = count_above(context, loops, data, key);
    find_above(context, loops, data, key);
    has_found_ = true;
  }
  bool has_found() const { return has_found_; }
  std::span<const std::int32_t> found() const { return {candidates_.data(), static_cast<std::size_t>(found_count_)}; }
  void forget() { has_found_ = false; }
  std::size_t bytes() const { return held_bytes(offsets_, candidates_, keys_, counts_); }

 private:
  /// offsets_[c] = how many elements of all chunks before c reach the key; returns their total.
  std::int64_t count_above(Context& context, const Loops& loops, const Array& data, std::uint64_t key) {
    const std::int64_t chunks = chunks_of(data.size);
    std::int64_t* offsets = room(offsets_, chunks + 1);
    offsets[0] = 0;
    for_each_chunk(context, data.size, [&](std::size_t c, std::int64_t begin, std::int64_t length) {
      offsets[c + 1] = loops.count_above(data, begin, length, key);
    });
    for (std::int64_t c = 1; c <= chunks; ++c) offsets[c] += offsets[c - 1];
    return offsets[chunks];
  }

  /// What count_above() has counted.
  const std::int32_t* find_above(Context& context, const Loops& loops, const Array& data, std::uint64_t key) {
    const std::int64_t* offsets = offsets_.data();
    std::int32_t* indices = room(candidates_, offsets[chunks_of(data.size)]);
    for_each_chunk(context, data.size, [&](std::size_t c, std::int64_t begin, std::int64_t length) {
      if (offsets[c] == offsets[c + 1]) return;
      loops.find_above(data, begin, length, key, /*first=*/0, indices + offsets[c]);
    });
    return indices;
  }

  /// A key that about a quarter more than `count` elements reach, if the sample is not misleading.
  std::uint64_t guessed_bound(const Array& data, std::int64_t count) {
    const std::int64_t stride = data.size / kSampleSize;
    std::uint64_t* sample = room(keys_, kSampleSize);
    for (std::int64_t i = 0; i < kSampleSize; ++i) sample[i] = key_at(data, i * stride);
    const double expected = static_cast<double>(count) / static_cast<double>(data.size) * kSampleSize;
    const auto rank = static_cast<std::int64_t>(expected + 4 * std::sqrt(expected) + 8);
    if (rank >= kSampleSize) return 0;
    std::nth_element(sample, sample + rank, sample + kSampleSize, std::greater<>());
    return sample[rank];
  }

  /// The largest multiple of a leading digit that at least `count` elements reach.
  std::uint64_t counted_bound(Context& context, const Loops& loops, const Array& data, std::int64_t count) {
    constexpr std::int64_t kParts = 16;
    constexpr std::int64_t kBins = std::int64_t{1} << kDigitBits;
    const int shift = key_bits(data) - kDigitBits;
    std::int64_t* counts = room(counts_, kBins * kParts);
    std::fill_n(counts, kBins * kParts, 0);
    const std::int64_t part = (data.size + kParts - 1) / kParts;
    context.parallel_for(kParts, [&](std::int64_t p) {
      const std::int64_t begin = std::min(p * part, data.size);
      const std::int64_t length = std::min(part, data.size - begin);
      loops.histogram(data, begin, length, shift, counts + p * kBins);
    });
    std::int64_t reached = 0;
    std::int64_t bin = kBins;
    while (bin > 0 && reached < count) {
      --bin;
      for (std::int64_t p = 0; p < kParts; ++p) reached += counts[p * kBins + bin];
    }
    return static_cast<std::uint64_t>(bin) << shift;
  }

  /// The `count`-th largest of the first `left` of keys_, which do not stay.
  Cut radix_cut(std::int64_t left, std::int64_t count, int bits) {
    Cut cut{0, count};
    std::uint64_t* keys = keys_.data();
    for (int top = bits; top > 0 && left > 0;) {
      const int shift = std::max(top - kDigitBits, 0);
      const std::int64_t bins = std::int64_t{1} << (top - shift);
      const auto digit = [&](std::uint64_t key) { return static_cast<std::int64_t>(key >> shift) & (bins - 1); };
      std::int64_t* counts = room(counts_, bins);
      std::fill_n(counts, bins, 0);
      for (std::int64_t i = 0; i < left; ++i) ++counts[digit(keys[i])];
      std::int64_t bin = bins - 1;
      while (counts[bin] < cut.equal) cut.equal -= counts[bin--];
      left = std::remove_if(keys, keys + left, [&](std::uint64_t key) { return digit(key) != bin; }) - keys;
      cut.key |= static_cast<std::uint64_t>(bin) << shift;
      top = shift;
    }
    return cut;
  }

  std::vector<std::int64_t> offsets_;
  std::vector<std::int32_t> candidates_;
  std::vector<std::uint64_t> keys_;
  std::vector<std::int64_t> counts_;  // of digits
  std::int64_t found_count_ = 0;
  bool has_found_ = false;
};

SelectionScratch::SelectionScratch() = default;
SelectionScratch::~SelectionScratch() = default;

std::unique_ptr<Selector> SelectionScratch::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::make_unique<Selector>();
  std::unique_ptr<Selector> selector = std::move(free_.back());
  free_.pop_back();
  return selector;
}

void SelectionScratch::give_back(std::unique_ptr<Selector> selector) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(selector));
}

namespace {

template <class Body>
void with_numbers(const Array& data, Body body) {
  if (data.dtype == DType::f64) return body(static_cast<double*>(data.data));
  body(static_cast<float*>(data.data));
}

void zero_at(const Array& data, std::int32_t index) {
  if (data.data == nullptr) return;
  with_numbers(data, [&]<class T>(T* numbers) { numbers[index] = T{0}; });
}

/// Follows the rule for what was selected; false if that is to be selected again.
bool settle_nans(const SelectPlan& plan, std::span<const std::int32_t> selected) {
  if (!plan.nans.zero && plan.nans.found == nullptr) return true;
  std::int64_t nans = 0;
  with_numbers(plan.data, [&]<class T>(T* numbers) {
    for (const std::int32_t index : selected) {
      if (!std::isnan(numbers[index])) continue;
      ++nans;
      if (!plan.nans.zero) continue;
      numbers[index] = T{0};
      zero_at(plan.nans.also, index);
    }
  });
  if (plan.nans.found != nullptr) *plan.nans.found += nans;
  return nans == 0 || !plan.nans.zero;
}

void take_values(const Array& data, std::span<const std::int32_t> indices, void* values) {
  with_numbers(data, [&]<class T>(const T* numbers) {
    T* to = static_cast<T*>(values);
    for (std::size_t j = 0; j < indices.size(); ++j) to[j] = numbers[indices[j]];
  });
}

std::span<const std::int32_t> indices_of(const SparseList& list) {
  return {list.indices, static_cast<std::size_t>(list.present != nullptr ? *list.present : list.count)};
}

void count_ascending(std::span<const std::int32_t> indices, std::int64_t elements, std::int64_t pieces,
                     std::int64_t* counts) {
  auto begin = indices.begin();
  for (std::int64_t q = 0; q < pieces; ++q) {
    const auto end = std::lower_bound(begin, indices.end(), elements * (q + 1) / pieces);
    counts[q] = end - begin;
    begin = end;
  }
}

}  // namespace

void select_largest(Context& context, const Loops& loops, SelectionScratch& scratch, const SelectPlan& plan,
                    const Selection& to) {
  std::unique_ptr<Selector> selector = scratch.take();
  std::int64_t selected = 0;
  do {
    std::int64_t first = 0;
    selected = 0;
    for (const SelectPart& cut : plan.parts) {
      const Array part = part_of(plan.data, first, cut.size);
      selector->write_largest(context, loops, part, cut.count, static_cast<std::int32_t>(first), to.indices + selected);
      selected += cut.count;
      first += cut.size;
    }
  } while (!settle_nans(plan, {to.indices, static_cast<std::size_t>(selected)}));
  take_values(plan.data, {to.indices, static_cast<std::size_t>(selected)}, to.values);
  scratch.give_back(std::move(selector));
}

void count_reaching(Context& context, const Loops& loops, const SelectPlan& plan, std::int64_t pieces,
                    std::int64_t* counts) {
  auto& selector = plan.prepared.get<Selector>();  // what was counted is found
  do {
    selector.find(context, loops, plan.data, plan.threshold);
  } while (!settle_nans(plan, selector.found()));
  count_ascending(selector.found(), plan.data.size, pieces, counts);
}

void select_reaching(Context& context, const Loops& loops, const SelectPlan& plan, const Selection& to) {
  auto& selector = plan.prepared.get<Selector>();
  if (!selector.has_found()) selector.find(context, loops, plan.data, plan.threshold);
  std::copy(selector.found().begin(), selector.found().end(), to.indices);
  take_values(plan.data, selector.found(), to.values);
  selector.forget();
}

void count_pieces(const SparseList& list, std::int64_t elements, std::int64_t pieces, std::int64_t* counts) {
  count_ascending(indices_of(list), elements, pieces, counts);
}

void take(const Array& data, const SparseList& list, void* values) { take_values(data, indices_of(list), values); }

void put(const Array& data, const SparseList& list, bool add) {
  const std::span<const std::int32_t> indices = indices_of(list);
  with_numbers(data, [&]<class T>(T* numbers) {
    const T* values = static_cast<const T*>(list.values);
    if (values == nullptr) {
      for (const std::int32_t index : indices) numbers[index] = T{0};
    } else if (add) {
      for (std::size_t j = 0; j < indices.size(); ++j) numbers[indices[j]] += values[j];
    } else {
      for (std::size_t j = 0; j < indices.size(); ++j) numbers[indices[j]] = values[j];
    }
  });
}

// A chunk has at most as many different indices as the lists have entries before its end, less those before its
// beginning: that is where it may write.
void sum_sparse(Context& context, const Loops& loops, const SparseSum& job) {
  struct Written {
    std::int64_t offset = 0;
    std::int64_t count = 0;
  };
  const std::int64_t elements = job.end - job.begin;
  const std::int64_t chunks = chunks_of(elements);
  Written* written = room(job.prepared.get<std::vector<Written>>(), chunks);
  for_each_chunk(context, elements, [&](std::size_t c, std::int64_t begin, std::int64_t length) {
    const std::int64_t first = job.begin + begin;
    std::int64_t offset = 0;
    for (const SparseList& list : job.lists) {
      const auto bound = static_cast<std::int32_t>(first);
      offset += std::lower_bound(list.indices, list.indices + list.count, bound) - list.indices;
    }
    written[c] = {offset, loops.sum_sparse(job, first, first + length, job.touched + offset)};
  });
  std::int64_t done = 0;
  for (const Written& part : std::span(written, static_cast<std::size_t>(chunks))) {
    if (part.offset != done) std::copy_n(job.touched + part.offset, part.count, job.touched + done);
    done += part.count;
  }
  *job.touched_count = done;
}

}  // namespace gradstep::cpu
