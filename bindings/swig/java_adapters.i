// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What Java needs beside the header: functions whose structs have Java objects behind their pointers, records one by
// one, and direct buffers.
%apply const char* { const char* engine };
%typemap(jni) jobject "jobject"
%typemap(jtype) jobject "Object"
%typemap(jstype) jobject "Object"
%typemap(javain) jobject "$javainput"
%typemap(in) jobject "$1 = $input;"
%typemap(jni) jdoubleArray "jdoubleArray"
%typemap(jtype) jdoubleArray "double[]"
%typemap(jstype) jdoubleArray "double[]"
%typemap(javain) jdoubleArray "$javainput"
%typemap(in) jdoubleArray "$1 = $input;"
%typemap(jni) jlongArray "jlongArray"
%typemap(jtype) jlongArray "long[]"
%typemap(jstype) jlongArray "long[]"
%typemap(javain) jlongArray "$javainput"
%typemap(in) jlongArray "$1 = $input;"
%typemap(jni) jbyteArray "jbyteArray"
%typemap(jtype) jbyteArray "byte[]"
%typemap(jstype) jbyteArray "byte[]"
%typemap(javain) jbyteArray "$javainput"
%typemap(in) jbyteArray "$1 = $input;"
%typemap(in, numinputs=0) JNIEnv* "$1 = jenv;"
%tensor_argument(grad_norm)
%tensor_argument(found_inf)
%tensor_argument(grad_scale_tensor)
%tensor_argument(outcome)

%{
#include <cstring>
#include <deque>
#include <string>
#include <vector>
%}
%ignore OptionList;

%inline %{
static gradstep_status create_context(JNIEnv* env, int32_t num_threads, int32_t background_threads, int32_t log_level,
                                      jobject log, jobject interrupt, jobject parallel_for, jobject allocator,
                                      const char* lapack_library, gradstep_context** out) {
  gradstep_context_options options;
  gradstep_context_options_init(&options, sizeof options);
  options.num_threads = num_threads;
  options.background_threads = background_threads;
  options.log_level = log_level;
  options.lapack_library = lapack_library;
  return gradstep_java::create_context(env, &options, {log, interrupt, parallel_for, allocator}, out);
}

static void set_sum_dtype(gradstep_accumulator_options* options, int32_t type_code, int32_t bits) {
  options->dtype = {static_cast<uint8_t>(type_code), static_cast<uint8_t>(bits), 1};
}

static gradstep_status create_accumulator(gradstep_context* context, const gradstep_accumulator_options* options,
                                          const gradstep_schedule* schedule, const gradstep_parameter* parameters,
                                          size_t n, gradstep_accumulator** out) {
  gradstep_accumulator_options complete;
  gradstep_accumulator_options_init(&complete, sizeof complete);
  if (options != nullptr) complete = *options;
  complete.schedule = schedule;
  return gradstep_accumulator_create(context, &complete, parameters, n, out);
}

static gradstep_status create_updater(gradstep_context* context, gradstep_optimizer* optimizer,
                                      gradstep_accumulator* accumulator, gradstep_reducer* reducer,
                                      gradstep_optimizer* outer, const gradstep_updater_options* options,
                                      gradstep_updater** out) {
  gradstep_updater_options complete;
  gradstep_updater_options_init(&complete, sizeof complete);
  if (options != nullptr) complete = *options;
  complete.outer = outer;
  return gradstep_updater_create(context, optimizer, accumulator, reducer, &complete, out);
}

static gradstep_comm_options options_with(const gradstep_comm_options* options, const char* engine,
                                          const char* store_path, const char* network_interface) {
  gradstep_comm_options complete;
  gradstep_comm_options_init(&complete, sizeof complete);
  if (options != nullptr) complete = *options;
  complete.engine = engine;
  complete.store_path = store_path;
  complete.network_interface = network_interface;
  return complete;
}

static gradstep_status create_communicator(JNIEnv* env, gradstep_context* context, const gradstep_comm_options* options,
                                           const char* engine, jbyteArray id, jobject store, const char* store_path,
                                           const char* network_interface, gradstep_comm** out) {
  gradstep_comm_options complete = options_with(options, engine, store_path, network_interface);
  return gradstep_java::create_communicator(env, context, &complete, id, store, out);
}

static gradstep_status rendezvous_pending(JNIEnv* env, gradstep_comm* comm, const gradstep_comm_options* options,
                                          const char* engine, jbyteArray id, jobject store, const char* store_path,
                                          const char* network_interface, int32_t* count) {
  gradstep_comm_options complete = options_with(options, engine, store_path, network_interface);
  return gradstep_java::count_newcomers(env, comm, &complete, id, store, count);
}

static gradstep_status create_local_communicators(JNIEnv* env, gradstep_context* context,
                                                  const gradstep_comm_options* options, jlongArray addresses) {
  return gradstep_java::create_local_communicators(env, context, options, addresses);
}

static gradstep_status create_host_communicator(JNIEnv* env, gradstep_context* context, jobject collectives,
                                                const gradstep_comm_options* options, gradstep_comm** out) {
  return gradstep_java::create_host_communicator(env, context, collectives, options, out);
}

// The error that broke a communicator, or OK as a result: what fails is the question alone.
static gradstep_status communicator_error(gradstep_comm* comm, int32_t* count) {
  return gradstep_comm_status(comm, count, nullptr, 0, nullptr);
}

static gradstep_status communicator_error_text(gradstep_comm* comm, char* buf, size_t cap, size_t* len) {
  gradstep_status ignored = GRADSTEP_OK;
  return gradstep_comm_status(comm, &ignored, buf, cap, len);
}

// outcome: applied, grad_norm and clip_coefficient of the step's result.
static gradstep_status step_with(JNIEnv* env, gradstep_optimizer* optimizer, const gradstep_tensor* params,
                                 const gradstep_tensor* grads, const gradstep_tensor* updates, size_t n,
                                 int32_t skip_nonfinite, double grad_scale, double max_norm, double clip_value,
                                 int32_t disjoint, const gradstep_tensor* grad_norm, const gradstep_tensor* found_inf,
                                 const gradstep_tensor* grad_scale_tensor, const gradstep_tensor* outcome,
                                 jdoubleArray result, void* stream) {
  gradstep_step_result told{};
  told.struct_size = sizeof told;
  gradstep_step_options options;
  gradstep_step_options_init(&options, sizeof options);
  options.skip_nonfinite = skip_nonfinite;
  options.grad_scale = grad_scale;
  options.max_norm = max_norm;
  options.clip_value = clip_value;
  options.disjoint = disjoint;
  options.grad_norm = grad_norm;
  options.found_inf = const_cast<gradstep_tensor*>(found_inf);
  options.grad_scale_tensor = grad_scale_tensor;
  options.outcome = const_cast<gradstep_tensor*>(outcome);
  options.result = result != nullptr ? &told : nullptr;
  const gradstep_status status = gradstep_optimizer_step_ex(optimizer, params, grads, updates, n, &options, stream);
  if (status == GRADSTEP_OK && result != nullptr) {
    const jdouble numbers[] = {static_cast<jdouble>(told.applied), told.grad_norm, told.clip_coefficient};
    env->SetDoubleArrayRegion(result, 0, 3, numbers);
  }
  return status;
}

// Options of a rule by name, which Java pushes one by one.
struct OptionList {
  std::deque<std::string> texts;  // what options point at
  std::vector<gradstep_option> options;
  std::vector<gradstep_group_rule> groups;  // of rules by group; with counts alone until they are all here

  const char* keep(const char* text) { return text == nullptr ? nullptr : texts.emplace_back(text).c_str(); }
};
static void* new_option_list() { return new OptionList(); }
static void push_option(void* list, const char* name, double number, const char* text) {
  auto* options = static_cast<OptionList*>(list);
  const char* kept = options->keep(name);
  options->options.push_back({kept, number, options->keep(text)});
}
// The options since the last call are those of this rule.
static void end_group(void* list, const char* rule) {
  auto* options = static_cast<OptionList*>(list);
  size_t before = 0;
  for (const gradstep_group_rule& group : options->groups) before += group.option_count;
  options->groups.push_back({options->keep(rule), nullptr, options->options.size() - before});
}
static void delete_option_list(void* list) { delete static_cast<OptionList*>(list); }

static gradstep_status create_optimizer(gradstep_context* context, const char* rule, void* list,
                                        const gradstep_parameter* parameters, size_t n, gradstep_optimizer** out) {
  const auto& options = static_cast<OptionList*>(list)->options;
  return gradstep_optimizer_create(context, rule, options.data(), options.size(), parameters, n, out);
}
static gradstep_status create_optimizer_by_group(gradstep_context* context, void* list,
                                                 const gradstep_parameter* parameters, size_t n,
                                                 gradstep_optimizer** out) {
  auto& groups = static_cast<OptionList*>(list)->groups;
  const gradstep_option* next = static_cast<OptionList*>(list)->options.data();
  for (gradstep_group_rule& group : groups) {
    group.options = next;
    next += group.option_count;
  }
  return gradstep_optimizer_create_by_group(context, groups.data(), groups.size(), parameters, n, out);
}
static gradstep_status rule_define(gradstep_context* context, const char* text, char* buf, size_t cap, size_t* len) {
  const char* name = nullptr;
  const gradstep_status status = gradstep_rule_define(context, text, &name);
  if (status != GRADSTEP_OK) return status;
  *len = std::strlen(name);
  if (cap >= *len) std::memcpy(buf, name, *len);
  return status;
}
static gradstep_status rule_state_bytes(const char* rule, void* list, const gradstep_parameter* parameters, size_t n,
                                        int64_t* bytes) {
  const auto& options = static_cast<OptionList*>(list)->options;
  return gradstep_rule_state_bytes(rule, options.data(), options.size(), parameters, n, bytes);
}

// description: address, type_code, bits, device_type, device_id, ndim, shape, strides; room for 6 + 2 * 32 numbers.
static gradstep_status describe_tensor(JNIEnv* env, const gradstep_tensor_list* list, size_t index,
                                       jlongArray description) {
  uint64_t address = 0;
  int32_t facts[5] = {};
  int64_t shape[32] = {};
  int64_t strides[32] = {};
  const gradstep_status status = gradstep_tensor_list_get(list, index, &address, &facts[0], &facts[1], &facts[2],
                                                          &facts[3], &facts[4], shape, strides, 32);
  if (status != GRADSTEP_OK) return status;
  const int32_t ndim = facts[4];
  jlong numbers[6 + 2 * 32] = {static_cast<jlong>(address)};
  for (int i = 0; i < 5; ++i) numbers[1 + i] = facts[i];
  for (int i = 0; i < ndim; ++i) {
    numbers[6 + i] = shape[i];
    numbers[6 + ndim + i] = strides[i];
  }
  env->SetLongArrayRegion(description, 0, 6 + 2 * ndim, numbers);
  return status;
}
%}

%define %record_array(TYPE, NAME)
%inline %{
static void* new_##NAME(size_t n) {
  auto* records = new TYPE[n > 0 ? n : 1]();
  for (size_t i = 0; i < n; ++i) records[i].struct_size = sizeof(TYPE);
  return records;
}
static TYPE* at_##NAME(void* array, size_t i) { return static_cast<TYPE*>(array) + i; }
static void delete_##NAME(void* array) { delete[] static_cast<TYPE*>(array); }
%}
%enddef
%record_array(gradstep_bucket_statistics, bucket_records)
%record_array(gradstep_cost, cost_records)
%record_array(gradstep_metric, metric_records)
%record_array(gradstep_rule_option, option_records)

// The address of a direct buffer's element 0, or 0; a direct buffer on memory that is not Java's; and a piece of the
// work that a context's parallel_for hands out.
%native(buffer_address) jlong buffer_address(jobject buffer);
%native(buffer_at) jobject buffer_at(jlong address, jlong bytes);
%native(run_body) void run_body(jlong body, jlong body_user, jlong i);
%{
extern "C" JNIEXPORT void JNICALL Java_org_gradstep_coreJNI_run_1body(JNIEnv*, jclass, jlong body, jlong body_user,
                                                                      jlong i) {
  reinterpret_cast<void (*)(void*, std::int64_t)>(static_cast<std::intptr_t>(body))(
      reinterpret_cast<void*>(static_cast<std::intptr_t>(body_user)), i);
}
extern "C" JNIEXPORT jlong JNICALL Java_org_gradstep_coreJNI_buffer_1address(JNIEnv* env, jclass, jobject buffer) {
  return static_cast<jlong>(reinterpret_cast<std::intptr_t>(env->GetDirectBufferAddress(buffer)));
}
extern "C" JNIEXPORT jobject JNICALL Java_org_gradstep_coreJNI_buffer_1at(JNIEnv* env, jclass, jlong address,
                                                                          jlong bytes) {
  return env->NewDirectByteBuffer(reinterpret_cast<void*>(static_cast<std::intptr_t>(address)), bytes);
}
%}
