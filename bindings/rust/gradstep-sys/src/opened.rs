// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
// Made from include/c_api/gradstep by the feature `regenerate`; see tests/regenerate.rs.

pub(crate) struct Functions {
    gradstep_abi_version: unsafe extern "C" fn() -> u32,
    gradstep_version_string: unsafe extern "C" fn() -> *const ::core::ffi::c_char,
    gradstep_build_info: unsafe extern "C" fn(
        buf: *mut ::core::ffi::c_char,
        cap: usize,
        len: *mut usize,
    ) -> gradstep_status,
    gradstep_status_name: unsafe extern "C" fn(
        status: gradstep_status,
    ) -> *const ::core::ffi::c_char,
    gradstep_last_error: unsafe extern "C" fn() -> *const ::core::ffi::c_char,
    gradstep_set_last_error: unsafe extern "C" fn(text: *const ::core::ffi::c_char),
    gradstep_tensor_list_create: unsafe extern "C" fn(
        out: *mut *mut gradstep_tensor_list,
    ) -> gradstep_status,
    gradstep_tensor_list_destroy: unsafe extern "C" fn(list: *mut gradstep_tensor_list),
    gradstep_tensor_list_push: unsafe extern "C" fn(
        list: *mut gradstep_tensor_list,
        address: u64,
        type_code: i32,
        bits: i32,
        device_type: i32,
        device_id: i32,
        ndim: i32,
        shape: *const i64,
        strides: *const i64,
    ) -> gradstep_status,
    gradstep_tensor_list_set_data: unsafe extern "C" fn(
        list: *mut gradstep_tensor_list,
        index: usize,
        address: u64,
        bytes: u64,
    ) -> gradstep_status,
    gradstep_tensor_list_set_addresses: unsafe extern "C" fn(
        list: *mut gradstep_tensor_list,
        addresses: *const u64,
        n: usize,
    ) -> gradstep_status,
    gradstep_tensor_list_get: unsafe extern "C" fn(
        list: *const gradstep_tensor_list,
        index: usize,
        address: *mut u64,
        type_code: *mut i32,
        bits: *mut i32,
        device_type: *mut i32,
        device_id: *mut i32,
        ndim: *mut i32,
        shape: *mut i64,
        strides: *mut i64,
        capacity: i32,
    ) -> gradstep_status,
    gradstep_tensor_list_clear: unsafe extern "C" fn(
        list: *mut gradstep_tensor_list,
    ) -> gradstep_status,
    gradstep_tensor_list_data: unsafe extern "C" fn(
        list: *mut gradstep_tensor_list,
    ) -> *mut gradstep_tensor,
    gradstep_tensor_list_size: unsafe extern "C" fn(
        list: *const gradstep_tensor_list,
    ) -> usize,
    gradstep_parameter_list_create: unsafe extern "C" fn(
        out: *mut *mut gradstep_parameter_list,
    ) -> gradstep_status,
    gradstep_parameter_list_destroy: unsafe extern "C" fn(
        list: *mut gradstep_parameter_list,
    ),
    gradstep_parameter_list_push: unsafe extern "C" fn(
        list: *mut gradstep_parameter_list,
        name: *const ::core::ffi::c_char,
        type_code: i32,
        bits: i32,
        device_type: i32,
        device_id: i32,
        ndim: i32,
        shape: *const i64,
        group: i32,
        flags: u32,
    ) -> gradstep_status,
    gradstep_parameter_list_set_part: unsafe extern "C" fn(
        list: *mut gradstep_parameter_list,
        index: usize,
        whole_shape: *const i64,
        offset: *const i64,
    ) -> gradstep_status,
    gradstep_parameter_list_clear: unsafe extern "C" fn(
        list: *mut gradstep_parameter_list,
    ) -> gradstep_status,
    gradstep_parameter_list_data: unsafe extern "C" fn(
        list: *const gradstep_parameter_list,
    ) -> *const gradstep_parameter,
    gradstep_parameter_list_size: unsafe extern "C" fn(
        list: *const gradstep_parameter_list,
    ) -> usize,
    gradstep_context_options_init: unsafe extern "C" fn(
        o: *mut gradstep_context_options,
        struct_size: usize,
    ) -> gradstep_status,
    gradstep_context_create: unsafe extern "C" fn(
        options: *const gradstep_context_options,
        out: *mut *mut gradstep_context,
    ) -> gradstep_status,
    gradstep_context_destroy: unsafe extern "C" fn(context: *mut gradstep_context),
    gradstep_schedule_init: unsafe extern "C" fn(
        s: *mut gradstep_schedule,
        struct_size: usize,
    ) -> gradstep_status,
    gradstep_schedule_value: unsafe extern "C" fn(
        s: *const gradstep_schedule,
        step: i64,
        value: *mut f64,
    ) -> gradstep_status,
    gradstep_accumulator_options_init: unsafe extern "C" fn(
        o: *mut gradstep_accumulator_options,
        struct_size: usize,
    ) -> gradstep_status,
    gradstep_accumulator_create: unsafe extern "C" fn(
        context: *mut gradstep_context,
        options: *const gradstep_accumulator_options,
        parameters: *const gradstep_parameter,
        n: usize,
        out: *mut *mut gradstep_accumulator,
    ) -> gradstep_status,
    gradstep_accumulator_destroy: unsafe extern "C" fn(
        accumulator: *mut gradstep_accumulator,
    ),
    gradstep_accumulator_add: unsafe extern "C" fn(
        accumulator: *mut gradstep_accumulator,
        grads: *const gradstep_tensor,
        n: usize,
        weight: f64,
        stream: *mut ::core::ffi::c_void,
        ready_out: *mut i32,
    ) -> gradstep_status,
    gradstep_accumulator_add_ex: unsafe extern "C" fn(
        accumulator: *mut gradstep_accumulator,
        grads: *const gradstep_tensor,
        n: usize,
        rows: *const gradstep_rows,
        n_rows: usize,
        weight: f64,
        stream: *mut ::core::ffi::c_void,
        ready_out: *mut i32,
    ) -> gradstep_status,
    gradstep_accumulator_flush: unsafe extern "C" fn(
        accumulator: *mut gradstep_accumulator,
        stream: *mut ::core::ffi::c_void,
        ready_out: *mut i32,
    ) -> gradstep_status,
    gradstep_accumulator_reset: unsafe extern "C" fn(
        accumulator: *mut gradstep_accumulator,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_accumulator_gradients: unsafe extern "C" fn(
        accumulator: *mut gradstep_accumulator,
        tensors_out: *mut gradstep_tensor,
        n: usize,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_accumulator_sums: unsafe extern "C" fn(
        accumulator: *mut gradstep_accumulator,
        tensors_out: *mut gradstep_tensor,
        n: usize,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_accumulator_weight: unsafe extern "C" fn(
        accumulator: *mut gradstep_accumulator,
        weight: *mut f64,
    ) -> gradstep_status,
    gradstep_accumulator_norm: unsafe extern "C" fn(
        accumulator: *mut gradstep_accumulator,
        tensor_out: *mut gradstep_tensor,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_accumulator_count: unsafe extern "C" fn(
        accumulator: *mut gradstep_accumulator,
        count: *mut i64,
    ) -> gradstep_status,
    gradstep_accumulator_skipped: unsafe extern "C" fn(
        accumulator: *mut gradstep_accumulator,
        skipped: *mut i64,
    ) -> gradstep_status,
    gradstep_accumulator_poll: unsafe extern "C" fn(
        accumulator: *mut gradstep_accumulator,
        done: *mut i32,
    ) -> gradstep_status,
    gradstep_backend_load: unsafe extern "C" fn(
        path: *const ::core::ffi::c_char,
    ) -> gradstep_status,
    gradstep_backend_available: unsafe extern "C" fn(
        name: *const ::core::ffi::c_char,
    ) -> i32,
    gradstep_backend_status: unsafe extern "C" fn(
        name: *const ::core::ffi::c_char,
        buf: *mut ::core::ffi::c_char,
        cap: usize,
        len: *mut usize,
    ) -> gradstep_status,
    gradstep_comm_options_init: unsafe extern "C" fn(
        o: *mut gradstep_comm_options,
        struct_size: usize,
    ) -> gradstep_status,
    gradstep_comm_create: unsafe extern "C" fn(
        context: *mut gradstep_context,
        options: *const gradstep_comm_options,
        out: *mut *mut gradstep_comm,
    ) -> gradstep_status,
    gradstep_comm_create_local: unsafe extern "C" fn(
        context: *mut gradstep_context,
        world_size: i32,
        out: *mut *mut gradstep_comm,
    ) -> gradstep_status,
    gradstep_comm_create_local_ex: unsafe extern "C" fn(
        context: *mut gradstep_context,
        world_size: i32,
        options: *const gradstep_comm_options,
        out: *mut *mut gradstep_comm,
    ) -> gradstep_status,
    gradstep_comm_create_host: unsafe extern "C" fn(
        context: *mut gradstep_context,
        vtable: *const gradstep_comm_vtable,
        user: *mut ::core::ffi::c_void,
        out: *mut *mut gradstep_comm,
    ) -> gradstep_status,
    gradstep_comm_create_host_ex: unsafe extern "C" fn(
        context: *mut gradstep_context,
        vtable: *const gradstep_comm_vtable,
        user: *mut ::core::ffi::c_void,
        options: *const gradstep_comm_options,
        out: *mut *mut gradstep_comm,
    ) -> gradstep_status,
    gradstep_comm_wrap_mpi: unsafe extern "C" fn(
        context: *mut gradstep_context,
        comm_address: *const ::core::ffi::c_void,
        out: *mut *mut gradstep_comm,
    ) -> gradstep_status,
    gradstep_comm_wrap_mpi_ex: unsafe extern "C" fn(
        context: *mut gradstep_context,
        comm_address: *const ::core::ffi::c_void,
        options: *const gradstep_comm_options,
        out: *mut *mut gradstep_comm,
    ) -> gradstep_status,
    gradstep_comm_attach_nccl: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
        device: i32,
        nccl_comm: *mut ::core::ffi::c_void,
        out: *mut *mut gradstep_comm,
    ) -> gradstep_status,
    gradstep_comm_destroy: unsafe extern "C" fn(comm: *mut gradstep_comm),
    gradstep_comm_unique_id: unsafe extern "C" fn(
        engine: *const ::core::ffi::c_char,
        buf: *mut ::core::ffi::c_void,
        cap: usize,
        len: *mut usize,
    ) -> gradstep_status,
    gradstep_comm_unique_id_ex: unsafe extern "C" fn(
        engine: *const ::core::ffi::c_char,
        network_interface: *const ::core::ffi::c_char,
        buf: *mut ::core::ffi::c_void,
        cap: usize,
        len: *mut usize,
    ) -> gradstep_status,
    gradstep_comm_rank: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
        rank: *mut i32,
    ) -> gradstep_status,
    gradstep_comm_world_size: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
        world_size: *mut i32,
    ) -> gradstep_status,
    gradstep_comm_local_rank: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
        local_rank: *mut i32,
    ) -> gradstep_status,
    gradstep_comm_engine: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
        buf: *mut ::core::ffi::c_char,
        cap: usize,
        len: *mut usize,
    ) -> gradstep_status,
    gradstep_comm_all_reduce: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
        tensor: *const gradstep_tensor,
        op: i32,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_comm_all_gather: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
        input: *const gradstep_tensor,
        output: *const gradstep_tensor,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_comm_all_gather_v: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
        input: *const gradstep_tensor,
        output: *const gradstep_tensor,
        counts: *const i64,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_comm_reduce_scatter: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
        input: *const gradstep_tensor,
        output: *const gradstep_tensor,
        op: i32,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_comm_broadcast: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
        tensor: *const gradstep_tensor,
        root: i32,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_comm_send: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
        tensor: *const gradstep_tensor,
        to: i32,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_comm_recv: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
        tensor: *const gradstep_tensor,
        from: i32,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_comm_barrier: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
    ) -> gradstep_status,
    gradstep_comm_vote: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
        yes: i32,
        all_yes: *mut i32,
    ) -> gradstep_status,
    gradstep_comm_split: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
        color: i32,
        key: i32,
        out: *mut *mut gradstep_comm,
    ) -> gradstep_status,
    gradstep_comm_dup: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
        out: *mut *mut gradstep_comm,
    ) -> gradstep_status,
    gradstep_comm_abort: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
    ) -> gradstep_status,
    gradstep_comm_status: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
        status: *mut gradstep_status,
        buf: *mut ::core::ffi::c_char,
        cap: usize,
        len: *mut usize,
    ) -> gradstep_status,
    gradstep_comm_stats: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
        stats: *mut gradstep_comm_statistics,
    ) -> gradstep_status,
    gradstep_reducer_options_init: unsafe extern "C" fn(
        o: *mut gradstep_reducer_options,
        struct_size: usize,
    ) -> gradstep_status,
    gradstep_reducer_create: unsafe extern "C" fn(
        context: *mut gradstep_context,
        comm: *mut gradstep_comm,
        options: *const gradstep_reducer_options,
        parameters: *const gradstep_parameter,
        n: usize,
        out: *mut *mut gradstep_reducer,
    ) -> gradstep_status,
    gradstep_reducer_destroy: unsafe extern "C" fn(reducer: *mut gradstep_reducer),
    gradstep_reducer_reduce: unsafe extern "C" fn(
        reducer: *mut gradstep_reducer,
        grads: *const gradstep_tensor,
        results: *const gradstep_tensor,
        n: usize,
        weight: f64,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_reducer_begin: unsafe extern "C" fn(
        reducer: *mut gradstep_reducer,
        weight: f64,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_reducer_push: unsafe extern "C" fn(
        reducer: *mut gradstep_reducer,
        index: usize,
        grad: *const gradstep_tensor,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_reducer_wait: unsafe extern "C" fn(
        reducer: *mut gradstep_reducer,
        results: *const gradstep_tensor,
        n: usize,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_reducer_poll: unsafe extern "C" fn(
        reducer: *mut gradstep_reducer,
        done: *mut i32,
    ) -> gradstep_status,
    gradstep_reducer_set_loss_scale: unsafe extern "C" fn(
        reducer: *mut gradstep_reducer,
        scale: f64,
    ) -> gradstep_status,
    gradstep_reducer_cancel: unsafe extern "C" fn(
        reducer: *mut gradstep_reducer,
    ) -> gradstep_status,
    gradstep_reducer_gradients: unsafe extern "C" fn(
        reducer: *mut gradstep_reducer,
        tensors_out: *mut gradstep_tensor,
        n: usize,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_reducer_norm: unsafe extern "C" fn(
        reducer: *mut gradstep_reducer,
        tensor_out: *mut gradstep_tensor,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_reducer_residual: unsafe extern "C" fn(
        reducer: *mut gradstep_reducer,
        index: usize,
        tensor_out: *mut gradstep_tensor,
    ) -> gradstep_status,
    gradstep_reducer_stats: unsafe extern "C" fn(
        reducer: *mut gradstep_reducer,
        records: *mut gradstep_bucket_statistics,
        record_size: usize,
        capacity: usize,
        count: *mut usize,
    ) -> gradstep_status,
    gradstep_reducer_comm_stats: unsafe extern "C" fn(
        reducer: *mut gradstep_reducer,
        stats: *mut gradstep_comm_statistics,
    ) -> gradstep_status,
    gradstep_cost_options_init: unsafe extern "C" fn(
        o: *mut gradstep_cost_options,
        struct_size: usize,
    ) -> gradstep_status,
    gradstep_cost_options_measure: unsafe extern "C" fn(
        o: *mut gradstep_cost_options,
        context: *mut gradstep_context,
    ) -> gradstep_status,
    gradstep_predict_costs: unsafe extern "C" fn(
        options: *const gradstep_cost_options,
        records: *mut gradstep_cost,
        record_size: usize,
        capacity: usize,
        count: *mut usize,
    ) -> gradstep_status,
    gradstep_sgd_options_init: unsafe extern "C" fn(
        o: *mut gradstep_sgd_options,
        struct_size: usize,
    ) -> gradstep_status,
    gradstep_rmsprop_options_init: unsafe extern "C" fn(
        o: *mut gradstep_rmsprop_options,
        struct_size: usize,
    ) -> gradstep_status,
    gradstep_adagrad_options_init: unsafe extern "C" fn(
        o: *mut gradstep_adagrad_options,
        struct_size: usize,
    ) -> gradstep_status,
    gradstep_adam_options_init: unsafe extern "C" fn(
        o: *mut gradstep_adam_options,
        struct_size: usize,
    ) -> gradstep_status,
    gradstep_step_options_init: unsafe extern "C" fn(
        o: *mut gradstep_step_options,
        struct_size: usize,
    ) -> gradstep_status,
    gradstep_optimizer_create_sgd: unsafe extern "C" fn(
        context: *mut gradstep_context,
        options: *const gradstep_sgd_options,
        parameters: *const gradstep_parameter,
        n: usize,
        out: *mut *mut gradstep_optimizer,
    ) -> gradstep_status,
    gradstep_optimizer_create_rmsprop: unsafe extern "C" fn(
        context: *mut gradstep_context,
        options: *const gradstep_rmsprop_options,
        parameters: *const gradstep_parameter,
        n: usize,
        out: *mut *mut gradstep_optimizer,
    ) -> gradstep_status,
    gradstep_optimizer_create_adagrad: unsafe extern "C" fn(
        context: *mut gradstep_context,
        options: *const gradstep_adagrad_options,
        parameters: *const gradstep_parameter,
        n: usize,
        out: *mut *mut gradstep_optimizer,
    ) -> gradstep_status,
    gradstep_optimizer_create_adam: unsafe extern "C" fn(
        context: *mut gradstep_context,
        options: *const gradstep_adam_options,
        parameters: *const gradstep_parameter,
        n: usize,
        out: *mut *mut gradstep_optimizer,
    ) -> gradstep_status,
    gradstep_optimizer_destroy: unsafe extern "C" fn(optimizer: *mut gradstep_optimizer),
    gradstep_optimizer_step: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        params: *const gradstep_tensor,
        grads: *const gradstep_tensor,
        n: usize,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_optimizer_update: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        params: *const gradstep_tensor,
        grads: *const gradstep_tensor,
        updates: *const gradstep_tensor,
        n: usize,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_optimizer_step_ex: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        params: *const gradstep_tensor,
        grads: *const gradstep_tensor,
        updates: *const gradstep_tensor,
        n: usize,
        options: *const gradstep_step_options,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_optimizer_set_value: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        group: i32,
        name: *const ::core::ffi::c_char,
        value: f64,
    ) -> gradstep_status,
    gradstep_optimizer_set_schedule: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        group: i32,
        name: *const ::core::ffi::c_char,
        schedule: *const gradstep_schedule,
    ) -> gradstep_status,
    gradstep_optimizer_set_tensor: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        group: i32,
        name: *const ::core::ffi::c_char,
        tensor: *const gradstep_tensor,
    ) -> gradstep_status,
    gradstep_optimizer_get_value: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        group: i32,
        name: *const ::core::ffi::c_char,
        value: *mut f64,
    ) -> gradstep_status,
    gradstep_optimizer_group_count: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        count: *mut i32,
    ) -> gradstep_status,
    gradstep_optimizer_add_parameters: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        parameters: *const gradstep_parameter,
        n: usize,
    ) -> gradstep_status,
    gradstep_optimizer_step_count: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        count: *mut i64,
    ) -> gradstep_status,
    gradstep_optimizer_set_step_count: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        count: i64,
    ) -> gradstep_status,
    gradstep_optimizer_state_names: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        buf: *mut ::core::ffi::c_char,
        cap: usize,
        len: *mut usize,
    ) -> gradstep_status,
    gradstep_optimizer_state: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        index: usize,
        name: *const ::core::ffi::c_char,
        tensor_out: *mut gradstep_tensor,
    ) -> gradstep_status,
    gradstep_optimizer_get_state: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        index: usize,
        name: *const ::core::ffi::c_char,
        tensor: *const gradstep_tensor,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_optimizer_set_state: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        index: usize,
        name: *const ::core::ffi::c_char,
        tensor: *const gradstep_tensor,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_optimizer_copy_state: unsafe extern "C" fn(
        destination: *mut gradstep_optimizer,
        source: *mut gradstep_optimizer,
    ) -> gradstep_status,
    gradstep_optimizer_metrics: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        records: *mut gradstep_metric,
        record_size: usize,
        capacity: usize,
        count: *mut usize,
    ) -> gradstep_status,
    gradstep_optimizer_memory: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        memory: *mut gradstep_memory,
    ) -> gradstep_status,
    gradstep_sgd_state_bytes: unsafe extern "C" fn(
        options: *const gradstep_sgd_options,
        parameters: *const gradstep_parameter,
        n: usize,
        bytes: *mut i64,
    ) -> gradstep_status,
    gradstep_rmsprop_state_bytes: unsafe extern "C" fn(
        options: *const gradstep_rmsprop_options,
        parameters: *const gradstep_parameter,
        n: usize,
        bytes: *mut i64,
    ) -> gradstep_status,
    gradstep_adagrad_state_bytes: unsafe extern "C" fn(
        options: *const gradstep_adagrad_options,
        parameters: *const gradstep_parameter,
        n: usize,
        bytes: *mut i64,
    ) -> gradstep_status,
    gradstep_adam_state_bytes: unsafe extern "C" fn(
        options: *const gradstep_adam_options,
        parameters: *const gradstep_parameter,
        n: usize,
        bytes: *mut i64,
    ) -> gradstep_status,
    gradstep_optimizer_poll: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        done: *mut i32,
    ) -> gradstep_status,
    gradstep_rendezvous_pending: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
        options: *const gradstep_comm_options,
        pending: *mut i32,
    ) -> gradstep_status,
    gradstep_rule_count: unsafe extern "C" fn(count: *mut usize) -> gradstep_status,
    gradstep_rule_describe: unsafe extern "C" fn(
        index: usize,
        rule: *mut gradstep_rule,
    ) -> gradstep_status,
    gradstep_rule_define: unsafe extern "C" fn(
        context: *mut gradstep_context,
        text: *const ::core::ffi::c_char,
        name: *mut *const ::core::ffi::c_char,
    ) -> gradstep_status,
    gradstep_rule_options: unsafe extern "C" fn(
        rule: *const ::core::ffi::c_char,
        records: *mut gradstep_rule_option,
        record_size: usize,
        capacity: usize,
        count: *mut usize,
    ) -> gradstep_status,
    gradstep_optimizer_create: unsafe extern "C" fn(
        context: *mut gradstep_context,
        rule: *const ::core::ffi::c_char,
        options: *const gradstep_option,
        option_count: usize,
        parameters: *const gradstep_parameter,
        n: usize,
        out: *mut *mut gradstep_optimizer,
    ) -> gradstep_status,
    gradstep_optimizer_create_by_group: unsafe extern "C" fn(
        context: *mut gradstep_context,
        groups: *const gradstep_group_rule,
        group_count: usize,
        parameters: *const gradstep_parameter,
        n: usize,
        out: *mut *mut gradstep_optimizer,
    ) -> gradstep_status,
    gradstep_optimizer_average: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        tensors: *const gradstep_tensor,
        n: usize,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_rule_state_bytes: unsafe extern "C" fn(
        rule: *const ::core::ffi::c_char,
        options: *const gradstep_option,
        option_count: usize,
        parameters: *const gradstep_parameter,
        n: usize,
        bytes: *mut i64,
    ) -> gradstep_status,
    gradstep_shampoo_options_init: unsafe extern "C" fn(
        o: *mut gradstep_shampoo_options,
        struct_size: usize,
    ) -> gradstep_status,
    gradstep_optimizer_create_shampoo: unsafe extern "C" fn(
        context: *mut gradstep_context,
        options: *const gradstep_shampoo_options,
        parameters: *const gradstep_parameter,
        n: usize,
        out: *mut *mut gradstep_optimizer,
    ) -> gradstep_status,
    gradstep_shampoo_state_bytes: unsafe extern "C" fn(
        options: *const gradstep_shampoo_options,
        parameters: *const gradstep_parameter,
        n: usize,
        bytes: *mut i64,
    ) -> gradstep_status,
    gradstep_sharding_options_init: unsafe extern "C" fn(
        o: *mut gradstep_sharding_options,
        struct_size: usize,
    ) -> gradstep_status,
    gradstep_optimizer_attach_comm: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        comm: *mut gradstep_comm,
        options: *const gradstep_sharding_options,
    ) -> gradstep_status,
    gradstep_optimizer_attach_reducer: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        reducer: *mut gradstep_reducer,
        options: *const gradstep_sharding_options,
    ) -> gradstep_status,
    gradstep_optimizer_attach_shards: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        comm: *mut gradstep_comm,
    ) -> gradstep_status,
    gradstep_updater_options_init: unsafe extern "C" fn(
        o: *mut gradstep_updater_options,
        struct_size: usize,
    ) -> gradstep_status,
    gradstep_updater_create: unsafe extern "C" fn(
        context: *mut gradstep_context,
        optimizer: *mut gradstep_optimizer,
        accumulator: *mut gradstep_accumulator,
        reducer: *mut gradstep_reducer,
        options: *const gradstep_updater_options,
        out: *mut *mut gradstep_updater,
    ) -> gradstep_status,
    gradstep_updater_destroy: unsafe extern "C" fn(updater: *mut gradstep_updater),
    gradstep_updater_push: unsafe extern "C" fn(
        updater: *mut gradstep_updater,
        params: *const gradstep_tensor,
        grads: *const gradstep_tensor,
        n: usize,
        weight: f64,
        stream: *mut ::core::ffi::c_void,
        applied_out: *mut i32,
    ) -> gradstep_status,
    gradstep_updater_flush: unsafe extern "C" fn(
        updater: *mut gradstep_updater,
        params: *const gradstep_tensor,
        n: usize,
        stream: *mut ::core::ffi::c_void,
        applied_out: *mut i32,
    ) -> gradstep_status,
    gradstep_updater_recover: unsafe extern "C" fn(
        updater: *mut gradstep_updater,
        comm: *mut gradstep_comm,
        params: *const gradstep_tensor,
        n: usize,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status,
    gradstep_updater_poll: unsafe extern "C" fn(
        updater: *mut gradstep_updater,
        done: *mut i32,
    ) -> gradstep_status,
    gradstep_updater_stats: unsafe extern "C" fn(
        updater: *mut gradstep_updater,
        stats: *mut gradstep_updater_statistics,
    ) -> gradstep_status,
    gradstep_load_options_init: unsafe extern "C" fn(
        o: *mut gradstep_load_options,
        struct_size: usize,
    ) -> gradstep_status,
    gradstep_optimizer_save: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        stream: *const gradstep_stream,
    ) -> gradstep_status,
    gradstep_accumulator_save: unsafe extern "C" fn(
        accumulator: *mut gradstep_accumulator,
        stream: *const gradstep_stream,
    ) -> gradstep_status,
    gradstep_reducer_save: unsafe extern "C" fn(
        reducer: *mut gradstep_reducer,
        stream: *const gradstep_stream,
    ) -> gradstep_status,
    gradstep_updater_save: unsafe extern "C" fn(
        updater: *mut gradstep_updater,
        stream: *const gradstep_stream,
    ) -> gradstep_status,
    gradstep_optimizer_load: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        stream: *const gradstep_stream,
        options: *const gradstep_load_options,
    ) -> gradstep_status,
    gradstep_accumulator_load: unsafe extern "C" fn(
        accumulator: *mut gradstep_accumulator,
        stream: *const gradstep_stream,
        options: *const gradstep_load_options,
    ) -> gradstep_status,
    gradstep_reducer_load: unsafe extern "C" fn(
        reducer: *mut gradstep_reducer,
        stream: *const gradstep_stream,
        options: *const gradstep_load_options,
    ) -> gradstep_status,
    gradstep_updater_load: unsafe extern "C" fn(
        updater: *mut gradstep_updater,
        stream: *const gradstep_stream,
        options: *const gradstep_load_options,
    ) -> gradstep_status,
    gradstep_optimizer_save_file: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        path: *const ::core::ffi::c_char,
    ) -> gradstep_status,
    gradstep_accumulator_save_file: unsafe extern "C" fn(
        accumulator: *mut gradstep_accumulator,
        path: *const ::core::ffi::c_char,
    ) -> gradstep_status,
    gradstep_reducer_save_file: unsafe extern "C" fn(
        reducer: *mut gradstep_reducer,
        path: *const ::core::ffi::c_char,
    ) -> gradstep_status,
    gradstep_updater_save_file: unsafe extern "C" fn(
        updater: *mut gradstep_updater,
        path: *const ::core::ffi::c_char,
    ) -> gradstep_status,
    gradstep_optimizer_load_file: unsafe extern "C" fn(
        optimizer: *mut gradstep_optimizer,
        path: *const ::core::ffi::c_char,
        options: *const gradstep_load_options,
    ) -> gradstep_status,
    gradstep_accumulator_load_file: unsafe extern "C" fn(
        accumulator: *mut gradstep_accumulator,
        path: *const ::core::ffi::c_char,
        options: *const gradstep_load_options,
    ) -> gradstep_status,
    gradstep_reducer_load_file: unsafe extern "C" fn(
        reducer: *mut gradstep_reducer,
        path: *const ::core::ffi::c_char,
        options: *const gradstep_load_options,
    ) -> gradstep_status,
    gradstep_updater_load_file: unsafe extern "C" fn(
        updater: *mut gradstep_updater,
        path: *const ::core::ffi::c_char,
        options: *const gradstep_load_options,
    ) -> gradstep_status,
    gradstep_trace_start: unsafe extern "C" fn(
        path: *const ::core::ffi::c_char,
    ) -> gradstep_status,
    gradstep_trace_stop: unsafe extern "C" fn() -> gradstep_status,
    gradstep_comm_counters: unsafe extern "C" fn(
        comm: *mut gradstep_comm,
        labels: *const ::core::ffi::c_char,
        buf: *mut ::core::ffi::c_char,
        cap: usize,
        len: *mut usize,
    ) -> gradstep_status,
    gradstep_reducer_counters: unsafe extern "C" fn(
        reducer: *mut gradstep_reducer,
        labels: *const ::core::ffi::c_char,
        buf: *mut ::core::ffi::c_char,
        cap: usize,
        len: *mut usize,
    ) -> gradstep_status,
    gradstep_updater_counters: unsafe extern "C" fn(
        updater: *mut gradstep_updater,
        labels: *const ::core::ffi::c_char,
        buf: *mut ::core::ffi::c_char,
        cap: usize,
        len: *mut usize,
    ) -> gradstep_status,
}
impl Functions {
    pub(crate) unsafe fn find(
        library: &libloading::Library,
    ) -> Result<Self, libloading::Error> {
        Ok(Self {
            gradstep_abi_version: unsafe { *library.get(c"gradstep_abi_version")? },
            gradstep_version_string: unsafe {
                *library.get(c"gradstep_version_string")?
            },
            gradstep_build_info: unsafe { *library.get(c"gradstep_build_info")? },
            gradstep_status_name: unsafe { *library.get(c"gradstep_status_name")? },
            gradstep_last_error: unsafe { *library.get(c"gradstep_last_error")? },
            gradstep_set_last_error: unsafe {
                *library.get(c"gradstep_set_last_error")?
            },
            gradstep_tensor_list_create: unsafe {
                *library.get(c"gradstep_tensor_list_create")?
            },
            gradstep_tensor_list_destroy: unsafe {
                *library.get(c"gradstep_tensor_list_destroy")?
            },
            gradstep_tensor_list_push: unsafe {
                *library.get(c"gradstep_tensor_list_push")?
            },
            gradstep_tensor_list_set_data: unsafe {
                *library.get(c"gradstep_tensor_list_set_data")?
            },
            gradstep_tensor_list_set_addresses: unsafe {
                *library.get(c"gradstep_tensor_list_set_addresses")?
            },
            gradstep_tensor_list_get: unsafe {
                *library.get(c"gradstep_tensor_list_get")?
            },
            gradstep_tensor_list_clear: unsafe {
                *library.get(c"gradstep_tensor_list_clear")?
            },
            gradstep_tensor_list_data: unsafe {
                *library.get(c"gradstep_tensor_list_data")?
            },
            gradstep_tensor_list_size: unsafe {
                *library.get(c"gradstep_tensor_list_size")?
            },
            gradstep_parameter_list_create: unsafe {
                *library.get(c"gradstep_parameter_list_create")?
            },
            gradstep_parameter_list_destroy: unsafe {
                *library.get(c"gradstep_parameter_list_destroy")?
            },
            gradstep_parameter_list_push: unsafe {
                *library.get(c"gradstep_parameter_list_push")?
            },
            gradstep_parameter_list_set_part: unsafe {
                *library.get(c"gradstep_parameter_list_set_part")?
            },
            gradstep_parameter_list_clear: unsafe {
                *library.get(c"gradstep_parameter_list_clear")?
            },
            gradstep_parameter_list_data: unsafe {
                *library.get(c"gradstep_parameter_list_data")?
            },
            gradstep_parameter_list_size: unsafe {
                *library.get(c"gradstep_parameter_list_size")?
            },
            gradstep_context_options_init: unsafe {
                *library.get(c"gradstep_context_options_init")?
            },
            gradstep_context_create: unsafe {
                *library.get(c"gradstep_context_create")?
            },
            gradstep_context_destroy: unsafe {
                *library.get(c"gradstep_context_destroy")?
            },
            gradstep_schedule_init: unsafe { *library.get(c"gradstep_schedule_init")? },
            gradstep_schedule_value: unsafe {
                *library.get(c"gradstep_schedule_value")?
            },
            gradstep_accumulator_options_init: unsafe {
                *library.get(c"gradstep_accumulator_options_init")?
            },
            gradstep_accumulator_create: unsafe {
                *library.get(c"gradstep_accumulator_create")?
            },
            gradstep_accumulator_destroy: unsafe {
                *library.get(c"gradstep_accumulator_destroy")?
            },
            gradstep_accumulator_add: unsafe {
                *library.get(c"gradstep_accumulator_add")?
            },
            gradstep_accumulator_add_ex: unsafe {
                *library.get(c"gradstep_accumulator_add_ex")?
            },
            gradstep_accumulator_flush: unsafe {
                *library.get(c"gradstep_accumulator_flush")?
            },
            gradstep_accumulator_reset: unsafe {
                *library.get(c"gradstep_accumulator_reset")?
            },
            gradstep_accumulator_gradients: unsafe {
                *library.get(c"gradstep_accumulator_gradients")?
            },
            gradstep_accumulator_sums: unsafe {
                *library.get(c"gradstep_accumulator_sums")?
            },
            gradstep_accumulator_weight: unsafe {
                *library.get(c"gradstep_accumulator_weight")?
            },
            gradstep_accumulator_norm: unsafe {
                *library.get(c"gradstep_accumulator_norm")?
            },
            gradstep_accumulator_count: unsafe {
                *library.get(c"gradstep_accumulator_count")?
            },
            gradstep_accumulator_skipped: unsafe {
                *library.get(c"gradstep_accumulator_skipped")?
            },
            gradstep_accumulator_poll: unsafe {
                *library.get(c"gradstep_accumulator_poll")?
            },
            gradstep_backend_load: unsafe { *library.get(c"gradstep_backend_load")? },
            gradstep_backend_available: unsafe {
                *library.get(c"gradstep_backend_available")?
            },
            gradstep_backend_status: unsafe {
                *library.get(c"gradstep_backend_status")?
            },
            gradstep_comm_options_init: unsafe {
                *library.get(c"gradstep_comm_options_init")?
            },
            gradstep_comm_create: unsafe { *library.get(c"gradstep_comm_create")? },
            gradstep_comm_create_local: unsafe {
                *library.get(c"gradstep_comm_create_local")?
            },
            gradstep_comm_create_local_ex: unsafe {
                *library.get(c"gradstep_comm_create_local_ex")?
            },
            gradstep_comm_create_host: unsafe {
                *library.get(c"gradstep_comm_create_host")?
            },
            gradstep_comm_create_host_ex: unsafe {
                *library.get(c"gradstep_comm_create_host_ex")?
            },
            gradstep_comm_wrap_mpi: unsafe { *library.get(c"gradstep_comm_wrap_mpi")? },
            gradstep_comm_wrap_mpi_ex: unsafe {
                *library.get(c"gradstep_comm_wrap_mpi_ex")?
            },
            gradstep_comm_attach_nccl: unsafe {
                *library.get(c"gradstep_comm_attach_nccl")?
            },
            gradstep_comm_destroy: unsafe { *library.get(c"gradstep_comm_destroy")? },
            gradstep_comm_unique_id: unsafe {
                *library.get(c"gradstep_comm_unique_id")?
            },
            gradstep_comm_unique_id_ex: unsafe {
                *library.get(c"gradstep_comm_unique_id_ex")?
            },
            gradstep_comm_rank: unsafe { *library.get(c"gradstep_comm_rank")? },
            gradstep_comm_world_size: unsafe {
                *library.get(c"gradstep_comm_world_size")?
            },
            gradstep_comm_local_rank: unsafe {
                *library.get(c"gradstep_comm_local_rank")?
            },
            gradstep_comm_engine: unsafe { *library.get(c"gradstep_comm_engine")? },
            gradstep_comm_all_reduce: unsafe {
                *library.get(c"gradstep_comm_all_reduce")?
            },
            gradstep_comm_all_gather: unsafe {
                *library.get(c"gradstep_comm_all_gather")?
            },
            gradstep_comm_all_gather_v: unsafe {
                *library.get(c"gradstep_comm_all_gather_v")?
            },
            gradstep_comm_reduce_scatter: unsafe {
                *library.get(c"gradstep_comm_reduce_scatter")?
            },
            gradstep_comm_broadcast: unsafe {
                *library.get(c"gradstep_comm_broadcast")?
            },
            gradstep_comm_send: unsafe { *library.get(c"gradstep_comm_send")? },
            gradstep_comm_recv: unsafe { *library.get(c"gradstep_comm_recv")? },
            gradstep_comm_barrier: unsafe { *library.get(c"gradstep_comm_barrier")? },
            gradstep_comm_vote: unsafe { *library.get(c"gradstep_comm_vote")? },
            gradstep_comm_split: unsafe { *library.get(c"gradstep_comm_split")? },
            gradstep_comm_dup: unsafe { *library.get(c"gradstep_comm_dup")? },
            gradstep_comm_abort: unsafe { *library.get(c"gradstep_comm_abort")? },
            gradstep_comm_status: unsafe { *library.get(c"gradstep_comm_status")? },
            gradstep_comm_stats: unsafe { *library.get(c"gradstep_comm_stats")? },
            gradstep_reducer_options_init: unsafe {
                *library.get(c"gradstep_reducer_options_init")?
            },
            gradstep_reducer_create: unsafe {
                *library.get(c"gradstep_reducer_create")?
            },
            gradstep_reducer_destroy: unsafe {
                *library.get(c"gradstep_reducer_destroy")?
            },
            gradstep_reducer_reduce: unsafe {
                *library.get(c"gradstep_reducer_reduce")?
            },
            gradstep_reducer_begin: unsafe { *library.get(c"gradstep_reducer_begin")? },
            gradstep_reducer_push: unsafe { *library.get(c"gradstep_reducer_push")? },
            gradstep_reducer_wait: unsafe { *library.get(c"gradstep_reducer_wait")? },
            gradstep_reducer_poll: unsafe { *library.get(c"gradstep_reducer_poll")? },
            gradstep_reducer_set_loss_scale: unsafe {
                *library.get(c"gradstep_reducer_set_loss_scale")?
            },
            gradstep_reducer_cancel: unsafe {
                *library.get(c"gradstep_reducer_cancel")?
            },
            gradstep_reducer_gradients: unsafe {
                *library.get(c"gradstep_reducer_gradients")?
            },
            gradstep_reducer_norm: unsafe { *library.get(c"gradstep_reducer_norm")? },
            gradstep_reducer_residual: unsafe {
                *library.get(c"gradstep_reducer_residual")?
            },
            gradstep_reducer_stats: unsafe { *library.get(c"gradstep_reducer_stats")? },
            gradstep_reducer_comm_stats: unsafe {
                *library.get(c"gradstep_reducer_comm_stats")?
            },
            gradstep_cost_options_init: unsafe {
                *library.get(c"gradstep_cost_options_init")?
            },
            gradstep_cost_options_measure: unsafe {
                *library.get(c"gradstep_cost_options_measure")?
            },
            gradstep_predict_costs: unsafe { *library.get(c"gradstep_predict_costs")? },
            gradstep_sgd_options_init: unsafe {
                *library.get(c"gradstep_sgd_options_init")?
            },
            gradstep_rmsprop_options_init: unsafe {
                *library.get(c"gradstep_rmsprop_options_init")?
            },
            gradstep_adagrad_options_init: unsafe {
                *library.get(c"gradstep_adagrad_options_init")?
            },
            gradstep_adam_options_init: unsafe {
                *library.get(c"gradstep_adam_options_init")?
            },
            gradstep_step_options_init: unsafe {
                *library.get(c"gradstep_step_options_init")?
            },
            gradstep_optimizer_create_sgd: unsafe {
                *library.get(c"gradstep_optimizer_create_sgd")?
            },
            gradstep_optimizer_create_rmsprop: unsafe {
                *library.get(c"gradstep_optimizer_create_rmsprop")?
            },
            gradstep_optimizer_create_adagrad: unsafe {
                *library.get(c"gradstep_optimizer_create_adagrad")?
            },
            gradstep_optimizer_create_adam: unsafe {
                *library.get(c"gradstep_optimizer_create_adam")?
            },
            gradstep_optimizer_destroy: unsafe {
                *library.get(c"gradstep_optimizer_destroy")?
            },
            gradstep_optimizer_step: unsafe {
                *library.get(c"gradstep_optimizer_step")?
            },
            gradstep_optimizer_update: unsafe {
                *library.get(c"gradstep_optimizer_update")?
            },
            gradstep_optimizer_step_ex: unsafe {
                *library.get(c"gradstep_optimizer_step_ex")?
            },
            gradstep_optimizer_set_value: unsafe {
                *library.get(c"gradstep_optimizer_set_value")?
            },
            gradstep_optimizer_set_schedule: unsafe {
                *library.get(c"gradstep_optimizer_set_schedule")?
            },
            gradstep_optimizer_set_tensor: unsafe {
                *library.get(c"gradstep_optimizer_set_tensor")?
            },
            gradstep_optimizer_get_value: unsafe {
                *library.get(c"gradstep_optimizer_get_value")?
            },
            gradstep_optimizer_group_count: unsafe {
                *library.get(c"gradstep_optimizer_group_count")?
            },
            gradstep_optimizer_add_parameters: unsafe {
                *library.get(c"gradstep_optimizer_add_parameters")?
            },
            gradstep_optimizer_step_count: unsafe {
                *library.get(c"gradstep_optimizer_step_count")?
            },
            gradstep_optimizer_set_step_count: unsafe {
                *library.get(c"gradstep_optimizer_set_step_count")?
            },
            gradstep_optimizer_state_names: unsafe {
                *library.get(c"gradstep_optimizer_state_names")?
            },
            gradstep_optimizer_state: unsafe {
                *library.get(c"gradstep_optimizer_state")?
            },
            gradstep_optimizer_get_state: unsafe {
                *library.get(c"gradstep_optimizer_get_state")?
            },
            gradstep_optimizer_set_state: unsafe {
                *library.get(c"gradstep_optimizer_set_state")?
            },
            gradstep_optimizer_copy_state: unsafe {
                *library.get(c"gradstep_optimizer_copy_state")?
            },
            gradstep_optimizer_metrics: unsafe {
                *library.get(c"gradstep_optimizer_metrics")?
            },
            gradstep_optimizer_memory: unsafe {
                *library.get(c"gradstep_optimizer_memory")?
            },
            gradstep_sgd_state_bytes: unsafe {
                *library.get(c"gradstep_sgd_state_bytes")?
            },
            gradstep_rmsprop_state_bytes: unsafe {
                *library.get(c"gradstep_rmsprop_state_bytes")?
            },
            gradstep_adagrad_state_bytes: unsafe {
                *library.get(c"gradstep_adagrad_state_bytes")?
            },
            gradstep_adam_state_bytes: unsafe {
                *library.get(c"gradstep_adam_state_bytes")?
            },
            gradstep_optimizer_poll: unsafe {
                *library.get(c"gradstep_optimizer_poll")?
            },
            gradstep_rendezvous_pending: unsafe {
                *library.get(c"gradstep_rendezvous_pending")?
            },
            gradstep_rule_count: unsafe { *library.get(c"gradstep_rule_count")? },
            gradstep_rule_describe: unsafe { *library.get(c"gradstep_rule_describe")? },
            gradstep_rule_define: unsafe { *library.get(c"gradstep_rule_define")? },
            gradstep_rule_options: unsafe { *library.get(c"gradstep_rule_options")? },
            gradstep_optimizer_create: unsafe {
                *library.get(c"gradstep_optimizer_create")?
            },
            gradstep_optimizer_create_by_group: unsafe {
                *library.get(c"gradstep_optimizer_create_by_group")?
            },
            gradstep_optimizer_average: unsafe {
                *library.get(c"gradstep_optimizer_average")?
            },
            gradstep_rule_state_bytes: unsafe {
                *library.get(c"gradstep_rule_state_bytes")?
            },
            gradstep_shampoo_options_init: unsafe {
                *library.get(c"gradstep_shampoo_options_init")?
            },
            gradstep_optimizer_create_shampoo: unsafe {
                *library.get(c"gradstep_optimizer_create_shampoo")?
            },
            gradstep_shampoo_state_bytes: unsafe {
                *library.get(c"gradstep_shampoo_state_bytes")?
            },
            gradstep_sharding_options_init: unsafe {
                *library.get(c"gradstep_sharding_options_init")?
            },
            gradstep_optimizer_attach_comm: unsafe {
                *library.get(c"gradstep_optimizer_attach_comm")?
            },
            gradstep_optimizer_attach_reducer: unsafe {
                *library.get(c"gradstep_optimizer_attach_reducer")?
            },
            gradstep_optimizer_attach_shards: unsafe {
                *library.get(c"gradstep_optimizer_attach_shards")?
            },
            gradstep_updater_options_init: unsafe {
                *library.get(c"gradstep_updater_options_init")?
            },
            gradstep_updater_create: unsafe {
                *library.get(c"gradstep_updater_create")?
            },
            gradstep_updater_destroy: unsafe {
                *library.get(c"gradstep_updater_destroy")?
            },
            gradstep_updater_push: unsafe { *library.get(c"gradstep_updater_push")? },
            gradstep_updater_flush: unsafe { *library.get(c"gradstep_updater_flush")? },
            gradstep_updater_recover: unsafe {
                *library.get(c"gradstep_updater_recover")?
            },
            gradstep_updater_poll: unsafe { *library.get(c"gradstep_updater_poll")? },
            gradstep_updater_stats: unsafe { *library.get(c"gradstep_updater_stats")? },
            gradstep_load_options_init: unsafe {
                *library.get(c"gradstep_load_options_init")?
            },
            gradstep_optimizer_save: unsafe {
                *library.get(c"gradstep_optimizer_save")?
            },
            gradstep_accumulator_save: unsafe {
                *library.get(c"gradstep_accumulator_save")?
            },
            gradstep_reducer_save: unsafe { *library.get(c"gradstep_reducer_save")? },
            gradstep_updater_save: unsafe { *library.get(c"gradstep_updater_save")? },
            gradstep_optimizer_load: unsafe {
                *library.get(c"gradstep_optimizer_load")?
            },
            gradstep_accumulator_load: unsafe {
                *library.get(c"gradstep_accumulator_load")?
            },
            gradstep_reducer_load: unsafe { *library.get(c"gradstep_reducer_load")? },
            gradstep_updater_load: unsafe { *library.get(c"gradstep_updater_load")? },
            gradstep_optimizer_save_file: unsafe {
                *library.get(c"gradstep_optimizer_save_file")?
            },
            gradstep_accumulator_save_file: unsafe {
                *library.get(c"gradstep_accumulator_save_file")?
            },
            gradstep_reducer_save_file: unsafe {
                *library.get(c"gradstep_reducer_save_file")?
            },
            gradstep_updater_save_file: unsafe {
                *library.get(c"gradstep_updater_save_file")?
            },
            gradstep_optimizer_load_file: unsafe {
                *library.get(c"gradstep_optimizer_load_file")?
            },
            gradstep_accumulator_load_file: unsafe {
                *library.get(c"gradstep_accumulator_load_file")?
            },
            gradstep_reducer_load_file: unsafe {
                *library.get(c"gradstep_reducer_load_file")?
            },
            gradstep_updater_load_file: unsafe {
                *library.get(c"gradstep_updater_load_file")?
            },
            gradstep_trace_start: unsafe { *library.get(c"gradstep_trace_start")? },
            gradstep_trace_stop: unsafe { *library.get(c"gradstep_trace_stop")? },
            gradstep_comm_counters: unsafe { *library.get(c"gradstep_comm_counters")? },
            gradstep_reducer_counters: unsafe {
                *library.get(c"gradstep_reducer_counters")?
            },
            gradstep_updater_counters: unsafe {
                *library.get(c"gradstep_updater_counters")?
            },
        })
    }
}
#[inline]
pub unsafe fn gradstep_abi_version() -> u32 {
    unsafe { (functions().gradstep_abi_version)() }
}
#[inline]
pub unsafe fn gradstep_version_string() -> *const ::core::ffi::c_char {
    unsafe { (functions().gradstep_version_string)() }
}
#[inline]
pub unsafe fn gradstep_build_info(
    buf: *mut ::core::ffi::c_char,
    cap: usize,
    len: *mut usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_build_info)(buf, cap, len) }
}
#[inline]
pub unsafe fn gradstep_status_name(
    status: gradstep_status,
) -> *const ::core::ffi::c_char {
    unsafe { (functions().gradstep_status_name)(status) }
}
#[inline]
pub unsafe fn gradstep_last_error() -> *const ::core::ffi::c_char {
    unsafe { (functions().gradstep_last_error)() }
}
#[inline]
pub unsafe fn gradstep_set_last_error(text: *const ::core::ffi::c_char) {
    unsafe { (functions().gradstep_set_last_error)(text) }
}
#[inline]
pub unsafe fn gradstep_tensor_list_create(
    out: *mut *mut gradstep_tensor_list,
) -> gradstep_status {
    unsafe { (functions().gradstep_tensor_list_create)(out) }
}
#[inline]
pub unsafe fn gradstep_tensor_list_destroy(list: *mut gradstep_tensor_list) {
    unsafe { (functions().gradstep_tensor_list_destroy)(list) }
}
#[inline]
pub unsafe fn gradstep_tensor_list_push(
    list: *mut gradstep_tensor_list,
    address: u64,
    type_code: i32,
    bits: i32,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    shape: *const i64,
    strides: *const i64,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_tensor_list_push)(
            list,
            address,
            type_code,
            bits,
            device_type,
            device_id,
            ndim,
            shape,
            strides,
        )
    }
}
#[inline]
pub unsafe fn gradstep_tensor_list_set_data(
    list: *mut gradstep_tensor_list,
    index: usize,
    address: u64,
    bytes: u64,
) -> gradstep_status {
    unsafe { (functions().gradstep_tensor_list_set_data)(list, index, address, bytes) }
}
#[inline]
pub unsafe fn gradstep_tensor_list_set_addresses(
    list: *mut gradstep_tensor_list,
    addresses: *const u64,
    n: usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_tensor_list_set_addresses)(list, addresses, n) }
}
#[inline]
pub unsafe fn gradstep_tensor_list_get(
    list: *const gradstep_tensor_list,
    index: usize,
    address: *mut u64,
    type_code: *mut i32,
    bits: *mut i32,
    device_type: *mut i32,
    device_id: *mut i32,
    ndim: *mut i32,
    shape: *mut i64,
    strides: *mut i64,
    capacity: i32,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_tensor_list_get)(
            list,
            index,
            address,
            type_code,
            bits,
            device_type,
            device_id,
            ndim,
            shape,
            strides,
            capacity,
        )
    }
}
#[inline]
pub unsafe fn gradstep_tensor_list_clear(
    list: *mut gradstep_tensor_list,
) -> gradstep_status {
    unsafe { (functions().gradstep_tensor_list_clear)(list) }
}
#[inline]
pub unsafe fn gradstep_tensor_list_data(
    list: *mut gradstep_tensor_list,
) -> *mut gradstep_tensor {
    unsafe { (functions().gradstep_tensor_list_data)(list) }
}
#[inline]
pub unsafe fn gradstep_tensor_list_size(list: *const gradstep_tensor_list) -> usize {
    unsafe { (functions().gradstep_tensor_list_size)(list) }
}
#[inline]
pub unsafe fn gradstep_parameter_list_create(
    out: *mut *mut gradstep_parameter_list,
) -> gradstep_status {
    unsafe { (functions().gradstep_parameter_list_create)(out) }
}
#[inline]
pub unsafe fn gradstep_parameter_list_destroy(list: *mut gradstep_parameter_list) {
    unsafe { (functions().gradstep_parameter_list_destroy)(list) }
}
#[inline]
pub unsafe fn gradstep_parameter_list_push(
    list: *mut gradstep_parameter_list,
    name: *const ::core::ffi::c_char,
    type_code: i32,
    bits: i32,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    shape: *const i64,
    group: i32,
    flags: u32,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_parameter_list_push)(
            list,
            name,
            type_code,
            bits,
            device_type,
            device_id,
            ndim,
            shape,
            group,
            flags,
        )
    }
}
#[inline]
pub unsafe fn gradstep_parameter_list_set_part(
    list: *mut gradstep_parameter_list,
    index: usize,
    whole_shape: *const i64,
    offset: *const i64,
) -> gradstep_status {
    unsafe {
        (functions().gradstep_parameter_list_set_part)(list, index, whole_shape, offset)
    }
}
#[inline]
pub unsafe fn gradstep_parameter_list_clear(
    list: *mut gradstep_parameter_list,
) -> gradstep_status {
    unsafe { (functions().gradstep_parameter_list_clear)(list) }
}
#[inline]
pub unsafe fn gradstep_parameter_list_data(
    list: *const gradstep_parameter_list,
) -> *const gradstep_parameter {
    unsafe { (functions().gradstep_parameter_list_data)(list) }
}
#[inline]
pub unsafe fn gradstep_parameter_list_size(
    list: *const gradstep_parameter_list,
) -> usize {
    unsafe { (functions().gradstep_parameter_list_size)(list) }
}
#[inline]
pub unsafe fn gradstep_context_options_init(
    o: *mut gradstep_context_options,
    struct_size: usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_context_options_init)(o, struct_size) }
}
#[inline]
pub unsafe fn gradstep_context_create(
    options: *const gradstep_context_options,
    out: *mut *mut gradstep_context,
) -> gradstep_status {
    unsafe { (functions().gradstep_context_create)(options, out) }
}
#[inline]
pub unsafe fn gradstep_context_destroy(context: *mut gradstep_context) {
    unsafe { (functions().gradstep_context_destroy)(context) }
}
#[inline]
pub unsafe fn gradstep_schedule_init(
    s: *mut gradstep_schedule,
    struct_size: usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_schedule_init)(s, struct_size) }
}
#[inline]
pub unsafe fn gradstep_schedule_value(
    s: *const gradstep_schedule,
    step: i64,
    value: *mut f64,
) -> gradstep_status {
    unsafe { (functions().gradstep_schedule_value)(s, step, value) }
}
#[inline]
pub unsafe fn gradstep_accumulator_options_init(
    o: *mut gradstep_accumulator_options,
    struct_size: usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_accumulator_options_init)(o, struct_size) }
}
#[inline]
pub unsafe fn gradstep_accumulator_create(
    context: *mut gradstep_context,
    options: *const gradstep_accumulator_options,
    parameters: *const gradstep_parameter,
    n: usize,
    out: *mut *mut gradstep_accumulator,
) -> gradstep_status {
    unsafe {
        (functions().gradstep_accumulator_create)(context, options, parameters, n, out)
    }
}
#[inline]
pub unsafe fn gradstep_accumulator_destroy(accumulator: *mut gradstep_accumulator) {
    unsafe { (functions().gradstep_accumulator_destroy)(accumulator) }
}
#[inline]
pub unsafe fn gradstep_accumulator_add(
    accumulator: *mut gradstep_accumulator,
    grads: *const gradstep_tensor,
    n: usize,
    weight: f64,
    stream: *mut ::core::ffi::c_void,
    ready_out: *mut i32,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_accumulator_add)(accumulator, grads, n, weight, stream, ready_out)
    }
}
#[inline]
pub unsafe fn gradstep_accumulator_add_ex(
    accumulator: *mut gradstep_accumulator,
    grads: *const gradstep_tensor,
    n: usize,
    rows: *const gradstep_rows,
    n_rows: usize,
    weight: f64,
    stream: *mut ::core::ffi::c_void,
    ready_out: *mut i32,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_accumulator_add_ex)(
            accumulator,
            grads,
            n,
            rows,
            n_rows,
            weight,
            stream,
            ready_out,
        )
    }
}
#[inline]
pub unsafe fn gradstep_accumulator_flush(
    accumulator: *mut gradstep_accumulator,
    stream: *mut ::core::ffi::c_void,
    ready_out: *mut i32,
) -> gradstep_status {
    unsafe { (functions().gradstep_accumulator_flush)(accumulator, stream, ready_out) }
}
#[inline]
pub unsafe fn gradstep_accumulator_reset(
    accumulator: *mut gradstep_accumulator,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe { (functions().gradstep_accumulator_reset)(accumulator, stream) }
}
#[inline]
pub unsafe fn gradstep_accumulator_gradients(
    accumulator: *mut gradstep_accumulator,
    tensors_out: *mut gradstep_tensor,
    n: usize,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe {
        (functions().gradstep_accumulator_gradients)(accumulator, tensors_out, n, stream)
    }
}
#[inline]
pub unsafe fn gradstep_accumulator_sums(
    accumulator: *mut gradstep_accumulator,
    tensors_out: *mut gradstep_tensor,
    n: usize,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe {
        (functions().gradstep_accumulator_sums)(accumulator, tensors_out, n, stream)
    }
}
#[inline]
pub unsafe fn gradstep_accumulator_weight(
    accumulator: *mut gradstep_accumulator,
    weight: *mut f64,
) -> gradstep_status {
    unsafe { (functions().gradstep_accumulator_weight)(accumulator, weight) }
}
#[inline]
pub unsafe fn gradstep_accumulator_norm(
    accumulator: *mut gradstep_accumulator,
    tensor_out: *mut gradstep_tensor,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe { (functions().gradstep_accumulator_norm)(accumulator, tensor_out, stream) }
}
#[inline]
pub unsafe fn gradstep_accumulator_count(
    accumulator: *mut gradstep_accumulator,
    count: *mut i64,
) -> gradstep_status {
    unsafe { (functions().gradstep_accumulator_count)(accumulator, count) }
}
#[inline]
pub unsafe fn gradstep_accumulator_skipped(
    accumulator: *mut gradstep_accumulator,
    skipped: *mut i64,
) -> gradstep_status {
    unsafe { (functions().gradstep_accumulator_skipped)(accumulator, skipped) }
}
#[inline]
pub unsafe fn gradstep_accumulator_poll(
    accumulator: *mut gradstep_accumulator,
    done: *mut i32,
) -> gradstep_status {
    unsafe { (functions().gradstep_accumulator_poll)(accumulator, done) }
}
#[inline]
pub unsafe fn gradstep_backend_load(
    path: *const ::core::ffi::c_char,
) -> gradstep_status {
    unsafe { (functions().gradstep_backend_load)(path) }
}
#[inline]
pub unsafe fn gradstep_backend_available(name: *const ::core::ffi::c_char) -> i32 {
    unsafe { (functions().gradstep_backend_available)(name) }
}
#[inline]
pub unsafe fn gradstep_backend_status(
    name: *const ::core::ffi::c_char,
    buf: *mut ::core::ffi::c_char,
    cap: usize,
    len: *mut usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_backend_status)(name, buf, cap, len) }
}
#[inline]
pub unsafe fn gradstep_comm_options_init(
    o: *mut gradstep_comm_options,
    struct_size: usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_options_init)(o, struct_size) }
}
#[inline]
pub unsafe fn gradstep_comm_create(
    context: *mut gradstep_context,
    options: *const gradstep_comm_options,
    out: *mut *mut gradstep_comm,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_create)(context, options, out) }
}
#[inline]
pub unsafe fn gradstep_comm_create_local(
    context: *mut gradstep_context,
    world_size: i32,
    out: *mut *mut gradstep_comm,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_create_local)(context, world_size, out) }
}
#[inline]
pub unsafe fn gradstep_comm_create_local_ex(
    context: *mut gradstep_context,
    world_size: i32,
    options: *const gradstep_comm_options,
    out: *mut *mut gradstep_comm,
) -> gradstep_status {
    unsafe {
        (functions().gradstep_comm_create_local_ex)(context, world_size, options, out)
    }
}
#[inline]
pub unsafe fn gradstep_comm_create_host(
    context: *mut gradstep_context,
    vtable: *const gradstep_comm_vtable,
    user: *mut ::core::ffi::c_void,
    out: *mut *mut gradstep_comm,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_create_host)(context, vtable, user, out) }
}
#[inline]
pub unsafe fn gradstep_comm_create_host_ex(
    context: *mut gradstep_context,
    vtable: *const gradstep_comm_vtable,
    user: *mut ::core::ffi::c_void,
    options: *const gradstep_comm_options,
    out: *mut *mut gradstep_comm,
) -> gradstep_status {
    unsafe {
        (functions().gradstep_comm_create_host_ex)(context, vtable, user, options, out)
    }
}
#[inline]
pub unsafe fn gradstep_comm_wrap_mpi(
    context: *mut gradstep_context,
    comm_address: *const ::core::ffi::c_void,
    out: *mut *mut gradstep_comm,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_wrap_mpi)(context, comm_address, out) }
}
#[inline]
pub unsafe fn gradstep_comm_wrap_mpi_ex(
    context: *mut gradstep_context,
    comm_address: *const ::core::ffi::c_void,
    options: *const gradstep_comm_options,
    out: *mut *mut gradstep_comm,
) -> gradstep_status {
    unsafe {
        (functions().gradstep_comm_wrap_mpi_ex)(context, comm_address, options, out)
    }
}
#[inline]
pub unsafe fn gradstep_comm_attach_nccl(
    comm: *mut gradstep_comm,
    device: i32,
    nccl_comm: *mut ::core::ffi::c_void,
    out: *mut *mut gradstep_comm,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_attach_nccl)(comm, device, nccl_comm, out) }
}
#[inline]
pub unsafe fn gradstep_comm_destroy(comm: *mut gradstep_comm) {
    unsafe { (functions().gradstep_comm_destroy)(comm) }
}
#[inline]
pub unsafe fn gradstep_comm_unique_id(
    engine: *const ::core::ffi::c_char,
    buf: *mut ::core::ffi::c_void,
    cap: usize,
    len: *mut usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_unique_id)(engine, buf, cap, len) }
}
#[inline]
pub unsafe fn gradstep_comm_unique_id_ex(
    engine: *const ::core::ffi::c_char,
    network_interface: *const ::core::ffi::c_char,
    buf: *mut ::core::ffi::c_void,
    cap: usize,
    len: *mut usize,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_comm_unique_id_ex)(engine, network_interface, buf, cap, len)
    }
}
#[inline]
pub unsafe fn gradstep_comm_rank(
    comm: *mut gradstep_comm,
    rank: *mut i32,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_rank)(comm, rank) }
}
#[inline]
pub unsafe fn gradstep_comm_world_size(
    comm: *mut gradstep_comm,
    world_size: *mut i32,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_world_size)(comm, world_size) }
}
#[inline]
pub unsafe fn gradstep_comm_local_rank(
    comm: *mut gradstep_comm,
    local_rank: *mut i32,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_local_rank)(comm, local_rank) }
}
#[inline]
pub unsafe fn gradstep_comm_engine(
    comm: *mut gradstep_comm,
    buf: *mut ::core::ffi::c_char,
    cap: usize,
    len: *mut usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_engine)(comm, buf, cap, len) }
}
#[inline]
pub unsafe fn gradstep_comm_all_reduce(
    comm: *mut gradstep_comm,
    tensor: *const gradstep_tensor,
    op: i32,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_all_reduce)(comm, tensor, op, stream) }
}
#[inline]
pub unsafe fn gradstep_comm_all_gather(
    comm: *mut gradstep_comm,
    input: *const gradstep_tensor,
    output: *const gradstep_tensor,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_all_gather)(comm, input, output, stream) }
}
#[inline]
pub unsafe fn gradstep_comm_all_gather_v(
    comm: *mut gradstep_comm,
    input: *const gradstep_tensor,
    output: *const gradstep_tensor,
    counts: *const i64,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe {
        (functions().gradstep_comm_all_gather_v)(comm, input, output, counts, stream)
    }
}
#[inline]
pub unsafe fn gradstep_comm_reduce_scatter(
    comm: *mut gradstep_comm,
    input: *const gradstep_tensor,
    output: *const gradstep_tensor,
    op: i32,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe {
        (functions().gradstep_comm_reduce_scatter)(comm, input, output, op, stream)
    }
}
#[inline]
pub unsafe fn gradstep_comm_broadcast(
    comm: *mut gradstep_comm,
    tensor: *const gradstep_tensor,
    root: i32,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_broadcast)(comm, tensor, root, stream) }
}
#[inline]
pub unsafe fn gradstep_comm_send(
    comm: *mut gradstep_comm,
    tensor: *const gradstep_tensor,
    to: i32,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_send)(comm, tensor, to, stream) }
}
#[inline]
pub unsafe fn gradstep_comm_recv(
    comm: *mut gradstep_comm,
    tensor: *const gradstep_tensor,
    from: i32,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_recv)(comm, tensor, from, stream) }
}
#[inline]
pub unsafe fn gradstep_comm_barrier(comm: *mut gradstep_comm) -> gradstep_status {
    unsafe { (functions().gradstep_comm_barrier)(comm) }
}
#[inline]
pub unsafe fn gradstep_comm_vote(
    comm: *mut gradstep_comm,
    yes: i32,
    all_yes: *mut i32,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_vote)(comm, yes, all_yes) }
}
#[inline]
pub unsafe fn gradstep_comm_split(
    comm: *mut gradstep_comm,
    color: i32,
    key: i32,
    out: *mut *mut gradstep_comm,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_split)(comm, color, key, out) }
}
#[inline]
pub unsafe fn gradstep_comm_dup(
    comm: *mut gradstep_comm,
    out: *mut *mut gradstep_comm,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_dup)(comm, out) }
}
#[inline]
pub unsafe fn gradstep_comm_abort(comm: *mut gradstep_comm) -> gradstep_status {
    unsafe { (functions().gradstep_comm_abort)(comm) }
}
#[inline]
pub unsafe fn gradstep_comm_status(
    comm: *mut gradstep_comm,
    status: *mut gradstep_status,
    buf: *mut ::core::ffi::c_char,
    cap: usize,
    len: *mut usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_status)(comm, status, buf, cap, len) }
}
#[inline]
pub unsafe fn gradstep_comm_stats(
    comm: *mut gradstep_comm,
    stats: *mut gradstep_comm_statistics,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_stats)(comm, stats) }
}
#[inline]
pub unsafe fn gradstep_reducer_options_init(
    o: *mut gradstep_reducer_options,
    struct_size: usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_reducer_options_init)(o, struct_size) }
}
#[inline]
pub unsafe fn gradstep_reducer_create(
    context: *mut gradstep_context,
    comm: *mut gradstep_comm,
    options: *const gradstep_reducer_options,
    parameters: *const gradstep_parameter,
    n: usize,
    out: *mut *mut gradstep_reducer,
) -> gradstep_status {
    unsafe {
        (functions().gradstep_reducer_create)(context, comm, options, parameters, n, out)
    }
}
#[inline]
pub unsafe fn gradstep_reducer_destroy(reducer: *mut gradstep_reducer) {
    unsafe { (functions().gradstep_reducer_destroy)(reducer) }
}
#[inline]
pub unsafe fn gradstep_reducer_reduce(
    reducer: *mut gradstep_reducer,
    grads: *const gradstep_tensor,
    results: *const gradstep_tensor,
    n: usize,
    weight: f64,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe {
        (functions().gradstep_reducer_reduce)(reducer, grads, results, n, weight, stream)
    }
}
#[inline]
pub unsafe fn gradstep_reducer_begin(
    reducer: *mut gradstep_reducer,
    weight: f64,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe { (functions().gradstep_reducer_begin)(reducer, weight, stream) }
}
#[inline]
pub unsafe fn gradstep_reducer_push(
    reducer: *mut gradstep_reducer,
    index: usize,
    grad: *const gradstep_tensor,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe { (functions().gradstep_reducer_push)(reducer, index, grad, stream) }
}
#[inline]
pub unsafe fn gradstep_reducer_wait(
    reducer: *mut gradstep_reducer,
    results: *const gradstep_tensor,
    n: usize,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe { (functions().gradstep_reducer_wait)(reducer, results, n, stream) }
}
#[inline]
pub unsafe fn gradstep_reducer_poll(
    reducer: *mut gradstep_reducer,
    done: *mut i32,
) -> gradstep_status {
    unsafe { (functions().gradstep_reducer_poll)(reducer, done) }
}
#[inline]
pub unsafe fn gradstep_reducer_set_loss_scale(
    reducer: *mut gradstep_reducer,
    scale: f64,
) -> gradstep_status {
    unsafe { (functions().gradstep_reducer_set_loss_scale)(reducer, scale) }
}
#[inline]
pub unsafe fn gradstep_reducer_cancel(
    reducer: *mut gradstep_reducer,
) -> gradstep_status {
    unsafe { (functions().gradstep_reducer_cancel)(reducer) }
}
#[inline]
pub unsafe fn gradstep_reducer_gradients(
    reducer: *mut gradstep_reducer,
    tensors_out: *mut gradstep_tensor,
    n: usize,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe { (functions().gradstep_reducer_gradients)(reducer, tensors_out, n, stream) }
}
#[inline]
pub unsafe fn gradstep_reducer_norm(
    reducer: *mut gradstep_reducer,
    tensor_out: *mut gradstep_tensor,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe { (functions().gradstep_reducer_norm)(reducer, tensor_out, stream) }
}
#[inline]
pub unsafe fn gradstep_reducer_residual(
    reducer: *mut gradstep_reducer,
    index: usize,
    tensor_out: *mut gradstep_tensor,
) -> gradstep_status {
    unsafe { (functions().gradstep_reducer_residual)(reducer, index, tensor_out) }
}
#[inline]
pub unsafe fn gradstep_reducer_stats(
    reducer: *mut gradstep_reducer,
    records: *mut gradstep_bucket_statistics,
    record_size: usize,
    capacity: usize,
    count: *mut usize,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_reducer_stats)(reducer, records, record_size, capacity, count)
    }
}
#[inline]
pub unsafe fn gradstep_reducer_comm_stats(
    reducer: *mut gradstep_reducer,
    stats: *mut gradstep_comm_statistics,
) -> gradstep_status {
    unsafe { (functions().gradstep_reducer_comm_stats)(reducer, stats) }
}
#[inline]
pub unsafe fn gradstep_cost_options_init(
    o: *mut gradstep_cost_options,
    struct_size: usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_cost_options_init)(o, struct_size) }
}
#[inline]
pub unsafe fn gradstep_cost_options_measure(
    o: *mut gradstep_cost_options,
    context: *mut gradstep_context,
) -> gradstep_status {
    unsafe { (functions().gradstep_cost_options_measure)(o, context) }
}
#[inline]
pub unsafe fn gradstep_predict_costs(
    options: *const gradstep_cost_options,
    records: *mut gradstep_cost,
    record_size: usize,
    capacity: usize,
    count: *mut usize,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_predict_costs)(options, records, record_size, capacity, count)
    }
}
#[inline]
pub unsafe fn gradstep_sgd_options_init(
    o: *mut gradstep_sgd_options,
    struct_size: usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_sgd_options_init)(o, struct_size) }
}
#[inline]
pub unsafe fn gradstep_rmsprop_options_init(
    o: *mut gradstep_rmsprop_options,
    struct_size: usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_rmsprop_options_init)(o, struct_size) }
}
#[inline]
pub unsafe fn gradstep_adagrad_options_init(
    o: *mut gradstep_adagrad_options,
    struct_size: usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_adagrad_options_init)(o, struct_size) }
}
#[inline]
pub unsafe fn gradstep_adam_options_init(
    o: *mut gradstep_adam_options,
    struct_size: usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_adam_options_init)(o, struct_size) }
}
#[inline]
pub unsafe fn gradstep_step_options_init(
    o: *mut gradstep_step_options,
    struct_size: usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_step_options_init)(o, struct_size) }
}
#[inline]
pub unsafe fn gradstep_optimizer_create_sgd(
    context: *mut gradstep_context,
    options: *const gradstep_sgd_options,
    parameters: *const gradstep_parameter,
    n: usize,
    out: *mut *mut gradstep_optimizer,
) -> gradstep_status {
    unsafe {
        (functions().gradstep_optimizer_create_sgd)(context, options, parameters, n, out)
    }
}
#[inline]
pub unsafe fn gradstep_optimizer_create_rmsprop(
    context: *mut gradstep_context,
    options: *const gradstep_rmsprop_options,
    parameters: *const gradstep_parameter,
    n: usize,
    out: *mut *mut gradstep_optimizer,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_optimizer_create_rmsprop)(context, options, parameters, n, out)
    }
}
#[inline]
pub unsafe fn gradstep_optimizer_create_adagrad(
    context: *mut gradstep_context,
    options: *const gradstep_adagrad_options,
    parameters: *const gradstep_parameter,
    n: usize,
    out: *mut *mut gradstep_optimizer,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_optimizer_create_adagrad)(context, options, parameters, n, out)
    }
}
#[inline]
pub unsafe fn gradstep_optimizer_create_adam(
    context: *mut gradstep_context,
    options: *const gradstep_adam_options,
    parameters: *const gradstep_parameter,
    n: usize,
    out: *mut *mut gradstep_optimizer,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_optimizer_create_adam)(context, options, parameters, n, out)
    }
}
#[inline]
pub unsafe fn gradstep_optimizer_destroy(optimizer: *mut gradstep_optimizer) {
    unsafe { (functions().gradstep_optimizer_destroy)(optimizer) }
}
#[inline]
pub unsafe fn gradstep_optimizer_step(
    optimizer: *mut gradstep_optimizer,
    params: *const gradstep_tensor,
    grads: *const gradstep_tensor,
    n: usize,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe { (functions().gradstep_optimizer_step)(optimizer, params, grads, n, stream) }
}
#[inline]
pub unsafe fn gradstep_optimizer_update(
    optimizer: *mut gradstep_optimizer,
    params: *const gradstep_tensor,
    grads: *const gradstep_tensor,
    updates: *const gradstep_tensor,
    n: usize,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_optimizer_update)(optimizer, params, grads, updates, n, stream)
    }
}
#[inline]
pub unsafe fn gradstep_optimizer_step_ex(
    optimizer: *mut gradstep_optimizer,
    params: *const gradstep_tensor,
    grads: *const gradstep_tensor,
    updates: *const gradstep_tensor,
    n: usize,
    options: *const gradstep_step_options,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_optimizer_step_ex)(
            optimizer,
            params,
            grads,
            updates,
            n,
            options,
            stream,
        )
    }
}
#[inline]
pub unsafe fn gradstep_optimizer_set_value(
    optimizer: *mut gradstep_optimizer,
    group: i32,
    name: *const ::core::ffi::c_char,
    value: f64,
) -> gradstep_status {
    unsafe { (functions().gradstep_optimizer_set_value)(optimizer, group, name, value) }
}
#[inline]
pub unsafe fn gradstep_optimizer_set_schedule(
    optimizer: *mut gradstep_optimizer,
    group: i32,
    name: *const ::core::ffi::c_char,
    schedule: *const gradstep_schedule,
) -> gradstep_status {
    unsafe {
        (functions().gradstep_optimizer_set_schedule)(optimizer, group, name, schedule)
    }
}
#[inline]
pub unsafe fn gradstep_optimizer_set_tensor(
    optimizer: *mut gradstep_optimizer,
    group: i32,
    name: *const ::core::ffi::c_char,
    tensor: *const gradstep_tensor,
) -> gradstep_status {
    unsafe {
        (functions().gradstep_optimizer_set_tensor)(optimizer, group, name, tensor)
    }
}
#[inline]
pub unsafe fn gradstep_optimizer_get_value(
    optimizer: *mut gradstep_optimizer,
    group: i32,
    name: *const ::core::ffi::c_char,
    value: *mut f64,
) -> gradstep_status {
    unsafe { (functions().gradstep_optimizer_get_value)(optimizer, group, name, value) }
}
#[inline]
pub unsafe fn gradstep_optimizer_group_count(
    optimizer: *mut gradstep_optimizer,
    count: *mut i32,
) -> gradstep_status {
    unsafe { (functions().gradstep_optimizer_group_count)(optimizer, count) }
}
#[inline]
pub unsafe fn gradstep_optimizer_add_parameters(
    optimizer: *mut gradstep_optimizer,
    parameters: *const gradstep_parameter,
    n: usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_optimizer_add_parameters)(optimizer, parameters, n) }
}
#[inline]
pub unsafe fn gradstep_optimizer_step_count(
    optimizer: *mut gradstep_optimizer,
    count: *mut i64,
) -> gradstep_status {
    unsafe { (functions().gradstep_optimizer_step_count)(optimizer, count) }
}
#[inline]
pub unsafe fn gradstep_optimizer_set_step_count(
    optimizer: *mut gradstep_optimizer,
    count: i64,
) -> gradstep_status {
    unsafe { (functions().gradstep_optimizer_set_step_count)(optimizer, count) }
}
#[inline]
pub unsafe fn gradstep_optimizer_state_names(
    optimizer: *mut gradstep_optimizer,
    buf: *mut ::core::ffi::c_char,
    cap: usize,
    len: *mut usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_optimizer_state_names)(optimizer, buf, cap, len) }
}
#[inline]
pub unsafe fn gradstep_optimizer_state(
    optimizer: *mut gradstep_optimizer,
    index: usize,
    name: *const ::core::ffi::c_char,
    tensor_out: *mut gradstep_tensor,
) -> gradstep_status {
    unsafe { (functions().gradstep_optimizer_state)(optimizer, index, name, tensor_out) }
}
#[inline]
pub unsafe fn gradstep_optimizer_get_state(
    optimizer: *mut gradstep_optimizer,
    index: usize,
    name: *const ::core::ffi::c_char,
    tensor: *const gradstep_tensor,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_optimizer_get_state)(optimizer, index, name, tensor, stream)
    }
}
#[inline]
pub unsafe fn gradstep_optimizer_set_state(
    optimizer: *mut gradstep_optimizer,
    index: usize,
    name: *const ::core::ffi::c_char,
    tensor: *const gradstep_tensor,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_optimizer_set_state)(optimizer, index, name, tensor, stream)
    }
}
#[inline]
pub unsafe fn gradstep_optimizer_copy_state(
    destination: *mut gradstep_optimizer,
    source: *mut gradstep_optimizer,
) -> gradstep_status {
    unsafe { (functions().gradstep_optimizer_copy_state)(destination, source) }
}
#[inline]
pub unsafe fn gradstep_optimizer_metrics(
    optimizer: *mut gradstep_optimizer,
    records: *mut gradstep_metric,
    record_size: usize,
    capacity: usize,
    count: *mut usize,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_optimizer_metrics)(
            optimizer,
            records,
            record_size,
            capacity,
            count,
        )
    }
}
#[inline]
pub unsafe fn gradstep_optimizer_memory(
    optimizer: *mut gradstep_optimizer,
    memory: *mut gradstep_memory,
) -> gradstep_status {
    unsafe { (functions().gradstep_optimizer_memory)(optimizer, memory) }
}
#[inline]
pub unsafe fn gradstep_sgd_state_bytes(
    options: *const gradstep_sgd_options,
    parameters: *const gradstep_parameter,
    n: usize,
    bytes: *mut i64,
) -> gradstep_status {
    unsafe { (functions().gradstep_sgd_state_bytes)(options, parameters, n, bytes) }
}
#[inline]
pub unsafe fn gradstep_rmsprop_state_bytes(
    options: *const gradstep_rmsprop_options,
    parameters: *const gradstep_parameter,
    n: usize,
    bytes: *mut i64,
) -> gradstep_status {
    unsafe { (functions().gradstep_rmsprop_state_bytes)(options, parameters, n, bytes) }
}
#[inline]
pub unsafe fn gradstep_adagrad_state_bytes(
    options: *const gradstep_adagrad_options,
    parameters: *const gradstep_parameter,
    n: usize,
    bytes: *mut i64,
) -> gradstep_status {
    unsafe { (functions().gradstep_adagrad_state_bytes)(options, parameters, n, bytes) }
}
#[inline]
pub unsafe fn gradstep_adam_state_bytes(
    options: *const gradstep_adam_options,
    parameters: *const gradstep_parameter,
    n: usize,
    bytes: *mut i64,
) -> gradstep_status {
    unsafe { (functions().gradstep_adam_state_bytes)(options, parameters, n, bytes) }
}
#[inline]
pub unsafe fn gradstep_optimizer_poll(
    optimizer: *mut gradstep_optimizer,
    done: *mut i32,
) -> gradstep_status {
    unsafe { (functions().gradstep_optimizer_poll)(optimizer, done) }
}
#[inline]
pub unsafe fn gradstep_rendezvous_pending(
    comm: *mut gradstep_comm,
    options: *const gradstep_comm_options,
    pending: *mut i32,
) -> gradstep_status {
    unsafe { (functions().gradstep_rendezvous_pending)(comm, options, pending) }
}
#[inline]
pub unsafe fn gradstep_rule_count(count: *mut usize) -> gradstep_status {
    unsafe { (functions().gradstep_rule_count)(count) }
}
#[inline]
pub unsafe fn gradstep_rule_describe(
    index: usize,
    rule: *mut gradstep_rule,
) -> gradstep_status {
    unsafe { (functions().gradstep_rule_describe)(index, rule) }
}
#[inline]
pub unsafe fn gradstep_rule_define(
    context: *mut gradstep_context,
    text: *const ::core::ffi::c_char,
    name: *mut *const ::core::ffi::c_char,
) -> gradstep_status {
    unsafe { (functions().gradstep_rule_define)(context, text, name) }
}
#[inline]
pub unsafe fn gradstep_rule_options(
    rule: *const ::core::ffi::c_char,
    records: *mut gradstep_rule_option,
    record_size: usize,
    capacity: usize,
    count: *mut usize,
) -> gradstep_status {
    unsafe {
        (functions().gradstep_rule_options)(rule, records, record_size, capacity, count)
    }
}
#[inline]
pub unsafe fn gradstep_optimizer_create(
    context: *mut gradstep_context,
    rule: *const ::core::ffi::c_char,
    options: *const gradstep_option,
    option_count: usize,
    parameters: *const gradstep_parameter,
    n: usize,
    out: *mut *mut gradstep_optimizer,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_optimizer_create)(
            context,
            rule,
            options,
            option_count,
            parameters,
            n,
            out,
        )
    }
}
#[inline]
pub unsafe fn gradstep_optimizer_create_by_group(
    context: *mut gradstep_context,
    groups: *const gradstep_group_rule,
    group_count: usize,
    parameters: *const gradstep_parameter,
    n: usize,
    out: *mut *mut gradstep_optimizer,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_optimizer_create_by_group)(
            context,
            groups,
            group_count,
            parameters,
            n,
            out,
        )
    }
}
#[inline]
pub unsafe fn gradstep_optimizer_average(
    optimizer: *mut gradstep_optimizer,
    tensors: *const gradstep_tensor,
    n: usize,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe { (functions().gradstep_optimizer_average)(optimizer, tensors, n, stream) }
}
#[inline]
pub unsafe fn gradstep_rule_state_bytes(
    rule: *const ::core::ffi::c_char,
    options: *const gradstep_option,
    option_count: usize,
    parameters: *const gradstep_parameter,
    n: usize,
    bytes: *mut i64,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_rule_state_bytes)(
            rule,
            options,
            option_count,
            parameters,
            n,
            bytes,
        )
    }
}
#[inline]
pub unsafe fn gradstep_shampoo_options_init(
    o: *mut gradstep_shampoo_options,
    struct_size: usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_shampoo_options_init)(o, struct_size) }
}
#[inline]
pub unsafe fn gradstep_optimizer_create_shampoo(
    context: *mut gradstep_context,
    options: *const gradstep_shampoo_options,
    parameters: *const gradstep_parameter,
    n: usize,
    out: *mut *mut gradstep_optimizer,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_optimizer_create_shampoo)(context, options, parameters, n, out)
    }
}
#[inline]
pub unsafe fn gradstep_shampoo_state_bytes(
    options: *const gradstep_shampoo_options,
    parameters: *const gradstep_parameter,
    n: usize,
    bytes: *mut i64,
) -> gradstep_status {
    unsafe { (functions().gradstep_shampoo_state_bytes)(options, parameters, n, bytes) }
}
#[inline]
pub unsafe fn gradstep_sharding_options_init(
    o: *mut gradstep_sharding_options,
    struct_size: usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_sharding_options_init)(o, struct_size) }
}
#[inline]
pub unsafe fn gradstep_optimizer_attach_comm(
    optimizer: *mut gradstep_optimizer,
    comm: *mut gradstep_comm,
    options: *const gradstep_sharding_options,
) -> gradstep_status {
    unsafe { (functions().gradstep_optimizer_attach_comm)(optimizer, comm, options) }
}
#[inline]
pub unsafe fn gradstep_optimizer_attach_reducer(
    optimizer: *mut gradstep_optimizer,
    reducer: *mut gradstep_reducer,
    options: *const gradstep_sharding_options,
) -> gradstep_status {
    unsafe {
        (functions().gradstep_optimizer_attach_reducer)(optimizer, reducer, options)
    }
}
#[inline]
pub unsafe fn gradstep_optimizer_attach_shards(
    optimizer: *mut gradstep_optimizer,
    comm: *mut gradstep_comm,
) -> gradstep_status {
    unsafe { (functions().gradstep_optimizer_attach_shards)(optimizer, comm) }
}
#[inline]
pub unsafe fn gradstep_updater_options_init(
    o: *mut gradstep_updater_options,
    struct_size: usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_updater_options_init)(o, struct_size) }
}
#[inline]
pub unsafe fn gradstep_updater_create(
    context: *mut gradstep_context,
    optimizer: *mut gradstep_optimizer,
    accumulator: *mut gradstep_accumulator,
    reducer: *mut gradstep_reducer,
    options: *const gradstep_updater_options,
    out: *mut *mut gradstep_updater,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_updater_create)(
            context,
            optimizer,
            accumulator,
            reducer,
            options,
            out,
        )
    }
}
#[inline]
pub unsafe fn gradstep_updater_destroy(updater: *mut gradstep_updater) {
    unsafe { (functions().gradstep_updater_destroy)(updater) }
}
#[inline]
pub unsafe fn gradstep_updater_push(
    updater: *mut gradstep_updater,
    params: *const gradstep_tensor,
    grads: *const gradstep_tensor,
    n: usize,
    weight: f64,
    stream: *mut ::core::ffi::c_void,
    applied_out: *mut i32,
) -> gradstep_status {
    unsafe {
        (functions()
            .gradstep_updater_push)(
            updater,
            params,
            grads,
            n,
            weight,
            stream,
            applied_out,
        )
    }
}
#[inline]
pub unsafe fn gradstep_updater_flush(
    updater: *mut gradstep_updater,
    params: *const gradstep_tensor,
    n: usize,
    stream: *mut ::core::ffi::c_void,
    applied_out: *mut i32,
) -> gradstep_status {
    unsafe {
        (functions().gradstep_updater_flush)(updater, params, n, stream, applied_out)
    }
}
#[inline]
pub unsafe fn gradstep_updater_recover(
    updater: *mut gradstep_updater,
    comm: *mut gradstep_comm,
    params: *const gradstep_tensor,
    n: usize,
    stream: *mut ::core::ffi::c_void,
) -> gradstep_status {
    unsafe { (functions().gradstep_updater_recover)(updater, comm, params, n, stream) }
}
#[inline]
pub unsafe fn gradstep_updater_poll(
    updater: *mut gradstep_updater,
    done: *mut i32,
) -> gradstep_status {
    unsafe { (functions().gradstep_updater_poll)(updater, done) }
}
#[inline]
pub unsafe fn gradstep_updater_stats(
    updater: *mut gradstep_updater,
    stats: *mut gradstep_updater_statistics,
) -> gradstep_status {
    unsafe { (functions().gradstep_updater_stats)(updater, stats) }
}
#[inline]
pub unsafe fn gradstep_load_options_init(
    o: *mut gradstep_load_options,
    struct_size: usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_load_options_init)(o, struct_size) }
}
#[inline]
pub unsafe fn gradstep_optimizer_save(
    optimizer: *mut gradstep_optimizer,
    stream: *const gradstep_stream,
) -> gradstep_status {
    unsafe { (functions().gradstep_optimizer_save)(optimizer, stream) }
}
#[inline]
pub unsafe fn gradstep_accumulator_save(
    accumulator: *mut gradstep_accumulator,
    stream: *const gradstep_stream,
) -> gradstep_status {
    unsafe { (functions().gradstep_accumulator_save)(accumulator, stream) }
}
#[inline]
pub unsafe fn gradstep_reducer_save(
    reducer: *mut gradstep_reducer,
    stream: *const gradstep_stream,
) -> gradstep_status {
    unsafe { (functions().gradstep_reducer_save)(reducer, stream) }
}
#[inline]
pub unsafe fn gradstep_updater_save(
    updater: *mut gradstep_updater,
    stream: *const gradstep_stream,
) -> gradstep_status {
    unsafe { (functions().gradstep_updater_save)(updater, stream) }
}
#[inline]
pub unsafe fn gradstep_optimizer_load(
    optimizer: *mut gradstep_optimizer,
    stream: *const gradstep_stream,
    options: *const gradstep_load_options,
) -> gradstep_status {
    unsafe { (functions().gradstep_optimizer_load)(optimizer, stream, options) }
}
#[inline]
pub unsafe fn gradstep_accumulator_load(
    accumulator: *mut gradstep_accumulator,
    stream: *const gradstep_stream,
    options: *const gradstep_load_options,
) -> gradstep_status {
    unsafe { (functions().gradstep_accumulator_load)(accumulator, stream, options) }
}
#[inline]
pub unsafe fn gradstep_reducer_load(
    reducer: *mut gradstep_reducer,
    stream: *const gradstep_stream,
    options: *const gradstep_load_options,
) -> gradstep_status {
    unsafe { (functions().gradstep_reducer_load)(reducer, stream, options) }
}
#[inline]
pub unsafe fn gradstep_updater_load(
    updater: *mut gradstep_updater,
    stream: *const gradstep_stream,
    options: *const gradstep_load_options,
) -> gradstep_status {
    unsafe { (functions().gradstep_updater_load)(updater, stream, options) }
}
#[inline]
pub unsafe fn gradstep_optimizer_save_file(
    optimizer: *mut gradstep_optimizer,
    path: *const ::core::ffi::c_char,
) -> gradstep_status {
    unsafe { (functions().gradstep_optimizer_save_file)(optimizer, path) }
}
#[inline]
pub unsafe fn gradstep_accumulator_save_file(
    accumulator: *mut gradstep_accumulator,
    path: *const ::core::ffi::c_char,
) -> gradstep_status {
    unsafe { (functions().gradstep_accumulator_save_file)(accumulator, path) }
}
#[inline]
pub unsafe fn gradstep_reducer_save_file(
    reducer: *mut gradstep_reducer,
    path: *const ::core::ffi::c_char,
) -> gradstep_status {
    unsafe { (functions().gradstep_reducer_save_file)(reducer, path) }
}
#[inline]
pub unsafe fn gradstep_updater_save_file(
    updater: *mut gradstep_updater,
    path: *const ::core::ffi::c_char,
) -> gradstep_status {
    unsafe { (functions().gradstep_updater_save_file)(updater, path) }
}
#[inline]
pub unsafe fn gradstep_optimizer_load_file(
    optimizer: *mut gradstep_optimizer,
    path: *const ::core::ffi::c_char,
    options: *const gradstep_load_options,
) -> gradstep_status {
    unsafe { (functions().gradstep_optimizer_load_file)(optimizer, path, options) }
}
#[inline]
pub unsafe fn gradstep_accumulator_load_file(
    accumulator: *mut gradstep_accumulator,
    path: *const ::core::ffi::c_char,
    options: *const gradstep_load_options,
) -> gradstep_status {
    unsafe { (functions().gradstep_accumulator_load_file)(accumulator, path, options) }
}
#[inline]
pub unsafe fn gradstep_reducer_load_file(
    reducer: *mut gradstep_reducer,
    path: *const ::core::ffi::c_char,
    options: *const gradstep_load_options,
) -> gradstep_status {
    unsafe { (functions().gradstep_reducer_load_file)(reducer, path, options) }
}
#[inline]
pub unsafe fn gradstep_updater_load_file(
    updater: *mut gradstep_updater,
    path: *const ::core::ffi::c_char,
    options: *const gradstep_load_options,
) -> gradstep_status {
    unsafe { (functions().gradstep_updater_load_file)(updater, path, options) }
}
#[inline]
pub unsafe fn gradstep_trace_start(path: *const ::core::ffi::c_char) -> gradstep_status {
    unsafe { (functions().gradstep_trace_start)(path) }
}
#[inline]
pub unsafe fn gradstep_trace_stop() -> gradstep_status {
    unsafe { (functions().gradstep_trace_stop)() }
}
#[inline]
pub unsafe fn gradstep_comm_counters(
    comm: *mut gradstep_comm,
    labels: *const ::core::ffi::c_char,
    buf: *mut ::core::ffi::c_char,
    cap: usize,
    len: *mut usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_comm_counters)(comm, labels, buf, cap, len) }
}
#[inline]
pub unsafe fn gradstep_reducer_counters(
    reducer: *mut gradstep_reducer,
    labels: *const ::core::ffi::c_char,
    buf: *mut ::core::ffi::c_char,
    cap: usize,
    len: *mut usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_reducer_counters)(reducer, labels, buf, cap, len) }
}
#[inline]
pub unsafe fn gradstep_updater_counters(
    updater: *mut gradstep_updater,
    labels: *const ::core::ffi::c_char,
    buf: *mut ::core::ffi::c_char,
    cap: usize,
    len: *mut usize,
) -> gradstep_status {
    unsafe { (functions().gradstep_updater_counters)(updater, labels, buf, cap, len) }
}
