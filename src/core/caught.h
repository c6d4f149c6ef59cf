// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A failure that others are to hear of before it goes on.
#pragma once

#include <exception>
#include <utility>

namespace gradstep {

/// What `body` throws; NULL = nothing.
template <class Body>
std::exception_ptr caught(Body&& body) {
  try {
    std::forward<Body>(body)();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace gradstep
