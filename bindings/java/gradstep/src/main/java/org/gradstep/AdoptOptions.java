// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Adopt. Source: Taniguchi et al. 2024, ADOPT, algorithm 2; the numbers of optax and of pytorch_optimizer.
 *
 * <pre>
 * the first step: v = g^2, and nothing else
 * u = clamp(g / max(sqrt(v), epsilon), -C, C), with the v of the step before
 * C = t^(1/4) for clipping optax, (t+1)^(1/4) for pytorch_optimizer
 * m = beta1 * m + (1 - beta1) * u
 * v = beta2 * v + (1 - beta2) * g^2
 * p = p - learning_rate * (beta1 * m + (1 - beta1) * u if nesterov else m)
 * </pre>
 *
 * <p>State exp_avg, exp_avg_sq.
 */
public final class AdoptOptions extends RuleOptions {
  private AdoptOptions(Builder builder) {
    super("adopt", builder);
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
    public AdoptOptions build() {
      return new AdoptOptions(this);
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
     * Share of the mean square that a step keeps; in [0, 1), default 0.9999.
     *
     * @param beta2 the new one
     * @return this
     */
    public Builder beta2(double beta2) {
      return with("beta2", beta2);
    }

    /**
     * Least denominator; &gt;= 0, default 1e-6.
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
     * How u is clipped: by t as optax counts it, as pytorch_optimizer does, or none.
     *
     * @param clipping the new one
     * @return this
     */
    public Builder clipping(AdoptClipping clipping) {
      return with("clipping", Handle.present(clipping, "clipping"));
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
