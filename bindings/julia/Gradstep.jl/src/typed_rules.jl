# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Written by scripts/generate from src/rules.

export AdamW, Lion, Lamb, Muon, Signum, NAdam, RAdam, Adamax, Adadelta, Rprop, AdaBelief, Yogi, Adan, AdEMAMix, Adopt, LaProp, Asgd, Lars, Novograd, Mars, Sophia, ScheduleFree, Prodigy, DadaptAdam, Adafactor, Dion

@doc raw"""
    AdamW(learning_rate; beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0, bias_correction = :standard,
    decoupled_weight_decay = true, amsgrad = false, options...)

Kingma and Ba 2015, algorithm 1; AdamW: Loshchilov and Hutter 2019; AMSGrad: Reddi, Kale and Kumar 2018. Adam with decoupled_weight_decay.

    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g^2
    standard: p = p - learning_rate * (m / (1 - beta1^(t+1))) / (sqrt(v / (1 - beta2^(t+1))) + epsilon)
    tf: p = p - learning_rate * sqrt(1 - beta2^(t+1)) / (1 - beta1^(t+1)) * m / (sqrt(v) + epsilon)

- `learning_rate`: step size; >= 0, must be given
- `beta1`: share of the mean that a step keeps; in [0, 1), default 0.9
- `beta2`: share of the mean square that a step keeps; in [0, 1), default 0.999
- `epsilon`: keeps the denominator from zero; >= 0, default 1e-8
- `weight_decay`: times p is added to the gradient, or see `decoupled_weight_decay`; >= 0, default 0
- `bias_correction`: tf: epsilon joins sqrt(v) before the correction (TensorFlow, Lingvo)
- `decoupled_weight_decay`: subtracts `learning_rate` * `weight_decay` * p instead (AdamW); default true
- `amsgrad`: puts the largest v so far under the root

State `exp_avg`, `exp_avg_sq`, `max_exp_avg_sq`. All rules take `maximize`, `master_weights`, `state_dtype`,
`stochastic_rounding`, `seed`, `step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`,
`cautious_update`, `cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`,
`center_gradients`, `average_warmup`, `average_equal`, `average_start`, `average_every`, too.
"""
AdamW(learning_rate; options...) = NamedRule("adamw"; learning_rate = learning_rate, options...)
options(::typeof(AdamW)) = options_by_name("adamw")

@doc raw"""
    Lion(learning_rate; beta1 = 0.9, beta2 = 0.99, weight_decay = 0, options...)

Chen et al. 2023, Symbolic Discovery of Optimization Algorithms, algorithm 2; the numbers of optax.

    u = sign(beta1 * m + (1 - beta1) * g), where sign(0) = 0
    m = beta2 * m + (1 - beta2) * g
    p = p - learning_rate * u

- `learning_rate`: step size; >= 0, must be given
- `beta1`: share of the momentum in the direction; in [0, 1), default 0.9
- `beta2`: share of the momentum that a step keeps; in [0, 1), default 0.99
- `weight_decay`: `learning_rate` * `weight_decay` * p is subtracted from p; >= 0, default 0

State `exp_avg`. All rules take `maximize`, `master_weights`, `state_dtype`, `stochastic_rounding`, `seed`,
`step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`, `cautious_update`,
`cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`, `center_gradients`, `average_warmup`,
`average_equal`, `average_start`, `average_every`, too.
"""
Lion(learning_rate; options...) = NamedRule("lion"; learning_rate = learning_rate, options...)
options(::typeof(Lion)) = options_by_name("lion")

@doc raw"""
    Lamb(learning_rate; beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6, epsilon_root = 0, weight_decay = 0, options...)

You et al. 2020, Large Batch Optimization for Deep Learning, algorithm 2; the numbers of optax.

    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g^2
    u = m / (1 - beta1^(t+1)) / (sqrt(v / (1 - beta2^(t+1)) + epsilon_root) + epsilon) + weight_decay * p
    p = p - learning_rate * norm(p) / norm(u) * u, or without the ratio where a norm is 0; norms of the tensor

- `learning_rate`: step size; >= 0, must be given
- `beta1`: share of the mean that a step keeps; in [0, 1), default 0.9
- `beta2`: share of the mean square that a step keeps; in [0, 1), default 0.999
- `epsilon`: keeps the denominator from zero; >= 0, default 1e-6
- `epsilon_root`: joins the corrected mean square under the root; >= 0, default 0
- `weight_decay`: times p is added to u; >= 0, default 0

State `exp_avg`, `exp_avg_sq`. All rules take `maximize`, `master_weights`, `state_dtype`, `stochastic_rounding`,
`seed`, `step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`, `cautious_update`,
`cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`, `center_gradients`, `average_warmup`,
`average_equal`, `average_start`, `average_every`, too.
"""
Lamb(learning_rate; options...) = NamedRule("lamb"; learning_rate = learning_rate, options...)
options(::typeof(Lamb)) = options_by_name("lamb")

@doc raw"""
    Muon(learning_rate; momentum = 0.95, variance_beta = 0.95, weight_decay = 0, iterations = 5, epsilon = 1e-7,
    scale_factor = 1, coefficient_a = 3.4445, coefficient_b = -4.775, coefficient_c = 2.0315, variance_epsilon = 1e-8,
    gram_restart_every = 3, momentum_form = :average, nesterov = true, step_scale = :shape, coefficients = :simple,
    normalizer = :add, variance = :none, variance_floor = :add, variance_length = :kept, product_precision = :f32,
    iterate = :matrix, options...)

Jordan et al. 2024, Muon; options where KellerJordan/Muon, torch, Moonlight, dion, NVIDIA and optax differ, the numbers of each. Li et al. 2025, NorMuon; Si et al. 2025, AdaMuon: the option variance.

    m = momentum * m + (1 - momentum) * g
    u = (1 - momentum) * g + momentum * m if nesterov else m
    o = orthogonalize(u) of the first axis against all others
    with variance: v = variance_beta * v + (1 - variance_beta) * mean(o^2), o = o / (sqrt(v) + variance_epsilon), scaled by variance_length
    p = p - learning_rate * scale_factor * step_scale * o; every parameter needs 2 axes or more

- `learning_rate`: step size; >= 0, must be given
- `momentum`: share of the momentum that a step keeps; in [0, 1), default 0.95
- `variance_beta`: share of the variance that a step keeps; in [0, 1), default 0.95
- `weight_decay`: `learning_rate` * `weight_decay` * p is subtracted from p; >= 0, default 0
- `iterations`: Newton-Schulz iterations; in [1, 101), whole, default 5
- `epsilon`: keeps the norm that a matrix is divided by from zero; >= 0, default 1e-7
- `scale_factor`: multiplies what `step_scale` says; >= 0, default 1
- `coefficient_a`: for coefficients = own: X = a X + (b A + c A^2) X, A = X X^T; default 3.4445
- `coefficient_b`: likewise; default -4.775
- `coefficient_c`: likewise; default 2.0315
- `variance_epsilon`: keeps the root of the variance from zero; >= 0, default 1e-8
- `gram_restart_every`: for iterate = gram: X is made anew before iterations n, 2 n, ..., counted from 1; a large n makes products in bf16 fail; in [1, 21), whole, default 3
- `momentum_form`: average: m = momentum * m + (1 - momentum) * g (KellerJordan, torch, NVIDIA); sum: m = momentum * m + g (Moonlight, dion); corrected: the average, corrected for its bias (optax)
- `nesterov`: looks one step ahead; default true
- `step_scale`: shape: sqrt(max(1, rows / columns)) (KellerJordan, torch); rms: 0.2 sqrt(max(rows, columns)) (Moonlight, torch); spectral: sqrt(rows / columns) (dion, torch, NVIDIA); largest: sqrt(max(rows, columns)) (NVIDIA); kernel: sqrt(max(1, columns / rows)), for weights of inputs x outputs (optax); none: 1
- `coefficients`: the Newton-Schulz iterations' numbers
- `normalizer`: what a matrix is divided by first. add: norm + epsilon; max: max(norm, epsilon); safe: 1.02 norm + epsilon
- `variance`: what o is divided by the root of: a mean square of each of the rows (NorMuon: dion, `pytorch_optimizer`), of the longer axis (NorMuon: NVIDIA), of the elements (AdaMuon); kept as the state variance
- `variance_floor`: add: sqrt(v) + `variance_epsilon`; max: sqrt(max(v, `variance_epsilon`))
- `variance_length`: how long o is then. kept: as before (NorMuon); free: as it comes (AdaMuon: NVIDIA); full: sqrt(min(rows, columns)), with v / (1 - `variance_beta`^(t+1)) (AdaMuon: `pytorch_optimizer`)
- `product_precision`: precision of the Newton-Schulz iterations. f32: that of the arithmetic type; bf16: iterates are rounded to it, and products sum in f32 (NVIDIA, KellerJordan, torch), in bits that depend on the processor
- `iterate`: what the Newton-Schulz iterations change. matrix: X; gram: X X^T and a matrix by which X is multiplied at the end, which takes fewer operations (Zhang et al. 2026, Gram Newton-Schulz); as matrix where one axis is less than 1.5 times the other

State `momentum_buffer`. State of a tensor as a whole: with variance: variance, a number for each row, for each place of
the longer axis, or for each element. All rules take `maximize`, `master_weights`, `state_dtype`, `stochastic_rounding`,
`seed`, `step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`, `cautious_update`,
`cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`, `center_gradients`, `average_warmup`,
`average_equal`, `average_start`, `average_every`, too.
"""
Muon(learning_rate; options...) = NamedRule("muon"; learning_rate = learning_rate, options...)
options(::typeof(Muon)) = options_by_name("muon")

@doc raw"""
    Signum(learning_rate; momentum = 0.9, weight_decay = 0, nesterov = false, options...)

Bernstein et al. 2018, signSGD; the numbers of optax, with nesterov those of NVIDIA.

    m = momentum * m + (1 - momentum) * g
    u = m; with nesterov momentum * m / (1 - momentum^(t+2)) + (1 - momentum) * g / (1 - momentum^(t+1))
    p = p - learning_rate * sign(u), where sign(0) = 0; without momentum sign(g)

- `learning_rate`: step size; >= 0, must be given
- `momentum`: share of the momentum that a step keeps; 0: signSGD; in [0, 1), default 0.9
- `weight_decay`: `learning_rate` * `weight_decay` * p is subtracted from p; >= 0, default 0
- `nesterov`: looks one step ahead

State `momentum_buffer`. All rules take `maximize`, `master_weights`, `state_dtype`, `stochastic_rounding`, `seed`,
`step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`, `cautious_update`,
`cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`, `center_gradients`, `average_warmup`,
`average_equal`, `average_start`, `average_every`, too.
"""
Signum(learning_rate; options...) = NamedRule("signum"; learning_rate = learning_rate, options...)
options(::typeof(Signum)) = options_by_name("signum")

@doc raw"""
    NAdam(learning_rate; beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, epsilon_root = 0, momentum_decay = 0.004,
    weight_decay = 0, form = :torch, options...)

Dozat 2016, Incorporating Nesterov Momentum into Adam; the numbers of torch and of optax, which differ.

    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g^2
    d = sqrt(v / (1 - beta2^(t+1)) + epsilon_root) + epsilon
    form torch, mu(i) = beta1 * (1 - 0.96^(i * momentum_decay) / 2), M = mu(1) * ... * mu(t+1):
    p = p - learning_rate * ((1 - mu(t+1)) / (1 - M) * g + mu(t+2) / (1 - M * mu(t+2)) * m) / d
    form optax: p = p - learning_rate * ((1 - beta1) / (1 - beta1^(t+1)) * g + beta1 / (1 - beta1^(t+2)) * m) / d

- `learning_rate`: step size; >= 0, must be given
- `beta1`: share of the mean that a step keeps; in [0, 1), default 0.9
- `beta2`: share of the mean square that a step keeps; in [0, 1), default 0.999
- `epsilon`: keeps the denominator from zero; >= 0, default 1e-8
- `epsilon_root`: joins the corrected mean square under the root; >= 0, default 0
- `momentum_decay`: how soon the momentum of form torch reaches beta1; >= 0, default 0.004
- `weight_decay`: times p is added to the gradient; >= 0, default 0
- `form`: torch or optax

State `exp_avg`, `exp_avg_sq`. All rules take `maximize`, `master_weights`, `state_dtype`, `stochastic_rounding`,
`seed`, `step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`, `cautious_update`,
`cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`, `center_gradients`, `average_warmup`,
`average_equal`, `average_start`, `average_every`, too.
"""
NAdam(learning_rate; options...) = NamedRule("nadam"; learning_rate = learning_rate, options...)
options(::typeof(NAdam)) = options_by_name("nadam")

@doc raw"""
    RAdam(learning_rate; beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, epsilon_root = 0, threshold = 5, weight_decay = 0,
    form = :torch, nesterov = false, options...)

Liu et al. 2020, On the Variance of the Adaptive Learning Rate; the numbers of torch and of optax.

    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g^2
    M = m / (1 - beta1^(t+1)); with nesterov beta1 * m / (1 - beta1^(t+2)) + (1 - beta1) * g / (1 - beta1^(t+1))
    R = 2 / (1 - beta2) - 1, r = R - 2 * (t+1) * beta2^(t+1) / (1 - beta2^(t+1))
    s = sqrt((r - 4) * (r - 2) * R / ((R - 4) * (R - 2) * r)) where r is above the threshold, and else p = p - learning_rate * M
    form torch: p = p - learning_rate * s * M * sqrt(1 - beta2^(t+1)) / (sqrt(v) + epsilon)
    form optax: p = p - learning_rate * s * M / (sqrt(v / (1 - beta2^(t+1)) + epsilon_root) + epsilon)

- `learning_rate`: step size; >= 0, must be given
- `beta1`: share of the mean that a step keeps; in [0, 1), default 0.9
- `beta2`: share of the mean square that a step keeps; in [0, 1), default 0.999
- `epsilon`: keeps the denominator from zero; >= 0, default 1e-8
- `epsilon_root`: joins the corrected mean square under the root; >= 0, default 0
- `threshold`: the smallest r, for form optax; torch has 5; >= 4, default 5
- `weight_decay`: times p is added to the gradient; >= 0, default 0
- `form`: torch or optax
- `nesterov`: looks one step ahead

State `exp_avg`, `exp_avg_sq`. All rules take `maximize`, `master_weights`, `state_dtype`, `stochastic_rounding`,
`seed`, `step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`, `cautious_update`,
`cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`, `center_gradients`, `average_warmup`,
`average_equal`, `average_start`, `average_every`, too.
"""
RAdam(learning_rate; options...) = NamedRule("radam"; learning_rate = learning_rate, options...)
options(::typeof(RAdam)) = options_by_name("radam")

@doc raw"""
    Adamax(learning_rate; beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0, options...)

Kingma and Ba 2015, Adam, algorithm 2; the numbers of torch and optax.

    m = beta1 * m + (1 - beta1) * g
    u = max(beta2 * u, abs(g) + epsilon)
    p = p - learning_rate / (1 - beta1^(t+1)) * m / u

- `learning_rate`: step size; >= 0, must be given
- `beta1`: share of the mean that a step keeps; in [0, 1), default 0.9
- `beta2`: share of the largest magnitude that a step keeps; in [0, 1), default 0.999
- `epsilon`: keeps the denominator from zero; >= 0, default 1e-8
- `weight_decay`: times p is added to the gradient; >= 0, default 0

State `exp_avg`, `exp_inf`. All rules take `maximize`, `master_weights`, `state_dtype`, `stochastic_rounding`, `seed`,
`step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`, `cautious_update`,
`cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`, `center_gradients`, `average_warmup`,
`average_equal`, `average_start`, `average_every`, too.
"""
Adamax(learning_rate; options...) = NamedRule("adamax"; learning_rate = learning_rate, options...)
options(::typeof(Adamax)) = options_by_name("adamax")

@doc raw"""
    Adadelta(learning_rate; rho = 0.9, epsilon = 1e-6, weight_decay = 0, options...)

Zeiler 2012, ADADELTA, algorithm 1; the numbers of torch and optax.

    v = rho * v + (1 - rho) * g^2
    d = sqrt(D + epsilon) / sqrt(v + epsilon) * g
    D = rho * D + (1 - rho) * d^2
    p = p - learning_rate * d

- `learning_rate`: step size; >= 0, must be given
- `rho`: share of both means that a step keeps; in [0, 1), default 0.9
- `epsilon`: keeps roots from zero, and lets the first steps begin; >= 0, default 1e-6
- `weight_decay`: times p is added to the gradient; >= 0, default 0

State `square_avg`, `acc_delta`. All rules take `maximize`, `master_weights`, `state_dtype`, `stochastic_rounding`,
`seed`, `step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`, `cautious_update`,
`cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`, `center_gradients`, `average_warmup`,
`average_equal`, `average_start`, `average_every`, too.
"""
Adadelta(learning_rate; options...) = NamedRule("adadelta"; learning_rate = learning_rate, options...)
options(::typeof(Adadelta)) = options_by_name("adadelta")

@doc raw"""
    Rprop(learning_rate; eta_minus = 0.5, eta_plus = 1.2, minimum_step = 1e-6, maximum_step = 50, weight_decay = 0,
    options...)

Riedmiller and Braun 1993, RPROP; the numbers of torch.

    s = -1, 0 or 1, by the signs of g and of g before
    step = clamp(step * (eta_plus if s > 0, eta_minus if s < 0, else 1), minimum_step, maximum_step)
    g = 0 where s < 0
    p = p - sign(g) * step; the first step is learning_rate

- `learning_rate`: first step size of every element; later ones are states; >= 0, must be given
- `eta_minus`: times the step size where the gradient has turned; in [0, 1), default 0.5
- `eta_plus`: times the step size where it has not; >= 1, default 1.2
- `minimum_step`: least step size; >= 0, default 1e-6
- `maximum_step`: largest step size; >= 0, default 50
- `weight_decay`: times p is added to the gradient; >= 0, default 0

State `previous_gradient`, `step_size`. All rules take `maximize`, `master_weights`, `state_dtype`,
`stochastic_rounding`, `seed`, `step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`,
`cautious_update`, `cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`,
`center_gradients`, `average_warmup`, `average_equal`, `average_start`, `average_every`, too.
"""
Rprop(learning_rate; options...) = NamedRule("rprop"; learning_rate = learning_rate, options...)
options(::typeof(Rprop)) = options_by_name("rprop")

@doc raw"""
    AdaBelief(learning_rate; beta1 = 0.9, beta2 = 0.999, epsilon = 1e-16, epsilon_root = 1e-16, weight_decay = 0,
    nesterov = false, options...)

Zhuang et al. 2020, AdaBelief; the numbers of optax.

    m = beta1 * m + (1 - beta1) * g
    s = beta2 * s + (1 - beta2) * (g - m)^2 + epsilon_root
    M = m / (1 - beta1^(t+1)); with nesterov beta1 * m / (1 - beta1^(t+2)) + (1 - beta1) * g / (1 - beta1^(t+1))
    p = p - learning_rate * M / (sqrt(s / (1 - beta2^(t+1))) + epsilon)

- `learning_rate`: step size; >= 0, must be given
- `beta1`: share of the mean that a step keeps; in [0, 1), default 0.9
- `beta2`: share of the mean squared surprise that a step keeps; in [0, 1), default 0.999
- `epsilon`: keeps the denominator from zero; >= 0, default 1e-16
- `epsilon_root`: is added to s in every step; >= 0, default 1e-16
- `weight_decay`: `learning_rate` * `weight_decay` * p is subtracted from p; >= 0, default 0
- `nesterov`: looks one step ahead

State `exp_avg`, `exp_avg_var`. All rules take `maximize`, `master_weights`, `state_dtype`, `stochastic_rounding`,
`seed`, `step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`, `cautious_update`,
`cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`, `center_gradients`, `average_warmup`,
`average_equal`, `average_start`, `average_every`, too.
"""
AdaBelief(learning_rate; options...) = NamedRule("adabelief"; learning_rate = learning_rate, options...)
options(::typeof(AdaBelief)) = options_by_name("adabelief")

@doc raw"""
    Yogi(learning_rate; beta1 = 0.9, beta2 = 0.999, epsilon = 0.001, weight_decay = 0, initial_accumulator = 1e-6,
    options...)

Zaheer et al. 2018, Adaptive Methods for Nonconvex Optimization, algorithm 2; the numbers of optax.

    m = beta1 * m + (1 - beta1) * g
    v = v - (1 - beta2) * sign(v - g^2) * g^2; both start at initial_accumulator
    p = p - learning_rate * m / (1 - beta1^(t+1)) / (sqrt(v / (1 - beta2^(t+1))) + epsilon)

- `learning_rate`: step size; >= 0, must be given
- `beta1`: share of the mean that a step keeps; in [0, 1), default 0.9
- `beta2`: 1 - beta2 of g^2 is how far v moves; in [0, 1), default 0.999
- `epsilon`: keeps the denominator from zero; >= 0, default 0.001
- `weight_decay`: `learning_rate` * `weight_decay` * p is subtracted from p; >= 0, default 0
- `initial_accumulator`: what m and v start with; >= 0, default 1e-6

State `exp_avg`, `exp_avg_sq`. All rules take `maximize`, `master_weights`, `state_dtype`, `stochastic_rounding`,
`seed`, `step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`, `cautious_update`,
`cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`, `center_gradients`, `average_warmup`,
`average_equal`, `average_start`, `average_every`, too.
"""
Yogi(learning_rate; options...) = NamedRule("yogi"; learning_rate = learning_rate, options...)
options(::typeof(Yogi)) = options_by_name("yogi")

@doc raw"""
    Adan(learning_rate; beta1 = 0.98, beta2 = 0.92, beta3 = 0.99, epsilon = 1e-8, epsilon_root = 0, weight_decay = 0,
    form = :authors, options...)

Xie et al. 2022, Adan, algorithm 1; the numbers of pytorch_optimizer and of optax.

    d = g - g before, 0 in the first step; k = beta2 for form authors, 1 - beta2 for form optax
    m = beta1 * m + (1 - beta1) * g
    D = beta2 * D + (1 - beta2) * d
    n = beta3 * n + (1 - beta3) * (g + k * d)^2
    u = m / (1 - beta1^(t+1)) + k * D / (1 - beta2^(t+1))
    p = p - learning_rate * u / (sqrt(n / (1 - beta3^(t+1)) + epsilon_root) + epsilon)

- `learning_rate`: step size; >= 0, must be given
- `beta1`: share of the mean that a step keeps; in [0, 1), default 0.98
- `beta2`: share of the mean difference that a step keeps; in [0, 1), default 0.92
- `beta3`: share of the mean square that a step keeps; in [0, 1), default 0.99
- `epsilon`: keeps the denominator from zero; >= 0, default 1e-8
- `epsilon_root`: joins the corrected mean square under the root; >= 0, default 0
- `weight_decay`: `learning_rate` * `weight_decay` * p is subtracted from p; >= 0, default 0
- `form`: authors (as `pytorch_optimizer`) or optax: what k is

State `exp_avg`, `exp_avg_diff`, `exp_avg_sq`, `previous_gradient`. All rules take `maximize`, `master_weights`,
`state_dtype`, `stochastic_rounding`, `seed`, `step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`,
`trust_ratio`, `cautious_update`, `cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`,
`center_gradients`, `average_warmup`, `average_equal`, `average_start`, `average_every`, too.
"""
Adan(learning_rate; options...) = NamedRule("adan"; learning_rate = learning_rate, options...)
options(::typeof(Adan)) = options_by_name("adan")

@doc raw"""
    AdEMAMix(learning_rate; beta1 = 0.9, beta2 = 0.999, beta3 = 0.9999, alpha = 5, epsilon = 1e-8, weight_decay = 0,
    alpha_steps = 0, beta3_steps = 0, warmup = :logarithm, options...)

Pagliardini et al. 2024, The AdEMAMix Optimizer, algorithm 1; the numbers of optax, pytorch_optimizer and NVIDIA.

    m = beta1 * m + (1 - beta1) * g
    s = B * s + (1 - B) * g
    v = beta2 * v + (1 - beta2) * g^2
    u = (m / (1 - beta1^(t+1)) + A * s) / (sqrt(v / (1 - beta2^(t+1))) + epsilon)
    p = p - learning_rate * u
    A rises from 0 to alpha in alpha_steps, B from beta1 to beta3 in beta3_steps: by their logarithms, or by half-lives

- `learning_rate`: step size; >= 0, must be given
- `beta1`: share of the fast mean that a step keeps; in [0, 1), default 0.9
- `beta2`: share of the mean square that a step keeps; in [0, 1), default 0.999
- `beta3`: share of the slow mean that a step keeps; in [0, 1), default 0.9999
- `alpha`: weight of the slow mean; >= 0, default 5
- `epsilon`: keeps the denominator from zero; >= 0, default 1e-8
- `weight_decay`: `learning_rate` * `weight_decay` * p is subtracted from p; >= 0, default 0
- `alpha_steps`: steps in which alpha rises; 0 = none; in [0, 1000000000), whole, default 0
- `beta3_steps`: steps in which beta3 rises; 0 = none; in [0, 1000000000), whole, default 0
- `warmup`: how beta3 rises. logarithm: as the paper and `pytorch_optimizer`; `half_life`: linear in it, as NVIDIA

State `exp_avg_fast`, `exp_avg_slow`, `exp_avg_sq`. All rules take `maximize`, `master_weights`, `state_dtype`,
`stochastic_rounding`, `seed`, `step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`,
`cautious_update`, `cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`,
`center_gradients`, `average_warmup`, `average_equal`, `average_start`, `average_every`, too.
"""
AdEMAMix(learning_rate; options...) = NamedRule("ademamix"; learning_rate = learning_rate, options...)
options(::typeof(AdEMAMix)) = options_by_name("ademamix")

@doc raw"""
    Adopt(learning_rate; beta1 = 0.9, beta2 = 0.9999, epsilon = 1e-6, weight_decay = 0, clipping = :optax,
    nesterov = false, options...)

Taniguchi et al. 2024, ADOPT, algorithm 2; the numbers of optax and of pytorch_optimizer.

    the first step: v = g^2, and nothing else
    u = clamp(g / max(sqrt(v), epsilon), -C, C), with the v of the step before
    C = t^(1/4) for clipping optax, (t+1)^(1/4) for pytorch_optimizer
    m = beta1 * m + (1 - beta1) * u
    v = beta2 * v + (1 - beta2) * g^2
    p = p - learning_rate * (beta1 * m + (1 - beta1) * u if nesterov else m)

- `learning_rate`: step size; >= 0, must be given
- `beta1`: share of the mean that a step keeps; in [0, 1), default 0.9
- `beta2`: share of the mean square that a step keeps; in [0, 1), default 0.9999
- `epsilon`: least denominator; >= 0, default 1e-6
- `weight_decay`: times p is added to the gradient; >= 0, default 0
- `clipping`: how u is clipped: by t as optax counts it, as `pytorch_optimizer` does, or none
- `nesterov`: looks one step ahead

State `exp_avg`, `exp_avg_sq`. All rules take `maximize`, `master_weights`, `state_dtype`, `stochastic_rounding`,
`seed`, `step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`, `cautious_update`,
`cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`, `center_gradients`, `average_warmup`,
`average_equal`, `average_start`, `average_every`, too.
"""
Adopt(learning_rate; options...) = NamedRule("adopt"; learning_rate = learning_rate, options...)
options(::typeof(Adopt)) = options_by_name("adopt")

@doc raw"""
    LaProp(learning_rate; beta1 = 0.9, beta2 = 0.999, epsilon = 1e-15, weight_decay = 0, options...)

Ziyin et al. 2020, LaProp, algorithm 1; the numbers of NVIDIA.

    v = beta2 * v + (1 - beta2) * g^2
    m = beta1 * m + (1 - beta1) * g / (sqrt(v / (1 - beta2^(t+1))) + epsilon)
    p = p - learning_rate * m / (1 - beta1^(t+1))

- `learning_rate`: step size; >= 0, must be given
- `beta1`: share of the mean that a step keeps; in [0, 1), default 0.9
- `beta2`: share of the mean square that a step keeps; in [0, 1), default 0.999
- `epsilon`: keeps the denominator from zero; >= 0, default 1e-15
- `weight_decay`: `learning_rate` * `weight_decay` * p is subtracted from p; >= 0, default 0

State `exp_avg`, `exp_avg_sq`. All rules take `maximize`, `master_weights`, `state_dtype`, `stochastic_rounding`,
`seed`, `step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`, `cautious_update`,
`cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`, `center_gradients`, `average_warmup`,
`average_equal`, `average_start`, `average_every`, too.
"""
LaProp(learning_rate; options...) = NamedRule("laprop"; learning_rate = learning_rate, options...)
options(::typeof(LaProp)) = options_by_name("laprop")

@doc raw"""
    Asgd(learning_rate; shrinkage = 0.0001, exponent = 0.75, averaging_start = 1000000, weight_decay = 0, options...)

Polyak and Juditsky 1992, Acceleration of Stochastic Approximation by Averaging; the numbers of torch.

    eta = learning_rate at first, mu = 1 / max(1, t - averaging_start)
    p = p * (1 - shrinkage * eta) - eta * g
    ax = ax + mu * (p - ax), the average of the weights
    eta = learning_rate / (1 + shrinkage * learning_rate * (t+1))^exponent, of the next step

- `learning_rate`: step size; a new one acts a step late, as in torch; >= 0, must be given
- `shrinkage`: lambda: shrinks p, and the step size with the steps; >= 0, default 0.0001
- `exponent`: alpha: how fast the step size falls; >= 0, default 0.75
- `averaging_start`: t0: steps before the average begins; >= 0, default 1000000
- `weight_decay`: times p is added to the gradient; >= 0, default 0

State ax, eta. All rules take `maximize`, `master_weights`, `state_dtype`, `stochastic_rounding`, `seed`,
`step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`, `cautious_update`,
`cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`, `center_gradients`, `average_warmup`,
`average_equal`, `average_start`, `average_every`, too.
"""
Asgd(learning_rate; options...) = NamedRule("asgd"; learning_rate = learning_rate, options...)
options(::typeof(Asgd)) = options_by_name("asgd")

@doc raw"""
    Lars(learning_rate; momentum = 0.9, trust_coefficient = 0.001, epsilon = 0, weight_decay = 0, form = :optax,
    nesterov = false, options...)

You et al. 2017, Large Batch Training of Convolutional Networks; the numbers of optax and of pytorch_optimizer.

    norms are of the tensor; r is 1 where it would be 0 or divide by 0
    u = g + weight_decay * p
    form optax: r = trust_coefficient * norm(p) / (norm(u) + epsilon)
    form pytorch_optimizer: r = trust_coefficient * norm(p) / (norm(g) + weight_decay * norm(p) + epsilon)
    m = momentum * m + rate * r * u, rate = learning_rate for form optax, 1 for pytorch_optimizer
    d = rate * r * u + momentum * m if nesterov, else m
    p = p - d for form optax, p - learning_rate * d for pytorch_optimizer

- `learning_rate`: step size; >= 0, must be given
- `momentum`: share of the momentum that a step keeps; in [0, 1), default 0.9
- `trust_coefficient`: length of a step beside that of its parameter; >= 0, default 0.001
- `epsilon`: joins the length of u; >= 0, default 0
- `weight_decay`: times p is added to the gradient; >= 0, default 0
- `form`: optax or `pytorch_optimizer`: what the ratio is, and when the learning rate multiplies
- `nesterov`: looks one step ahead

State momentum. All rules take `maximize`, `master_weights`, `state_dtype`, `stochastic_rounding`, `seed`,
`step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`, `cautious_update`,
`cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`, `center_gradients`, `average_warmup`,
`average_equal`, `average_start`, `average_every`, too.
"""
Lars(learning_rate; options...) = NamedRule("lars"; learning_rate = learning_rate, options...)
options(::typeof(Lars)) = options_by_name("lars")

@doc raw"""
    Novograd(learning_rate; beta1 = 0.9, beta2 = 0.25, epsilon = 1e-6, epsilon_root = 0, weight_decay = 0, options...)

Ginsburg et al. 2019, Stochastic Gradient Methods with Layer-wise Adaptive Moments; the numbers of optax.

    v, one number of the tensor: norm(g)^2 in the first step, then beta2 * v + (1 - beta2) * norm(g)^2
    m = beta1 * m + (g / (sqrt(v + epsilon_root) + epsilon) + weight_decay * p)
    p = p - learning_rate * m

- `learning_rate`: step size; >= 0, must be given
- `beta1`: share of the momentum that a step keeps; in [0, 1), default 0.9
- `beta2`: share of the mean squared norm that a step keeps; in [0, 1), default 0.25
- `epsilon`: keeps the denominator from zero; >= 0, default 1e-6
- `epsilon_root`: joins the mean squared norm under the root; >= 0, default 0
- `weight_decay`: times p joins the momentum; >= 0, default 0

State `exp_avg`, `squared_norm`. All rules take `maximize`, `master_weights`, `state_dtype`, `stochastic_rounding`,
`seed`, `step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`, `cautious_update`,
`cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`, `center_gradients`, `average_warmup`,
`average_equal`, `average_start`, `average_every`, too.
"""
Novograd(learning_rate; options...) = NamedRule("novograd"; learning_rate = learning_rate, options...)
options(::typeof(Novograd)) = options_by_name("novograd")

@doc raw"""
    Mars(learning_rate; beta1 = 0.95, beta2 = 0.99, gamma = 0.025, epsilon = 1e-8, weight_decay = 0, form = :adamw,
    options...)

Yuan et al. 2024, MARS: Unleashing the Power of Variance Reduction, algorithms 1 and 2; the numbers of pytorch_optimizer.

    c = g + gamma * beta1 / (1 - beta1) * (g - g before), which is 0 at first
    c = c / max(1, norm(c)), the norm of the tensor
    m = beta1 * m + (1 - beta1) * c
    form adamw: v = beta2 * v + (1 - beta2) * c^2
    p = p - learning_rate * m / (1 - beta1^(t+1)) / ((sqrt(v + 1e-15) + epsilon) / sqrt(1 - beta2^(t+1)))
    form lion: p = p - learning_rate * sign(m)

- `learning_rate`: step size; >= 0, must be given
- `beta1`: share of the mean that a step keeps; in [0, 1), default 0.95
- `beta2`: share of the mean square that a step keeps; of form adamw; in [0, 1), default 0.99
- `gamma`: how much of the gradient's change is added to it; >= 0, default 0.025
- `epsilon`: keeps the denominator from zero; of form adamw; >= 0, default 1e-8
- `weight_decay`: `learning_rate` * `weight_decay` * p is subtracted from p; >= 0, default 0
- `form`: adamw or lion: the rule that gets the gradient

State `exp_avg`, `exp_avg_sq`, `previous_gradient`. All rules take `maximize`, `master_weights`, `state_dtype`,
`stochastic_rounding`, `seed`, `step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`,
`cautious_update`, `cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`,
`center_gradients`, `average_warmup`, `average_equal`, `average_start`, `average_every`, too.
"""
Mars(learning_rate; options...) = NamedRule("mars"; learning_rate = learning_rate, options...)
options(::typeof(Mars)) = options_by_name("mars")

@doc raw"""
    Sophia(learning_rate; beta1 = 0.965, gamma = 0.01, clip_threshold = 1, epsilon = 1e-8, weight_decay = 0.0001,
    options...)

Liu et al. 2023, Sophia, algorithm 3; the numbers of optax.

    m = beta1 * m + (1 - beta1) * g
    u = m / (1 - beta1^(t+1)) / max(gamma * h, epsilon)
    p = p - learning_rate * clamp(u, -clip_threshold, clip_threshold)
    h, the state hessian, is 0 at first; the host sets it, every few steps: beta2 * h + (1 - beta2) * its estimate

- `learning_rate`: step size; >= 0, must be given
- `beta1`: share of the mean that a step keeps; in [0, 1), default 0.965
- `gamma`: scale of the curvature; >= 0, default 0.01
- `clip_threshold`: largest change of an element, beside the learning rate; >= 0, default 1
- `epsilon`: least denominator; >= 0, default 1e-8
- `weight_decay`: `learning_rate` * `weight_decay` * p is subtracted from p; >= 0, default 0.0001

State `exp_avg`, hessian. All rules take `maximize`, `master_weights`, `state_dtype`, `stochastic_rounding`, `seed`,
`step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`, `cautious_update`,
`cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`, `center_gradients`, `average_warmup`,
`average_equal`, `average_start`, `average_every`, too.
"""
Sophia(learning_rate; options...) = NamedRule("sophia"; learning_rate = learning_rate, options...)
options(::typeof(Sophia)) = options_by_name("sophia")

@doc raw"""
    ScheduleFree(learning_rate; beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_rate = 0, weight_decay = 0,
    warmup_steps = 0, weight_power = 0, rate_power = 2, inner = :adamw, waits = true, options...)

Defazio et al. 2024, The Road Less Scheduled, algorithm 1; the numbers of schedulefree, and of optax with its schedule for the weights as weight_rate.

    p is y, where gradients are taken; z = p at first; the average x = p + (1 - 1 / beta1) * (z - p)
    rate = learning_rate * min(1, (t+1) / warmup_steps); inner radam: times its rectification
    w = (t+1)^weight_power * (largest rate so far)^rate_power, c = w / (sum of all w), or 0
    v = beta2 * v + (1 - beta2) * g^2
    u = g / (sqrt(v / (1 - beta2^(t+1))) + epsilon) + weight_decay * p; inner sgd: g + weight_decay * p
    p = p + c * (z - p) - rate * (1 - beta1 * (1 - c)) * u
    z = z - rate * u

- `learning_rate`: step size; >= 0, must be given
- `beta1`: how near the gradient's place is to the average; in [0.001, 1), default 0.9
- `beta2`: share of the mean square that a step keeps; not of inner sgd; in [0, 1), default 0.999
- `epsilon`: keeps the denominator from zero; not of inner sgd; >= 0, default 1e-8
- `weight_rate`: the learning rate that steps are weighted by; 0 = `learning_rate`; >= 0, default 0
- `weight_decay`: times p joins the direction; >= 0, default 0
- `warmup_steps`: steps in which the learning rate grows from 0; in [0, 1000000000), whole, default 0
- `weight_power`: r: a step weighs (t+1)^r; >= 0, default 0
- `rate_power`: a step weighs its largest learning rate so far to this power; >= 0, default 2
- `inner`: adamw, sgd or radam: the rule that gives the direction
- `waits`: inner radam: nothing moves while the variance is unknown (`silent_sgd_phase`); default true

State z, `exp_avg_sq`, `weight_sum`, `largest_rate`. All rules take `maximize`, `master_weights`, `state_dtype`,
`stochastic_rounding`, `seed`, `step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`, `trust_ratio`,
`cautious_update`, `cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`,
`center_gradients`, `average_warmup`, `average_equal`, `average_start`, `average_every`, too.
"""
ScheduleFree(learning_rate; options...) = NamedRule("schedule_free"; learning_rate = learning_rate, options...)
options(::typeof(ScheduleFree)) = options_by_name("schedule_free")

@doc raw"""
    Prodigy(learning_rate; beta1 = 0.9, beta2 = 0.999, beta3 = 0, epsilon = 1e-8, weight_decay = 0, d0 = 1e-6,
    d_factor = 1, d_growth = 1e300, bias_correction = false, safeguard_warmup = false, options...)

Mishchenko and Defazio 2023, Prodigy, algorithm 3; the numbers of prodigyopt, and of optax with bias_correction.

    one d of all parameters, d0 at first; p0 = p at first; r = d * learning_rate, corrected where asked for
    N = beta3 * N + d / d0 * r * sum((p0 - p) * g)
    s = beta3 * s + d / d0 * r * g, with safeguard_warmup d / d0 * d * g
    m = beta1 * m + (1 - beta1) * d * g
    v = beta2 * v + (1 - beta2) * (d * g)^2
    D = d_factor * N / sum(abs(s)); d = max(d, D) while it is d0; d = min(largest D so far, d * d_growth)
    p = p - r * (m / (sqrt(v) + d * epsilon) + weight_decay * p), with the new d
    a step in which all s are 0 changes nothing and does not count as one

- `learning_rate`: step size, beside the distance d; 1 is usual; >= 0, must be given
- `beta1`: share of the mean that a step keeps; in [0, 1), default 0.9
- `beta2`: share of the mean square that a step keeps; in [0, 1), default 0.999
- `beta3`: share of the estimate of d that a step keeps; 0 = sqrt(beta2); in [0, 1), default 0
- `epsilon`: d * epsilon keeps the denominator from zero; >= 0, default 1e-8
- `weight_decay`: d * `learning_rate` * `weight_decay` * p is subtracted from p; >= 0, default 0
- `d0`: the distance at first; >= 1e-30, default 1e-6
- `d_factor`: times the estimate of the distance; >= 0, default 1
- `d_growth`: d grows at most by this factor in a step; >= 1, default 1e300
- `bias_correction`: the learning rate is times sqrt(1 - beta2^k) / (1 - beta1^k)
- `safeguard_warmup`: the learning rate does not join the denominator of the estimate

State `exp_avg`, `exp_avg_sq`, s, p0, d, `d_max`, `d_numerator`, `d_steps`. All rules take `maximize`, `master_weights`,
`state_dtype`, `stochastic_rounding`, `seed`, `step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`,
`trust_ratio`, `cautious_update`, `cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`,
`center_gradients`, `average_warmup`, `average_equal`, `average_start`, `average_every`, too.
"""
Prodigy(learning_rate; options...) = NamedRule("prodigy"; learning_rate = learning_rate, options...)
options(::typeof(Prodigy)) = options_by_name("prodigy")

@doc raw"""
    DadaptAdam(learning_rate; beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0, d0 = 1e-6, d_growth = 1e300,
    bias_correction = false, options...)

Defazio and Mishchenko 2023, Learning-Rate-Free Learning by D-Adaptation, algorithm 5; the numbers of pytorch_optimizer, and of optax with bias_correction.

    one d of all parameters, d0 at first; r = d * learning_rate, corrected where asked for; b = sqrt(beta2)
    N = b * N + (1 - b) * r * sum(g * s / (sqrt(v) + epsilon)), with s and v of the step before
    m = beta1 * m + (1 - beta1) * r * g
    v = beta2 * v + (1 - beta2) * g^2
    s = b * s + (1 - b) * r * g
    D = N / ((1 - b) * sum(abs(s))); d = max(d, min(D, d * d_growth))
    p = p - m / (sqrt(v) + epsilon) - r * weight_decay * p
    a step in which all s are 0 changes nothing and does not count as one

- `learning_rate`: step size, beside the distance d; 1 is usual; >= 0, must be given
- `beta1`: share of the mean that a step keeps; in [0, 1), default 0.9
- `beta2`: share of the mean square that a step keeps; in [0, 1), default 0.999
- `epsilon`: keeps the denominator from zero; >= 0, default 1e-8
- `weight_decay`: d * `learning_rate` * `weight_decay` * p is subtracted from p; >= 0, default 0
- `d0`: the distance at first; >= 1e-30, default 1e-6
- `d_growth`: d grows at most by this factor in a step; >= 1, default 1e300
- `bias_correction`: the learning rate is times sqrt(1 - beta2^k) / (1 - beta1^k)

State `exp_avg`, `exp_avg_sq`, s, d, `d_numerator`, `d_steps`. All rules take `maximize`, `master_weights`,
`state_dtype`, `stochastic_rounding`, `seed`, `step_counting`, `average_decay`, `decay_mode`, `peak_learning_rate`,
`trust_ratio`, `cautious_update`, `cautious_decay`, `adaptive_clip`, `adaptive_clip_epsilon`, `adaptive_clip_units`,
`center_gradients`, `average_warmup`, `average_equal`, `average_start`, `average_every`, too.
"""
DadaptAdam(learning_rate; options...) = NamedRule("dadapt_adam"; learning_rate = learning_rate, options...)
options(::typeof(DadaptAdam)) = options_by_name("dadapt_adam")

@doc raw"""
    Adafactor(learning_rate; momentum = 0, weight_decay = 0, decay_exponent = 0.8, epsilon = 1e-30, least_scale = 0.001,
    clip_threshold = 1, min_factored = 128, form = :torch, scales_by_parameter = true, factored = true, options...)

Shazeer and Stern 2018, Adafactor: Adaptive Learning Rates with Sublinear Memory Cost, algorithms 4 and 5; the numbers of torch and of optax.

    b = 1 - (t+1)^-decay_exponent; rms: the root mean square of a tensor
    r = b * r + (1 - b) * mean(g^2) over each row, c likewise over each column, v = r * c / mean(r)
    tensors without factors: v = b * v + (1 - b) * g^2
    u = g / sqrt(v), u = u / max(1, rms(u) / clip_threshold)
    rate = learning_rate for form optax, min(learning_rate, 1 / sqrt(t+1)) for torch
    d = rate * max(rms(p), least_scale) * u; with momentum m = momentum * m + (1 - momentum) * d, d = m
    p = p - d

- `learning_rate`: step size, beside the length of p; >= 0, must be given
- `momentum`: share of the mean change that a step keeps; in [0, 1), default 0
- `weight_decay`: `learning_rate` * `weight_decay` * p is subtracted from p; >= 0, default 0
- `decay_exponent`: a step takes (t+1)^-`decay_exponent` of the mean squares anew; >= 0, default 0.8
- `epsilon`: form torch: least denominator; form optax: joins the squares; >= 1e-300, default 1e-30
- `least_scale`: least root mean square of p that counts; >= 0, default 0.001
- `clip_threshold`: largest root mean square of a direction; 0 = any; >= 0, default 1
- `min_factored`: form optax: least length of the shorter factored axis; in [0, 1000000000), whole, default 128
- `form`: torch or optax: which axes are factored, what epsilon does, and what bounds the rate
- `scales_by_parameter`: steps are in proportion to the length of p; default true
- `factored`: matrices keep mean squares of rows and columns alone; default true

State of a tensor as a whole: `row_variance` and `column_variance` of factored tensors, a number for each row and
column; variance, one for each element, of others; momentum, one for each element, unless it is the constant 0. All
rules take `maximize`, `master_weights`, `state_dtype`, `stochastic_rounding`, `seed`, `step_counting`, `average_decay`,
`decay_mode`, `peak_learning_rate`, `trust_ratio`, `cautious_update`, `cautious_decay`, `adaptive_clip`,
`adaptive_clip_epsilon`, `adaptive_clip_units`, `center_gradients`, `average_warmup`, `average_equal`, `average_start`,
`average_every`, too.
"""
Adafactor(learning_rate; options...) = NamedRule("adafactor"; learning_rate = learning_rate, options...)
options(::typeof(Adafactor)) = options_by_name("adafactor")

@doc raw"""
    Dion(learning_rate; momentum = 0.95, weight_decay = 0, rank = 0, rank_fraction = 1, epsilon = 1e-8,
    form = :reference, options...)

Ahn et al. 2025, Dion: Distributed Orthonormalized Updates (arXiv 2504.05295), algorithm 1; the numbers of dion_reference and of dion_simple of microsoft/dion.

    m = m + g, rows by the first axis, columns by all others
    P = the orthonormal basis of m Q, R = m^T P
    m = m - (1 - momentum) * P R^T
    Q = R / (lengths of its columns + epsilon)
    p = p - learning_rate * sqrt(rows / columns) * P Q^T; every parameter needs 2 axes or more

- `learning_rate`: step size; >= 0, must be given
- `momentum`: share of P R^T that stays in m; in [0, 1), default 0.95
- `weight_decay`: `learning_rate` * `weight_decay` * p is subtracted from p; >= 0, default 0
- `rank`: columns of Q, at most the shorter side of the matrix; 0: by `rank_fraction`; in [0, 1000000000), whole, default 0
- `rank_fraction`: columns of Q in shares of the shorter side, rounded up; >= 0, default 1
- `epsilon`: added to the lengths that columns of R are divided by; >= 0, default 1e-8
- `form`: reference: wide matrices are transposed; where a column of R is zero, that of Q stays (`dion_reference`); simple: never transposed; where a column of R is zero, that of Q becomes zero; a zero column of P becomes one of the identity (`dion_simple`)

State of a tensor as a whole: momentum, in the parameter's shape; Q, a row of `columns` numbers for each of its columns
(of `rows` numbers where the matrix is transposed), which begins with random numbers by the parameter's name. All rules
take `maximize`, `master_weights`, `state_dtype`, `stochastic_rounding`, `seed`, `step_counting`, `average_decay`,
`decay_mode`, `peak_learning_rate`, `trust_ratio`, `cautious_update`, `cautious_decay`, `adaptive_clip`,
`adaptive_clip_epsilon`, `adaptive_clip_units`, `center_gradients`, `average_warmup`, `average_equal`, `average_start`,
`average_every`, too.
"""
Dion(learning_rate; options...) = NamedRule("dion"; learning_rate = learning_rate, options...)
options(::typeof(Dion)) = options_by_name("dion")
