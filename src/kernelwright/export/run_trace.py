"""The exporter `trace`: the run's trace folder, written to any place (`report.trace` documents its layout)."""

from __future__ import annotations

from kernelwright.export.subject import Subject
from kernelwright.report.trace import trace_files


def run_trace_files(subject: Subject) -> dict[str, str]:
    assert subject.run is not None
    return {f"trace/{path}": text for path, text in trace_files(subject.run).items()}
