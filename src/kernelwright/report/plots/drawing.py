"""Style of all pictures, and their conversion to SVG or PNG: one style, one palette, one place that touches matplotlib.

Each colour is named once, for light and for dark. In SVG it is a CSS variable, so that a page, or the reader's
preference, can change it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN, HEIGHT_IN = 7.2, 3.5
DOTS_PER_INCH = 160
TRIAL = "trial-"
"""How the ids of trials on the page begin."""


class Colour(NamedTuple):
    light: str
    dark: str


COLOURS = {
    "paper": Colour("#ffffff", "#14181f"),
    "ink": Colour("#2a303a", "#d9dee6"),
    "grid": Colour("#e4e8ed", "#2b323d"),
    "other": Colour("#8791a0", "#687385"),
    "starter": Colour("#b35c00", "#f2a65a"),
    "parent": Colour("#3a6db5", "#82b1f0"),
    "best": Colour("#0b7a6b", "#45c7b2"),
    "bound": Colour("#b02a45", "#f2859a"),
    "framework": Colour("#6b4fbb", "#b6a0f5"),
}
"""Each holds 3:1 against its paper, text 4.5:1 (WCAG 2.1, 1.4.3 and 1.4.11); grid lines need none."""

INK, GRID, OTHER = COLOURS["ink"].light, COLOURS["grid"].light, COLOURS["other"].light
STARTER, PARENT, BEST = (COLOURS[name].light for name in ("starter", "parent", "best"))
BOUND, FRAMEWORK = COLOURS["bound"].light, COLOURS["framework"].light

_STYLE: dict[Any, Any] = {
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": OTHER,
    "axes.labelcolor": INK,
    "axes.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.use_mathtext": False,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "svg.fonttype": "none",
}


def plots_missing() -> str | None:
    """What to say where no picture can be drawn; None where matplotlib is there."""
    from importlib.util import find_spec

    return None if find_spec("matplotlib") else "plots need matplotlib: pip install 'kernelwright[report]'"


def axes() -> tuple[Figure, Axes]:
    """An empty picture in the common style. No pyplot: nothing global, no display, Agg and SVG only."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), layout="constrained")
        return figure, figure.add_subplot()


def legend_above(plot: Axes) -> None:
    """One line of keys above the picture."""
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        plot.legend(loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=7, handletextpad=0.4, columnspacing=1.2,
                    handlelength=1.6)  # fmt: skip


def urls_of(numbers: Iterable[int]) -> list[str]:
    """Links from points to their trials on the page."""
    return [f"#{TRIAL}{number}" for number in numbers]


def inline_svg(figure: Figure, name: str, title: str) -> str:
    """An `svg` element for a page that sets `--plot-…`; ids are prefixed by `name`, so that several fit into one
    page."""
    import matplotlib

    text = io.StringIO()
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure.savefig(text, format="svg", transparent=True, metadata=dict.fromkeys(("Date", "Creator")))
    link = rf'\n<a href="#{TRIAL}\1"><title>trial \1</title>\2</a>'
    figure.set_layout_engine("none")  # else the PNG is laid out once more, which takes half of the time
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(rf'(\bid="|href="#(?!{TRIAL})|url\(#)', rf"\g<1>{name}-", svg)
    svg = re.sub(rf'\s*<a xlink:href="#{TRIAL}(\d+)"[^>]*>\s*(.*?)\s*</a>', link, svg, flags=re.DOTALL)
    for key, colour in COLOURS.items():
        svg = svg.replace(colour.light, f"var(--plot-{key}, {colour.light})")
    svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg, count=2)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{title}" class="plot" ', 1).strip()


def standalone_svg(svg: str) -> str:
    """An element of `inline_svg` as a separate file with a background, without links to the page."""
    paper = f'<rect width="100%" height="100%" fill="var(--plot-paper, {COLOURS["paper"].light})"/>'
    svg = re.sub(r"<a .*?</title>|</a>", "", svg)
    inside = svg.index(">") + 1
    return f"{svg[:inside]}<style>{colour_rules('svg')}</style>{paper}{svg[inside:]}\n"


def png(figure: Figure) -> bytes:
    """On white paper, which is readable wherever the picture is put."""
    import matplotlib

    data = io.BytesIO()
    with matplotlib.rc_context(_STYLE):
        figure.savefig(data, format="png", dpi=DOTS_PER_INCH, facecolor="white", metadata={"Software": None})
    return data.getvalue()


def colour_rules(selector: str) -> str:
    """CSS that sets every `--plot-…` for light and dark."""
    light = "".join(f"--plot-{name}:{colour.light};" for name, colour in COLOURS.items())
    dark = "".join(f"--plot-{name}:{colour.dark};" for name, colour in COLOURS.items())
    return f"{selector}{{{light}}}@media (prefers-color-scheme: dark){{{selector}{{{dark}}}}}"
