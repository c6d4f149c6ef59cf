// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/partition.h"

#include <algorithm>

namespace gradstep {

std::vector<MergedAxis> merge_small_dimensions(std::span<const std::int64_t> shape, std::int64_t limit) {
  std::vector<MergedAxis> merged;
  MergedAxis product;
  for (const std::int64_t dimension : shape) {
    // A product above the limit (a single long dimension) takes nothing more, not even a 1.
    if (product.extent <= limit && dimension <= limit / product.extent) {
      product.extent *= dimension;
      product.longest = std::max(product.longest, dimension);
      continue;
    }
    if (product.extent > 1) merged.push_back(product);
    product = {dimension, dimension};
  }
  if (product.extent > 1) merged.push_back(product);
  if (merged.empty() && !shape.empty()) merged.emplace_back();
  return merged;
}

AxisView view_axis(const Block& block, std::size_t axis) {
  AxisView view;
  view.n = block.extents[axis];
  for (std::size_t k = 0; k < block.extents.size(); ++k) {
    if (k < axis) view.outer *= block.extents[k];
    if (k > axis) view.inner *= block.extents[k];
  }
  return view;
}

Partition::Partition(std::span<const std::int64_t> shape, std::int64_t block_size, bool merge) {
  if (merge) {
    for (const MergedAxis& axis : merge_small_dimensions(shape, block_size)) {
      shape_.push_back(axis.extent);
      longest_.push_back(axis.longest);
    }
  } else {
    shape_.assign(shape.begin(), shape.end());
    longest_ = shape_;
  }
  std::vector<std::int64_t> begin(rank(), 0);
  for (;;) {
    Block block;
    block.begin = begin;
    block.size = 1;
    for (std::size_t axis = 0; axis < rank(); ++axis) {
      block.extents.push_back(std::min(block_size, shape_[axis] - begin[axis]));
      block.size *= block.extents.back();
    }
    blocks_.push_back(std::move(block));
    std::size_t axis = rank();
    while (axis > 0) {
      begin[axis - 1] += block_size;
      if (begin[axis - 1] < shape_[axis - 1]) break;
      begin[--axis] = 0;
    }
    if (axis == 0) return;
  }
}

std::vector<std::int64_t> Partition::strides() const {
  std::vector<std::int64_t> strides(rank(), 1);
  for (std::size_t axis = rank(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape_[axis];
  return strides;
}

}  // namespace gradstep
