# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The options of rules in Java: RuleOptions with what all share, a class with a builder for each rule, and the enums
that the C headers do not have.
"""

from collections.abc import Iterator
from pathlib import Path

from generators.cpp_options import class_name
from generators.java_options import FOLDER, HEAD, camel, escaped
from generators.rules import (
    HAND_WRITTEN,
    Option,
    Rule,
    capitalized,
    named_rules,
    own_options,
    public_enums,
    sentence,
    shared_options,
    states_of,
    wrapped,
)
from generators.words import capitalized as in_words

HEAD_OF_RULES = HEAD.replace("@SOURCE@", "src/rules")

SHARED = """\
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
@SETTERS@
  }
}
"""
RULE = """\
/**
@ABOUT@
 */
public final class @NAME@Options extends RuleOptions {
  private @NAME@Options(Builder builder) {
    super("@RULE@", builder);
  }

  /**
   * Begins with what must be given.
   *
@PARAMS@
   * @return the builder
   */
  public static Builder builder(@REQUIRED@) {
    return new Builder()@GIVEN@;
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
    public @NAME@Options build() {
      return new @NAME@Options(this);
    }
@SETTERS@
  }
}
"""
TYPES = {"number": "double", "flag": "boolean", "integer": "long"}


def java_name(rule: Rule) -> str:
    """Rules that have a struct in C are called as in Rust: SgdOptions."""
    name: str = rule["name"]
    return in_words(name) if name in HAND_WRITTEN else capitalized(name)


def type_of(option: Option) -> str:
    return TYPES.get(option.kind) or enum_name(option)


def enum_name(option: Option) -> str:
    return class_name(option.enum) if option.enum in public_enums() else capitalized(option.enum)


def setter(option: Option, builder: str) -> str:
    name = camel(option.name)
    words = "\n".join(f"     * {line}" for line in wrapped(sentence(escaped(option.says())), 110))
    value = f'Handle.present({name}, "{name}")' if option.kind == "choice" else name
    return f"""
    /**
{words}
     *
     * @param {name} the new one
     * @return this
     */
    public {builder} {name}({type_of(option)} {name}) {{
      return with("{option.name}", {value});
    }}"""


def rule_text(rule: Rule) -> str:
    own = own_options(rule)
    required = [each for each in own if each.default is None]
    formula = "\n".join(f" * {line}".rstrip() for line in escaped(rule["formula"]).splitlines())
    source = "\n".join(f" * {line}" for line in wrapped(escaped(f"{java_name(rule)}. Source: {rule['source']}."), 116))
    about = f"{source}\n *\n * <pre>\n{formula}\n * </pre>"
    states = "\n".join(f" * {line}" for line in wrapped(f"<p>{states_of(rule)}", 116))
    words = {
        "ABOUT": about + (f"\n *\n{states}" if states_of(rule) else ""),
        "PARAMS": "\n".join(f"   * @param {camel(each.name)} {escaped(each.meaning)}" for each in required),
        "REQUIRED": ", ".join(f"{type_of(each)} {camel(each.name)}" for each in required),
        "GIVEN": "".join(f".{camel(each.name)}({camel(each.name)})" for each in required),
        "SETTERS": "\n".join(setter(each, "Builder") for each in own),
        "RULE": rule["name"],
        "NAME": java_name(rule),
    }
    text = HEAD_OF_RULES + RULE
    for key, value in words.items():
        text = text.replace(f"@{key}@", value)
    return text.replace("   *\n\n", "   *\n")


def enum_text(name: str, values: list[str], says: str) -> str:
    lines = ",\n".join(f"  /** {{@code {word}}}. */\n  {word.upper()}" for word in values)
    words = "\n".join(f" * {line}" for line in wrapped(sentence(escaped(says)), 116))
    return f"{HEAD_OF_RULES}/**\n{words}\n */\npublic enum {name} {{\n{lines}\n}}\n"


def enums() -> Iterator[tuple[str, str]]:
    """Name and text, of every enum that an option has and the C headers have not."""
    for option in (*shared_options(), *(each for rule in named_rules() for each in own_options(rule))):
        if option.kind == "choice" and option.enum not in public_enums():
            name = enum_name(option)
            yield name, enum_text(name, option.values, option.meaning)


def generated() -> dict[Path, str]:
    rules = named_rules()
    shared = SHARED.replace("@SETTERS@", "\n".join(setter(each, "B") for each in shared_options()))
    texts = {"RuleOptions": HEAD_OF_RULES + shared, **dict(enums())}
    texts |= {f"{java_name(rule)}Options": rule_text(rule) for rule in rules}
    return {FOLDER / f"{name}.java": text for name, text in texts.items()}
