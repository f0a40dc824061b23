"""Pictures of a run: the convergence of the search, and a roofline with its kernels.

Each file holds one picture: its data as plain records, and a function that draws them. matplotlib is imported when
something is drawn; where it is missing `plots_missing` says so. The same journal gives the same bytes.
"""

from kernelwright.report.plots.drawing import plots_missing
from kernelwright.report.plots.table import PLOTS, Picture, draw_plots, write_plots
