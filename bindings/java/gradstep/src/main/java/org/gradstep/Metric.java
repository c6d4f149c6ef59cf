// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.util.ArrayList;
import java.util.List;

/**
 * One number about an optimizer; -1 where an index does not apply.
 *
 * @param name what it is
 * @param parameter index in the model
 * @param block of a Shampoo
 * @param axis of a block
 * @param value the number
 */
public record Metric(String name, long parameter, long block, long axis, double value) {
  static List<Metric> of(long optimizer) {
    long n = core.optimizer_metrics(optimizer, 0, 0);
    long records = core.new_metric_records(n);
    try {
      n = Math.min(n, core.optimizer_metrics(optimizer, records, n));
      List<Metric> metrics = new ArrayList<>();
      for (long i = 0; i < n; i++) {
        MetricStruct m = core.at_metric_records(records, i);
        metrics.add(new Metric(m.getName(), m.getParameter(), m.getBlock(), m.getAxis(), m.getValue()));
      }
      return metrics;
    } finally {
      core.delete_metric_records(records);
    }
  }
}
