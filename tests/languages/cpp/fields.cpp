// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "fields.hpp"

namespace languages {

using gradstep::Schedule;

Schedule schedule_of(const script_line* line, const std::string& prefix) {
  const auto number = [&](const char* key, double otherwise) {
    return number_of(line, (prefix + key).c_str(), otherwise);
  };
  const auto integer = [&](const char* key) { return integer_of(line, (prefix + key).c_str(), 0); };
  double values[kMaxList];
  std::int64_t boundaries[kMaxList];
  const int n_values = numbers_of(line, (prefix + "values").c_str(), values);
  const int n_boundaries = integers_of(line, (prefix + "boundaries").c_str(), boundaries);
  const std::vector<double> own(values, values + (n_values > 0 ? n_values : 0));
  const double init_value = number("init_value", 0);
  const double end_value = number("end_value", 0);
  const std::int64_t decay_steps = integer("decay_steps");
  const Schedule::Decay decay = {.init_value = init_value,
                                 .decay_steps = decay_steps,
                                 .decay_rate = number("decay_rate", 0),
                                 .staircase = integer("staircase") != 0};
  const char* kind = value_of(line, (prefix + "kind").c_str());
  const auto made = [&]() -> Schedule {
    switch (place_in("constant,exponential_decay,inverse_time,polynomial,cosine,piecewise,callback", kind)) {
      case 0:
        return Schedule::constant(init_value);
      case 1:
        return Schedule::exponential_decay(decay);
      case 2:
        return Schedule::inverse_time(decay);
      case 3:
        return Schedule::polynomial({.init_value = init_value,
                                     .end_value = end_value,
                                     .decay_steps = decay_steps,
                                     .power = number("power", 1)});
      case 4:
        return Schedule::cosine({.init_value = init_value, .end_value = end_value, .decay_steps = decay_steps});
      case 5:
        return Schedule::piecewise({boundaries, boundaries + (n_boundaries > 0 ? n_boundaries : 0)}, own);
      case 6:
        return Schedule([own](std::int64_t step) { return own.at(static_cast<std::size_t>(step)); });
      default:
        die(line, "kind: '%s' is no schedule", kind);
    }
  };
  return made().after_warmup(integer("warmup_steps"));
}

}  // namespace languages
