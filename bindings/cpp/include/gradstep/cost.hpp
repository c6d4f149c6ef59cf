// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// cost.hpp: what an exchange of gradients will cost on a network that need not be there.
#pragma once

#include <gradstep/cost.h>

#include <gradstep/context.hpp>

namespace gradstep::inline cpp_v0 {

using Cost = gradstep_cost;

/// Sets the seconds of one rank's work to what they are here; takes some milliseconds.
inline void measure_costs(CostOptions& options, const Context& context) {
  gradstep_cost_options c = options.c();
  check(gradstep_cost_options_measure(&c, context.c()));
  options.pack_seconds = c.pack_seconds;
  options.convert_seconds = c.convert_seconds;
  options.select_seconds = c.select_seconds;
  options.entry_seconds = c.entry_seconds;
  options.add_seconds = c.add_seconds;
  options.merge_seconds = c.merge_seconds;
  options.multiply_seconds = c.multiply_seconds;
  options.encode_seconds = c.encode_seconds;
  options.decode_seconds = c.decode_seconds;
}
[[deprecated("use measure_costs()")]] inline void measure(CostOptions& options, const Context& context) {
  measure_costs(options, context);
}

/// One record for each mode and each way to exchange its data. Opens no connection.
inline std::vector<Cost> predict_costs(const CostOptions& options) {
  const gradstep_cost_options c = options.c();
  return detail::records_of<Cost>([&](Cost* records, std::size_t size, std::size_t capacity, std::size_t* count) {
    return gradstep_predict_costs(&c, records, size, capacity, count);
  });
}

}  // namespace gradstep::inline cpp_v0
