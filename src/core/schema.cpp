// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/schema.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/hash.h"
#include "core/options.h"

namespace gradstep {

namespace {

/// Files carry every name once for each of its states, and their headers have an end.
constexpr std::size_t kLongestName = 1024;

Parameter read_parameter(const char* bytes, std::size_t i, std::size_t position) {
  const auto raw = read_struct("parameters", reinterpret_cast<const gradstep_parameter*>(bytes));
  constexpr const char* kArgument = "parameters";
  Parameter parameter;
  parameter.name = raw.name != nullptr ? raw.name : fmt::format("param.{}", position);
  if (parameter.name.empty()) fail_argument("{}[{}]: name is empty", kArgument, i);
  if (parameter.name.size() > kLongestName) {
    fail_argument("{}[{}]: name has {} bytes, expected at most {}", kArgument, i, parameter.name.size(), kLongestName);
  }
  if (raw.ndim < 0) fail_argument("{}[{}]: ndim is {}", kArgument, i, raw.ndim);
  if (raw.ndim > 0 && raw.shape == nullptr) fail_argument("{}[{}]: shape is NULL", kArgument, i);
  const std::span<const std::int64_t> shape(raw.shape, static_cast<std::size_t>(raw.ndim));
  parameter.size = element_count(kArgument, i, shape);
  parameter.shape.assign(shape.begin(), shape.end());
  const auto dtype = from_dlpack(raw.dtype);
  if (!dtype || !is_float(*dtype)) {
    fail_argument("{}[{}] ('{}'): {} found, expected f32, f64, f16 or bf16", kArgument, i, parameter.name,
                  dtype_text(raw.dtype));
  }
  parameter.dtype = *dtype;
  check_device(kArgument, i, raw.device);
  parameter.device = raw.device;
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

bool same_shape(const gradstep_tensor& tensor, const Parameter& parameter) {
  if (tensor.ndim != static_cast<std::int32_t>(parameter.shape.size())) return false;
  if (tensor.ndim > 0 && tensor.shape == nullptr) return false;
  return std::equal(parameter.shape.begin(), parameter.shape.end(), tensor.shape);
}

/// Two arrays of one shape whose elements lie in the same memory, each in the other's place.
bool same_place(const Array& a, const Array& b) {
  return a.data == b.data && a.dtype == b.dtype && a.ndim == b.ndim &&
         std::equal(a.strides, a.strides + a.ndim, b.strides);
}

}  // namespace

void Schema::append(const gradstep_parameter* parameters, std::size_t n) {
  if (n == 0) return;
  if (parameters == nullptr) fail_argument("parameters: is NULL with n = {}", n);
  const std::size_t stride = parameters[0].struct_size;
  std::vector<Parameter> added;
  added.reserve(n);
  auto names = by_name_;
  for (std::size_t i = 0; i < n; ++i) {
    const char* bytes = reinterpret_cast<const char*>(parameters) + i * stride;
    std::uint32_t size = 0;
    std::memcpy(&size, bytes, sizeof size);
    if (size != stride) fail_argument("parameters[{}]: struct_size is {}, element 0 has {}", i, size, stride);
    added.push_back(read_parameter(bytes, i, parameters_.size() + i));
    if (!names.emplace(added.back().name, parameters_.size() + i).second) {
      fail_argument("parameters[{}]: the name '{}' is already taken by parameter {}", i, added.back().name,
                    names[added.back().name]);
    }
  }
  parameters_.insert(parameters_.end(), std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
  by_name_ = std::move(names);
}

std::int32_t Schema::group_count() const {
  std::int32_t count = 1;
  for (const Parameter& parameter : parameters_) count = std::max(count, parameter.group + 1);
  return count;
}

void Schema::check_count(const char* argument, const void* array, std::size_t n) const {
  if (n != size()) fail_argument("{}: n is {}, the schema has {} parameters", argument, n, size());
  if (n > 0 && array == nullptr) fail_argument("{}: is NULL with n = {}", argument, n);
}

Array Schema::shaped_array(const char* argument, std::size_t i, const gradstep_tensor& tensor) const {
  const Parameter& parameter = parameters_[i];
  if (!same_shape(tensor, parameter)) {
    fail_argument("{}[{}]: shape {}, parameter '{}' has {}", argument, i, shape_text(tensor), parameter.name,
                  shape_text(parameter.shape));
  }
  if (tensor.device.device_type != parameter.device.device_type ||
      tensor.device.device_id != parameter.device.device_id) {
    fail_argument("{}[{}]: is on {}, parameter '{}' is on {}", argument, i, device_text(tensor.device), parameter.name,
                  device_text(parameter.device));
  }
  return to_array(argument, i, tensor);
}

Array Schema::parameter_array(const char* argument, std::size_t i, const gradstep_tensor& tensor) const {
  const Parameter& parameter = parameters_[i];
  const Array array = shaped_array(argument, i, tensor);
  if (array.dtype != parameter.dtype) {
    fail_argument("{}[{}]: dtype {}, parameter '{}' has {}", argument, i, name_of(array.dtype), parameter.name,
                  name_of(parameter.dtype));
  }
  if (!array.present()) fail_argument("{}[{}]: data is NULL, parameter '{}'", argument, i, parameter.name);
  return array;
}

Array Schema::gradient_array(const char* argument, std::size_t i, const gradstep_tensor& tensor) const {
  const Parameter& parameter = parameters_[i];
  // A zeroed struct is the short way to say "none this time".
  if (tensor.data == nullptr && tensor.ndim == 0 && tensor.shape == nullptr) {
    Array absent;
    absent.dtype = parameter.dtype;
    absent.size = parameter.size;
    return absent;
  }
  const Array array = shaped_array(argument, i, tensor);
  if (!is_float(array.dtype) || (array.dtype == DType::f64 && parameter.dtype != DType::f64)) {
    fail_argument("{}[{}]: dtype {}, parameter '{}' is {} and takes {}gradients in f32, f16 or bf16", argument, i,
                  name_of(array.dtype), parameter.name, name_of(parameter.dtype),
                  parameter.dtype == DType::f64 ? "f64 gradients, or " : "");
  }
  return array;
}

gradstep_tensor Schema::view(std::size_t i, void* data, DType dtype) const {
  const Parameter& parameter = parameters_[i];
  gradstep_tensor tensor{};
  tensor.data = data;
  tensor.device = parameter.device;
  tensor.ndim = static_cast<std::int32_t>(parameter.shape.size());
  tensor.dtype = to_dlpack(dtype);
  // DLPack's shape is not const; hosts are told that views are theirs to read.
  tensor.shape = const_cast<std::int64_t*>(parameter.shape.data());
  return tensor;
}

std::array<std::uint64_t, Schema::kDigestSize> Schema::digest(bool arithmetic) const {
  std::uint64_t names = hash_bytes(nullptr, 0);
  std::uint64_t shapes = names;
  std::uint64_t dtypes = names;
  for (const Parameter& parameter : parameters_) {
    names = hash_bytes(parameter.name.c_str(), parameter.name.size() + 1, names);
    const std::uint64_t ndim = parameter.shape.size();
    shapes = hash_bytes(&ndim, sizeof ndim, shapes);
    shapes = hash_bytes(parameter.shape.data(), parameter.shape.size() * sizeof(std::int64_t), shapes);
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
    if (a.shape != b.shape) {
      return fmt::format("parameter '{}' has shape {} against {}", a.name, shape_text(a.shape), shape_text(b.shape));
    }
    if (arithmetic_dtype(a.dtype) != arithmetic_dtype(b.dtype)) {
      return fmt::format("parameter '{}' is {} against {}", a.name, name_of(a.dtype), name_of(b.dtype));
    }
  }
  return {};
}

void OverlapCheck::check(std::span<const Array> params, std::span<const Array> grads, std::span<const Array> updates) {
  const std::size_t count = params.size() + grads.size() + updates.size();
  bool unchanged = last_.size() == count;
  if (!unchanged) last_.resize(count);
  ByteRange* last = last_.data();
  unchanged = same(last, params) && unchanged;
  unchanged = same(last, grads) && unchanged;
  unchanged = same(last, updates) && unchanged;
  if (unchanged) return;
  try {
    check_all_pairs(params, grads, updates);
  } catch (...) {
    last_.clear();
    throw;
  }
}

bool OverlapCheck::same(ByteRange*& last, std::span<const Array> arrays) {
  bool same = true;
  for (const Array& array : arrays) {
    const ByteRange range = byte_range(array);
    // Other strides over the same bytes may put an update beside its gradient's place.
    same = same && last->begin == range.begin && last->end == range.end && array.contiguous();
    *last++ = range;
  }
  return same;
}

void OverlapCheck::check_all_pairs(std::span<const Array> params, std::span<const Array> grads,
                                   std::span<const Array> updates) {
  struct Entry {
    ByteRange range;
    const char* argument;
    std::size_t index;
    bool written;
  };
  std::vector<Entry> entries;
  entries.reserve(params.size() + grads.size() + updates.size());
  const auto collect = [&](std::span<const Array> list, std::size_t i, const char* argument, bool written) {
    const ByteRange range = byte_range(list[i]);
    if (range.begin != range.end) entries.push_back({range, argument, i, written});
  };
  const bool in_place = updates.empty();
  for (std::size_t i = 0; i < params.size(); ++i) {
    collect(params, i, "params", in_place);
    // An update in its gradient's very place stands for both.
    if (in_place || !same_place(grads[i], updates[i])) collect(grads, i, "grads", false);
    if (!in_place) collect(updates, i, "updates", true);
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.range.begin < b.range.begin; });

  // Sweep by address: an entry overlaps an earlier one if it overlaps the one that ends last. Buffers that are only
  // read may share memory, all of them if they like.
  const Entry* last_read = nullptr;
  const Entry* last_written = nullptr;
  const auto check_after = [](const Entry* earlier, const Entry& entry) {
    if (earlier == nullptr || earlier->range.end <= entry.range.begin) return;
    fail_argument("{}[{}] overlaps {}[{}] in memory", earlier->argument, earlier->index, entry.argument, entry.index);
  };
  for (const Entry& entry : entries) {
    check_after(last_written, entry);
    if (entry.written) check_after(last_read, entry);
    const Entry*& last = entry.written ? last_written : last_read;
    if (last == nullptr || last->range.end < entry.range.end) last = &entry;
  }
}

}  // namespace gradstep
