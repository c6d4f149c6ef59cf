// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// error.hpp: one exception for each status of the C API, with the library's own text.
#pragma once

#include <gradstep/base.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace gradstep::inline cpp_v0 {

/// A call of the library that failed; unless its comment says otherwise it has changed nothing.
class Error : public std::runtime_error {
 public:
  Error(gradstep_status status, const std::string& text) : std::runtime_error(text), status_(status) {}
  /// A negative GRADSTEP_ERR_* of <gradstep/base.h>.
  [[nodiscard]] gradstep_status status() const noexcept { return status_; }
  /// "GRADSTEP_ERR_TIMEOUT" and the like.
  [[nodiscard]] const char* status_name() const noexcept { return gradstep_status_name(status_); }

 private:
  gradstep_status status_;
};

/// The exception of one status. A host's callback may throw one, too: the library then sees its status.
template <gradstep_status kStatus>
class ErrorOf : public Error {
 public:
  explicit ErrorOf(const std::string& text) : Error(kStatus, text) {}
};

using InvalidArgument = ErrorOf<GRADSTEP_ERR_INVALID_ARGUMENT>;
using InvalidState = ErrorOf<GRADSTEP_ERR_INVALID_STATE>;
using Unsupported = ErrorOf<GRADSTEP_ERR_UNSUPPORTED>;
using OutOfMemory = ErrorOf<GRADSTEP_ERR_OUT_OF_MEMORY>;
using BackendUnavailable = ErrorOf<GRADSTEP_ERR_BACKEND_UNAVAILABLE>;
using DeviceError = ErrorOf<GRADSTEP_ERR_DEVICE>;
using NumericError = ErrorOf<GRADSTEP_ERR_NUMERIC>;
using Timeout = ErrorOf<GRADSTEP_ERR_TIMEOUT>;
using PeerLost = ErrorOf<GRADSTEP_ERR_PEER_LOST>;
using Aborted = ErrorOf<GRADSTEP_ERR_ABORTED>;
using Mismatch = ErrorOf<GRADSTEP_ERR_MISMATCH>;
using IoError = ErrorOf<GRADSTEP_ERR_IO>;
using Corrupt = ErrorOf<GRADSTEP_ERR_CORRUPT>;
using CallbackError = ErrorOf<GRADSTEP_ERR_CALLBACK>;
using InternalError = ErrorOf<GRADSTEP_ERR_INTERNAL>;

/// Throws the exception of a status other than OK.
[[noreturn]] inline void throw_status(gradstep_status status, const std::string& text) {
  switch (status) {
    case GRADSTEP_ERR_INVALID_ARGUMENT:
      throw InvalidArgument(text);
    case GRADSTEP_ERR_INVALID_STATE:
      throw InvalidState(text);
    case GRADSTEP_ERR_UNSUPPORTED:
      throw Unsupported(text);
    case GRADSTEP_ERR_OUT_OF_MEMORY:
      throw OutOfMemory(text);
    case GRADSTEP_ERR_BACKEND_UNAVAILABLE:
      throw BackendUnavailable(text);
    case GRADSTEP_ERR_DEVICE:
      throw DeviceError(text);
    case GRADSTEP_ERR_NUMERIC:
      throw NumericError(text);
    case GRADSTEP_ERR_TIMEOUT:
      throw Timeout(text);
    case GRADSTEP_ERR_PEER_LOST:
      throw PeerLost(text);
    case GRADSTEP_ERR_ABORTED:
      throw Aborted(text);
    case GRADSTEP_ERR_MISMATCH:
      throw Mismatch(text);
    case GRADSTEP_ERR_IO:
      throw IoError(text);
    case GRADSTEP_ERR_CORRUPT:
      throw Corrupt(text);
    case GRADSTEP_ERR_CALLBACK:
      throw CallbackError(text);
    case GRADSTEP_ERR_INTERNAL:
      throw InternalError(text);
    default:
      throw Error(status, text);
  }
}

/// Throws if a C call that was just made on this thread has failed. For users of the C API, too.
inline void check(gradstep_status status) {
  if (status != GRADSTEP_OK) throw_status(status, gradstep_last_error());
}

namespace detail {

/// Runs what a callback of the host's does. No exception leaves it: an Error becomes its status, all others CALLBACK,
/// and their words become the library's text.
template <class F>
gradstep_status guarded(F&& function) noexcept {
  try {
    function();
    return GRADSTEP_OK;
  } catch (const Error& error) {
    gradstep_set_last_error(error.what());
    return error.status();
  } catch (const std::exception& error) {
    gradstep_set_last_error(error.what());
  } catch (...) {
    gradstep_set_last_error("a callback threw what is no std::exception");
  }
  return GRADSTEP_ERR_CALLBACK;
}

/// The host's part of a callback, which the library owns from here on and gives back by release<T>.
template <class T>
void release(void* user) noexcept {
  delete static_cast<T*>(user);
}

template <auto kDestroy>
struct Destroy {
  template <class T>
  void operator()(T* handle) const noexcept {
    kDestroy(handle);
  }
};

/// Move-only owner of a C handle.
template <class T, auto kDestroy>
using Handle = std::unique_ptr<T, Destroy<kDestroy>>;

/// The text that a function of the (buf, cap, len) kind writes.
template <class F>
std::string text_of(F&& write) {
  std::string text;
  for (;;) {
    std::size_t bytes = 0;
    check(write(nullptr, std::size_t{0}, &bytes));
    const bool has_grown = bytes > text.size();
    text.resize(bytes);
    const gradstep_status status = write(text.data(), text.size(), &bytes);
    // Some texts change meanwhile, as that of a communicator that breaks.
    if (status == GRADSTEP_ERR_INVALID_ARGUMENT && has_grown) continue;
    check(status);
    text.resize(bytes - 1);
    return text;
  }
}

/// A struct of the C API, zeroed but for its struct_size.
template <class T>
T sized() noexcept {
  T record{};
  record.struct_size = sizeof(T);
  return record;
}

/// The records that a function of the (records, record_size, capacity, count) kind writes.
template <class T, class F>
auto records_of(F&& write) {
  std::size_t count = 0;
  check(write(static_cast<T*>(nullptr), sizeof(T), std::size_t{0}, &count));
  std::vector<T> records(count, sized<T>());
  check(write(records.data(), sizeof(T), records.size(), &count));
  records.resize(count < records.size() ? count : records.size());
  return records;
}

}  // namespace detail

}  // namespace gradstep::inline cpp_v0
