// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
// Made from include/c_api/gradstep by the feature `regenerate`; see tests/regenerate.rs.

pub const GRADSTEP_ABI_VERSION: u32 = 1;
pub type gradstep_status = i32;
pub const GRADSTEP_OK: gradstep_status_code = 0;
pub const GRADSTEP_ERR_INVALID_ARGUMENT: gradstep_status_code = -1;
pub const GRADSTEP_ERR_INVALID_STATE: gradstep_status_code = -2;
pub const GRADSTEP_ERR_UNSUPPORTED: gradstep_status_code = -3;
pub const GRADSTEP_ERR_OUT_OF_MEMORY: gradstep_status_code = -4;
pub const GRADSTEP_ERR_BACKEND_UNAVAILABLE: gradstep_status_code = -5;
pub const GRADSTEP_ERR_DEVICE: gradstep_status_code = -6;
pub const GRADSTEP_ERR_NUMERIC: gradstep_status_code = -7;
pub const GRADSTEP_ERR_TIMEOUT: gradstep_status_code = -8;
pub const GRADSTEP_ERR_PEER_LOST: gradstep_status_code = -9;
pub const GRADSTEP_ERR_ABORTED: gradstep_status_code = -10;
pub const GRADSTEP_ERR_MISMATCH: gradstep_status_code = -11;
pub const GRADSTEP_ERR_IO: gradstep_status_code = -12;
pub const GRADSTEP_ERR_CORRUPT: gradstep_status_code = -13;
pub const GRADSTEP_ERR_CALLBACK: gradstep_status_code = -14;
pub const GRADSTEP_ERR_INTERNAL: gradstep_status_code = -99;
pub type gradstep_status_code = ::core::ffi::c_int;
pub const GRADSTEP_DEVICE_INVALID: gradstep_device_type = -1;
pub const GRADSTEP_DEVICE_CPU: gradstep_device_type = 1;
pub const GRADSTEP_DEVICE_CUDA: gradstep_device_type = 2;
pub const GRADSTEP_DEVICE_CUDA_HOST: gradstep_device_type = 3;
pub type gradstep_device_type = ::core::ffi::c_int;
pub const GRADSTEP_TYPE_INVALID: gradstep_type_code = -1;
pub const GRADSTEP_TYPE_INT: gradstep_type_code = 0;
pub const GRADSTEP_TYPE_UINT: gradstep_type_code = 1;
pub const GRADSTEP_TYPE_FLOAT: gradstep_type_code = 2;
pub const GRADSTEP_TYPE_BFLOAT: gradstep_type_code = 4;
pub type gradstep_type_code = ::core::ffi::c_int;
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct gradstep_device {
    pub device_type: i32,
    pub device_id: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gradstep_device"][::core::mem::size_of::<gradstep_device>() - 8usize];
    [
        "Alignment of gradstep_device",
    ][::core::mem::align_of::<gradstep_device>() - 4usize];
    [
        "Offset of field: gradstep_device::device_type",
    ][::core::mem::offset_of!(gradstep_device, device_type) - 0usize];
    [
        "Offset of field: gradstep_device::device_id",
    ][::core::mem::offset_of!(gradstep_device, device_id) - 4usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct gradstep_dtype {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gradstep_dtype"][::core::mem::size_of::<gradstep_dtype>() - 4usize];
    ["Alignment of gradstep_dtype"][::core::mem::align_of::<gradstep_dtype>() - 2usize];
    [
        "Offset of field: gradstep_dtype::code",
    ][::core::mem::offset_of!(gradstep_dtype, code) - 0usize];
    [
        "Offset of field: gradstep_dtype::bits",
    ][::core::mem::offset_of!(gradstep_dtype, bits) - 1usize];
    [
        "Offset of field: gradstep_dtype::lanes",
    ][::core::mem::offset_of!(gradstep_dtype, lanes) - 2usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_tensor {
    pub data: *mut ::core::ffi::c_void,
    pub device: gradstep_device,
    pub ndim: i32,
    pub dtype: gradstep_dtype,
    pub shape: *mut i64,
    pub strides: *mut i64,
    pub byte_offset: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gradstep_tensor"][::core::mem::size_of::<gradstep_tensor>() - 48usize];
    [
        "Alignment of gradstep_tensor",
    ][::core::mem::align_of::<gradstep_tensor>() - 8usize];
    [
        "Offset of field: gradstep_tensor::data",
    ][::core::mem::offset_of!(gradstep_tensor, data) - 0usize];
    [
        "Offset of field: gradstep_tensor::device",
    ][::core::mem::offset_of!(gradstep_tensor, device) - 8usize];
    [
        "Offset of field: gradstep_tensor::ndim",
    ][::core::mem::offset_of!(gradstep_tensor, ndim) - 16usize];
    [
        "Offset of field: gradstep_tensor::dtype",
    ][::core::mem::offset_of!(gradstep_tensor, dtype) - 20usize];
    [
        "Offset of field: gradstep_tensor::shape",
    ][::core::mem::offset_of!(gradstep_tensor, shape) - 24usize];
    [
        "Offset of field: gradstep_tensor::strides",
    ][::core::mem::offset_of!(gradstep_tensor, strides) - 32usize];
    [
        "Offset of field: gradstep_tensor::byte_offset",
    ][::core::mem::offset_of!(gradstep_tensor, byte_offset) - 40usize];
};
impl Default for gradstep_tensor {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
pub const GRADSTEP_PARAMETER_MAY_BE_UNUSED: gradstep_parameter_flags = 1;
pub type gradstep_parameter_flags = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_parameter {
    pub struct_size: u32,
    pub flags: u32,
    pub name: *const ::core::ffi::c_char,
    pub shape: *const i64,
    pub ndim: i32,
    pub group: i32,
    pub dtype: gradstep_dtype,
    pub device: gradstep_device,
    pub reserved: i32,
    pub whole_shape: *const i64,
    pub offset: *const i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_parameter",
    ][::core::mem::size_of::<gradstep_parameter>() - 64usize];
    [
        "Alignment of gradstep_parameter",
    ][::core::mem::align_of::<gradstep_parameter>() - 8usize];
    [
        "Offset of field: gradstep_parameter::struct_size",
    ][::core::mem::offset_of!(gradstep_parameter, struct_size) - 0usize];
    [
        "Offset of field: gradstep_parameter::flags",
    ][::core::mem::offset_of!(gradstep_parameter, flags) - 4usize];
    [
        "Offset of field: gradstep_parameter::name",
    ][::core::mem::offset_of!(gradstep_parameter, name) - 8usize];
    [
        "Offset of field: gradstep_parameter::shape",
    ][::core::mem::offset_of!(gradstep_parameter, shape) - 16usize];
    [
        "Offset of field: gradstep_parameter::ndim",
    ][::core::mem::offset_of!(gradstep_parameter, ndim) - 24usize];
    [
        "Offset of field: gradstep_parameter::group",
    ][::core::mem::offset_of!(gradstep_parameter, group) - 28usize];
    [
        "Offset of field: gradstep_parameter::dtype",
    ][::core::mem::offset_of!(gradstep_parameter, dtype) - 32usize];
    [
        "Offset of field: gradstep_parameter::device",
    ][::core::mem::offset_of!(gradstep_parameter, device) - 36usize];
    [
        "Offset of field: gradstep_parameter::reserved",
    ][::core::mem::offset_of!(gradstep_parameter, reserved) - 44usize];
    [
        "Offset of field: gradstep_parameter::whole_shape",
    ][::core::mem::offset_of!(gradstep_parameter, whole_shape) - 48usize];
    [
        "Offset of field: gradstep_parameter::offset",
    ][::core::mem::offset_of!(gradstep_parameter, offset) - 56usize];
};
impl Default for gradstep_parameter {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_tensor_list {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_parameter_list {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_context {
    _unused: [u8; 0],
}
pub const GRADSTEP_LOG_INVALID: gradstep_log_level = -1;
pub const GRADSTEP_LOG_OFF: gradstep_log_level = 0;
pub const GRADSTEP_LOG_ERROR: gradstep_log_level = 1;
pub const GRADSTEP_LOG_WARNING: gradstep_log_level = 2;
pub const GRADSTEP_LOG_INFO: gradstep_log_level = 3;
pub const GRADSTEP_LOG_DEBUG: gradstep_log_level = 4;
pub type gradstep_log_level = ::core::ffi::c_int;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_allocator {
    pub struct_size: u32,
    pub reserved: u32,
    pub user: *mut ::core::ffi::c_void,
    pub allocate: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            bytes: usize,
            alignment: usize,
            device_type: i32,
            device_id: i32,
            stream: *mut ::core::ffi::c_void,
        ) -> *mut ::core::ffi::c_void,
    >,
    pub deallocate: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            data: *mut ::core::ffi::c_void,
            bytes: usize,
            alignment: usize,
            device_type: i32,
            device_id: i32,
            stream: *mut ::core::ffi::c_void,
        ),
    >,
    pub release: ::core::option::Option<
        unsafe extern "C" fn(user: *mut ::core::ffi::c_void),
    >,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_allocator",
    ][::core::mem::size_of::<gradstep_allocator>() - 40usize];
    [
        "Alignment of gradstep_allocator",
    ][::core::mem::align_of::<gradstep_allocator>() - 8usize];
    [
        "Offset of field: gradstep_allocator::struct_size",
    ][::core::mem::offset_of!(gradstep_allocator, struct_size) - 0usize];
    [
        "Offset of field: gradstep_allocator::reserved",
    ][::core::mem::offset_of!(gradstep_allocator, reserved) - 4usize];
    [
        "Offset of field: gradstep_allocator::user",
    ][::core::mem::offset_of!(gradstep_allocator, user) - 8usize];
    [
        "Offset of field: gradstep_allocator::allocate",
    ][::core::mem::offset_of!(gradstep_allocator, allocate) - 16usize];
    [
        "Offset of field: gradstep_allocator::deallocate",
    ][::core::mem::offset_of!(gradstep_allocator, deallocate) - 24usize];
    [
        "Offset of field: gradstep_allocator::release",
    ][::core::mem::offset_of!(gradstep_allocator, release) - 32usize];
};
impl Default for gradstep_allocator {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_context_options {
    pub struct_size: u32,
    pub num_threads: i32,
    pub background_threads: i32,
    pub log_level: i32,
    pub log: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            level: i32,
            text: *const ::core::ffi::c_char,
        ),
    >,
    pub log_user: *mut ::core::ffi::c_void,
    pub log_release: ::core::option::Option<
        unsafe extern "C" fn(user: *mut ::core::ffi::c_void),
    >,
    pub parallel_for: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            n: i64,
            body: ::core::option::Option<
                unsafe extern "C" fn(body_user: *mut ::core::ffi::c_void, i: i64),
            >,
            body_user: *mut ::core::ffi::c_void,
        ) -> gradstep_status,
    >,
    pub parallel_for_user: *mut ::core::ffi::c_void,
    pub parallel_for_release: ::core::option::Option<
        unsafe extern "C" fn(user: *mut ::core::ffi::c_void),
    >,
    pub interrupt: ::core::option::Option<
        unsafe extern "C" fn(user: *mut ::core::ffi::c_void) -> i32,
    >,
    pub interrupt_user: *mut ::core::ffi::c_void,
    pub interrupt_release: ::core::option::Option<
        unsafe extern "C" fn(user: *mut ::core::ffi::c_void),
    >,
    pub allocator: *const gradstep_allocator,
    pub lapack_library: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_context_options",
    ][::core::mem::size_of::<gradstep_context_options>() - 104usize];
    [
        "Alignment of gradstep_context_options",
    ][::core::mem::align_of::<gradstep_context_options>() - 8usize];
    [
        "Offset of field: gradstep_context_options::struct_size",
    ][::core::mem::offset_of!(gradstep_context_options, struct_size) - 0usize];
    [
        "Offset of field: gradstep_context_options::num_threads",
    ][::core::mem::offset_of!(gradstep_context_options, num_threads) - 4usize];
    [
        "Offset of field: gradstep_context_options::background_threads",
    ][::core::mem::offset_of!(gradstep_context_options, background_threads) - 8usize];
    [
        "Offset of field: gradstep_context_options::log_level",
    ][::core::mem::offset_of!(gradstep_context_options, log_level) - 12usize];
    [
        "Offset of field: gradstep_context_options::log",
    ][::core::mem::offset_of!(gradstep_context_options, log) - 16usize];
    [
        "Offset of field: gradstep_context_options::log_user",
    ][::core::mem::offset_of!(gradstep_context_options, log_user) - 24usize];
    [
        "Offset of field: gradstep_context_options::log_release",
    ][::core::mem::offset_of!(gradstep_context_options, log_release) - 32usize];
    [
        "Offset of field: gradstep_context_options::parallel_for",
    ][::core::mem::offset_of!(gradstep_context_options, parallel_for) - 40usize];
    [
        "Offset of field: gradstep_context_options::parallel_for_user",
    ][::core::mem::offset_of!(gradstep_context_options, parallel_for_user) - 48usize];
    [
        "Offset of field: gradstep_context_options::parallel_for_release",
    ][::core::mem::offset_of!(gradstep_context_options, parallel_for_release) - 56usize];
    [
        "Offset of field: gradstep_context_options::interrupt",
    ][::core::mem::offset_of!(gradstep_context_options, interrupt) - 64usize];
    [
        "Offset of field: gradstep_context_options::interrupt_user",
    ][::core::mem::offset_of!(gradstep_context_options, interrupt_user) - 72usize];
    [
        "Offset of field: gradstep_context_options::interrupt_release",
    ][::core::mem::offset_of!(gradstep_context_options, interrupt_release) - 80usize];
    [
        "Offset of field: gradstep_context_options::allocator",
    ][::core::mem::offset_of!(gradstep_context_options, allocator) - 88usize];
    [
        "Offset of field: gradstep_context_options::lapack_library",
    ][::core::mem::offset_of!(gradstep_context_options, lapack_library) - 96usize];
};
impl Default for gradstep_context_options {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
pub const GRADSTEP_SCHEDULE_INVALID: gradstep_schedule_kind = -1;
pub const GRADSTEP_SCHEDULE_CONSTANT: gradstep_schedule_kind = 0;
pub const GRADSTEP_SCHEDULE_EXPONENTIAL_DECAY: gradstep_schedule_kind = 1;
pub const GRADSTEP_SCHEDULE_INVERSE_TIME: gradstep_schedule_kind = 2;
pub const GRADSTEP_SCHEDULE_POLYNOMIAL: gradstep_schedule_kind = 3;
pub const GRADSTEP_SCHEDULE_COSINE: gradstep_schedule_kind = 4;
pub const GRADSTEP_SCHEDULE_PIECEWISE: gradstep_schedule_kind = 5;
pub const GRADSTEP_SCHEDULE_CALLBACK: gradstep_schedule_kind = 6;
pub type gradstep_schedule_kind = ::core::ffi::c_int;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_schedule {
    pub struct_size: u32,
    pub kind: i32,
    pub init_value: f64,
    pub end_value: f64,
    pub decay_steps: i64,
    pub decay_rate: f64,
    pub power: f64,
    pub staircase: i32,
    pub n_points: i32,
    pub warmup_steps: i64,
    pub boundaries: *const i64,
    pub values: *const f64,
    pub function: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            step: i64,
            value: *mut f64,
        ) -> gradstep_status,
    >,
    pub user: *mut ::core::ffi::c_void,
    pub release: ::core::option::Option<
        unsafe extern "C" fn(user: *mut ::core::ffi::c_void),
    >,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_schedule",
    ][::core::mem::size_of::<gradstep_schedule>() - 104usize];
    [
        "Alignment of gradstep_schedule",
    ][::core::mem::align_of::<gradstep_schedule>() - 8usize];
    [
        "Offset of field: gradstep_schedule::struct_size",
    ][::core::mem::offset_of!(gradstep_schedule, struct_size) - 0usize];
    [
        "Offset of field: gradstep_schedule::kind",
    ][::core::mem::offset_of!(gradstep_schedule, kind) - 4usize];
    [
        "Offset of field: gradstep_schedule::init_value",
    ][::core::mem::offset_of!(gradstep_schedule, init_value) - 8usize];
    [
        "Offset of field: gradstep_schedule::end_value",
    ][::core::mem::offset_of!(gradstep_schedule, end_value) - 16usize];
    [
        "Offset of field: gradstep_schedule::decay_steps",
    ][::core::mem::offset_of!(gradstep_schedule, decay_steps) - 24usize];
    [
        "Offset of field: gradstep_schedule::decay_rate",
    ][::core::mem::offset_of!(gradstep_schedule, decay_rate) - 32usize];
    [
        "Offset of field: gradstep_schedule::power",
    ][::core::mem::offset_of!(gradstep_schedule, power) - 40usize];
    [
        "Offset of field: gradstep_schedule::staircase",
    ][::core::mem::offset_of!(gradstep_schedule, staircase) - 48usize];
    [
        "Offset of field: gradstep_schedule::n_points",
    ][::core::mem::offset_of!(gradstep_schedule, n_points) - 52usize];
    [
        "Offset of field: gradstep_schedule::warmup_steps",
    ][::core::mem::offset_of!(gradstep_schedule, warmup_steps) - 56usize];
    [
        "Offset of field: gradstep_schedule::boundaries",
    ][::core::mem::offset_of!(gradstep_schedule, boundaries) - 64usize];
    [
        "Offset of field: gradstep_schedule::values",
    ][::core::mem::offset_of!(gradstep_schedule, values) - 72usize];
    [
        "Offset of field: gradstep_schedule::function",
    ][::core::mem::offset_of!(gradstep_schedule, function) - 80usize];
    [
        "Offset of field: gradstep_schedule::user",
    ][::core::mem::offset_of!(gradstep_schedule, user) - 88usize];
    [
        "Offset of field: gradstep_schedule::release",
    ][::core::mem::offset_of!(gradstep_schedule, release) - 96usize];
};
impl Default for gradstep_schedule {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_accumulator {
    _unused: [u8; 0],
}
pub const GRADSTEP_ACCUMULATE_INVALID: gradstep_accumulation_mode = -1;
pub const GRADSTEP_ACCUMULATE_MEAN_EACH: gradstep_accumulation_mode = 0;
pub const GRADSTEP_ACCUMULATE_SUM: gradstep_accumulation_mode = 1;
pub const GRADSTEP_ACCUMULATE_MEAN: gradstep_accumulation_mode = 2;
pub const GRADSTEP_ACCUMULATE_RUNNING_MEAN: gradstep_accumulation_mode = 3;
pub const GRADSTEP_ACCUMULATE_WEIGHTED: gradstep_accumulation_mode = 4;
pub type gradstep_accumulation_mode = ::core::ffi::c_int;
pub const GRADSTEP_TRIGGER_INVALID: gradstep_accumulation_trigger = -1;
pub const GRADSTEP_TRIGGER_STEPS: gradstep_accumulation_trigger = 0;
pub const GRADSTEP_TRIGGER_SCHEDULE: gradstep_accumulation_trigger = 1;
pub const GRADSTEP_TRIGGER_MIN_WEIGHT: gradstep_accumulation_trigger = 2;
pub const GRADSTEP_TRIGGER_MANUAL: gradstep_accumulation_trigger = 3;
pub type gradstep_accumulation_trigger = ::core::ffi::c_int;
pub const GRADSTEP_NONFINITE_INVALID: gradstep_nonfinite_policy = -1;
pub const GRADSTEP_NONFINITE_NONE: gradstep_nonfinite_policy = 0;
pub const GRADSTEP_NONFINITE_POISON: gradstep_nonfinite_policy = 1;
pub const GRADSTEP_NONFINITE_SKIP: gradstep_nonfinite_policy = 2;
pub type gradstep_nonfinite_policy = ::core::ffi::c_int;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_accumulator_options {
    pub struct_size: u32,
    pub mode: i32,
    pub trigger: i32,
    pub nonfinite: i32,
    pub steps: i64,
    pub min_weight: f64,
    pub schedule: *const gradstep_schedule,
    pub dtype: gradstep_dtype,
    pub keep_sums: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_accumulator_options",
    ][::core::mem::size_of::<gradstep_accumulator_options>() - 48usize];
    [
        "Alignment of gradstep_accumulator_options",
    ][::core::mem::align_of::<gradstep_accumulator_options>() - 8usize];
    [
        "Offset of field: gradstep_accumulator_options::struct_size",
    ][::core::mem::offset_of!(gradstep_accumulator_options, struct_size) - 0usize];
    [
        "Offset of field: gradstep_accumulator_options::mode",
    ][::core::mem::offset_of!(gradstep_accumulator_options, mode) - 4usize];
    [
        "Offset of field: gradstep_accumulator_options::trigger",
    ][::core::mem::offset_of!(gradstep_accumulator_options, trigger) - 8usize];
    [
        "Offset of field: gradstep_accumulator_options::nonfinite",
    ][::core::mem::offset_of!(gradstep_accumulator_options, nonfinite) - 12usize];
    [
        "Offset of field: gradstep_accumulator_options::steps",
    ][::core::mem::offset_of!(gradstep_accumulator_options, steps) - 16usize];
    [
        "Offset of field: gradstep_accumulator_options::min_weight",
    ][::core::mem::offset_of!(gradstep_accumulator_options, min_weight) - 24usize];
    [
        "Offset of field: gradstep_accumulator_options::schedule",
    ][::core::mem::offset_of!(gradstep_accumulator_options, schedule) - 32usize];
    [
        "Offset of field: gradstep_accumulator_options::dtype",
    ][::core::mem::offset_of!(gradstep_accumulator_options, dtype) - 40usize];
    [
        "Offset of field: gradstep_accumulator_options::keep_sums",
    ][::core::mem::offset_of!(gradstep_accumulator_options, keep_sums) - 44usize];
};
impl Default for gradstep_accumulator_options {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_rows {
    pub struct_size: u32,
    pub reserved: i32,
    pub parameter: i64,
    pub indices: *const gradstep_tensor,
    pub values: *const gradstep_tensor,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gradstep_rows"][::core::mem::size_of::<gradstep_rows>() - 32usize];
    ["Alignment of gradstep_rows"][::core::mem::align_of::<gradstep_rows>() - 8usize];
    [
        "Offset of field: gradstep_rows::struct_size",
    ][::core::mem::offset_of!(gradstep_rows, struct_size) - 0usize];
    [
        "Offset of field: gradstep_rows::reserved",
    ][::core::mem::offset_of!(gradstep_rows, reserved) - 4usize];
    [
        "Offset of field: gradstep_rows::parameter",
    ][::core::mem::offset_of!(gradstep_rows, parameter) - 8usize];
    [
        "Offset of field: gradstep_rows::indices",
    ][::core::mem::offset_of!(gradstep_rows, indices) - 16usize];
    [
        "Offset of field: gradstep_rows::values",
    ][::core::mem::offset_of!(gradstep_rows, values) - 24usize];
};
impl Default for gradstep_rows {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_comm {
    _unused: [u8; 0],
}
pub const GRADSTEP_REDUCE_INVALID: gradstep_reduce_op = -1;
pub const GRADSTEP_REDUCE_SUM: gradstep_reduce_op = 0;
pub const GRADSTEP_REDUCE_MAX: gradstep_reduce_op = 1;
pub const GRADSTEP_REDUCE_MIN: gradstep_reduce_op = 2;
pub type gradstep_reduce_op = ::core::ffi::c_int;
pub const GRADSTEP_REDUCTION_INVALID: gradstep_reduction_order = -1;
pub const GRADSTEP_REDUCTION_RANK: gradstep_reduction_order = 0;
pub const GRADSTEP_REDUCTION_ENGINE: gradstep_reduction_order = 1;
pub const GRADSTEP_REDUCTION_HOSTS: gradstep_reduction_order = 2;
pub type gradstep_reduction_order = ::core::ffi::c_int;
pub const GRADSTEP_AVERAGE_INVALID: gradstep_average = -1;
pub const GRADSTEP_AVERAGE_UNSET: gradstep_average = 0;
pub const GRADSTEP_AVERAGE_SUM: gradstep_average = 1;
pub const GRADSTEP_AVERAGE_MEAN: gradstep_average = 2;
pub const GRADSTEP_AVERAGE_WEIGHTED: gradstep_average = 3;
pub type gradstep_average = ::core::ffi::c_int;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_store {
    pub struct_size: u32,
    pub reserved: u32,
    pub user: *mut ::core::ffi::c_void,
    pub set: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            key: *const ::core::ffi::c_char,
            data: *const ::core::ffi::c_void,
            len: usize,
        ) -> gradstep_status,
    >,
    pub get: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            key: *const ::core::ffi::c_char,
            data: *mut ::core::ffi::c_void,
            len: *mut usize,
            timeout_ms: i64,
        ) -> gradstep_status,
    >,
    pub release: ::core::option::Option<
        unsafe extern "C" fn(user: *mut ::core::ffi::c_void),
    >,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gradstep_store"][::core::mem::size_of::<gradstep_store>() - 40usize];
    ["Alignment of gradstep_store"][::core::mem::align_of::<gradstep_store>() - 8usize];
    [
        "Offset of field: gradstep_store::struct_size",
    ][::core::mem::offset_of!(gradstep_store, struct_size) - 0usize];
    [
        "Offset of field: gradstep_store::reserved",
    ][::core::mem::offset_of!(gradstep_store, reserved) - 4usize];
    [
        "Offset of field: gradstep_store::user",
    ][::core::mem::offset_of!(gradstep_store, user) - 8usize];
    [
        "Offset of field: gradstep_store::set",
    ][::core::mem::offset_of!(gradstep_store, set) - 16usize];
    [
        "Offset of field: gradstep_store::get",
    ][::core::mem::offset_of!(gradstep_store, get) - 24usize];
    [
        "Offset of field: gradstep_store::release",
    ][::core::mem::offset_of!(gradstep_store, release) - 32usize];
};
impl Default for gradstep_store {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_comm_options {
    pub struct_size: u32,
    pub rank: i32,
    pub world_size: i32,
    pub reduction_order: i32,
    pub engine: *const ::core::ffi::c_char,
    pub timeout_ms: i64,
    pub id: *const ::core::ffi::c_void,
    pub id_len: usize,
    pub store: *const gradstep_store,
    pub store_path: *const ::core::ffi::c_char,
    pub network_interface: *const ::core::ffi::c_char,
    pub generation: i64,
    pub device: i32,
    pub reserved: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_comm_options",
    ][::core::mem::size_of::<gradstep_comm_options>() - 88usize];
    [
        "Alignment of gradstep_comm_options",
    ][::core::mem::align_of::<gradstep_comm_options>() - 8usize];
    [
        "Offset of field: gradstep_comm_options::struct_size",
    ][::core::mem::offset_of!(gradstep_comm_options, struct_size) - 0usize];
    [
        "Offset of field: gradstep_comm_options::rank",
    ][::core::mem::offset_of!(gradstep_comm_options, rank) - 4usize];
    [
        "Offset of field: gradstep_comm_options::world_size",
    ][::core::mem::offset_of!(gradstep_comm_options, world_size) - 8usize];
    [
        "Offset of field: gradstep_comm_options::reduction_order",
    ][::core::mem::offset_of!(gradstep_comm_options, reduction_order) - 12usize];
    [
        "Offset of field: gradstep_comm_options::engine",
    ][::core::mem::offset_of!(gradstep_comm_options, engine) - 16usize];
    [
        "Offset of field: gradstep_comm_options::timeout_ms",
    ][::core::mem::offset_of!(gradstep_comm_options, timeout_ms) - 24usize];
    [
        "Offset of field: gradstep_comm_options::id",
    ][::core::mem::offset_of!(gradstep_comm_options, id) - 32usize];
    [
        "Offset of field: gradstep_comm_options::id_len",
    ][::core::mem::offset_of!(gradstep_comm_options, id_len) - 40usize];
    [
        "Offset of field: gradstep_comm_options::store",
    ][::core::mem::offset_of!(gradstep_comm_options, store) - 48usize];
    [
        "Offset of field: gradstep_comm_options::store_path",
    ][::core::mem::offset_of!(gradstep_comm_options, store_path) - 56usize];
    [
        "Offset of field: gradstep_comm_options::network_interface",
    ][::core::mem::offset_of!(gradstep_comm_options, network_interface) - 64usize];
    [
        "Offset of field: gradstep_comm_options::generation",
    ][::core::mem::offset_of!(gradstep_comm_options, generation) - 72usize];
    [
        "Offset of field: gradstep_comm_options::device",
    ][::core::mem::offset_of!(gradstep_comm_options, device) - 80usize];
    [
        "Offset of field: gradstep_comm_options::reserved",
    ][::core::mem::offset_of!(gradstep_comm_options, reserved) - 84usize];
};
impl Default for gradstep_comm_options {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct gradstep_comm_vtable {
    pub struct_size: u32,
    pub rank: i32,
    pub world_size: i32,
    pub any_thread: i32,
    pub device_types: u32,
    pub rank_ordered: i32,
    pub all_gather: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            send: *const ::core::ffi::c_void,
            receive: *mut ::core::ffi::c_void,
            bytes: i64,
            stream: *mut ::core::ffi::c_void,
            timeout_ms: i64,
        ) -> gradstep_status,
    >,
    pub all_reduce: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            data: *mut ::core::ffi::c_void,
            count: i64,
            type_code: i32,
            bits: i32,
            op: i32,
            stream: *mut ::core::ffi::c_void,
            timeout_ms: i64,
        ) -> gradstep_status,
    >,
    pub reduce_scatter: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            send: *const ::core::ffi::c_void,
            receive: *mut ::core::ffi::c_void,
            count: i64,
            type_code: i32,
            bits: i32,
            op: i32,
            stream: *mut ::core::ffi::c_void,
            timeout_ms: i64,
        ) -> gradstep_status,
    >,
    pub broadcast: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            data: *mut ::core::ffi::c_void,
            bytes: i64,
            root: i32,
            stream: *mut ::core::ffi::c_void,
            timeout_ms: i64,
        ) -> gradstep_status,
    >,
    pub send: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            data: *const ::core::ffi::c_void,
            bytes: i64,
            to: i32,
            stream: *mut ::core::ffi::c_void,
            timeout_ms: i64,
        ) -> gradstep_status,
    >,
    pub recv: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            data: *mut ::core::ffi::c_void,
            bytes: i64,
            from: i32,
            stream: *mut ::core::ffi::c_void,
            timeout_ms: i64,
        ) -> gradstep_status,
    >,
    pub send_recv: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            send: *const ::core::ffi::c_void,
            send_bytes: i64,
            to: i32,
            receive: *mut ::core::ffi::c_void,
            receive_bytes: i64,
            from: i32,
            stream: *mut ::core::ffi::c_void,
            timeout_ms: i64,
        ) -> gradstep_status,
    >,
    pub barrier: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            stream: *mut ::core::ffi::c_void,
            timeout_ms: i64,
        ) -> gradstep_status,
    >,
    pub dup: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            timeout_ms: i64,
            out: *mut gradstep_comm_vtable,
            out_user: *mut *mut ::core::ffi::c_void,
        ) -> gradstep_status,
    >,
    pub abort: ::core::option::Option<
        unsafe extern "C" fn(user: *mut ::core::ffi::c_void),
    >,
    pub release: ::core::option::Option<
        unsafe extern "C" fn(user: *mut ::core::ffi::c_void),
    >,
    pub exchange: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            send: *const *const ::core::ffi::c_void,
            send_bytes: *const i64,
            receive: *const *mut ::core::ffi::c_void,
            receive_bytes: *const i64,
            stream: *mut ::core::ffi::c_void,
            timeout_ms: i64,
        ) -> gradstep_status,
    >,
    pub poll: ::core::option::Option<
        unsafe extern "C" fn(user: *mut ::core::ffi::c_void) -> gradstep_status,
    >,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_comm_vtable",
    ][::core::mem::size_of::<gradstep_comm_vtable>() - 128usize];
    [
        "Alignment of gradstep_comm_vtable",
    ][::core::mem::align_of::<gradstep_comm_vtable>() - 8usize];
    [
        "Offset of field: gradstep_comm_vtable::struct_size",
    ][::core::mem::offset_of!(gradstep_comm_vtable, struct_size) - 0usize];
    [
        "Offset of field: gradstep_comm_vtable::rank",
    ][::core::mem::offset_of!(gradstep_comm_vtable, rank) - 4usize];
    [
        "Offset of field: gradstep_comm_vtable::world_size",
    ][::core::mem::offset_of!(gradstep_comm_vtable, world_size) - 8usize];
    [
        "Offset of field: gradstep_comm_vtable::any_thread",
    ][::core::mem::offset_of!(gradstep_comm_vtable, any_thread) - 12usize];
    [
        "Offset of field: gradstep_comm_vtable::device_types",
    ][::core::mem::offset_of!(gradstep_comm_vtable, device_types) - 16usize];
    [
        "Offset of field: gradstep_comm_vtable::rank_ordered",
    ][::core::mem::offset_of!(gradstep_comm_vtable, rank_ordered) - 20usize];
    [
        "Offset of field: gradstep_comm_vtable::all_gather",
    ][::core::mem::offset_of!(gradstep_comm_vtable, all_gather) - 24usize];
    [
        "Offset of field: gradstep_comm_vtable::all_reduce",
    ][::core::mem::offset_of!(gradstep_comm_vtable, all_reduce) - 32usize];
    [
        "Offset of field: gradstep_comm_vtable::reduce_scatter",
    ][::core::mem::offset_of!(gradstep_comm_vtable, reduce_scatter) - 40usize];
    [
        "Offset of field: gradstep_comm_vtable::broadcast",
    ][::core::mem::offset_of!(gradstep_comm_vtable, broadcast) - 48usize];
    [
        "Offset of field: gradstep_comm_vtable::send",
    ][::core::mem::offset_of!(gradstep_comm_vtable, send) - 56usize];
    [
        "Offset of field: gradstep_comm_vtable::recv",
    ][::core::mem::offset_of!(gradstep_comm_vtable, recv) - 64usize];
    [
        "Offset of field: gradstep_comm_vtable::send_recv",
    ][::core::mem::offset_of!(gradstep_comm_vtable, send_recv) - 72usize];
    [
        "Offset of field: gradstep_comm_vtable::barrier",
    ][::core::mem::offset_of!(gradstep_comm_vtable, barrier) - 80usize];
    [
        "Offset of field: gradstep_comm_vtable::dup",
    ][::core::mem::offset_of!(gradstep_comm_vtable, dup) - 88usize];
    [
        "Offset of field: gradstep_comm_vtable::abort",
    ][::core::mem::offset_of!(gradstep_comm_vtable, abort) - 96usize];
    [
        "Offset of field: gradstep_comm_vtable::release",
    ][::core::mem::offset_of!(gradstep_comm_vtable, release) - 104usize];
    [
        "Offset of field: gradstep_comm_vtable::exchange",
    ][::core::mem::offset_of!(gradstep_comm_vtable, exchange) - 112usize];
    [
        "Offset of field: gradstep_comm_vtable::poll",
    ][::core::mem::offset_of!(gradstep_comm_vtable, poll) - 120usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct gradstep_comm_statistics {
    pub struct_size: u32,
    pub reserved: i32,
    pub all_reduces: i64,
    pub all_gathers: i64,
    pub reduce_scatters: i64,
    pub broadcasts: i64,
    pub sends: i64,
    pub receives: i64,
    pub barriers: i64,
    pub bytes_sent: i64,
    pub nanoseconds: i64,
    pub exchanges: i64,
    pub rounds: i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_comm_statistics",
    ][::core::mem::size_of::<gradstep_comm_statistics>() - 96usize];
    [
        "Alignment of gradstep_comm_statistics",
    ][::core::mem::align_of::<gradstep_comm_statistics>() - 8usize];
    [
        "Offset of field: gradstep_comm_statistics::struct_size",
    ][::core::mem::offset_of!(gradstep_comm_statistics, struct_size) - 0usize];
    [
        "Offset of field: gradstep_comm_statistics::reserved",
    ][::core::mem::offset_of!(gradstep_comm_statistics, reserved) - 4usize];
    [
        "Offset of field: gradstep_comm_statistics::all_reduces",
    ][::core::mem::offset_of!(gradstep_comm_statistics, all_reduces) - 8usize];
    [
        "Offset of field: gradstep_comm_statistics::all_gathers",
    ][::core::mem::offset_of!(gradstep_comm_statistics, all_gathers) - 16usize];
    [
        "Offset of field: gradstep_comm_statistics::reduce_scatters",
    ][::core::mem::offset_of!(gradstep_comm_statistics, reduce_scatters) - 24usize];
    [
        "Offset of field: gradstep_comm_statistics::broadcasts",
    ][::core::mem::offset_of!(gradstep_comm_statistics, broadcasts) - 32usize];
    [
        "Offset of field: gradstep_comm_statistics::sends",
    ][::core::mem::offset_of!(gradstep_comm_statistics, sends) - 40usize];
    [
        "Offset of field: gradstep_comm_statistics::receives",
    ][::core::mem::offset_of!(gradstep_comm_statistics, receives) - 48usize];
    [
        "Offset of field: gradstep_comm_statistics::barriers",
    ][::core::mem::offset_of!(gradstep_comm_statistics, barriers) - 56usize];
    [
        "Offset of field: gradstep_comm_statistics::bytes_sent",
    ][::core::mem::offset_of!(gradstep_comm_statistics, bytes_sent) - 64usize];
    [
        "Offset of field: gradstep_comm_statistics::nanoseconds",
    ][::core::mem::offset_of!(gradstep_comm_statistics, nanoseconds) - 72usize];
    [
        "Offset of field: gradstep_comm_statistics::exchanges",
    ][::core::mem::offset_of!(gradstep_comm_statistics, exchanges) - 80usize];
    [
        "Offset of field: gradstep_comm_statistics::rounds",
    ][::core::mem::offset_of!(gradstep_comm_statistics, rounds) - 88usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_reducer {
    _unused: [u8; 0],
}
pub const GRADSTEP_REDUCER_INVALID: gradstep_reducer_mode = -1;
pub const GRADSTEP_REDUCER_DENSE: gradstep_reducer_mode = 0;
pub const GRADSTEP_REDUCER_HALF: gradstep_reducer_mode = 1;
pub const GRADSTEP_REDUCER_BFLOAT16: gradstep_reducer_mode = 2;
pub const GRADSTEP_REDUCER_SPARSE_THRESHOLD: gradstep_reducer_mode = 3;
pub const GRADSTEP_REDUCER_SPARSE_TOPK: gradstep_reducer_mode = 4;
pub const GRADSTEP_REDUCER_ADASUM_TREE: gradstep_reducer_mode = 5;
pub const GRADSTEP_REDUCER_ADASUM_NWAY: gradstep_reducer_mode = 6;
pub const GRADSTEP_REDUCER_POWERSGD: gradstep_reducer_mode = 7;
pub const GRADSTEP_REDUCER_AUTO: gradstep_reducer_mode = 8;
pub const GRADSTEP_REDUCER_INT8: gradstep_reducer_mode = 9;
pub const GRADSTEP_REDUCER_INT4: gradstep_reducer_mode = 10;
pub const GRADSTEP_REDUCER_FP8_E4M3: gradstep_reducer_mode = 11;
pub const GRADSTEP_REDUCER_FP8_E5M2: gradstep_reducer_mode = 12;
pub type gradstep_reducer_mode = ::core::ffi::c_int;
pub const GRADSTEP_CANDIDATE_HOSTS: gradstep_candidate_flags = 1073741824;
pub type gradstep_candidate_flags = ::core::ffi::c_uint;
pub const GRADSTEP_HALF_SUM_INVALID: gradstep_half_sum = -1;
pub const GRADSTEP_HALF_SUM_F32: gradstep_half_sum = 0;
pub const GRADSTEP_HALF_SUM_FP16: gradstep_half_sum = 1;
pub const GRADSTEP_HALF_SUM_FP16_PREDIVIDED: gradstep_half_sum = 2;
pub type gradstep_half_sum = ::core::ffi::c_int;
pub const GRADSTEP_SELECTION_INVALID: gradstep_selection = -1;
pub const GRADSTEP_SELECTION_BUCKET: gradstep_selection = 0;
pub const GRADSTEP_SELECTION_TENSOR: gradstep_selection = 1;
pub type gradstep_selection = ::core::ffi::c_int;
pub const GRADSTEP_NAN_INVALID: gradstep_nan_policy = -1;
pub const GRADSTEP_NAN_ERROR: gradstep_nan_policy = 0;
pub const GRADSTEP_NAN_ZERO: gradstep_nan_policy = 1;
pub const GRADSTEP_NAN_SEND: gradstep_nan_policy = 2;
pub type gradstep_nan_policy = ::core::ffi::c_int;
pub const GRADSTEP_SPARSE_EXCHANGE_INVALID: gradstep_sparse_exchange = -1;
pub const GRADSTEP_SPARSE_EXCHANGE_AUTO: gradstep_sparse_exchange = 0;
pub const GRADSTEP_SPARSE_EXCHANGE_GATHER: gradstep_sparse_exchange = 1;
pub const GRADSTEP_SPARSE_EXCHANGE_SPLIT: gradstep_sparse_exchange = 2;
pub type gradstep_sparse_exchange = ::core::ffi::c_int;
pub const GRADSTEP_ERROR_FEEDBACK_INVALID: gradstep_error_feedback = -1;
pub const GRADSTEP_ERROR_FEEDBACK_EF14: gradstep_error_feedback = 0;
pub const GRADSTEP_ERROR_FEEDBACK_EF21: gradstep_error_feedback = 1;
pub type gradstep_error_feedback = ::core::ffi::c_int;
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct gradstep_reducer_options {
    pub struct_size: u32,
    pub mode: i32,
    pub average: i32,
    pub control: i32,
    pub fuse_threshold: i64,
    pub bucket_elements: i64,
    pub clip_value: f64,
    pub half_sum: i32,
    pub residual: i32,
    pub sparsity: f64,
    pub selection: i32,
    pub nan_policy: i32,
    pub sparse_exchange: i32,
    pub error_feedback: i32,
    pub momentum_correction: f64,
    pub warmup_steps: i64,
    pub rank: i32,
    pub candidates: i32,
    pub channels: i32,
    pub reserved: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_reducer_options",
    ][::core::mem::size_of::<gradstep_reducer_options>() - 104usize];
    [
        "Alignment of gradstep_reducer_options",
    ][::core::mem::align_of::<gradstep_reducer_options>() - 8usize];
    [
        "Offset of field: gradstep_reducer_options::struct_size",
    ][::core::mem::offset_of!(gradstep_reducer_options, struct_size) - 0usize];
    [
        "Offset of field: gradstep_reducer_options::mode",
    ][::core::mem::offset_of!(gradstep_reducer_options, mode) - 4usize];
    [
        "Offset of field: gradstep_reducer_options::average",
    ][::core::mem::offset_of!(gradstep_reducer_options, average) - 8usize];
    [
        "Offset of field: gradstep_reducer_options::control",
    ][::core::mem::offset_of!(gradstep_reducer_options, control) - 12usize];
    [
        "Offset of field: gradstep_reducer_options::fuse_threshold",
    ][::core::mem::offset_of!(gradstep_reducer_options, fuse_threshold) - 16usize];
    [
        "Offset of field: gradstep_reducer_options::bucket_elements",
    ][::core::mem::offset_of!(gradstep_reducer_options, bucket_elements) - 24usize];
    [
        "Offset of field: gradstep_reducer_options::clip_value",
    ][::core::mem::offset_of!(gradstep_reducer_options, clip_value) - 32usize];
    [
        "Offset of field: gradstep_reducer_options::half_sum",
    ][::core::mem::offset_of!(gradstep_reducer_options, half_sum) - 40usize];
    [
        "Offset of field: gradstep_reducer_options::residual",
    ][::core::mem::offset_of!(gradstep_reducer_options, residual) - 44usize];
    [
        "Offset of field: gradstep_reducer_options::sparsity",
    ][::core::mem::offset_of!(gradstep_reducer_options, sparsity) - 48usize];
    [
        "Offset of field: gradstep_reducer_options::selection",
    ][::core::mem::offset_of!(gradstep_reducer_options, selection) - 56usize];
    [
        "Offset of field: gradstep_reducer_options::nan_policy",
    ][::core::mem::offset_of!(gradstep_reducer_options, nan_policy) - 60usize];
    [
        "Offset of field: gradstep_reducer_options::sparse_exchange",
    ][::core::mem::offset_of!(gradstep_reducer_options, sparse_exchange) - 64usize];
    [
        "Offset of field: gradstep_reducer_options::error_feedback",
    ][::core::mem::offset_of!(gradstep_reducer_options, error_feedback) - 68usize];
    [
        "Offset of field: gradstep_reducer_options::momentum_correction",
    ][::core::mem::offset_of!(gradstep_reducer_options, momentum_correction) - 72usize];
    [
        "Offset of field: gradstep_reducer_options::warmup_steps",
    ][::core::mem::offset_of!(gradstep_reducer_options, warmup_steps) - 80usize];
    [
        "Offset of field: gradstep_reducer_options::rank",
    ][::core::mem::offset_of!(gradstep_reducer_options, rank) - 88usize];
    [
        "Offset of field: gradstep_reducer_options::candidates",
    ][::core::mem::offset_of!(gradstep_reducer_options, candidates) - 92usize];
    [
        "Offset of field: gradstep_reducer_options::channels",
    ][::core::mem::offset_of!(gradstep_reducer_options, channels) - 96usize];
    [
        "Offset of field: gradstep_reducer_options::reserved",
    ][::core::mem::offset_of!(gradstep_reducer_options, reserved) - 100usize];
};
pub const GRADSTEP_EXCHANGE_INVALID: gradstep_exchange_algorithm = -1;
pub const GRADSTEP_EXCHANGE_NONE: gradstep_exchange_algorithm = 0;
pub const GRADSTEP_EXCHANGE_ALL_REDUCE: gradstep_exchange_algorithm = 1;
pub const GRADSTEP_EXCHANGE_PIECES: gradstep_exchange_algorithm = 2;
pub const GRADSTEP_EXCHANGE_GATHER: gradstep_exchange_algorithm = 3;
pub const GRADSTEP_EXCHANGE_SPARSE_GATHER: gradstep_exchange_algorithm = 4;
pub const GRADSTEP_EXCHANGE_SPARSE_SPLIT: gradstep_exchange_algorithm = 5;
pub const GRADSTEP_EXCHANGE_FACTORS: gradstep_exchange_algorithm = 6;
pub const GRADSTEP_EXCHANGE_SCATTER: gradstep_exchange_algorithm = 7;
pub type gradstep_exchange_algorithm = ::core::ffi::c_int;
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct gradstep_bucket_statistics {
    pub struct_size: u32,
    pub mode: i32,
    pub elements: i64,
    pub parameters: i64,
    pub exchanges: i64,
    pub bytes_dense: i64,
    pub bytes_sent: i64,
    pub pack_nanoseconds: i64,
    pub exchange_nanoseconds: i64,
    pub select_nanoseconds: i64,
    pub selected: i64,
    pub nonfinite: i64,
    pub algorithm: i32,
    pub by_hosts: i32,
    pub predicted_dense_nanoseconds: i64,
    pub predicted_half_nanoseconds: i64,
    pub predicted_sparse_gather_nanoseconds: i64,
    pub predicted_sparse_split_nanoseconds: i64,
    pub wait_nanoseconds: i64,
    pub predicted_int8_nanoseconds: i64,
    pub predicted_powersgd_nanoseconds: i64,
    pub predicted_int4_nanoseconds: i64,
    pub predicted_fp8_nanoseconds: i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_bucket_statistics",
    ][::core::mem::size_of::<gradstep_bucket_statistics>() - 168usize];
    [
        "Alignment of gradstep_bucket_statistics",
    ][::core::mem::align_of::<gradstep_bucket_statistics>() - 8usize];
    [
        "Offset of field: gradstep_bucket_statistics::struct_size",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, struct_size) - 0usize];
    [
        "Offset of field: gradstep_bucket_statistics::mode",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, mode) - 4usize];
    [
        "Offset of field: gradstep_bucket_statistics::elements",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, elements) - 8usize];
    [
        "Offset of field: gradstep_bucket_statistics::parameters",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, parameters) - 16usize];
    [
        "Offset of field: gradstep_bucket_statistics::exchanges",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, exchanges) - 24usize];
    [
        "Offset of field: gradstep_bucket_statistics::bytes_dense",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, bytes_dense) - 32usize];
    [
        "Offset of field: gradstep_bucket_statistics::bytes_sent",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, bytes_sent) - 40usize];
    [
        "Offset of field: gradstep_bucket_statistics::pack_nanoseconds",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, pack_nanoseconds) - 48usize];
    [
        "Offset of field: gradstep_bucket_statistics::exchange_nanoseconds",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, exchange_nanoseconds)
        - 56usize];
    [
        "Offset of field: gradstep_bucket_statistics::select_nanoseconds",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, select_nanoseconds) - 64usize];
    [
        "Offset of field: gradstep_bucket_statistics::selected",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, selected) - 72usize];
    [
        "Offset of field: gradstep_bucket_statistics::nonfinite",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, nonfinite) - 80usize];
    [
        "Offset of field: gradstep_bucket_statistics::algorithm",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, algorithm) - 88usize];
    [
        "Offset of field: gradstep_bucket_statistics::by_hosts",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, by_hosts) - 92usize];
    [
        "Offset of field: gradstep_bucket_statistics::predicted_dense_nanoseconds",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, predicted_dense_nanoseconds)
        - 96usize];
    [
        "Offset of field: gradstep_bucket_statistics::predicted_half_nanoseconds",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, predicted_half_nanoseconds)
        - 104usize];
    [
        "Offset of field: gradstep_bucket_statistics::predicted_sparse_gather_nanoseconds",
    ][::core::mem::offset_of!(
        gradstep_bucket_statistics, predicted_sparse_gather_nanoseconds
    ) - 112usize];
    [
        "Offset of field: gradstep_bucket_statistics::predicted_sparse_split_nanoseconds",
    ][::core::mem::offset_of!(
        gradstep_bucket_statistics, predicted_sparse_split_nanoseconds
    ) - 120usize];
    [
        "Offset of field: gradstep_bucket_statistics::wait_nanoseconds",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, wait_nanoseconds) - 128usize];
    [
        "Offset of field: gradstep_bucket_statistics::predicted_int8_nanoseconds",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, predicted_int8_nanoseconds)
        - 136usize];
    [
        "Offset of field: gradstep_bucket_statistics::predicted_powersgd_nanoseconds",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, predicted_powersgd_nanoseconds)
        - 144usize];
    [
        "Offset of field: gradstep_bucket_statistics::predicted_int4_nanoseconds",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, predicted_int4_nanoseconds)
        - 152usize];
    [
        "Offset of field: gradstep_bucket_statistics::predicted_fp8_nanoseconds",
    ][::core::mem::offset_of!(gradstep_bucket_statistics, predicted_fp8_nanoseconds)
        - 160usize];
};
pub const GRADSTEP_COST_INVALID: gradstep_cost_algorithm = -1;
pub const GRADSTEP_COST_OWN: gradstep_cost_algorithm = 0;
pub const GRADSTEP_COST_RING: gradstep_cost_algorithm = 1;
pub const GRADSTEP_COST_TREE: gradstep_cost_algorithm = 2;
pub const GRADSTEP_COST_HIERARCHICAL: gradstep_cost_algorithm = 3;
pub const GRADSTEP_COST_SPARSE_GATHER: gradstep_cost_algorithm = 4;
pub const GRADSTEP_COST_SPARSE_SPLIT: gradstep_cost_algorithm = 5;
pub const GRADSTEP_COST_HOSTS: gradstep_cost_algorithm = 6;
pub type gradstep_cost_algorithm = ::core::ffi::c_int;
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct gradstep_cost_options {
    pub struct_size: u32,
    pub element_bytes: i32,
    pub elements: i64,
    pub ranks: i64,
    pub ranks_per_host: i64,
    pub bucket_elements: i64,
    pub bandwidth: f64,
    pub latency: f64,
    pub host_bandwidth: f64,
    pub host_latency: f64,
    pub message: f64,
    pub sparsity: f64,
    pub rank: i32,
    pub no_exchange: i32,
    pub rows: i64,
    pub columns: i64,
    pub pack_seconds: f64,
    pub convert_seconds: f64,
    pub select_seconds: f64,
    pub entry_seconds: f64,
    pub add_seconds: f64,
    pub merge_seconds: f64,
    pub multiply_seconds: f64,
    pub control_parameters: i64,
    pub channels: i32,
    pub no_stages: i32,
    pub encode_seconds: f64,
    pub decode_seconds: f64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_cost_options",
    ][::core::mem::size_of::<gradstep_cost_options>() - 200usize];
    [
        "Alignment of gradstep_cost_options",
    ][::core::mem::align_of::<gradstep_cost_options>() - 8usize];
    [
        "Offset of field: gradstep_cost_options::struct_size",
    ][::core::mem::offset_of!(gradstep_cost_options, struct_size) - 0usize];
    [
        "Offset of field: gradstep_cost_options::element_bytes",
    ][::core::mem::offset_of!(gradstep_cost_options, element_bytes) - 4usize];
    [
        "Offset of field: gradstep_cost_options::elements",
    ][::core::mem::offset_of!(gradstep_cost_options, elements) - 8usize];
    [
        "Offset of field: gradstep_cost_options::ranks",
    ][::core::mem::offset_of!(gradstep_cost_options, ranks) - 16usize];
    [
        "Offset of field: gradstep_cost_options::ranks_per_host",
    ][::core::mem::offset_of!(gradstep_cost_options, ranks_per_host) - 24usize];
    [
        "Offset of field: gradstep_cost_options::bucket_elements",
    ][::core::mem::offset_of!(gradstep_cost_options, bucket_elements) - 32usize];
    [
        "Offset of field: gradstep_cost_options::bandwidth",
    ][::core::mem::offset_of!(gradstep_cost_options, bandwidth) - 40usize];
    [
        "Offset of field: gradstep_cost_options::latency",
    ][::core::mem::offset_of!(gradstep_cost_options, latency) - 48usize];
    [
        "Offset of field: gradstep_cost_options::host_bandwidth",
    ][::core::mem::offset_of!(gradstep_cost_options, host_bandwidth) - 56usize];
    [
        "Offset of field: gradstep_cost_options::host_latency",
    ][::core::mem::offset_of!(gradstep_cost_options, host_latency) - 64usize];
    [
        "Offset of field: gradstep_cost_options::message",
    ][::core::mem::offset_of!(gradstep_cost_options, message) - 72usize];
    [
        "Offset of field: gradstep_cost_options::sparsity",
    ][::core::mem::offset_of!(gradstep_cost_options, sparsity) - 80usize];
    [
        "Offset of field: gradstep_cost_options::rank",
    ][::core::mem::offset_of!(gradstep_cost_options, rank) - 88usize];
    [
        "Offset of field: gradstep_cost_options::no_exchange",
    ][::core::mem::offset_of!(gradstep_cost_options, no_exchange) - 92usize];
    [
        "Offset of field: gradstep_cost_options::rows",
    ][::core::mem::offset_of!(gradstep_cost_options, rows) - 96usize];
    [
        "Offset of field: gradstep_cost_options::columns",
    ][::core::mem::offset_of!(gradstep_cost_options, columns) - 104usize];
    [
        "Offset of field: gradstep_cost_options::pack_seconds",
    ][::core::mem::offset_of!(gradstep_cost_options, pack_seconds) - 112usize];
    [
        "Offset of field: gradstep_cost_options::convert_seconds",
    ][::core::mem::offset_of!(gradstep_cost_options, convert_seconds) - 120usize];
    [
        "Offset of field: gradstep_cost_options::select_seconds",
    ][::core::mem::offset_of!(gradstep_cost_options, select_seconds) - 128usize];
    [
        "Offset of field: gradstep_cost_options::entry_seconds",
    ][::core::mem::offset_of!(gradstep_cost_options, entry_seconds) - 136usize];
    [
        "Offset of field: gradstep_cost_options::add_seconds",
    ][::core::mem::offset_of!(gradstep_cost_options, add_seconds) - 144usize];
    [
        "Offset of field: gradstep_cost_options::merge_seconds",
    ][::core::mem::offset_of!(gradstep_cost_options, merge_seconds) - 152usize];
    [
        "Offset of field: gradstep_cost_options::multiply_seconds",
    ][::core::mem::offset_of!(gradstep_cost_options, multiply_seconds) - 160usize];
    [
        "Offset of field: gradstep_cost_options::control_parameters",
    ][::core::mem::offset_of!(gradstep_cost_options, control_parameters) - 168usize];
    [
        "Offset of field: gradstep_cost_options::channels",
    ][::core::mem::offset_of!(gradstep_cost_options, channels) - 176usize];
    [
        "Offset of field: gradstep_cost_options::no_stages",
    ][::core::mem::offset_of!(gradstep_cost_options, no_stages) - 180usize];
    [
        "Offset of field: gradstep_cost_options::encode_seconds",
    ][::core::mem::offset_of!(gradstep_cost_options, encode_seconds) - 184usize];
    [
        "Offset of field: gradstep_cost_options::decode_seconds",
    ][::core::mem::offset_of!(gradstep_cost_options, decode_seconds) - 192usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct gradstep_cost {
    pub struct_size: u32,
    pub mode: i32,
    pub algorithm: i32,
    pub reserved: i32,
    pub bytes: i64,
    pub seconds: f64,
    pub network_seconds: f64,
    pub calls: i64,
    pub rounds: i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gradstep_cost"][::core::mem::size_of::<gradstep_cost>() - 56usize];
    ["Alignment of gradstep_cost"][::core::mem::align_of::<gradstep_cost>() - 8usize];
    [
        "Offset of field: gradstep_cost::struct_size",
    ][::core::mem::offset_of!(gradstep_cost, struct_size) - 0usize];
    [
        "Offset of field: gradstep_cost::mode",
    ][::core::mem::offset_of!(gradstep_cost, mode) - 4usize];
    [
        "Offset of field: gradstep_cost::algorithm",
    ][::core::mem::offset_of!(gradstep_cost, algorithm) - 8usize];
    [
        "Offset of field: gradstep_cost::reserved",
    ][::core::mem::offset_of!(gradstep_cost, reserved) - 12usize];
    [
        "Offset of field: gradstep_cost::bytes",
    ][::core::mem::offset_of!(gradstep_cost, bytes) - 16usize];
    [
        "Offset of field: gradstep_cost::seconds",
    ][::core::mem::offset_of!(gradstep_cost, seconds) - 24usize];
    [
        "Offset of field: gradstep_cost::network_seconds",
    ][::core::mem::offset_of!(gradstep_cost, network_seconds) - 32usize];
    [
        "Offset of field: gradstep_cost::calls",
    ][::core::mem::offset_of!(gradstep_cost, calls) - 40usize];
    [
        "Offset of field: gradstep_cost::rounds",
    ][::core::mem::offset_of!(gradstep_cost, rounds) - 48usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_optimizer {
    _unused: [u8; 0],
}
pub const GRADSTEP_STATE_DTYPE_INVALID: gradstep_state_dtype = -1;
pub const GRADSTEP_STATE_DTYPE_NATIVE: gradstep_state_dtype = 0;
pub const GRADSTEP_STATE_DTYPE_BF16: gradstep_state_dtype = 1;
pub const GRADSTEP_STATE_DTYPE_INT8: gradstep_state_dtype = 2;
pub type gradstep_state_dtype = ::core::ffi::c_int;
pub const GRADSTEP_EPSILON_PLACEMENT_INVALID: gradstep_epsilon_placement = -1;
pub const GRADSTEP_EPSILON_PLACEMENT_INSIDE: gradstep_epsilon_placement = 0;
pub const GRADSTEP_EPSILON_PLACEMENT_OUTSIDE: gradstep_epsilon_placement = 1;
pub type gradstep_epsilon_placement = ::core::ffi::c_int;
pub const GRADSTEP_SGD_FIRST_STEP_INVALID: gradstep_sgd_first_step = -1;
pub const GRADSTEP_SGD_FIRST_STEP_DAMPEN: gradstep_sgd_first_step = 0;
pub const GRADSTEP_SGD_FIRST_STEP_COPY: gradstep_sgd_first_step = 1;
pub type gradstep_sgd_first_step = ::core::ffi::c_int;
pub const GRADSTEP_BIAS_CORRECTION_INVALID: gradstep_bias_correction = -1;
pub const GRADSTEP_BIAS_CORRECTION_STANDARD: gradstep_bias_correction = 0;
pub const GRADSTEP_BIAS_CORRECTION_TF: gradstep_bias_correction = 1;
pub type gradstep_bias_correction = ::core::ffi::c_int;
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct gradstep_sgd_options {
    pub struct_size: u32,
    pub nesterov: i32,
    pub learning_rate: f64,
    pub momentum: f64,
    pub dampening: f64,
    pub weight_decay: f64,
    pub first_step: i32,
    pub maximize: i32,
    pub master_weights: i32,
    pub state_dtype: i32,
    pub stochastic_rounding: i32,
    pub reserved: i32,
    pub seed: i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_sgd_options",
    ][::core::mem::size_of::<gradstep_sgd_options>() - 72usize];
    [
        "Alignment of gradstep_sgd_options",
    ][::core::mem::align_of::<gradstep_sgd_options>() - 8usize];
    [
        "Offset of field: gradstep_sgd_options::struct_size",
    ][::core::mem::offset_of!(gradstep_sgd_options, struct_size) - 0usize];
    [
        "Offset of field: gradstep_sgd_options::nesterov",
    ][::core::mem::offset_of!(gradstep_sgd_options, nesterov) - 4usize];
    [
        "Offset of field: gradstep_sgd_options::learning_rate",
    ][::core::mem::offset_of!(gradstep_sgd_options, learning_rate) - 8usize];
    [
        "Offset of field: gradstep_sgd_options::momentum",
    ][::core::mem::offset_of!(gradstep_sgd_options, momentum) - 16usize];
    [
        "Offset of field: gradstep_sgd_options::dampening",
    ][::core::mem::offset_of!(gradstep_sgd_options, dampening) - 24usize];
    [
        "Offset of field: gradstep_sgd_options::weight_decay",
    ][::core::mem::offset_of!(gradstep_sgd_options, weight_decay) - 32usize];
    [
        "Offset of field: gradstep_sgd_options::first_step",
    ][::core::mem::offset_of!(gradstep_sgd_options, first_step) - 40usize];
    [
        "Offset of field: gradstep_sgd_options::maximize",
    ][::core::mem::offset_of!(gradstep_sgd_options, maximize) - 44usize];
    [
        "Offset of field: gradstep_sgd_options::master_weights",
    ][::core::mem::offset_of!(gradstep_sgd_options, master_weights) - 48usize];
    [
        "Offset of field: gradstep_sgd_options::state_dtype",
    ][::core::mem::offset_of!(gradstep_sgd_options, state_dtype) - 52usize];
    [
        "Offset of field: gradstep_sgd_options::stochastic_rounding",
    ][::core::mem::offset_of!(gradstep_sgd_options, stochastic_rounding) - 56usize];
    [
        "Offset of field: gradstep_sgd_options::reserved",
    ][::core::mem::offset_of!(gradstep_sgd_options, reserved) - 60usize];
    [
        "Offset of field: gradstep_sgd_options::seed",
    ][::core::mem::offset_of!(gradstep_sgd_options, seed) - 64usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct gradstep_rmsprop_options {
    pub struct_size: u32,
    pub epsilon_placement: i32,
    pub learning_rate: f64,
    pub rho: f64,
    pub epsilon: f64,
    pub weight_decay: f64,
    pub momentum: f64,
    pub centered: i32,
    pub maximize: i32,
    pub master_weights: i32,
    pub state_dtype: i32,
    pub stochastic_rounding: i32,
    pub reserved: i32,
    pub seed: i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_rmsprop_options",
    ][::core::mem::size_of::<gradstep_rmsprop_options>() - 80usize];
    [
        "Alignment of gradstep_rmsprop_options",
    ][::core::mem::align_of::<gradstep_rmsprop_options>() - 8usize];
    [
        "Offset of field: gradstep_rmsprop_options::struct_size",
    ][::core::mem::offset_of!(gradstep_rmsprop_options, struct_size) - 0usize];
    [
        "Offset of field: gradstep_rmsprop_options::epsilon_placement",
    ][::core::mem::offset_of!(gradstep_rmsprop_options, epsilon_placement) - 4usize];
    [
        "Offset of field: gradstep_rmsprop_options::learning_rate",
    ][::core::mem::offset_of!(gradstep_rmsprop_options, learning_rate) - 8usize];
    [
        "Offset of field: gradstep_rmsprop_options::rho",
    ][::core::mem::offset_of!(gradstep_rmsprop_options, rho) - 16usize];
    [
        "Offset of field: gradstep_rmsprop_options::epsilon",
    ][::core::mem::offset_of!(gradstep_rmsprop_options, epsilon) - 24usize];
    [
        "Offset of field: gradstep_rmsprop_options::weight_decay",
    ][::core::mem::offset_of!(gradstep_rmsprop_options, weight_decay) - 32usize];
    [
        "Offset of field: gradstep_rmsprop_options::momentum",
    ][::core::mem::offset_of!(gradstep_rmsprop_options, momentum) - 40usize];
    [
        "Offset of field: gradstep_rmsprop_options::centered",
    ][::core::mem::offset_of!(gradstep_rmsprop_options, centered) - 48usize];
    [
        "Offset of field: gradstep_rmsprop_options::maximize",
    ][::core::mem::offset_of!(gradstep_rmsprop_options, maximize) - 52usize];
    [
        "Offset of field: gradstep_rmsprop_options::master_weights",
    ][::core::mem::offset_of!(gradstep_rmsprop_options, master_weights) - 56usize];
    [
        "Offset of field: gradstep_rmsprop_options::state_dtype",
    ][::core::mem::offset_of!(gradstep_rmsprop_options, state_dtype) - 60usize];
    [
        "Offset of field: gradstep_rmsprop_options::stochastic_rounding",
    ][::core::mem::offset_of!(gradstep_rmsprop_options, stochastic_rounding) - 64usize];
    [
        "Offset of field: gradstep_rmsprop_options::reserved",
    ][::core::mem::offset_of!(gradstep_rmsprop_options, reserved) - 68usize];
    [
        "Offset of field: gradstep_rmsprop_options::seed",
    ][::core::mem::offset_of!(gradstep_rmsprop_options, seed) - 72usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct gradstep_adagrad_options {
    pub struct_size: u32,
    pub epsilon_placement: i32,
    pub learning_rate: f64,
    pub epsilon: f64,
    pub weight_decay: f64,
    pub lr_decay: f64,
    pub initial_accumulator: f64,
    pub maximize: i32,
    pub reserved0: i32,
    pub master_weights: i32,
    pub state_dtype: i32,
    pub stochastic_rounding: i32,
    pub reserved: i32,
    pub seed: i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_adagrad_options",
    ][::core::mem::size_of::<gradstep_adagrad_options>() - 80usize];
    [
        "Alignment of gradstep_adagrad_options",
    ][::core::mem::align_of::<gradstep_adagrad_options>() - 8usize];
    [
        "Offset of field: gradstep_adagrad_options::struct_size",
    ][::core::mem::offset_of!(gradstep_adagrad_options, struct_size) - 0usize];
    [
        "Offset of field: gradstep_adagrad_options::epsilon_placement",
    ][::core::mem::offset_of!(gradstep_adagrad_options, epsilon_placement) - 4usize];
    [
        "Offset of field: gradstep_adagrad_options::learning_rate",
    ][::core::mem::offset_of!(gradstep_adagrad_options, learning_rate) - 8usize];
    [
        "Offset of field: gradstep_adagrad_options::epsilon",
    ][::core::mem::offset_of!(gradstep_adagrad_options, epsilon) - 16usize];
    [
        "Offset of field: gradstep_adagrad_options::weight_decay",
    ][::core::mem::offset_of!(gradstep_adagrad_options, weight_decay) - 24usize];
    [
        "Offset of field: gradstep_adagrad_options::lr_decay",
    ][::core::mem::offset_of!(gradstep_adagrad_options, lr_decay) - 32usize];
    [
        "Offset of field: gradstep_adagrad_options::initial_accumulator",
    ][::core::mem::offset_of!(gradstep_adagrad_options, initial_accumulator) - 40usize];
    [
        "Offset of field: gradstep_adagrad_options::maximize",
    ][::core::mem::offset_of!(gradstep_adagrad_options, maximize) - 48usize];
    [
        "Offset of field: gradstep_adagrad_options::reserved0",
    ][::core::mem::offset_of!(gradstep_adagrad_options, reserved0) - 52usize];
    [
        "Offset of field: gradstep_adagrad_options::master_weights",
    ][::core::mem::offset_of!(gradstep_adagrad_options, master_weights) - 56usize];
    [
        "Offset of field: gradstep_adagrad_options::state_dtype",
    ][::core::mem::offset_of!(gradstep_adagrad_options, state_dtype) - 60usize];
    [
        "Offset of field: gradstep_adagrad_options::stochastic_rounding",
    ][::core::mem::offset_of!(gradstep_adagrad_options, stochastic_rounding) - 64usize];
    [
        "Offset of field: gradstep_adagrad_options::reserved",
    ][::core::mem::offset_of!(gradstep_adagrad_options, reserved) - 68usize];
    [
        "Offset of field: gradstep_adagrad_options::seed",
    ][::core::mem::offset_of!(gradstep_adagrad_options, seed) - 72usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct gradstep_adam_options {
    pub struct_size: u32,
    pub bias_correction: i32,
    pub learning_rate: f64,
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
    pub weight_decay: f64,
    pub decoupled_weight_decay: i32,
    pub maximize: i32,
    pub master_weights: i32,
    pub state_dtype: i32,
    pub stochastic_rounding: i32,
    pub amsgrad: i32,
    pub seed: i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_adam_options",
    ][::core::mem::size_of::<gradstep_adam_options>() - 80usize];
    [
        "Alignment of gradstep_adam_options",
    ][::core::mem::align_of::<gradstep_adam_options>() - 8usize];
    [
        "Offset of field: gradstep_adam_options::struct_size",
    ][::core::mem::offset_of!(gradstep_adam_options, struct_size) - 0usize];
    [
        "Offset of field: gradstep_adam_options::bias_correction",
    ][::core::mem::offset_of!(gradstep_adam_options, bias_correction) - 4usize];
    [
        "Offset of field: gradstep_adam_options::learning_rate",
    ][::core::mem::offset_of!(gradstep_adam_options, learning_rate) - 8usize];
    [
        "Offset of field: gradstep_adam_options::beta1",
    ][::core::mem::offset_of!(gradstep_adam_options, beta1) - 16usize];
    [
        "Offset of field: gradstep_adam_options::beta2",
    ][::core::mem::offset_of!(gradstep_adam_options, beta2) - 24usize];
    [
        "Offset of field: gradstep_adam_options::epsilon",
    ][::core::mem::offset_of!(gradstep_adam_options, epsilon) - 32usize];
    [
        "Offset of field: gradstep_adam_options::weight_decay",
    ][::core::mem::offset_of!(gradstep_adam_options, weight_decay) - 40usize];
    [
        "Offset of field: gradstep_adam_options::decoupled_weight_decay",
    ][::core::mem::offset_of!(gradstep_adam_options, decoupled_weight_decay) - 48usize];
    [
        "Offset of field: gradstep_adam_options::maximize",
    ][::core::mem::offset_of!(gradstep_adam_options, maximize) - 52usize];
    [
        "Offset of field: gradstep_adam_options::master_weights",
    ][::core::mem::offset_of!(gradstep_adam_options, master_weights) - 56usize];
    [
        "Offset of field: gradstep_adam_options::state_dtype",
    ][::core::mem::offset_of!(gradstep_adam_options, state_dtype) - 60usize];
    [
        "Offset of field: gradstep_adam_options::stochastic_rounding",
    ][::core::mem::offset_of!(gradstep_adam_options, stochastic_rounding) - 64usize];
    [
        "Offset of field: gradstep_adam_options::amsgrad",
    ][::core::mem::offset_of!(gradstep_adam_options, amsgrad) - 68usize];
    [
        "Offset of field: gradstep_adam_options::seed",
    ][::core::mem::offset_of!(gradstep_adam_options, seed) - 72usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct gradstep_step_result {
    pub struct_size: u32,
    pub applied: i32,
    pub grad_norm: f64,
    pub clip_coefficient: f64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_step_result",
    ][::core::mem::size_of::<gradstep_step_result>() - 24usize];
    [
        "Alignment of gradstep_step_result",
    ][::core::mem::align_of::<gradstep_step_result>() - 8usize];
    [
        "Offset of field: gradstep_step_result::struct_size",
    ][::core::mem::offset_of!(gradstep_step_result, struct_size) - 0usize];
    [
        "Offset of field: gradstep_step_result::applied",
    ][::core::mem::offset_of!(gradstep_step_result, applied) - 4usize];
    [
        "Offset of field: gradstep_step_result::grad_norm",
    ][::core::mem::offset_of!(gradstep_step_result, grad_norm) - 8usize];
    [
        "Offset of field: gradstep_step_result::clip_coefficient",
    ][::core::mem::offset_of!(gradstep_step_result, clip_coefficient) - 16usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_step_options {
    pub struct_size: u32,
    pub skip_nonfinite: i32,
    pub grad_scale: f64,
    pub max_norm: f64,
    pub clip_value: f64,
    pub grad_norm: *const gradstep_tensor,
    pub found_inf: *mut gradstep_tensor,
    pub result: *mut gradstep_step_result,
    pub grad_scale_tensor: *const gradstep_tensor,
    pub outcome: *mut gradstep_tensor,
    pub disjoint: i32,
    pub reserved: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_step_options",
    ][::core::mem::size_of::<gradstep_step_options>() - 80usize];
    [
        "Alignment of gradstep_step_options",
    ][::core::mem::align_of::<gradstep_step_options>() - 8usize];
    [
        "Offset of field: gradstep_step_options::struct_size",
    ][::core::mem::offset_of!(gradstep_step_options, struct_size) - 0usize];
    [
        "Offset of field: gradstep_step_options::skip_nonfinite",
    ][::core::mem::offset_of!(gradstep_step_options, skip_nonfinite) - 4usize];
    [
        "Offset of field: gradstep_step_options::grad_scale",
    ][::core::mem::offset_of!(gradstep_step_options, grad_scale) - 8usize];
    [
        "Offset of field: gradstep_step_options::max_norm",
    ][::core::mem::offset_of!(gradstep_step_options, max_norm) - 16usize];
    [
        "Offset of field: gradstep_step_options::clip_value",
    ][::core::mem::offset_of!(gradstep_step_options, clip_value) - 24usize];
    [
        "Offset of field: gradstep_step_options::grad_norm",
    ][::core::mem::offset_of!(gradstep_step_options, grad_norm) - 32usize];
    [
        "Offset of field: gradstep_step_options::found_inf",
    ][::core::mem::offset_of!(gradstep_step_options, found_inf) - 40usize];
    [
        "Offset of field: gradstep_step_options::result",
    ][::core::mem::offset_of!(gradstep_step_options, result) - 48usize];
    [
        "Offset of field: gradstep_step_options::grad_scale_tensor",
    ][::core::mem::offset_of!(gradstep_step_options, grad_scale_tensor) - 56usize];
    [
        "Offset of field: gradstep_step_options::outcome",
    ][::core::mem::offset_of!(gradstep_step_options, outcome) - 64usize];
    [
        "Offset of field: gradstep_step_options::disjoint",
    ][::core::mem::offset_of!(gradstep_step_options, disjoint) - 72usize];
    [
        "Offset of field: gradstep_step_options::reserved",
    ][::core::mem::offset_of!(gradstep_step_options, reserved) - 76usize];
};
impl Default for gradstep_step_options {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_metric {
    pub struct_size: u32,
    pub reserved: i32,
    pub name: [::core::ffi::c_char; 40usize],
    pub parameter: i64,
    pub block: i64,
    pub axis: i64,
    pub value: f64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gradstep_metric"][::core::mem::size_of::<gradstep_metric>() - 80usize];
    [
        "Alignment of gradstep_metric",
    ][::core::mem::align_of::<gradstep_metric>() - 8usize];
    [
        "Offset of field: gradstep_metric::struct_size",
    ][::core::mem::offset_of!(gradstep_metric, struct_size) - 0usize];
    [
        "Offset of field: gradstep_metric::reserved",
    ][::core::mem::offset_of!(gradstep_metric, reserved) - 4usize];
    [
        "Offset of field: gradstep_metric::name",
    ][::core::mem::offset_of!(gradstep_metric, name) - 8usize];
    [
        "Offset of field: gradstep_metric::parameter",
    ][::core::mem::offset_of!(gradstep_metric, parameter) - 48usize];
    [
        "Offset of field: gradstep_metric::block",
    ][::core::mem::offset_of!(gradstep_metric, block) - 56usize];
    [
        "Offset of field: gradstep_metric::axis",
    ][::core::mem::offset_of!(gradstep_metric, axis) - 64usize];
    [
        "Offset of field: gradstep_metric::value",
    ][::core::mem::offset_of!(gradstep_metric, value) - 72usize];
};
impl Default for gradstep_metric {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct gradstep_memory {
    pub struct_size: u32,
    pub reserved: i32,
    pub state_bytes: i64,
    pub other_bytes: i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gradstep_memory"][::core::mem::size_of::<gradstep_memory>() - 24usize];
    [
        "Alignment of gradstep_memory",
    ][::core::mem::align_of::<gradstep_memory>() - 8usize];
    [
        "Offset of field: gradstep_memory::struct_size",
    ][::core::mem::offset_of!(gradstep_memory, struct_size) - 0usize];
    [
        "Offset of field: gradstep_memory::reserved",
    ][::core::mem::offset_of!(gradstep_memory, reserved) - 4usize];
    [
        "Offset of field: gradstep_memory::state_bytes",
    ][::core::mem::offset_of!(gradstep_memory, state_bytes) - 8usize];
    [
        "Offset of field: gradstep_memory::other_bytes",
    ][::core::mem::offset_of!(gradstep_memory, other_bytes) - 16usize];
};
pub const GRADSTEP_OPTION_INVALID: gradstep_option_kind = -1;
pub const GRADSTEP_OPTION_HYPER_PARAMETER: gradstep_option_kind = 0;
pub const GRADSTEP_OPTION_SETTING: gradstep_option_kind = 1;
pub const GRADSTEP_OPTION_CHOICE: gradstep_option_kind = 2;
pub const GRADSTEP_OPTION_FLAG: gradstep_option_kind = 3;
pub const GRADSTEP_OPTION_INTEGER: gradstep_option_kind = 4;
pub type gradstep_option_kind = ::core::ffi::c_int;
pub const GRADSTEP_STEP_COUNTING_INVALID: gradstep_step_counting = -1;
pub const GRADSTEP_STEP_COUNTING_OPTIMIZER: gradstep_step_counting = 0;
pub const GRADSTEP_STEP_COUNTING_PARAMETER: gradstep_step_counting = 1;
pub type gradstep_step_counting = ::core::ffi::c_int;
pub const GRADSTEP_DECAY_MODE_INVALID: gradstep_decay_mode = -1;
pub const GRADSTEP_DECAY_MODE_RULE: gradstep_decay_mode = 0;
pub const GRADSTEP_DECAY_MODE_COUPLED: gradstep_decay_mode = 1;
pub const GRADSTEP_DECAY_MODE_DECOUPLED: gradstep_decay_mode = 2;
pub const GRADSTEP_DECAY_MODE_INDEPENDENT: gradstep_decay_mode = 3;
pub const GRADSTEP_DECAY_MODE_RELATIVE: gradstep_decay_mode = 4;
pub const GRADSTEP_DECAY_MODE_CORRECTED: gradstep_decay_mode = 5;
pub type gradstep_decay_mode = ::core::ffi::c_int;
pub const GRADSTEP_CAUTIOUS_UPDATE_INVALID: gradstep_cautious_update = -1;
pub const GRADSTEP_CAUTIOUS_UPDATE_OFF: gradstep_cautious_update = 0;
pub const GRADSTEP_CAUTIOUS_UPDATE_MEAN: gradstep_cautious_update = 1;
pub const GRADSTEP_CAUTIOUS_UPDATE_SUM: gradstep_cautious_update = 2;
pub type gradstep_cautious_update = ::core::ffi::c_int;
pub const GRADSTEP_ADAPTIVE_CLIP_UNITS_INVALID: gradstep_adaptive_clip_units = -1;
pub const GRADSTEP_ADAPTIVE_CLIP_UNITS_ROWS: gradstep_adaptive_clip_units = 0;
pub const GRADSTEP_ADAPTIVE_CLIP_UNITS_COLUMNS: gradstep_adaptive_clip_units = 1;
pub const GRADSTEP_ADAPTIVE_CLIP_UNITS_SECOND: gradstep_adaptive_clip_units = 2;
pub type gradstep_adaptive_clip_units = ::core::ffi::c_int;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_option {
    pub name: *const ::core::ffi::c_char,
    pub value: f64,
    pub text: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gradstep_option"][::core::mem::size_of::<gradstep_option>() - 24usize];
    [
        "Alignment of gradstep_option",
    ][::core::mem::align_of::<gradstep_option>() - 8usize];
    [
        "Offset of field: gradstep_option::name",
    ][::core::mem::offset_of!(gradstep_option, name) - 0usize];
    [
        "Offset of field: gradstep_option::value",
    ][::core::mem::offset_of!(gradstep_option, value) - 8usize];
    [
        "Offset of field: gradstep_option::text",
    ][::core::mem::offset_of!(gradstep_option, text) - 16usize];
};
impl Default for gradstep_option {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_rule {
    pub struct_size: u32,
    pub reserved: i32,
    pub name: *const ::core::ffi::c_char,
    pub source: *const ::core::ffi::c_char,
    pub formula: *const ::core::ffi::c_char,
    pub states: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gradstep_rule"][::core::mem::size_of::<gradstep_rule>() - 40usize];
    ["Alignment of gradstep_rule"][::core::mem::align_of::<gradstep_rule>() - 8usize];
    [
        "Offset of field: gradstep_rule::struct_size",
    ][::core::mem::offset_of!(gradstep_rule, struct_size) - 0usize];
    [
        "Offset of field: gradstep_rule::reserved",
    ][::core::mem::offset_of!(gradstep_rule, reserved) - 4usize];
    [
        "Offset of field: gradstep_rule::name",
    ][::core::mem::offset_of!(gradstep_rule, name) - 8usize];
    [
        "Offset of field: gradstep_rule::source",
    ][::core::mem::offset_of!(gradstep_rule, source) - 16usize];
    [
        "Offset of field: gradstep_rule::formula",
    ][::core::mem::offset_of!(gradstep_rule, formula) - 24usize];
    [
        "Offset of field: gradstep_rule::states",
    ][::core::mem::offset_of!(gradstep_rule, states) - 32usize];
};
impl Default for gradstep_rule {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_rule_option {
    pub struct_size: u32,
    pub kind: i32,
    pub name: *const ::core::ffi::c_char,
    pub meaning: *const ::core::ffi::c_char,
    pub choices: *const ::core::ffi::c_char,
    pub initial: f64,
    pub minimum: f64,
    pub limit: f64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_rule_option",
    ][::core::mem::size_of::<gradstep_rule_option>() - 56usize];
    [
        "Alignment of gradstep_rule_option",
    ][::core::mem::align_of::<gradstep_rule_option>() - 8usize];
    [
        "Offset of field: gradstep_rule_option::struct_size",
    ][::core::mem::offset_of!(gradstep_rule_option, struct_size) - 0usize];
    [
        "Offset of field: gradstep_rule_option::kind",
    ][::core::mem::offset_of!(gradstep_rule_option, kind) - 4usize];
    [
        "Offset of field: gradstep_rule_option::name",
    ][::core::mem::offset_of!(gradstep_rule_option, name) - 8usize];
    [
        "Offset of field: gradstep_rule_option::meaning",
    ][::core::mem::offset_of!(gradstep_rule_option, meaning) - 16usize];
    [
        "Offset of field: gradstep_rule_option::choices",
    ][::core::mem::offset_of!(gradstep_rule_option, choices) - 24usize];
    [
        "Offset of field: gradstep_rule_option::initial",
    ][::core::mem::offset_of!(gradstep_rule_option, initial) - 32usize];
    [
        "Offset of field: gradstep_rule_option::minimum",
    ][::core::mem::offset_of!(gradstep_rule_option, minimum) - 40usize];
    [
        "Offset of field: gradstep_rule_option::limit",
    ][::core::mem::offset_of!(gradstep_rule_option, limit) - 48usize];
};
impl Default for gradstep_rule_option {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_group_rule {
    pub rule: *const ::core::ffi::c_char,
    pub options: *const gradstep_option,
    pub option_count: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_group_rule",
    ][::core::mem::size_of::<gradstep_group_rule>() - 24usize];
    [
        "Alignment of gradstep_group_rule",
    ][::core::mem::align_of::<gradstep_group_rule>() - 8usize];
    [
        "Offset of field: gradstep_group_rule::rule",
    ][::core::mem::offset_of!(gradstep_group_rule, rule) - 0usize];
    [
        "Offset of field: gradstep_group_rule::options",
    ][::core::mem::offset_of!(gradstep_group_rule, options) - 8usize];
    [
        "Offset of field: gradstep_group_rule::option_count",
    ][::core::mem::offset_of!(gradstep_group_rule, option_count) - 16usize];
};
impl Default for gradstep_group_rule {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
pub const GRADSTEP_GRAFT_TYPE_INVALID: gradstep_graft_type = -1;
pub const GRADSTEP_GRAFT_TYPE_SGD: gradstep_graft_type = 0;
pub const GRADSTEP_GRAFT_TYPE_ADAGRAD: gradstep_graft_type = 1;
pub const GRADSTEP_GRAFT_TYPE_RMSPROP: gradstep_graft_type = 2;
pub const GRADSTEP_GRAFT_TYPE_RMSPROP_NORMALIZED: gradstep_graft_type = 3;
pub const GRADSTEP_GRAFT_TYPE_SQRT_N: gradstep_graft_type = 4;
pub const GRADSTEP_GRAFT_TYPE_ADAGRAD_NORMALIZED: gradstep_graft_type = 5;
pub const GRADSTEP_GRAFT_TYPE_ADAM: gradstep_graft_type = 6;
pub const GRADSTEP_GRAFT_TYPE_NONE: gradstep_graft_type = 7;
pub type gradstep_graft_type = ::core::ffi::c_int;
pub const GRADSTEP_ROOT_METHOD_INVALID: gradstep_root_method = -1;
pub const GRADSTEP_ROOT_METHOD_AUTO: gradstep_root_method = 0;
pub const GRADSTEP_ROOT_METHOD_COUPLED_NEWTON: gradstep_root_method = 1;
pub const GRADSTEP_ROOT_METHOD_EIGH: gradstep_root_method = 2;
pub type gradstep_root_method = ::core::ffi::c_int;
pub const GRADSTEP_ROOT_PRECISION_INVALID: gradstep_root_precision = -1;
pub const GRADSTEP_ROOT_PRECISION_F64: gradstep_root_precision = 0;
pub const GRADSTEP_ROOT_PRECISION_F32: gradstep_root_precision = 1;
pub type gradstep_root_precision = ::core::ffi::c_int;
pub const GRADSTEP_PRODUCT_PRECISION_INVALID: gradstep_product_precision = -1;
pub const GRADSTEP_PRODUCT_PRECISION_F32: gradstep_product_precision = 0;
pub const GRADSTEP_PRODUCT_PRECISION_TF32: gradstep_product_precision = 1;
pub type gradstep_product_precision = ::core::ffi::c_int;
pub const GRADSTEP_ROOT_PADDING_INVALID: gradstep_root_padding = -1;
pub const GRADSTEP_ROOT_PADDING_NONE: gradstep_root_padding = 0;
pub const GRADSTEP_ROOT_PADDING_LARGEST: gradstep_root_padding = 1;
pub type gradstep_root_padding = ::core::ffi::c_int;
pub const GRADSTEP_REFRESH_INVALID: gradstep_refresh = -1;
pub const GRADSTEP_REFRESH_FRESH: gradstep_refresh = 0;
pub const GRADSTEP_REFRESH_STALE: gradstep_refresh = 1;
pub type gradstep_refresh = ::core::ffi::c_int;
pub const GRADSTEP_ONE_SIDED_INVALID: gradstep_one_sided = -1;
pub const GRADSTEP_ONE_SIDED_NONE: gradstep_one_sided = 0;
pub const GRADSTEP_ONE_SIDED_INPUT: gradstep_one_sided = 1;
pub const GRADSTEP_ONE_SIDED_OUTPUT: gradstep_one_sided = 2;
pub type gradstep_one_sided = ::core::ffi::c_int;
pub const GRADSTEP_SHAMPOO_STATISTICS_INVALID: gradstep_shampoo_statistics = -1;
pub const GRADSTEP_SHAMPOO_STATISTICS_GRADIENTS: gradstep_shampoo_statistics = 0;
pub const GRADSTEP_SHAMPOO_STATISTICS_KL: gradstep_shampoo_statistics = 1;
pub const GRADSTEP_SHAMPOO_STATISTICS_KL_MEAN: gradstep_shampoo_statistics = 2;
pub type gradstep_shampoo_statistics = ::core::ffi::c_int;
pub const GRADSTEP_RIDGE_INVALID: gradstep_ridge = -1;
pub const GRADSTEP_RIDGE_RELATIVE: gradstep_ridge = 0;
pub const GRADSTEP_RIDGE_ABSOLUTE: gradstep_ridge = 1;
pub type gradstep_ridge = ::core::ffi::c_int;
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct gradstep_shampoo_options {
    pub struct_size: u32,
    pub graft_type: i32,
    pub learning_rate: f64,
    pub beta1: f64,
    pub beta2: f64,
    pub diagonal_epsilon: f64,
    pub matrix_epsilon: f64,
    pub weight_decay: f64,
    pub inverse_failure_threshold: f64,
    pub clip_by_scaled_gradient_norm: f64,
    pub graft_beta1: f64,
    pub graft_beta2: f64,
    pub precondition: f64,
    pub block_size: i64,
    pub start_preconditioning_step: i64,
    pub preconditioning_compute_steps: i64,
    pub statistics_compute_steps: i64,
    pub skip_preconditioning_dim_size_gt: i64,
    pub exponent_override: i32,
    pub best_effort_shape_interpretation: i32,
    pub nesterov: i32,
    pub moving_average_for_momentum: i32,
    pub decoupled_weight_decay: i32,
    pub root_method: i32,
    pub root_precision: i32,
    pub root_padding: i32,
    pub root_retries: i32,
    pub root_lag: i32,
    pub refresh: i32,
    pub quantize_momentum: i32,
    pub quantize_statistics: i32,
    pub one_sided: i32,
    pub eigenvalue_corrected: i32,
    pub master_weights: i32,
    pub product_precision: i32,
    pub maximize: i32,
    pub average_decay: f64,
    pub average_start: i64,
    pub average_every: i64,
    pub average_warmup: i32,
    pub average_equal: i32,
    pub state_dtype: i32,
    pub stochastic_rounding: i32,
    pub seed: i64,
    pub statistics: i32,
    pub ridge: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_shampoo_options",
    ][::core::mem::size_of::<gradstep_shampoo_options>() - 264usize];
    [
        "Alignment of gradstep_shampoo_options",
    ][::core::mem::align_of::<gradstep_shampoo_options>() - 8usize];
    [
        "Offset of field: gradstep_shampoo_options::struct_size",
    ][::core::mem::offset_of!(gradstep_shampoo_options, struct_size) - 0usize];
    [
        "Offset of field: gradstep_shampoo_options::graft_type",
    ][::core::mem::offset_of!(gradstep_shampoo_options, graft_type) - 4usize];
    [
        "Offset of field: gradstep_shampoo_options::learning_rate",
    ][::core::mem::offset_of!(gradstep_shampoo_options, learning_rate) - 8usize];
    [
        "Offset of field: gradstep_shampoo_options::beta1",
    ][::core::mem::offset_of!(gradstep_shampoo_options, beta1) - 16usize];
    [
        "Offset of field: gradstep_shampoo_options::beta2",
    ][::core::mem::offset_of!(gradstep_shampoo_options, beta2) - 24usize];
    [
        "Offset of field: gradstep_shampoo_options::diagonal_epsilon",
    ][::core::mem::offset_of!(gradstep_shampoo_options, diagonal_epsilon) - 32usize];
    [
        "Offset of field: gradstep_shampoo_options::matrix_epsilon",
    ][::core::mem::offset_of!(gradstep_shampoo_options, matrix_epsilon) - 40usize];
    [
        "Offset of field: gradstep_shampoo_options::weight_decay",
    ][::core::mem::offset_of!(gradstep_shampoo_options, weight_decay) - 48usize];
    [
        "Offset of field: gradstep_shampoo_options::inverse_failure_threshold",
    ][::core::mem::offset_of!(gradstep_shampoo_options, inverse_failure_threshold)
        - 56usize];
    [
        "Offset of field: gradstep_shampoo_options::clip_by_scaled_gradient_norm",
    ][::core::mem::offset_of!(gradstep_shampoo_options, clip_by_scaled_gradient_norm)
        - 64usize];
    [
        "Offset of field: gradstep_shampoo_options::graft_beta1",
    ][::core::mem::offset_of!(gradstep_shampoo_options, graft_beta1) - 72usize];
    [
        "Offset of field: gradstep_shampoo_options::graft_beta2",
    ][::core::mem::offset_of!(gradstep_shampoo_options, graft_beta2) - 80usize];
    [
        "Offset of field: gradstep_shampoo_options::precondition",
    ][::core::mem::offset_of!(gradstep_shampoo_options, precondition) - 88usize];
    [
        "Offset of field: gradstep_shampoo_options::block_size",
    ][::core::mem::offset_of!(gradstep_shampoo_options, block_size) - 96usize];
    [
        "Offset of field: gradstep_shampoo_options::start_preconditioning_step",
    ][::core::mem::offset_of!(gradstep_shampoo_options, start_preconditioning_step)
        - 104usize];
    [
        "Offset of field: gradstep_shampoo_options::preconditioning_compute_steps",
    ][::core::mem::offset_of!(gradstep_shampoo_options, preconditioning_compute_steps)
        - 112usize];
    [
        "Offset of field: gradstep_shampoo_options::statistics_compute_steps",
    ][::core::mem::offset_of!(gradstep_shampoo_options, statistics_compute_steps)
        - 120usize];
    [
        "Offset of field: gradstep_shampoo_options::skip_preconditioning_dim_size_gt",
    ][::core::mem::offset_of!(gradstep_shampoo_options, skip_preconditioning_dim_size_gt)
        - 128usize];
    [
        "Offset of field: gradstep_shampoo_options::exponent_override",
    ][::core::mem::offset_of!(gradstep_shampoo_options, exponent_override) - 136usize];
    [
        "Offset of field: gradstep_shampoo_options::best_effort_shape_interpretation",
    ][::core::mem::offset_of!(gradstep_shampoo_options, best_effort_shape_interpretation)
        - 140usize];
    [
        "Offset of field: gradstep_shampoo_options::nesterov",
    ][::core::mem::offset_of!(gradstep_shampoo_options, nesterov) - 144usize];
    [
        "Offset of field: gradstep_shampoo_options::moving_average_for_momentum",
    ][::core::mem::offset_of!(gradstep_shampoo_options, moving_average_for_momentum)
        - 148usize];
    [
        "Offset of field: gradstep_shampoo_options::decoupled_weight_decay",
    ][::core::mem::offset_of!(gradstep_shampoo_options, decoupled_weight_decay)
        - 152usize];
    [
        "Offset of field: gradstep_shampoo_options::root_method",
    ][::core::mem::offset_of!(gradstep_shampoo_options, root_method) - 156usize];
    [
        "Offset of field: gradstep_shampoo_options::root_precision",
    ][::core::mem::offset_of!(gradstep_shampoo_options, root_precision) - 160usize];
    [
        "Offset of field: gradstep_shampoo_options::root_padding",
    ][::core::mem::offset_of!(gradstep_shampoo_options, root_padding) - 164usize];
    [
        "Offset of field: gradstep_shampoo_options::root_retries",
    ][::core::mem::offset_of!(gradstep_shampoo_options, root_retries) - 168usize];
    [
        "Offset of field: gradstep_shampoo_options::root_lag",
    ][::core::mem::offset_of!(gradstep_shampoo_options, root_lag) - 172usize];
    [
        "Offset of field: gradstep_shampoo_options::refresh",
    ][::core::mem::offset_of!(gradstep_shampoo_options, refresh) - 176usize];
    [
        "Offset of field: gradstep_shampoo_options::quantize_momentum",
    ][::core::mem::offset_of!(gradstep_shampoo_options, quantize_momentum) - 180usize];
    [
        "Offset of field: gradstep_shampoo_options::quantize_statistics",
    ][::core::mem::offset_of!(gradstep_shampoo_options, quantize_statistics) - 184usize];
    [
        "Offset of field: gradstep_shampoo_options::one_sided",
    ][::core::mem::offset_of!(gradstep_shampoo_options, one_sided) - 188usize];
    [
        "Offset of field: gradstep_shampoo_options::eigenvalue_corrected",
    ][::core::mem::offset_of!(gradstep_shampoo_options, eigenvalue_corrected)
        - 192usize];
    [
        "Offset of field: gradstep_shampoo_options::master_weights",
    ][::core::mem::offset_of!(gradstep_shampoo_options, master_weights) - 196usize];
    [
        "Offset of field: gradstep_shampoo_options::product_precision",
    ][::core::mem::offset_of!(gradstep_shampoo_options, product_precision) - 200usize];
    [
        "Offset of field: gradstep_shampoo_options::maximize",
    ][::core::mem::offset_of!(gradstep_shampoo_options, maximize) - 204usize];
    [
        "Offset of field: gradstep_shampoo_options::average_decay",
    ][::core::mem::offset_of!(gradstep_shampoo_options, average_decay) - 208usize];
    [
        "Offset of field: gradstep_shampoo_options::average_start",
    ][::core::mem::offset_of!(gradstep_shampoo_options, average_start) - 216usize];
    [
        "Offset of field: gradstep_shampoo_options::average_every",
    ][::core::mem::offset_of!(gradstep_shampoo_options, average_every) - 224usize];
    [
        "Offset of field: gradstep_shampoo_options::average_warmup",
    ][::core::mem::offset_of!(gradstep_shampoo_options, average_warmup) - 232usize];
    [
        "Offset of field: gradstep_shampoo_options::average_equal",
    ][::core::mem::offset_of!(gradstep_shampoo_options, average_equal) - 236usize];
    [
        "Offset of field: gradstep_shampoo_options::state_dtype",
    ][::core::mem::offset_of!(gradstep_shampoo_options, state_dtype) - 240usize];
    [
        "Offset of field: gradstep_shampoo_options::stochastic_rounding",
    ][::core::mem::offset_of!(gradstep_shampoo_options, stochastic_rounding) - 244usize];
    [
        "Offset of field: gradstep_shampoo_options::seed",
    ][::core::mem::offset_of!(gradstep_shampoo_options, seed) - 248usize];
    [
        "Offset of field: gradstep_shampoo_options::statistics",
    ][::core::mem::offset_of!(gradstep_shampoo_options, statistics) - 256usize];
    [
        "Offset of field: gradstep_shampoo_options::ridge",
    ][::core::mem::offset_of!(gradstep_shampoo_options, ridge) - 260usize];
};
pub const GRADSTEP_SHARDED_GRADIENTS_INVALID: gradstep_sharded_gradients = -1;
pub const GRADSTEP_SHARDED_GRADIENTS_LOCAL: gradstep_sharded_gradients = 0;
pub const GRADSTEP_SHARDED_GRADIENTS_REDUCED: gradstep_sharded_gradients = 1;
pub type gradstep_sharded_gradients = ::core::ffi::c_int;
pub const GRADSTEP_SHARDED_PRECONDITIONERS_INVALID: gradstep_sharded_preconditioners = -1;
pub const GRADSTEP_SHARDED_PRECONDITIONERS_REPLICATED: gradstep_sharded_preconditioners = 0;
pub const GRADSTEP_SHARDED_PRECONDITIONERS_OWNED: gradstep_sharded_preconditioners = 1;
pub type gradstep_sharded_preconditioners = ::core::ffi::c_int;
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct gradstep_sharding_options {
    pub struct_size: u32,
    pub gradients: i32,
    pub average: i32,
    pub preconditioners: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_sharding_options",
    ][::core::mem::size_of::<gradstep_sharding_options>() - 16usize];
    [
        "Alignment of gradstep_sharding_options",
    ][::core::mem::align_of::<gradstep_sharding_options>() - 4usize];
    [
        "Offset of field: gradstep_sharding_options::struct_size",
    ][::core::mem::offset_of!(gradstep_sharding_options, struct_size) - 0usize];
    [
        "Offset of field: gradstep_sharding_options::gradients",
    ][::core::mem::offset_of!(gradstep_sharding_options, gradients) - 4usize];
    [
        "Offset of field: gradstep_sharding_options::average",
    ][::core::mem::offset_of!(gradstep_sharding_options, average) - 8usize];
    [
        "Offset of field: gradstep_sharding_options::preconditioners",
    ][::core::mem::offset_of!(gradstep_sharding_options, preconditioners) - 12usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_updater {
    _unused: [u8; 0],
}
pub const GRADSTEP_SYNC_INVALID: gradstep_updater_sync = -1;
pub const GRADSTEP_SYNC_GRADIENTS: gradstep_updater_sync = 0;
pub const GRADSTEP_SYNC_PARAMETERS_PARTIAL: gradstep_updater_sync = 1;
pub const GRADSTEP_SYNC_PARAMETERS: gradstep_updater_sync = 2;
pub const GRADSTEP_SYNC_DELTAS: gradstep_updater_sync = 3;
pub type gradstep_updater_sync = ::core::ffi::c_int;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_updater_options {
    pub struct_size: u32,
    pub sync: i32,
    pub skip_nonfinite: i32,
    pub sync_steps: i32,
    pub max_norm: f64,
    pub clip_value: f64,
    pub grad_scale: f64,
    pub outer: *mut gradstep_optimizer,
    pub outer_fragments: i32,
    pub outer_delay: i32,
    pub outer_mix: f64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_updater_options",
    ][::core::mem::size_of::<gradstep_updater_options>() - 64usize];
    [
        "Alignment of gradstep_updater_options",
    ][::core::mem::align_of::<gradstep_updater_options>() - 8usize];
    [
        "Offset of field: gradstep_updater_options::struct_size",
    ][::core::mem::offset_of!(gradstep_updater_options, struct_size) - 0usize];
    [
        "Offset of field: gradstep_updater_options::sync",
    ][::core::mem::offset_of!(gradstep_updater_options, sync) - 4usize];
    [
        "Offset of field: gradstep_updater_options::skip_nonfinite",
    ][::core::mem::offset_of!(gradstep_updater_options, skip_nonfinite) - 8usize];
    [
        "Offset of field: gradstep_updater_options::sync_steps",
    ][::core::mem::offset_of!(gradstep_updater_options, sync_steps) - 12usize];
    [
        "Offset of field: gradstep_updater_options::max_norm",
    ][::core::mem::offset_of!(gradstep_updater_options, max_norm) - 16usize];
    [
        "Offset of field: gradstep_updater_options::clip_value",
    ][::core::mem::offset_of!(gradstep_updater_options, clip_value) - 24usize];
    [
        "Offset of field: gradstep_updater_options::grad_scale",
    ][::core::mem::offset_of!(gradstep_updater_options, grad_scale) - 32usize];
    [
        "Offset of field: gradstep_updater_options::outer",
    ][::core::mem::offset_of!(gradstep_updater_options, outer) - 40usize];
    [
        "Offset of field: gradstep_updater_options::outer_fragments",
    ][::core::mem::offset_of!(gradstep_updater_options, outer_fragments) - 48usize];
    [
        "Offset of field: gradstep_updater_options::outer_delay",
    ][::core::mem::offset_of!(gradstep_updater_options, outer_delay) - 52usize];
    [
        "Offset of field: gradstep_updater_options::outer_mix",
    ][::core::mem::offset_of!(gradstep_updater_options, outer_mix) - 56usize];
};
impl Default for gradstep_updater_options {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct gradstep_updater_statistics {
    pub struct_size: u32,
    pub dropped_windows: i32,
    pub pushes: i64,
    pub windows: i64,
    pub steps: i64,
    pub skipped_steps: i64,
    pub accumulate_nanoseconds: i64,
    pub reduce_nanoseconds: i64,
    pub step_nanoseconds: i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_updater_statistics",
    ][::core::mem::size_of::<gradstep_updater_statistics>() - 64usize];
    [
        "Alignment of gradstep_updater_statistics",
    ][::core::mem::align_of::<gradstep_updater_statistics>() - 8usize];
    [
        "Offset of field: gradstep_updater_statistics::struct_size",
    ][::core::mem::offset_of!(gradstep_updater_statistics, struct_size) - 0usize];
    [
        "Offset of field: gradstep_updater_statistics::dropped_windows",
    ][::core::mem::offset_of!(gradstep_updater_statistics, dropped_windows) - 4usize];
    [
        "Offset of field: gradstep_updater_statistics::pushes",
    ][::core::mem::offset_of!(gradstep_updater_statistics, pushes) - 8usize];
    [
        "Offset of field: gradstep_updater_statistics::windows",
    ][::core::mem::offset_of!(gradstep_updater_statistics, windows) - 16usize];
    [
        "Offset of field: gradstep_updater_statistics::steps",
    ][::core::mem::offset_of!(gradstep_updater_statistics, steps) - 24usize];
    [
        "Offset of field: gradstep_updater_statistics::skipped_steps",
    ][::core::mem::offset_of!(gradstep_updater_statistics, skipped_steps) - 32usize];
    [
        "Offset of field: gradstep_updater_statistics::accumulate_nanoseconds",
    ][::core::mem::offset_of!(gradstep_updater_statistics, accumulate_nanoseconds)
        - 40usize];
    [
        "Offset of field: gradstep_updater_statistics::reduce_nanoseconds",
    ][::core::mem::offset_of!(gradstep_updater_statistics, reduce_nanoseconds)
        - 48usize];
    [
        "Offset of field: gradstep_updater_statistics::step_nanoseconds",
    ][::core::mem::offset_of!(gradstep_updater_statistics, step_nanoseconds) - 56usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gradstep_stream {
    pub struct_size: u32,
    pub reserved: i32,
    pub user: *mut ::core::ffi::c_void,
    pub write: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            data: *const ::core::ffi::c_void,
            size: usize,
        ) -> gradstep_status,
    >,
    pub read: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            data: *mut ::core::ffi::c_void,
            size: usize,
            got: *mut usize,
        ) -> gradstep_status,
    >,
    pub release: ::core::option::Option<
        unsafe extern "C" fn(user: *mut ::core::ffi::c_void),
    >,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gradstep_stream"][::core::mem::size_of::<gradstep_stream>() - 40usize];
    [
        "Alignment of gradstep_stream",
    ][::core::mem::align_of::<gradstep_stream>() - 8usize];
    [
        "Offset of field: gradstep_stream::struct_size",
    ][::core::mem::offset_of!(gradstep_stream, struct_size) - 0usize];
    [
        "Offset of field: gradstep_stream::reserved",
    ][::core::mem::offset_of!(gradstep_stream, reserved) - 4usize];
    [
        "Offset of field: gradstep_stream::user",
    ][::core::mem::offset_of!(gradstep_stream, user) - 8usize];
    [
        "Offset of field: gradstep_stream::write",
    ][::core::mem::offset_of!(gradstep_stream, write) - 16usize];
    [
        "Offset of field: gradstep_stream::read",
    ][::core::mem::offset_of!(gradstep_stream, read) - 24usize];
    [
        "Offset of field: gradstep_stream::release",
    ][::core::mem::offset_of!(gradstep_stream, release) - 32usize];
};
impl Default for gradstep_stream {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct gradstep_load_options {
    pub struct_size: u32,
    pub allow_unchecked: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gradstep_load_options",
    ][::core::mem::size_of::<gradstep_load_options>() - 8usize];
    [
        "Alignment of gradstep_load_options",
    ][::core::mem::align_of::<gradstep_load_options>() - 4usize];
    [
        "Offset of field: gradstep_load_options::struct_size",
    ][::core::mem::offset_of!(gradstep_load_options, struct_size) - 0usize];
    [
        "Offset of field: gradstep_load_options::allow_unchecked",
    ][::core::mem::offset_of!(gradstep_load_options, allow_unchecked) - 4usize];
};
