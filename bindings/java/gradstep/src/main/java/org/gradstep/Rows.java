// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

/**
 * Sparse rows of one parameter: row indices[j] of its first axis += values[j].
 *
 * @param parameter index in the model
 * @param indices I32 or I64 of shape (r)
 * @param values of shape (r, the parameter's other extents)
 */
public record Rows(long parameter, Tensor indices, Tensor values) {}
