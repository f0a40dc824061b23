"""The files of a run's folder that people read: the best kernel, reports, plots and the trace."""

from __future__ import annotations

from kernelwright.folders import make_folder, remove_file, write_file
from kernelwright.report.commands import KERNEL
from kernelwright.report.evolution import evolution_log
from kernelwright.report.kernel import kernel_text
from kernelwright.report.page import html_page
from kernelwright.report.plots import draw_plots, write_plots
from kernelwright.report.text import report_text
from kernelwright.report.trace import TraceRounds
from kernelwright.report.view import RunView
from kernelwright.text.escape import legible

REPORT = "report.txt"
PAGE = "report.html"
PLOTS = "plots"
LOG = "EVOLUTION_LOG.md"


def write_answer(view: RunView) -> None:
    """Write RUN/best_kernel.py and RUN/report.txt, the files that people look for first.

    best_kernel.py is the confirmed best. Of a search that was interrupted before a confirmation it is the leader, and
    its first lines say so. Of a search that continues, waits or found nothing there is none.
    """
    kernel = view.best or (view.leader if view.was_interrupted else None)
    if kernel is not None:
        write_file(view.folder, KERNEL, kernel_text(kernel, view))
    else:
        remove_file(view.folder, KERNEL)
    write_file(view.folder, REPORT, legible(report_text(view)))


def write_views(view: RunView, trace: TraceRounds | None = None) -> None:
    """Write the answer, then RUN/report.html, RUN/EVOLUTION_LOG.md, RUN/trace/ and, where matplotlib is installed,
    RUN/plots/. trace: the trace that the session wrote so far; None: nothing of it."""
    write_answer(view)
    pictures = draw_plots(view)
    write_file(view.folder, PAGE, html_page(view, pictures=pictures))
    if pictures:
        write_plots(pictures, make_folder(view.folder, PLOTS))
    write_file(view.folder, LOG, legible(evolution_log(view)))
    (trace or TraceRounds(view.folder)).write(view)
