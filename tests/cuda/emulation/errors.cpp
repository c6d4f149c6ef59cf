// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the library's own sources throw here.
#include "core/error.h"

namespace gradstep {

void throw_error(gradstep_status status, std::string text) { throw Error(status, std::move(text)); }

}  // namespace gradstep
