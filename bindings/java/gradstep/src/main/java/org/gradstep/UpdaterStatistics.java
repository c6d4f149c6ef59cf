// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

/**
 * What an updater has done since creation; times are of the host's clock.
 *
 * @param droppedWindows windows of this rank that recover has dropped unapplied
 * @param pushes micro-batches
 * @param windows finished
 * @param steps applied
 * @param skippedSteps skipped
 * @param accumulateNanoseconds spent on accumulation
 * @param reduceNanoseconds spent on exchanges
 * @param stepNanoseconds spent on steps
 */
public record UpdaterStatistics(int droppedWindows, long pushes, long windows, long steps, long skippedSteps,
    long accumulateNanoseconds, long reduceNanoseconds, long stepNanoseconds) {}
