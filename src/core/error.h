// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The one exception type of the library, and this thread's message slot behind gradstep_last_error().
#pragma once

#include <fmt/core.h>

#include <exception>
#include <string>
#include <utility>

#include "gradstep/base.h"

namespace gradstep {

class Error : public std::exception {
 public:
  Error(gradstep_status status, std::string text) : status_(status), text_(std::move(text)) {}

  gradstep_status status() const noexcept { return status_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  gradstep_status status_;
  std::string text_;
};

[[noreturn]] void throw_error(gradstep_status status, std::string text);

/// Throws an Error whose text is formatted as by fmt::format.
template <class... Args>
[[noreturn]] void fail(gradstep_status status, fmt::format_string<Args...> format, Args&&... args) {
  throw_error(status, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void fail_argument(fmt::format_string<Args...> format, Args&&... args) {
  throw_error(GRADSTEP_ERR_INVALID_ARGUMENT, fmt::format(format, std::forward<Args>(args)...));
}

const char* status_name(gradstep_status status) noexcept;

const char* last_error() noexcept;
void set_last_error(const char* text) noexcept;

/// Stores the text of the exception in flight and returns its status. Call inside a catch block.
gradstep_status translate_exception() noexcept;

/// Whether peers cannot know of this failure. Others are agreed on by a vote, or have broken the channel for all.
bool is_of_this_rank(gradstep_status status);

/// The body of a function that C calls: its exceptions become a status and the thread's text.
template <class Body>
gradstep_status guarded(Body&& body) noexcept {
  try {
    body();
    return GRADSTEP_OK;
  } catch (...) {
    return translate_exception();
  }
}

}  // namespace gradstep
