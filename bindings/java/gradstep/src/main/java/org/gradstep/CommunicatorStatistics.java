// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

/**
 * What a communicator has done since creation; bytes are those that this rank sent.
 *
 * @param allReduces calls
 * @param allGathers calls, votes included
 * @param reduceScatters calls
 * @param broadcasts calls
 * @param sends calls
 * @param receives calls
 * @param barriers calls
 * @param bytesSent in all
 * @param nanoseconds inside calls
 * @param exchanges of a reducer: each rank sent other bytes to every other one
 * @param rounds in each of which all ranks, or all of a host, sent to each other or met
 */
public record CommunicatorStatistics(long allReduces, long allGathers, long reduceScatters, long broadcasts, long sends,
    long receives, long barriers, long bytesSent, long nanoseconds, long exchanges, long rounds) {
  interface Fill {
    long call(CommunicatorStatisticsStruct statistics);
  }

  static CommunicatorStatistics read(Fill fill) {
    CommunicatorStatisticsStruct c = new CommunicatorStatisticsStruct();
    fill.call(c);
    return new CommunicatorStatistics(c.getAllReduces(), c.getAllGathers(), c.getReduceScatters(), c.getBroadcasts(),
        c.getSends(), c.getReceives(), c.getBarriers(), c.getBytesSent(), c.getNanoseconds(), c.getExchanges(),
        c.getRounds());
  }
}
