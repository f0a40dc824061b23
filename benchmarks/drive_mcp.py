"""Takes a problem further through the MCP server, as a coding agent does, with kernels that were written beforehand.

    python benchmarks/drive_mcp.py benchmarks/further/layer_norm --out runs/layer_norm --gpu-seconds 55

FOLDER has `problem.py`, `replies/*.md` and perhaps `starter.py`. The server is `kernelwright mcp`, and all that is done
goes through its tools: start_run or open_run, wait, next_request, submit, finish. Each reply, in the order of its name,
answers the next request; the run is ended when no reply is left. OUT/mailbox is the run; a drive that was cut off goes
on with it.

The rule: which replies were handed in is read off the run's mailbox, as in `answer_mailbox.py`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
from answer_mailbox import unused
from mcp import StdioServerParameters
from mcp.client import Client

RUN = "mailbox"
"""The run's folder below OUT."""

SETTINGS = """\
out = "{run}"
gpu_seconds = {gpu_seconds}
trials = {trials}

[option]
width = 1
operators = "improve"
tuning = {tuning}
"""
"""width: one kernel at a time, so that each prompt knows what became of the one before. operators: no repairs, since
each reply is a whole kernel."""

TRIALS = 80
"""More than the replies and their tunings need: GPU time is the limit."""

KEPT = ("EVOLUTION_LOG.md", "best_kernel.py", "journal.db", "report.txt", "bench.json")
"""What is kept of a run beside its problem: pages, plots and the trace can be made from these again."""

LIMIT = re.compile(r"^## What holds it back\n(.*?)(?=^#|\Z)", re.M | re.S)

SERVER = ("-m", "kernelwright", "mcp")

Call = Callable[..., Awaitable[Any]]
"""Calls a tool by name; gives its structured answer, raises ToolFailedError with its text."""


class ToolFailedError(Exception):
    """A tool answered with an error."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="where the server works; OUT/mailbox is the run")
    parser.add_argument("--gpu-seconds", type=float, default=55, help="of GPU time for the search")
    parser.add_argument("--tuning", type=int, default=4, help="configs that are tried of each kernel")
    parser.add_argument("--keep", type=Path, help="copy what is kept of the run to this new folder")
    given = parser.parse_args()
    prepare(given.folder, given.out, given.gpu_seconds, given.tuning)
    fault = anyio.run(session, given.folder, given.out)
    if fault is not None:
        sys.exit(f"error: {fault}")
    if given.keep is not None:
        keep(given.out / RUN, given.keep)
        print(f"kept: {given.keep}")


def prepare(folder: Path, out: Path, gpu_seconds: float, tuning: int) -> None:
    """The folder in which the server works: the problem, and settings of the run."""
    problem = out / folder.resolve().name
    problem.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("*.py"):
        shutil.copyfile(file, problem / file.name)
    text = SETTINGS.format(run=RUN, gpu_seconds=float(gpu_seconds), trials=TRIALS, tuning=tuning)
    (out / "kernelwright.toml").write_text(text)


async def session(folder: Path, out: Path, server: Sequence[str] = SERVER) -> str | None:
    """Start the server and drive it to the end of the run; what a tool failed with, if one did."""
    started = StdioServerParameters(command=sys.executable, args=list(server), cwd=str(out), env=dict(os.environ))
    async with Client(started) as client:

        async def call(tool: str, **given: Any) -> Any:
            answer = await client.call_tool(tool, given)
            if answer.is_error:
                raise ToolFailedError(
                    f"{tool}: " + "".join(part.text for part in answer.content if part.type == "text")
                )
            return answer.structured_content

        try:
            await drive(call, out / RUN, folder.resolve())
        except ToolFailedError as error:  # not out of the client: its task group would wrap it
            return str(error)
    return None


async def drive(call: Call, run: Path, folder: Path) -> None:
    """Answer the run's requests from the folder's replies until none is left, then end it."""
    if (run / "journal.db").exists():
        await call("open_run", folder=RUN)
    else:
        await call("start_run", problem=folder.name)
    state = await settled(call)
    while not state["over"] and (left := unused(run, folder / "replies")):
        request = await call("next_request")
        print(f"request {request['number']}, answered with {left[0].name}", flush=True)
        print(limit_in(request["prompt"]), flush=True)
        await call("submit", number=request["number"], reply=left[0].read_text(encoding="utf-8"))
        state = await settled(call)
    if not state["over"]:
        await call("finish")
        state = await settled(call)
    print(f"{state['stopped']}\n{state['verdict']}", flush=True)


async def settled(call: Call) -> dict[str, Any]:
    """The run's state once nothing is under way; verdicts are printed as they come."""
    while True:
        found = await call("wait")
        for one in found["verdicts"]:
            print("  " + "  ".join(f"{key} {value}" for key, value in one.items() if value is not None), flush=True)
        if found["state"]["doing"] is None:
            state: dict[str, Any] = found["state"]
            return state


def limit_in(prompt: str) -> str:
    """What a prompt says of what holds its kernel back; "" where it says nothing of it."""
    found = LIMIT.search(prompt)
    return "" if found is None else "  holds back: " + " ".join(found[1].split())


def keep(run: Path, place: Path) -> None:
    """Copy what is kept of a run: its trace, its best kernel and its problem. The journal has the prompts."""
    place.mkdir(parents=True)
    for name in KEPT:
        if (run / name).exists():
            shutil.copyfile(run / name, place / name)
    shutil.copytree(run / "problem", place / "problem")


if __name__ == "__main__":
    main()
