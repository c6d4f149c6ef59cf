// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Adan. Source: Xie et al. 2022, Adan, algorithm 1; the numbers of pytorch_optimizer and of optax.
 *
 * <pre>
 * d = g - g before, 0 in the first step; k = beta2 for form authors, 1 - beta2 for form optax
 * m = beta1 * m + (1 - beta1) * g
 * D = beta2 * D + (1 - beta2) * d
 * n = beta3 * n + (1 - beta3) * (g + k * d)^2
 * u = m / (1 - beta1^(t+1)) + k * D / (1 - beta2^(t+1))
 * p = p - learning_rate * u / (sqrt(n / (1 - beta3^(t+1)) + epsilon_root) + epsilon)
 * </pre>
 *
 * <p>State exp_avg, exp_avg_diff, exp_avg_sq, previous_gradient.
 */
public final class AdanOptions extends RuleOptions {
  private AdanOptions(Builder builder) {
    super("adan", builder);
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
    public AdanOptions build() {
      return new AdanOptions(this);
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
     * Share of the mean that a step keeps; in [0, 1), default 0.98.
     *
     * @param beta1 the new one
     * @return this
     */
    public Builder beta1(double beta1) {
      return with("beta1", beta1);
    }

    /**
     * Share of the mean difference that a step keeps; in [0, 1), default 0.92.
     *
     * @param beta2 the new one
     * @return this
     */
    public Builder beta2(double beta2) {
      return with("beta2", beta2);
    }

    /**
     * Share of the mean square that a step keeps; in [0, 1), default 0.99.
     *
     * @param beta3 the new one
     * @return this
     */
    public Builder beta3(double beta3) {
      return with("beta3", beta3);
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
     * learning_rate * weight_decay * p is subtracted from p; &gt;= 0, default 0.
     *
     * @param weightDecay the new one
     * @return this
     */
    public Builder weightDecay(double weightDecay) {
      return with("weight_decay", weightDecay);
    }

    /**
     * Authors (as pytorch_optimizer) or optax: what k is.
     *
     * @param form the new one
     * @return this
     */
    public Builder form(AdanForm form) {
      return with("form", Handle.present(form, "form"));
    }
  }
}
