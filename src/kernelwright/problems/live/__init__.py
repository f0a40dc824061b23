"""Writes live objects: a module or a function of the caller's program as a problem folder, a module and its inputs as
a script for a survey.

The objects are read in the caller's process, with the caller's torch (`sys.modules["torch"]`): this package does not
import torch. A worker checks the written problem like any other (`check`).
"""

from __future__ import annotations

from kernelwright.problems.live.write import write_live, write_model
