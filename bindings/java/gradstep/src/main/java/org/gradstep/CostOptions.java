// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Options of {@link Cost#predict}. Immutable. */
public final class CostOptions extends StructOptions<CostOptionsStruct> {
  private CostOptions(Settings<CostOptionsStruct> given) {
    super(given, CostOptionsStruct::new);
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
    private final Settings<CostOptionsStruct> settings = new Settings<>();

    private Builder() {}

    /**
     * The options as they are now.
     *
     * @return immutable
     */
    public CostOptions build() {
      return new CostOptions(settings);
    }

    /**
     * Size in the reducer's arithmetic: 4, the default, or 8 for f64.
     *
     * @param elementBytes the new one
     * @return this
     */
    public Builder elementBytes(int elementBytes) {
      settings.put("elementBytes", elementBytes, struct -> struct.setElementBytes(elementBytes));
      return this;
    }

    /**
     * In all parameters, &gt;= 1; must be given.
     *
     * @param elements the new one
     * @return this
     */
    public Builder elements(long elements) {
      settings.put("elements", elements, struct -> struct.setElements(elements));
      return this;
    }

    /**
     * P, 1 to 100000; must be given.
     *
     * @param ranks the new one
     * @return this
     */
    public Builder ranks(long ranks) {
      settings.put("ranks", ranks, struct -> struct.setRanks(ranks));
      return this;
    }

    /**
     * H, divides P; default 1.
     *
     * @param ranksPerHost the new one
     * @return this
     */
    public Builder ranksPerHost(long ranksPerHost) {
      settings.put("ranksPerHost", ranksPerHost, struct -> struct.setRanksPerHost(ranksPerHost));
      return this;
    }

    /**
     * At least 1: elements travel in equal buckets of at most so many; default 2097152.
     *
     * @param bucketElements the new one
     * @return this
     */
    public Builder bucketElements(long bucketElements) {
      settings.put("bucketElements", bucketElements, struct -> struct.setBucketElements(bucketElements));
      return this;
    }

    /**
     * B, bytes a second each way, &gt; 0; must be given.
     *
     * @param bandwidth the new one
     * @return this
     */
    public Builder bandwidth(double bandwidth) {
      settings.put("bandwidth", bandwidth, struct -> struct.setBandwidth(bandwidth));
      return this;
    }

    /**
     * L, seconds, &gt;= 0; must be given.
     *
     * @param latency the new one
     * @return this
     */
    public Builder latency(double latency) {
      settings.put("latency", latency, struct -> struct.setLatency(latency));
      return this;
    }

    /**
     * b, default 5e9.
     *
     * @param hostBandwidth the new one
     * @return this
     */
    public Builder hostBandwidth(double hostBandwidth) {
      settings.put("hostBandwidth", hostBandwidth, struct -> struct.setHostBandwidth(hostBandwidth));
      return this;
    }

    /**
     * l, default 5e-6.
     *
     * @param hostLatency the new one
     * @return this
     */
    public Builder hostLatency(double hostLatency) {
      settings.put("hostLatency", hostLatency, struct -> struct.setHostLatency(hostLatency));
      return this;
    }

    /**
     * o, seconds, default 2e-6.
     *
     * @param message the new one
     * @return this
     */
    public Builder message(double message) {
      settings.put("message", message, struct -> struct.setMessage(message));
      return this;
    }

    /**
     * SPARSE_TOPK: 0 &lt; sparsity &lt;= 1, default 0.01.
     *
     * @param sparsity the new one
     * @return this
     */
    public Builder sparsity(double sparsity) {
      settings.put("sparsity", sparsity, struct -> struct.setSparsity(sparsity));
      return this;
    }

    /**
     * POWERSGD: &gt;= 1, default 2.
     *
     * @param rank the new one
     * @return this
     */
    public Builder rank(int rank) {
      settings.put("rank", rank, struct -> struct.setRank(rank));
      return this;
    }

    /**
     * The engine can only gather, as a host with nothing but allGather.
     *
     * @param noExchange the new one
     * @return this
     */
    public Builder noExchange(boolean noExchange) {
      settings.put("noExchange", noExchange, struct -> struct.setNoExchange(noExchange ? 1 : 0));
      return this;
    }

    /**
     * POWERSGD: the elements lie in matrices of rows x columns; &gt;= 1, default 1024.
     *
     * @param rows the new one
     * @return this
     */
    public Builder rows(long rows) {
      settings.put("rows", rows, struct -> struct.setRows(rows));
      return this;
    }

    /**
     * POWERSGD: see rows; &gt;= 1, default 1024.
     *
     * @param columns the new one
     * @return this
     */
    public Builder columns(long columns) {
      settings.put("columns", columns, struct -> struct.setColumns(columns));
      return this;
    }

    /**
     * One rank's work on an element, &gt;= 0; the defaults are those of one core of an AMD EPYC (AVX-512). Into a
     * bucket.
     *
     * @param packSeconds the new one
     * @return this
     */
    public Builder packSeconds(double packSeconds) {
      settings.put("packSeconds", packSeconds, struct -> struct.setPackSeconds(packSeconds));
      return this;
    }

    /**
     * To 16 bits, and back.
     *
     * @param convertSeconds the new one
     * @return this
     */
    public Builder convertSeconds(double convertSeconds) {
      settings.put("convertSeconds", convertSeconds, struct -> struct.setConvertSeconds(convertSeconds));
      return this;
    }

    /**
     * When the largest are selected.
     *
     * @param selectSeconds the new one
     * @return this
     */
    public Builder selectSeconds(double selectSeconds) {
      settings.put("selectSeconds", selectSeconds, struct -> struct.setSelectSeconds(selectSeconds));
      return this;
    }

    /**
     * For an entry of a sparse list that is summed.
     *
     * @param entrySeconds the new one
     * @return this
     */
    public Builder entrySeconds(double entrySeconds) {
      settings.put("entrySeconds", entrySeconds, struct -> struct.setEntrySeconds(entrySeconds));
      return this;
    }

    /**
     * To a dense sum.
     *
     * @param addSeconds the new one
     * @return this
     */
    public Builder addSeconds(double addSeconds) {
      settings.put("addSeconds", addSeconds, struct -> struct.setAddSeconds(addSeconds));
      return this;
    }

    /**
     * Into another vector, by Adasum.
     *
     * @param mergeSeconds the new one
     * @return this
     */
    public Builder mergeSeconds(double mergeSeconds) {
      settings.put("mergeSeconds", mergeSeconds, struct -> struct.setMergeSeconds(mergeSeconds));
      return this;
    }

    /**
     * By one column, for PowerSGD; each further column takes a fifth of it.
     *
     * @param multiplySeconds the new one
     * @return this
     */
    public Builder multiplySeconds(double multiplySeconds) {
      settings.put("multiplySeconds", multiplySeconds, struct -> struct.setMultiplySeconds(multiplySeconds));
      return this;
    }

    /**
     * Above 0: a window has the control all-reduce of so many parameters; 0, the default: none.
     *
     * @param controlParameters the new one
     * @return this
     */
    public Builder controlParameters(long controlParameters) {
      settings.put("controlParameters", controlParameters,
          struct -> struct.setControlParameters(controlParameters));
      return this;
    }

    /**
     * 0 to 16: buckets under way at once, see {@code gradstep_reducer_options}; 0, the default: one.
     *
     * @param channels the new one
     * @return this
     */
    public Builder channels(int channels) {
      settings.put("channels", channels, struct -> struct.setChannels(channels));
      return this;
    }

    /**
     * The engine gathers few bytes directly, as MPI does; 0, the default: as Gloo does.
     *
     * @param noStages the new one
     * @return this
     */
    public Builder noStages(boolean noStages) {
      settings.put("noStages", noStages, struct -> struct.setNoStages(noStages ? 1 : 0));
      return this;
    }

    /**
     * As convertSeconds, into codes of 8 bits or 4; 0: half of that.
     *
     * @param encodeSeconds the new one
     * @return this
     */
    public Builder encodeSeconds(double encodeSeconds) {
      settings.put("encodeSeconds", encodeSeconds, struct -> struct.setEncodeSeconds(encodeSeconds));
      return this;
    }

    /**
     * Out of codes; 0: likewise.
     *
     * @param decodeSeconds the new one
     * @return this
     */
    public Builder decodeSeconds(double decodeSeconds) {
      settings.put("decodeSeconds", decodeSeconds, struct -> struct.setDecodeSeconds(decodeSeconds));
      return this;
    }
  }
}
