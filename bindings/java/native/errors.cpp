// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

#include <cstring>
#include <string>

#include "jvm.h"

namespace gradstep_java {

namespace {

/// Takes the exception out of the machine; its text travels with the status, and by it Failures.of() finds it again.
gradstep_status keep_exception(JNIEnv* env) {
  jthrowable thrown = env->ExceptionOccurred();
  env->ExceptionClear();
  std::string text = "a callback failed";
  const jint status = env->CallStaticIntMethod(methods().failures, methods().status, thrown);
  if (env->ExceptionCheck()) env->ExceptionClear();
  auto* kept = static_cast<jbyteArray>(env->CallStaticObjectMethod(methods().failures, methods().keep, thrown));
  if (env->ExceptionCheck()) {  // no memory or stack is left for more
    env->ExceptionClear();
  } else if (kept != nullptr) {
    const jsize length = env->GetArrayLength(kept);
    text.resize(static_cast<std::size_t>(length));
    env->GetByteArrayRegion(kept, 0, length, reinterpret_cast<jbyte*>(text.data()));
  }
  gradstep_set_last_error(text.c_str());
  return status != GRADSTEP_OK ? status : GRADSTEP_ERR_CALLBACK;
}

}  // namespace

jbyteArray to_bytes(JNIEnv* env, const char* text) {
  if (text == nullptr) return nullptr;
  const auto length = static_cast<jsize>(std::strlen(text));
  jbyteArray bytes = env->NewByteArray(length);
  if (bytes != nullptr) env->SetByteArrayRegion(bytes, 0, length, reinterpret_cast<const jbyte*>(text));
  return bytes;
}

void raise(JNIEnv* env, gradstep_status status) {
  if (env->ExceptionCheck()) return;
  jbyteArray text = to_bytes(env, gradstep_last_error());
  if (text == nullptr) return;
  jobject exception = env->CallStaticObjectMethod(methods().failures, methods().of, status, text);
  if (exception != nullptr && !env->ExceptionCheck()) env->Throw(static_cast<jthrowable>(exception));
}

gradstep_status finish(JNIEnv* env) { return env->ExceptionCheck() ? keep_exception(env) : GRADSTEP_OK; }

}  // namespace gradstep_java
