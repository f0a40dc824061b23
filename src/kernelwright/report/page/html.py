"""A run's report as one HTML file for any browser, light and dark, also on a phone; it loads nothing.

The content is from `report/content.py`; the layout is in page.html.j2, page.css and page.js beside this file.
Everything that comes from a run is escaped (it may be hostile). As a second barrier, the page's Content-Security-Policy
allows no script but ours and no request except to the server of a live page.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import TYPE_CHECKING

from kernelwright.report.content import Content
from kernelwright.report.plots import Picture, draw_plots, plots_missing
from kernelwright.report.plots.drawing import colour_rules
from kernelwright.report.tree import Node
from kernelwright.report.view import RunView
from kernelwright.text.escape import legible

if TYPE_CHECKING:
    from jinja2 import Template


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

    page = Content(view)
    drawn = draw_plots(view) if pictures is None else pictures
    script = _text("page.js")
    made = _template().render(
        page=page,
        steps=list(_steps(page)),
        plots={picture.name: Markup(picture.svg) for picture in drawn},
        plots_missing=plots_missing(),
        live=live,
        seq=seq,
        style=Markup(style_text()),
        script=Markup(script),
        policy=_policy(script, is_live=live is not None),
    )
    return legible(made)


def style_text() -> str:
    """The style of every page."""
    return colour_rules(":root") + _text("page.css")


def _policy(script: str, is_live: bool) -> str:
    """Content-Security-Policy: our script by its hash, our styles, and the server of a live page."""
    sha = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = ["default-src 'none'", f"script-src 'sha256-{sha}'", "style-src 'unsafe-inline'", "img-src data:"]
    return "; ".join([*parts, "base-uri 'none'", "form-action 'none'", *(["connect-src 'self'"] if is_live else [])])


def _steps(page: Content) -> Iterator[Node | None]:
    """The tree as a template can walk it without recursion: a node opens, None closes the last one that is open. A
    brief node without children is a line, which opens nothing."""
    todo: list[Node | None] = list(reversed(page.tree))
    while todo:
        node = todo.pop()
        yield node
        if node is not None and (node.children or not node.is_brief):
            todo += [None, *reversed(node.children)]


def _nonbreaking(text: str) -> str:
    """`text` in which no line ends between a number and its unit."""
    return re.sub(r"(?<=\d) (?=(?:µs|ms|s|min|h|%)(?:\W|$))", "\u00a0", text)


def _text(name: str) -> str:
    return (resources.files("kernelwright.report.page") / name).read_text(encoding="utf-8")


@functools.cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["nonbreaking"] = _nonbreaking
    return environment.from_string(_text("page.html.j2"))
