# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Enums and options in Java, from the public C headers: an enum for each enum that a field or a result has, and for
each options struct an immutable class with a builder of booleans, those enums, numbers and durations.
"""

import re
from pathlib import Path

from c_headers import Declaration, Enum, Struct, member_comments, read, shared_prefix

from generators.cpp_options import BY_HAND as IN_CPP_BY_HAND
from generators.cpp_options import HANDLES, class_name
from generators.places import INCLUDE, ROOT
from generators.rules import wrapped
from generators.rust_types import RULES, ended, fields_of, header_text

FOLDER = ROOT / "bindings" / "java" / "gradstep" / "src" / "main" / "java" / "org" / "gradstep"
HEAD = """\
// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from @SOURCE@.
package org.gradstep;

"""
HEAD_OF_HEADERS = HEAD.replace("@SOURCE@", "include/c_api/gradstep")
ENUM = """\
@ABOUT@
public enum @NAME@ {
@ENUMERATORS@

  final int code;

  @NAME@(int code) {
    this.code = code;
  }
@OF@}
"""
OF = """
  static @NAME@ of(long code) {
    for (@NAME@ each : values()) {
      if (each.code == code) {
        return each;
      }
    }
    throw new IllegalArgumentException("@NAME@: " + code + " is unknown");
  }
"""
OPTIONS = """\
@ABOUT@
public final class @NAME@ extends @BASE@ {
@MEMBERS@
  /**
   * Begins with @BEGIN@.
   *
@PARAMS@   * @return the builder
   */
  public static Builder builder(@REQUIRED@) {
    return new Builder()@GIVEN@;
  }

  /** Collects options; what is not given has the library's default. */
  public static final class Builder {
    private final Settings<@NAME@Struct> settings = new Settings<>();

    private Builder() {}

    /**
     * The options as they are now.
     *
     * @return immutable
     */
    public @NAME@ build() {
      return new @NAME@(settings);
    }
@SETTERS@
  }
}
"""
STRUCT = """\
  private @NAME@(Settings<@NAME@Struct> given) {
    super(given, @NAME@Struct::new);
  }
"""
SHAMPOO = """\
  private final Settings<ShampooOptionsStruct> settings;

  private ShampooOptions(Settings<ShampooOptionsStruct> given) {
    super(given.values());
    settings = given.copy();
  }

  @Override
  long create(long context, long parameters, long n) {
    return core.optimizer_create_shampoo(context, settings.write(new ShampooOptionsStruct()), parameters, n);
  }

  @Override
  long stateBytes(long parameters, long n) {
    return core.shampoo_state_bytes(settings.write(new ShampooOptionsStruct()), parameters, n);
  }

  /**
   * Begins with Shampoo in the place of a tuned AdamW, by its learning rate, betas, epsilon and decay: a step keeps
   * AdamW's length, and only its direction is another. With eigenvalueCorrected the rule is SOAP.
   *
   * @param adamw its learning rate, betas, epsilon and decay are read, no other option
   * @return the builder, with which other options may be given
   */
  public static Builder fromAdamW(AdamWOptions adamw) {
    double beta2 = value(adamw, "beta2", 0.999);
    return builder((double) adamw.options().get("learning_rate"))
        .beta1(value(adamw, "beta1", 0.9))
        .beta2(beta2)
        .diagonalEpsilon(value(adamw, "epsilon", 1e-8))
        .weightDecay(value(adamw, "weight_decay", 0))
        .graftBeta1(0)
        .graftBeta2(beta2)
        .graftType(GraftType.ADAM)
        .decoupledWeightDecay(true)
        .movingAverageForMomentum(true)
        .nesterov(false);
  }

  private static double value(AdamWOptions adamw, String name, double initial) {
    return (double) adamw.options().getOrDefault(name, initial);
  }
"""
SETTER = """
    /**
@WORDS@
     *
     * @param @NAME@ the new one
     * @return this
     */
    public Builder @NAME@(@TYPE@ @NAME@) {
      settings.put("@NAME@", @NAME@,@SPACE@struct -> @WRITE@);
      return this;
    }"""
CANDIDATES = """
    /**
     * What mode AUTO chooses from; all by default.
     *
     * @param modes the candidates
     * @param hosts whether sums by hosts are candidates, too
     * @return this
     */
    public Builder candidates(Set<ReducerMode> modes, boolean hosts) {
      int flags = hosts ? core.CANDIDATE_HOSTS : 0;
      for (ReducerMode mode : Handle.present(modes, "modes")) {
        flags |= 1 << mode.code;
      }
      int all = flags;
      settings.put("candidates", Set.copyOf(modes), struct -> struct.setCandidates(all));
      settings.put("candidate hosts", hosts, struct -> {}); // to be shown: setCandidates has it
      return this;
    }"""
TYPES = {"double": "double", "int64_t": "long", "int32_t": "int"}
# Enums of no use here: the first three are behind DType, Parameter and Schedule, the others are written by hand.
LEFT_OUT = {"gradstep_type_code", "gradstep_parameter_flags", "gradstep_schedule_kind", "gradstep_candidate_flags",
            "gradstep_option_kind", "gradstep_reduce_op"}  # fmt: skip
# Enums that results of the library have.
RESULTS = {"gradstep_cost_algorithm", "gradstep_device_type", "gradstep_exchange_algorithm", "gradstep_log_level",
           "gradstep_reducer_mode", "gradstep_status_code"}  # fmt: skip
OWNERS = {
    "gradstep_accumulator_options": "Accumulator",
    "gradstep_comm_options": "Communicator",
    "gradstep_cost_options": "Cost#predict",
    "gradstep_load_options": "StatefulHandle#load(java.nio.file.Path, LoadOptions)",
    "gradstep_reducer_options": "Reducer",
    "gradstep_sharding_options": "Optimizer#shard",
    "gradstep_updater_options": "Updater",
}
# Enums that no option has.
USERS = {
    "gradstep_cost_algorithm": "Ways of {@link Cost}.",
    "gradstep_device_type": "Kinds of {@link Device}.",
    "gradstep_exchange_algorithm": "Ways of {@link BucketStatistics}.",
    "gradstep_log_level": "Levels of {@link Context.Log}.",
    "gradstep_status_code": "Reasons of {@link GradstepException}.",
}
NAMES = {
    "gradstep_comm_options": "CommunicatorOptions",
    "gradstep_status_code": "Status",
}
# Fields that are arguments of what takes the options.
ARGUMENTS = {"id_len", "store", "store_path", "engine", "id", "network_interface"}
BY_HAND = IN_CPP_BY_HAND - {"gradstep_comm_options"}


def java_name(c_name: str) -> str:
    return NAMES.get(c_name) or class_name(c_name)


def camel(name: str) -> str:
    words = class_name(name)
    return words[:1].lower() + words[1:]


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")


def commented(text: str, indent: str) -> str:
    """The lines of a Javadoc comment, without its frame."""
    return "\n".join(f"{indent} * {line}" for line in wrapped(text, 114 - len(indent)))


def comment_of(text: str, indent: str = "") -> str:
    short = f"{indent}/** {text} */"
    return short if len(short) <= 116 else f"{indent}/**\n{commented(text, indent)}\n{indent} */"


def filled(template: str, words: dict[str, str]) -> str:
    for key, value in words.items():
        template = template.replace(f"@{key}@", value)
    return template


def linked(text: str) -> str:
    """Javadoc of the words of a C header: its enums and structs are links, its constants have no prefix."""
    text = re.sub(r"\[`(\w+)`\]", r"{@link \1}", escaped(text).replace("GRADSTEP_", ""))
    text = re.sub(r"enum (gradstep_\w+)", lambda found: f"{{@link {java_name(found[1])}}}", text)
    return re.sub(r"`([^`]*)`", r"{@code \1}", text)


def in_java(text: str) -> str:
    """As a sentence, with fields by their names in Java."""
    text = ended(re.sub(r"^of (\w+):", r"for \1:", text).replace("not set by init", "must be given"))
    text = re.sub(r"(?<=\. )[a-z](?=[a-z])", lambda found: found[0].upper(), text)
    if re.match(r"a [a-z]|[a-z]+-[a-z]", text):
        text = text[0].upper() + text[1:]
    return re.sub(r"\b[a-z][a-z0-9]*(_[a-z0-9]+)+\b", lambda found: java_word(found[0]), text)


def java_word(word: str) -> str:
    return f"`{word}`" if word.startswith("gradstep_") else camel(word)


def user_of(enum: str) -> str:
    """The setter that takes an enum, or what else it is of."""
    for found in read(INCLUDE):
        if isinstance(found, Struct) and found.name.endswith("_options") and found.name not in BY_HAND:
            for name, _, word, _ in fields_of(found):
                if word == enum:
                    return f"Choices of {{@link {java_name(found.name)}.Builder#{camel(name)}}}."
    return USERS[enum]


def about(found: Declaration) -> str:
    """The first paragraph of a comment that is a declaration's own, or whose it is."""
    paragraph = " ".join(found.comment.split("\n\n")[0].split()) if len(found.family) == 1 else ""
    if paragraph.endswith("."):
        return linked(paragraph)
    return user_of(found.name) if isinstance(found, Enum) else f"Options of {{@link {OWNERS[found.name]}}}."


def enum_text(found: Enum) -> str:
    name, prefix = java_name(found.name), shared_prefix(found.enumerators)
    comments = member_comments(header_text(found.header), found)
    lines = []
    for each in found.enumerators:
        if not each.endswith("_INVALID"):
            word = each.removeprefix(prefix).removeprefix("ERR_")
            comment = linked(in_java(comments[each] or word.lower().replace("_", " ")))
            lines.append(f"{comment_of(comment, '  ')}\n  {word}(core.{each.removeprefix('GRADSTEP_')})")
    words = {
        "ABOUT": comment_of(about(found)),
        "ENUMERATORS": ",\n".join(lines) + ";",
        "OF": OF if found.name in RESULTS else "",
        "NAME": name,
    }
    return filled(HEAD_OF_HEADERS + ENUM, words)


def setter(name: str, c_type: str, word: str | None, comment: str) -> str:
    java = camel(name)
    write = f"struct.set{class_name(name)}"
    if name == "candidates":
        return CANDIDATES
    if name == "timeout_ms":
        java, kind, write = "timeout", "Duration", f"{write}(timeout.toMillis())"
        comment = "The limit of every call; above 0, default 30 seconds"
    elif c_type == "const gradstep_schedule*":
        kind, write = "Schedule", "{}"
    elif c_type == "gradstep_dtype":
        kind, write = "DType", f"core.set_sum_dtype(struct, {java}.code, {java}.bits)"
        comment = "F32 or F64, of all sums; without it F32, and F64 for gradients of F64"
    elif word == "bool":
        kind, write = "boolean", f"{write}({java} ? 1 : 0)"
    elif word:
        kind, write = java_name(word), f"{write}({java}.code)"
    else:
        kind, write = TYPES[c_type], f"{write}({java})"
    is_long = 2 * len(java) + len(write) > 76
    words = commented(linked(in_java(comment)), "    ")
    return filled(
        SETTER,
        {"WORDS": words, "NAME": java, "TYPE": kind, "WRITE": write, "SPACE": "\n          " if is_long else " "},
    )


def options_text(found: Struct) -> str:
    name = java_name(found.name)
    is_rule = found.name == "gradstep_shampoo_options"
    fields = [each for each in fields_of(found) if each[0] not in ARGUMENTS and each[1] not in HANDLES]
    setters = "\n".join(setter(*each) for each in fields)
    imports = {"java.time.Duration"} if "Duration" in setters else set()
    imports |= {"java.util.Set"} if "Set<" in setters else set()
    words = {
        "ABOUT": comment_of(about(found) + " Immutable."),
        "BASE": "OptimizerOptions" if is_rule else "StructOptions<@NAME@Struct>",
        "MEMBERS": SHAMPOO if is_rule else STRUCT,
        "BEGIN": "what must be given" if is_rule else "the defaults",
        "PARAMS": "   * @param learningRate step size\n" if is_rule else "",
        "REQUIRED": "double learningRate" if is_rule else "",
        "GIVEN": ".learningRate(learningRate)" if is_rule else "",
        "SETTERS": setters,
        "NAME": name,
    }
    imported = "".join(f"import {each};\n" for each in sorted(imports))
    return filled(HEAD_OF_HEADERS + imported + ("\n" if imported else "") + OPTIONS, words)


def generated() -> dict[Path, str]:
    texts = {}
    for found in read(INCLUDE):
        if isinstance(found, Enum) and found.name not in LEFT_OUT:
            texts[java_name(found.name)] = enum_text(found)
        elif isinstance(found, Struct) and found.name.endswith("_options") and found.name not in BY_HAND | RULES:
            texts[java_name(found.name)] = options_text(found)
    return {FOLDER / f"{name}.java": text for name, text in texts.items()}
