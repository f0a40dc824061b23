"""The framework's own implementations of a problem, ready to be sampled: eager and `torch.compile`.

They are timed where the reference is, in the judge, by the same clock as the candidates. Each is taken
as a graph and as plain calls, and the faster counts.
"""

from __future__ import annotations

from typing import Any

import torch

from kernelwright.worker.bench import clock
from kernelwright.worker.reference.instance import Instance


class Baselines:
    """Implementations that were prepared, by case and name."""

    def __init__(self) -> None:
        self.timed: dict[tuple[str, str], clock.Timed] = {}
        self.pieces: dict[tuple[str, str], clock.Piece] = {}

    def prepare(self, case: str, name: str, instance: Instance, case_bytes: int) -> dict[str, Any]:
        """instance: of the case, on the GPU. case_bytes: what one call reads and writes at least."""
        free, _ = torch.cuda.mem_get_info()
        count = clock.sets_needed(case_bytes, torch.cuda.get_device_properties(0).L2_cache_size, free)
        module = compiled(instance.module, name)
        extra = [tuple(v.clone() if isinstance(v, torch.Tensor) else v for v in instance.inputs)
                 for _ in range(count - 1)]  # fmt: skip
        pieces = [_piece(module, inputs) for inputs in [instance.inputs, *extra]]
        with torch.no_grad():
            timed = clock.Timed(pieces, either=True)
        torch.cuda.empty_cache()  # of a graph that was slower than plain calls
        self.timed[case, name], self.pieces[case, name] = timed, pieces[0]
        timed.warm_up()
        return {"method": timed.method, "sets": count, "calls": timed.calls}

    def capture_again(self, case: str, name: str) -> None:
        """A new capture of what was prepared, with the rotating inputs in the opposite order."""
        with torch.no_grad():
            timed = self.timed[case, name].again()
        torch.cuda.empty_cache()
        timed.warm_up()
        self.timed[case, name] = timed

    def sample_us(self, case: str, name: str) -> float:
        return self.timed[case, name].sample_us()

    def warm_us(self, case: str, name: str) -> float:
        return self.timed[case, name].warm_us()

    def call_us(self, case: str, name: str) -> tuple[float, float]:
        return clock.call_us(self.pieces[case, name])

    def forget(self) -> None:
        self.timed.clear()
        self.pieces.clear()
        torch.cuda.empty_cache()


def _piece(module: Any, inputs: tuple[Any, ...]) -> clock.Piece:
    """A call whose output lives until its next one. Dropped at once, its memory would be the next piece's output, and
    would stay in L2 from call to call: a candidate's outputs rotate with its inputs."""
    kept: list[Any] = []

    def call() -> None:
        with torch.no_grad():
            output = module(*inputs)
        kept[:] = [output]

    return call


def compiled(module: torch.nn.Module, name: str) -> Any:
    """The module as `name` says: eager, compile or compile_max_autotune."""
    if name == "eager":
        return module
    torch._dynamo.reset()
    if name == "compile":
        return torch.compile(module)
    return torch.compile(module, mode="max-autotune-no-cudagraphs")
