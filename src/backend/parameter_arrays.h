// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Memory as large as the parameters.
#pragma once

#include <cstddef>
#include <vector>

#include "backend/site.h"
#include "core/buffer_list.h"
#include "core/schema.h"

namespace gradstep {

/// A compact array for each parameter of a schema, which may grow; zero at first.
class ParameterArrays {
 public:
  /// Takes the memory that is missing.
  BufferList list(const Site& site, const Schema& schema) {
    for (std::size_t i = memory_.size(); i < schema.size(); ++i) {
      const std::int64_t bytes = schema[i].size * size_of(schema[i].dtype);
      memory_.push_back(site.allocate(static_cast<std::size_t>(bytes), /*zeroed=*/true));
      arrays_.set(i, compact_array(memory_.back().data(), schema[i].size, schema[i].dtype));
    }
    return arrays_.list();
  }
  /// What list() has made.
  BufferList list() { return arrays_.list(); }
  std::size_t size() const { return memory_.size(); }

 private:
  std::vector<Buffer> memory_;
  OwnBuffers arrays_;
};

}  // namespace gradstep
