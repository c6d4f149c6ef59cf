// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a selection finds on a CUDA device is what the CPU's finds.
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "cuda/emulated_device.h"

namespace gradstep::test {
namespace {

/// The same operation on two backends, with memory of each.
class OnBoth {
 public:
  OnBoth() : device_(1) {}

  /// operation(backend, queue, copies of the inputs there) for each; then its outputs, at the host.
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

}  // namespace
}  // namespace gradstep::test
