#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: links.py SITE

Every link of a built site that stays on it leads to a file, and to a place in it if it names one. No network is used.
"""

import functools
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Links(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value and (name in ("href", "src") or (name, tag) == ("data", "object")):
                self.targets.append(value)
            elif value and (name == "id" or (name, tag) == ("name", "a")):
                self.places.add(value)


@functools.cache
def links_of(page: Path) -> Links:
    return Links(page.read_text())


def faults(site: Path, page: Path) -> list[str]:
    found = []
    for target in links_of(page).targets:
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            continue
        file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        if file.is_dir():
            file /= "index.html"
        if not file.is_file() or not file.is_relative_to(site):
            found.append(f"{page.relative_to(site)}: {target}: no such file")
        elif parts.fragment and file.suffix == ".html" and unquote(parts.fragment) not in links_of(file).places:
            found.append(f"{page.relative_to(site)}: {target}: no such place in the file")
    return found


def main() -> int:
    site = Path(sys.argv[1]).resolve()
    pages = sorted(site.rglob("*.html"))
    found = [fault for page in pages for fault in faults(site, page)]
    for fault in found:
        print(fault, file=sys.stderr)
    print(f"links: {len(pages)} pages, {sum(len(links_of(page).targets) for page in pages)} links, {len(found)} faults")
    return 1 if found else 0


sys.exit(main())
