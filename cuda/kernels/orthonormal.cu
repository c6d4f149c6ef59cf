// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Vectors that are made orthonormal by Gram and Schmidt, twice over, one after the other and band by band: each launch
// does to all bands what follows from sums over all of them, and leaves its own bands' sums to the next.
#include "device/reduce.h"
#include "kernels/low_rank.h"
#include "kernels/low_rank_form.h"
#include "operations.h"
#include "runtime/launch.h"

namespace gradstep::cuda {

namespace {

using kernels::kDotBand;
using kernels::kDotQuarter;

constexpr int kOwnRows = static_cast<int>(kDotQuarter) / kLanes;  ///< of a band that a thread has

/// A block has a band of its matrix's vectors, and a thread kOwnRows of it.
template <class T>
struct OwnBand {
  static constexpr int kThreads = kTeam;

  DeviceLowRank job;  // a copy: stores may be to anything
  std::int64_t band;
  std::int64_t first;
  std::int64_t end;

  GRADSTEP_DEVICE OwnBand(const Block& block, const LowRankTile& tile, const DeviceLowRank& matrix)
      : job(matrix), band(tile.row / kDotBand) {
    const std::int64_t quarter = tile.row + block.thread() / kLanes * kDotQuarter;
    first = quarter + block.thread() % kLanes;
    end = smaller(quarter + kDotQuarter, matrix.rows);
  }

  GRADSTEP_DEVICE T* vector(std::int64_t k) const { return static_cast<T*>(job.p) + k * job.rows; }

  GRADSTEP_DEVICE double* products(std::int64_t place, std::int64_t of_band) const {
    return job.partials + (place * job.vector_bands + of_band) * job.rank;
  }

  /// body(e, row) for the e-th row of the thread.
  template <class Body>
  GRADSTEP_DEVICE void for_each_row(Body body) const {
    GRADSTEP_UNROLL
    for (int e = 0; e < kOwnRows; ++e) {
      if (first + e * kLanes < end) body(e, first + e * kLanes);
    }
  }

  GRADSTEP_DEVICE void load(const Block& block, std::int64_t k, T* numbers) const {
    GRADSTEP_UNROLL
    for (int e = 0; e < kOwnRows; ++e) numbers[e] = T{0};
    for_each_row([&](int e, std::int64_t row) { numbers[e] = block.load(vector(k) + row); });
  }

  /// The product of whole vectors, from what the bands have.
  GRADSTEP_DEVICE double product(const Block& block, std::int64_t place, std::int64_t k) const {
    return sum_in_order(job.vector_bands,
                        [&](std::int64_t of_band) { return block.load(products(place, of_band) + k); });
  }

  /// Leaves the band's product of x with vector k as number i. By all threads.
  template <class Halves>
  GRADSTEP_DEVICE void leave_product(Block& block, const T* x, std::int64_t k, std::int64_t place, std::int64_t i,
                                     Halves& shared) const {
    T y[kOwnRows];
    load(block, k, y);
    double sum = 0;
    for_each_row([&](int e, std::int64_t) { sum = add_product<T>(sum, x[e], y[e]); });
    sum = Teams<kThreads>(block).fold(block, sum, shared);
    if (block.thread() == 0) block.store(products(place, band) + i, sum);
  }
};

/// Vector k - 1 gets the length 1, by its squares before and after its projections were taken away; then the products
/// of vector k with those before it, and with itself.
template <class T>
struct MeasureVectors {
  static constexpr const char* kName = "measure_vectors";
  static constexpr int kThreads = OwnBand<T>::kThreads;
  static constexpr int kResidentBlocks = 6;
  struct Shared {
    typename Teams<kThreads>::Shared halves;
    double squares[2];
  };

  LowRankParts parts;
  std::int64_t k;
  std::int64_t before;  ///< places
  std::int64_t after;
  std::int64_t place;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const LowRankTile tile = parts.tile(block);
    const OwnBand<T> own(block, tile, parts.matrix(block, tile));
    if (k > own.job.rank) return;
    if (k > 0) {
      if (block.thread() < 2) {
        const bool is_before = block.thread() == 0;
        shared.squares[block.thread()] = own.product(block, is_before ? before : after, is_before ? k - 1 : 0);
      }
      block.sync();
      const double scale = kernels::unit_scale<T>(shared.squares[0], shared.squares[1]);
      T* vector = own.vector(k - 1);
      own.for_each_row([&](int, std::int64_t row) {
        block.store(vector + row, static_cast<T>(scale * static_cast<double>(block.load(vector + row))));
      });
    }
    if (k == own.job.rank) return;
    T x[kOwnRows];
    own.load(block, k, x);
    for (std::int64_t base = 0; base <= k; ++base) own.leave_product(block, x, base, place, base, shared.halves);
  }
};

/// Takes vector k's projections away; then its products as before, or, the second time, its square.
template <class T>
struct RemoveProjections {
  static constexpr const char* kName = "remove_projections";
  static constexpr int kThreads = OwnBand<T>::kThreads;
  static constexpr int kResidentBlocks = 6;
  struct Shared {
    typename Teams<kThreads>::Shared halves;
    double along[std::size_t{kThreads}];
  };

  LowRankParts parts;
  std::int64_t k;
  std::int64_t from;  ///< places
  std::int64_t place;
  bool is_second;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const LowRankTile tile = parts.tile(block);
    const OwnBand<T> own(block, tile, parts.matrix(block, tile));
    if (k >= own.job.rank) return;
    T x[kOwnRows];
    own.load(block, k, x);
    double left[kOwnRows];
    GRADSTEP_UNROLL
    for (int e = 0; e < kOwnRows; ++e) left[e] = static_cast<double>(x[e]);
    for (std::int64_t first = 0; first < k; first += kThreads) {
      const std::int64_t base = first + block.thread();
      block.sync();
      if (base < k) shared.along[block.thread()] = own.product(block, from, base);
      block.sync();
      for (std::int64_t i = 0; i < kThreads && first + i < k; ++i) {
        T y[kOwnRows];
        own.load(block, first + i, y);
        own.for_each_row([&](int e, std::int64_t) { left[e] -= shared.along[i] * static_cast<double>(y[e]); });
      }
    }
    own.for_each_row([&](int e, std::int64_t row) {
      x[e] = static_cast<T>(left[e]);
      block.store(own.vector(k) + row, x[e]);
    });
    if (is_second) return own.leave_product(block, x, k, place, 0, shared.halves);
    for (std::int64_t base = 0; base < k; ++base) own.leave_product(block, x, base, place, base, shared.halves);
  }
};

template <class T>
void orthonormalize_typed(const LowRankForm& form, CudaQueue& queue) {
  const std::int64_t blocks = count_of(form.tiles.vectors);
  const auto place = [](std::int64_t launches) { return launches % kPlaces; };
  std::int64_t next = kPlaces;  // launch; there are places for those before the first
  std::int64_t measured = next;
  for (std::int64_t k = 0; k <= form.tiles.rank; ++k) {
    launch(queue, blocks, MeasureVectors<T>{form.vectors, k, place(measured), place(next - 1), place(next)});
    measured = next++;
    if (k == 0 || k == form.tiles.rank) continue;
    for (const bool is_second : {false, true}) {
      launch(queue, blocks, RemoveProjections<T>{form.vectors, k, place(next - 1), place(next), is_second});
      ++next;
    }
  }
}

}  // namespace

void orthonormalize(const LowRankPlan& plan, CudaQueue& queue) {
  const LowRankForm& form = prepare(plan, queue);
  form.is_double ? orthonormalize_typed<double>(form, queue) : orthonormalize_typed<float>(form, queue);
}

}  // namespace gradstep::cuda
