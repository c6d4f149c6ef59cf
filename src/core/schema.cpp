// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/schema.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "core/error.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/options.h"
#include "core/shape.h"
#include "core/text.h"

namespace gradstep {

namespace {

/// Files carry every name once for each of its states, and their headers have an end.
constexpr std::size_t kLongestName = 1024;

/// Throws unless the part lies inside the whole. A part that is all of it is none.
void read_part(const gradstep_parameter& raw, const char* argument, std::size_t i, Parameter& parameter) {
  const std::size_t axes = parameter.shape.size();
  if (raw.whole_shape == nullptr && raw.offset != nullptr) {
    fail_argument("{}[{}] ('{}'): offset is given and whole_shape is NULL", argument, i, parameter.name);
  }
  if (raw.whole_shape == nullptr) return;
  const std::span whole(raw.whole_shape, axes);
  (void)element_count("whole_shape of parameters", i, whole);
  std::vector<std::int64_t> offset(axes, 0);
  if (raw.offset != nullptr) offset.assign(raw.offset, raw.offset + axes);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t room = whole[axis] - parameter.shape[axis];
    if (offset[axis] >= 0 && offset[axis] <= room) continue;
    fail_argument("{}[{}] ('{}'): a part of shape {} at offset {} is not inside a whole of {}: axis {}", argument, i,
                  parameter.name, shape_text(parameter.shape), shape_text(offset), shape_text(whole), axis);
  }
  if (std::ranges::equal(whole, parameter.shape)) return;
  parameter.shape = ParameterShape(parameter.shape, whole, offset);
}

Parameter read_parameter(const char* bytes, std::size_t i, std::size_t position) {
  const auto raw = read_struct("parameters", reinterpret_cast<const gradstep_parameter*>(bytes));
  constexpr const char* kArgument = "parameters";
  Parameter parameter;
  parameter.name = raw.name != nullptr ? raw.name : fmt::format("param.{}", position);
  if (parameter.name.empty()) fail_argument("{}[{}]: name is empty", kArgument, i);
  if (parameter.name.size() > kLongestName) {
    fail_argument("{}[{}]: name has {} bytes, expected at most {}", kArgument, i, parameter.name.size(), kLongestName);
  }
  if (const std::size_t at = utf8_prefix(parameter.name); at < parameter.name.size()) {
    fail_argument("{}[{}]: name is not UTF-8 from byte {} on ({:#04x})", kArgument, i, at,
                  static_cast<unsigned char>(parameter.name[at]));
  }
  if (raw.ndim < 0) fail_argument("{}[{}]: ndim is {}", kArgument, i, raw.ndim);
  if (raw.ndim > 0 && raw.shape == nullptr) fail_argument("{}[{}]: shape is NULL", kArgument, i);
  const std::span<const std::int64_t> shape(raw.shape, static_cast<std::size_t>(raw.ndim));
  parameter.size = element_count(kArgument, i, shape);
  parameter.shape = ParameterShape(shape);
  read_part(raw, kArgument, i, parameter);
  const auto dtype = from_dlpack(raw.dtype);
  if (!dtype || !is_float(*dtype)) {
    fail_argument("{}[{}] ('{}'): {} found, expected f32, f64, f16 or bf16", kArgument, i, parameter.name,
                  dtype_text(raw.dtype));
  }
  parameter.dtype = *dtype;
  if (raw.device.device_type == GRADSTEP_DEVICE_CPU && raw.device.device_id != 0) {
    fail_argument("{}[{}]: cpu device_id is {}, expected 0", kArgument, i, raw.device.device_id);
  }
  parameter.device = home_of(raw.device);
  if (raw.group < 0 || raw.group > 1 << 20) {
    fail_argument("{}[{}] ('{}'): group is {}, expected 0 to {}", kArgument, i, parameter.name, raw.group, 1 << 20);
  }
  parameter.group = raw.group;
  constexpr std::uint32_t kKnownFlags = GRADSTEP_PARAMETER_MAY_BE_UNUSED;
  if ((raw.flags & ~kKnownFlags) != 0) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "{}[{}] ('{}'): flags {:#x} has bits that this library does not know", kArgument, i,
         parameter.name, raw.flags);
  }
  parameter.may_be_unused = (raw.flags & GRADSTEP_PARAMETER_MAY_BE_UNUSED) != 0;
  return parameter;
}

}  // namespace

ParameterShape::ParameterShape(std::size_t axes, bool is_part)
    : axes_(static_cast<std::uint8_t>(axes)), is_part_(is_part) {
  if (axes > 0) numbers_ = std::make_unique<std::int64_t[]>(all().size());
}

ParameterShape::ParameterShape(std::span<const std::int64_t> shape) : ParameterShape(shape.size(), /*is_part=*/false) {
  std::ranges::copy(shape, numbers_.get());
}

ParameterShape::ParameterShape(std::span<const std::int64_t> shape, std::span<const std::int64_t> whole,
                               std::span<const std::int64_t> offset)
    : ParameterShape(shape.size(), /*is_part=*/true) {
  std::int64_t* next = std::ranges::copy(shape, numbers_.get()).out;
  next = std::ranges::copy(whole, next).out;
  std::ranges::copy(offset, next);
}

ParameterShape::ParameterShape(const ParameterShape& other) : ParameterShape(other.axes_, other.is_part_) {
  std::ranges::copy(other.all(), numbers_.get());
}

std::int64_t Parameter::whole_size() const {
  const std::span<const std::int64_t> whole = whole_shape();
  return is_part() ? std::accumulate(whole.begin(), whole.end(), std::int64_t{1}, std::multiplies()) : size;
}

void Schema::append(const gradstep_parameter* parameters, std::size_t n) {
  if (n == 0) return;
  if (parameters == nullptr) fail_argument("parameters: is NULL with n = {}", n);
  const std::size_t known = size();
  const std::size_t stride = parameters[0].struct_size;
  if (known == 0) parameters_.reserve(n);
  try {
    for (std::size_t i = 0; i < n; ++i) {
      const char* bytes = reinterpret_cast<const char*>(parameters) + i * stride;
      std::uint32_t found = 0;
      std::memcpy(&found, bytes, sizeof found);
      if (found != stride) fail_argument("parameters[{}]: struct_size is {}, element 0 has {}", i, found, stride);
      Parameter parameter = read_parameter(bytes, i, known + i);
      if (const std::size_t place = place_of(parameter.name); place < by_name_.size() && by_name_[place] != 0) {
        fail_argument("parameters[{}]: the name '{}' is already taken by parameter {}", i, parameter.name,
                      by_name_[place] - 1);
      }
      add(std::move(parameter));
    }
  } catch (...) {
    shrink(known);
    throw;
  }
}

/// The place in by_name_ where a name is, or would be.
std::size_t Schema::place_of(const std::string& name) const {
  const std::size_t places = by_name_.size();  // a power of two, or 0
  if (places == 0) return 0;
  std::size_t place = hash_bytes(name.data(), name.size()) & (places - 1);
  while (by_name_[place] != 0 && parameters_[by_name_[place] - 1].name != name) place = (place + 1) & (places - 1);
  return place;
}

void Schema::count(const Parameter& parameter) noexcept {
  groups_ = std::max(groups_, parameter.group + 1);
  if (parameter.is_part()) ++parts_;
  bytes_ += static_cast<double>(parameter.size) * static_cast<double>(size_of(parameter.dtype));
}

void Schema::add(Parameter parameter) {
  constexpr std::size_t kFewest = 16;
  if (2 * (size() + 1) > by_name_.size()) {
    std::vector<std::uint32_t> larger(std::max(kFewest, 2 * by_name_.size()));
    by_name_.swap(larger);
    for (std::size_t i = 0; i < size(); ++i)
      by_name_[place_of(parameters_[i].name)] = static_cast<std::uint32_t>(i + 1);
  }
  parameters_.push_back(std::move(parameter));
  by_name_[place_of(parameters_.back().name)] = static_cast<std::uint32_t>(size());
  count(parameters_.back());
}

void Schema::shrink(std::size_t size) noexcept {
  if (size == this->size()) return;
  parameters_.erase(parameters_.begin() + static_cast<std::ptrdiff_t>(size), parameters_.end());
  std::ranges::fill(by_name_, 0);
  groups_ = 1;
  parts_ = 0;
  bytes_ = 0;
  for (std::size_t i = 0; i < size; ++i) {
    by_name_[place_of(parameters_[i].name)] = static_cast<std::uint32_t>(i + 1);
    count(parameters_[i]);
  }
}

std::size_t Schema::own_bytes() const {
  static const std::size_t within = std::string().capacity();
  std::size_t bytes = parameters_.capacity() * sizeof(Parameter) + by_name_.capacity() * sizeof(std::uint32_t);
  for (const Parameter& parameter : parameters_) {
    if (parameter.name.capacity() > within) bytes += allocated_bytes(parameter.name.capacity() + 1);
    bytes += allocated_bytes(parameter.shape.bytes());
  }
  return bytes;
}

void Schema::check_count(const char* argument, const void* array, std::size_t n) const {
  if (n != size()) fail_argument("{}: n is {}, the schema has {} parameters", argument, n, size());
  if (n > 0 && array == nullptr) fail_argument("{}: is NULL with n = {}", argument, n);
}

std::array<std::uint64_t, Schema::kDigestSize> Schema::digest(bool arithmetic) const {
  std::uint64_t names = hash_bytes(nullptr, 0);
  std::uint64_t shapes = names;
  std::uint64_t dtypes = names;
  for (const Parameter& parameter : parameters_) {
    names = hash_bytes(parameter.name.c_str(), parameter.name.size() + 1, names);
    const std::uint64_t ndim = parameter.shape.size();
    shapes = hash_bytes(&ndim, sizeof ndim, shapes);
    shapes = hash_bytes(parameter.shape.data(), parameter.shape.bytes(), shapes);
    const DType dtype = arithmetic ? arithmetic_dtype(parameter.dtype) : parameter.dtype;
    const unsigned char facts[] = {static_cast<unsigned char>(dtype),
                                   static_cast<unsigned char>(parameter.may_be_unused ? 1 : 0)};
    dtypes = hash_bytes(facts, sizeof facts, dtypes);
  }
  return {parameters_.size(), names, shapes, dtypes};
}

std::string Schema::difference(const Schema& other) const {
  if (size() != other.size()) return fmt::format("{} parameters against {}", size(), other.size());
  for (std::size_t i = 0; i < size(); ++i) {
    const Parameter& a = parameters_[i];
    const Parameter& b = other.parameters_[i];
    if (a.name != b.name) return fmt::format("parameter {} is named '{}' against '{}'", i, a.name, b.name);
    if (!std::ranges::equal(a.shape, b.shape)) {
      return fmt::format("parameter '{}' has shape {} against {}", a.name, shape_text(a.shape), shape_text(b.shape));
    }
    if (a.is_part() && b.is_part() &&
        !std::ranges::equal(a.shape.part(), b.shape.part())) {  // a handle need not know of parts
      return fmt::format("parameter '{}' is a part of {} at {} against one of {} at {}", a.name,
                         shape_text(a.whole_shape()), shape_text(a.offset()), shape_text(b.whole_shape()),
                         shape_text(b.offset()));
    }
    if (arithmetic_dtype(a.dtype) != arithmetic_dtype(b.dtype)) {
      return fmt::format("parameter '{}' is {} against {}", a.name, name_of(a.dtype), name_of(b.dtype));
    }
  }
  return {};
}

}  // namespace gradstep
