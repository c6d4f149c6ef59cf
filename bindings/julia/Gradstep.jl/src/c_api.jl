# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Written by scripts/generate from include/c_api/gradstep. The comments there are the reference.

const GRADSTEP_ABI_VERSION = 0x00000001

# Handles.
abstract type gradstep_accumulator end
abstract type gradstep_comm end
abstract type gradstep_context end
abstract type gradstep_optimizer end
abstract type gradstep_reducer end
abstract type gradstep_tensor_list end
abstract type gradstep_parameter_list end
abstract type gradstep_updater end

# Enums, by the ends of their names.
const gradstep_accumulation_mode = (mean_each = Int32(0), sum = Int32(1), mean = Int32(2), running_mean = Int32(3), weighted = Int32(4),)
const gradstep_accumulation_trigger = (steps = Int32(0), schedule = Int32(1), min_weight = Int32(2), manual = Int32(3),)
const gradstep_nonfinite_policy = (none = Int32(0), poison = Int32(1), skip = Int32(2),)
const gradstep_status_code = (ok = Int32(0), err_invalid_argument = Int32(-1), err_invalid_state = Int32(-2), err_unsupported = Int32(-3), err_out_of_memory = Int32(-4), err_backend_unavailable = Int32(-5), err_device = Int32(-6), err_numeric = Int32(-7), err_timeout = Int32(-8), err_peer_lost = Int32(-9), err_aborted = Int32(-10), err_mismatch = Int32(-11), err_io = Int32(-12), err_corrupt = Int32(-13), err_callback = Int32(-14), err_internal = Int32(-99),)
const gradstep_reduce_op = (sum = Int32(0), max = Int32(1), min = Int32(2),)
const gradstep_reduction_order = (rank = Int32(0), engine = Int32(1), hosts = Int32(2),)
const gradstep_average = (unset = Int32(0), sum = Int32(1), mean = Int32(2), weighted = Int32(3),)
const gradstep_log_level = (off = Int32(0), error = Int32(1), warning = Int32(2), info = Int32(3), debug = Int32(4),)
const gradstep_cost_algorithm = (own = Int32(0), ring = Int32(1), tree = Int32(2), hierarchical = Int32(3), sparse_gather = Int32(4), sparse_split = Int32(5), hosts = Int32(6),)
const gradstep_state_dtype = (native = Int32(0), bf16 = Int32(1), int8 = Int32(2),)
const gradstep_epsilon_placement = (inside = Int32(0), outside = Int32(1),)
const gradstep_sgd_first_step = (dampen = Int32(0), copy = Int32(1),)
const gradstep_bias_correction = (standard = Int32(0), tf = Int32(1),)
const gradstep_reducer_mode = (dense = Int32(0), half = Int32(1), bfloat16 = Int32(2), sparse_threshold = Int32(3), sparse_topk = Int32(4), adasum_tree = Int32(5), adasum_nway = Int32(6), powersgd = Int32(7), auto = Int32(8), int8 = Int32(9), int4 = Int32(10), fp8_e4m3 = Int32(11), fp8_e5m2 = Int32(12),)
const gradstep_candidate_flags = (candidate_hosts = Int32(1 << 30),)
const gradstep_half_sum = (f32 = Int32(0), fp16 = Int32(1), fp16_predivided = Int32(2),)
const gradstep_selection = (bucket = Int32(0), tensor = Int32(1),)
const gradstep_nan_policy = (error = Int32(0), zero = Int32(1), send = Int32(2),)
const gradstep_sparse_exchange = (auto = Int32(0), gather = Int32(1), split = Int32(2),)
const gradstep_error_feedback = (ef14 = Int32(0), ef21 = Int32(1),)
const gradstep_exchange_algorithm = (none = Int32(0), all_reduce = Int32(1), pieces = Int32(2), gather = Int32(3), sparse_gather = Int32(4), sparse_split = Int32(5), factors = Int32(6), scatter = Int32(7),)
const gradstep_option_kind = (hyper_parameter = Int32(0), setting = Int32(1), choice = Int32(2), flag = Int32(3), integer = Int32(4),)
const gradstep_step_counting = (optimizer = Int32(0), parameter = Int32(1),)
const gradstep_decay_mode = (rule = Int32(0), coupled = Int32(1), decoupled = Int32(2), independent = Int32(3), relative = Int32(4), corrected = Int32(5),)
const gradstep_cautious_update = (off = Int32(0), mean = Int32(1), sum = Int32(2),)
const gradstep_adaptive_clip_units = (rows = Int32(0), columns = Int32(1), second = Int32(2),)
const gradstep_schedule_kind = (constant = Int32(0), exponential_decay = Int32(1), inverse_time = Int32(2), polynomial = Int32(3), cosine = Int32(4), piecewise = Int32(5), callback = Int32(6),)
const gradstep_graft_type = (sgd = Int32(0), adagrad = Int32(1), rmsprop = Int32(2), rmsprop_normalized = Int32(3), sqrt_n = Int32(4), adagrad_normalized = Int32(5), adam = Int32(6), none = Int32(7),)
const gradstep_root_method = (auto = Int32(0), coupled_newton = Int32(1), eigh = Int32(2),)
const gradstep_root_precision = (f64 = Int32(0), f32 = Int32(1),)
const gradstep_product_precision = (f32 = Int32(0), tf32 = Int32(1),)
const gradstep_root_padding = (none = Int32(0), largest = Int32(1),)
const gradstep_refresh = (fresh = Int32(0), stale = Int32(1),)
const gradstep_one_sided = (none = Int32(0), input = Int32(1), output = Int32(2),)
const gradstep_shampoo_statistics = (gradients = Int32(0), kl = Int32(1), kl_mean = Int32(2),)
const gradstep_ridge = (relative = Int32(0), absolute = Int32(1),)
const gradstep_sharded_gradients = (var"local" = Int32(0), reduced = Int32(1),)
const gradstep_sharded_preconditioners = (replicated = Int32(0), owned = Int32(1),)
const gradstep_device_type = (cpu = Int32(1), cuda = Int32(2), cuda_host = Int32(3),)
const gradstep_type_code = (int = Int32(0), uint = Int32(1), float = Int32(2), bfloat = Int32(4),)
const gradstep_parameter_flags = (parameter_may_be_unused = Int32(1),)
const gradstep_updater_sync = (gradients = Int32(0), parameters_partial = Int32(1), parameters = Int32(2), deltas = Int32(3),)

struct gradstep_schedule
    struct_size::UInt32
    kind::Int32
    init_value::Float64
    end_value::Float64
    decay_steps::Int64
    decay_rate::Float64
    power::Float64
    staircase::Int32
    n_points::Int32
    warmup_steps::Int64
    boundaries::Ptr{Int64}
    values::Ptr{Float64}
    var"function"::Ptr{Cvoid}
    user::Ptr{Cvoid}
    release::Ptr{Cvoid}
end

struct gradstep_dtype
    code::UInt8
    bits::UInt8
    lanes::UInt16
end

struct gradstep_accumulator_options
    struct_size::UInt32
    mode::Int32
    trigger::Int32
    nonfinite::Int32
    steps::Int64
    min_weight::Float64
    schedule::Ptr{gradstep_schedule}
    dtype::gradstep_dtype
    keep_sums::Int32
end

struct gradstep_device
    device_type::Int32
    device_id::Int32
end

struct gradstep_tensor
    data::Ptr{Cvoid}
    device::gradstep_device
    ndim::Int32
    dtype::gradstep_dtype
    shape::Ptr{Int64}
    strides::Ptr{Int64}
    byte_offset::UInt64
end

struct gradstep_rows
    struct_size::UInt32
    reserved::Int32
    parameter::Int64
    indices::Ptr{gradstep_tensor}
    values::Ptr{gradstep_tensor}
end

struct gradstep_store
    struct_size::UInt32
    reserved::UInt32
    user::Ptr{Cvoid}
    set::Ptr{Cvoid}
    get::Ptr{Cvoid}
    release::Ptr{Cvoid}
end

struct gradstep_comm_options
    struct_size::UInt32
    rank::Int32
    world_size::Int32
    reduction_order::Int32
    engine::Ptr{UInt8}
    timeout_ms::Int64
    id::Ptr{Cvoid}
    id_len::Csize_t
    store::Ptr{gradstep_store}
    store_path::Ptr{UInt8}
    network_interface::Ptr{UInt8}
    generation::Int64
    device::Int32
    reserved::Int32
end

struct gradstep_comm_vtable
    struct_size::UInt32
    rank::Int32
    world_size::Int32
    any_thread::Int32
    device_types::UInt32
    rank_ordered::Int32
    all_gather::Ptr{Cvoid}
    all_reduce::Ptr{Cvoid}
    reduce_scatter::Ptr{Cvoid}
    broadcast::Ptr{Cvoid}
    send::Ptr{Cvoid}
    recv::Ptr{Cvoid}
    send_recv::Ptr{Cvoid}
    barrier::Ptr{Cvoid}
    dup::Ptr{Cvoid}
    abort::Ptr{Cvoid}
    release::Ptr{Cvoid}
    exchange::Ptr{Cvoid}
    poll::Ptr{Cvoid}
end

struct gradstep_comm_statistics
    struct_size::UInt32
    reserved::Int32
    all_reduces::Int64
    all_gathers::Int64
    reduce_scatters::Int64
    broadcasts::Int64
    sends::Int64
    receives::Int64
    barriers::Int64
    bytes_sent::Int64
    nanoseconds::Int64
    exchanges::Int64
    rounds::Int64
end

struct gradstep_allocator
    struct_size::UInt32
    reserved::UInt32
    user::Ptr{Cvoid}
    allocate::Ptr{Cvoid}
    deallocate::Ptr{Cvoid}
    release::Ptr{Cvoid}
end

struct gradstep_context_options
    struct_size::UInt32
    num_threads::Int32
    background_threads::Int32
    log_level::Int32
    log::Ptr{Cvoid}
    log_user::Ptr{Cvoid}
    log_release::Ptr{Cvoid}
    parallel_for::Ptr{Cvoid}
    parallel_for_user::Ptr{Cvoid}
    parallel_for_release::Ptr{Cvoid}
    interrupt::Ptr{Cvoid}
    interrupt_user::Ptr{Cvoid}
    interrupt_release::Ptr{Cvoid}
    allocator::Ptr{gradstep_allocator}
    lapack_library::Ptr{UInt8}
end

struct gradstep_cost_options
    struct_size::UInt32
    element_bytes::Int32
    elements::Int64
    ranks::Int64
    ranks_per_host::Int64
    bucket_elements::Int64
    bandwidth::Float64
    latency::Float64
    host_bandwidth::Float64
    host_latency::Float64
    message::Float64
    sparsity::Float64
    rank::Int32
    no_exchange::Int32
    rows::Int64
    columns::Int64
    pack_seconds::Float64
    convert_seconds::Float64
    select_seconds::Float64
    entry_seconds::Float64
    add_seconds::Float64
    merge_seconds::Float64
    multiply_seconds::Float64
    control_parameters::Int64
    channels::Int32
    no_stages::Int32
    encode_seconds::Float64
    decode_seconds::Float64
end

struct gradstep_cost
    struct_size::UInt32
    mode::Int32
    algorithm::Int32
    reserved::Int32
    bytes::Int64
    seconds::Float64
    network_seconds::Float64
    calls::Int64
    rounds::Int64
end

struct gradstep_sgd_options
    struct_size::UInt32
    nesterov::Int32
    learning_rate::Float64
    momentum::Float64
    dampening::Float64
    weight_decay::Float64
    first_step::Int32
    maximize::Int32
    master_weights::Int32
    state_dtype::Int32
    stochastic_rounding::Int32
    reserved::Int32
    seed::Int64
end

struct gradstep_rmsprop_options
    struct_size::UInt32
    epsilon_placement::Int32
    learning_rate::Float64
    rho::Float64
    epsilon::Float64
    weight_decay::Float64
    momentum::Float64
    centered::Int32
    maximize::Int32
    master_weights::Int32
    state_dtype::Int32
    stochastic_rounding::Int32
    reserved::Int32
    seed::Int64
end

struct gradstep_adagrad_options
    struct_size::UInt32
    epsilon_placement::Int32
    learning_rate::Float64
    epsilon::Float64
    weight_decay::Float64
    lr_decay::Float64
    initial_accumulator::Float64
    maximize::Int32
    reserved0::Int32
    master_weights::Int32
    state_dtype::Int32
    stochastic_rounding::Int32
    reserved::Int32
    seed::Int64
end

struct gradstep_adam_options
    struct_size::UInt32
    bias_correction::Int32
    learning_rate::Float64
    beta1::Float64
    beta2::Float64
    epsilon::Float64
    weight_decay::Float64
    decoupled_weight_decay::Int32
    maximize::Int32
    master_weights::Int32
    state_dtype::Int32
    stochastic_rounding::Int32
    amsgrad::Int32
    seed::Int64
end

struct gradstep_step_result
    struct_size::UInt32
    applied::Int32
    grad_norm::Float64
    clip_coefficient::Float64
end

struct gradstep_step_options
    struct_size::UInt32
    skip_nonfinite::Int32
    grad_scale::Float64
    max_norm::Float64
    clip_value::Float64
    grad_norm::Ptr{gradstep_tensor}
    found_inf::Ptr{gradstep_tensor}
    result::Ptr{gradstep_step_result}
    grad_scale_tensor::Ptr{gradstep_tensor}
    outcome::Ptr{gradstep_tensor}
    disjoint::Int32
    reserved::Int32
end

struct gradstep_metric
    struct_size::UInt32
    reserved::Int32
    name::NTuple{40, UInt8}
    parameter::Int64
    block::Int64
    axis::Int64
    value::Float64
end

struct gradstep_memory
    struct_size::UInt32
    reserved::Int32
    state_bytes::Int64
    other_bytes::Int64
end

struct gradstep_reducer_options
    struct_size::UInt32
    mode::Int32
    average::Int32
    control::Int32
    fuse_threshold::Int64
    bucket_elements::Int64
    clip_value::Float64
    half_sum::Int32
    residual::Int32
    sparsity::Float64
    selection::Int32
    nan_policy::Int32
    sparse_exchange::Int32
    error_feedback::Int32
    momentum_correction::Float64
    warmup_steps::Int64
    rank::Int32
    candidates::Int32
    channels::Int32
    reserved::Int32
end

struct gradstep_bucket_statistics
    struct_size::UInt32
    mode::Int32
    elements::Int64
    parameters::Int64
    exchanges::Int64
    bytes_dense::Int64
    bytes_sent::Int64
    pack_nanoseconds::Int64
    exchange_nanoseconds::Int64
    select_nanoseconds::Int64
    selected::Int64
    nonfinite::Int64
    algorithm::Int32
    by_hosts::Int32
    predicted_dense_nanoseconds::Int64
    predicted_half_nanoseconds::Int64
    predicted_sparse_gather_nanoseconds::Int64
    predicted_sparse_split_nanoseconds::Int64
    wait_nanoseconds::Int64
    predicted_int8_nanoseconds::Int64
    predicted_powersgd_nanoseconds::Int64
    predicted_int4_nanoseconds::Int64
    predicted_fp8_nanoseconds::Int64
end

struct gradstep_option
    name::Ptr{UInt8}
    value::Float64
    text::Ptr{UInt8}
end

struct gradstep_rule
    struct_size::UInt32
    reserved::Int32
    name::Ptr{UInt8}
    source::Ptr{UInt8}
    formula::Ptr{UInt8}
    states::Ptr{UInt8}
end

struct gradstep_rule_option
    struct_size::UInt32
    kind::Int32
    name::Ptr{UInt8}
    meaning::Ptr{UInt8}
    choices::Ptr{UInt8}
    initial::Float64
    minimum::Float64
    limit::Float64
end

struct gradstep_group_rule
    rule::Ptr{UInt8}
    options::Ptr{gradstep_option}
    option_count::Csize_t
end

struct gradstep_shampoo_options
    struct_size::UInt32
    graft_type::Int32
    learning_rate::Float64
    beta1::Float64
    beta2::Float64
    diagonal_epsilon::Float64
    matrix_epsilon::Float64
    weight_decay::Float64
    inverse_failure_threshold::Float64
    clip_by_scaled_gradient_norm::Float64
    graft_beta1::Float64
    graft_beta2::Float64
    precondition::Float64
    block_size::Int64
    start_preconditioning_step::Int64
    preconditioning_compute_steps::Int64
    statistics_compute_steps::Int64
    skip_preconditioning_dim_size_gt::Int64
    exponent_override::Int32
    best_effort_shape_interpretation::Int32
    nesterov::Int32
    moving_average_for_momentum::Int32
    decoupled_weight_decay::Int32
    root_method::Int32
    root_precision::Int32
    root_padding::Int32
    root_retries::Int32
    root_lag::Int32
    refresh::Int32
    quantize_momentum::Int32
    quantize_statistics::Int32
    one_sided::Int32
    eigenvalue_corrected::Int32
    master_weights::Int32
    product_precision::Int32
    maximize::Int32
    average_decay::Float64
    average_start::Int64
    average_every::Int64
    average_warmup::Int32
    average_equal::Int32
    state_dtype::Int32
    stochastic_rounding::Int32
    seed::Int64
    statistics::Int32
    ridge::Int32
end

struct gradstep_sharding_options
    struct_size::UInt32
    gradients::Int32
    average::Int32
    preconditioners::Int32
end

struct gradstep_stream
    struct_size::UInt32
    reserved::Int32
    user::Ptr{Cvoid}
    write::Ptr{Cvoid}
    read::Ptr{Cvoid}
    release::Ptr{Cvoid}
end

struct gradstep_load_options
    struct_size::UInt32
    allow_unchecked::Int32
end

struct gradstep_parameter
    struct_size::UInt32
    flags::UInt32
    name::Ptr{UInt8}
    shape::Ptr{Int64}
    ndim::Int32
    group::Int32
    dtype::gradstep_dtype
    device::gradstep_device
    reserved::Int32
    whole_shape::Ptr{Int64}
    offset::Ptr{Int64}
end

struct gradstep_updater_options
    struct_size::UInt32
    sync::Int32
    skip_nonfinite::Int32
    sync_steps::Int32
    max_norm::Float64
    clip_value::Float64
    grad_scale::Float64
    outer::Ptr{gradstep_optimizer}
    outer_fragments::Int32
    outer_delay::Int32
    outer_mix::Float64
end

struct gradstep_updater_statistics
    struct_size::UInt32
    dropped_windows::Int32
    pushes::Int64
    windows::Int64
    steps::Int64
    skipped_steps::Int64
    accumulate_nanoseconds::Int64
    reduce_nanoseconds::Int64
    step_nanoseconds::Int64
end

# What integer fields hold.
const FIELD_WORDS = Dict{Tuple{DataType, Symbol}, Any}(
    (gradstep_schedule, :kind) => gradstep_schedule_kind,
    (gradstep_schedule, :staircase) => Bool,
    (gradstep_dtype, :code) => gradstep_type_code,
    (gradstep_accumulator_options, :mode) => gradstep_accumulation_mode,
    (gradstep_accumulator_options, :trigger) => gradstep_accumulation_trigger,
    (gradstep_accumulator_options, :nonfinite) => gradstep_nonfinite_policy,
    (gradstep_accumulator_options, :keep_sums) => Bool,
    (gradstep_device, :device_type) => gradstep_device_type,
    (gradstep_comm_options, :reduction_order) => gradstep_reduction_order,
    (gradstep_comm_vtable, :any_thread) => Bool,
    (gradstep_comm_vtable, :rank_ordered) => Bool,
    (gradstep_context_options, :log_level) => gradstep_log_level,
    (gradstep_cost_options, :no_exchange) => Bool,
    (gradstep_cost_options, :no_stages) => Bool,
    (gradstep_cost, :mode) => gradstep_reducer_mode,
    (gradstep_cost, :algorithm) => gradstep_cost_algorithm,
    (gradstep_sgd_options, :nesterov) => Bool,
    (gradstep_sgd_options, :first_step) => gradstep_sgd_first_step,
    (gradstep_sgd_options, :maximize) => Bool,
    (gradstep_sgd_options, :master_weights) => Bool,
    (gradstep_sgd_options, :state_dtype) => gradstep_state_dtype,
    (gradstep_sgd_options, :stochastic_rounding) => Bool,
    (gradstep_rmsprop_options, :epsilon_placement) => gradstep_epsilon_placement,
    (gradstep_rmsprop_options, :centered) => Bool,
    (gradstep_rmsprop_options, :maximize) => Bool,
    (gradstep_rmsprop_options, :master_weights) => Bool,
    (gradstep_rmsprop_options, :state_dtype) => gradstep_state_dtype,
    (gradstep_rmsprop_options, :stochastic_rounding) => Bool,
    (gradstep_adagrad_options, :epsilon_placement) => gradstep_epsilon_placement,
    (gradstep_adagrad_options, :maximize) => Bool,
    (gradstep_adagrad_options, :master_weights) => Bool,
    (gradstep_adagrad_options, :state_dtype) => gradstep_state_dtype,
    (gradstep_adagrad_options, :stochastic_rounding) => Bool,
    (gradstep_adam_options, :bias_correction) => gradstep_bias_correction,
    (gradstep_adam_options, :decoupled_weight_decay) => Bool,
    (gradstep_adam_options, :maximize) => Bool,
    (gradstep_adam_options, :master_weights) => Bool,
    (gradstep_adam_options, :state_dtype) => gradstep_state_dtype,
    (gradstep_adam_options, :stochastic_rounding) => Bool,
    (gradstep_adam_options, :amsgrad) => Bool,
    (gradstep_step_result, :applied) => Bool,
    (gradstep_step_options, :skip_nonfinite) => Bool,
    (gradstep_step_options, :disjoint) => Bool,
    (gradstep_reducer_options, :mode) => gradstep_reducer_mode,
    (gradstep_reducer_options, :average) => gradstep_average,
    (gradstep_reducer_options, :control) => Bool,
    (gradstep_reducer_options, :half_sum) => gradstep_half_sum,
    (gradstep_reducer_options, :residual) => Bool,
    (gradstep_reducer_options, :selection) => gradstep_selection,
    (gradstep_reducer_options, :nan_policy) => gradstep_nan_policy,
    (gradstep_reducer_options, :sparse_exchange) => gradstep_sparse_exchange,
    (gradstep_reducer_options, :error_feedback) => gradstep_error_feedback,
    (gradstep_bucket_statistics, :mode) => gradstep_reducer_mode,
    (gradstep_bucket_statistics, :algorithm) => gradstep_exchange_algorithm,
    (gradstep_bucket_statistics, :by_hosts) => Bool,
    (gradstep_rule_option, :kind) => gradstep_option_kind,
    (gradstep_shampoo_options, :graft_type) => gradstep_graft_type,
    (gradstep_shampoo_options, :best_effort_shape_interpretation) => Bool,
    (gradstep_shampoo_options, :nesterov) => Bool,
    (gradstep_shampoo_options, :moving_average_for_momentum) => Bool,
    (gradstep_shampoo_options, :decoupled_weight_decay) => Bool,
    (gradstep_shampoo_options, :root_method) => gradstep_root_method,
    (gradstep_shampoo_options, :root_precision) => gradstep_root_precision,
    (gradstep_shampoo_options, :root_padding) => gradstep_root_padding,
    (gradstep_shampoo_options, :refresh) => gradstep_refresh,
    (gradstep_shampoo_options, :quantize_momentum) => Bool,
    (gradstep_shampoo_options, :quantize_statistics) => Bool,
    (gradstep_shampoo_options, :one_sided) => gradstep_one_sided,
    (gradstep_shampoo_options, :eigenvalue_corrected) => Bool,
    (gradstep_shampoo_options, :master_weights) => Bool,
    (gradstep_shampoo_options, :product_precision) => gradstep_product_precision,
    (gradstep_shampoo_options, :maximize) => Bool,
    (gradstep_shampoo_options, :average_warmup) => Bool,
    (gradstep_shampoo_options, :average_equal) => Bool,
    (gradstep_shampoo_options, :state_dtype) => gradstep_state_dtype,
    (gradstep_shampoo_options, :stochastic_rounding) => Bool,
    (gradstep_shampoo_options, :statistics) => gradstep_shampoo_statistics,
    (gradstep_shampoo_options, :ridge) => gradstep_ridge,
    (gradstep_sharding_options, :gradients) => gradstep_sharded_gradients,
    (gradstep_sharding_options, :average) => gradstep_average,
    (gradstep_sharding_options, :preconditioners) => gradstep_sharded_preconditioners,
    (gradstep_load_options, :allow_unchecked) => Bool,
    (gradstep_parameter, :flags) => gradstep_parameter_flags,
    (gradstep_updater_options, :sync) => gradstep_updater_sync,
    (gradstep_updater_options, :skip_nonfinite) => Bool,
)

@c gradstep_accumulator_options_init(o::Ptr{gradstep_accumulator_options}, struct_size::Csize_t)::Int32
@c gradstep_accumulator_create(context::Ptr{gradstep_context}, options::Ptr{gradstep_accumulator_options}, parameters::Ptr{gradstep_parameter}, n::Csize_t, out::Ptr{Ptr{gradstep_accumulator}})::Int32
@c gradstep_accumulator_destroy(accumulator::Ptr{gradstep_accumulator})::Cvoid
@c gradstep_accumulator_add(accumulator::Ptr{gradstep_accumulator}, grads::Ptr{gradstep_tensor}, n::Csize_t, weight::Float64, stream::Ptr{Cvoid}, ready_out::Ptr{Int32})::Int32
@c gradstep_accumulator_add_ex(accumulator::Ptr{gradstep_accumulator}, grads::Ptr{gradstep_tensor}, n::Csize_t, rows::Ptr{gradstep_rows}, n_rows::Csize_t, weight::Float64, stream::Ptr{Cvoid}, ready_out::Ptr{Int32})::Int32
@c gradstep_accumulator_flush(accumulator::Ptr{gradstep_accumulator}, stream::Ptr{Cvoid}, ready_out::Ptr{Int32})::Int32
@c gradstep_accumulator_reset(accumulator::Ptr{gradstep_accumulator}, stream::Ptr{Cvoid})::Int32
@c gradstep_accumulator_gradients(accumulator::Ptr{gradstep_accumulator}, tensors_out::Ptr{gradstep_tensor}, n::Csize_t, stream::Ptr{Cvoid})::Int32
@c gradstep_accumulator_sums(accumulator::Ptr{gradstep_accumulator}, tensors_out::Ptr{gradstep_tensor}, n::Csize_t, stream::Ptr{Cvoid})::Int32
@c gradstep_accumulator_weight(accumulator::Ptr{gradstep_accumulator}, weight::Ptr{Float64})::Int32
@c gradstep_accumulator_norm(accumulator::Ptr{gradstep_accumulator}, tensor_out::Ptr{gradstep_tensor}, stream::Ptr{Cvoid})::Int32
@c gradstep_accumulator_count(accumulator::Ptr{gradstep_accumulator}, count::Ptr{Int64})::Int32
@c gradstep_accumulator_skipped(accumulator::Ptr{gradstep_accumulator}, skipped::Ptr{Int64})::Int32
@c gradstep_accumulator_poll(accumulator::Ptr{gradstep_accumulator}, done::Ptr{Int32})::Int32
@c gradstep_backend_load(path::Cstring)::Int32
@c gradstep_backend_available(name::Cstring)::Int32
@c gradstep_backend_status(name::Cstring, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c gradstep_abi_version()::UInt32
@c gradstep_version_string()::Cstring
@c gradstep_build_info(buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c gradstep_status_name(status::Int32)::Cstring
@c gradstep_last_error()::Cstring
@c gradstep_set_last_error(text::Cstring)::Cvoid
@c gradstep_comm_options_init(o::Ptr{gradstep_comm_options}, struct_size::Csize_t)::Int32
@c gradstep_comm_create(context::Ptr{gradstep_context}, options::Ptr{gradstep_comm_options}, out::Ptr{Ptr{gradstep_comm}})::Int32
@c gradstep_comm_create_local(context::Ptr{gradstep_context}, world_size::Int32, out::Ptr{Ptr{gradstep_comm}})::Int32
@c gradstep_comm_create_local_ex(context::Ptr{gradstep_context}, world_size::Int32, options::Ptr{gradstep_comm_options}, out::Ptr{Ptr{gradstep_comm}})::Int32
@c gradstep_comm_create_host(context::Ptr{gradstep_context}, vtable::Ptr{gradstep_comm_vtable}, user::Ptr{Cvoid}, out::Ptr{Ptr{gradstep_comm}})::Int32
@c gradstep_comm_create_host_ex(context::Ptr{gradstep_context}, vtable::Ptr{gradstep_comm_vtable}, user::Ptr{Cvoid}, options::Ptr{gradstep_comm_options}, out::Ptr{Ptr{gradstep_comm}})::Int32
@c gradstep_comm_wrap_mpi(context::Ptr{gradstep_context}, comm_address::Ptr{Cvoid}, out::Ptr{Ptr{gradstep_comm}})::Int32
@c gradstep_comm_wrap_mpi_ex(context::Ptr{gradstep_context}, comm_address::Ptr{Cvoid}, options::Ptr{gradstep_comm_options}, out::Ptr{Ptr{gradstep_comm}})::Int32
@c gradstep_comm_attach_nccl(comm::Ptr{gradstep_comm}, device::Int32, nccl_comm::Ptr{Cvoid}, out::Ptr{Ptr{gradstep_comm}})::Int32
@c gradstep_comm_destroy(comm::Ptr{gradstep_comm})::Cvoid
@c gradstep_comm_unique_id(engine::Cstring, buf::Ptr{Cvoid}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c gradstep_comm_unique_id_ex(engine::Cstring, network_interface::Cstring, buf::Ptr{Cvoid}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c gradstep_comm_rank(comm::Ptr{gradstep_comm}, rank::Ptr{Int32})::Int32
@c gradstep_comm_world_size(comm::Ptr{gradstep_comm}, world_size::Ptr{Int32})::Int32
@c gradstep_comm_local_rank(comm::Ptr{gradstep_comm}, local_rank::Ptr{Int32})::Int32
@c gradstep_comm_engine(comm::Ptr{gradstep_comm}, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c gradstep_comm_all_reduce(comm::Ptr{gradstep_comm}, tensor::Ptr{gradstep_tensor}, op::Int32, stream::Ptr{Cvoid})::Int32
@c gradstep_comm_all_gather(comm::Ptr{gradstep_comm}, input::Ptr{gradstep_tensor}, output::Ptr{gradstep_tensor}, stream::Ptr{Cvoid})::Int32
@c gradstep_comm_all_gather_v(comm::Ptr{gradstep_comm}, input::Ptr{gradstep_tensor}, output::Ptr{gradstep_tensor}, counts::Ptr{Int64}, stream::Ptr{Cvoid})::Int32
@c gradstep_comm_reduce_scatter(comm::Ptr{gradstep_comm}, input::Ptr{gradstep_tensor}, output::Ptr{gradstep_tensor}, op::Int32, stream::Ptr{Cvoid})::Int32
@c gradstep_comm_broadcast(comm::Ptr{gradstep_comm}, tensor::Ptr{gradstep_tensor}, root::Int32, stream::Ptr{Cvoid})::Int32
@c gradstep_comm_send(comm::Ptr{gradstep_comm}, tensor::Ptr{gradstep_tensor}, to::Int32, stream::Ptr{Cvoid})::Int32
@c gradstep_comm_recv(comm::Ptr{gradstep_comm}, tensor::Ptr{gradstep_tensor}, from::Int32, stream::Ptr{Cvoid})::Int32
@c gradstep_comm_barrier(comm::Ptr{gradstep_comm})::Int32
@c gradstep_comm_vote(comm::Ptr{gradstep_comm}, yes::Int32, all_yes::Ptr{Int32})::Int32
@c gradstep_comm_split(comm::Ptr{gradstep_comm}, color::Int32, key::Int32, out::Ptr{Ptr{gradstep_comm}})::Int32
@c gradstep_comm_dup(comm::Ptr{gradstep_comm}, out::Ptr{Ptr{gradstep_comm}})::Int32
@c gradstep_comm_abort(comm::Ptr{gradstep_comm})::Int32
@c gradstep_comm_status(comm::Ptr{gradstep_comm}, status::Ptr{Int32}, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c gradstep_comm_stats(comm::Ptr{gradstep_comm}, stats::Ptr{gradstep_comm_statistics})::Int32
@c gradstep_context_options_init(o::Ptr{gradstep_context_options}, struct_size::Csize_t)::Int32
@c gradstep_context_create(options::Ptr{gradstep_context_options}, out::Ptr{Ptr{gradstep_context}})::Int32
@c gradstep_context_destroy(context::Ptr{gradstep_context})::Cvoid
@c gradstep_cost_options_init(o::Ptr{gradstep_cost_options}, struct_size::Csize_t)::Int32
@c gradstep_cost_options_measure(o::Ptr{gradstep_cost_options}, context::Ptr{gradstep_context})::Int32
@c gradstep_predict_costs(options::Ptr{gradstep_cost_options}, records::Ptr{gradstep_cost}, record_size::Csize_t, capacity::Csize_t, count::Ptr{Csize_t})::Int32
@c gradstep_sgd_options_init(o::Ptr{gradstep_sgd_options}, struct_size::Csize_t)::Int32
@c gradstep_rmsprop_options_init(o::Ptr{gradstep_rmsprop_options}, struct_size::Csize_t)::Int32
@c gradstep_adagrad_options_init(o::Ptr{gradstep_adagrad_options}, struct_size::Csize_t)::Int32
@c gradstep_adam_options_init(o::Ptr{gradstep_adam_options}, struct_size::Csize_t)::Int32
@c gradstep_step_options_init(o::Ptr{gradstep_step_options}, struct_size::Csize_t)::Int32
@c gradstep_optimizer_create_sgd(context::Ptr{gradstep_context}, options::Ptr{gradstep_sgd_options}, parameters::Ptr{gradstep_parameter}, n::Csize_t, out::Ptr{Ptr{gradstep_optimizer}})::Int32
@c gradstep_optimizer_create_rmsprop(context::Ptr{gradstep_context}, options::Ptr{gradstep_rmsprop_options}, parameters::Ptr{gradstep_parameter}, n::Csize_t, out::Ptr{Ptr{gradstep_optimizer}})::Int32
@c gradstep_optimizer_create_adagrad(context::Ptr{gradstep_context}, options::Ptr{gradstep_adagrad_options}, parameters::Ptr{gradstep_parameter}, n::Csize_t, out::Ptr{Ptr{gradstep_optimizer}})::Int32
@c gradstep_optimizer_create_adam(context::Ptr{gradstep_context}, options::Ptr{gradstep_adam_options}, parameters::Ptr{gradstep_parameter}, n::Csize_t, out::Ptr{Ptr{gradstep_optimizer}})::Int32
@c gradstep_optimizer_destroy(optimizer::Ptr{gradstep_optimizer})::Cvoid
@c gradstep_optimizer_step(optimizer::Ptr{gradstep_optimizer}, params::Ptr{gradstep_tensor}, grads::Ptr{gradstep_tensor}, n::Csize_t, stream::Ptr{Cvoid})::Int32
@c gradstep_optimizer_update(optimizer::Ptr{gradstep_optimizer}, params::Ptr{gradstep_tensor}, grads::Ptr{gradstep_tensor}, updates::Ptr{gradstep_tensor}, n::Csize_t, stream::Ptr{Cvoid})::Int32
@c gradstep_optimizer_step_ex(optimizer::Ptr{gradstep_optimizer}, params::Ptr{gradstep_tensor}, grads::Ptr{gradstep_tensor}, updates::Ptr{gradstep_tensor}, n::Csize_t, options::Ptr{gradstep_step_options}, stream::Ptr{Cvoid})::Int32
@c gradstep_optimizer_set_value(optimizer::Ptr{gradstep_optimizer}, group::Int32, name::Cstring, value::Float64)::Int32
@c gradstep_optimizer_set_schedule(optimizer::Ptr{gradstep_optimizer}, group::Int32, name::Cstring, schedule::Ptr{gradstep_schedule})::Int32
@c gradstep_optimizer_set_tensor(optimizer::Ptr{gradstep_optimizer}, group::Int32, name::Cstring, tensor::Ptr{gradstep_tensor})::Int32
@c gradstep_optimizer_get_value(optimizer::Ptr{gradstep_optimizer}, group::Int32, name::Cstring, value::Ptr{Float64})::Int32
@c gradstep_optimizer_group_count(optimizer::Ptr{gradstep_optimizer}, count::Ptr{Int32})::Int32
@c gradstep_optimizer_add_parameters(optimizer::Ptr{gradstep_optimizer}, parameters::Ptr{gradstep_parameter}, n::Csize_t)::Int32
@c gradstep_optimizer_step_count(optimizer::Ptr{gradstep_optimizer}, count::Ptr{Int64})::Int32
@c gradstep_optimizer_set_step_count(optimizer::Ptr{gradstep_optimizer}, count::Int64)::Int32
@c gradstep_optimizer_state_names(optimizer::Ptr{gradstep_optimizer}, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c gradstep_optimizer_state(optimizer::Ptr{gradstep_optimizer}, index::Csize_t, name::Cstring, tensor_out::Ptr{gradstep_tensor})::Int32
@c gradstep_optimizer_get_state(optimizer::Ptr{gradstep_optimizer}, index::Csize_t, name::Cstring, tensor::Ptr{gradstep_tensor}, stream::Ptr{Cvoid})::Int32
@c gradstep_optimizer_set_state(optimizer::Ptr{gradstep_optimizer}, index::Csize_t, name::Cstring, tensor::Ptr{gradstep_tensor}, stream::Ptr{Cvoid})::Int32
@c gradstep_optimizer_copy_state(destination::Ptr{gradstep_optimizer}, source::Ptr{gradstep_optimizer})::Int32
@c gradstep_optimizer_metrics(optimizer::Ptr{gradstep_optimizer}, records::Ptr{gradstep_metric}, record_size::Csize_t, capacity::Csize_t, count::Ptr{Csize_t})::Int32
@c gradstep_optimizer_memory(optimizer::Ptr{gradstep_optimizer}, memory::Ptr{gradstep_memory})::Int32
@c gradstep_sgd_state_bytes(options::Ptr{gradstep_sgd_options}, parameters::Ptr{gradstep_parameter}, n::Csize_t, bytes::Ptr{Int64})::Int32
@c gradstep_rmsprop_state_bytes(options::Ptr{gradstep_rmsprop_options}, parameters::Ptr{gradstep_parameter}, n::Csize_t, bytes::Ptr{Int64})::Int32
@c gradstep_adagrad_state_bytes(options::Ptr{gradstep_adagrad_options}, parameters::Ptr{gradstep_parameter}, n::Csize_t, bytes::Ptr{Int64})::Int32
@c gradstep_adam_state_bytes(options::Ptr{gradstep_adam_options}, parameters::Ptr{gradstep_parameter}, n::Csize_t, bytes::Ptr{Int64})::Int32
@c gradstep_optimizer_poll(optimizer::Ptr{gradstep_optimizer}, done::Ptr{Int32})::Int32
@c gradstep_reducer_options_init(o::Ptr{gradstep_reducer_options}, struct_size::Csize_t)::Int32
@c gradstep_reducer_create(context::Ptr{gradstep_context}, comm::Ptr{gradstep_comm}, options::Ptr{gradstep_reducer_options}, parameters::Ptr{gradstep_parameter}, n::Csize_t, out::Ptr{Ptr{gradstep_reducer}})::Int32
@c gradstep_reducer_destroy(reducer::Ptr{gradstep_reducer})::Cvoid
@c gradstep_reducer_reduce(reducer::Ptr{gradstep_reducer}, grads::Ptr{gradstep_tensor}, results::Ptr{gradstep_tensor}, n::Csize_t, weight::Float64, stream::Ptr{Cvoid})::Int32
@c gradstep_reducer_begin(reducer::Ptr{gradstep_reducer}, weight::Float64, stream::Ptr{Cvoid})::Int32
@c gradstep_reducer_push(reducer::Ptr{gradstep_reducer}, index::Csize_t, grad::Ptr{gradstep_tensor}, stream::Ptr{Cvoid})::Int32
@c gradstep_reducer_wait(reducer::Ptr{gradstep_reducer}, results::Ptr{gradstep_tensor}, n::Csize_t, stream::Ptr{Cvoid})::Int32
@c gradstep_reducer_poll(reducer::Ptr{gradstep_reducer}, done::Ptr{Int32})::Int32
@c gradstep_reducer_set_loss_scale(reducer::Ptr{gradstep_reducer}, scale::Float64)::Int32
@c gradstep_reducer_cancel(reducer::Ptr{gradstep_reducer})::Int32
@c gradstep_reducer_gradients(reducer::Ptr{gradstep_reducer}, tensors_out::Ptr{gradstep_tensor}, n::Csize_t, stream::Ptr{Cvoid})::Int32
@c gradstep_reducer_norm(reducer::Ptr{gradstep_reducer}, tensor_out::Ptr{gradstep_tensor}, stream::Ptr{Cvoid})::Int32
@c gradstep_reducer_residual(reducer::Ptr{gradstep_reducer}, index::Csize_t, tensor_out::Ptr{gradstep_tensor})::Int32
@c gradstep_reducer_stats(reducer::Ptr{gradstep_reducer}, records::Ptr{gradstep_bucket_statistics}, record_size::Csize_t, capacity::Csize_t, count::Ptr{Csize_t})::Int32
@c gradstep_reducer_comm_stats(reducer::Ptr{gradstep_reducer}, stats::Ptr{gradstep_comm_statistics})::Int32
@c gradstep_rendezvous_pending(comm::Ptr{gradstep_comm}, options::Ptr{gradstep_comm_options}, pending::Ptr{Int32})::Int32
@c gradstep_rule_count(count::Ptr{Csize_t})::Int32
@c gradstep_rule_describe(index::Csize_t, rule::Ptr{gradstep_rule})::Int32
@c gradstep_rule_define(context::Ptr{gradstep_context}, text::Cstring, name::Ptr{Ptr{UInt8}})::Int32
@c gradstep_rule_options(rule::Cstring, records::Ptr{gradstep_rule_option}, record_size::Csize_t, capacity::Csize_t, count::Ptr{Csize_t})::Int32
@c gradstep_optimizer_create(context::Ptr{gradstep_context}, rule::Cstring, options::Ptr{gradstep_option}, option_count::Csize_t, parameters::Ptr{gradstep_parameter}, n::Csize_t, out::Ptr{Ptr{gradstep_optimizer}})::Int32
@c gradstep_optimizer_create_by_group(context::Ptr{gradstep_context}, groups::Ptr{gradstep_group_rule}, group_count::Csize_t, parameters::Ptr{gradstep_parameter}, n::Csize_t, out::Ptr{Ptr{gradstep_optimizer}})::Int32
@c gradstep_optimizer_average(optimizer::Ptr{gradstep_optimizer}, tensors::Ptr{gradstep_tensor}, n::Csize_t, stream::Ptr{Cvoid})::Int32
@c gradstep_rule_state_bytes(rule::Cstring, options::Ptr{gradstep_option}, option_count::Csize_t, parameters::Ptr{gradstep_parameter}, n::Csize_t, bytes::Ptr{Int64})::Int32
@c gradstep_schedule_init(s::Ptr{gradstep_schedule}, struct_size::Csize_t)::Int32
@c gradstep_schedule_value(s::Ptr{gradstep_schedule}, step::Int64, value::Ptr{Float64})::Int32
@c gradstep_shampoo_options_init(o::Ptr{gradstep_shampoo_options}, struct_size::Csize_t)::Int32
@c gradstep_optimizer_create_shampoo(context::Ptr{gradstep_context}, options::Ptr{gradstep_shampoo_options}, parameters::Ptr{gradstep_parameter}, n::Csize_t, out::Ptr{Ptr{gradstep_optimizer}})::Int32
@c gradstep_shampoo_state_bytes(options::Ptr{gradstep_shampoo_options}, parameters::Ptr{gradstep_parameter}, n::Csize_t, bytes::Ptr{Int64})::Int32
@c gradstep_sharding_options_init(o::Ptr{gradstep_sharding_options}, struct_size::Csize_t)::Int32
@c gradstep_optimizer_attach_comm(optimizer::Ptr{gradstep_optimizer}, comm::Ptr{gradstep_comm}, options::Ptr{gradstep_sharding_options})::Int32
@c gradstep_optimizer_attach_reducer(optimizer::Ptr{gradstep_optimizer}, reducer::Ptr{gradstep_reducer}, options::Ptr{gradstep_sharding_options})::Int32
@c gradstep_optimizer_attach_shards(optimizer::Ptr{gradstep_optimizer}, comm::Ptr{gradstep_comm})::Int32
@c gradstep_load_options_init(o::Ptr{gradstep_load_options}, struct_size::Csize_t)::Int32
@c gradstep_optimizer_save(optimizer::Ptr{gradstep_optimizer}, stream::Ptr{gradstep_stream})::Int32
@c gradstep_accumulator_save(accumulator::Ptr{gradstep_accumulator}, stream::Ptr{gradstep_stream})::Int32
@c gradstep_reducer_save(reducer::Ptr{gradstep_reducer}, stream::Ptr{gradstep_stream})::Int32
@c gradstep_updater_save(updater::Ptr{gradstep_updater}, stream::Ptr{gradstep_stream})::Int32
@c gradstep_optimizer_load(optimizer::Ptr{gradstep_optimizer}, stream::Ptr{gradstep_stream}, options::Ptr{gradstep_load_options})::Int32
@c gradstep_accumulator_load(accumulator::Ptr{gradstep_accumulator}, stream::Ptr{gradstep_stream}, options::Ptr{gradstep_load_options})::Int32
@c gradstep_reducer_load(reducer::Ptr{gradstep_reducer}, stream::Ptr{gradstep_stream}, options::Ptr{gradstep_load_options})::Int32
@c gradstep_updater_load(updater::Ptr{gradstep_updater}, stream::Ptr{gradstep_stream}, options::Ptr{gradstep_load_options})::Int32
@c gradstep_optimizer_save_file(optimizer::Ptr{gradstep_optimizer}, path::Cstring)::Int32
@c gradstep_accumulator_save_file(accumulator::Ptr{gradstep_accumulator}, path::Cstring)::Int32
@c gradstep_reducer_save_file(reducer::Ptr{gradstep_reducer}, path::Cstring)::Int32
@c gradstep_updater_save_file(updater::Ptr{gradstep_updater}, path::Cstring)::Int32
@c gradstep_optimizer_load_file(optimizer::Ptr{gradstep_optimizer}, path::Cstring, options::Ptr{gradstep_load_options})::Int32
@c gradstep_accumulator_load_file(accumulator::Ptr{gradstep_accumulator}, path::Cstring, options::Ptr{gradstep_load_options})::Int32
@c gradstep_reducer_load_file(reducer::Ptr{gradstep_reducer}, path::Cstring, options::Ptr{gradstep_load_options})::Int32
@c gradstep_updater_load_file(updater::Ptr{gradstep_updater}, path::Cstring, options::Ptr{gradstep_load_options})::Int32
@c gradstep_tensor_list_create(out::Ptr{Ptr{gradstep_tensor_list}})::Int32
@c gradstep_tensor_list_destroy(list::Ptr{gradstep_tensor_list})::Cvoid
@c gradstep_tensor_list_push(list::Ptr{gradstep_tensor_list}, address::UInt64, type_code::Int32, bits::Int32, device_type::Int32, device_id::Int32, ndim::Int32, shape::Ptr{Int64}, strides::Ptr{Int64})::Int32
@c gradstep_tensor_list_set_data(list::Ptr{gradstep_tensor_list}, index::Csize_t, address::UInt64, bytes::UInt64)::Int32
@c gradstep_tensor_list_set_addresses(list::Ptr{gradstep_tensor_list}, addresses::Ptr{UInt64}, n::Csize_t)::Int32
@c gradstep_tensor_list_get(list::Ptr{gradstep_tensor_list}, index::Csize_t, address::Ptr{UInt64}, type_code::Ptr{Int32}, bits::Ptr{Int32}, device_type::Ptr{Int32}, device_id::Ptr{Int32}, ndim::Ptr{Int32}, shape::Ptr{Int64}, strides::Ptr{Int64}, capacity::Int32)::Int32
@c gradstep_tensor_list_clear(list::Ptr{gradstep_tensor_list})::Int32
@c gradstep_tensor_list_data(list::Ptr{gradstep_tensor_list})::Ptr{gradstep_tensor}
@c gradstep_tensor_list_size(list::Ptr{gradstep_tensor_list})::Csize_t
@c gradstep_parameter_list_create(out::Ptr{Ptr{gradstep_parameter_list}})::Int32
@c gradstep_parameter_list_destroy(list::Ptr{gradstep_parameter_list})::Cvoid
@c gradstep_parameter_list_push(list::Ptr{gradstep_parameter_list}, name::Cstring, type_code::Int32, bits::Int32, device_type::Int32, device_id::Int32, ndim::Int32, shape::Ptr{Int64}, group::Int32, flags::UInt32)::Int32
@c gradstep_parameter_list_set_part(list::Ptr{gradstep_parameter_list}, index::Csize_t, whole_shape::Ptr{Int64}, offset::Ptr{Int64})::Int32
@c gradstep_parameter_list_clear(list::Ptr{gradstep_parameter_list})::Int32
@c gradstep_parameter_list_data(list::Ptr{gradstep_parameter_list})::Ptr{gradstep_parameter}
@c gradstep_parameter_list_size(list::Ptr{gradstep_parameter_list})::Csize_t
@c gradstep_trace_start(path::Cstring)::Int32
@c gradstep_trace_stop()::Int32
@c gradstep_comm_counters(comm::Ptr{gradstep_comm}, labels::Cstring, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c gradstep_reducer_counters(reducer::Ptr{gradstep_reducer}, labels::Cstring, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c gradstep_updater_counters(updater::Ptr{gradstep_updater}, labels::Cstring, buf::Ptr{UInt8}, cap::Csize_t, len::Ptr{Csize_t})::Int32
@c gradstep_updater_options_init(o::Ptr{gradstep_updater_options}, struct_size::Csize_t)::Int32
@c gradstep_updater_create(context::Ptr{gradstep_context}, optimizer::Ptr{gradstep_optimizer}, accumulator::Ptr{gradstep_accumulator}, reducer::Ptr{gradstep_reducer}, options::Ptr{gradstep_updater_options}, out::Ptr{Ptr{gradstep_updater}})::Int32
@c gradstep_updater_destroy(updater::Ptr{gradstep_updater})::Cvoid
@c gradstep_updater_push(updater::Ptr{gradstep_updater}, params::Ptr{gradstep_tensor}, grads::Ptr{gradstep_tensor}, n::Csize_t, weight::Float64, stream::Ptr{Cvoid}, applied_out::Ptr{Int32})::Int32
@c gradstep_updater_flush(updater::Ptr{gradstep_updater}, params::Ptr{gradstep_tensor}, n::Csize_t, stream::Ptr{Cvoid}, applied_out::Ptr{Int32})::Int32
@c gradstep_updater_recover(updater::Ptr{gradstep_updater}, comm::Ptr{gradstep_comm}, params::Ptr{gradstep_tensor}, n::Csize_t, stream::Ptr{Cvoid})::Int32
@c gradstep_updater_poll(updater::Ptr{gradstep_updater}, done::Ptr{Int32})::Int32
@c gradstep_updater_stats(updater::Ptr{gradstep_updater}, stats::Ptr{gradstep_updater_statistics})::Int32
