// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
// Made from include/c_api/gradstep by the feature `regenerate`; see tests/regenerate.rs.

unsafe extern "C" {
    pub fn gradstep_abi_version() -> u32;
}
unsafe extern "C" {
    pub fn gradstep_version_string() -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn gradstep_build_info(
        buf: *mut ::core::ffi::c_char,
        cap: usize,
        len: *mut usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_status_name(status: gradstep_status) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn gradstep_last_error() -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn gradstep_set_last_error(text: *const ::core::ffi::c_char);
}
unsafe extern "C" {
    pub fn gradstep_tensor_list_create(
        out: *mut *mut gradstep_tensor_list,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_tensor_list_destroy(list: *mut gradstep_tensor_list);
}
unsafe extern "C" {
    pub fn gradstep_tensor_list_push(
        list: *mut gradstep_tensor_list,
        address: u64,
        type_code: i32,
        bits: i32,
        device_type: i32,
        device_id: i32,
        ndim: i32,
        shape: *const i64,
        strides: *const i64,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_tensor_list_set_data(
        list: *mut gradstep_tensor_list,
        index: usize,
        address: u64,
        bytes: u64,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_tensor_list_set_addresses(
        list: *mut gradstep_tensor_list,
        addresses: *const u64,
        n: usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_tensor_list_get(
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
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_tensor_list_clear(
        list: *mut gradstep_tensor_list,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_tensor_list_data(
        list: *mut gradstep_tensor_list,
    ) -> *mut gradstep_tensor;
}
unsafe extern "C" {
    pub fn gradstep_tensor_list_size(list: *const gradstep_tensor_list) -> usize;
}
unsafe extern "C" {
    pub fn gradstep_parameter_list_create(
        out: *mut *mut gradstep_parameter_list,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_parameter_list_destroy(list: *mut gradstep_parameter_list);
}
unsafe extern "C" {
    pub fn gradstep_parameter_list_push(
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
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_parameter_list_set_part(
        list: *mut gradstep_parameter_list,
        index: usize,
        whole_shape: *const i64,
        offset: *const i64,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_parameter_list_clear(
        list: *mut gradstep_parameter_list,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_parameter_list_data(
        list: *const gradstep_parameter_list,
    ) -> *const gradstep_parameter;
}
unsafe extern "C" {
    pub fn gradstep_parameter_list_size(list: *const gradstep_parameter_list) -> usize;
}
unsafe extern "C" {
    pub fn gradstep_context_options_init(
        o: *mut gradstep_context_options,
        struct_size: usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_context_create(
        options: *const gradstep_context_options,
        out: *mut *mut gradstep_context,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_context_destroy(context: *mut gradstep_context);
}
unsafe extern "C" {
    pub fn gradstep_schedule_init(
        s: *mut gradstep_schedule,
        struct_size: usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_schedule_value(
        s: *const gradstep_schedule,
        step: i64,
        value: *mut f64,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_accumulator_options_init(
        o: *mut gradstep_accumulator_options,
        struct_size: usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_accumulator_create(
        context: *mut gradstep_context,
        options: *const gradstep_accumulator_options,
        parameters: *const gradstep_parameter,
        n: usize,
        out: *mut *mut gradstep_accumulator,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_accumulator_destroy(accumulator: *mut gradstep_accumulator);
}
unsafe extern "C" {
    pub fn gradstep_accumulator_add(
        accumulator: *mut gradstep_accumulator,
        grads: *const gradstep_tensor,
        n: usize,
        weight: f64,
        stream: *mut ::core::ffi::c_void,
        ready_out: *mut i32,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_accumulator_add_ex(
        accumulator: *mut gradstep_accumulator,
        grads: *const gradstep_tensor,
        n: usize,
        rows: *const gradstep_rows,
        n_rows: usize,
        weight: f64,
        stream: *mut ::core::ffi::c_void,
        ready_out: *mut i32,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_accumulator_flush(
        accumulator: *mut gradstep_accumulator,
        stream: *mut ::core::ffi::c_void,
        ready_out: *mut i32,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_accumulator_reset(
        accumulator: *mut gradstep_accumulator,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_accumulator_gradients(
        accumulator: *mut gradstep_accumulator,
        tensors_out: *mut gradstep_tensor,
        n: usize,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_accumulator_sums(
        accumulator: *mut gradstep_accumulator,
        tensors_out: *mut gradstep_tensor,
        n: usize,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_accumulator_weight(
        accumulator: *mut gradstep_accumulator,
        weight: *mut f64,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_accumulator_norm(
        accumulator: *mut gradstep_accumulator,
        tensor_out: *mut gradstep_tensor,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_accumulator_count(
        accumulator: *mut gradstep_accumulator,
        count: *mut i64,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_accumulator_skipped(
        accumulator: *mut gradstep_accumulator,
        skipped: *mut i64,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_accumulator_poll(
        accumulator: *mut gradstep_accumulator,
        done: *mut i32,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_backend_load(path: *const ::core::ffi::c_char) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_backend_available(name: *const ::core::ffi::c_char) -> i32;
}
unsafe extern "C" {
    pub fn gradstep_backend_status(
        name: *const ::core::ffi::c_char,
        buf: *mut ::core::ffi::c_char,
        cap: usize,
        len: *mut usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_options_init(
        o: *mut gradstep_comm_options,
        struct_size: usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_create(
        context: *mut gradstep_context,
        options: *const gradstep_comm_options,
        out: *mut *mut gradstep_comm,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_create_local(
        context: *mut gradstep_context,
        world_size: i32,
        out: *mut *mut gradstep_comm,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_create_local_ex(
        context: *mut gradstep_context,
        world_size: i32,
        options: *const gradstep_comm_options,
        out: *mut *mut gradstep_comm,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_create_host(
        context: *mut gradstep_context,
        vtable: *const gradstep_comm_vtable,
        user: *mut ::core::ffi::c_void,
        out: *mut *mut gradstep_comm,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_create_host_ex(
        context: *mut gradstep_context,
        vtable: *const gradstep_comm_vtable,
        user: *mut ::core::ffi::c_void,
        options: *const gradstep_comm_options,
        out: *mut *mut gradstep_comm,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_wrap_mpi(
        context: *mut gradstep_context,
        comm_address: *const ::core::ffi::c_void,
        out: *mut *mut gradstep_comm,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_wrap_mpi_ex(
        context: *mut gradstep_context,
        comm_address: *const ::core::ffi::c_void,
        options: *const gradstep_comm_options,
        out: *mut *mut gradstep_comm,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_attach_nccl(
        comm: *mut gradstep_comm,
        device: i32,
        nccl_comm: *mut ::core::ffi::c_void,
        out: *mut *mut gradstep_comm,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_destroy(comm: *mut gradstep_comm);
}
unsafe extern "C" {
    pub fn gradstep_comm_unique_id(
        engine: *const ::core::ffi::c_char,
        buf: *mut ::core::ffi::c_void,
        cap: usize,
        len: *mut usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_unique_id_ex(
        engine: *const ::core::ffi::c_char,
        network_interface: *const ::core::ffi::c_char,
        buf: *mut ::core::ffi::c_void,
        cap: usize,
        len: *mut usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_rank(
        comm: *mut gradstep_comm,
        rank: *mut i32,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_world_size(
        comm: *mut gradstep_comm,
        world_size: *mut i32,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_local_rank(
        comm: *mut gradstep_comm,
        local_rank: *mut i32,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_engine(
        comm: *mut gradstep_comm,
        buf: *mut ::core::ffi::c_char,
        cap: usize,
        len: *mut usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_all_reduce(
        comm: *mut gradstep_comm,
        tensor: *const gradstep_tensor,
        op: i32,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_all_gather(
        comm: *mut gradstep_comm,
        input: *const gradstep_tensor,
        output: *const gradstep_tensor,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_all_gather_v(
        comm: *mut gradstep_comm,
        input: *const gradstep_tensor,
        output: *const gradstep_tensor,
        counts: *const i64,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_reduce_scatter(
        comm: *mut gradstep_comm,
        input: *const gradstep_tensor,
        output: *const gradstep_tensor,
        op: i32,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_broadcast(
        comm: *mut gradstep_comm,
        tensor: *const gradstep_tensor,
        root: i32,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_send(
        comm: *mut gradstep_comm,
        tensor: *const gradstep_tensor,
        to: i32,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_recv(
        comm: *mut gradstep_comm,
        tensor: *const gradstep_tensor,
        from: i32,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_barrier(comm: *mut gradstep_comm) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_vote(
        comm: *mut gradstep_comm,
        yes: i32,
        all_yes: *mut i32,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_split(
        comm: *mut gradstep_comm,
        color: i32,
        key: i32,
        out: *mut *mut gradstep_comm,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_dup(
        comm: *mut gradstep_comm,
        out: *mut *mut gradstep_comm,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_abort(comm: *mut gradstep_comm) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_status(
        comm: *mut gradstep_comm,
        status: *mut gradstep_status,
        buf: *mut ::core::ffi::c_char,
        cap: usize,
        len: *mut usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_stats(
        comm: *mut gradstep_comm,
        stats: *mut gradstep_comm_statistics,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_reducer_options_init(
        o: *mut gradstep_reducer_options,
        struct_size: usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_reducer_create(
        context: *mut gradstep_context,
        comm: *mut gradstep_comm,
        options: *const gradstep_reducer_options,
        parameters: *const gradstep_parameter,
        n: usize,
        out: *mut *mut gradstep_reducer,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_reducer_destroy(reducer: *mut gradstep_reducer);
}
unsafe extern "C" {
    pub fn gradstep_reducer_reduce(
        reducer: *mut gradstep_reducer,
        grads: *const gradstep_tensor,
        results: *const gradstep_tensor,
        n: usize,
        weight: f64,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_reducer_begin(
        reducer: *mut gradstep_reducer,
        weight: f64,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_reducer_push(
        reducer: *mut gradstep_reducer,
        index: usize,
        grad: *const gradstep_tensor,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_reducer_wait(
        reducer: *mut gradstep_reducer,
        results: *const gradstep_tensor,
        n: usize,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_reducer_poll(
        reducer: *mut gradstep_reducer,
        done: *mut i32,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_reducer_set_loss_scale(
        reducer: *mut gradstep_reducer,
        scale: f64,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_reducer_cancel(reducer: *mut gradstep_reducer) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_reducer_gradients(
        reducer: *mut gradstep_reducer,
        tensors_out: *mut gradstep_tensor,
        n: usize,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_reducer_norm(
        reducer: *mut gradstep_reducer,
        tensor_out: *mut gradstep_tensor,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_reducer_residual(
        reducer: *mut gradstep_reducer,
        index: usize,
        tensor_out: *mut gradstep_tensor,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_reducer_stats(
        reducer: *mut gradstep_reducer,
        records: *mut gradstep_bucket_statistics,
        record_size: usize,
        capacity: usize,
        count: *mut usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_reducer_comm_stats(
        reducer: *mut gradstep_reducer,
        stats: *mut gradstep_comm_statistics,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_cost_options_init(
        o: *mut gradstep_cost_options,
        struct_size: usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_cost_options_measure(
        o: *mut gradstep_cost_options,
        context: *mut gradstep_context,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_predict_costs(
        options: *const gradstep_cost_options,
        records: *mut gradstep_cost,
        record_size: usize,
        capacity: usize,
        count: *mut usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_sgd_options_init(
        o: *mut gradstep_sgd_options,
        struct_size: usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_rmsprop_options_init(
        o: *mut gradstep_rmsprop_options,
        struct_size: usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_adagrad_options_init(
        o: *mut gradstep_adagrad_options,
        struct_size: usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_adam_options_init(
        o: *mut gradstep_adam_options,
        struct_size: usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_step_options_init(
        o: *mut gradstep_step_options,
        struct_size: usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_create_sgd(
        context: *mut gradstep_context,
        options: *const gradstep_sgd_options,
        parameters: *const gradstep_parameter,
        n: usize,
        out: *mut *mut gradstep_optimizer,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_create_rmsprop(
        context: *mut gradstep_context,
        options: *const gradstep_rmsprop_options,
        parameters: *const gradstep_parameter,
        n: usize,
        out: *mut *mut gradstep_optimizer,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_create_adagrad(
        context: *mut gradstep_context,
        options: *const gradstep_adagrad_options,
        parameters: *const gradstep_parameter,
        n: usize,
        out: *mut *mut gradstep_optimizer,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_create_adam(
        context: *mut gradstep_context,
        options: *const gradstep_adam_options,
        parameters: *const gradstep_parameter,
        n: usize,
        out: *mut *mut gradstep_optimizer,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_destroy(optimizer: *mut gradstep_optimizer);
}
unsafe extern "C" {
    pub fn gradstep_optimizer_step(
        optimizer: *mut gradstep_optimizer,
        params: *const gradstep_tensor,
        grads: *const gradstep_tensor,
        n: usize,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_update(
        optimizer: *mut gradstep_optimizer,
        params: *const gradstep_tensor,
        grads: *const gradstep_tensor,
        updates: *const gradstep_tensor,
        n: usize,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_step_ex(
        optimizer: *mut gradstep_optimizer,
        params: *const gradstep_tensor,
        grads: *const gradstep_tensor,
        updates: *const gradstep_tensor,
        n: usize,
        options: *const gradstep_step_options,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_set_value(
        optimizer: *mut gradstep_optimizer,
        group: i32,
        name: *const ::core::ffi::c_char,
        value: f64,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_set_schedule(
        optimizer: *mut gradstep_optimizer,
        group: i32,
        name: *const ::core::ffi::c_char,
        schedule: *const gradstep_schedule,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_set_tensor(
        optimizer: *mut gradstep_optimizer,
        group: i32,
        name: *const ::core::ffi::c_char,
        tensor: *const gradstep_tensor,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_get_value(
        optimizer: *mut gradstep_optimizer,
        group: i32,
        name: *const ::core::ffi::c_char,
        value: *mut f64,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_group_count(
        optimizer: *mut gradstep_optimizer,
        count: *mut i32,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_add_parameters(
        optimizer: *mut gradstep_optimizer,
        parameters: *const gradstep_parameter,
        n: usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_step_count(
        optimizer: *mut gradstep_optimizer,
        count: *mut i64,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_set_step_count(
        optimizer: *mut gradstep_optimizer,
        count: i64,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_state_names(
        optimizer: *mut gradstep_optimizer,
        buf: *mut ::core::ffi::c_char,
        cap: usize,
        len: *mut usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_state(
        optimizer: *mut gradstep_optimizer,
        index: usize,
        name: *const ::core::ffi::c_char,
        tensor_out: *mut gradstep_tensor,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_get_state(
        optimizer: *mut gradstep_optimizer,
        index: usize,
        name: *const ::core::ffi::c_char,
        tensor: *const gradstep_tensor,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_set_state(
        optimizer: *mut gradstep_optimizer,
        index: usize,
        name: *const ::core::ffi::c_char,
        tensor: *const gradstep_tensor,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_copy_state(
        destination: *mut gradstep_optimizer,
        source: *mut gradstep_optimizer,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_metrics(
        optimizer: *mut gradstep_optimizer,
        records: *mut gradstep_metric,
        record_size: usize,
        capacity: usize,
        count: *mut usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_memory(
        optimizer: *mut gradstep_optimizer,
        memory: *mut gradstep_memory,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_sgd_state_bytes(
        options: *const gradstep_sgd_options,
        parameters: *const gradstep_parameter,
        n: usize,
        bytes: *mut i64,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_rmsprop_state_bytes(
        options: *const gradstep_rmsprop_options,
        parameters: *const gradstep_parameter,
        n: usize,
        bytes: *mut i64,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_adagrad_state_bytes(
        options: *const gradstep_adagrad_options,
        parameters: *const gradstep_parameter,
        n: usize,
        bytes: *mut i64,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_adam_state_bytes(
        options: *const gradstep_adam_options,
        parameters: *const gradstep_parameter,
        n: usize,
        bytes: *mut i64,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_poll(
        optimizer: *mut gradstep_optimizer,
        done: *mut i32,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_rendezvous_pending(
        comm: *mut gradstep_comm,
        options: *const gradstep_comm_options,
        pending: *mut i32,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_rule_count(count: *mut usize) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_rule_describe(
        index: usize,
        rule: *mut gradstep_rule,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_rule_define(
        context: *mut gradstep_context,
        text: *const ::core::ffi::c_char,
        name: *mut *const ::core::ffi::c_char,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_rule_options(
        rule: *const ::core::ffi::c_char,
        records: *mut gradstep_rule_option,
        record_size: usize,
        capacity: usize,
        count: *mut usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_create(
        context: *mut gradstep_context,
        rule: *const ::core::ffi::c_char,
        options: *const gradstep_option,
        option_count: usize,
        parameters: *const gradstep_parameter,
        n: usize,
        out: *mut *mut gradstep_optimizer,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_create_by_group(
        context: *mut gradstep_context,
        groups: *const gradstep_group_rule,
        group_count: usize,
        parameters: *const gradstep_parameter,
        n: usize,
        out: *mut *mut gradstep_optimizer,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_average(
        optimizer: *mut gradstep_optimizer,
        tensors: *const gradstep_tensor,
        n: usize,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_rule_state_bytes(
        rule: *const ::core::ffi::c_char,
        options: *const gradstep_option,
        option_count: usize,
        parameters: *const gradstep_parameter,
        n: usize,
        bytes: *mut i64,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_shampoo_options_init(
        o: *mut gradstep_shampoo_options,
        struct_size: usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_create_shampoo(
        context: *mut gradstep_context,
        options: *const gradstep_shampoo_options,
        parameters: *const gradstep_parameter,
        n: usize,
        out: *mut *mut gradstep_optimizer,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_shampoo_state_bytes(
        options: *const gradstep_shampoo_options,
        parameters: *const gradstep_parameter,
        n: usize,
        bytes: *mut i64,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_sharding_options_init(
        o: *mut gradstep_sharding_options,
        struct_size: usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_attach_comm(
        optimizer: *mut gradstep_optimizer,
        comm: *mut gradstep_comm,
        options: *const gradstep_sharding_options,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_attach_reducer(
        optimizer: *mut gradstep_optimizer,
        reducer: *mut gradstep_reducer,
        options: *const gradstep_sharding_options,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_attach_shards(
        optimizer: *mut gradstep_optimizer,
        comm: *mut gradstep_comm,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_updater_options_init(
        o: *mut gradstep_updater_options,
        struct_size: usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_updater_create(
        context: *mut gradstep_context,
        optimizer: *mut gradstep_optimizer,
        accumulator: *mut gradstep_accumulator,
        reducer: *mut gradstep_reducer,
        options: *const gradstep_updater_options,
        out: *mut *mut gradstep_updater,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_updater_destroy(updater: *mut gradstep_updater);
}
unsafe extern "C" {
    pub fn gradstep_updater_push(
        updater: *mut gradstep_updater,
        params: *const gradstep_tensor,
        grads: *const gradstep_tensor,
        n: usize,
        weight: f64,
        stream: *mut ::core::ffi::c_void,
        applied_out: *mut i32,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_updater_flush(
        updater: *mut gradstep_updater,
        params: *const gradstep_tensor,
        n: usize,
        stream: *mut ::core::ffi::c_void,
        applied_out: *mut i32,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_updater_recover(
        updater: *mut gradstep_updater,
        comm: *mut gradstep_comm,
        params: *const gradstep_tensor,
        n: usize,
        stream: *mut ::core::ffi::c_void,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_updater_poll(
        updater: *mut gradstep_updater,
        done: *mut i32,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_updater_stats(
        updater: *mut gradstep_updater,
        stats: *mut gradstep_updater_statistics,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_load_options_init(
        o: *mut gradstep_load_options,
        struct_size: usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_save(
        optimizer: *mut gradstep_optimizer,
        stream: *const gradstep_stream,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_accumulator_save(
        accumulator: *mut gradstep_accumulator,
        stream: *const gradstep_stream,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_reducer_save(
        reducer: *mut gradstep_reducer,
        stream: *const gradstep_stream,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_updater_save(
        updater: *mut gradstep_updater,
        stream: *const gradstep_stream,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_load(
        optimizer: *mut gradstep_optimizer,
        stream: *const gradstep_stream,
        options: *const gradstep_load_options,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_accumulator_load(
        accumulator: *mut gradstep_accumulator,
        stream: *const gradstep_stream,
        options: *const gradstep_load_options,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_reducer_load(
        reducer: *mut gradstep_reducer,
        stream: *const gradstep_stream,
        options: *const gradstep_load_options,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_updater_load(
        updater: *mut gradstep_updater,
        stream: *const gradstep_stream,
        options: *const gradstep_load_options,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_save_file(
        optimizer: *mut gradstep_optimizer,
        path: *const ::core::ffi::c_char,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_accumulator_save_file(
        accumulator: *mut gradstep_accumulator,
        path: *const ::core::ffi::c_char,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_reducer_save_file(
        reducer: *mut gradstep_reducer,
        path: *const ::core::ffi::c_char,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_updater_save_file(
        updater: *mut gradstep_updater,
        path: *const ::core::ffi::c_char,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_optimizer_load_file(
        optimizer: *mut gradstep_optimizer,
        path: *const ::core::ffi::c_char,
        options: *const gradstep_load_options,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_accumulator_load_file(
        accumulator: *mut gradstep_accumulator,
        path: *const ::core::ffi::c_char,
        options: *const gradstep_load_options,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_reducer_load_file(
        reducer: *mut gradstep_reducer,
        path: *const ::core::ffi::c_char,
        options: *const gradstep_load_options,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_updater_load_file(
        updater: *mut gradstep_updater,
        path: *const ::core::ffi::c_char,
        options: *const gradstep_load_options,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_trace_start(path: *const ::core::ffi::c_char) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_trace_stop() -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_comm_counters(
        comm: *mut gradstep_comm,
        labels: *const ::core::ffi::c_char,
        buf: *mut ::core::ffi::c_char,
        cap: usize,
        len: *mut usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_reducer_counters(
        reducer: *mut gradstep_reducer,
        labels: *const ::core::ffi::c_char,
        buf: *mut ::core::ffi::c_char,
        cap: usize,
        len: *mut usize,
    ) -> gradstep_status;
}
unsafe extern "C" {
    pub fn gradstep_updater_counters(
        updater: *mut gradstep_updater,
        labels: *const ::core::ffi::c_char,
        buf: *mut ::core::ffi::c_char,
        cap: usize,
        len: *mut usize,
    ) -> gradstep_status;
}
