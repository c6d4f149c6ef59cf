// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/first_order/projection_phase.h"

#include <algorithm>
#include <utility>

#include "core/memory.h"

namespace gradstep {

namespace {

/// But for their scratch.
bool are_alike(const ProjectedItem& a, const ProjectedItem& b) {
  return a.change.data == b.change.data && a.change.dtype == b.change.dtype && a.rows == b.rows &&
         a.columns == b.columns && a.rank == b.rank && a.form == b.form && a.momentum == b.momentum &&
         a.factors == b.factors && a.constants == b.constants;
}

}  // namespace

/// What a backend has made for the matrices stays as long as they do.
void ProjectionPhase::set_items(std::vector<ProjectedItem> items) {
  if (std::ranges::equal(items, items_, are_alike)) return;
  items_ = std::move(items);
  make_room();
  list_products();
  work_.clear();
  for (const ProjectedItem& item : items_) work_.append(item.change.size);
  plan_.work = &work_;
  plan_.items = items_;
  plan_.prepared.forget();
  norms_.work = &product_work_;
  norms_.arrays = {products_, 0};
  norms_.prepared.forget();
}

void ProjectionPhase::make_room() {
  std::int64_t bytes = 0;
  std::int64_t scales = 0;
  std::int64_t partials = 0;
  for (const ProjectedItem& item : items_) {
    bytes += line_bytes(item.rank * item.basis_length(), item.change.dtype) +
             line_bytes(item.rank * item.length(), item.change.dtype);
    scales += item.rank;
    partials += item.rank * item.chunks_of_factor();
  }
  site_.fit(scratch_, bytes, /*zeroed=*/true);
  site_.fit(squares_and_scales_, (partials + scales) * static_cast<std::int64_t>(sizeof(double)), /*zeroed=*/true);
  auto* next = scratch_.as<std::byte>();
  plan_.squares = squares_and_scales_.as<double>();
  auto* next_scale = squares_and_scales_.as<double>() + partials;
  std::int64_t first = 0;
  product_work_.clear();
  products_.clear();
  for (ProjectedItem& item : items_) {
    item.basis = next;
    next += line_bytes(item.rank * item.basis_length(), item.change.dtype);
    item.products = next;
    next += line_bytes(item.rank * item.length(), item.change.dtype);
    item.scales = next_scale;
    next_scale += item.rank;
    item.first = first;
    first += item.rank * item.chunks_of_factor();
    auto* factor = static_cast<std::byte*>(item.products);
    for (std::int64_t k = 0; k < item.rank; ++k, factor += item.length() * size_of(item.change.dtype)) {
      products_.push_back(compact_array(factor, item.length(), item.change.dtype));
      product_work_.append(item.length());
    }
  }
}

void ProjectionPhase::list_products() {
  for (Products& products : by_dtype_) {
    for (int side = 0; side < 2; ++side) {
      products.bases[side].clear();
      products.factors[side].clear();
    }
    products.vectors.clear();
  }
  for (const ProjectedItem& item : items_) {
    Products& products = by_dtype_[item.change.dtype == DType::f64 ? 1 : 0];
    LowRank job = {.m = item.change, .rows = item.rows, .cols = item.columns, .rank = item.rank};
    job.m.data = item.momentum;
    job.result = item.momentum;  // of which nothing is asked
    const bool is_transposed = item.is_transposed();
    job.p = is_transposed ? item.factors : item.basis;
    job.q = is_transposed ? item.basis : item.factors;
    products.bases[is_transposed].push_back(job);
    (is_transposed ? job.p : job.q) = item.products;
    products.factors[is_transposed].push_back(job);
    job.p = item.basis;
    job.q = item.products;
    job.rows = item.basis_length();
    job.cols = item.length();
    products.vectors.push_back(job);
  }
  for (Products& products : by_dtype_) {
    const auto show = [&](LowRankPlan& plan, const std::vector<LowRank>& matrices) {
      plan.matrices = matrices;
      plan.prepared.forget();
      if (!matrices.empty()) site_.backend().reserve_low_rank(plan, site_.queue());
    };
    for (int side = 0; side < 2; ++side) {
      show(products.base_plans[side], products.bases[side]);
      show(products.factor_plans[side], products.factors[side]);
    }
    show(products.vector_plan, products.vectors);
  }
}

void ProjectionPhase::run(const kernels::StepScalars* scalars) {
  Backend& backend = site_.backend();
  Queue& queue = site_.queue();
  const auto each = [](LowRankPlan& plan, auto ask) {
    if (!plan.matrices.empty()) ask(plan);
  };
  const auto project_rows = [&](const LowRankPlan& plan) { backend.project_rows(plan, queue); };
  const auto project_columns = [&](const LowRankPlan& plan) { backend.project_columns(plan, queue); };
  backend.take_gradients(plan_, scalars, queue);
  for (Products& products : by_dtype_) {
    each(products.base_plans[0], project_rows);
    each(products.base_plans[1], project_columns);
  }
  backend.fill_bases(plan_, queue);
  for (Products& products : by_dtype_) {
    each(products.vector_plan, [&](const LowRankPlan& plan) { backend.orthonormalize(plan, queue); });
    each(products.factor_plans[0], project_columns);
    each(products.factor_plans[1], project_rows);
  }
  backend.square_chunks(norms_, 1, squares_and_scales_.as<double>(), queue);
  backend.project(plan_, scalars, queue);
}

}  // namespace gradstep
