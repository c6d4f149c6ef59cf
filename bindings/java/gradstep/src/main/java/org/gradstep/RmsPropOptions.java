// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * RmsProp. Source: Tieleman and Hinton 2012; SINGA opt.py; centered and momentum as in PyTorch.
 *
 * <pre>
 * a = rho * a + (1 - rho) * g^2
 * centered: c = rho * c + (1 - rho) * g, and a - c^2 stands for a below
 * d = g / sqrt(a + epsilon), or by epsilon_placement g / (sqrt(a) + epsilon)
 * with momentum: b = momentum * b + d, and b stands for d
 * p = p - learning_rate * d
 * </pre>
 *
 * <p>State square_avg, grad_avg, momentum_buffer.
 */
public final class RmsPropOptions extends RuleOptions {
  private RmsPropOptions(Builder builder) {
    super("rmsprop", builder);
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
    public RmsPropOptions build() {
      return new RmsPropOptions(this);
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
     * Share of the averages that a step keeps; in [0, 1), default 0.9.
     *
     * @param rho the new one
     * @return this
     */
    public Builder rho(double rho) {
      return with("rho", rho);
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
     * Times p is added to the gradient; &gt;= 0, default 0.
     *
     * @param weightDecay the new one
     * @return this
     */
    public Builder weightDecay(double weightDecay) {
      return with("weight_decay", weightDecay);
    }

    /**
     * Share of the buffer that a step keeps; &gt;= 0, default 0.
     *
     * @param momentum the new one
     * @return this
     */
    public Builder momentum(double momentum) {
      return with("momentum", momentum);
    }

    /**
     * Inside: sqrt(a + epsilon), as SINGA; outside: sqrt(a) + epsilon, as PyTorch.
     *
     * @param epsilonPlacement the new one
     * @return this
     */
    public Builder epsilonPlacement(EpsilonPlacement epsilonPlacement) {
      return with("epsilon_placement", Handle.present(epsilonPlacement, "epsilonPlacement"));
    }

    /**
     * Subtracts the square of the mean gradient under the root (Graves 2013).
     *
     * @param centered the new one
     * @return this
     */
    public Builder centered(boolean centered) {
      return with("centered", centered);
    }
  }
}
