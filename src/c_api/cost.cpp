// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "gradstep/cost.h"

#include <limits>

#include "c_api/guard.h"
#include "c_api/handles.h"
#include "core/options.h"
#include "reduce/cost_model.h"
#include "reduce/predicted_costs.h"

using namespace gradstep;

gradstep_status gradstep_cost_options_init(gradstep_cost_options* o, size_t struct_size) noexcept {
  return guarded([&] { init_struct("o", o, struct_size, default_cost_options()); });
}

gradstep_status gradstep_cost_options_measure(gradstep_cost_options* o, gradstep_context* context) noexcept {
  return guarded_math([&] {
    auto options = read_struct("o", o);
    const std::int64_t elements = options.elements > 0 ? options.elements : std::numeric_limits<std::int64_t>::max();
    const ExchangeCost nanoseconds = measure_processor(*object_of(context), elements);
    options.pack_seconds = nanoseconds.pack * 1e-9;
    options.convert_seconds = nanoseconds.convert * 1e-9;
    options.encode_seconds = nanoseconds.encode * 1e-9;
    options.decode_seconds = nanoseconds.decode * 1e-9;
    options.select_seconds = nanoseconds.select * 1e-9;
    options.entry_seconds = nanoseconds.entry * 1e-9;
    options.add_seconds = nanoseconds.add * 1e-9;
    options.merge_seconds = nanoseconds.merge * 1e-9;
    options.multiply_seconds = nanoseconds.multiply * 1e-9;
    write_struct("o", o, options);
  });
}

gradstep_status gradstep_predict_costs(const gradstep_cost_options* options, gradstep_cost* records, size_t record_size,
                                       size_t capacity, size_t* count) noexcept {
  return guarded_math([&] {
    check_out("count", count);
    const auto read = read_struct("options", options);
    check_cost_options(read);
    const std::vector<gradstep_cost> all = predict_costs(read);
    write_records<gradstep_cost>(records, record_size, capacity, all);
    *count = all.size();
  });
}
