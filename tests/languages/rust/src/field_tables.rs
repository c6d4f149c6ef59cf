// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/generate from the C headers.
//! Words of enums, and fields of options.

use gradstep::*;

use crate::Result;
use crate::fields::{Options, Value, fields, words};

words! {
    AccumulationMode {
        mean_each: MeanEach,
        sum: Sum,
        mean: Mean,
        running_mean: RunningMean,
        weighted: Weighted,
    }
    AccumulationTrigger {
        steps: Steps,
        schedule: Schedule,
        min_weight: MinWeight,
        manual: Manual,
    }
    NonfinitePolicy {
        none: None,
        poison: Poison,
        skip: Skip,
    }
    Average {
        unset: Unset,
        sum: Sum,
        mean: Mean,
        weighted: Weighted,
    }
    StateDtype {
        native: Native,
        bf16: Bf16,
        int8: Int8,
    }
    EpsilonPlacement {
        inside: Inside,
        outside: Outside,
    }
    SgdFirstStep {
        dampen: Dampen,
        copy: Copy,
    }
    BiasCorrection {
        standard: Standard,
        tf: Tf,
    }
    ReducerMode {
        dense: Dense,
        half: Half,
        bfloat16: BFloat16,
        sparse_threshold: SparseThreshold,
        sparse_topk: SparseTopK,
        adasum_tree: AdasumTree,
        adasum_nway: AdasumNWay,
        powersgd: PowerSgd,
        auto: Auto,
        int8: Int8,
        int4: Int4,
        fp8_e4m3: Fp8E4m3,
        fp8_e5m2: Fp8E5m2,
    }
    HalfSum {
        f32: F32,
        fp16: Fp16,
        fp16_predivided: Fp16Predivided,
    }
    Selection {
        bucket: Bucket,
        tensor: Tensor,
    }
    NanPolicy {
        error: Error,
        zero: Zero,
        send: Send,
    }
    SparseExchange {
        auto: Auto,
        gather: Gather,
        split: Split,
    }
    ErrorFeedback {
        ef14: Ef14,
        ef21: Ef21,
    }
    GraftType {
        sgd: Sgd,
        adagrad: AdaGrad,
        rmsprop: RmsProp,
        rmsprop_normalized: RmsPropNormalized,
        sqrt_n: SqrtN,
        adagrad_normalized: AdaGradNormalized,
        adam: Adam,
        none: None,
    }
    RootMethod {
        auto: Auto,
        coupled_newton: CoupledNewton,
        eigh: Eigh,
    }
    RootPrecision {
        f64: F64,
        f32: F32,
    }
    ProductPrecision {
        f32: F32,
        tf32: Tf32,
    }
    RootPadding {
        none: None,
        largest: Largest,
    }
    Refresh {
        fresh: Fresh,
        stale: Stale,
    }
    OneSided {
        none: None,
        input: Input,
        output: Output,
    }
    ShampooStatistics {
        gradients: Gradients,
        kl: Kl,
        kl_mean: KlMean,
    }
    Ridge {
        relative: Relative,
        absolute: Absolute,
    }
    UpdaterSync {
        gradients: Gradients,
        parameters_partial: ParametersPartial,
        parameters: Parameters,
        deltas: Deltas,
    }
}
fields! {
    Sgd {
        nesterov,
        learning_rate,
        momentum,
        dampening,
        weight_decay,
        first_step,
        maximize,
        master_weights,
        state_dtype,
        stochastic_rounding,
        seed,
    }
    RmsProp {
        epsilon_placement,
        learning_rate,
        rho,
        epsilon,
        weight_decay,
        momentum,
        centered,
        maximize,
        master_weights,
        state_dtype,
        stochastic_rounding,
        seed,
    }
    AdaGrad {
        epsilon_placement,
        learning_rate,
        epsilon,
        weight_decay,
        lr_decay,
        initial_accumulator,
        maximize,
        master_weights,
        state_dtype,
        stochastic_rounding,
        seed,
    }
    Adam {
        bias_correction,
        learning_rate,
        beta1,
        beta2,
        epsilon,
        weight_decay,
        decoupled_weight_decay,
        maximize,
        master_weights,
        state_dtype,
        stochastic_rounding,
        amsgrad,
        seed,
    }
    Shampoo {
        graft_type,
        learning_rate,
        beta1,
        beta2,
        diagonal_epsilon,
        matrix_epsilon,
        weight_decay,
        inverse_failure_threshold,
        clip_by_scaled_gradient_norm,
        graft_beta1,
        graft_beta2,
        precondition,
        block_size,
        start_preconditioning_step,
        preconditioning_compute_steps,
        statistics_compute_steps,
        skip_preconditioning_dim_size_gt,
        exponent_override,
        best_effort_shape_interpretation,
        nesterov,
        moving_average_for_momentum,
        decoupled_weight_decay,
        root_method,
        root_precision,
        root_padding,
        root_retries,
        root_lag,
        refresh,
        quantize_momentum,
        quantize_statistics,
        one_sided,
        eigenvalue_corrected,
        master_weights,
        product_precision,
        maximize,
        average_decay,
        average_start,
        average_every,
        average_warmup,
        average_equal,
        state_dtype,
        stochastic_rounding,
        seed,
        statistics,
        ridge,
    }
    AccumulatorOptions {
        mode,
        trigger,
        nonfinite,
        steps,
        min_weight,
        keep_sums,
    }
    ReducerOptions {
        mode,
        average,
        control,
        fuse_threshold,
        bucket_elements,
        clip_value,
        half_sum,
        residual,
        sparsity,
        selection,
        nan_policy,
        sparse_exchange,
        error_feedback,
        momentum_correction,
        warmup_steps,
        rank,
        channels,
    }
    UpdaterOptions {
        sync,
        skip_nonfinite,
        sync_steps,
        max_norm,
        clip_value,
        grad_scale,
        outer_fragments,
        outer_delay,
        outer_mix,
    }
}
