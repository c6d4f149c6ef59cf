// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Old names do what the new ones do. */
@SuppressWarnings("deprecation")
class DeprecatedTest {
  private static final List<Parameter> MODEL = List.of(Parameter.of("weight", DType.F32, 2));

  @Test
  void anOldNameIsMarkedAndDoesWhatTheNewOneDoes() throws Exception {
    Map<Class<?>, List<String>> renamed = Map.of(
        Gradstep.class, List.of("isAvailable", "availability"), Optimizer.class, List.of("shardWith"),
        Reducer.class, List.of("buckets", "statistics"), RuleDescription.class, List.of("all", "define"));
    renamed.forEach((type, names) -> {
      for (java.lang.reflect.Method method : type.getDeclaredMethods()) {
        assertEquals(names.contains(method.getName()), method.isAnnotationPresent(Deprecated.class), method::toString);
      }
    });
    assertEquals(Gradstep.backendAvailable("shm"), Gradstep.isAvailable("shm"));
    assertEquals(Gradstep.backendStatus("cpu"), Gradstep.availability("cpu"));
    assertEquals(RuleDescription.describeRules(), RuleDescription.all());
    try (Context context = new Context(1)) {
      String text = "rule old_name\nhyper learning_rate\np = p - learning_rate * g";
      assertEquals(RuleDescription.defineRule(context, text), RuleDescription.define(context, text));
      Ranks.run(context, 1, (rank, comm) -> {
        try (Optimizer adam = Optimizer.byName(context, "adam", Map.of("learning_rate", 0.25), MODEL);
            Reducer reducer = new Reducer(context, comm, MODEL)) {
          assertEquals(reducer.bucketStatistics(), reducer.buckets());
          assertEquals(reducer.commStatistics(), reducer.statistics());
          adam.shard(comm, null);
          adam.shard((Communicator) null, null);
          assertDoesNotThrow(() -> adam.state(0, "exp_avg").close());
          adam.shardWith(reducer, null);
          assertThrows(UnsupportedOperationException.class, () -> adam.state(0, "exp_avg"));
        }
      });
    }
  }
}
