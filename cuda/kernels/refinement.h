// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What bases of eigenvectors need beside products and decompositions: kernels over batches of n x n matrices in f64,
// side by side, whose rows are the vectors.
#pragma once

#include "kernels/roots.h"

namespace gradstep::cuda {

/// A basis as Shampoo keeps it, row-major with a vector in each column.
template <class Kept>
struct BasisItem {
  const Kept* basis;  ///< that is refined
  Kept* result;       ///< n * n numbers; behind them, of a refined basis, which old vector each one comes from
};

/// Matrices whose decomposition did not converge are marked as those are that were not finite.
void mark_unconverged(const RootBatch& batch, const int* info, const CudaQueue& queue);
template <class Kept>
void load_bases(const BasisItem<Kept>* items, std::int64_t count, std::int64_t n, double* vectors,
                const CudaQueue& queue);
/// The vectors' Rayleigh quotients, from the products of the statistics with them; `quotients` (count, n).
void find_quotients(const double* vectors, const double* products, std::int64_t count, std::int64_t n,
                    double* quotients, const CudaQueue& queue);
/// `products` by the order of the quotients, largest first, into `sorted`; the order behind the results.
template <class Kept>
void sort_products(const BasisItem<Kept>* items, const double* products, const double* quotients, std::int64_t count,
                   std::int64_t n, double* sorted, const CudaQueue& queue);
/// Vectors into the columns of the results; `ascending`: the last one comes first.
template <class Kept>
void write_bases(const BasisItem<Kept>* items, const double* vectors, std::int64_t count, std::int64_t n,
                 bool ascending, const CudaQueue& queue);

}  // namespace gradstep::cuda
