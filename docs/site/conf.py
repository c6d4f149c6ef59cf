# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Sphinx reads the tree that stage.py makes; scripts/docs runs both."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from docstrings import as_restructured_text

project = "gradstep"
author = "The gradstep authors"
copyright = "2026, the gradstep authors"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_design"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]
highlight_language = "none"  # a block without a language is a command, an output or a table

# Types of other packages and of C's own headers have no pages here; a name of gradstep's must resolve.
nitpick_ignore_regex = [
    (r"py:.*", r"(?!gradstep\.).*"),
    (r"c:identifier", r"(?!gradstep_).*"),
]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "separated"
python_maximum_signature_line_length = 100
c_maximum_signature_line_length = 100

html_theme = "furo"
html_title = "gradstep"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False


def setup(app):
    app.connect("autodoc-process-docstring", as_restructured_text)
