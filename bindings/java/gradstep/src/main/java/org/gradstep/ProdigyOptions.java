// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Prodigy. Source: Mishchenko and Defazio 2023, Prodigy, algorithm 3; the numbers of prodigyopt, and of optax with
 * bias_correction.
 *
 * <pre>
 * one d of all parameters, d0 at first; p0 = p at first; r = d * learning_rate, corrected where asked for
 * N = beta3 * N + d / d0 * r * sum((p0 - p) * g)
 * s = beta3 * s + d / d0 * r * g, with safeguard_warmup d / d0 * d * g
 * m = beta1 * m + (1 - beta1) * d * g
 * v = beta2 * v + (1 - beta2) * (d * g)^2
 * D = d_factor * N / sum(abs(s)); d = max(d, D) while it is d0; d = min(largest D so far, d * d_growth)
 * p = p - r * (m / (sqrt(v) + d * epsilon) + weight_decay * p), with the new d
 * a step in which all s are 0 changes nothing and does not count as one
 * </pre>
 *
 * <p>State exp_avg, exp_avg_sq, s, p0, d, d_max, d_numerator, d_steps.
 */
public final class ProdigyOptions extends RuleOptions {
  private ProdigyOptions(Builder builder) {
    super("prodigy", builder);
  }

  /**
   * Begins with what must be given.
   *
   * @param learningRate step size, beside the distance d; 1 is usual
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
    public ProdigyOptions build() {
      return new ProdigyOptions(this);
    }

    /**
     * Step size, beside the distance d; 1 is usual; &gt;= 0, must be given.
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
     * Share of the estimate of d that a step keeps; 0 = sqrt(beta2); in [0, 1), default 0.
     *
     * @param beta3 the new one
     * @return this
     */
    public Builder beta3(double beta3) {
      return with("beta3", beta3);
    }

    /**
     * D * epsilon keeps the denominator from zero; &gt;= 0, default 1e-8.
     *
     * @param epsilon the new one
     * @return this
     */
    public Builder epsilon(double epsilon) {
      return with("epsilon", epsilon);
    }

    /**
     * D * learning_rate * weight_decay * p is subtracted from p; &gt;= 0, default 0.
     *
     * @param weightDecay the new one
     * @return this
     */
    public Builder weightDecay(double weightDecay) {
      return with("weight_decay", weightDecay);
    }

    /**
     * The distance at first; &gt;= 1e-30, default 1e-6.
     *
     * @param d0 the new one
     * @return this
     */
    public Builder d0(double d0) {
      return with("d0", d0);
    }

    /**
     * Times the estimate of the distance; &gt;= 0, default 1.
     *
     * @param dFactor the new one
     * @return this
     */
    public Builder dFactor(double dFactor) {
      return with("d_factor", dFactor);
    }

    /**
     * D grows at most by this factor in a step; &gt;= 1, default 1e300.
     *
     * @param dGrowth the new one
     * @return this
     */
    public Builder dGrowth(double dGrowth) {
      return with("d_growth", dGrowth);
    }

    /**
     * The learning rate is times sqrt(1 - beta2^k) / (1 - beta1^k).
     *
     * @param biasCorrection the new one
     * @return this
     */
    public Builder biasCorrection(boolean biasCorrection) {
      return with("bias_correction", biasCorrection);
    }

    /**
     * The learning rate does not join the denominator of the estimate.
     *
     * @param safeguardWarmup the new one
     * @return this
     */
    public Builder safeguardWarmup(boolean safeguardWarmup) {
      return with("safeguard_warmup", safeguardWarmup);
    }
  }
}
