#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: stage.py OUT

Makes the tree that Sphinx reads. Pages keep the places that they have in the repository, so that their links mean the
same there and on the site. A link to something that is no page gets one:

- to a public header of the library or their folder: the C reference, which is made here;
- to another folder: its README.md;
- to any other text file, and to what lies beside a linked README.md: a page that shows it.

Between the lines `<!-- tabs -->` and `<!-- end of tabs -->` each line that is bold as a whole begins a tab.

A link to nothing is an error. Anchors are Sphinx's to check.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"
sys.path.insert(0, str(ROOT / "scripts"))
import c_reference  # noqa: E402
from c_headers import INLINE  # noqa: E402

FENCE = re.compile(r"^(```+|~~~+).*?^\1 *$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<=\]\()(?P<target>[^)\s]+)(?=\))")
LANGUAGES = {
    ".c": "c", ".h": "c", ".cpp": "cpp", ".cu": "cuda", ".py": "python", ".rs": "rust", ".java": "java", ".jl": "julia",
    ".sh": "bash", ".toml": "toml", ".json": "json", ".yml": "yaml",
}  # fmt: skip
TABS = re.compile(r"^<!-- tabs -->\n(?P<inside>.*?)^<!-- end of tabs -->\n", re.DOTALL | re.MULTILINE)
TAB = re.compile(r"^\*\*(?P<title>[^*\n]+)\*\*\n", re.MULTILINE)
PICTURES = {".png", ".svg"}
HEADERS = PurePosixPath("include/c_api/gradstep")
C_REFERENCE = PurePosixPath("reference/c")


class Stage:
    def __init__(self, out: Path) -> None:
        self._out = out
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.split("\n")
        self._files = {PurePosixPath(file) for file in listed if file and (ROOT / file).is_file()}
        self._folders = {parent for file in self._files for parent in file.parents}
        self._staged: set[PurePosixPath] = set()
        self._shown: set[PurePosixPath] = set()
        self.faults: list[str] = []

    def page(self, path: PurePosixPath, place: PurePosixPath | None = None) -> None:
        """A Markdown file, with all that it links to; `place` is where it goes, unless where it lies."""
        if path in self._staged:
            return
        self._staged.add(path)
        place = place or path
        text = (ROOT / path).read_text()
        pieces, end = [], 0
        for fence in FENCE.finditer(text):
            is_directive = fence[0].lstrip("`").startswith("{")
            pieces += [self._relinked(text[end : fence.start()], path, place)]
            pieces += [self._present(fence[0]) if is_directive else fence[0]]
            end = fence.end()
        pieces.append(self._relinked(text[end:], path, place))
        if path.name == "README.md" and path.parent.parts[:1] == ("examples",) and len(path.parts) > 2:
            pieces.append(self._contents(path.parent))
        # What no toctree names is reached by links.
        front = "---\norphan: true\n---\n\n" * self._is_reached_by_links(place)
        self._write(place, front + TABS.sub(self._tabs, "".join(pieces)))

    @staticmethod
    def _tabs(match: re.Match) -> str:
        _, *rest = TAB.split(match["inside"])
        items = zip(rest[::2], rest[1::2], strict=True)
        tabs = [f":::{{tab-item}} {title}\n:sync: {title}\n{text}:::\n" for title, text in items]
        return "::::{tab-set}\n" + "".join(tabs) + "::::\n"

    @staticmethod
    def _is_reached_by_links(place: PurePosixPath) -> bool:
        return place.parts[0] not in ("index.md", "docs", "CHANGELOG.md") or place.name == "README.md"

    def _relinked(self, text: str, path: PurePosixPath, place: PurePosixPath) -> str:
        def renewed(match: re.Match) -> str:
            target, hash_sign, anchor = match["target"].partition("#")
            if not target or re.match(r"[a-z]+:", target):
                return match["target"]
            found = self._resolved(PurePosixPath(path.parent, target))
            if found is None:
                self.faults.append(f"{path}: links to {target}, which is not there")
                return match["target"]
            up = len(place.parent.parts) * "../"
            return f"{up}{found}{hash_sign}{anchor}"

        return LINK.sub(renewed, text)

    def _resolved(self, target: PurePosixPath) -> PurePosixPath | None:
        """The page, in the tree that Sphinx reads, of a path that may have `..` in it."""
        parts: list[str] = []
        for part in target.parts:
            if part != "..":
                parts.append(part)
            elif parts:
                parts.pop()
            else:
                return None
        path = PurePosixPath(*parts)
        if path == HEADERS:
            return C_REFERENCE / "index.rst"
        if path.parent == HEADERS and path in self._files and path.name not in INLINE:
            return C_REFERENCE / ("index.rst" if path.stem == "gradstep" else f"{path.stem}.rst")
        if path in self._folders:
            return self._resolved(path / "README.md") or self._folder(path)
        if path not in self._files:
            return None
        if path.suffix == ".md":
            self.page(path)
            return path
        if path.suffix in PICTURES:
            self._copy(path)
            return path
        return self._source(path)

    def _folder(self, path: PurePosixPath) -> PurePosixPath:
        """A page that lists a folder without a README.md."""
        place = path / "contents.md"
        if place not in self._shown:
            self._shown.add(place)
            self._write(place, f"---\norphan: true\n---\n\n# {path}\n" + self._contents(path))
        return place

    def _contents(self, folder: PurePosixPath) -> str:
        files = sorted(file for file in self._files if file.parent == folder and file.suffix in LANGUAGES)
        links = [f"- [{file.name}](/{self._source(file)})" for file in files]
        return "\n## Files\n\n" + "\n".join(links) + "\n"

    def _source(self, path: PurePosixPath) -> PurePosixPath:
        """A page that shows a text file."""
        place = PurePosixPath(f"{path}.md")
        if path not in self._shown:
            self._shown.add(path)
            code = (ROOT / path).read_text()
            text = f"---\norphan: true\n---\n\n# {path.name}\n\n`{path}`\n\n"
            text += f"~~~~~~{LANGUAGES.get(path.suffix, '')}\n{code.rstrip()}\n~~~~~~\n"
            self._write(place, text)
        return place

    def _present(self, directive: str) -> str:
        """A toctree without those pages, marked by a question mark, that are not there."""
        lines = []
        for line in directive.splitlines(keepends=True):
            name, mark, _ = line.strip().partition("?")
            if not mark:
                lines.append(line)
            elif PurePosixPath(f"{name}.md") in self._files:
                lines.append(f"{name}\n")
        return "".join(lines)

    def _copy(self, path: PurePosixPath) -> None:
        (self._out / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, self._out / path)

    def _write(self, place: PurePosixPath, text: str) -> None:
        (self._out / place).parent.mkdir(parents=True, exist_ok=True)
        (self._out / place).write_text(text)

    def documentation(self) -> None:
        self.page(PurePosixPath("docs/site/index.md"), PurePosixPath("index.md"))
        self.page(PurePosixPath("CHANGELOG.md"))
        index = self._out / "index.md"
        named = set(index.read_text().split())
        others: list[str] = []
        for path in sorted(self._files):
            if (
                path.parts[0] == "docs"
                and path.suffix == ".md"
                and "site" not in path.parts
                and path.name != "README.md"
            ):
                self.page(path)
                if str(path.with_suffix("")) not in named:
                    others.append(str(path.with_suffix("")))
        if others:  # by a toctree of their own, so that a page that was just added is found
            with index.open("a") as file:
                file.write("\n".join(["", "```{toctree}", ":hidden:", ":caption: More", "", *others, "```", ""]))


def main() -> int:
    out = Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    stage = Stage(out)
    stage.documentation()
    c_reference.write(ROOT / "include" / "c_api", out / C_REFERENCE)
    shutil.copytree(SITE / "python", out / "reference" / "python")
    for fault in stage.faults:
        print(fault, file=sys.stderr)
    return 1 if stage.faults else 0


sys.exit(main())
