// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "callbacks.h"

#include <algorithm>

#include "errors.h"
#include "jvm.h"

namespace gradstep_java {

namespace {

/// Buffers of more bytes than this are shown to Java in parts: what an int counts.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

}  // namespace

void release_object(void* object) {
  if (object == nullptr) return;
  if (JNIEnv* env = attached_env()) env->DeleteGlobalRef(static_cast<jobject>(object));
}

gradstep_status call_schedule(void* user, std::int64_t step, double* value) {
  const LocalFrame frame;
  JNIEnv* env = frame.env();
  if (env == nullptr) return GRADSTEP_ERR_CALLBACK;
  *value = env->CallStaticDoubleMethod(methods().callbacks, methods().schedule, static_cast<jobject>(user),
                                       static_cast<jlong>(step));
  return finish(env);
}

gradstep_status write_to_stream(void* user, const void* data, std::size_t size) {
  const auto* rest = static_cast<const char*>(data);
  while (size > 0) {
    const LocalFrame frame;
    JNIEnv* env = frame.env();
    if (env == nullptr) return GRADSTEP_ERR_CALLBACK;
    const std::size_t part = std::min(size, kMostBytes);
    jobject buffer = env->NewDirectByteBuffer(const_cast<char*>(rest), static_cast<jlong>(part));
    if (buffer != nullptr) {
      env->CallStaticVoidMethod(methods().callbacks, methods().write, static_cast<jobject>(user), buffer);
    }
    const gradstep_status status = finish(env);
    if (status != GRADSTEP_OK) return status;
    rest += part;
    size -= part;
  }
  return GRADSTEP_OK;
}

gradstep_status read_from_stream(void* user, void* data, std::size_t size, std::size_t* got) {
  const LocalFrame frame;
  JNIEnv* env = frame.env();
  if (env == nullptr) return GRADSTEP_ERR_CALLBACK;
  jobject buffer = env->NewDirectByteBuffer(data, static_cast<jlong>(std::min(size, kMostBytes)));
  jint taken = 0;
  if (buffer != nullptr) {
    taken = env->CallStaticIntMethod(methods().callbacks, methods().read, static_cast<jobject>(user), buffer);
  }
  const gradstep_status status = finish(env);
  if (status == GRADSTEP_OK) *got = static_cast<std::size_t>(taken);
  return status;
}

}  // namespace gradstep_java
