// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Sophia. Source: Liu et al. 2023, Sophia, algorithm 3; the numbers of optax.
 *
 * <pre>
 * m = beta1 * m + (1 - beta1) * g
 * u = m / (1 - beta1^(t+1)) / max(gamma * h, epsilon)
 * p = p - learning_rate * clamp(u, -clip_threshold, clip_threshold)
 * h, the state hessian, is 0 at first; the host sets it, every few steps: beta2 * h + (1 - beta2) * its estimate
 * </pre>
 *
 * <p>State exp_avg, hessian.
 */
public final class SophiaOptions extends RuleOptions {
  private SophiaOptions(Builder builder) {
    super("sophia", builder);
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
    public SophiaOptions build() {
      return new SophiaOptions(this);
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
     * Share of the mean that a step keeps; in [0, 1), default 0.965.
     *
     * @param beta1 the new one
     * @return this
     */
    public Builder beta1(double beta1) {
      return with("beta1", beta1);
    }

    /**
     * Scale of the curvature; &gt;= 0, default 0.01.
     *
     * @param gamma the new one
     * @return this
     */
    public Builder gamma(double gamma) {
      return with("gamma", gamma);
    }

    /**
     * Largest change of an element, beside the learning rate; &gt;= 0, default 1.
     *
     * @param clipThreshold the new one
     * @return this
     */
    public Builder clipThreshold(double clipThreshold) {
      return with("clip_threshold", clipThreshold);
    }

    /**
     * Least denominator; &gt;= 0, default 1e-8.
     *
     * @param epsilon the new one
     * @return this
     */
    public Builder epsilon(double epsilon) {
      return with("epsilon", epsilon);
    }

    /**
     * learning_rate * weight_decay * p is subtracted from p; &gt;= 0, default 0.0001.
     *
     * @param weightDecay the new one
     * @return this
     */
    public Builder weightDecay(double weightDecay) {
      return with("weight_decay", weightDecay);
    }
  }
}
