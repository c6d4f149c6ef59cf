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

namespace gradstep::cpu {

namespace {

constexpr int kDigitBits = 11;
constexpr std::int64_t kSampleSize = 32 * 1024;
/// Below this a histogram costs no more than a sample.
constexpr std::int64_t kSampledElements = 1 << 18;

int key_bits(const Array& data) { return data.dtype == DType::f64 ? 63 : 31; }

std::uint64_t key_at(const Array& data, std::int64_t i) {
  if (data.dtype == DType::f64) return std::bit_cast<std::uint64_t>(static_cast<const double*>(data.data)[i]) << 1 >> 1;
  return std::bit_cast<std::uint32_t>(static_cast<const float*>(data.data)[i]) & 0x7fffffffU;
}

std::uint64_t key_of(const Array& data, double threshold) {
  const std::uint64_t key = data.dtype == DType::f64 ? std::bit_cast<std::uint64_t>(threshold)
                                                     : std::bit_cast<std::uint32_t>(static_cast<float>(threshold));
  return std::max<std::uint64_t>(key, 1);  // zeros are never selected
}

std::int64_t chunk_count(std::int64_t elements) { return (elements + kChunk - 1) / kChunk; }

/// body(chunk, begin, length) for every chunk of `elements`.
template <class Body>
void for_each_chunk(Context& context, std::int64_t elements, Body body) {
  const std::int64_t chunks = chunk_count(elements);
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

/// offsets[c] = how many elements of all chunks before c reach the key; the last one is their total.
std::vector<std::int64_t> count_above(Context& context, const Loops& loops, const Array& data, std::uint64_t key) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(chunk_count(data.size)) + 1, 0);
  for_each_chunk(context, data.size, [&](std::size_t c, std::int64_t begin, std::int64_t length) {
    offsets[c + 1] = loops.count_above(data, begin, length, key);
  });
  for (std::size_t c = 1; c < offsets.size(); ++c) offsets[c] += offsets[c - 1];
  return offsets;
}

void find_above(Context& context, const Loops& loops, const SelectJob& job, std::uint64_t key,
                const std::vector<std::int64_t>& offsets, std::vector<std::int32_t>& indices) {
  const std::size_t before = indices.size();
  indices.resize(before + static_cast<std::size_t>(offsets.back()));
  for_each_chunk(context, job.data.size, [&](std::size_t c, std::int64_t begin, std::int64_t length) {
    if (offsets[c] == offsets[c + 1]) return;
    loops.find_above(job.data, begin, length, key, job.first, indices.data() + before + offsets[c]);
  });
}

/// A key that about a quarter more than `count` elements reach, if the sample is not misleading.
std::uint64_t guessed_bound(const Array& data, std::int64_t count) {
  const std::int64_t stride = data.size / kSampleSize;
  std::vector<std::uint64_t> sample;
  sample.reserve(static_cast<std::size_t>(kSampleSize));
  for (std::int64_t i = 0; i < kSampleSize; ++i) sample.push_back(key_at(data, i * stride));
  const double expected = static_cast<double>(count) / static_cast<double>(data.size) * kSampleSize;
  const auto rank = static_cast<std::int64_t>(expected + 4 * std::sqrt(expected) + 8);
  if (rank >= kSampleSize) return 0;
  const auto place = sample.begin() + rank;
  std::nth_element(sample.begin(), place, sample.end(), std::greater<>());
  return *place;
}

/// The largest multiple of a leading digit that at least `count` elements reach.
std::uint64_t counted_bound(Context& context, const Loops& loops, const Array& data, std::int64_t count) {
  constexpr std::int64_t kParts = 16;
  constexpr std::size_t kBins = std::size_t{1} << kDigitBits;
  const int shift = key_bits(data) - kDigitBits;
  std::vector<std::int64_t> counts(kBins * kParts, 0);
  const std::int64_t part = (data.size + kParts - 1) / kParts;
  context.parallel_for(kParts, [&](std::int64_t p) {
    const std::int64_t begin = std::min(p * part, data.size);
    const std::int64_t length = std::min(part, data.size - begin);
    loops.histogram(data, begin, length, shift, counts.data() + static_cast<std::size_t>(p) * kBins);
  });
  std::int64_t reached = 0;
  std::size_t bin = kBins;
  while (bin > 0 && reached < count) {
    --bin;
    for (std::int64_t p = 0; p < kParts; ++p) reached += counts[static_cast<std::size_t>(p) * kBins + bin];
  }
  return static_cast<std::uint64_t>(bin) << shift;
}

struct Cut {
  std::uint64_t key = 0;   ///< of the last element that is selected
  std::int64_t equal = 0;  ///< how many with that key are
};

/// The `count`-th largest of the keys.
Cut radix_cut(std::vector<std::uint64_t> keys, std::int64_t count, int bits) {
  Cut cut{0, count};
  for (int top = bits; top > 0 && !keys.empty();) {
    const int shift = std::max(top - kDigitBits, 0);
    const auto digit = [&](std::uint64_t key) { return (key >> shift) & ((std::uint64_t{1} << (top - shift)) - 1); };
    std::vector<std::int64_t> counts(std::size_t{1} << (top - shift), 0);
    for (const std::uint64_t key : keys) ++counts[digit(key)];
    std::size_t bin = counts.size() - 1;
    while (counts[bin] < cut.equal) cut.equal -= counts[bin--];
    std::erase_if(keys, [&](std::uint64_t key) { return digit(key) != bin; });
    cut.key |= static_cast<std::uint64_t>(bin) << shift;
    top = shift;
  }
  return cut;
}

void select_largest(Context& context, const Loops& loops, const SelectJob& job, std::vector<std::int32_t>& indices) {
  const std::int64_t count = std::min(job.count, job.data.size);
  if (count <= 0) return;
  const std::size_t before = indices.size();
  std::uint64_t bound = job.data.size >= kSampledElements ? guessed_bound(job.data, count) : 0;
  std::vector<std::int64_t> offsets;
  if (bound > 0) offsets = count_above(context, loops, job.data, bound);
  if (bound == 0 || offsets.back() < count) {
    bound = counted_bound(context, loops, job.data, count);
    offsets = count_above(context, loops, job.data, bound);
  }
  find_above(context, loops, job, bound, offsets, indices);

  const auto candidates = indices.begin() + static_cast<std::ptrdiff_t>(before);
  const auto key = [&](std::int32_t index) { return key_at(job.data, index - job.first); };
  std::vector<std::uint64_t> keys;
  keys.reserve(indices.size() - before);
  for (auto i = candidates; i != indices.end(); ++i) keys.push_back(key(*i));
  Cut cut = radix_cut(std::move(keys), count, key_bits(job.data));
  indices.erase(std::remove_if(candidates, indices.end(),
                               [&](std::int32_t index) {
                                 const std::uint64_t k = key(index);
                                 return k < cut.key || (k == cut.key && cut.equal-- <= 0);
                               }),
                indices.end());
}

}  // namespace

void select_elements(Context& context, const Loops& loops, const SelectJob& job, std::vector<std::int32_t>& indices) {
  if (job.by_count) return select_largest(context, loops, job, indices);
  const std::uint64_t key = key_of(job.data, job.threshold);
  find_above(context, loops, job, key, count_above(context, loops, job.data, key), indices);
}

// A chunk has at most as many different indices as the lists have entries before its end, less those before its
// beginning: that is where it may write.
void sum_sparse_lists(Context& context, const Loops& loops, const SparseSum& job, std::vector<std::int32_t>& touched) {
  const std::int64_t elements = job.end - job.begin;
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(chunk_count(elements)) + 1, 0);
  std::vector<std::int64_t> counts(offsets.size(), 0);
  std::int64_t total = 0;
  for (const SparseList& list : job.lists) total += list.count;
  for_each_chunk(context, elements, [&](std::size_t c, std::int64_t begin, std::int64_t) {
    for (const SparseList& list : job.lists) {
      const auto bound = static_cast<std::int32_t>(job.begin + begin);
      offsets[c] += std::lower_bound(list.indices, list.indices + list.count, bound) - list.indices;
    }
  });
  touched.resize(static_cast<std::size_t>(total));
  for_each_chunk(context, elements, [&](std::size_t c, std::int64_t begin, std::int64_t length) {
    const std::int64_t first = job.begin + begin;
    counts[c] = loops.sum_sparse(job, first, first + length, touched.data() + offsets[c]);
  });
  std::size_t done = 0;
  for (std::size_t c = 0; c + 1 < counts.size(); ++c) {
    for (std::int64_t i = 0; i < counts[c]; ++i) touched[done++] = touched[static_cast<std::size_t>(offsets[c] + i)];
  }
  touched.resize(done);
}

}  // namespace gradstep::cpu
