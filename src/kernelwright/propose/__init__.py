"""Proposers: they write candidates. One small file per proposer; `PROPOSERS` in `table.py` is the table.

To add a proposer, add a file, a record of options, and a line in the table; `tests/laws` then runs the common tests on
it.
"""

from __future__ import annotations

from kernelwright.propose.mailbox import deposit_reply, prompt_path, waiting, withdraw, without_orders, without_shared
from kernelwright.propose.protocol import Context, Proposer
from kernelwright.propose.table import PROPOSERS, build_proposer, require_askable, varies_numbers, writes_code
