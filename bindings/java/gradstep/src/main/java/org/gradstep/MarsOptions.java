// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Mars. Source: Yuan et al. 2024, MARS: Unleashing the Power of Variance Reduction, algorithms 1 and 2; the numbers of
 * pytorch_optimizer.
 *
 * <pre>
 * c = g + gamma * beta1 / (1 - beta1) * (g - g before), which is 0 at first
 * c = c / max(1, norm(c)), the norm of the tensor
 * m = beta1 * m + (1 - beta1) * c
 * form adamw: v = beta2 * v + (1 - beta2) * c^2
 * p = p - learning_rate * m / (1 - beta1^(t+1)) / ((sqrt(v + 1e-15) + epsilon) / sqrt(1 - beta2^(t+1)))
 * form lion: p = p - learning_rate * sign(m)
 * </pre>
 *
 * <p>State exp_avg, exp_avg_sq, previous_gradient.
 */
public final class MarsOptions extends RuleOptions {
  private MarsOptions(Builder builder) {
    super("mars", builder);
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
    public MarsOptions build() {
      return new MarsOptions(this);
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
     * Share of the mean that a step keeps; in [0, 1), default 0.95.
     *
     * @param beta1 the new one
     * @return this
     */
    public Builder beta1(double beta1) {
      return with("beta1", beta1);
    }

    /**
     * Share of the mean square that a step keeps; of form adamw; in [0, 1), default 0.99.
     *
     * @param beta2 the new one
     * @return this
     */
    public Builder beta2(double beta2) {
      return with("beta2", beta2);
    }

    /**
     * How much of the gradient's change is added to it; &gt;= 0, default 0.025.
     *
     * @param gamma the new one
     * @return this
     */
    public Builder gamma(double gamma) {
      return with("gamma", gamma);
    }

    /**
     * Keeps the denominator from zero; of form adamw; &gt;= 0, default 1e-8.
     *
     * @param epsilon the new one
     * @return this
     */
    public Builder epsilon(double epsilon) {
      return with("epsilon", epsilon);
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
     * Adamw or lion: the rule that gets the gradient.
     *
     * @param form the new one
     * @return this
     */
    public Builder form(MarsForm form) {
      return with("form", Handle.present(form, "form"));
    }
  }
}
