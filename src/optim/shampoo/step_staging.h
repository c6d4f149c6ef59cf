// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The numbers that a step works on, each parameter's in its arithmetic, f64 or f32: the host's own where they can be
// read and written in place, else copies.
#pragma once

#include <span>
#include <vector>

#include "optim/shampoo/shampoo_state.h"

namespace gradstep {

/// Copies that are made in every step. Their cut into chunks is kept as long as their sizes stay.
class CopyList {
 public:
  void begin(std::size_t count);
  void set(std::size_t i, const Array& destination, const Array& source, const kernels::TensorRounding& rounding = {});
  bool is_empty() const;
  /// run() takes no memory after this.
  void plan();
  /// `factor` is the site's; NULL = 1.
  void run(const Site& site, const double* factor = nullptr, double multiplier = 1);

 private:
  std::vector<CopyItem> items_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> planned_sizes_;
  WorkList work_;
  CopyPlan plan_;  // shows these
};

class StepStaging {
 public:
  explicit StepStaging(const Site& site) : site_(site) {}

  void plan(const Schema& schema, std::span<const ShampooState> states, std::uint64_t seed);

  /// True if narrow or strided parameters were copied. `used`: by parameter, 1 = a gradient has gone into its state.
  bool load_parameters(std::span<const Array> params, std::span<const std::uint8_t> used);
  /// Masters take the place of the parameters that round to them.
  void step_masters();
  /// Gradients times what lies at `grad_multiplier`, the site's, negated under `maximize`. `keeps_gradient`: the
  /// grafting direction is the gradient itself.
  void load_gradients(std::span<const Array> grads, const double* grad_multiplier, bool maximize, double clip_value,
                      bool keeps_gradient);
  /// Where outcomes go, perhaps before they are rounded to what the host has. `updates` may be empty. `random_step`: t
  /// where 16-bit parameters are rounded at random, else -1.
  void place_outcomes(std::span<const Array> params, std::span<const Array> updates, std::int64_t random_step);
  /// What could not be written in place is rounded into the host's parameters or updates. Updates of parameters that
  /// took no part are zero. Takes no memory.
  void publish() { published_.run(site_); }

  std::span<const TensorStep> tensors() const { return tensors_; }
  void* direction(std::size_t i) const { return gradients_.as<std::byte>() + offsets_[i]; }
  void* preconditioned(std::size_t i) const { return preconditioned_.as<std::byte>() + offsets_[i]; }
  std::size_t bytes() const { return gradients_.bytes() + preconditioned_.bytes() + copies_.bytes(); }

 private:
  Array staged(void* numbers, std::size_t i) const { return compact_array(numbers, sizes_[i], states_[i].arithmetic); }
  /// The array's numbers, if they are as the step has them.
  void* in_place(const Array& array, std::size_t i) const {
    return array.contiguous() && array.dtype == states_[i].arithmetic ? array.data : nullptr;
  }

  const Site& site_;
  std::span<const ShampooState> states_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> offsets_;  // bytes
  std::vector<std::uint64_t> random_keys_;
  // Scratch: a gradient that cannot be read in place, then its grafting direction, then an outcome that cannot be
  // written in place.
  Buffer gradients_;
  Buffer preconditioned_;  // P(g)
  Buffer copies_;          // copies of parameters that cannot be read in place; made when needed
  std::vector<TensorStep> tensors_;
  CopyList loaded_;
  CopyList copied_;
  CopyList published_;
};

}  // namespace gradstep
