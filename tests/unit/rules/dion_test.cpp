// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Dion beside its definition in f64. (Recorded numbers of two systems: tests/conformance/rules.)
#include "rules/dion.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "optim/first_order/named_options.h"
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

using Options = std::vector<gradstep_option>;

Rule dion(Options options = {}) {
  options.push_back({"learning_rate", 0.5, nullptr});
  return make_rule(find_rule("dion"), options);
}

void add(Schema& schema, const std::string& name, const std::vector<std::int64_t>& shape, DType dtype) {
  gradstep_parameter p{};
  p.struct_size = sizeof p;
  p.name = name.c_str();
  p.shape = shape.data();
  p.ndim = static_cast<std::int32_t>(shape.size());
  p.dtype = to_dlpack(dtype);
  p.device = kDeviceOfHandles;
  schema.append(&p, 1);
}

template <class T>
std::vector<T> state_of(Optimizer& optimizer, const char* name) {
  const Array array = optimizer.state().view(0, name);
  const T* numbers = static_cast<const T*>(array.data);
  return {numbers, numbers + array.size};
}

/// One parameter, its optimizer, and what it is given.
template <class T>
struct Stepped {
  explicit Stepped(const Rule& rule, std::vector<std::int64_t> shape, int threads = 1)
      : optimizer(make_context(threads), rule, make_schema({shape}, dtype_of<T>())), p(shape), g(shape) {
    p.values = random_values<T>(p.values.size(), 1);
  }

  StepOutcome step(std::vector<T> gradient, const StepGuards& guards = {}) {
    g.values = std::move(gradient);
    const gradstep_tensor params = p.tensor();
    const gradstep_tensor grads = g.tensor();
    return host::step(optimizer, &params, &grads, nullptr, 1, guards);
  }
  std::vector<T> random(std::uint32_t seed) const { return random_values<T>(p.values.size(), seed); }

  FirstOrderOptimizer optimizer;
  TestTensor<T> p;
  TestTensor<T> g;
};

/// A matrix of f64.
struct DionMatrix {
  std::size_t rows;
  std::size_t columns;
  std::vector<double> x = std::vector<double>(rows * columns);

  double& operator()(std::size_t i, std::size_t j) { return x[i * columns + j]; }
  double operator()(std::size_t i, std::size_t j) const { return x[i * columns + j]; }
  DionMatrix transposed() const {
    DionMatrix t{columns, rows};
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) t(j, i) = (*this)(i, j);
    }
    return t;
  }
};

DionMatrix operator*(const DionMatrix& a, const DionMatrix& b) {
  DionMatrix c{a.rows, b.columns};
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t k = 0; k < a.columns; ++k) {
      for (std::size_t j = 0; j < b.columns; ++j) c(i, j) += a(i, k) * b(k, j);
    }
  }
  return c;
}

/// Q of a QR by Householder's reflections, with the signs of R's diagonal positive.
DionMatrix orthonormal(DionMatrix a) {
  DionMatrix q{a.rows, a.columns};
  for (std::size_t k = 0; k < a.columns; ++k) q(k, k) = 1;
  std::vector<std::vector<double>> mirrors;
  std::vector<double> signs;
  for (std::size_t k = 0; k < a.columns; ++k) {
    std::vector<double> v(a.rows);
    double squares = 0;
    for (std::size_t i = k; i < a.rows; ++i) squares += a(i, k) * a(i, k);
    for (std::size_t i = k; i < a.rows; ++i) v[i] = a(i, k);
    const double sign = a(k, k) < 0 ? -1 : 1;
    v[k] += sign * std::sqrt(squares);
    signs.push_back(-sign);
    double length = 0;
    for (const double x : v) length += x * x;
    const auto mirror = [&](DionMatrix& m, const std::vector<double>& along, double of) {
      for (std::size_t j = 0; j < m.columns; ++j) {
        double dot = 0;
        for (std::size_t i = 0; i < m.rows; ++i) dot += along[i] * m(i, j);
        for (std::size_t i = 0; i < m.rows; ++i) m(i, j) -= 2 * dot / of * along[i];
      }
    };
    mirror(a, v, length);
    mirrors.push_back(v);
  }
  for (std::size_t k = a.columns; k-- > 0;) {
    double length = 0;
    for (const double x : mirrors[k]) length += x * x;
    for (std::size_t j = 0; j < q.columns; ++j) {
      double dot = 0;
      for (std::size_t i = 0; i < q.rows; ++i) dot += mirrors[k][i] * q(i, j);
      for (std::size_t i = 0; i < q.rows; ++i) q(i, j) -= 2 * dot / length * mirrors[k][i];
    }
  }
  for (std::size_t j = 0; j < q.columns; ++j) {
    for (std::size_t i = 0; i < q.rows; ++i) q(i, j) *= signs[j];
  }
  return q;
}

/// The definition (arXiv 2504.05295, algorithm 1), for a matrix that is taken as it comes.
void follow(DionMatrix& m, DionMatrix& q, const DionMatrix& g, double mu, double epsilon, DionMatrix& change) {
  for (std::size_t i = 0; i < m.x.size(); ++i) m.x[i] += g.x[i];
  const DionMatrix p = orthonormal(m * q);
  const DionMatrix r = m.transposed() * p;
  const DionMatrix product = p * r.transposed();
  for (std::size_t i = 0; i < m.x.size(); ++i) m.x[i] -= (1 - mu) * product.x[i];
  for (std::size_t k = 0; k < q.columns; ++k) {
    double squares = 0;
    for (std::size_t i = 0; i < q.rows; ++i) squares += r(i, k) * r(i, k);
    for (std::size_t i = 0; i < q.rows; ++i) q(i, k) = r(i, k) / (std::sqrt(squares) + epsilon);
  }
  change = p * q.transposed();
}

TEST(Dion, FollowsItsDefinitionInEveryShapeAndForm) {
  for (const auto& [rows, columns] :
       {std::pair(4, 9), std::pair(9, 4), std::pair(5, 5), std::pair(1, 6), std::pair(6, 1)}) {
    for (const char* form : {"reference", "simple"}) {
      const bool is_turned = *form == 'r' && rows < columns;
      Stepped<double> own(dion({{"momentum", 0.75, nullptr},
                                {"weight_decay", 0.25, nullptr},
                                {"rank_fraction", 0.5, nullptr},
                                {"epsilon", 0.125, nullptr},
                                {"form", 0, form}}),
                          {rows, columns});
      const auto least = static_cast<std::size_t>(std::min(rows, columns));
      const std::size_t length = static_cast<std::size_t>(is_turned ? rows : columns);
      DionMatrix turned{(least + 1) / 2, length, state_of<double>(own.optimizer, "Q")};
      ASSERT_EQ(turned.x.size(), turned.rows * turned.columns);
      DionMatrix q = turned.transposed();
      DionMatrix m{static_cast<std::size_t>(is_turned ? columns : rows), length};
      DionMatrix change{0, 0};
      std::vector<double> p = own.p.values;
      for (std::uint32_t t = 0; t < 3; ++t) {
        const std::vector<double> gradient = own.random(t + 2);
        DionMatrix g{static_cast<std::size_t>(rows), static_cast<std::size_t>(columns), gradient};
        if (is_turned) g = g.transposed();
        follow(m, q, g, 0.75, 0.125, change);
        const DionMatrix along = is_turned ? change.transposed() : change;
        const double scale = 0.5 * std::sqrt(static_cast<double>(rows) / columns);
        for (std::size_t i = 0; i < p.size(); ++i) p[i] = p[i] * (1 - 0.5 * 0.25) - scale * along.x[i];
        own.step(gradient);
      }
      for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(own.p.values[i], p[i], 1e-12) << rows << " " << form;
      const DionMatrix kept = is_turned ? m.transposed() : m;
      const std::vector<double> momentum = state_of<double>(own.optimizer, "momentum");
      for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(momentum[i], kept.x[i], 1e-12) << rows << " " << form;
      const std::vector<double> factors = state_of<double>(own.optimizer, "Q");
      const DionMatrix expected = q.transposed();
      for (std::size_t i = 0; i < factors.size(); ++i) EXPECT_NEAR(factors[i], expected.x[i], 1e-12) << rows << form;
    }
  }
}

TEST(Dion, QHasTheRankThatIsAskedFor) {
  const auto rank = [](Options options, std::vector<std::int64_t> shape) {
    Stepped<float> own(dion(std::move(options)), std::move(shape));
    return own.optimizer.state().shape(0, "Q")[0];
  };
  EXPECT_EQ(rank({}, {6, 10}), 6);
  EXPECT_EQ(rank({{"rank_fraction", 0.25, nullptr}}, {6, 10}), 2);
  EXPECT_EQ(rank({{"rank_fraction", 0, nullptr}}, {6, 10}), 1);
  EXPECT_EQ(rank({{"rank", 4, nullptr}, {"rank_fraction", 0.25, nullptr}}, {6, 10}), 4);
  EXPECT_EQ(rank({{"rank", 768, nullptr}}, {6, 5, 2}), 6);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "(rank): is 2.5, expected a whole number",
               [] { dion({{"rank", 2.5, nullptr}}); });
}

TEST(Dion, QBeginsAlikeForANameAndOtherwiseForAnother) {
  const auto begin = [](const char* name) {
    Schema schema;
    add(schema, name, {8, 8}, DType::f32);
    FirstOrderOptimizer optimizer(make_context(), dion(), schema);
    return state_of<float>(optimizer, "Q");
  };
  const std::vector<float> q = begin("weight");
  EXPECT_EQ(q, begin("weight"));
  EXPECT_NE(q, begin("other"));
  for (const float x : q) {
    EXPECT_GE(x, -1);
    EXPECT_LT(x, 1);
    EXPECT_NE(x, 0);
  }
}

TEST(Dion, AGradientOfZerosMovesNothingAndLosesNoFactor) {
  Stepped<float> own(dion({{"rank", 2, nullptr}}), {3, 4});
  const std::vector<float> before = own.p.values;
  const std::vector<float> q = state_of<float>(own.optimizer, "Q");
  own.step(std::vector<float>(12));
  EXPECT_EQ(own.p.values, before);
  EXPECT_EQ(state_of<float>(own.optimizer, "Q"), q);
}

/// As the QR of a matrix of zeros gives the identity.
TEST(Dion, TheSimpleFormBeginsAnewWithTheIdentity) {
  Stepped<double> own(dion({{"rank", 2, nullptr}, {"form", 0, "simple"}, {"epsilon", 0, nullptr}}), {3, 4});
  std::vector<double> p = own.p.values;
  own.step(std::vector<double>(12));
  EXPECT_EQ(own.p.values, p);
  EXPECT_EQ(state_of<double>(own.optimizer, "Q"), std::vector<double>(8));
  const std::vector<double> g = own.random(2);
  own.step(g);
  for (std::size_t i = 0; i < 3; ++i) {
    double squares = 0;
    for (std::size_t j = 0; j < 4; ++j) squares += g[i * 4 + j] * g[i * 4 + j];
    for (std::size_t j = 0; j < 4; ++j) {
      const double along = i < 2 ? g[i * 4 + j] / std::sqrt(squares) : 0;
      EXPECT_NEAR(own.p.values[i * 4 + j], p[i * 4 + j] - 0.5 * std::sqrt(0.75) * along, 1e-14);
    }
  }
}

/// A gradient of rank 1 has one direction: factors that nothing comes of add nothing, and follow later gradients.
TEST(Dion, FactorsBeyondTheRankOfTheMomentumWait) {
  for (const char* form : {"reference", "simple"}) {
    Stepped<float> own(dion({{"rank", 3, nullptr}, {"form", 0, form}}), {6, 5});
    std::vector<float> p = own.p.values;
    std::vector<float> g(30);
    for (std::size_t i = 0; i < 30; ++i) g[i] = static_cast<float>(i / 5 + 1) * (i % 5 == 2 ? 0.5F : -1.25F);
    double squares = 0;
    for (const float x : g) squares += static_cast<double>(x) * static_cast<double>(x);
    own.step(g);
    const double scale = 0.5 * std::sqrt(6.0 / 5) / std::sqrt(squares);
    for (std::size_t i = 0; i < 30; ++i) {
      EXPECT_NEAR(own.p.values[i], p[i] - static_cast<float>(scale) * g[i], 1e-5) << form;
    }
    for (std::uint32_t t = 0; t < 2; ++t) own.step(own.random(t + 7));
    p = own.p.values;
    own.step(std::vector<float>(30));
    const std::vector<float> q = state_of<float>(own.optimizer, "Q");
    double change = 0;
    for (std::size_t i = 0; i < 30; ++i) change += std::pow(static_cast<double>(own.p.values[i] - p[i]), 2);
    EXPECT_NEAR(change, 0.25 * 6 / 5 * 3, 1e-4) << form << ": three orthonormal pairs";
    for (const float x : q) EXPECT_TRUE(std::isfinite(x));
  }
}

TEST(Dion, ASkippedStepLeavesItsStates) {
  Stepped<float> own(dion(), {7, 4});
  own.step(own.random(2));
  const std::vector<float> p = own.p.values;
  const std::vector<float> q = state_of<float>(own.optimizer, "Q");
  const std::vector<float> momentum = state_of<float>(own.optimizer, "momentum");
  std::vector<float> g = own.random(3);
  g[5] = std::numeric_limits<float>::infinity();
  StepGuards guards;
  guards.skip_nonfinite = true;
  EXPECT_FALSE(own.step(g, guards).applied);
  EXPECT_EQ(own.p.values, p);
  EXPECT_EQ(state_of<float>(own.optimizer, "Q"), q);
  EXPECT_EQ(state_of<float>(own.optimizer, "momentum"), momentum);
}

TEST(Dion, ATensorOfMoreAxesIsAMatrixOfItsFirstAgainstTheOthers) {
  Stepped<float> deep(dion(), {6, 4, 5});
  Stepped<float> flat(dion(), {6, 20});
  deep.step(deep.random(2));
  flat.step(flat.random(2));
  EXPECT_EQ(deep.p.values, flat.p.values);
}

template <class T>
std::vector<T> with_threads(int threads) {
  Stepped<T> own(dion({{"rank", 9, nullptr}}), {700, 300}, threads);
  for (std::uint32_t t = 0; t < 3; ++t) own.step(own.random(t + 2));
  return own.p.values;
}

TEST(Dion, ThreadsChangeNoBit) {
  EXPECT_EQ(with_threads<float>(1), with_threads<float>(3));
  EXPECT_EQ(with_threads<double>(1), with_threads<double>(3));
}

/// A matrix of either dtype, and a gradient.
struct AnyMatrix {
  AnyMatrix(std::vector<std::int64_t> shape, bool is_wide)
      : is_wide(is_wide), wide(shape), narrow(shape), wide_grad(shape), narrow_grad(std::move(shape)) {}

  void draw(std::uint32_t seed) {
    wide_grad.values = random_values<double>(wide.values.size(), seed);
    narrow_grad.values = random_values<float>(wide.values.size(), seed);
  }
  DType dtype() const { return is_wide ? DType::f64 : DType::f32; }
  gradstep_tensor param() { return is_wide ? wide.tensor() : narrow.tensor(); }
  gradstep_tensor grad() { return is_wide ? wide_grad.tensor() : narrow_grad.tensor(); }

  bool is_wide;
  TestTensor<double> wide;
  TestTensor<float> narrow;
  TestTensor<double> wide_grad;
  TestTensor<float> narrow_grad;
};

/// Both dtypes, tall and wide, share a step.
TEST(Dion, MatricesStepTogetherAsEachDoesAlone) {
  const std::vector<std::vector<std::int64_t>> shapes = {{7, 3}, {3, 7}, {40, 50}, {1, 6}, {6, 1}, {4, 3, 5}};
  for (const char* form : {"reference", "simple"}) {
    std::vector<AnyMatrix> matrices;
    Schema schema;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      matrices.emplace_back(shapes[i], i % 2 == 0);
      add(schema, "p" + std::to_string(i), shapes[i], matrices[i].dtype());
    }
    std::vector<AnyMatrix> others = matrices;
    FirstOrderOptimizer together(make_context(2), dion({{"form", 0, form}}), schema);
    for (std::uint32_t t = 0; t < 2; ++t) {
      std::vector<gradstep_tensor> params;
      std::vector<gradstep_tensor> grads;
      for (AnyMatrix& matrix : matrices) {
        matrix.draw(10 * static_cast<std::uint32_t>(params.size()) + t);
        params.push_back(matrix.param());
        grads.push_back(matrix.grad());
      }
      host::step(together, params.data(), grads.data(), nullptr, shapes.size());
    }
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      Schema own;
      add(own, schema[i].name, shapes[i], schema[i].dtype);
      FirstOrderOptimizer alone(make_context(1), dion({{"form", 0, form}}), own);
      for (std::uint32_t t = 0; t < 2; ++t) {
        others[i].draw(10 * static_cast<std::uint32_t>(i) + t);
        const gradstep_tensor params = others[i].param();
        const gradstep_tensor grads = others[i].grad();
        host::step(alone, &params, &grads, nullptr, 1);
      }
      EXPECT_EQ(matrices[i].wide.values, others[i].wide.values) << form << i;
      EXPECT_EQ(matrices[i].narrow.values, others[i].narrow.values) << form << i;
    }
  }
}

TEST(Dion, AVectorIsRefusedByName) {
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "has 1 axes, dion needs 2 or more; a group with another rule may have it",
               [] { FirstOrderOptimizer(make_context(), dion(), make_schema(kShapes)); });
}

}  // namespace
}  // namespace gradstep::test
