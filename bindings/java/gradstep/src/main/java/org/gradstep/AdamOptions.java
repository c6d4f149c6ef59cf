// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Adam. Source: Kingma and Ba 2015, algorithm 1; AdamW: Loshchilov and Hutter 2019; AMSGrad: Reddi, Kale and Kumar
 * 2018.
 *
 * <pre>
 * m = beta1 * m + (1 - beta1) * g
 * v = beta2 * v + (1 - beta2) * g^2
 * standard: p = p - learning_rate * (m / (1 - beta1^(t+1))) / (sqrt(v / (1 - beta2^(t+1))) + epsilon)
 * tf: p = p - learning_rate * sqrt(1 - beta2^(t+1)) / (1 - beta1^(t+1)) * m / (sqrt(v) + epsilon)
 * </pre>
 *
 * <p>State exp_avg, exp_avg_sq, max_exp_avg_sq.
 */
public final class AdamOptions extends RuleOptions {
  private AdamOptions(Builder builder) {
    super("adam", builder);
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
  public static final class Builder extends RuleOptions.Builder<Builder> {
    private Builder() {}

    @Override
    Builder self() {
      return this;
    }

    /**
     * The options as they are now.
     *
     * @return for {@link Optimizer#create}
     */
    public AdamOptions build() {
      return new AdamOptions(this);
    }

    /**
     * Step size; &gt;= 0, must be given.
     *
     * @param learningRate the new one
     * @return this
     */
    public Builder learningRate(double learningRate) {
      return with("learning_rate", learningRate);
    }

    /**
     * Share of the mean that a step keeps; in [0, 1), default 0.9.
     *
     * @param beta1 the new one
     * @return this
     */
    public Builder beta1(double beta1) {
      return with("beta1", beta1);
    }

    /**
     * Share of the mean square that a step keeps; in [0, 1), default 0.999.
     *
     * @param beta2 the new one
     * @return this
     */
    public Builder beta2(double beta2) {
      return with("beta2", beta2);
    }

    /**
     * Keeps the denominator from zero; &gt;= 0, default 1e-8.
     *
     * @param epsilon the new one
     * @return this
     */
    public Builder epsilon(double epsilon) {
      return with("epsilon", epsilon);
    }

    /**
     * Times p is added to the gradient, or see decoupled_weight_decay; &gt;= 0, default 0.
     *
     * @param weightDecay the new one
     * @return this
     */
    public Builder weightDecay(double weightDecay) {
      return with("weight_decay", weightDecay);
    }

    /**
     * Tf: epsilon joins sqrt(v) before the correction (TensorFlow, Lingvo).
     *
     * @param biasCorrection the new one
     * @return this
     */
    public Builder biasCorrection(BiasCorrection biasCorrection) {
      return with("bias_correction", Handle.present(biasCorrection, "biasCorrection"));
    }

    /**
     * Subtracts learning_rate * weight_decay * p instead (AdamW).
     *
     * @param decoupledWeightDecay the new one
     * @return this
     */
    public Builder decoupledWeightDecay(boolean decoupledWeightDecay) {
      return with("decoupled_weight_decay", decoupledWeightDecay);
    }

    /**
     * Puts the largest v so far under the root.
     *
     * @param amsgrad the new one
     * @return this
     */
    public Builder amsgrad(boolean amsgrad) {
      return with("amsgrad", amsgrad);
    }
  }
}
