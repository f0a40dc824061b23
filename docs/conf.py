"""How Sphinx makes the site of these pages (`make site`). The pages are plain Markdown and know nothing of it.

The rule: what a page links to outside of docs/ (as the gallery) is in the checkout and not on the site, so
such a link becomes its words; a link that leads nowhere is a warning, and a warning is an error.
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

import kernelwright

HERE = Path(__file__).parent

project = "kernelwright"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "kernelwright"
html_copy_source = False
html_show_copyright = False
exclude_patterns = ["example"]
root_doc = "index"
myst_heading_anchors = 4  # a heading has the anchor that a code host gives it
smartquotes = False
add_module_names = False
autodoc_preserve_defaults = True
autodoc_typehints = "none"  # the signatures in the text have them
suppress_warnings = ["misc.highlighting_failure"]  # code with … in it stays plain


def with_contents(app: Sphinx, docname: str, source: list[str]) -> None:
    """The lists of index.md are the contents of the site, a part for each of its headings."""
    if docname != root_doc:
        return
    for part in re.findall(r"^## (.+?)$(.*?)(?=^## |\Z)", source[0], re.M | re.S):
        pages = re.findall(r"^- \[.+?\]\((.+?)\.md\)", part[1], re.M)
        source[0] += "\n".join(["", "```{toctree}", ":hidden:", f":caption: {part[0]}", "", *pages, "```", ""])


def with_reference(app: Sphinx, docname: str, source: list[str]) -> None:
    """On the site, the page on Python ends with the signature and the docstring of every public name."""
    if docname != "python":
        return
    entries = [
        f".. autoclass:: {module}.{name}\n   :members:\n"
        if name[0].isupper()
        else f".. autofunction:: {module}.{name}\n"
        for name, module in kernelwright.API.items()
    ]
    source[0] += "\n".join(["", "## Reference", "", "```{eval-rst}", *entries, "```", ""])


def without_links_to_the_checkout(app: Sphinx, page: nodes.document) -> None:
    """Of a link to what lies outside of docs/ the words stay."""
    here = Path(app.env.doc2path(app.env.docname)).parent
    for link in list(page.findall(pending_xref)):
        target = (here / link["reftarget"]).resolve()
        if HERE not in target.parents and (target.exists() or target.with_suffix(".md").exists()):
            link.replace_self(link.children)


def setup(app: Sphinx) -> None:
    app.connect("source-read", with_contents)
    app.connect("source-read", with_reference)
    app.connect("doctree-read", without_links_to_the_checkout)
