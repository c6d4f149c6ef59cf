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

/// Numbers of state that a loop of Shampoo reads and writes, each list from element `first` of its tensor on.
struct StateLists {
  void* numbers[2] = {};             ///< in the arithmetic type, or bf16; NULL = absent
  int streams[2] = {};               ///< of random bits
  bool is_narrow = false;            ///< bf16, where the arithmetic is f32
  kernels::TensorRounding rounding;  ///< of bf16
  std::int64_t first = 0;            ///< a multiple of kCodeBlock where they are bf16
};

/// What a direction of rules/shampoo.h takes. Arrays that are given twice must be the same from the beginning on.
template <class T>
struct DirectionArrays {
  const T* g;
  T* u;               ///< may be g
  StateLists states;  ///< those of the rule
};

/// Without `direction` the parameter is not preconditioned and has one momentum, the second; with it and without the
/// second the two directions share the first (SQRT_N).
template <class T>
struct GraftArrays {
  const T* u;          ///< the grafting direction
  const T* direction;  ///< P(g)
  const T* p;
  StateLists momenta;
  T* out;  ///< may be u or p
};

/// A step of Shampoo.
template <class T>
struct GraftLoops {
  /// The direction of scale g by one of the rules that are not plain.
  void (*write_direction)(kernels::Graft graft, const rules::RuleConstants& constants, T scale,
                          const DirectionArrays<T>& arrays, std::int64_t count);
  /// The change of p.
  void (*finish)(const GraftArrays<T>& arrays, std::int64_t count, const kernels::FinishConstants<T>& constants);
  /// From Adam's direction to the change of p. out may be p; `adds` as in FinishConstants.
  void (*finish_corrected)(const T* direction, const T* p, T* out, std::int64_t count, bool adds,
                           const kernels::CorrectedConstants<T>& constants);
};

/// Rows of one outer index of a tensor whose second moments are kept in factors (rules/factoring.h).
template <class T>
struct FactoredRows {
  rules::Factoring form;
  std::int64_t rows = 0;
  std::int64_t middle = 0;
  std::int64_t columns = 0;
  std::int64_t inner = 0;
  T* change = nullptr;           ///< [rows][middle][columns][inner]: gradients, then directions
  double* of_rows = nullptr;     ///< [rows][middle][inner]: sums of squares, then factors
  double* of_columns = nullptr;  ///< [middle][columns][inner]: likewise
};

template <class T>
struct FactoredLoops {
  /// Adds the squares of gradients to the sums.
  void (*add_squares)(const FactoredRows<T>& part);
  /// Gradients become directions by the factors. Returns the directions' sum of squares.
  double (*divide)(const FactoredRows<T>& part);
  /// Likewise by mean squares of each element, which go on.
  double (*divide_elements)(const rules::Factoring& form, double keep, T* change, T* variances, std::int64_t count);
  /// momentum = keep * momentum + take * change, which change becomes.
  void (*mix_momentum)(T* change, T* momentum, std::int64_t count, T keep, T take);
};

/// Memory is asked for before loops come to it: see loops/block.h.
extern const bool kHelpsPrefetchers;

struct Loops {
  using Update = void (*)(const UpdateItem& item, const Chunk& chunk, const UpdateScalars& scalars);

  const char* instruction_set;

  /// By rule, then by arithmetic type of the parameter (f32, f64).
  Update update[rules::kKernelCount][2];
  /// For items with a program, by arithmetic type.
  Update update_program[2];

  /// Sums of a chunk; NULL for rules that measure none. As `update`.
  using Measure = rules::Sums (*)(const UpdateItem& item, const Chunk& chunk, const UpdateScalars& scalars);
  Measure measure[rules::kKernelCount][2];
  /// For items with a program that has sums, by arithmetic type.
  Measure measure_program[2];

  using Finish = void (*)(const UpdateItem& item, const Chunk& chunk, const UpdateScalars& scalars, double factor,
                          double decay);
  /// [masked][0: does not decay, 1: decays, 2: decays where that is aligned] (kernels/finish.h).
  Finish finish[2][3];
  /// How many elements of a chunk have opposite signs; equal ones if `is_negated`. `change` is contiguous.
  std::int64_t (*count_opposed)(const Array& change, const Array& gradient, const Chunk& chunk, bool is_negated);

  /// `squares` may be NULL.
  void (*accumulate)(const AddStep& step, AccumulateAction action, const Array& sum, const Array& gradient,
                     const Chunk& chunk, double* squares);

  /// Numbers [first, first + count), `first` at the beginning of a block.
  void (*encode)(const float* from, const CodedNumbers& to, std::int64_t first, std::int64_t count);
  void (*decode)(const CodedNumbers& from, float* to, std::int64_t first, std::int64_t count);
  /// Numbers become what their codes leave out. Returns how many of them are infinite or NaN.
  std::int64_t (*encode_rest)(float* numbers, const CodedNumbers& to, std::int64_t first, std::int64_t count);
  /// sums = (sums + what the codes stand for) / divisor.
  void (*add_decoded)(const CodedNumbers& from, float* sums, float divisor, std::int64_t first, std::int64_t count);

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
  /// result = p^T (scales q), m = m - factor * p^T q: scales are by factor.
  void (*expand_scaled)(const LowRank& job, const double* scales, double factor, std::int64_t begin, std::int64_t end);

  void (*sum_ranks)(const RankSum& job, std::int64_t begin, std::int64_t length);

  void (*add_rows)(const RowsJob& job, RowPart part);

  // Matrices that have a coding. Numbers are row-major. Where rows are given, they are those of the rows.
  void (*decode_matrix)(const StoredMatrix& from, std::int64_t begin_row, std::int64_t end_row, float* numbers);
  /// largest[j], of magnitudes so far, takes in column j of these rows. A diagonal that is kept apart does not count.
  void (*take_largest_of_columns)(const StoredMatrix& matrix, std::int64_t begin_row, std::int64_t end_row,
                                  const float* numbers, float* largest);
  /// to.buckets holds the largest magnitude of each column.
  void (*encode_matrix)(const float* numbers, const StoredMatrix& to);

  GraftLoops<float> graft_f32;
  GraftLoops<double> graft_f64;
  FactoredLoops<float> factored_f32;
  FactoredLoops<double> factored_f64;

  template <class T>
  const GraftLoops<T>& graft() const {
    if constexpr (sizeof(T) == sizeof(double)) {
      return graft_f64;
    } else {
      return graft_f32;
    }
  }
  template <class T>
  const FactoredLoops<T>& factored() const {
    if constexpr (sizeof(T) == sizeof(double)) {
      return factored_f64;
    } else {
      return factored_f32;
    }
  }
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
