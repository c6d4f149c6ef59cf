// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Lamb. Source: You et al. 2020, Large Batch Optimization for Deep Learning, algorithm 2; the numbers of optax.
 *
 * <pre>
 * m = beta1 * m + (1 - beta1) * g
 * v = beta2 * v + (1 - beta2) * g^2
 * u = m / (1 - beta1^(t+1)) / (sqrt(v / (1 - beta2^(t+1)) + epsilon_root) + epsilon) + weight_decay * p
 * p = p - learning_rate * norm(p) / norm(u) * u, or without the ratio where a norm is 0; norms of the tensor
 * </pre>
 *
 * <p>State exp_avg, exp_avg_sq.
 */
public final class LambOptions extends RuleOptions {
  private LambOptions(Builder builder) {
    super("lamb", builder);
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
    public LambOptions build() {
      return new LambOptions(this);
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
     * Keeps the denominator from zero; &gt;= 0, default 1e-6.
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
     * Times p is added to u; &gt;= 0, default 0.
     *
     * @param weightDecay the new one
     * @return this
     */
    public Builder weightDecay(double weightDecay) {
      return with("weight_decay", weightDecay);
    }
  }
}
