// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.util.function.LongToDoubleFunction;

/** A number as a function of the step counter t, which is 0 at the first step. Immutable. */
public final class Schedule {
  private final int kind;
  private final double initValue;
  private final double endValue;
  private final long decaySteps;
  private final double decayRate;
  private final double power;
  private final boolean staircase;
  private final long warmupSteps;
  final long[] boundaries;
  final double[] values;
  final LongToDoubleFunction function;

  private Schedule(int kind, double initValue, double endValue, long decaySteps, double decayRate, double power,
      boolean staircase, long warmupSteps, long[] boundaries, double[] values, LongToDoubleFunction function) {
    this.kind = kind;
    this.initValue = initValue;
    this.endValue = endValue;
    this.decaySteps = decaySteps;
    this.decayRate = decayRate;
    this.power = power;
    this.staircase = staircase;
    this.warmupSteps = warmupSteps;
    this.boundaries = boundaries;
    this.values = values;
    this.function = function;
  }

  private static Schedule formula(int kind, double init, double end, long steps, double rate, double power,
      boolean staircase) {
    return new Schedule(kind, init, end, steps, rate, power, staircase, 0, null, null, null);
  }

  /**
   * One number for every step.
   *
   * @param value finite
   * @return the schedule
   */
  public static Schedule constant(double value) {
    return formula(core.SCHEDULE_CONSTANT, value, 0, 0, 0, 1, false);
  }

  /**
   * initValue * decayRate ^ (t / decaySteps).
   *
   * @param initValue at t = 0
   * @param decaySteps above 0
   * @param decayRate 0 or more
   * @param staircase whether the exponent is floored
   * @return the schedule
   */
  public static Schedule exponentialDecay(double initValue, long decaySteps, double decayRate, boolean staircase) {
    return formula(core.SCHEDULE_EXPONENTIAL_DECAY, initValue, 0, decaySteps, decayRate, 1, staircase);
  }

  /**
   * initValue / (1 + decayRate * t / decaySteps).
   *
   * @param initValue at t = 0
   * @param decaySteps above 0
   * @param decayRate 0 or more
   * @param staircase whether the quotient is floored
   * @return the schedule
   */
  public static Schedule inverseTime(double initValue, long decaySteps, double decayRate, boolean staircase) {
    return formula(core.SCHEDULE_INVERSE_TIME, initValue, 0, decaySteps, decayRate, 1, staircase);
  }

  /**
   * From initValue to endValue in decaySteps, as (1 - t / decaySteps) ^ power.
   *
   * @param initValue at t = 0
   * @param endValue from t = decaySteps on
   * @param decaySteps above 0
   * @param power above 0
   * @return the schedule
   */
  public static Schedule polynomial(double initValue, double endValue, long decaySteps, double power) {
    return formula(core.SCHEDULE_POLYNOMIAL, initValue, endValue, decaySteps, 0, power, false);
  }

  /**
   * From initValue to endValue in decaySteps, along half a cosine.
   *
   * @param initValue at t = 0
   * @param endValue from t = decaySteps on
   * @param decaySteps above 0
   * @return the schedule
   */
  public static Schedule cosine(double initValue, double endValue, long decaySteps) {
    return formula(core.SCHEDULE_COSINE, initValue, endValue, decaySteps, 0, 1, false);
  }

  /**
   * values[i] for boundaries[i-1] &lt; t &lt;= boundaries[i].
   *
   * @param boundaries strictly increasing, one less than values
   * @param values at least one
   * @return the schedule
   */
  public static Schedule piecewise(long[] boundaries, double[] values) {
    if (boundaries.length + 1 != values.length) {
      throw new IllegalArgumentException("boundaries: has " + boundaries.length + " numbers, " + values.length
          + " values need " + (values.length - 1));
    }
    return new Schedule(core.SCHEDULE_PIECEWISE, 0, 0, 0, 0, 1, false, 0, boundaries.clone(), values.clone(), null);
  }

  /**
   * Your own. What it throws is the cause of the exception of the call that needed the value.
   *
   * @param function of t
   * @return the schedule
   */
  public static Schedule of(LongToDoubleFunction function) {
    Handle.present(function, "function");
    return new Schedule(core.SCHEDULE_CALLBACK, 0, 0, 0, 0, 1, false, 0, null, null, function);
  }

  /**
   * This schedule after a linear warm-up: its first value times (t + 1) / (steps + 1) while t &lt; steps.
   *
   * @param steps 0 or more
   * @return the schedule
   */
  public Schedule warmup(long steps) {
    return new Schedule(kind, initValue, endValue, decaySteps, decayRate, power, staircase, steps, boundaries, values,
        function);
  }

  /**
   * The value at a step.
   *
   * @param step t, 0 or more
   * @return the value
   */
  public double value(long step) {
    return Double.longBitsToDouble(core.schedule_value(this, step));
  }

  /** For the JNI library; longs as bits. */
  double[] numbers() {
    return new double[] {kind, initValue, endValue, Double.longBitsToDouble(decaySteps), decayRate, power,
      staircase ? 1 : 0, Double.longBitsToDouble(warmupSteps)};
  }
}
