// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/reducer_options.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "reduce/plan.h"

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
  const bool by_count = options.mode == GRADSTEP_REDUCER_SPARSE_TOPK || options.mode == GRADSTEP_REDUCER_AUTO;
  if (by_count && !(options.sparsity > 0 && options.sparsity <= 1)) {
    fail_argument("options.sparsity: is {}, expected the fraction that is sent, above 0 and at most 1",
                  options.sparsity);
  }
  if (!(options.sparsity >= 0) || !std::isfinite(options.sparsity)) {
    fail_argument("options.sparsity: is {}, expected a finite threshold of at least 0", options.sparsity);
  }
}

/// Options that only the mode SPARSE_TOPK can take.
void check_topk_only(const gradstep_reducer_options& options) {
  check_enum("error_feedback", options.error_feedback, GRADSTEP_ERROR_FEEDBACK_EF21);
  const bool is_ef21 = options.error_feedback == GRADSTEP_ERROR_FEEDBACK_EF21;
  if (!(options.momentum_correction >= 0 && options.momentum_correction < 1)) {
    fail_argument("options.momentum_correction: is {}, expected at least 0 and less than 1",
                  options.momentum_correction);
  }
  if (options.warmup_steps < 0) fail_argument("options.warmup_steps: is {}, expected at least 0", options.warmup_steps);
  const auto needs = [&](const char* field, std::int32_t mode, const char* name, bool with_residual) {
    if (options.mode != mode)
      fail_argument("options.{}: expected mode {} ({}), found {}", field, mode, name, options.mode);
    if (with_residual && options.residual == 0) fail_argument("options.{}: needs options.residual = 1", field);
  };
  if (is_ef21) needs("error_feedback", GRADSTEP_REDUCER_SPARSE_TOPK, "sparse_topk", true);
  if (options.momentum_correction > 0) needs("momentum_correction", GRADSTEP_REDUCER_SPARSE_TOPK, "sparse_topk", true);
  if (options.warmup_steps > 0) needs("warmup_steps", GRADSTEP_REDUCER_SPARSE_TOPK, "sparse_topk", false);
  if (is_ef21 && options.momentum_correction > 0) {
    fail_argument("options.momentum_correction: is {}, expected 0 with error_feedback ef21",
                  options.momentum_correction);
  }
  if (is_ef21 && options.average == GRADSTEP_AVERAGE_WEIGHTED) {
    fail_argument("options.average: is weighted, expected mean or sum with error_feedback ef21");
  }
}

void check_candidates(const gradstep_reducer_options& options) {
  constexpr std::int32_t kAll =
      1 << GRADSTEP_REDUCER_DENSE | 1 << GRADSTEP_REDUCER_HALF | 1 << GRADSTEP_REDUCER_SPARSE_TOPK |
      1 << GRADSTEP_REDUCER_POWERSGD | 1 << GRADSTEP_REDUCER_INT8 | 1 << GRADSTEP_REDUCER_INT4 |
      1 << GRADSTEP_REDUCER_FP8_E4M3 | 1 << GRADSTEP_REDUCER_FP8_E5M2 | GRADSTEP_CANDIDATE_HOSTS;
  if ((options.candidates & ~kAll) != 0) {
    fail_argument(
        "options.candidates: is {:#x}, expected bits of dense, half, sparse_topk, powersgd, int8, int4, fp8_e4m3 and "
        "fp8_e5m2, and the flag hosts ({:#x})",
        static_cast<std::uint32_t>(options.candidates), kAll);
  }
}

}  // namespace

const char* mode_name(std::int32_t mode) {
  constexpr std::array<const char*, GRADSTEP_REDUCER_FP8_E5M2 + 1> kNames = {
      "dense", "half", "bfloat16", "sparse_threshold", "sparse_topk", "adasum_tree", "adasum_nway", "powersgd",
      "auto",  "int8", "int4",     "fp8_e4m3",         "fp8_e5m2"};
  return kNames[static_cast<std::size_t>(mode)];
}

bool is_coded(std::int32_t mode) { return std::ranges::find(kCodedModes, mode) != std::end(kCodedModes); }

kernels::NumberCode code_of(std::int32_t mode) {
  switch (mode) {
    case GRADSTEP_REDUCER_INT4:
      return kernels::NumberCode::int4;
    case GRADSTEP_REDUCER_FP8_E4M3:
      return kernels::NumberCode::e4m3;
    case GRADSTEP_REDUCER_FP8_E5M2:
      return kernels::NumberCode::e5m2;
    default:
      return kernels::NumberCode::octaves;
  }
}

gradstep_reducer_options default_reducer_options() {
  gradstep_reducer_options options{};
  options.fuse_threshold = 2097152;
  options.residual = 1;
  options.sparsity = 0.05;
  options.rank = 2;
  return options;
}

gradstep_reducer_options checked_reducer_options(const gradstep_reducer_options& options) {
  check_enum("mode", options.mode, GRADSTEP_REDUCER_FP8_E5M2);
  check_enum("average", options.average, GRADSTEP_AVERAGE_WEIGHTED);
  check_enum("control", options.control, 1);
  check_buckets(options);
  check_half(options);
  check_sparse(options);
  check_topk_only(options);
  check_candidates(options);
  check_enum("channels", options.channels, kMostChannels);
  if (options.rank < 1) fail_argument("options.rank: is {}, expected at least 1", options.rank);
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
