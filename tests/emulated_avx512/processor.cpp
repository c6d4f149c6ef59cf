// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A processor that says of itself what the real one does, and that it has AVX-512 where there are AVX2 and FMA.
#define processor detected_processor
#include "../../src/cpu/processor.cpp"
#undef processor

namespace gradstep::cpu {

const Processor& processor();

const Processor& processor() {
  static const Processor kProcessor = [] {
    Processor answer = detected_processor();
    answer.has_avx512 = answer.has_avx2 && answer.has_fma;
    return answer;
  }();
  return kProcessor;
}

}  // namespace gradstep::cpu
