// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The headers that printed programs are compiled with, as texts: cuda/CMakeLists.txt lists them.
#pragma once

#include <span>

namespace gradstep::cuda {

struct SourceHeader {
  const char* name;  ///< as `#include` names it
  const char* text;
};

std::span<const SourceHeader> source_headers();

}  // namespace gradstep::cuda
