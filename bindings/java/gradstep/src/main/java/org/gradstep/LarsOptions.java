// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Lars. Source: You et al. 2017, Large Batch Training of Convolutional Networks; the numbers of optax and of
 * pytorch_optimizer.
 *
 * <pre>
 * norms are of the tensor; r is 1 where it would be 0 or divide by 0
 * u = g + weight_decay * p
 * form optax: r = trust_coefficient * norm(p) / (norm(u) + epsilon)
 * form pytorch_optimizer: r = trust_coefficient * norm(p) / (norm(g) + weight_decay * norm(p) + epsilon)
 * m = momentum * m + rate * r * u, rate = learning_rate for form optax, 1 for pytorch_optimizer
 * d = rate * r * u + momentum * m if nesterov, else m
 * p = p - d for form optax, p - learning_rate * d for pytorch_optimizer
 * </pre>
 *
 * <p>State momentum.
 */
public final class LarsOptions extends RuleOptions {
  private LarsOptions(Builder builder) {
    super("lars", builder);
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
    public LarsOptions build() {
      return new LarsOptions(this);
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
     * Share of the momentum that a step keeps; in [0, 1), default 0.9.
     *
     * @param momentum the new one
     * @return this
     */
    public Builder momentum(double momentum) {
      return with("momentum", momentum);
    }

    /**
     * Length of a step beside that of its parameter; &gt;= 0, default 0.001.
     *
     * @param trustCoefficient the new one
     * @return this
     */
    public Builder trustCoefficient(double trustCoefficient) {
      return with("trust_coefficient", trustCoefficient);
    }

    /**
     * Joins the length of u; &gt;= 0, default 0.
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
     * Optax or pytorch_optimizer: what the ratio is, and when the learning rate multiplies.
     *
     * @param form the new one
     * @return this
     */
    public Builder form(LarsForm form) {
      return with("form", Handle.present(form, "form"));
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
