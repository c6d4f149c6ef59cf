// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.lang.ref.Reference;

/** What a step does beside stepping. Each method changes one thing and returns these options. */
public final class StepOptions {
  boolean skipNonfinite;
  double gradScale = 1;
  double maxNorm;
  double clipValue;
  boolean disjoint;
  Tensor gradNorm;
  Tensor foundInf;
  Tensor gradScaleTensor;
  Tensor outcome;
  long stream;

  /** Nothing. */
  public StepOptions() {}

  /**
   * Skips the whole step where a gradient is not finite.
   *
   * @param skipNonfinite default false
   * @return this
   */
  public StepOptions skipNonfinite(boolean skipNonfinite) {
    this.skipNonfinite = skipNonfinite;
    return this;
  }

  /**
   * Multiplies gradients.
   *
   * @param gradScale finite; default 1
   * @return this
   */
  public StepOptions gradScale(double gradScale) {
    this.gradScale = gradScale;
    return this;
  }

  /**
   * Clips the norm over all gradients.
   *
   * @param maxNorm 0 or more; 0, the default = off
   * @return this
   */
  public StepOptions maxNorm(double maxNorm) {
    this.maxNorm = maxNorm;
    return this;
  }

  /**
   * Clips every element.
   *
   * @param clipValue 0 or more; 0, the default = off
   * @return this
   */
  public StepOptions clipValue(double clipValue) {
    this.clipValue = clipValue;
    return this;
  }

  /**
   * Promises that no tensors overlap of which one is written: they are not compared then.
   *
   * @param disjoint default false
   * @return this
   */
  public StepOptions disjoint(boolean disjoint) {
    this.disjoint = disjoint;
    return this;
  }

  /**
   * The gradients' norm, known already.
   *
   * @param gradNorm of one F64; null, the default = computed where it is needed
   * @return this
   */
  public StepOptions gradNorm(Tensor gradNorm) {
    this.gradNorm = gradNorm;
    return this;
  }

  /**
   * A flag that skips the step where it is not 0, and becomes 1 where a gradient is not finite.
   *
   * @param foundInf of one F32; null, the default = none
   * @return this
   */
  public StepOptions foundInf(Tensor foundInf) {
    this.foundInf = foundInf;
    return this;
  }

  /**
   * A factor of {@link #gradScale(double)} in memory, read when the step runs.
   *
   * @param gradScaleTensor of one F32; null, the default = none
   * @return this
   */
  public StepOptions gradScaleTensor(Tensor gradScaleTensor) {
    this.gradScaleTensor = gradScaleTensor;
    return this;
  }

  /**
   * Gets applied (1 or 0), the gradients' norm, the clip coefficient and t, when the step has run.
   *
   * @param outcome of four F64; null, the default = none
   * @return this
   */
  public StepOptions outcome(Tensor outcome) {
    this.outcome = outcome;
    return this;
  }

  /**
   * The device stream that the step is queued on.
   *
   * @param stream 0 on the CPU
   * @return this
   */
  public StepOptions stream(long stream) {
    this.stream = stream;
    return this;
  }

  /** A step, or with updates (not 0) what it would add to the parameters. */
  StepResult step(long optimizer, long params, long grads, long updates, long n) {
    double[] result = new double[3];
    Tensor.writable(foundInf, "foundInf");
    Tensor.writable(outcome, "outcome");
    core.step_with(optimizer, params, grads, updates, n, skipNonfinite ? 1 : 0, gradScale, maxNorm, clipValue,
        disjoint ? 1 : 0, Tensor.alive(gradNorm, "gradNorm"), Tensor.alive(foundInf, "foundInf"),
        Tensor.alive(gradScaleTensor, "gradScaleTensor"), Tensor.alive(outcome, "outcome"), result, stream);
    Reference.reachabilityFence(this);
    return new StepResult(result[0] != 0, result[1], result[2]);
  }
}
