// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

import java.util.List;
import java.util.function.LongConsumer;

/** What makes an {@link Optimizer} of a struct of options. */
abstract class StructRules extends StatefulHandle {
  private interface Create<O> {
    long create(long context, O options, long parameters, long n);
  }

  private interface Measure<O> {
    long measure(O options, long parameters, long n);
  }

  StructRules(String name, long address, LongConsumer destroy, Functions functions) {
    super(name, address, destroy, functions);
  }

  private static <O> Optimizer create(Context context, O options, List<Parameter> parameters, Create<O> rule) {
    return new Optimizer(present(context, "context").call(
        address -> Parameter.lend(parameters, (data, n) -> rule.create(address, options, data, n))));
  }

  private static <O> long measure(O options, List<Parameter> parameters, Measure<O> rule) {
    return Parameter.lend(parameters, (data, n) -> rule.measure(options, data, n));
  }

  /**
   * By {@link SgdOptions}.
   *
   * @param context whose threads work
   * @param options read during the call
   * @param parameters the model
   * @return the optimizer, the caller's to close
   */
  public static Optimizer sgd(Context context, SgdOptions options, List<Parameter> parameters) {
    return create(context, options, parameters, core::optimizer_create_sgd);
  }

  /**
   * The bytes of state that {@link #sgd} would allocate.
   *
   * @param options read during the call
   * @param parameters the model
   * @return bytes; none is allocated
   */
  public static long stateBytes(SgdOptions options, List<Parameter> parameters) {
    return measure(options, parameters, core::sgd_state_bytes);
  }

  /**
   * By {@link RmsPropOptions}.
   *
   * @param context whose threads work
   * @param options read during the call
   * @param parameters the model
   * @return the optimizer, the caller's to close
   */
  public static Optimizer rmsProp(Context context, RmsPropOptions options, List<Parameter> parameters) {
    return create(context, options, parameters, core::optimizer_create_rmsprop);
  }

  /**
   * The bytes of state that {@link #rmsProp} would allocate.
   *
   * @param options read during the call
   * @param parameters the model
   * @return bytes; none is allocated
   */
  public static long stateBytes(RmsPropOptions options, List<Parameter> parameters) {
    return measure(options, parameters, core::rmsprop_state_bytes);
  }

  /**
   * By {@link AdaGradOptions}.
   *
   * @param context whose threads work
   * @param options read during the call
   * @param parameters the model
   * @return the optimizer, the caller's to close
   */
  public static Optimizer adaGrad(Context context, AdaGradOptions options, List<Parameter> parameters) {
    return create(context, options, parameters, core::optimizer_create_adagrad);
  }

  /**
   * The bytes of state that {@link #adaGrad} would allocate.
   *
   * @param options read during the call
   * @param parameters the model
   * @return bytes; none is allocated
   */
  public static long stateBytes(AdaGradOptions options, List<Parameter> parameters) {
    return measure(options, parameters, core::adagrad_state_bytes);
  }

  /**
   * By {@link AdamOptions}.
   *
   * @param context whose threads work
   * @param options read during the call
   * @param parameters the model
   * @return the optimizer, the caller's to close
   */
  public static Optimizer adam(Context context, AdamOptions options, List<Parameter> parameters) {
    return create(context, options, parameters, core::optimizer_create_adam);
  }

  /**
   * The bytes of state that {@link #adam} would allocate.
   *
   * @param options read during the call
   * @param parameters the model
   * @return bytes; none is allocated
   */
  public static long stateBytes(AdamOptions options, List<Parameter> parameters) {
    return measure(options, parameters, core::adam_state_bytes);
  }

  /**
   * By {@link ShampooOptions}.
   *
   * @param context whose threads work
   * @param options read during the call
   * @param parameters the model
   * @return the optimizer, the caller's to close
   */
  public static Optimizer shampoo(Context context, ShampooOptions options, List<Parameter> parameters) {
    return create(context, options, parameters, core::optimizer_create_shampoo);
  }

  /**
   * The bytes of state that {@link #shampoo} would allocate.
   *
   * @param options read during the call
   * @param parameters the model
   * @return bytes; none is allocated
   */
  public static long stateBytes(ShampooOptions options, List<Parameter> parameters) {
    return measure(options, parameters, core::shampoo_state_bytes);
  }
}
