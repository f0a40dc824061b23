"""The search loop of `optimize`: ask, propose, evaluate, tell, with a journal, a budget and a confirmation."""

from kernelwright.run.control import at_work, is_paused, pause, resume, stop
from kernelwright.run.optimize import Outcome, optimize
from kernelwright.run.stopping import StopReason
