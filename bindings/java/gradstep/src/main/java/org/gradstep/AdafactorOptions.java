// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Adafactor. Source: Shazeer and Stern 2018, Adafactor: Adaptive Learning Rates with Sublinear Memory Cost, algorithms
 * 4 and 5; the numbers of torch and of optax.
 *
 * <pre>
 * b = 1 - (t+1)^-decay_exponent; rms: the root mean square of a tensor
 * r = b * r + (1 - b) * mean(g^2) over each row, c likewise over each column, v = r * c / mean(r)
 * tensors without factors: v = b * v + (1 - b) * g^2
 * u = g / sqrt(v), u = u / max(1, rms(u) / clip_threshold)
 * rate = learning_rate for form optax, min(learning_rate, 1 / sqrt(t+1)) for torch
 * d = rate * max(rms(p), least_scale) * u; with momentum m = momentum * m + (1 - momentum) * d, d = m
 * p = p - d
 * </pre>
 *
 * <p>State of a tensor as a whole: row_variance and column_variance of factored tensors, a number for each row and
 * column; variance, one for each element, of others; momentum, one for each element, unless it is the constant 0.
 */
public final class AdafactorOptions extends RuleOptions {
  private AdafactorOptions(Builder builder) {
    super("adafactor", builder);
  }

  /**
   * Begins with what must be given.
   *
   * @param learningRate step size, beside the length of p
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
    public AdafactorOptions build() {
      return new AdafactorOptions(this);
    }

    /**
     * Step size, beside the length of p; &gt;= 0, must be given.
     *
     * @param learningRate the new one
     * @return this
     */
    public Builder learningRate(double learningRate) {
      return with("learning_rate", learningRate);
    }

    /**
     * Share of the mean change that a step keeps; in [0, 1), default 0.
     *
     * @param momentum the new one
     * @return this
     */
    public Builder momentum(double momentum) {
      return with("momentum", momentum);
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
     * A step takes (t+1)^-decay_exponent of the mean squares anew; &gt;= 0, default 0.8.
     *
     * @param decayExponent the new one
     * @return this
     */
    public Builder decayExponent(double decayExponent) {
      return with("decay_exponent", decayExponent);
    }

    /**
     * Form torch: least denominator; form optax: joins the squares; &gt;= 1e-300, default 1e-30.
     *
     * @param epsilon the new one
     * @return this
     */
    public Builder epsilon(double epsilon) {
      return with("epsilon", epsilon);
    }

    /**
     * Least root mean square of p that counts; &gt;= 0, default 0.001.
     *
     * @param leastScale the new one
     * @return this
     */
    public Builder leastScale(double leastScale) {
      return with("least_scale", leastScale);
    }

    /**
     * Largest root mean square of a direction; 0 = any; &gt;= 0, default 1.
     *
     * @param clipThreshold the new one
     * @return this
     */
    public Builder clipThreshold(double clipThreshold) {
      return with("clip_threshold", clipThreshold);
    }

    /**
     * Form optax: least length of the shorter factored axis; in [0, 1000000000), whole, default 128.
     *
     * @param minFactored the new one
     * @return this
     */
    public Builder minFactored(double minFactored) {
      return with("min_factored", minFactored);
    }

    /**
     * Torch or optax: which axes are factored, what epsilon does, and what bounds the rate.
     *
     * @param form the new one
     * @return this
     */
    public Builder form(AdafactorForm form) {
      return with("form", Handle.present(form, "form"));
    }

    /**
     * Steps are in proportion to the length of p; default true.
     *
     * @param scalesByParameter the new one
     * @return this
     */
    public Builder scalesByParameter(boolean scalesByParameter) {
      return with("scales_by_parameter", scalesByParameter);
    }

    /**
     * Matrices keep mean squares of rows and columns alone; default true.
     *
     * @param factored the new one
     * @return this
     */
    public Builder factored(boolean factored) {
      return with("factored", factored);
    }
  }
}
