// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/state_matrix.h"

#include <algorithm>
#include <tuple>

namespace gradstep {

namespace {

std::size_t whole_lines(std::int64_t bytes) {
  return (static_cast<std::size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
}

/// How the memory of matrices of one shape and coding is divided: all numbers, then all buckets, then all diagonals.
struct ArenaShape {
  std::size_t numbers = 0;  // bytes of one matrix
  std::size_t buckets = 0;
  std::size_t diagonal = 0;

  explicit ArenaShape(const StoredMatrix& matrix) {
    const std::int64_t list = matrix.columns * static_cast<std::int64_t>(sizeof(float));
    numbers = whole_lines(matrix.size() * kernels::code_size(matrix.coding));
    if (matrix.is_coded()) buckets = whole_lines(list);
    if (matrix.coding == Coding::int16) diagonal = whole_lines(list);
  }
  std::size_t bytes() const { return numbers + buckets + diagonal; }
};

auto shape_of(const StateMatrix* matrix) {
  const StoredMatrix& view = matrix->view();
  return std::tuple(view.rows, view.columns, view.coding);
}

}  // namespace

StateMatrix::StateMatrix(std::int64_t rows, std::int64_t columns, Coding coding) : exists_(true) {
  view_.rows = rows;
  view_.columns = columns;
  view_.coding = coding;
}

std::int64_t StateMatrix::bytes_of(std::int64_t rows, std::int64_t columns, Coding coding) {
  const std::int64_t lists = coding == Coding::none ? 0 : coding == Coding::int8 ? 1 : 2;
  return rows * columns * kernels::code_size(coding) + lists * columns * static_cast<std::int64_t>(sizeof(float));
}

void StateMatrix::release() {
  memory_.reset();
  view_.numbers = nullptr;
  view_.buckets = view_.diagonal = nullptr;
}

void StateMatrix::append_stored(std::size_t parameter, const std::string& name, std::vector<std::int64_t> shape,
                                std::int32_t owner, std::vector<StoredState>& stored) const {
  const auto here = [&](std::int64_t count) { return is_here() ? count : 0; };
  const auto append = [&](const std::string& what, const Array& array, std::vector<std::int64_t> dimensions) {
    std::int64_t total = 1;
    for (const std::int64_t dimension : dimensions) total *= dimension;
    stored.push_back({parameter, what, array, 0, total, false, owner, std::move(dimensions)});
  };
  if (shape.empty()) shape = {view_.rows, view_.columns};
  if (!is_coded()) {
    append(name, compact_array(view_.numbers, here(size()), DType::f32), std::move(shape));
    return;
  }
  const std::int64_t bytes = kernels::code_size(view_.coding);
  if (bytes > 1) shape.push_back(bytes);
  append(name, compact_array(view_.numbers, here(size() * bytes), DType::u8), std::move(shape));
  append(name + ".buckets", compact_array(view_.buckets, here(view_.columns), DType::f32), {view_.columns});
  if (view_.coding == Coding::int16) {
    append(name + ".diagonal", compact_array(view_.diagonal, here(view_.columns), DType::f32), {view_.columns});
  }
}

void allocate_matrices(const Site& site, std::span<StateMatrix* const> matrices) {
  std::vector<StateMatrix*> sorted(matrices.begin(), matrices.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const StateMatrix* a, const StateMatrix* b) { return shape_of(a) < shape_of(b); });
  for (auto begin = sorted.begin(); begin != sorted.end();) {
    const auto end = std::find_if(begin, sorted.end(),
                                  [&](const StateMatrix* matrix) { return shape_of(matrix) != shape_of(*begin); });
    const auto count = static_cast<std::size_t>(end - begin);
    const ArenaShape shape((*begin)->view());
    const auto memory = std::make_shared<const Buffer>(site.allocate(count * shape.bytes(), /*zeroed=*/true));
    for (std::size_t k = 0; begin != end; ++begin, ++k) {
      StateMatrix& matrix = **begin;
      auto* const bytes = memory->as<std::byte>();
      matrix.memory_ = memory;
      if (shape.bytes() == 0) continue;
      matrix.view_.numbers = bytes + k * shape.numbers;
      const std::size_t lists = count * shape.numbers;
      if (shape.buckets > 0) matrix.view_.buckets = reinterpret_cast<float*>(bytes + lists + k * shape.buckets);
      if (shape.diagonal > 0) {
        matrix.view_.diagonal = reinterpret_cast<float*>(bytes + lists + count * shape.buckets + k * shape.diagonal);
      }
    }
  }
}

}  // namespace gradstep
