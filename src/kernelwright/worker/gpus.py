"""List of the GPUs that CUDA shows to this process, as JSON: `python -m kernelwright.worker.gpus`. Imports no torch.

GPUs are named by UUID: an index depends on CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import uuid

from kernelwright.errors import MachineError
from kernelwright.python import named_variables, python

LOOK_S = 60.0
"""Time limit for listing the GPUs. The first call to an idle driver may take some ten seconds."""


def found() -> list[dict[str, str]]:
    """uuid (as CUDA_VISIBLE_DEVICES takes it) and name of each GPU; an empty list without a driver or a GPU."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count = ctypes.c_int()
    if cuda.cuInit(0) != 0 or cuda.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    return [described(cuda, number) for number in range(count.value)]


def described(cuda: ctypes.CDLL, number: int) -> dict[str, str]:
    device, name, key = ctypes.c_int(), ctypes.create_string_buffer(128), (ctypes.c_ubyte * 16)()
    cuda.cuDeviceGet(ctypes.byref(device), number)
    cuda.cuDeviceGetName(name, len(name), device)
    cuda.cuDeviceGetUuid(ctypes.byref(key), device)
    return {"uuid": f"GPU-{uuid.UUID(bytes=bytes(key))}", "name": name.value.decode(errors="replace")}


def uuid_of(number: int) -> str:
    """UUID of a GPU by its number in CUDA's order, counted from 0. A separate process reads it, because the query
    initialises CUDA. Raises `MachineError` if this machine has fewer GPUs or the driver does not answer."""
    asked = python("-m", "kernelwright.worker.gpus")
    try:
        said = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=LOOK_S, env=named_variables())
        gpus = json.loads(said.stdout)
    except (subprocess.SubprocessError, ValueError) as error:
        raise MachineError(
            f"the GPUs of this machine cannot be listed: {error}", "does nvidia-smi -L answer?"
        ) from error
    if number >= len(gpus):
        raise MachineError(f"there is no GPU {number}: CUDA shows {len(gpus)}, counted from 0", "ask for fewer lanes")
    return str(gpus[number]["uuid"])


if __name__ == "__main__":
    json.dump(found(), sys.stdout)
