// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Reads the safetensors files of vectors/: a little-endian u64 header length, a JSON header with dtype, shape and byte
// range per tensor, and the bytes.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gradstep/tensor.h"

namespace gradstep_conformance {

/// One array of a file. `view()` shows it as the tensors of the C API do and is valid as long as the array.
struct StoredArray {
  gradstep_dtype dtype{};
  std::vector<std::int64_t> shape;
  std::vector<std::uint64_t> storage;  // 64-bit words: aligned for every dtype
  std::size_t bytes = 0;

  gradstep_tensor view();
  const float* f32() const { return reinterpret_cast<const float*>(storage.data()); }
  float* f32() { return reinterpret_cast<float*>(storage.data()); }
  std::size_t f32_count() const { return bytes / sizeof(float); }
};

struct VectorFile {
  nlohmann::json meta;  // the JSON text under __metadata__.meta
  std::map<std::string, StoredArray> arrays;

  StoredArray& operator[](const std::string& name);
};

/// Throws std::runtime_error naming the file and what is wrong with it.
VectorFile read_vector_file(const std::string& path);

}  // namespace gradstep_conformance
