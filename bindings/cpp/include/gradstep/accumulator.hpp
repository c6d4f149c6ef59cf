// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// accumulator.hpp: one sum per parameter over the micro-batches of a window.
#pragma once

#include <gradstep/accumulator.h>

#include <gradstep/context.hpp>
#include <gradstep/saved_state.hpp>

namespace gradstep::inline cpp_v0 {

/// Sparse rows of one parameter: row indices[j] of its first axis += values[j] (gradstep_rows).
struct Rows {
  std::int64_t parameter;
  ConstTensor indices;
  ConstTensor values;
};

class Accumulator : public SavedState<Accumulator, gradstep_accumulator_save, gradstep_accumulator_load,
                                      gradstep_accumulator_save_file, gradstep_accumulator_load_file> {
 public:
  Accumulator(const Context& context, const AccumulatorOptions& options, const Parameters& parameters)
      : size_(parameters.size()) {
    gradstep_accumulator_options c_options = options.c();
    const auto list = detail::c_parameters(parameters);
    gradstep_schedule schedule;
    if (options.schedule) {
      schedule = options.schedule->given();
      c_options.schedule = &schedule;
    }
    gradstep_accumulator* made = nullptr;
    check(gradstep_accumulator_create(context.c(), &c_options, list.data(), list.size(), &made));
    handle_.reset(made);
  }

  /// Adds one micro-batch; true if it has ended the window.
  bool add(ConstTensors grads, double weight = 1, void* stream = nullptr) {
    std::int32_t ready = 0;
    check(gradstep_accumulator_add(c(), grads.c(), grads.size(), weight, stream, &ready));
    return ready != 0;
  }
  /// Adds gradients with sparse rows, which belong to this micro-batch.
  bool add(ConstTensors grads, std::span<const Rows> rows, double weight = 1, void* stream = nullptr) {
    std::vector<gradstep_tensor> tensors;
    std::vector<gradstep_rows> c_rows(rows.size(), detail::sized<gradstep_rows>());
    tensors.reserve(2 * rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      c_rows[i].parameter = rows[i].parameter;
      c_rows[i].indices = &tensors.emplace_back(rows[i].indices.c());
      c_rows[i].values = &tensors.emplace_back(rows[i].values.c());
    }
    std::int32_t ready = 0;
    check(gradstep_accumulator_add_ex(c(), grads.c(), grads.size(), c_rows.data(), c_rows.size(), weight, stream,
                                      &ready));
    return ready != 0;
  }
  /// Ends a partial window; true if there is a result.
  bool flush(void* stream = nullptr) {
    std::int32_t ready = 0;
    check(gradstep_accumulator_flush(c(), stream, &ready));
    return ready != 0;
  }
  /// Drops the window.
  void reset(void* stream = nullptr) { check(gradstep_accumulator_reset(c(), stream)); }

  /// The window's result, valid until the next add or reset. May be written to.
  [[nodiscard]] Views<Accumulator> gradients(void* stream = nullptr) & {
    std::vector<gradstep_tensor> tensors(size_);
    check(gradstep_accumulator_gradients(c(), tensors.data(), size_, stream));
    return {c(), std::move(tensors)};
  }
  Views<Accumulator> gradients(void* stream = nullptr) && = delete;
  /// The undivided sums of an open window.
  [[nodiscard]] Views<Accumulator> sums(void* stream = nullptr) & {
    std::vector<gradstep_tensor> tensors(size_);
    check(gradstep_accumulator_sums(c(), tensors.data(), size_, stream));
    return {c(), std::move(tensors)};
  }
  Views<Accumulator> sums(void* stream = nullptr) && = delete;
  /// One f64 where the parameters are: the norm of the window's result. Valid until the next add or reset.
  [[nodiscard]] View norm(void* stream = nullptr) & {
    gradstep_tensor tensor{};
    check(gradstep_accumulator_norm(c(), &tensor, stream));
    return View(tensor);
  }
  View norm(void* stream = nullptr) && = delete;

  /// The window's divisor.
  [[nodiscard]] double weight() const {
    double found = 0;
    check(gradstep_accumulator_weight(c(), &found));
    return found;
  }
  /// Micro-batches in the window.
  [[nodiscard]] std::int64_t count() const {
    std::int64_t found = 0;
    check(gradstep_accumulator_count(c(), &found));
    return found;
  }
  /// Micro-batches skipped since creation.
  [[nodiscard]] std::int64_t skipped() const {
    std::int64_t found = 0;
    check(gradstep_accumulator_skipped(c(), &found));
    return found;
  }
  /// Whether nothing is under way.
  [[nodiscard]] bool poll() const {
    std::int32_t done = 0;
    check(gradstep_accumulator_poll(c(), &done));
    return done != 0;
  }

  [[nodiscard]] gradstep_accumulator* c() const noexcept { return handle_.get(); }

 private:
  detail::Handle<gradstep_accumulator, gradstep_accumulator_destroy> handle_;
  std::size_t size_;  // parameters
};

}  // namespace gradstep::inline cpp_v0
