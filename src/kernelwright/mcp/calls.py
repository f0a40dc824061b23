"""How tools of the MCP server are called: their errors as an agent reads them, progress while they work, and what they
do to the machine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import ValidationError

from kernelwright.errors import KernelwrightError
from kernelwright.text.escape import one_line

R = TypeVar("R")

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
"""Changes no file and no run."""
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
"""Adds to a run, or writes files that were not there."""
BEGINS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
"""Runs the problem's file, with the rights of the server's process."""

TICK_S = 1.0
"""Seconds between notifications of progress."""


class Server(MCPServer):
    """A server whose tools answer every error with its reason, in one line."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            text, kind = reason_of(error.__cause__ or error), type(error)
            if isinstance(error.__cause__, KernelwrightError | OSError | ValidationError):
                kind = ToolError  # the SDK writes a traceback for any other kind
            raise kind(one_line(text)) from error.__cause__


def reason_of(error: BaseException) -> str:
    match error:
        case KernelwrightError() | ToolError():
            return str(error)
        case OSError():
            return ": ".join(str(part) for part in (error.strerror or error, error.filename) if part)
        case ValidationError():
            return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        case _:
            return f"{type(error).__name__}: {error}"


async def watched(
    ctx: Context[Any, Any], progress: Callable[[], str], is_over: Callable[[float], bool], within_s: float
) -> None:
    """Notify the client of progress until the work is over or the time is up. is_over: takes how long it may wait."""
    began_s = time.monotonic()
    while (left_s := within_s - (time.monotonic() - began_s)) > 0:
        if await anyio.to_thread.run_sync(is_over, min(TICK_S, left_s)):
            return
        await ctx.report_progress(round(time.monotonic() - began_s, 1), message=progress())


async def awaited(ctx: Context[Any, Any], what: str, job: Callable[[], R]) -> R:
    """The result of `job`, which takes a while; the client is notified of progress meanwhile."""
    threads = ThreadPoolExecutor(1, thread_name_prefix="kernelwright-tool")
    future = threads.submit(job)
    threads.shutdown(wait=False)
    await watched(ctx, lambda: what, lambda within_s: bool(wait([future], within_s).done), math.inf)
    return future.result()
