# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""docs/names.md: what each function of the C API is called in the other languages, read from the bindings' sources.

A function has one name in all of them, in each one's casing. OTHER_NAMES has the cells where it is another one, and
why; the page is not written while a binding uses a name that is not there. SPELLED and TYPES have calls and types that
most languages name in their own way.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from c_headers import INLINE, Enum, Function, read, shared_prefix

from generators.choosing_page import paragraph
from generators.cpp_options import LEFT_OUT as NO_ENUMS
from generators.cpp_options import class_name
from generators.java_options import java_name
from generators.places import INCLUDE, ROOT
from generators.rust_types import type_name

OUTPUT = ROOT / "docs" / "names.md"
BINDINGS = ROOT / "bindings"
# Handles and topics of the C API, by what its functions begin with; longer ones first.
TOPICS = {
    "accumulator": "Accumulator",
    "optimizer": "Optimizer",
    "comm": "Communicator",
    "reducer": "Reducer",
    "updater": "Updater",
    "rendezvous": "Rendezvous",
    "rule": "Rules",
    "predict": "Planner",
    "backend": "Devices",
}
HANDLES = ("Accumulator", "Optimizer", "Communicator", "Reducer", "Updater")
# What other languages call a function; others are called as in C, without their handle.
NAMES = {
    "comm_stats": ("statistics",),
    "comm_status": ("error",),
    "optimizer_attach_comm": ("shard", "unshard"),
    "optimizer_attach_reducer": ("shard",),
    "reducer_comm_stats": ("comm_statistics",),
    "reducer_stats": ("bucket_statistics",),
    "updater_stats": ("statistics",),
    "rendezvous_pending": ("pending",),
    "rule_count": ("describe_rules",),
    "rule_describe": ("describe_rules",),
    "rule_options": ("describe_rules",),
    "rule_define": ("define_rule",),
    "rule_state_bytes": ("state_bytes",),
    "backend_load": ("load_backend",),
    "cost_options_measure": ("measure_costs",),
    "schedule_value": ("value",),
    "version_string": ("version",),
}
# Cells with another name, or with none, and why.
OTHER_NAMES = {
    ("optimizer_set_schedule", "C++"): ("Optimizer::set_value", "takes a schedule, too"),
    ("optimizer_set_schedule", "Python"): ("Optimizer.set_value", "takes a schedule, too"),
    ("optimizer_set_schedule", "Julia"): ("set_value!", "takes a schedule, too"),
    ("optimizer_set_step_count", "Python"): ("Optimizer.step_count", "a property"),
    ("optimizer_update", "Julia"): ("updates!", "`update!` steps, as that of Optimisers.jl does"),
    ("optimizer_state", "Julia"): ("", "state is copied, by `get_state`"),
    ("comm_wrap_mpi", "Python"): ("Communicator.mpi", "takes a communicator of mpi4py, or is of all ranks of the job"),
    ("comm_wrap_mpi", "Julia"): ("mpi_communicator", "takes the address of an MPI_Comm, or is of all ranks of the job"),
    ("comm_attach_nccl", "Julia"): ("", "communicators are those of the host"),
    ("comm_status", "Julia"): ("broken_by", "`error` is a function of Base, which throws"),
    ("reducer_wait", "Java"): ("Reducer.await", "every object has a `wait`, of its monitor"),
    ("predict_costs", "Python"): ("plan.predict", "says the break-even bandwidths, too"),
    ("predict_costs", "Rust"): ("CostOptions::predict", "a method of its options"),
    ("predict_costs", "Java"): ("Cost.predict", "a function belongs to a class: that of its results"),
    ("cost_options_measure", "Rust"): ("CostOptions::measure", "a method of the options that it fills in"),
    ("cost_options_measure", "Java"): ("Cost.measure", "a function belongs to a class"),
    ("schedule_value", "C++"): ("Schedule::operator()", "a schedule is called"),
    ("schedule_value", "Julia"): ("(::Schedule)(t)", "a schedule is called"),
}
# What other languages make of several calls of C or of none, by what C has instead.
FURTHER = {
    '`"rmsprop"`': ("RmsPropOptions", "RMSProp", "RmsProp", "RmsPropOptions", "RMSProp"),
    '`"adamw"`': ("AdamWOptions", "AdamW", "AdamW", "AdamWOptions", "AdamW"),
    "Shampoo's options by those of AdamW": (
        "shampoo_from_adamw",
        "Shampoo.from_adamw",
        "Shampoo::from_adamw",
        "ShampooOptions.fromAdamW",
        "shampoo_from_adamw",
    ),
    "`gradstep_comm_create` with rank -1": (
        "Communicator::from_environment",
        "Communicator.from_environment",
        "Communicator::from_environment",
        "Communicator.fromEnvironment",
        "from_environment",
    ),
    "`whole_shape` and `offset` of a `gradstep_parameter`: [a part of a parameter](how_to/own_shards.md)": (
        "Parameter::whole_shape",
        "Optimizer.of_parts",
        "Parameter::part_of",
        "Parameter.partOf",
        "setup(...; parts)",
    ),
}
# Calls that several languages spell in their own way, by what C has: a cell for each language, and why.
SPELLED = {
    '`gradstep_comm_create`, engine "self"': (
        (
            "`Communicator`",
            "`Communicator.self`",
            "`Communicator::alone`",
            "`Communicator.connect`",
            "`self_communicator`",
        ),
        "`self` is a keyword in Rust; C++ and Java name the engine",
    ),
    "`gradstep_comm_create_local`": (
        (
            "`Communicator::local`",
            "`Communicator.local`",
            "`Communicator::local`",
            "`Communicator.local`",
            "`local_communicators`",
        ),
        "a function of Julia belongs to no type, and `local` is a keyword there",
    ),
    "`gradstep_comm_create_host`": (
        (
            "`Communicator::host`",
            "`Communicator.host`",
            "`Communicator::host`",
            "`Communicator.host`",
            "`host_communicator`",
        ),
        "a function of Julia belongs to no type",
    ),
    '`gradstep_comm_create`, engine "nccl"': (
        ("`Communicator`", "`Communicator.nccl`", "`Communicator::connect`", "`Communicator.connect`", ""),
        "the engine is an option; Julia's communicators are those of the host",
    ),
    "`gradstep_comm_create`, other engines": (
        (
            "`Communicator`",
            "`Communicator.connect`, `Communicator.shm`, `Communicator.gloo`",
            "`Communicator::connect`",
            "`Communicator.connect`",
            "`connect`",
        ),
        "a constructor in C++; Python has the options of an engine in a method for each",
    ),
    "`gradstep_optimizer_save_file`; other handles alike": (
        ("`save_file`", "`save`", "`save`", "`save`", "`save`"),
        "by path; `save` of C++ takes a stream",
    ),
    "`gradstep_optimizer_load_file`; other handles alike": (
        ("`load_file`", "`load`", "`load`", "`load`", "`load!`"),
        "by path; functions of Julia that change what they take end in `!`",
    ),
    "`gradstep_optimizer_save`; other handles alike": (
        ("`save`", "`save`", "`save_to`", "`save`", "`save`"),
        "by stream; Rust has no overloads",
    ),
    "`gradstep_optimizer_load`; other handles alike": (
        ("`load`", "`load`", "`load_from`", "`load`", "`load!`"),
        "by stream",
    ),
}
# Types with several names. Java has no aliases: a renamed class breaks every program that uses it.
TYPES = {
    "`gradstep_comm_options`": (
        (
            "`CommOptions`, `ConnectOptions`",
            "keyword arguments",
            "`Connect`, `CommOptions`",
            "`CommunicatorOptions`",
            "keyword arguments",
        ),
        "C++ and Rust have a second type for ranks that are connected already; Java has no alias for another name",
    ),
    "`gradstep_comm_statistics`": (
        (
            "`CommStatistics`",
            "`CommunicatorStatistics`",
            "`CommStatistics`",
            "`CommunicatorStatistics`",
            "a named tuple",
        ),
        "Java has no alias; Python goes with it",
    ),
    "`gradstep_dtype`": (
        ("`Dtype`", "that of the array", "`Dtype`", "`DType`", "that of the array"),
        "Java has no alias",
    ),
    "`gradstep_option_kind`": (
        ("`OptionKind`", "a word", "`OptionKind`", "`RuleDescription.Kind`", "a word"),
        "a class inside the one that has it",
    ),
}
# What a language does by itself when a handle goes, and helpers that only C needs.
LEFT_OUT = re.compile(
    r"(?<!backend)_(options_init|destroy|struct_init|init|name|list_\w+|(save|load)(_file)?|create(_\w+)?|\w*last_error|abi_version"
    r"|(sgd|rmsprop|adagrad|adam|shampoo)_state_bytes)$"
)


@dataclass
class Language:
    """Where a binding's sources are, how they name a function of C, and what its definitions look like."""

    title: str
    files: list[Path]
    call: str
    owners: tuple[str, ...]
    methods: tuple[str, ...]
    comment: str = r"\s*(//|\*|/\*)"
    separator: str = "."
    modules: tuple[str, ...] = ()  # whose functions are called by the module's name, too

    def calls(self) -> Iterator[tuple[str, str]]:
        """Each function of C that is called, without its prefix, and the public definition there; "" for others."""
        for file in self.files:
            module = file.stem if file.stem in self.modules else ""
            owner = name = ""
            for line in file.read_text().splitlines():
                if re.match(self.comment, line):
                    continue
                if line == " private:":
                    owner = name = "_"
                found, is_owner = first_match(self.methods, line), first_match(self.owners, line)
                if is_owner:
                    owner, name = is_owner, ""
                elif found is not None and not line[0].isspace():
                    owner = module  # a function of its own
                name = name if found is None else found
                if not name or "_" in (owner, name[0]):
                    continue
                called = f"{PUBLIC.get(owner, owner)}{self.separator}{name}" if owner not in ("", name) else name
                if found:
                    yield "", called
                for function in re.findall(self.call, line):
                    yield function, called


# Classes that users see as another one.
PUBLIC = {"NamedOptimizer": "Optimizer"}


def first_match(patterns: tuple[str, ...], line: str) -> str | None:
    """The name in a line, "" if it is private, None if no pattern fits."""
    return next((found["name"] or "" for pattern in patterns if (found := re.match(pattern, line))), None)


def sources(folder: str, suffix: str) -> list[Path]:
    return sorted((BINDINGS / folder).rglob(f"*{suffix}"))


LANGUAGES = (
    Language(
        "C++",
        sources("cpp/include/gradstep", ".hpp"),
        r"\bgradstep_(\w+?)(?=[(),>])",
        (r"(?:class|struct) (?P<name>\w+)[^;]*$", r"inline [\w:<>]+ (?P<name>\w+)::\w+\("),
        (
            r"  (?! |return|check|if|for|while)(?!.*\);$)(?:\[\[nodiscard\]\] |static |explicit )*(?:[\w:<>*&]+ )*"
            r"(?P<name>\w+)\(",
            r"inline [\w:<>]+ \w+::(?P<name>\w+)\(",
            r"inline [\w:<>]+ (?P<name>\w+)\(",
        ),
        separator="::",
    ),
    Language(
        "Python",
        sources("python/gradstep", ".py"),
        r"\b_native\.(\w+)",
        (r"class (?P<name>\w+)",),
        (r"(?:    )?def (?P<name>\w+)\(",),
        comment=r"\s*#",
        modules=("plan", "trace"),
    ),
    Language(
        "Rust",
        sources("rust/gradstep/src", ".rs"),
        r"(?:sys::|= )gradstep_(\w+)",
        (r"impl(?:<.*?>)? (?:\w+(?:<.*?>)? for )?(?P<name>\w+)", r"    (?P<name>[A-Z]\w+) \{$"),
        (
            r"\s*pub (?:unsafe )?fn (?P<name>\w+)",
            r"\s+(?P<name>\w+) -> .* = gradstep_",
            r"\s*(?:pub\(\w+\) )?(?:unsafe )?fn \w+(?P<name>)",
        ),
        separator="::",
        modules=("trace",),
    ),
    Language(
        "Java",
        sources("java/gradstep/src/main/java/org/gradstep", ".java"),
        r"\bcore(?:\.|::)(\w+)",
        (r"(?:public |final |abstract |sealed )*(?:class|record|interface) (?P<name>\w+)",),
        (
            r"  public (?:static |final |synchronized )*(?:<\w+> )?(?:[\w<>\[\], ?.]+ )?(?P<name>\w+)\(",
            r"  (?! |public|return)[\w<>\[\], ?.]+ \w+\((?P<name>)",
        ),
    ),
    Language(
        "Julia",
        sources("julia/Gradstep.jl/src", ".jl"),
        r"\bC\.gradstep_(\w+)",
        (),
        (r"(?:function )?(?:Base\.)?(?P<name>\w+!?)\(",),
        comment=r"\s*#",
    ),
)


def public_julia() -> set[str]:
    """What Gradstep.jl exports, and the functions of Base that have methods there."""
    texts = [file.read_text() for file in sources("julia/Gradstep.jl/src", ".jl")]
    lists = [each for text in texts for each in re.findall(r"^export ((?:.*,\n)*.*)$", text, re.MULTILINE)]
    of_base = {name for text in texts for name in re.findall(r"^(?:function )?Base\.(\w+!?)\(", text, re.MULTILINE)}
    return {name.strip() for each in lists for name in each.replace("\n", " ").split(",")} | of_base


def functions() -> dict[str, str]:
    """The functions that a host calls, without prefix, and their topic; a form that grew (_ex) counts as the first."""
    found = {}
    for each in read(INCLUDE):
        if isinstance(each, Function) and each.header not in INLINE and not LEFT_OUT.search(each.name):
            name = each.name.removeprefix("gradstep_")
            topic = next((title for start, title in TOPICS.items() if name.startswith(start)), "Other")
            found.setdefault(name.removesuffix("_ex"), topic)
    return found


def names_of(language: Language, listed: dict[str, str]) -> dict[str, list[str]]:
    """The names of each function of C."""
    exported = public_julia() if language.title == "Julia" else None
    calling: dict[str, list[str]] = {}
    for function, name in language.calls():
        names = calling.setdefault(function.removesuffix("_ex"), [])
        if name not in names and (exported is None or name in exported):
            names.append(name)
    defined = calling.pop("")
    return {function: cell(language, function, calling.get(function, []), defined) for function in listed}


def cell(language: Language, function: str, calling: list[str], defined: list[str]) -> list[str]:
    """The names of a function, of those whose definitions call it, or of all that are defined."""
    if other := OTHER_NAMES.get((function, language.title)):
        return [other[0]] if other[0] else []
    handle, _, call = function.partition("_")
    owner = TOPICS.get(handle, "")
    wanted = NAMES.get(function, (call if owner in HANDLES else function,))
    named = [
        name
        for name in calling
        if plain(name) == plain(function) or any(is_form_of(name, plain(each)) for each in wanted)
    ]
    # What goes through a private function.
    same = [name for name in defined if method(name) in map(plain, wanted)]
    if owner in HANDLES:
        same = [name for name in same if owner_of(name) == owner] or [name for name in same if not owner_of(name)]
        found = list(dict.fromkeys([*same, *named]))
    else:
        found = named or same[:1]
    if not found:
        raise SystemExit(
            f"names_page: {language.title} calls gradstep_{function} {calling or 'nothing'}, expected {wanted[0]}: "
            "rename it, or say in OTHER_NAMES why not"
        )
    return found


def owner_of(name: str) -> str:
    """ "" of a function."""
    return "".join(re.split(r"::|\.", name)[:-1])


def method(name: str) -> str:
    return plain(re.split(r"::|\.", name)[-1])


def is_form_of(name: str, wanted: str) -> bool:
    """Whether that is the name, with more words, or with fewer, as an overload has."""
    return plain(name) == wanted or method(name).startswith(wanted) or wanted.startswith(method(name))


def plain(name: str) -> str:
    """A name without what its language's style adds to it."""
    return re.sub(r"[_:.!]", "", name).lower()


def check_further() -> None:
    """Each name stands in a source of its language."""
    rows = [[code(name) for name in names] for names in FURTHER.values()]
    rows += [list(names) for names, _ in (*SPELLED.values(), *TYPES.values())]
    for language, each in (pair for row in rows for pair in zip(LANGUAGES, row, strict=True)):
        for name in re.findall(r"`(.+?)`", each):
            last = re.escape(re.findall(r"[\w!]+", name)[-1])
            if not any(re.search(rf"\b{last}(?!\w)", file.read_text()) for file in language.files):
                raise SystemExit(f"names_page: {language.title} has no {name}")


def enums() -> Iterator[str]:
    """A row for each enum: its name in C, that of the languages with types, its words."""
    for each in read(INCLUDE):
        if isinstance(each, Enum) and each.name not in NO_ENUMS and f"`{each.name}`" not in TYPES:
            names = {class_name(each.name), type_name(each.name), java_name(each.name)}
            if len(names) > 1:
                raise SystemExit(f"names_page: {each.name} has several names: {', '.join(sorted(names))}")
            prefix = shared_prefix(each.enumerators)
            words = [word.removeprefix(prefix).lower() for word in each.enumerators if not word.endswith("_INVALID")]
            yield f"| `{each.name}` | `{names.pop()}` | {', '.join(words)} |"


def table(rows: dict[str, tuple[tuple[str, ...], str]]) -> Iterator[str]:
    yield f"| C | {' | '.join(language.title for language in LANGUAGES)} | why |"
    yield "|---" * (len(LANGUAGES) + 2) + "|"
    for what, (names, why) in rows.items():
        yield f"| {what} | {' | '.join(names)} | {why} |"


def code(name: str) -> str:
    return f"`{name}`" if name else ""


def page() -> Iterator[str]:
    yield "# Names in each language"
    yield ""
    yield "<!-- Written by scripts/generate from the C headers and the bindings' sources. -->"
    yield ""
    yield paragraph("""The name of each call of the C API in the other languages. A call has one name in all of them,
        in the language's own casing; [below](#other-names) are the exceptions, and why. A cell is empty where a
        language makes no such call. A handle is made by the constructor of its type, an optimizer also by a function
        ([by name](handles/optimizer.md#by-name)); communicators, `save` and `load` have
        [several names](#other-names). A row has at most two names of a language. [rules.md](rules.md) has the names of
        rules and options.""")
    titles = [language.title for language in LANGUAGES]
    listed = functions()
    known = {language.title: names_of(language, listed) for language in LANGUAGES}
    for topic in [*dict.fromkeys(TOPICS.values()), "Other"]:
        yield from ("", f"## {topic}", "")
        yield f"| C | {' | '.join(titles)} |"
        yield "|---" * (len(titles) + 1) + "|"
        for name in (name for name, each in listed.items() if each == topic):
            cells = [", ".join(map(code, known[title][name][:2])) for title in titles]
            yield f"| `gradstep_{name}` | {' | '.join(cells)} |"
    check_further()
    yield from ("", "## More", "")
    yield f"| C | {' | '.join(titles)} |"
    yield "|---" * (len(titles) + 1) + "|"
    for what, names in FURTHER.items():
        yield f"| {what} | {' | '.join(map(code, names))} |"
    yield from ("", "## Enums", "")
    yield paragraph("""C++, Rust and Java have one name for each enum. `GRADSTEP_REDUCER_SPARSE_TOPK` of C is
        `ReducerMode::kSparseTopK` in C++, `ReducerMode::SparseTopK` in Rust and `ReducerMode.SPARSE_TOPK` in Java.
        Python takes the word as a string, `"sparse_topk"`, Julia as a symbol, `:sparse_topk`.""")
    yield from ("", "| C | C++, Rust, Java | words |", "|---|---|---|", *enums())
    yield from ("", "## Other names", "", "Calls:", "", *table(SPELLED))
    yield from ("", "Types:", "", *table(TYPES))
    yield from ("", "Calls that one language names in its own way:", "")
    yield from ("| C | language | name | why |", "|---|---|---|---|")
    for (function, title), (name, why) in OTHER_NAMES.items():
        yield f"| `gradstep_{function}` | {title} | {code(name)} | {why} |"


def generated() -> str:
    return "\n".join(page()) + "\n"
