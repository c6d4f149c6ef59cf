// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The border between the backend and its loops. The loops (loops/*.h) are compiled once per instruction set, each time
// into a table of its own. Everything in those files has internal linkage or is forced inline, and they use no function
// of the standard library: else the linker could keep the AVX-512 copy of a shared inline function for all callers.
#pragma once

#include "backend/backend.h"

namespace gradstep::cpu {

using kernels::AddFormula;

/// An add of accumulation.h, here.
struct AddStep : gradstep::AddStep {
  bool past_cache = false;  ///< the job does not fit in the cache: write what is only written around it
};

/// Sums that share an index list are divided into `parts`, each of which takes the rows i with i mod parts = part.
struct RowPart {
  std::int64_t part = 0;
  std::int64_t parts = 1;
};

/// What all items of an UpdateJob share.
struct UpdateScalars {
  double grad_multiplier = 1;
  double clip_bound = 0;  ///< infinite when off
  std::int64_t step = 0;
};

/// How this processor likes memory to be walked: see loops/block.h.
extern const bool kInterleavesStreams;

struct Loops {
  using Update = void (*)(const UpdateItem& item, const Chunk& chunk, const UpdateScalars& scalars);

  const char* instruction_set;

  /// By rule, then by arithmetic type of the parameter (f32, f64).
  Update update[rules::kKernelCount][2];

  /// `squares` may be NULL.
  void (*accumulate)(const AddStep& step, AccumulateAction action, const Array& sum, const Array& gradient,
                     const Chunk& chunk, double* squares);

  /// Numbers [first, first + count), `first` at the beginning of a block.
  void (*encode)(const float* from, const CodedNumbers& to, std::int64_t first, std::int64_t count);
  void (*decode)(const CodedNumbers& from, float* to, std::int64_t first, std::int64_t count);

  double (*square)(const Array& array, const Chunk& chunk);

  Dots (*dot)(const Array& a, const Array& b, const Chunk& chunk);

  void (*combine)(const CombineItem& item, const Chunk& chunk);

  void (*combine_vectors)(const LinearCombination& item, const Chunk& chunk);

  void (*copy)(const CopyItem& item, const Chunk& chunk, double multiplier, double divisor);

  // For elements [begin, begin + length) of contiguous data.
  void (*clamp)(const Array& data, std::int64_t begin, std::int64_t length, double bound);
  std::int64_t (*count_nonfinite)(const Array& data, std::int64_t begin, std::int64_t length);

  /// Magnitudes are compared as the integers that their bits are. f32 and f64.
  std::int64_t (*count_above)(const Array& data, std::int64_t begin, std::int64_t length, std::uint64_t key);
  /// Writes `first` + the position of each, ascending.
  std::int64_t (*find_above)(const Array& data, std::int64_t begin, std::int64_t length, std::uint64_t key,
                             std::int32_t first, std::int32_t* indices);
  /// counts[key >> shift] of every element.
  void (*histogram)(const Array& data, std::int64_t begin, std::int64_t length, int shift, std::int64_t* counts);

  /// Elements [begin, end) of a SparseSum, at most kChunk; returns how many occur and writes which.
  std::int64_t (*sum_sparse)(const SparseSum& job, std::int64_t begin, std::int64_t end, std::int32_t* touched);

  // Rows, columns and rows [begin, end) of what a LowRank job computes.
  void (*project_rows)(const LowRank& job, std::int64_t begin, std::int64_t end);
  void (*project_columns)(const LowRank& job, std::int64_t begin, std::int64_t end);
  void (*orthonormalize)(const LowRank& job, double* along);  ///< along[rank] is scratch
  void (*expand)(const LowRank& job, double factor, std::int64_t begin, std::int64_t end);

  void (*sum_ranks)(const RankSum& job, std::int64_t begin, std::int64_t length);

  void (*add_rows)(const RowsJob& job, RowPart part);
};

#if defined(__aarch64__)
extern const Loops kLoops_neon;
#else
extern const Loops kLoops_baseline;
#endif
#if defined(GRADSTEP_HAS_X86_LOOPS)
extern const Loops kLoops_avx2;
extern const Loops kLoops_avx512;
#endif

}  // namespace gradstep::cpu
