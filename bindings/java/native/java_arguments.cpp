// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "java_arguments.h"

#include <algorithm>

#include "callbacks.h"
#include "jvm.h"

namespace gradstep_java {

namespace {

/// The numbers of an array of at most `most`; NULL for null.
int64_t* copy(JNIEnv* env, jobject array, jlong* numbers, jsize most) {
  if (array == nullptr) return nullptr;
  auto* longs = static_cast<jlongArray>(array);
  env->GetLongArrayRegion(longs, 0, std::min(env->GetArrayLength(longs), most), numbers);
  return reinterpret_cast<int64_t*>(numbers);
}

}  // namespace

const gradstep_tensor* TensorArgument::convert(JNIEnv* env, jobject tensor) {
  if (tensor == nullptr) return nullptr;
  const Methods& java = methods();
  jobject shape = env->GetObjectField(tensor, java.tensor_shape);
  jobject strides = env->GetObjectField(tensor, java.tensor_strides);
  tensor_.data = reinterpret_cast<void*>(static_cast<std::intptr_t>(env->GetLongField(tensor, java.tensor_address)));
  tensor_.device = {env->GetIntField(tensor, java.tensor_device_type), env->GetIntField(tensor, java.tensor_device_id)};
  tensor_.dtype = {static_cast<std::uint8_t>(env->GetIntField(tensor, java.tensor_type_code)),
                   static_cast<std::uint8_t>(env->GetIntField(tensor, java.tensor_bits)), 1};
  tensor_.ndim = env->GetArrayLength(static_cast<jlongArray>(shape));
  tensor_.shape = copy(env, shape, shape_.data(), static_cast<jsize>(shape_.size()));
  tensor_.strides = copy(env, strides, strides_.data(), static_cast<jsize>(strides_.size()));
  env->DeleteLocalRef(shape);
  env->DeleteLocalRef(strides);
  return &tensor_;
}

const gradstep_rows* RowsArguments::convert(JNIEnv* env, jobjectArray rows) {
  if (rows == nullptr) return nullptr;
  const auto n = static_cast<std::size_t>(env->GetArrayLength(rows));
  rows_.resize(n);
  tensors_.resize(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    jobject row = env->GetObjectArrayElement(rows, static_cast<jsize>(i));
    jobject indices = env->GetObjectField(row, methods().rows_indices);
    jobject values = env->GetObjectField(row, methods().rows_values);
    rows_[i].struct_size = sizeof(gradstep_rows);
    rows_[i].parameter = env->GetLongField(row, methods().rows_parameter);
    rows_[i].indices = tensors_[2 * i].convert(env, indices);
    rows_[i].values = tensors_[2 * i + 1].convert(env, values);
    env->DeleteLocalRef(row);
    env->DeleteLocalRef(indices);
    env->DeleteLocalRef(values);
  }
  return rows_.data();
}

const char* TextArgument::convert(JNIEnv* env, jbyteArray bytes) {
  if (bytes == nullptr) return nullptr;
  const jsize length = env->GetArrayLength(bytes);
  text_.resize(static_cast<std::size_t>(length));
  env->GetByteArrayRegion(bytes, 0, length, reinterpret_cast<jbyte*>(text_.data()));
  return text_.c_str();
}

const int64_t* LongsArgument::convert(JNIEnv* env, jlongArray numbers) {
  if (numbers == nullptr) return nullptr;
  const jsize length = env->GetArrayLength(numbers);
  size_ = static_cast<std::size_t>(length);
  jlong* room = few_.data();
  if (size_ > few_.size()) {
    many_.resize(size_);
    room = many_.data();
  }
  return copy(env, numbers, room, length);
}

char* BytesResult::borrow(JNIEnv* env, jbyteArray bytes) {
  if (bytes == nullptr) return nullptr;
  env_ = env;
  bytes_ = bytes;
  elements_ = env->GetByteArrayElements(bytes, nullptr);
  if (elements_ != nullptr) size_ = static_cast<std::size_t>(env->GetArrayLength(bytes));
  return reinterpret_cast<char*>(elements_);
}

void BytesResult::give_back() {
  if (elements_ != nullptr) env_->ReleaseByteArrayElements(bytes_, elements_, 0);
  elements_ = nullptr;
}

const gradstep_schedule* ScheduleArgument::convert(JNIEnv* env, jobject schedule, Owner owner) {
  if (schedule == nullptr) return nullptr;
  gradstep_schedule_init(&schedule_, sizeof schedule_);
  auto* fields = static_cast<jdoubleArray>(env->CallObjectMethod(schedule, methods().schedule_numbers));
  if (env->ExceptionCheck()) return nullptr;
  std::array<jdouble, 8> numbers{};
  env->GetDoubleArrayRegion(fields, 0, static_cast<jsize>(numbers.size()), numbers.data());
  schedule_.kind = static_cast<int32_t>(numbers[0]);
  schedule_.init_value = numbers[1];
  schedule_.end_value = numbers[2];
  schedule_.decay_steps = std::bit_cast<int64_t>(numbers[3]);
  schedule_.decay_rate = numbers[4];
  schedule_.power = numbers[5];
  schedule_.staircase = static_cast<int32_t>(numbers[6]);
  schedule_.warmup_steps = std::bit_cast<int64_t>(numbers[7]);
  if (auto* array = static_cast<jlongArray>(env->GetObjectField(schedule, methods().schedule_boundaries))) {
    boundaries_.resize(static_cast<std::size_t>(env->GetArrayLength(array)));
    schedule_.boundaries = copy(env, array, boundaries_.data(), static_cast<jsize>(boundaries_.size()));
  }
  if (auto* array = static_cast<jdoubleArray>(env->GetObjectField(schedule, methods().schedule_values))) {
    schedule_.n_points = env->GetArrayLength(array);
    values_.resize(static_cast<std::size_t>(schedule_.n_points));
    env->GetDoubleArrayRegion(array, 0, schedule_.n_points, values_.data());
    schedule_.values = values_.data();
  }
  if (jobject function = env->GetObjectField(schedule, methods().schedule_function)) {
    jobject kept = env->NewGlobalRef(function);
    schedule_.function = call_schedule;
    schedule_.user = kept;
    if (owner == Owner::callee) {
      schedule_.release = release_object;
    } else {
      owned_function_ = kept;
    }
  }
  return &schedule_;
}

ScheduleArgument::~ScheduleArgument() { release_object(owned_function_); }

const gradstep_stream* StreamArgument::over(jobject stream) {
  if (stream == nullptr) return nullptr;
  stream_.struct_size = sizeof stream_;
  stream_.user = stream;
  stream_.write = write_to_stream;
  stream_.read = read_from_stream;
  return &stream_;
}

}  // namespace gradstep_java
