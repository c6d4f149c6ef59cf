// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/reducer_options.h"

#include <cmath>

#include "core/error.h"

namespace gradstep {

namespace {

bool is_adasum(std::int32_t mode) {
  return mode == GRADSTEP_REDUCER_ADASUM_TREE || mode == GRADSTEP_REDUCER_ADASUM_NWAY;
}

void check_enum(const char* field, std::int32_t value, std::int32_t last) {
  if (value < 0 || value > last) fail_argument("options.{}: is {}, expected 0 to {}", field, value, last);
}

void check_buckets(const gradstep_reducer_options& options) {
  if (options.fuse_threshold < 1) {
    fail_argument("options.fuse_threshold: is {}, expected at least 1", options.fuse_threshold);
  }
  if (options.bucket_elements != 0 && options.bucket_elements / 2 < options.fuse_threshold) {
    fail_argument("options.bucket_elements: is {}, expected at least twice fuse_threshold ({}), or 0",
                  options.bucket_elements, options.fuse_threshold);
  }
}

void check_half(const gradstep_reducer_options& options) {
  check_enum("half_sum", options.half_sum, GRADSTEP_HALF_SUM_FP16_PREDIVIDED);
  if (!(options.clip_value >= 0) || !std::isfinite(options.clip_value)) {
    fail_argument("options.clip_value: is {}, expected a finite number of at least 0", options.clip_value);
  }
  if (options.half_sum != GRADSTEP_HALF_SUM_F32 && options.mode == GRADSTEP_REDUCER_BFLOAT16) {
    fail_argument("options.half_sum: is {}, expected 0 (f32): bfloat16 is always summed in f32", options.half_sum);
  }
  if (options.half_sum == GRADSTEP_HALF_SUM_FP16_PREDIVIDED && options.average != GRADSTEP_AVERAGE_UNSET &&
      options.average != GRADSTEP_AVERAGE_MEAN) {
    fail_argument("options.average: is {}, expected {} (mean): half_sum fp16_predivided divides by the number of ranks",
                  options.average, static_cast<int>(GRADSTEP_AVERAGE_MEAN));
  }
}

void check_sparse(const gradstep_reducer_options& options) {
  check_enum("residual", options.residual, 1);
  check_enum("selection", options.selection, GRADSTEP_SELECTION_TENSOR);
  check_enum("nan_policy", options.nan_policy, GRADSTEP_NAN_SEND);
  check_enum("sparse_exchange", options.sparse_exchange, GRADSTEP_SPARSE_EXCHANGE_SPLIT);
  if (options.mode == GRADSTEP_REDUCER_SPARSE_TOPK && !(options.sparsity > 0 && options.sparsity <= 1)) {
    fail_argument("options.sparsity: is {}, expected the fraction that is sent, above 0 and at most 1",
                  options.sparsity);
  }
  if (!(options.sparsity >= 0) || !std::isfinite(options.sparsity)) {
    fail_argument("options.sparsity: is {}, expected a finite threshold of at least 0", options.sparsity);
  }
}

}  // namespace

gradstep_reducer_options default_reducer_options() {
  gradstep_reducer_options options{};
  options.fuse_threshold = 2097152;
  options.bucket_elements = 4194304;
  options.residual = 1;
  options.sparsity = 0.05;
  return options;
}

gradstep_reducer_options checked_reducer_options(const gradstep_reducer_options& options) {
  check_enum("mode", options.mode, GRADSTEP_REDUCER_ADASUM_NWAY);
  check_enum("average", options.average, GRADSTEP_AVERAGE_WEIGHTED);
  check_enum("control", options.control, 1);
  check_buckets(options);
  check_half(options);
  check_sparse(options);
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
