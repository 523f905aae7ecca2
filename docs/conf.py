"""How Sphinx makes the documentation; `make docs` runs it."""

from __future__ import annotations

from detailedspawner import __version__

project = "detailedspawner"
copyright = "detailedspawner contributors"
version = release = __version__

extensions = ["autodoc_traits", "myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["colon_fence"]
# rest.md links its own headings
myst_heading_anchors = 3
# the help of a trait quotes with single backticks
default_role = "code"
exclude_patterns = ["_build"]
nitpicky = True

html_theme = "sphinx_book_theme"
html_title = f"detailedspawner {release}"
