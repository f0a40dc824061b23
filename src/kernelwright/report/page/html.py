"""A run's report as one HTML file for any browser, light and dark, also on a phone; it loads nothing.

The content is from `report/content.py`; the layout is in page.html.j2, page.css and page.js beside this file.
Everything that comes from a run is escaped (it may be hostile). As a second barrier, the page's Content-Security-Policy
allows no script but ours and no request except to the server of a live page.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence

from kernelwright.report.content import content_of
from kernelwright.report.plots import Picture, draw_plots, plots_missing
from kernelwright.report.plots.drawing import colour_rules
from kernelwright.report.tree import Node, Tunings, tree_of
from kernelwright.report.view import RunView
from kernelwright.templates import environment, shipped
from kernelwright.text.escape import legible

HERE = "kernelwright.report.page"


def html_page(
    view: RunView,
    live: Sequence[tuple[str, str]] | None = None,
    pictures: Sequence[Picture] | None = None,
    seq: int = 0,
) -> str:
    """The page. pictures: if they were drawn already.

    live: label and text of the state of a run at work, for a page that is served and follows it; seq: of the run's last
    event.
    """
    from markupsafe import Markup

    page = content_of(view)
    drawn = draw_plots(view) if pictures is None else pictures
    script = shipped(HERE, "page.js")
    return rendered(
        "page.html.j2",
        page=page,
        steps=list(_steps(tree_of(view))),
        plots={picture.name: Markup(picture.svg) for picture in drawn},
        plots_missing=plots_missing(),
        live=live,
        seq=seq,
        script=Markup(script),
        policy=_policy(script, is_live=live is not None),
    )


def rendered(template: str, **values: object) -> str:
    """A page from a template beside this file, in the style of every page."""
    from markupsafe import Markup

    pages = environment(HERE, autoescape=True)
    pages.filters["nonbreaking"] = _nonbreaking
    style = Markup(colour_rules(":root") + shipped(HERE, "page.css"))
    return legible(pages.get_template(template).render(style=style, **values))


def _policy(script: str, is_live: bool) -> str:
    """Content-Security-Policy: our script by its hash, our styles, and the server of a live page."""
    sha = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = ["default-src 'none'", f"script-src 'sha256-{sha}'", "style-src 'unsafe-inline'", "img-src data:"]
    return "; ".join([*parts, "base-uri 'none'", "form-action 'none'", *(["connect-src 'self'"] if is_live else [])])


def _steps(roots: Sequence[Node]) -> Iterator[Node | Tunings | None]:
    """The tree as a template can walk it without recursion: a node opens, None closes the last one that is open. A
    brief node without children is a line, which opens nothing."""
    todo: list[Node | Tunings | None] = list(reversed(roots))
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, Tunings):
            todo += [None, *reversed(node.children)]
        elif node is not None and (node.children or not node.is_brief):
            todo += [None, *reversed(node.branches)]


def _nonbreaking(text: str) -> str:
    """`text` in which no line ends between a number and its unit."""
    return re.sub(r"(?<=\d) (?=(?:µs|ms|s|min|h|%)(?:\W|$))", "\u00a0", text)
