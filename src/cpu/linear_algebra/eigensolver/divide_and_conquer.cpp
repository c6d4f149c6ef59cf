// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/eigensolver/divide_and_conquer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "cpu/linear_algebra/eigensolver/implicit_ql.h"
#include "cpu/linear_algebra/eigensolver/secular_equation.h"

namespace gradstep::cpu {

namespace {

constexpr std::int64_t kSmallest = 32;  // that is divided has more; two or three sweeps for a value cost less there

// Where a vector is not zero.
constexpr int kUpper = 0;
constexpr int kBoth = 1;
constexpr int kLower = 2;

}  // namespace

template <class T>
bool DivideAndConquer<T>::solve(const Products<T>& products, T* diagonal, T* off_diagonal, std::int64_t n, T* vectors,
                                T* scratch) {
  n_ = n;
  d_ = diagonal;
  e_ = off_diagonal;
  vectors_ = vectors;
  gathered_ = scratch;
  change_ = scratch + (n * n + 1) / 2;
  const auto count = static_cast<std::size_t>(n);
  for (std::vector<T>* list : {&z_, &poles_, &weights_, &values_, &products_}) list->resize(count);
  order_.resize(count);
  place_.resize(count);
  row_.resize(count);
  side_.resize(count);
  std::fill_n(vectors, n * n, T{0});
  return solve_part(products, 0, n);
}

template <class T>
bool DivideAndConquer<T>::solve_part(const Products<T>& products, std::int64_t begin, std::int64_t end) {
  const std::int64_t size = end - begin;
  if (size <= kSmallest) {
    return solve_by_implicit_ql(products.loops(), d_ + begin, e_ + begin, size, vectors_ + begin * n_ + begin, n_);
  }
  const std::int64_t middle = begin + size / 2;
  const T coupling = e_[middle - 1];
  d_[middle - 1] -= std::abs(coupling);
  d_[middle] -= std::abs(coupling);
  if (!solve_part(products, begin, middle) || !solve_part(products, middle, end)) return false;
  join(products, {begin, middle, end}, coupling);
  return true;
}

/// The matrix is that of the two halves plus |coupling| u u^T, u = (last unit vector, +- first unit vector), and u in
/// the basis of their eigenvectors is z sqrt(2).
template <class T>
void DivideAndConquer<T>::join(const Products<T>& products, const Part& part, T coupling) {
  const std::int64_t size = part.size();
  const std::int64_t upper = part.middle - part.begin;
  const T unit = std::sqrt(T{0.5});
  for (std::int64_t i = 0; i < size; ++i) {
    const bool is_upper = i < upper;
    const T component = row(part, i)[is_upper ? upper - 1 : upper];
    z_[static_cast<std::size_t>(i)] = unit * (is_upper || coupling > 0 ? component : -component);
    side_[static_cast<std::size_t>(i)] = is_upper ? kUpper : kLower;
  }
  const T rho = 2 * std::abs(coupling);
  deflate(products.loops(), part, rho);
  const auto kept = static_cast<std::int64_t>(kept_.size());
  gather(part);
  if (kept > 0) {
    solve_kept(products, part, rho);
    join_kept(products, part);
  }
  for (std::int64_t i = kept; i < size; ++i) {
    values_[static_cast<std::size_t>(i)] = d_[part.begin + deflated_[static_cast<std::size_t>(i - kept)]];
  }
  sort_rows(part);
}

/// Sorts the eigenvalues of the halves into kept_, ascending, and deflated_: those whose vectors stay eigenvectors up
/// to rounding, because u has nothing of them, or because of two that lie close one may be turned away from u.
template <class T>
void DivideAndConquer<T>::deflate(const DenseLoops<T>& loops, const Part& part, T rho) {
  const std::int64_t size = part.size();
  T* d = d_ + part.begin;
  std::iota(order_.begin(), order_.begin() + size, 0);
  std::stable_sort(order_.begin(), order_.begin() + size, [d](std::int64_t i, std::int64_t j) { return d[i] < d[j]; });
  T largest = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    largest = std::max({largest, std::abs(d[i]), std::abs(z_[static_cast<std::size_t>(i)])});
  }
  const T tolerance = 8 * std::numeric_limits<T>::epsilon() * largest;
  kept_.clear();
  deflated_.clear();
  std::int64_t last = -1;  // to be kept, unless the next one takes its share of u
  for (std::int64_t at = 0; at < size; ++at) {
    const std::int64_t i = order_[static_cast<std::size_t>(at)];
    T& own = z_[static_cast<std::size_t>(i)];
    if (rho * std::abs(own) <= tolerance) {
      deflated_.push_back(i);
      continue;
    }
    if (last >= 0) {
      T& other = z_[static_cast<std::size_t>(last)];
      const T length = std::sqrt(own * own + other * other);
      const T c = own / length;
      const T s = -other / length;
      if (std::abs((d[i] - d[last]) * c * s) <= tolerance) {
        own = length;
        other = 0;
        if (side_[static_cast<std::size_t>(i)] != side_[static_cast<std::size_t>(last)]) {
          side_[static_cast<std::size_t>(i)] = kBoth;
        }
        loops.rotate(row(part, last), row(part, i), size, c, s);
        const T turned = d[last] * c * c + d[i] * s * s;
        d[i] = d[last] * s * s + d[i] * c * c;
        d[last] = turned;
        deflated_.push_back(last);
      } else {
        kept_.push_back(last);
      }
    }
    last = i;
  }
  if (last >= 0) kept_.push_back(last);
}

/// Copies the kept vectors' halves that are not zero. Deflated ones move behind the rows that are for kept ones.
template <class T>
void DivideAndConquer<T>::gather(const Part& part) {
  const auto kept = static_cast<std::int64_t>(kept_.size());
  const std::int64_t size = part.size();
  const std::int64_t upper = part.middle - part.begin;
  T* next_half = gathered_;
  std::int64_t next = 0;
  for (int side = kUpper; side <= kLower; ++side) {
    first_side_[side] = next;
    for (std::size_t k = 0; k < kept_.size(); ++k) {
      if (side_[static_cast<std::size_t>(kept_[k])] == side) place_[k] = next++;
    }
  }
  const auto copy_halves = [&](int absent, std::int64_t first, std::int64_t count) {
    for (std::size_t k = 0; k < kept_.size(); ++k) {
      if (side_[static_cast<std::size_t>(kept_[k])] == absent) continue;
      const std::int64_t place = place_[k] - (absent == kUpper ? first_side_[kBoth] : 0);
      std::copy_n(row(part, kept_[k]) + first, count, next_half + place * count);
    }
  };
  copy_halves(kLower, 0, upper);
  next_half += first_side_[kLower] * upper;
  copy_halves(kUpper, upper, size - upper);

  std::iota(row_.begin(), row_.begin() + kept, 0);
  auto free = kept_.begin();
  for (std::int64_t i = kept; i < size; ++i) {
    std::int64_t& place = row_[static_cast<std::size_t>(i)];
    place = deflated_[static_cast<std::size_t>(i - kept)];
    if (place >= kept) continue;
    free = std::find_if(free, kept_.end(), [kept](std::int64_t row) { return row >= kept; });
    std::copy_n(row(part, place), size, row(part, *free));
    place = *free++;
  }
}

/// Roots into values_, eigenvectors of the change into the part's first rows, in the order of place_.
template <class T>
void DivideAndConquer<T>::solve_kept(const Products<T>& products, const Part& part, T rho) {
  const DenseLoops<T>& loops = products.loops();
  const auto kept = static_cast<std::int64_t>(kept_.size());
  for (std::size_t k = 0; k < kept_.size(); ++k) {
    poles_[k] = d_[part.begin + kept_[k]];
    weights_[k] = z_[static_cast<std::size_t>(kept_[k])];
    products_[k] = 1;
  }
  const SecularEquation<T> equation{poles_.data(), weights_.data(), kept, rho};
  for (std::int64_t i = 0; i < kept; ++i) {
    T* difference = row(part, i);
    values_[static_cast<std::size_t>(i)] = solve_secular(loops, equation, i, difference);
    const T pole = poles_[static_cast<std::size_t>(i)];
    loops.multiply_ratios(difference, poles_.data(), pole, i, products_.data());
    products_[static_cast<std::size_t>(i)] *= difference[i];
    loops.multiply_ratios(difference + i + 1, poles_.data() + i + 1, pole, kept - i - 1, products_.data() + i + 1);
  }
  // The z whose equation has exactly these roots (Loewner's formula).
  for (std::size_t k = 0; k < kept_.size(); ++k) {
    weights_[k] = std::copysign(std::sqrt(std::max(-products_[k], T{0})), weights_[k]);
  }
  T* vector = products_.data();
  for (std::int64_t i = 0; i < kept; ++i) {
    T* change = row(part, i);
    loops.divide(weights_.data(), change, kept, vector);
    const T length = std::sqrt(loops.dot(vector, vector, kept));
    for (std::int64_t k = 0; k < kept; ++k) change[place_[static_cast<std::size_t>(k)]] = vector[k] / length;
  }
}

/// The change times the kept vectors, over it. A vector that is zero in one half needs no product there.
template <class T>
void DivideAndConquer<T>::join_kept(const Products<T>& products, const Part& part) {
  const auto kept = static_cast<std::int64_t>(kept_.size());
  const std::int64_t size = part.size();
  const std::int64_t upper = part.middle - part.begin;
  const std::int64_t lower_begin = first_side_[kBoth];
  const std::int64_t upper_end = first_side_[kLower];
  for (std::int64_t first = 0; first < kept; first += kRows) {
    const std::int64_t count = std::min(kRows, kept - first);
    for (std::int64_t i = 0; i < count; ++i) std::copy_n(row(part, first + i), kept, change_ + i * kept);
    products.multiply({.rows = count,
                       .columns = upper,
                       .depth = upper_end,
                       .a = {change_, kept},
                       .b = {gathered_, upper},
                       .c = row(part, first),
                       .c_stride = n_});
    products.multiply({.rows = count,
                       .columns = size - upper,
                       .depth = kept - lower_begin,
                       .a = {change_ + lower_begin, kept},
                       .b = {gathered_ + upper_end * upper, size - upper},
                       .c = row(part, first) + upper,
                       .c_stride = n_});
  }
}

/// Vectors, and their values, in the order of the values.
template <class T>
void DivideAndConquer<T>::sort_rows(const Part& part) {
  const std::int64_t size = part.size();
  std::iota(order_.begin(), order_.begin() + size, 0);
  std::stable_sort(order_.begin(), order_.begin() + size, [this](std::int64_t i, std::int64_t j) {
    return values_[static_cast<std::size_t>(i)] < values_[static_cast<std::size_t>(j)];
  });
  for (std::int64_t i = 0; i < size; ++i) {
    std::int64_t& from = order_[static_cast<std::size_t>(i)];
    d_[part.begin + i] = values_[static_cast<std::size_t>(from)];
    from = row_[static_cast<std::size_t>(from)];
  }
  // One cycle of rows after the other.
  T* first = products_.data();
  for (std::int64_t begin = 0; begin < size; ++begin) {
    std::int64_t to = begin;
    std::int64_t from = std::exchange(order_[static_cast<std::size_t>(to)], to);
    if (from == begin) continue;
    std::copy_n(row(part, begin), size, first);
    while (from != begin) {
      std::copy_n(row(part, from), size, row(part, to));
      to = from;
      from = std::exchange(order_[static_cast<std::size_t>(to)], to);
    }
    std::copy_n(first, size, row(part, to));
  }
}

template class DivideAndConquer<double>;
template class DivideAndConquer<float>;

}  // namespace gradstep::cpu
