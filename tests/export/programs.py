"""Runs Python programs one after the other, each in a fork of a process that has imported torch and Triton already.

An import of torch takes seconds of processor time, a fork milliseconds. Not a test: started by `test_op.py`. A request
is a line of JSON {"folder", "module", "variables"}; the answer is {"status", "stdout", "stderr"}. As with
`PYTHONPATH=folder python -m module`, nothing of the package was imported before.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import tempfile
import traceback
from typing import IO, Any, NoReturn

import torch  # noqa: F401 - what every program imports
import triton  # noqa: F401


def answered(request: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        pid = os.fork()
        if pid == 0:
            run(request, out, errors)
        _, status = os.waitpid(pid, 0)
        out.seek(0)
        errors.seek(0)
        return {"status": os.waitstatus_to_exitcode(status), "stdout": out.read(), "stderr": errors.read()}


def run(request: dict[str, Any], out: IO[str], errors: IO[str]) -> NoReturn:
    os.dup2(out.fileno(), 1)
    os.dup2(errors.fileno(), 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
    os.environ.update(request["variables"])
    sys.path.insert(0, request["folder"])
    sys.argv = [request["module"]]
    status = 0
    try:
        runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    except BaseException:  # noqa: BLE001 - as Python does at the end of a program
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answered(json.loads(line))), flush=True)
