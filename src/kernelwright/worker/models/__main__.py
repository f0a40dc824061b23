"""`python -m kernelwright.worker.models SCRIPT ANSWER [GPU NAMES]`: surveys a script's module, writes a `ModelSurvey`.

What the script prints goes to this process's own output, which nothing reads as an answer. GPU: the UUID of the GPU to
measure on. NAMES: of the baselines, with commas.
"""

from __future__ import annotations

import sys
from pathlib import Path

from kernelwright import codec
from kernelwright.errors import RequestError
from kernelwright.worker.models.measured import DeviceClock, measured
from kernelwright.worker.models.script import read_script
from kernelwright.worker.models.survey import survey
from kernelwright.worker.processes.lease import Lease


def main(place: str, answer: str, gpu: str = "", baselines: str = "") -> None:
    """Errors of the script itself are raised."""
    script = read_script(place)
    found, computations = survey(script, "cuda" if gpu else "cpu")
    if gpu:
        with Lease(gpu):
            found = measured(script, found, computations, DeviceClock(), baselines.split(","))
    Path(answer).write_bytes(codec.encode(found))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except RequestError as error:
        sys.exit(str(error))
