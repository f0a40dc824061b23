"""A program: `kernelwright` with the fake worker, and a built-in proposer that is slow where it is told to be.

    python searching.py SECONDS FROM WORDS…

From proposal FROM on, each takes SECONDS; those before take none. A line on standard error says when one begins.
With `inf` a proposal never comes. After a signal to end, those that come are waited for, and closing may take minutes:
what the program does then does not hang on the load of the machine.
"""

from __future__ import annotations

import sys
import threading
from contextlib import closing
from importlib import import_module
from math import inf

from fakes import FakeProposer, FakeWorker, step
from kernelwright import interruption
from kernelwright.cli.context import Parts
from kernelwright.cli.main import main
from kernelwright.model import Proposal, Request
from kernelwright.propose.protocol import Context
from kernelwright.propose.table import PROPOSERS, Entry, NoOptions
from pictures import draw_only

PATIENCE_S = 300.0

if __name__ == "__main__":
    optimize = import_module("kernelwright.run.optimize")
    seconds, first = float(sys.argv.pop(1)), int(sys.argv.pop(1))
    interruption.GRACE_S += PATIENCE_S
    if seconds == inf:  # as long as usual for the proposal, the rest for closing
        optimize.CLOSING_S += PATIENCE_S

    def slow(request: Request, context: Context) -> Proposal:
        if request.number >= first:
            sys.stderr.write(f"proposal {request.number} under way\n")
            sys.stderr.flush()
            threading.Event().wait(None if seconds == inf else seconds)
        return step(request, context)

    draw_only()
    PROPOSERS["builtin"] = Entry(NoOptions, lambda chosen, variables: FakeProposer(slow))
    main(Parts(start_worker=lambda target: closing(FakeWorker())))
