# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""docs/names.md: what each function of the C API is called in the other languages, read from the bindings' sources."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from c_headers import INLINE, Function, read

from generators.choosing_page import paragraph
from generators.places import INCLUDE, ROOT

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
# What a language does by itself when a handle goes, and helpers that only C needs.
LEFT_OUT = re.compile(
    r"_(options_init|destroy|struct_init|init|name|list_\w+|(save|load)(_file)?|create(_\w+)?|\w*last_error|abi_version"
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

    def calls(self) -> Iterator[tuple[str, str]]:
        """Each function of C that is called, without its prefix, and the public definition there; "" for others."""
        for file in self.files:
            owner = name = ""
            for line in file.read_text().splitlines():
                if re.match(self.comment, line):
                    continue
                method, is_owner = first_match(self.methods, line), first_match(self.owners, line)
                if is_owner:
                    owner, name = is_owner, ""
                elif method is not None and not line[0].isspace():
                    owner = ""  # a function of its own
                name = name if method is None else method
                if method and not name.startswith("_"):
                    yield "", f"{owner}{self.separator}{name}" if owner not in ("", name) else name
                for function in re.findall(self.call, line):
                    if name and not name.startswith("_"):
                        yield function, f"{owner}{self.separator}{name}" if owner not in ("", name) else name


def first_match(patterns: tuple[str, ...], line: str) -> str | None:
    """The name in a line, "" if it is private, None if no pattern fits."""
    return next((found["name"] or "" for pattern in patterns if (found := re.match(pattern, line))), None)


def sources(folder: str, suffix: str) -> list[Path]:
    return sorted((BINDINGS / folder).rglob(f"*{suffix}"))


LANGUAGES = (
    Language(
        "C++",
        sources("cpp/include/gradstep", ".hpp"),
        r"\bgradstep_(\w+?)(?=[(,>])",
        (r"(?:class|struct) (?P<name>\w+)[^;]*$", r"inline [\w:<>]+ (?P<name>\w+)::\w+\("),
        (
            r"  (?! |return|check|if|for|while)(?:\[\[nodiscard\]\] |static |explicit )*(?:[\w:<>*&]+ )*"
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


def names_of(language: Language) -> dict[str, list[str]]:
    exported = public_julia() if language.title == "Julia" else None
    found: dict[str, list[str]] = {}
    for function, name in language.calls():
        if exported is not None and name not in exported:
            continue
        names = found.setdefault(function.removesuffix("_ex"), [])
        if name not in names:
            names.append(name)
    defined = {plain(name): name for name in found.pop("", [])}
    for function in functions():
        handle, _, call = function.partition("_")
        # What goes through a private function has the name that it has in C.
        names = [plain(f"{TOPICS.get(handle, '')}{call}"), plain(call)]
        if function not in found and (same := next((defined[name] for name in names if name in defined), None)):
            found[function] = [same]
    return found


def plain(name: str) -> str:
    """A name without what its language's style adds to it."""
    return re.sub(r"[_:.!]", "", name).lower()


def page() -> Iterator[str]:
    yield "# Names in each language"
    yield ""
    yield "<!-- Written by scripts/generate from the C headers and the bindings' sources. -->"
    yield ""
    yield paragraph("""The name of each call of the C API in the other languages. A cell is empty where a language needs
        no such call, or makes it inside another one. Not listed are calls that have one name everywhere: constructors,
        `save` and `load`. A row has at most two names of a language. [rules.md](rules.md) has the names of rules and
        options.""")
    known = {language.title: names_of(language) for language in LANGUAGES}
    listed = functions()
    for topic in [*TOPICS.values(), "Other"]:
        rows = [
            name for name, each in listed.items() if each == topic and any(name in names for names in known.values())
        ]
        if not rows:
            continue
        yield from ("", f"## {topic}", "")
        yield f"| C | {' | '.join(known)} |"
        yield "|---" * (len(known) + 1) + "|"
        for name in rows:
            cells = [", ".join(f"`{each}`" for each in names.get(name, [])[:2]) for names in known.values()]
            yield f"| `gradstep_{name}` | {' | '.join(cells)} |"


def generated() -> str:
    return "\n".join(page()) + "\n"
