"""Measures how kernelwright stands up to kills and to odd input, and prints the table of that.

    python benchmarks/reliability kills --real 100 --stand-in 400     # kill -9 at random moments, resume, compare
    python benchmarks/reliability fuzz --cases 2000                   # odd input of five kinds
    python benchmarks/reliability summary

`real` kills hit the installed command with its worker, `stand-in` ones the real command line and coordinator with a
fake worker behind the argv seam. Needs no GPU. Every result is a line of the table (--table, JSON lines); a command
that was interrupted goes on from there, and counts are totals of the table. It runs at low priority. What went wrong
keeps its folder under --work.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tests"))  # the fakes

from fuzz import fuzz  # noqa: E402
from kills import kills  # noqa: E402
from table import Table, summary  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(prog="python benchmarks/reliability", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--table", type=Path, default=Path("reliability.jsonl"))
    common.add_argument("--work", type=Path, default=Path("reliability-work"), help="folder for runs and problems")
    verbs = parser.add_subparsers(dest="verb", required=True)
    killing = verbs.add_parser("kills", parents=[common])
    killing.add_argument("--real", type=int, default=0, metavar="N")
    killing.add_argument("--stand-in", type=int, default=0, metavar="N")
    fuzzing = verbs.add_parser("fuzz", parents=[common])
    fuzzing.add_argument("--cases", type=int, default=2000, metavar="N")
    fuzzing.add_argument("--only", choices=["command line", "settings", "replies", "journals", "problems"])
    verbs.add_parser("summary", parents=[common])
    given = parser.parse_args()
    table = Table(given.table)
    if given.verb == "summary":
        print(summary(table.rows()))
        return 0
    os.nice(15)
    given.work.mkdir(parents=True, exist_ok=True)
    if given.verb == "kills":
        kills(table, given.work.resolve(), "stand-in", given.stand_in)
        kills(table, given.work.resolve(), "real", given.real)
    else:
        fuzz(table, given.work.resolve(), given.cases, given.only)
    print(summary(table.rows()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
