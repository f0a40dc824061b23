"""`python -m kernelwright.worker.models SCRIPT ANSWER [GPU NAMES PEAKS]`: surveys a script's module, writes a
`ModelSurvey`.

What the script prints goes to this process's own output, which nothing reads as an answer. GPU: the UUID of the GPU to
measure on. NAMES: of the baselines, with commas. PEAKS: of the GPU, as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kernelwright import codec
from kernelwright.errors import RequestError
from kernelwright.worker.models.measured import DeviceClock, measured
from kernelwright.worker.models.script import read_script
from kernelwright.worker.models.survey import graphs_of, survey
from kernelwright.worker.processes.lease import Lease


def main(place: str, answer: str, gpu: str = "", baselines: str = "", peaks: str = "") -> None:
    """Errors of the script itself are raised."""
    script = read_script(place)
    graphs = graphs_of(script, "cuda" if gpu else "cpu")
    if gpu:
        with Lease(gpu):
            found = measured(script, graphs, DeviceClock(), baselines.split(","), json.loads(peaks))
    else:
        found, _ = survey(script, graphs)
    Path(answer).write_bytes(codec.encode(found))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except RequestError as error:
        sys.exit(str(error))
