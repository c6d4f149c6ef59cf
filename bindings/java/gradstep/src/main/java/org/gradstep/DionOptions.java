// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Dion. Source: Ahn et al. 2025, Dion: Distributed Orthonormalized Updates (arXiv 2504.05295), algorithm 1; the
 * numbers of dion_reference and of dion_simple of microsoft/dion.
 *
 * <pre>
 * m = m + g, rows by the first axis, columns by all others
 * P = the orthonormal basis of m Q, R = m^T P
 * m = m - (1 - momentum) * P R^T
 * Q = R / (lengths of its columns + epsilon)
 * p = p - learning_rate * sqrt(rows / columns) * P Q^T; every parameter needs 2 axes or more
 * </pre>
 *
 * <p>State of a tensor as a whole: momentum, in the parameter's shape; Q, a row of `columns` numbers for each of its
 * columns (of `rows` numbers where the matrix is transposed), which begins with random numbers by the parameter's
 * name.
 */
public final class DionOptions extends RuleOptions {
  private DionOptions(Builder builder) {
    super("dion", builder);
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
    public DionOptions build() {
      return new DionOptions(this);
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
     * Share of P R^T that stays in m; in [0, 1), default 0.95.
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
     * Columns of Q, at most the shorter side of the matrix; 0: by rank_fraction; in [0, 1000000000), whole, default
     * 0.
     *
     * @param rank the new one
     * @return this
     */
    public Builder rank(double rank) {
      return with("rank", rank);
    }

    /**
     * Columns of Q in shares of the shorter side, rounded up; &gt;= 0, default 1.
     *
     * @param rankFraction the new one
     * @return this
     */
    public Builder rankFraction(double rankFraction) {
      return with("rank_fraction", rankFraction);
    }

    /**
     * Added to the lengths that columns of R are divided by; &gt;= 0, default 1e-8.
     *
     * @param epsilon the new one
     * @return this
     */
    public Builder epsilon(double epsilon) {
      return with("epsilon", epsilon);
    }

    /**
     * Reference: wide matrices are transposed; where a column of R is zero, that of Q stays (dion_reference);
     * simple: never transposed; where a column of R is zero, that of Q becomes zero; a zero column of P becomes one
     * of the identity (dion_simple).
     *
     * @param form the new one
     * @return this
     */
    public Builder form(DionForm form) {
      return with("form", Handle.present(form, "form"));
    }
  }
}
