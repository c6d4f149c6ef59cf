// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.lang.ref.Reference;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongUnaryOperator;

/** An update rule on your own parameters, which it steps in place. */
public final class Optimizer extends StatefulHandle {
  private static final Functions FUNCTIONS =
      new Functions(core::optimizer_save, core::optimizer_save_file, core::optimizer_load, core::optimizer_load_file);

  /** The tensors that hyper-parameters are read from, by their names: one for each group, or null. */
  private final Map<String, Tensor[]> hyperParameters = new HashMap<>();

  Optimizer(long address) {
    super("optimizer", address, core::optimizer_destroy, FUNCTIONS);
    resource.borrowed = hyperParameters;
  }

  interface WithOptions {
    long with(long options);
  }

  /** The C options of that many names, for the time of a call. */
  static long lend(Map<String, ?> options, WithOptions use) {
    long list = core.new_option_list();
    try {
      push(list, options);
      return use.with(list);
    } finally {
      core.delete_option_list(list);
    }
  }

  private static void push(long list, Map<String, ?> options) {
    present(options, "options").forEach((name, value) -> {
      if (value instanceof Boolean flag) {
        core.push_option(list, name, flag ? 1 : 0, null);
      } else if (value instanceof Long whole && (whole > 1L << 53 || whole < -(1L << 53))) {
        core.push_option(list, name, 0, whole.toString());
      } else if (value instanceof Number number) {
        core.push_option(list, name, number.doubleValue(), null);
      } else if (value instanceof String text) {
        core.push_option(list, name, 0, text);
      } else {
        throw new IllegalArgumentException(
            "options: " + name + " is " + value + ", expected a number, a boolean or a string");
      }
    });
  }

  /**
   * By the options of a rule, such as {@link AdamOptions}, or {@link ShampooOptions}.
   *
   * @param context whose threads work
   * @param options name the rule
   * @param parameters the model
   * @return the optimizer, the caller's to close
   */
  public static Optimizer create(Context context, OptimizerOptions options, List<Parameter> parameters) {
    return new Optimizer(present(context, "context").call(address -> Parameter.lend(parameters,
        (data, n) -> present(options, "options").create(address, data, n))));
  }

  /**
   * The bytes of state that {@link #create} would allocate.
   *
   * @param options name the rule
   * @param parameters the model
   * @return bytes; none is allocated
   */
  public static long stateBytes(OptimizerOptions options, List<Parameter> parameters) {
    return Parameter.lend(parameters, (data, n) -> present(options, "options").stateBytes(data, n));
  }

  /**
   * By the name of a rule, such as {@code "lion"}, for configurations.
   * {@link RuleDescription#describeRules} lists the rules and their options.
   *
   * @param context whose threads work
   * @param rule the name
   * @param options by the names of the C library's options: numbers, booleans for flags, strings for choices
   * @param parameters the model
   * @return the optimizer, the caller's to close
   */
  public static Optimizer byName(
      Context context, String rule, Map<String, ?> options, List<Parameter> parameters) {
    return new Optimizer(present(context, "context").call(address -> lend(options,
        list -> Parameter.lend(parameters, (data, n) -> core.create_optimizer(address, rule, list, data, n)))));
  }

  /**
   * The rule of a parameter group.
   *
   * @param rule the name
   * @param options as of {@link #byName}
   */
  public record GroupRule(String rule, Map<String, ?> options) {
    /**
     * A rule and its options, such as {@link LionOptions}.
     *
     * @param options of the rule
     */
    public GroupRule(RuleOptions options) {
      this(options.rule(), options.options());
    }
  }

  /**
   * One optimizer of several rules: one norm, one clip, one step count, one saved state.
   *
   * @param context whose threads work
   * @param groups by parameter group
   * @param parameters the model
   * @return the optimizer, the caller's to close
   */
  public static Optimizer byGroup(Context context, List<GroupRule> groups, List<Parameter> parameters) {
    long list = core.new_option_list();
    try {
      for (GroupRule group : present(groups, "groups")) {
        push(list, group.options());
        core.end_group(list, group.rule());
      }
      return new Optimizer(present(context, "context").call(
          address -> Parameter.lend(parameters, (data, n) -> core.create_optimizer_by_group(address, list, data, n))));
    } finally {
      core.delete_option_list(list);
    }
  }

  /**
   * The bytes of state that {@link #byName} would allocate.
   *
   * @param rule the name
   * @param options as of {@link #byName}
   * @param parameters the model
   * @return bytes; none is allocated
   */
  public static long stateBytes(String rule, Map<String, ?> options, List<Parameter> parameters) {
    return lend(
        options, list -> Parameter.lend(parameters, (data, n) -> core.rule_state_bytes(rule, list, data, n)));
  }

  /**
   * Steps the parameters in place.
   *
   * @param params one for each parameter
   * @param grads one for each parameter; an absent one leaves its parameter alone
   */
  public void step(TensorList params, TensorList grads) {
    step(params, grads, 0);
  }

  /**
   * Steps the parameters in place.
   *
   * @param params one for each parameter
   * @param grads one for each parameter; an absent one leaves its parameter alone
   * @param stream of a device; 0 on the CPU
   */
  public void step(TensorList params, TensorList grads, long stream) {
    enter(resource, resourceOf(params, "params"), resourceOf(grads, "grads"), null);
    try {
      core.optimizer_step(
          resource.address, params.write("params"), grads.read("grads", params.size()), params.size(), stream);
    } finally {
      leave(resource, params.resource, grads.resource, null);
    }
  }

  /**
   * Steps the parameters in place, with options.
   *
   * @param params one for each parameter
   * @param grads one for each parameter; an absent one leaves its parameter alone
   * @param options read during the call
   * @return what was done
   */
  public StepResult step(TensorList params, TensorList grads, StepOptions options) {
    enter(resource, resourceOf(params, "params"), resourceOf(grads, "grads"), null);
    try {
      return present(options, "options").step(
          resource.address, params.write("params"), grads.read("grads", params.size()), 0, params.size());
    } finally {
      leave(resource, params.resource, grads.resource, null);
    }
  }

  /**
   * Writes what a step would add to the parameters, which stay; state and step count change as in a step.
   *
   * @param params one for each parameter
   * @param grads one for each parameter; where one is absent the update is zero
   * @param updates one for each parameter; may be grads
   * @param options read during the call
   * @return what was done
   */
  public StepResult update(TensorList params, TensorList grads, TensorList updates, StepOptions options) {
    enter(resource, resourceOf(params, "params"), resourceOf(grads, "grads"), resourceOf(updates, "updates"));
    try {
      return present(options, "options").step(resource.address, params.read("params"),
          grads.read("grads", params.size()),
          updates.write("updates", params.size()), params.size());
    } finally {
      leave(resource, params.resource, grads.resource, updates.resource);
    }
  }

  /**
   * Sets a hyper-parameter of all groups.
   *
   * @param name its field of the options in C, such as "learning_rate"
   * @param value a constant
   */
  public void setValue(String name, double value) {
    setValue(-1, name, value);
  }

  /**
   * Sets a hyper-parameter of one group.
   *
   * @param group from 0; -1 = all
   * @param name its field of the options in C, such as "learning_rate"
   * @param value a constant
   */
  public void setValue(int group, String name, double value) {
    setHyperParameter(group, name, null, address -> core.optimizer_set_value(address, group, name, value));
  }

  /**
   * Sets a hyper-parameter of all groups.
   *
   * @param name its field of the options in C, such as "learning_rate"
   * @param schedule its value at each step
   */
  public void setSchedule(String name, Schedule schedule) {
    setSchedule(-1, name, schedule);
  }

  /**
   * Sets a hyper-parameter of one group.
   *
   * @param group from 0; -1 = all
   * @param name its field of the options in C, such as "learning_rate"
   * @param schedule its value at each step
   */
  public void setSchedule(int group, String name, Schedule schedule) {
    setHyperParameter(group, name, null, address -> core.optimizer_set_schedule(address, group, name, schedule));
  }

  /**
   * Makes a hyper-parameter what a number in memory is when a step runs. The optimizer keeps the tensor until another
   * one, a value or a schedule has taken its place in every group that reads it.
   *
   * @param group from 0; -1 = all
   * @param name its field of the options in C, such as "learning_rate"
   * @param value one F64 where the parameters are
   */
  public void setTensor(int group, String name, Tensor value) {
    setHyperParameter(group, name, value, address -> core.optimizer_set_tensor(address, group, name, value));
  }

  /** Makes the call, and keeps what is read from then on; where it fails, what was kept before. */
  private void setHyperParameter(int group, String name, Tensor value, LongUnaryOperator set) {
    synchronized (hyperParameters) {
      call(address -> {
        Tensor[] found = hyperParameters.get(name);
        if (found == null && value == null) {
          return set.applyAsLong(address);
        }
        Tensor[] kept = found != null ? found : new Tensor[(int) core.optimizer_group_count(address)];
        set.applyAsLong(address);
        Arrays.fill(kept, group == -1 ? 0 : group, group == -1 ? kept.length : group + 1, value);
        hyperParameters.put(name, kept);
        return 0;
      });
    }
    Reference.reachabilityFence(value);
  }

  /**
   * What the next step would use.
   *
   * @param name of a hyper-parameter
   * @return its value in group 0
   */
  public double getValue(String name) {
    return getValue(0, name);
  }

  /**
   * What the next step would use.
   *
   * @param group from 0
   * @param name of a hyper-parameter
   * @return its value
   */
  public double getValue(int group, String name) {
    return Double.longBitsToDouble(call(address -> core.optimizer_get_value(address, group, name)));
  }

  /**
   * How many groups of hyper-parameters there are.
   *
   * @return one more than the largest group of a parameter
   */
  public int groupCount() {
    return (int) call(core::optimizer_group_count);
  }

  /**
   * Appends parameters, whose state starts at zero.
   *
   * @param parameters with names that are not taken
   */
  public void addParameters(List<Parameter> parameters) {
    synchronized (hyperParameters) {
      call(address -> {
        Parameter.lend(parameters, (data, n) -> core.optimizer_add_parameters(address, data, n));
        int groups = parameters.stream().mapToInt(Parameter::group).max().orElse(-1) + 1;
        hyperParameters.replaceAll((name, kept) -> {
          Tensor[] more = Arrays.copyOf(kept, Math.max(kept.length, groups));
          Arrays.fill(more, kept.length, more.length, kept[0]); // new groups read what group 0 reads
          return more;
        });
        return 0;
      });
    }
  }

  /**
   * Steps applied so far.
   *
   * @return t
   */
  public long stepCount() {
    return call(core::optimizer_step_count);
  }

  /**
   * Sets t.
   *
   * @param count 0 or more
   */
  public void setStepCount(long count) {
    call(address -> core.optimizer_set_step_count(address, count));
  }

  /**
   * The state tensors of the rule.
   *
   * @return their names, or patterns of names
   */
  public List<String> stateNames() {
    return ask(address -> {
      String names = Text.read(bytes -> core.optimizer_state_names(address, bytes));
      return names.isEmpty() ? List.of() : List.of(names.split(","));
    });
  }

  /**
   * A state tensor itself. The host may write to it between steps. While it is in use {@link #shard} is refused.
   *
   * @param index of the parameter
   * @param name of the state, such as "exp_avg"
   * @return a view, the caller's to close
   */
  public TensorList state(int index, String name) {
    return ask(address -> TensorList.views(resource, 1,
        (handle, tensors, n) -> core.optimizer_state(handle, index, name, tensors)));
  }

  /**
   * Copies a state tensor. Collective while the state is sharded.
   *
   * @param index of the parameter
   * @param name of the state, such as "exp_avg"
   * @param copy takes it; of the state's shape, in the machine's own memory
   */
  public void getState(int index, String name, Tensor copy) {
    getState(index, name, copy, 0);
  }

  /**
   * Copies a state tensor of parameters on a device. Collective while the state is sharded.
   *
   * @param index of the parameter
   * @param name of the state, such as "exp_avg"
   * @param copy takes it; of the state's shape, in the machine's own memory
   * @param stream of a device; 0 on the CPU
   */
  public void getState(int index, String name, Tensor copy, long stream) {
    Tensor.writable(copy, "copy");
    call(address -> core.optimizer_get_state(address, index, name, copy, stream));
    Reference.reachabilityFence(copy);
  }

  /**
   * Copies the averages of the weights that "average_decay" and "average_equal" keep, or the rules asgd and
   * schedule_free. Collective while the state is sharded.
   *
   * @param copies take them; one for each parameter, of its shape; an absent one is not wanted. For schedule_free they
   *     hold the parameters when the call begins.
   */
  public void average(TensorList copies) {
    enter(resource, resourceOf(copies, "copies"), null, null);
    try {
      core.optimizer_average(resource.address, copies.write("copies"), copies.size(), 0);
    } finally {
      leave(resource, copies.resource, null, null);
    }
  }

  /**
   * Sets a state tensor. Collective while the state is sharded.
   *
   * @param index of the parameter
   * @param name of the state, such as "exp_avg"
   * @param value of the state's shape, in the machine's own memory
   */
  public void setState(int index, String name, Tensor value) {
    setState(index, name, value, 0);
  }

  /**
   * Sets a state tensor of parameters on a device. Collective while the state is sharded.
   *
   * @param index of the parameter
   * @param name of the state, such as "exp_avg"
   * @param value of the state's shape, in the machine's own memory
   * @param stream of a device; 0 on the CPU
   */
  public void setState(int index, String name, Tensor value, long stream) {
    call(address -> core.optimizer_set_state(address, index, name, value, stream));
    Reference.reachabilityFence(value);
  }

  /**
   * Takes over state, step count and skip counter of another optimizer of the same rule and model.
   *
   * @param source may be this one
   */
  public void copyState(Optimizer source) {
    enter(resource, source.resource, null, null);
    try {
      core.optimizer_copy_state(resource.address, source.resource.address);
    } finally {
      leave(resource, source.resource, null, null);
    }
  }

  /**
   * As {@link #shard(Reducer, ShardingOptions)}, with the default options.
   *
   * @param reducer of the same parameters
   */
  public void shard(Reducer reducer) {
    shard(reducer, null);
  }

  /**
   * Deals the state out to the ranks of a reducer, which from then on brings each of them its share of the gradients. An
   * updater of both makes the steps. Collective.
   *
   * @param reducer of the same parameters
   * @param options null = defaults
   */
  public void shard(Reducer reducer, ShardingOptions options) {
    long address = resource.enterAlone();
    try {
      present(reducer, "reducer").call(reducers -> core.optimizer_attach_reducer(address, reducers, ShardingOptions.struct(options)));
    } finally {
      resource.leaveAlone();
    }
  }

  /**
   * The old name of {@link #shard(Reducer, ShardingOptions)}.
   *
   * @param reducer of the same parameters
   * @param options null = defaults
   * @deprecated use shard
   */
  @Deprecated
  public void shardWith(Reducer reducer, ShardingOptions options) {
    shard(reducer, options);
  }

  /** Gathers the state on every rank again. Collective while it is sharded. */
  public void unshard() {
    shard((Communicator) null, null);
  }

  /**
   * As {@link #shard(Communicator, ShardingOptions)}, with the default options.
   *
   * @param comm may be shared, or closed afterwards
   */
  public void shard(Communicator comm) {
    shard(present(comm, "comm"), null);
  }

  /**
   * Deals the state out to the ranks of a communicator. Collective; from then on steps are, too.
   *
   * @param comm may be shared, or closed afterwards; a null, with a cast, is deprecated: use
   *     {@link #unshard}
   * @param options null = defaults
   */
  public void shard(Communicator comm, ShardingOptions options) {
    long address = resource.enterAlone();
    try {
      if (comm == null) {
        core.optimizer_attach_comm(address, 0, ShardingOptions.struct(options));
      } else {
        comm.call(comms -> core.optimizer_attach_comm(address, comms, ShardingOptions.struct(options)));
      }
    } finally {
      resource.leaveAlone();
    }
  }

  /**
   * The ranks of a communicator have parts of the parameters ({@link Parameter#partOf}), and each steps its own; with
   * null no more. Collective; from then on steps are, too.
   *
   * @param comm may be shared, or closed afterwards; null = parts are stepped no more
   */
  public void attachShards(Communicator comm) {
    long address = resource.enterAlone();
    try {
      if (comm == null) {
        core.optimizer_attach_shards(address, 0);
      } else {
        comm.call(comms -> core.optimizer_attach_shards(address, comms));
      }
    } finally {
      resource.leaveAlone();
    }
  }

  /**
   * Numbers about the optimizer and, of a Shampoo, its roots.
   *
   * @return all of them
   */
  public List<Metric> metrics() {
    return ask(Metric::of);
  }

  /**
   * What the optimizer holds now, on this rank.
   *
   * @return bytes
   */
  public OptimizerMemory memory() {
    return ask(address -> {
      OptimizerMemoryStruct memory = new OptimizerMemoryStruct();
      core.optimizer_memory(address, memory);
      return new OptimizerMemory(memory.getStateBytes(), memory.getOtherBytes());
    });
  }

  /**
   * Whether no step is under way, on a device.
   *
   * @return true on the CPU
   */
  public boolean poll() {
    return call(core::optimizer_poll) != 0;
  }
}
