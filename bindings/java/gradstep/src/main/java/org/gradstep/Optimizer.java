// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;

/** An update rule on your own parameters, which it steps in place. */
public final class Optimizer extends Handle {
  private interface Create<O> {
    long create(long context, O options, long parameters, long n);
  }

  private Optimizer(long address) {
    super("optimizer", address, core::optimizer_destroy);
  }

  private static <O> Optimizer create(Context context, O options, List<Parameter> parameters, Create<O> rule) {
    long address = context.resource.enter();
    try {
      return new Optimizer(Parameter.lend(parameters, (data, n) -> rule.create(address, options, data, n)));
    } finally {
      context.resource.leave();
    }
  }

  /**
   * Stochastic gradient descent.
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
   * RMSProp.
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
   * AdaGrad.
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
   * Adam, AdamW or AMSGrad.
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
   * Distributed Shampoo, or SOAP.
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
   * Steps the parameters in place.
   *
   * @param params one for each parameter
   * @param grads one for each parameter; an absent one leaves its parameter alone
   */
  public void step(TensorList params, TensorList grads) {
    enter(resource, params.resource, grads.resource, null);
    try {
      core.optimizer_step(
          resource.address, params.write("params"), grads.read("grads", params.size()), params.size(), 0);
    } finally {
      leave(resource, params.resource, grads.resource, null);
    }
  }

  /**
   * Sets a hyper-parameter of all groups.
   *
   * @param name its field of the options in C, such as "learning_rate"
   * @param value a constant
   */
  public void setValue(String name, double value) {
    resource.enter();
    try {
      core.optimizer_set_value(resource.address, -1, name, value);
    } finally {
      resource.leave();
    }
  }

  /**
   * Sets a hyper-parameter of all groups.
   *
   * @param name its field of the options in C, such as "learning_rate"
   * @param schedule its value at each step
   */
  public void setSchedule(String name, Schedule schedule) {
    resource.enter();
    try {
      core.optimizer_set_schedule(resource.address, -1, name, schedule);
    } finally {
      resource.leave();
    }
  }

  /**
   * What the next step would use.
   *
   * @param name of a hyper-parameter
   * @return its value in group 0
   */
  public double getValue(String name) {
    resource.enter();
    try {
      return Double.longBitsToDouble(core.optimizer_get_value(resource.address, 0, name));
    } finally {
      resource.leave();
    }
  }

  /**
   * Steps applied so far.
   *
   * @return t
   */
  public long stepCount() {
    resource.enter();
    try {
      return core.optimizer_step_count(resource.address);
    } finally {
      resource.leave();
    }
  }

  /**
   * Copies a state tensor.
   *
   * @param index of the parameter
   * @param name of the state, such as "exp_avg"
   * @param copy takes it
   */
  public void getState(long index, String name, Tensor copy) {
    resource.enter();
    try {
      core.optimizer_get_state(resource.address, index, name, copy, 0);
    } finally {
      resource.leave();
      java.lang.ref.Reference.reachabilityFence(copy);
    }
  }

  /**
   * Writes the state, in the format of docs/saved_state.md.
   *
   * @param stream stays open
   */
  public void save(OutputStream stream) {
    resource.enter();
    try {
      core.optimizer_save(resource.address, stream);
    } finally {
      resource.leave();
    }
  }

  /**
   * Takes over what was saved.
   *
   * @param stream read to its end, and left open
   */
  public void load(InputStream stream) {
    resource.enter();
    try (LoadOptions options = new LoadOptions()) {
      core.optimizer_load(resource.address, stream, options);
    } finally {
      resource.leave();
    }
  }
}
