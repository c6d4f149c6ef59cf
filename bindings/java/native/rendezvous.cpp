// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous.h"

#include <algorithm>
#include <vector>

#include "callbacks.h"
#include "errors.h"
#include "gradstep/rendezvous.h"
#include "jvm.h"

namespace gradstep_java {

namespace {

gradstep_status store_set(void* user, const char* key, const void* data, std::size_t len) {
  const LocalFrame frame;
  JNIEnv* env = frame.env();
  if (env == nullptr) return GRADSTEP_ERR_CALLBACK;
  jbyteArray name = to_bytes(env, key);
  jbyteArray value = name != nullptr ? env->NewByteArray(static_cast<jsize>(len)) : nullptr;
  if (value != nullptr) {
    env->SetByteArrayRegion(value, 0, static_cast<jsize>(len), static_cast<const jbyte*>(data));
    env->CallStaticVoidMethod(methods().callbacks, methods().store_set, static_cast<jobject>(user), name, value);
  }
  return finish(env);
}

gradstep_status store_get(void* user, const char* key, void* data, std::size_t* len, std::int64_t timeout_ms) {
  const LocalFrame frame;
  JNIEnv* env = frame.env();
  if (env == nullptr) return GRADSTEP_ERR_CALLBACK;
  jbyteArray name = to_bytes(env, key);
  jbyteArray value = nullptr;
  if (name != nullptr) {
    value = static_cast<jbyteArray>(env->CallStaticObjectMethod(
        methods().callbacks, methods().store_get, static_cast<jobject>(user), name, static_cast<jlong>(timeout_ms)));
  }
  const gradstep_status status = finish(env);
  if (status != GRADSTEP_OK) return status;
  const jsize size = env->GetArrayLength(value);
  const bool fits = static_cast<std::size_t>(size) <= *len;
  if (fits) env->GetByteArrayRegion(value, 0, size, static_cast<jbyte*>(data));
  *len = static_cast<std::size_t>(size);
  return fits ? GRADSTEP_OK : GRADSTEP_ERR_INVALID_ARGUMENT;
}

/// Calls call() when `options` has them.
template <class Call>
gradstep_status with_rendezvous(JNIEnv* env, gradstep_comm_options* options, jbyteArray id, jobject store, Call call) {
  std::vector<char> bytes;
  if (id != nullptr) {
    bytes.resize(static_cast<std::size_t>(env->GetArrayLength(id)));
    env->GetByteArrayRegion(id, 0, static_cast<jsize>(bytes.size()), reinterpret_cast<jbyte*>(bytes.data()));
    options->id = bytes.data();
    options->id_len = bytes.size();
  }
  gradstep_store table{};
  if (store != nullptr) {
    table = {sizeof table, 0, env->NewGlobalRef(store), store_set, store_get, release_object};
    options->store = &table;
  }
  return call();
}

}  // namespace

gradstep_status create_communicator(JNIEnv* env, gradstep_context* context, gradstep_comm_options* options,
                                    jbyteArray id, jobject store, gradstep_comm** out) {
  return with_rendezvous(env, options, id, store, [&] { return gradstep_comm_create(context, options, out); });
}

gradstep_status count_newcomers(JNIEnv* env, gradstep_comm* comm, gradstep_comm_options* options, jbyteArray id,
                                jobject store, int32_t* pending) {
  return with_rendezvous(env, options, id, store, [&] { return gradstep_rendezvous_pending(comm, options, pending); });
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
