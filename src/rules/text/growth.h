// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How large gradients may be: a state of squares leaves its range where gradients are beyond the root of its largest
// number.
#pragma once

#include "rules/text/parser.h"

namespace gradstep::rules::text {

/// The highest power of a gradient that a state grows with, at least 1, if states that go into themselves are averages.
double growth_of_states(const Parsed& parsed);

}  // namespace gradstep::rules::text
