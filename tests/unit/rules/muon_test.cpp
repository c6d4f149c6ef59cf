// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Muon beside its definition in f64. (Recorded numbers of six systems: tests/conformance/rules.)
#include "rules/muon.h"

#include "kernels/convert.h"
#include "optim/first_order/named_options.h"
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

using Matrix = std::vector<double>;

Rule muon(std::vector<gradstep_option> options = {}) {
  options.push_back({"learning_rate", 0.5, nullptr});
  return make_rule(find_rule("muon"), options);
}

template <class T>
std::vector<T> stepped(const Rule& rule, const std::vector<std::int64_t>& shape, std::vector<T> param,
                       const std::vector<std::vector<T>>& gradients, int threads = 1) {
  const DType dtype = sizeof(T) == sizeof(double) ? DType::f64 : DType::f32;
  FirstOrderOptimizer optimizer(make_context(threads), rule, make_schema({shape}, dtype));
  TestTensor<T> p(shape);
  TestTensor<T> g(shape);
  p.values = std::move(param);
  const gradstep_tensor params = p.tensor();
  for (const std::vector<T>& gradient : gradients) {
    g.values = gradient;
    const gradstep_tensor grads = g.tensor();
    host::step(optimizer, &params, &grads, nullptr, 1);
  }
  return p.values;
}

template <class T>
T to_bf16(T x) {
  return kernels::widen(kernels::convert<kernels::BFloat16>(x));
}

Matrix transposed(const Matrix& x, std::int64_t rows, std::int64_t columns) {
  Matrix turned(x.size());
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      turned[static_cast<std::size_t>(j * rows + i)] = x[static_cast<std::size_t>(i * columns + j)];
    }
  }
  return turned;
}

/// X = a X + (b A + c A^2) X with A = X X^T, `iterations` times; in bf16 what is named here is rounded to it.
Matrix newton_schulz(Matrix x, std::int64_t rows, std::int64_t columns, const rules::NewtonSchulz& form) {
  const auto settle = [&](Matrix& matrix) {
    if (form.precision == rules::IteratePrecision::f32) return;
    for (double& value : matrix) value = to_bf16(value);
  };
  double squares = 0;
  for (const double value : x) squares += value * value;
  for (double& value : x) value *= form.factor(std::sqrt(squares));
  settle(x);
  const auto product = [](const Matrix& a, const Matrix& b, std::int64_t n, std::int64_t depth, std::int64_t m) {
    Matrix c(static_cast<std::size_t>(n * m));
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t k = 0; k < depth; ++k) {
        for (std::int64_t j = 0; j < m; ++j) {
          c[static_cast<std::size_t>(i * m + j)] +=
              a[static_cast<std::size_t>(i * depth + k)] * b[static_cast<std::size_t>(k * m + j)];
        }
      }
    }
    return c;
  };
  for (std::int32_t k = 0; k < form.iterations; ++k) {
    const auto [a, b, c] = form.step(k);
    const Matrix turned = transposed(x, rows, columns);
    Matrix square = product(x, turned, rows, columns, rows);
    settle(square);
    const Matrix fourth = product(square, square, rows, rows, rows);
    Matrix sum(square.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = b * square[i] + c * fourth[i];
    settle(sum);
    const Matrix more = product(sum, x, rows, rows, columns);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = a * x[i] + more[i];
    settle(x);
  }
  return x;
}

TEST(Muon, KnownSingularValuesOfFiveSimpleAndFiveQuinticIterations) {
  for (const auto& [set, first, second] : {std::tuple("simple", 0.722876168617117, 1.119203929916045),
                                           std::tuple("quintic", 1.018628685789459, 1.005632194375495)}) {
    const Rule rule = muon({{"momentum", 0, nullptr}, {"coefficients", 0, set}, {"epsilon", 0, nullptr}});
    const Matrix after = stepped<double>(rule, {2, 2}, {0, 0, 0, 0}, {{3, 0, 0, 4}});
    EXPECT_NEAR(after[0], -0.5 * first, 1e-13);
    EXPECT_NEAR(after[3], -0.5 * second, 1e-13);
    EXPECT_EQ(after[1], 0);
  }
}

TEST(Muon, FollowsItsDefinitionInEveryShapeAndForm) {
  for (const auto& [rows, columns] : {std::pair(4, 9), std::pair(9, 4), std::pair(1, 6), std::pair(6, 1)}) {
    for (const char* form : {"average", "sum"}) {
      for (const double nesterov : {0.0, 1.0}) {
        const auto size = static_cast<std::size_t>(rows * columns);
        Matrix p = random_values<double>(size, 1);
        const std::vector<Matrix> gradients = {random_values<double>(size, 2), random_values<double>(size, 3)};
        const Matrix after = stepped<double>(muon({{"momentum", 0.75, nullptr},
                                                   {"momentum_form", 0, form},
                                                   {"nesterov", nesterov, nullptr},
                                                   {"weight_decay", 0.25, nullptr}}),
                                             {rows, columns}, p, gradients);
        Matrix m(size);
        const double take = *form == 's' ? 1 : 0.25;
        for (const Matrix& g : gradients) {
          Matrix u(size);
          for (std::size_t i = 0; i < size; ++i) {
            m[i] = 0.75 * m[i] + take * g[i];
            u[i] = nesterov != 0 ? take * g[i] + 0.75 * m[i] : m[i];
          }
          const Matrix o = newton_schulz(u, rows, columns, {});
          const double scale = std::sqrt(std::max(1.0, static_cast<double>(rows) / columns));
          for (std::size_t i = 0; i < size; ++i) p[i] = p[i] * (1 - 0.5 * 0.25) - 0.5 * scale * o[i];
        }
        for (std::size_t i = 0; i < size; ++i) EXPECT_NEAR(after[i], p[i], 1e-12) << rows << " " << form;
      }
    }
  }
}

constexpr gradstep_option kBf16 = {"product_precision", 0, "bf16"};
constexpr gradstep_option kGram = {"iterate", 0, "gram"};

/// A step from zeros: half of minus the orthogonal matrix.
template <class T>
std::vector<T> step_along(const std::vector<std::int64_t>& shape, const std::vector<T>& g,
                          std::vector<gradstep_option> options, int threads = 1) {
  options.push_back({"momentum", 0, nullptr});
  options.push_back({"step_scale", 0, "none"});
  return stepped<T>(muon(std::move(options)), shape, std::vector<T>(g.size()), {g}, threads);
}

TEST(Muon, InBf16ItFollowsItsDefinitionAndTakesNumbersOfBf16) {
  for (const auto& [rows, columns] : {std::pair(4, 9), std::pair(9, 4), std::pair(1, 6), std::pair(40, 70)}) {
    const auto size = static_cast<std::size_t>(rows * columns);
    const std::vector<float> g = random_values<float>(size, 2);
    const std::vector<double> wide(g.begin(), g.end());
    rules::NewtonSchulz form;
    form.precision = rules::IteratePrecision::bf16;
    // X^T X is the smaller product of a tall matrix.
    const Matrix o =
        rows > columns ? transposed(newton_schulz(transposed(wide, rows, columns), columns, rows, form), columns, rows)
                       : newton_schulz(wide, rows, columns, form);
    const std::vector<float> narrow_step = step_along<float>({rows, columns}, g, {kBf16});
    const std::vector<double> wide_step = step_along<double>({rows, columns}, wide, {kBf16});
    for (std::size_t i = 0; i < size; ++i) {
      // A last place of bf16, here or there, and what becomes of it.
      EXPECT_NEAR(narrow_step[i], -0.5 * o[i], 1.0 / 128) << rows << " " << i;
      EXPECT_NEAR(wide_step[i], -0.5 * o[i], 1.0 / 128) << rows << " " << i;
      EXPECT_EQ(narrow_step[i], to_bf16(narrow_step[i]));
      EXPECT_EQ(wide_step[i], to_bf16(wide_step[i]));
    }
  }
}

TEST(Muon, InBf16ThreadsChangeNoBit) {
  for (const std::int64_t rows : {300, 30}) {
    const std::vector<float> g = random_values<float>(static_cast<std::size_t>(rows * 260), 2);
    EXPECT_EQ(step_along<float>({rows, 260}, g, {kBf16}, 1), step_along<float>({rows, 260}, g, {kBf16}, 3));
  }
}

TEST(Muon, GramIterationsGiveWhatThoseOfTheMatrixGive) {
  using Set = rules::NewtonSchulzSet;
  for (const auto& [rows, columns] :
       {std::pair(4, 9), std::pair(9, 4), std::pair(1, 6), std::pair(6, 1), std::pair(20, 33)}) {
    const Matrix g = random_values<double>(static_cast<std::size_t>(rows * columns), 2);
    for (const auto& [coefficients, set] :
         {std::pair("simple", Set::simple), std::pair("polar_express", Set::polar_express),
          std::pair("cubic", Set::cubic)}) {
      for (const double iterations : {1.0, 5.0, 8.0}) {
        rules::NewtonSchulz form;
        form.set = set;
        form.iterations = static_cast<std::int32_t>(iterations);
        const Matrix o = newton_schulz(g, rows, columns, form);
        for (const double restart_every : {1.0, 2.0, 3.0, 20.0}) {
          const Matrix step = step_along<double>({rows, columns}, g,
                                                 {kGram,
                                                  {"coefficients", 0, coefficients},
                                                  {"iterations", iterations, nullptr},
                                                  {"gram_restart_every", restart_every, nullptr}});
          for (std::size_t i = 0; i < o.size(); ++i) {
            EXPECT_NEAR(step[i], -0.5 * o[i], 1e-9)
                << coefficients << ", " << rows << " rows, " << iterations << ", " << restart_every;
          }
        }
      }
    }
  }
}

TEST(Muon, GramIterationsOfAMatrixThatIsNearlySquareAreThoseOfTheMatrixToTheBit) {
  for (const auto& [rows, columns] : {std::pair(9, 9), std::pair(10, 14), std::pair(14, 10)}) {
    const std::vector<float> g = random_values<float>(static_cast<std::size_t>(rows * columns), 2);
    EXPECT_EQ(step_along<float>({rows, columns}, g, {kGram}), step_along<float>({rows, columns}, g, {}));
  }
}

/// A gradient of rank 4 whose singular values lie far apart: errors of R grow with Q there.
TEST(Muon, RestartsKeepGramIterationsAccurateWhereSingularValuesVanish) {
  constexpr int kRows = 64;
  constexpr int kColumns = 160;
  constexpr int kRank = 4;
  const Matrix left = random_values<double>(kRows * kRank, 5);
  const Matrix right = random_values<double>(kRank * kColumns, 6);
  std::vector<float> g(std::size_t{kRows} * kColumns);
  for (std::size_t i = 0; i < g.size(); ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < kRank; ++k) {
      const double size = std::pow(0.1, static_cast<double>(k));
      sum += size * left[i / kColumns * kRank + k] * right[k * kColumns + i % kColumns];
    }
    g[i] = static_cast<float>(sum);
  }
  using Set = rules::NewtonSchulzSet;
  for (const auto& [coefficients, set] : {std::pair("simple", Set::simple), std::pair("quintic", Set::quintic),
                                          std::pair("polar_express", Set::polar_express)}) {
    rules::NewtonSchulz form;
    form.set = set;
    const Matrix o = newton_schulz(Matrix(g.begin(), g.end()), kRows, kColumns, form);
    const auto error_of = [&, coefficients = coefficients](std::vector<gradstep_option> options) {
      options.push_back({"coefficients", 0, coefficients});
      const std::vector<float> step = step_along<float>({kRows, kColumns}, g, std::move(options));
      double squares = 0;
      double all = 0;
      for (std::size_t i = 0; i < o.size(); ++i) {
        squares += std::pow(static_cast<double>(step[i]) + 0.5 * o[i], 2);
        all += std::pow(0.5 * o[i], 2);
      }
      return std::sqrt(squares / all);
    };
    constexpr gradstep_option kRarely = {"gram_restart_every", 20, nullptr};
    EXPECT_LT(error_of({kGram}), 1e-3) << coefficients;
    EXPECT_LT(error_of({kGram, kRarely}), 1e-2) << coefficients;
    EXPECT_LT(error_of({kGram, kBf16}), 3 * error_of({kBf16})) << coefficients;
    EXPECT_LT(error_of({kGram, kBf16, {"gram_restart_every", 2, nullptr}}), 1.5 * error_of({kBf16})) << coefficients;
    EXPECT_GT(error_of({kGram, kBf16, kRarely}), 3 * error_of({kBf16})) << coefficients;
  }
}

TEST(Muon, GramIterationsTakeFewerOperationsWhereAxesDiffer) {
  rules::NewtonSchulz form;
  const double of_matrix = form.operations(768, 3072);
  const double of_square = form.operations(768, 768);
  form.iterate = rules::Iterate::gram;
  // Cubes of the shorter axis: 65 for the matrix, 24 + 14 for its Gram matrix.
  EXPECT_DOUBLE_EQ(form.operations(768, 3072) / of_matrix, 38.0 / 65);
  EXPECT_DOUBLE_EQ(form.operations(3072, 768) / of_matrix, 38.0 / 65);
  EXPECT_EQ(form.operations(768, 768), of_square);
  EXPECT_EQ(form.operations(768, 1100), rules::NewtonSchulz{}.operations(768, 1100));
}

TEST(Muon, APrecisionIsNamed) {
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "product_precision", [] { muon({{"product_precision", 0, "f16"}}); });
}

TEST(Muon, ATensorOfMoreAxesIsAMatrixOfItsFirstAgainstTheOthers) {
  const std::vector<float> p = random_values<float>(120, 1);
  const std::vector<std::vector<float>> g = {random_values<float>(120, 2)};
  EXPECT_EQ(stepped<float>(muon(), {6, 4, 5}, p, g), stepped<float>(muon(), {6, 20}, p, g));
}

TEST(Muon, ThreadsChangeNoBit) {
  const std::vector<float> p = random_values<float>(300 * 260, 1);
  const std::vector<std::vector<float>> g = {random_values<float>(300 * 260, 2)};
  for (const Rule& rule : {muon(), muon({kGram})}) {
    EXPECT_EQ(stepped<float>(rule, {300, 260}, p, g, 1), stepped<float>(rule, {300, 260}, p, g, 3));
  }
}

/// Three steps: scratch that threads give back in one is lent in another order in the next.
template <class T>
void expect_each_as_alone(const std::vector<std::vector<std::int64_t>>& shapes, const Rule& rule = muon()) {
  constexpr std::uint32_t kSteps = 3;
  std::vector<TestTensor<T>> p;
  std::vector<std::vector<std::vector<T>>> gradients;
  std::vector<std::vector<T>> alone;
  std::uint32_t seed = 0;
  for (const auto& shape : shapes) {
    p.emplace_back(shape);
    const std::size_t size = p.back().values.size();
    p.back().values = random_values<T>(size, ++seed);
    gradients.emplace_back();
    for (std::uint32_t step = 0; step < kSteps; ++step) gradients.back().push_back(random_values<T>(size, ++seed));
    alone.push_back(stepped<T>(rule, shape, p.back().values, gradients.back()));
  }
  FirstOrderOptimizer optimizer(make_context(2), rule, make_schema(shapes, dtype_of<T>()));
  std::vector<TestTensor<T>> g = p;
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    for (std::size_t i = 0; i < shapes.size(); ++i) g[i].values = gradients[i][step];
    const std::vector<gradstep_tensor> params = Model<T>::tensors(p);
    const std::vector<gradstep_tensor> grads = Model<T>::tensors(g);
    host::step(optimizer, params.data(), grads.data(), nullptr, shapes.size());
  }
  for (std::size_t i = 0; i < shapes.size(); ++i) EXPECT_TRUE(p[i].values == alone[i]) << "matrix " << i;
}

/// Threads share the products of large matrices, and take small ones one each.
TEST(Muon, MatricesOfEverySizeStepTogetherAsEachDoesAlone) {
  using Shapes = std::vector<std::vector<std::int64_t>>;
  for (const Shapes& shapes : {Shapes{{200, 300}, {3, 4}, {5, 2}}, Shapes{{3, 4}, {5, 2}, {300, 200}},
                               Shapes{{7, 3}, {200, 300}, {1, 6}, {6, 1}, {300, 200}, {4, 3, 5}, {16, 16}}}) {
    expect_each_as_alone<float>(shapes);
    expect_each_as_alone<double>(shapes);
    expect_each_as_alone<double>(shapes, muon({{"product_precision", 0, "bf16"}}));
    expect_each_as_alone<float>(shapes, muon({kGram}));
  }
}

TEST(Muon, AGradientOfZerosMovesNothing) {
  const std::vector<float> p = random_values<float>(12, 1);
  EXPECT_EQ(stepped<float>(muon(), {3, 4}, p, {std::vector<float>(12)}), p);
}

TEST(Muon, AVectorIsRefusedByName) {
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "has 1 axes, muon needs 2 or more; a group with another rule may have it",
               [] { FirstOrderOptimizer(make_context(), muon(), make_schema(kShapes)); });
}

TEST(Muon, IterationsAreAWholeNumber) {
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "(iterations): is 2.5, expected a whole number from 1 to 100",
               [] { muon({{"iterations", 2.5, nullptr}}); });
}

}  // namespace
}  // namespace gradstep::test
