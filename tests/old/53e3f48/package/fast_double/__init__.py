"""A kernel for double, used where it was measured to be faster.

Made by kernelwright 0.1.0. README.md says how to use it, provenance.json whence it is.
"""

from __future__ import annotations

from .module import Module, explain, patch, unpatch

double = Module().forward

double_in_graphs = Module(graphs=True).forward

__all__ = ["Module", "double", "double_in_graphs", "explain", "patch", "unpatch"]
