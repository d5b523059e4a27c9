"""How Sphinx builds the site of these pages; `make docs` runs it.

The source is the whole repository, so that links between pages are the same here and there.
"""

from __future__ import annotations

import posixpath
from pathlib import Path

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

import cloakwork

ROOT = Path(__file__).parent.parent

project = "Cloakwork"
author = "Cloakwork's authors"
version = release = cloakwork.__version__
root_doc = "docs/index"
include_patterns = ["docs/**", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
# A folder that is left out is not walked through.
exclude_patterns = [path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "docs"]

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
myst_heading_anchors = 4
# What notebooks print is kept in them.
nb_execution_mode = "off"
# What docstrings have between backticks is code.
default_role = "code"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_default_options = {"members": True, "inherited-members": "object"}
napoleon_use_rtype = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"Cloakwork {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False


def _lead_to_the_first_page(app: Sphinx, exception: Exception | None) -> None:
    """Whoever opens the folder of the site comes to its first page."""
    if exception is None and app.builder.format == "html":
        leading = f'<meta http-equiv="refresh" content="0; url={root_doc}.html">\n'
        link = f'<a href="{root_doc}.html">{project}</a>\n'
        (Path(app.outdir) / "index.html").write_text(f"<!doctype html>\n{leading}{link}")


def _title_links(app: Sphinx, doctree: nodes.document, here: str) -> None:
    """A link that is called as its page's file is called as the page."""
    for link in doctree.findall(nodes.reference):
        if link.get("internal") and link.astext().endswith(".md"):
            target = link["refuri"].partition("#")[0].removesuffix(".html")
            page = posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
            link.children = [nodes.Text(app.env.titles[page].astext())]


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    for language in ("figure", "csv", "blif"):
        app.add_lexer(language, TextLexer)
    app.connect("doctree-resolved", _title_links)
    app.connect("build-finished", _lead_to_the_first_page)
