// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Roots against an eigendecomposition in long double by Jacobi's rotations, of the same damped matrix.
#include "cpu/linear_algebra/roots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "cpu/linear_algebra/root_poles.h"
#include "cpu/linear_algebra/workspaces.h"
#include "dense_tables.h"
#include "unit/support.h"

namespace gradstep::cpu {
namespace {

struct Decomposition {
  std::vector<long double> values;
  std::vector<long double> vectors;  // columns
};

Decomposition jacobi(const std::vector<float>& s, std::size_t n) {
  std::vector<long double> a(s.begin(), s.end());
  Decomposition d;
  d.vectors.assign(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) d.vectors[i * n + i] = 1;
  bool rotates = true;
  for (int sweep = 0; rotates && sweep < 30; ++sweep) {
    rotates = false;
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        if (std::abs(a[p * n + q]) <= 1e-25L * std::abs(a[0])) continue;
        rotates = true;
        const long double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
        const long double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const long double c = 1 / std::sqrt(t * t + 1);
        const auto rotate = [&](long double& x, long double& y) {
          const long double old = x;
          x = c * old - t * c * y;
          y = t * c * old + c * y;
        };
        for (std::size_t k = 0; k < n; ++k) rotate(a[k * n + p], a[k * n + q]);
        for (std::size_t k = 0; k < n; ++k) rotate(a[p * n + k], a[q * n + k]);
        for (std::size_t k = 0; k < n; ++k) rotate(d.vectors[k * n + p], d.vectors[k * n + q]);
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) d.values.push_back(a[i * n + i]);
  return d;
}

/// |H - H*| / |H*| in the Frobenius norm; eigenvalues of D below ridge / 2 are raised to it if `raise`.
double relative_error(const RootSolver<double>& workspace, const Decomposition& d, std::size_t n, double ridge,
                      std::int32_t p, bool raise) {
  std::vector<long double> roots;
  for (const long double value : d.values) {
    const long double damped = value + ridge;
    roots.push_back(std::pow(raise ? std::max<long double>(damped, ridge / 2) : damped, -1.0L / p));
  }
  long double difference = 0;
  long double norm = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      long double expected = 0;
      for (std::size_t k = 0; k < n; ++k) expected += d.vectors[i * n + k] * d.vectors[j * n + k] * roots[k];
      const long double delta = expected - workspace.root()[i * n + j];
      difference += delta * delta;
      norm += expected * expected;
    }
  }
  return static_cast<double>(std::sqrt(difference / norm));
}

/// A random symmetric matrix of the given spectrum, rounded to f32.
std::vector<float> matrix_of(std::vector<double> spectrum, std::mt19937& generator) {
  const std::size_t n = spectrum.size();
  std::normal_distribution<double> normal;
  std::vector<double> a(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) a[i * n + i] = spectrum[i];
  std::vector<double> v(n);
  for (std::size_t reflection = 0; reflection < n; ++reflection) {
    double square = 0;
    for (double& x : v) {
      x = normal(generator);
      square += x * x;
    }
    for (const bool rows : {true, false}) {
      for (std::size_t i = 0; i < n; ++i) {
        const auto at = [&](std::size_t k) -> double& { return rows ? a[k * n + i] : a[i * n + k]; };
        double dot = 0;
        for (std::size_t k = 0; k < n; ++k) dot += at(k) * v[k];
        for (std::size_t k = 0; k < n; ++k) at(k) -= 2 * dot / square * v[k];
      }
    }
  }
  std::vector<float> result(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      result[i * n + j] = result[j * n + i] = static_cast<float>((a[i * n + j] + a[j * n + i]) / 2);
    }
  }
  return result;
}

std::vector<double> random_spectrum(int kind, std::mt19937& generator) {
  std::uniform_real_distribution<double> uniform;
  const auto n = static_cast<std::size_t>(1 + uniform(generator) * 47.999);
  std::vector<double> spectrum(n);
  const double scale = kind % 5 == 3 ? 1e12 : kind % 5 == 4 ? 1e-8 : 1;
  for (std::size_t i = 0; i < n; ++i) {
    spectrum[i] = scale * std::pow(10, -10 * uniform(generator));
    if (kind % 5 == 1 && i >= (n + 1) / 2) spectrum[i] = 0;                          // rank-deficient
    if (kind % 5 == 2 && i > 0) spectrum[i] = spectrum[i / 3 * 3 == i ? i : i - 1];  // repeated
  }
  return spectrum;
}

TEST(InverseRoot, IsThatOfTheDampedMatrixForEverySpectrum) {
  std::mt19937 generator(7);
  RootSolver<double> workspace;
  double worst_eigh = 0;
  double worst_newton = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const std::vector<float> s = matrix_of(random_spectrum(trial, generator), generator);
    const auto n = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(s.size()))));
    const Decomposition d = jacobi(s, n);
    RootOptions options;
    options.exponent = std::array{1, 2, 4, 6, 8}[static_cast<std::size_t>(trial / 5 % 5)];
    const RootResult eigh = workspace.inverse_root(s.data(), static_cast<std::int64_t>(n), options);
    EXPECT_LT(eigh.error, 1e-6) << trial;
    worst_eigh = std::max(worst_eigh, relative_error(workspace, d, n, eigh.ridge, options.exponent, true));
    options.method = RootMethod::coupled_newton;
    const RootResult newton = workspace.inverse_root(s.data(), static_cast<std::int64_t>(n), options);
    EXPECT_LT(newton.error, 1e-6 + 1e-12) << trial;
    worst_newton = std::max(worst_newton, relative_error(workspace, d, n, newton.ridge, options.exponent, false));
  }
  RecordProperty("worst_eigh", std::to_string(worst_eigh * 1e12) + "e-12");
  RecordProperty("worst_newton", std::to_string(worst_newton * 1e12) + "e-12");
  // f64's rounding times the condition number 1e6, with room.
  EXPECT_LT(worst_eigh, 1e-8);
  EXPECT_LT(worst_newton, 1e-8);
}

TEST(InverseRoot, InF32ItIsGoodToItsRoundingTimesTheConditionNumber) {
  std::mt19937 generator(11);
  RootSolver<double> wide;
  RootSolver<float> narrow;
  for (int trial = 0; trial < 50; ++trial) {
    const std::vector<float> s = matrix_of(random_spectrum(0, generator), generator);
    const auto n = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(s.size()))));
    for (const RootMethod method : {RootMethod::eigh, RootMethod::coupled_newton}) {
      RootOptions options;
      options.method = method;
      options.matrix_epsilon = 1e-3;
      wide.inverse_root(s.data(), n, options);
      narrow.inverse_root(s.data(), n, options);
      double difference = 0;
      double norm = 0;
      for (std::int64_t k = 0; k < n * n; ++k) {
        difference += std::pow(static_cast<double>(narrow.root()[k]) - wide.root()[k], 2);
        norm += std::pow(wide.root()[k], 2);
      }
      // eps / 4 * cond is 1.5e-5 at this ridge.
      EXPECT_LT(std::sqrt(difference / norm), 2e-3) << trial;
    }
  }
}

// A matrix of rank one: the bound of the largest eigenvalue is that eigenvalue, and rounding takes it above. The
// default ridge leaves f32 a relative error of eps / 4 * cond, 1.5e-2.
TEST(InverseRoot, NewtonInF32StaysBelowItsBoundWhereThatIsExact) {
  std::mt19937 generator(5);
  std::vector<double> spectrum(150, 0);
  spectrum[0] = 3;
  const std::vector<float> s = matrix_of(spectrum, generator);
  const auto n = static_cast<std::int64_t>(spectrum.size());
  RootSolver<double> wide;
  RootSolver<float> narrow;
  for (const std::int32_t p : {1, 2, 4, 8}) {
    RootOptions options;
    options.method = RootMethod::coupled_newton;
    options.exponent = p;
    wide.inverse_root(s.data(), n, options);
    const RootResult found = narrow.inverse_root(s.data(), n, options);
    EXPECT_LT(found.error, 1e-3) << p;
    EXPECT_LE(found.iterations, 11) << p;
    float worst = 0;
    for (std::int64_t k = 0; k < n * n; ++k) {
      worst = std::max(worst, std::abs(narrow.root()[k] - static_cast<float>(wide.root()[k])));
    }
    EXPECT_LT(worst / *std::max_element(wide.root(), wide.root() + n * n), 0.1) << p;
  }
}

/// Steps of coupled Newton to the root of a matrix of 40 rows with these eigenvalues.
std::int32_t newton_iterations(const std::vector<double>& spectrum, bool source_steps) {
  std::mt19937 generator(29);
  const std::vector<float> s = matrix_of(spectrum, generator);
  RootSolver<double> solver;
  RootOptions options;
  options.method = RootMethod::coupled_newton;
  options.source_steps = source_steps;
  const RootResult result = solver.inverse_root(s.data(), static_cast<std::int64_t>(spectrum.size()), options);
  EXPECT_LT(result.error, 1e-6);
  return result.iterations;
}

TEST(InverseRoot, NewtonTakesAThirdOfTheSeedsStepsWhereEigenvaluesAreSmall) {
  std::vector<double> spectrum(40, 0);
  for (std::size_t i = 0; i < 20; ++i) spectrum[i] = 1 / (1.0 + static_cast<double>(i));
  EXPECT_LE(newton_iterations(spectrum, /*source_steps=*/false), 7);
  EXPECT_GE(newton_iterations(spectrum, /*source_steps=*/true), 19);
}

TEST(InverseRoot, NewtonTakesFewStepsWhereNoneAre) {
  std::vector<double> spectrum(40);
  for (std::size_t i = 0; i < 40; ++i) spectrum[i] = 1 + static_cast<double>(i) / 10;
  EXPECT_LE(newton_iterations(spectrum, /*source_steps=*/false), 4);
  EXPECT_LE(newton_iterations(std::vector<double>(40, 3), /*source_steps=*/false), 3);
}

// Power iteration does not see one small eigenvalue among others that are not much larger; with the ridge for the
// smallest there would be 7 steps.
TEST(InverseRoot, NewtonComesToSmallEigenvaluesThatNobodyHasSeen) {
  std::vector<double> spectrum(40, 0.05);
  spectrum[0] = 1;
  spectrum[1] = 1e-6;
  const std::int32_t iterations = newton_iterations(spectrum, /*source_steps=*/false);
  EXPECT_GT(iterations, 7);
  EXPECT_LE(iterations, 12);
}

TEST(InverseRoot, ScratchBeginsAtCacheLinesSoThatRoundingIsTheSameInEveryProcess) {
  const auto is_aligned = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address) % 64 == 0; };
  RootSolver<double> wide;
  RootSolver<float> narrow;
  Workspace workspace;
  for (const std::size_t n : {3U, 7U, 10U}) {
    const std::vector<float> s(n * n, 0.0F);
    for (const RootMethod method : {RootMethod::eigh, RootMethod::coupled_newton}) {
      RootOptions options;
      options.method = method;
      wide.inverse_root(s.data(), static_cast<std::int64_t>(n), options);
      narrow.inverse_root(s.data(), static_cast<std::int64_t>(n), options);
      EXPECT_TRUE(is_aligned(wide.root()));
      EXPECT_TRUE(is_aligned(narrow.root()));
    }
    EXPECT_TRUE(is_aligned(Workspace::resized(workspace.f32.third, static_cast<std::int64_t>(n * n))));
  }
}

TEST(InverseRoot, WorkspaceIsFourMatricesAtMostAndFiveAndALittleForCoupledNewton) {
  constexpr std::int64_t n = 2048;
  const auto reserved = [](RootAction action, RootMethod method) {
    RootSolver<double> solver;
    RootOptions options;
    options.method = method;
    solver.reserve(action, n, options);
    return static_cast<double>(solver.bytes()) / static_cast<double>(n * n * 8);
  };
  static_assert(4 * n * n * 8 < 135'000'000);  // what docs/shampoo.md says
  EXPECT_LT(reserved(RootAction::root, RootMethod::eigh), 4);
  EXPECT_LT(reserved(RootAction::eigenvectors, RootMethod::eigh), 3);
  EXPECT_LT(reserved(RootAction::refine, RootMethod::eigh), 3);
  EXPECT_LT(reserved(RootAction::root, RootMethod::coupled_newton), 5.1);
}

// Sizes on both sides of those where the eigensolver divides, where a panel is cut, and where bands are not reduced.
TEST(InverseRoot, NoWayTakesMemoryThatWasNotReserved) {
  std::mt19937 generator(37);
  std::normal_distribution<float> normal;
  const Arithmetic fastest{tables().back().name, *tables().back().dense};
  for (const std::int64_t n : {20, 100, 300, 1030}) {
    const auto count = static_cast<std::size_t>(n);
    std::vector<float> s(count * count, 0.0F);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < i; ++j) s[i * count + j] = s[j * count + i] = normal(generator);
    }
    const auto expect_reserved = [&](RootAction action, const RootOptions& options, float diagonal, auto run) {
      for (std::size_t i = 0; i < count; ++i) s[i * count + i] = diagonal;
      RootSolver<double> solver;
      solver.reserve(action, n, options);
      const std::size_t reserved = solver.bytes();
      run(solver);
      EXPECT_EQ(solver.bytes(), reserved) << n << ' ' << static_cast<int>(action) << ' ' << diagonal;
    };
    // Without negative eigenvalues, and with such as have to be raised, whose residual is doubtful.
    for (const float diagonal : {static_cast<float>(2 * n), 0.0F}) {
      for (const RootMethod method : {RootMethod::eigh, RootMethod::coupled_newton}) {
        if (n > 1000 && method == RootMethod::coupled_newton) continue;
        RootOptions options;
        options.arithmetic = &fastest;
        options.method = method;
        expect_reserved(RootAction::root, options, diagonal,
                        [&](RootSolver<double>& solver) { solver.inverse_root(s.data(), n, options); });
      }
    }
    RootOptions of_vectors;  // the exponent has no poles
    of_vectors.arithmetic = &fastest;
    of_vectors.exponent = kLargestExponent + 1;
    expect_reserved(RootAction::root, of_vectors, static_cast<float>(2 * n), [&](RootSolver<double>& solver) {
      EXPECT_LT(solver.inverse_root(s.data(), n, of_vectors).error, 1e-6);
    });
    expect_reserved(RootAction::eigenvectors, {}, 1,
                    [&](RootSolver<double>& solver) { EXPECT_TRUE(solver.eigenvectors(s.data(), n, {})); });
    std::vector<float> order(count);
    expect_reserved(RootAction::refine, {}, 1, [&](RootSolver<double>& solver) {
      EXPECT_TRUE(solver.refine_basis(s.data(), s.data(), n, RootOptions{}, order.data()));
    });
  }
}

TEST(InverseRoot, AreSymmetricToTheBit) {
  std::mt19937 generator(5);
  const std::vector<float> s = matrix_of({4, 1, 0.5, 0.01, 0.002}, generator);
  RootSolver<double> solver;
  for (const RootMethod method : {RootMethod::eigh, RootMethod::coupled_newton}) {
    RootOptions options;
    options.method = method;
    solver.inverse_root(s.data(), 5, options);
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t j = 0; j < i; ++j) EXPECT_EQ(solver.root()[i * 5 + j], solver.root()[j * 5 + i]);
    }
  }
}

TEST(InverseRoot, AZeroMatrixHasTheSmallestRidge) {
  const std::vector<float> zero(25, 0.0F);
  RootSolver<double> workspace;
  for (const RootMethod method : {RootMethod::eigh, RootMethod::coupled_newton}) {
    RootOptions options;
    options.method = method;
    const RootResult result = workspace.inverse_root(zero.data(), 5, options);
    EXPECT_LT(result.error, 1e-6);
    EXPECT_DOUBLE_EQ(result.ridge, 1e-12);
    EXPECT_NEAR(workspace.root()[0], 1000, 1e-3);  // (1e-12)^(-1/4)
    EXPECT_NEAR(workspace.root()[1], 0, 1e-9);
  }
}

TEST(InverseRoot, PaddingIsAsIfTheMatrixWereExtended) {
  std::mt19937 generator(3);
  const std::vector<float> s = matrix_of({4, 1, 0.5, 0.01, 0.002}, generator);
  constexpr std::int64_t kPadded = 12;
  for (const double pad_value : {1.0, 0.0}) {
    std::vector<float> extended(kPadded * kPadded, 0.0F);
    for (std::size_t i = 0; i < kPadded; ++i) {
      for (std::size_t j = 0; j < kPadded; ++j) {
        if (i < 5 && j < 5) extended[i * kPadded + j] = s[i * 5 + j];
        if (i == j && i >= 5) extended[i * kPadded + j] = static_cast<float>(pad_value);
      }
    }
    for (const RootMethod method : {RootMethod::eigh, RootMethod::coupled_newton}) {
      RootOptions options;
      options.method = method;
      options.padded = kPadded;
      options.pad_value = pad_value;
      RootSolver<double> padded;
      RootSolver<double> whole;
      const RootResult a = padded.inverse_root(s.data(), 5, options);
      const RootResult b = whole.inverse_root(extended.data(), kPadded, options);
      EXPECT_NEAR(a.max_eigenvalue, b.max_eigenvalue, 1e-12);
      EXPECT_EQ(a.iterations, b.iterations);
      for (std::size_t i = 0; i < 5; ++i) {
        for (std::size_t j = 0; j < 5; ++j) {
          EXPECT_NEAR(padded.root()[i * 5 + j], whole.root()[i * kPadded + j], 1e-8);
        }
      }
    }
  }
}

TEST(InverseRoot, ANonFiniteStatisticHasNoRoot) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const std::vector<float> s = {1, 0, 0, bad};
    RootSolver<double> workspace;
    for (const RootMethod method : {RootMethod::eigh, RootMethod::coupled_newton}) {
      RootOptions options;
      options.method = method;
      EXPECT_TRUE(std::isnan(workspace.inverse_root(s.data(), 2, options).error));
    }
  }
}

TEST(InverseRoot, EighRaisesEigenvaluesFarBelowTheRidge) {
  const std::vector<float> s = {1, 0, 0, -0.001F};  // what integer codes can do to a statistic
  RootSolver<double> workspace;
  RootOptions options;
  options.exponent = 2;
  const RootResult result = workspace.inverse_root(s.data(), 2, options);
  EXPECT_LT(result.error, 1e-6);
  EXPECT_NEAR(workspace.root()[3], 1000 * std::sqrt(2.0), 1e-6);
}

TEST(InverseRoot, OfANotQuiteSymmetricMatrixIsThatOfItsLowerTriangle) {
  std::mt19937 generator(23);
  RootSolver<double> solver;
  for (const std::size_t n : {5U, 40U}) {
    std::vector<double> spectrum(n, 1.0);
    spectrum[0] = 1e-5;
    std::vector<float> s = matrix_of(spectrum, generator);
    const RootResult symmetric = solver.inverse_root(s.data(), static_cast<std::int64_t>(n), RootOptions{});
    const std::vector<double> root(solver.root(), solver.root() + n * n);
    s[1] += 1e-3F;  // codes of a column are coarser than that
    const RootResult other = solver.inverse_root(s.data(), static_cast<std::int64_t>(n), RootOptions{});
    EXPECT_EQ(other.error, symmetric.error);
    EXPECT_TRUE(std::equal(root.begin(), root.end(), solver.root()));
  }
}

// Sizes around those of panels of reflectors (32). Spectra: full rank, rank-deficient, and with eigenvalues that are
// negative by a little and by much beside the ridge, which is 1e-6.
TEST(InverseRoot, OfLargeMatricesIsThatOfTheDampedMatrix) {
  std::mt19937 generator(17);
  std::uniform_real_distribution<double> uniform;
  RootSolver<double> solver;
  for (const std::size_t n : {31U, 32U, 33U, 65U, 100U}) {
    for (const double least : {1e-4, 1e-9, 0.0, -4e-7, -1e-4}) {
      std::vector<double> spectrum(n);
      for (double& value : spectrum) value = std::pow(10, -4 * uniform(generator));
      spectrum[0] = 1;
      for (std::size_t i = n / 2; i < n; ++i) spectrum[i] = std::min(spectrum[i], least);
      const std::vector<float> s = matrix_of(spectrum, generator);
      RootOptions options;
      const RootResult result = solver.inverse_root(s.data(), static_cast<std::int64_t>(n), options);
      EXPECT_LT(result.error, 1e-6) << n << ' ' << least;
      EXPECT_LT(relative_error(solver, jacobi(s, n), n, result.ridge, options.exponent, true), 1e-8)
          << n << ' ' << least;
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < i; ++j) EXPECT_EQ(solver.root()[i * n + j], solver.root()[j * n + i]);
      }
    }
  }
}

// Large enough for bands. The second matrix has negative eigenvalues, which are raised.
TEST(InverseRoot, OfMatricesWhoseBandIsNotReducedIsOneToo) {
  constexpr std::int64_t n = 1030;
  std::vector<float> s(n * n);
  std::mt19937 generator(41);
  std::normal_distribution<float> normal(0, 0.02F);
  const auto at = [&s](std::int64_t i, std::int64_t j) -> float& { return s[static_cast<std::size_t>(i * n + j)]; };
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < i; ++j) at(i, j) = at(j, i) = normal(generator);
  }
  for (const float diagonal : {2.0F, 1.0F}) {  // others reach to -1.3
    for (std::int64_t i = 0; i < n; ++i) at(i, i) = diagonal;
    RootSolver<double> solver;
    RootOptions options;
    options.matrix_epsilon = 1e-4;
    const Arithmetic fastest{tables().back().name, *tables().back().dense};
    options.arithmetic = &fastest;
    const RootResult result = solver.inverse_root(s.data(), n, options);
    EXPECT_LT(result.error, 1e-8) << diagonal;
    EXPECT_NEAR(result.max_eigenvalue, diagonal + 1.28, 0.05);
    const double* root = solver.root();
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < i; ++j) ASSERT_EQ(root[i * n + j], root[j * n + i]);
    }
  }
}

TEST(InverseRoot, HasTheSameBitsWhereverThereAreFusedOperationsAndForEveryNumberOfThreads) {
  constexpr std::int64_t n = 520;  // of which products with vectors are cut in strips
  std::vector<float> s(n * n);
  std::mt19937 generator(19);
  std::normal_distribution<float> normal(0, 0.02F);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < i; ++j)
      s[static_cast<std::size_t>(i * n + j)] = s[static_cast<std::size_t>(j * n + i)] = normal(generator);
    s[static_cast<std::size_t>(i * n + i)] = 1;
  }
  std::vector<double> first;
  for (const Table& table : tables()) {
    if (table.dense == &kDenseBaseline) continue;
    for (const int threads : {1, 3}) {
      const auto context = test::make_context(threads);
      const Arithmetic arithmetic{table.name, *table.dense};
      RootOptions options;
      options.arithmetic = &arithmetic;
      options.threads = context.get();
      RootSolver<double> solver;
      EXPECT_LT(solver.inverse_root(s.data(), n, options).error, 1e-8);
      const std::vector<double> root(solver.root(), solver.root() + n * n);
      if (first.empty()) first = root;
      EXPECT_TRUE(first == root) << table.name << ' ' << threads;
    }
  }
}

TEST(Basis, IsOfEigenvectorsLargestFirstAndRefinementConvergesToIt) {
  std::mt19937 generator(9);
  const std::vector<double> spectrum = {0.25, 8, 1, 64, 0.01};
  const std::vector<float> s = matrix_of(spectrum, generator);
  RootSolver<double> solver;
  const auto off_diagonal = [&](const std::vector<float>& q, std::vector<double>& quotients) {
    double worst = 0;
    quotients.assign(5, 0);
    for (std::size_t a = 0; a < 5; ++a) {
      for (std::size_t b = 0; b < 5; ++b) {
        double sum = 0;
        for (std::size_t i = 0; i < 5; ++i) {
          for (std::size_t j = 0; j < 5; ++j) sum += static_cast<double>(q[i * 5 + a]) * s[i * 5 + j] * q[j * 5 + b];
        }
        if (a == b) quotients[a] = sum;
        if (a != b) worst = std::max(worst, std::abs(sum));
      }
    }
    return worst;
  };
  const auto result = [&] { return std::vector<float>(solver.root(), solver.root() + 25); };
  std::vector<double> quotients;
  ASSERT_TRUE(solver.eigenvectors(s.data(), 5, {}));
  EXPECT_LT(off_diagonal(result(), quotients), 1e-4);
  EXPECT_NEAR(quotients[0], 64, 1e-3);
  EXPECT_NEAR(quotients[4], 0.01, 1e-4);

  // From the identity, whose columns have other Rayleigh quotients, the off-diagonal shrinks by ratios of eigenvalues.
  std::vector<float> q(25, 0.0F);
  for (std::size_t i = 0; i < 5; ++i) q[i * 5 + i] = 1;
  std::vector<float> order(5);
  for (int k = 0; k < 30; ++k) {
    std::vector<double> before;
    off_diagonal(q, before);
    ASSERT_TRUE(solver.refine_basis(s.data(), q.data(), 5, RootOptions{}, order.data()));
    for (std::size_t j = 1; j < 5; ++j) {
      EXPECT_GE(before[static_cast<std::size_t>(order[j - 1])], before[static_cast<std::size_t>(order[j])]);
    }
    q = result();
  }
  EXPECT_LT(off_diagonal(q, quotients), 1e-4);
  EXPECT_NEAR(quotients[0], 64, 1e-3);
  EXPECT_NEAR(quotients[4], 0.01, 1e-4);
}

}  // namespace
}  // namespace gradstep::cpu
