// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;

/**
 * A rule that {@link Optimizer#byName} makes.
 *
 * @param name its name
 * @param source the paper, and the implementation whose numbers it reproduces
 * @param formula g: gradient; p: parameter; t: steps before this one
 * @param states the names of the states that it can have
 * @param options its own, then those that all rules share
 */
public record RuleDescription(
    String name, String source, String formula, List<String> states, List<Option> options) {
  /** What an option is. */
  public enum Kind {
    /** A number that a schedule may change with the steps. */
    HYPER_PARAMETER,
    /** A number that is read at creation alone. */
    SETTING,
    /** One of several names. */
    CHOICE,
    /** A boolean. */
    FLAG,
    /** A whole number of 64 bits. */
    INTEGER
  }

  /**
   * An option of a rule.
   *
   * @param name as {@link Optimizer#byName} takes it
   * @param kind what it is
   * @param meaning one line
   * @param choices the values of a choice
   * @param initial the default, of a choice its place in choices; empty: it must be given
   * @param minimum the least legal number
   * @param limit legal numbers are below it
   */
  public record Option(String name, Kind kind, String meaning, List<String> choices, OptionalDouble initial,
      double minimum, double limit) {
    private static Option of(RuleOptionStruct o) {
      OptionalDouble initial =
          Double.isNaN(o.getInitial()) ? OptionalDouble.empty() : OptionalDouble.of(o.getInitial());
      return new Option(o.getName(), Kind.values()[o.getKind()], o.getMeaning(), split(o.getChoices()), initial,
          o.getMinimum(), o.getLimit());
    }
  }

  /**
   * Makes a rule of its text (docs/rules_as_text.md), for {@link Optimizer#byName}. The rule is the process's; the same
   * text gives the same name. Throws {@link IllegalArgumentException}, which says line, column, what was expected and
   * what was found, for a text that is no rule, and for a name that has another text.
   *
   * @param context any; its log gets a line
   * @param text of the rule
   * @return the rule's name
   */
  public static String defineRule(Context context, String text) {
    Handle.present(context, "context");
    return Text.of(Text.bytes(bytes -> context.call(address -> core.rule_define(address, text, bytes))));
  }

  /**
   * The old name of {@link #defineRule}.
   *
   * @param context any; its log gets a line
   * @param text of the rule
   * @return the rule's name
   * @deprecated use defineRule
   */
  @Deprecated
  public static String define(Context context, String text) {
    return defineRule(context, text);
  }

  /**
   * The old name of {@link #describeRules}.
   *
   * @return one for each rule
   * @deprecated use describeRules
   */
  @Deprecated
  public static List<RuleDescription> all() {
    return describeRules();
  }

  /**
   * The rules that there are. Shampoo is none of them.
   *
   * @return one for each
   */
  public static List<RuleDescription> describeRules() {
    List<RuleDescription> rules = new ArrayList<>();
    long count = core.rule_count();
    for (long i = 0; i < count; i++) {
      RuleStruct rule = new RuleStruct();
      core.rule_describe(i, rule);
      rules.add(new RuleDescription(rule.getName(), rule.getSource(), rule.getFormula(), split(rule.getStates()),
          optionsOf(rule.getName())));
    }
    return List.copyOf(rules);
  }

  private static List<Option> optionsOf(String rule) {
    long n = core.rule_options(rule, 0, 0);
    long records = core.new_option_records(n);
    try {
      n = Math.min(n, core.rule_options(rule, records, n));
      List<Option> options = new ArrayList<>();
      for (long i = 0; i < n; i++) {
        options.add(Option.of(core.at_option_records(records, i)));
      }
      return List.copyOf(options);
    } finally {
      core.delete_option_records(records);
    }
  }

  /** What commas separate; nothing of "" and of null. */
  private static List<String> split(String text) {
    return text == null || text.isEmpty() ? List.of() : List.of(text.split(","));
  }
}
