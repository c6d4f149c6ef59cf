// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A launch is a step of all matrices of a batch, and a matrix has as many blocks as its columns fill: one block for
// each would leave a device idle where matrices are large and therefore few. What a step has measured is folded by the
// next one, by each of a matrix's blocks alike, so that all of them take one decision.
#include "kernels/power_iteration.h"

#include "kernels/root_device.h"

namespace gradstep::cuda {

namespace {

/// What a block has measured of its columns: x . S x, and the square of what becomes the next x.
struct PowerSums {
  double quotient;
  double squares;
};

struct PowerState {
  double eigenvalue;
  std::int64_t is_done;
};

std::int64_t vector_size(const RootBatch& batch) { return batch.n > batch.padded ? batch.n : batch.padded; }

/// How many blocks a matrix has.
std::int64_t tiles_of(const RootBatch& batch) { return parts_of(vector_size(batch), kWarp); }

/// States and sums of one step are read by the next one, which writes others; so are vectors.
template <class T>
struct PowerScratch {
  std::int64_t count = 0;
  std::int64_t size = 0;   ///< of a vector
  std::int64_t tiles = 0;  ///< of a matrix
  PowerState* states = nullptr;
  PowerSums* sums = nullptr;
  T* vectors = nullptr;

  PowerScratch(const RootBatch& batch, void* memory)
      : count(batch.count),
        size(vector_size(batch)),
        tiles(tiles_of(batch)),
        states(static_cast<PowerState*>(memory)),
        sums(reinterpret_cast<PowerSums*>(states + 2 * count)),
        vectors(reinterpret_cast<T*>(sums + 2 * count * tiles)) {}

  static std::size_t bytes(const RootBatch& batch) {
    return static_cast<std::size_t>(2 * batch.count) *
           (sizeof(PowerState) + static_cast<std::size_t>(tiles_of(batch)) * sizeof(PowerSums) +
            static_cast<std::size_t>(vector_size(batch)) * sizeof(T));
  }

  GRADSTEP_DEVICE PowerState* state(std::int64_t step, std::int64_t matrix) const {
    return states + step % 2 * count + matrix;
  }
  GRADSTEP_DEVICE PowerSums* sums_of(std::int64_t step, std::int64_t matrix) const {
    return sums + (step % 2 * count + matrix) * tiles;
  }
  GRADSTEP_DEVICE T* vector(std::int64_t step, std::int64_t matrix) const {
    return vectors + (step % 2 * count + matrix) * size;
  }
};

/// A block has 32 columns of a matrix. Its warps have every eighth row of them, so that neighbours read neighbours.
template <class T>
struct PowerStep {
  static constexpr const char* kName = "power_step";
  static constexpr int kThreads = kMatrixThreads;
  static constexpr int kWarps = kThreads / kWarp;
  struct Shared {
    Partials partials;
    T of_rows[kThreads];
  };

  RootBatch batch;
  const T* statistics;
  const double* start;
  PowerScratch<T> scratch;
  kernels::End end;
  std::int32_t step;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t matrix = block.index() / scratch.tiles;
    const std::int64_t tile = block.index() % scratch.tiles;
    PowerState state = {0, 0};
    if (step > 0) state = block.load(scratch.state(step - 1, matrix));
    double squares = 0;
    if (state.is_done == 0) {
      const PowerSums before = sums_before(block, matrix);
      squares = before.squares;
      const bool moves = step == 0 || kernels::eigenvalue_moves(before.quotient, state.eigenvalue);
      state.eigenvalue = before.quotient;
      // A vector that has become zero has no other eigenvalue.
      state.is_done = (end == kernels::End::largest && !moves) || squares == 0 ? 1 : 0;
    }
    if (tile == 0 && block.thread() == 0) block.store(scratch.state(step, matrix), state);
    if (state.is_done == 0) multiply(block, matrix, tile, kernels::square_root(squares));
  }

  /// In all threads.
  GRADSTEP_DEVICE PowerSums sums_before(Block& block, std::int64_t matrix) const {
    PowerSums sums = {0, 0};
    if (step == 0) {
      for (std::int64_t i = block.thread(); i < scratch.size; i += kThreads) {
        const auto value = static_cast<double>(static_cast<T>(block.load(start + i)));
        sums.squares += value * value;
      }
    } else {
      for (std::int64_t t = block.thread(); t < scratch.tiles; t += kThreads) {
        const PowerSums own = block.load(scratch.sums_of(step - 1, matrix) + t);
        sums.quotient += own.quotient;
        sums.squares += own.squares;
      }
    }
    auto& shared = block.shared<Shared>();
    sums.quotient = combine<true>(block, sums.quotient, shared.partials);
    sums.squares = combine<true>(block, sums.squares, shared.partials);
    return sums;
  }

  /// Element i of x, whose norm is 1.
  GRADSTEP_DEVICE T element(const Block& block, std::int64_t matrix, std::int64_t i, double norm) const {
    const T value = step == 0 ? static_cast<T>(block.load(start + i)) : block.load(scratch.vector(step, matrix) + i);
    return static_cast<T>(static_cast<double>(value) / norm);
  }

  GRADSTEP_DEVICE void multiply(Block& block, std::int64_t matrix, std::int64_t tile, double norm) const {
    auto& shared = block.shared<Shared>();
    const std::int64_t n = batch.n;
    const T* s = statistics + matrix * n * n;
    const int lane = block.thread() % kWarp;
    const std::int64_t j = tile * kWarp + lane;
    T sum = 0;
    for (std::int64_t i = block.thread() / kWarp; i < n && j < n; i += kWarps) {
      sum += block.load(s + i * n + j) * element(block, matrix, i, norm);
    }
    shared.of_rows[block.thread()] = sum;
    block.sync();
    if (block.thread() >= kWarp) return;
    PowerSums sums = {0, 0};
    if (j < scratch.size) {
      const T own = element(block, matrix, j, norm);
      T product = 0;
      if (j < n) {
        for (int w = 0; w < kWarps; ++w) product += shared.of_rows[w * kWarp + lane];
      } else {
        product = static_cast<T>(batch.pad_value * static_cast<double>(own));
      }
      T to = product;
      if (end == kernels::End::smallest) {
        const double largest = state_of(block, batch, matrix).max_eigenvalue;
        to = static_cast<T>(largest * static_cast<double>(own) - static_cast<double>(product));
      }
      block.store(scratch.vector(step + 1, matrix) + j, to);
      sums = {static_cast<double>(own) * static_cast<double>(product),
              static_cast<double>(to) * static_cast<double>(to)};
    }
    for (int mask = kWarp / 2; mask > 0; mask /= 2) {
      sums.quotient += block.shuffle_xor(sums.quotient, mask);
      sums.squares += block.shuffle_xor(sums.squares, mask);
    }
    if (lane == 0) block.store(scratch.sums_of(step, matrix) + tile, sums);
  }
};

/// After so many steps.
template <class T>
struct KeepEigenvalues {
  static constexpr const char* kName = "keep_eigenvalues";

  PowerScratch<T> scratch;
  kernels::End end;
  std::int32_t steps;

  GRADSTEP_DEVICE void operator()(const Block& block, std::int64_t matrix, RootState& state) const {
    const PowerState last = block.load(scratch.state(steps - 1, matrix));
    double eigenvalue = last.is_done != 0 ? last.eigenvalue : 0;
    for (std::int64_t t = 0; t < scratch.tiles && last.is_done == 0; ++t) {
      eigenvalue += block.load(scratch.sums_of(steps - 1, matrix) + t).quotient;
    }
    (end == kernels::End::largest ? state.max_eigenvalue : state.min_eigenvalue) = eigenvalue;
  }
};

}  // namespace

template <class T>
std::size_t power_iteration_bytes(const RootBatch& batch) {
  return PowerScratch<T>::bytes(batch);
}

template <class T>
void find_eigenvalues(const RootBatch& batch, const T* statistics, bool and_smallest, const double* start,
                      void* scratch, const CudaQueue& queue) {
  const PowerScratch<T> own(batch, scratch);
  for (const kernels::End end : {kernels::End::largest, kernels::End::smallest}) {
    if (end == kernels::End::smallest && !and_smallest) break;
    const std::int32_t steps = kernels::power_iterations(end);
    for (std::int32_t step = 0; step < steps; ++step) {
      launch(queue, own.count * own.tiles, PowerStep<T>{batch, statistics, start, own, end, step});
    }
    launch_matrices(queue, batch, KeepEigenvalues<T>{own, end, steps});
  }
}

template std::size_t power_iteration_bytes<float>(const RootBatch& batch);
template std::size_t power_iteration_bytes<double>(const RootBatch& batch);
template void find_eigenvalues(const RootBatch& batch, const float* statistics, bool and_smallest, const double* start,
                               void* scratch, const CudaQueue& queue);
template void find_eigenvalues(const RootBatch& batch, const double* statistics, bool and_smallest, const double* start,
                               void* scratch, const CudaQueue& queue);

}  // namespace gradstep::cuda
