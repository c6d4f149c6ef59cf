// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "accumulate/accumulator.h"

#include <array>

#include "accumulate/option_range.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/trace.h"
#include "core/weight.h"

namespace gradstep {

gradstep_accumulator_options default_accumulator_options() {
  gradstep_accumulator_options options{};
  options.steps = 1;
  return options;
}

Accumulator::Accumulator(std::shared_ptr<Context> context, const gradstep_accumulator_options& options,
                         std::optional<Schedule> steps, Schema schema)
    : context_(std::move(context)),
      site_(context_->site(schema)),
      options_(options),
      schema_(std::move(schema)),
      window_(options, std::move(steps)),
      sums_(site_, schema_, options.dtype, options.keep_sums != 0) {
  check_option_range("nonfinite", options.nonfinite, GRADSTEP_NONFINITE_NONE, GRADSTEP_NONFINITE_SKIP);
}

bool Accumulator::add(const BufferList& grads, std::span<const AddedRows> rows, double weight) {
  const Phase phase("phase", "accumulate",
                    [&] { return std::array{trace::Number{"bytes", static_cast<std::int64_t>(schema_.bytes())}}; });
  check_weight(weight);
  if (window_.weighs()) check_weight(weight, micro_batch_weights(sums_.all_are_f64()));
  check_whole();
  sums_.check(grads.arrays);
  for (std::size_t j = 0; j < rows.size(); ++j) check_indices(*context_, site_, schema_, j, rows[j]);
  const std::int64_t length = window_.next_length();
  // Gradients of weight 0 are not read.
  const bool looks = options_.nonfinite == GRADSTEP_NONFINITE_SKIP && !(window_.weighs() && weight == 0);
  const bool skip = looks && !sums_.is_finite(grads, rows);

  // Nothing below throws but a device or a host's parallel_for.
  if (window_.opens()) {
    sums_.reset();
    window_.open(length);
  }
  torn_ = true;
  bool last = false;
  if (skip) {
    last = window_.skip();
    context_->log().write(GRADSTEP_LOG_WARNING,
                          "accumulator: a micro-batch whose gradients are not finite was skipped, {} so far",
                          skipped());
  } else {
    last = window_.take(weight);
    const Ending ending = window_.ending();
    sums_.add(grads, rows, window_.addend(weight), last ? &ending : nullptr);
  }
  if (last) end_window();
  torn_ = false;
  return ready();
}

void Accumulator::check_whole() const {
  if (!torn_) return;
  fail(GRADSTEP_ERR_INVALID_STATE, "accumulator: a call was broken off half-way: reset drops the window");
}

void Accumulator::end_window() {
  sums_.complete(window_.ending());
  window_.close();
}

bool Accumulator::flush() {
  check_whole();
  if (ready()) return true;
  if (!window_.has_result()) {
    reset();
    return false;
  }
  torn_ = true;
  end_window();
  torn_ = false;
  return true;
}

void Accumulator::reset() {
  sums_.reset();
  window_.reset();
  torn_ = false;
}

BufferList Accumulator::results() {
  check_whole();
  if (!ready()) {
    fail(GRADSTEP_ERR_INVALID_STATE, "the window is open: {} micro-batches added, and its trigger has not fired",
         count());
  }
  if (sums_.undivided()) {
    torn_ = true;
    sums_.divide(window_.ending());
    torn_ = false;
  }
  return sums_.show();
}

BufferList Accumulator::sums() {
  check_whole();
  if (!window_.keeps_plain_sums()) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "the modes mean_each and running_mean keep no undivided sums");
  }
  if (ready() && !sums_.undivided() && window_.ending().finish != Finish::nothing) {
    fail(GRADSTEP_ERR_INVALID_STATE, "the sums of this window are divided already; see the option keep_sums");
  }
  return sums_.show();
}

const double* Accumulator::norm() const {
  if (!ready()) fail(GRADSTEP_ERR_INVALID_STATE, "the window is open: its norm is not known yet");
  return sums_.norm();
}

std::uint64_t Accumulator::digest() const {
  const std::int64_t words[] = {options_.mode, options_.trigger, options_.nonfinite, options_.steps};
  return window_.digest(hash_bytes(words, sizeof words));
}

}  // namespace gradstep
