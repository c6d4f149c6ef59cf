// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#ifndef GRADSTEP_JAVA_JVM_H
#define GRADSTEP_JAVA_JVM_H

#include <jni.h>

namespace gradstep_java {

/// The environment of this thread, which is attached to the virtual machine as a daemon if it is not yet one of its
/// threads; NULL where that is refused, because the machine ends.
JNIEnv* attached_env() noexcept;

/// References to local objects that end with the block: threads of gradstep's own have no Java frame that would end
/// them.
class LocalFrame {
 public:
  LocalFrame() noexcept;
  ~LocalFrame();
  LocalFrame(const LocalFrame&) = delete;
  LocalFrame& operator=(const LocalFrame&) = delete;
  /// NULL if the thread could not be attached.
  JNIEnv* env() const noexcept { return env_; }

 private:
  JNIEnv* env_;
};

/// What is called and read in Java: static methods of the classes of org.gradstep that are named here, and fields.
struct Methods {
  jclass callbacks;
  jmethodID schedule;
  jmethodID log;
  jmethodID interrupted;
  jmethodID write;
  jmethodID read;
  jmethodID store_set;
  jmethodID store_get;
  jmethodID parallel_for;
  jmethodID allocate;
  jmethodID deallocate;
  jclass collectives;
  jmethodID describe;
  jmethodID all_gather;
  jmethodID all_reduce;
  jmethodID reduce_scatter;
  jmethodID broadcast;
  jmethodID send;
  jmethodID recv;
  jmethodID send_recv;
  jmethodID exchange;
  jmethodID barrier;
  jmethodID dup;
  jmethodID abort;
  jmethodID poll;
  jclass byte_buffer;
  jclass failures;
  jmethodID of;
  jmethodID keep;
  jmethodID status;
  jfieldID tensor_address;
  jfieldID tensor_type_code;
  jfieldID tensor_bits;
  jfieldID tensor_device_type;
  jfieldID tensor_device_id;
  jfieldID tensor_shape;
  jfieldID tensor_strides;
  jfieldID rows_parameter;
  jfieldID rows_indices;
  jfieldID rows_values;
  jmethodID schedule_numbers;
  jfieldID schedule_boundaries;
  jfieldID schedule_values;
  jfieldID schedule_function;
};
const Methods& methods() noexcept;

}  // namespace gradstep_java

#endif  // GRADSTEP_JAVA_JVM_H
