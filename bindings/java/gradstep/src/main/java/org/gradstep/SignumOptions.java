// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Signum. Source: Bernstein et al. 2018, signSGD; the numbers of optax, with nesterov those of NVIDIA.
 *
 * <pre>
 * m = momentum * m + (1 - momentum) * g
 * u = m; with nesterov momentum * m / (1 - momentum^(t+2)) + (1 - momentum) * g / (1 - momentum^(t+1))
 * p = p - learning_rate * sign(u), where sign(0) = 0; without momentum sign(g)
 * </pre>
 *
 * <p>State momentum_buffer.
 */
public final class SignumOptions extends RuleOptions {
  private SignumOptions(Builder builder) {
    super("signum", builder);
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
    public SignumOptions build() {
      return new SignumOptions(this);
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
     * Share of the momentum that a step keeps; 0: signSGD; in [0, 1), default 0.9.
     *
     * @param momentum the new one
     * @return this
     */
    public Builder momentum(double momentum) {
      return with("momentum", momentum);
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
