// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Stands in for a library with NVTX's ranges: keeps the ranges as "push name;" and "pop;".
#include <string>

namespace {
std::string said;  // NOLINT(cert-err58-cpp): an empty string does not throw
}

extern "C" {

int nvtxRangePushA(const char* name) {
  said += std::string("push ") + name + ";";
  return 0;
}

int nvtxRangePop() {
  said += "pop;";
  return 0;
}

const char* fake_nvtx_said() { return said.c_str(); }
}
