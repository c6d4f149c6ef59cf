// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The element-wise loops of a Shampoo step over kernels/grafting.h and the directions of rules/shampoo.h.
#pragma once

#include "cpu/loops/rule.h"
#include "cpu/loops/stored_state.h"
#include "rules/shampoo.h"

namespace gradstep::cpu {
namespace {

using kernels::FinishConstants;
using kernels::FinishForm;

/// body(lists, first element, elements): over all elements at once, or where they are bf16 block by block through
/// scratch. A body may change its numbers, and does not keep them.
template <class T, class Body>
GRADSTEP_FORMULA void with_states(const StateLists& states, std::int64_t count, Body body) {
  T* lists[2];
  if constexpr (sizeof(T) == sizeof(float)) {
    if (states.is_narrow) {
      Scratch<float> scratch[2];
      for (int s = 0; s < 2; ++s) lists[s] = states.numbers[s] != nullptr ? scratch[s].values : nullptr;
      for (std::int64_t begin = 0; begin < count; begin += kBlock) {
        const std::int64_t length = smaller(kBlock, count - begin);
        for (int s = 0; s < 2; ++s) {
          if (lists[s] != nullptr) {
            convert_block(static_cast<const BFloat16*>(states.numbers[s]) + begin, lists[s], length);
          }
        }
        body(lists, begin, length);
        store_narrow(states, begin, length, lists);
      }
      return;
    }
  }
  for (int s = 0; s < 2; ++s) lists[s] = static_cast<T*>(states.numbers[s]);
  body(lists, std::int64_t{0}, count);
}

template <class T>
void write_direction(kernels::Graft graft, const rules::RuleConstants& constants, T scale,
                     const DirectionArrays<T>& arrays, std::int64_t count) {
  const auto run = [&](const auto& rule) {
    const GradientScale<T> scaled{scale, static_cast<T>(__builtin_inff())};
    with_states<T>(arrays.states, count, [&](T* const* states, std::int64_t begin, std::int64_t length) {
      run_rule<false>(rule, scaled, arrays.u + begin, arrays.g + begin, arrays.g + begin, states, length);
    });
  };
  if (graft == kernels::Graft::adam) return run(rules::Direction<T, rules::Adam>(constants));
  if (kernels::is_rmsprop(graft)) return run(rules::Direction<T, rules::RmsProp>(constants));
  if (kernels::is_adagrad(graft)) return run(rules::Direction<T, rules::AdaGrad>(constants));
  run(rules::SignDirection<T>{});
}

template <FinishForm kForm, class T>
void finish_elements(const GraftArrays<T>& arrays, T* const* momenta, std::int64_t begin, std::int64_t count,
                     const FinishConstants<T> c) {
  const T* u = arrays.u + begin;
  const T* p = arrays.p + begin;
  T* out = arrays.out + begin;
  T* m = momenta[0];
  T* n = momenta[1];
  if (arrays.direction == nullptr) {
    T* momentum = n != nullptr ? n : m;
    GRADSTEP_INDEPENDENT
    for (std::int64_t k = 0; k < count; ++k) out[k] = kernels::finish_plain(kForm, u[k], p[k], momentum[k], c);
    return;
  }
  const T* direction = arrays.direction + begin;
  if (n == nullptr) {
    GRADSTEP_INDEPENDENT
    for (std::int64_t k = 0; k < count; ++k) out[k] = kernels::finish_shared(kForm, u[k], direction[k], p[k], m[k], c);
  } else {
    GRADSTEP_INDEPENDENT
    for (std::int64_t k = 0; k < count; ++k) {
      out[k] = kernels::finish_both(kForm, u[k], direction[k], p[k], m[k], n[k], c);
    }
  }
}

template <FinishForm kForm, class T>
void finish_grafted_as(const GraftArrays<T>& arrays, std::int64_t count, const FinishConstants<T>& constants) {
  with_states<T>(arrays.momenta, count, [&](T* const* momenta, std::int64_t begin, std::int64_t length) {
    finish_elements<kForm>(arrays, momenta, begin, length, constants);
  });
}

template <bool kSelects, class T>
void finish_grafted_selected(const GraftArrays<T>& arrays, std::int64_t count, const FinishConstants<T>& constants) {
  if (constants.nesterov) {
    (constants.adds ? finish_grafted_as<FinishForm{kSelects, true, true}, T>
                    : finish_grafted_as<FinishForm{kSelects, true, false}, T>)(arrays, count, constants);
  } else {
    (constants.adds ? finish_grafted_as<FinishForm{kSelects, false, true}, T>
                    : finish_grafted_as<FinishForm{kSelects, false, false}, T>)(arrays, count, constants);
  }
}

template <class T>
void finish_grafted(const GraftArrays<T>& arrays, std::int64_t count, const FinishConstants<T>& constants) {
  (constants.selects_preconditioned ? finish_grafted_selected<true, T>
                                    : finish_grafted_selected<false, T>)(arrays, count, constants);
}

template <bool kAdds, class T>
void finish_corrected_as(const T* direction, const T* p, T* out, std::int64_t count,
                         const kernels::CorrectedConstants<T> c) {
  GRADSTEP_INDEPENDENT
  for (std::int64_t k = 0; k < count; ++k) out[k] = kernels::corrected<kAdds>(direction[k], p[k], c);
}

template <class T>
void finish_corrected(const T* direction, const T* p, T* out, std::int64_t count, bool adds,
                      const kernels::CorrectedConstants<T>& constants) {
  (adds ? finish_corrected_as<true, T> : finish_corrected_as<false, T>)(direction, p, out, count, constants);
}

}  // namespace
}  // namespace gradstep::cpu
