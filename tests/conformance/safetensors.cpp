// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "safetensors.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace gradstep_conformance {

namespace {

gradstep_dtype dtype_of(const std::string& name) {
  if (name == "F32") return {GRADSTEP_TYPE_FLOAT, 32, 1};
  if (name == "F64") return {GRADSTEP_TYPE_FLOAT, 64, 1};
  if (name == "I64") return {GRADSTEP_TYPE_INT, 64, 1};
  throw std::runtime_error("unknown dtype " + name);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

VectorFile parse(const std::string& content) {
  std::uint64_t header_bytes = 0;
  if (content.size() < sizeof header_bytes) throw std::runtime_error("shorter than its header length");
  std::memcpy(&header_bytes, content.data(), sizeof header_bytes);
  if (header_bytes > content.size() - sizeof header_bytes) throw std::runtime_error("shorter than its header");
  const auto header = nlohmann::json::parse(content.substr(sizeof header_bytes, header_bytes));
  const std::string body = content.substr(sizeof header_bytes + header_bytes);
  VectorFile file;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      file.meta = nlohmann::json::parse(entry.at("meta").get<std::string>());
      continue;
    }
    const auto begin = entry.at("data_offsets").at(0).get<std::size_t>();
    const auto end = entry.at("data_offsets").at(1).get<std::size_t>();
    if (begin > end || end > body.size()) throw std::runtime_error("bytes of '" + name + "' are outside the file");
    StoredArray& array = file.arrays[name];
    array.dtype = dtype_of(entry.at("dtype").get<std::string>());
    array.shape = entry.at("shape").get<std::vector<std::int64_t>>();
    array.bytes = end - begin;
    array.storage.resize((array.bytes + 7) / 8);
    std::memcpy(array.storage.data(), body.data() + begin, array.bytes);
  }
  return file;
}

}  // namespace

gradstep_tensor StoredArray::view() {
  gradstep_tensor tensor{};
  tensor.data = storage.data();
  tensor.device = {GRADSTEP_DEVICE_CPU, 0};
  tensor.ndim = static_cast<std::int32_t>(shape.size());
  tensor.dtype = dtype;
  tensor.shape = shape.data();
  return tensor;
}

StoredArray& VectorFile::operator[](const std::string& name) {
  const auto found = arrays.find(name);
  if (found == arrays.end()) throw std::runtime_error("no array '" + name + "'");
  return found->second;
}

VectorFile read_vector_file(const std::string& path) {
  try {
    return parse(read_file(path));
  } catch (const std::exception& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

}  // namespace gradstep_conformance
