"""Writes operators.txt beside each problem of the gallery: what it calls, so that it need not be loaded to be compared.

python benchmarks/gallery_operators.py
"""

from __future__ import annotations

from pathlib import Path

from kernelwright.problems.alike import FILE
from kernelwright.worker.reference.load import load_problem

GALLERY = Path(__file__).parents[1] / "gallery"

if __name__ == "__main__":
    for file in sorted(GALLERY.glob("*/problem.py")):
        text = "\n".join(load_problem(str(file)).operator_text())
        (file.parent / FILE).write_text(f"{text}\n", encoding="utf-8")
