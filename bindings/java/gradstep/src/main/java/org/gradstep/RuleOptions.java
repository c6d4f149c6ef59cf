// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** A rule with its options: {@link LionOptions} and others, for {@link Optimizer#create}. Immutable. */
public abstract class RuleOptions extends OptimizerOptions {
  private final String rule;

  RuleOptions(String rule, Builder<?> builder) {
    super(builder.options);
    this.rule = rule;
  }

  /**
   * The name of the rule.
   *
   * @return as of {@link RuleDescription#name}
   */
  public String rule() {
    return rule;
  }

  @Override
  long create(long context, long parameters, long n) {
    return Optimizer.lend(options(), list -> core.create_optimizer(context, rule, list, parameters, n));
  }

  @Override
  long stateBytes(long parameters, long n) {
    return Optimizer.lend(options(), list -> core.rule_state_bytes(rule, list, parameters, n));
  }

  /**
   * Collects options; what is not given has the library's default.
   *
   * @param <B> the builder of the rule
   */
  public abstract static class Builder<B extends Builder<B>> {
    private final Map<String, Object> options = new LinkedHashMap<>();

    Builder() {}

    abstract B self();

    B with(String name, Object value) {
      options.put(name, value instanceof Enum<?> word ? word.name().toLowerCase(Locale.ROOT) : value);
      return self();
    }

    /**
     * Steps up the gradient.
     *
     * @param maximize the new one
     * @return this
     */
    public B maximize(boolean maximize) {
      return with("maximize", maximize);
    }

    /**
     * Steps an f32 copy of every f16 and bf16 parameter.
     *
     * @param masterWeights the new one
     * @return this
     */
    public B masterWeights(boolean masterWeights) {
      return with("master_weights", masterWeights);
    }

    /**
     * How state is stored; int8: one byte an element, coded in blocks.
     *
     * @param stateDtype the new one
     * @return this
     */
    public B stateDtype(StateDtype stateDtype) {
      return with("state_dtype", Handle.present(stateDtype, "stateDtype"));
    }

    /**
     * Rounds what is stored in 16 bits at random, exact on average.
     *
     * @param stochasticRounding the new one
     * @return this
     */
    public B stochasticRounding(boolean stochasticRounding) {
      return with("stochastic_rounding", stochasticRounding);
    }

    /**
     * Starts stochastic_rounding: equal seeds give equal bits.
     *
     * @param seed the new one
     * @return this
     */
    public B seed(long seed) {
      return with("seed", seed);
    }

    /**
     * Whose steps t counts; parameter: those that each took part in, as PyTorch does.
     *
     * @param stepCounting the new one
     * @return this
     */
    public B stepCounting(StepCounting stepCounting) {
      return with("step_counting", Handle.present(stepCounting, "stepCounting"));
    }

    /**
     * Keeps an average of the weights: this share of it at each step; 0 = none; in [0, 1), default 0.
     *
     * @param averageDecay the new one
     * @return this
     */
    public B averageDecay(double averageDecay) {
      return with("average_decay", averageDecay);
    }

    /**
     * Coupled: weight_decay * p is added to the gradient. Others subtract from p: decoupled
     * learning_rate * weight_decay * p; independent weight_decay * p; relative learning_rate /
     * peak_learning_rate * weight_decay * p; corrected learning_rate^2 / peak_learning_rate * weight_decay * p.
     * rule: as the rule says.
     *
     * @param decayMode the new one
     * @return this
     */
    public B decayMode(DecayMode decayMode) {
      return with("decay_mode", Handle.present(decayMode, "decayMode"));
    }

    /**
     * The largest learning rate of the schedule, for decay_mode; &gt;= 0, default 0.
     *
     * @param peakLearningRate the new one
     * @return this
     */
    public B peakLearningRate(double peakLearningRate) {
      return with("peak_learning_rate", peakLearningRate);
    }

    /**
     * Scales the change of each tensor to the tensor's length, times the learning rate (LAMB).
     *
     * @param trustRatio the new one
     * @return this
     */
    public B trustRatio(boolean trustRatio) {
      return with("trust_ratio", trustRatio);
    }

    /**
     * Leaves out elements whose change has the sign of the gradient, and multiplies the others: mean by 1 / max(k /
     * n, 1e-3), sum by n / (k + 1), where k of n elements of the tensor stay.
     *
     * @param cautiousUpdate the new one
     * @return this
     */
    public B cautiousUpdate(CautiousUpdate cautiousUpdate) {
      return with("cautious_update", Handle.present(cautiousUpdate, "cautiousUpdate"));
    }

    /**
     * Weights decay only where that does not oppose the change.
     *
     * @param cautiousDecay the new one
     * @return this
     */
    public B cautiousDecay(boolean cautiousDecay) {
      return with("cautious_decay", cautiousDecay);
    }

    /**
     * Shortens each unit of a gradient to this times the length of its unit of p; 0 = off; &gt;= 0, default 0.
     *
     * @param adaptiveClip the new one
     * @return this
     */
    public B adaptiveClip(double adaptiveClip) {
      return with("adaptive_clip", adaptiveClip);
    }

    /**
     * The least length of a unit of p for adaptive_clip; &gt;= 0, default 0.001.
     *
     * @param adaptiveClipEpsilon the new one
     * @return this
     */
    public B adaptiveClipEpsilon(double adaptiveClipEpsilon) {
      return with("adaptive_clip_epsilon", adaptiveClipEpsilon);
    }

    /**
     * Elements that one unit has. rows: all but the first axis; columns: the first of two or three axes, all but the
     * last of more (optax); second: the second of two or three axes, all but the first of more (pytorch_optimizer).
     * A tensor of one axis is one unit.
     *
     * @param adaptiveClipUnits the new one
     * @return this
     */
    public B adaptiveClipUnits(AdaptiveClipUnits adaptiveClipUnits) {
      return with("adaptive_clip_units", Handle.present(adaptiveClipUnits, "adaptiveClipUnits"));
    }

    /**
     * Subtracts from each row of a gradient its mean, where there are two axes or more.
     *
     * @param centerGradients the new one
     * @return this
     */
    public B centerGradients(boolean centerGradients) {
      return with("center_gradients", centerGradients);
    }

    /**
     * average_decay is at most (1 + n) / (10 + n) while n steps are in the average.
     *
     * @param averageWarmup the new one
     * @return this
     */
    public B averageWarmup(boolean averageWarmup) {
      return with("average_warmup", averageWarmup);
    }

    /**
     * Keeps the mean of the weights after all averaged steps (SWA), in place of average_decay.
     *
     * @param averageEqual the new one
     * @return this
     */
    public B averageEqual(boolean averageEqual) {
      return with("average_equal", averageEqual);
    }

    /**
     * The first step that is averaged, from 0; until then the average is the weights; in [0, 1000000000), whole,
     * default 0.
     *
     * @param averageStart the new one
     * @return this
     */
    public B averageStart(double averageStart) {
      return with("average_start", averageStart);
    }

    /**
     * Every such step is averaged, from average_start on; in [1, 1000000000), whole, default 1.
     *
     * @param averageEvery the new one
     * @return this
     */
    public B averageEvery(double averageEvery) {
      return with("average_every", averageEvery);
    }
  }
}
