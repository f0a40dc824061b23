"""Problems made from live objects: a module or a function of the caller's program, written as a problem folder.

    expressions   a value as Python text that makes it again
    definitions   the source text of what was defined in a script or a notebook
    constructor   the arguments with which a module was constructed
    inputs        example inputs as data, sizes and text
    sources       the caller's own files that the problem imports
    write         the folder: problem.py, sources/, example.pt

The objects are read where they are, with the caller's own torch (`sys.modules["torch"]`): nothing here imports torch.
What the folder computes is tried where every problem is, in a worker (`check`).
"""

from __future__ import annotations

from kernelwright.problems.live.write import write_function, write_module

__all__ = ["write_function", "write_module"]
