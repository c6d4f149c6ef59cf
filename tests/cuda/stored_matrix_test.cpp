// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrices of state have the CPU's codes on a CUDA device.
#include <cmath>
#include <limits>
#include <memory>
#include <random>

#include "cuda/emulated_device.h"

namespace gradstep::test {
namespace {

using kernels::Coding;

/// The bytes that a matrix is kept in, and the numbers that these stand for, at the host.
struct Stored {
  std::vector<std::byte> codes;
  std::vector<std::uint32_t> buckets;
  std::vector<std::uint32_t> diagonal;
  std::vector<std::uint32_t> numbers;
  bool operator==(const Stored&) const = default;
};

/// A matrix in a backend's memory.
class Matrix {
 public:
  Matrix(Backend& backend, std::int64_t rows, std::int64_t columns, Coding coding)
      : backend_(backend),
        queue_(backend.queue(nullptr)),
        codes_(backend.memory(), static_cast<std::size_t>(rows * columns * kernels::code_size(coding))),
        buckets_(backend.memory(), static_cast<std::size_t>(columns) * sizeof(float)),
        diagonal_(backend.memory(), coding == Coding::int16 ? buckets_.bytes() : 0),
        numbers_(backend.memory(), static_cast<std::size_t>(rows * columns) * sizeof(float)),
        matrix_{rows, columns, coding, codes_.data(), buckets_.as<float>(), diagonal_.as<float>()} {}

  Stored encode(const std::vector<float>& numbers) {
    queue_.upload(numbers_.data(), numbers.data(), numbers_.bytes());
    backend_.encode(numbers_.as<float>(), matrix_, queue_);
    return read();
  }
  Stored write_identity(float value) {
    backend_.write_identity(matrix_, value, queue_);
    return read();
  }

 private:
  Stored read() {
    Stored stored;
    download(stored.codes, codes_);
    if (matrix_.is_coded()) download(stored.buckets, buckets_);
    download(stored.diagonal, diagonal_);
    backend_.decode(matrix_, numbers_.as<float>(), queue_);
    download(stored.numbers, numbers_);
    return stored;
  }
  template <class T>
  void download(std::vector<T>& to, const Buffer& from) {
    to.resize(from.bytes() / sizeof(T));
    queue_.download(to.data(), from.data(), from.bytes());
  }

  Backend& backend_;
  Queue& queue_;
  Buffer codes_;
  Buffer buckets_;
  Buffer diagonal_;
  Buffer numbers_;
  StoredMatrix matrix_;
};

class CudaStoredMatrix : public ::testing::Test {
 protected:
  /// On both.
  void expect_same(std::int64_t rows, std::int64_t columns, Coding coding, const std::vector<float>& numbers) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    Matrix expected(object_of(device_.context())->cpu(), rows, columns, coding);
    Matrix found(object_of(device_.context())->backend(device_.id(), "device", 0), rows, columns, coding);
    EXPECT_TRUE(found.encode(numbers) == expected.encode(numbers));
    if (rows != columns) return;
    EXPECT_TRUE(found.write_identity(0.3F) == expected.write_identity(0.3F));
  }

  EmulatedCuda device_{1};
};

/// Numbers of very different sizes in each column, and a column of zeros.
std::vector<float> some_numbers(std::int64_t rows, std::int64_t columns) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const auto column = static_cast<int>(i % columns);
    numbers.push_back(column == 2 ? 0.0F : std::ldexp(normal(random), column % 40 - 20));
  }
  return numbers;
}

TEST_F(CudaStoredMatrix, HasTheCodesOfTheCpu) {
  // Narrow ones share a warp among rows, tall ones are many blocks', wide ones have rows beyond a chunk.
  for (const auto& [rows, columns] : {std::pair{1, 1}, {5, 3}, {3000, 1}, {5000, 7}, {700, 33}, {64, 64}, {3, 20000}}) {
    expect_same(rows, columns, Coding::int8, some_numbers(rows, columns));
    expect_same(rows, columns, Coding::none, some_numbers(rows, columns));
  }
}

TEST_F(CudaStoredMatrix, KeepsTheDiagonalOfStatisticsApart) {
  for (const std::int64_t size : {1, 3, 31, 150}) {
    std::vector<float> numbers = some_numbers(size, size);
    for (std::int64_t i = 0; i < size; ++i) numbers[static_cast<std::size_t>(i * size + i)] = 1e6F;
    expect_same(size, size, Coding::int16, numbers);
  }
}

TEST_F(CudaStoredMatrix, ANumberThatIsNotFiniteLeavesItsColumnAsItIs) {
  for (const float special : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> numbers = some_numbers(1000, 5);
    numbers[5 * 777 + 3] = special;
    expect_same(1000, 5, Coding::int8, numbers);
  }
}

}  // namespace
}  // namespace gradstep::test
