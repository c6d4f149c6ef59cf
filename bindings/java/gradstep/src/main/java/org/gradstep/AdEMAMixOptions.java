// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * AdEMAMix. Source: Pagliardini et al. 2024, The AdEMAMix Optimizer, algorithm 1; the numbers of optax,
 * pytorch_optimizer and NVIDIA.
 *
 * <pre>
 * m = beta1 * m + (1 - beta1) * g
 * s = B * s + (1 - B) * g
 * v = beta2 * v + (1 - beta2) * g^2
 * u = (m / (1 - beta1^(t+1)) + A * s) / (sqrt(v / (1 - beta2^(t+1))) + epsilon)
 * p = p - learning_rate * u
 * A rises from 0 to alpha in alpha_steps, B from beta1 to beta3 in beta3_steps: by their logarithms, or by half-lives
 * </pre>
 *
 * <p>State exp_avg_fast, exp_avg_slow, exp_avg_sq.
 */
public final class AdEMAMixOptions extends RuleOptions {
  private AdEMAMixOptions(Builder builder) {
    super("ademamix", builder);
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
    public AdEMAMixOptions build() {
      return new AdEMAMixOptions(this);
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
     * Share of the fast mean that a step keeps; in [0, 1), default 0.9.
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
     * Share of the slow mean that a step keeps; in [0, 1), default 0.9999.
     *
     * @param beta3 the new one
     * @return this
     */
    public Builder beta3(double beta3) {
      return with("beta3", beta3);
    }

    /**
     * Weight of the slow mean; &gt;= 0, default 5.
     *
     * @param alpha the new one
     * @return this
     */
    public Builder alpha(double alpha) {
      return with("alpha", alpha);
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
     * learning_rate * weight_decay * p is subtracted from p; &gt;= 0, default 0.
     *
     * @param weightDecay the new one
     * @return this
     */
    public Builder weightDecay(double weightDecay) {
      return with("weight_decay", weightDecay);
    }

    /**
     * Steps in which alpha rises; 0 = none; in [0, 1000000000), whole, default 0.
     *
     * @param alphaSteps the new one
     * @return this
     */
    public Builder alphaSteps(double alphaSteps) {
      return with("alpha_steps", alphaSteps);
    }

    /**
     * Steps in which beta3 rises; 0 = none; in [0, 1000000000), whole, default 0.
     *
     * @param beta3Steps the new one
     * @return this
     */
    public Builder beta3Steps(double beta3Steps) {
      return with("beta3_steps", beta3Steps);
    }

    /**
     * How beta3 rises. logarithm: as the paper and pytorch_optimizer; half_life: linear in it, as NVIDIA.
     *
     * @param warmup the new one
     * @return this
     */
    public Builder warmup(AdEMAMixWarmup warmup) {
      return with("warmup", Handle.present(warmup, "warmup"));
    }
  }
}
