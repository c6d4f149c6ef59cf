// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

/**
 * Bytes that an optimizer holds on this rank.
 *
 * @param stateBytes of state tensors
 * @param otherBytes of everything else
 */
public record OptimizerMemory(long stateBytes, long otherBytes) {}
