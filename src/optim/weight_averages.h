// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Averages of the weights over the steps, which an optimizer keeps beside the state of its rule.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/context.h"
#include "backend/step.h"
#include "core/held_bytes.h"
#include "core/schema.h"
#include "optim/state/state_store.h"

namespace gradstep {

/// Throws INVALID_ARGUMENT for options that do not go together, or that make no average.
void check_average(const kernels::AverageForm& form);

/// Equal on two ranks whose averages are made alike.
std::string key_of(const kernels::AverageForm& form);

/// The state of one parameter: its average, of `size` elements, and, behind it, the number of its steps.
void wish_average(const kernels::AverageForm& form, const Parameter& parameter, std::int64_t size, std::size_t slot,
                  std::vector<StateWish>& wishes);

class WeightAverages {
 public:
  /// The slots of a parameter that wish_average() has filled, and that of its master.
  struct Slots {
    std::size_t average;
    std::size_t master;
  };

  /// Makes the list of what is averaged; params are those of the next steps.
  template <class FormOf>
  void fill(const StateStore& store, Slots slots, std::span<const Array> params, const Schema& schema, FormOf form_of) {
    begin();
    for (std::size_t i = 0; i < params.size(); ++i) append(store, slots, i, params[i], form_of(schema[i].group));
    end();
  }

  /// After a step. Where it was skipped, nothing changes.
  void run(const Site& site, const kernels::StepScalars* scalars) const {
    if (!items_.empty()) site.backend().average(plan_, scalars, site.queue());
  }

  std::size_t bytes() const { return held_bytes(items_, work_, plan_.prepared); }

 private:
  void begin();
  void append(const StateStore& store, Slots slots, std::size_t i, const Array& param,
              const kernels::AverageForm& form);
  void end();

  std::vector<AverageItem> items_;
  WorkList work_;
  AveragePlan plan_;
};

}  // namespace gradstep
