// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The rules that there are. A new one is a header of this folder and its name here.
#pragma once

#include <cstddef>
#include <tuple>

#include "rules/adagrad.h"
#include "rules/adam.h"
#include "rules/lamb.h"
#include "rules/lion.h"
#include "rules/rmsprop.h"
#include "rules/sgd.h"

namespace gradstep::rules {

template <class... Rules>
struct RuleList {
  static constexpr int kCount = sizeof...(Rules);
  template <std::size_t kPlace>
  using At = std::tuple_element_t<kPlace, std::tuple<Rules...>>;
};

using AllRules = RuleList<Sgd, RmsProp, AdaGrad, Adam, Lion, Lamb>;

}  // namespace gradstep::rules
