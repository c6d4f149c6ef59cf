// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * Muon. Source: Jordan et al. 2024, Muon; options where KellerJordan/Muon, torch, Moonlight, dion, NVIDIA and optax
 * differ, the numbers of each. Li et al. 2025, NorMuon; Si et al. 2025, AdaMuon: the option variance.
 *
 * <pre>
 * m = momentum * m + (1 - momentum) * g
 * u = (1 - momentum) * g + momentum * m if nesterov else m
 * o = orthogonalize(u) of the first axis against all others
 * with variance: v = variance_beta * v + (1 - variance_beta) * mean(o^2), o = o / (sqrt(v) + variance_epsilon), scaled by variance_length
 * p = p - learning_rate * scale_factor * step_scale * o; every parameter needs 2 axes or more
 * </pre>
 *
 * <p>State momentum_buffer. State of a tensor as a whole: with variance: variance, a number for each row, for each
 * place of the longer axis, or for each element.
 */
public final class MuonOptions extends RuleOptions {
  private MuonOptions(Builder builder) {
    super("muon", builder);
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
    public MuonOptions build() {
      return new MuonOptions(this);
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
     * Share of the momentum that a step keeps; in [0, 1), default 0.95.
     *
     * @param momentum the new one
     * @return this
     */
    public Builder momentum(double momentum) {
      return with("momentum", momentum);
    }

    /**
     * Share of the variance that a step keeps; in [0, 1), default 0.95.
     *
     * @param varianceBeta the new one
     * @return this
     */
    public Builder varianceBeta(double varianceBeta) {
      return with("variance_beta", varianceBeta);
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
     * Newton-Schulz iterations; in [1, 101), whole, default 5.
     *
     * @param iterations the new one
     * @return this
     */
    public Builder iterations(double iterations) {
      return with("iterations", iterations);
    }

    /**
     * Keeps the norm that a matrix is divided by from zero; &gt;= 0, default 1e-7.
     *
     * @param epsilon the new one
     * @return this
     */
    public Builder epsilon(double epsilon) {
      return with("epsilon", epsilon);
    }

    /**
     * Multiplies what step_scale says; &gt;= 0, default 1.
     *
     * @param scaleFactor the new one
     * @return this
     */
    public Builder scaleFactor(double scaleFactor) {
      return with("scale_factor", scaleFactor);
    }

    /**
     * For coefficients = own: X = a X + (b A + c A^2) X, A = X X^T; default 3.4445.
     *
     * @param coefficientA the new one
     * @return this
     */
    public Builder coefficientA(double coefficientA) {
      return with("coefficient_a", coefficientA);
    }

    /**
     * likewise; default -4.775.
     *
     * @param coefficientB the new one
     * @return this
     */
    public Builder coefficientB(double coefficientB) {
      return with("coefficient_b", coefficientB);
    }

    /**
     * likewise; default 2.0315.
     *
     * @param coefficientC the new one
     * @return this
     */
    public Builder coefficientC(double coefficientC) {
      return with("coefficient_c", coefficientC);
    }

    /**
     * Keeps the root of the variance from zero; &gt;= 0, default 1e-8.
     *
     * @param varianceEpsilon the new one
     * @return this
     */
    public Builder varianceEpsilon(double varianceEpsilon) {
      return with("variance_epsilon", varianceEpsilon);
    }

    /**
     * For iterate = gram: X is made anew before iterations n, 2 n, ..., counted from 1; a large n makes products in
     * bf16 fail; in [1, 21), whole, default 3.
     *
     * @param gramRestartEvery the new one
     * @return this
     */
    public Builder gramRestartEvery(double gramRestartEvery) {
      return with("gram_restart_every", gramRestartEvery);
    }

    /**
     * Average: m = momentum * m + (1 - momentum) * g (KellerJordan, torch, NVIDIA); sum: m = momentum * m + g
     * (Moonlight, dion); corrected: the average, corrected for its bias (optax).
     *
     * @param momentumForm the new one
     * @return this
     */
    public Builder momentumForm(MuonMomentumForm momentumForm) {
      return with("momentum_form", Handle.present(momentumForm, "momentumForm"));
    }

    /**
     * Looks one step ahead; default true.
     *
     * @param nesterov the new one
     * @return this
     */
    public Builder nesterov(boolean nesterov) {
      return with("nesterov", nesterov);
    }

    /**
     * Shape: sqrt(max(1, rows / columns)) (KellerJordan, torch); rms: 0.2 sqrt(max(rows, columns)) (Moonlight,
     * torch); spectral: sqrt(rows / columns) (dion, torch, NVIDIA); largest: sqrt(max(rows, columns)) (NVIDIA);
     * kernel: sqrt(max(1, columns / rows)), for weights of inputs x outputs (optax); none: 1.
     *
     * @param stepScale the new one
     * @return this
     */
    public Builder stepScale(MuonStepScale stepScale) {
      return with("step_scale", Handle.present(stepScale, "stepScale"));
    }

    /**
     * The Newton-Schulz iterations' numbers.
     *
     * @param coefficients the new one
     * @return this
     */
    public Builder coefficients(MuonCoefficients coefficients) {
      return with("coefficients", Handle.present(coefficients, "coefficients"));
    }

    /**
     * What a matrix is divided by first. add: norm + epsilon; max: max(norm, epsilon); safe: 1.02 norm + epsilon.
     *
     * @param normalizer the new one
     * @return this
     */
    public Builder normalizer(MuonNormalizer normalizer) {
      return with("normalizer", Handle.present(normalizer, "normalizer"));
    }

    /**
     * What o is divided by the root of: a mean square of each of the rows (NorMuon: dion, pytorch_optimizer), of the
     * longer axis (NorMuon: NVIDIA), of the elements (AdaMuon); kept as the state variance.
     *
     * @param variance the new one
     * @return this
     */
    public Builder variance(MuonVariance variance) {
      return with("variance", Handle.present(variance, "variance"));
    }

    /**
     * Add: sqrt(v) + variance_epsilon; max: sqrt(max(v, variance_epsilon)).
     *
     * @param varianceFloor the new one
     * @return this
     */
    public Builder varianceFloor(MuonVarianceFloor varianceFloor) {
      return with("variance_floor", Handle.present(varianceFloor, "varianceFloor"));
    }

    /**
     * How long o is then. kept: as before (NorMuon); free: as it comes (AdaMuon: NVIDIA); full: sqrt(min(rows,
     * columns)), with v / (1 - variance_beta^(t+1)) (AdaMuon: pytorch_optimizer).
     *
     * @param varianceLength the new one
     * @return this
     */
    public Builder varianceLength(MuonVarianceLength varianceLength) {
      return with("variance_length", Handle.present(varianceLength, "varianceLength"));
    }

    /**
     * Precision of the Newton-Schulz iterations. f32: that of the arithmetic type; bf16: iterates are rounded to it,
     * and products sum in f32 (NVIDIA, KellerJordan, torch), in bits that depend on the processor.
     *
     * @param productPrecision the new one
     * @return this
     */
    public Builder productPrecision(MuonProductPrecision productPrecision) {
      return with("product_precision", Handle.present(productPrecision, "productPrecision"));
    }

    /**
     * What the Newton-Schulz iterations change. matrix: X; gram: X X^T and a matrix by which X is multiplied at the
     * end, which takes fewer operations (Zhang et al. 2026, Gram Newton-Schulz); as matrix where one axis is less
     * than 1.5 times the other.
     *
     * @param iterate the new one
     * @return this
     */
    public Builder iterate(MuonIterate iterate) {
      return with("iterate", Handle.present(iterate, "iterate"));
    }
  }
}
