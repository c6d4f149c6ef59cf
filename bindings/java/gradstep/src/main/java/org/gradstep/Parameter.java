// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.util.List;

/**
 * One parameter of the model, as handles know it.
 *
 * @param name unique in the model; null is "param.&lt;index&gt;"
 * @param dtype F32, F64, F16 or BF16
 * @param device where the parameter and its gradients are
 * @param group from 0: selects hyper-parameters
 * @param mayBeUnused whether some rank may have no gradient for it in some window
 * @param part which part of a whole it is; null = it is whole
 * @param shape extents
 */
public record Parameter(
    String name, DType dtype, Device device, int group, boolean mayBeUnused, Part part, long... shape) {
  /**
   * Which part of a whole a parameter is, where ranks have parts ({@link Optimizer#attachShards}).
   *
   * @param wholeShape extents of the whole, as many as the parameter's
   * @param offset where the part begins in the whole
   */
  public record Part(long[] wholeShape, long... offset) {}

  /**
   * Checks that the part has the axes of the parameter.
   *
   * @param name unique in the model; null is "param.&lt;index&gt;"
   * @param dtype F32, F64, F16 or BF16
   * @param device where the parameter and its gradients are
   * @param group from 0: selects hyper-parameters
   * @param mayBeUnused whether some rank may have no gradient for it in some window
   * @param part which part of a whole it is; null = it is whole
   * @param shape extents
   */
  public Parameter {
    if (part != null && (axes(part.wholeShape) != shape.length || axes(part.offset) != shape.length)) {
      throw new IllegalArgumentException("parameter '" + name + "': the part has " + axes(part.wholeShape) + " and "
          + axes(part.offset) + " axes, expected " + shape.length + ", those of the shape");
    }
  }

  private static int axes(long[] extents) {
    return extents == null ? 0 : extents.length;
  }

  /**
   * A parameter that is whole.
   *
   * @param name unique in the model; null is "param.&lt;index&gt;"
   * @param dtype F32, F64, F16 or BF16
   * @param device where the parameter and its gradients are
   * @param group from 0: selects hyper-parameters
   * @param mayBeUnused whether some rank may have no gradient for it in some window
   * @param shape extents
   */
  public Parameter(String name, DType dtype, Device device, int group, boolean mayBeUnused, long... shape) {
    this(name, dtype, device, group, mayBeUnused, null, shape);
  }

  /**
   * A parameter of group 0 in the machine's own memory.
   *
   * @param name unique in the model; null is "param.&lt;index&gt;"
   * @param dtype F32, F64, F16 or BF16
   * @param shape extents
   * @return the parameter
   */
  public static Parameter of(String name, DType dtype, long... shape) {
    return new Parameter(name, dtype, Device.CPU, 0, false, null, shape);
  }

  /**
   * This parameter on another device.
   *
   * @param device where it and its gradients are
   * @return the parameter
   */
  public Parameter on(Device device) {
    return new Parameter(name, dtype, device, group, mayBeUnused, part, shape);
  }

  /**
   * This parameter in another group.
   *
   * @param group from 0: selects hyper-parameters
   * @return the parameter
   */
  public Parameter inGroup(int group) {
    return new Parameter(name, dtype, device, group, mayBeUnused, part, shape);
  }

  /**
   * This parameter, for which some rank may have no gradient in some window.
   *
   * @return the parameter
   */
  public Parameter unusedAtTimes() {
    return new Parameter(name, dtype, device, group, true, part, shape);
  }

  /**
   * This parameter as a part of a whole.
   *
   * @param wholeShape extents of the whole
   * @param offset where the part begins in the whole
   * @return the parameter
   */
  public Parameter partOf(long[] wholeShape, long... offset) {
    return new Parameter(name, dtype, device, group, mayBeUnused, new Part(wholeShape, offset), shape);
  }

  interface Use {
    long with(long parameters, long n);
  }

  /** The C array, for the time of a call. */
  static long lend(List<Parameter> parameters, Use use) {
    long list = core.parameter_list_create();
    try {
      int i = 0;
      for (Parameter each : Handle.present(parameters, "parameters")) {
        if (each == null) {
          throw new IllegalArgumentException("parameters[" + i + "]: is null");
        }
        core.parameter_list_push(list, each.name, each.dtype.code, each.dtype.bits, each.device.type().code,
            each.device.id(), each.shape.length, each.shape, each.group,
            each.mayBeUnused ? core.PARAMETER_MAY_BE_UNUSED : 0);
        if (each.part != null) {
          core.parameter_list_set_part(list, i, each.part.wholeShape, each.part.offset);
        }
        i++;
      }
      return use.with(core.parameter_list_data(list), parameters.size());
    } finally {
      core.parameter_list_destroy(list);
    }
  }
}
