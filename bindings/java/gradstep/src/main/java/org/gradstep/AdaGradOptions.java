// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * AdaGrad. Source: Duchi, Hazan and Singer 2011; SINGA opt.py; lr_decay and initial_accumulator as in PyTorch.
 *
 * <pre>
 * a = a + g^2
 * p = p - learning_rate / (1 + t * lr_decay) * g / sqrt(a + epsilon), or by epsilon_placement / (sqrt(a) + epsilon)
 * </pre>
 *
 * <p>State sum.
 */
public final class AdaGradOptions extends RuleOptions {
  private AdaGradOptions(Builder builder) {
    super("adagrad", builder);
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
    public AdaGradOptions build() {
      return new AdaGradOptions(this);
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
     * The step size is divided by 1 + t * lr_decay; &gt;= 0, default 0.
     *
     * @param lrDecay the new one
     * @return this
     */
    public Builder lrDecay(double lrDecay) {
      return with("lr_decay", lrDecay);
    }

    /**
     * What the sum starts with; &gt;= 0, default 0.
     *
     * @param initialAccumulator the new one
     * @return this
     */
    public Builder initialAccumulator(double initialAccumulator) {
      return with("initial_accumulator", initialAccumulator);
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
  }
}
