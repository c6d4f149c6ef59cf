// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Lion. Source: Chen et al. 2023, Symbolic Discovery of Optimization Algorithms, algorithm 2; the numbers of optax.
 *
 * <pre>
 * u = sign(beta1 * m + (1 - beta1) * g), where sign(0) = 0
 * m = beta2 * m + (1 - beta2) * g
 * p = p - learning_rate * u
 * </pre>
 *
 * <p>State exp_avg.
 */
public final class LionOptions extends RuleOptions {
  private LionOptions(Builder builder) {
    super("lion", builder);
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
    public LionOptions build() {
      return new LionOptions(this);
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
     * Share of the momentum in the direction; in [0, 1), default 0.9.
     *
     * @param beta1 the new one
     * @return this
     */
    public Builder beta1(double beta1) {
      return with("beta1", beta1);
    }

    /**
     * Share of the momentum that a step keeps; in [0, 1), default 0.99.
     *
     * @param beta2 the new one
     * @return this
     */
    public Builder beta2(double beta2) {
      return with("beta2", beta2);
    }

    /**
     * learning_rate * weight_decay * p is subtracted from p; &gt;= 0, default 0.
     *
     * @param weightDecay the new one
     * @return this
     */
    public Builder weightDecay(double weightDecay) {
      return with("weight_decay", weightDecay);
    }
  }
}
