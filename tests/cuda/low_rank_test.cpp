// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices with a few vectors, and vectors that are made orthonormal, have the CPU's bits on a CUDA device.
#include <cstring>
#include <random>

#include "cuda/emulated_device.h"

namespace gradstep::test {
namespace {

struct Shape {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t rank;
};

template <class T>
constexpr DType kType = sizeof(T) == sizeof(float) ? DType::f32 : DType::f64;

/// Matrices of one list with their factors, in memory of a backend.
template <class T>
class Matrices {
 public:
  /// `shift`: elements by which all of them lie beyond an aligned address.
  Matrices(Backend& backend, const std::vector<Shape>& shapes, std::size_t shift) : backend_(backend) {
    std::mt19937 random(5);
    std::normal_distribution<double> normal;
    for (const Shape& shape : shapes) {
      void* parts[5];
      const std::int64_t sizes[] = {shape.rows * shape.cols, shape.rank * shape.rows, shape.rank * shape.cols,
                                    shape.rows * shape.cols, shape.rank * shape.cols};
      for (std::size_t k = 0; k < 5; ++k) {
        std::vector<T> numbers(static_cast<std::size_t>(sizes[k]) + shift);
        for (T& x : numbers) x = static_cast<T>(normal(random));
        Buffer& buffer = buffers_.emplace_back(backend.memory(), numbers.size() * sizeof(T));
        queue().upload(buffer.data(), numbers.data(), buffer.bytes());
        parts[k] = buffer.template as<T>() + shift;
      }
      matrices_.push_back({compact_array(parts[0], sizes[0], kType<T>), shape.rows, shape.cols, shape.rank, parts[1],
                           parts[2], parts[3], parts[4]});
    }
    plan_.matrices = matrices_;
  }

  const LowRankPlan& plan() const { return plan_; }
  Queue& queue() { return backend_.queue(nullptr); }

  /// The last factor of q of each matrix becomes zero but for a number at its end, every second one zero altogether.
  void clear_last_factors() {
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
      const LowRank& job = matrices_[i];
      std::vector<T> numbers(static_cast<std::size_t>(job.cols));
      if (i % 2 == 0) numbers.back() = T{1};
      queue().upload(static_cast<T*>(job.q) + (job.rank - 1) * job.cols, numbers.data(), numbers.size() * sizeof(T));
    }
  }

  /// All numbers, as they are now.
  std::vector<std::byte> bytes() {
    std::vector<std::byte> all;
    for (const Buffer& buffer : buffers_) {
      std::vector<std::byte> own(buffer.bytes());
      queue().download(own.data(), buffer.data(), own.size());
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }

 private:
  Backend& backend_;
  std::vector<Buffer> buffers_;
  std::vector<LowRank> matrices_;
  LowRankPlan plan_;
};

/// As PowerSGD does, twice.
template <class T>
std::vector<std::vector<std::byte>> rounds_on(Backend& backend, const std::vector<Shape>& shapes, std::size_t shift) {
  Matrices<T> matrices(backend, shapes, shift);
  std::vector<std::vector<std::byte>> found;
  for (int round = 0; round < 2; ++round) {
    backend.project_rows(matrices.plan(), matrices.queue());
    found.push_back(matrices.bytes());
    backend.orthonormalize(matrices.plan(), matrices.queue());
    found.push_back(matrices.bytes());
    backend.project_columns(matrices.plan(), matrices.queue());
    found.push_back(matrices.bytes());
    backend.expand(matrices.plan(), 0.75, matrices.queue());
    found.push_back(matrices.bytes());
    matrices.clear_last_factors();
    backend.keep_factors(matrices.plan(), matrices.queue());
    found.push_back(matrices.bytes());
  }
  return found;
}

template <class T>
void expect_same(const std::vector<Shape>& shapes, std::size_t shift = 0) {
  EmulatedCuda device(1);
  const auto expected = rounds_on<T>(object_of(device.context())->cpu(), shapes, shift);
  const auto found = rounds_on<T>(object_of(device.context())->backend(device.id(), "device", 0), shapes, shift);
  for (std::size_t k = 0; k < expected.size(); ++k) EXPECT_EQ(found[k], expected[k]) << "after operation " << k;
}

TEST(CudaLowRank, SeveralBandsOfRowsOfColumnsAndOfVectors) {
  const std::vector<Shape> shapes = {{2100, 6, 5}, {5, 2300, 5}, {700, 1100, 3}, {257, 1025, 1}, {3, 4, 2}, {1, 1, 1}};
  expect_same<float>(shapes);
  expect_same<double>(shapes);
}

TEST(CudaLowRank, AlignedAndNot) {
  for (const std::size_t shift : {1U, 2U, 4U}) {
    expect_same<float>({{40, 64, 2}, {40, 63, 4}}, shift);
    expect_same<double>({{40, 64, 2}, {40, 63, 4}}, shift);
  }
}

// More of them than a block has threads.
TEST(CudaLowRank, ManyVectors) { expect_same<float>({{150, 150, 70}, {80, 90, 3}}); }

// Zero on both devices, and not what rounding has left: by the square that the whole vector had before, of which other
// bands' blocks must not have written anything new yet.
TEST(CudaLowRank, DependentVectorsAreZero) {
  constexpr std::size_t kRows = 5000;
  const auto run = [&](Backend& backend) {
    Matrices<float> matrices(backend, {{kRows, 8, 4}}, 0);
    const LowRank& job = matrices.plan().matrices[0];
    std::vector<float> vectors(4 * kRows);
    for (std::size_t i = 0; i < kRows; ++i) {
      vectors[i] = (i < 1000 ? 1.0F : 1e-7F) / static_cast<float>(i + 1);  // nearly all of its length is in one band
      vectors[kRows + i] = 0.3F * vectors[i];
      vectors[2 * kRows + i] = i % 3 == 0 ? 1.0F : -0.5F;
      vectors[3 * kRows + i] = vectors[2 * kRows + i] - vectors[i];
    }
    matrices.queue().upload(job.p, vectors.data(), vectors.size() * sizeof(float));
    backend.orthonormalize(matrices.plan(), matrices.queue());
    matrices.queue().download(vectors.data(), job.p, vectors.size() * sizeof(float));
    return vectors;
  };
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {  // orders of blocks
    EmulatedCuda device(seed);
    const auto found = run(object_of(device.context())->backend(device.id(), "device", 0));
    EXPECT_EQ(found, run(object_of(device.context())->cpu()));
    for (const std::size_t dependent : {1U, 3U}) {
      for (std::size_t i = 0; i < kRows; ++i) ASSERT_EQ(found[dependent * kRows + i], 0) << dependent << ", " << i;
    }
  }
}

}  // namespace
}  // namespace gradstep::test
