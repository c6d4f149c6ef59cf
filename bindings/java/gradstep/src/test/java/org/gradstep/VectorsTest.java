// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.gradstep.languages.Fields;
import org.gradstep.languages.Rules;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The numbers of the other systems whose rules these are (tests/conformance/README.md), with their tolerances. */
class VectorsTest {
  private static List<Parameter> parametersOf(Tensor... tensors) {
    List<Parameter> parameters = new ArrayList<>();
    for (Tensor tensor : tensors) {
      parameters.add(Parameter.of(null, DType.F32, tensor.shape()));
    }
    return parameters;
  }

  private static void assertNear(Tensor expected, Tensor found, double tolerance, String what) {
    double error = VectorFile.relativeError(found.floats(), expected.floats());
    assertTrue(error <= tolerance, what + ": off by " + error);
  }

  /** The fields of options that are constants, as words of Fields. */
  private static Map<String, String> constants(JsonObject options) {
    Map<String, String> fields = new LinkedHashMap<>();
    for (Map.Entry<String, JsonElement> option : options.entrySet()) {
      JsonElement value = option.getValue();
      if (value.isJsonObject()) {
        value = value.getAsJsonObject().get("init_value");
      }
      String text = value.getAsString();
      fields.put(option.getKey(), text.equals("true") ? "1" : text.equals("false") ? "0" : text);
    }
    return fields;
  }

  private static Schedule schedule(JsonObject fields) {
    double init = fields.get("init_value").getAsDouble();
    return fields.get("kind").getAsString().equals("constant")
        ? Schedule.constant(init)
        : Schedule.exponentialDecay(init, fields.get("decay_steps").getAsLong(), fields.get("decay_rate").getAsDouble(),
            fields.get("staircase").getAsBoolean());
  }

  private static Optimizer optimizer(Context context, VectorFile file, List<Parameter> parameters) {
    Map<String, String> fields = constants(file.meta.getAsJsonObject("options"));
    return Rules.create(context, file.meta.get("optimizer").getAsString(), fields, parameters);
  }

  @ParameterizedTest
  @ValueSource(strings = {"singa_sgd_plain", "singa_sgd_momentum", "singa_sgd_nesterov", "singa_sgd_scheduled",
    "singa_rmsprop", "singa_rmsprop_scheduled", "singa_adagrad", "singa_adam", "singa_adam_scheduled"})
  void parametersFollowTheTrajectoryOfSinga(String name) throws Exception {
    VectorFile file = VectorFile.read(name);
    Tensor[] values = file.all("p0_");
    try (Context context = new Context(2);
        Optimizer optimizer = optimizer(context, file, parametersOf(values));
        TensorList params = TensorList.of(values)) {
      file.meta.getAsJsonObject("options").asMap().forEach((field, value) -> {
        if (value.isJsonObject()) {
          optimizer.setSchedule(field, schedule(value.getAsJsonObject()));
        }
      });
      for (int t = 0; t < file.meta.get("steps").getAsInt(); t++) {
        try (TensorList grads = TensorList.of(file.all("g" + t + "_"))) {
          optimizer.step(params, grads);
        }
        Tensor[] expected = file.all("p" + (t + 1) + "_");
        for (int i = 0; i < values.length; i++) {
          assertNear(expected[i], values[i], file.tolerance(), "parameter " + i + " after step " + t);
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shampoo_graft_sgd", "shampoo_graft_rmsprop_normalized", "shampoo_weight_decay"})
  void updatesAreThoseOfDistributedShampoo(String name) throws Exception {
    VectorFile file = VectorFile.read(name);
    Tensor[] gradients = file.all("g0_");
    List<Parameter> parameters = parametersOf(gradients);
    try (Context context = new Context(2); Optimizer shampoo = optimizer(context, file, parameters)) {
      Tensor[] values = file.has("p0_0") ? file.all("p0_") : zerosLike(gradients);
      Tensor[] updates = zerosLike(gradients);
      for (int t = 0; t < file.meta.get("steps").getAsInt(); t++) {
        try (TensorList params = TensorList.of(values);
            TensorList grads = TensorList.of(file.all("g" + t + "_"));
            TensorList results = TensorList.of(updates)) {
          shampoo.update(params, grads, results, new StepOptions());
        }
        Tensor[] expected = file.all("u" + t + "_");
        for (int i = 0; i < updates.length; i++) {
          assertNear(expected[i], updates[i], file.tolerance(), "update of " + i + " in step " + t);
          addTo(values[i], expected[i]); // each step starts from the recorded parameters
        }
      }
    }
  }

  private static void addTo(Tensor value, Tensor update) {
    for (int k = 0; k < value.count(); k++) {
      value.floats().put(k, value.floats().get(k) + update.floats().get(k));
    }
  }

  private static Tensor[] zerosLike(Tensor[] tensors) {
    Tensor[] zeros = new Tensor[tensors.length];
    for (int i = 0; i < zeros.length; i++) {
      zeros[i] = Tensor.of(Memory.floats((int) tensors[i].count()), tensors[i].shape());
    }
    return zeros;
  }

  @Test
  void windowsAreThoseOfLingvo() throws Exception {
    VectorFile file = VectorFile.read("lingvo_accumulate");
    List<Parameter> parameters = parametersOf(file.get("dense_mean"), file.get("sparse_mean"));
    try (Context context = new Context(2)) {
      AccumulatorOptions options = AccumulatorOptions.builder().steps(4).build();
      try (Accumulator accumulator = new Accumulator(context, options, parameters)) {
        for (int k = 0; k < 4; k++) {
          Rows rows = new Rows(1, file.get("idx" + k), file.get("val" + k));
          try (TensorList grads = TensorList.of(file.get("dense" + k), null)) {
            assertEquals(k == 3, accumulator.add(grads, List.of(rows), 1));
          }
        }
        try (TensorList found = accumulator.gradients()) {
          assertNear(file.get("dense_mean"), found.get(0), file.tolerance(), "dense");
          assertNear(file.get("sparse_mean"), found.get(1), file.tolerance(), "sparse");
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 4})
  void adasumIsThatOfTrax(int worldSize) throws Exception {
    VectorFile file = VectorFile.read("adasum_" + worldSize);
    for (Map.Entry<ReducerMode, String> rule :
        Map.of(ReducerMode.ADASUM_NWAY, "nway_", ReducerMode.ADASUM_TREE, "pairwise_").entrySet()) {
      if (!file.has(rule.getValue() + "0")) {
        continue; // the tree of Trax is for powers of two
      }
      try (Context context = new Context(1)) {
        Ranks.run(context, worldSize, (rank, comm) -> {
          ReducerOptions options = ReducerOptions.builder().mode(rule.getKey()).build();
          Tensor[] gradients = file.all("g" + rank + "_");
          try (Reducer reducer = new Reducer(context, comm, options, parametersOf(gradients));
              TensorList grads = TensorList.of(gradients)) {
            reducer.reduce(grads, null, 1);
            try (TensorList found = reducer.gradients()) {
              for (int i = 0; i < gradients.length; i++) {
                assertNear(file.get(rule.getValue() + i), found.get(i), file.tolerance(), rule.getValue() + i);
              }
            }
          }
        });
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"sparse_threshold,0", "sparse_threshold_residual,1", "sparse_topk,0", "sparse_topk_residual,1"})
  void sparseSumsAndResidualsAreThoseOfSinga(String name, int residual) throws Exception {
    VectorFile file = VectorFile.read(name);
    try (Context context = new Context(1)) {
      Ranks.run(context, file.meta.get("ranks").getAsInt(), (rank, comm) -> {
        ReducerOptions.Builder options = ReducerOptions.builder().average(Average.SUM);
        Fields.set(options, constants(file.meta.getAsJsonObject("options")));
        Fields.set(options, "mode", file.meta.get("mode").getAsString());
        try (Reducer reducer = new Reducer(context, comm, options.build(), parametersOf(file.get("sum0")))) {
          for (int t = 0; t < file.meta.get("steps").getAsInt(); t++) {
            try (TensorList grads = TensorList.of(file.get("g" + t + "_" + rank))) {
              reducer.reduce(grads, null, 1);
            }
            try (TensorList found = reducer.gradients()) {
              assertNear(file.get("sum" + t), found.get(0), file.tolerance(), "sum of step " + t);
            }
            if (residual == 1) {
              try (TensorList found = reducer.residual(0)) {
                assertNear(file.get("res" + t + "_" + rank), found.get(0), 0, "residual of step " + t);
              }
            }
          }
        }
      });
    }
  }
}
