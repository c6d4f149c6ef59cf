// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The element-wise loops of a Shampoo step over kernels/grafting.h and the directions of rules/shampoo.h.
#pragma once

#include "cpu/loops/rule.h"
#include "rules/shampoo.h"

namespace gradstep::cpu {
namespace {

using kernels::FinishConstants;
using kernels::FinishForm;

void write_direction(kernels::Graft graft, const rules::RuleConstants& constants, float scale,
                     const DirectionArrays& arrays, std::int64_t count) {
  const auto run = [&](const auto& rule) {
    const GradientScale<float> scaled{scale, __builtin_inff()};
    run_rule<false>(rule, scaled, arrays.u, arrays.g, arrays.g, arrays.states, count);
  };
  if (graft == kernels::Graft::adam) return run(rules::Direction<rules::Adam>(constants));
  if (kernels::is_rmsprop(graft)) return run(rules::Direction<rules::RmsProp>(constants));
  if (kernels::is_adagrad(graft)) return run(rules::Direction<rules::AdaGrad>(constants));
  run(rules::SignDirection{});
}

template <bool kSelects, bool kNesterov, bool kAdds>
void finish_grafted_as(const GraftArrays& arrays, std::int64_t count, const FinishConstants c) {
  constexpr FinishForm kForm{kSelects, kNesterov, kAdds};
  const auto [u, direction, p, m, n, out] = arrays;
  if (direction == nullptr) {
    float* momentum = n != nullptr ? n : m;
    GRADSTEP_INDEPENDENT
    for (std::int64_t k = 0; k < count; ++k) out[k] = kernels::finish_plain(kForm, u[k], p[k], momentum[k], c);
  } else if (n == nullptr) {
    GRADSTEP_INDEPENDENT
    for (std::int64_t k = 0; k < count; ++k) out[k] = kernels::finish_shared(kForm, u[k], direction[k], p[k], m[k], c);
  } else {
    GRADSTEP_INDEPENDENT
    for (std::int64_t k = 0; k < count; ++k) {
      out[k] = kernels::finish_both(kForm, u[k], direction[k], p[k], m[k], n[k], c);
    }
  }
}

template <bool kSelects>
void finish_grafted_selected(const GraftArrays& arrays, std::int64_t count, const FinishConstants& constants) {
  if (constants.nesterov) {
    (constants.adds ? finish_grafted_as<kSelects, true, true> : finish_grafted_as<kSelects, true, false>)(arrays, count,
                                                                                                          constants);
  } else {
    (constants.adds ? finish_grafted_as<kSelects, false, true>
                    : finish_grafted_as<kSelects, false, false>)(arrays, count, constants);
  }
}

void finish_grafted(const GraftArrays& arrays, std::int64_t count, const FinishConstants& constants) {
  (constants.selects_preconditioned ? finish_grafted_selected<true> : finish_grafted_selected<false>)(arrays, count,
                                                                                                      constants);
}

template <bool kAdds>
void finish_corrected_as(const float* direction, const float* p, float* out, std::int64_t count,
                         const kernels::CorrectedConstants c) {
  GRADSTEP_INDEPENDENT
  for (std::int64_t k = 0; k < count; ++k) out[k] = kernels::corrected<kAdds>(direction[k], p[k], c);
}

void finish_corrected(const float* direction, const float* p, float* out, std::int64_t count, bool adds,
                      const kernels::CorrectedConstants& constants) {
  (adds ? finish_corrected_as<true> : finish_corrected_as<false>)(direction, p, out, count, constants);
}

}  // namespace
}  // namespace gradstep::cpu
