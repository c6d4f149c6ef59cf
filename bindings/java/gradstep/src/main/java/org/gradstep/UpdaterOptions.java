// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Options of {@link Updater}. Immutable. */
public final class UpdaterOptions extends StructOptions<UpdaterOptionsStruct> {
  private UpdaterOptions(Settings<UpdaterOptionsStruct> given) {
    super(given, UpdaterOptionsStruct::new);
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
    private final Settings<UpdaterOptionsStruct> settings = new Settings<>();

    private Builder() {}

    /**
     * The options as they are now.
     *
     * @return immutable
     */
    public UpdaterOptions build() {
      return new UpdaterOptions(settings);
    }

    /**
     * See {@link UpdaterSync}.
     *
     * @param sync the new one
     * @return this
     */
    public Builder sync(UpdaterSync sync) {
      settings.put("sync", sync, struct -> struct.setSync(sync.code));
      return this;
    }

    /**
     * A window whose reduced gradients are not finite makes no step, on all ranks alike; with outer each rank skips
     * local steps by itself, and a round whose reduced change is not finite leads back to where it began, on all
     * ranks.
     *
     * @param skipNonfinite the new one
     * @return this
     */
    public Builder skipNonfinite(boolean skipNonfinite) {
      settings.put("skipNonfinite", skipNonfinite, struct -> struct.setSkipNonfinite(skipNonfinite ? 1 : 0));
      return this;
    }

    /**
     * PARAMETERS, PARAMETERS_PARTIAL, and DELTAS with outer: &gt;= 1, default 1.
     *
     * @param syncSteps the new one
     * @return this
     */
    public Builder syncSteps(int syncSteps) {
      settings.put("syncSteps", syncSteps, struct -> struct.setSyncSteps(syncSteps));
      return this;
    }

    /**
     * At least 0, of the gradients that are stepped: the reduced ones, or the rank's own; 0 = off.
     *
     * @param maxNorm the new one
     * @return this
     */
    public Builder maxNorm(double maxNorm) {
      settings.put("maxNorm", maxNorm, struct -> struct.setMaxNorm(maxNorm));
      return this;
    }

    /**
     * At least 0; 0 = off.
     *
     * @param clipValue the new one
     * @return this
     */
    public Builder clipValue(double clipValue) {
      settings.put("clipValue", clipValue, struct -> struct.setClipValue(clipValue));
      return this;
    }

    /**
     * Finite; default 1.
     *
     * @param gradScale the new one
     * @return this
     */
    public Builder gradScale(double gradScale) {
      settings.put("gradScale", gradScale, struct -> struct.setGradScale(gradScale));
      return this;
    }

    /**
     * With outer, Streaming DiLoCo (arXiv 2501.18512): the buckets of the reducer are divided into so many parts of
     * the model, in the order of the parameters: default 1, 0 counts as 1; a divisor of syncSteps, and at most the
     * number of buckets. Their rounds end in turn, one every syncSteps / outerFragments windows. Each step of outer
     * is one of a fragment, and counts as one in its schedules; rules that correct their moments by the step count
     * take stepCounting "parameter".
     *
     * @param outerFragments the new one
     * @return this
     */
    public Builder outerFragments(int outerFragments) {
      settings.put("outerFragments", outerFragments, struct -> struct.setOuterFragments(outerFragments));
      return this;
    }

    /**
     * A change leaves so many windows before its round ends, and travels behind the host's work: 0, the default, to
     * syncSteps / outerFragments - 1.
     *
     * @param outerDelay the new one
     * @return this
     */
    public Builder outerDelay(int outerDelay) {
      settings.put("outerDelay", outerDelay, struct -> struct.setOuterDelay(outerDelay));
      return this;
    }

    /**
     * A fragment goes on from (1 - outerMix) x where the outer step has led + outerMix x the rank's own parameters:
     * 0, the default, to below 1.
     *
     * @param outerMix the new one
     * @return this
     */
    public Builder outerMix(double outerMix) {
      settings.put("outerMix", outerMix, struct -> struct.setOuterMix(outerMix));
      return this;
    }
  }
}
