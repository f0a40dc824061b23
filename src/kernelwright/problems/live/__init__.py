"""Writes live objects (a module or a function of the caller's program) as a problem folder.

    expressions   writes a value as a Python expression that constructs it
    definitions   finds the source text of functions and classes from a script or a notebook
    stored        writes a module with its state to a file
    inputs        example inputs as data, sizes and text
    sizes         which sizes can vary, and which only together
    sources       finds the caller's own files that the problem imports
    compare       the result of the written problem and that of the live object
    write         writes the folder: problem.py, sources/, module.pt, example.pt

The objects are read in the caller's process, with the caller's torch (`sys.modules["torch"]`): this package does not
import torch. A worker checks the written problem like any other (`check`).
"""

from __future__ import annotations

from kernelwright.problems.live.write import write_live

__all__ = ["write_live"]
