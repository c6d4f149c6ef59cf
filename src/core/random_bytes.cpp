// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/random_bytes.h"

#include <string>

#include "core/error.h"
#include "core/platform/system.h"

namespace gradstep {

void fill_random(void* bytes, std::size_t size) {
  const std::string failure = platform::fill_random(bytes, size);
  if (!failure.empty()) fail(GRADSTEP_ERR_IO, "the system's random numbers: {}", failure);
}

}  // namespace gradstep
