// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Reading and writing the growing structs of the C API ("Growing structs" in base.h). A host may have been compiled
// against an older header, with a smaller struct, or against a newer one, with a larger one. Structs that are read have
// their size in their first field; so have those that are written, where the host has put it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/version1.h"

namespace gradstep {

inline constexpr std::size_t kMaxStructSize = 4096;

/// Whether the fields of version 1 are there in a T of `size` bytes, whatever comes behind them.
template <class T>
constexpr bool has_version1(std::size_t size) {
  return size >= Version1<T>::kSize && size <= kMaxStructSize;
}

/// Whether hosts can have a T of `size` bytes: one of version 1, or of a later one, which are whole 8 bytes each.
template <class T>
constexpr bool is_struct_size(std::size_t size) {
  return has_version1<T>(size) && size % 8 == 0;
}

// What is the same for every struct is compiled once.
[[noreturn]] void fail_struct_size(const char* argument, std::size_t size, std::size_t smallest);
[[noreturn]] void fail_null_struct(const char* argument);
[[noreturn]] void fail_unknown_field(const char* argument, std::size_t size, std::size_t known, std::ptrdiff_t byte);

template <class T>
void check_struct_size(const char* argument, std::size_t size) {
  if (!is_struct_size<T>(size)) fail_struct_size(argument, size, Version1<T>::kSize);
}

/// The struct_size that the host has put into *source, unchecked.
template <class T>
std::size_t given_struct_size(const char* argument, const T* source) {
  if (source == nullptr) fail_null_struct(argument);
  std::uint32_t size = 0;
  std::memcpy(&size, source, sizeof size);
  return size;
}

/// given_struct_size(), checked.
template <class T>
std::size_t struct_size_of(const char* argument, const T* source) {
  const std::size_t size = given_struct_size(argument, source);
  check_struct_size<T>(argument, size);
  return size;
}

/// A copy of what *source and this library both know; fields that the host's version lacks are zero. For structs with
/// callbacks, which have an owner from here on; check_unknown_fields follows, and tells what else is wrong.
template <class T>
T read_known_fields(const char* argument, const T* source) {
  const std::size_t size = given_struct_size(argument, source);
  if (!has_version1<T>(size)) check_struct_size<T>(argument, size);
  T copy{};
  std::memcpy(static_cast<void*>(&copy), source, std::min(size, sizeof(T)));
  return copy;
}

/// Throws unless all that *source has beyond this library's T is zero.
template <class T>
void check_unknown_fields(const char* argument, const T* source) {
  const std::size_t size = struct_size_of(argument, source);
  const auto* bytes = reinterpret_cast<const unsigned char*>(source);
  const auto* tail = bytes + std::min(size, sizeof(T));
  const auto* unknown = std::find_if(tail, bytes + size, [](unsigned char byte) { return byte != 0; });
  if (unknown != bytes + size) fail_unknown_field(argument, size, sizeof(T), unknown - bytes);
}

/// A copy of *source as this library's version of the struct: a smaller one is completed with zeros, a larger one must
/// end in zeros. NULL is an error.
template <class T>
T read_struct(const char* argument, const T* source) {
  const T copy = read_known_fields(argument, source);
  check_unknown_fields(argument, source);
  return copy;
}

/// read_struct(), where NULL stands for the defaults.
template <class T>
T read_struct_or(const T& defaults, const char* argument, const T* source) {
  return source != nullptr ? read_struct(argument, source) : defaults;
}

/// Writes as much of `value` as `size` bytes hold, zeros behind it, and the size itself.
template <class T>
void fill_struct(void* destination, std::size_t size, T value) {
  value.struct_size = static_cast<std::uint32_t>(size);
  const std::size_t known = std::min(size, sizeof(T));
  std::memcpy(destination, &value, known);
  std::memset(static_cast<char*>(destination) + known, 0, size - known);
}

/// The body of every `*_init(o, struct_size)`.
template <class T>
void init_struct(const char* argument, T* destination, std::size_t struct_size, const T& defaults) {
  if (destination == nullptr) fail_null_struct(argument);
  check_struct_size<T>(argument, struct_size);
  fill_struct(destination, struct_size, defaults);
}

/// Fills an out-struct of the size that the host has put into it. What a newer host has beyond this library's is zero.
template <class T>
void write_struct(const char* argument, T* destination, const T& value) {
  fill_struct(destination, struct_size_of(argument, destination), value);
}

/// Fills the first `capacity` elements of an array of growing structs whose stride is `record_size`; NULL writes none.
template <class T>
void write_records(T* records, std::size_t record_size, std::size_t capacity, std::span<const T> values) {
  if (records == nullptr) return;
  check_struct_size<T>("record_size", record_size);
  for (std::size_t i = 0; i < values.size() && i < capacity; ++i) {
    fill_struct(reinterpret_cast<char*>(records) + i * record_size, record_size, values[i]);
  }
}

}  // namespace gradstep
