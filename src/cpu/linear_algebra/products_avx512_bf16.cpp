// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/products.inc"

namespace gradstep::cpu {

void multiply_avx512_bf16(const Product<float>& product, float* packed) {
  if (!product.of_bf16) return kDenseAvx512.f32.multiply(product, packed);
  multiply<float, /*Pairs=*/true>(product, packed);
}

}  // namespace gradstep::cpu
