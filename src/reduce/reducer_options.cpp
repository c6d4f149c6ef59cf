// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/reducer_options.h"

#include "core/error.h"

namespace gradstep {

namespace {

bool is_adasum(std::int32_t mode) {
  return mode == GRADSTEP_REDUCER_ADASUM_TREE || mode == GRADSTEP_REDUCER_ADASUM_NWAY;
}

void check_enum(const char* field, std::int32_t value, std::int32_t last) {
  if (value < 0 || value > last) fail_argument("options.{}: is {}, expected 0 to {}", field, value, last);
}

}  // namespace

gradstep_reducer_options default_reducer_options() {
  gradstep_reducer_options options{};
  options.fuse_threshold = 2097152;
  return options;
}

gradstep_reducer_options checked_reducer_options(const gradstep_reducer_options& options) {
  check_enum("mode", options.mode, GRADSTEP_REDUCER_ADASUM_NWAY);
  check_enum("average", options.average, GRADSTEP_AVERAGE_WEIGHTED);
  if (options.fuse_threshold < 1) {
    fail_argument("options.fuse_threshold: is {}, expected at least 1", options.fuse_threshold);
  }
  gradstep_reducer_options checked = options;
  checked.struct_size = 0;  // the rest is compared over the ranks
  if (is_adasum(options.mode)) {
    if (options.average == GRADSTEP_AVERAGE_MEAN || options.average == GRADSTEP_AVERAGE_WEIGHTED) {
      fail_argument(
          "options.average: is {}, expected {} (unset) or {} (sum): Adasum finds by itself how much of each gradient "
          "is added",
          options.average, static_cast<int>(GRADSTEP_AVERAGE_UNSET), static_cast<int>(GRADSTEP_AVERAGE_SUM));
    }
    checked.average = GRADSTEP_AVERAGE_SUM;
  } else if (options.average == GRADSTEP_AVERAGE_UNSET) {
    checked.average = GRADSTEP_AVERAGE_MEAN;
  }
  return checked;
}

}  // namespace gradstep
