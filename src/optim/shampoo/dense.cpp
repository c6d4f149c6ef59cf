// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/dense.h"

#define EIGEN_MPL2_ONLY
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <cmath>

namespace gradstep::dense {

namespace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using View = Eigen::Map<Matrix<T>>;
template <class T>
using ConstView = Eigen::Map<const Matrix<T>>;
using VectorView = Eigen::Map<Eigen::VectorXd>;
using ConstVectorView = Eigen::Map<const Eigen::VectorXd>;

template <class T>
void mirror_lower(View<T>& s) {
  for (Eigen::Index i = 0; i < s.rows(); ++i) {
    for (Eigen::Index j = 0; j < i; ++j) s(j, i) = s(i, j);
  }
}

}  // namespace

void update_statistic(const float* x, std::int64_t outer, std::int64_t n, std::int64_t inner, float keep, float add,
                      float* s) {
  View<float> statistic(s, n, n);
  statistic *= keep;
  auto lower = statistic.selfadjointView<Eigen::Lower>();
  if (inner == 1) {
    lower.rankUpdate(ConstView<float>(x, outer, n).transpose(), add);
  } else {
    for (std::int64_t i = 0; i < outer; ++i) lower.rankUpdate(ConstView<float>(x + i * n * inner, n, inner), add);
  }
  mirror_lower(statistic);
}

void contract_first_axis(const float* x, std::int64_t n, std::int64_t rest, const float* p, float* y) {
  View<float>(y, rest, n).noalias() = ConstView<float>(x, n, rest).transpose() * ConstView<float>(p, n, n);
}

void multiply(const double* a, const double* b, std::int64_t n, double* c) {
  View<double>(c, n, n).noalias() = ConstView<double>(a, n, n) * ConstView<double>(b, n, n);
}

void multiply_vector(const double* a, const double* x, std::int64_t n, double* y) {
  VectorView(y, n).noalias() = ConstView<double>(a, n, n) * ConstVectorView(x, n);
}

bool decompose(const double* a, std::int64_t n, double* values, double* vectors) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(ConstView<double>(a, n, n));
  if (solver.info() != Eigen::Success) return false;
  VectorView(values, n) = solver.eigenvalues();
  View<double>(vectors, n, n) = solver.eigenvectors();
  return true;
}

void recompose(const double* vectors, const double* f, std::int64_t n, double* scaled, double* h) {
  // With V sqrt(f) the product is one rank-n update of half a matrix.
  View<double> half(scaled, n, n);
  half = ConstView<double>(vectors, n, n) * ConstVectorView(f, n).cwiseSqrt().asDiagonal();
  View<double> product(h, n, n);
  product.setZero();
  product.selfadjointView<Eigen::Lower>().rankUpdate(half);
  mirror_lower(product);
}

}  // namespace gradstep::dense
