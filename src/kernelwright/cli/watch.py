"""`watch`: a run at work as a page in the browser, following it; the run itself is not touched."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import click

from kernelwright.cli import complete
from kernelwright.cli.output import note, say
from kernelwright.errors import RequestError
from kernelwright.report.live import LiveRun, LiveServer, RunIsOver

NICER_BY = 10
"""The run's own processes come first where there are few processors."""


@click.command()
@click.argument("run", shell_complete=complete.runs)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where to listen (default: any free port).")
def watch(run: str, port: int) -> None:
    """Follow a run in the browser.

    RUN is a run's folder. The page is served to this machine only (127.0.0.1) until the run is over or Ctrl-C, and
    follows the run's journal; from elsewhere, forward the port: ssh -L PORT:127.0.0.1:PORT HOST. A run that is over is
    not served: its page is what `report` writes. One that is paused or waits for replies is followed.

    Nothing of the run is executed.
    """
    live = LiveRun(Path(run))
    if (why := live.over()) is not None:
        end(run, why)
        return
    os.nice(NICER_BY)
    try:
        server = LiveServer(live, port)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        reason = error.strerror or str(error)
        raise RequestError(f"port {port} cannot be listened on: {reason}", "leave --port out for a free one") from error
    with server:
        say(f"watching {run}: {server.url}")
        note("Ctrl-C ends watching, not the run")
        try:
            server.serve_forever()
        except RunIsOver as over:
            end(run, str(over))
        except KeyboardInterrupt:
            return


def end(run: str, why: str) -> None:
    say(f"{run} has ended ({why}); its page: kernelwright report {run} --format html")
