// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A step of orthogonal iteration on a CUDA device against Gram's and Schmidt's in long double.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cuda/emulated_device.h"

namespace gradstep::test {
namespace {

using Vectors = std::vector<std::vector<long double>>;

/// A statistic, row-major, and a basis with a vector in each column.
struct Problem {
  std::size_t n;
  std::vector<float> statistic;
  std::vector<float> basis;
};

/// The statistic is the sum of `rank` vectors' squares.
Problem some_problem(std::size_t n, std::size_t rank, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Problem problem{n, std::vector<float>(n * n), std::vector<float>(n * n)};
  for (float& x : problem.basis) x = normal(random) / std::sqrt(static_cast<float>(n));
  std::vector<float> g(n);
  for (std::size_t k = 0; k < rank; ++k) {
    for (std::size_t i = 0; i < n; ++i) g[i] = std::ldexp(normal(random), -static_cast<int>(i % 5));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) problem.statistic[i * n + j] += g[i] * g[j];
    }
  }
  return problem;
}

long double dot(const std::vector<long double>& x, const std::vector<long double>& y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0L);
}

/// The vectors of the refined basis, and which of the old ones each comes from.
struct Refined {
  Vectors vectors;
  std::vector<std::size_t> order;
};

Refined refined(const Problem& problem) {
  const std::size_t n = problem.n;
  Vectors products(n, std::vector<long double>(n));
  std::vector<long double> quotients(n);
  for (std::size_t k = 0; k < n; ++k) {
    std::vector<long double> vector(n);
    for (std::size_t i = 0; i < n; ++i) vector[i] = problem.basis[i * n + k];
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) products[k][i] += problem.statistic[i * n + j] * vector[j];
    }
    quotients[k] = dot(vector, products[k]);
  }
  Refined result{{}, std::vector<std::size_t>(n)};
  std::iota(result.order.begin(), result.order.end(), 0);
  std::sort(result.order.begin(), result.order.end(),
            [&](std::size_t a, std::size_t b) { return quotients[a] > quotients[b]; });
  for (const std::size_t k : result.order) {
    std::vector<long double> vector = products[k];
    for (int again = 0; again < 2; ++again) {
      for (const auto& before : result.vectors) {
        const long double projection = dot(before, vector);
        for (std::size_t i = 0; i < n; ++i) vector[i] -= projection * before[i];
      }
    }
    const long double length = std::sqrt(dot(vector, vector));
    for (long double& x : vector) x /= length;
    result.vectors.push_back(vector);
  }
  return result;
}

class CudaBases : public ::testing::Test {
 protected:
  /// By one round of all of them.
  std::vector<Refined> refine(const std::vector<Problem>& problems) {
    Backend& backend = object_of(device_.context())->backend(device_.id(), "device", 0);
    Queue& queue = backend.queue(nullptr);
    const auto preconditioning = backend.make_preconditioning({});
    std::vector<Buffer> buffers;
    const auto upload = [&](const std::vector<float>& numbers, std::size_t more = 0) {
      buffers.emplace_back(backend.memory(), (numbers.size() + more) * sizeof(float));
      queue.upload(buffers.back().data(), numbers.data(), numbers.size() * sizeof(float));
      return buffers.back().as<float>();
    };
    std::vector<RootJob> jobs;
    for (const Problem& problem : problems) {
      RootJob job;
      job.action = RootAction::refine;
      job.n = static_cast<std::int64_t>(problem.n);
      job.statistic = {job.n, job.n, kernels::Coding::none, upload(problem.statistic), nullptr, nullptr};
      job.preconditioner = {job.n, job.n, kernels::Coding::none, upload(problem.basis), nullptr, nullptr};
      job.result = upload(std::vector<float>(problem.n * problem.n), problem.n);
      jobs.push_back(job);
    }
    std::vector<RootRecord> records(jobs.size());
    const auto run = preconditioning->make_root_run();
    run->begin(jobs, records, /*in_background=*/false, queue);
    run->finish(queue);
    std::vector<Refined> all;
    for (std::size_t k = 0; k < jobs.size(); ++k) {
      EXPECT_TRUE(records[k].accepted);
      const std::size_t n = problems[k].n;
      std::vector<float> numbers(n * n + n);
      queue.download(numbers.data(), jobs[k].result, numbers.size() * sizeof(float));
      Refined found{Vectors(n, std::vector<long double>(n)), {}};
      for (std::size_t i = 0; i < n * n; ++i) found.vectors[i % n][i / n] = numbers[i];
      for (std::size_t i = 0; i < n; ++i) found.order.push_back(static_cast<std::size_t>(numbers[n * n + i]));
      all.push_back(found);
    }
    return all;
  }

  static void expect_orthonormal(const Vectors& vectors) {
    for (std::size_t j = 0; j < vectors.size(); ++j) {
      for (std::size_t k = 0; k <= j; ++k) {
        EXPECT_NEAR(static_cast<double>(dot(vectors[j], vectors[k])), j == k ? 1 : 0, 1e-6) << j << ", " << k;
      }
    }
  }

  /// The first vectors of both, up to their signs.
  static void expect_equal(const Refined& found, const Refined& expected, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
      const long double sign = dot(found.vectors[k], expected.vectors[k]) < 0 ? -1 : 1;
      for (std::size_t i = 0; i < expected.order.size(); ++i) {
        EXPECT_NEAR(static_cast<double>(sign * found.vectors[k][i]), static_cast<double>(expected.vectors[k][i]), 1e-6)
            << "vector " << k << ", number " << i;
      }
    }
  }

  EmulatedCuda device_{1};
};

// Around the number of reflectors that are applied together.
TEST_F(CudaBases, AreThoseOfGramAndSchmidt) {
  std::vector<Problem> problems;
  unsigned seed = 0;
  for (const std::size_t n : {1U, 2U, 31U, 32U, 33U, 33U, 64U, 65U, 65U, 97U}) {
    problems.push_back(some_problem(n, 2 * n, ++seed));
  }
  const std::vector<Refined> found = refine(problems);
  for (std::size_t k = 0; k < problems.size(); ++k) {
    SCOPED_TRACE("n = " + std::to_string(problems[k].n));
    const Refined expected = refined(problems[k]);
    EXPECT_EQ(found[k].order, expected.order);
    expect_equal(found[k], expected, problems[k].n);
    expect_orthonormal(found[k].vectors);
  }
}

TEST_F(CudaBases, AreCompletedWhereTheStatisticIsNotOfFullRank) {
  constexpr std::size_t kRank = 20;
  const std::vector<Problem> problems = {some_problem(70, kRank, 1), some_problem(70, 0, 2), some_problem(70, 40, 3)};
  const std::vector<Refined> found = refine(problems);
  for (const Refined& basis : found) expect_orthonormal(basis.vectors);
  expect_equal(found[0], refined(problems[0]), kRank);
}

// docs/cuda.md says how many launches a decomposition takes.
TEST_F(CudaBases, OfManyMatricesTakeTheLaunchesOfOne) {
  constexpr std::size_t kSize = 40;
  std::vector<std::vector<std::string>> launches;
  for (const unsigned count : {1U, 4U}) {
    std::vector<Problem> problems;
    for (unsigned k = 0; k < count; ++k) problems.push_back(some_problem(kSize, 2 * kSize, k));
    EmulatedCuda::launches();
    refine(problems);
    launches.push_back(EmulatedCuda::launches());
  }
  EXPECT_EQ(launches[1], launches[0]);
  const auto sorted = std::find(launches[0].begin(), launches[0].end(), "sort_products");
  const auto written = std::find(sorted, launches[0].end(), "write_bases");
  EXPECT_EQ(static_cast<std::size_t>(std::distance(sorted, written) - 1), 6 * ((kSize + 31) / 32) - 1);
}

}  // namespace
}  // namespace gradstep::test
