// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "roots/orthonormal_basis.h"

#include <algorithm>

namespace gradstep::cuda {

namespace {

/// The bases, and what is made of them on the way: rows V of `from` with the triangle T of their block have U = T V.
class Decomposition {
 public:
  Decomposition(const OrthonormalBases& bases, Cublas& cublas, CudaQueue& queue)
      : bases_(bases),
        cublas_(cublas),
        queue_(queue),
        turned_(bases.scratch),
        products_(turned_ + bases.count * bases.n * bases.n),
        triangles_(products_ + bases.count * bases.n * kReflectors) {}

  void run() {
    const std::int64_t n = bases_.n;
    for (std::int64_t first = 0; first < n; first += kReflectors) {
      make_reflectors(bases_.from, n, bases_.count, first, triangles_, queue_);
      turn(first);
      reflect_later_rows(first);
    }
    write_identities(bases_.to, n, bases_.count, queue_);
    for (std::int64_t first = (n - 1) / kReflectors * kReflectors; first >= 0; first -= kReflectors) {
      reflect_basis(first);
    }
  }

 private:
  using Batch = MatrixBatch<double>;

  std::int64_t rows_of(std::int64_t first) const { return std::min<std::int64_t>(kReflectors, bases_.n - first); }
  /// The part of the matrices from such a place on.
  Batch part(double* matrices, std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns) const {
    const std::int64_t n = bases_.n;
    return {matrices + row * n + column, rows, columns, n * n, false, n};
  }
  Batch vectors(std::int64_t first) const { return part(bases_.from, first, first, rows_of(first), bases_.n - first); }
  Batch turned(std::int64_t first) const { return part(turned_, first, first, rows_of(first), bases_.n - first); }
  Batch products(std::int64_t rows, std::int64_t columns) const {
    return {products_, rows, columns, bases_.n * kReflectors};
  }
  static MatrixBatch<const double> read(const Batch& batch, bool transposed = false) {
    return {batch.first, batch.rows, batch.columns, batch.stride, transposed, batch.between};
  }

  /// U = T V.
  void turn(std::int64_t first) {
    const std::int64_t rows = rows_of(first);
    const MatrixBatch<const double> triangles{triangles_, rows, rows, kReflectors * kReflectors, false, kReflectors};
    cublas_.multiply<double>(triangles, read(vectors(first)), turned(first), bases_.count, queue_);
  }

  /// Rows A behind the block's become A (I - V^T U); of their numbers before them no one asks any more.
  void reflect_later_rows(std::int64_t first) {
    const std::int64_t own = rows_of(first);
    const std::int64_t later = first + own;
    const std::int64_t rows = bases_.n - later;
    if (rows == 0) return;
    const Batch found = products(rows, own);
    cublas_.multiply<double>(read(part(bases_.from, later, first, rows, bases_.n - first)),
                             read(vectors(first), /*transposed=*/true), found, bases_.count, queue_);
    cublas_.subtract_product<double>(read(found), read(part(turned_, first, later, own, rows)),
                                     part(bases_.from, later, later, rows, rows), bases_.count, queue_);
  }

  /// The corner Q of the basis that the block's reflectors and those behind them act on becomes Q (I - U^T V).
  void reflect_basis(std::int64_t first) {
    const std::int64_t rows = bases_.n - first;
    const Batch corner = part(bases_.to, first, first, rows, rows);
    const Batch found = products(rows, rows_of(first));
    cublas_.multiply<double>(read(corner), read(turned(first), /*transposed=*/true), found, bases_.count, queue_);
    cublas_.subtract_product<double>(read(found), read(vectors(first)), corner, bases_.count, queue_);
  }

  const OrthonormalBases& bases_;
  Cublas& cublas_;
  CudaQueue& queue_;
  double* turned_;
  double* products_;
  double* triangles_;
};

}  // namespace

void make_orthonormal(const OrthonormalBases& bases, Cublas& cublas, CudaQueue& queue) {
  Decomposition(bases, cublas, queue).run();
}

}  // namespace gradstep::cuda
