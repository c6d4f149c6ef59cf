// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Options of {@link Accumulator}. Immutable. */
public final class AccumulatorOptions extends StructOptions<AccumulatorOptionsStruct> {
  private AccumulatorOptions(Settings<AccumulatorOptionsStruct> given) {
    super(given, AccumulatorOptionsStruct::new);
  }

  /**
   * Begins with the defaults.
   *
   * @return the builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /** Collects options; what is not given has the library's default. */
  public static final class Builder {
    private final Settings<AccumulatorOptionsStruct> settings = new Settings<>();

    private Builder() {}

    /**
     * The options as they are now.
     *
     * @return immutable
     */
    public AccumulatorOptions build() {
      return new AccumulatorOptions(settings);
    }

    /**
     * Default MEAN_EACH.
     *
     * @param mode the new one
     * @return this
     */
    public Builder mode(AccumulationMode mode) {
      settings.put("mode", mode, struct -> struct.setMode(mode.code));
      return this;
    }

    /**
     * Default STEPS.
     *
     * @param trigger the new one
     * @return this
     */
    public Builder trigger(AccumulationTrigger trigger) {
      settings.put("trigger", trigger, struct -> struct.setTrigger(trigger.code));
      return this;
    }

    /**
     * Default NONE.
     *
     * @param nonfinite the new one
     * @return this
     */
    public Builder nonfinite(NonfinitePolicy nonfinite) {
      settings.put("nonfinite", nonfinite, struct -> struct.setNonfinite(nonfinite.code));
      return this;
    }

    /**
     * K &gt;= 1 for STEPS; default 1.
     *
     * @param steps the new one
     * @return this
     */
    public Builder steps(long steps) {
      settings.put("steps", steps, struct -> struct.setSteps(steps));
      return this;
    }

    /**
     * Above 0 for MIN_WEIGHT.
     *
     * @param minWeight the new one
     * @return this
     */
    public Builder minWeight(double minWeight) {
      settings.put("minWeight", minWeight, struct -> struct.setMinWeight(minWeight));
      return this;
    }

    /**
     * For SCHEDULE; values &gt;= 0.5; copied.
     *
     * @param schedule the new one
     * @return this
     */
    public Builder schedule(Schedule schedule) {
      settings.put("schedule", schedule, struct -> {});
      return this;
    }

    /**
     * F32 or F64, of all sums; without it F32, and F64 for gradients of F64.
     *
     * @param dtype the new one
     * @return this
     */
    public Builder dtype(DType dtype) {
      settings.put("dtype", dtype, struct -> core.set_sum_dtype(struct, dtype.code, dtype.bits));
      return this;
    }

    /**
     * {@code gradstep_accumulator_sums} stays valid in READY, see there.
     *
     * @param keepSums the new one
     * @return this
     */
    public Builder keepSums(boolean keepSums) {
      settings.put("keepSums", keepSums, struct -> struct.setKeepSums(keepSums ? 1 : 0));
      return this;
    }
  }
}
