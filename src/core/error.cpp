// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"

#include <pthread.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

namespace gradstep {

namespace {

/// Trivial to destroy: glibc ends the process where it has no memory to note that a thread's object is to be destroyed.
/// The text goes with the thread by a key, which may fail.
struct MessageSlot {
  char* text = nullptr;
  std::size_t capacity = 0;
  const char* shown = "";
};

constinit thread_local MessageSlot message_slot;

class TextKey {
 public:
  TextKey() : is_made_(pthread_key_create(&key_, free_text) == 0) {}
  ~TextKey() {
    if (std::exchange(is_made_, false)) pthread_key_delete(key_);
  }
  TextKey(const TextKey&) = delete;
  TextKey& operator=(const TextKey&) = delete;

  bool keep(char* text) const noexcept { return !is_made_ || pthread_setspecific(key_, text) == 0; }

 private:
  static void free_text(void* text) {
    message_slot = {};
    std::free(text);
  }

  pthread_key_t key_{};
  bool is_made_;
};

TextKey text_key;

/// Room for `size` characters. False, and there is none, if there is no memory.
bool make_room(MessageSlot& slot, std::size_t size) noexcept {
  if (size <= slot.capacity) return true;
  // Zeros, or GCC warns: pthread_setspecific of mingw-w64 takes a const pointer.
  auto* text = static_cast<char*>(std::calloc(size, 1));
  if (text == nullptr) return false;
  if (!text_key.keep(text)) {
    std::free(text);
    return false;
  }
  std::free(std::exchange(slot.text, text));
  slot.capacity = size;
  return true;
}

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

/// A text that cannot be stored is replaced by a constant one.
void set_last_error(const char* text) noexcept {
  MessageSlot& slot = message_slot;
  const std::size_t size = std::strlen(text != nullptr ? text : "") + 1;
  if (!make_room(slot, size)) {
    slot.shown = "out of memory while storing an error text";
    return;
  }
  std::memmove(slot.text, text != nullptr ? text : "", size);  // it may be the slot's own
  slot.shown = slot.text;
}

gradstep_status translate_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    set_last_error(error.what());
    return error.status();
  } catch (const std::bad_alloc&) {
    set_last_error("out of memory");
    return GRADSTEP_ERR_OUT_OF_MEMORY;
  } catch (const std::system_error& error) {  // of a thread or a lock of the standard library
    set_last_error(error.what());
    return error.code() == std::errc::resource_unavailable_try_again ? GRADSTEP_ERR_OUT_OF_MEMORY : GRADSTEP_ERR_IO;
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
