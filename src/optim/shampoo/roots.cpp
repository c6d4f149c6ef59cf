// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Coupled Newton (Iannazzo 2006; Higham, Functions of Matrices, 7.3) keeps M_k = H_k^p D and drives it to I:
//   M_0 = z D, H_0 = z^(1/p) I;  T = ((p + 1) I - M) / p;  M <- T^p M, H <- H T.
// All its matrices are polynomials in D, so a block-diagonal extension of D by a multiple of I stays one: the padding
// that the seed gives every statistic is one more scalar here, not rows and columns.
#include "optim/shampoo/roots.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/random.h"

namespace gradstep {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kMaxIterations = 100;
constexpr double kTolerance = 1e-6;
constexpr double kSmallestEigenvalue = 1e-6;
constexpr double kDoubtful = 1e-6;  // a probe's residual above it is followed by the full one

/// NumPy's RandomState(1729).uniform(-1, 1): 53 bits from two words of MT19937 each.
class UniformNumbers {
 public:
  double next() {
    const auto high = static_cast<std::uint32_t>(generator_()) >> 5;
    const auto low = static_cast<std::uint32_t>(generator_()) >> 6;
    return -1 + 2 * ((high * 67108864.0 + low) / 9007199254740992.0);
  }

 private:
  std::mt19937 generator_{1729};
};

double dot(const double* a, const double* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void add_to_diagonal(double* a, std::int64_t n, double value) {
  for (std::int64_t i = 0; i < n; ++i) a[i * n + i] += value;
}

/// max |a - I|; NaN if there is one.
double distance_from_identity(const double* a, std::int64_t n) {
  double largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const double difference = std::abs(a[i * n + j] - (i == j ? 1 : 0));
      if (!(difference <= largest)) largest = difference;
      if (std::isnan(largest)) return largest;
    }
  }
  return largest;
}

}  // namespace

void RootWorkspace::reserve(std::int64_t n, std::int64_t padded) {
  const auto square = static_cast<std::size_t>(n * n);
  const auto vector = static_cast<std::size_t>(std::max(n, padded));
  const std::size_t needed = 6 * square + 4 * vector;
  if (storage_.size() < needed) storage_.resize(needed);
  double* next = storage_.data();
  for (double** matrix : {&statistic_, &root_, &a_, &b_, &c_, &d_}) {
    *matrix = next;
    next += square;
  }
  for (double** list : {&x_, &y_, &z_, &values_}) {
    *list = next;
    next += vector;
  }
}

RootResult RootWorkspace::inverse_root(const float* statistic, std::int64_t n, const RootOptions& options) {
  reserve(n, options.padded);
  bool finite = true;
  for (std::int64_t i = 0; i < n * n; ++i) {
    statistic_[i] = static_cast<double>(statistic[i]);
    finite = finite && std::isfinite(statistic[i]);
  }
  if (!finite) {
    RootResult result;
    result.error = result.max_eigenvalue = kNan;
    return result;
  }
  return options.method == RootMethod::eigh ? eigh(n, options) : newton(n, options);
}

/// Power iteration from a fixed vector over the extended matrix.
double RootWorkspace::largest_eigenvalue(std::int64_t n, const RootOptions& options) {
  const std::int64_t size = std::max(n, options.padded);
  UniformNumbers numbers;
  for (std::int64_t i = 0; i < size; ++i) x_[i] = numbers.next();
  double eigenvalue = 0;
  for (int i = 0; i < kMaxIterations; ++i) {
    const double norm = std::sqrt(dot(x_, x_, size));
    for (std::int64_t j = 0; j < size; ++j) x_[j] /= norm;
    options.dense->multiply_vector(statistic_, x_, n, y_);
    for (std::int64_t j = n; j < size; ++j) y_[j] = options.pad_value * x_[j];
    const double next = dot(x_, y_, size);
    const bool moves = std::abs(next - eigenvalue) > kTolerance;
    eigenvalue = next;
    std::swap(x_, y_);
    if (!moves) break;
  }
  return eigenvalue;
}

RootResult RootWorkspace::newton(std::int64_t n, const RootOptions& options) {
  const std::int32_t p = options.exponent;
  const double inverse = 1.0 / p;
  const std::int64_t padding = std::max<std::int64_t>(0, options.padded - n);
  RootResult result;
  result.max_eigenvalue = largest_eigenvalue(n, options);
  result.ridge = options.ridge_factor * options.matrix_epsilon * std::max(result.max_eigenvalue, kSmallestEigenvalue);
  if (n == 1 && padding == 0) {
    root_[0] = std::pow(statistic_[0] + result.ridge, -inverse);
    result.error = std::isfinite(root_[0]) ? 0 : kNan;
    return result;
  }
  const auto count = static_cast<std::size_t>(n * n);
  double* m = a_;
  double* h = b_;
  double* t = c_;
  double* spare = d_;
  std::copy_n(statistic_, count, m);
  add_to_diagonal(m, n, result.ridge);
  double pad = options.pad_value + result.ridge;
  const double z = (1 + p) / (2 * std::sqrt(dot(m, m, n * n) + static_cast<double>(padding) * pad * pad));
  for (std::size_t i = 0; i < count; ++i) m[i] *= z;
  pad *= z;
  std::fill_n(h, count, 0.0);
  add_to_diagonal(h, n, std::pow(z, inverse));
  const auto error_of = [&](const double* matrix) {
    const double distance = distance_from_identity(matrix, n);
    return padding > 0 ? std::max(distance, std::abs(pad - 1)) : distance;
  };
  double error = error_of(m);
  int rises = 0;
  bool take_previous = false;
  // The seed stops at the tolerance. One round more costs little and squares what is left of the error.
  int polishes = options.seed_rules ? 0 : 1;
  double* previous = root_;
  while (result.iterations < kMaxIterations && !take_previous && (error > kTolerance || polishes-- > 0)) {
    ++result.iterations;
    for (std::size_t i = 0; i < count; ++i) t[i] = -inverse * m[i];
    add_to_diagonal(t, n, 1 + inverse);
    const double pad_t = 1 + inverse - inverse * pad;
    pad *= std::pow(pad_t, p);
    options.dense->multiply(h, t, n, previous);
    std::swap(h, previous);
    // M <- T^p M by repeated squaring of T, which has served H already.
    for (std::int32_t bits = p; bits > 0; bits /= 2) {
      if (bits % 2 == 1) {
        options.dense->multiply(t, m, n, spare);
        std::swap(m, spare);
      }
      if (bits > 1) {
        options.dense->multiply(t, t, n, spare);
        std::swap(t, spare);
      }
    }
    const double next = error_of(m);
    if (options.seed_rules) {
      take_previous = !(next < error * 1.2);
    } else {
      rises = next > error ? rises + 1 : 0;
      take_previous = rises >= 3 || !std::isfinite(next);
    }
    error = next;
  }
  if (take_previous) std::swap(h, previous);
  if (h != root_) std::copy_n(h, count, root_);
  result.error = error;
  return result;
}

RootResult RootWorkspace::eigh(std::int64_t n, const RootOptions& options) {
  RootResult result;
  const bool decomposed = options.dense->decompose(statistic_, n, values_, a_);
  result.max_eigenvalue = options.padded > 0 ? largest_eigenvalue(n, options) : values_[n - 1];
  result.ridge = options.ridge_factor * options.matrix_epsilon * std::max(result.max_eigenvalue, kSmallestEigenvalue);
  if (!decomposed) {
    result.error = kNan;
    return result;
  }
  // S and S + ridge I share their vectors. What rounding or integer codes have pushed below zero is raised to it.
  bool raised = false;
  for (std::int64_t i = 0; i < n; ++i) {
    raised = raised || values_[i] < 0;
    z_[i] = std::pow(std::max(values_[i], 0.0) + result.ridge, -1.0 / options.exponent);
  }
  options.dense->recompose(a_, z_, n, b_, root_);
  if (raised) {
    for (std::int64_t i = 0; i < n; ++i) z_[i] = std::max(values_[i], 0.0);
    options.dense->recompose(a_, z_, n, b_, statistic_);
  }
  result.error = residual(n, options, result.ridge);
  return result;
}

/// max |H^p D x - x| on two vectors of signs; where that is doubtful, max |H^p D - I|.
double RootWorkspace::residual(std::int64_t n, const RootOptions& options, double ridge) {
  double worst = 0;
  for (std::uint64_t probe = 0; probe < 2; ++probe) {
    const auto sign = [probe](std::int64_t i) {
      return (kernels::mix64(static_cast<std::uint64_t>(2 * i + 1) + probe) & 1U) != 0 ? 1.0 : -1.0;
    };
    for (std::int64_t i = 0; i < n; ++i) x_[i] = sign(i);
    options.dense->multiply_vector(statistic_, x_, n, y_);
    for (std::int64_t i = 0; i < n; ++i) y_[i] += ridge * x_[i];
    for (std::int32_t k = 0; k < options.exponent; ++k) {
      options.dense->multiply_vector(root_, y_, n, x_);
      std::swap(x_, y_);
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const double difference = std::abs(y_[i] - sign(i));
      if (!(difference <= worst)) worst = difference;
      if (std::isnan(worst)) return worst;
    }
  }
  return worst > kDoubtful ? full_residual(n, options, ridge) : worst;
}

double RootWorkspace::full_residual(std::int64_t n, const RootOptions& options, double ridge) {
  std::copy_n(statistic_, static_cast<std::size_t>(n * n), a_);
  add_to_diagonal(a_, n, ridge);
  for (std::int32_t k = 0; k < options.exponent; ++k) {
    options.dense->multiply(root_, a_, n, b_);
    std::swap(a_, b_);
  }
  return distance_from_identity(a_, n);
}

}  // namespace gradstep
