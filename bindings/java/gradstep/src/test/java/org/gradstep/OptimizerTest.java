// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import static org.gradstep.Memory.floats;
import static org.gradstep.Memory.values;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

class OptimizerTest {
  private static final List<Parameter> PAIR = List.of(Parameter.of("pair", DType.F32, 2));

  private static Optimizer sgd(Context context, List<Parameter> model) {
    return Optimizer.create(context, SgdOptions.builder(1).build(), model);
  }

  @Test
  void aRuleIsMadeByItsNameAndOptions() {
    FloatBuffer memory = floats(1, 2);
    Map<String, Object> options =
        Map.of("learning_rate", 0.5, "maximize", true, "state_dtype", "bf16", "seed", Long.MIN_VALUE);
    try (Context context = new Context(1);
        Optimizer lion = Optimizer.byName(context, "lion", options, PAIR);
        TensorList params = TensorList.of(memory);
        TensorList grads = TensorList.of(floats(3, -0.25f))) {
      assertEquals(4, Optimizer.stateBytes("lion", options, PAIR));
      lion.step(params, grads);
      assertArrayEquals(new float[] {1.5f, 1.5f}, values(memory));
      assertTrue(assertThrows(IllegalArgumentException.class,
          () -> Optimizer.byName(context, "lions", options, PAIR)).getMessage().contains("'lions' is not known"));
      assertTrue(assertThrows(IllegalArgumentException.class, () -> Optimizer.byName(
          context, "lion", Map.of("lr", 1), PAIR)).getMessage().contains("'lr' is not an option of lion"));
      assertTrue(assertThrows(IllegalArgumentException.class, () -> Optimizer.byName(
          context, "lion", Map.of("beta1", List.of()), PAIR)).getMessage().contains("beta1 is []"));
    }
  }

  private static float[] stepped(Optimizer made) {
    FloatBuffer memory = floats(1, 2);
    try (Optimizer optimizer = made;
        TensorList params = TensorList.of(memory);
        TensorList grads = TensorList.of(floats(3, -0.25f))) {
      optimizer.step(params, grads);
      optimizer.step(params, grads);
    }
    return values(memory);
  }

  @Test
  void optionsOfARuleMakeTheOptimizerOfItsName() {
    LionOptions lion = LionOptions.builder(0.5).beta1(0.5).maximize(true).stateDtype(StateDtype.BF16)
        .seed(Long.MIN_VALUE).build();
    LambOptions lamb = LambOptions.builder(0.5).weightDecay(0.25).decayMode(DecayMode.COUPLED).build();
    try (Context context = new Context(1)) {
      assertEquals(4, Optimizer.stateBytes(lion, PAIR));
      assertArrayEquals(
          stepped(Optimizer.byName(context, "lion", Map.of("learning_rate", 0.5, "beta1", 0.5, "maximize", true,
              "state_dtype", "bf16", "seed", Long.MIN_VALUE), PAIR)),
          stepped(Optimizer.create(context, lion, PAIR)));
      assertArrayEquals(
          stepped(Optimizer.byName(context, "lamb",
              Map.of("learning_rate", 0.5, "weight_decay", 0.25, "decay_mode", "coupled"), PAIR)),
          stepped(Optimizer.create(context, lamb, PAIR)));
      assertArrayEquals(
          stepped(Optimizer.byName(context, "adam",
              Map.of("learning_rate", 0.5, "weight_decay", 0.25, "decoupled_weight_decay", true), PAIR)),
          stepped(Optimizer.create(context, AdamWOptions.builder(0.5).weightDecay(0.25).build(), PAIR)));
      assertArrayEquals(stepped(Optimizer.create(context, lamb, PAIR)),
          stepped(Optimizer.byGroup(context, List.of(new Optimizer.GroupRule(lamb)), PAIR)));
      assertTrue(assertThrows(IllegalArgumentException.class,
          () -> Optimizer.create(context, LionOptions.builder(0.5).beta1(1).build(), PAIR)).getMessage().contains(
              "(beta1): is 1"));
    }
  }

  @Test
  void shampooTakesThePlaceOfAnAdamW() {
    AdamWOptions adamw = AdamWOptions.builder(0.5).beta2(0.25).weightDecay(0.125).build();
    ShampooOptions shampoo = ShampooOptions.fromAdamW(adamw).blockSize(64).build();
    ShampooOptions expected = ShampooOptions.builder(0.5)
        .beta1(0.9)
        .beta2(0.25)
        .diagonalEpsilon(1e-8)
        .weightDecay(0.125)
        .graftBeta1(0)
        .graftBeta2(0.25)
        .graftType(GraftType.ADAM)
        .decoupledWeightDecay(true)
        .movingAverageForMomentum(true)
        .nesterov(false)
        .blockSize(64)
        .build();
    assertEquals(expected.options(), shampoo.options());
    try (Context context = new Context(1)) {
      assertArrayEquals(
          stepped(Optimizer.create(context, expected, PAIR)), stepped(Optimizer.create(context, shampoo, PAIR)));
    }
  }

  @Test
  void groupsHaveRulesOfTheirOwnAndWeightsAnAverage() {
    FloatBuffer memory = floats(1, 2);
    FloatBuffer copy = floats(0, 0);
    List<Optimizer.GroupRule> groups = List.of(
        new Optimizer.GroupRule("lion", Map.of("learning_rate", 0.5, "average_decay", 0.5)),
        new Optimizer.GroupRule("adam", Map.of("learning_rate", 1)));
    try (Context context = new Context(1);
        Optimizer optimizer = Optimizer.byGroup(context, groups, PAIR);
        TensorList params = TensorList.of(memory);
        TensorList copies = TensorList.of(copy);
        TensorList grads = TensorList.of(floats(3, -0.25f))) {
      assertThrows(IllegalStateException.class, () -> optimizer.average(copies));
      optimizer.step(params, grads);
      optimizer.step(params, grads);
      assertArrayEquals(new float[] {0, 3}, values(memory));
      optimizer.average(copies);
      assertArrayEquals(new float[] {0.25f, 2.75f}, values(copy));
      assertTrue(assertThrows(IllegalArgumentException.class, () -> Optimizer.byGroup(
          context, List.of(groups.get(0), new Optimizer.GroupRule("sm3", Map.of())), PAIR)).getMessage().contains(
              "groups[1]: rule: 'sm3' is not known"));
    }
  }

  @Test
  void rulesAreWrittenAsText() {
    String text = "rule java_momentum\nhyper learning_rate; share = 0.5 in [0, 1)\nstate m\n"
        + "m = share * m + (1 - share) * g\np = p - learning_rate * m\n";
    FloatBuffer memory = floats(1, 2);
    try (Context context = new Context(1)) {
      String name = RuleDescription.defineRule(context, text);
      assertEquals("java_momentum", name);
      assertEquals(name, RuleDescription.defineRule(context, text));
      assertTrue(RuleDescription.describeRules().stream().anyMatch(
          rule -> rule.name().equals(name) && rule.formula().equals(text) && rule.states().equals(List.of("m"))));
      try (Optimizer optimizer = Optimizer.byName(context, name, Map.of("learning_rate", 2), PAIR);
          TensorList params = TensorList.of(memory);
          TensorList grads = TensorList.of(floats(0.5f, -1))) {
        optimizer.step(params, grads);
        assertArrayEquals(new float[] {0.5f, 3}, values(memory));
      }
      assertTrue(assertThrows(IllegalArgumentException.class,
          () -> RuleDescription.defineRule(context, "rule java_bad\np = p + q")).getMessage().contains(
          "line 2, column 9: expected one of g, p, t, found 'q'"));
    }
  }

  @Test
  void rulesDescribeThemselvesAndAreMadeByTheirDescriptions() {
    List<RuleDescription> rules = RuleDescription.describeRules();
    RuleDescription adam = rules.stream().filter(rule -> rule.name().equals("adam")).findFirst().orElseThrow();
    assertTrue(adam.source().contains("Kingma"));
    assertTrue(adam.formula().contains("beta1"));
    assertEquals(List.of("exp_avg", "exp_avg_sq", "max_exp_avg_sq"), adam.states());
    assertTrue(adam.options().contains(new RuleDescription.Option("beta2", RuleDescription.Kind.HYPER_PARAMETER,
        "share of the mean square that a step keeps", List.of(), OptionalDouble.of(0.999), 0, 1)));
    try (Context context = new Context(1)) {
      for (RuleDescription rule : rules) {
        Map<String, Object> all = new HashMap<>();
        for (RuleDescription.Option option : rule.options()) {
          assertEquals(option.kind() == RuleDescription.Kind.CHOICE, !option.choices().isEmpty(), option.name());
          Object given = option.initial().orElse(option.minimum());
          all.put(option.name(),
              option.choices().isEmpty() ? given : option.choices().get((int) option.initial().getAsDouble()));
        }
        Optimizer.byName(context, rule.name(), all, List.of(Parameter.of("matrix", DType.F32, 1, 2))).close();
      }
    }
  }

  @Test
  void optionsOfAStepScaleClipAndSkip() {
    FloatBuffer memory = floats(0, 0);
    try (Context context = new Context(1);
        Optimizer sgd = sgd(context, PAIR);
        TensorList params = TensorList.of(memory);
        TensorList grads = TensorList.of(floats(6, 8));
        TensorList bad = TensorList.of(floats(1, Float.NaN))) {
      Tensor outcome = Memory.doubles(0, 0, 0, 0);
      StepResult clipped = sgd.step(params, grads, new StepOptions().gradScale(0.5).maxNorm(1).outcome(outcome));
      assertTrue(clipped.applied());
      assertEquals(10.0, clipped.gradNorm());
      assertEquals(0.2, clipped.clipCoefficient(), 1e-6); // 1 / (5 + 1e-6)
      assertArrayEquals(new float[] {-0.6f, -0.8f}, values(memory), 1e-6f);
      assertEquals(1.0, outcome.doubles().get(0));
      assertEquals(1.0, outcome.doubles().get(3));
      assertFalse(sgd.step(params, bad, new StepOptions().skipNonfinite(true)).applied());
      Tensor foundInf = Tensor.of(floats(0f));
      assertFalse(sgd.step(params, bad, new StepOptions().foundInf(foundInf)).applied());
      assertEquals(1f, foundInf.floats().get(0));
      assertArrayEquals(new float[] {-0.6f, -0.8f}, values(memory), 1e-6f);
      assertEquals(2.0, metric(sgd, "skipped_steps"));
      sgd.step(params, grads, new StepOptions().clipValue(0.25).disjoint(true));
      assertArrayEquals(new float[] {-0.85f, -1.05f}, values(memory), 1e-6f);
      sgd.step(params, grads, new StepOptions()
          .gradNorm(Memory.doubles(20)).maxNorm(10).gradScaleTensor(Tensor.of(floats(1f))));
      assertArrayEquals(new float[] {-3.85f, -5.05f}, values(memory), 1e-5f); // the norm is taken from the tensor
      assertEquals("foundInf: the memory is read-only", assertThrows(IllegalArgumentException.class,
          () -> sgd.step(params, grads, new StepOptions().foundInf(Tensor.of(floats(0f).asReadOnlyBuffer()))))
          .getMessage());
      assertThrows(IllegalArgumentException.class, () -> sgd.step(params, grads, new StepOptions().maxNorm(-1)));
    }
  }

  private static double metric(Optimizer optimizer, String name) {
    return optimizer.metrics().stream().filter(metric -> metric.name().equals(name)).findFirst().orElseThrow().value();
  }

  @Test
  void updatesLeaveTheParametersAlone() {
    FloatBuffer memory = floats(1, 1);
    try (Context context = new Context(1);
        Optimizer sgd = sgd(context, PAIR);
        TensorList params = TensorList.of(memory.asReadOnlyBuffer());
        TensorList grads = TensorList.of(floats(2, -2))) {
      assertTrue(sgd.update(params, grads, grads, new StepOptions()).applied());
      assertArrayEquals(new float[] {-2, 2}, values(grads, 0));
      assertArrayEquals(new float[] {1, 1}, values(memory));
    }
  }

  @Test
  void hyperParametersGoByGroups() {
    FloatBuffer first = floats(0, 0);
    FloatBuffer second = floats(0, 0);
    try (Context context = new Context(1);
        Optimizer sgd = sgd(context, List.of(PAIR.get(0), Parameter.of("other", DType.F32, 2).inGroup(1)));
        TensorList params = TensorList.of(first, second);
        TensorList grads = TensorList.of(floats(1, 1), floats(1, 1))) {
      assertEquals(2, sgd.groupCount());
      sgd.setValue(1, "learning_rate", 0.5);
      sgd.step(params, grads);
      assertArrayEquals(new float[] {-1, -1}, values(first));
      assertArrayEquals(new float[] {-0.5f, -0.5f}, values(second));
      Tensor rate = Memory.doubles(2);
      sgd.setTensor(0, "learning_rate", rate);
      System.gc();
      sgd.step(params, grads);
      rate.doubles().put(0, 4);
      assertEquals(4.0, sgd.getValue(0, "learning_rate"));
      assertEquals(0.5, sgd.getValue(1, "learning_rate"));
      assertArrayEquals(new float[] {-3, -3}, values(first));
      sgd.setSchedule(0, "learning_rate", Schedule.constant(1));
      assertEquals(1.0, sgd.getValue("learning_rate"));
      String text =
          assertThrows(IllegalArgumentException.class, () -> sgd.setValue(7, "learning_rate", 1)).getMessage();
      assertTrue(text.contains("group") && text.contains("7"), text);
      sgd.setStepCount(41);
      sgd.step(params, grads);
      assertEquals(42, sgd.stepCount());
    }
  }

  private static void collect() throws InterruptedException {
    System.gc();
    Thread.sleep(10);
  }

  @Test
  void aTensorIsKeptForAsLongAsAGroupReadsIt() throws InterruptedException {
    String rate = "learning_rate";
    Tensor first = Memory.doubles(1);
    WeakReference<Tensor> kept = new WeakReference<>(first);
    try (Context context = new Context(1); Optimizer sgd = sgd(context, PAIR)) {
      sgd.setTensor(-1, rate, first);
      first = null;
      sgd.addParameters(List.of(Parameter.of("late", DType.F32, 2).inGroup(1))); // which reads group 0's
      sgd.setTensor(0, rate, Memory.doubles(2));
      collect();
      assertNotNull(kept.get());
      assertEquals(1.0, sgd.getValue(1, rate));
      assertThrows(IllegalArgumentException.class, () -> sgd.setTensor(1, rate, Tensor.of(floats(3f))));
      collect();
      assertNotNull(kept.get());
      sgd.setTensor(1, rate, Memory.doubles(3));
      for (int i = 0; kept.get() != null && i < 500; i++) {
        collect();
      }
      assertNull(kept.get());
      assertEquals(2.0, sgd.getValue(0, rate));
      assertEquals(3.0, sgd.getValue(1, rate));
    }
  }

  @Test
  void stateIsSeenCopiedAndSet() {
    try (Context context = new Context(1)) {
      AdamOptions options = AdamOptions.builder(0.5).build();
      assertEquals(16, Optimizer.stateBytes(options, PAIR)); // two moments of two elements
      try (Optimizer adam = Optimizer.create(context, options, PAIR);
          Optimizer copy = Optimizer.create(context, options, PAIR);
          TensorList params = TensorList.of(floats(0, 0));
          TensorList grads = TensorList.of(floats(1, 2))) {
        assertEquals(List.of("exp_avg", "exp_avg_sq"), adam.stateNames());
        adam.step(params, grads);
        try (TensorList moment = adam.state(0, "exp_avg")) {
          assertArrayEquals(new float[] {0.1f, 0.2f}, values(moment, 0), 1e-7f);
          adam.setState(0, "exp_avg", Tensor.of(floats(3, 4)));
          assertArrayEquals(new float[] {3, 4}, values(moment, 0));
          assertThrows(IllegalStateException.class, () -> moment.set(0, floats(2)));
        }
        copy.copyState(adam);
        Tensor found = Tensor.of(floats(2));
        copy.getState(0, "exp_avg", found);
        assertArrayEquals(new float[] {3, 4}, values(found.floats()));
        copy.setState(0, "exp_avg", Tensor.of(floats(5, 6)), 0);
        copy.getState(0, "exp_avg", found, 0);
        assertArrayEquals(new float[] {5, 6}, values(found.floats()));
        assertThrows(IllegalArgumentException.class, () -> copy.getState(0, "exp_avg", found, 1)); // no device's stream
        assertThrows(IllegalArgumentException.class, () -> copy.setState(0, "exp_avg", found, 1));
        assertEquals(16, adam.memory().stateBytes());
        adam.addParameters(List.of(Parameter.of("late", DType.F32, 2)));
        assertEquals(32, adam.memory().stateBytes());
        assertTrue(adam.poll());
        String text = assertThrows(IllegalArgumentException.class, () -> adam.state(5, "exp_avg")).getMessage();
        assertTrue(text.contains("5"), text);
        assertThrows(IllegalArgumentException.class, () -> adam.getState(0, "exp_avg", Tensor.of(floats(3))));
      }
    }
  }

  @Test
  void memoryMayBeForeignStridedAndOfAnyDtype() {
    List<Parameter> model = List.of(Parameter.of("columns", DType.F32, 2, 2), Parameter.of("half", DType.BF16, 2),
        Parameter.of("double", DType.F64, 1));
    FloatBuffer matrix = floats(1, 2, 9, 3, 4, 9); // two rows of three, of which two columns are the parameter
    ByteBuffer half = Memory.bytes(4);
    half.putShort(0, (short) 0x3F80).putShort(2, (short) 0x4000); // 1 and 2
    Tensor wide = Memory.doubles(1);
    try (Context context = new Context(1);
        Optimizer sgd = sgd(context, model);
        TensorList params = TensorList.of(
            Tensor.ofAddress(Tensor.addressOf(matrix), DType.F32, Device.CPU, new long[] {2, 2}, new long[] {3, 1}),
            Tensor.of(half, DType.BF16), wide);
        TensorList grads = TensorList.of(Tensor.of(floats(1, 1, 1, 1), 2, 2), Tensor.of(floats(1, 1)), null)) {
      sgd.step(params, grads);
      assertArrayEquals(new float[] {0, 1, 9, 2, 3, 9}, values(matrix));
      assertEquals((short) 0, half.getShort(0));
      assertEquals((short) 0x3F80, half.getShort(2));
      assertEquals(1.0, wide.doubles().get(0)); // its gradient was absent
      Tensor first = params.get(0);
      assertArrayEquals(new long[] {2, 2}, first.shape());
      assertThrows(UnsupportedOperationException.class, first::floats); // not compact
      assertThrows(IllegalArgumentException.class, wide::floats);
      assertEquals(Device.CPU, first.device());
      long[] addresses = {first.address(), Tensor.addressOf(half), wide.address()};
      params.setAddresses(addresses);
      sgd.step(params, grads);
      assertEquals(-1f, matrix.get(0));
      assertThrows(IllegalArgumentException.class, () -> params.setAddresses(1, 2));
      assertEquals("strides: has 1 numbers, the shape has 2", assertThrows(IllegalArgumentException.class,
          () -> Tensor.ofAddress(1, DType.F32, Device.CPU, new long[] {2, 2}, new long[] {1})).getMessage());
    }
    java.lang.ref.Reference.reachabilityFence(matrix);
    java.lang.ref.Reference.reachabilityFence(half);
  }

  @Test
  void aDeviceThatIsNotThereIsNamed() {
    assumeFalse(Gradstep.backendAvailable("cuda"));
    try (Context context = new Context(1)) {
      GradstepException error = assertThrows(GradstepException.class,
          () -> sgd(context, List.of(PAIR.get(0).on(Device.cuda(0)))));
      assertEquals("GRADSTEP_ERR_BACKEND_UNAVAILABLE", error.statusName());
    }
  }
}
