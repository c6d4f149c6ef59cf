// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! The update rules' options. Formulas and defaults: optimizer.h and shampoo.h.

use crate::options::{c_enum, options};

c_enum! {
    /// How state tensors are stored.
    StateDtype {
        /// f32; f64 for f64 parameters.
        Native = GRADSTEP_STATE_DTYPE_NATIVE,
        /// 16 bits.
        Bf16 = GRADSTEP_STATE_DTYPE_BF16,
        /// 8 bits, in blocks of 256 elements.
        Int8 = GRADSTEP_STATE_DTYPE_INT8,
    }
}
c_enum! {
    /// How elements whose change has the sign of the gradient are left out, and what the `k` of `n` others are
    /// multiplied by.
    CautiousUpdate {
        /// None are.
        Off = GRADSTEP_CAUTIOUS_UPDATE_OFF,
        /// `1 / max(k / n, 1e-3)`.
        Mean = GRADSTEP_CAUTIOUS_UPDATE_MEAN,
        /// `n / (k + 1)`.
        Sum = GRADSTEP_CAUTIOUS_UPDATE_SUM,
    }
}
c_enum! {
    /// The elements that `adaptive_clip` clips together. A tensor of one axis is one unit.
    AdaptiveClipUnits {
        /// All but the first axis: the weights of an output.
        Rows = GRADSTEP_ADAPTIVE_CLIP_UNITS_ROWS,
        /// The first of two or three axes, all but the last of more, as in optax.
        Columns = GRADSTEP_ADAPTIVE_CLIP_UNITS_COLUMNS,
        /// The second of two or three axes, all but the first of more, as in `pytorch_optimizer`.
        Second = GRADSTEP_ADAPTIVE_CLIP_UNITS_SECOND,
    }
}
c_enum! {
    /// Whose steps t counts.
    StepCounting {
        /// The optimizer's.
        Optimizer = GRADSTEP_STEP_COUNTING_OPTIMIZER,
        /// Those that each parameter took part in, as in PyTorch.
        Parameter = GRADSTEP_STEP_COUNTING_PARAMETER,
    }
}
c_enum! {
    /// How the weights shrink. All but the first two subtract from the parameter.
    DecayMode {
        /// As the rule says.
        Rule = GRADSTEP_DECAY_MODE_RULE,
        /// `weight_decay * p` is added to the gradient.
        Coupled = GRADSTEP_DECAY_MODE_COUPLED,
        /// `learning_rate * weight_decay * p`.
        Decoupled = GRADSTEP_DECAY_MODE_DECOUPLED,
        /// `weight_decay * p`.
        Independent = GRADSTEP_DECAY_MODE_INDEPENDENT,
        /// `learning_rate / peak_learning_rate * weight_decay * p`.
        Relative = GRADSTEP_DECAY_MODE_RELATIVE,
        /// `learning_rate^2 / peak_learning_rate * weight_decay * p`.
        Corrected = GRADSTEP_DECAY_MODE_CORRECTED,
    }
}
c_enum! {
    /// Where epsilon is added.
    EpsilonPlacement {
        /// `g / sqrt(a + epsilon)`.
        Inside = GRADSTEP_EPSILON_PLACEMENT_INSIDE,
        /// `g / (sqrt(a) + epsilon)`, as PyTorch.
        Outside = GRADSTEP_EPSILON_PLACEMENT_OUTSIDE,
    }
}
c_enum! {
    /// What the first step does to the momentum.
    FirstStep {
        /// The first gradient is dampened too.
        Dampen = GRADSTEP_SGD_FIRST_STEP_DAMPEN,
        /// It is copied, as in PyTorch.
        Copy = GRADSTEP_SGD_FIRST_STEP_COPY,
    }
}
c_enum! {
    /// The form of Adam's bias correction.
    BiasCorrection {
        /// The paper's.
        Standard = GRADSTEP_BIAS_CORRECTION_STANDARD,
        /// TensorFlow's.
        Tf = GRADSTEP_BIAS_CORRECTION_TF,
    }
}
c_enum! {
    /// Whose step length a preconditioned direction gets.
    GraftType {
        /// The gradient's.
        Sgd = GRADSTEP_GRAFT_TYPE_SGD,
        /// AdaGrad's.
        AdaGrad = GRADSTEP_GRAFT_TYPE_ADAGRAD,
        /// RMSProp's.
        RmsProp = GRADSTEP_GRAFT_TYPE_RMSPROP,
        /// RMSProp's of the normalized gradient.
        RmsPropNormalized = GRADSTEP_GRAFT_TYPE_RMSPROP_NORMALIZED,
        /// The sign's.
        SqrtN = GRADSTEP_GRAFT_TYPE_SQRT_N,
        /// AdaGrad's of the normalized gradient.
        AdaGradNormalized = GRADSTEP_GRAFT_TYPE_ADAGRAD_NORMALIZED,
        /// Adam's.
        Adam = GRADSTEP_GRAFT_TYPE_ADAM,
        /// Its own.
        None = GRADSTEP_GRAFT_TYPE_NONE,
    }
}
c_enum! {
    /// How roots are computed.
    RootMethod {
        /// By size and device.
        Auto = GRADSTEP_ROOT_METHOD_AUTO,
        /// Google's iteration, in scaled steps.
        CoupledNewton = GRADSTEP_ROOT_METHOD_COUPLED_NEWTON,
        /// An eigendecomposition.
        Eigh = GRADSTEP_ROOT_METHOD_EIGH,
    }
}
c_enum! {
    /// What roots are computed in.
    RootPrecision {
        /// 64 bits.
        F64 = GRADSTEP_ROOT_PRECISION_F64,
        /// 32 bits.
        F32 = GRADSTEP_ROOT_PRECISION_F32,
    }
}
c_enum! {
    /// What a device's f32 products may do to their operands.
    ProductPrecision {
        /// Nothing.
        F32 = GRADSTEP_PRODUCT_PRECISION_F32,
        /// Round them to TF32, on CUDA's tensor cores.
        Tf32 = GRADSTEP_PRODUCT_PRECISION_TF32,
    }
}
c_enum! {
    /// Whether statistics are extended to the largest block.
    RootPadding {
        /// No.
        None = GRADSTEP_ROOT_PADDING_NONE,
        /// Yes, as Google's.
        Largest = GRADSTEP_ROOT_PADDING_LARGEST,
    }
}
c_enum! {
    /// When roots begin to serve.
    Refresh {
        /// In the step that computes them.
        Fresh = GRADSTEP_REFRESH_FRESH,
        /// In the next.
        Stale = GRADSTEP_REFRESH_STALE,
    }
}
c_enum! {
    /// Which axes are preconditioned.
    OneSided {
        /// All.
        None = GRADSTEP_ONE_SIDED_NONE,
        /// All but the last.
        Input = GRADSTEP_ONE_SIDED_INPUT,
        /// The last.
        Output = GRADSTEP_ONE_SIDED_OUTPUT,
    }
}

/// Options of an element-wise rule: its own, and those that all of them have.
macro_rules! element_wise {
    ($(#[$meta:meta])* $name:ident => $raw:ident by $init:ident { $($own:tt)* }) => {
        options! {
            $(#[$meta])*
            $name => $raw by $init {
                $($own)*
                /// Negates the gradients.
                maximize: bool,
                /// Keeps f32 copies of 16-bit parameters.
                master_weights: bool,
                /// How state is stored.
                state_dtype: StateDtype,
                /// Rounds what is stored in 16 bits at random.
                stochastic_rounding: bool,
                /// Of stochastic_rounding.
                seed: i64,
            }
        }
    };
}
element_wise! {
    /// SGD with momentum, dampening, Nesterov's form and weight decay. State `momentum_buffer`.
    Sgd => gradstep_sgd_options by gradstep_sgd_options_init {
        /// Must be set.
        learning_rate: f64,
        /// Default 0.
        momentum: f64,
        /// Default 0.
        dampening: f64,
        /// Default 0.
        weight_decay: f64,
        /// Needs momentum, and no dampening.
        nesterov: bool,
        /// What the first step does to the momentum.
        first_step: FirstStep,
    }
}
element_wise! {
    /// RMSProp. State `square_avg`, `grad_avg` if centered, `momentum_buffer` with momentum.
    RmsProp => gradstep_rmsprop_options by gradstep_rmsprop_options_init {
        /// Must be set.
        learning_rate: f64,
        /// Default 0.9.
        rho: f64,
        /// Default 1e-8.
        epsilon: f64,
        /// Default 0.
        weight_decay: f64,
        /// Default 0.
        momentum: f64,
        /// Graves' form.
        centered: bool,
        /// Where epsilon is added.
        epsilon_placement: EpsilonPlacement,
    }
}
element_wise! {
    /// AdaGrad. State `sum`.
    AdaGrad => gradstep_adagrad_options by gradstep_adagrad_options_init {
        /// Must be set.
        learning_rate: f64,
        /// Default 1e-8.
        epsilon: f64,
        /// Default 0.
        weight_decay: f64,
        /// Default 0.
        lr_decay: f64,
        /// Where `sum` starts; default 0.
        initial_accumulator: f64,
        /// Where epsilon is added.
        epsilon_placement: EpsilonPlacement,
    }
}
element_wise! {
    /// Adam, AdamW (`decoupled_weight_decay`) and AMSGrad. State `exp_avg`, `exp_avg_sq`, `max_exp_avg_sq` if amsgrad.
    Adam => gradstep_adam_options by gradstep_adam_options_init {
        /// Must be set.
        learning_rate: f64,
        /// Default 0.9.
        beta1: f64,
        /// Default 0.999.
        beta2: f64,
        /// Default 1e-8.
        epsilon: f64,
        /// Default 0.
        weight_decay: f64,
        /// AdamW.
        decoupled_weight_decay: bool,
        /// Reddi et al. 2018.
        amsgrad: bool,
        /// The form of the correction.
        bias_correction: BiasCorrection,
    }
}
options! {
    /// Distributed Shampoo, and with `eigenvalue_corrected` SOAP; see shampoo.h and docs/shampoo.md.
    Shampoo => gradstep_shampoo_options by gradstep_shampoo_options_init {
        /// Must be set.
        learning_rate: f64,
        /// Default 0.9.
        beta1: f64,
        /// Default 0.999.
        beta2: f64,
        /// Default 1e-10.
        diagonal_epsilon: f64,
        /// Default 1e-6.
        matrix_epsilon: f64,
        /// Default 0.
        weight_decay: f64,
        /// Default 0.1.
        inverse_failure_threshold: f64,
        /// Default 0: off.
        clip_by_scaled_gradient_norm: f64,
        /// Of graft type Adam; default 0.9.
        graft_beta1: f64,
        /// Of graft type Adam; default 0.999.
        graft_beta2: f64,
        /// Default 1; 0: the graft alone.
        precondition: f64,
        /// Default 128.
        block_size: i64,
        /// Default 5.
        start_preconditioning_step: i64,
        /// Default 1.
        preconditioning_compute_steps: i64,
        /// Default 1.
        statistics_compute_steps: i64,
        /// Default 4096.
        skip_preconditioning_dim_size_gt: i64,
        /// Default 0: twice the dimensions.
        exponent_override: i32,
        /// Merges small dimensions; default true.
        best_effort_shape_interpretation: bool,
        /// Default true.
        nesterov: bool,
        /// Weighs directions by 1 - beta1.
        moving_average_for_momentum: bool,
        /// AdamW's decay.
        decoupled_weight_decay: bool,
        /// Whose step length.
        graft_type: GraftType,
        /// How roots are computed.
        root_method: RootMethod,
        /// In what.
        root_precision: RootPrecision,
        /// Padding.
        root_padding: RootPadding,
        /// 0 to 12, default 6.
        root_retries: i32,
        /// Steps that roots may take beside the steps.
        root_lag: i32,
        /// When roots serve.
        refresh: Refresh,
        /// Momenta in int8.
        quantize_momentum: bool,
        /// Statistics in int16.
        quantize_statistics: bool,
        /// Which axes.
        one_sided: OneSided,
        /// SOAP.
        eigenvalue_corrected: bool,
        /// Keeps f32 copies of 16-bit parameters.
        master_weights: bool,
        /// Of statistics and preconditioned gradients.
        product_precision: ProductPrecision,
        /// Negates the gradients.
        maximize: bool,
        /// How momenta, grafting states and moments are stored: native or bf16.
        state_dtype: StateDtype,
        /// Rounds what is stored in 16 bits at random.
        stochastic_rounding: bool,
        /// Of stochastic_rounding.
        seed: i64,
    }
}
