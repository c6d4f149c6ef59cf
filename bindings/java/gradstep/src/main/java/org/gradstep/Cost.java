// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.util.ArrayList;
import java.util.List;

/**
 * One way to exchange all gradients once, and its price on a network that need not be there.
 *
 * @param mode a constant of {@link Constants} whose name begins with REDUCER_
 * @param algorithm a constant whose name begins with COST_
 * @param bytes that a rank sends
 * @param seconds in all
 * @param networkSeconds of these, messages and bytes
 * @param calls of the communicator
 * @param rounds in which every rank of a group sends to every other one
 */
public record Cost(int mode, int algorithm, long bytes, double seconds, double networkSeconds, long calls,
    long rounds) {
  /**
   * What every mode would cost.
   *
   * @param options elements, ranks, bandwidth and latency at least
   * @return one for each way
   */
  public static List<Cost> predict(CostOptions options) {
    long n = core.predict_costs(options, 0, 0);
    long records = core.new_cost_records(n);
    try {
      n = Math.min(n, core.predict_costs(options, records, n));
      List<Cost> costs = new ArrayList<>();
      for (long i = 0; i < n; i++) {
        CostStruct c = core.at_cost_records(records, i);
        costs.add(new Cost(c.getMode(), c.getAlgorithm(), c.getBytes(), c.getSeconds(), c.getNetworkSeconds(),
            c.getCalls(), c.getRounds()));
      }
      return costs;
    } finally {
      core.delete_cost_records(records);
    }
  }

  /**
   * Measures what this machine's work on an element takes; some milliseconds.
   *
   * @param options whose seconds are set
   * @param context whose threads work
   */
  public static void measure(CostOptions options, Context context) {
    Handle.present(context, "context").call(address -> core.cost_options_measure(options, address));
  }
}
