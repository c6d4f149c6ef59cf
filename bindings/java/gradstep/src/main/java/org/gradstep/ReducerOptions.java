// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

import java.util.Set;

/** Options of {@link Reducer}. Immutable. */
public final class ReducerOptions extends StructOptions<ReducerOptionsStruct> {
  private ReducerOptions(Settings<ReducerOptionsStruct> given) {
    super(given, ReducerOptionsStruct::new);
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
    private final Settings<ReducerOptionsStruct> settings = new Settings<>();

    private Builder() {}

    /**
     * The options as they are now.
     *
     * @return immutable
     */
    public ReducerOptions build() {
      return new ReducerOptions(settings);
    }

    /**
     * See {@link ReducerMode}.
     *
     * @param mode the new one
     * @return this
     */
    public Builder mode(ReducerMode mode) {
      settings.put("mode", mode, struct -> struct.setMode(mode.code));
      return this;
    }

    /**
     * See {@link Average}.
     *
     * @param average the new one
     * @return this
     */
    public Builder average(Average average) {
      settings.put("average", average, struct -> struct.setAverage(average.code));
      return this;
    }

    /**
     * Every window has the control all-reduce.
     *
     * @param control the new one
     * @return this
     */
    public Builder control(boolean control) {
      settings.put("control", control, struct -> struct.setControl(control ? 1 : 0));
      return this;
    }

    /**
     * Elements, &gt;= 1; default 2097152.
     *
     * @param fuseThreshold the new one
     * @return this
     */
    public Builder fuseThreshold(long fuseThreshold) {
      settings.put("fuseThreshold", fuseThreshold, struct -> struct.setFuseThreshold(fuseThreshold));
      return this;
    }

    /**
     * Room that a packed bucket may take: 0, the default, or &gt;= 2 fuseThreshold, which none exceeds.
     *
     * @param bucketElements the new one
     * @return this
     */
    public Builder bucketElements(long bucketElements) {
      settings.put("bucketElements", bucketElements, struct -> struct.setBucketElements(bucketElements));
      return this;
    }

    /**
     * HALF and BFLOAT16: &gt;= 0; 0 = off, the default.
     *
     * @param clipValue the new one
     * @return this
     */
    public Builder clipValue(double clipValue) {
      settings.put("clipValue", clipValue, struct -> struct.setClipValue(clipValue));
      return this;
    }

    /**
     * See {@link HalfSum}.
     *
     * @param halfSum the new one
     * @return this
     */
    public Builder halfSum(HalfSum halfSum) {
      settings.put("halfSum", halfSum, struct -> struct.setHalfSum(halfSum.code));
      return this;
    }

    /**
     * Default true; sparse modes and codes: 1 keeps what was not sent, 0 drops it.
     *
     * @param residual the new one
     * @return this
     */
    public Builder residual(boolean residual) {
      settings.put("residual", residual, struct -> struct.setResidual(residual ? 1 : 0));
      return this;
    }

    /**
     * The threshold (&gt;= 0), or the fraction that is kept (0 &lt; sparsity &lt;= 1); default 0.05.
     *
     * @param sparsity the new one
     * @return this
     */
    public Builder sparsity(double sparsity) {
      settings.put("sparsity", sparsity, struct -> struct.setSparsity(sparsity));
      return this;
    }

    /**
     * See {@link Selection}.
     *
     * @param selection the new one
     * @return this
     */
    public Builder selection(Selection selection) {
      settings.put("selection", selection, struct -> struct.setSelection(selection.code));
      return this;
    }

    /**
     * See {@link NanPolicy}.
     *
     * @param nanPolicy the new one
     * @return this
     */
    public Builder nanPolicy(NanPolicy nanPolicy) {
      settings.put("nanPolicy", nanPolicy, struct -> struct.setNanPolicy(nanPolicy.code));
      return this;
    }

    /**
     * See {@link SparseExchange}.
     *
     * @param sparseExchange the new one
     * @return this
     */
    public Builder sparseExchange(SparseExchange sparseExchange) {
      settings.put("sparseExchange", sparseExchange, struct -> struct.setSparseExchange(sparseExchange.code));
      return this;
    }

    /**
     * See {@link ErrorFeedback}.
     *
     * @param errorFeedback the new one
     * @return this
     */
    public Builder errorFeedback(ErrorFeedback errorFeedback) {
      settings.put("errorFeedback", errorFeedback, struct -> struct.setErrorFeedback(errorFeedback.code));
      return this;
    }

    /**
     * SPARSE_TOPK: 0 &lt;= momentumCorrection &lt; 1, 0 = off. v = momentumCorrection v + gradient goes into the
     * residual in the gradient's stead, and v becomes zero where something is sent; the optimizer then needs no
     * momentum. The fraction that is sent falls from 1 to {@code sparsity} within warmupSteps windows:
     * sparsity^((t+1)/(warmupSteps+1)) in window t. Source: Deep Gradient Compression (Lin et al. 2018).
     *
     * @param momentumCorrection the new one
     * @return this
     */
    public Builder momentumCorrection(double momentumCorrection) {
      settings.put("momentumCorrection", momentumCorrection,
          struct -> struct.setMomentumCorrection(momentumCorrection));
      return this;
    }

    /**
     * At least 0.
     *
     * @param warmupSteps the new one
     * @return this
     */
    public Builder warmupSteps(long warmupSteps) {
      settings.put("warmupSteps", warmupSteps, struct -> struct.setWarmupSteps(warmupSteps));
      return this;
    }

    /**
     * POWERSGD: columns of the factors, &gt;= 1, default 2.
     *
     * @param rank the new one
     * @return this
     */
    public Builder rank(int rank) {
      settings.put("rank", rank, struct -> struct.setRank(rank));
      return this;
    }

    /**
     * What mode AUTO chooses from; all by default.
     *
     * @param modes the candidates
     * @param hosts whether sums by hosts are candidates, too
     * @return this
     */
    public Builder candidates(Set<ReducerMode> modes, boolean hosts) {
      int flags = hosts ? core.CANDIDATE_HOSTS : 0;
      for (ReducerMode mode : Handle.present(modes, "modes")) {
        flags |= 1 << mode.code;
      }
      int all = flags;
      settings.put("candidates", Set.copyOf(modes), struct -> struct.setCandidates(all));
      settings.put("candidate hosts", hosts, struct -> {}); // to be shown: setCandidates has it
      return this;
    }

    /**
     * Buckets that may be under way at once, each over a channel of its own, so that one bucket's bytes travel
     * during another one's delays. 0 to 16; 0 = four over engine gloo of at most 16 ranks, else one. One is used
     * where exchanges cannot overlap (see {@code gradstep_reducer_push}), and on a device.
     *
     * @param channels the new one
     * @return this
     */
    public Builder channels(int channels) {
      settings.put("channels", channels, struct -> struct.setChannels(channels));
      return this;
    }
  }
}
