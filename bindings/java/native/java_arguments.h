// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Arguments of one call, made of Java objects without a copy of what tensors show.
#ifndef GRADSTEP_JAVA_JAVA_ARGUMENTS_H
#define GRADSTEP_JAVA_JAVA_ARGUMENTS_H

#include <jni.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "gradstep/gradstep.h"

namespace gradstep_java {

class TensorArgument {
 public:
  /// NULL for null.
  const gradstep_tensor* convert(JNIEnv* env, jobject tensor);

 private:
  gradstep_tensor tensor_{};
  std::array<jlong, 32> shape_;
  std::array<jlong, 32> strides_;
};

class RowsArguments {
 public:
  const gradstep_rows* convert(JNIEnv* env, jobjectArray rows);
  std::size_t size() const { return rows_.size(); }

 private:
  std::vector<gradstep_rows> rows_;
  std::vector<TensorArgument> tensors_;
};

class TextArgument {
 public:
  /// NULL for null; else the bytes and a NUL.
  const char* convert(JNIEnv* env, jbyteArray bytes);

 private:
  std::string text_;
};

class LongsArgument {
 public:
  /// NULL for null. Up to 32 numbers need no memory but the object's own.
  const int64_t* convert(JNIEnv* env, jlongArray numbers);
  std::size_t size() const { return size_; }

 private:
  std::array<jlong, 32> few_;
  std::vector<jlong> many_;
  std::size_t size_ = 0;
};

/// Room for bytes that a call writes.
class BytesResult {
 public:
  BytesResult() = default;
  ~BytesResult() { give_back(); }
  BytesResult(const BytesResult&) = delete;
  BytesResult& operator=(const BytesResult&) = delete;

  /// NULL for null.
  char* borrow(JNIEnv* env, jbyteArray bytes);
  std::size_t size() const { return size_; }
  /// Copies what was written into the array.
  void give_back();

 private:
  JNIEnv* env_ = nullptr;
  jbyteArray bytes_ = nullptr;
  jbyte* elements_ = nullptr;
  std::size_t size_ = 0;
};

class ScheduleArgument {
 public:
  enum class Owner { callee, caller };

  ScheduleArgument() = default;
  ~ScheduleArgument();
  ScheduleArgument(const ScheduleArgument&) = delete;
  ScheduleArgument& operator=(const ScheduleArgument&) = delete;

  /// NULL for null. A callee releases the function itself.
  const gradstep_schedule* convert(JNIEnv* env, jobject schedule, Owner owner);

 private:
  gradstep_schedule schedule_{};
  std::vector<jlong> boundaries_;
  std::vector<jdouble> values_;
  jobject owned_function_ = nullptr;
};

class StreamArgument {
 public:
  /// NULL for null; else the bytes of an OutputStream or InputStream, during the call.
  const gradstep_stream* over(jobject stream);

 private:
  gradstep_stream stream_{};
};

}  // namespace gradstep_java

#endif  // GRADSTEP_JAVA_JAVA_ARGUMENTS_H
