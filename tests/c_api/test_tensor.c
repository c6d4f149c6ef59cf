/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlpack/dlpack.h>
#include <string.h>

#include "support.h"

#define SAME_FIELD(field)                                                                  \
  do {                                                                                     \
    assert_int_equal(offsetof(gradstep_tensor, field), offsetof(DLTensor, field));         \
    assert_int_equal(sizeof(((gradstep_tensor*)0)->field), sizeof(((DLTensor*)0)->field)); \
  } while (0)

static void tensor_has_the_layout_of_dltensor(void** state) {
  (void)state;
  assert_int_equal(sizeof(gradstep_tensor), sizeof(DLTensor));
  SAME_FIELD(data);
  SAME_FIELD(device);
  SAME_FIELD(ndim);
  SAME_FIELD(dtype);
  SAME_FIELD(shape);
  SAME_FIELD(strides);
  SAME_FIELD(byte_offset);
  assert_int_equal(offsetof(gradstep_device, device_type), offsetof(DLDevice, device_type));
  assert_int_equal(offsetof(gradstep_device, device_id), offsetof(DLDevice, device_id));
  assert_int_equal(offsetof(gradstep_dtype, code), offsetof(DLDataType, code));
  assert_int_equal(offsetof(gradstep_dtype, bits), offsetof(DLDataType, bits));
  assert_int_equal(offsetof(gradstep_dtype, lanes), offsetof(DLDataType, lanes));
}

static void codes_are_those_of_dlpack(void** state) {
  (void)state;
  assert_int_equal(GRADSTEP_DEVICE_CPU, kDLCPU);
  assert_int_equal(GRADSTEP_DEVICE_CUDA, kDLCUDA);
  assert_int_equal(GRADSTEP_DEVICE_CUDA_HOST, kDLCUDAHost);
  assert_int_equal(GRADSTEP_TYPE_INT, kDLInt);
  assert_int_equal(GRADSTEP_TYPE_UINT, kDLUInt);
  assert_int_equal(GRADSTEP_TYPE_FLOAT, kDLFloat);
  assert_int_equal(GRADSTEP_TYPE_BFLOAT, kDLBfloat);
}

static void a_dltensor_is_stepped_as_it_is(void** state) {
  float value[2] = {1, 2}, gradient[2] = {0.5F, -0.5F};
  int64_t shape[1] = {2};
  const float expected[2] = {0.5F, 2.5F};
  DLTensor param, grad;
  gradstep_parameter parameter = parameter_f32("p", 1, shape);
  gradstep_sgd_options options;
  gradstep_context* context = new_context(1);
  gradstep_optimizer* optimizer = NULL;
  (void)state;
  memset(&param, 0, sizeof param);
  param.data = value;
  param.device.device_type = kDLCPU;
  param.ndim = 1;
  param.dtype.code = kDLFloat;
  param.dtype.bits = 32;
  param.dtype.lanes = 1;
  param.shape = shape;
  grad = param;
  grad.data = gradient;
  assert_ok(gradstep_sgd_options_init(&options, sizeof options));
  options.learning_rate = 1;
  assert_ok(gradstep_optimizer_create_sgd(context, &options, &parameter, 1, &optimizer));
  assert_ok(gradstep_optimizer_step(optimizer, (const gradstep_tensor*)&param, (const gradstep_tensor*)&grad, 1, NULL));
  assert_memory_equal(value, expected, sizeof expected);
  gradstep_optimizer_destroy(optimizer);
  gradstep_context_destroy(context);
}

/* Sizes of the first version: they may grow at the end, by whole 8 bytes, and never shrink. */
static void struct_sizes_are_whole_words(void** state) {
  static const struct {
    const char* name;
    size_t size;
    size_t version1;
  } structs[] = {{"gradstep_parameter", sizeof(gradstep_parameter), 48},
                 {"gradstep_allocator", sizeof(gradstep_allocator), 40},
                 {"gradstep_context_options", sizeof(gradstep_context_options), 96},
                 {"gradstep_schedule", sizeof(gradstep_schedule), 104},
                 {"gradstep_accumulator_options", sizeof(gradstep_accumulator_options), 48},
                 {"gradstep_rows", sizeof(gradstep_rows), 32},
                 {"gradstep_store", sizeof(gradstep_store), 40},
                 {"gradstep_comm_options", sizeof(gradstep_comm_options), 88},
                 {"gradstep_comm_vtable", sizeof(gradstep_comm_vtable), 112},
                 {"gradstep_comm_statistics", sizeof(gradstep_comm_statistics), 80},
                 {"gradstep_reducer_options", sizeof(gradstep_reducer_options), 24},
                 {"gradstep_bucket_statistics", sizeof(gradstep_bucket_statistics), 64},
                 {"gradstep_sgd_options", sizeof(gradstep_sgd_options), 48},
                 {"gradstep_adam_options", sizeof(gradstep_adam_options), 56},
                 {"gradstep_step_result", sizeof(gradstep_step_result), 24},
                 {"gradstep_step_options", sizeof(gradstep_step_options), 56},
                 {"gradstep_metric", sizeof(gradstep_metric), 80},
                 {"gradstep_memory", sizeof(gradstep_memory), 24},
                 {"gradstep_updater_options", sizeof(gradstep_updater_options), 40},
                 {"gradstep_updater_statistics", sizeof(gradstep_updater_statistics), 64}};
  (void)state;
  for (size_t i = 0; i < COUNT_OF(structs); ++i) {
    if (structs[i].size % 8 != 0 || structs[i].size < structs[i].version1) {
      fail_msg("%s has %zu bytes, version 1 has %zu", structs[i].name, structs[i].size, structs[i].version1);
    }
  }
}

static void tensor_list_copies_shapes_and_keeps_addresses(void** state) {
  float data[6] = {0};
  int64_t shape[2] = {2, 3};
  int64_t strides[2] = {1, 2};
  gradstep_tensor_list* list = NULL;
  const gradstep_tensor* tensors = NULL;
  (void)state;
  assert_ok(gradstep_tensor_list_create(&list));
  assert_null(gradstep_tensor_list_data(list));
  assert_ok(gradstep_tensor_list_push(list, (uint64_t)(uintptr_t)data, GRADSTEP_TYPE_FLOAT, 32, GRADSTEP_DEVICE_CPU, 0,
                                      2, shape, strides));
  assert_ok(gradstep_tensor_list_push(list, 0, GRADSTEP_TYPE_FLOAT, 64, GRADSTEP_DEVICE_CPU, 0, 0, NULL, NULL));
  shape[0] = strides[0] = 99;
  assert_int_equal(gradstep_tensor_list_size(list), 2);
  tensors = gradstep_tensor_list_data(list);
  assert_ptr_equal(tensors[0].data, data);
  assert_int_equal(tensors[0].ndim, 2);
  assert_int_equal(tensors[0].shape[0], 2);
  assert_int_equal(tensors[0].shape[1], 3);
  assert_int_equal(tensors[0].strides[0], 1);
  assert_int_equal(tensors[0].dtype.bits, 32);
  assert_null(tensors[1].data);
  assert_null(tensors[1].strides);
  assert_int_equal(tensors[1].ndim, 0);
  assert_ok(gradstep_tensor_list_clear(list));
  assert_int_equal(gradstep_tensor_list_size(list), 0);
  gradstep_tensor_list_destroy(list);
}

static void tensor_list_set_data_checks_index_and_extent(void** state) {
  float data[6] = {0}, other[6] = {0};
  const int64_t shape[2] = {2, 3};
  gradstep_tensor_list* list = NULL;
  (void)state;
  assert_ok(gradstep_tensor_list_create(&list));
  assert_ok(gradstep_tensor_list_push(list, (uint64_t)(uintptr_t)data, GRADSTEP_TYPE_FLOAT, 32, GRADSTEP_DEVICE_CPU, 0,
                                      2, shape, NULL));
  assert_fails(gradstep_tensor_list_set_data(list, 1, (uint64_t)(uintptr_t)other, sizeof other),
               GRADSTEP_ERR_INVALID_ARGUMENT, "index", "1");
  assert_fails(gradstep_tensor_list_set_data(list, 0, (uint64_t)(uintptr_t)other, 23), GRADSTEP_ERR_INVALID_ARGUMENT,
               "bytes", "23", "24");
  assert_ptr_equal(gradstep_tensor_list_data(list)[0].data, data);
  assert_ok(gradstep_tensor_list_set_data(list, 0, (uint64_t)(uintptr_t)other, sizeof other));
  assert_ptr_equal(gradstep_tensor_list_data(list)[0].data, other);
  assert_ok(gradstep_tensor_list_set_data(list, 0, 0, 0));
  assert_null(gradstep_tensor_list_data(list)[0].data);
  gradstep_tensor_list_destroy(list);
}

static uint64_t address_of(const void* data) { return (uint64_t)(uintptr_t)data; }

static void tensor_list_shows_what_its_entries_are(void** state) {
  float data[6] = {0};
  const int64_t shape[2] = {2, 3};
  const int64_t transposed[2] = {1, 2};
  uint64_t address = 1;
  int32_t code = -1, bits = -1, device_type = -1, device_id = -1, ndim = -1;
  int64_t found_shape[3] = {-1, -1, -1}, found_strides[3] = {-1, -1, -1};
  gradstep_tensor_list* list = NULL;
  (void)state;
  assert_ok(gradstep_tensor_list_create(&list));
  assert_ok(gradstep_tensor_list_push(list, address_of(data), GRADSTEP_TYPE_FLOAT, 32, GRADSTEP_DEVICE_CUDA_HOST, 7, 2,
                                      shape, transposed));
  assert_ok(gradstep_tensor_list_push(list, 0, GRADSTEP_TYPE_BFLOAT, 16, GRADSTEP_DEVICE_CPU, 0, 2, shape, NULL));
  gradstep_tensor_list_data(list)[0].byte_offset = 4;
  assert_ok(gradstep_tensor_list_get(list, 0, &address, &code, &bits, &device_type, &device_id, &ndim, found_shape,
                                     found_strides, 3));
  assert_true(address == address_of(data + 1));
  assert_int_equal(code, GRADSTEP_TYPE_FLOAT);
  assert_int_equal(bits, 32);
  assert_int_equal(device_type, GRADSTEP_DEVICE_CUDA_HOST);
  assert_int_equal(device_id, 7);
  assert_int_equal(ndim, 2);
  assert_memory_equal(found_shape, shape, sizeof shape);
  assert_memory_equal(found_strides, transposed, sizeof transposed);
  assert_int_equal(found_shape[2], -1);
  assert_ok(gradstep_tensor_list_get(list, 1, &address, &code, NULL, NULL, NULL, NULL, NULL, found_strides, 2));
  assert_true(address == 0);
  assert_int_equal(code, GRADSTEP_TYPE_BFLOAT);
  assert_int_equal(found_strides[0], 3); /* of a compact array */
  assert_int_equal(found_strides[1], 1);
  address = 1;
  assert_fails(gradstep_tensor_list_get(list, 0, &address, NULL, NULL, NULL, NULL, NULL, found_shape, NULL, 1),
               GRADSTEP_ERR_INVALID_ARGUMENT, "capacity", "1", "2");
  assert_fails(gradstep_tensor_list_get(list, 2, &address, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0),
               GRADSTEP_ERR_INVALID_ARGUMENT, "index", "2");
  assert_true(address == 1);
  gradstep_tensor_list_destroy(list);
}

static void tensor_list_points_all_entries_elsewhere_at_once(void** state) {
  float data[6] = {0}, other[6] = {0};
  const int64_t shape[2] = {2, 3};
  const uint64_t addresses[3] = {address_of(other), 0, 0};
  gradstep_tensor_list* list = NULL;
  (void)state;
  assert_ok(gradstep_tensor_list_create(&list));
  assert_ok(gradstep_tensor_list_set_addresses(list, NULL, 0));
  for (int i = 0; i < 2; ++i) {
    assert_ok(gradstep_tensor_list_push(list, address_of(data), GRADSTEP_TYPE_FLOAT, 32, GRADSTEP_DEVICE_CPU, 0, 2,
                                        shape, NULL));
  }
  assert_fails(gradstep_tensor_list_set_addresses(list, addresses, 3), GRADSTEP_ERR_INVALID_ARGUMENT, "n", "3", "2");
  assert_fails(gradstep_tensor_list_set_addresses(list, NULL, 2), GRADSTEP_ERR_INVALID_ARGUMENT, "addresses", "NULL");
  assert_ptr_equal(gradstep_tensor_list_data(list)[0].data, data);
  assert_ok(gradstep_tensor_list_set_addresses(list, addresses, 2));
  assert_ptr_equal(gradstep_tensor_list_data(list)[0].data, other);
  assert_null(gradstep_tensor_list_data(list)[1].data);
  assert_int_equal(gradstep_tensor_list_data(list)[1].shape[1], 3);
  gradstep_tensor_list_destroy(list);
}

/* An optimizer that is stepped with nothing but lists: entries of one are the tensors of its step's options, too, and
 * take views of gradstep's. */
static void elements_of_a_list_serve_wherever_a_tensor_is_asked_for(void** state) {
  const int64_t one = 1;
  float scale = 2;
  double written[4] = {0};
  const int64_t four = 4;
  uint64_t address = 0;
  model m;
  gradstep_sgd_options options;
  gradstep_step_options step;
  gradstep_tensor_list* list = NULL;
  gradstep_optimizer* optimizer = NULL;
  gradstep_context* context = new_context(1);
  (void)state;
  model_init(&m);
  assert_ok(gradstep_sgd_options_init(&options, sizeof options));
  options.learning_rate = 1;
  options.momentum = 0.5;
  assert_ok(gradstep_optimizer_create_sgd(context, &options, m.parameters, kModelParameters, &optimizer));
  assert_ok(gradstep_tensor_list_create(&list));
  assert_ok(gradstep_tensor_list_push(list, address_of(&scale), GRADSTEP_TYPE_FLOAT, 32, 1, 0, 1, &one, NULL));
  assert_ok(gradstep_tensor_list_push(list, address_of(written), GRADSTEP_TYPE_FLOAT, 64, 1, 0, 1, &four, NULL));
  assert_ok(gradstep_step_options_init(&step, sizeof step));
  step.grad_scale_tensor = &gradstep_tensor_list_data(list)[0];
  step.outcome = &gradstep_tensor_list_data(list)[1];
  assert_ok(gradstep_optimizer_step_ex(optimizer, m.params, m.gradients, NULL, kModelParameters, &step, NULL));
  assert_true(m.values[0] == 0.75F); /* g = 1/8, doubled */
  assert_true(written[0] == 1 && written[3] == 1);
  assert_ok(gradstep_optimizer_state(optimizer, 0, "momentum_buffer", &gradstep_tensor_list_data(list)[0]));
  assert_ok(gradstep_tensor_list_get(list, 0, &address, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0));
  assert_true(*(const float*)(uintptr_t)address == 0.25F);
  gradstep_tensor_list_destroy(list);
  gradstep_optimizer_destroy(optimizer);
  gradstep_context_destroy(context);
}

/* As a framework shows it that has pinned its batches and gradients; the id is that of some GPU. */
static void pinned_host_memory_is_cpu_memory(void** state) {
  model m;
  gradstep_sgd_options options;
  gradstep_context* context = new_context(1);
  gradstep_optimizer* optimizer = NULL;
  gradstep_comm_options comm_options;
  gradstep_comm* comm = NULL;
  (void)state;
  assert_ok(gradstep_sgd_options_init(&options, sizeof options));
  options.learning_rate = 1;
  for (int pinned_schema = 0; pinned_schema < 2; ++pinned_schema) {
    const gradstep_device pinned = {GRADSTEP_DEVICE_CUDA_HOST, 3};
    model_init(&m);
    if (pinned_schema) m.parameters[0].device = m.parameters[1].device = pinned;
    m.params[0].device = m.gradients[1].device = pinned;
    assert_ok(gradstep_optimizer_create_sgd(context, &options, m.parameters, kModelParameters, &optimizer));
    for (int t = 1; t < 3; ++t) {
      assert_ok(gradstep_optimizer_step(optimizer, m.params, m.gradients, kModelParameters, NULL));
      for (int i = 0; i < kModelElements; ++i) assert_true(m.values[i] == (float)(i + 1) * (1 - (float)t / 8));
    }
    m.params[0].device.device_type = GRADSTEP_DEVICE_CUDA;
    assert_fails(gradstep_optimizer_step(optimizer, m.params, m.gradients, kModelParameters, NULL),
                 GRADSTEP_ERR_INVALID_ARGUMENT, "params[0]: is on cuda:3", "is on cpu");
    m.params[0].device = pinned;
    gradstep_optimizer_destroy(optimizer);
  }
  assert_ok(gradstep_comm_options_init(&comm_options, sizeof comm_options));
  comm_options.engine = "self";
  assert_ok(gradstep_comm_create(context, &comm_options, &comm));
  assert_ok(gradstep_comm_all_reduce(comm, &m.params[0], GRADSTEP_REDUCE_SUM, NULL));
  assert_ok(gradstep_comm_broadcast(comm, &m.params[0], 0, NULL));
  gradstep_comm_destroy(comm);
  gradstep_context_destroy(context);
}

static void lists_refuse_bad_shapes_and_stay_as_they_are(void** state) {
  const int64_t negative[1] = {-1};
  gradstep_tensor_list* tensors = NULL;
  gradstep_parameter_list* parameters = NULL;
  (void)state;
  assert_fails(gradstep_tensor_list_create(NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "out");
  assert_fails(gradstep_parameter_list_create(NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "out");
  assert_ok(gradstep_tensor_list_create(&tensors));
  assert_ok(gradstep_parameter_list_create(&parameters));
  assert_fails(gradstep_tensor_list_push(NULL, 0, 2, 32, 1, 0, 0, NULL, NULL), GRADSTEP_ERR_INVALID_ARGUMENT, "list");
  assert_fails(gradstep_tensor_list_push(tensors, 0, 2, 32, 1, 0, -1, NULL, NULL), GRADSTEP_ERR_INVALID_ARGUMENT,
               "ndim");
  assert_fails(gradstep_tensor_list_push(tensors, 0, 2, 32, 1, 0, 1, NULL, NULL), GRADSTEP_ERR_INVALID_ARGUMENT,
               "shape");
  assert_fails(gradstep_tensor_list_push(tensors, 0, 2, 32, 1, 0, 1, negative, NULL), GRADSTEP_ERR_INVALID_ARGUMENT,
               "shape", "-1");
  assert_fails(gradstep_parameter_list_push(parameters, "p", 2, 32, 1, 0, 1, negative, 0, 0),
               GRADSTEP_ERR_INVALID_ARGUMENT, "shape", "-1");
  assert_int_equal(gradstep_tensor_list_size(tensors), 0);
  assert_int_equal(gradstep_parameter_list_size(parameters), 0);
  gradstep_tensor_list_destroy(tensors);
  gradstep_parameter_list_destroy(parameters);
}

static void parameter_list_describes_a_schema(void** state) {
  const int64_t shape[2] = {4, 2};
  char name[] = "layer";
  gradstep_parameter_list* list = NULL;
  const gradstep_parameter* parameters = NULL;
  (void)state;
  assert_ok(gradstep_parameter_list_create(&list));
  assert_ok(gradstep_parameter_list_push(list, name, GRADSTEP_TYPE_BFLOAT, 16, GRADSTEP_DEVICE_CPU, 0, 2, shape, 3,
                                         GRADSTEP_PARAMETER_MAY_BE_UNUSED));
  assert_ok(gradstep_parameter_list_push(list, NULL, GRADSTEP_TYPE_FLOAT, 32, GRADSTEP_DEVICE_CPU, 0, 0, NULL, 0, 0));
  name[0] = 'X';
  assert_int_equal(gradstep_parameter_list_size(list), 2);
  parameters = gradstep_parameter_list_data(list);
  assert_int_equal(parameters[0].struct_size, sizeof(gradstep_parameter));
  assert_string_equal(parameters[0].name, "layer");
  assert_int_equal(parameters[0].shape[0], 4);
  assert_int_equal(parameters[0].group, 3);
  assert_int_equal(parameters[0].flags, GRADSTEP_PARAMETER_MAY_BE_UNUSED);
  assert_int_equal(parameters[0].dtype.code, GRADSTEP_TYPE_BFLOAT);
  assert_null(parameters[1].name);
  gradstep_parameter_list_destroy(list);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tensor_has_the_layout_of_dltensor),
      cmocka_unit_test(codes_are_those_of_dlpack),
      cmocka_unit_test(a_dltensor_is_stepped_as_it_is),
      cmocka_unit_test(struct_sizes_are_whole_words),
      cmocka_unit_test(tensor_list_copies_shapes_and_keeps_addresses),
      cmocka_unit_test(tensor_list_set_data_checks_index_and_extent),
      cmocka_unit_test(tensor_list_shows_what_its_entries_are),
      cmocka_unit_test(tensor_list_points_all_entries_elsewhere_at_once),
      cmocka_unit_test(elements_of_a_list_serve_wherever_a_tensor_is_asked_for),
      cmocka_unit_test(pinned_host_memory_is_cpu_memory),
      cmocka_unit_test(lists_refuse_bad_shapes_and_stay_as_they_are),
      cmocka_unit_test(parameter_list_describes_a_schema),
  };
  return cmocka_run_group_tests_name("tensor", tests, NULL, NULL);
}
