// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "jvm.h"

namespace gradstep_java {

namespace {

JavaVM* machine = nullptr;
Methods found{};

/// Detaches a thread of gradstep's own when it ends.
struct Attachment {
  bool attached = false;
  ~Attachment() {
    if (attached) machine->DetachCurrentThread();
  }
};
thread_local Attachment attachment;

// Looks members up until one is missing; the machine then throws what says which.
class Lookup {
 public:
  explicit Lookup(JNIEnv* env) : env_(env) {}

  jclass type(const char* name) {
    if (env_->ExceptionCheck()) return nullptr;
    type_ = env_->FindClass(name);
    if (type_ != nullptr) type_ = static_cast<jclass>(env_->NewGlobalRef(type_));
    return type_;
  }
  jmethodID function(const char* name, const char* signature) {
    return env_->ExceptionCheck() ? nullptr : env_->GetStaticMethodID(type_, name, signature);
  }
  jmethodID method(const char* name, const char* signature) {
    return env_->ExceptionCheck() ? nullptr : env_->GetMethodID(type_, name, signature);
  }
  jfieldID field(const char* name, const char* signature) {
    return env_->ExceptionCheck() ? nullptr : env_->GetFieldID(type_, name, signature);
  }

 private:
  JNIEnv* env_;
  jclass type_ = nullptr;
};

void look_up_collectives(Lookup& in) {
  found.collectives = in.type("org/gradstep/CollectiveCallbacks");
  found.describe = in.function("describe", "(Ljava/lang/Object;)[I");
  found.all_gather = in.function("allGather", "(Ljava/lang/Object;Ljava/nio/ByteBuffer;Ljava/nio/ByteBuffer;J)V");
  found.all_reduce = in.function("allReduce", "(Ljava/lang/Object;Ljava/nio/ByteBuffer;IIIJ)V");
  found.reduce_scatter =
      in.function("reduceScatter", "(Ljava/lang/Object;Ljava/nio/ByteBuffer;Ljava/nio/ByteBuffer;IIIJ)V");
  found.broadcast = in.function("broadcast", "(Ljava/lang/Object;Ljava/nio/ByteBuffer;IJ)V");
  found.send = in.function("send", "(Ljava/lang/Object;Ljava/nio/ByteBuffer;IJ)V");
  found.recv = in.function("recv", "(Ljava/lang/Object;Ljava/nio/ByteBuffer;IJ)V");
  found.send_recv = in.function("sendRecv", "(Ljava/lang/Object;Ljava/nio/ByteBuffer;ILjava/nio/ByteBuffer;IJ)V");
  found.exchange = in.function("exchange", "(Ljava/lang/Object;[Ljava/nio/ByteBuffer;[Ljava/nio/ByteBuffer;J)V");
  found.barrier = in.function("barrier", "(Ljava/lang/Object;J)V");
  found.dup = in.function("dup", "(Ljava/lang/Object;J)Ljava/lang/Object;");
  found.abort = in.function("abort", "(Ljava/lang/Object;)V");
  found.poll = in.function("poll", "(Ljava/lang/Object;)V");
}

void look_up_methods(JNIEnv* env) {
  Lookup in(env);
  found.callbacks = in.type("org/gradstep/Callbacks");
  found.schedule = in.function("schedule", "(Ljava/lang/Object;J)D");
  found.log = in.function("log", "(Ljava/lang/Object;I[B)V");
  found.interrupted = in.function("interrupted", "(Ljava/lang/Object;)Z");
  found.write = in.function("write", "(Ljava/lang/Object;Ljava/nio/ByteBuffer;)V");
  found.read = in.function("read", "(Ljava/lang/Object;Ljava/nio/ByteBuffer;)I");
  found.store_set = in.function("storeSet", "(Ljava/lang/Object;[B[B)V");
  found.store_get = in.function("storeGet", "(Ljava/lang/Object;[BJ)[B");
  found.parallel_for = in.function("parallelFor", "(Ljava/lang/Object;JJJ)V");
  found.allocate = in.function("allocate", "(Ljava/lang/Object;JJII)J");
  found.deallocate = in.function("deallocate", "(Ljava/lang/Object;JJJII)V");
  look_up_collectives(in);
  found.byte_buffer = in.type("java/nio/ByteBuffer");
  found.failures = in.type("org/gradstep/Failures");
  found.of = in.function("of", "(I[B)Ljava/lang/RuntimeException;");
  found.keep = in.function("keep", "(Ljava/lang/Throwable;)[B");
  found.status = in.function("status", "(Ljava/lang/Throwable;)I");
  in.type("org/gradstep/Tensor");
  found.tensor_address = in.field("address", "J");
  found.tensor_type_code = in.field("typeCode", "I");
  found.tensor_bits = in.field("bits", "I");
  found.tensor_device_type = in.field("deviceType", "I");
  found.tensor_device_id = in.field("deviceId", "I");
  found.tensor_shape = in.field("shape", "[J");
  found.tensor_strides = in.field("strides", "[J");
  in.type("org/gradstep/Rows");
  found.rows_parameter = in.field("parameter", "J");
  found.rows_indices = in.field("indices", "Lorg/gradstep/Tensor;");
  found.rows_values = in.field("values", "Lorg/gradstep/Tensor;");
  in.type("org/gradstep/Schedule");
  found.schedule_numbers = in.method("numbers", "()[D");
  found.schedule_boundaries = in.field("boundaries", "[J");
  found.schedule_values = in.field("values", "[D");
  found.schedule_function = in.field("function", "Ljava/util/function/LongToDoubleFunction;");
}

}  // namespace

const Methods& methods() noexcept { return found; }

JNIEnv* attached_env() noexcept {
  void* env = nullptr;
  if (machine->GetEnv(&env, JNI_VERSION_10) == JNI_OK) return static_cast<JNIEnv*>(env);
  if (machine->AttachCurrentThreadAsDaemon(&env, nullptr) != JNI_OK) return nullptr;
  attachment.attached = true;
  return static_cast<JNIEnv*>(env);
}

LocalFrame::LocalFrame() noexcept : env_(attached_env()) {
  constexpr jint kMostReferences = 16;
  if (env_ != nullptr && env_->PushLocalFrame(kMostReferences) != 0) {
    env_->ExceptionClear();
    env_ = nullptr;
  }
}

LocalFrame::~LocalFrame() {
  if (env_ != nullptr) env_->PopLocalFrame(nullptr);
}

}  // namespace gradstep_java

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void* /*reserved*/) {
  void* env = nullptr;
  if (vm->GetEnv(&env, JNI_VERSION_10) != JNI_OK) return JNI_ERR;
  gradstep_java::machine = vm;
  gradstep_java::look_up_methods(static_cast<JNIEnv*>(env));
  return JNI_VERSION_10;
}
