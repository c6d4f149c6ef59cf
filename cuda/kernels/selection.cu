// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The largest elements of an array's parts, by magnitude. A magnitude's bits, as an integer, are in the order of the
// magnitudes; the k-th largest such key is found digit after digit, from the highest on, by histograms over all parts
// at once. Then each chunk counts what it has above the key, a scan says where it may write, and it writes in order.
#include <algorithm>
#include <vector>

#include "device/view.h"
#include "operations.h"
#include "runtime/launch.h"
#include "runtime/table.h"

namespace gradstep::cuda {

namespace {

using Counter = unsigned long long;

constexpr int kDigitBits = 11;
constexpr int kBins = 1 << kDigitBits;
constexpr int kThreads = 256;

/// The bits of a magnitude.
template <class T>
struct KeyOf;
template <>
struct KeyOf<float> {
  using Bits = std::uint32_t;
  static constexpr int kBits = 31;
  static constexpr std::uint64_t kInfinity = 0x7f800000U;
};
template <>
struct KeyOf<double> {
  using Bits = std::uint64_t;
  static constexpr int kBits = 63;
  static constexpr std::uint64_t kInfinity = 0x7ff0000000000000U;
};

template <class T>
GRADSTEP_DEVICE std::uint64_t key_at(const Block& block, const T* data, std::int64_t i) {
  using Bits = typename KeyOf<T>::Bits;
  constexpr Bits kMagnitude = static_cast<Bits>(~Bits{0}) >> 1;
  return block.load(reinterpret_cast<const Bits*>(data) + i) & kMagnitude;
}

template <class T>
GRADSTEP_DEVICE bool is_nan(std::uint64_t key) {
  return key > KeyOf<T>::kInfinity;
}

/// A part of the data.
struct Part {
  std::int64_t first = 0;
  std::int64_t count = 0;        ///< how many are wanted
  std::int64_t first_place = 0;  ///< of the first in the selection
  std::int64_t first_chunk = 0;
  std::int64_t chunks = 0;
};

/// What is known of a part's k-th largest key.
struct Cut {
  std::uint64_t key = 0;   ///< its digits so far
  std::int64_t equal = 0;  ///< of those that share them, how many are wanted
};

/// How many elements of a chunk are above the cut, and how many at it; then, how many before the chunk in its part.
struct Found {
  std::int64_t above = 0;
  std::int64_t equal = 0;
};

/// Zeros in the place of NaNs.
template <class T>
struct ZeroNans {
  static constexpr const char* kName = "zero_nans";
  static constexpr int kThreads = cuda::kThreads;

  const Chunk* chunks;
  const Part* parts;
  T* data;
  T* also;  ///< may be NULL
  Counter* found;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(chunks + block.index());
    const Part& part = *block.checked(parts + chunk.item);
    if (part.count == 0) return;
    const std::int64_t first = part.first + chunk.offset;
    for (std::int64_t i = first + block.thread(); i < first + chunk.length; i += kThreads) {
      if (!is_nan<T>(key_at(block, data, i))) continue;
      block.store(data + i, T{0});
      if (also != nullptr) block.store(also + i, T{0});
      if (found != nullptr) block.atomic_add(found, Counter{1});
    }
  }
};

/// Of the elements that share a part's digits so far, how many have which next digit.
template <class T>
struct CountDigits {
  static constexpr const char* kName = "count_digits";
  static constexpr int kThreads = cuda::kThreads;
  struct Shared {
    unsigned counts[kBins];
  };

  const Chunk* chunks;
  const Part* parts;
  const T* data;
  const Cut* cuts;
  unsigned* counts;  ///< [part][bin]
  int top;           ///< bits [shift, top) are the digit
  int shift;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const Chunk chunk = block.load(chunks + block.index());
    const Part& part = *block.checked(parts + chunk.item);
    if (part.count == 0) return;
    for (int b = block.thread(); b < kBins; b += kThreads) shared.counts[b] = 0;
    block.sync();
    const std::uint64_t prefix = block.checked(cuts + chunk.item)->key >> top;
    const std::uint64_t digit = (std::uint64_t{1} << (top - shift)) - 1;
    const std::int64_t first = part.first + chunk.offset;
    for (std::int64_t i = first + block.thread(); i < first + chunk.length; i += kThreads) {
      const std::uint64_t key = key_at(block, data, i);
      if (key >> top == prefix) block.atomic_add_shared(&shared.counts[(key >> shift) & digit], 1U);
    }
    block.sync();
    unsigned* own = counts + static_cast<std::int64_t>(chunk.item) * kBins;
    for (int b = block.thread(); b < kBins; b += kThreads) {
      if (shared.counts[b] != 0) block.atomic_add(own + b, shared.counts[b]);
    }
  }
};

/// The digit in which the k-th largest key lies; a block has a part. Its counts are zeros again afterwards.
struct ChooseDigit {
  static constexpr const char* kName = "choose_digit";
  static constexpr int kThreads = cuda::kThreads;
  static constexpr int kOwn = kBins / kThreads;
  struct Shared {
    std::int64_t sums[kThreads];
    unsigned counts[kBins];
  };

  const Part* parts;
  Cut* cuts;
  unsigned* counts;
  int bins;
  int shift;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    if (block.checked(parts + block.index())->count == 0) return;
    unsigned* own = counts + block.index() * kBins;
    std::int64_t sum = 0;
    for (int b = block.thread() * kOwn; b < (block.thread() + 1) * kOwn; ++b) {
      shared.counts[b] = block.load(own + b);
      block.store(own + b, 0U);
      sum += shared.counts[b];
    }
    shared.sums[block.thread()] = sum;
    block.sync();
    if (block.thread() != 0) return;
    Cut& cut = *block.checked(cuts + block.index());
    std::int64_t left = cut.equal;
    int group = (bins - 1) / kOwn;
    while (shared.sums[group] < left) left -= shared.sums[group--];
    int bin = group * kOwn + kOwn - 1;
    while (shared.counts[bin] < static_cast<std::uint64_t>(left)) left -= shared.counts[bin--];
    cut.key |= static_cast<std::uint64_t>(bin) << shift;
    cut.equal = left;
  }
};

/// How many of a chunk's elements are above the cut of its part, and at it.
template <class T>
struct CountChosen {
  static constexpr const char* kName = "count_chosen";
  static constexpr int kThreads = cuda::kThreads;
  using Shared = Found;

  const Chunk* chunks;
  const Part* parts;
  const T* data;
  const Cut* cuts;
  Found* found;  ///< by chunk

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    if (block.thread() == 0) shared = {};
    block.sync();
    const Chunk chunk = block.load(chunks + block.index());
    const Part& part = *block.checked(parts + chunk.item);
    const std::uint64_t cut = block.checked(cuts + chunk.item)->key;
    const std::int64_t first = part.first + chunk.offset;
    Counter above = 0;
    Counter equal = 0;
    for (std::int64_t i = first + block.thread(); i < first + chunk.length && part.count > 0; i += kThreads) {
      const std::uint64_t key = key_at(block, data, i);
      above += key > cut ? 1U : 0U;
      equal += key == cut ? 1U : 0U;
    }
    block.atomic_add_shared(reinterpret_cast<Counter*>(&shared.above), above);
    block.atomic_add_shared(reinterpret_cast<Counter*>(&shared.equal), equal);
    block.sync();
    if (block.thread() == 0) block.store(found + block.index(), shared);
  }
};

/// From each chunk's own counts to those before it in its part; a block has a part.
struct ScanChosen {
  static constexpr const char* kName = "scan_chosen";
  static constexpr int kThreads = cuda::kThreads;
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
  static constexpr int kThreads = cuda::kThreads;
  static constexpr int kWarps = kThreads / kWarp;
  struct Shared {
    std::uint32_t above[kWarps];
    std::uint32_t equal[kWarps];
  };

  const Chunk* chunks;
  const Part* parts;
  const T* data;
  const Cut* cuts;
  const Found* found;
  std::int32_t* indices;
  T* values;
  Counter* nans;  ///< may be NULL

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const Chunk chunk = block.load(chunks + block.index());
    const Part& part = *block.checked(parts + chunk.item);
    if (part.count == 0) return;
    const Cut cut = block.load(cuts + chunk.item);
    Found before = block.load(found + block.index());
    const std::int64_t first = part.first + chunk.offset;
    const int warp = block.thread() / kWarp;
    const std::uint32_t below = (1U << block.thread() % kWarp) - 1;
    for (std::int64_t tile = 0; tile < chunk.length; tile += kThreads) {
      const std::int64_t i = first + tile + block.thread();
      const bool exists = tile + block.thread() < chunk.length;
      const std::uint64_t key = exists ? key_at(block, data, i) : 0;
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
        const std::int64_t of_warp_above = popcount(shared.above[w]);
        const std::int64_t of_warp_equal = popcount(shared.equal[w]);
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
                             std::uint64_t key) const {
    const std::int64_t taken = own.equal < cut.equal ? own.equal : cut.equal;
    const std::int64_t place = part.first_place + own.above + taken;
    block.store(indices + place, static_cast<std::int32_t>(i));
    block.store(values + place, block.load(data + i));
    if (nans != nullptr && is_nan<T>(key)) block.atomic_add(nans, Counter{1});
  }

  GRADSTEP_DEVICE static std::int64_t popcount(std::uint32_t bits) {
    std::int64_t count = 0;
    for (; bits != 0; bits &= bits - 1) ++count;
    return count;
  }
};

/// counts[q] += how many elements of piece q reach the key; NaNs do.
template <class T>
struct CountReaching {
  static constexpr const char* kName = "count_reaching";
  static constexpr int kThreads = cuda::kThreads;

  const T* data;
  std::int64_t size;
  std::int64_t pieces;
  std::uint64_t key;
  Counter* counts;
  Counter* nans;  ///< may be NULL

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t begin = block.index() * kChunk;
    const std::int64_t end = begin + kChunk < size ? begin + kChunk : size;
    std::int64_t q = 0;
    std::int64_t piece_end = 0;
    Counter found = 0;
    for (std::int64_t i = begin + block.thread(); i < end; i += kThreads) {
      if (i >= piece_end) {
        flush(block, q, found);
        q = piece_of(i);
        piece_end = size * (q + 1) / pieces;
      }
      const std::uint64_t own = key_at(block, data, i);
      found += own >= key ? 1U : 0U;
      if (nans != nullptr && is_nan<T>(own)) block.atomic_add(nans, Counter{1});
    }
    flush(block, q, found);
  }

  GRADSTEP_DEVICE void flush(const Block& block, std::int64_t q, Counter& found) const {
    if (found > 0) block.atomic_add(counts + q, found);
    found = 0;
  }

  /// Piece q begins at element size q / pieces.
  GRADSTEP_DEVICE std::int64_t piece_of(std::int64_t i) const {
    std::int64_t q = i * pieces / size;
    while (q + 1 < pieces && size * (q + 1) / pieces <= i) ++q;
    return q;
  }
};

struct Form {
  Table parts_table;
  ChunkTable chunks;
  WorkList work;
  std::vector<Part> parts;
  std::vector<SelectPart> cut_for;  // what work and parts were made of
  Table cuts_table;
  ScratchBuffer cuts;
  ScratchBuffer counts;
  ScratchBuffer found;
};

bool same_parts(const std::vector<SelectPart>& a, std::span<const SelectPart> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const SelectPart& x, const SelectPart& y) { return x.size == y.size && x.count == y.count; });
}

/// What the kernels of one selection share.
template <class T>
struct Run {
  CudaQueue& queue;
  Form& form;
  T* data;
  Chunks chunks;
  const Part* parts = nullptr;
  Cut* cuts = nullptr;

  Run(const SelectPlan& plan, std::span<const SelectPart> cut_for, CudaQueue& in_queue)
      : queue(in_queue), form(plan.prepared.get<Form>()), data(static_cast<T*>(plan.data.data)) {
    if (!same_parts(form.cut_for, cut_for)) divide(cut_for);
    form.parts_table.begin(queue);
    const auto section = form.parts_table.add(form.parts);
    form.parts_table.send();
    parts = form.parts_table.at(section);
    chunks = form.chunks.of(form.work, queue);
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
           ZeroNans<T>{chunks.chunks, parts, data, static_cast<T*>(rule.also.data),
                       reinterpret_cast<Counter*>(rule.found)});
  }

  void set_cuts(const std::vector<Cut>& to) const {
    form.cuts_table.begin(queue);
    const auto section = form.cuts_table.add(to);
    form.cuts_table.send();
    queue.copy(cuts, form.cuts_table.at(section), to.size() * sizeof(Cut));
  }

  void find_cuts() const {
    const auto count = static_cast<std::int64_t>(form.parts.size());
    auto* counts = form.counts.of<unsigned>(queue, count * kBins, /*zeroed=*/true);
    for (int top = KeyOf<T>::kBits; top > 0;) {
      const int shift = top > kDigitBits ? top - kDigitBits : 0;
      launch(queue, chunks.count, CountDigits<T>{chunks.chunks, parts, data, cuts, counts, top, shift});
      launch(queue, count, ChooseDigit{parts, cuts, counts, 1 << (top - shift), shift});
      top = shift;
    }
  }

  void write(const Selection& to, std::int64_t* nans) const {
    auto* found = form.found.of<Found>(queue, chunks.count);
    launch(queue, chunks.count, CountChosen<T>{chunks.chunks, parts, data, cuts, found});
    launch(queue, static_cast<std::int64_t>(form.parts.size()), ScanChosen{parts, found});
    launch(queue, chunks.count,
           WriteChosen<T>{chunks.chunks, parts, data, cuts, found, to.indices, static_cast<T*>(to.values),
                          reinterpret_cast<Counter*>(nans)});
  }
};

template <class T>
void select_largest_of(const SelectPlan& plan, const Selection& to, CudaQueue& queue) {
  const Run<T> run(plan, plan.parts, queue);
  run.zero_nans(plan.nans);
  std::vector<Cut> cuts;
  for (const SelectPart& part : plan.parts) cuts.push_back({0, part.count});
  run.set_cuts(cuts);
  run.find_cuts();
  run.write(to, plan.nans.zero ? nullptr : plan.nans.found);
}

/// The bits of a threshold; zeros do not reach any.
template <class T>
std::uint64_t key_of(double threshold) {
  const std::uint64_t key = __builtin_bit_cast(typename KeyOf<T>::Bits, static_cast<T>(threshold));
  return key > 0 ? key : 1;
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
         CountReaching<T>{run.data, plan.data.size, pieces, key_of<T>(plan.threshold),
                          reinterpret_cast<Counter*>(counts), nans});
}

template <class T>
void select_reaching_of(const SelectPlan& plan, const Selection& to, CudaQueue& queue) {
  const SelectPart all = whole(plan);
  const Run<T> run(plan, {&all, 1}, queue);
  run.set_cuts({{key_of<T>(plan.threshold) - 1, 0}});
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
