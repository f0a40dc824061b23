"""The table of exporters. A new exporter is a file with a function from a `Subject` to contents by path, and a line
here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kernelwright.export.hf_kernels import hf_kernels_files
from kernelwright.export.kernelbench import kernelbench_files
from kernelwright.export.op import op_files
from kernelwright.export.pinned_config import pinned_config_files
from kernelwright.export.subject import Subject
from kernelwright.export.trials_csv import trials_csv_files
from kernelwright.report.trace import trace_files


class Exporter(NamedTuple):
    """One exporter. files: returns contents by path in the output folder. of_run: whether it needs a run, not only a
    kernel."""

    summary: str
    files: Callable[[Subject], Mapping[str, str | bytes]]
    of_run: bool = False


def run_trace_files(subject: Subject) -> dict[str, str]:
    """The run's trace folder, for any place."""
    assert subject.run is not None
    return {f"trace/{path}": text for path, text in trace_files(subject.run).items()}


EXPORTERS = {
    "op": Exporter("a package with the kernel as an operator that falls back to PyTorch", op_files),
    "kernelbench": Exporter("one file with ModelNew, as KernelBench wants it", kernelbench_files),
    "hf-kernels": Exporter("a repository of the Hugging Face kernels hub", hf_kernels_files),
    "config": Exporter("best_config.json, the kernel's launch configs pinned", pinned_config_files, of_run=True),
    "csv": Exporter("trials.csv, one row for each trial and case", trials_csv_files, of_run=True),
    "trace": Exporter("the trace folder: prompts, replies, kernels and times by round", run_trace_files, of_run=True),
}
