// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/partition.h"

#include <algorithm>
#include <cstring>

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

/// Calls row(offset in the tensor, offset in the block, elements) for each run of neighbouring elements.
template <class Row>
void Partition::for_each_row(const Block& block, Row&& row) const {
  const std::size_t last = rank() - 1;
  const std::int64_t length = block.extents[last];
  std::vector<std::int64_t> index(rank(), 0);
  for (std::int64_t offset = 0; offset < block.size; offset += length) {
    std::int64_t position = 0;
    for (std::size_t axis = 0; axis < rank(); ++axis)
      position = position * shape_[axis] + block.begin[axis] + index[axis];
    row(position, offset, length);
    for (std::size_t axis = last; axis-- > 0;) {
      if (++index[axis] < block.extents[axis]) break;
      index[axis] = 0;
    }
  }
}

void Partition::read_block(const float* tensor, const Block& block, float* to) const {
  for_each_row(block, [&](std::int64_t position, std::int64_t offset, std::int64_t length) {
    std::memcpy(to + offset, tensor + position, static_cast<std::size_t>(length) * sizeof(float));
  });
}

void Partition::write_block(const float* from, const Block& block, float* tensor) const {
  for_each_row(block, [&](std::int64_t position, std::int64_t offset, std::int64_t length) {
    std::memcpy(tensor + position, from + offset, static_cast<std::size_t>(length) * sizeof(float));
  });
}

}  // namespace gradstep
