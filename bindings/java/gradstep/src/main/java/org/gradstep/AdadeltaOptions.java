// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Adadelta. Source: Zeiler 2012, ADADELTA, algorithm 1; the numbers of torch and optax.
 *
 * <pre>
 * v = rho * v + (1 - rho) * g^2
 * d = sqrt(D + epsilon) / sqrt(v + epsilon) * g
 * D = rho * D + (1 - rho) * d^2
 * p = p - learning_rate * d
 * </pre>
 *
 * <p>State square_avg, acc_delta.
 */
public final class AdadeltaOptions extends RuleOptions {
  private AdadeltaOptions(Builder builder) {
    super("adadelta", builder);
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
    public AdadeltaOptions build() {
      return new AdadeltaOptions(this);
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
     * Share of both means that a step keeps; in [0, 1), default 0.9.
     *
     * @param rho the new one
     * @return this
     */
    public Builder rho(double rho) {
      return with("rho", rho);
    }

    /**
     * Keeps roots from zero, and lets the first steps begin; &gt;= 0, default 1e-6.
     *
     * @param epsilon the new one
     * @return this
     */
    public Builder epsilon(double epsilon) {
      return with("epsilon", epsilon);
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
