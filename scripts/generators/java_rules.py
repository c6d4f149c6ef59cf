# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The options of rules in Java: RuleOptions with what all share, a class with a builder for each rule, and enums. What
makes optimizers of the rules whose options are structs of C follows from the headers.
"""

from collections.abc import Iterator
from pathlib import Path

from c_headers import Function, read

from generators import rust_types
from generators.places import INCLUDE, ROOT
from generators.rules import (
    Option,
    Rule,
    capitalized,
    own_options,
    sentence,
    shared_options,
    states_of,
    typed_rules,
    words_of,
    wrapped,
)

FOLDER = ROOT / "bindings" / "java" / "gradstep" / "src" / "main" / "java" / "org" / "gradstep"
HEAD = """\
// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from src/rules.
package org.gradstep;

"""
SHARED = """\
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** A rule with its options: {@link LionOptions} and others, for {@link Optimizer#create}. Immutable. */
public abstract class RuleOptions {
  private final String rule;
  private final Map<String, Object> options;

  RuleOptions(String rule, Builder<?> builder) {
    this.rule = rule;
    options = Map.copyOf(builder.options);
  }

  /**
   * The name of the rule.
   *
   * @return as of {@link RuleDescription#name}
   */
  public String rule() {
    return rule;
  }

  /**
   * The options that were given.
   *
   * @return by the names of the C library, as {@link Optimizer#byName} takes them
   */
  public Map<String, Object> options() {
    return options;
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
STRUCTS = """\
// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

import java.util.List;
import java.util.function.LongConsumer;

/** What makes an {@link Optimizer} of a struct of options. */
abstract class StructRules extends StatefulHandle {
  private interface Create<O> {
    long create(long context, O options, long parameters, long n);
  }

  private interface Measure<O> {
    long measure(O options, long parameters, long n);
  }

  StructRules(String name, long address, LongConsumer destroy, Functions functions) {
    super(name, address, destroy, functions);
  }

  private static <O> Optimizer create(Context context, O options, List<Parameter> parameters, Create<O> rule) {
    return new Optimizer(present(context, "context").call(
        address -> Parameter.lend(parameters, (data, n) -> rule.create(address, options, data, n))));
  }

  private static <O> long measure(O options, List<Parameter> parameters, Measure<O> rule) {
    return Parameter.lend(parameters, (data, n) -> rule.measure(options, data, n));
  }
@FACTORIES@
}
"""
FACTORY = """
  /**
   * By {@link @TYPE@Options}.
   *
   * @param context whose threads work
   * @param options read during the call
   * @param parameters the model
   * @return the optimizer, the caller's to close
   */
  public static Optimizer @CALL@(Context context, @TYPE@Options options, List<Parameter> parameters) {
    return create(context, options, parameters, core::optimizer_create_@RULE@);
  }

  /**
   * The bytes of state that {@link #@CALL@} would allocate.
   *
   * @param options read during the call
   * @param parameters the model
   * @return bytes; none is allocated
   */
  public static long stateBytes(@TYPE@Options options, List<Parameter> parameters) {
    return measure(options, parameters, core::@RULE@_state_bytes);
  }"""
TYPES = {"number": "double", "flag": "boolean", "integer": "long"}


def camel(name: str) -> str:
    words = capitalized(name)
    return words[:1].lower() + words[1:]


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")


def type_of(option: Option) -> str:
    return TYPES.get(option.kind) or capitalized(option.enum)


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
    source = "\n".join(f" * {line}" for line in wrapped(escaped(f"{words_of(rule)}. Source: {rule['source']}."), 116))
    about = f"{source}\n *\n * <pre>\n{formula}\n * </pre>"
    states = "\n".join(f" * {line}" for line in wrapped(f"<p>{states_of(rule)}", 116))
    words = {
        "ABOUT": about + (f"\n *\n{states}" if states_of(rule) else ""),
        "PARAMS": "\n".join(f"   * @param {camel(each.name)} {escaped(each.meaning)}" for each in required),
        "REQUIRED": ", ".join(f"{type_of(each)} {camel(each.name)}" for each in required),
        "GIVEN": "".join(f".{camel(each.name)}({camel(each.name)})" for each in required),
        "SETTERS": "\n".join(setter(each, "Builder") for each in own),
        "RULE": rule["name"],
        "NAME": words_of(rule),
    }
    text = HEAD + RULE
    for key, value in words.items():
        text = text.replace(f"@{key}@", value)
    return text.replace("   *\n\n", "   *\n")


def enum_text(name: str, values: list[str], says: str) -> str:
    lines = ",\n".join(f"  /** {{@code {word}}}. */\n  {word.upper()}" for word in values)
    words = "\n".join(f" * {line}" for line in wrapped(sentence(escaped(says)), 116))
    return f"{HEAD}/**\n{words}\n */\npublic enum {name} {{\n{lines}\n}}\n"


def enums() -> Iterator[tuple[str, str]]:
    """Name and text, of every enum that an option has."""
    for option in (*shared_options(), *(each for rule in typed_rules() for each in own_options(rule))):
        if option.kind == "choice":
            name = capitalized(option.enum)
            yield name, enum_text(name, option.values, option.meaning)


def struct_rules() -> str:
    """The class of what makes optimizers of structs."""
    prefix = "gradstep_optimizer_create_"
    factories = []
    for found in read(INCLUDE):
        rule = found.name.removeprefix(prefix)
        if isinstance(found, Function) and f" gradstep_{rule}_options*" in found.arguments and rule != found.name:
            name = rust_types.capitalized(rule)
            call = name[:1].lower() + name[1:]
            factories.append(FACTORY.replace("@TYPE@", name).replace("@CALL@", call).replace("@RULE@", rule))
    return STRUCTS.replace("@FACTORIES@", "\n".join(factories))


def generated() -> dict[Path, str]:
    rules = typed_rules()
    shared = SHARED.replace("@SETTERS@", "\n".join(setter(each, "B") for each in shared_options()))
    texts = {"RuleOptions": HEAD + shared, "StructRules": struct_rules(), **dict(enums())}
    texts |= {f"{words_of(rule)}Options": rule_text(rule) for rule in rules}
    return {FOLDER / f"{name}.java": text for name, text in texts.items()}
