// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

/**
 * ScheduleFree. Source: Defazio et al. 2024, The Road Less Scheduled, algorithm 1; the numbers of schedulefree, and of
 * optax with its schedule for the weights as weight_rate.
 *
 * <pre>
 * p is y, where gradients are taken; z = p at first; the average x = p + (1 - 1 / beta1) * (z - p)
 * rate = learning_rate * min(1, (t+1) / warmup_steps); inner radam: times its rectification
 * w = (t+1)^weight_power * (largest rate so far)^rate_power, c = w / (sum of all w), or 0
 * v = beta2 * v + (1 - beta2) * g^2
 * u = g / (sqrt(v / (1 - beta2^(t+1))) + epsilon) + weight_decay * p; inner sgd: g + weight_decay * p
 * p = p + c * (z - p) - rate * (1 - beta1 * (1 - c)) * u
 * z = z - rate * u
 * </pre>
 *
 * <p>State z, exp_avg_sq, weight_sum, largest_rate.
 */
public final class ScheduleFreeOptions extends RuleOptions {
  private ScheduleFreeOptions(Builder builder) {
    super("schedule_free", builder);
  }

  /**
   * Begins with what must be given.
   *
   * @param learningRate step size
   * @return the builder
   */
  public static Builder builder(double learningRate) {
    return new Builder().learningRate(learningRate);
  }

  /** Collects options; what is not given has the library's default. */
  public static final class Builder extends RuleOptions.Builder<Builder> {
    private Builder() {}

    @Override
    Builder self() {
      return this;
    }

    /**
     * The options as they are now.
     *
     * @return for {@link Optimizer#create}
     */
    public ScheduleFreeOptions build() {
      return new ScheduleFreeOptions(this);
    }

    /**
     * Step size; &gt;= 0, must be given.
     *
     * @param learningRate the new one
     * @return this
     */
    public Builder learningRate(double learningRate) {
      return with("learning_rate", learningRate);
    }

    /**
     * How near the gradient's place is to the average; in [0.001, 1), default 0.9.
     *
     * @param beta1 the new one
     * @return this
     */
    public Builder beta1(double beta1) {
      return with("beta1", beta1);
    }

    /**
     * Share of the mean square that a step keeps; not of inner sgd; in [0, 1), default 0.999.
     *
     * @param beta2 the new one
     * @return this
     */
    public Builder beta2(double beta2) {
      return with("beta2", beta2);
    }

    /**
     * Keeps the denominator from zero; not of inner sgd; &gt;= 0, default 1e-8.
     *
     * @param epsilon the new one
     * @return this
     */
    public Builder epsilon(double epsilon) {
      return with("epsilon", epsilon);
    }

    /**
     * The learning rate that steps are weighted by; 0 = learning_rate; &gt;= 0, default 0.
     *
     * @param weightRate the new one
     * @return this
     */
    public Builder weightRate(double weightRate) {
      return with("weight_rate", weightRate);
    }

    /**
     * Times p joins the direction; &gt;= 0, default 0.
     *
     * @param weightDecay the new one
     * @return this
     */
    public Builder weightDecay(double weightDecay) {
      return with("weight_decay", weightDecay);
    }

    /**
     * Steps in which the learning rate grows from 0; in [0, 1000000000), whole, default 0.
     *
     * @param warmupSteps the new one
     * @return this
     */
    public Builder warmupSteps(double warmupSteps) {
      return with("warmup_steps", warmupSteps);
    }

    /**
     * R: a step weighs (t+1)^r; &gt;= 0, default 0.
     *
     * @param weightPower the new one
     * @return this
     */
    public Builder weightPower(double weightPower) {
      return with("weight_power", weightPower);
    }

    /**
     * A step weighs its largest learning rate so far to this power; &gt;= 0, default 2.
     *
     * @param ratePower the new one
     * @return this
     */
    public Builder ratePower(double ratePower) {
      return with("rate_power", ratePower);
    }

    /**
     * adamw, sgd or radam: the rule that gives the direction.
     *
     * @param inner the new one
     * @return this
     */
    public Builder inner(ScheduleFreeInner inner) {
      return with("inner", Handle.present(inner, "inner"));
    }

    /**
     * Inner radam: nothing moves while the variance is unknown (silent_sgd_phase); default true.
     *
     * @param waits the new one
     * @return this
     */
    public Builder waits(boolean waits) {
      return with("waits", waits);
    }
  }
}
