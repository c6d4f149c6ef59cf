// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/generate from src/rules.
//! Rules that C makes by their names.

use crate::c_types::*;
use crate::named_rule::named_options;

/// Options of a rule: its own, and those that all of them have.
macro_rules! rule {
    ($(#[$meta:meta])* $name:ident by $rule:literal of ($($required:ident),*) { $($own:tt)* }) => {
        named_options! {
            $(#[$meta])*
            $name by $rule of ($($required),*) {
                $($own)*
                /// Steps up the gradient.
                maximize: bool,
                /// Steps an f32 copy of every f16 and bf16 parameter.
                master_weights: bool,
                /// How state is stored; int8: one byte an element, coded in blocks.
                state_dtype: StateDtype,
                /// Rounds what is stored in 16 bits at random, exact on average.
                stochastic_rounding: bool,
                /// Starts stochastic_rounding: equal seeds give equal bits.
                seed: i64,
                /// Whose steps t counts; parameter: those that each took part in, as PyTorch does.
                step_counting: StepCounting,
                /// Keeps an average of the weights: this share of it at each step; 0 = none; in [0, 1), default 0.
                average_decay: f64,
                /// Coupled: weight_decay * p is added to the gradient. Others subtract from p: decoupled
                /// learning_rate * weight_decay * p; independent weight_decay * p; relative learning_rate /
                /// peak_learning_rate * weight_decay * p; corrected learning_rate^2 /
                /// peak_learning_rate * weight_decay * p. rule: as the rule says.
                decay_mode: DecayMode,
                /// The largest learning rate of the schedule, for decay_mode; >= 0, default 0.
                peak_learning_rate: f64,
                /// Scales the change of each tensor to the tensor's length, times the learning rate (LAMB).
                trust_ratio: bool,
                /// Leaves out elements whose change has the sign of the gradient, and multiplies the others: mean by 1
                /// / max(k / n, 1e-3), sum by n / (k + 1), where k of n elements of the tensor stay.
                cautious_update: CautiousUpdate,
                /// Weights decay only where that does not oppose the change.
                cautious_decay: bool,
                /// Shortens each unit of a gradient to this times the length of its unit of p; 0 = off; >= 0, default
                /// 0.
                adaptive_clip: f64,
                /// The least length of a unit of p for adaptive_clip; >= 0, default 0.001.
                adaptive_clip_epsilon: f64,
                /// Elements that one unit has. rows: all but the first axis; columns: the first of two or three axes,
                /// all but the last of more (optax); second: the second of two or three axes, all but the first of more
                /// (pytorch_optimizer). A tensor of one axis is one unit.
                adaptive_clip_units: AdaptiveClipUnits,
                /// Subtracts from each row of a gradient its mean, where there are two axes or more.
                center_gradients: bool,
                /// average_decay is at most (1 + n) / (10 + n) while n steps are in the average.
                average_warmup: bool,
                /// Keeps the mean of the weights after all averaged steps (SWA), in place of average_decay.
                average_equal: bool,
                /// The first step that is averaged, from 0; until then the average is the weights; in [0, 1000000000),
                /// whole, default 0.
                average_start: f64,
                /// Every such step is averaged, from average_start on; in [1, 1000000000), whole, default 1.
                average_every: f64,
            }
        }
    };
}

rule! {
    /// SGD. Source: SINGA opt.py; Nesterov's form as in PyTorch.
    ///
    /// ```text
    /// with momentum: b = momentum * b + (1 - dampening) * g; d = g + momentum * b if nesterov else b
    /// p = p - learning_rate * d, or p - learning_rate * g without momentum
    /// ```
    ///
    /// State momentum_buffer.
    Sgd by "sgd" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the buffer that a step keeps; >= 0, default 0.
        momentum: f64,
        /// 1 - dampening of a gradient goes into the buffer; ignored without momentum; default 0.
        dampening: f64,
        /// Times p is added to the gradient; >= 0, default 0.
        weight_decay: f64,
        /// Steps by g + momentum * b; needs momentum above 0 and dampening 0.
        nesterov: bool,
        /// Dampen: the buffer starts at 0 (SINGA); copy: with the first gradient (PyTorch).
        first_step: SgdFirstStep,
    }
}

rule! {
    /// RMSProp. Source: Tieleman and Hinton 2012; SINGA opt.py; centered and momentum as in PyTorch.
    ///
    /// ```text
    /// a = rho * a + (1 - rho) * g^2
    /// centered: c = rho * c + (1 - rho) * g, and a - c^2 stands for a below
    /// d = g / sqrt(a + epsilon), or by epsilon_placement g / (sqrt(a) + epsilon)
    /// with momentum: b = momentum * b + d, and b stands for d
    /// p = p - learning_rate * d
    /// ```
    ///
    /// State square_avg, grad_avg, momentum_buffer.
    RmsProp by "rmsprop" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the averages that a step keeps; in [0, 1), default 0.9.
        rho: f64,
        /// Keeps the denominator from zero; >= 0, default 1e-8.
        epsilon: f64,
        /// Times p is added to the gradient; >= 0, default 0.
        weight_decay: f64,
        /// Share of the buffer that a step keeps; >= 0, default 0.
        momentum: f64,
        /// Inside: sqrt(a + epsilon), as SINGA; outside: sqrt(a) + epsilon, as PyTorch.
        epsilon_placement: EpsilonPlacement,
        /// Subtracts the square of the mean gradient under the root (Graves 2013).
        centered: bool,
    }
}

rule! {
    /// AdaGrad. Source: Duchi, Hazan and Singer 2011; SINGA opt.py; lr_decay and initial_accumulator as in PyTorch.
    ///
    /// ```text
    /// a = a + g^2
    /// p = p - learning_rate / (1 + t * lr_decay) * g / sqrt(a + epsilon), or by epsilon_placement / (sqrt(a) + epsilon)
    /// ```
    ///
    /// State sum.
    AdaGrad by "adagrad" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Keeps the denominator from zero; >= 0, default 1e-8.
        epsilon: f64,
        /// Times p is added to the gradient; >= 0, default 0.
        weight_decay: f64,
        /// The step size is divided by 1 + t * lr_decay; >= 0, default 0.
        lr_decay: f64,
        /// What the sum starts with; >= 0, default 0.
        initial_accumulator: f64,
        /// Inside: sqrt(a + epsilon), as SINGA; outside: sqrt(a) + epsilon, as PyTorch.
        epsilon_placement: EpsilonPlacement,
    }
}

rule! {
    /// Adam. Source: Kingma and Ba 2015, algorithm 1; AdamW: Loshchilov and Hutter 2019; AMSGrad: Reddi, Kale and Kumar
    /// 2018.
    ///
    /// ```text
    /// m = beta1 * m + (1 - beta1) * g
    /// v = beta2 * v + (1 - beta2) * g^2
    /// standard: p = p - learning_rate * (m / (1 - beta1^(t+1))) / (sqrt(v / (1 - beta2^(t+1))) + epsilon)
    /// tf: p = p - learning_rate * sqrt(1 - beta2^(t+1)) / (1 - beta1^(t+1)) * m / (sqrt(v) + epsilon)
    /// ```
    ///
    /// State exp_avg, exp_avg_sq, max_exp_avg_sq.
    Adam by "adam" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the mean that a step keeps; in [0, 1), default 0.9.
        beta1: f64,
        /// Share of the mean square that a step keeps; in [0, 1), default 0.999.
        beta2: f64,
        /// Keeps the denominator from zero; >= 0, default 1e-8.
        epsilon: f64,
        /// Times p is added to the gradient, or see decoupled_weight_decay; >= 0, default 0.
        weight_decay: f64,
        /// Tf: epsilon joins sqrt(v) before the correction (TensorFlow, Lingvo).
        bias_correction: BiasCorrection,
        /// Subtracts learning_rate * weight_decay * p instead (AdamW).
        decoupled_weight_decay: bool,
        /// Puts the largest v so far under the root.
        amsgrad: bool,
    }
}

rule! {
    /// AdamW. Source: Kingma and Ba 2015, algorithm 1; AdamW: Loshchilov and Hutter 2019; AMSGrad: Reddi, Kale and
    /// Kumar 2018. Adam with decoupled_weight_decay.
    ///
    /// ```text
    /// m = beta1 * m + (1 - beta1) * g
    /// v = beta2 * v + (1 - beta2) * g^2
    /// standard: p = p - learning_rate * (m / (1 - beta1^(t+1))) / (sqrt(v / (1 - beta2^(t+1))) + epsilon)
    /// tf: p = p - learning_rate * sqrt(1 - beta2^(t+1)) / (1 - beta1^(t+1)) * m / (sqrt(v) + epsilon)
    /// ```
    ///
    /// State exp_avg, exp_avg_sq, max_exp_avg_sq.
    AdamW by "adamw" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the mean that a step keeps; in [0, 1), default 0.9.
        beta1: f64,
        /// Share of the mean square that a step keeps; in [0, 1), default 0.999.
        beta2: f64,
        /// Keeps the denominator from zero; >= 0, default 1e-8.
        epsilon: f64,
        /// Times p is added to the gradient, or see decoupled_weight_decay; >= 0, default 0.
        weight_decay: f64,
        /// Tf: epsilon joins sqrt(v) before the correction (TensorFlow, Lingvo).
        bias_correction: BiasCorrection,
        /// Subtracts learning_rate * weight_decay * p instead (AdamW); default true.
        decoupled_weight_decay: bool,
        /// Puts the largest v so far under the root.
        amsgrad: bool,
    }
}

rule! {
    /// Lion. Source: Chen et al. 2023, Symbolic Discovery of Optimization Algorithms, algorithm 2; the numbers of
    /// optax.
    ///
    /// ```text
    /// u = sign(beta1 * m + (1 - beta1) * g), where sign(0) = 0
    /// m = beta2 * m + (1 - beta2) * g
    /// p = p - learning_rate * u
    /// ```
    ///
    /// State exp_avg.
    Lion by "lion" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the momentum in the direction; in [0, 1), default 0.9.
        beta1: f64,
        /// Share of the momentum that a step keeps; in [0, 1), default 0.99.
        beta2: f64,
        /// learning_rate * weight_decay * p is subtracted from p; >= 0, default 0.
        weight_decay: f64,
    }
}

rule! {
    /// Lamb. Source: You et al. 2020, Large Batch Optimization for Deep Learning, algorithm 2; the numbers of optax.
    ///
    /// ```text
    /// m = beta1 * m + (1 - beta1) * g
    /// v = beta2 * v + (1 - beta2) * g^2
    /// u = m / (1 - beta1^(t+1)) / (sqrt(v / (1 - beta2^(t+1)) + epsilon_root) + epsilon) + weight_decay * p
    /// p = p - learning_rate * norm(p) / norm(u) * u, or without the ratio where a norm is 0; norms of the tensor
    /// ```
    ///
    /// State exp_avg, exp_avg_sq.
    Lamb by "lamb" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the mean that a step keeps; in [0, 1), default 0.9.
        beta1: f64,
        /// Share of the mean square that a step keeps; in [0, 1), default 0.999.
        beta2: f64,
        /// Keeps the denominator from zero; >= 0, default 1e-6.
        epsilon: f64,
        /// Joins the corrected mean square under the root; >= 0, default 0.
        epsilon_root: f64,
        /// Times p is added to u; >= 0, default 0.
        weight_decay: f64,
    }
}

/// Option of [`Muon`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MuonMomentumForm {
    /// `average`.
    Average,
    /// `sum`.
    Sum,
    /// `corrected`.
    Corrected,
}

impl crate::options::Field for MuonMomentumForm {
    type C = i32;
    fn into_c(self) -> i32 {
        self as i32
    }
}

/// Option of [`Muon`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MuonStepScale {
    /// `shape`.
    Shape,
    /// `rms`.
    Rms,
    /// `spectral`.
    Spectral,
    /// `largest`.
    Largest,
    /// `kernel`.
    Kernel,
    /// `none`.
    None,
}

impl crate::options::Field for MuonStepScale {
    type C = i32;
    fn into_c(self) -> i32 {
        self as i32
    }
}

/// Option of [`Muon`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MuonCoefficients {
    /// `simple`.
    Simple,
    /// `quintic`.
    Quintic,
    /// `polar_express`.
    PolarExpress,
    /// `polar_express_nvidia`.
    PolarExpressNvidia,
    /// `cans`.
    Cans,
    /// `aol`.
    Aol,
    /// `deepseekv4`.
    Deepseekv4,
    /// `cubic`.
    Cubic,
    /// `own`.
    Own,
}

impl crate::options::Field for MuonCoefficients {
    type C = i32;
    fn into_c(self) -> i32 {
        self as i32
    }
}

/// Option of [`Muon`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MuonNormalizer {
    /// `add`.
    Add,
    /// `max`.
    Max,
    /// `safe`.
    Safe,
}

impl crate::options::Field for MuonNormalizer {
    type C = i32;
    fn into_c(self) -> i32 {
        self as i32
    }
}

/// Option of [`Muon`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MuonVariance {
    /// `none`.
    None,
    /// `rows`.
    Rows,
    /// `longer`.
    Longer,
    /// `elements`.
    Elements,
}

impl crate::options::Field for MuonVariance {
    type C = i32;
    fn into_c(self) -> i32 {
        self as i32
    }
}

/// Option of [`Muon`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MuonVarianceFloor {
    /// `add`.
    Add,
    /// `max`.
    Max,
}

impl crate::options::Field for MuonVarianceFloor {
    type C = i32;
    fn into_c(self) -> i32 {
        self as i32
    }
}

/// Option of [`Muon`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MuonVarianceLength {
    /// `kept`.
    Kept,
    /// `free`.
    Free,
    /// `full`.
    Full,
}

impl crate::options::Field for MuonVarianceLength {
    type C = i32;
    fn into_c(self) -> i32 {
        self as i32
    }
}

/// Option of [`Muon`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MuonProductPrecision {
    /// `f32`.
    F32,
    /// `bf16`.
    Bf16,
}

impl crate::options::Field for MuonProductPrecision {
    type C = i32;
    fn into_c(self) -> i32 {
        self as i32
    }
}

/// Option of [`Muon`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MuonIterate {
    /// `matrix`.
    Matrix,
    /// `gram`.
    Gram,
}

impl crate::options::Field for MuonIterate {
    type C = i32;
    fn into_c(self) -> i32 {
        self as i32
    }
}

rule! {
    /// Muon. Source: Jordan et al. 2024, Muon; options where KellerJordan/Muon, torch, Moonlight, dion, NVIDIA and
    /// optax differ, the numbers of each. Li et al. 2025, NorMuon; Si et al. 2025, AdaMuon: the option variance.
    ///
    /// ```text
    /// m = momentum * m + (1 - momentum) * g
    /// u = (1 - momentum) * g + momentum * m if nesterov else m
    /// o = orthogonalize(u) of the first axis against all others
    /// with variance: v = variance_beta * v + (1 - variance_beta) * mean(o^2), o = o / (sqrt(v) + variance_epsilon), scaled by variance_length
    /// p = p - learning_rate * scale_factor * step_scale * o; every parameter needs 2 axes or more
    /// ```
    ///
    /// State momentum_buffer. State of a tensor as a whole: with variance: variance, a number for each row, for each
    /// place of the longer axis, or for each element.
    Muon by "muon" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the momentum that a step keeps; in [0, 1), default 0.95.
        momentum: f64,
        /// Share of the variance that a step keeps; in [0, 1), default 0.95.
        variance_beta: f64,
        /// learning_rate * weight_decay * p is subtracted from p; >= 0, default 0.
        weight_decay: f64,
        /// Newton-Schulz iterations; in [1, 101), whole, default 5.
        iterations: f64,
        /// Keeps the norm that a matrix is divided by from zero; >= 0, default 1e-7.
        epsilon: f64,
        /// Multiplies what step_scale says; >= 0, default 1.
        scale_factor: f64,
        /// For coefficients = own: X = a X + (b A + c A^2) X, A = X X^T; default 3.4445.
        coefficient_a: f64,
        /// likewise; default -4.775.
        coefficient_b: f64,
        /// likewise; default 2.0315.
        coefficient_c: f64,
        /// Keeps the root of the variance from zero; >= 0, default 1e-8.
        variance_epsilon: f64,
        /// For iterate = gram: X is made anew before iterations n, 2 n, ..., counted from 1; a large n makes products
        /// in bf16 fail; in [1, 21), whole, default 3.
        gram_restart_every: f64,
        /// Average: m = momentum * m + (1 - momentum) * g (KellerJordan, torch, NVIDIA); sum: m = momentum * m + g
        /// (Moonlight, dion); corrected: the average, corrected for its bias (optax).
        momentum_form: MuonMomentumForm,
        /// Looks one step ahead; default true.
        nesterov: bool,
        /// Shape: sqrt(max(1, rows / columns)) (KellerJordan, torch); rms: 0.2 sqrt(max(rows, columns)) (Moonlight,
        /// torch); spectral: sqrt(rows / columns) (dion, torch, NVIDIA); largest: sqrt(max(rows, columns)) (NVIDIA);
        /// kernel: sqrt(max(1, columns / rows)), for weights of inputs x outputs (optax); none: 1.
        step_scale: MuonStepScale,
        /// The Newton-Schulz iterations' numbers.
        coefficients: MuonCoefficients,
        /// What a matrix is divided by first. add: norm + epsilon; max: max(norm, epsilon); safe: 1.02 norm + epsilon.
        normalizer: MuonNormalizer,
        /// What o is divided by the root of: a mean square of each of the rows (NorMuon: dion, pytorch_optimizer), of
        /// the longer axis (NorMuon: NVIDIA), of the elements (AdaMuon); kept as the state variance.
        variance: MuonVariance,
        /// Add: sqrt(v) + variance_epsilon; max: sqrt(max(v, variance_epsilon)).
        variance_floor: MuonVarianceFloor,
        /// How long o is then. kept: as before (NorMuon); free: as it comes (AdaMuon: NVIDIA); full: sqrt(min(rows,
        /// columns)), with v / (1 - variance_beta^(t+1)) (AdaMuon: pytorch_optimizer).
        variance_length: MuonVarianceLength,
        /// Precision of the Newton-Schulz iterations. f32: that of the arithmetic type; bf16: iterates are rounded to
        /// it, and products sum in f32 (NVIDIA, KellerJordan, torch), in bits that depend on the processor.
        product_precision: MuonProductPrecision,
        /// What the Newton-Schulz iterations change. matrix: X; gram: X X^T and a matrix by which X is multiplied at
        /// the end, which takes fewer operations (Zhang et al. 2026, Gram Newton-Schulz); as matrix where one axis is
        /// less than 1.5 times the other.
        iterate: MuonIterate,
    }
}

rule! {
    /// Signum. Source: Bernstein et al. 2018, signSGD; the numbers of optax, with nesterov those of NVIDIA.
    ///
    /// ```text
    /// m = momentum * m + (1 - momentum) * g
    /// u = m; with nesterov momentum * m / (1 - momentum^(t+2)) + (1 - momentum) * g / (1 - momentum^(t+1))
    /// p = p - learning_rate * sign(u), where sign(0) = 0; without momentum sign(g)
    /// ```
    ///
    /// State momentum_buffer.
    Signum by "signum" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the momentum that a step keeps; 0: signSGD; in [0, 1), default 0.9.
        momentum: f64,
        /// learning_rate * weight_decay * p is subtracted from p; >= 0, default 0.
        weight_decay: f64,
        /// Looks one step ahead.
        nesterov: bool,
    }
}

/// Option of [`NAdam`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NAdamForm {
    /// `torch`.
    Torch,
    /// `optax`.
    Optax,
}

impl crate::options::Field for NAdamForm {
    type C = i32;
    fn into_c(self) -> i32 {
        self as i32
    }
}

rule! {
    /// NAdam. Source: Dozat 2016, Incorporating Nesterov Momentum into Adam; the numbers of torch and of optax, which
    /// differ.
    ///
    /// ```text
    /// m = beta1 * m + (1 - beta1) * g
    /// v = beta2 * v + (1 - beta2) * g^2
    /// d = sqrt(v / (1 - beta2^(t+1)) + epsilon_root) + epsilon
    /// form torch, mu(i) = beta1 * (1 - 0.96^(i * momentum_decay) / 2), M = mu(1) * ... * mu(t+1):
    /// p = p - learning_rate * ((1 - mu(t+1)) / (1 - M) * g + mu(t+2) / (1 - M * mu(t+2)) * m) / d
    /// form optax: p = p - learning_rate * ((1 - beta1) / (1 - beta1^(t+1)) * g + beta1 / (1 - beta1^(t+2)) * m) / d
    /// ```
    ///
    /// State exp_avg, exp_avg_sq.
    NAdam by "nadam" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the mean that a step keeps; in [0, 1), default 0.9.
        beta1: f64,
        /// Share of the mean square that a step keeps; in [0, 1), default 0.999.
        beta2: f64,
        /// Keeps the denominator from zero; >= 0, default 1e-8.
        epsilon: f64,
        /// Joins the corrected mean square under the root; >= 0, default 0.
        epsilon_root: f64,
        /// How soon the momentum of form torch reaches beta1; >= 0, default 0.004.
        momentum_decay: f64,
        /// Times p is added to the gradient; >= 0, default 0.
        weight_decay: f64,
        /// Torch or optax.
        form: NAdamForm,
    }
}

/// Option of [`RAdam`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RAdamForm {
    /// `torch`.
    Torch,
    /// `optax`.
    Optax,
}

impl crate::options::Field for RAdamForm {
    type C = i32;
    fn into_c(self) -> i32 {
        self as i32
    }
}

rule! {
    /// RAdam. Source: Liu et al. 2020, On the Variance of the Adaptive Learning Rate; the numbers of torch and of
    /// optax.
    ///
    /// ```text
    /// m = beta1 * m + (1 - beta1) * g
    /// v = beta2 * v + (1 - beta2) * g^2
    /// M = m / (1 - beta1^(t+1)); with nesterov beta1 * m / (1 - beta1^(t+2)) + (1 - beta1) * g / (1 - beta1^(t+1))
    /// R = 2 / (1 - beta2) - 1, r = R - 2 * (t+1) * beta2^(t+1) / (1 - beta2^(t+1))
    /// s = sqrt((r - 4) * (r - 2) * R / ((R - 4) * (R - 2) * r)) where r is above the threshold, and else p = p - learning_rate * M
    /// form torch: p = p - learning_rate * s * M * sqrt(1 - beta2^(t+1)) / (sqrt(v) + epsilon)
    /// form optax: p = p - learning_rate * s * M / (sqrt(v / (1 - beta2^(t+1)) + epsilon_root) + epsilon)
    /// ```
    ///
    /// State exp_avg, exp_avg_sq.
    RAdam by "radam" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the mean that a step keeps; in [0, 1), default 0.9.
        beta1: f64,
        /// Share of the mean square that a step keeps; in [0, 1), default 0.999.
        beta2: f64,
        /// Keeps the denominator from zero; >= 0, default 1e-8.
        epsilon: f64,
        /// Joins the corrected mean square under the root; >= 0, default 0.
        epsilon_root: f64,
        /// The smallest r, for form optax; torch has 5; >= 4, default 5.
        threshold: f64,
        /// Times p is added to the gradient; >= 0, default 0.
        weight_decay: f64,
        /// Torch or optax.
        form: RAdamForm,
        /// Looks one step ahead.
        nesterov: bool,
    }
}

rule! {
    /// Adamax. Source: Kingma and Ba 2015, Adam, algorithm 2; the numbers of torch and optax.
    ///
    /// ```text
    /// m = beta1 * m + (1 - beta1) * g
    /// u = max(beta2 * u, abs(g) + epsilon)
    /// p = p - learning_rate / (1 - beta1^(t+1)) * m / u
    /// ```
    ///
    /// State exp_avg, exp_inf.
    Adamax by "adamax" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the mean that a step keeps; in [0, 1), default 0.9.
        beta1: f64,
        /// Share of the largest magnitude that a step keeps; in [0, 1), default 0.999.
        beta2: f64,
        /// Keeps the denominator from zero; >= 0, default 1e-8.
        epsilon: f64,
        /// Times p is added to the gradient; >= 0, default 0.
        weight_decay: f64,
    }
}

rule! {
    /// Adadelta. Source: Zeiler 2012, ADADELTA, algorithm 1; the numbers of torch and optax.
    ///
    /// ```text
    /// v = rho * v + (1 - rho) * g^2
    /// d = sqrt(D + epsilon) / sqrt(v + epsilon) * g
    /// D = rho * D + (1 - rho) * d^2
    /// p = p - learning_rate * d
    /// ```
    ///
    /// State square_avg, acc_delta.
    Adadelta by "adadelta" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of both means that a step keeps; in [0, 1), default 0.9.
        rho: f64,
        /// Keeps roots from zero, and lets the first steps begin; >= 0, default 1e-6.
        epsilon: f64,
        /// Times p is added to the gradient; >= 0, default 0.
        weight_decay: f64,
    }
}

rule! {
    /// Rprop. Source: Riedmiller and Braun 1993, RPROP; the numbers of torch.
    ///
    /// ```text
    /// s = -1, 0 or 1, by the signs of g and of g before
    /// step = clamp(step * (eta_plus if s > 0, eta_minus if s < 0, else 1), minimum_step, maximum_step)
    /// g = 0 where s < 0
    /// p = p - sign(g) * step; the first step is learning_rate
    /// ```
    ///
    /// State previous_gradient, step_size.
    Rprop by "rprop" of (learning_rate) {
        /// First step size of every element; later ones are states; >= 0, must be given.
        learning_rate: f64,
        /// Times the step size where the gradient has turned; in [0, 1), default 0.5.
        eta_minus: f64,
        /// Times the step size where it has not; >= 1, default 1.2.
        eta_plus: f64,
        /// Least step size; >= 0, default 1e-6.
        minimum_step: f64,
        /// Largest step size; >= 0, default 50.
        maximum_step: f64,
        /// Times p is added to the gradient; >= 0, default 0.
        weight_decay: f64,
    }
}

rule! {
    /// AdaBelief. Source: Zhuang et al. 2020, AdaBelief; the numbers of optax.
    ///
    /// ```text
    /// m = beta1 * m + (1 - beta1) * g
    /// s = beta2 * s + (1 - beta2) * (g - m)^2 + epsilon_root
    /// M = m / (1 - beta1^(t+1)); with nesterov beta1 * m / (1 - beta1^(t+2)) + (1 - beta1) * g / (1 - beta1^(t+1))
    /// p = p - learning_rate * M / (sqrt(s / (1 - beta2^(t+1))) + epsilon)
    /// ```
    ///
    /// State exp_avg, exp_avg_var.
    AdaBelief by "adabelief" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the mean that a step keeps; in [0, 1), default 0.9.
        beta1: f64,
        /// Share of the mean squared surprise that a step keeps; in [0, 1), default 0.999.
        beta2: f64,
        /// Keeps the denominator from zero; >= 0, default 1e-16.
        epsilon: f64,
        /// Is added to s in every step; >= 0, default 1e-16.
        epsilon_root: f64,
        /// learning_rate * weight_decay * p is subtracted from p; >= 0, default 0.
        weight_decay: f64,
        /// Looks one step ahead.
        nesterov: bool,
    }
}

rule! {
    /// Yogi. Source: Zaheer et al. 2018, Adaptive Methods for Nonconvex Optimization, algorithm 2; the numbers of
    /// optax.
    ///
    /// ```text
    /// m = beta1 * m + (1 - beta1) * g
    /// v = v - (1 - beta2) * sign(v - g^2) * g^2; both start at initial_accumulator
    /// p = p - learning_rate * m / (1 - beta1^(t+1)) / (sqrt(v / (1 - beta2^(t+1))) + epsilon)
    /// ```
    ///
    /// State exp_avg, exp_avg_sq.
    Yogi by "yogi" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the mean that a step keeps; in [0, 1), default 0.9.
        beta1: f64,
        /// 1 - beta2 of g^2 is how far v moves; in [0, 1), default 0.999.
        beta2: f64,
        /// Keeps the denominator from zero; >= 0, default 0.001.
        epsilon: f64,
        /// learning_rate * weight_decay * p is subtracted from p; >= 0, default 0.
        weight_decay: f64,
        /// What m and v start with; >= 0, default 1e-6.
        initial_accumulator: f64,
    }
}

/// Option of [`Adan`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AdanForm {
    /// `authors`.
    Authors,
    /// `optax`.
    Optax,
}

impl crate::options::Field for AdanForm {
    type C = i32;
    fn into_c(self) -> i32 {
        self as i32
    }
}

rule! {
    /// Adan. Source: Xie et al. 2022, Adan, algorithm 1; the numbers of pytorch_optimizer and of optax.
    ///
    /// ```text
    /// d = g - g before, 0 in the first step; k = beta2 for form authors, 1 - beta2 for form optax
    /// m = beta1 * m + (1 - beta1) * g
    /// D = beta2 * D + (1 - beta2) * d
    /// n = beta3 * n + (1 - beta3) * (g + k * d)^2
    /// u = m / (1 - beta1^(t+1)) + k * D / (1 - beta2^(t+1))
    /// p = p - learning_rate * u / (sqrt(n / (1 - beta3^(t+1)) + epsilon_root) + epsilon)
    /// ```
    ///
    /// State exp_avg, exp_avg_diff, exp_avg_sq, previous_gradient.
    Adan by "adan" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the mean that a step keeps; in [0, 1), default 0.98.
        beta1: f64,
        /// Share of the mean difference that a step keeps; in [0, 1), default 0.92.
        beta2: f64,
        /// Share of the mean square that a step keeps; in [0, 1), default 0.99.
        beta3: f64,
        /// Keeps the denominator from zero; >= 0, default 1e-8.
        epsilon: f64,
        /// Joins the corrected mean square under the root; >= 0, default 0.
        epsilon_root: f64,
        /// learning_rate * weight_decay * p is subtracted from p; >= 0, default 0.
        weight_decay: f64,
        /// Authors (as pytorch_optimizer) or optax: what k is.
        form: AdanForm,
    }
}

/// Option of [`AdEMAMix`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AdEMAMixWarmup {
    /// `logarithm`.
    Logarithm,
    /// `half_life`.
    HalfLife,
}

impl crate::options::Field for AdEMAMixWarmup {
    type C = i32;
    fn into_c(self) -> i32 {
        self as i32
    }
}

rule! {
    /// AdEMAMix. Source: Pagliardini et al. 2024, The AdEMAMix Optimizer, algorithm 1; the numbers of optax,
    /// pytorch_optimizer and NVIDIA.
    ///
    /// ```text
    /// m = beta1 * m + (1 - beta1) * g
    /// s = B * s + (1 - B) * g
    /// v = beta2 * v + (1 - beta2) * g^2
    /// u = (m / (1 - beta1^(t+1)) + A * s) / (sqrt(v / (1 - beta2^(t+1))) + epsilon)
    /// p = p - learning_rate * u
    /// A rises from 0 to alpha in alpha_steps, B from beta1 to beta3 in beta3_steps: by their logarithms, or by half-lives
    /// ```
    ///
    /// State exp_avg_fast, exp_avg_slow, exp_avg_sq.
    AdEMAMix by "ademamix" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the fast mean that a step keeps; in [0, 1), default 0.9.
        beta1: f64,
        /// Share of the mean square that a step keeps; in [0, 1), default 0.999.
        beta2: f64,
        /// Share of the slow mean that a step keeps; in [0, 1), default 0.9999.
        beta3: f64,
        /// Weight of the slow mean; >= 0, default 5.
        alpha: f64,
        /// Keeps the denominator from zero; >= 0, default 1e-8.
        epsilon: f64,
        /// learning_rate * weight_decay * p is subtracted from p; >= 0, default 0.
        weight_decay: f64,
        /// Steps in which alpha rises; 0 = none; in [0, 1000000000), whole, default 0.
        alpha_steps: f64,
        /// Steps in which beta3 rises; 0 = none; in [0, 1000000000), whole, default 0.
        beta3_steps: f64,
        /// How beta3 rises. logarithm: as the paper and pytorch_optimizer; half_life: linear in it, as NVIDIA.
        warmup: AdEMAMixWarmup,
    }
}

/// Option of [`Adopt`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AdoptClipping {
    /// `optax`.
    Optax,
    /// `pytorch_optimizer`.
    PytorchOptimizer,
    /// `none`.
    None,
}

impl crate::options::Field for AdoptClipping {
    type C = i32;
    fn into_c(self) -> i32 {
        self as i32
    }
}

rule! {
    /// Adopt. Source: Taniguchi et al. 2024, ADOPT, algorithm 2; the numbers of optax and of pytorch_optimizer.
    ///
    /// ```text
    /// the first step: v = g^2, and nothing else
    /// u = clamp(g / max(sqrt(v), epsilon), -C, C), with the v of the step before
    /// C = t^(1/4) for clipping optax, (t+1)^(1/4) for pytorch_optimizer
    /// m = beta1 * m + (1 - beta1) * u
    /// v = beta2 * v + (1 - beta2) * g^2
    /// p = p - learning_rate * (beta1 * m + (1 - beta1) * u if nesterov else m)
    /// ```
    ///
    /// State exp_avg, exp_avg_sq.
    Adopt by "adopt" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the mean that a step keeps; in [0, 1), default 0.9.
        beta1: f64,
        /// Share of the mean square that a step keeps; in [0, 1), default 0.9999.
        beta2: f64,
        /// Least denominator; >= 0, default 1e-6.
        epsilon: f64,
        /// Times p is added to the gradient; >= 0, default 0.
        weight_decay: f64,
        /// How u is clipped: by t as optax counts it, as pytorch_optimizer does, or none.
        clipping: AdoptClipping,
        /// Looks one step ahead.
        nesterov: bool,
    }
}

rule! {
    /// LaProp. Source: Ziyin et al. 2020, LaProp, algorithm 1; the numbers of NVIDIA.
    ///
    /// ```text
    /// v = beta2 * v + (1 - beta2) * g^2
    /// m = beta1 * m + (1 - beta1) * g / (sqrt(v / (1 - beta2^(t+1))) + epsilon)
    /// p = p - learning_rate * m / (1 - beta1^(t+1))
    /// ```
    ///
    /// State exp_avg, exp_avg_sq.
    LaProp by "laprop" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the mean that a step keeps; in [0, 1), default 0.9.
        beta1: f64,
        /// Share of the mean square that a step keeps; in [0, 1), default 0.999.
        beta2: f64,
        /// Keeps the denominator from zero; >= 0, default 1e-15.
        epsilon: f64,
        /// learning_rate * weight_decay * p is subtracted from p; >= 0, default 0.
        weight_decay: f64,
    }
}

rule! {
    /// Asgd. Source: Polyak and Juditsky 1992, Acceleration of Stochastic Approximation by Averaging; the numbers of
    /// torch.
    ///
    /// ```text
    /// eta = learning_rate at first, mu = 1 / max(1, t - averaging_start)
    /// p = p * (1 - shrinkage * eta) - eta * g
    /// ax = ax + mu * (p - ax), the average of the weights
    /// eta = learning_rate / (1 + shrinkage * learning_rate * (t+1))^exponent, of the next step
    /// ```
    ///
    /// State ax, eta.
    Asgd by "asgd" of (learning_rate) {
        /// Step size; a new one acts a step late, as in torch; >= 0, must be given.
        learning_rate: f64,
        /// Lambda: shrinks p, and the step size with the steps; >= 0, default 0.0001.
        shrinkage: f64,
        /// Alpha: how fast the step size falls; >= 0, default 0.75.
        exponent: f64,
        /// t0: steps before the average begins; >= 0, default 1000000.
        averaging_start: f64,
        /// Times p is added to the gradient; >= 0, default 0.
        weight_decay: f64,
    }
}

/// Option of [`Lars`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LarsForm {
    /// `optax`.
    Optax,
    /// `pytorch_optimizer`.
    PytorchOptimizer,
}

impl crate::options::Field for LarsForm {
    type C = i32;
    fn into_c(self) -> i32 {
        self as i32
    }
}

rule! {
    /// Lars. Source: You et al. 2017, Large Batch Training of Convolutional Networks; the numbers of optax and of
    /// pytorch_optimizer.
    ///
    /// ```text
    /// norms are of the tensor; r is 1 where it would be 0 or divide by 0
    /// u = g + weight_decay * p
    /// form optax: r = trust_coefficient * norm(p) / (norm(u) + epsilon)
    /// form pytorch_optimizer: r = trust_coefficient * norm(p) / (norm(g) + weight_decay * norm(p) + epsilon)
    /// m = momentum * m + rate * r * u, rate = learning_rate for form optax, 1 for pytorch_optimizer
    /// d = rate * r * u + momentum * m if nesterov, else m
    /// p = p - d for form optax, p - learning_rate * d for pytorch_optimizer
    /// ```
    ///
    /// State momentum.
    Lars by "lars" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the momentum that a step keeps; in [0, 1), default 0.9.
        momentum: f64,
        /// Length of a step beside that of its parameter; >= 0, default 0.001.
        trust_coefficient: f64,
        /// Joins the length of u; >= 0, default 0.
        epsilon: f64,
        /// Times p is added to the gradient; >= 0, default 0.
        weight_decay: f64,
        /// Optax or pytorch_optimizer: what the ratio is, and when the learning rate multiplies.
        form: LarsForm,
        /// Looks one step ahead.
        nesterov: bool,
    }
}

rule! {
    /// Novograd. Source: Ginsburg et al. 2019, Stochastic Gradient Methods with Layer-wise Adaptive Moments; the
    /// numbers of optax.
    ///
    /// ```text
    /// v, one number of the tensor: norm(g)^2 in the first step, then beta2 * v + (1 - beta2) * norm(g)^2
    /// m = beta1 * m + (g / (sqrt(v + epsilon_root) + epsilon) + weight_decay * p)
    /// p = p - learning_rate * m
    /// ```
    ///
    /// State exp_avg, squared_norm.
    Novograd by "novograd" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the momentum that a step keeps; in [0, 1), default 0.9.
        beta1: f64,
        /// Share of the mean squared norm that a step keeps; in [0, 1), default 0.25.
        beta2: f64,
        /// Keeps the denominator from zero; >= 0, default 1e-6.
        epsilon: f64,
        /// Joins the mean squared norm under the root; >= 0, default 0.
        epsilon_root: f64,
        /// Times p joins the momentum; >= 0, default 0.
        weight_decay: f64,
    }
}

/// Option of [`Mars`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MarsForm {
    /// `adamw`.
    AdamW,
    /// `lion`.
    Lion,
}

impl crate::options::Field for MarsForm {
    type C = i32;
    fn into_c(self) -> i32 {
        self as i32
    }
}

rule! {
    /// Mars. Source: Yuan et al. 2024, MARS: Unleashing the Power of Variance Reduction, algorithms 1 and 2; the
    /// numbers of pytorch_optimizer.
    ///
    /// ```text
    /// c = g + gamma * beta1 / (1 - beta1) * (g - g before), which is 0 at first
    /// c = c / max(1, norm(c)), the norm of the tensor
    /// m = beta1 * m + (1 - beta1) * c
    /// form adamw: v = beta2 * v + (1 - beta2) * c^2
    /// p = p - learning_rate * m / (1 - beta1^(t+1)) / ((sqrt(v + 1e-15) + epsilon) / sqrt(1 - beta2^(t+1)))
    /// form lion: p = p - learning_rate * sign(m)
    /// ```
    ///
    /// State exp_avg, exp_avg_sq, previous_gradient.
    Mars by "mars" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the mean that a step keeps; in [0, 1), default 0.95.
        beta1: f64,
        /// Share of the mean square that a step keeps; of form adamw; in [0, 1), default 0.99.
        beta2: f64,
        /// How much of the gradient's change is added to it; >= 0, default 0.025.
        gamma: f64,
        /// Keeps the denominator from zero; of form adamw; >= 0, default 1e-8.
        epsilon: f64,
        /// learning_rate * weight_decay * p is subtracted from p; >= 0, default 0.
        weight_decay: f64,
        /// Adamw or lion: the rule that gets the gradient.
        form: MarsForm,
    }
}

rule! {
    /// Sophia. Source: Liu et al. 2023, Sophia, algorithm 3; the numbers of optax.
    ///
    /// ```text
    /// m = beta1 * m + (1 - beta1) * g
    /// u = m / (1 - beta1^(t+1)) / max(gamma * h, epsilon)
    /// p = p - learning_rate * clamp(u, -clip_threshold, clip_threshold)
    /// h, the state hessian, is 0 at first; the host sets it, every few steps: beta2 * h + (1 - beta2) * its estimate
    /// ```
    ///
    /// State exp_avg, hessian.
    Sophia by "sophia" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of the mean that a step keeps; in [0, 1), default 0.965.
        beta1: f64,
        /// Scale of the curvature; >= 0, default 0.01.
        gamma: f64,
        /// Largest change of an element, beside the learning rate; >= 0, default 1.
        clip_threshold: f64,
        /// Least denominator; >= 0, default 1e-8.
        epsilon: f64,
        /// learning_rate * weight_decay * p is subtracted from p; >= 0, default 0.0001.
        weight_decay: f64,
    }
}

/// Option of [`ScheduleFree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScheduleFreeInner {
    /// `adamw`.
    AdamW,
    /// `sgd`.
    Sgd,
    /// `radam`.
    RAdam,
}

impl crate::options::Field for ScheduleFreeInner {
    type C = i32;
    fn into_c(self) -> i32 {
        self as i32
    }
}

impl ScheduleFreeInner {
    /// The old name of [`Self::Sgd`].
    #[deprecated(note = "use Sgd")]
    pub const SGD: Self = Self::Sgd;
}

rule! {
    /// ScheduleFree. Source: Defazio et al. 2024, The Road Less Scheduled, algorithm 1; the numbers of schedulefree,
    /// and of optax with its schedule for the weights as weight_rate.
    ///
    /// ```text
    /// p is y, where gradients are taken; z = p at first; the average x = p + (1 - 1 / beta1) * (z - p)
    /// rate = learning_rate * min(1, (t+1) / warmup_steps); inner radam: times its rectification
    /// w = (t+1)^weight_power * (largest rate so far)^rate_power, c = w / (sum of all w), or 0
    /// v = beta2 * v + (1 - beta2) * g^2
    /// u = g / (sqrt(v / (1 - beta2^(t+1))) + epsilon) + weight_decay * p; inner sgd: g + weight_decay * p
    /// p = p + c * (z - p) - rate * (1 - beta1 * (1 - c)) * u
    /// z = z - rate * u
    /// ```
    ///
    /// State z, exp_avg_sq, weight_sum, largest_rate.
    ScheduleFree by "schedule_free" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// How near the gradient's place is to the average; in [0.001, 1), default 0.9.
        beta1: f64,
        /// Share of the mean square that a step keeps; not of inner sgd; in [0, 1), default 0.999.
        beta2: f64,
        /// Keeps the denominator from zero; not of inner sgd; >= 0, default 1e-8.
        epsilon: f64,
        /// The learning rate that steps are weighted by; 0 = learning_rate; >= 0, default 0.
        weight_rate: f64,
        /// Times p joins the direction; >= 0, default 0.
        weight_decay: f64,
        /// Steps in which the learning rate grows from 0; in [0, 1000000000), whole, default 0.
        warmup_steps: f64,
        /// R: a step weighs (t+1)^r; >= 0, default 0.
        weight_power: f64,
        /// A step weighs its largest learning rate so far to this power; >= 0, default 2.
        rate_power: f64,
        /// adamw, sgd or radam: the rule that gives the direction.
        inner: ScheduleFreeInner,
        /// Inner radam: nothing moves while the variance is unknown (silent_sgd_phase); default true.
        waits: bool,
    }
}

rule! {
    /// Prodigy. Source: Mishchenko and Defazio 2023, Prodigy, algorithm 3; the numbers of prodigyopt, and of optax with
    /// bias_correction.
    ///
    /// ```text
    /// one d of all parameters, d0 at first; p0 = p at first; r = d * learning_rate, corrected where asked for
    /// N = beta3 * N + d / d0 * r * sum((p0 - p) * g)
    /// s = beta3 * s + d / d0 * r * g, with safeguard_warmup d / d0 * d * g
    /// m = beta1 * m + (1 - beta1) * d * g
    /// v = beta2 * v + (1 - beta2) * (d * g)^2
    /// D = d_factor * N / sum(abs(s)); d = max(d, D) while it is d0; d = min(largest D so far, d * d_growth)
    /// p = p - r * (m / (sqrt(v) + d * epsilon) + weight_decay * p), with the new d
    /// a step in which all s are 0 changes nothing and does not count as one
    /// ```
    ///
    /// State exp_avg, exp_avg_sq, s, p0, d, d_max, d_numerator, d_steps.
    Prodigy by "prodigy" of (learning_rate) {
        /// Step size, beside the distance d; 1 is usual; >= 0, must be given.
        learning_rate: f64,
        /// Share of the mean that a step keeps; in [0, 1), default 0.9.
        beta1: f64,
        /// Share of the mean square that a step keeps; in [0, 1), default 0.999.
        beta2: f64,
        /// Share of the estimate of d that a step keeps; 0 = sqrt(beta2); in [0, 1), default 0.
        beta3: f64,
        /// D * epsilon keeps the denominator from zero; >= 0, default 1e-8.
        epsilon: f64,
        /// D * learning_rate * weight_decay * p is subtracted from p; >= 0, default 0.
        weight_decay: f64,
        /// The distance at first; >= 1e-30, default 1e-6.
        d0: f64,
        /// Times the estimate of the distance; >= 0, default 1.
        d_factor: f64,
        /// D grows at most by this factor in a step; >= 1, default 1e300.
        d_growth: f64,
        /// The learning rate is times sqrt(1 - beta2^k) / (1 - beta1^k).
        bias_correction: bool,
        /// The learning rate does not join the denominator of the estimate.
        safeguard_warmup: bool,
    }
}

rule! {
    /// DadaptAdam. Source: Defazio and Mishchenko 2023, Learning-Rate-Free Learning by D-Adaptation, algorithm 5; the
    /// numbers of pytorch_optimizer, and of optax with bias_correction.
    ///
    /// ```text
    /// one d of all parameters, d0 at first; r = d * learning_rate, corrected where asked for; b = sqrt(beta2)
    /// N = b * N + (1 - b) * r * sum(g * s / (sqrt(v) + epsilon)), with s and v of the step before
    /// m = beta1 * m + (1 - beta1) * r * g
    /// v = beta2 * v + (1 - beta2) * g^2
    /// s = b * s + (1 - b) * r * g
    /// D = N / ((1 - b) * sum(abs(s))); d = max(d, min(D, d * d_growth))
    /// p = p - m / (sqrt(v) + epsilon) - r * weight_decay * p
    /// a step in which all s are 0 changes nothing and does not count as one
    /// ```
    ///
    /// State exp_avg, exp_avg_sq, s, d, d_numerator, d_steps.
    DadaptAdam by "dadapt_adam" of (learning_rate) {
        /// Step size, beside the distance d; 1 is usual; >= 0, must be given.
        learning_rate: f64,
        /// Share of the mean that a step keeps; in [0, 1), default 0.9.
        beta1: f64,
        /// Share of the mean square that a step keeps; in [0, 1), default 0.999.
        beta2: f64,
        /// Keeps the denominator from zero; >= 0, default 1e-8.
        epsilon: f64,
        /// D * learning_rate * weight_decay * p is subtracted from p; >= 0, default 0.
        weight_decay: f64,
        /// The distance at first; >= 1e-30, default 1e-6.
        d0: f64,
        /// D grows at most by this factor in a step; >= 1, default 1e300.
        d_growth: f64,
        /// The learning rate is times sqrt(1 - beta2^k) / (1 - beta1^k).
        bias_correction: bool,
    }
}

/// Option of [`Adafactor`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AdafactorForm {
    /// `torch`.
    Torch,
    /// `optax`.
    Optax,
}

impl crate::options::Field for AdafactorForm {
    type C = i32;
    fn into_c(self) -> i32 {
        self as i32
    }
}

rule! {
    /// Adafactor. Source: Shazeer and Stern 2018, Adafactor: Adaptive Learning Rates with Sublinear Memory Cost,
    /// algorithms 4 and 5; the numbers of torch and of optax.
    ///
    /// ```text
    /// b = 1 - (t+1)^-decay_exponent; rms: the root mean square of a tensor
    /// r = b * r + (1 - b) * mean(g^2) over each row, c likewise over each column, v = r * c / mean(r)
    /// tensors without factors: v = b * v + (1 - b) * g^2
    /// u = g / sqrt(v), u = u / max(1, rms(u) / clip_threshold)
    /// rate = learning_rate for form optax, min(learning_rate, 1 / sqrt(t+1)) for torch
    /// d = rate * max(rms(p), least_scale) * u; with momentum m = momentum * m + (1 - momentum) * d, d = m
    /// p = p - d
    /// ```
    ///
    /// State of a tensor as a whole: row_variance and column_variance of factored tensors, a number for each row and
    /// column; variance, one for each element, of others; momentum, one for each element, unless it is the constant 0.
    Adafactor by "adafactor" of (learning_rate) {
        /// Step size, beside the length of p; >= 0, must be given.
        learning_rate: f64,
        /// Share of the mean change that a step keeps; in [0, 1), default 0.
        momentum: f64,
        /// learning_rate * weight_decay * p is subtracted from p; >= 0, default 0.
        weight_decay: f64,
        /// A step takes (t+1)^-decay_exponent of the mean squares anew; >= 0, default 0.8.
        decay_exponent: f64,
        /// Form torch: least denominator; form optax: joins the squares; >= 1e-300, default 1e-30.
        epsilon: f64,
        /// Least root mean square of p that counts; >= 0, default 0.001.
        least_scale: f64,
        /// Largest root mean square of a direction; 0 = any; >= 0, default 1.
        clip_threshold: f64,
        /// Form optax: least length of the shorter factored axis; in [0, 1000000000), whole, default 128.
        min_factored: f64,
        /// Torch or optax: which axes are factored, what epsilon does, and what bounds the rate.
        form: AdafactorForm,
        /// Steps are in proportion to the length of p; default true.
        scales_by_parameter: bool,
        /// Matrices keep mean squares of rows and columns alone; default true.
        factored: bool,
    }
}

/// Option of [`Dion`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DionForm {
    /// `reference`.
    Reference,
    /// `simple`.
    Simple,
}

impl crate::options::Field for DionForm {
    type C = i32;
    fn into_c(self) -> i32 {
        self as i32
    }
}

rule! {
    /// Dion. Source: Ahn et al. 2025, Dion: Distributed Orthonormalized Updates (arXiv 2504.05295), algorithm 1; the
    /// numbers of dion_reference and of dion_simple of microsoft/dion.
    ///
    /// ```text
    /// m = m + g, rows by the first axis, columns by all others
    /// P = the orthonormal basis of m Q, R = m^T P
    /// m = m - (1 - momentum) * P R^T
    /// Q = R / (lengths of its columns + epsilon)
    /// p = p - learning_rate * sqrt(rows / columns) * P Q^T; every parameter needs 2 axes or more
    /// ```
    ///
    /// State of a tensor as a whole: momentum, in the parameter's shape; Q, a row of `columns` numbers for each of its
    /// columns (of `rows` numbers where the matrix is transposed), which begins with random numbers by the parameter's
    /// name.
    Dion by "dion" of (learning_rate) {
        /// Step size; >= 0, must be given.
        learning_rate: f64,
        /// Share of P R^T that stays in m; in [0, 1), default 0.95.
        momentum: f64,
        /// learning_rate * weight_decay * p is subtracted from p; >= 0, default 0.
        weight_decay: f64,
        /// Columns of Q, at most the shorter side of the matrix; 0: by rank_fraction; in [0, 1000000000), whole,
        /// default 0.
        rank: f64,
        /// Columns of Q in shares of the shorter side, rounded up; >= 0, default 1.
        rank_fraction: f64,
        /// Added to the lengths that columns of R are divided by; >= 0, default 1e-8.
        epsilon: f64,
        /// Reference: wide matrices are transposed; where a column of R is zero, that of Q stays (dion_reference);
        /// simple: never transposed; where a column of R is zero, that of Q becomes zero; a zero column of P becomes
        /// one of the identity (dion_simple).
        form: DionForm,
    }
}
