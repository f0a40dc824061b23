"""A program: `kernelwright` with the fake worker, and a built-in proposer that is slow where it is told to be.

    python searching.py SECONDS FROM WORDS…

From proposal FROM on, each takes SECONDS; those before take none. A line on standard error says when one begins.
"""

from __future__ import annotations

import sys
import time
from contextlib import closing

from fakes import FakeProposer, FakeWorker, step
from kernelwright.cli.context import Parts
from kernelwright.cli.main import main
from kernelwright.model import Proposal, Request
from kernelwright.propose.protocol import Context
from kernelwright.propose.table import PROPOSERS, Entry, NoOptions

if __name__ == "__main__":
    seconds, first = float(sys.argv.pop(1)), int(sys.argv.pop(1))

    def slow(request: Request, context: Context) -> Proposal:
        if request.number >= first:
            sys.stderr.write(f"proposal {request.number} under way\n")
            sys.stderr.flush()
            time.sleep(seconds)
        return step(request, context)

    PROPOSERS["builtin"] = Entry(NoOptions, lambda chosen, variables: FakeProposer(slow))
    main(Parts(start_worker=lambda target: closing(FakeWorker())))
