// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "accumulate/sums.h"

#include <algorithm>
#include <cmath>

#include "backend/host_copies.h"
#include "core/absence.h"
#include "core/error.h"
#include "core/shape.h"

namespace gradstep {

namespace {

constexpr const char* kSum = "/sum";

DType choose_dtype(const gradstep_dtype& wanted, const Parameter& parameter) {
  if (wanted.code == 0 && wanted.bits == 0 && wanted.lanes == 0) return arithmetic_dtype(parameter.dtype);
  const auto dtype = from_dlpack(wanted);
  if (dtype != DType::f32 && dtype != DType::f64) {
    fail_argument("options.dtype: is {}, expected f32, f64 or zeros", dtype_text(wanted));
  }
  if (dtype == DType::f32 && parameter.dtype == DType::f64) {
    fail_argument("options.dtype: is f32, and parameter '{}' is f64", parameter.name);
  }
  return *dtype;
}

}  // namespace

WindowSums::WindowSums(const Site& site, const Schema& schema, const gradstep_dtype& dtype, bool keeps)
    : site_(site), schema_(schema), keeps_(keeps) {
  for (const Parameter& parameter : schema_) {
    Array sum;
    sum.dtype = choose_dtype(dtype, parameter);
    sum.size = parameter.size;
    buffers_.push_back(site_.allocate(static_cast<std::size_t>(sum.bytes()), /*zeroed=*/false));
    sum.data = buffers_.back().data();
    place_if_empty(sum);
    sums_.push_back(sum);
    work_.append(parameter.size);
  }
  actions_.resize(schema_.size());
  touched_.assign(schema_.size(), 0);
  norms_ = site_.allocate(2 * sizeof(double), /*zeroed=*/true);
  job_.work = incoming_.work = &work_;
  job_.sums = sums_;
  job_.actions = actions_;
  site_.backend().reserve(job_);  // so that no window is broken off for want of memory
}

void WindowSums::check(std::span<const Array> grads) const {
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (grads[i].dtype == DType::f64 && sums_[i].dtype != DType::f64) {
      fail_argument("grads[{}]: is f64, the accumulator of parameter '{}' is f32", i, schema_[i].name);
    }
  }
}

bool WindowSums::all_are_f64() const {
  return std::ranges::all_of(sums_, [](const Array& sum) { return sum.dtype == DType::f64; });
}

bool WindowSums::is_finite(const BufferList& grads, std::span<const AddedRows> rows) {
  double* found = norm() + 1;
  const auto is_finite = [&](const NormPlan& plan) {
    site_.backend().measure(plan, found, site_.queue());
    return std::isfinite(read(site_.queue(), found));
  };
  if (!grads.empty()) {
    incoming_.arrays = grads;
    if (!is_finite(incoming_)) return false;
  }
  return std::ranges::all_of(rows, [&](const AddedRows& added) {
    const WorkList work({&added.values.size, 1});
    NormPlan plan;
    plan.work = &work;
    plan.arrays.arrays = {&added.values, 1};
    return is_finite(plan);
  });
}

void WindowSums::add(const BufferList& grads, std::span<const AddedRows> rows, const Addend& addend,
                     const Ending* last) {
  // Rows go in before the dense pass, which finishes and measures the window; only the running mean's rows must follow
  // its decay of the old sum.
  const bool running = addend.formula == AccumulateFormula::running;
  if (!running) add_rows(rows, addend);
  add_dense(grads, addend, last);
  if (running && !rows.empty()) {
    add_rows(rows, addend);
    measured_ = false;
  }
}

void WindowSums::add_dense(const BufferList& grads, const Addend& addend, const Ending* last) {
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    const bool has_gradient = !grads.empty() && !is_absent(grads[i]);
    if (has_gradient && addend.factor != 0) {
      actions_[i] = touched_[i] != 0 ? AccumulateAction::add : AccumulateAction::assign;
      touched_[i] = 1;
    } else {
      if (has_gradient) touch(i);
      actions_[i] = touched_[i] != 0 ? AccumulateAction::absent : AccumulateAction::none;
    }
  }
  job_.gradients = grads;
  job_.formula = addend.formula;
  job_.factor = addend.factor;
  job_.finish = Finish::nothing;
  job_.norm = nullptr;
  if (last != nullptr) {
    if (!keeps_) {
      job_.finish = last->finish;
      job_.finish_value = last->value;
    }
    measure(*last);
  }
  measured_ = last != nullptr;
  site_.backend().accumulate(job_, site_.queue());
}

/// From here on there is a sum.
void WindowSums::touch(std::size_t i) {
  if (touched_[i] != 0) return;
  site_.queue().zero(sums_[i].data, static_cast<std::size_t>(sums_[i].bytes()));
  touched_[i] = 1;
}

void WindowSums::add_rows(std::span<const AddedRows> rows, const Addend& addend) {
  const bool divides = addend.formula == AccumulateFormula::divided || addend.formula == AccumulateFormula::running;
  for (const AddedRows& added : rows) {
    const std::size_t i = added.parameter;
    touch(i);
    if (addend.factor == 0) continue;
    site_.backend().add_rows({sums_[i], added.indices, added.values, added.row_size, addend.factor, divides},
                             site_.queue());
  }
}

/// The squares are of what the job leaves in the sums: those that are kept undivided are not the results.
void WindowSums::measure(const Ending& ending) {
  job_.norm = norm();
  job_.norm_finish = Finish::nothing;
  if (!keeps_) return;
  job_.norm_finish = ending.finish;
  job_.norm_finish_value = ending.value;
  undivided_ = ending.finish != Finish::nothing;
}

void WindowSums::finish(const Ending& done) {
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    actions_[i] = touched_[i] != 0 ? AccumulateAction::absent : AccumulateAction::none;
  }
  job_.gradients = {};
  job_.formula = AccumulateFormula::plain;
  job_.finish = done.finish;
  job_.finish_value = done.value;
  site_.backend().accumulate(job_, site_.queue());
  measured_ = true;
}

void WindowSums::complete(const Ending& ending) {
  // The last add did not finish the sums itself: a flush, a skipped last micro-batch, rows of a running mean.
  if (measured_) return;
  measure(ending);
  finish(keeps_ ? Ending{} : ending);
}

void WindowSums::divide(const Ending& ending) {
  job_.norm = nullptr;
  finish(ending);
  undivided_ = false;
}

void WindowSums::reset() {
  std::fill(touched_.begin(), touched_.end(), std::uint8_t{0});
  undivided_ = measured_ = false;
}

BufferList WindowSums::show() {
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    Array shown = sums_[i];
    if (touched_[i] == 0) shown.data = nullptr;
    shown_.set(i, shown);
  }
  return shown_.list();
}

void WindowSums::save(SavedPart& part) const {
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    if (touched_[i] == 0) continue;
    SavedTensor tensor;
    tensor.key = schema_[i].name + kSum;
    tensor.dtype = sums_[i].dtype;
    tensor.shape = schema_[i].shape.list();
    gradstep::show(tensor, site_, sums_[i]);
    part.tensors.push_back(std::move(tensor));
  }
}

WindowSums::Found WindowSums::find(LoadedPart& part) const {
  Found found(schema_.size());
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    const std::string key = schema_[i].name + kSum;
    if (part.has(key)) found[i] = part.tensor(key, sums_[i].dtype, schema_[i].shape.list()).data;
  }
  return found;
}

void WindowSums::take_over(const Found& found, bool undivided, double norm_of_results) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::optional<const std::byte*>& sum = found[i];
    if (sum && sums_[i].size > 0) {
      site_.queue().upload(sums_[i].data, *sum, static_cast<std::size_t>(sums_[i].bytes()));
    }
    touched_[i] = sum ? 1 : 0;
  }
  undivided_ = undivided;
  measured_ = false;  // an add that ends the window takes them anew
  write(site_.queue(), norm(), norm_of_results);
}

}  // namespace gradstep
