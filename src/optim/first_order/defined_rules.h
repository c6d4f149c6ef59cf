// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// All rules that there are: those of src/rules, then those that hosts have written as text. The latter belong to the
// process, as the list of all rules does, and stay until it ends.
#pragma once

#include <cstddef>
#include <string_view>

#include "optim/first_order/rule.h"

namespace gradstep {

/// Makes a rule of a text, or finds it where the same words were defined before. Throws INVALID_ARGUMENT for a text
/// that is none, and for a name that is taken; UNSUPPORTED for what a text cannot say yet. From any thread.
const RuleType& define_rule(std::string_view text);

// From any thread.
std::size_t rule_count();
/// Below rule_count().
const RuleType& rule_at(std::size_t index);

}  // namespace gradstep
