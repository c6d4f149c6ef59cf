// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/comm_tensors.h"

#include <limits>

#include "c_api/host_tensor.h"
#include "core/error.h"
#include "core/shape.h"

namespace gradstep {

Bytes to_bytes(const char* argument, const gradstep_tensor* tensor, gradstep_device home) {
  if (tensor == nullptr) fail_argument("{}: is NULL", argument);
  check_home(argument, *tensor, home);
  if (tensor->ndim < 0) fail_argument("{}: ndim is {}", argument, tensor->ndim);
  if (tensor->ndim > 0 && tensor->shape == nullptr) fail_argument("{}: shape is NULL", argument);
  const std::int64_t bits = std::int64_t{tensor->dtype.bits} * tensor->dtype.lanes;
  if (bits == 0 || bits % 8 != 0) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "{}: {} is not of whole bytes", argument, dtype_text(tensor->dtype));
  }
  Bytes view;
  view.argument = argument;
  view.dtype = tensor->dtype;
  view.element_bytes = bits / 8;
  view.elements = element_count(argument, 0, {tensor->shape, static_cast<std::size_t>(tensor->ndim)});
  if (view.elements > std::numeric_limits<std::int64_t>::max() / view.element_bytes) {
    fail_argument("{}: {} elements of {} bytes are too many", argument, view.elements, view.element_bytes);
  }
  if (tensor->data == nullptr && view.elements > 0) fail_argument("{}: data is NULL", argument);
  if (!is_compact(*tensor)) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "{}: is not contiguous (shape {})", argument, shape_text(*tensor));
  }
  if (tensor->data != nullptr) view.data = static_cast<std::byte*>(tensor->data) + tensor->byte_offset;
  return view;
}

void check_same_dtype(const Bytes& input, const Bytes& output) {
  const gradstep_dtype& a = input.dtype;
  const gradstep_dtype& b = output.dtype;
  if (a.code != b.code || a.bits != b.bits || a.lanes != b.lanes) {
    fail_argument("output: is {}, input is {}", dtype_text(b), dtype_text(a));
  }
}

void check_elements(const Bytes& tensor, std::int64_t elements, std::int64_t times) {
  // Divided, not multiplied: the product may be out of range.
  if (tensor.elements % times != 0 || tensor.elements / times != elements) {
    fail_argument("{}: has {} elements, expected {} times {}", tensor.argument, tensor.elements, times, elements);
  }
}

void check_overlap(const Bytes& part, const Bytes& whole, std::int64_t offset) {
  if (part.bytes() == 0 || whole.bytes() == 0) return;
  const auto begin = [](const Bytes& view) { return reinterpret_cast<std::uintptr_t>(view.data); };
  const auto end = [&](const Bytes& view) { return begin(view) + static_cast<std::uintptr_t>(view.bytes()); };
  const bool overlap = begin(part) < end(whole) && begin(whole) < end(part);
  if (overlap && part.data != whole.data + offset) {
    fail_argument("input and output: overlap, and {} is not this rank's block of {}", part.argument, whole.argument);
  }
}

Blocks blocks_of(const std::int64_t* counts, std::int32_t world_size, const Bytes& input, std::int32_t rank) {
  if (counts == nullptr) fail_argument("counts: is NULL");
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / input.element_bytes;
  Blocks blocks;
  for (std::int32_t r = 0; r < world_size; ++r) {
    if (counts[r] < 0) fail_argument("counts[{}]: is {}, expected 0 or more", r, counts[r]);
    if (counts[r] > most - blocks.total_elements) fail_argument("counts[{}]: the sum of the counts overflows", r);
    if (r == rank) blocks.own_offset = blocks.total_elements * input.element_bytes;
    blocks.total_elements += counts[r];
    blocks.bytes.push_back(counts[r] * input.element_bytes);
  }
  if (counts[rank] != input.elements) {
    fail_argument("counts[{}]: is {}, but input has {} elements", rank, counts[rank], input.elements);
  }
  return blocks;
}

}  // namespace gradstep
