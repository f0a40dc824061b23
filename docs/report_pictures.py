"""The pictures of the report page in docs/report.md, as a Chromium shows them: `make example`.

Four are of runs that are kept; a run without a GPU and a failed one are made here, without the machine's GPU.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from browser import PHONE, chromium, visit
from kernelwright.journal import Journal
from kernelwright.report.framework import side_report
from kernelwright.report.page import html_page
from kernelwright.report.several import several_page
from kernelwright.report.several import line_of
from kernelwright.report.view import read_run

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "docs" / "example"
MADE = ROOT / "build" / "pictures"
"""Where the pages are written, and the runs that are made here; a run that is there is not made again."""

KEPT = ROOT / "gallery" / "max_pool3d" / "runs" / "mailbox"
KEPT_IN = ("gallery", "benchmarks/further")
SOFTMAX = ROOT / "gallery" / "softmax"
SCREEN = {"width": 1280, "height": 800}
PICTURES = {
    "light": ("kept", SCREEN, False, ""),
    "dark": ("kept", SCREEN, True, "#trial-25"),
    "phone": ("kept", PHONE, False, ""),
    "folder": ("folder", SCREEN, False, ""),
    "without_gpu": ("without_gpu", SCREEN, False, ""),
    "failed": ("failed", SCREEN, False, ""),
}
"""Of each picture the page, the size of the screen, whether it is dark, and the link that was followed."""

COLOURS = 64
"""Of a picture: text in grey and a few lines need no more, and the file has a third of the size."""


def main() -> None:
    MADE.mkdir(parents=True, exist_ok=True)
    right = (SOFTMAX / "starter.py").read_text(encoding="utf-8")
    wrong = MADE / "wrong.py"
    wrong.write_text(right.replace("tl.exp(x - row_max) / row_sum", "tl.exp(x - row_max)"), encoding="utf-8")
    write_page("kept", KEPT)
    write_page("without_gpu", search("softmax", ["--trials", "5"]))
    write_page("failed", search("softmax_without_quotient", ["--trials", "3", "--starter", str(wrong)]))
    write_table()
    with chromium() as browser:
        for name, (page, size, dark, trial) in PICTURES.items():
            with visit(browser, (MADE / f"{page}.html").as_uri() + trial, dark, size) as seen:
                save(seen.page.screenshot(), PLACE / f"{name}.png")


def search(name: str, options: Sequence[str]) -> Path:
    """A run without a GPU. Exit status 1, no kernel passed, is an answer."""
    run = MADE / name
    if not run.exists():
        words = ["optimize", str(SOFTMAX), "--no-known", "--out", str(run), *options]
        program = [sys.executable, "-m", "kernelwright", *words]
        done = subprocess.run(program, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""}, check=False)
        assert done.returncode in (0, 1), done
    return run


def write_page(name: str, run: Path) -> None:
    with Journal.open(run) as journal:
        (MADE / f"{name}.html").write_text(html_page(read_run(journal)), encoding="utf-8")


def write_table() -> None:
    """The table of all runs that are kept."""
    lines = []
    for file in sorted(
        [*ROOT.glob("gallery/*/runs/*/journal.db"), *ROOT.glob("benchmarks/further/*/runs/*/journal.db")]
    ):
        run = file.parent
        with Journal.open(run) as journal:
            view = read_run(journal)
            lines.append(line_of(run.parent.parent.name, view, side_report(view)))
    page = several_page("kept runs", lines, [line.name for line in lines], True)
    (MADE / "folder.html").write_text(page, encoding="utf-8")


def save(png: bytes, file: Path) -> None:
    """As a PNG with a palette."""
    Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)


if __name__ == "__main__":
    main()
