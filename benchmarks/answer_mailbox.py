"""Answers the prompts of a run through the mailbox from a folder of replies, in the order of their names.

    python benchmarks/answer_mailbox.py RUN REPLIES [--end] [-- OPTIONS OF optimize]

For replies that were written beforehand, by hand or by a batch of requests. Begins the run where RUN holds none (the
options then name the problem) and goes on with it where it does (limits only), until no prompt waits or no reply is
left. The rule: what was handed in is read off the run's mailbox, so a drive that was cut off is simply started again.

`NAME.md` answers the next prompt that asks for a kernel. `NAME.repair.md` answers a prompt to repair what `NAME.md`
became; without such a file the repair is declined, since a round does not end while one waits. What waits when
the replies are used up is left waiting, or withdrawn with --end, which then confirms the best kernel.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from kernelwright.errors import KernelwrightError
from kernelwright.propose import deposit_reply, prompt_path, waiting, withdraw
from kernelwright.propose.mailbox import reply_paths

REPAIR = re.compile(r"^# Repair `.*?^Below is trial (\d+), which fails", re.M | re.S)
REPAIRS = ".repair"

Optimize = Callable[[Sequence[str]], int]
"""`kernelwright optimize WORDS`; gives the exit status."""


def drive(run: Path, replies: Path, options: Sequence[str], end: bool, optimize: Optimize) -> int:
    """Answer until nothing waits or nothing is left to answer with; the exit status of the last session."""
    if (run / "journal.db").exists():
        status = optimize(["--resume", str(run), *options])
    else:
        status = optimize([*options, "--proposer", "mailbox", "--out", str(run)])
    while status == 0 and waiting(run):
        if answer(run, replies):
            status = optimize(["--resume", str(run)])
        elif end:
            for number in waiting(run):
                decline(run, number)
            return optimize(["--resume", str(run), "--trials", "1"])
        else:
            print(f"no reply is left for {', '.join(map(str, waiting(run)))}: add some to {replies}, or end with --end")
            break
    return status


def answer(run: Path, replies: Path) -> int:
    """Answer what waits as far as there are replies, or decline it; gives how many prompts that were."""
    done = 0
    for number in waiting(run):
        broken = REPAIR.search(prompt_path(run, number).read_text(encoding="utf-8"))
        file = repair_of(run, int(broken[1]), replies) if broken else next(iter(unused(run, replies)), None)
        if file is not None:
            print(f"request {number}: {deposit_reply(run, number, file).name} is {file.name}", flush=True)
        elif broken:
            print(f"request {number}: no reply repairs trial {broken[1]}, declined", flush=True)
            decline(run, number)
        else:
            continue
        done += 1
    return done


def decline(run: Path, number: int) -> None:
    """Answer with nothing to try. A run waits some seconds with a reply that holds no code, since somebody may still be
    writing it; this one is whole, so it is made an old one."""
    withdraw(run, number)
    os.utime(reply_paths(run, number)[0], (0, 0))


def unused(run: Path, replies: Path) -> list[Path]:
    """The replies, repairs apart, that no request has yet, in order."""
    taken = Counter(path.read_text(encoding="utf-8") for path in (run / "mailbox").glob("*.reply.*"))
    files = sorted(path for path in replies.iterdir() if path.suffix in (".md", ".py"))
    found = []
    for file in files:
        text = file.read_text(encoding="utf-8")
        if REPAIRS in file.suffixes:
            continue
        if taken[text]:
            taken[text] -= 1
        else:
            found.append(file)
    return found


def repair_of(run: Path, failed: int, replies: Path) -> Path | None:
    """The reply that mends what answered request `failed`, where there is one."""
    for reply in filter(Path.exists, reply_paths(run, failed)):
        text = reply.read_text(encoding="utf-8")
        for file in replies.glob(f"*{reply.suffix}"):
            mended = file.with_name(f"{file.stem}{REPAIRS}{file.suffix}")
            if file.read_text(encoding="utf-8") == text and mended.exists():
                return mended
    return None


def command(words: Sequence[str]) -> int:
    return subprocess.run([sys.executable, "-m", "kernelwright", "optimize", *words], check=False).returncode


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """What stands after -- belongs to optimize: argparse leaves it alone only where no option stands before it."""
    ours = list(words[: words.index("--")] if "--" in words else words)
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0], epilog="What follows -- are options of optimize."
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("replies", type=Path)
    parser.add_argument("--end", action="store_true", help="withdraw what no reply is left for, and confirm the best")
    return parser.parse_args(ours, argparse.Namespace(options=list(words[len(ours) + 1 :])))


def main() -> int:
    given = parsed(sys.argv[1:])
    try:
        return drive(given.run, given.replies, given.options, given.end, command)
    except KernelwrightError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
