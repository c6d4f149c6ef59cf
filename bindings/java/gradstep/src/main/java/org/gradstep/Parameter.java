// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.util.List;

/**
 * One parameter of the model, as handles are told of it.
 *
 * @param name unique in the model; null is "param.&lt;index&gt;"
 * @param dtype F32, F64, F16 or BF16
 * @param group from 0: selects hyper-parameters
 * @param mayBeUnused whether some rank may have no gradient for it in some window
 * @param shape extents
 */
public record Parameter(String name, DType dtype, int group, boolean mayBeUnused, long... shape) {
  /**
   * A parameter of group 0.
   *
   * @param name unique in the model
   * @param dtype F32, F64, F16 or BF16
   * @param shape extents
   * @return the parameter
   */
  public static Parameter of(String name, DType dtype, long... shape) {
    return new Parameter(name, dtype, 0, false, shape);
  }

  interface Use {
    long with(long parameters, long n);
  }

  /** The C array, for the time of a call. */
  static long lend(List<Parameter> parameters, Use use) {
    long list = core.parameter_list_create();
    try {
      for (Parameter each : parameters) {
        core.parameter_list_push(list, each.name, each.dtype.code, each.dtype.bits, core.DEVICE_CPU, 0,
            each.shape.length, each.shape, each.group, each.mayBeUnused ? core.PARAMETER_MAY_BE_UNUSED : 0);
      }
      return use.with(core.parameter_list_data(list), parameters.size());
    } finally {
      core.parameter_list_destroy(list);
    }
  }
}
