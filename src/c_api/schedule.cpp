// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "gradstep/schedule.h"

#include "backend/schedule.h"
#include "c_api/guard.h"
#include "core/options.h"

using namespace gradstep;

gradstep_status gradstep_schedule_init(gradstep_schedule* s, size_t struct_size) noexcept {
  return guarded([&] {
    gradstep_schedule defaults{};
    defaults.power = 1;
    init_struct("s", s, struct_size, defaults);
  });
}

gradstep_status gradstep_schedule_value(const gradstep_schedule* s, int64_t step, double* value) noexcept {
  return guarded_math([&] {
    check_out("value", value);
    if (step < 0) fail_argument("step: is {}, expected at least 0", step);
    *value = Schedule("s", s, /*take_callback=*/false).value(step);
  });
}
