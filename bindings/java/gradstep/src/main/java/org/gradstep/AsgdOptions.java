// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Asgd. Source: Polyak and Juditsky 1992, Acceleration of Stochastic Approximation by Averaging; the numbers of torch.
 *
 * <pre>
 * eta = learning_rate at first, mu = 1 / max(1, t - averaging_start)
 * p = p * (1 - shrinkage * eta) - eta * g
 * ax = ax + mu * (p - ax), the average of the weights
 * eta = learning_rate / (1 + shrinkage * learning_rate * (t+1))^exponent, of the next step
 * </pre>
 *
 * <p>State ax, eta.
 */
public final class AsgdOptions extends RuleOptions {
  private AsgdOptions(Builder builder) {
    super("asgd", builder);
  }

  /**
   * Begins with what must be given.
   *
   * @param learningRate step size; a new one acts a step late, as in torch
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
    public AsgdOptions build() {
      return new AsgdOptions(this);
    }

    /**
     * Step size; a new one acts a step late, as in torch; &gt;= 0, must be given.
     *
     * @param learningRate the new one
     * @return this
     */
    public Builder learningRate(double learningRate) {
      return with("learning_rate", learningRate);
    }

    /**
     * Lambda: shrinks p, and the step size with the steps; &gt;= 0, default 0.0001.
     *
     * @param shrinkage the new one
     * @return this
     */
    public Builder shrinkage(double shrinkage) {
      return with("shrinkage", shrinkage);
    }

    /**
     * Alpha: how fast the step size falls; &gt;= 0, default 0.75.
     *
     * @param exponent the new one
     * @return this
     */
    public Builder exponent(double exponent) {
      return with("exponent", exponent);
    }

    /**
     * t0: steps before the average begins; &gt;= 0, default 1000000.
     *
     * @param averagingStart the new one
     * @return this
     */
    public Builder averagingStart(double averagingStart) {
      return with("averaging_start", averagingStart);
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
  }
}
