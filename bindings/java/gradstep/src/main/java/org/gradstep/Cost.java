// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.util.ArrayList;
import java.util.List;

/**
 * One way to exchange all gradients once, and its price on a network that need not be there.
 *
 * @param mode of the reducer
 * @param algorithm of the exchange
 * @param bytes that a rank sends
 * @param seconds in all
 * @param networkSeconds of these, messages and bytes
 * @param calls of the communicator
 * @param rounds in which every rank of a group sends to every other one
 */
public record Cost(ReducerMode mode, CostAlgorithm algorithm, long bytes, double seconds, double networkSeconds,
    long calls, long rounds) {
  /**
   * What every mode would cost.
   *
   * @param options elements, ranks, bandwidth and latency at least
   * @return one for each way
   */
  public static List<Cost> predict(CostOptions options) {
    CostOptionsStruct struct = CostOptions.struct(Handle.present(options, "options"));
    long n = core.predict_costs(struct, 0, 0);
    long records = core.new_cost_records(n);
    try {
      n = Math.min(n, core.predict_costs(struct, records, n));
      List<Cost> costs = new ArrayList<>();
      for (long i = 0; i < n; i++) {
        CostStruct c = core.at_cost_records(records, i);
        costs.add(new Cost(ReducerMode.of(c.getMode()), CostAlgorithm.of(c.getAlgorithm()), c.getBytes(),
            c.getSeconds(), c.getNetworkSeconds(), c.getCalls(), c.getRounds()));
      }
      return costs;
    } finally {
      core.delete_cost_records(records);
    }
  }

  /**
   * Measures what this machine's work on an element takes; some milliseconds.
   *
   * @param context whose threads work
   * @return options with the seconds of each kind of work
   */
  public static CostOptions.Builder measure(Context context) {
    CostOptionsStruct struct = new CostOptionsStruct();
    Handle.present(context, "context").call(address -> core.cost_options_measure(struct, address));
    return CostOptions.builder()
        .packSeconds(struct.getPackSeconds())
        .convertSeconds(struct.getConvertSeconds())
        .selectSeconds(struct.getSelectSeconds())
        .entrySeconds(struct.getEntrySeconds())
        .addSeconds(struct.getAddSeconds())
        .mergeSeconds(struct.getMergeSeconds())
        .multiplySeconds(struct.getMultiplySeconds())
        .encodeSeconds(struct.getEncodeSeconds())
        .decodeSeconds(struct.getDecodeSeconds());
  }
}
