// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// rule_options.hpp: the options of rules that C makes by name. Fields are given by designated initialisers, in their
// order. Each of these is a GroupRule where one is wanted:
//
//     Optimizer lion(context, LionOptions{.learning_rate = 1e-4}, schema);
//     auto both = Optimizer::by_group(context, {LionOptions{.learning_rate = 1e-4}, GroupRule{"adam", {...}}}, schema);
//
// Written by scripts/generate from src/rules.
#pragma once

#include <gradstep/optimizer.hpp>
#include <gradstep/options.hpp>
#include <limits>
#include <string>
#include <type_traits>

namespace gradstep::inline cpp_v0 {

namespace detail {

/// In place of a number that must be given: the library refuses it.
inline constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();

template <class T>
RuleOption option(const char* name, T value) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return {name, std::to_string(value)};
  } else {
    return {name, static_cast<double>(value)};
  }
}

}  // namespace detail

/// adamw. Source: Kingma and Ba 2015, algorithm 1; AdamW: Loshchilov and Hutter 2019; AMSGrad: Reddi, Kale and Kumar
/// 2018. Adam with decoupled_weight_decay.
///
///     m = beta1 * m + (1 - beta1) * g
///     v = beta2 * v + (1 - beta2) * g^2
///     standard: p = p - learning_rate * (m / (1 - beta1^(t+1))) / (sqrt(v / (1 - beta2^(t+1))) + epsilon)
///     tf: p = p - learning_rate * sqrt(1 - beta2^(t+1)) / (1 - beta1^(t+1)) * m / (sqrt(v) + epsilon)
///
/// State exp_avg, exp_avg_sq, max_exp_avg_sq.
struct AdamWOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double beta1 = 0.9;                        ///< share of the mean that a step keeps; in [0, 1), default 0.9
  double beta2 = 0.999;                      ///< share of the mean square that a step keeps; in [0, 1), default 0.999
  double epsilon = 1e-8;                     ///< keeps the denominator from zero; >= 0, default 1e-8
  double weight_decay = 0;  ///< times p is added to the gradient, or see decoupled_weight_decay; >= 0, default 0
  BiasCorrection bias_correction =
      BiasCorrection::kStandard;       ///< tf: epsilon joins sqrt(v) before the correction (TensorFlow, Lingvo)
  bool decoupled_weight_decay = true;  ///< subtracts learning_rate * weight_decay * p instead (AdamW); default true
  bool amsgrad = false;                ///< puts the largest v so far under the root
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"adamw",
            {detail::option("learning_rate", learning_rate),
             detail::option("beta1", beta1),
             detail::option("beta2", beta2),
             detail::option("epsilon", epsilon),
             detail::option("weight_decay", weight_decay),
             detail::option("bias_correction", bias_correction),
             detail::option("decoupled_weight_decay", decoupled_weight_decay),
             detail::option("amsgrad", amsgrad),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

/// lion. Source: Chen et al. 2023, Symbolic Discovery of Optimization Algorithms, algorithm 2; the numbers of optax.
///
///     u = sign(beta1 * m + (1 - beta1) * g), where sign(0) = 0
///     m = beta2 * m + (1 - beta2) * g
///     p = p - learning_rate * u
///
/// State exp_avg.
struct LionOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double beta1 = 0.9;                        ///< share of the momentum in the direction; in [0, 1), default 0.9
  double beta2 = 0.99;                       ///< share of the momentum that a step keeps; in [0, 1), default 0.99
  double weight_decay = 0;                   ///< learning_rate * weight_decay * p is subtracted from p; >= 0, default 0
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"lion",
            {detail::option("learning_rate", learning_rate),
             detail::option("beta1", beta1),
             detail::option("beta2", beta2),
             detail::option("weight_decay", weight_decay),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

/// lamb. Source: You et al. 2020, Large Batch Optimization for Deep Learning, algorithm 2; the numbers of optax.
///
///     m = beta1 * m + (1 - beta1) * g
///     v = beta2 * v + (1 - beta2) * g^2
///     u = m / (1 - beta1^(t+1)) / (sqrt(v / (1 - beta2^(t+1)) + epsilon_root) + epsilon) + weight_decay * p
///     p = p - learning_rate * norm(p) / norm(u) * u, or without the ratio where a norm is 0; norms of the tensor
///
/// State exp_avg, exp_avg_sq.
struct LambOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double beta1 = 0.9;                        ///< share of the mean that a step keeps; in [0, 1), default 0.9
  double beta2 = 0.999;                      ///< share of the mean square that a step keeps; in [0, 1), default 0.999
  double epsilon = 1e-6;                     ///< keeps the denominator from zero; >= 0, default 1e-6
  double epsilon_root = 0;                   ///< joins the corrected mean square under the root; >= 0, default 0
  double weight_decay = 0;                   ///< times p is added to u; >= 0, default 0
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"lamb",
            {detail::option("learning_rate", learning_rate),
             detail::option("beta1", beta1),
             detail::option("beta2", beta2),
             detail::option("epsilon", epsilon),
             detail::option("epsilon_root", epsilon_root),
             detail::option("weight_decay", weight_decay),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

enum class MuonMomentumForm : std::int32_t { kAverage = 0, kSum = 1, kCorrected = 2 };

enum class MuonStepScale : std::int32_t { kShape = 0, kRms = 1, kSpectral = 2, kLargest = 3, kKernel = 4, kNone = 5 };

enum class MuonCoefficients : std::int32_t {
  kSimple = 0,
  kQuintic = 1,
  kPolarExpress = 2,
  kPolarExpressNvidia = 3,
  kCans = 4,
  kAol = 5,
  kDeepseekv4 = 6,
  kCubic = 7,
  kOwn = 8
};

enum class MuonNormalizer : std::int32_t { kAdd = 0, kMax = 1, kSafe = 2 };

enum class MuonVariance : std::int32_t { kNone = 0, kRows = 1, kLonger = 2, kElements = 3 };

enum class MuonVarianceFloor : std::int32_t { kAdd = 0, kMax = 1 };

enum class MuonVarianceLength : std::int32_t { kKept = 0, kFree = 1, kFull = 2 };

enum class MuonProductPrecision : std::int32_t { kF32 = 0, kBf16 = 1 };

enum class MuonIterate : std::int32_t { kMatrix = 0, kGram = 1 };

/// muon. Source: Jordan et al. 2024, Muon; options where KellerJordan/Muon, torch, Moonlight, dion, NVIDIA and optax
/// differ, the numbers of each. Li et al. 2025, NorMuon; Si et al. 2025, AdaMuon: the option variance.
///
///     m = momentum * m + (1 - momentum) * g
///     u = (1 - momentum) * g + momentum * m if nesterov else m
///     o = orthogonalize(u) of the first axis against all others
///     with variance: v = variance_beta * v + (1 - variance_beta) * mean(o^2), o = o / (sqrt(v) + variance_epsilon),
///     scaled by variance_length p = p - learning_rate * scale_factor * step_scale * o; every parameter needs 2 axes or
///     more
///
/// State momentum_buffer. State of a tensor as a whole: with variance: variance, a number for each row, for each place
/// of the longer axis, or for each element.
struct MuonOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double momentum = 0.95;                    ///< share of the momentum that a step keeps; in [0, 1), default 0.95
  double variance_beta = 0.95;               ///< share of the variance that a step keeps; in [0, 1), default 0.95
  double weight_decay = 0;                   ///< learning_rate * weight_decay * p is subtracted from p; >= 0, default 0
  double iterations = 5;                     ///< Newton-Schulz iterations; in [1, 101), whole, default 5
  double epsilon = 1e-7;           ///< keeps the norm that a matrix is divided by from zero; >= 0, default 1e-7
  double scale_factor = 1;         ///< multiplies what step_scale says; >= 0, default 1
  double coefficient_a = 3.4445;   ///< for coefficients = own: X = a X + (b A + c A^2) X, A = X X^T; default 3.4445
  double coefficient_b = -4.775;   ///< likewise; default -4.775
  double coefficient_c = 2.0315;   ///< likewise; default 2.0315
  double variance_epsilon = 1e-8;  ///< keeps the root of the variance from zero; >= 0, default 1e-8
  double gram_restart_every = 3;  ///< for iterate = gram: X is made anew before iterations n, 2 n, ..., counted from 1;
                                  ///< a large n makes products in bf16 fail; in [1, 21), whole, default 3
  MuonMomentumForm momentum_form =
      MuonMomentumForm::kAverage;  ///< average: m = momentum * m + (1 - momentum) * g (KellerJordan, torch, NVIDIA);
                                   ///< sum: m = momentum * m + g (Moonlight, dion); corrected: the average, corrected
                                   ///< for its bias (optax)
  bool nesterov = true;            ///< looks one step ahead; default true
  MuonStepScale step_scale =
      MuonStepScale::kShape;  ///< shape: sqrt(max(1, rows / columns)) (KellerJordan, torch); rms: 0.2 sqrt(max(rows,
                              ///< columns)) (Moonlight, torch); spectral: sqrt(rows / columns) (dion, torch, NVIDIA);
                              ///< largest: sqrt(max(rows, columns)) (NVIDIA); kernel: sqrt(max(1, columns / rows)), for
                              ///< weights of inputs x outputs (optax); none: 1
  MuonCoefficients coefficients = MuonCoefficients::kSimple;  ///< the Newton-Schulz iterations' numbers
  MuonNormalizer normalizer = MuonNormalizer::kAdd;  ///< what a matrix is divided by first. add: norm + epsilon; max:
                                                     ///< max(norm, epsilon); safe: 1.02 norm + epsilon
  MuonVariance variance = MuonVariance::kNone;  ///< what o is divided by the root of: a mean square of each of the rows
                                                ///< (NorMuon: dion, pytorch_optimizer), of the longer axis (NorMuon:
                                                ///< NVIDIA), of the elements (AdaMuon); kept as the state variance
  MuonVarianceFloor variance_floor =
      MuonVarianceFloor::kAdd;  ///< add: sqrt(v) + variance_epsilon; max: sqrt(max(v, variance_epsilon))
  MuonVarianceLength variance_length =
      MuonVarianceLength::kKept;  ///< how long o is then. kept: as before (NorMuon); free: as it comes (AdaMuon:
                                  ///< NVIDIA); full: sqrt(min(rows, columns)), with v / (1 - variance_beta^(t+1))
                                  ///< (AdaMuon: pytorch_optimizer)
  MuonProductPrecision product_precision =
      MuonProductPrecision::kF32;  ///< precision of the Newton-Schulz iterations. f32: that of the arithmetic type;
                                   ///< bf16: iterates are rounded to it, and products sum in f32 (NVIDIA, KellerJordan,
                                   ///< torch), in bits that depend on the processor
  MuonIterate iterate =
      MuonIterate::kMatrix;  ///< what the Newton-Schulz iterations change. matrix: X; gram: X X^T and a matrix by which
                             ///< X is multiplied at the end, which takes fewer operations (Zhang et al. 2026, Gram
                             ///< Newton-Schulz); as matrix where one axis is less than 1.5 times the other
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"muon",
            {detail::option("learning_rate", learning_rate),
             detail::option("momentum", momentum),
             detail::option("variance_beta", variance_beta),
             detail::option("weight_decay", weight_decay),
             detail::option("iterations", iterations),
             detail::option("epsilon", epsilon),
             detail::option("scale_factor", scale_factor),
             detail::option("coefficient_a", coefficient_a),
             detail::option("coefficient_b", coefficient_b),
             detail::option("coefficient_c", coefficient_c),
             detail::option("variance_epsilon", variance_epsilon),
             detail::option("gram_restart_every", gram_restart_every),
             detail::option("momentum_form", momentum_form),
             detail::option("nesterov", nesterov),
             detail::option("step_scale", step_scale),
             detail::option("coefficients", coefficients),
             detail::option("normalizer", normalizer),
             detail::option("variance", variance),
             detail::option("variance_floor", variance_floor),
             detail::option("variance_length", variance_length),
             detail::option("product_precision", product_precision),
             detail::option("iterate", iterate),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

/// signum. Source: Bernstein et al. 2018, signSGD; the numbers of optax, with nesterov those of NVIDIA.
///
///     m = momentum * m + (1 - momentum) * g
///     u = m; with nesterov momentum * m / (1 - momentum^(t+2)) + (1 - momentum) * g / (1 - momentum^(t+1))
///     p = p - learning_rate * sign(u), where sign(0) = 0; without momentum sign(g)
///
/// State momentum_buffer.
struct SignumOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double momentum = 0.9;    ///< share of the momentum that a step keeps; 0: signSGD; in [0, 1), default 0.9
  double weight_decay = 0;  ///< learning_rate * weight_decay * p is subtracted from p; >= 0, default 0
  bool nesterov = false;    ///< looks one step ahead
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"signum",
            {detail::option("learning_rate", learning_rate),
             detail::option("momentum", momentum),
             detail::option("weight_decay", weight_decay),
             detail::option("nesterov", nesterov),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

enum class NAdamForm : std::int32_t { kTorch = 0, kOptax = 1 };

/// nadam. Source: Dozat 2016, Incorporating Nesterov Momentum into Adam; the numbers of torch and of optax, which
/// differ.
///
///     m = beta1 * m + (1 - beta1) * g
///     v = beta2 * v + (1 - beta2) * g^2
///     d = sqrt(v / (1 - beta2^(t+1)) + epsilon_root) + epsilon
///     form torch, mu(i) = beta1 * (1 - 0.96^(i * momentum_decay) / 2), M = mu(1) * ... * mu(t+1):
///     p = p - learning_rate * ((1 - mu(t+1)) / (1 - M) * g + mu(t+2) / (1 - M * mu(t+2)) * m) / d
///     form optax: p = p - learning_rate * ((1 - beta1) / (1 - beta1^(t+1)) * g + beta1 / (1 - beta1^(t+2)) * m) / d
///
/// State exp_avg, exp_avg_sq.
struct NAdamOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double beta1 = 0.9;                        ///< share of the mean that a step keeps; in [0, 1), default 0.9
  double beta2 = 0.999;                      ///< share of the mean square that a step keeps; in [0, 1), default 0.999
  double epsilon = 1e-8;                     ///< keeps the denominator from zero; >= 0, default 1e-8
  double epsilon_root = 0;                   ///< joins the corrected mean square under the root; >= 0, default 0
  double momentum_decay = 0.004;             ///< how soon the momentum of form torch reaches beta1; >= 0, default 0.004
  double weight_decay = 0;                   ///< times p is added to the gradient; >= 0, default 0
  NAdamForm form = NAdamForm::kTorch;        ///< torch or optax
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"nadam",
            {detail::option("learning_rate", learning_rate),
             detail::option("beta1", beta1),
             detail::option("beta2", beta2),
             detail::option("epsilon", epsilon),
             detail::option("epsilon_root", epsilon_root),
             detail::option("momentum_decay", momentum_decay),
             detail::option("weight_decay", weight_decay),
             detail::option("form", form),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

enum class RAdamForm : std::int32_t { kTorch = 0, kOptax = 1 };

/// radam. Source: Liu et al. 2020, On the Variance of the Adaptive Learning Rate; the numbers of torch and of optax.
///
///     m = beta1 * m + (1 - beta1) * g
///     v = beta2 * v + (1 - beta2) * g^2
///     M = m / (1 - beta1^(t+1)); with nesterov beta1 * m / (1 - beta1^(t+2)) + (1 - beta1) * g / (1 - beta1^(t+1))
///     R = 2 / (1 - beta2) - 1, r = R - 2 * (t+1) * beta2^(t+1) / (1 - beta2^(t+1))
///     s = sqrt((r - 4) * (r - 2) * R / ((R - 4) * (R - 2) * r)) where r is above the threshold, and else p = p -
///     learning_rate * M form torch: p = p - learning_rate * s * M * sqrt(1 - beta2^(t+1)) / (sqrt(v) + epsilon) form
///     optax: p = p - learning_rate * s * M / (sqrt(v / (1 - beta2^(t+1)) + epsilon_root) + epsilon)
///
/// State exp_avg, exp_avg_sq.
struct RAdamOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double beta1 = 0.9;                        ///< share of the mean that a step keeps; in [0, 1), default 0.9
  double beta2 = 0.999;                      ///< share of the mean square that a step keeps; in [0, 1), default 0.999
  double epsilon = 1e-8;                     ///< keeps the denominator from zero; >= 0, default 1e-8
  double epsilon_root = 0;                   ///< joins the corrected mean square under the root; >= 0, default 0
  double threshold = 5;                      ///< the smallest r, for form optax; torch has 5; >= 4, default 5
  double weight_decay = 0;                   ///< times p is added to the gradient; >= 0, default 0
  RAdamForm form = RAdamForm::kTorch;        ///< torch or optax
  bool nesterov = false;                     ///< looks one step ahead
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"radam",
            {detail::option("learning_rate", learning_rate),
             detail::option("beta1", beta1),
             detail::option("beta2", beta2),
             detail::option("epsilon", epsilon),
             detail::option("epsilon_root", epsilon_root),
             detail::option("threshold", threshold),
             detail::option("weight_decay", weight_decay),
             detail::option("form", form),
             detail::option("nesterov", nesterov),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

/// adamax. Source: Kingma and Ba 2015, Adam, algorithm 2; the numbers of torch and optax.
///
///     m = beta1 * m + (1 - beta1) * g
///     u = max(beta2 * u, abs(g) + epsilon)
///     p = p - learning_rate / (1 - beta1^(t+1)) * m / u
///
/// State exp_avg, exp_inf.
struct AdamaxOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double beta1 = 0.9;                        ///< share of the mean that a step keeps; in [0, 1), default 0.9
  double beta2 = 0.999;     ///< share of the largest magnitude that a step keeps; in [0, 1), default 0.999
  double epsilon = 1e-8;    ///< keeps the denominator from zero; >= 0, default 1e-8
  double weight_decay = 0;  ///< times p is added to the gradient; >= 0, default 0
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"adamax",
            {detail::option("learning_rate", learning_rate),
             detail::option("beta1", beta1),
             detail::option("beta2", beta2),
             detail::option("epsilon", epsilon),
             detail::option("weight_decay", weight_decay),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

/// adadelta. Source: Zeiler 2012, ADADELTA, algorithm 1; the numbers of torch and optax.
///
///     v = rho * v + (1 - rho) * g^2
///     d = sqrt(D + epsilon) / sqrt(v + epsilon) * g
///     D = rho * D + (1 - rho) * d^2
///     p = p - learning_rate * d
///
/// State square_avg, acc_delta.
struct AdadeltaOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double rho = 0.9;                          ///< share of both means that a step keeps; in [0, 1), default 0.9
  double epsilon = 1e-6;    ///< keeps roots from zero, and lets the first steps begin; >= 0, default 1e-6
  double weight_decay = 0;  ///< times p is added to the gradient; >= 0, default 0
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"adadelta",
            {detail::option("learning_rate", learning_rate),
             detail::option("rho", rho),
             detail::option("epsilon", epsilon),
             detail::option("weight_decay", weight_decay),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

/// rprop. Source: Riedmiller and Braun 1993, RPROP; the numbers of torch.
///
///     s = -1, 0 or 1, by the signs of g and of g before
///     step = clamp(step * (eta_plus if s > 0, eta_minus if s < 0, else 1), minimum_step, maximum_step)
///     g = 0 where s < 0
///     p = p - sign(g) * step; the first step is learning_rate
///
/// State previous_gradient, step_size.
struct RpropOptions {
  double learning_rate =
      detail::kNotGiven;       ///< first step size of every element; later ones are states; >= 0, must be given
  double eta_minus = 0.5;      ///< times the step size where the gradient has turned; in [0, 1), default 0.5
  double eta_plus = 1.2;       ///< times the step size where it has not; >= 1, default 1.2
  double minimum_step = 1e-6;  ///< least step size; >= 0, default 1e-6
  double maximum_step = 50;    ///< largest step size; >= 0, default 50
  double weight_decay = 0;     ///< times p is added to the gradient; >= 0, default 0
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"rprop",
            {detail::option("learning_rate", learning_rate),
             detail::option("eta_minus", eta_minus),
             detail::option("eta_plus", eta_plus),
             detail::option("minimum_step", minimum_step),
             detail::option("maximum_step", maximum_step),
             detail::option("weight_decay", weight_decay),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

/// adabelief. Source: Zhuang et al. 2020, AdaBelief; the numbers of optax.
///
///     m = beta1 * m + (1 - beta1) * g
///     s = beta2 * s + (1 - beta2) * (g - m)^2 + epsilon_root
///     M = m / (1 - beta1^(t+1)); with nesterov beta1 * m / (1 - beta1^(t+2)) + (1 - beta1) * g / (1 - beta1^(t+1))
///     p = p - learning_rate * M / (sqrt(s / (1 - beta2^(t+1))) + epsilon)
///
/// State exp_avg, exp_avg_var.
struct AdaBeliefOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double beta1 = 0.9;                        ///< share of the mean that a step keeps; in [0, 1), default 0.9
  double beta2 = 0.999;         ///< share of the mean squared surprise that a step keeps; in [0, 1), default 0.999
  double epsilon = 1e-16;       ///< keeps the denominator from zero; >= 0, default 1e-16
  double epsilon_root = 1e-16;  ///< is added to s in every step; >= 0, default 1e-16
  double weight_decay = 0;      ///< learning_rate * weight_decay * p is subtracted from p; >= 0, default 0
  bool nesterov = false;        ///< looks one step ahead
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"adabelief",
            {detail::option("learning_rate", learning_rate),
             detail::option("beta1", beta1),
             detail::option("beta2", beta2),
             detail::option("epsilon", epsilon),
             detail::option("epsilon_root", epsilon_root),
             detail::option("weight_decay", weight_decay),
             detail::option("nesterov", nesterov),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

/// yogi. Source: Zaheer et al. 2018, Adaptive Methods for Nonconvex Optimization, algorithm 2; the numbers of optax.
///
///     m = beta1 * m + (1 - beta1) * g
///     v = v - (1 - beta2) * sign(v - g^2) * g^2; both start at initial_accumulator
///     p = p - learning_rate * m / (1 - beta1^(t+1)) / (sqrt(v / (1 - beta2^(t+1))) + epsilon)
///
/// State exp_avg, exp_avg_sq.
struct YogiOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double beta1 = 0.9;                        ///< share of the mean that a step keeps; in [0, 1), default 0.9
  double beta2 = 0.999;                      ///< 1 - beta2 of g^2 is how far v moves; in [0, 1), default 0.999
  double epsilon = 0.001;                    ///< keeps the denominator from zero; >= 0, default 0.001
  double weight_decay = 0;                   ///< learning_rate * weight_decay * p is subtracted from p; >= 0, default 0
  double initial_accumulator = 1e-6;         ///< what m and v start with; >= 0, default 1e-6
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"yogi",
            {detail::option("learning_rate", learning_rate),
             detail::option("beta1", beta1),
             detail::option("beta2", beta2),
             detail::option("epsilon", epsilon),
             detail::option("weight_decay", weight_decay),
             detail::option("initial_accumulator", initial_accumulator),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

enum class AdanForm : std::int32_t { kAuthors = 0, kOptax = 1 };

/// adan. Source: Xie et al. 2022, Adan, algorithm 1; the numbers of pytorch_optimizer and of optax.
///
///     d = g - g before, 0 in the first step; k = beta2 for form authors, 1 - beta2 for form optax
///     m = beta1 * m + (1 - beta1) * g
///     D = beta2 * D + (1 - beta2) * d
///     n = beta3 * n + (1 - beta3) * (g + k * d)^2
///     u = m / (1 - beta1^(t+1)) + k * D / (1 - beta2^(t+1))
///     p = p - learning_rate * u / (sqrt(n / (1 - beta3^(t+1)) + epsilon_root) + epsilon)
///
/// State exp_avg, exp_avg_diff, exp_avg_sq, previous_gradient.
struct AdanOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double beta1 = 0.98;                       ///< share of the mean that a step keeps; in [0, 1), default 0.98
  double beta2 = 0.92;                 ///< share of the mean difference that a step keeps; in [0, 1), default 0.92
  double beta3 = 0.99;                 ///< share of the mean square that a step keeps; in [0, 1), default 0.99
  double epsilon = 1e-8;               ///< keeps the denominator from zero; >= 0, default 1e-8
  double epsilon_root = 0;             ///< joins the corrected mean square under the root; >= 0, default 0
  double weight_decay = 0;             ///< learning_rate * weight_decay * p is subtracted from p; >= 0, default 0
  AdanForm form = AdanForm::kAuthors;  ///< authors (as pytorch_optimizer) or optax: what k is
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"adan",
            {detail::option("learning_rate", learning_rate),
             detail::option("beta1", beta1),
             detail::option("beta2", beta2),
             detail::option("beta3", beta3),
             detail::option("epsilon", epsilon),
             detail::option("epsilon_root", epsilon_root),
             detail::option("weight_decay", weight_decay),
             detail::option("form", form),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

enum class AdEMAMixWarmup : std::int32_t { kLogarithm = 0, kHalfLife = 1 };

/// ademamix. Source: Pagliardini et al. 2024, The AdEMAMix Optimizer, algorithm 1; the numbers of optax,
/// pytorch_optimizer and NVIDIA.
///
///     m = beta1 * m + (1 - beta1) * g
///     s = B * s + (1 - B) * g
///     v = beta2 * v + (1 - beta2) * g^2
///     u = (m / (1 - beta1^(t+1)) + A * s) / (sqrt(v / (1 - beta2^(t+1))) + epsilon)
///     p = p - learning_rate * u
///     A rises from 0 to alpha in alpha_steps, B from beta1 to beta3 in beta3_steps: by their logarithms, or by
///     half-lives
///
/// State exp_avg_fast, exp_avg_slow, exp_avg_sq.
struct AdEMAMixOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double beta1 = 0.9;                        ///< share of the fast mean that a step keeps; in [0, 1), default 0.9
  double beta2 = 0.999;                      ///< share of the mean square that a step keeps; in [0, 1), default 0.999
  double beta3 = 0.9999;                     ///< share of the slow mean that a step keeps; in [0, 1), default 0.9999
  double alpha = 5;                          ///< weight of the slow mean; >= 0, default 5
  double epsilon = 1e-8;                     ///< keeps the denominator from zero; >= 0, default 1e-8
  double weight_decay = 0;                   ///< learning_rate * weight_decay * p is subtracted from p; >= 0, default 0
  double alpha_steps = 0;  ///< steps in which alpha rises; 0 = none; in [0, 1000000000), whole, default 0
  double beta3_steps = 0;  ///< steps in which beta3 rises; 0 = none; in [0, 1000000000), whole, default 0
  AdEMAMixWarmup warmup = AdEMAMixWarmup::kLogarithm;  ///< how beta3 rises. logarithm: as the paper and
                                                       ///< pytorch_optimizer; half_life: linear in it, as NVIDIA
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"ademamix",
            {detail::option("learning_rate", learning_rate),
             detail::option("beta1", beta1),
             detail::option("beta2", beta2),
             detail::option("beta3", beta3),
             detail::option("alpha", alpha),
             detail::option("epsilon", epsilon),
             detail::option("weight_decay", weight_decay),
             detail::option("alpha_steps", alpha_steps),
             detail::option("beta3_steps", beta3_steps),
             detail::option("warmup", warmup),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

enum class AdoptClipping : std::int32_t { kOptax = 0, kPytorchOptimizer = 1, kNone = 2 };

/// adopt. Source: Taniguchi et al. 2024, ADOPT, algorithm 2; the numbers of optax and of pytorch_optimizer.
///
///     the first step: v = g^2, and nothing else
///     u = clamp(g / max(sqrt(v), epsilon), -C, C), with the v of the step before
///     C = t^(1/4) for clipping optax, (t+1)^(1/4) for pytorch_optimizer
///     m = beta1 * m + (1 - beta1) * u
///     v = beta2 * v + (1 - beta2) * g^2
///     p = p - learning_rate * (beta1 * m + (1 - beta1) * u if nesterov else m)
///
/// State exp_avg, exp_avg_sq.
struct AdoptOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double beta1 = 0.9;                        ///< share of the mean that a step keeps; in [0, 1), default 0.9
  double beta2 = 0.9999;                     ///< share of the mean square that a step keeps; in [0, 1), default 0.9999
  double epsilon = 1e-6;                     ///< least denominator; >= 0, default 1e-6
  double weight_decay = 0;                   ///< times p is added to the gradient; >= 0, default 0
  AdoptClipping clipping =
      AdoptClipping::kOptax;  ///< how u is clipped: by t as optax counts it, as pytorch_optimizer does, or none
  bool nesterov = false;      ///< looks one step ahead
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"adopt",
            {detail::option("learning_rate", learning_rate),
             detail::option("beta1", beta1),
             detail::option("beta2", beta2),
             detail::option("epsilon", epsilon),
             detail::option("weight_decay", weight_decay),
             detail::option("clipping", clipping),
             detail::option("nesterov", nesterov),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

/// laprop. Source: Ziyin et al. 2020, LaProp, algorithm 1; the numbers of NVIDIA.
///
///     v = beta2 * v + (1 - beta2) * g^2
///     m = beta1 * m + (1 - beta1) * g / (sqrt(v / (1 - beta2^(t+1))) + epsilon)
///     p = p - learning_rate * m / (1 - beta1^(t+1))
///
/// State exp_avg, exp_avg_sq.
struct LaPropOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double beta1 = 0.9;                        ///< share of the mean that a step keeps; in [0, 1), default 0.9
  double beta2 = 0.999;                      ///< share of the mean square that a step keeps; in [0, 1), default 0.999
  double epsilon = 1e-15;                    ///< keeps the denominator from zero; >= 0, default 1e-15
  double weight_decay = 0;                   ///< learning_rate * weight_decay * p is subtracted from p; >= 0, default 0
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"laprop",
            {detail::option("learning_rate", learning_rate),
             detail::option("beta1", beta1),
             detail::option("beta2", beta2),
             detail::option("epsilon", epsilon),
             detail::option("weight_decay", weight_decay),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

/// asgd. Source: Polyak and Juditsky 1992, Acceleration of Stochastic Approximation by Averaging; the numbers of torch.
///
///     eta = learning_rate at first, mu = 1 / max(1, t - averaging_start)
///     p = p * (1 - shrinkage * eta) - eta * g
///     ax = ax + mu * (p - ax), the average of the weights
///     eta = learning_rate / (1 + shrinkage * learning_rate * (t+1))^exponent, of the next step
///
/// State ax, eta.
struct AsgdOptions {
  double learning_rate =
      detail::kNotGiven;             ///< step size; a new one acts a step late, as in torch; >= 0, must be given
  double shrinkage = 0.0001;         ///< lambda: shrinks p, and the step size with the steps; >= 0, default 0.0001
  double exponent = 0.75;            ///< alpha: how fast the step size falls; >= 0, default 0.75
  double averaging_start = 1000000;  ///< t0: steps before the average begins; >= 0, default 1000000
  double weight_decay = 0;           ///< times p is added to the gradient; >= 0, default 0
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"asgd",
            {detail::option("learning_rate", learning_rate),
             detail::option("shrinkage", shrinkage),
             detail::option("exponent", exponent),
             detail::option("averaging_start", averaging_start),
             detail::option("weight_decay", weight_decay),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

enum class LarsForm : std::int32_t { kOptax = 0, kPytorchOptimizer = 1 };

/// lars. Source: You et al. 2017, Large Batch Training of Convolutional Networks; the numbers of optax and of
/// pytorch_optimizer.
///
///     norms are of the tensor; r is 1 where it would be 0 or divide by 0
///     u = g + weight_decay * p
///     form optax: r = trust_coefficient * norm(p) / (norm(u) + epsilon)
///     form pytorch_optimizer: r = trust_coefficient * norm(p) / (norm(g) + weight_decay * norm(p) + epsilon)
///     m = momentum * m + rate * r * u, rate = learning_rate for form optax, 1 for pytorch_optimizer
///     d = rate * r * u + momentum * m if nesterov, else m
///     p = p - d for form optax, p - learning_rate * d for pytorch_optimizer
///
/// State momentum.
struct LarsOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double momentum = 0.9;                     ///< share of the momentum that a step keeps; in [0, 1), default 0.9
  double trust_coefficient = 0.001;          ///< length of a step beside that of its parameter; >= 0, default 0.001
  double epsilon = 0;                        ///< joins the length of u; >= 0, default 0
  double weight_decay = 0;                   ///< times p is added to the gradient; >= 0, default 0
  LarsForm form =
      LarsForm::kOptax;   ///< optax or pytorch_optimizer: what the ratio is, and when the learning rate multiplies
  bool nesterov = false;  ///< looks one step ahead
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"lars",
            {detail::option("learning_rate", learning_rate),
             detail::option("momentum", momentum),
             detail::option("trust_coefficient", trust_coefficient),
             detail::option("epsilon", epsilon),
             detail::option("weight_decay", weight_decay),
             detail::option("form", form),
             detail::option("nesterov", nesterov),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

/// novograd. Source: Ginsburg et al. 2019, Stochastic Gradient Methods with Layer-wise Adaptive Moments; the numbers of
/// optax.
///
///     v, one number of the tensor: norm(g)^2 in the first step, then beta2 * v + (1 - beta2) * norm(g)^2
///     m = beta1 * m + (g / (sqrt(v + epsilon_root) + epsilon) + weight_decay * p)
///     p = p - learning_rate * m
///
/// State exp_avg, squared_norm.
struct NovogradOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double beta1 = 0.9;                        ///< share of the momentum that a step keeps; in [0, 1), default 0.9
  double beta2 = 0.25;      ///< share of the mean squared norm that a step keeps; in [0, 1), default 0.25
  double epsilon = 1e-6;    ///< keeps the denominator from zero; >= 0, default 1e-6
  double epsilon_root = 0;  ///< joins the mean squared norm under the root; >= 0, default 0
  double weight_decay = 0;  ///< times p joins the momentum; >= 0, default 0
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"novograd",
            {detail::option("learning_rate", learning_rate),
             detail::option("beta1", beta1),
             detail::option("beta2", beta2),
             detail::option("epsilon", epsilon),
             detail::option("epsilon_root", epsilon_root),
             detail::option("weight_decay", weight_decay),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

enum class MarsForm : std::int32_t { kAdamW = 0, kLion = 1, kAdamw [[deprecated("use kAdamW")]] = kAdamW };

/// mars. Source: Yuan et al. 2024, MARS: Unleashing the Power of Variance Reduction, algorithms 1 and 2; the numbers of
/// pytorch_optimizer.
///
///     c = g + gamma * beta1 / (1 - beta1) * (g - g before), which is 0 at first
///     c = c / max(1, norm(c)), the norm of the tensor
///     m = beta1 * m + (1 - beta1) * c
///     form adamw: v = beta2 * v + (1 - beta2) * c^2
///     p = p - learning_rate * m / (1 - beta1^(t+1)) / ((sqrt(v + 1e-15) + epsilon) / sqrt(1 - beta2^(t+1)))
///     form lion: p = p - learning_rate * sign(m)
///
/// State exp_avg, exp_avg_sq, previous_gradient.
struct MarsOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double beta1 = 0.95;                       ///< share of the mean that a step keeps; in [0, 1), default 0.95
  double beta2 = 0.99;      ///< share of the mean square that a step keeps; of form adamw; in [0, 1), default 0.99
  double gamma = 0.025;     ///< how much of the gradient's change is added to it; >= 0, default 0.025
  double epsilon = 1e-8;    ///< keeps the denominator from zero; of form adamw; >= 0, default 1e-8
  double weight_decay = 0;  ///< learning_rate * weight_decay * p is subtracted from p; >= 0, default 0
  MarsForm form = MarsForm::kAdamW;  ///< adamw or lion: the rule that gets the gradient
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"mars",
            {detail::option("learning_rate", learning_rate),
             detail::option("beta1", beta1),
             detail::option("beta2", beta2),
             detail::option("gamma", gamma),
             detail::option("epsilon", epsilon),
             detail::option("weight_decay", weight_decay),
             detail::option("form", form),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

/// sophia. Source: Liu et al. 2023, Sophia, algorithm 3; the numbers of optax.
///
///     m = beta1 * m + (1 - beta1) * g
///     u = m / (1 - beta1^(t+1)) / max(gamma * h, epsilon)
///     p = p - learning_rate * clamp(u, -clip_threshold, clip_threshold)
///     h, the state hessian, is 0 at first; the host sets it, every few steps: beta2 * h + (1 - beta2) * its estimate
///
/// State exp_avg, hessian.
struct SophiaOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double beta1 = 0.965;                      ///< share of the mean that a step keeps; in [0, 1), default 0.965
  double gamma = 0.01;                       ///< scale of the curvature; >= 0, default 0.01
  double clip_threshold = 1;     ///< largest change of an element, beside the learning rate; >= 0, default 1
  double epsilon = 1e-8;         ///< least denominator; >= 0, default 1e-8
  double weight_decay = 0.0001;  ///< learning_rate * weight_decay * p is subtracted from p; >= 0, default 0.0001
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"sophia",
            {detail::option("learning_rate", learning_rate),
             detail::option("beta1", beta1),
             detail::option("gamma", gamma),
             detail::option("clip_threshold", clip_threshold),
             detail::option("epsilon", epsilon),
             detail::option("weight_decay", weight_decay),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

enum class ScheduleFreeInner : std::int32_t {
  kAdamW = 0,
  kSgd = 1,
  kRAdam = 2,
  kAdamw [[deprecated("use kAdamW")]] = kAdamW,
  kRadam [[deprecated("use kRAdam")]] = kRAdam
};

/// schedule_free. Source: Defazio et al. 2024, The Road Less Scheduled, algorithm 1; the numbers of schedulefree, and
/// of optax with its schedule for the weights as weight_rate.
///
///     p is y, where gradients are taken; z = p at first; the average x = p + (1 - 1 / beta1) * (z - p)
///     rate = learning_rate * min(1, (t+1) / warmup_steps); inner radam: times its rectification
///     w = (t+1)^weight_power * (largest rate so far)^rate_power, c = w / (sum of all w), or 0
///     v = beta2 * v + (1 - beta2) * g^2
///     u = g / (sqrt(v / (1 - beta2^(t+1))) + epsilon) + weight_decay * p; inner sgd: g + weight_decay * p
///     p = p + c * (z - p) - rate * (1 - beta1 * (1 - c)) * u
///     z = z - rate * u
///
/// State z, exp_avg_sq, weight_sum, largest_rate.
struct ScheduleFreeOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double beta1 = 0.9;       ///< how near the gradient's place is to the average; in [0.001, 1), default 0.9
  double beta2 = 0.999;     ///< share of the mean square that a step keeps; not of inner sgd; in [0, 1), default 0.999
  double epsilon = 1e-8;    ///< keeps the denominator from zero; not of inner sgd; >= 0, default 1e-8
  double weight_rate = 0;   ///< the learning rate that steps are weighted by; 0 = learning_rate; >= 0, default 0
  double weight_decay = 0;  ///< times p joins the direction; >= 0, default 0
  double warmup_steps = 0;  ///< steps in which the learning rate grows from 0; in [0, 1000000000), whole, default 0
  double weight_power = 0;  ///< r: a step weighs (t+1)^r; >= 0, default 0
  double rate_power = 2;    ///< a step weighs its largest learning rate so far to this power; >= 0, default 2
  ScheduleFreeInner inner = ScheduleFreeInner::kAdamW;  ///< adamw, sgd or radam: the rule that gives the direction
  bool waits = true;  ///< inner radam: nothing moves while the variance is unknown (silent_sgd_phase); default true
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"schedule_free",
            {detail::option("learning_rate", learning_rate),
             detail::option("beta1", beta1),
             detail::option("beta2", beta2),
             detail::option("epsilon", epsilon),
             detail::option("weight_rate", weight_rate),
             detail::option("weight_decay", weight_decay),
             detail::option("warmup_steps", warmup_steps),
             detail::option("weight_power", weight_power),
             detail::option("rate_power", rate_power),
             detail::option("inner", inner),
             detail::option("waits", waits),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

/// prodigy. Source: Mishchenko and Defazio 2023, Prodigy, algorithm 3; the numbers of prodigyopt, and of optax with
/// bias_correction.
///
///     one d of all parameters, d0 at first; p0 = p at first; r = d * learning_rate, corrected where asked for
///     N = beta3 * N + d / d0 * r * sum((p0 - p) * g)
///     s = beta3 * s + d / d0 * r * g, with safeguard_warmup d / d0 * d * g
///     m = beta1 * m + (1 - beta1) * d * g
///     v = beta2 * v + (1 - beta2) * (d * g)^2
///     D = d_factor * N / sum(abs(s)); d = max(d, D) while it is d0; d = min(largest D so far, d * d_growth)
///     p = p - r * (m / (sqrt(v) + d * epsilon) + weight_decay * p), with the new d
///     a step in which all s are 0 changes nothing and does not count as one
///
/// State exp_avg, exp_avg_sq, s, p0, d, d_max, d_numerator, d_steps.
struct ProdigyOptions {
  double learning_rate = detail::kNotGiven;  ///< step size, beside the distance d; 1 is usual; >= 0, must be given
  double beta1 = 0.9;                        ///< share of the mean that a step keeps; in [0, 1), default 0.9
  double beta2 = 0.999;                      ///< share of the mean square that a step keeps; in [0, 1), default 0.999
  double beta3 = 0;         ///< share of the estimate of d that a step keeps; 0 = sqrt(beta2); in [0, 1), default 0
  double epsilon = 1e-8;    ///< d * epsilon keeps the denominator from zero; >= 0, default 1e-8
  double weight_decay = 0;  ///< d * learning_rate * weight_decay * p is subtracted from p; >= 0, default 0
  double d0 = 1e-6;         ///< the distance at first; >= 1e-30, default 1e-6
  double d_factor = 1;      ///< times the estimate of the distance; >= 0, default 1
  double d_growth = 1e300;  ///< d grows at most by this factor in a step; >= 1, default 1e300
  bool bias_correction = false;   ///< the learning rate is times sqrt(1 - beta2^k) / (1 - beta1^k)
  bool safeguard_warmup = false;  ///< the learning rate does not join the denominator of the estimate
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"prodigy",
            {detail::option("learning_rate", learning_rate),
             detail::option("beta1", beta1),
             detail::option("beta2", beta2),
             detail::option("beta3", beta3),
             detail::option("epsilon", epsilon),
             detail::option("weight_decay", weight_decay),
             detail::option("d0", d0),
             detail::option("d_factor", d_factor),
             detail::option("d_growth", d_growth),
             detail::option("bias_correction", bias_correction),
             detail::option("safeguard_warmup", safeguard_warmup),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

/// dadapt_adam. Source: Defazio and Mishchenko 2023, Learning-Rate-Free Learning by D-Adaptation, algorithm 5; the
/// numbers of pytorch_optimizer, and of optax with bias_correction.
///
///     one d of all parameters, d0 at first; r = d * learning_rate, corrected where asked for; b = sqrt(beta2)
///     N = b * N + (1 - b) * r * sum(g * s / (sqrt(v) + epsilon)), with s and v of the step before
///     m = beta1 * m + (1 - beta1) * r * g
///     v = beta2 * v + (1 - beta2) * g^2
///     s = b * s + (1 - b) * r * g
///     D = N / ((1 - b) * sum(abs(s))); d = max(d, min(D, d * d_growth))
///     p = p - m / (sqrt(v) + epsilon) - r * weight_decay * p
///     a step in which all s are 0 changes nothing and does not count as one
///
/// State exp_avg, exp_avg_sq, s, d, d_numerator, d_steps.
struct DadaptAdamOptions {
  double learning_rate = detail::kNotGiven;  ///< step size, beside the distance d; 1 is usual; >= 0, must be given
  double beta1 = 0.9;                        ///< share of the mean that a step keeps; in [0, 1), default 0.9
  double beta2 = 0.999;                      ///< share of the mean square that a step keeps; in [0, 1), default 0.999
  double epsilon = 1e-8;                     ///< keeps the denominator from zero; >= 0, default 1e-8
  double weight_decay = 0;       ///< d * learning_rate * weight_decay * p is subtracted from p; >= 0, default 0
  double d0 = 1e-6;              ///< the distance at first; >= 1e-30, default 1e-6
  double d_growth = 1e300;       ///< d grows at most by this factor in a step; >= 1, default 1e300
  bool bias_correction = false;  ///< the learning rate is times sqrt(1 - beta2^k) / (1 - beta1^k)
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"dadapt_adam",
            {detail::option("learning_rate", learning_rate),
             detail::option("beta1", beta1),
             detail::option("beta2", beta2),
             detail::option("epsilon", epsilon),
             detail::option("weight_decay", weight_decay),
             detail::option("d0", d0),
             detail::option("d_growth", d_growth),
             detail::option("bias_correction", bias_correction),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

enum class AdafactorForm : std::int32_t { kTorch = 0, kOptax = 1 };

/// adafactor. Source: Shazeer and Stern 2018, Adafactor: Adaptive Learning Rates with Sublinear Memory Cost, algorithms
/// 4 and 5; the numbers of torch and of optax.
///
///     b = 1 - (t+1)^-decay_exponent; rms: the root mean square of a tensor
///     r = b * r + (1 - b) * mean(g^2) over each row, c likewise over each column, v = r * c / mean(r)
///     tensors without factors: v = b * v + (1 - b) * g^2
///     u = g / sqrt(v), u = u / max(1, rms(u) / clip_threshold)
///     rate = learning_rate for form optax, min(learning_rate, 1 / sqrt(t+1)) for torch
///     d = rate * max(rms(p), least_scale) * u; with momentum m = momentum * m + (1 - momentum) * d, d = m
///     p = p - d
///
/// State of a tensor as a whole: row_variance and column_variance of factored tensors, a number for each row and
/// column; variance, one for each element, of others; momentum, one for each element, unless it is the constant 0.
struct AdafactorOptions {
  double learning_rate = detail::kNotGiven;  ///< step size, beside the length of p; >= 0, must be given
  double momentum = 0;                       ///< share of the mean change that a step keeps; in [0, 1), default 0
  double weight_decay = 0;                   ///< learning_rate * weight_decay * p is subtracted from p; >= 0, default 0
  double decay_exponent = 0.8;  ///< a step takes (t+1)^-decay_exponent of the mean squares anew; >= 0, default 0.8
  double epsilon = 1e-30;  ///< form torch: least denominator; form optax: joins the squares; >= 1e-300, default 1e-30
  double least_scale = 0.001;  ///< least root mean square of p that counts; >= 0, default 0.001
  double clip_threshold = 1;   ///< largest root mean square of a direction; 0 = any; >= 0, default 1
  double min_factored =
      128;  ///< form optax: least length of the shorter factored axis; in [0, 1000000000), whole, default 128
  AdafactorForm form =
      AdafactorForm::kTorch;  ///< torch or optax: which axes are factored, what epsilon does, and what bounds the rate
  bool scales_by_parameter = true;  ///< steps are in proportion to the length of p; default true
  bool factored = true;             ///< matrices keep mean squares of rows and columns alone; default true
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"adafactor",
            {detail::option("learning_rate", learning_rate),
             detail::option("momentum", momentum),
             detail::option("weight_decay", weight_decay),
             detail::option("decay_exponent", decay_exponent),
             detail::option("epsilon", epsilon),
             detail::option("least_scale", least_scale),
             detail::option("clip_threshold", clip_threshold),
             detail::option("min_factored", min_factored),
             detail::option("form", form),
             detail::option("scales_by_parameter", scales_by_parameter),
             detail::option("factored", factored),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

enum class DionForm : std::int32_t { kReference = 0, kSimple = 1 };

/// dion. Source: Ahn et al. 2025, Dion: Distributed Orthonormalized Updates (arXiv 2504.05295), algorithm 1; the
/// numbers of dion_reference and of dion_simple of microsoft/dion.
///
///     m = m + g, rows by the first axis, columns by all others
///     P = the orthonormal basis of m Q, R = m^T P
///     m = m - (1 - momentum) * P R^T
///     Q = R / (lengths of its columns + epsilon)
///     p = p - learning_rate * sqrt(rows / columns) * P Q^T; every parameter needs 2 axes or more
///
/// State of a tensor as a whole: momentum, in the parameter's shape; Q, a row of `columns` numbers for each of its
/// columns (of `rows` numbers where the matrix is transposed), which begins with random numbers by the parameter's
/// name.
struct DionOptions {
  double learning_rate = detail::kNotGiven;  ///< step size; >= 0, must be given
  double momentum = 0.95;                    ///< share of P R^T that stays in m; in [0, 1), default 0.95
  double weight_decay = 0;                   ///< learning_rate * weight_decay * p is subtracted from p; >= 0, default 0
  double rank = 0;  ///< columns of Q, at most the shorter side of the matrix; 0: by rank_fraction; in [0, 1000000000),
                    ///< whole, default 0
  double rank_fraction = 1;  ///< columns of Q in shares of the shorter side, rounded up; >= 0, default 1
  double epsilon = 1e-8;     ///< added to the lengths that columns of R are divided by; >= 0, default 1e-8
  DionForm form =
      DionForm::kReference;  ///< reference: wide matrices are transposed; where a column of R is zero, that of Q stays
                             ///< (dion_reference); simple: never transposed; where a column of R is zero, that of Q
                             ///< becomes zero; a zero column of P becomes one of the identity (dion_simple)
  bool maximize = false;
  bool master_weights = false;
  StateDtype state_dtype = StateDtype::kNative;
  bool stochastic_rounding = false;
  std::int64_t seed = 0;
  StepCounting step_counting = StepCounting::kOptimizer;
  double average_decay = 0;
  DecayMode decay_mode = DecayMode::kRule;
  double peak_learning_rate = 0;
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::kOff;
  bool cautious_decay = false;
  double adaptive_clip = 0;
  double adaptive_clip_epsilon = 0.001;
  AdaptiveClipUnits adaptive_clip_units = AdaptiveClipUnits::kRows;
  bool center_gradients = false;
  bool average_warmup = false;
  bool average_equal = false;
  double average_start = 0;
  double average_every = 1;

  operator GroupRule() const {
    return {"dion",
            {detail::option("learning_rate", learning_rate),
             detail::option("momentum", momentum),
             detail::option("weight_decay", weight_decay),
             detail::option("rank", rank),
             detail::option("rank_fraction", rank_fraction),
             detail::option("epsilon", epsilon),
             detail::option("form", form),
             detail::option("maximize", maximize),
             detail::option("master_weights", master_weights),
             detail::option("state_dtype", state_dtype),
             detail::option("stochastic_rounding", stochastic_rounding),
             detail::option("seed", seed),
             detail::option("step_counting", step_counting),
             detail::option("average_decay", average_decay),
             detail::option("decay_mode", decay_mode),
             detail::option("peak_learning_rate", peak_learning_rate),
             detail::option("trust_ratio", trust_ratio),
             detail::option("cautious_update", cautious_update),
             detail::option("cautious_decay", cautious_decay),
             detail::option("adaptive_clip", adaptive_clip),
             detail::option("adaptive_clip_epsilon", adaptive_clip_epsilon),
             detail::option("adaptive_clip_units", adaptive_clip_units),
             detail::option("center_gradients", center_gradients),
             detail::option("average_warmup", average_warmup),
             detail::option("average_equal", average_equal),
             detail::option("average_start", average_start),
             detail::option("average_every", average_every)}};
  }
};

}  // namespace gradstep::inline cpp_v0
