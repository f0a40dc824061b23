"""The table of pictures, and their output: as SVG inside a page, and as files."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kernelwright.folders import remove_file, write_file
from kernelwright.report.plots import convergence, drawing, roofline
from kernelwright.report.view import RunView

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Plot(NamedTuple):
    """draw: gives None where the run has no data for this picture."""

    title: str
    draw: Callable[[RunView], Figure | None]


PLOTS = {
    "convergence": Plot("Convergence: the time of every trial, and the best so far", convergence.draw),
    "roofline": Plot("Roofline: what the kernels reach of what the device allows", roofline.draw),
}


@dataclass(frozen=True)
class Picture:
    """A picture that was drawn; it is converted to SVG or PNG once, on demand."""

    name: str
    title: str
    figure: Figure

    @functools.cached_property
    def svg(self) -> str:
        """An `svg` element whose colours the surrounding page sets."""
        return drawing.inline_svg(self.figure, self.name, self.title)


def draw_plots(view: RunView) -> list[Picture]:
    """The pictures that have data; none where matplotlib is not installed (`plots_missing` says so)."""
    if drawing.plots_missing():
        return []
    os.environ["MPLBACKEND"] = "agg"  # matplotlib refuses to be imported where it names none that it knows
    drawn = ((name, plot.title, plot.draw(view)) for name, plot in PLOTS.items())
    return [Picture(name, title, figure) for name, title, figure in drawn if figure is not None]


def write_plots(pictures: Iterable[Picture], folder: Path) -> list[Path]:
    """NAME.svg (follows the reader's light or dark) and NAME.png (on white) of each, and no others; gives their
    paths."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, bytes] = {}
    for picture in pictures:
        files[f"{picture.name}.svg"] = drawing.standalone_svg(picture.svg).encode()
        files[f"{picture.name}.png"] = drawing.png(picture.figure)
    written = [write_file(folder, name, content) for name, content in files.items()]
    for name in PLOTS:
        for stale in {f"{name}.svg", f"{name}.png"} - files.keys():
            remove_file(folder, stale)
    return written
