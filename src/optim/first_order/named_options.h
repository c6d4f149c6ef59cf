// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Rules and their options by name (include/c_api/gradstep/rule.h).
#pragma once

#include <span>
#include <vector>

#include "gradstep/rule.h"
#include "optim/first_order/rule.h"
#include "optim/first_order/shared_options.h"

namespace gradstep {

/// By its name or its second one. Throws INVALID_ARGUMENT for an unknown name; the text lists the known ones.
const RuleType& find_rule(const char* name);

/// The rule's own options (hyper-parameters, settings, choices), then those that all rules share; with the defaults
/// that the rule has under that name.
std::vector<RuleOption> options_of(const RuleType& type, const char* name);

/// `known` are the rule's options_of(). Throws INVALID_ARGUMENT for an option that is unknown, given twice, out of its
/// range, or required and missing.
Rule make_rule(const RuleType& type, std::span<const RuleOption> known, std::span<const gradstep_option> options);
/// By the rule's own name.
inline Rule make_rule(const RuleType& type, std::span<const gradstep_option> options) {
  return make_rule(type, options_of(type, type.about.name), options);
}

}  // namespace gradstep
