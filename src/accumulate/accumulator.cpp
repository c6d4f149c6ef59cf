// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "accumulate/accumulator.h"

#include <algorithm>
#include <cmath>

#include "backend/host_copies.h"
#include "core/absence.h"
#include "core/error.h"
#include "core/shape.h"
#include "core/weight.h"

namespace gradstep {

namespace {

constexpr std::int32_t kMode[] = {GRADSTEP_ACCUMULATE_MEAN_EACH, GRADSTEP_ACCUMULATE_WEIGHTED};
constexpr std::int32_t kTrigger[] = {GRADSTEP_TRIGGER_STEPS, GRADSTEP_TRIGGER_MANUAL};
constexpr std::int32_t kNonfinite[] = {GRADSTEP_NONFINITE_NONE, GRADSTEP_NONFINITE_SKIP};

void check_enum(const char* field, std::int32_t value, const std::int32_t (&range)[2]) {
  if (value < range[0] || value > range[1]) {
    fail_argument("options.{}: is {}, expected {} to {}", field, value, range[0], range[1]);
  }
}

DType choose_sum_dtype(const gradstep_accumulator_options& options, const Parameter& parameter) {
  const gradstep_dtype& wanted = options.dtype;
  if (wanted.code == 0 && wanted.bits == 0 && wanted.lanes == 0) return arithmetic_dtype(parameter.dtype);
  const auto dtype = from_dlpack(options.dtype);
  if (dtype != DType::f32 && dtype != DType::f64) {
    fail_argument("options.dtype: is {}, expected f32, f64 or zeros", dtype_text(options.dtype));
  }
  if (dtype == DType::f32 && parameter.dtype == DType::f64) {
    fail_argument("options.dtype: is f32, and parameter '{}' is f64", parameter.name);
  }
  return *dtype;
}

}  // namespace

gradstep_accumulator_options default_accumulator_options() {
  gradstep_accumulator_options options{};
  options.steps = 1;
  return options;
}

Accumulator::Accumulator(std::shared_ptr<Context> context, const gradstep_accumulator_options& options,
                         std::optional<Schedule> steps, Schema schema)
    : context_(std::move(context)), site_(context_->site(schema)), options_(options), schema_(std::move(schema)) {
  check_enum("mode", options.mode, kMode);
  check_enum("trigger", options.trigger, kTrigger);
  check_enum("nonfinite", options.nonfinite, kNonfinite);
  if (options.trigger == GRADSTEP_TRIGGER_STEPS && options.steps < 1) {
    fail_argument("options.steps: is {}, expected at least 1", options.steps);
  }
  if (options.trigger == GRADSTEP_TRIGGER_MIN_WEIGHT &&
      !(options.min_weight > 0 && std::isfinite(options.min_weight))) {
    fail_argument("options.min_weight: is {}, expected a finite number above 0", options.min_weight);
  }
  if (options.mode == GRADSTEP_ACCUMULATE_MEAN_EACH && !ends_by_count()) {
    fail_argument("options.mode: is mean_each, whose K is not known with trigger {}", options.trigger);
  }
  if (options.trigger == GRADSTEP_TRIGGER_SCHEDULE) {
    if (!steps) fail_argument("options.schedule: is NULL, and trigger is schedule");
    steps_schedule_ = std::move(steps);
  }
  for (const Parameter& parameter : schema_) {
    Array sum;
    sum.dtype = choose_sum_dtype(options_, parameter);
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

void Accumulator::check(std::span<const Array> grads) const {
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (grads[i].dtype == DType::f64 && sums_[i].dtype != DType::f64) {
      fail_argument("grads[{}]: is f64, the accumulator of parameter '{}' is f32", i, schema_[i].name);
    }
  }
}

/// On a device this waits for the indices.
void Accumulator::check_indices(std::size_t position, const Rows& rows) const {
  if (site_.is_host() || rows.indices.size == 0) return check_host_indices(position, rows);
  const std::int64_t step = rows.indices.contiguous() ? 1 : rows.indices.strides[0];
  const std::int64_t width = size_of(rows.indices.dtype);
  const std::int64_t reach = (rows.indices.size - 1) * step * width;
  const std::int64_t low = std::min<std::int64_t>(reach, 0);
  const Array all = compact_array(static_cast<std::byte*>(rows.indices.data) + low, std::abs(reach) + width, DType::u8);
  const Buffer there = download(*context_, site_, all);
  Rows here = rows;
  here.indices.data = there.as<std::byte>() - low;
  check_host_indices(position, here);
}

void Accumulator::check_host_indices(std::size_t position, const Rows& rows) const {
  const Parameter& parameter = schema_[rows.parameter];
  const std::int64_t step = rows.indices.contiguous() ? 1 : rows.indices.strides[0];
  for (std::int64_t k = 0; k < rows.indices.size; ++k) {
    const std::int64_t row = rows.indices.dtype == DType::i32
                                 ? static_cast<const std::int32_t*>(rows.indices.data)[k * step]
                                 : static_cast<const std::int64_t*>(rows.indices.data)[k * step];
    if (row < 0 || row >= parameter.shape[0]) {
      fail_argument("rows[{}].indices[{}]: is {}, parameter '{}' has {} rows", position, k, row, parameter.name,
                    parameter.shape[0]);
    }
  }
}

bool Accumulator::is_finite(const BufferList& grads, std::span<const Rows> rows) {
  double* norm = norms_.as<double>() + 1;
  const auto is_finite = [&](const NormPlan& plan) {
    site_.backend().measure(plan, norm, site_.queue());
    return std::isfinite(read(site_.queue(), norm));
  };
  if (!grads.empty()) {
    incoming_.arrays = grads;
    if (!is_finite(incoming_)) return false;
  }
  return std::ranges::all_of(rows, [&](const Rows& added) {
    const WorkList work({&added.values.size, 1});
    NormPlan plan;
    plan.work = &work;
    plan.arrays.arrays = {&added.values, 1};
    return is_finite(plan);
  });
}

std::int64_t Accumulator::window_length() {
  if (options_.trigger == GRADSTEP_TRIGGER_STEPS) return options_.steps;
  if (!steps_schedule_) return 0;
  const double value = std::nearbyint(steps_schedule_->value(windows_));
  if (!(value >= 1 && value <= 1e15)) {
    fail(GRADSTEP_ERR_NUMERIC, "the schedule of window lengths gives {} for window {}, expected at least 1", value,
         windows_);
  }
  return static_cast<std::int64_t>(value);
}

AccumulateFormula Accumulator::formula() const {
  switch (options_.mode) {
    case GRADSTEP_ACCUMULATE_MEAN_EACH:
      return AccumulateFormula::divided;
    case GRADSTEP_ACCUMULATE_RUNNING_MEAN:
      return AccumulateFormula::running;
    case GRADSTEP_ACCUMULATE_WEIGHTED:
      return AccumulateFormula::weighted;
    default:
      return AccumulateFormula::plain;
  }
}

bool Accumulator::add(const BufferList& grads, std::span<const Rows> rows, double weight) {
  check_weight(weight);
  const bool weighted = options_.mode == GRADSTEP_ACCUMULATE_WEIGHTED;
  if (weighted) {
    const bool wide = std::ranges::all_of(sums_, [](const Array& sum) { return sum.dtype == DType::f64; });
    check_weight(weight, micro_batch_weights(wide));
  }
  check_whole();
  check(grads.arrays);
  for (std::size_t j = 0; j < rows.size(); ++j) check_indices(j, rows[j]);
  const bool opens = ready_ || pushes_ == 0;
  const std::int64_t length = opens ? window_length() : length_;
  // Gradients of weight 0 are not read.
  const bool looks = options_.nonfinite == GRADSTEP_NONFINITE_SKIP && !(weighted && weight == 0);
  const bool skip = looks && !is_finite(grads, rows);

  // Nothing below throws but a device or a host's parallel_for.
  if (opens) reset();
  length_ = length;
  torn_ = true;
  if (skip) {
    ++skipped_;
    context_->log().write(GRADSTEP_LOG_WARNING,
                          "accumulator: a micro-batch whose gradients are not finite was skipped, {} so far", skipped_);
    if (counts_pushes_ && ++pushes_ == length_) end_window();
  } else {
    take_in(grads, rows, weight);
  }
  torn_ = false;
  return ready_;
}

void Accumulator::take_in(const BufferList& grads, std::span<const Rows> rows, double weight) {
  const std::int64_t count = count_ + 1;
  const double total_weight = total_weight_ + weight;
  const bool last = ends_by_count()
                        ? (counts_pushes_ ? pushes_ + 1 : count) >= length_
                        : options_.trigger == GRADSTEP_TRIGGER_MIN_WEIGHT && total_weight >= options_.min_weight;
  double factor = 1;
  if (options_.mode == GRADSTEP_ACCUMULATE_MEAN_EACH) factor = static_cast<double>(length_);
  if (options_.mode == GRADSTEP_ACCUMULATE_RUNNING_MEAN) factor = static_cast<double>(count);
  if (options_.mode == GRADSTEP_ACCUMULATE_WEIGHTED) factor = weight;
  count_ = count;
  total_weight_ = total_weight;
  ++pushes_;

  const bool running = options_.mode == GRADSTEP_ACCUMULATE_RUNNING_MEAN;
  const bool divides = options_.mode == GRADSTEP_ACCUMULATE_MEAN_EACH || running;
  // Rows go in before the dense pass, which finishes and measures the window; only the running mean's rows must follow
  // its decay of the old sum.
  if (!running) add_rows(factor, divides, rows);
  add_dense(last, factor, grads);
  if (running && !rows.empty()) {
    add_rows(factor, divides, rows);
    measured_ = false;
  }
  if (last) end_window();
}

void Accumulator::check_whole() const {
  if (!torn_) return;
  fail(GRADSTEP_ERR_INVALID_STATE, "accumulator: a call was broken off half-way: reset drops the window");
}

void Accumulator::add_dense(bool last, double factor, const BufferList& grads) {
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    const bool has_gradient = !grads.empty() && !is_absent(grads[i]);
    if (has_gradient && factor != 0) {
      actions_[i] = touched_[i] != 0 ? AccumulateAction::add : AccumulateAction::assign;
      touched_[i] = 1;
    } else {
      if (has_gradient) touch(i);
      actions_[i] = touched_[i] != 0 ? AccumulateAction::absent : AccumulateAction::none;
    }
  }
  job_.gradients = grads;
  job_.formula = formula();
  job_.factor = factor;
  job_.finish = Finish::nothing;
  job_.norm = nullptr;
  if (last) {
    if (options_.keep_sums == 0) job_.finish = finish_of_window(job_.finish_value);
    measure_results();
  }
  measured_ = last;
  site_.backend().accumulate(job_, site_.queue());
}

/// The squares are of what the job leaves in the sums: those that are kept undivided are not the results.
void Accumulator::measure_results() {
  job_.norm = norms_.as<double>();
  job_.norm_finish = Finish::nothing;
  if (options_.keep_sums == 0) return;
  job_.norm_finish = finish_of_window(job_.norm_finish_value);
  undivided_ = job_.norm_finish != Finish::nothing;
}

/// From here on there is a sum.
void Accumulator::touch(std::size_t i) {
  if (touched_[i] != 0) return;
  site_.queue().zero(sums_[i].data, static_cast<std::size_t>(sums_[i].bytes()));
  touched_[i] = 1;
}

void Accumulator::add_rows(double factor, bool divides, std::span<const Rows> rows) {
  for (const Rows& added : rows) {
    const std::size_t i = added.parameter;
    touch(i);
    if (factor == 0) continue;
    site_.backend().add_rows({sums_[i], added.indices, added.values, added.row_size, factor, divides}, site_.queue());
  }
}

double Accumulator::weight() const {
  return options_.mode == GRADSTEP_ACCUMULATE_WEIGHTED ? total_weight_ : static_cast<double>(count_);
}

Finish Accumulator::finish_of_window(double& value) const {
  value = 1;
  switch (options_.mode) {
    case GRADSTEP_ACCUMULATE_MEAN_EACH:
      if (count_ == length_ || count_ == 0) return Finish::nothing;
      value = static_cast<double>(length_) / static_cast<double>(count_);
      return Finish::multiply;
    case GRADSTEP_ACCUMULATE_MEAN:
    case GRADSTEP_ACCUMULATE_WEIGHTED:
      value = weight();
      return value == 0 || value == 1 ? Finish::nothing : Finish::divide;
    default:
      return Finish::nothing;
  }
}

void Accumulator::finish(Finish finish, double value) {
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    actions_[i] = touched_[i] != 0 ? AccumulateAction::absent : AccumulateAction::none;
  }
  job_.gradients = {};
  job_.formula = AccumulateFormula::plain;
  job_.finish = finish;
  job_.finish_value = value;
  job_.norm = nullptr;
  if (!ready_) measure_results();
  site_.backend().accumulate(job_, site_.queue());
  measured_ = true;
}

void Accumulator::end_window() {
  if (!measured_) {
    // The last add did not finish the sums itself: a flush, a skipped last micro-batch, rows of a running mean.
    double value = 1;
    const Finish how = options_.keep_sums != 0 ? Finish::nothing : finish_of_window(value);
    finish(how, value);
  }
  ready_ = true;
  ++windows_;
}

bool Accumulator::flush() {
  check_whole();
  if (ready_) return true;
  if (pushes_ == 0 || (count_ == 0 && !counts_pushes_)) {
    reset();
    return false;
  }
  torn_ = true;
  end_window();
  torn_ = false;
  return true;
}

void Accumulator::reset() {
  std::fill(touched_.begin(), touched_.end(), std::uint8_t{0});
  ready_ = undivided_ = measured_ = torn_ = false;
  length_ = pushes_ = count_ = 0;
  total_weight_ = 0;
}

BufferList Accumulator::show() {
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    Array shown = sums_[i];
    if (touched_[i] == 0) shown.data = nullptr;
    shown_.set(i, shown);
  }
  return shown_.list();
}

BufferList Accumulator::results() {
  check_whole();
  if (!ready_) {
    fail(GRADSTEP_ERR_INVALID_STATE, "the window is open: {} micro-batches added, and its trigger has not fired",
         count_);
  }
  if (undivided_) {
    double value = 1;
    const Finish how = finish_of_window(value);
    torn_ = true;
    finish(how, value);
    undivided_ = torn_ = false;
  }
  return show();
}

BufferList Accumulator::sums() {
  check_whole();
  if (options_.mode == GRADSTEP_ACCUMULATE_MEAN_EACH || options_.mode == GRADSTEP_ACCUMULATE_RUNNING_MEAN) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "the modes mean_each and running_mean keep no undivided sums");
  }
  double value = 1;
  if (ready_ && !undivided_ && finish_of_window(value) != Finish::nothing) {
    fail(GRADSTEP_ERR_INVALID_STATE, "the sums of this window are divided already; see the option keep_sums");
  }
  return show();
}

const double* Accumulator::norm() const {
  if (!ready_) fail(GRADSTEP_ERR_INVALID_STATE, "the window is open: its norm is not known yet");
  return norms_.as<double>();
}

void Accumulator::count_pushes() { counts_pushes_ = true; }

}  // namespace gradstep
