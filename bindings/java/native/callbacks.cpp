// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "callbacks.h"

#include <algorithm>
#include <vector>

#include "errors.h"
#include "jvm.h"

namespace gradstep_java {

namespace {

/// Buffers of more bytes than this are shown to Java in parts: what an int counts.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

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

void lend_callbacks(JNIEnv* env, jobject log, jobject interrupt, gradstep_context_options* options) {
  if (log != nullptr) {
    options->log = call_log;
    options->log_user = env->NewGlobalRef(log);
    options->log_release = release_object;
  }
  options->interrupt = call_interrupt;
  if (interrupt != nullptr) {
    options->interrupt_user = env->NewGlobalRef(interrupt);
    options->interrupt_release = release_object;
  }
}

gradstep_status create_communicator(JNIEnv* env, gradstep_context* context, gradstep_comm_options* options,
                                    jbyteArray id, gradstep_comm** out) {
  std::vector<char> bytes;
  if (id != nullptr) {
    bytes.resize(static_cast<std::size_t>(env->GetArrayLength(id)));
    env->GetByteArrayRegion(id, 0, static_cast<jsize>(bytes.size()), reinterpret_cast<jbyte*>(bytes.data()));
    options->id = bytes.data();
    options->id_len = bytes.size();
  }
  return gradstep_comm_create(context, options, out);
}

gradstep_status create_local_communicators(JNIEnv* env, gradstep_context* context, const gradstep_comm_options* options,
                                           jlongArray addresses) {
  const jsize world_size = env->GetArrayLength(addresses);
  std::vector<gradstep_comm*> handles(static_cast<std::size_t>(std::max(world_size, 1)));
  const gradstep_status status = gradstep_comm_create_local_ex(context, world_size, options, handles.data());
  if (status == GRADSTEP_OK) {
    for (jsize rank = 0; rank < world_size; ++rank) {
      const auto address = static_cast<jlong>(reinterpret_cast<std::intptr_t>(handles[static_cast<std::size_t>(rank)]));
      env->SetLongArrayRegion(addresses, rank, 1, &address);
    }
  }
  return status;
}

}  // namespace gradstep_java
