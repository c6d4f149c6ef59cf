// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/options.h"

#include "core/error.h"

namespace gradstep {

void fail_struct_size(const char* argument, std::size_t size, std::size_t smallest) {
  fail_argument(
      "{}: struct_size is {}, expected a multiple of 8 from {} to {}: fill it with the struct's _options_init or "
      "sizeof",
      argument, size, smallest, kMaxStructSize);
}

void fail_null_struct(const char* argument) { fail_argument("{}: is NULL", argument); }

void fail_unknown_field(const char* argument, std::size_t size, std::size_t known, std::ptrdiff_t byte) {
  fail(GRADSTEP_ERR_UNSUPPORTED,
       "{}: struct_size is {}, this library knows {} bytes, and byte {} is not zero: the struct asks for something "
       "newer than this library",
       argument, size, known, byte);
}

}  // namespace gradstep
