// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * NAdam. Source: Dozat 2016, Incorporating Nesterov Momentum into Adam; the numbers of torch and of optax, which
 * differ.
 *
 * <pre>
 * m = beta1 * m + (1 - beta1) * g
 * v = beta2 * v + (1 - beta2) * g^2
 * d = sqrt(v / (1 - beta2^(t+1)) + epsilon_root) + epsilon
 * form torch, mu(i) = beta1 * (1 - 0.96^(i * momentum_decay) / 2), M = mu(1) * ... * mu(t+1):
 * p = p - learning_rate * ((1 - mu(t+1)) / (1 - M) * g + mu(t+2) / (1 - M * mu(t+2)) * m) / d
 * form optax: p = p - learning_rate * ((1 - beta1) / (1 - beta1^(t+1)) * g + beta1 / (1 - beta1^(t+2)) * m) / d
 * </pre>
 *
 * <p>State exp_avg, exp_avg_sq.
 */
public final class NAdamOptions extends RuleOptions {
  private NAdamOptions(Builder builder) {
    super("nadam", builder);
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
    public NAdamOptions build() {
      return new NAdamOptions(this);
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
     * Keeps the denominator from zero; &gt;= 0, default 1e-8.
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
     * How soon the momentum of form torch reaches beta1; &gt;= 0, default 0.004.
     *
     * @param momentumDecay the new one
     * @return this
     */
    public Builder momentumDecay(double momentumDecay) {
      return with("momentum_decay", momentumDecay);
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
     * Torch or optax.
     *
     * @param form the new one
     * @return this
     */
    public Builder form(NAdamForm form) {
      return with("form", Handle.present(form, "form"));
    }
  }
}
