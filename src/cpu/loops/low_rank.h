// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Products of a matrix with a few vectors, and back. Dot products are those of combine.h: f64, in 16 lanes, over blocks
// of a row; sums over rows are f64 and go down the rows in order, so neither depends on how the work is shared out.
#pragma once

#include "cpu/loops/combine.h"
#include "kernels/orthonormal.h"

namespace gradstep::cpu {
namespace {

template <class T>
double dot_numbers(const T* x, const T* y, std::int64_t count) {
  DotLanes lanes;
  lanes.add(x, y, count);
  return lanes.fold();
}

template <class T>
void project_rows_typed(const LowRank& job, std::int64_t begin, std::int64_t end) {
  const T* m = static_cast<const T*>(job.m.data);
  const T* q = static_cast<const T*>(job.q);
  T* p = static_cast<T*>(job.p);
  for (std::int64_t i = begin; i < end; ++i) {
    for (std::int64_t k = 0; k < job.rank; ++k) {
      p[k * job.rows + i] = static_cast<T>(dot_numbers(m + i * job.cols, q + k * job.cols, job.cols));
    }
  }
}

template <class T>
[[gnu::noinline]] void add_multiple(double* sums, const T* row, std::int64_t count, double factor) {
  GRADSTEP_INDEPENDENT
  for (std::int64_t j = 0; j < count; ++j) sums[j] += factor * static_cast<double>(row[j]);
}

template <class T>
void project_columns_typed(const LowRank& job, std::int64_t begin, std::int64_t end) {
  const T* m = static_cast<const T*>(job.m.data);
  const T* p = static_cast<const T*>(job.p);
  T* q = static_cast<T*>(job.q);
  constexpr std::int64_t kAtOnce = 4;  // factors that share one walk down the columns
  for (std::int64_t first = begin; first < end; first += kBlock) {
    const std::int64_t count = smaller(kBlock, end - first);
    for (std::int64_t base = 0; base < job.rank; base += kAtOnce) {
      const std::int64_t factors = smaller(kAtOnce, job.rank - base);
      Scratch<double> sums[kAtOnce] = {};
      for (std::int64_t i = 0; i < job.rows; ++i) {
        for (std::int64_t k = 0; k < factors; ++k) {
          add_multiple(sums[k].values, m + i * job.cols + first, count,
                       static_cast<double>(p[(base + k) * job.rows + i]));
        }
      }
      for (std::int64_t k = 0; k < factors; ++k) {
        for (std::int64_t j = 0; j < count; ++j) {
          q[(base + k) * job.cols + first + j] = static_cast<T>(sums[k].values[j]);
        }
      }
    }
  }
}

/// Gram and Schmidt, twice over: once leaves errors of the size of the projections that cancel.
template <class T>
void orthonormalize_typed(const LowRank& job) {
  T* p = static_cast<T*>(job.p);
  for (std::int64_t k = 0; k < job.rank; ++k) {
    T* column = p + k * job.rows;
    const double before = dot_numbers(column, column, job.rows);
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t other = 0; other < k; ++other) {
        const T* base = p + other * job.rows;
        const double along = dot_numbers(column, base, job.rows);
        for (std::int64_t i = 0; i < job.rows; ++i) {
          column[i] = static_cast<T>(static_cast<double>(column[i]) - along * static_cast<double>(base[i]));
        }
      }
    }
    const double after = dot_numbers(column, column, job.rows);
    const double scale = kernels::unit_scale<T>(before, after);
    for (std::int64_t i = 0; i < job.rows; ++i) column[i] = static_cast<T>(scale * static_cast<double>(column[i]));
  }
}

template <class T>
void expand_typed(const LowRank& job, double factor, std::int64_t begin, std::int64_t end) {
  const T* p = static_cast<const T*>(job.p);
  const T* q = static_cast<const T*>(job.q);
  for (std::int64_t i = begin; i < end; ++i) {
    T* m = static_cast<T*>(job.m.data) + i * job.cols;
    T* to = static_cast<T*>(job.result) + i * job.cols;
    for (std::int64_t first = 0; first < job.cols; first += kBlock) {
      const std::int64_t count = smaller(kBlock, job.cols - first);
      Scratch<double> sums;
      for (std::int64_t j = 0; j < count; ++j) sums.values[j] = 0;
      for (std::int64_t k = 0; k < job.rank; ++k) {
        add_multiple(sums.values, q + k * job.cols + first, count, static_cast<double>(p[k * job.rows + i]));
      }
      for (std::int64_t j = 0; j < count; ++j) {
        to[first + j] = static_cast<T>(factor * sums.values[j]);
        m[first + j] = static_cast<T>(static_cast<double>(m[first + j]) - sums.values[j]);
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

void orthonormalize_factors(const LowRank& job) {
  if (job.m.dtype == DType::f64) return orthonormalize_typed<double>(job);
  orthonormalize_typed<float>(job);
}

void expand_part(const LowRank& job, double factor, std::int64_t begin, std::int64_t end) {
  if (job.m.dtype == DType::f64) return expand_typed<double>(job, factor, begin, end);
  expand_typed<float>(job, factor, begin, end);
}

}  // namespace
}  // namespace gradstep::cpu
