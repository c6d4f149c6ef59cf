// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"

#include <new>

namespace gradstep {

namespace {

// The slot never throws: a text that cannot be stored is replaced by a constant one.
struct MessageSlot {
  std::string text;
  const char* shown = "";

  void set(const char* value) noexcept {
    try {
      text = value != nullptr ? value : "";
      shown = text.c_str();
    } catch (...) {
      shown = "out of memory while storing an error text";
    }
  }
};

thread_local MessageSlot message_slot;

}  // namespace

void throw_error(gradstep_status status, std::string text) { throw Error(status, std::move(text)); }

const char* status_name(gradstep_status status) noexcept {
  switch (status) {
    case GRADSTEP_OK:
      return "GRADSTEP_OK";
    case GRADSTEP_ERR_INVALID_ARGUMENT:
      return "GRADSTEP_ERR_INVALID_ARGUMENT";
    case GRADSTEP_ERR_INVALID_STATE:
      return "GRADSTEP_ERR_INVALID_STATE";
    case GRADSTEP_ERR_UNSUPPORTED:
      return "GRADSTEP_ERR_UNSUPPORTED";
    case GRADSTEP_ERR_OUT_OF_MEMORY:
      return "GRADSTEP_ERR_OUT_OF_MEMORY";
    case GRADSTEP_ERR_BACKEND_UNAVAILABLE:
      return "GRADSTEP_ERR_BACKEND_UNAVAILABLE";
    case GRADSTEP_ERR_DEVICE:
      return "GRADSTEP_ERR_DEVICE";
    case GRADSTEP_ERR_NUMERIC:
      return "GRADSTEP_ERR_NUMERIC";
    case GRADSTEP_ERR_TIMEOUT:
      return "GRADSTEP_ERR_TIMEOUT";
    case GRADSTEP_ERR_PEER_LOST:
      return "GRADSTEP_ERR_PEER_LOST";
    case GRADSTEP_ERR_ABORTED:
      return "GRADSTEP_ERR_ABORTED";
    case GRADSTEP_ERR_MISMATCH:
      return "GRADSTEP_ERR_MISMATCH";
    case GRADSTEP_ERR_IO:
      return "GRADSTEP_ERR_IO";
    case GRADSTEP_ERR_CORRUPT:
      return "GRADSTEP_ERR_CORRUPT";
    case GRADSTEP_ERR_CALLBACK:
      return "GRADSTEP_ERR_CALLBACK";
    case GRADSTEP_ERR_INTERNAL:
      return "GRADSTEP_ERR_INTERNAL";
    default:
      return "GRADSTEP_ERR_UNKNOWN";
  }
}

const char* last_error() noexcept { return message_slot.shown; }

void set_last_error(const char* text) noexcept { message_slot.set(text); }

gradstep_status translate_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    set_last_error(error.what());
    return error.status();
  } catch (const std::bad_alloc&) {
    set_last_error("out of memory");
    return GRADSTEP_ERR_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    set_last_error(error.what());
    return GRADSTEP_ERR_INTERNAL;
  } catch (...) {
    set_last_error("an exception of an unknown type");
    return GRADSTEP_ERR_INTERNAL;
  }
}

bool is_of_this_rank(gradstep_status status) {
  switch (status) {
    case GRADSTEP_ERR_NUMERIC:
    case GRADSTEP_ERR_MISMATCH:
    case GRADSTEP_ERR_TIMEOUT:
    case GRADSTEP_ERR_PEER_LOST:
    case GRADSTEP_ERR_ABORTED:
    case GRADSTEP_ERR_IO:
      return false;
    default:
      return true;
  }
}

}  // namespace gradstep
