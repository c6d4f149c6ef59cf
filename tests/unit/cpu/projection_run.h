// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What lies between the products of a projection (rules/projection.h), done to numbers of any matrix.
#pragma once

#include <vector>

#include "rules/constants.h"
#include "unit/cpu/cpu_test_support.h"

namespace gradstep::test {

struct ProjectionRun {
  static constexpr double kDropped = 0.25;
  struct Shape {
    std::int64_t rows;
    std::int64_t columns;
    std::int64_t rank;
  };

  ProjectionRun(DType type, const Shape& size, rules::ProjectionForm by)
      : dtype(type),
        shape(size),
        form{by, 0, 1e-3},
        change(type, size.rows * size.columns),
        momentum(type, size.rows * size.columns),
        factors(type, size.rank * item().length()),
        basis(type, size.rank * item().basis_length()),
        products(type, size.rank * item().length()) {
    int seed = 0;
    for (TestArray* array : {&change, &momentum, &factors, &basis, &products}) array->fill(++seed);
  }

  /// Without what it is done to.
  ProjectedItem item() const {
    ProjectedItem item;
    item.change.dtype = dtype;
    item.rows = shape.rows;
    item.columns = shape.columns;
    item.rank = shape.rank;
    item.form = form;
    return item;
  }
  std::vector<const TestArray*> arrays() const { return {&change, &momentum, &factors, &basis, &products}; }

  void clear_product(std::int64_t k) {
    for (std::int64_t i = 0; i < item().length(); ++i) products.set(k * item().length() + i, 0);
  }

  void fill_basis(BackendCalls& backend) {
    run([&](const ProjectionPlan& plan, Queue& queue) { backend->fill_bases(plan, queue); });
  }

  /// The momentum takes the gradient in; from R to Q, to the change, and to what stays of the momentum.
  void finish(BackendCalls& backend) {
    std::vector<Array> vectors;
    WorkList work;
    auto* product = static_cast<std::byte*>(products.array().data);
    for (std::int64_t k = 0; k < shape.rank; ++k, product += item().length() * size_of(dtype)) {
      vectors.push_back(compact_array(product, item().length(), dtype));
      work.append(item().length());
    }
    std::vector<double> squares(work.chunks().size());
    backend.square_chunks(work, vectors, squares);
    kernels::StepScalars scalars;
    scalars.gate = 1;
    run([&](ProjectionPlan& plan, Queue& queue) {
      plan.squares = squares.data();
      backend->take_gradients(plan, &scalars, queue);
      backend->project(plan, &scalars, queue);
    });
  }

  template <class Ask>
  void run(Ask ask) {
    std::vector<double> scales(static_cast<std::size_t>(shape.rank));
    ProjectedItem shown = item();
    shown.change = change.array();
    shown.momentum = momentum.array().data;
    shown.factors = factors.array().data;
    shown.basis = basis.array().data;
    shown.products = products.array().data;
    shown.scales = scales.data();
    shown.constants = group_constants(rules::Dion::Constants<double>{kDropped});
    const ProjectedItem items[] = {shown};
    WorkList work;
    work.append(shown.change.size);
    ProjectionPlan plan;
    plan.work = &work;
    plan.items = items;
    HostQueue queue;
    ask(plan, queue);
  }

  DType dtype;
  Shape shape;
  rules::Projection form;
  TestArray change;
  TestArray momentum;
  TestArray factors;
  TestArray basis;
  TestArray products;
};

}  // namespace gradstep::test
