// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/weight_averages.h"

#include <fmt/format.h>

#include "core/error.h"

namespace gradstep {

void check_average(const kernels::AverageForm& form) {
  if (form.is_equal != 0 && form.decay > 0) {
    fail_argument("options.average_equal: does not go with average_decay, which is {}: a mean of steps has no decay",
                  form.decay);
  }
  if (form.warms_up != 0 && !(form.decay > 0)) {
    fail_argument("options.average_warmup: needs average_decay, which is {}", form.decay);
  }
  if (form.exists()) return;
  const auto refuse = [&](const char* option, std::int64_t value) {
    fail_argument("options.{}: is {}, and neither average_decay nor average_equal asks for an average", option, value);
  };
  if (form.start != 0) refuse("average_start", form.start);
  if (form.every != 1) refuse("average_every", form.every);
}

std::string key_of(const kernels::AverageForm& form) {
  if (!form.exists()) return {};
  return fmt::format(" averages by {} {} {} {} {}", form.decay, form.warms_up, form.is_equal, form.start, form.every);
}

void wish_average(const kernels::AverageForm& form, const Parameter& parameter, std::int64_t size, std::size_t slot,
                  std::vector<StateWish>& wishes) {
  if (!form.exists()) return;
  const Encoding encoding = parameter.dtype == DType::f64 ? Encoding::f64 : Encoding::f32;
  wishes.push_back({slot, kWeightAverage, TensorForm{1, size, encoding}});
  wishes.push_back(number_wish(slot + 1, kWeightAverageCount));
}

void WeightAverages::begin() {
  items_.clear();
  work_ = {};
}

void WeightAverages::append(const StateStore& store, Slots slots, std::size_t i, const Array& param,
                            const kernels::AverageForm& form) {
  const StateTensor& average = store.tensor(i, slots.average);
  if (!average.exists()) return;
  const Array master = store.tensor(i, slots.master).numbers();
  items_.push_back({average.numbers(), master.data != nullptr ? master : param, form,
                    static_cast<double*>(store.tensor(i, slots.average + 1).numbers().data)});
  work_.append(average.slice().size);
}

void WeightAverages::end() {
  plan_.work = &work_;
  plan_.items = items_;
  plan_.prepared.forget();
}

}  // namespace gradstep
