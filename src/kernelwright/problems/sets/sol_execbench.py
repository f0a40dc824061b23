"""SOL-ExecBench: a folder with `definition.json` and `workload.jsonl`.

Random inputs are drawn according to their names, as the set does: positive values, weights that keep the magnitude of
their input, masks and decays. A norm's weight and bias are normal numbers here. The set has ones and zeros, which a
kernel could ignore.
"""

from __future__ import annotations

from pathlib import Path

from kernelwright.problems.sets.definition import (
    NUMBERS,
    Tensor,
    random_values,
    read_definition,
    read_workloads,
    translated,
)
from kernelwright.problems.sets.written import write

NAME = "SOL-ExecBench"
DEFINITION = "definition.json"
WORKLOADS = "workload.jsonl"

POSITIVE = ("rstd", "std", "variance", "var")
DECAYS = {"A": (-1.0, -0.001), "A_log": (-5.0, -1.0), "g": (-5.0, 0.0), "A_cumsum": (-0.1, 0.0)}
SHARES = ("attn_weights", "attention_weights", "routing_weights")
ANGLES = {"cos": "cos", "cos_cached": "cos", "rope_cos": "cos", "sin": "sin", "sin_cached": "sin", "rope_sin": "sin"}


def problem_file(path: Path) -> Path | None:
    folder = path if path.is_dir() else path.parent
    if not (folder / DEFINITION).is_file() or (path.is_file() and path.name != DEFINITION):
        return None
    definition = read_definition(folder / DEFINITION)
    workloads = read_workloads(folder / WORKLOADS)
    return write(translated(folder / DEFINITION, NAME, definition, workloads, values_by_name))


def values_by_name(name: str, tensor: Tensor, shape: str) -> str:
    """An expression for suitable values of an input with this name."""
    normal = random_values(name, tensor, shape)
    description = (tensor.description or "").lower()
    if tensor.shape is None or tensor.dtype not in NUMBERS:
        return normal
    if name in POSITIVE or name.rstrip("0123456789").endswith(tuple(f"_{word}" for word in POSITIVE)):
        return f"{normal}.abs() + 0.1"
    if name in ANGLES:
        return f"{normal}.clamp(-3.14159, 3.14159).{ANGLES[name]}()"
    if name in DECAYS:
        low, high = DECAYS[name]
        drawn = f"torch.empty({shape}, dtype=torch.{tensor.dtype}).uniform_({low}, {high})"
        return f"{drawn}.cumsum(-1)" if name == "A_cumsum" else drawn
    if name in SHARES or ("softmax" in description and "output" in description):
        return f"torch.softmax({normal}, dim=-1)"
    if name.endswith("_mask"):
        if "causal" in description and len(tensor.shape) >= 2:
            least = f"torch.finfo(torch.{tensor.dtype}).min"
            return f"torch.triu(torch.full({shape}, {least}, dtype=torch.{tensor.dtype}), diagonal=1)"
        if any(words in description for words in ("binary", "{0, 1}", "0 or 1", "1.0 for valid", "0.0 for masked")):
            return f"torch.randint(0, 2, {shape}).to(torch.{tensor.dtype})"
    if len(tensor.shape) >= 2 and (name.startswith("weight") or name.endswith(("weight", "_proj", "_w"))):
        return f"{normal} / {tensor.shape[-1]} ** 0.5"
    return normal
