"""What the verbs start but do not own: the worker.

Not configuration. The rule: a verb takes it from click's context object, so that a test brings its own by passing
`obj`, and nothing is patched.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import click

from kernelwright.evaluator.client import Worker


def local_worker(target: str | None) -> AbstractContextManager[Worker]:
    """A worker on this machine; raises `MachineError` where torch or Triton is missing."""
    from kernelwright.evaluator.client import start_worker

    return start_worker(target=target)


@dataclass(frozen=True)
class Parts:
    """start_worker: from a compile target (None: the machine's own) to a context manager that gives a worker and
    ends it with everything that it started."""

    start_worker: Callable[[str | None], AbstractContextManager[Worker]] = local_worker


target_option = click.option(
    "--target",
    metavar="sm_NN",
    help="Compile for this target; only on a machine without a GPU (default there: sm_90).",
)

pass_parts = click.make_pass_decorator(Parts, ensure=True)
