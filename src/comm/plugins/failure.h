// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Errors inside the plugin, and how they leave it: as a status and a text through the library's host_api.
#pragma once

#include <fmt/core.h>

#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "backend/plugin.h"

namespace gradstep::plugin {

/// An empty text leaves what a callback has set.
class Failure : public std::exception {
 public:
  Failure(gradstep_status status, std::string text) : status_(status), text_(std::move(text)) {}

  gradstep_status status() const noexcept { return status_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  gradstep_status status_;
  std::string text_;
};

template <class... Args>
[[noreturn]] void fail(gradstep_status status, fmt::format_string<Args...> format, Args&&... args) {
  throw Failure(status, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws what a function of the library has returned; its text is in place.
inline void check_callback(gradstep_status status) {
  if (status != GRADSTEP_OK) throw Failure(status, "");
}

/// The calling thread's error text in the library.
void set_error(const char* text) noexcept;

/// The body of every function that the library calls.
template <class Body>
gradstep_status at_border(Body&& body) noexcept {
  try {
    body();
    return GRADSTEP_OK;
  } catch (const Failure& failure) {
    if (*failure.what() != '\0') set_error(failure.what());
    return failure.status();
  } catch (const std::bad_alloc&) {
    set_error("out of memory");
    return GRADSTEP_ERR_OUT_OF_MEMORY;
  } catch (const std::system_error& error) {  // of a thread or a lock of the standard library
    set_error(error.what());
    return error.code() == std::errc::resource_unavailable_try_again ? GRADSTEP_ERR_OUT_OF_MEMORY : GRADSTEP_ERR_IO;
  } catch (const std::exception& error) {
    set_error(error.what());
    return GRADSTEP_ERR_INTERNAL;
  } catch (...) {
    set_error("an exception of an unknown type");
    return GRADSTEP_ERR_INTERNAL;
  }
}

}  // namespace gradstep::plugin
