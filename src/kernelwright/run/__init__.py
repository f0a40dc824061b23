"""The loop of `optimize`: ask, propose, evaluate, tell; journaled, budgeted, resumable, confirmed."""

from kernelwright.run.control import at_work, is_paused, pause, resume, stop
from kernelwright.run.optimize import Outcome, optimize
from kernelwright.run.stopping import StopReason

__all__ = ["Outcome", "StopReason", "at_work", "is_paused", "optimize", "pause", "resume", "stop"]
