// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Second moments in factors (rules/factoring.h): squares of rows and columns, and gradients divided by their roots, in
// f64. A row's sum has the lanes of square.h.
#pragma once

#include "cpu/loops/block.h"
#include "cpu/loops/square.h"

namespace gradstep::cpu {
namespace {

GRADSTEP_FORMULA double bounded(double factor, double bound) { return bound < factor ? bound : factor; }

/// Adds squares to the sums of columns. Returns their sum.
template <class T>
GRADSTEP_FORMULA double add_row_squares(const rules::Factoring& form, const T* g, std::int64_t count, double* columns) {
  const Doubles beside = Doubles{} + form.beside_square();
  Doubles lanes[kRegisters] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int r = 0; r < kRegisters; ++r) {
      const Doubles value = load_doubles(g + i + r * kDoubles);
      const Doubles square = value * value + beside;
      double* const to = columns + i + r * kDoubles;
      const Doubles sum = load_doubles(to) + square;
      __builtin_memcpy(to, &sum, sizeof sum);
      lanes[r] += square;
    }
  }
  double rest = 0;
  for (; i < count; ++i) {
    const double square = form.square(g[i]);
    columns[i] += square;
    rest += square;
  }
  return count < kLanes ? rest : fold_lanes(lanes) + rest;
}

template <class T>
void add_factored_squares(const FactoredRows<T>& part) {
  const rules::Factoring form = part.form;
  const std::int64_t inner = part.inner;
  const T* g = part.change;
  double* of_row = part.of_rows;
  for (std::int64_t row = 0; row < part.rows; ++row) {
    double* of_column = part.of_columns;
    for (std::int64_t m = 0; m < part.middle; ++m) {
      if (inner == 1) {
        *of_row = add_row_squares(form, g, part.columns, of_column);
      } else {
        for (std::int64_t at = 0; at < part.columns * inner; at += inner) {
          GRADSTEP_INDEPENDENT
          for (std::int64_t i = 0; i < inner; ++i) {
            const double square = form.square(g[at + i]);
            of_row[i] += square;
            of_column[at + i] += square;
          }
        }
      }
      g += part.columns * inner;
      of_column += part.columns * inner;
      of_row += inner;
    }
  }
}

template <class T>
GRADSTEP_FORMULA T divided(T g, double factor, double bound) {
  return static_cast<T>(static_cast<double>(g) * bounded(factor, bound));
}

template <class T>
double divide_factored(const FactoredRows<T>& part) {
  const double bound = part.form.bound();
  const std::int64_t inner = part.inner;
  SquareLanes squares;
  double rest = 0;
  T* g = part.change;
  const double* of_row = part.of_rows;
  for (std::int64_t row = 0; row < part.rows; ++row) {
    const double* of_column = part.of_columns;
    for (std::int64_t m = 0; m < part.middle; ++m) {
      const std::int64_t length = part.columns * inner;
      if (inner == 1) {
        const double factor = *of_row;
        GRADSTEP_INDEPENDENT
        for (std::int64_t i = 0; i < length; ++i) g[i] = divided(g[i], factor * of_column[i], bound);
      } else {
        for (std::int64_t at = 0; at < length; at += inner) {
          GRADSTEP_INDEPENDENT
          for (std::int64_t i = 0; i < inner; ++i) {
            g[at + i] = divided(g[at + i], of_row[i] * of_column[at + i], bound);
          }
        }
      }
      const std::int64_t whole = length / kLanes * kLanes;
      if (whole > 0) squares.add(g, whole);
      for (std::int64_t i = whole; i < length; ++i) {
        const auto u = static_cast<double>(g[i]);
        rest += u * u;
      }
      g += length;
      of_column += length;
      of_row += inner;
    }
  }
  return squares.fold() + rest;
}

template <class T>
double divide_elements(const rules::Factoring& form, double keep, T* change, T* variances, std::int64_t count) {
  const rules::Factoring own = form;
  const double bound = own.bound();
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    const T g = change[i];
    const T variance = own.go_on(variances[i], keep, own.square(g));
    variances[i] = variance;
    change[i] = divided(g, own.of_element(static_cast<double>(variance)), bound);
  }
  SquareLanes squares;
  squares.add(change, count);
  return squares.fold();
}

template <class T>
void mix_momentum(T* change, T* momentum, std::int64_t count, T keep, T take) {
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    const T mean = keep * momentum[i] + take * change[i];
    momentum[i] = mean;
    change[i] = mean;
  }
}

template <class T>
constexpr FactoredLoops<T> factored_loops() {
  return {add_factored_squares<T>, divide_factored<T>, divide_elements<T>, mix_momentum<T>};
}

}  // namespace
}  // namespace gradstep::cpu
