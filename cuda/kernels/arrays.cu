// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "device/chunk.h"
#include "device/reduce.h"
#include "kernels/accumulate.h"
#include "kernels/adasum.h"
#include "operations.h"
#include "runtime/launch.h"
#include "runtime/table.h"

namespace gradstep::cuda {

namespace {

struct CopyPair {
  View destination;
  View source;
  kernels::TensorRounding rounding;
};

struct Copy {
  static constexpr const char* kName = "copy";
  static constexpr int kThreads = 256;

  const Chunk* chunks;
  const CopyPair* pairs;
  double multiplier;
  double divisor;
  const double* factor;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(chunks + block.index());
    const CopyPair pair = *block.checked(pairs + chunk.item);  // in registers: no store changes it
    const double times = factor != nullptr ? multiplier * block.load(factor) : multiplier;
    const bool is_scaled = times != 1 || divisor != 1;
    if (!is_scaled && pair.source.data != nullptr && pair.source.dtype == pair.destination.dtype) {
      keep_bits(block, pair, chunk);
    } else if (pair.source.dtype == DType::f64 || pair.destination.dtype == DType::f64) {
      scale<double>(block, pair, chunk, times, is_scaled);
    } else if (pair.rounding.is_random()) {
      round(block, pair, chunk, static_cast<float>(times));
    } else {
      scale<float>(block, pair, chunk, times, is_scaled);
    }
  }

  GRADSTEP_DEVICE void round(Block& block, const CopyPair& pair, const Chunk& chunk, float times) const {
    for_each_element(block, chunk, [&](std::int64_t i) {
      const float x = read<float>(block, pair.source, i) * times / static_cast<float>(divisor);
      const std::int64_t place = place_of(block, pair.destination, i);
      with_narrow_type(pair.destination.dtype, [&](auto stored) {
        using Stored = decltype(stored);
        if constexpr (std::is_same_v<Stored, float>) {
          block.store(at<float>(pair.destination, place), x);
        } else {
          block.store(at<Stored>(pair.destination, place), pair.rounding.round<Stored>(x, 0, i));
        }
      });
    });
  }

  GRADSTEP_DEVICE static void keep_bits(Block& block, const CopyPair& pair, const Chunk& chunk) {
    switch (size_of(pair.source.dtype)) {
      case 1:
        return move<std::uint8_t>(block, pair, chunk);
      case 2:
        return move<std::uint16_t>(block, pair, chunk);
      case 4:
        return move<std::uint32_t>(block, pair, chunk);
      default:
        return move<std::uint64_t>(block, pair, chunk);
    }
  }

  template <class Word>
  GRADSTEP_DEVICE static void move(Block& block, const CopyPair& pair, const Chunk& chunk) {
    const bool in_fours = pair.source.is_aligned && pair.destination.is_aligned;
    const auto four = [&](std::int64_t i) {
      block.store(reinterpret_cast<Four<Word>*>(at<Word>(pair.destination, i)),
                  block.load(reinterpret_cast<const Four<Word>*>(at<Word>(pair.source, i))));
    };
    const auto one = [&](std::int64_t i) {
      block.store(at<Word>(pair.destination, place_of(block, pair.destination, i)),
                  block.load(at<const Word>(pair.source, place_of(block, pair.source, i))));
    };
    walk(block, chunk, in_fours, four, one);
  }

  template <class T>
  GRADSTEP_DEVICE void scale(Block& block, const CopyPair& pair, const Chunk& chunk, double times,
                             bool is_scaled) const {
    const auto scaled = [&](T x) {
      if (is_scaled) x = x * static_cast<T>(times);
      if (divisor != 1) x = x / static_cast<T>(divisor);
      return x;
    };
    const auto four = [&](std::int64_t i) {
      Four<T> x = read_four<T>(block, pair.source, i);
      for (int k = 0; k < 4; ++k) x.x[k] = scaled(x.x[k]);
      write_four(block, pair.destination, i, x);
    };
    const auto one = [&](std::int64_t i) { write(block, pair.destination, i, scaled(read<T>(block, pair.source, i))); };
    walk(block, chunk, is_read_in_fours(pair.source) && pair.destination.is_aligned, four, one);
  }
};

struct Combination {
  View destination;
  View a;
  View b;
  double a_factor;
  double b_factor;
};

}  // namespace

template <>
inline constexpr bool kHasNoPadding<Combination> = sizeof(Combination) == 3 * sizeof(View) + 2 * sizeof(double);

namespace {

struct Combine {
  static constexpr const char* kName = "combine";
  static constexpr int kThreads = 256;

  const Chunk* chunks;
  const Combination* items;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(chunks + block.index());
    const Combination item = *block.checked(items + chunk.item);  // in registers: no store changes it
    if (item.destination.dtype == DType::f64 || item.a.dtype == DType::f64 || item.b.dtype == DType::f64) {
      run<double>(block, item, chunk);
    } else {
      run<float>(block, item, chunk);
    }
  }

  template <class T>
  GRADSTEP_DEVICE static void run(Block& block, const Combination& item, const Chunk& chunk) {
    const auto combined = [&](T a, T b) {
      return static_cast<T>(item.a_factor) * a + static_cast<T>(item.b_factor) * b;
    };
    const auto four = [&](std::int64_t i) {
      Four<T> a = read_four<T>(block, item.a, i);
      const Four<T> b = read_four<T>(block, item.b, i);
      for (int k = 0; k < 4; ++k) a.x[k] = combined(a.x[k], b.x[k]);
      write_four(block, item.destination, i, a);
    };
    const auto one = [&](std::int64_t i) {
      write(block, item.destination, i, combined(read<T>(block, item.a, i), read<T>(block, item.b, i)));
    };
    const bool in_fours = is_read_in_fours(item.a) && is_read_in_fours(item.b) && item.destination.is_aligned;
    walk(block, chunk, in_fours, four, one);
  }
};

/// A linear combination, whose vectors and factors are parts of longer lists.
struct Sum {
  View destination;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

struct CombineVectors {
  static constexpr const char* kName = "combine_vectors";
  static constexpr int kThreads = 256;

  const Chunk* chunks;
  const Sum* sums;
  const View* vectors;
  const double* factors;
  const std::uint8_t* finite;  ///< by sum; NULL = all are. Vectors of others are taken as zeros

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(chunks + block.index());
    const Sum& sum = *block.checked(sums + chunk.item);
    const bool reads = finite == nullptr || block.load(finite + chunk.item) != 0;
    const View* own = block.checked(vectors + sum.first, sum.count);
    for_each_element(block, chunk, [&](std::int64_t i) {
      double result = term(block, own, sum.first, 0, i, reads);
      for (std::int64_t v = 1; v < sum.count; ++v) result = result + term(block, own, sum.first, v, i, reads);
      write(block, sum.destination, i, result);
    });
  }

  GRADSTEP_DEVICE double term(const Block& block, const View* own, std::int64_t first, std::int64_t v, std::int64_t i,
                              bool reads) const {
    const double x = reads ? read_in_double(block, own[v], i) : 0;
    return block.load(factors + first + v) * x;
  }
};

/// Adasum's factors: a block has a merge.
struct Merge {
  const Dots* dots = nullptr;
  std::int64_t chunks = 0;
  std::int64_t first = 0;  ///< of its factors
  std::int64_t count = 0;
  const int* exponents = nullptr;  ///< NULL = all are 0
};

struct AdasumMerges {
  static constexpr const char* kName = "adasum_factors";
  static constexpr int kThreads = 128;
  struct Shared {
    Dots trees[kThreads];
  };

  const Merge* merges;
  kernels::AdasumRule rule;
  std::int64_t stride;
  Dots* folded;  ///< a place for each factor
  double* factors;
  std::uint8_t* finite;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const Merge& merge = *block.checked(merges + block.index());
    const std::int64_t lists = rule == kernels::AdasumRule::pair ? 1 : merge.count;
    for (std::int64_t list = 0; list < lists; ++list) {
      const Dots whole = fold_by_block<Dots, kThreads>(block, merge.chunks, shared.trees, [&](std::int64_t c) {
        return *block.checked(merge.dots + c * stride + list);
      });
      if (block.thread() == 0) *block.checked(folded + merge.first + list) = whole;
    }
    if (block.thread() != 0) return;
    const kernels::AdasumFactors own{rule, merge.exponents};
    const auto dots_of = [&](std::int64_t list) { return *block.checked(folded + merge.first + list); };
    const bool all = own.write(merge.count, dots_of, block.checked(factors + merge.first, merge.count));
    block.store(finite + block.index(), static_cast<std::uint8_t>(all ? 1 : 0));
  }
};

struct Clamp {
  static constexpr const char* kName = "clamp";
  static constexpr int kThreads = 256;

  void* data;
  std::int64_t size;
  bool is_double;
  double bound;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    if (is_double) {
      run<double>(block);
    } else {
      run<float>(block);
    }
  }

  template <class T>
  GRADSTEP_DEVICE void run(Block& block) const {
    T* x = static_cast<T*>(data);
    for_each_element(block, chunk_of_block(block, size), [&](std::int64_t i) {
      block.store(x + i, kernels::clamp(block.load(x + i), static_cast<T>(bound)));
    });
  }
};

struct CountNonfinite {
  static constexpr const char* kName = "count_nonfinite";
  static constexpr int kThreads = 256;
  static constexpr bool kWaits = true;
  using Counter = unsigned long long;

  const void* data;
  std::int64_t size;
  DType dtype;
  Counter* count;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    Counter found = with_stored_type(dtype, [&](auto stored) { return run<decltype(stored)>(block); });
    found = warp_sum(block, found);
    if (block.thread() % kWarp == 0 && found > 0) block.atomic_add(count, found);
  }

  template <class T>
  GRADSTEP_DEVICE Counter run(const Block& block) const {
    const auto* x = static_cast<const kernels::BitsOf<T>*>(data);
    Counter found = 0;
    for_each_element(block, chunk_of_block(block, size),
                     [&](std::int64_t i) { found += kernels::is_nonfinite<T>(block.load(x + i)) ? 1U : 0U; });
    return found;
  }
};

struct CopyForm {
  ChunkTable chunks;
  Table table;
  std::vector<CopyPair> pairs;

  std::size_t bytes() const { return held_bytes(chunks, table, pairs); }
};

struct CombineForm {
  ChunkTable chunks;
  Table table;
  std::vector<Combination> items;

  std::size_t bytes() const { return held_bytes(chunks, table, items); }
};

struct VectorsForm {
  ChunkTable chunks;
  Table table;
  std::vector<Sum> sums;
  std::vector<View> vectors;
  std::vector<double> factors;
  std::vector<Merge> merges;
  std::vector<std::int32_t> exponents;
  Table exponents_table;
  ScratchBuffer folded;
  ScratchBuffer device_factors;
  ScratchBuffer finite;

  std::size_t bytes() const {
    return held_bytes(chunks, table, sums, vectors, factors, merges, exponents, exponents_table, folded, device_factors,
                      finite);
  }
  void add(const Array& destination, std::span<const Array> summands) {
    sums.push_back({table.view(destination), static_cast<std::int64_t>(vectors.size()),
                    static_cast<std::int64_t>(summands.size())});
    for (const Array& vector : summands) vectors.push_back(table.view(vector));
  }
  void clear(CudaQueue& queue) {
    table.begin(queue);
    sums.clear();
    vectors.clear();
    factors.clear();
    merges.clear();
    exponents.clear();
  }
};

}  // namespace

void copy(const CopyPlan& plan, double multiplier, double divisor, CudaQueue& queue) {
  auto& form = plan.prepared.get<CopyForm>();
  form.table.begin(queue);
  form.pairs.clear();
  for (const CopyItem& item : plan.items) {
    form.pairs.push_back({form.table.view(item.destination), form.table.view(item.source), item.rounding});
  }
  const auto pairs = form.table.add(form.pairs);
  form.table.send();
  const Chunks chunks = form.chunks.of(*plan.work, queue);
  if (plan.factor == nullptr && multiplier == 1 && kernels::has_exact_reciprocal(divisor)) {
    multiplier = 1 / divisor;
    divisor = 1;
  }
  launch(queue, chunks.count, Copy{chunks.chunks, form.table.at(pairs), multiplier, divisor, plan.factor});
}

void combine(const CombinePlan& plan, CudaQueue& queue) {
  auto& form = plan.prepared.get<CombineForm>();
  form.table.begin(queue);
  form.items.clear();
  for (const CombineItem& item : plan.items) {
    form.items.push_back({form.table.view(item.destination), form.table.view(item.a), form.table.view(item.b),
                          item.a_factor, item.b_factor});
  }
  const auto items = form.table.add(form.items);
  form.table.send();
  const Chunks chunks = form.chunks.of(*plan.work, queue);
  launch(queue, chunks.count, Combine{chunks.chunks, form.table.at(items)});
}

void combine_vectors(const LinearPlan& plan, CudaQueue& queue) {
  auto& form = plan.prepared.get<VectorsForm>();
  form.clear(queue);
  for (const LinearCombination& item : plan.items) {
    form.add(item.destination, item.vectors);
    form.factors.insert(form.factors.end(), item.factors.begin(), item.factors.end());
  }
  const auto sums = form.table.add(form.sums);
  const auto vectors = form.table.add(form.vectors);
  const auto factors = form.table.add(form.factors);
  form.table.send();
  const Chunks chunks = form.chunks.of(*plan.work, queue);
  launch(queue, chunks.count,
         CombineVectors{chunks.chunks, form.table.at(sums), form.table.at(vectors), form.table.at(factors), nullptr});
}

void adasum(const AdasumPlan& plan, CudaQueue& queue) {
  auto& form = plan.prepared.get<VectorsForm>();
  form.clear(queue);
  for (const AdasumMerge& merge : plan.items) {
    const auto first = static_cast<std::int64_t>(form.vectors.size());
    form.add(merge.destination, merge.vectors);
    form.merges.push_back({merge.dots, merge.chunks, first, static_cast<std::int64_t>(merge.vectors.size()), nullptr});
    form.exponents.insert(form.exponents.end(), merge.exponents.begin(), merge.exponents.end());
  }
  form.exponents_table.begin(queue);
  const auto exponents = form.exponents_table.add(form.exponents);
  form.exponents_table.send();
  const int* next = form.exponents_table.at(exponents);
  for (std::size_t m = 0; m < plan.items.size(); ++m) {
    if (plan.items[m].exponents.empty()) continue;
    form.merges[m].exponents = next;
    next += plan.items[m].exponents.size();
  }
  const auto sums = form.table.add(form.sums);
  const auto vectors = form.table.add(form.vectors);
  const auto merges = form.table.add(form.merges);
  form.table.send();
  const auto count = static_cast<std::int64_t>(form.vectors.size());
  const auto merge_count = static_cast<std::int64_t>(form.merges.size());
  auto* folded = form.folded.of<Dots>(queue, count);
  auto* factors = form.device_factors.of<double>(queue, count);
  auto* finite = form.finite.of<std::uint8_t>(queue, merge_count);
  launch(queue, merge_count, AdasumMerges{form.table.at(merges), plan.rule, plan.stride, folded, factors, finite});
  const Chunks chunks = form.chunks.of(*plan.work, queue);
  launch(queue, chunks.count,
         CombineVectors{chunks.chunks, form.table.at(sums), form.table.at(vectors), factors, finite});
}

void clamp(const Array& data, double bound, CudaQueue& queue) {
  launch(queue, parts_of(data.size, kChunk), Clamp{data.data, data.size, data.dtype == DType::f64, bound});
}

void count_nonfinite(const Array& data, std::int64_t* count, CudaQueue& queue) {
  static_assert(sizeof(CountNonfinite::Counter) == sizeof *count);
  launch(queue, parts_of(data.size, kChunk),
         CountNonfinite{data.data, data.size, data.dtype, reinterpret_cast<CountNonfinite::Counter*>(count)});
}

}  // namespace gradstep::cuda
