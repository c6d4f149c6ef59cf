// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Collectives of a Java object. Buffers are lent as direct ByteBuffers, which dangle when the method has returned: the
// interface forbids to keep them.
#include "host_communicator.h"

#include <array>
#include <cstdint>
#include <limits>
#include <memory>

#include "callbacks.h"
#include "errors.h"
#include "jvm.h"

namespace gradstep_java {

namespace {

struct HostCollectives {
  jobject object;
  std::int32_t rank;
  std::int32_t world_size;
};

/// The Java side of one call of a vtable.
class HostCall {
 public:
  explicit HostCall(void* user) : collectives_(static_cast<HostCollectives*>(user)), env_(frame_.env()) {}

  /// A direct buffer, or null with a Java exception. The memory of what is only sent is not written to: Java gets a
  /// read-only view.
  jobject lend(const void* data, std::int64_t bytes) {
    static char nothing = 0;
    if (env_ == nullptr || env_->ExceptionCheck()) return nullptr;
    if (bytes > std::numeric_limits<std::int32_t>::max()) {
      jclass type = env_->FindClass("java/lang/UnsupportedOperationException");
      if (type != nullptr) env_->ThrowNew(type, "a message of 2 GiB or more does not fit into a ByteBuffer");
      return nullptr;
    }
    return env_->NewDirectByteBuffer(data != nullptr ? const_cast<void*>(data) : &nothing, static_cast<jlong>(bytes));
  }

  /// An array of as many buffers as there are ranks: null for this rank's own, and for what has no bytes.
  template <class Pointer>
  jobjectArray lend_all(const Pointer* data, const std::int64_t* bytes) {
    if (env_ == nullptr || env_->ExceptionCheck()) return nullptr;
    jobjectArray buffers = env_->NewObjectArray(collectives_->world_size, methods().byte_buffer, nullptr);
    for (std::int32_t peer = 0; buffers != nullptr && peer < collectives_->world_size; ++peer) {
      if (peer == collectives_->rank || bytes[peer] == 0) continue;
      jobject buffer = lend(data[peer], bytes[peer]);
      if (buffer == nullptr) return nullptr;
      env_->SetObjectArrayElement(buffers, peer, buffer);
      env_->DeleteLocalRef(buffer);
    }
    return buffers;
  }

  template <class... Arguments>
  gradstep_status run(jmethodID method, Arguments... arguments) {
    if (env_ == nullptr) return GRADSTEP_ERR_CALLBACK;
    if (!env_->ExceptionCheck()) {
      env_->CallStaticVoidMethod(methods().collectives, method, collectives_->object, arguments...);
    }
    return finish(env_);
  }

  JNIEnv* env() const { return env_; }
  const HostCollectives& collectives() const { return *collectives_; }

 private:
  const LocalFrame frame_;
  const HostCollectives* collectives_;
  JNIEnv* env_;
};

gradstep_status all_gather(void* user, const void* send, void* receive, std::int64_t bytes, void* /*stream*/,
                           std::int64_t timeout_ms) {
  HostCall call(user);
  jobject input = call.lend(send, bytes);
  jobject output = call.lend(receive, bytes * call.collectives().world_size);
  return call.run(methods().all_gather, input, output, static_cast<jlong>(timeout_ms));
}

gradstep_status all_reduce(void* user, void* data, std::int64_t count, std::int32_t type_code, std::int32_t bits,
                           std::int32_t op, void* /*stream*/, std::int64_t timeout_ms) {
  HostCall call(user);
  jobject buffer = call.lend(data, count * (bits / 8));
  return call.run(methods().all_reduce, buffer, static_cast<jint>(type_code), static_cast<jint>(bits),
                  static_cast<jint>(op), static_cast<jlong>(timeout_ms));
}

gradstep_status reduce_scatter(void* user, const void* send, void* receive, std::int64_t count, std::int32_t type_code,
                               std::int32_t bits, std::int32_t op, void* /*stream*/, std::int64_t timeout_ms) {
  HostCall call(user);
  const std::int64_t bytes = count * (bits / 8);
  jobject input = call.lend(send, bytes * call.collectives().world_size);
  jobject output = call.lend(receive, bytes);
  return call.run(methods().reduce_scatter, input, output, static_cast<jint>(type_code), static_cast<jint>(bits),
                  static_cast<jint>(op), static_cast<jlong>(timeout_ms));
}

gradstep_status broadcast(void* user, void* data, std::int64_t bytes, std::int32_t root, void* /*stream*/,
                          std::int64_t timeout_ms) {
  HostCall call(user);
  jobject buffer = call.lend(data, bytes);
  return call.run(methods().broadcast, buffer, static_cast<jint>(root), static_cast<jlong>(timeout_ms));
}

gradstep_status send(void* user, const void* data, std::int64_t bytes, std::int32_t to, void* /*stream*/,
                     std::int64_t timeout_ms) {
  HostCall call(user);
  jobject buffer = call.lend(data, bytes);
  return call.run(methods().send, buffer, static_cast<jint>(to), static_cast<jlong>(timeout_ms));
}

gradstep_status recv(void* user, void* data, std::int64_t bytes, std::int32_t from, void* /*stream*/,
                     std::int64_t timeout_ms) {
  HostCall call(user);
  jobject buffer = call.lend(data, bytes);
  return call.run(methods().recv, buffer, static_cast<jint>(from), static_cast<jlong>(timeout_ms));
}

gradstep_status send_recv(void* user, const void* outgoing, std::int64_t send_bytes, std::int32_t to, void* incoming,
                          std::int64_t receive_bytes, std::int32_t from, void* /*stream*/, std::int64_t timeout_ms) {
  HostCall call(user);
  jobject output = call.lend(outgoing, send_bytes);
  jobject input = call.lend(incoming, receive_bytes);
  return call.run(methods().send_recv, output, static_cast<jint>(to), input, static_cast<jint>(from),
                  static_cast<jlong>(timeout_ms));
}

gradstep_status exchange(void* user, const void* const* outgoing, const std::int64_t* send_bytes, void* const* incoming,
                         const std::int64_t* receive_bytes, void* /*stream*/, std::int64_t timeout_ms) {
  HostCall call(user);
  jobjectArray output = call.lend_all(outgoing, send_bytes);
  jobjectArray input = call.lend_all(incoming, receive_bytes);
  return call.run(methods().exchange, output, input, static_cast<jlong>(timeout_ms));
}

gradstep_status barrier(void* user, void* /*stream*/, std::int64_t timeout_ms) {
  return HostCall(user).run(methods().barrier, static_cast<jlong>(timeout_ms));
}

gradstep_status poll(void* user) { return HostCall(user).run(methods().poll); }

void abort_calls(void* user) {
  const HostCall call(user);
  if (call.env() == nullptr) return;
  call.env()->CallStaticVoidMethod(methods().collectives, methods().abort, call.collectives().object);
  call.env()->ExceptionClear();  // CollectiveCallbacks.abort has handed it to the thread's handler
}

void release_collectives(void* user) {
  const std::unique_ptr<HostCollectives> collectives(static_cast<HostCollectives*>(user));
  release_object(collectives->object);
}

gradstep_status dup(void* user, std::int64_t timeout_ms, gradstep_comm_vtable* out, void** out_user);

/// `function` if bit `index` of what the class overrides is set, else NULL. The bits are
/// CollectiveCallbacks.OPTIONAL's.
template <class Function>
Function* if_offered(jint offered, int index, Function* function) {
  return (offered >> index & 1) != 0 ? function : nullptr;
}

/// What the object offers, with a user that owns a reference to it; NULL with a Java exception if it cannot be asked.
std::unique_ptr<HostCollectives> lend(JNIEnv* env, jobject object, gradstep_comm_vtable* table) {
  std::array<jint, 5> facts{};  // rank, world size, any_thread, rank_ordered, what is offered
  auto* array = static_cast<jintArray>(env->CallStaticObjectMethod(methods().collectives, methods().describe, object));
  if (env->ExceptionCheck()) return nullptr;
  env->GetIntArrayRegion(array, 0, static_cast<jsize>(facts.size()), facts.data());
  const jint offered = facts[4];
  table->rank = facts[0];
  table->world_size = facts[1];
  table->any_thread = facts[2];
  table->rank_ordered = facts[3];
  table->all_gather = all_gather;
  table->all_reduce = if_offered(offered, 0, all_reduce);
  table->reduce_scatter = if_offered(offered, 1, reduce_scatter);
  table->broadcast = if_offered(offered, 2, broadcast);
  table->send = if_offered(offered, 3, send);
  table->recv = if_offered(offered, 4, recv);
  table->send_recv = if_offered(offered, 5, send_recv);
  table->exchange = if_offered(offered, 6, exchange);
  table->barrier = if_offered(offered, 7, barrier);
  table->dup = if_offered(offered, 8, dup);
  table->abort = if_offered(offered, 9, abort_calls);
  table->poll = if_offered(offered, 10, poll);
  table->release = release_collectives;
  return std::make_unique<HostCollectives>(HostCollectives{env->NewGlobalRef(object), table->rank, table->world_size});
}

gradstep_status dup(void* user, std::int64_t timeout_ms, gradstep_comm_vtable* out, void** out_user) {
  const HostCall call(user);
  JNIEnv* env = call.env();
  if (env == nullptr) return GRADSTEP_ERR_CALLBACK;
  jobject copy = env->CallStaticObjectMethod(methods().collectives, methods().dup, call.collectives().object,
                                             static_cast<jlong>(timeout_ms));
  if (!env->ExceptionCheck()) {
    if (auto lent = lend(env, copy, out)) *out_user = lent.release();
  }
  return finish(env);
}

}  // namespace

gradstep_status create_host_communicator(JNIEnv* env, gradstep_context* context, jobject collectives,
                                         const gradstep_comm_options* options, gradstep_comm** out) {
  gradstep_comm_vtable table{};
  table.struct_size = sizeof table;
  std::unique_ptr<HostCollectives> lent = lend(env, collectives, &table);
  if (!lent) return GRADSTEP_ERR_CALLBACK;  // raise() leaves the exception that is there in its place
  return gradstep_comm_create_host_ex(context, &table, lent.release(), options, out);
}

}  // namespace gradstep_java
