// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Reading and writing the growing structs of the C API (rule 2 of base.h).
#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include "core/error.h"

namespace gradstep {

inline constexpr std::size_t kMaxStructSize = 4096;

/// Throws unless a struct of `size` bytes can be read as one whose first version had `version1` bytes.
inline void check_struct_size(const char* argument, std::size_t size, std::size_t version1) {
  if (size < version1 || size > kMaxStructSize) {
    fail_argument("{}: struct_size is {}, expected {} to {}: fill it with the struct's _options_init or sizeof",
                  argument, size, version1, kMaxStructSize);
  }
}

/// A copy of *source as this library's version of the struct: a smaller one is completed with zeros, a larger one must
/// end in zeros. NULL gives the defaults that `init` writes.
template <class T>
T read_struct(const char* argument, const T* source, std::size_t version1 = sizeof(T)) {
  if (source == nullptr) fail_argument("{}: is NULL", argument);
  std::uint32_t size = 0;
  std::memcpy(&size, source, sizeof size);
  check_struct_size(argument, size, version1);
  const auto* bytes = reinterpret_cast<const unsigned char*>(source);
  const auto* tail = bytes + std::min<std::size_t>(size, sizeof(T));
  const auto* unknown = std::find_if(tail, bytes + size, [](unsigned char byte) { return byte != 0; });
  if (unknown != bytes + size) {
    fail(GRADSTEP_ERR_UNSUPPORTED,
         "{}: struct_size is {}, this library knows {} bytes, and byte {} is not zero: the "
         "options ask for something newer than this library",
         argument, size, sizeof(T), unknown - bytes);
  }
  T copy{};
  std::memcpy(&copy, source, std::min<std::size_t>(size, sizeof(T)));
  return copy;
}

/// The body of every `*_init(o, struct_size)`.
template <class T>
void init_struct(const char* argument, T* destination, std::size_t struct_size, T defaults,
                 std::size_t version1 = sizeof(T)) {
  if (destination == nullptr) fail_argument("{}: is NULL", argument);
  check_struct_size(argument, struct_size, version1);
  std::memset(static_cast<void*>(destination), 0, struct_size);
  defaults.struct_size = static_cast<std::uint32_t>(struct_size);
  std::memcpy(static_cast<void*>(destination), &defaults, std::min(struct_size, sizeof(T)));
}

/// Fills an out-struct: the smaller of the caller's and the library's size is written, struct_size stays the caller's.
template <class T>
void write_struct(const char* argument, T* destination, T value, std::size_t version1 = sizeof(T)) {
  if (destination == nullptr) fail_argument("{}: is NULL", argument);
  std::uint32_t size = 0;
  std::memcpy(&size, destination, sizeof size);
  check_struct_size(argument, size, version1);
  value.struct_size = size;
  std::memcpy(static_cast<void*>(destination), &value, std::min<std::size_t>(size, sizeof(T)));
}

/// Fills the first `capacity` elements of an array of growing structs whose stride is `record_size`; NULL writes none.
template <class T>
void write_records(T* records, std::size_t record_size, std::size_t capacity, std::span<const T> values,
                   std::size_t version1 = sizeof(T)) {
  if (records == nullptr) return;
  check_struct_size("record_size", record_size, version1);
  for (std::size_t i = 0; i < values.size() && i < capacity; ++i) {
    T value = values[i];
    value.struct_size = static_cast<std::uint32_t>(record_size);
    auto* target = reinterpret_cast<char*>(records) + i * record_size;
    std::memcpy(target, &value, std::min(record_size, sizeof(T)));
  }
}

}  // namespace gradstep
