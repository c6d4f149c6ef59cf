/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor.h: how a host shows its buffers to gradstep, and how it describes its parameters.
 *
 * gradstep_tensor has the memory layout of DLPack's DLTensor and the same device and dtype codes, and is frozen: a
 * DLTensor* may be passed as it is. The library reads the struct during the call only. The buffer behind it is borrowed
 * until the work queued by the call has completed on its stream, which on the CPU is when the call returns; only
 * gradstep_reducer_push says otherwise.
 *
 * Views. Functions with a `tensor_out` fill the host's struct with a view of gradstep's own memory: compact row-major
 * (strides NULL, byte_offset 0), on the device of the parameter. Its shape points into the handle and stays valid as
 * long as the handle, also across gradstep_optimizer_add_parameters; how long the data does, each function says.
 */
#ifndef GRADSTEP_TENSOR_H
#define GRADSTEP_TENSOR_H

#include "gradstep/base.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* DLPack device types that gradstep knows. */
enum gradstep_device_type {
  GRADSTEP_DEVICE_INVALID = -1,
  GRADSTEP_DEVICE_CPU = 1,
  GRADSTEP_DEVICE_CUDA = 2,
  GRADSTEP_DEVICE_CUDA_HOST = 3 /* host memory that is pinned for CUDA: the same as CPU everywhere, device_id ignored */
};

/* DLPack type codes. f32 is {FLOAT, 32, 1}, f64 {FLOAT, 64, 1}, f16 {FLOAT, 16, 1}, bf16 {BFLOAT, 16, 1}. */
enum gradstep_type_code {
  GRADSTEP_TYPE_INVALID = -1,
  GRADSTEP_TYPE_INT = 0,
  GRADSTEP_TYPE_UINT = 1,
  GRADSTEP_TYPE_FLOAT = 2,
  GRADSTEP_TYPE_BFLOAT = 4
};

typedef struct gradstep_device {
  int32_t device_type; /* enum gradstep_device_type */
  int32_t device_id;   /* 0 on CPU */
} gradstep_device;

typedef struct gradstep_dtype {
  uint8_t code; /* enum gradstep_type_code */
  uint8_t bits;
  uint16_t lanes; /* 1 */
} gradstep_dtype;

/*
 * A view of an n-dimensional array. `strides` counts elements; NULL means compact row-major. The first element is at
 * data + byte_offset, aligned to its element size. Non-contiguous views work on CPU; in one that a call writes no two
 * elements may share memory (a stride of 0, say), or the call returns INVALID_ARGUMENT. A tensor with a zero in `shape`
 * has no elements and is legal, whatever its data. Where a gradient may be absent, data NULL says so, and the other
 * fields then matter no more: a zeroed struct will do. A gradient for a parameter without elements is absent if ndim is
 * 0 and shape NULL as well; with the parameter's shape it is there, whatever its data.
 */
typedef struct gradstep_tensor {
  void* data;
  gradstep_device device;
  int32_t ndim;
  gradstep_dtype dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} gradstep_tensor;

/* Flags of gradstep_parameter. */
enum gradstep_parameter_flags {
  GRADSTEP_PARAMETER_MAY_BE_UNUSED = 1 /* some rank may have no gradient for it in some window */
};

/*
 * One parameter of the host's model, given once when a handle is created. `name` is UTF-8 of 1 to 1024 bytes, unique
 * among the parameters of the handle; NULL stands for "param.<index>". `group` (0 to 1048576) selects the
 * hyper-parameters of an optimizer. `shape` has at most 32 dimensions; dtype is f32, f64, f16 or bf16. Everything is
 * copied. A list of parameters is a handle's schema; a call that takes one returns INVALID_ARGUMENT for a parameter
 * that breaks these rules (the text names it), BACKEND_UNAVAILABLE where it is on a CUDA device and the plugin or that
 * device is not there, and UNSUPPORTED where it is on another device, on another one than the first parameter, or has
 * flags that this library does not know.
 *
 * Where the host spreads a parameter over ranks, `shape` is what this rank has, and `whole_shape` and `offset`, of ndim
 * entries each, say which part of the whole it is: element (i, j) here is element (offset[0] + i, offset[1] + j) there.
 * The part lies inside the whole, and may be empty. whole_shape NULL, in an old program too: the parameter is whole;
 * offset NULL is zeros. An optimizer of parts steps after gradstep_optimizer_attach_shards (sharding.h).
 */
typedef struct gradstep_parameter {
  uint32_t struct_size;
  uint32_t flags; /* flags of enum gradstep_parameter_flags */
  const char* name;
  const int64_t* shape;
  int32_t ndim;
  int32_t group;
  gradstep_dtype dtype;
  gradstep_device device;
  int32_t reserved;
  const int64_t* whole_shape; /* NULL = the parameter is whole */
  const int64_t* offset;      /* where this part begins in the whole; NULL = at its first element */
} gradstep_parameter;

/*
 * Builders of tensor and parameter arrays for languages that cannot lay out C structs. Addresses are integers. A list
 * owns its structs, shapes, strides and names (copied on push), never the buffers. The array of `*_data` is valid until
 * the next push, clear or destroy. Lists are plain memory: one thread at a time, and destroyed ones are not recognised.
 * Where a struct or a call takes one tensor (gradstep_rows, gradstep_step_options), an element of the array will do;
 * where a call has a `tensor_out` or `tensors_out`, it writes into elements, and gradstep_tensor_list_get reads them.
 */
typedef struct gradstep_tensor_list gradstep_tensor_list;
typedef struct gradstep_parameter_list gradstep_parameter_list;

/* *out = an empty list, the caller's to destroy. Returns: INVALID_ARGUMENT (out NULL), OUT_OF_MEMORY. */
GRADSTEP_API gradstep_status gradstep_tensor_list_create(gradstep_tensor_list** out) GRADSTEP_NOEXCEPT;

/* Frees the list and the array of gradstep_tensor_list_data. NULL is nothing. */
GRADSTEP_API void gradstep_tensor_list_destroy(gradstep_tensor_list* list) GRADSTEP_NOEXCEPT;

/*
 * Appends one tensor. `shape` and `strides` have ndim entries (strides NULL: compact row-major); `address` 0 is a
 * tensor whose data is NULL. The device is not looked at before the tensor is used.
 * Returns: INVALID_ARGUMENT (list NULL, ndim negative or above 32, a negative dimension, a NULL shape with ndim > 0,
 * type_code and bits of no dtype that gradstep knows: f32, f64, f16, bf16, int32, int64), OUT_OF_MEMORY.
 */
GRADSTEP_API gradstep_status gradstep_tensor_list_push(gradstep_tensor_list* list, uint64_t address, int32_t type_code,
                                                       int32_t bits, int32_t device_type, int32_t device_id,
                                                       int32_t ndim, const int64_t* shape,
                                                       const int64_t* strides) GRADSTEP_NOEXCEPT;

/*
 * Points entry `index` at another buffer of `bytes` bytes of the same shape, strides and dtype.
 * Returns: INVALID_ARGUMENT (index out of range, or bytes less than the entry spans; address 0 excepted).
 */
GRADSTEP_API gradstep_status gradstep_tensor_list_set_data(gradstep_tensor_list* list, size_t index, uint64_t address,
                                                           uint64_t bytes) GRADSTEP_NOEXCEPT;

/*
 * Points all n entries of the list at other buffers, entry i at addresses[i], with the same shapes, strides and dtypes;
 * an address of 0 is a tensor whose data is NULL. How long the buffers are is not looked at.
 * Returns: INVALID_ARGUMENT (list or addresses NULL, n is not the number of entries: nothing is changed).
 */
GRADSTEP_API gradstep_status gradstep_tensor_list_set_addresses(gradstep_tensor_list* list, const uint64_t* addresses,
                                                                size_t n) GRADSTEP_NOEXCEPT;

/*
 * What entry `index` shows: the address of its first element (0 for none), its dtype and device, and its shape and
 * strides, the latter written out where they are those of a compact array. shape and strides have room for `capacity`
 * numbers each, of which ndim are written. Every result may be NULL.
 * Returns: INVALID_ARGUMENT (list NULL, index out of range, shape or strides given and capacity less than ndim: nothing
 * is written).
 */
GRADSTEP_API gradstep_status gradstep_tensor_list_get(const gradstep_tensor_list* list, size_t index, uint64_t* address,
                                                      int32_t* type_code, int32_t* bits, int32_t* device_type,
                                                      int32_t* device_id, int32_t* ndim, int64_t* shape,
                                                      int64_t* strides, int32_t capacity) GRADSTEP_NOEXCEPT;

/* Takes all tensors out of the list. Returns: INVALID_ARGUMENT (list NULL). */
GRADSTEP_API gradstep_status gradstep_tensor_list_clear(gradstep_tensor_list* list) GRADSTEP_NOEXCEPT;

/* The array, of gradstep_tensor_list_size elements; NULL for a NULL or empty list. The list keeps it. */
GRADSTEP_API gradstep_tensor* gradstep_tensor_list_data(gradstep_tensor_list* list) GRADSTEP_NOEXCEPT;

/* How many tensors the list has; 0 for NULL. */
GRADSTEP_API size_t gradstep_tensor_list_size(const gradstep_tensor_list* list) GRADSTEP_NOEXCEPT;

/* *out = an empty list, the caller's to destroy. Returns: INVALID_ARGUMENT (out NULL), OUT_OF_MEMORY. */
GRADSTEP_API gradstep_status gradstep_parameter_list_create(gradstep_parameter_list** out) GRADSTEP_NOEXCEPT;

/* Frees the list and the array of gradstep_parameter_list_data. NULL is nothing. */
GRADSTEP_API void gradstep_parameter_list_destroy(gradstep_parameter_list* list) GRADSTEP_NOEXCEPT;

/*
 * Appends one parameter; the arguments are the fields of gradstep_parameter. Name, device, group and flags are not
 * looked at before a handle is created with the list.
 * Returns: INVALID_ARGUMENT (list NULL, ndim negative or above 32, a negative dimension, a NULL shape with ndim > 0,
 * type_code and bits of no dtype that gradstep knows), OUT_OF_MEMORY.
 */
GRADSTEP_API gradstep_status gradstep_parameter_list_push(gradstep_parameter_list* list, const char* name,
                                                          int32_t type_code, int32_t bits, int32_t device_type,
                                                          int32_t device_id, int32_t ndim, const int64_t* shape,
                                                          int32_t group, uint32_t flags) GRADSTEP_NOEXCEPT;

/*
 * Makes entry `index` a part of a whole. whole_shape and offset: ndim numbers each, as in gradstep_parameter; the list
 * copies them. Whether the part lies inside the whole is checked when a handle is created with the list.
 * Returns: INVALID_ARGUMENT (list NULL, index out of range, whole_shape or offset NULL for a shape that has entries),
 * OUT_OF_MEMORY.
 */
GRADSTEP_API gradstep_status gradstep_parameter_list_set_part(gradstep_parameter_list* list, size_t index,
                                                              const int64_t* whole_shape,
                                                              const int64_t* offset) GRADSTEP_NOEXCEPT;

/* Takes all parameters out of the list. Returns: INVALID_ARGUMENT (list NULL). */
GRADSTEP_API gradstep_status gradstep_parameter_list_clear(gradstep_parameter_list* list) GRADSTEP_NOEXCEPT;

/* The array, of gradstep_parameter_list_size elements; NULL for a NULL or empty list. The list keeps it. */
GRADSTEP_API const gradstep_parameter* gradstep_parameter_list_data(const gradstep_parameter_list* list)
    GRADSTEP_NOEXCEPT;

/* How many parameters the list has; 0 for NULL. */
GRADSTEP_API size_t gradstep_parameter_list_size(const gradstep_parameter_list* list) GRADSTEP_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif /* GRADSTEP_TENSOR_H */
