// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How arguments of the C API look in Java. Everything generated is private to the package: handles, arrays of tensors
// and streams are addresses (long), results come back as the long of a call, and the classes written by hand make types
// of them. Typemaps go by the names of arguments, which the headers keep consistent.
%{
#include "callbacks.h"
#include "context_services.h"
#include "errors.h"
#include "host_communicator.h"
#include "java_arguments.h"
#include "rendezvous.h"
%}

%include "enumsimple.swg"
%javaconst(1);

%pragma(java) moduleclassmodifiers="final class"
%pragma(java) jniclassclassmodifiers="final class"
%pragma(java) jniclasscode=%{
  static {
    NativeLibrary.load();
  }
%}
// Structs are for the time of a call: options are written into one, results are copied into records of Java's. The memory
// goes when the object is no longer reachable, which every call takes along.
%typemap(javaclassmodifiers) SWIGTYPE "final class"
%typemap(javabody) SWIGTYPE %{
  private final transient long swigCPtr;

  $javaclassname(long cPtr, boolean cMemoryOwn) {
    swigCPtr = cPtr;
    if (cMemoryOwn) {
      Handle.CLEANER.register(this, () -> coreJNI.delete_$javaclassname(cPtr));
    }
  }

  static long getCPtr($javaclassname struct) {
    return struct == null ? 0 : struct.swigCPtr;
  }
%}
%typemap(javafinalize) SWIGTYPE ""
%typemap(javadestruct) SWIGTYPE ""
%rename("%(lowercamelcase)s", %$isvariable, %$ismember) "";
%ignore struct_size;
%rename("$ignore", %$isvariable, %$ismember, regextarget=1) "^reserved";
%rename(AccumulatorOptionsStruct) gradstep_accumulator_options;
%rename(BucketStatisticsStruct) gradstep_bucket_statistics;
%rename(CommunicatorOptionsStruct) gradstep_comm_options;
%rename(CommunicatorStatisticsStruct) gradstep_comm_statistics;
%rename(CostOptionsStruct) gradstep_cost_options;
%rename(CostStruct) gradstep_cost;
%rename(LoadOptionsStruct) gradstep_load_options;
%rename(OptimizerMemoryStruct) gradstep_memory;
%rename(MetricStruct) gradstep_metric;
%rename(ReducerOptionsStruct) gradstep_reducer_options;
%rename(RuleOptionStruct) gradstep_rule_option;
%rename(RuleStruct) gradstep_rule;
%rename(ShampooOptionsStruct) gradstep_shampoo_options;
%rename(ShardingOptionsStruct) gradstep_sharding_options;
%rename(UpdaterOptionsStruct) gradstep_updater_options;
%rename(UpdaterStatisticsStruct) gradstep_updater_statistics;

// Addresses.
%define %address(TYPE...)
%typemap(jni) TYPE "jlong"
%typemap(jtype, nopgcpp="1") TYPE "long"
%typemap(jstype) TYPE "long"
%typemap(javain) TYPE "$javainput"
%typemap(javaout) TYPE { return $jnicall; }
%typemap(in) TYPE "$1 = reinterpret_cast<$1_ltype>(static_cast<std::intptr_t>($input));"
%typemap(out) TYPE "$result = static_cast<jlong>(reinterpret_cast<std::intptr_t>($1));"
%enddef
%define %handle(TYPE)
%address(TYPE*)
%typemap(in, numinputs=0) TYPE** out (TYPE* handle = nullptr) "$1 = &handle;"
%typemap(argout) TYPE** out "$result = static_cast<jlong>(reinterpret_cast<std::intptr_t>(*$1));"
%enddef
%handle(gradstep_accumulator)
%handle(gradstep_comm)
%handle(gradstep_context)
%handle(gradstep_optimizer)
%handle(gradstep_parameter_list)
%handle(gradstep_reducer)
%handle(gradstep_tensor_list)
%handle(gradstep_updater)
%address(gradstep_tensor*)
%address(const gradstep_tensor*)
%address(const gradstep_parameter*)
%address(const gradstep_tensor_list*)
%address(const gradstep_parameter_list*)
%address(void*)
%address(const void*)
// A C `long` is an int there by SWIG's rules.
%apply long long { int64_t, uint64_t };

// One tensor: the Java object that describes it.
%define %tensor_argument(NAME)
%typemap(jni) const gradstep_tensor* NAME "jobject"
%typemap(jtype) const gradstep_tensor* NAME "Tensor"
%typemap(jstype) const gradstep_tensor* NAME "Tensor"
%typemap(javain) const gradstep_tensor* NAME "Tensor.alive($javainput, \"$1_name\")"
%typemap(in) const gradstep_tensor* NAME (gradstep_java::TensorArgument tensor) {
  $1 = const_cast<$1_ltype>(tensor.convert(jenv, $input));
}
%enddef
%tensor_argument(tensor)
%tensor_argument(source)
%tensor_argument(value)
%tensor_argument(input)
%tensor_argument(output)
%tensor_argument(grad)

%typemap(jni) (const gradstep_rows* rows, size_t n_rows) "jobjectArray"
%typemap(jtype) (const gradstep_rows* rows, size_t n_rows) "Rows[]"
%typemap(jstype) (const gradstep_rows* rows, size_t n_rows) "Rows[]"
%typemap(javain) (const gradstep_rows* rows, size_t n_rows) "$javainput"
%typemap(in) (const gradstep_rows* rows, size_t n_rows) (gradstep_java::RowsArguments rows) {
  $1 = const_cast<gradstep_rows*>(rows.convert(jenv, $input));
  $2 = rows.size();
}

// A schedule goes over to the call with what it refers to; gradstep_schedule_value (`s`) only looks at it.
%define %schedule_argument(NAME, OWNER)
%typemap(jni) const gradstep_schedule* NAME "jobject"
%typemap(jtype) const gradstep_schedule* NAME "Schedule"
%typemap(jstype) const gradstep_schedule* NAME "Schedule"
%typemap(javain) const gradstep_schedule* NAME "$javainput"
%typemap(in) const gradstep_schedule* NAME (gradstep_java::ScheduleArgument schedule) {
  $1 = const_cast<gradstep_schedule*>(schedule.convert(jenv, $input, gradstep_java::ScheduleArgument::OWNER));
}
%enddef
%schedule_argument(schedule, Owner::callee)
%schedule_argument(s, Owner::caller)

// What Callbacks.write and Callbacks.read know.
%typemap(jni) const gradstep_stream* stream "jobject"
%typemap(jtype) const gradstep_stream* stream "Object"
%typemap(jstype) const gradstep_stream* stream "Object"
%typemap(javain) const gradstep_stream* stream "$javainput"
%typemap(in) const gradstep_stream* stream (gradstep_java::StreamArgument stream) {
  $1 = const_cast<gradstep_stream*>(stream.over($input));
}

// Text is UTF-8 in arrays of bytes: JNI's own form of it is another one.
%typemap(jni) const char* "jbyteArray"
%typemap(jtype) const char* "byte[]"
%typemap(jstype) const char* "String"
%typemap(javain) const char* "Text.utf8($javainput, \"$1_name\")"
%typemap(in) const char* (gradstep_java::TextArgument text) {
  $1 = const_cast<char*>(text.convert(jenv, $input));
}
%typemap(freearg) const char* ""
%typemap(out) const char* "$result = gradstep_java::to_bytes(jenv, $1);"
%typemap(javaout) const char* { return Text.of($jnicall); }

// Arrays of numbers.
%define %longs(TYPE...)
%typemap(jni) TYPE "jlongArray"
%typemap(jtype) TYPE "long[]"
%typemap(jstype) TYPE "long[]"
%typemap(javain) TYPE "$javainput"
%enddef
%longs(const int64_t* shape)
%longs(const int64_t* strides)
%longs(const int64_t* whole_shape)
%longs(const int64_t* offset)
%longs(const int64_t* counts)
%longs((const uint64_t* addresses, size_t n))
%typemap(in) const int64_t* shape (gradstep_java::LongsArgument numbers) {
  $1 = const_cast<int64_t*>(numbers.convert(jenv, $input));
}
%typemap(in) const int64_t* strides = const int64_t* shape;
%typemap(in) const int64_t* whole_shape = const int64_t* shape;
%typemap(in) const int64_t* offset = const int64_t* shape;
%typemap(in) const int64_t* counts = const int64_t* shape;
%typemap(in) (const uint64_t* addresses, size_t n) (gradstep_java::LongsArgument numbers) {
  $1 = reinterpret_cast<uint64_t*>(const_cast<int64_t*>(numbers.convert(jenv, $input)));
  $2 = numbers.size();
}

// Results.
%define %output(TYPE, NAME, CONVERT)
%typemap(in, numinputs=0) TYPE* NAME (TYPE value = 0) "$1 = &value;"
%typemap(argout) TYPE* NAME "$result = CONVERT(*$1);"
%enddef
%output(int32_t, all_yes, static_cast<jlong>)
%output(int32_t, applied_out, static_cast<jlong>)
%output(int32_t, count, static_cast<jlong>)
%output(int32_t, done, static_cast<jlong>)
%output(int32_t, local_rank, static_cast<jlong>)
%output(int32_t, rank, static_cast<jlong>)
%output(int32_t, ready_out, static_cast<jlong>)
%output(int32_t, world_size, static_cast<jlong>)
%output(int64_t, bytes, static_cast<jlong>)
%output(int64_t, count, static_cast<jlong>)
%output(int64_t, skipped, static_cast<jlong>)
%output(size_t, count, static_cast<jlong>)
// As bits, for Double.longBitsToDouble.
%output(double, value, std::bit_cast<jlong>)
%output(double, weight, std::bit_cast<jlong>)

// Texts and bytes: an array or null in, the length out.
%define %text_result(POINTER)
%typemap(jni) (POINTER buf, size_t cap, size_t* len) "jbyteArray"
%typemap(jtype) (POINTER buf, size_t cap, size_t* len) "byte[]"
%typemap(jstype) (POINTER buf, size_t cap, size_t* len) "byte[]"
%typemap(javain) (POINTER buf, size_t cap, size_t* len) "$javainput"
%typemap(in) (POINTER buf, size_t cap, size_t* len) (gradstep_java::BytesResult bytes, size_t needed = 0) {
  $1 = bytes.borrow(jenv, $input);
  $2 = bytes.size();
  $3 = &needed;
}
%typemap(argout) (POINTER buf, size_t cap, size_t* len) {
  bytes$argnum.give_back();
  $result = static_cast<jlong>(needed$argnum);
}
%enddef
%text_result(char*)
%text_result(void*)

// The address of an array that java_adapters.i makes, and its capacity.
%define %records(TYPE)
%address(TYPE* records)
%typemap(in, numinputs=0) size_t record_size "$1 = sizeof(*arg2);"
%enddef
%records(gradstep_bucket_statistics)
%records(gradstep_cost)
%records(gradstep_metric)
%records(gradstep_rule_option)

// Declared again in java_adapters.i, with arguments that Java objects fit.
%ignore gradstep_accumulator_create;
%ignore gradstep_accumulator_options::set_schedule;
%ignore gradstep_updater_create;
%ignore gradstep_updater_options::set_outer;
%ignore gradstep_schedule;
%ignore gradstep_accumulator_options::dtype;
%ignore gradstep_device;
%ignore gradstep_dtype;
%ignore gradstep_comm_create;
%ignore gradstep_rendezvous_pending;
%ignore gradstep_comm_create_host;
%ignore gradstep_comm_create_host_ex;
%ignore gradstep_comm_create_local;
%ignore gradstep_comm_create_local_ex;
%ignore gradstep_comm_status;
%ignore gradstep_comm_unique_id;
%ignore gradstep_comm_wrap_mpi;
%ignore gradstep_last_error;
%ignore gradstep_context_create;
%ignore gradstep_context_options;
%ignore gradstep_optimizer_create;
%ignore gradstep_optimizer_create_adagrad;
%ignore gradstep_optimizer_create_adam;
%ignore gradstep_optimizer_create_rmsprop;
%ignore gradstep_optimizer_create_sgd;
%ignore gradstep_adagrad_options;
%ignore gradstep_adagrad_state_bytes;
%ignore gradstep_adam_options;
%ignore gradstep_adam_state_bytes;
%ignore gradstep_rmsprop_options;
%ignore gradstep_rmsprop_state_bytes;
%ignore gradstep_sgd_options;
%ignore gradstep_sgd_state_bytes;
%ignore gradstep_optimizer_create_by_group;
%ignore gradstep_optimizer_step_ex;
%ignore gradstep_optimizer_update;
%ignore gradstep_rule_define;
%ignore gradstep_rule_state_bytes;
%ignore gradstep_tensor_list_get;
