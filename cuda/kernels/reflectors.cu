// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/reflectors.h"

#include "device/reduce.h"
#include "kernels/reflection.h"
#include "kernels/root_device.h"

namespace gradstep::cuda {

namespace {

/// A block has a matrix, and each of its warps a row. One reflector after the other is made, by all warps alike, who
/// read its row beside their own: of its vector v they know x, which is v times the pivot, and v's product with their
/// own row follows from x's. By a second pass rows that come later are reflected; those before are vectors, whose
/// products make T. A row is read by the others until its step is over, and replaced by v after that. Number i of a row
/// is thread i mod 32's throughout, which therefore need not wait for the others of its warp.
struct MakeReflectors {
  static constexpr const char* kName = "make_reflectors";
  static constexpr int kThreads = kReflectors * kWarp;
  static_assert(kReflectors <= kWarp);
  static constexpr int kAhead = 4;
  struct Shared {
    double scales[kReflectors];
    double products[kReflectors][kReflectors];  ///< [k][j]: of vectors j < k
  };
  struct Pair {
    double x;
    double own;
  };

  double* matrices;
  std::int64_t n;
  std::int64_t first;
  double* triangles;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const int count = n - first < kReflectors ? static_cast<int>(n - first) : kReflectors;
    const int own = block.thread() / kWarp;
    double* const rows = matrices + (block.index() * n + first) * n + first;
    for (int j = 0; j < count; ++j) {
      kernels::Reflection<double> reflection{};
      if (own < count) reflection = reflect(block, rows + j * n, rows + own * n, j, own, shared);
      block.sync();
      if (own == j) write_vector(block, rows + j * n, j, reflection.pivot);
    }
    write_triangle(block, count, own, shared);
  }

 private:
  GRADSTEP_DEVICE static int lane(const Block& block) { return block.thread() % kWarp; }
  /// The thread's first number behind number j.
  GRADSTEP_DEVICE static std::int64_t behind(const Block& block, int j) {
    return lane(block) > j ? lane(block) : lane(block) + kWarp;
  }

  GRADSTEP_DEVICE kernels::Reflection<double> reflect(Block& block, const double* from, double* row, int j, int own,
                                                      Shared& shared) const {
    const std::int64_t length = n - first;
    const auto load = [&](std::int64_t i) { return Pair{block.load(from + i), block.load(row + i)}; };
    double squares = 0;
    double product = 0;
    walk_ahead<kAhead>(behind(block, j), length, kWarp, load, [&](std::int64_t, const Pair& pair) {
      squares += pair.x * pair.x;
      product += pair.x * pair.own;
    });
    squares = fold_warp(block, squares);
    product = fold_warp(block, product);
    const auto reflection = kernels::reflection(block.load(from + j), squares);
    product = block.shuffle(lane(block) == j ? block.load(row + j) : 0, j) + product / reflection.pivot;
    if (own > j) {
      const double step = reflection.scale * product / reflection.pivot;
      walk_ahead<kAhead>(behind(block, j), length, kWarp, load,
                         [&](std::int64_t i, const Pair& pair) { block.store(row + i, pair.own - step * pair.x); });
    } else if (lane(block) == 0) {
      (own == j ? shared.scales[j] : shared.products[j][own]) = own == j ? reflection.scale : product;
    }
    return reflection;
  }

  GRADSTEP_DEVICE void write_vector(const Block& block, double* row, int j, double pivot) const {
    for (std::int64_t i = lane(block); i < n - first; i += kWarp) {
      block.store(row + i, i < j ? 0 : i == j ? 1 : block.load(row + i) / pivot);
    }
  }

  /// A warp has a row of T, and a thread a number of it: column k is -scale T (V v_k) above the diagonal.
  GRADSTEP_DEVICE void write_triangle(Block& block, int count, int own, const Shared& shared) const {
    const int column = lane(block);
    double number = own == column && own < count ? shared.scales[own] : 0;
    for (int k = own + 1; k < count; ++k) {
      const double sum = fold_warp(block, column >= own && column < k ? number * shared.products[k][column] : 0);
      if (column == k) number = -shared.scales[k] * sum;
    }
    block.store(triangles + (block.index() * kReflectors + own) * kReflectors + column, number);
  }
};

struct WriteIdentities {
  static constexpr const char* kName = "write_identities";

  double* matrices;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    block.store(matrices + row.first + j, row.index == j ? 1.0 : 0.0);
  }
};

}  // namespace

void make_reflectors(double* matrices, std::int64_t n, std::int64_t count, std::int64_t first, double* triangles,
                     const CudaQueue& queue) {
  launch(queue, count, MakeReflectors{matrices, n, first, triangles});
}

void write_identities(double* matrices, std::int64_t n, std::int64_t count, const CudaQueue& queue) {
  launch(queue, count * n, ForEachOfRows<WriteIdentities>{n, n, {matrices}});
}

}  // namespace gradstep::cuda
