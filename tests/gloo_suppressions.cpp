// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Suppressions of ThreadSanitizer in programs whose ranks may meet over Gloo.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GRADSTEP_THREAD_SANITIZER
#endif
#elif defined(__SANITIZE_THREAD__)
#define GRADSTEP_THREAD_SANITIZER
#endif

#if defined(GRADSTEP_THREAD_SANITIZER)
// libgloo is not instrumented: an UnboundBuffer's destructor waits for libgloo's thread through a reference count that
// the sanitizer cannot see.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wreserved-identifier"  // the sanitizer's name
#endif
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions() {
  return "race:gloo::transport::tcp::UnboundBuffer::~UnboundBuffer\n"
         "race:std::default_delete<gloo::transport::UnboundBuffer>\n";
}
#endif
