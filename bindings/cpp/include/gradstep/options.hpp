// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// options.hpp: enums and options, by the names of the C API, whose comments are the reference. Fields are given by
// designated initialisers, in their order; what is left out has the default of the library that runs.
//
// Written by scripts/generate.
#pragma once

#include <gradstep/gradstep.h>

#include <gradstep/error.hpp>
#include <gradstep/schedule.hpp>
#include <gradstep/tensor.hpp>
#include <optional>

namespace gradstep::inline cpp_v0 {

namespace detail {

/// What a *_options_init of the loaded library writes, asked for once.
template <class T, gradstep_status (*kInit)(T*, std::size_t)>
const T& defaults() {
  static const T options = [] {
    T made;
    check(kInit(&made, sizeof made));
    return made;
  }();
  return options;
}

}  // namespace detail

enum class AccumulationMode : std::int32_t {
  kMeanEach = GRADSTEP_ACCUMULATE_MEAN_EACH,
  kSum = GRADSTEP_ACCUMULATE_SUM,
  kMean = GRADSTEP_ACCUMULATE_MEAN,
  kRunningMean = GRADSTEP_ACCUMULATE_RUNNING_MEAN,
  kWeighted = GRADSTEP_ACCUMULATE_WEIGHTED,
};

enum class AccumulationTrigger : std::int32_t {
  kSteps = GRADSTEP_TRIGGER_STEPS,
  kSchedule = GRADSTEP_TRIGGER_SCHEDULE,
  kMinWeight = GRADSTEP_TRIGGER_MIN_WEIGHT,
  kManual = GRADSTEP_TRIGGER_MANUAL,
};

enum class NonfinitePolicy : std::int32_t {
  kNone = GRADSTEP_NONFINITE_NONE,
  kPoison = GRADSTEP_NONFINITE_POISON,
  kSkip = GRADSTEP_NONFINITE_SKIP,
};

enum class ReduceOp : std::int32_t {
  kSum = GRADSTEP_REDUCE_SUM,
  kMax = GRADSTEP_REDUCE_MAX,
  kMin = GRADSTEP_REDUCE_MIN,
};

enum class ReductionOrder : std::int32_t {
  kRank = GRADSTEP_REDUCTION_RANK,
  kEngine = GRADSTEP_REDUCTION_ENGINE,
  kHosts = GRADSTEP_REDUCTION_HOSTS,
};

enum class Average : std::int32_t {
  kUnset = GRADSTEP_AVERAGE_UNSET,
  kSum = GRADSTEP_AVERAGE_SUM,
  kMean = GRADSTEP_AVERAGE_MEAN,
  kWeighted = GRADSTEP_AVERAGE_WEIGHTED,
};

enum class LogLevel : std::int32_t {
  kOff = GRADSTEP_LOG_OFF,
  kError = GRADSTEP_LOG_ERROR,
  kWarning = GRADSTEP_LOG_WARNING,
  kInfo = GRADSTEP_LOG_INFO,
  kDebug = GRADSTEP_LOG_DEBUG,
};

enum class CostAlgorithm : std::int32_t {
  kOwn = GRADSTEP_COST_OWN,
  kRing = GRADSTEP_COST_RING,
  kTree = GRADSTEP_COST_TREE,
  kHierarchical = GRADSTEP_COST_HIERARCHICAL,
  kSparseGather = GRADSTEP_COST_SPARSE_GATHER,
  kSparseSplit = GRADSTEP_COST_SPARSE_SPLIT,
  kHosts = GRADSTEP_COST_HOSTS,
};

enum class StateDtype : std::int32_t {
  kNative = GRADSTEP_STATE_DTYPE_NATIVE,
  kBf16 = GRADSTEP_STATE_DTYPE_BF16,
  kInt8 = GRADSTEP_STATE_DTYPE_INT8,
};

enum class EpsilonPlacement : std::int32_t {
  kInside = GRADSTEP_EPSILON_PLACEMENT_INSIDE,
  kOutside = GRADSTEP_EPSILON_PLACEMENT_OUTSIDE,
};

enum class SgdFirstStep : std::int32_t {
  kDampen = GRADSTEP_SGD_FIRST_STEP_DAMPEN,
  kCopy = GRADSTEP_SGD_FIRST_STEP_COPY,
};

enum class BiasCorrection : std::int32_t {
  kStandard = GRADSTEP_BIAS_CORRECTION_STANDARD,
  kTf = GRADSTEP_BIAS_CORRECTION_TF,
};

enum class ReducerMode : std::int32_t {
  kDense = GRADSTEP_REDUCER_DENSE,
  kHalf = GRADSTEP_REDUCER_HALF,
  kBFloat16 = GRADSTEP_REDUCER_BFLOAT16,
  kSparseThreshold = GRADSTEP_REDUCER_SPARSE_THRESHOLD,
  kSparseTopK = GRADSTEP_REDUCER_SPARSE_TOPK,
  kAdasumTree = GRADSTEP_REDUCER_ADASUM_TREE,
  kAdasumNWay = GRADSTEP_REDUCER_ADASUM_NWAY,
  kPowerSgd = GRADSTEP_REDUCER_POWERSGD,
  kAuto = GRADSTEP_REDUCER_AUTO,
  kInt8 = GRADSTEP_REDUCER_INT8,
  kInt4 = GRADSTEP_REDUCER_INT4,
  kFp8E4m3 = GRADSTEP_REDUCER_FP8_E4M3,
  kFp8E5m2 = GRADSTEP_REDUCER_FP8_E5M2,
  kBfloat16 [[deprecated("use kBFloat16")]] = kBFloat16,
  kSparseTopk [[deprecated("use kSparseTopK")]] = kSparseTopK,
  kAdasumNway [[deprecated("use kAdasumNWay")]] = kAdasumNWay,
  kPowersgd [[deprecated("use kPowerSgd")]] = kPowerSgd,
};

enum class HalfSum : std::int32_t {
  kF32 = GRADSTEP_HALF_SUM_F32,
  kFp16 = GRADSTEP_HALF_SUM_FP16,
  kFp16Predivided = GRADSTEP_HALF_SUM_FP16_PREDIVIDED,
};

enum class Selection : std::int32_t {
  kBucket = GRADSTEP_SELECTION_BUCKET,
  kTensor = GRADSTEP_SELECTION_TENSOR,
};

enum class NanPolicy : std::int32_t {
  kError = GRADSTEP_NAN_ERROR,
  kZero = GRADSTEP_NAN_ZERO,
  kSend = GRADSTEP_NAN_SEND,
};

enum class SparseExchange : std::int32_t {
  kAuto = GRADSTEP_SPARSE_EXCHANGE_AUTO,
  kGather = GRADSTEP_SPARSE_EXCHANGE_GATHER,
  kSplit = GRADSTEP_SPARSE_EXCHANGE_SPLIT,
};

enum class ErrorFeedback : std::int32_t {
  kEf14 = GRADSTEP_ERROR_FEEDBACK_EF14,
  kEf21 = GRADSTEP_ERROR_FEEDBACK_EF21,
};

enum class ExchangeAlgorithm : std::int32_t {
  kNone = GRADSTEP_EXCHANGE_NONE,
  kAllReduce = GRADSTEP_EXCHANGE_ALL_REDUCE,
  kPieces = GRADSTEP_EXCHANGE_PIECES,
  kGather = GRADSTEP_EXCHANGE_GATHER,
  kSparseGather = GRADSTEP_EXCHANGE_SPARSE_GATHER,
  kSparseSplit = GRADSTEP_EXCHANGE_SPARSE_SPLIT,
  kFactors = GRADSTEP_EXCHANGE_FACTORS,
  kScatter = GRADSTEP_EXCHANGE_SCATTER,
};

enum class OptionKind : std::int32_t {
  kHyperParameter = GRADSTEP_OPTION_HYPER_PARAMETER,
  kSetting = GRADSTEP_OPTION_SETTING,
  kChoice = GRADSTEP_OPTION_CHOICE,
  kFlag = GRADSTEP_OPTION_FLAG,
  kInteger = GRADSTEP_OPTION_INTEGER,
};

enum class StepCounting : std::int32_t {
  kOptimizer = GRADSTEP_STEP_COUNTING_OPTIMIZER,
  kParameter = GRADSTEP_STEP_COUNTING_PARAMETER,
};

enum class DecayMode : std::int32_t {
  kRule = GRADSTEP_DECAY_MODE_RULE,
  kCoupled = GRADSTEP_DECAY_MODE_COUPLED,
  kDecoupled = GRADSTEP_DECAY_MODE_DECOUPLED,
  kIndependent = GRADSTEP_DECAY_MODE_INDEPENDENT,
  kRelative = GRADSTEP_DECAY_MODE_RELATIVE,
  kCorrected = GRADSTEP_DECAY_MODE_CORRECTED,
};

enum class CautiousUpdate : std::int32_t {
  kOff = GRADSTEP_CAUTIOUS_UPDATE_OFF,
  kMean = GRADSTEP_CAUTIOUS_UPDATE_MEAN,
  kSum = GRADSTEP_CAUTIOUS_UPDATE_SUM,
};

enum class AdaptiveClipUnits : std::int32_t {
  kRows = GRADSTEP_ADAPTIVE_CLIP_UNITS_ROWS,
  kColumns = GRADSTEP_ADAPTIVE_CLIP_UNITS_COLUMNS,
  kSecond = GRADSTEP_ADAPTIVE_CLIP_UNITS_SECOND,
};

enum class GraftType : std::int32_t {
  kSgd = GRADSTEP_GRAFT_TYPE_SGD,
  kAdaGrad = GRADSTEP_GRAFT_TYPE_ADAGRAD,
  kRmsProp = GRADSTEP_GRAFT_TYPE_RMSPROP,
  kRmsPropNormalized = GRADSTEP_GRAFT_TYPE_RMSPROP_NORMALIZED,
  kSqrtN = GRADSTEP_GRAFT_TYPE_SQRT_N,
  kAdaGradNormalized = GRADSTEP_GRAFT_TYPE_ADAGRAD_NORMALIZED,
  kAdam = GRADSTEP_GRAFT_TYPE_ADAM,
  kNone = GRADSTEP_GRAFT_TYPE_NONE,
  kAdagrad [[deprecated("use kAdaGrad")]] = kAdaGrad,
  kRmsprop [[deprecated("use kRmsProp")]] = kRmsProp,
  kRmspropNormalized [[deprecated("use kRmsPropNormalized")]] = kRmsPropNormalized,
  kAdagradNormalized [[deprecated("use kAdaGradNormalized")]] = kAdaGradNormalized,
};

enum class RootMethod : std::int32_t {
  kAuto = GRADSTEP_ROOT_METHOD_AUTO,
  kCoupledNewton = GRADSTEP_ROOT_METHOD_COUPLED_NEWTON,
  kEigh = GRADSTEP_ROOT_METHOD_EIGH,
};

enum class RootPrecision : std::int32_t {
  kF64 = GRADSTEP_ROOT_PRECISION_F64,
  kF32 = GRADSTEP_ROOT_PRECISION_F32,
};

enum class ProductPrecision : std::int32_t {
  kF32 = GRADSTEP_PRODUCT_PRECISION_F32,
  kTf32 = GRADSTEP_PRODUCT_PRECISION_TF32,
};

enum class RootPadding : std::int32_t {
  kNone = GRADSTEP_ROOT_PADDING_NONE,
  kLargest = GRADSTEP_ROOT_PADDING_LARGEST,
};

enum class Refresh : std::int32_t {
  kFresh = GRADSTEP_REFRESH_FRESH,
  kStale = GRADSTEP_REFRESH_STALE,
};

enum class OneSided : std::int32_t {
  kNone = GRADSTEP_ONE_SIDED_NONE,
  kInput = GRADSTEP_ONE_SIDED_INPUT,
  kOutput = GRADSTEP_ONE_SIDED_OUTPUT,
};

enum class ShampooStatistics : std::int32_t {
  kGradients = GRADSTEP_SHAMPOO_STATISTICS_GRADIENTS,
  kKl = GRADSTEP_SHAMPOO_STATISTICS_KL,
  kKlMean = GRADSTEP_SHAMPOO_STATISTICS_KL_MEAN,
};

enum class Ridge : std::int32_t {
  kRelative = GRADSTEP_RIDGE_RELATIVE,
  kAbsolute = GRADSTEP_RIDGE_ABSOLUTE,
};

enum class ShardedGradients : std::int32_t {
  kLocal = GRADSTEP_SHARDED_GRADIENTS_LOCAL,
  kReduced = GRADSTEP_SHARDED_GRADIENTS_REDUCED,
};

enum class ShardedPreconditioners : std::int32_t {
  kReplicated = GRADSTEP_SHARDED_PRECONDITIONERS_REPLICATED,
  kOwned = GRADSTEP_SHARDED_PRECONDITIONERS_OWNED,
};

enum class UpdaterSync : std::int32_t {
  kGradients = GRADSTEP_SYNC_GRADIENTS,
  kParametersPartial = GRADSTEP_SYNC_PARAMETERS_PARTIAL,
  kParameters = GRADSTEP_SYNC_PARAMETERS,
  kDeltas = GRADSTEP_SYNC_DELTAS,
};

struct AccumulatorOptions {
  AccumulationMode mode = static_cast<AccumulationMode>(library().mode);
  AccumulationTrigger trigger = static_cast<AccumulationTrigger>(library().trigger);
  NonfinitePolicy nonfinite = static_cast<NonfinitePolicy>(library().nonfinite);
  std::int64_t steps = library().steps;
  double min_weight = library().min_weight;
  std::optional<Schedule> schedule = {};
  Dtype dtype = library().dtype;
  bool keep_sums = library().keep_sums != 0;

  static const gradstep_accumulator_options& library() {
    return detail::defaults<gradstep_accumulator_options, gradstep_accumulator_options_init>();
  }
  /// The C struct, without the schedule.
  [[nodiscard]] gradstep_accumulator_options c() const {
    gradstep_accumulator_options made = library();
    made.mode = static_cast<std::int32_t>(mode);
    made.trigger = static_cast<std::int32_t>(trigger);
    made.nonfinite = static_cast<std::int32_t>(nonfinite);
    made.steps = steps;
    made.min_weight = min_weight;
    made.dtype = dtype;
    made.keep_sums = keep_sums ? 1 : 0;
    return made;
  }
};

struct CostOptions {
  std::int32_t element_bytes = library().element_bytes;
  std::int64_t elements = library().elements;
  std::int64_t ranks = library().ranks;
  std::int64_t ranks_per_host = library().ranks_per_host;
  std::int64_t bucket_elements = library().bucket_elements;
  double bandwidth = library().bandwidth;
  double latency = library().latency;
  double host_bandwidth = library().host_bandwidth;
  double host_latency = library().host_latency;
  double message = library().message;
  double sparsity = library().sparsity;
  std::int32_t rank = library().rank;
  bool no_exchange = library().no_exchange != 0;
  std::int64_t rows = library().rows;
  std::int64_t columns = library().columns;
  double pack_seconds = library().pack_seconds;
  double convert_seconds = library().convert_seconds;
  double select_seconds = library().select_seconds;
  double entry_seconds = library().entry_seconds;
  double add_seconds = library().add_seconds;
  double merge_seconds = library().merge_seconds;
  double multiply_seconds = library().multiply_seconds;
  std::int64_t control_parameters = library().control_parameters;
  std::int32_t channels = library().channels;
  bool no_stages = library().no_stages != 0;
  double encode_seconds = library().encode_seconds;
  double decode_seconds = library().decode_seconds;

  static const gradstep_cost_options& library() {
    return detail::defaults<gradstep_cost_options, gradstep_cost_options_init>();
  }
  [[nodiscard]] gradstep_cost_options c() const {
    gradstep_cost_options made = library();
    made.element_bytes = element_bytes;
    made.elements = elements;
    made.ranks = ranks;
    made.ranks_per_host = ranks_per_host;
    made.bucket_elements = bucket_elements;
    made.bandwidth = bandwidth;
    made.latency = latency;
    made.host_bandwidth = host_bandwidth;
    made.host_latency = host_latency;
    made.message = message;
    made.sparsity = sparsity;
    made.rank = rank;
    made.no_exchange = no_exchange ? 1 : 0;
    made.rows = rows;
    made.columns = columns;
    made.pack_seconds = pack_seconds;
    made.convert_seconds = convert_seconds;
    made.select_seconds = select_seconds;
    made.entry_seconds = entry_seconds;
    made.add_seconds = add_seconds;
    made.merge_seconds = merge_seconds;
    made.multiply_seconds = multiply_seconds;
    made.control_parameters = control_parameters;
    made.channels = channels;
    made.no_stages = no_stages ? 1 : 0;
    made.encode_seconds = encode_seconds;
    made.decode_seconds = decode_seconds;
    return made;
  }
};

struct SgdOptions {
  double learning_rate = library().learning_rate;
  double momentum = library().momentum;
  double dampening = library().dampening;
  double weight_decay = library().weight_decay;
  bool nesterov = library().nesterov != 0;
  SgdFirstStep first_step = static_cast<SgdFirstStep>(library().first_step);
  bool maximize = library().maximize != 0;
  bool master_weights = library().master_weights != 0;
  StateDtype state_dtype = static_cast<StateDtype>(library().state_dtype);
  bool stochastic_rounding = library().stochastic_rounding != 0;
  std::int64_t seed = library().seed;

  static const gradstep_sgd_options& library() {
    return detail::defaults<gradstep_sgd_options, gradstep_sgd_options_init>();
  }
  [[nodiscard]] gradstep_sgd_options c() const {
    gradstep_sgd_options made = library();
    made.learning_rate = learning_rate;
    made.momentum = momentum;
    made.dampening = dampening;
    made.weight_decay = weight_decay;
    made.nesterov = nesterov ? 1 : 0;
    made.first_step = static_cast<std::int32_t>(first_step);
    made.maximize = maximize ? 1 : 0;
    made.master_weights = master_weights ? 1 : 0;
    made.state_dtype = static_cast<std::int32_t>(state_dtype);
    made.stochastic_rounding = stochastic_rounding ? 1 : 0;
    made.seed = seed;
    return made;
  }
};

struct RmsPropOptions {
  double learning_rate = library().learning_rate;
  double rho = library().rho;
  double epsilon = library().epsilon;
  double weight_decay = library().weight_decay;
  double momentum = library().momentum;
  EpsilonPlacement epsilon_placement = static_cast<EpsilonPlacement>(library().epsilon_placement);
  bool centered = library().centered != 0;
  bool maximize = library().maximize != 0;
  bool master_weights = library().master_weights != 0;
  StateDtype state_dtype = static_cast<StateDtype>(library().state_dtype);
  bool stochastic_rounding = library().stochastic_rounding != 0;
  std::int64_t seed = library().seed;

  static const gradstep_rmsprop_options& library() {
    return detail::defaults<gradstep_rmsprop_options, gradstep_rmsprop_options_init>();
  }
  [[nodiscard]] gradstep_rmsprop_options c() const {
    gradstep_rmsprop_options made = library();
    made.learning_rate = learning_rate;
    made.rho = rho;
    made.epsilon = epsilon;
    made.weight_decay = weight_decay;
    made.momentum = momentum;
    made.epsilon_placement = static_cast<std::int32_t>(epsilon_placement);
    made.centered = centered ? 1 : 0;
    made.maximize = maximize ? 1 : 0;
    made.master_weights = master_weights ? 1 : 0;
    made.state_dtype = static_cast<std::int32_t>(state_dtype);
    made.stochastic_rounding = stochastic_rounding ? 1 : 0;
    made.seed = seed;
    return made;
  }
};

struct AdaGradOptions {
  double learning_rate = library().learning_rate;
  double epsilon = library().epsilon;
  double weight_decay = library().weight_decay;
  double lr_decay = library().lr_decay;
  double initial_accumulator = library().initial_accumulator;
  EpsilonPlacement epsilon_placement = static_cast<EpsilonPlacement>(library().epsilon_placement);
  bool maximize = library().maximize != 0;
  bool master_weights = library().master_weights != 0;
  StateDtype state_dtype = static_cast<StateDtype>(library().state_dtype);
  bool stochastic_rounding = library().stochastic_rounding != 0;
  std::int64_t seed = library().seed;

  static const gradstep_adagrad_options& library() {
    return detail::defaults<gradstep_adagrad_options, gradstep_adagrad_options_init>();
  }
  [[nodiscard]] gradstep_adagrad_options c() const {
    gradstep_adagrad_options made = library();
    made.learning_rate = learning_rate;
    made.epsilon = epsilon;
    made.weight_decay = weight_decay;
    made.lr_decay = lr_decay;
    made.initial_accumulator = initial_accumulator;
    made.epsilon_placement = static_cast<std::int32_t>(epsilon_placement);
    made.maximize = maximize ? 1 : 0;
    made.master_weights = master_weights ? 1 : 0;
    made.state_dtype = static_cast<std::int32_t>(state_dtype);
    made.stochastic_rounding = stochastic_rounding ? 1 : 0;
    made.seed = seed;
    return made;
  }
};

struct AdamOptions {
  double learning_rate = library().learning_rate;
  double beta1 = library().beta1;
  double beta2 = library().beta2;
  double epsilon = library().epsilon;
  double weight_decay = library().weight_decay;
  BiasCorrection bias_correction = static_cast<BiasCorrection>(library().bias_correction);
  bool decoupled_weight_decay = library().decoupled_weight_decay != 0;
  bool maximize = library().maximize != 0;
  bool master_weights = library().master_weights != 0;
  StateDtype state_dtype = static_cast<StateDtype>(library().state_dtype);
  bool stochastic_rounding = library().stochastic_rounding != 0;
  bool amsgrad = library().amsgrad != 0;
  std::int64_t seed = library().seed;

  static const gradstep_adam_options& library() {
    return detail::defaults<gradstep_adam_options, gradstep_adam_options_init>();
  }
  [[nodiscard]] gradstep_adam_options c() const {
    gradstep_adam_options made = library();
    made.learning_rate = learning_rate;
    made.beta1 = beta1;
    made.beta2 = beta2;
    made.epsilon = epsilon;
    made.weight_decay = weight_decay;
    made.bias_correction = static_cast<std::int32_t>(bias_correction);
    made.decoupled_weight_decay = decoupled_weight_decay ? 1 : 0;
    made.maximize = maximize ? 1 : 0;
    made.master_weights = master_weights ? 1 : 0;
    made.state_dtype = static_cast<std::int32_t>(state_dtype);
    made.stochastic_rounding = stochastic_rounding ? 1 : 0;
    made.amsgrad = amsgrad ? 1 : 0;
    made.seed = seed;
    return made;
  }
};

struct ReducerOptions {
  ReducerMode mode = static_cast<ReducerMode>(library().mode);
  Average average = static_cast<Average>(library().average);
  bool control = library().control != 0;
  std::int64_t fuse_threshold = library().fuse_threshold;
  std::int64_t bucket_elements = library().bucket_elements;
  double clip_value = library().clip_value;
  HalfSum half_sum = static_cast<HalfSum>(library().half_sum);
  bool residual = library().residual != 0;
  double sparsity = library().sparsity;
  Selection selection = static_cast<Selection>(library().selection);
  NanPolicy nan_policy = static_cast<NanPolicy>(library().nan_policy);
  SparseExchange sparse_exchange = static_cast<SparseExchange>(library().sparse_exchange);
  ErrorFeedback error_feedback = static_cast<ErrorFeedback>(library().error_feedback);
  double momentum_correction = library().momentum_correction;
  std::int64_t warmup_steps = library().warmup_steps;
  std::int32_t rank = library().rank;
  std::int32_t candidates = library().candidates;
  std::int32_t channels = library().channels;

  static const gradstep_reducer_options& library() {
    return detail::defaults<gradstep_reducer_options, gradstep_reducer_options_init>();
  }
  [[nodiscard]] gradstep_reducer_options c() const {
    gradstep_reducer_options made = library();
    made.mode = static_cast<std::int32_t>(mode);
    made.average = static_cast<std::int32_t>(average);
    made.control = control ? 1 : 0;
    made.fuse_threshold = fuse_threshold;
    made.bucket_elements = bucket_elements;
    made.clip_value = clip_value;
    made.half_sum = static_cast<std::int32_t>(half_sum);
    made.residual = residual ? 1 : 0;
    made.sparsity = sparsity;
    made.selection = static_cast<std::int32_t>(selection);
    made.nan_policy = static_cast<std::int32_t>(nan_policy);
    made.sparse_exchange = static_cast<std::int32_t>(sparse_exchange);
    made.error_feedback = static_cast<std::int32_t>(error_feedback);
    made.momentum_correction = momentum_correction;
    made.warmup_steps = warmup_steps;
    made.rank = rank;
    made.candidates = candidates;
    made.channels = channels;
    return made;
  }
};

struct ShampooOptions {
  double learning_rate = library().learning_rate;
  double beta1 = library().beta1;
  double beta2 = library().beta2;
  double diagonal_epsilon = library().diagonal_epsilon;
  double matrix_epsilon = library().matrix_epsilon;
  double weight_decay = library().weight_decay;
  double inverse_failure_threshold = library().inverse_failure_threshold;
  double clip_by_scaled_gradient_norm = library().clip_by_scaled_gradient_norm;
  double graft_beta1 = library().graft_beta1;
  double graft_beta2 = library().graft_beta2;
  double precondition = library().precondition;
  double average_decay = library().average_decay;
  GraftType graft_type = static_cast<GraftType>(library().graft_type);
  std::int64_t block_size = library().block_size;
  std::int64_t start_preconditioning_step = library().start_preconditioning_step;
  std::int64_t preconditioning_compute_steps = library().preconditioning_compute_steps;
  std::int64_t statistics_compute_steps = library().statistics_compute_steps;
  std::int64_t skip_preconditioning_dim_size_gt = library().skip_preconditioning_dim_size_gt;
  std::int32_t exponent_override = library().exponent_override;
  bool best_effort_shape_interpretation = library().best_effort_shape_interpretation != 0;
  bool nesterov = library().nesterov != 0;
  bool moving_average_for_momentum = library().moving_average_for_momentum != 0;
  bool decoupled_weight_decay = library().decoupled_weight_decay != 0;
  RootMethod root_method = static_cast<RootMethod>(library().root_method);
  RootPrecision root_precision = static_cast<RootPrecision>(library().root_precision);
  RootPadding root_padding = static_cast<RootPadding>(library().root_padding);
  std::int32_t root_retries = library().root_retries;
  std::int32_t root_lag = library().root_lag;
  Refresh refresh = static_cast<Refresh>(library().refresh);
  bool quantize_momentum = library().quantize_momentum != 0;
  bool quantize_statistics = library().quantize_statistics != 0;
  OneSided one_sided = static_cast<OneSided>(library().one_sided);
  bool eigenvalue_corrected = library().eigenvalue_corrected != 0;
  bool master_weights = library().master_weights != 0;
  ProductPrecision product_precision = static_cast<ProductPrecision>(library().product_precision);
  bool maximize = library().maximize != 0;
  std::int64_t average_start = library().average_start;
  std::int64_t average_every = library().average_every;
  bool average_warmup = library().average_warmup != 0;
  bool average_equal = library().average_equal != 0;
  StateDtype state_dtype = static_cast<StateDtype>(library().state_dtype);
  bool stochastic_rounding = library().stochastic_rounding != 0;
  std::int64_t seed = library().seed;
  ShampooStatistics statistics = static_cast<ShampooStatistics>(library().statistics);
  Ridge ridge = static_cast<Ridge>(library().ridge);

  static const gradstep_shampoo_options& library() {
    return detail::defaults<gradstep_shampoo_options, gradstep_shampoo_options_init>();
  }
  [[nodiscard]] gradstep_shampoo_options c() const {
    gradstep_shampoo_options made = library();
    made.learning_rate = learning_rate;
    made.beta1 = beta1;
    made.beta2 = beta2;
    made.diagonal_epsilon = diagonal_epsilon;
    made.matrix_epsilon = matrix_epsilon;
    made.weight_decay = weight_decay;
    made.inverse_failure_threshold = inverse_failure_threshold;
    made.clip_by_scaled_gradient_norm = clip_by_scaled_gradient_norm;
    made.graft_beta1 = graft_beta1;
    made.graft_beta2 = graft_beta2;
    made.precondition = precondition;
    made.average_decay = average_decay;
    made.graft_type = static_cast<std::int32_t>(graft_type);
    made.block_size = block_size;
    made.start_preconditioning_step = start_preconditioning_step;
    made.preconditioning_compute_steps = preconditioning_compute_steps;
    made.statistics_compute_steps = statistics_compute_steps;
    made.skip_preconditioning_dim_size_gt = skip_preconditioning_dim_size_gt;
    made.exponent_override = exponent_override;
    made.best_effort_shape_interpretation = best_effort_shape_interpretation ? 1 : 0;
    made.nesterov = nesterov ? 1 : 0;
    made.moving_average_for_momentum = moving_average_for_momentum ? 1 : 0;
    made.decoupled_weight_decay = decoupled_weight_decay ? 1 : 0;
    made.root_method = static_cast<std::int32_t>(root_method);
    made.root_precision = static_cast<std::int32_t>(root_precision);
    made.root_padding = static_cast<std::int32_t>(root_padding);
    made.root_retries = root_retries;
    made.root_lag = root_lag;
    made.refresh = static_cast<std::int32_t>(refresh);
    made.quantize_momentum = quantize_momentum ? 1 : 0;
    made.quantize_statistics = quantize_statistics ? 1 : 0;
    made.one_sided = static_cast<std::int32_t>(one_sided);
    made.eigenvalue_corrected = eigenvalue_corrected ? 1 : 0;
    made.master_weights = master_weights ? 1 : 0;
    made.product_precision = static_cast<std::int32_t>(product_precision);
    made.maximize = maximize ? 1 : 0;
    made.average_start = average_start;
    made.average_every = average_every;
    made.average_warmup = average_warmup ? 1 : 0;
    made.average_equal = average_equal ? 1 : 0;
    made.state_dtype = static_cast<std::int32_t>(state_dtype);
    made.stochastic_rounding = stochastic_rounding ? 1 : 0;
    made.seed = seed;
    made.statistics = static_cast<std::int32_t>(statistics);
    made.ridge = static_cast<std::int32_t>(ridge);
    return made;
  }
};

struct ShardingOptions {
  ShardedGradients gradients = static_cast<ShardedGradients>(library().gradients);
  Average average = static_cast<Average>(library().average);
  ShardedPreconditioners preconditioners = static_cast<ShardedPreconditioners>(library().preconditioners);

  static const gradstep_sharding_options& library() {
    return detail::defaults<gradstep_sharding_options, gradstep_sharding_options_init>();
  }
  [[nodiscard]] gradstep_sharding_options c() const {
    gradstep_sharding_options made = library();
    made.gradients = static_cast<std::int32_t>(gradients);
    made.average = static_cast<std::int32_t>(average);
    made.preconditioners = static_cast<std::int32_t>(preconditioners);
    return made;
  }
};

struct LoadOptions {
  bool allow_unchecked = library().allow_unchecked != 0;

  static const gradstep_load_options& library() {
    return detail::defaults<gradstep_load_options, gradstep_load_options_init>();
  }
  [[nodiscard]] gradstep_load_options c() const {
    gradstep_load_options made = library();
    made.allow_unchecked = allow_unchecked ? 1 : 0;
    return made;
  }
};

struct UpdaterOptions {
  UpdaterSync sync = static_cast<UpdaterSync>(library().sync);
  bool skip_nonfinite = library().skip_nonfinite != 0;
  std::int32_t sync_steps = library().sync_steps;
  double max_norm = library().max_norm;
  double clip_value = library().clip_value;
  double grad_scale = library().grad_scale;
  std::int32_t outer_fragments = library().outer_fragments;
  std::int32_t outer_delay = library().outer_delay;
  double outer_mix = library().outer_mix;

  static const gradstep_updater_options& library() {
    return detail::defaults<gradstep_updater_options, gradstep_updater_options_init>();
  }
  [[nodiscard]] gradstep_updater_options c() const {
    gradstep_updater_options made = library();
    made.sync = static_cast<std::int32_t>(sync);
    made.skip_nonfinite = skip_nonfinite ? 1 : 0;
    made.sync_steps = sync_steps;
    made.max_norm = max_norm;
    made.clip_value = clip_value;
    made.grad_scale = grad_scale;
    made.outer_fragments = outer_fragments;
    made.outer_delay = outer_delay;
    made.outer_mix = outer_mix;
    return made;
  }
};
}  // namespace gradstep::inline cpp_v0
