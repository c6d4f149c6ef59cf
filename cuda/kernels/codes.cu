// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "device/codes.h"

#include "operations.h"
#include "runtime/launch.h"

namespace gradstep::cuda {

namespace {

/// A warp has a block of codes.
struct Code {
  static constexpr int kThreads = 256;
  static constexpr bool kWaits = true;

  CodedNumbers numbers;

  /// body(first number, how many) for the block of codes that is a warp's.
  template <class Body>
  GRADSTEP_DEVICE void for_block(const Block& block, Body body) const {
    const std::int64_t first = (block.index() * (kThreads / kWarp) + block.thread() / kWarp) * kernels::kCodeBlock;
    const std::int64_t left = numbers.count - first;
    if (left > 0) body(first, left < kernels::kCodeBlock ? left : kernels::kCodeBlock);
  }
};

struct Encode : Code {
  static constexpr const char* kName = "encode";
  const float* from;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    for_block(block, [&](std::int64_t first, std::int64_t count) {
      float x[kOwn] = {};
      for_each_own(block.thread() % kWarp, count, [&](int k, std::int64_t i) { x[k] = block.load(from + first + i); });
      encode_block(block, numbers.is_signed, x, count, numbers.codes + first,
                   numbers.factors + first / kernels::kCodeBlock);
    });
  }
};

struct Decode : Code {
  static constexpr const char* kName = "decode";
  static constexpr bool kWaits = false;
  float* to;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    for_block(block, [&](std::int64_t first, std::int64_t count) {
      float x[kOwn] = {};
      decode_block(block, numbers.is_signed, numbers.codes + first, numbers.factors + first / kernels::kCodeBlock,
                   count, x);
      for_each_own(block.thread() % kWarp, count, [&](int k, std::int64_t i) { block.store(to + first + i, x[k]); });
    });
  }
};

/// Numbers of a block of threads.
constexpr std::int64_t kNumbers = Code::kThreads / kWarp * kernels::kCodeBlock;

}  // namespace

void encode(const float* from, const CodedNumbers& to, CudaQueue& queue) {
  launch(queue, parts_of(to.count, kNumbers), Encode{{to}, from});
}

void decode(const CodedNumbers& from, float* to, CudaQueue& queue) {
  launch(queue, parts_of(from.count, kNumbers), Decode{{from}, to});
}

}  // namespace gradstep::cuda
