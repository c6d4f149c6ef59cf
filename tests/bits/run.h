// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "case.h"

namespace gradstep_bits {

struct Outcome {
  std::uint64_t hash = 0;
  std::vector<std::string> trace;
};

/// Runs a case; its ranks are threads. Throws what the first rank to fail has to say.
Outcome run_case(const Case& described, int num_threads, bool trace);

}  // namespace gradstep_bits
