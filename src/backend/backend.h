// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The device interface. Operations are at the size of the job: whole lists of tensors in one call, never one tensor at
// a time. Work lists are built once and reused while shapes stay. Floor 4 knows devices only through this.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/preconditioning.h"
#include "backend/work_list.h"
#include "core/array.h"
#include "kernels/rules.h"

namespace gradstep {

/// What an add does to one parameter of an accumulator.
enum class AccumulateAction : std::uint8_t {
  none,    ///< leave it
  assign,  ///< the first gradient of the window
  add,     ///< a further one
  absent,  ///< no gradient this time, but there is a sum (matters to the running mean and to finishing)
};

enum class AccumulateFormula : std::uint8_t {
  plain,     ///< a + g
  divided,   ///< a + g / factor
  weighted,  ///< a + factor * g
  running,   ///< a + (g - a) / factor
};

/// What is done to the sum after the formula, in the same pass.
enum class Finish : std::uint8_t { nothing, divide, multiply };

struct AccumulateJob {
  const WorkList* work = nullptr;
  std::span<const Array> sums;       ///< contiguous, f32 or f64
  std::span<const Array> gradients;  ///< any float dtype and strides; ignored for `none` and `absent`
  std::span<const AccumulateAction> actions;
  AccumulateFormula formula = AccumulateFormula::plain;
  double factor = 1;
  Finish finish = Finish::nothing;
  double finish_value = 1;
  /// One per chunk of `work`: the sum of squares of the results. Empty = not wanted.
  std::span<double> squares;
};

/// How states are kept. All but native is for parameters that are computed in f32.
enum class StateFormat : std::uint8_t {
  native,      ///< in the arithmetic type
  bf16,        ///< rounded after every step
  block_code,  ///< kernels/block_code.h
};

/// One parameter in an update.
struct UpdateItem {
  Array param;
  Array gradient;  ///< data NULL with elements = the parameter is left alone
  Array update;    ///< present = the delta goes here and param is only read
  kernels::RuleId rule = kernels::RuleId{};
  StateFormat format = StateFormat::native;
  bool stochastic = false;         ///< what is stored in 16 bits is rounded stochastically
  std::uint8_t signed_states = 0;  ///< block_code: bit s = state s has signs
  void* states[kernels::kMaxStates] = {};
  float* factors[kernels::kMaxStates] = {};  ///< block_code: one per 256 elements
  float* master = nullptr;                   ///< present = what is stepped; param is its rounded value
  const void* constants = nullptr;           ///< the rule's Constants
  std::uint64_t random_key = 0;
  std::int64_t first = 0;  ///< position of param's first element in the tensor that random_key belongs to
};

/// f32 numbers as block codes.
struct CodedNumbers {
  std::uint8_t* codes = nullptr;
  float* factors = nullptr;
  std::int64_t count = 0;
  bool is_signed = false;
};

struct UpdateJob {
  const WorkList* work = nullptr;
  std::span<const UpdateItem> items;
  double grad_multiplier = 1;  ///< multiplies every gradient
  double clip_value = 0;       ///< clamps what comes out to ±clip_value; 0 = off
  std::int64_t step = 0;       ///< t, for the random bits
};

/// destination = source * multiplier / divisor, rounded to destination's dtype. Sizes are equal; any strides.
struct CopyItem {
  Array destination;
  Array source;  ///< data NULL with elements = zeros
};

/// destination = a_factor * a + b_factor * b. Any float dtypes and strides; f64 arithmetic if any of them is f64.
struct CombineItem {
  Array destination;  ///< may be a or b
  Array a;            ///< data NULL = zeros
  Array b;            ///< likewise
  double a_factor = 1;
  double b_factor = 1;
};

/// destination = factors[0] * vectors[0] + factors[1] * vectors[1] + ..., two or more, from left to right in f64
/// whatever the dtypes, rounded once to destination's.
struct LinearCombination {
  Array destination;               ///< may be one of the vectors
  std::span<const Array> vectors;  ///< of one dtype; data NULL = zeros
  std::span<const double> factors;
};

/// Dot products of two arrays over a chunk, in f64.
struct Dots {
  double ab = 0;
  double aa = 0;
  double bb = 0;
};

/// destination[i] = (((s0 + s1) + s2) + ...) [/ divisor], the sources in the order of the ranks.
struct RankSum {
  void* destination = nullptr;           ///< may be one of the sources
  std::span<const void* const> sources;  ///< same dtype and count
  std::int64_t count = 0;
  DType dtype = DType::f32;  ///< f16 and bf16 sum in f32 and round once; integers wrap
  std::int32_t op = 0;       ///< gradstep_reduce_op
  double divisor = 1;        ///< SUM of floats only
};

/// What to select from `data`, contiguous f32 or f64, by magnitude. NaN counts as larger than infinity.
struct SelectJob {
  Array data;
  std::int32_t first = 0;  ///< index of data's first element
  bool by_count = false;   ///< the `count` largest, ties to the lowest index; else all >= threshold but zeros
  std::int64_t count = 0;
  double threshold = 0;
};

/// Some elements of an array; indices ascend.
struct SparseList {
  const std::int32_t* indices = nullptr;
  const void* values = nullptr;
  std::int64_t count = 0;
};

/// destination[i] = (v0 + v1 + ...) / divisor where list r has value v_r for i, in the order of the lists; other
/// elements stay. Only indices in [begin, end) occur.
struct SparseSum {
  Array destination;  ///< contiguous f32 or f64, as the values
  std::span<const SparseList> lists;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  double divisor = 1;
};

/// A matrix m of rows x cols and `rank` pairs of factors: p has rank x rows numbers, q rank x cols, one factor after
/// the other. All contiguous, f32 or f64 as m.
struct LowRank {
  Array m;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t rank = 0;
  void* p = nullptr;
  void* q = nullptr;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual const char* name() const = 0;
  virtual const char* instruction_set() const = 0;

  virtual void accumulate(const AccumulateJob& job) = 0;

  /// sum[index[j]] += factor * values[j] for rows of `row_size` elements, j ascending. sum is contiguous f32 or f64.
  virtual void add_rows(const Array& sum, const Array& indices, const Array& values, std::int64_t row_size,
                        double factor) = 0;

  /// squares[c] = sum of squares over chunk c of the work list; items without data count as zeros.
  virtual void square_chunks(const WorkList& work, std::span<const Array> arrays, std::span<double> squares) = 0;

  virtual void update(const UpdateJob& job) = 0;

  virtual void encode(const float* from, const CodedNumbers& to) = 0;
  virtual void decode(const CodedNumbers& from, float* to) = 0;

  virtual void copy(const WorkList& work, std::span<const CopyItem> items, double multiplier, double divisor) = 0;

  /// dots[c] = the dot products over chunk c of the work list, of items' a and b; factors are not looked at.
  virtual void dot_chunks(const WorkList& work, std::span<const CombineItem> items, std::span<Dots> dots) = 0;

  virtual void combine(const WorkList& work, std::span<const CombineItem> items) = 0;
  virtual void combine_vectors(const WorkList& work, std::span<const LinearCombination> items) = 0;

  /// data = data clamped to ±bound; NaN stays. Contiguous f32 or f64.
  virtual void clamp(const Array& data, double bound) = 0;
  /// How many elements of a contiguous array of floats are infinite or NaN.
  virtual std::int64_t count_nonfinite(const Array& data) = 0;

  /// Appends the selected indices, ascending.
  virtual void select(const SelectJob& job, std::vector<std::int32_t>& indices) = 0;
  /// values[j] = data[indices[j]], which then becomes zero if `clear`. Contiguous f32 or f64.
  virtual void take(const Array& data, std::span<const std::int32_t> indices, void* values, bool clear) = 0;
  /// data[indices[j]] = values[j], or zero if `values` is NULL; with `add`, += values[j].
  virtual void put(const Array& data, std::span<const std::int32_t> indices, const void* values, bool add = false) = 0;
  /// touched = the indices that occur in any list, ascending.
  virtual void sum_sparse(const SparseSum& job, std::vector<std::int32_t>& touched) = 0;

  // Products are summed in f64.
  virtual void project_rows(const LowRank& job) = 0;     ///< p = m q^T, p by factor
  virtual void project_columns(const LowRank& job) = 0;  ///< q = p m, q by factor
  /// Makes the factors of p orthonormal, in their order; one that is in the span of those before becomes zero.
  virtual void orthonormalize(const LowRank& job) = 0;
  /// result = factor * p^T q, m = m - p^T q.
  virtual void expand(const LowRank& job, const Array& result, double factor) = 0;

  virtual void sum_ranks(const RankSum& job) = 0;

  /// For one optimizer. It stays valid as long as the backend.
  virtual std::unique_ptr<Preconditioning> make_preconditioning() = 0;
};

/// Folds the partials of a fixed number of chunks in one fixed tree. Squared norms of any part of the library are this.
double fold_partials(std::span<const double> partials);

}  // namespace gradstep
