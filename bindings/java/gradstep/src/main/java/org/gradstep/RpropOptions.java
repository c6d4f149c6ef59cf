// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Rprop. Source: Riedmiller and Braun 1993, RPROP; the numbers of torch.
 *
 * <pre>
 * s = -1, 0 or 1, by the signs of g and of g before
 * step = clamp(step * (eta_plus if s &gt; 0, eta_minus if s &lt; 0, else 1), minimum_step, maximum_step)
 * g = 0 where s &lt; 0
 * p = p - sign(g) * step; the first step is learning_rate
 * </pre>
 *
 * <p>State previous_gradient, step_size.
 */
public final class RpropOptions extends RuleOptions {
  private RpropOptions(Builder builder) {
    super("rprop", builder);
  }

  /**
   * Begins with what must be given.
   *
   * @param learningRate first step size of every element; later ones are states
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
    public RpropOptions build() {
      return new RpropOptions(this);
    }

    /**
     * First step size of every element; later ones are states; &gt;= 0, must be given.
     *
     * @param learningRate the new one
     * @return this
     */
    public Builder learningRate(double learningRate) {
      return with("learning_rate", learningRate);
    }

    /**
     * Times the step size where the gradient has turned; in [0, 1), default 0.5.
     *
     * @param etaMinus the new one
     * @return this
     */
    public Builder etaMinus(double etaMinus) {
      return with("eta_minus", etaMinus);
    }

    /**
     * Times the step size where it has not; &gt;= 1, default 1.2.
     *
     * @param etaPlus the new one
     * @return this
     */
    public Builder etaPlus(double etaPlus) {
      return with("eta_plus", etaPlus);
    }

    /**
     * Least step size; &gt;= 0, default 1e-6.
     *
     * @param minimumStep the new one
     * @return this
     */
    public Builder minimumStep(double minimumStep) {
      return with("minimum_step", minimumStep);
    }

    /**
     * Largest step size; &gt;= 0, default 50.
     *
     * @param maximumStep the new one
     * @return this
     */
    public Builder maximumStep(double maximumStep) {
      return with("maximum_step", maximumStep);
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
