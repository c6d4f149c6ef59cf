// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Novograd. Source: Ginsburg et al. 2019, Stochastic Gradient Methods with Layer-wise Adaptive Moments; the numbers of
 * optax.
 *
 * <pre>
 * v, one number of the tensor: norm(g)^2 in the first step, then beta2 * v + (1 - beta2) * norm(g)^2
 * m = beta1 * m + (g / (sqrt(v + epsilon_root) + epsilon) + weight_decay * p)
 * p = p - learning_rate * m
 * </pre>
 *
 * <p>State exp_avg, squared_norm.
 */
public final class NovogradOptions extends RuleOptions {
  private NovogradOptions(Builder builder) {
    super("novograd", builder);
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
    public NovogradOptions build() {
      return new NovogradOptions(this);
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
     * Share of the momentum that a step keeps; in [0, 1), default 0.9.
     *
     * @param beta1 the new one
     * @return this
     */
    public Builder beta1(double beta1) {
      return with("beta1", beta1);
    }

    /**
     * Share of the mean squared norm that a step keeps; in [0, 1), default 0.25.
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
     * Joins the mean squared norm under the root; &gt;= 0, default 0.
     *
     * @param epsilonRoot the new one
     * @return this
     */
    public Builder epsilonRoot(double epsilonRoot) {
      return with("epsilon_root", epsilonRoot);
    }

    /**
     * Times p joins the momentum; &gt;= 0, default 0.
     *
     * @param weightDecay the new one
     * @return this
     */
    public Builder weightDecay(double weightDecay) {
      return with("weight_decay", weightDecay);
    }
  }
}
