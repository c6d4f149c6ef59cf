// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Checks of tensors that a communicator only carries: any dtype, as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gradstep/tensor.h"

namespace gradstep {

struct Bytes {
  const char* argument = "";
  std::byte* data = nullptr;
  std::int64_t elements = 0;
  std::int64_t element_bytes = 0;
  gradstep_dtype dtype{};

  std::int64_t bytes() const { return elements * element_bytes; }
};

/// Throws unless the tensor is contiguous, of whole bytes, and on `home`.
Bytes to_bytes(const char* argument, const gradstep_tensor* tensor, gradstep_device home);

void check_same_dtype(const Bytes& input, const Bytes& output);
/// Throws unless the tensor has `times` times `elements` elements.
void check_elements(const Bytes& tensor, std::int64_t elements, std::int64_t times = 1);

/// Throws if the two overlap, unless `part` is exactly the block of `whole` at `offset` bytes: in place.
void check_overlap(const Bytes& part, const Bytes& whole, std::int64_t offset);

/// The layout of an all_gather_v.
struct Blocks {
  std::vector<std::int64_t> bytes;
  std::int64_t total_elements = 0;
  std::int64_t own_offset = 0;  // in bytes
};
Blocks blocks_of(const std::int64_t* counts, std::int32_t world_size, const Bytes& input, std::int32_t rank);

}  // namespace gradstep
