// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Products of a matrix with a few vectors, and back, in the bands of kernels/low_rank.h: neither they nor the order
// within them depend on how the work is shared out.
#pragma once

#include <type_traits>

#include "cpu/loops/combine.h"
#include "cpu/loops/linear_combination.h"
#include "kernels/low_rank.h"

namespace gradstep::cpu {
namespace {

static_assert(kernels::kDotQuarter == kBlock && kernels::kDotBand == kStreams * kBlock);

/// Vectors whose dot products with another one are made together: as many as registers have place for.
constexpr int kTogether = kRegisters < 8 ? 8 / kRegisters : 1;

/// Dot products of a quarter of a band of x and of kCount vectors, y and those that follow at `stride`.
template <int kCount, class T>
GRADSTEP_FORMULA void dot_quarters(const T* x, const T* y, std::int64_t stride, std::int64_t count, double* sums,
                                   std::int64_t distance) {
  Doubles lanes[std::size_t{kCount}][kRegisters];
  for (int k = 0; k < kCount; ++k) {
    for (int r = 0; r < kRegisters; ++r) lanes[k][r] = Doubles{};
  }
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int r = 0; r < kRegisters; ++r) {
      const Doubles own = load_doubles(x + i + r * kDoubles);
      for (int k = 0; k < kCount; ++k) lanes[k][r] += own * load_doubles(y + k * stride + i + r * kDoubles);
    }
  }
  if (i < count) {
    for (int k = 0; k < kCount; ++k) {
      T x_row[kLanes] = {};
      T y_row[kLanes] = {};
      for (std::int64_t lane = 0; i + lane < count; ++lane) {
        x_row[lane] = x[i + lane];
        y_row[lane] = y[k * stride + i + lane];
      }
      for (int r = 0; r < kRegisters; ++r) {
        lanes[k][r] += load_doubles(x_row + r * kDoubles) * load_doubles(y_row + r * kDoubles);
      }
    }
  }
  for (int k = 0; k < kCount; ++k) sums[k * distance] = fold_lanes(lanes[k]);
}

/// dots[k] = x y_k for kCount vectors, y and those that follow at `stride`.
template <int kCount, class T>
void dot_numbers(const T* x, const T* y, std::int64_t stride, std::int64_t count, double* dots) {
  for (int k = 0; k < kCount; ++k) dots[k] = 0;
  for (std::int64_t band = 0; band < count; band += kernels::kDotBand) {
    const std::int64_t end = smaller(count, band + kernels::kDotBand);
    double quarters[std::size_t{kCount}][kStreams] = {};
    std::int64_t quarter = 0;
    for (std::int64_t first = band; first < end; first += kBlock) {
      help_prefetcher(x + first, kBlock);
      dot_quarters<kCount>(x + first, y + first, stride, smaller(kBlock, end - first), &quarters[0][quarter], kStreams);
      ++quarter;
    }
    for (int k = 0; k < kCount; ++k) dots[k] += fold_quarters(quarters[k]);
  }
}

template <class T>
double dot_numbers(const T* x, const T* y, std::int64_t count) {
  double dot = 0;
  dot_numbers<1>(x, y, 0, count, &dot);
  return dot;
}

/// take(k, x y_k) for `vectors` vectors.
template <class T, class Take>
void for_each_dot(const T* x, const T* y, std::int64_t count, std::int64_t vectors, Take take) {
  std::int64_t k = 0;
  for (; k + kTogether <= vectors; k += kTogether) {
    double dots[kTogether];
    dot_numbers<kTogether>(x, y + k * count, count, count, dots);
    for (int i = 0; i < kTogether; ++i) take(k + i, dots[i]);
  }
  for (; k < vectors; ++k) take(k, dot_numbers(x, y + k * count, count));
}

constexpr std::int64_t kAtOnce = 4;  ///< rows, or factors, that share one walk

/// sums[k][j] += factors[k][0] * rows[0][j] + ... + factors[k][3] * rows[3][j], from the left, for kSums sums that are
/// kBlock apart; the rows are `stride` apart. Rows are widened once for all sums.
template <std::size_t kSums, class T>
[[gnu::noinline]] void add_four_multiples(double* sums, const T* rows, std::int64_t stride, std::int64_t count,
                                          const double (*factors)[kAtOnce]) {
  std::int64_t j = 0;
  for (; j + kDoubles <= count; j += kDoubles) {
    Doubles row[kAtOnce];
    for (int i = 0; i < kAtOnce; ++i) row[i] = load_doubles(rows + i * stride + j);
    for (std::size_t k = 0; k < kSums; ++k) {
      double* to = sums + static_cast<std::int64_t>(k) * kBlock + j;
      Doubles sum = load_doubles(to);
      for (int i = 0; i < kAtOnce; ++i) sum += factors[k][i] * row[i];
      store_doubles(to, sum);
    }
  }
  for (; j < count; ++j) {
    for (std::size_t k = 0; k < kSums; ++k) {
      double& to = sums[static_cast<std::int64_t>(k) * kBlock + j];
      for (int i = 0; i < kAtOnce; ++i) to = to + factors[k][i] * static_cast<double>(rows[i * stride + j]);
    }
  }
}

template <class T>
[[gnu::noinline]] void add_multiple(double* sums, const T* row, std::int64_t count, double factor) {
  GRADSTEP_INDEPENDENT
  for (std::int64_t j = 0; j < count; ++j) sums[j] += factor * static_cast<double>(row[j]);
}

/// Multiples of `rows` rows, in their order, for kSums sums that are kBlock apart: factor(k, row) of each in sum k.
template <std::size_t kSums, class T, class Factor>
void add_multiples(double* sums, const T* first, std::int64_t stride, std::int64_t count, std::int64_t rows,
                   Factor factor) {
  std::int64_t i = 0;
  for (; i + kAtOnce <= rows; i += kAtOnce) {
    double factors[kSums][kAtOnce];
    for (std::size_t k = 0; k < kSums; ++k) {
      for (int at = 0; at < kAtOnce; ++at) factors[k][at] = factor(static_cast<std::int64_t>(k), i + at);
    }
    add_four_multiples<kSums>(sums, first + i * stride, stride, count, factors);
  }
  for (; i < rows; ++i) {
    for (std::size_t k = 0; k < kSums; ++k) {
      const auto sum = static_cast<std::int64_t>(k);
      add_multiple(sums + sum * kBlock, first + i * stride, count, factor(sum, i));
    }
  }
}

/// body(first, how many: a constant of 4, 2 or 1) for groups of `count`.
template <class Body>
void for_groups(std::int64_t count, Body body) {
  static_assert(kAtOnce == 4);
  std::int64_t first = 0;
  for (; first + 4 <= count; first += 4) body(first, std::integral_constant<std::size_t, 4>{});
  if (first + 2 <= count) {
    body(first, std::integral_constant<std::size_t, 2>{});
    first += 2;
  }
  if (first < count) body(first, std::integral_constant<std::size_t, 1>{});
}

template <class T>
void project_rows_typed(const LowRank& job, std::int64_t begin, std::int64_t end) {
  const T* m = static_cast<const T*>(job.m.data);
  const T* q = static_cast<const T*>(job.q);
  T* p = static_cast<T*>(job.p);
  for (std::int64_t i = begin; i < end; ++i) {
    for_each_dot(m + i * job.cols, q, job.cols, job.rank,
                 [&](std::int64_t k, double dot) { p[k * job.rows + i] = static_cast<T>(dot); });
  }
}

/// Sums down `columns` columns, for kFactors factors of which p is the first one.
template <std::size_t kFactors, class T>
void add_bands(const LowRank& job, std::int64_t first_column, std::int64_t columns, const T* p,
               Scratch<double> (&sums)[kFactors]) {
  const T* m = static_cast<const T*>(job.m.data) + first_column;
  for (std::int64_t band = 0; band < job.rows; band += kernels::kRowBand) {
    const std::int64_t rows = smaller(kernels::kRowBand, job.rows - band);
    Scratch<double> own[kFactors] = {};
    for (std::int64_t row = band; row < band + rows; row += kAtOnce) {
      for (std::int64_t i = row; i < row + kAtOnce; ++i) help_prefetcher(m + i * job.cols, columns, kAtOnce * job.cols);
      add_multiples<kFactors>(own[0].values, m + row * job.cols, job.cols, columns, smaller(kAtOnce, band + rows - row),
                              [&](std::int64_t k, std::int64_t i) { return double{p[k * job.rows + row + i]}; });
    }
    for (std::size_t k = 0; k < kFactors; ++k) {
      for (std::int64_t j = 0; j < columns; ++j) sums[k].values[j] += own[k].values[j];
    }
  }
}

template <class T>
void project_columns_typed(const LowRank& job, std::int64_t begin, std::int64_t end) {
  const T* p = static_cast<const T*>(job.p);
  T* q = static_cast<T*>(job.q);
  for (std::int64_t first = begin; first < end; first += kBlock) {
    const std::int64_t count = smaller(kBlock, end - first);
    for_groups(job.rank, [&](std::int64_t base, auto group) {
      constexpr std::size_t kFactors = decltype(group)::value;
      Scratch<double> sums[kFactors] = {};
      add_bands<kFactors>(job, first, count, p + base * job.rows, sums);
      for (std::int64_t k = 0; k < std::int64_t{kFactors}; ++k) {
        for (std::int64_t j = 0; j < count; ++j) {
          q[(base + k) * job.cols + first + j] = static_cast<T>(sums[k].values[j]);
        }
      }
    });
  }
}

/// Gram and Schmidt, twice over: once leaves errors of the size of the projections that cancel. All projections of a
/// vector are of what it is before any is taken away. `along` has room for job.rank numbers.
template <class T>
void orthonormalize_typed(const LowRank& job, double* along) {
  T* p = static_cast<T*>(job.p);
  for (std::int64_t k = 0; k < job.rank; ++k) {
    T* vector = p + k * job.rows;
    const double before = dot_numbers(vector, vector, job.rows);
    for (int pass = 0; k > 0 && pass < 2; ++pass) {
      for_each_dot(vector, p, job.rows, k, [&](std::int64_t base, double dot) { along[base] = dot; });
      for (std::int64_t first = 0; first < job.rows; first += kBlock) {
        const std::int64_t count = smaller(kBlock, job.rows - first);
        Scratch<double> left;
        for (std::int64_t i = 0; i < count; ++i) left.values[i] = static_cast<double>(vector[first + i]);
        add_multiples<1>(left.values, p + first, job.rows, count, k,
                         [&](std::int64_t, std::int64_t base) { return -along[base]; });
        for (std::int64_t i = 0; i < count; ++i) vector[first + i] = static_cast<T>(left.values[i]);
      }
    }
    const double scale = kernels::unit_scale<T>(before, k > 0 ? dot_numbers(vector, vector, job.rows) : before);
    for (std::int64_t i = 0; i < job.rows; ++i) vector[i] = static_cast<T>(scale * static_cast<double>(vector[i]));
  }
}

template <class T>
void expand_typed(const LowRank& job, double factor, std::int64_t begin, std::int64_t end) {
  const T* p = static_cast<const T*>(job.p);
  const T* q = static_cast<const T*>(job.q);
  for_groups(end - begin, [&](std::int64_t first_row, auto group) {
    constexpr std::size_t kRows = decltype(group)::value;
    for (std::int64_t first = 0; first < job.cols; first += kBlock) {
      const std::int64_t count = smaller(kBlock, job.cols - first);
      Scratch<double> sums[kRows];
      for (std::size_t row = 0; row < kRows; ++row) zero_block(sums[row].values, count);
      add_multiples<kRows>(sums[0].values, q + first, job.cols, count, job.rank, [&](std::int64_t row, std::int64_t k) {
        return double{p[k * job.rows + begin + first_row + row]};
      });
      for (std::int64_t row = 0; row < std::int64_t{kRows}; ++row) {
        const std::int64_t at = (begin + first_row + row) * job.cols + first;
        T* m = static_cast<T*>(job.m.data) + at;
        T* to = static_cast<T*>(job.result) + at;
        help_prefetcher(m, count);
        help_prefetcher(to, count);
        const double* own = sums[row].values;
        for (std::int64_t j = 0; j < count; ++j) {
          to[j] = static_cast<T>(factor * own[j]);
          m[j] = static_cast<T>(static_cast<double>(m[j]) - own[j]);
        }
      }
    }
  });
}

template <class T>
void expand_scaled_typed(const LowRank& job, const double* scales, double factor, std::int64_t begin,
                         std::int64_t end) {
  const T* p = static_cast<const T*>(job.p);
  const T* q = static_cast<const T*>(job.q);
  for (std::int64_t i = begin; i < end; ++i) {
    T* m = static_cast<T*>(job.m.data) + i * job.cols;
    T* to = static_cast<T*>(job.result) + i * job.cols;
    for (std::int64_t first = 0; first < job.cols; first += kBlock) {
      const std::int64_t count = smaller(kBlock, job.cols - first);
      Scratch<double> sums[2] = {};  // scaled, and as they are
      add_multiples<2>(sums[0].values, q + first, job.cols, count, job.rank, [&](std::int64_t sum, std::int64_t k) {
        const double own = p[k * job.rows + i];
        return sum == 0 ? own * scales[k] : own;
      });
      for (std::int64_t j = 0; j < count; ++j) {
        to[first + j] = static_cast<T>(sums[0].values[j]);
        m[first + j] = static_cast<T>(static_cast<double>(m[first + j]) - factor * sums[1].values[j]);
      }
    }
  }
}

void project_rows_part(const LowRank& job, std::int64_t begin, std::int64_t end) {
  if (job.m.dtype == DType::f64) return project_rows_typed<double>(job, begin, end);
  project_rows_typed<float>(job, begin, end);
}

void project_columns_part(const LowRank& job, std::int64_t begin, std::int64_t end) {
  if (job.m.dtype == DType::f64) return project_columns_typed<double>(job, begin, end);
  project_columns_typed<float>(job, begin, end);
}

void orthonormalize_factors(const LowRank& job, double* along) {
  if (job.m.dtype == DType::f64) return orthonormalize_typed<double>(job, along);
  orthonormalize_typed<float>(job, along);
}

void expand_part(const LowRank& job, double factor, std::int64_t begin, std::int64_t end) {
  if (job.m.dtype == DType::f64) return expand_typed<double>(job, factor, begin, end);
  expand_typed<float>(job, factor, begin, end);
}

void expand_scaled_part(const LowRank& job, const double* scales, double factor, std::int64_t begin, std::int64_t end) {
  if (job.m.dtype == DType::f64) return expand_scaled_typed<double>(job, scales, factor, begin, end);
  expand_scaled_typed<float>(job, scales, factor, begin, end);
}

}  // namespace
}  // namespace gradstep::cpu
