// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/state_part.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <span>

#include "core/error.h"
#include "core/json_text.h"
#include "core/shape.h"
#include "core/state_header.h"

namespace gradstep {

namespace {

/// Who loads a counter counts on from it: there is room for more steps than any run makes.
constexpr std::int64_t kLargestCounter = std::int64_t{1} << 62;

constexpr const char* kParameters = "parameters";

std::span<const std::int64_t> shape_of(const Parameter& parameter, SavedShapes shapes) {
  return shapes == SavedShapes::of_wholes ? parameter.whole_shape() : std::span(parameter.shape);
}

}  // namespace

const std::string& LoadedPart::text(const std::string& key) const {
  const auto found = file_.metadata().find(prefix_ + key);
  if (found == file_.metadata().end()) corrupt("its metadata has no '{}'", prefix_ + key);
  return found->second;
}

std::int64_t LoadedPart::integer(const std::string& key, std::int64_t minimum) const {
  const std::string& value = text(key);
  std::int64_t result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || end != value.data() + value.size() || result < minimum || result > kLargestCounter) {
    corrupt("its metadata '{}' is '{}'", prefix_ + key, value);
  }
  return result;
}

double LoadedPart::number(const std::string& key) const {
  const std::string& value = text(key);
  double result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || end != value.data() + value.size())
    corrupt("its metadata '{}' is '{}'", prefix_ + key, value);
  return result;
}

const StateFile::Tensor& LoadedPart::tensor(const std::string& key, DType dtype,
                                            const std::vector<std::int64_t>& shape) {
  const auto found = file_.tensors().find(prefix_ + key);
  if (found == file_.tensors().end()) fail(GRADSTEP_ERR_MISMATCH, "the saved state has no '{}'", prefix_ + key);
  const StateFile::Tensor& tensor = found->second;
  if (tensor.dtype != dtype || tensor.shape != shape) {
    fail(GRADSTEP_ERR_MISMATCH, "'{}' is {} {} in the saved state, expected {} {}", prefix_ + key,
         stored_name(tensor.dtype), shape_text(tensor.shape), stored_name(dtype), shape_text(shape));
  }
  taken_.insert(prefix_ + key);
  return tensor;
}

const StateFile::Tensor& LoadedPart::finite_tensor(const std::string& key, DType dtype,
                                                   const std::vector<std::int64_t>& shape) {
  const StateFile::Tensor& found = tensor(key, dtype, shape);
  if (!all_finite(dtype, found.data, found.bytes)) corrupt("'{}' holds NaN or infinity", prefix_ + key);
  return found;
}

void LoadedPart::check_all_taken() const {
  for (const auto& [key, tensor] : file_.tensors()) {
    if (key.compare(0, prefix_.size(), prefix_) == 0 && taken_.count(key) == 0) {
      fail(GRADSTEP_ERR_MISMATCH, "the saved state has '{}', which has no place here", key);
    }
  }
}

void save_parameters(SavedPart& part, const Schema& schema, SavedShapes shapes) {
  std::map<std::string_view, std::span<const std::int64_t>> saved;
  for (const Parameter& parameter : schema) saved[parameter.name] = shape_of(parameter, shapes);
  std::string json;
  append_json_object(json, saved, [&](std::span<const std::int64_t> shape) { append_json(json, shape); });
  part.set(kParameters, std::move(json));
}

void check_parameters(const LoadedPart& part, const Schema& schema, SavedShapes shapes) {
  const auto saved = read_json_shapes(part.text(kParameters), kParameters);
  for (const Parameter& parameter : schema) {
    const auto found = saved.find(parameter.name);
    if (found == saved.end()) {
      fail(GRADSTEP_ERR_MISMATCH, "the saved state has no parameter '{}'", parameter.name);
    }
    const std::span<const std::int64_t> expected = shape_of(parameter, shapes);
    if (!std::ranges::equal(found->second, expected)) {
      fail(GRADSTEP_ERR_MISMATCH, "parameter '{}' has shape {} in the saved state, expected {}", parameter.name,
           shape_text(found->second), shape_text(expected));
    }
  }
  if (saved.size() == schema.size()) return;
  std::set<std::string> own;
  for (const Parameter& parameter : schema) own.insert(parameter.name);
  for (const auto& [name, shape] : saved) {
    if (own.count(name) == 0)
      fail(GRADSTEP_ERR_MISMATCH, "the saved state has a parameter '{}', which is not here", name);
  }
}

}  // namespace gradstep
