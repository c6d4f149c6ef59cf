// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Rules that have two names.
#pragma once

namespace gradstep {

/// Under its second name a rule has a flag set, unless the host says otherwise.
struct SecondName {
  const char* name;
  const char* rule;
  const char* flag;
};

inline constexpr SecondName kSecondNames[] = {{"adamw", "adam", "decoupled_weight_decay"}};

}  // namespace gradstep
