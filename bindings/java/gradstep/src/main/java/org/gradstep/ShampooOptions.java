// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/**
 * Distributed Shampoo (Gupta, Koren and Singer 2018; Anil et al. 2020). f64 parameters have their state, statistics,
 * roots and bases in f64, and their arithmetic; root_precision and product_precision do not concern them. Others are
 * computed in f32. Immutable.
 */
public final class ShampooOptions extends OptimizerOptions {
  private final Settings<ShampooOptionsStruct> settings;

  private ShampooOptions(Settings<ShampooOptionsStruct> given) {
    super(given.values());
    settings = given.copy();
  }

  @Override
  long create(long context, long parameters, long n) {
    return core.optimizer_create_shampoo(context, settings.write(new ShampooOptionsStruct()), parameters, n);
  }

  @Override
  long stateBytes(long parameters, long n) {
    return core.shampoo_state_bytes(settings.write(new ShampooOptionsStruct()), parameters, n);
  }

  /**
   * Begins with Shampoo in the place of a tuned AdamW, by its learning rate, betas, epsilon and decay: a step keeps
   * AdamW's length, and only its direction is another. With eigenvalueCorrected the rule is SOAP.
   *
   * @param adamw its learning rate, betas, epsilon and decay are read, no other option
   * @return the builder, with which other options may be given
   */
  public static Builder fromAdamW(AdamWOptions adamw) {
    double beta2 = value(adamw, "beta2", 0.999);
    return builder((double) adamw.options().get("learning_rate"))
        .beta1(value(adamw, "beta1", 0.9))
        .beta2(beta2)
        .diagonalEpsilon(value(adamw, "epsilon", 1e-8))
        .weightDecay(value(adamw, "weight_decay", 0))
        .graftBeta1(0)
        .graftBeta2(beta2)
        .graftType(GraftType.ADAM)
        .decoupledWeightDecay(true)
        .movingAverageForMomentum(true)
        .nesterov(false);
  }

  private static double value(AdamWOptions adamw, String name, double initial) {
    return (double) adamw.options().getOrDefault(name, initial);
  }

  /**
   * Begins with what must be given.
   *
   * @param learningRate step size
   * @return the builder
   */
  public static Builder builder(double learningRate) {
    return new Builder().learningRate(learningRate);
  }

  /** Collects options; what is not given has the library's default. */
  public static final class Builder {
    private final Settings<ShampooOptionsStruct> settings = new Settings<>();

    private Builder() {}

    /**
     * The options as they are now.
     *
     * @return immutable
     */
    public ShampooOptions build() {
      return new ShampooOptions(settings);
    }

    /**
     * See {@link GraftType}.
     *
     * @param graftType the new one
     * @return this
     */
    public Builder graftType(GraftType graftType) {
      settings.put("graftType", graftType, struct -> struct.setGraftType(graftType.code));
      return this;
    }

    /**
     * Must be set.
     *
     * @param learningRate the new one
     * @return this
     */
    public Builder learningRate(double learningRate) {
      settings.put("learningRate", learningRate, struct -> struct.setLearningRate(learningRate));
      return this;
    }

    /**
     * In [0, 1), default 0.9.
     *
     * @param beta1 the new one
     * @return this
     */
    public Builder beta1(double beta1) {
      settings.put("beta1", beta1, struct -> struct.setBeta1(beta1));
      return this;
    }

    /**
     * In [0, 1], default 0.999.
     *
     * @param beta2 the new one
     * @return this
     */
    public Builder beta2(double beta2) {
      settings.put("beta2", beta2, struct -> struct.setBeta2(beta2));
      return this;
    }

    /**
     * At least 0, default 1e-10.
     *
     * @param diagonalEpsilon the new one
     * @return this
     */
    public Builder diagonalEpsilon(double diagonalEpsilon) {
      settings.put("diagonalEpsilon", diagonalEpsilon, struct -> struct.setDiagonalEpsilon(diagonalEpsilon));
      return this;
    }

    /**
     * At least 0, default 1e-6; statistics start at this times I.
     *
     * @param matrixEpsilon the new one
     * @return this
     */
    public Builder matrixEpsilon(double matrixEpsilon) {
      settings.put("matrixEpsilon", matrixEpsilon, struct -> struct.setMatrixEpsilon(matrixEpsilon));
      return this;
    }

    /**
     * At least 0, default 0.
     *
     * @param weightDecay the new one
     * @return this
     */
    public Builder weightDecay(double weightDecay) {
      settings.put("weightDecay", weightDecay, struct -> struct.setWeightDecay(weightDecay));
      return this;
    }

    /**
     * At least 0, default 0.1.
     *
     * @param inverseFailureThreshold the new one
     * @return this
     */
    public Builder inverseFailureThreshold(double inverseFailureThreshold) {
      settings.put("inverseFailureThreshold", inverseFailureThreshold,
          struct -> struct.setInverseFailureThreshold(inverseFailureThreshold));
      return this;
    }

    /**
     * At least 0, default 0 = off.
     *
     * @param clipByScaledGradientNorm the new one
     * @return this
     */
    public Builder clipByScaledGradientNorm(double clipByScaledGradientNorm) {
      settings.put("clipByScaledGradientNorm", clipByScaledGradientNorm,
          struct -> struct.setClipByScaledGradientNorm(clipByScaledGradientNorm));
      return this;
    }

    /**
     * ADAM: in [0, 1), default 0.9.
     *
     * @param graftBeta1 the new one
     * @return this
     */
    public Builder graftBeta1(double graftBeta1) {
      settings.put("graftBeta1", graftBeta1, struct -> struct.setGraftBeta1(graftBeta1));
      return this;
    }

    /**
     * ADAM: in [0, 1), default 0.999.
     *
     * @param graftBeta2 the new one
     * @return this
     */
    public Builder graftBeta2(double graftBeta2) {
      settings.put("graftBeta2", graftBeta2, struct -> struct.setGraftBeta2(graftBeta2));
      return this;
    }

    /**
     * 0 or more, default 1; the constant 0 = u alone.
     *
     * @param precondition the new one
     * @return this
     */
    public Builder precondition(double precondition) {
      settings.put("precondition", precondition, struct -> struct.setPrecondition(precondition));
      return this;
    }

    /**
     * Above 0, default 128.
     *
     * @param blockSize the new one
     * @return this
     */
    public Builder blockSize(long blockSize) {
      settings.put("blockSize", blockSize, struct -> struct.setBlockSize(blockSize));
      return this;
    }

    /**
     * At least 0, default 5.
     *
     * @param startPreconditioningStep the new one
     * @return this
     */
    public Builder startPreconditioningStep(long startPreconditioningStep) {
      settings.put("startPreconditioningStep", startPreconditioningStep,
          struct -> struct.setStartPreconditioningStep(startPreconditioningStep));
      return this;
    }

    /**
     * Above 0, default 1: roots where t is a multiple of it.
     *
     * @param preconditioningComputeSteps the new one
     * @return this
     */
    public Builder preconditioningComputeSteps(long preconditioningComputeSteps) {
      settings.put("preconditioningComputeSteps", preconditioningComputeSteps,
          struct -> struct.setPreconditioningComputeSteps(preconditioningComputeSteps));
      return this;
    }

    /**
     * Above 0, default 1.
     *
     * @param statisticsComputeSteps the new one
     * @return this
     */
    public Builder statisticsComputeSteps(long statisticsComputeSteps) {
      settings.put("statisticsComputeSteps", statisticsComputeSteps,
          struct -> struct.setStatisticsComputeSteps(statisticsComputeSteps));
      return this;
    }

    /**
     * Above 0, default 4096.
     *
     * @param skipPreconditioningDimSizeGt the new one
     * @return this
     */
    public Builder skipPreconditioningDimSizeGt(long skipPreconditioningDimSizeGt) {
      settings.put("skipPreconditioningDimSizeGt", skipPreconditioningDimSizeGt,
          struct -> struct.setSkipPreconditioningDimSizeGt(skipPreconditioningDimSizeGt));
      return this;
    }

    /**
     * 0 to 1024, default 0 = 2 * dimensions.
     *
     * @param exponentOverride the new one
     * @return this
     */
    public Builder exponentOverride(int exponentOverride) {
      settings.put("exponentOverride", exponentOverride, struct -> struct.setExponentOverride(exponentOverride));
      return this;
    }

    /**
     * Default true.
     *
     * @param bestEffortShapeInterpretation the new one
     * @return this
     */
    public Builder bestEffortShapeInterpretation(boolean bestEffortShapeInterpretation) {
      settings.put("bestEffortShapeInterpretation", bestEffortShapeInterpretation,
          struct -> struct.setBestEffortShapeInterpretation(bestEffortShapeInterpretation ? 1 : 0));
      return this;
    }

    /**
     * Default true.
     *
     * @param nesterov the new one
     * @return this
     */
    public Builder nesterov(boolean nesterov) {
      settings.put("nesterov", nesterov, struct -> struct.setNesterov(nesterov ? 1 : 0));
      return this;
    }

    /**
     * Momenta add 1 - beta1 of what is new, not all of it.
     *
     * @param movingAverageForMomentum the new one
     * @return this
     */
    public Builder movingAverageForMomentum(boolean movingAverageForMomentum) {
      settings.put("movingAverageForMomentum", movingAverageForMomentum,
          struct -> struct.setMovingAverageForMomentum(movingAverageForMomentum ? 1 : 0));
      return this;
    }

    /**
     * p -= learningRate * weightDecay * p, not part of the momentum.
     *
     * @param decoupledWeightDecay the new one
     * @return this
     */
    public Builder decoupledWeightDecay(boolean decoupledWeightDecay) {
      settings.put("decoupledWeightDecay", decoupledWeightDecay,
          struct -> struct.setDecoupledWeightDecay(decoupledWeightDecay ? 1 : 0));
      return this;
    }

    /**
     * See {@link RootMethod}.
     *
     * @param rootMethod the new one
     * @return this
     */
    public Builder rootMethod(RootMethod rootMethod) {
      settings.put("rootMethod", rootMethod, struct -> struct.setRootMethod(rootMethod.code));
      return this;
    }

    /**
     * See {@link RootPrecision}.
     *
     * @param rootPrecision the new one
     * @return this
     */
    public Builder rootPrecision(RootPrecision rootPrecision) {
      settings.put("rootPrecision", rootPrecision, struct -> struct.setRootPrecision(rootPrecision.code));
      return this;
    }

    /**
     * See {@link RootPadding}.
     *
     * @param rootPadding the new one
     * @return this
     */
    public Builder rootPadding(RootPadding rootPadding) {
      settings.put("rootPadding", rootPadding, struct -> struct.setRootPadding(rootPadding.code));
      return this;
    }

    /**
     * 0 to 12, default 6.
     *
     * @param rootRetries the new one
     * @return this
     */
    public Builder rootRetries(int rootRetries) {
      settings.put("rootRetries", rootRetries, struct -> struct.setRootRetries(rootRetries));
      return this;
    }

    /**
     * Steps, 0 to 1000, default 0.
     *
     * @param rootLag the new one
     * @return this
     */
    public Builder rootLag(int rootLag) {
      settings.put("rootLag", rootLag, struct -> struct.setRootLag(rootLag));
      return this;
    }

    /**
     * See {@link Refresh}.
     *
     * @param refresh the new one
     * @return this
     */
    public Builder refresh(Refresh refresh) {
      settings.put("refresh", refresh, struct -> struct.setRefresh(refresh.code));
      return this;
    }

    /**
     * Momenta in int8.
     *
     * @param quantizeMomentum the new one
     * @return this
     */
    public Builder quantizeMomentum(boolean quantizeMomentum) {
      settings.put("quantizeMomentum", quantizeMomentum,
          struct -> struct.setQuantizeMomentum(quantizeMomentum ? 1 : 0));
      return this;
    }

    /**
     * Statistics and preconditioners in int16.
     *
     * @param quantizeStatistics the new one
     * @return this
     */
    public Builder quantizeStatistics(boolean quantizeStatistics) {
      settings.put("quantizeStatistics", quantizeStatistics,
          struct -> struct.setQuantizeStatistics(quantizeStatistics ? 1 : 0));
      return this;
    }

    /**
     * See {@link OneSided}.
     *
     * @param oneSided the new one
     * @return this
     */
    public Builder oneSided(OneSided oneSided) {
      settings.put("oneSided", oneSided, struct -> struct.setOneSided(oneSided.code));
      return this;
    }

    /**
     * SOAP, Adam in the eigenbasis of the statistics.
     *
     * @param eigenvalueCorrected the new one
     * @return this
     */
    public Builder eigenvalueCorrected(boolean eigenvalueCorrected) {
      settings.put("eigenvalueCorrected", eigenvalueCorrected,
          struct -> struct.setEigenvalueCorrected(eigenvalueCorrected ? 1 : 0));
      return this;
    }

    /**
     * Steps f32 copies of f16 and bf16 parameters.
     *
     * @param masterWeights the new one
     * @return this
     */
    public Builder masterWeights(boolean masterWeights) {
      settings.put("masterWeights", masterWeights, struct -> struct.setMasterWeights(masterWeights ? 1 : 0));
      return this;
    }

    /**
     * See {@link ProductPrecision}.
     *
     * @param productPrecision the new one
     * @return this
     */
    public Builder productPrecision(ProductPrecision productPrecision) {
      settings.put("productPrecision", productPrecision,
          struct -> struct.setProductPrecision(productPrecision.code));
      return this;
    }

    /**
     * Negates the gradients, before all else.
     *
     * @param maximize the new one
     * @return this
     */
    public Builder maximize(boolean maximize) {
      settings.put("maximize", maximize, struct -> struct.setMaximize(maximize ? 1 : 0));
      return this;
    }

    /**
     * In [0, 1), 0 = none, the default; no hyper-parameter: read at creation.
     *
     * @param averageDecay the new one
     * @return this
     */
    public Builder averageDecay(double averageDecay) {
      settings.put("averageDecay", averageDecay, struct -> struct.setAverageDecay(averageDecay));
      return this;
    }

    /**
     * At least 0, default 0.
     *
     * @param averageStart the new one
     * @return this
     */
    public Builder averageStart(long averageStart) {
      settings.put("averageStart", averageStart, struct -> struct.setAverageStart(averageStart));
      return this;
    }

    /**
     * At least 0, default 1; 0 is 1.
     *
     * @param averageEvery the new one
     * @return this
     */
    public Builder averageEvery(long averageEvery) {
      settings.put("averageEvery", averageEvery, struct -> struct.setAverageEvery(averageEvery));
      return this;
    }

    /**
     * averageDecay is at most (1 + n) / (10 + n) after n steps.
     *
     * @param averageWarmup the new one
     * @return this
     */
    public Builder averageWarmup(boolean averageWarmup) {
      settings.put("averageWarmup", averageWarmup, struct -> struct.setAverageWarmup(averageWarmup ? 1 : 0));
      return this;
    }

    /**
     * The mean of the averaged steps, in place of averageDecay.
     *
     * @param averageEqual the new one
     * @return this
     */
    public Builder averageEqual(boolean averageEqual) {
      settings.put("averageEqual", averageEqual, struct -> struct.setAverageEqual(averageEqual ? 1 : 0));
      return this;
    }

    /**
     * NATIVE or BF16, see above.
     *
     * @param stateDtype the new one
     * @return this
     */
    public Builder stateDtype(StateDtype stateDtype) {
      settings.put("stateDtype", stateDtype, struct -> struct.setStateDtype(stateDtype.code));
      return this;
    }

    /**
     * As in the other rules.
     *
     * @param stochasticRounding the new one
     * @return this
     */
    public Builder stochasticRounding(boolean stochasticRounding) {
      settings.put("stochasticRounding", stochasticRounding,
          struct -> struct.setStochasticRounding(stochasticRounding ? 1 : 0));
      return this;
    }

    /**
     * For stochasticRounding.
     *
     * @param seed the new one
     * @return this
     */
    public Builder seed(long seed) {
      settings.put("seed", seed, struct -> struct.setSeed(seed));
      return this;
    }

    /**
     * See {@link ShampooStatistics}.
     *
     * @param statistics the new one
     * @return this
     */
    public Builder statistics(ShampooStatistics statistics) {
      settings.put("statistics", statistics, struct -> struct.setStatistics(statistics.code));
      return this;
    }

    /**
     * See {@link Ridge}.
     *
     * @param ridge the new one
     * @return this
     */
    public Builder ridge(Ridge ridge) {
      settings.put("ridge", ridge, struct -> struct.setRidge(ridge.code));
      return this;
    }
  }
}
