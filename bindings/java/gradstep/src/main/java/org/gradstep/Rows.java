// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.util.List;

/**
 * Sparse rows of one parameter: row indices[j] of its first axis += values[j].
 *
 * @param parameter index in the model
 * @param indices I32 or I64 of shape (r)
 * @param values of shape (r, the parameter's other extents)
 */
public record Rows(long parameter, Tensor indices, Tensor values) {
  static Rows[] toArray(List<Rows> rows) {
    Rows[] array = rows.toArray(new Rows[0]);
    for (int i = 0; i < array.length; i++) {
      if (array[i] == null || array[i].indices == null || array[i].values == null) {
        throw new IllegalArgumentException("rows[" + i + "]: is null, or has no indices or no values");
      }
      Tensor.alive(array[i].indices, "rows[" + i + "].indices");
      Tensor.alive(array[i].values, "rows[" + i + "].values");
    }
    return array;
  }
}
