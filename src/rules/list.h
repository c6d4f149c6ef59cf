// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The rules that there are. A new one is a header of this folder and its name here.
#pragma once

#include <cstddef>
#include <tuple>

#include "rules/adabelief.h"
#include "rules/adadelta.h"
#include "rules/adafactor.h"
#include "rules/adagrad.h"
#include "rules/adam.h"
#include "rules/adamax.h"
#include "rules/adan.h"
#include "rules/ademamix.h"
#include "rules/adopt.h"
#include "rules/asgd.h"
#include "rules/dadapt_adam.h"
#include "rules/dion.h"
#include "rules/lamb.h"
#include "rules/laprop.h"
#include "rules/lars.h"
#include "rules/lion.h"
#include "rules/mars.h"
#include "rules/muon.h"
#include "rules/nadam.h"
#include "rules/novograd.h"
#include "rules/prodigy.h"
#include "rules/radam.h"
#include "rules/rmsprop.h"
#include "rules/rprop.h"
#include "rules/schedule_free.h"
#include "rules/sgd.h"
#include "rules/signum.h"
#include "rules/sophia.h"
#include "rules/yogi.h"

namespace gradstep::rules {

template <class... Rules>
struct RuleList {
  static constexpr int kCount = sizeof...(Rules);
  template <std::size_t kPlace>
  using At = std::tuple_element_t<kPlace, std::tuple<Rules...>>;
};

using AllRules = RuleList<Sgd, RmsProp, AdaGrad, Adam, Lion, Lamb, Muon, Signum, NAdam, RAdam, Adamax, Adadelta, Rprop,
                          AdaBelief, Yogi, Adan, AdEMAMix, Adopt, LaProp, Asgd, Lars, NovoGrad, Mars, Sophia,
                          ScheduleFree, Prodigy, DAdaptAdam, Adafactor, Dion>;

}  // namespace gradstep::rules
