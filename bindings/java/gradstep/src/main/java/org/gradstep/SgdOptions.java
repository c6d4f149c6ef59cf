// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Sgd. Source: SINGA opt.py; Nesterov's form as in PyTorch.
 *
 * <pre>
 * with momentum: b = momentum * b + (1 - dampening) * g; d = g + momentum * b if nesterov else b
 * p = p - learning_rate * d, or p - learning_rate * g without momentum
 * </pre>
 *
 * <p>State momentum_buffer.
 */
public final class SgdOptions extends RuleOptions {
  private SgdOptions(Builder builder) {
    super("sgd", builder);
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
    public SgdOptions build() {
      return new SgdOptions(this);
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
     * Share of the buffer that a step keeps; &gt;= 0, default 0.
     *
     * @param momentum the new one
     * @return this
     */
    public Builder momentum(double momentum) {
      return with("momentum", momentum);
    }

    /**
     * 1 - dampening of a gradient goes into the buffer; ignored without momentum; default 0.
     *
     * @param dampening the new one
     * @return this
     */
    public Builder dampening(double dampening) {
      return with("dampening", dampening);
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
     * Steps by g + momentum * b; needs momentum above 0 and dampening 0.
     *
     * @param nesterov the new one
     * @return this
     */
    public Builder nesterov(boolean nesterov) {
      return with("nesterov", nesterov);
    }

    /**
     * Dampen: the buffer starts at 0 (SINGA); copy: with the first gradient (PyTorch).
     *
     * @param firstStep the new one
     * @return this
     */
    public Builder firstStep(SgdFirstStep firstStep) {
      return with("first_step", Handle.present(firstStep, "firstStep"));
    }
  }
}
