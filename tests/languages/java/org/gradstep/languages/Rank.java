// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep.languages;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.gradstep.Accumulator;
import org.gradstep.AccumulatorOptions;
import org.gradstep.Communicator;
import org.gradstep.Context;
import org.gradstep.DType;
import org.gradstep.GradstepException;
import org.gradstep.Optimizer;
import org.gradstep.Parameter;
import org.gradstep.Reducer;
import org.gradstep.ReducerOptions;
import org.gradstep.Rows;
import org.gradstep.Schedule;
import org.gradstep.StatefulHandle;
import org.gradstep.StepOptions;
import org.gradstep.StepResult;
import org.gradstep.Tensor;
import org.gradstep.TensorList;
import org.gradstep.Updater;
import org.gradstep.UpdaterOptions;

/** One rank's run of a script: its handles, its numbers, and their hash. */
final class Rank {
  private static final Map<String, Integer> STATUSES =
      Map.of("INVALID_ARGUMENT", -1, "INVALID_STATE", -2, "UNSUPPORTED", -3);

  private final Path folder;
  private final int index;
  private final Communicator comm;
  private final Context context;
  private final List<Parameter> parameters = new ArrayList<>();
  private final List<DType> gradientTypes = new ArrayList<>();
  private Tensor[] values = {};
  private Optimizer optimizer;
  private Accumulator accumulator;
  private Reducer reducer;
  private Updater updater;
  private long generated;
  private byte[] saved = {};
  private long hash = Data.HASH_START;

  Rank(Path folder, int index, Communicator comm, Context context) {
    this.folder = folder;
    this.index = index;
    this.comm = comm;
    this.context = context;
  }

  long hash() {
    return hash;
  }

  void addParameter(Line line) {
    DType dtype = Data.dtype(line.keys().getOrDefault("dtype", "f32"));
    gradientTypes.add(line.has("gradient") ? Data.dtype(line.text("gradient")) : dtype);
    parameters.add(Parameter.of(null, dtype, line.integers("shape")).inGroup(line.integer("group", 0)));
    values = new Tensor[parameters.size()];
    for (int i = 0; i < values.length; i++) {
      values[i] = Data.generate(1, 0, 0, i, parameters.get(i).dtype(), parameters.get(i).shape());
    }
  }

  /** Makes one call, which must end as the line says. */
  void run(Line line) throws Exception {
    int status = 0;
    String found = "OK";
    RuntimeException failure = null;
    try {
      make(line);
    } catch (IllegalArgumentException error) {
      failure = error;
      found = "INVALID_ARGUMENT";
    } catch (IllegalStateException error) {
      failure = error;
      found = "INVALID_STATE";
    } catch (UnsupportedOperationException error) {
      failure = error;
      found = "UNSUPPORTED";
    } catch (GradstepException error) {
      failure = error;
      found = error.statusName().replace("GRADSTEP_ERR_", "");
      status = -error.status().ordinal(); // the codes of C count down from OK
    }
    String expected = line.keys().getOrDefault("fails", "OK");
    if (!found.equals(expected)) {
      throw new IllegalStateException("expected " + expected + ", found " + found, failure);
    }
    feed(STATUSES.getOrDefault(found, status), 4);
  }

  private void make(Line line) throws Exception {
    switch (line.call()) {
      case "sgd", "rmsprop", "adagrad", "adam", "shampoo" -> optimizer =
          Rules.create(context, line.call(), line.fields(), parameters);
      case "optimizer" -> optimizer =
          Optimizer.byName(context, line.text("rule"), Rules.options(line.fields("rule")), parameters);
      case "accumulator" -> accumulator = makeAccumulator(line);
      case "reducer" -> {
        ReducerOptions options = Fields.set(ReducerOptions.builder(), line.fields()).build();
        reducer = new Reducer(context, comm, options, parameters);
      }
      case "updater" -> {
        UpdaterOptions options = Fields.set(UpdaterOptions.builder(), line.fields()).build();
        updater = Updater.builder(context, optimizer)
            .accumulator(accumulator).reducer(reducer).options(options).build();
      }
      case "set" -> optimizer.setValue(line.integer("group", -1), line.text("name"), line.number("value", 0));
      case "schedule" -> optimizer.setSchedule(line.integer("group", -1), line.text("name"), schedule(line));
      case "step" -> step(line);
      case "add" -> add(line);
      case "flush" -> feed(accumulator.flush() ? 1 : 0, 4);
      case "reset" -> accumulator.reset();
      case "reduce" -> {
        try (TensorList grads = gradients(line)) {
          reducer.reduce(grads, null, line.number("weight", 1));
        }
      }
      case "exchange" -> exchange(line);
      case "push" -> {
        try (TensorList params = TensorList.of(values); TensorList grads = gradients(line)) {
          feed(updater.push(params, grads, line.number("weight", 1)) ? 1 : 0, 4);
        }
      }
      case "finish" -> {
        try (TensorList params = TensorList.of(values)) {
          feed(updater.flush(params) ? 1 : 0, 4);
        }
      }
      case "save" -> {
        ByteArrayOutputStream file = new ByteArrayOutputStream();
        handle(line.text("handle")).save(file);
        saved = file.toByteArray();
      }
      case "load" -> handle(line.text("handle")).load(new ByteArrayInputStream(saved));
      case "parameters" -> values = read(line, false);
      case "hash" -> hash(line);
      default -> throw new UnknownWordException("there is no call '" + line.call() + "'");
    }
  }

  /** A script that this runner does not understand, which no `fails` excuses. */
  static final class UnknownWordException extends Exception {
    private static final long serialVersionUID = 1L;

    UnknownWordException(String text) {
      super(text);
    }
  }

  private Accumulator makeAccumulator(Line line) {
    Line window = line.part("schedule.");
    AccumulatorOptions.Builder options = Fields.set(AccumulatorOptions.builder(), line.fields());
    if (!window.keys().isEmpty()) {
      options.schedule(schedule(window));
    }
    return new Accumulator(context, options.build(), parameters);
  }

  private static Schedule schedule(Line line) {
    double init = line.number("init_value", 0);
    double end = line.number("end_value", 0);
    long steps = line.integer("decay_steps", 0);
    boolean staircase = line.integer("staircase", 0) != 0;
    double[] values = line.numbers("values");
    Schedule schedule = switch (line.text("kind")) {
      case "constant" -> Schedule.constant(init);
      case "exponential_decay" -> Schedule.exponentialDecay(init, steps, line.number("decay_rate", 0), staircase);
      case "inverse_time" -> Schedule.inverseTime(init, steps, line.number("decay_rate", 0), staircase);
      case "polynomial" -> Schedule.polynomial(init, end, steps, line.number("power", 1));
      case "cosine" -> Schedule.cosine(init, end, steps);
      case "piecewise" -> Schedule.piecewise(line.integers("boundaries"), values);
      default -> Schedule.of(t -> values[(int) t]); // which throws where there is no more
    };
    return schedule.warmup(line.integer("warmup_steps", 0));
  }

  private Tensor[] read(Line line, boolean gradients) throws IOException {
    DType[] types = gradients
        ? gradientTypes.toArray(new DType[0])
        : parameters.stream().map(Parameter::dtype).toArray(DType[]::new);
    return Data.read(folder.resolve(line.text("data")), types,
        parameters.stream().map(Parameter::shape).toArray(long[][]::new));
  }

  private TensorList gradients(Line line) throws IOException {
    if (line.has("from")) {
      return line.text("from").equals("accumulator") ? accumulator.gradients() : reducer.gradients();
    }
    return TensorList.of(generatedGradients(line));
  }

  private Tensor[] generatedGradients(Line line) throws IOException {
    Tensor[] gradients;
    if (line.has("data")) {
      gradients = read(line, true);
    } else {
      generated++;
      gradients = new Tensor[values.length];
      for (int i = 0; i < gradients.length; i++) {
        gradients[i] = Data.generate(2, generated, index, i, gradientTypes.get(i), parameters.get(i).shape());
      }
    }
    if (line.has("nan")) {
      long[] place = line.integers("nan");
      Data.makeNan(gradients[(int) place[0]], (int) place[1]);
    }
    for (long missing : line.integers("missing")) {
      gradients[(int) missing] = null;
    }
    return gradients;
  }

  private void step(Line line) throws IOException {
    Map<String, String> fields = line.fields("missing", "nan", "data", "from");
    try (TensorList params = TensorList.of(values); TensorList grads = gradients(line)) {
      if (fields.isEmpty()) {
        optimizer.step(params, grads);
        return;
      }
      StepResult result = optimizer.step(params, grads, new StepOptions()
          .skipNonfinite(line.integer("skip_nonfinite", 0) != 0)
          .gradScale(line.number("grad_scale", 1))
          .maxNorm(line.number("max_norm", 0))
          .clipValue(line.number("clip_value", 0)));
      feed(result.applied() ? 1 : 0, 4);
      feed(result.gradNorm());
      feed(result.clipCoefficient());
    }
  }

  private void add(Line line) throws IOException {
    double weight = line.number("weight", 1);
    try (TensorList grads = gradients(line)) {
      boolean ready;
      if (line.has("rows")) {
        int parameter = line.integer("rows", 0);
        long[] indices = line.integers("indices");
        long[] shape = parameters.get(parameter).shape().clone();
        shape[0] = indices.length;
        var places = Data.allocate(DType.I64, indices.length);
        places.asLongBuffer().put(indices);
        Rows rows = new Rows(parameter, Tensor.of(places, DType.I64),
            Data.generate(3, generated, index, parameter, DType.F32, shape));
        ready = accumulator.add(grads, List.of(rows), weight);
      } else {
        ready = accumulator.add(grads, weight);
      }
      feed(ready ? 1 : 0, 4);
    }
  }

  private void exchange(Line line) throws IOException {
    Tensor[] gradients = generatedGradients(line);
    reducer.begin(line.number("weight", 1));
    for (int i = gradients.length - 1; i >= 0; i--) {
      if (gradients[i] != null) {
        reducer.push(i, gradients[i]);
      }
    }
    reducer.await();
  }

  private StatefulHandle handle(String name) {
    return switch (name) {
      case "optimizer" -> optimizer;
      case "accumulator" -> accumulator;
      case "reducer" -> reducer;
      default -> updater;
    };
  }

  private void hash(Line line) throws Exception {
    switch (line.text("what")) {
      case "parameters" -> {
        for (Tensor value : values) {
          feed(value);
        }
      }
      case "gradients" -> {
        try (TensorList gradients = gradients(line)) {
          for (int i = 0; i < gradients.size(); i++) {
            feed(gradients.get(i));
          }
        }
      }
      case "norm" -> feed(line.text("from").equals("accumulator") ? accumulator.norm() : reducer.norm());
      case "state" -> hashState(line.text("name"));
      case "value" -> feed(optimizer.getValue(line.integer("group", 0), line.text("name")));
      case "step_count" -> feed(optimizer.stepCount(), 8);
      case "window" -> {
        feed(accumulator.count(), 8);
        feed(accumulator.weight());
        feed(accumulator.skipped(), 8);
      }
      case "residual" -> {
        for (int i = 0; i < values.length; i++) {
          try (TensorList residual = reducer.residual(i)) {
            feed(residual.get(0));
          }
        }
      }
      default -> throw new UnknownWordException("what: '" + line.text("what") + "' is unknown");
    }
  }

  private void hashState(String name) {
    for (int i = 0; i < values.length; i++) {
      Parameter parameter = parameters.get(i);
      DType dtype = parameter.dtype() == DType.F64 ? DType.F64 : DType.F32;
      Tensor copy = Tensor.of(Data.allocate(dtype, Data.count(parameter.shape())), dtype, parameter.shape());
      try {
        optimizer.getState(i, name, copy);
      } catch (IllegalStateException none) {
        continue; // this parameter has no such state
      }
      feed(copy);
    }
  }

  private void feed(Tensor tensor) {
    if (tensor != null) {
      hash = Data.hash(hash, tensor.bytes());
    }
  }

  private void feed(long number, int bytes) {
    hash = Data.hash(hash, number, bytes);
  }

  private void feed(double number) {
    feed(Double.doubleToLongBits(number), 8); // which makes one NaN of all
  }
}
