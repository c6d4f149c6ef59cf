// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.util.ArrayList;
import java.util.List;

/**
 * One bucket of a reducer's plan. Times are since creation, in nanoseconds.
 *
 * @param mode what was chosen
 * @param elements in the bucket
 * @param parameters in the bucket
 * @param exchanges since creation
 * @param bytesDense what one dense exchange of it sends per rank
 * @param bytesSent since creation, by this rank
 * @param packNanoseconds spent on packing
 * @param exchangeNanoseconds spent on exchanges, selection included
 * @param selectNanoseconds of sparse modes: finding what is sent
 * @param selected of sparse modes: elements that this rank has sent
 * @param nonfinite elements of the sum that became infinite or NaN; of sparse modes: NaNs dropped
 * @param algorithm of the last exchange
 * @param predictedDenseNanoseconds of AUTO: one window; 0 = it was no candidate
 * @param predictedHalfNanoseconds the same
 * @param predictedSparseGatherNanoseconds the same
 * @param predictedSparseSplitNanoseconds the same
 * @param waitNanoseconds that the host's thread waited for exchanges
 * @param predictedInt8Nanoseconds of AUTO: one window; 0 = it was no candidate
 * @param predictedPowersgdNanoseconds the same
 * @param predictedInt4Nanoseconds the same
 * @param predictedFp8Nanoseconds the same, of both forms
 * @param byHosts whether its sums are by hosts
 */
public record BucketStatistics(ReducerMode mode, long elements, long parameters, long exchanges, long bytesDense,
    long bytesSent, long packNanoseconds, long exchangeNanoseconds, long selectNanoseconds, long selected,
    long nonfinite, ExchangeAlgorithm algorithm, long predictedDenseNanoseconds, long predictedHalfNanoseconds,
    long predictedSparseGatherNanoseconds, long predictedSparseSplitNanoseconds, long waitNanoseconds,
    long predictedInt8Nanoseconds, long predictedPowersgdNanoseconds, long predictedInt4Nanoseconds,
    long predictedFp8Nanoseconds, boolean byHosts) {
  static List<BucketStatistics> of(long reducer) {
    long n = core.reducer_stats(reducer, 0, 0);
    long records = core.new_bucket_records(n);
    try {
      n = Math.min(n, core.reducer_stats(reducer, records, n));
      List<BucketStatistics> buckets = new ArrayList<>();
      for (long i = 0; i < n; i++) {
        BucketStatisticsStruct b = core.at_bucket_records(records, i);
        buckets.add(new BucketStatistics(ReducerMode.of(b.getMode()), b.getElements(), b.getParameters(),
            b.getExchanges(), b.getBytesDense(), b.getBytesSent(), b.getPackNanoseconds(), b.getExchangeNanoseconds(),
            b.getSelectNanoseconds(), b.getSelected(), b.getNonfinite(), ExchangeAlgorithm.of(b.getAlgorithm()),
            b.getPredictedDenseNanoseconds(), b.getPredictedHalfNanoseconds(),
            b.getPredictedSparseGatherNanoseconds(), b.getPredictedSparseSplitNanoseconds(), b.getWaitNanoseconds(),
            b.getPredictedInt8Nanoseconds(), b.getPredictedPowersgdNanoseconds(), b.getPredictedInt4Nanoseconds(),
            b.getPredictedFp8Nanoseconds(), b.getByHosts() != 0));
      }
      return buckets;
    } finally {
      core.delete_bucket_records(records);
    }
  }
}
