// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/random_bytes.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace gradstep {

// Up to 256 bytes come at once: not even a signal cuts them short.
void fill_random(void* bytes, std::size_t size) {
  if (getrandom(bytes, size, 0) != static_cast<ssize_t>(size)) {
    fail(GRADSTEP_ERR_IO, "getrandom: {}", std::strerror(errno));
  }
}

}  // namespace gradstep
