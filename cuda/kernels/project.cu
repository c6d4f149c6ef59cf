// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What lies between the products of a projection (rules/projection.h), one matrix after the other.
#include <algorithm>

#include "device/chunk.h"
#include "device/places.h"
#include "device/reduce.h"
#include "operations.h"
#include "rules/constants.h"
#include "runtime/launch.h"

namespace gradstep::cuda {

namespace {

/// ProjectedItem, as kernels see it.
template <class T>
struct ProjectedMatrix {
  T* change;
  T* momentum;
  T* factors;
  T* basis;
  const T* products;
  double* scales;
  const double* squares;  ///< of the factors of R, factor by factor
  const rules::GroupConstants* constants;
  const kernels::StepScalars* scalars;
  rules::Projection form;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t rank;
  std::int64_t length;
  std::int64_t basis_length;
  std::int64_t is_transposed;

  ProjectedMatrix(const ProjectedItem& item, const double* all_squares, const kernels::StepScalars* step)
      : change(static_cast<T*>(item.change.data)),
        momentum(static_cast<T*>(item.momentum)),
        factors(static_cast<T*>(item.factors)),
        basis(static_cast<T*>(item.basis)),
        products(static_cast<const T*>(item.products)),
        scales(item.scales),
        squares(all_squares + item.first),
        constants(item.constants),
        scalars(step),
        form(item.form),
        rows(item.rows),
        columns(item.columns),
        rank(item.rank),
        length(item.length()),
        basis_length(item.basis_length()),
        is_transposed(item.is_transposed() ? 1 : 0) {}

  GRADSTEP_DEVICE bool is_made(const Block& block) const { return block.checked(scalars)->gate != 0; }
};

/// A block has a chunk.
template <class T>
struct TakeGradients {
  static constexpr const char* kName = "take_gradients";
  static constexpr int kThreads = kChunkThreads;

  ProjectedMatrix<T> matrix;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    if (!matrix.is_made(block)) return;
    for_each_element(block, chunk_of_block(block, matrix.rows * matrix.columns), [&](std::int64_t i) {
      block.store(matrix.momentum + i, block.load(matrix.momentum + i) + block.load(matrix.change + i));
    });
  }
};

/// A block has a factor of P, of which it rarely reads more than the beginning.
template <class T>
struct FillBases {
  static constexpr const char* kName = "fill_bases";
  static constexpr int kThreads = 256;
  static constexpr bool kWaits = true;
  struct Shared {
    unsigned others;
  };

  ProjectedMatrix<T> matrix;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    T* vector = matrix.basis + block.index() * matrix.basis_length;
    const bool is_zero = are_zero<kThreads>(block, vector, matrix.basis_length, shared.others);
    if (is_zero && block.thread() == 0) block.store(vector + block.index(), T{1});
  }
};

/// A block has a factor of Q.
template <class T>
struct MoveFactors {
  static constexpr const char* kName = "move_factors";
  static constexpr int kThreads = 256;
  struct Shared {
    double trees[kThreads];
    double sum;
  };

  ProjectedMatrix<T> matrix;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    if (!matrix.is_made(block)) return;
    auto& shared = block.shared<Shared>();
    const std::int64_t chunks = chunks_of(matrix.length);
    const double* own = matrix.squares + block.index() * chunks;
    const double sum = fold_by_block(block, own, chunks, shared.trees);
    if (block.thread() == 0) shared.sum = sum;
    block.sync();
    const double scale = matrix.form.scale(shared.sum);
    if (block.thread() == 0) block.store(matrix.scales + block.index(), scale);
    if (matrix.form.keeps(shared.sum)) return;
    const std::int64_t first = block.index() * matrix.length;
    for (std::int64_t i = block.thread(); i < matrix.length; i += kThreads) {
      const auto number = static_cast<double>(block.load(matrix.products + first + i));
      block.store(matrix.factors + first + i, static_cast<T>(scale * number));
    }
  }
};

/// A block has a chunk: the change, and what stays of the momentum.
template <class T>
struct ExpandProjection {
  static constexpr const char* kName = "expand_projection";
  static constexpr int kThreads = kChunkThreads;

  ProjectedMatrix<T> matrix;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    if (!matrix.is_made(block)) return;
    const Chunk chunk = chunk_of_block(block, matrix.rows * matrix.columns);
    const double dropped = rules::dropped_share(block.checked(matrix.constants)->usual);
    // A column of R belongs to the rows of a transposed matrix.
    const T* of_rows = matrix.is_transposed != 0 ? matrix.products : matrix.basis;
    const T* of_columns = matrix.is_transposed != 0 ? matrix.basis : matrix.products;
    const Places places(chunk, matrix.columns);
    for_each_element(block, chunk, [&](std::int64_t i) {
      const Place at = places.at(i);
      double scaled = 0;
      double sum = 0;
      for (std::int64_t k = 0; k < matrix.rank; ++k) {
        const auto own = static_cast<double>(block.load(of_rows + k * matrix.rows + at.row));
        const auto other = static_cast<double>(block.load(of_columns + k * matrix.columns + at.column));
        scaled = add_product<double>(scaled, own * block.load(matrix.scales + k), other);
        sum = add_product<T>(sum, own, other);
      }
      const auto before = static_cast<double>(block.load(matrix.momentum + i));
      block.store(matrix.change + i, static_cast<T>(scaled));
      block.store(matrix.momentum + i, static_cast<T>(before - dropped * sum));
    });
  }
};

/// body(matrix) for each of them that has elements.
template <class Body>
void for_each_matrix(const ProjectionPlan& plan, const kernels::StepScalars* scalars, Body body) {
  for (const ProjectedItem& item : plan.items) {
    if (item.change.dtype == DType::f64) {
      body(ProjectedMatrix<double>(item, plan.squares, scalars));
    } else {
      body(ProjectedMatrix<float>(item, plan.squares, scalars));
    }
  }
}

template <class T>
std::int64_t chunks_of(const ProjectedMatrix<T>& matrix) {
  return parts_of(matrix.rows * matrix.columns, kChunk);
}

}  // namespace

void take_gradients(const ProjectionPlan& plan, const kernels::StepScalars* scalars, CudaQueue& queue) {
  for_each_matrix(plan, scalars, [&]<class T>(const ProjectedMatrix<T>& matrix) {
    launch(queue, chunks_of(matrix), TakeGradients<T>{matrix});
  });
}

void fill_bases(const ProjectionPlan& plan, CudaQueue& queue) {
  for_each_matrix(plan, nullptr, [&]<class T>(const ProjectedMatrix<T>& matrix) {
    if (matrix.form.fills_basis()) launch(queue, matrix.rank, FillBases<T>{matrix});
  });
}

void project(const ProjectionPlan& plan, const kernels::StepScalars* scalars, CudaQueue& queue) {
  for_each_matrix(plan, scalars, [&]<class T>(const ProjectedMatrix<T>& matrix) {
    launch(queue, matrix.rank, MoveFactors<T>{matrix});
    launch(queue, chunks_of(matrix), ExpandProjection<T>{matrix});
  });
}

}  // namespace gradstep::cuda
