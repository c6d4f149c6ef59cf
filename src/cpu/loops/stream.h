// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Writing blocks that nothing was read from: by ordinary stores, or around the cache by streaming stores, which spare
// the memory bus the reading of lines that are overwritten whole.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "cpu/loops/block.h"

namespace gradstep::cpu {
namespace {

template <class T>
GRADSTEP_FORMULA void copy_block(T* to, const T* from, std::int64_t count) {
  if (to != from) __builtin_memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
}

#if defined(__SSE2__)

#if defined(__AVX512F__)
constexpr std::int64_t kStreamBytes = 64;
GRADSTEP_FORMULA void stream_vector(char* to, const char* from) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
}
#elif defined(__AVX__)
constexpr std::int64_t kStreamBytes = 32;
GRADSTEP_FORMULA void stream_vector(char* to, const char* from) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
#else
constexpr std::int64_t kStreamBytes = 16;
GRADSTEP_FORMULA void stream_vector(char* to, const char* from) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
#endif

/// copy_block around the cache. Call stream_fence before another thread may read.
template <class T>
[[gnu::noinline]] void stream_block(T* to, const T* from, std::int64_t count) {
  char* target = reinterpret_cast<char*>(to);
  const char* source = reinterpret_cast<const char*>(from);
  const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t past_boundary = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(target) % kStreamBytes);
  const std::int64_t head = past_boundary == 0 ? 0 : smaller(bytes, kStreamBytes - past_boundary);
  std::int64_t done = head;
  if (head > 0) __builtin_memcpy(target, source, static_cast<std::size_t>(head));
  for (; done + kStreamBytes <= bytes; done += kStreamBytes) stream_vector(target + done, source + done);
  if (done < bytes) __builtin_memcpy(target + done, source + done, static_cast<std::size_t>(bytes - done));
}

GRADSTEP_FORMULA void stream_fence() { _mm_sfence(); }

#else

template <class T>
[[gnu::noinline]] void stream_block(T* to, const T* from, std::int64_t count) {
  copy_block(to, from, count);
}

GRADSTEP_FORMULA void stream_fence() {}

#endif

}  // namespace
}  // namespace gradstep::cpu
