# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep/rules.h: for each rule a struct of its options, and inline functions that make an optimizer of it."""

from collections.abc import Iterator

from generators.places import INCLUDE, formatted
from generators.rules import (
    Option,
    Rule,
    own_enums,
    own_options,
    shared_options,
    shown,
    states_of,
    typed_rules,
    wrapped,
)

OUTPUT = INCLUDE / "gradstep" / "rules.h"
HEAD = """\
/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.h: structs for the options of rules that rule.h makes by name. Written by scripts/generate from src/rules.
 *
 *   gradstep_lion_options options = gradstep_lion_options_default();
 *   options.learning_rate = 1e-4;
 *   gradstep_optimizer_create_lion(context, &options, parameters, n, &optimizer);
 *
 * All functions here are inline. They are compiled into the host, and so are the structs: no function of the library
 * sees one, they have no struct_size, and a host is recompiled to use what a newer header adds. Ranges are checked by
 * the library, whose error names the option.
 *
 * gradstep_*_rule calls nothing of the library. It gives a gradstep_group_rule, for gradstep_optimizer_create_by_group,
 * gradstep_rule_state_bytes, and for hosts that have opened the library by dlopen, which call gradstep_optimizer_create
 * by the pointer that they have. gradstep_optimizer_create_* is such a call for hosts that are linked with the library;
 * where it is not used, this header needs no link. gradstep_table.h has none of this: its hosts give names and values.
 *
 * Fields that all rules have:
 *
@SHARED@
 */
#ifndef GRADSTEP_RULES_H
#define GRADSTEP_RULES_H

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "gradstep/rule.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Memory of the host for a rule's options by names and values, which gradstep_*_rule fills. It stays where it is while
 * they are in use. */
typedef struct gradstep_rule_buffer {
  gradstep_option options[@COUNT@];
  char seed[24];
} gradstep_rule_buffer;

static inline gradstep_option gradstep_rule_number(const char* name, double value) GRADSTEP_NOEXCEPT {
  const gradstep_option option = {name, value, NULL};
  return option;
}

static inline gradstep_option gradstep_rule_seed(int64_t seed, gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_option option = {"seed", 0, buffer->seed};
  snprintf(buffer->seed, sizeof buffer->seed, "%" PRId64, seed);
  return option;
}
"""
RULE = """
/*
 * @NAME@. Source: @SOURCE@.
 *
@FORMULA@
 *
 * @STATES@
 */
typedef struct gradstep_@NAME@_options {
@FIELDS@
} gradstep_@NAME@_options;

/* The defaults. What must be set becomes NaN, which create refuses. */
static inline gradstep_@NAME@_options gradstep_@NAME@_options_default(void) GRADSTEP_NOEXCEPT {
  const gradstep_@NAME@_options options = {@DEFAULTS@};
  return options;
}

/* The options by names and values, valid as long as the buffer. NULL = none is given. */
static inline gradstep_group_rule gradstep_@NAME@_rule(const gradstep_@NAME@_options* options,
    gradstep_rule_buffer* buffer) GRADSTEP_NOEXCEPT {
  const gradstep_group_rule rule = {"@NAME@", buffer->options, options == NULL ? 0U : @COUNT@U};
  if (options == NULL) return rule;
@ENTRIES@
  return rule;
}

/* gradstep_optimizer_create of these options, with its statuses. */
static inline gradstep_status gradstep_optimizer_create_@NAME@(gradstep_context* context,
    const gradstep_@NAME@_options* options, const gradstep_parameter* parameters, size_t n,
    gradstep_optimizer** out) GRADSTEP_NOEXCEPT {
  gradstep_rule_buffer buffer;
  const gradstep_group_rule rule = gradstep_@NAME@_rule(options, &buffer);
  return gradstep_optimizer_create(context, rule.rule, rule.options, rule.option_count, parameters, n, out);
}
"""
TAIL = """
#if defined(__cplusplus)
}
#endif

#endif
"""
TYPES = {"number": "double", "flag": "int32_t", "choice": "int32_t", "integer": "int64_t"}


def comment(option: Option, is_own: bool) -> str:
    kind = {"flag": "bool", "choice": f"enum gradstep_{option.enum}"}.get(option.kind, "")
    if not is_own:
        return kind
    if option.kind != "number":
        return f"{kind}: {option.meaning}"
    default = "must be set" if option.default is None else f"default {shown(option.default)}"
    return f"{', '.join(filter(None, [option.legal, default]))}: {option.meaning}"


def field_line(option: Option, is_own: bool) -> str:
    words = comment(option, is_own)
    return f"  {TYPES[option.kind]} {option.name};" + (f" /* {words} */" if words else "")


def entry(place: int, option: Option) -> str:
    given = f"options->{option.name}"
    made = f"seed({given}, buffer)" if option.kind == "integer" else f'number("{option.name}", {given})'
    return f"  buffer->options[{place}] = gradstep_rule_{made};"


def enum_lines(rule: Rule) -> Iterator[str]:
    for name, values in own_enums(rule).items():
        prefix = f"GRADSTEP_{name.upper()}_"
        yield f"\n/* Option of {rule['name']}. */"
        numbers = [f"{prefix}INVALID = -1", *(f"{prefix}{word.upper()} = {n}" for n, word in enumerate(values))]
        yield f"enum gradstep_{name} {{ {', '.join(numbers)} }};\n"


def rule_text(rule: Rule) -> str:
    own, shared = own_options(rule), shared_options()
    words = {
        "SOURCE": rule["source"],
        "FORMULA": "\n".join(f" *   {line}" for line in rule["formula"].splitlines()),
        "STATES": states_of(rule) or "No state.",
        "FIELDS": "\n".join([*(field_line(each, True) for each in own), *(field_line(each, False) for each in shared)]),
        "DEFAULTS": ", ".join("NAN" if each.default is None else shown(each.default) for each in own + shared),
        "ENTRIES": "\n".join(entry(*each) for each in enumerate(own + shared)),
        "COUNT": str(len(own + shared)),
        "NAME": rule["name"],
    }
    text = RULE
    for key, value in words.items():
        text = text.replace(f"@{key}@", value)
    return "\n".join(enum_lines(rule)) + text


def generated() -> str:
    rules, shared = [rule for rule in typed_rules() if "first_name" not in rule], shared_options()
    count = max(len(own_options(rule)) for rule in rules) + len(shared)
    says = "\n *\n".join(
        "\n".join(f" * {line}" for line in wrapped(f"{each.name}: {each.says()}.", 117)) for each in shared
    )
    text = HEAD.replace("@SHARED@", says).replace("@COUNT@", str(count))
    return formatted(text + "".join(rule_text(rule) for rule in rules) + TAIL, OUTPUT)
