// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Norms of f64 numbers whose squares leave f64's range have the CPU's bits on a CUDA device, and the host does not wait
// for them.
#include <cmath>
#include <limits>
#include <random>

#include "cuda/emulated_device.h"

namespace gradstep::test {
namespace {

const std::vector<std::int64_t> kSizes = {100, 2 * kChunk + 7, kChunk, 1, 5 * kChunk - 1};

/// In memory of a backend: f64 arrays, of which the first has strides, and one of f32.
class Numbers {
 public:
  Numbers(Backend& backend, double size, bool has_doubles = true) : backend_(backend) {
    std::mt19937 random(3);
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      const bool is_double = has_doubles && i != 2;
      const auto count = static_cast<std::size_t>(kSizes[i]) * (i == 0 ? 2 : 1);
      std::vector<double> wide(count);
      for (double& x : wide) x = size * normal(random);
      const std::vector<float> narrow(count, size < 1 ? 0.0F : 1e-30F);  // hides no small ones
      Buffer& buffer = buffers_.emplace_back(backend.memory(), count * (is_double ? sizeof(double) : sizeof(float)));
      queue().upload(buffer.data(), is_double ? static_cast<const void*>(wide.data()) : narrow.data(), buffer.bytes());
      Array array = compact_array(buffer.data(), kSizes[i], is_double ? DType::f64 : DType::f32);
      if (i == 0) {
        array.ndim = 1;
        array.shape = &kSizes[0];
        array.strides = &kStride;
      }
      arrays.push_back(array);
    }
  }

  Queue& queue() { return backend_.queue(nullptr); }

  std::vector<Array> arrays;

 private:
  static constexpr std::int64_t kStride = 2;

  Backend& backend_;
  std::vector<Buffer> buffers_;
};

/// The norm, and the sums of squares at scales.
std::vector<double> measured(Backend& backend, double size) {
  Numbers numbers(backend, size);
  const WorkList work(kSizes);
  const NormPlan plan{&work, {numbers.arrays, /*version=*/0}, {}};
  const std::size_t chunks = work.chunks().size();
  const Buffer results(backend.memory(), (1 + chunks) * sizeof(double));
  std::vector<double> all;
  const auto take = [&](std::size_t first, std::size_t count) {
    std::vector<double> own(count);
    numbers.queue().download(own.data(), results.as<double>() + first, count * sizeof(double));
    all.insert(all.end(), own.begin(), own.end());
  };
  for (int again = 0; again < 2; ++again) {
    backend.measure(plan, results.as<double>(), numbers.queue());
    take(0, 1);
    for (const double scale : {1.0, 0x1p-600, 0x1p600}) {
      backend.square_chunks(plan, scale, results.as<double>() + 1, numbers.queue());
      take(1, chunks);
    }
  }
  return all;
}

/// The norms of windows of two gradients, whose results become others in the end; the last sum gets none.
std::vector<double> accumulated(Backend& backend, double size, Finish finish, Finish norm_finish) {
  Numbers gradients(backend, size);
  Numbers sums(backend, size);
  const WorkList work(kSizes);
  const Buffer norm(backend.memory(), sizeof(double));
  sums.arrays[0] = compact_array(sums.arrays[0].data, kSizes[0], DType::f64);
  std::vector<AccumulateAction> actions(kSizes.size(), AccumulateAction::assign);
  actions[1] = AccumulateAction::absent;
  actions.back() = AccumulateAction::none;
  AccumulateJob job;
  job.work = &work;
  job.sums = sums.arrays;
  job.gradients = {gradients.arrays, /*version=*/0};
  job.actions = actions;
  job.finish = finish;
  job.finish_value = 3;
  job.norm = norm.as<double>();
  job.norm_finish = norm_finish;
  job.norm_finish_value = 1.5;
  std::vector<double> all;
  for (int window = 0; window < 2; ++window) {
    backend.accumulate(job, sums.queue());
    all.push_back(read(sums.queue(), static_cast<const double*>(job.norm)));
    actions[0] = AccumulateAction::add;
  }
  return all;
}

constexpr double kSizesOfNumbers[] = {1, 1e150, 1e200, 1e300, 1e-140, 1e-200, 1e-307, 1e-320, 0};

TEST(CudaNorm, OfDoublesIsRightUpToTheEndsOfTheirRange) {
  for (const std::uint64_t seed : {1U, 2U}) {
    EmulatedCuda device(seed);
    Backend& host = object_of(device.context())->cpu();
    Backend& cuda = object_of(device.context())->backend(device.id(), "device", 0);
    for (const double size : kSizesOfNumbers) {
      const std::vector<double> expected = measured(host, size);
      EXPECT_TRUE(std::isfinite(expected[0])) << size;
      EXPECT_GE(expected[0], size);
      EXPECT_EQ(measured(cuda, size), expected) << size;
    }
  }
}

TEST(CudaNorm, OfAccumulatedDoublesIsRightUpToTheEndsOfTheirRange) {
  EmulatedCuda device(1);
  Backend& host = object_of(device.context())->cpu();
  Backend& cuda = object_of(device.context())->backend(device.id(), "device", 0);
  for (const double size : kSizesOfNumbers) {
    for (const Finish finish : {Finish::nothing, Finish::divide, Finish::multiply}) {
      const std::vector<double> expected = accumulated(host, size, Finish::nothing, finish);
      EXPECT_TRUE(std::isfinite(expected[0])) << size;
      EXPECT_GE(expected[0], size);
      EXPECT_EQ(accumulated(cuda, size, Finish::nothing, finish), expected) << size;
      EXPECT_EQ(accumulated(cuda, size, finish, Finish::nothing), accumulated(host, size, finish, Finish::nothing));
    }
  }
}

TEST(CudaNorm, OfInfinityIsInfiniteAndOfNanNan) {
  EmulatedCuda device(1);
  Backend& cuda = object_of(device.context())->backend(device.id(), "device", 0);
  EXPECT_EQ(measured(cuda, std::numeric_limits<double>::infinity())[0], std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(measured(cuda, std::numeric_limits<double>::quiet_NaN())[0]));
}

TEST(CudaNorm, TakesASecondLaunchOfDoublesAloneAndNoWait) {
  EmulatedCuda device(1);
  Backend& cuda = object_of(device.context())->backend(device.id(), "device", 0);
  for (const bool has_doubles : {false, true}) {
    Numbers numbers(cuda, 1e200, has_doubles);
    const WorkList work(kSizes);
    const Buffer norm(cuda.memory(), sizeof(double));
    const NormPlan plan{&work, {numbers.arrays, /*version=*/0}, {}};
    numbers.queue().finish();
    EmulatedCuda::launches();
    const std::int64_t waits = device.waits();
    cuda.measure(plan, norm.as<double>(), numbers.queue());
    EXPECT_EQ(device.waits(), waits);
    numbers.queue().finish();
    std::vector<std::string> expected = {"square"};
    if (has_doubles) expected.emplace_back("measure_scaled");
    EXPECT_EQ(EmulatedCuda::launches(), expected);
  }
}

}  // namespace
}  // namespace gradstep::test
