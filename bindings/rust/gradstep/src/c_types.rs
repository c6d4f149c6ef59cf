// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/generate from the C headers.
//! Enums, options and records of the C API.

use std::time::Duration;

use crate::handle::record;
use crate::options::{Candidates, c_enum, options};

c_enum! {
    /// `gradstep_accumulation_mode` of accumulator.h.
    AccumulationMode {
        /// a += g / K.
        MeanEach = GRADSTEP_ACCUMULATE_MEAN_EACH,
        /// a += g.
        Sum = GRADSTEP_ACCUMULATE_SUM,
        /// a += g, divided by m at the end.
        Mean = GRADSTEP_ACCUMULATE_MEAN,
        /// a += (g - a) / (k + 1).
        RunningMean = GRADSTEP_ACCUMULATE_RUNNING_MEAN,
        /// a += w g, divided by the sum of weights at the end.
        Weighted = GRADSTEP_ACCUMULATE_WEIGHTED,
    }
}
/// The old name of [`AccumulationMode`].
#[deprecated(note = "use AccumulationMode")]
pub type Mode = AccumulationMode;
c_enum! {
    /// `gradstep_accumulation_trigger` of accumulator.h.
    AccumulationTrigger {
        /// K = steps micro-batches.
        Steps = GRADSTEP_TRIGGER_STEPS,
        /// K = the schedule's value at the number of finished windows, rounded to nearest.
        Schedule = GRADSTEP_TRIGGER_SCHEDULE,
        /// The sum of the adds' weights reaches min_weight; not with mean_each.
        MinWeight = GRADSTEP_TRIGGER_MIN_WEIGHT,
        /// Only gradstep_accumulator_flush ends a window; not with mean_each.
        Manual = GRADSTEP_TRIGGER_MANUAL,
    }
}
/// The old name of [`AccumulationTrigger`].
#[deprecated(note = "use AccumulationTrigger")]
pub type Trigger = AccumulationTrigger;
c_enum! {
    /// `gradstep_nonfinite_policy` of accumulator.h.
    NonfinitePolicy {
        /// Infinities and NaNs are summed like any number.
        None = GRADSTEP_NONFINITE_NONE,
        /// As NONE, and gradstep_accumulator_norm of the window says NaN or infinity.
        Poison = GRADSTEP_NONFINITE_POISON,
        /// a micro-batch whose norm is not finite is not added: an element is not, or the sum of squares, in f64,
        /// overflows; costs one read of it.
        Skip = GRADSTEP_NONFINITE_SKIP,
    }
}
/// The old name of [`NonfinitePolicy`].
#[deprecated(note = "use NonfinitePolicy")]
pub type NonFinite = NonfinitePolicy;
c_enum! {
    /// `gradstep_reduce_op` of comm.h.
    ReduceOp {
        /// `sum`.
        Sum = GRADSTEP_REDUCE_SUM,
        /// `max`.
        Max = GRADSTEP_REDUCE_MAX,
        /// `min`.
        Min = GRADSTEP_REDUCE_MIN,
    }
}
c_enum! {
    /// `gradstep_reduction_order` of comm.h.
    ReductionOrder {
        /// Equal bits on every engine.
        Rank = GRADSTEP_REDUCTION_RANK,
        /// The engine's own; ranks agree with each other, nothing more. Gloo sums large f32, f64 and integer arrays by
        /// a ring, others as RANK.
        Engine = GRADSTEP_REDUCTION_ENGINE,
        /// ((host 0) + (host 1) + ...), each host's sum in the order of its ranks: bytes cross the network once for
        /// each host. Every engine gives equal bits, as long as the ranks on each host stay. Engines of device memory:
        /// UNSUPPORTED.
        Hosts = GRADSTEP_REDUCTION_HOSTS,
    }
}
c_enum! {
    /// How gradients of P ranks become one. With g_r and w_r the gradient and weight of rank r:
    Average {
        /// What a reducer's mode says: SUM for Adasum, else MEAN.
        Unset = GRADSTEP_AVERAGE_UNSET,
        /// Sum g_r.
        Sum = GRADSTEP_AVERAGE_SUM,
        /// Sum g_r / P.
        Mean = GRADSTEP_AVERAGE_MEAN,
        /// Sum w_r g_r / sum w_r; zero where all weights are zero.
        Weighted = GRADSTEP_AVERAGE_WEIGHTED,
    }
}
c_enum! {
    /// `gradstep_log_level` of context.h.
    LogLevel {
        /// `off`.
        Off = GRADSTEP_LOG_OFF,
        /// `error`.
        Error = GRADSTEP_LOG_ERROR,
        /// `warning`.
        Warning = GRADSTEP_LOG_WARNING,
        /// `info`.
        Info = GRADSTEP_LOG_INFO,
        /// `debug`.
        Debug = GRADSTEP_LOG_DEBUG,
    }
}
c_enum! {
    /// `gradstep_cost_algorithm` of cost.h.
    CostAlgorithm {
        /// gradstep's own collectives.
        Own = GRADSTEP_COST_OWN,
        /// All-reduces that an engine or a host may have. a ring: what reduction order ENGINE does over Gloo.
        Ring = GRADSTEP_COST_RING,
        /// Recursive halving and doubling.
        Tree = GRADSTEP_COST_TREE,
        /// Inside hosts, then between them.
        Hierarchical = GRADSTEP_COST_HIERARCHICAL,
        /// Exchanges of SPARSE_TOPK, see enum gradstep_sparse_exchange. all ranks get every selection.
        SparseGather = GRADSTEP_COST_SPARSE_GATHER,
        /// Each rank sums a share.
        SparseSplit = GRADSTEP_COST_SPARSE_SPLIT,
        /// gradstep's own sums by hosts, see enum gradstep_reduction_order.
        Hosts = GRADSTEP_COST_HOSTS,
    }
}
c_enum! {
    /// How state tensors are stored. f64 parameters take NATIVE only.
    StateDtype {
        /// f32; f64 for f64 parameters.
        Native = GRADSTEP_STATE_DTYPE_NATIVE,
        /// `bf16`.
        Bf16 = GRADSTEP_STATE_DTYPE_BF16,
        /// One byte an element, by blocks of 256 as in Dettmers et al. 2022 ("8-bit optimizers via block-wise
        /// quantization"): zero, or how many octaves the element is below the largest magnitude of its block, in steps
        /// that widen with the distance, and its sign (sums of squares have none). The largest is kept exactly, an f32
        /// for each block.
        Int8 = GRADSTEP_STATE_DTYPE_INT8,
    }
}
c_enum! {
    /// `gradstep_epsilon_placement` of optimizer.h.
    EpsilonPlacement {
        /// g / sqrt(a + epsilon): SINGA.
        Inside = GRADSTEP_EPSILON_PLACEMENT_INSIDE,
        /// g / (sqrt(a) + epsilon): PyTorch.
        Outside = GRADSTEP_EPSILON_PLACEMENT_OUTSIDE,
    }
}
c_enum! {
    /// `gradstep_sgd_first_step` of optimizer.h.
    SgdFirstStep {
        /// SINGA: the buffer starts at 0 and the first gradient is dampened too.
        Dampen = GRADSTEP_SGD_FIRST_STEP_DAMPEN,
        /// PyTorch: the first gradient is copied into the buffer.
        Copy = GRADSTEP_SGD_FIRST_STEP_COPY,
    }
}
/// The old name of [`SgdFirstStep`].
#[deprecated(note = "use SgdFirstStep")]
pub type FirstStep = SgdFirstStep;
c_enum! {
    /// `gradstep_bias_correction` of optimizer.h.
    BiasCorrection {
        /// `standard`.
        Standard = GRADSTEP_BIAS_CORRECTION_STANDARD,
        /// TensorFlow and Lingvo: epsilon joins sqrt(v) before the correction.
        Tf = GRADSTEP_BIAS_CORRECTION_TF,
    }
}
c_enum! {
    /// How the gradients of the ranks become one. Every mode gives all ranks the same bits; and every mode but AUTO,
    /// which chooses by measurement, gives the same bits on every engine that sums in the order of ranks.
    /// docs/gradient_sync.md says which is for what.
    ReducerMode {
        /// Everything.
        Dense = GRADSTEP_REDUCER_DENSE,
        /// In f16.
        Half = GRADSTEP_REDUCER_HALF,
        /// In bf16.
        BFloat16 = GRADSTEP_REDUCER_BFLOAT16,
        /// What is as large as `sparsity`.
        SparseThreshold = GRADSTEP_REDUCER_SPARSE_THRESHOLD,
        /// The largest, a fraction `sparsity` of all.
        SparseTopK = GRADSTEP_REDUCER_SPARSE_TOPK,
        /// Adasum of pairs.
        AdasumTree = GRADSTEP_REDUCER_ADASUM_TREE,
        /// Adasum of all ranks at once.
        AdasumNWay = GRADSTEP_REDUCER_ADASUM_NWAY,
        /// low-rank factors.
        PowerSgd = GRADSTEP_REDUCER_POWERSGD,
        /// Whichever is the fastest here, for each bucket.
        Auto = GRADSTEP_REDUCER_AUTO,
        /// In codes of 8 bits.
        Int8 = GRADSTEP_REDUCER_INT8,
        /// In integers of 4 bits.
        Int4 = GRADSTEP_REDUCER_INT4,
        /// In floating point of 8 bits, 4 of them the exponent's.
        Fp8E4m3 = GRADSTEP_REDUCER_FP8_E4M3,
        /// In floating point of 8 bits, 5 of them the exponent's.
        Fp8E5m2 = GRADSTEP_REDUCER_FP8_E5M2,
    }
}
c_enum! {
    /// How mode HALF adds, always in the order of the ranks.
    HalfSum {
        /// In f32, divided there, rounded once.
        F32 = GRADSTEP_HALF_SUM_F32,
        /// Every addition rounded to f16, divided after: overflows at 65504 (SINGA).
        Fp16 = GRADSTEP_HALF_SUM_FP16,
        /// As FP16, divided before the cast (PyTorch); average MEAN only.
        Fp16Predivided = GRADSTEP_HALF_SUM_FP16_PREDIVIDED,
    }
}
c_enum! {
    /// What a sparse mode selects from.
    Selection {
        /// All elements of a bucket together (SINGA).
        Bucket = GRADSTEP_SELECTION_BUCKET,
        /// Each parameter by itself.
        Tensor = GRADSTEP_SELECTION_TENSOR,
    }
}
c_enum! {
    /// What a sparse mode does when gradient + residual is NaN.
    NanPolicy {
        /// The window fails with NUMERIC on all ranks, and changes nothing.
        Error = GRADSTEP_NAN_ERROR,
        /// Counts as zero; gradstep_reducer_stats says how many there were.
        Zero = GRADSTEP_NAN_ZERO,
        /// Counts as the largest number there is: it goes out and is seen by all ranks.
        Send = GRADSTEP_NAN_SEND,
    }
}
c_enum! {
    /// How the selected elements reach the other ranks; the results have the same bits.
    SparseExchange {
        /// Whichever would have sent less for the last window of this bucket.
        Auto = GRADSTEP_SPARSE_EXCHANGE_AUTO,
        /// Every rank gets every selection: grows with the number of ranks.
        Gather = GRADSTEP_SPARSE_EXCHANGE_GATHER,
        /// Each rank sums its share of the indices, then all get the sums.
        Split = GRADSTEP_SPARSE_EXCHANGE_SPLIT,
    }
}
c_enum! {
    /// What a sparse mode sends, and what it keeps.
    ErrorFeedback {
        /// Sends of gradient + residual; keeps what was not sent (Seide et al. 2014, SINGA).
        Ef14 = GRADSTEP_ERROR_FEEDBACK_EF14,
        /// Sends of the difference between the gradient and an estimate of it that all ranks together know; the result
        /// is the sum of all estimates, dense. SPARSE_TOPK only, average not WEIGHTED (Richtarik, Sokolov, Fatkhullin
        /// 2021).
        Ef21 = GRADSTEP_ERROR_FEEDBACK_EF21,
    }
}
c_enum! {
    /// How the last exchange of a bucket went.
    ExchangeAlgorithm {
        /// There was none yet, or there is one rank.
        None = GRADSTEP_EXCHANGE_NONE,
        /// a sum of all elements.
        AllReduce = GRADSTEP_EXCHANGE_ALL_REDUCE,
        /// Each rank worked on its piece of all ranks' elements.
        Pieces = GRADSTEP_EXCHANGE_PIECES,
        /// Each rank got all ranks' elements.
        Gather = GRADSTEP_EXCHANGE_GATHER,
        /// Each rank got all ranks' selections.
        SparseGather = GRADSTEP_EXCHANGE_SPARSE_GATHER,
        /// Each rank summed its share of the selections.
        SparseSplit = GRADSTEP_EXCHANGE_SPARSE_SPLIT,
        /// all-reduces of low-rank factors.
        Factors = GRADSTEP_EXCHANGE_FACTORS,
        /// Each rank got its slices of the sum (gradstep_optimizer_attach_reducer).
        Scatter = GRADSTEP_EXCHANGE_SCATTER,
    }
}
c_enum! {
    /// `gradstep_option_kind` of rule.h.
    OptionKind {
        /// a number that a schedule may change with the steps.
        HyperParameter = GRADSTEP_OPTION_HYPER_PARAMETER,
        /// a number that is read at creation alone.
        Setting = GRADSTEP_OPTION_SETTING,
        /// One of several names, or its number.
        Choice = GRADSTEP_OPTION_CHOICE,
        /// 0 or 1.
        Flag = GRADSTEP_OPTION_FLAG,
        /// a whole number of 64 bits.
        Integer = GRADSTEP_OPTION_INTEGER,
    }
}
c_enum! {
    /// Option "step_counting" of every rule: whose steps t counts.
    StepCounting {
        /// `optimizer`.
        Optimizer = GRADSTEP_STEP_COUNTING_OPTIMIZER,
        /// Steps that each took part in, as PyTorch does.
        Parameter = GRADSTEP_STEP_COUNTING_PARAMETER,
    }
}
c_enum! {
    /// Option "decay_mode" of every rule. All but the first two subtract from the parameter.
    DecayMode {
        /// As the rule says.
        Rule = GRADSTEP_DECAY_MODE_RULE,
        /// weight_decay * p is added to the gradient.
        Coupled = GRADSTEP_DECAY_MODE_COUPLED,
        /// learning_rate * weight_decay * p.
        Decoupled = GRADSTEP_DECAY_MODE_DECOUPLED,
        /// weight_decay * p.
        Independent = GRADSTEP_DECAY_MODE_INDEPENDENT,
        /// learning_rate / peak_learning_rate * weight_decay * p.
        Relative = GRADSTEP_DECAY_MODE_RELATIVE,
        /// learning_rate^2 / peak_learning_rate * weight_decay * p.
        Corrected = GRADSTEP_DECAY_MODE_CORRECTED,
    }
}
c_enum! {
    /// Option "cautious_update" of every rule: elements whose change has the sign of the gradient are left out, and the
    /// k of n that stay in a tensor are multiplied. Source: Liang et al. 2024, Cautious Optimizers.
    CautiousUpdate {
        /// `off`.
        Off = GRADSTEP_CAUTIOUS_UPDATE_OFF,
        /// By 1 / max(k / n, 1e-3).
        Mean = GRADSTEP_CAUTIOUS_UPDATE_MEAN,
        /// By n / (k + 1).
        Sum = GRADSTEP_CAUTIOUS_UPDATE_SUM,
    }
}
c_enum! {
    /// Option "adaptive_clip_units" of every rule: the elements that are clipped together. A tensor of one axis is one
    /// unit. Source: Brock et al. 2021, High-Performance Large-Scale Image Recognition Without Normalization.
    AdaptiveClipUnits {
        /// All but the first axis: the weights of an output.
        Rows = GRADSTEP_ADAPTIVE_CLIP_UNITS_ROWS,
        /// The first of two or three axes, all but the last of more: optax.
        Columns = GRADSTEP_ADAPTIVE_CLIP_UNITS_COLUMNS,
        /// The second of two or three, all but the first of more: pytorch_optimizer.
        Second = GRADSTEP_ADAPTIVE_CLIP_UNITS_SECOND,
    }
}
c_enum! {
    /// Whose step length a preconditioned direction gets, and what is used before start_preconditioning_step.
    GraftType {
        /// u = g.
        Sgd = GRADSTEP_GRAFT_TYPE_SGD,
        /// v += g^2, u = g / (sqrt(v) + diagonal_epsilon).
        AdaGrad = GRADSTEP_GRAFT_TYPE_ADAGRAD,
        /// v = w1 v + w2 g^2 with the w of the statistics, u as above.
        RmsProp = GRADSTEP_GRAFT_TYPE_RMSPROP,
        /// RMSPROP of g / (|g| + 1e-16).
        RmsPropNormalized = GRADSTEP_GRAFT_TYPE_RMSPROP_NORMALIZED,
        /// u = sign(g).
        SqrtN = GRADSTEP_GRAFT_TYPE_SQRT_N,
        /// ADAGRAD of g / (|g| + 1e-16).
        AdaGradNormalized = GRADSTEP_GRAFT_TYPE_ADAGRAD_NORMALIZED,
        /// Adam's direction, by graft_beta1, graft_beta2 and diagonal_epsilon.
        Adam = GRADSTEP_GRAFT_TYPE_ADAM,
        /// The direction keeps its length; u = g.
        None = GRADSTEP_GRAFT_TYPE_NONE,
    }
}
c_enum! {
    /// `gradstep_root_method` of shampoo.h.
    RootMethod {
        /// Chosen by size and device: EIGH on CPU.
        Auto = GRADSTEP_ROOT_METHOD_AUTO,
        /// Google's iteration, in scaled steps.
        CoupledNewton = GRADSTEP_ROOT_METHOD_COUPLED_NEWTON,
        /// By the tridiagonal form of the statistic, or its eigenvectors.
        Eigh = GRADSTEP_ROOT_METHOD_EIGH,
    }
}
c_enum! {
    /// What roots are computed in.
    RootPrecision {
        /// `f64`.
        F64 = GRADSTEP_ROOT_PRECISION_F64,
        /// a root that fails is tried again in f64 first, see root_retries.
        F32 = GRADSTEP_ROOT_PRECISION_F32,
    }
}
c_enum! {
    /// What the f32 products of a device may do to their operands: statistics, P(g), and SOAP's rotations. Roots and
    /// bases are not concerned.
    ProductPrecision {
        /// `f32`.
        F32 = GRADSTEP_PRODUCT_PRECISION_F32,
        /// CUDA: tensor cores, which keep 10 of 23 bits; sums in f32. CPU: as F32.
        Tf32 = GRADSTEP_PRODUCT_PRECISION_TF32,
    }
}
c_enum! {
    /// `gradstep_root_padding` of shampoo.h.
    RootPadding {
        /// `none`.
        None = GRADSTEP_ROOT_PADDING_NONE,
        /// Google: roots are those of statistics extended by 1s to the largest block.
        Largest = GRADSTEP_ROOT_PADDING_LARGEST,
    }
}
c_enum! {
    /// `gradstep_refresh` of shampoo.h.
    Refresh {
        /// The roots of a step serve in it.
        Fresh = GRADSTEP_REFRESH_FRESH,
        /// They serve from the next step on, as in Google's sharded mode.
        Stale = GRADSTEP_REFRESH_STALE,
    }
}
c_enum! {
    /// Which axes of the merged tensor are preconditioned.
    OneSided {
        /// All.
        None = GRADSTEP_ONE_SIDED_NONE,
        /// All but the last.
        Input = GRADSTEP_ONE_SIDED_INPUT,
        /// The last.
        Output = GRADSTEP_ONE_SIDED_OUTPUT,
    }
}
c_enum! {
    /// What is contracted with itself over all other axes, and enters the statistic of an axis.
    ShampooStatistics {
        /// g.
        Gradients = GRADSTEP_SHAMPOO_STATISTICS_GRADIENTS,
        /// KL-Shampoo: g multiplied by the preconditioners of the other axes.
        Kl = GRADSTEP_SHAMPOO_STATISTICS_KL,
        /// KL, divided by the number of elements of the other axes.
        KlMean = GRADSTEP_SHAMPOO_STATISTICS_KL_MEAN,
    }
}
c_enum! {
    /// What is added to a statistic's diagonal before its root is taken.
    Ridge {
        /// matrix_epsilon * max(largest eigenvalue, 1e-6).
        Relative = GRADSTEP_RIDGE_RELATIVE,
        /// matrix_epsilon, as in Meta's Shampoo.
        Absolute = GRADSTEP_RIDGE_ABSOLUTE,
    }
}
c_enum! {
    /// What the gradients of a sharded step are.
    ShardedGradients {
        /// Each rank's own: the step reduce-scatters them.
        Local = GRADSTEP_SHARDED_GRADIENTS_LOCAL,
        /// Equal on all ranks already.
        Reduced = GRADSTEP_SHARDED_GRADIENTS_REDUCED,
    }
}
c_enum! {
    /// What is dealt out to the ranks of a Shampoo. Other rules do not look at it.
    ShardedPreconditioners {
        /// The roots: each is computed once, and gathered on all ranks.
        Replicated = GRADSTEP_SHARDED_PRECONDITIONERS_REPLICATED,
        /// The blocks: preconditioned gradients are gathered on all ranks.
        Owned = GRADSTEP_SHARDED_PRECONDITIONERS_OWNED,
    }
}
c_enum! {
    /// `gradstep_updater_sync` of updater.h.
    UpdaterSync {
        /// Reduce gradients, then step: replicas stay equal bit for bit.
        Gradients = GRADSTEP_SYNC_GRADIENTS,
        /// Each rank steps with its own gradients; every sync_steps-th step one partition of the parameters is
        /// averaged, the next one in turn. Partitions are the reducer's buckets. Between two averages replicas differ,
        /// and states always do. Source: SINGA DistOpt, backward_and_partial_update.
        ParametersPartial = GRADSTEP_SYNC_PARAMETERS_PARTIAL,
        /// All parameters at once: local SGD.
        Parameters = GRADSTEP_SYNC_PARAMETERS,
        /// Each rank steps a copy with its own gradients; what its parameters would change by is reduced, by the
        /// reducer's mode, and added: replicas' parameters stay equal bit for bit, states differ. With Adasum this is
        /// Horovod's distributed optimizer. With options.outer it is DiLoCo: each rank steps its parameters for a round
        /// of sync_steps windows, and nothing travels. Then the point where the round began minus the parameters is
        /// reduced, by the reducer's mode and average; the outer optimizer steps that point with it as the gradient,
        /// and the result becomes the parameters of all ranks. Source: Douillard et al., arXiv 2311.08105, algorithm 1.
        Deltas = GRADSTEP_SYNC_DELTAS,
    }
}
options! {
    /// `gradstep_accumulator_options` of accumulator.h.
    AccumulatorOptions => gradstep_accumulator_options by gradstep_accumulator_options_init {
        /// Default MEAN_EACH.
        mode: AccumulationMode,
        /// Default STEPS.
        trigger: AccumulationTrigger,
        /// Default NONE.
        nonfinite: NonfinitePolicy,
        /// K >= 1 for STEPS; default 1.
        steps: i64,
        /// Above 0 for MIN_WEIGHT.
        min_weight: f64,
        /// gradstep_accumulator_sums stays valid in READY, see there.
        keep_sums: bool,
    }
}
record! {
    /// Completed calls since creation; a dup or split counts for itself, a vote counts as an all-gather. Bytes are what
    /// this rank sent.
    CommStatistics from gradstep_comm_statistics {
        /// All reduces.
        all_reduces: i64 = all_reduces,
        /// All gathers.
        all_gathers: i64 = all_gathers,
        /// Reduce scatters.
        reduce_scatters: i64 = reduce_scatters,
        /// Broadcasts.
        broadcasts: i64 = broadcasts,
        /// Sends.
        sends: i64 = sends,
        /// Receives.
        receives: i64 = receives,
        /// Barriers.
        barriers: i64 = barriers,
        /// Bytes sent.
        bytes_sent: i64 = bytes_sent,
        /// Spent inside calls.
        time: Duration = nanoseconds,
        /// For a reducer: each rank sent other bytes to every other one.
        exchanges: i64 = exchanges,
        /// In each of which all ranks, or all of a host, sent to each other or met.
        rounds: i64 = rounds,
    }
}
options! {
    /// `gradstep_cost_options` of cost.h.
    CostOptions => gradstep_cost_options by gradstep_cost_options_init {
        /// Size in the reducer's arithmetic: 4, the default, or 8 for f64.
        element_bytes: i32,
        /// In all parameters, >= 1; not set by init.
        elements: i64,
        /// P, 1 to 100000; not set by init.
        ranks: i64,
        /// H, divides P; default 1.
        ranks_per_host: i64,
        /// At least 1: elements travel in equal buckets of at most so many; default 2097152.
        bucket_elements: i64,
        /// B, bytes a second each way, > 0; not set by init.
        bandwidth: f64,
        /// L, seconds, >= 0; not set by init.
        latency: f64,
        /// b, default 5e9.
        host_bandwidth: f64,
        /// l, default 5e-6.
        host_latency: f64,
        /// o, seconds, default 2e-6.
        message: f64,
        /// SPARSE_TOPK: 0 < sparsity <= 1, default 0.01.
        sparsity: f64,
        /// POWERSGD: >= 1, default 2.
        rank: i32,
        /// The engine can only gather, as a host with nothing but all_gather.
        no_exchange: bool,
        /// POWERSGD: the elements lie in matrices of rows x columns; >= 1, default 1024.
        rows: i64,
        /// POWERSGD: see rows; >= 1, default 1024.
        columns: i64,
        /// One rank's work on an element, >= 0; the defaults are those of one core of an AMD EPYC (AVX-512). into a
        /// bucket.
        pack_seconds: f64,
        /// To 16 bits, and back.
        convert_seconds: f64,
        /// When the largest are selected.
        select_seconds: f64,
        /// For an entry of a sparse list that is summed.
        entry_seconds: f64,
        /// To a dense sum.
        add_seconds: f64,
        /// Into another vector, by Adasum.
        merge_seconds: f64,
        /// By one column, for PowerSGD; each further column takes a fifth of it.
        multiply_seconds: f64,
        /// Above 0: a window has the control all-reduce of so many parameters; 0, the default: none.
        control_parameters: i64,
        /// 0 to 16: buckets under way at once, see gradstep_reducer_options; 0, the default: one.
        channels: i32,
        /// The engine gathers few bytes directly, as MPI does; 0, the default: as Gloo does.
        no_stages: bool,
        /// As convert_seconds, into codes of 8 bits or 4; 0: half of that.
        encode_seconds: f64,
        /// Out of codes; 0: likewise.
        decode_seconds: f64,
    }
}
record! {
    /// One way to exchange all elements once.
    Cost from gradstep_cost {
        /// See [`ReducerMode`].
        mode: ReducerMode = mode,
        /// See [`CostAlgorithm`].
        algorithm: CostAlgorithm = algorithm,
        /// That a rank sends.
        bytes: i64 = bytes,
        /// In all.
        seconds: f64 = seconds,
        /// Messages and bytes.
        network_seconds: f64 = network_seconds,
        /// As gradstep_reducer_comm_stats counts them; an engine's own all-reduce is one call and, but for RING, one
        /// round. all_reduces + all_gathers + exchanges.
        calls: i64 = calls,
        /// In which every rank of a group sends to others.
        rounds: i64 = rounds,
    }
}
record! {
    /// Bytes that an optimizer holds: state tensors, and everything else (schema, work lists, scratch).
    Memory from gradstep_memory {
        /// State bytes.
        state_bytes: i64 = state_bytes,
        /// Other bytes.
        other_bytes: i64 = other_bytes,
    }
}
options! {
    /// `gradstep_reducer_options` of reducer.h.
    ReducerOptions => gradstep_reducer_options by gradstep_reducer_options_init {
        /// See [`ReducerMode`].
        mode: ReducerMode,
        /// See [`Average`].
        average: Average,
        /// Every window has the control all-reduce.
        control: bool,
        /// Elements, >= 1; default 2097152.
        fuse_threshold: i64,
        /// Room that a packed bucket may take: 0, the default, or >= 2 fuse_threshold, which none exceeds.
        bucket_elements: i64,
        /// HALF and BFLOAT16: >= 0; 0 = off, the default.
        clip_value: f64,
        /// See [`HalfSum`].
        half_sum: HalfSum,
        /// Default true; sparse modes and codes: 1 keeps what was not sent, 0 drops it.
        residual: bool,
        /// The threshold (>= 0), or the fraction that is kept (0 < sparsity <= 1); default 0.05.
        sparsity: f64,
        /// See [`Selection`].
        selection: Selection,
        /// See [`NanPolicy`].
        nan_policy: NanPolicy,
        /// See [`SparseExchange`].
        sparse_exchange: SparseExchange,
        /// See [`ErrorFeedback`].
        error_feedback: ErrorFeedback,
        /// SPARSE_TOPK: 0 <= momentum_correction < 1, 0 = off. v = momentum_correction v + gradient goes into the
        /// residual in the gradient's stead, and v becomes zero where something is sent; the optimizer then needs no
        /// momentum. The fraction that is sent falls from 1 to `sparsity` within warmup_steps windows:
        /// sparsity^((t+1)/(warmup_steps+1)) in window t. Source: Deep Gradient Compression (Lin et al. 2018).
        momentum_correction: f64,
        /// At least 0.
        warmup_steps: i64,
        /// POWERSGD: columns of the factors, >= 1, default 2.
        rank: i32,
        /// Flags; AUTO: 1 << mode for DENSE, HALF, SPARSE_TOPK, POWERSGD, INT8, INT4 and FP8_*, no mode = the first
        /// three; and enum gradstep_candidate_flags.
        candidates: Candidates,
        /// Buckets that may be under way at once, each over a channel of its own, so that one bucket's bytes travel
        /// during another one's delays. 0 to 16; 0 = four over engine gloo of at most 16 ranks, else one. One is used
        /// where exchanges cannot overlap (see gradstep_reducer_push), and on a device.
        channels: i32,
    }
}
record! {
    /// One bucket of the plan; also the element of gradstep_reducer_stats. Times are since creation, in nanoseconds.
    BucketStatistics from gradstep_bucket_statistics {
        /// What was chosen for this bucket.
        mode: ReducerMode = mode,
        /// Elements.
        elements: i64 = elements,
        /// Parameters.
        parameters: i64 = parameters,
        /// Since creation.
        exchanges: i64 = exchanges,
        /// What one dense exchange of it sends per rank.
        bytes_dense: i64 = bytes_dense,
        /// Since creation, by this rank.
        bytes_sent: i64 = bytes_sent,
        /// Pack time.
        pack_time: Duration = pack_nanoseconds,
        /// Selection included.
        exchange_time: Duration = exchange_nanoseconds,
        /// Sparse modes: finding what is sent.
        select_time: Duration = select_nanoseconds,
        /// Sparse modes: elements that this rank has sent, since creation.
        selected: i64 = selected,
        /// Since creation. HALF, BFLOAT16: elements of the sum that became infinite or NaN, of this rank's share of it
        /// where it is scattered; sparse: NaNs dropped.
        nonfinite: i64 = nonfinite,
        /// See [`ExchangeAlgorithm`].
        algorithm: ExchangeAlgorithm = algorithm,
        /// Its sums are by hosts, see enum gradstep_reduction_order.
        by_hosts: bool = by_hosts,
        /// AUTO: what the cost model says of one window, 0 = it was no candidate; sums by the faster of the allowed
        /// orders. See there which was chosen.
        predicted_dense: Duration = predicted_dense_nanoseconds,
        /// Predicted half time.
        predicted_half: Duration = predicted_half_nanoseconds,
        /// Predicted sparse gather time.
        predicted_sparse_gather: Duration = predicted_sparse_gather_nanoseconds,
        /// Predicted sparse split time.
        predicted_sparse_split: Duration = predicted_sparse_split_nanoseconds,
        /// That the host's thread waited for exchanges; what these took beyond it was hidden.
        wait_time: Duration = wait_nanoseconds,
        /// Predicted int8 time.
        predicted_int8: Duration = predicted_int8_nanoseconds,
        /// Predicted powersgd time.
        predicted_powersgd: Duration = predicted_powersgd_nanoseconds,
        /// Predicted int4 time.
        predicted_int4: Duration = predicted_int4_nanoseconds,
        /// Both forms send as much.
        predicted_fp8: Duration = predicted_fp8_nanoseconds,
    }
}
options! {
    /// Distributed Shampoo (Gupta, Koren and Singer 2018; Anil et al. 2020). f64 parameters have their state,
    /// statistics, roots and bases in f64, and their arithmetic; root_precision and product_precision do not concern
    /// them. Others are computed in f32.
    Shampoo => gradstep_shampoo_options by gradstep_shampoo_options_init {
        /// See [`GraftType`].
        graft_type: GraftType,
        /// Must be set.
        learning_rate: f64,
        /// In [0, 1), default 0.9.
        beta1: f64,
        /// In [0, 1], default 0.999.
        beta2: f64,
        /// At least 0, default 1e-10.
        diagonal_epsilon: f64,
        /// At least 0, default 1e-6; statistics start at this times I.
        matrix_epsilon: f64,
        /// At least 0, default 0.
        weight_decay: f64,
        /// At least 0, default 0.1.
        inverse_failure_threshold: f64,
        /// At least 0, default 0 = off.
        clip_by_scaled_gradient_norm: f64,
        /// ADAM: in [0, 1), default 0.9.
        graft_beta1: f64,
        /// ADAM: in [0, 1), default 0.999.
        graft_beta2: f64,
        /// 0 or more, default 1; the constant 0 = u alone.
        precondition: f64,
        /// Above 0, default 128.
        block_size: i64,
        /// At least 0, default 5.
        start_preconditioning_step: i64,
        /// Above 0, default 1: roots where t is a multiple of it.
        preconditioning_compute_steps: i64,
        /// Above 0, default 1.
        statistics_compute_steps: i64,
        /// Above 0, default 4096.
        skip_preconditioning_dim_size_gt: i64,
        /// 0 to 1024, default 0 = 2 * dimensions.
        exponent_override: i32,
        /// Default true.
        best_effort_shape_interpretation: bool,
        /// Default true.
        nesterov: bool,
        /// Momenta add 1 - beta1 of what is new, not all of it.
        moving_average_for_momentum: bool,
        /// p -= learning_rate * weight_decay * p, not part of the momentum.
        decoupled_weight_decay: bool,
        /// See [`RootMethod`].
        root_method: RootMethod,
        /// See [`RootPrecision`].
        root_precision: RootPrecision,
        /// See [`RootPadding`].
        root_padding: RootPadding,
        /// 0 to 12, default 6.
        root_retries: i32,
        /// Steps, 0 to 1000, default 0.
        root_lag: i32,
        /// See [`Refresh`].
        refresh: Refresh,
        /// Momenta in int8.
        quantize_momentum: bool,
        /// Statistics and preconditioners in int16.
        quantize_statistics: bool,
        /// See [`OneSided`].
        one_sided: OneSided,
        /// SOAP, Adam in the eigenbasis of the statistics.
        eigenvalue_corrected: bool,
        /// Steps f32 copies of f16 and bf16 parameters.
        master_weights: bool,
        /// See [`ProductPrecision`].
        product_precision: ProductPrecision,
        /// Negates the gradients, before all else.
        maximize: bool,
        /// In [0, 1), 0 = none, the default; no hyper-parameter: read at creation.
        average_decay: f64,
        /// At least 0, default 0.
        average_start: i64,
        /// At least 0, default 1; 0 is 1.
        average_every: i64,
        /// average_decay is at most (1 + n) / (10 + n) after n steps.
        average_warmup: bool,
        /// The mean of the averaged steps, in place of average_decay.
        average_equal: bool,
        /// NATIVE or BF16, see above.
        state_dtype: StateDtype,
        /// As in the other rules.
        stochastic_rounding: bool,
        /// For stochastic_rounding.
        seed: i64,
        /// See [`ShampooStatistics`].
        statistics: ShampooStatistics,
        /// See [`Ridge`].
        ridge: Ridge,
    }
}
options! {
    /// `gradstep_sharding_options` of sharding.h.
    ShardingOptions => gradstep_sharding_options by gradstep_sharding_options_init {
        /// See [`ShardedGradients`].
        gradients: ShardedGradients,
        /// LOCAL gradients take SUM or MEAN (UNSET).
        average: Average,
        /// See [`ShardedPreconditioners`].
        preconditioners: ShardedPreconditioners,
    }
}
options! {
    /// `gradstep_load_options` of state.h.
    LoadOptions => gradstep_load_options by gradstep_load_options_init {
        /// a file without "gradstep.checksum" is taken (made or edited by another program).
        allow_unchecked: bool,
    }
}
options! {
    /// `gradstep_updater_options` of updater.h.
    UpdaterOptions => gradstep_updater_options by gradstep_updater_options_init {
        /// See [`UpdaterSync`].
        sync: UpdaterSync,
        /// a window whose reduced gradients are not finite makes no step, on all ranks alike; with outer each rank
        /// skips local steps by itself, and a round whose reduced change is not finite leads back to where it began, on
        /// all ranks.
        skip_nonfinite: bool,
        /// PARAMETERS, PARAMETERS_PARTIAL, and DELTAS with outer: >= 1, default 1.
        sync_steps: i32,
        /// At least 0, of the gradients that are stepped: the reduced ones, or the rank's own; 0 = off.
        max_norm: f64,
        /// At least 0; 0 = off.
        clip_value: f64,
        /// Finite; default 1.
        grad_scale: f64,
        /// With outer, Streaming DiLoCo (arXiv 2501.18512): the buckets of the reducer are divided into so many parts
        /// of the model, in the order of the parameters: default 1, 0 counts as 1; a divisor of sync_steps, and at most
        /// the number of buckets. Their rounds end in turn, one every sync_steps / outer_fragments windows. Each step
        /// of outer is one of a fragment, and counts as one in its schedules; rules that correct their moments by the
        /// step count take step_counting "parameter".
        outer_fragments: i32,
        /// A change leaves so many windows before its round ends, and travels behind the host's work: 0, the default,
        /// to sync_steps / outer_fragments - 1.
        outer_delay: i32,
        /// A fragment goes on from (1 - outer_mix) x where the outer step has led + outer_mix x the rank's own
        /// parameters: 0, the default, to below 1.
        outer_mix: f64,
    }
}
record! {
    /// Counted since creation; times are of the host's clock.
    UpdaterStatistics from gradstep_updater_statistics {
        /// Windows of this rank, begun or complete, that recover has dropped unapplied.
        dropped_windows: i32 = dropped_windows,
        /// Pushes.
        pushes: i64 = pushes,
        /// Windows.
        windows: i64 = windows,
        /// With outer: the local ones.
        steps: i64 = steps,
        /// Skipped steps.
        skipped_steps: i64 = skipped_steps,
        /// Accumulate time.
        accumulate_time: Duration = accumulate_nanoseconds,
        /// Reduce time.
        reduce_time: Duration = reduce_nanoseconds,
        /// Step time.
        step_time: Duration = step_nanoseconds,
    }
}
