// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * RAdam. Source: Liu et al. 2020, On the Variance of the Adaptive Learning Rate; the numbers of torch and of optax.
 *
 * <pre>
 * m = beta1 * m + (1 - beta1) * g
 * v = beta2 * v + (1 - beta2) * g^2
 * M = m / (1 - beta1^(t+1)); with nesterov beta1 * m / (1 - beta1^(t+2)) + (1 - beta1) * g / (1 - beta1^(t+1))
 * R = 2 / (1 - beta2) - 1, r = R - 2 * (t+1) * beta2^(t+1) / (1 - beta2^(t+1))
 * s = sqrt((r - 4) * (r - 2) * R / ((R - 4) * (R - 2) * r)) where r is above the threshold, and else p = p - learning_rate * M
 * form torch: p = p - learning_rate * s * M * sqrt(1 - beta2^(t+1)) / (sqrt(v) + epsilon)
 * form optax: p = p - learning_rate * s * M / (sqrt(v / (1 - beta2^(t+1)) + epsilon_root) + epsilon)
 * </pre>
 *
 * <p>State exp_avg, exp_avg_sq.
 */
public final class RAdamOptions extends RuleOptions {
  private RAdamOptions(Builder builder) {
    super("radam", builder);
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
    public RAdamOptions build() {
      return new RAdamOptions(this);
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
     * Joins the corrected mean square under the root; &gt;= 0, default 0.
     *
     * @param epsilonRoot the new one
     * @return this
     */
    public Builder epsilonRoot(double epsilonRoot) {
      return with("epsilon_root", epsilonRoot);
    }

    /**
     * The smallest r, for form optax; torch has 5; &gt;= 4, default 5.
     *
     * @param threshold the new one
     * @return this
     */
    public Builder threshold(double threshold) {
      return with("threshold", threshold);
    }

    /**
     * Times p is added to the gradient; &gt;= 0, default 0.
     *
     * @param weightDecay the new one
     * @return this
     */
    public Builder weightDecay(double weightDecay) {
      return with("weight_decay", weightDecay);
    }

    /**
     * Torch or optax.
     *
     * @param form the new one
     * @return this
     */
    public Builder form(RAdamForm form) {
      return with("form", Handle.present(form, "form"));
    }

    /**
     * Looks one step ahead.
     *
     * @param nesterov the new one
     * @return this
     */
    public Builder nesterov(boolean nesterov) {
      return with("nesterov", nesterov);
    }
  }
}
