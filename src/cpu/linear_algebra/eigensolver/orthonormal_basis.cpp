// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/eigensolver/orthonormal_basis.h"

#include <algorithm>

namespace gradstep::cpu {

template <class T>
void OrthonormalBasis<T>::make(const Products<T>& products, T* a, std::int64_t n, T* q) {
  constexpr std::int64_t kBlock = 32;
  static_assert(kBlock <= ReflectorBlock<T>::kReflectors);
  const DenseLoops<T>& loops = products.loops();
  scales_.resize(static_cast<std::size_t>(n));
  const auto form_block = [&](std::int64_t first) {
    block_.form(products, a + first * n + first, n, std::min(kBlock, n - first), n - first, scales_.data() + first);
  };
  for (std::int64_t first = 0; first < n; first += kBlock) {
    const std::int64_t end = std::min(n, first + kBlock);
    for (std::int64_t j = first; j < end; ++j) {
      T* v = a + j * n + j;
      const T scale = make_reflector(loops, v, n - j).scale;
      scales_[static_cast<std::size_t>(j)] = scale;
      std::fill(a + j * n + first, v, T{0});
      for (std::int64_t i = j + 1; i < end; ++i) {
        T* column = a + i * n + j;
        loops.add_scaled(-scale * loops.dot(v, column, n - j), v, n - j, column);
      }
    }
    form_block(first);
    if (end < n) block_.apply(products, /*backwards=*/false, a + end * n + first, n, n - end);
  }
  std::fill_n(q, n * n, T{0});
  for (std::int64_t i = 0; i < n; ++i) q[i * n + i] = 1;
  for (std::int64_t first = (n - 1) / kBlock * kBlock; first >= 0; first -= kBlock) {
    form_block(first);
    block_.apply(products, /*backwards=*/true, q + first * n + first, n, n - first);
  }
}

template class OrthonormalBasis<double>;
template class OrthonormalBasis<float>;

}  // namespace gradstep::cpu
