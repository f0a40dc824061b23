"""Writes operators.txt beside each problem of the gallery: what it is given and calls, so that it need not be loaded
to be compared.

python benchmarks/gallery_operators.py
"""

from __future__ import annotations

from pathlib import Path

from kernelwright.evaluator.client import start_worker
from kernelwright.model import Loading
from kernelwright.problems.alike import FILE, described

GALLERY = Path(__file__).parents[1] / "gallery"

if __name__ == "__main__":
    with start_worker() as worker:
        for file in sorted(GALLERY.glob("*/problem.py")):
            text = "\n".join(described(worker.load(str(file), Loading(which="stated"))))
            (file.parent / FILE).write_text(f"{text}\n", encoding="utf-8")
