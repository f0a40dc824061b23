"""The loop of `optimize`: ask, propose, evaluate, tell; journaled, budgeted, resumable, confirmed."""

from kernelwright.run.optimize import Outcome, optimize
from kernelwright.run.stopping import StopReason

__all__ = ["Outcome", "StopReason", "optimize"]
