// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What selections find on a CUDA device, and sums of them, are what the CPU's are.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "cuda/emulated_device.h"

namespace gradstep::test {
namespace {

/// An operation on two backends, with memory of each.
class OnBoth {
 public:
  OnBoth() : device_(1) {}

  /// What a selection found, at the host.
  struct Outcome {
    std::vector<std::int32_t> indices;
    std::vector<std::uint32_t> values;
    std::vector<std::uint32_t> data;  ///< as it is afterwards
    std::int64_t found = 0;
  };

  Outcome select_on(Backend& backend, std::vector<float> data, std::vector<SelectPart> parts, bool zero) {
    Queue& queue = backend.queue(nullptr);
    std::int64_t count = 0;
    for (const SelectPart& part : parts) count += part.count;
    const auto elements = static_cast<std::int64_t>(data.size());
    Buffer there(backend.memory(), data.size() * 4);
    Buffer indices(backend.memory(), static_cast<std::size_t>(count) * 4);
    Buffer values(backend.memory(), static_cast<std::size_t>(count) * 4);
    Buffer found(backend.memory(), 8);
    queue.upload(there.data(), data.data(), there.bytes());
    queue.zero(found.data(), found.bytes());
    SelectPlan plan;
    plan.data = compact_array(there.data(), elements, DType::f32);
    plan.parts = parts;
    plan.nans.zero = zero;
    plan.nans.found = found.as<std::int64_t>();
    backend.select_largest(plan, {indices.as<std::int32_t>(), values.data()}, queue);
    Outcome outcome;
    outcome.indices.resize(static_cast<std::size_t>(count));
    outcome.values.resize(static_cast<std::size_t>(count));
    outcome.data.resize(data.size());
    queue.download(outcome.indices.data(), indices.data(), indices.bytes());
    queue.download(outcome.values.data(), values.data(), values.bytes());
    queue.download(outcome.data.data(), there.data(), there.bytes());
    outcome.found = read(queue, found.as<const std::int64_t>());
    return outcome;
  }

  /// Sums of lists in [begin, end), and the indices that occur, in order.
  struct Sum {
    std::vector<std::uint64_t> bits;
    std::vector<std::int32_t> touched;
  };

  template <class T>
  Sum sum_on(Backend& backend, const std::vector<std::vector<std::int32_t>>& indices, std::int64_t begin,
             std::int64_t end) {
    Queue& queue = backend.queue(nullptr);
    const auto size = static_cast<std::size_t>(end) + 100;
    Buffer destination(backend.memory(), size * sizeof(T));
    const std::vector<T> before(size, T{77});
    queue.upload(destination.data(), before.data(), destination.bytes());
    std::vector<Buffer> buffers;
    std::vector<SparseList> lists;
    std::size_t all = 0;
    for (const std::vector<std::int32_t>& own : indices) {
      std::vector<T> values;
      for (const std::int32_t i : own)
        values.push_back(T{1} / static_cast<T>(static_cast<std::size_t>(i) + 3 * lists.size() + 1));
      Buffer& there = buffers.emplace_back(backend.memory(), own.size() * sizeof(std::int32_t));
      queue.upload(there.data(), own.data(), there.bytes());
      Buffer& values_there = buffers.emplace_back(backend.memory(), own.size() * sizeof(T));
      queue.upload(values_there.data(), values.data(), values_there.bytes());
      lists.push_back({buffers[buffers.size() - 2].as<std::int32_t>(), values_there.data(),
                       static_cast<std::int64_t>(own.size()), nullptr});
      all += own.size();
    }
    Buffer touched(backend.memory(), all * sizeof(std::int32_t));
    Buffer count(backend.memory(), sizeof(std::int64_t));
    const DType dtype = sizeof(T) == sizeof(float) ? DType::f32 : DType::f64;
    backend.sum_sparse({compact_array(destination.data(), static_cast<std::int64_t>(size), dtype),
                        lists,
                        begin,
                        end,
                        3,
                        touched.as<std::int32_t>(),
                        count.as<std::int64_t>(),
                        {}},
                       queue);
    Sum sum;
    sum.touched.resize(static_cast<std::size_t>(read(queue, count.as<const std::int64_t>())));
    queue.download(sum.touched.data(), touched.data(), sum.touched.size() * sizeof(std::int32_t));
    std::sort(sum.touched.begin(), sum.touched.end());
    std::vector<T> numbers(size);
    queue.download(numbers.data(), destination.data(), destination.bytes());
    for (const T x : numbers) sum.bits.push_back(std::bit_cast<std::uint64_t>(static_cast<double>(x)));
    return sum;
  }

  template <class T>
  void expect_same_sum(const std::vector<std::vector<std::int32_t>>& indices, std::int64_t begin, std::int64_t end) {
    const Sum expected = sum_on<T>(object_of(device_.context())->cpu(), indices, begin, end);
    const Sum found = sum_on<T>(object_of(device_.context())->backend(device_.id(), "device", 0), indices, begin, end);
    EXPECT_EQ(found.bits, expected.bits);
    EXPECT_EQ(found.touched, expected.touched);
  }

  void expect_same_selection(const std::vector<float>& data, const std::vector<SelectPart>& parts, bool zero) {
    const Outcome expected = select_on(object_of(device_.context())->cpu(), data, parts, zero);
    const Outcome found =
        select_on(object_of(device_.context())->backend(device_.id(), "device", 0), data, parts, zero);
    EXPECT_EQ(found.indices, expected.indices);
    EXPECT_EQ(found.values, expected.values);
    EXPECT_EQ(found.data, expected.data);
    EXPECT_EQ(found.found, expected.found);
  }

 private:
  EmulatedCuda device_;
};

std::vector<float> numbers(std::size_t count, bool with_ties, double part_of_nans) {
  std::mt19937 random(7);
  std::vector<float> data(count);
  for (float& x : data) {
    x = with_ties ? static_cast<float>(static_cast<int>(random() % 7) - 3)
                  : std::ldexp(static_cast<float>(random()), static_cast<int>(random() % 60) - 60);
    if (random() % 2 == 0) x = -x;
    if (static_cast<double>(random() % 1000) < 1000 * part_of_nans) x = std::numeric_limits<float>::quiet_NaN();
  }
  return data;
}

TEST(CudaSelection, FindsTheLargestOfEveryPart) {
  OnBoth both;
  for (const bool with_ties : {false, true}) {
    both.expect_same_selection(numbers(1000, with_ties, 0), {{1000, 10}}, false);
    both.expect_same_selection(numbers(1000, with_ties, 0), {{1000, 1000}}, false);
    both.expect_same_selection(numbers(40000, with_ties, 0), {{40000, 777}}, false);
    both.expect_same_selection(numbers(40000, with_ties, 0), {{3, 1}, {17000, 500}, {0, 0}, {5000, 0}, {17997, 17997}},
                               false);
  }
}

TEST(CudaSelection, FollowsTheRuleForNans) {
  OnBoth both;
  for (const bool zero : {false, true}) {
    both.expect_same_selection(numbers(2000, false, 0.01), {{1000, 100}, {1000, 0}}, zero);
    both.expect_same_selection(numbers(2000, false, 0.3), {{1000, 3}, {1000, 50}}, zero);
  }
}

/// Numbers in [begin, end) that chance takes, ascending.
std::vector<std::int32_t> some_of(std::int64_t begin, std::int64_t end, double probability, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> indices;
  for (std::int64_t i = begin; i < end; ++i) {
    if (static_cast<double>(random()) < probability * 0x1p32) indices.push_back(static_cast<std::int32_t>(i));
  }
  return indices;
}

TEST(CudaSparseSum, AddsInTheOrderOfTheLists) {
  OnBoth both;
  for (const std::int64_t begin : {std::int64_t{0}, std::int64_t{12345}}) {
    const std::int64_t end = begin + 20000;  // several ranges of a block, the last one not whole
    std::vector<std::vector<std::int32_t>> indices = {
        some_of(begin, end, 0.5, 1), {}, some_of(begin, end, 0.01, 2), some_of(begin, end, 1, 3)};
    both.expect_same_sum<float>(indices, begin, end);
    both.expect_same_sum<double>(indices, begin, end);
  }
}

TEST(CudaSparseSum, AddsMoreListsThanABlockLooksForAtOnce) {
  OnBoth both;
  std::vector<std::vector<std::int32_t>> indices;
  for (std::uint32_t r = 0; r < 300; ++r) indices.push_back(some_of(0, 9000, r % 3 == 0 ? 0 : 0.005, r));
  both.expect_same_sum<float>(indices, 0, 9000);
  both.expect_same_sum<double>(indices, 0, 9000);
}

TEST(CudaSparseSum, OfNothingIsNothing) {
  OnBoth both;
  both.expect_same_sum<float>({{}, {}}, 5, 9000);
  both.expect_same_sum<float>({{}, {}}, 5, 5);
}

}  // namespace
}  // namespace gradstep::test
