// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "context_services.h"

#include <cstdint>

#include "callbacks.h"
#include "errors.h"
#include "jvm.h"

namespace gradstep_java {

namespace {

jlong to_java(const void* pointer) { return static_cast<jlong>(reinterpret_cast<std::intptr_t>(pointer)); }

void call_log(void* log, std::int32_t level, const char* text) {
  const LocalFrame frame;
  JNIEnv* env = frame.env();
  if (env == nullptr) return;
  jbyteArray bytes = to_bytes(env, text);
  if (bytes != nullptr) {
    env->CallStaticVoidMethod(methods().callbacks, methods().log, static_cast<jobject>(log), level, bytes);
  }
  env->ExceptionClear();  // Callbacks.log has handed it to the thread's handler
}

std::int32_t call_interrupt(void* interrupt) {
  const LocalFrame frame;
  JNIEnv* env = frame.env();
  if (env == nullptr) return 0;
  const jboolean stop =
      env->CallStaticBooleanMethod(methods().callbacks, methods().interrupted, static_cast<jobject>(interrupt));
  return finish(env) != GRADSTEP_OK || stop != JNI_FALSE ? 1 : 0;
}

gradstep_status run_in_parallel(void* user, std::int64_t n, void (*body)(void* body_user, std::int64_t i),
                                void* body_user) {
  const LocalFrame frame;
  JNIEnv* env = frame.env();
  if (env == nullptr) return GRADSTEP_ERR_CALLBACK;
  env->CallStaticVoidMethod(methods().callbacks, methods().parallel_for, static_cast<jobject>(user),
                            static_cast<jlong>(n), to_java(reinterpret_cast<const void*>(body)), to_java(body_user));
  return finish(env);
}

void* allocate(void* user, std::size_t bytes, std::size_t alignment, std::int32_t device_type, std::int32_t device_id,
               void* /*stream*/) {
  const LocalFrame frame;
  JNIEnv* env = frame.env();
  if (env == nullptr) return nullptr;
  const jlong address = env->CallStaticLongMethod(methods().callbacks, methods().allocate, static_cast<jobject>(user),
                                                  static_cast<jlong>(bytes), static_cast<jlong>(alignment),
                                                  static_cast<jint>(device_type), static_cast<jint>(device_id));
  if (env->ExceptionCheck()) {  // Callbacks.allocate hands what is thrown to the thread's handler: that has thrown, too
    env->ExceptionClear();
    return nullptr;
  }
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(address));
}

void deallocate(void* user, void* data, std::size_t bytes, std::size_t alignment, std::int32_t device_type,
                std::int32_t device_id, void* /*stream*/) {
  const LocalFrame frame;
  JNIEnv* env = frame.env();
  if (env == nullptr) return;
  env->CallStaticVoidMethod(methods().callbacks, methods().deallocate, static_cast<jobject>(user), to_java(data),
                            static_cast<jlong>(bytes), static_cast<jlong>(alignment), static_cast<jint>(device_type),
                            static_cast<jint>(device_id));
  env->ExceptionClear();
}

}  // namespace

gradstep_status create_context(JNIEnv* env, gradstep_context_options* options, const ContextServices& services,
                               gradstep_context** out) {
  gradstep_allocator allocator{};
  if (services.log != nullptr) {
    options->log = call_log;
    options->log_user = env->NewGlobalRef(services.log);
    options->log_release = release_object;
  }
  options->interrupt = call_interrupt;
  if (services.interrupt != nullptr) {
    options->interrupt_user = env->NewGlobalRef(services.interrupt);
    options->interrupt_release = release_object;
  }
  if (services.parallel_for != nullptr) {
    options->parallel_for = run_in_parallel;
    options->parallel_for_user = env->NewGlobalRef(services.parallel_for);
    options->parallel_for_release = release_object;
  }
  if (services.allocator != nullptr) {
    allocator = {sizeof allocator, 0, env->NewGlobalRef(services.allocator), allocate, deallocate, release_object};
    options->allocator = &allocator;
  }
  return gradstep_context_create(options, out);
}

}  // namespace gradstep_java
