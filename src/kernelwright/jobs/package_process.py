"""Runs a module of an exported package in a new process."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from kernelwright.jobs.worker import Notify
from kernelwright.python import python, without_keys


def run_module(folder: Path, module: str, words: list[str], notify: Notify) -> int:
    """The exit status of `python -m MODULE WORDS`, with `folder` on the module path. Each line that it writes goes to
    `notify`."""
    variables = without_keys()
    path = os.pathsep.join([str(folder.resolve()), *filter(None, [variables.get("PYTHONPATH")])])
    process = subprocess.Popen(
        python("-m", module, *words),
        env={**variables, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    assert process.stdout is not None
    with process:
        try:
            for line in process.stdout:
                notify(line.rstrip("\n"))
        except BaseException:  # an interrupt, too: the package's process must end
            process.kill()
            raise
    return process.returncode
