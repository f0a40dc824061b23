"""Problems in the forms of the field's problem sets, with texts of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SCALE = """
import torch


@torch.no_grad()
def run(x, weight, eps):
    assert x.shape[-1] == 24
    return x / (x.float().pow(2).mean(-1, keepdim=True) + eps).sqrt().to(x.dtype) * weight
"""

DEFINITION: dict[str, Any] = {
    "name": "scale_h24",
    "op_type": "rmsnorm",
    "description": "Rows scaled to unit length.",
    "tags": ["status:verified"],
    "axes": {"rows": {"type": "var"}, "width": {"type": "const", "value": 24}},
    "inputs": {
        "x": {"shape": ["rows", "width"], "dtype": "float32"},
        "weight": {"shape": ["width"], "dtype": "float32"},
        "eps": {"shape": None, "dtype": "float32"},
    },
    "outputs": {"out": {"shape": ["rows", "width"], "dtype": "float32"}},
    "reference": SCALE,
}


def workload(number: int, axes: dict[str, int], **inputs: dict[str, Any]) -> dict[str, Any]:
    described = {"x": {"type": "random"}, "weight": {"type": "random"}, "eps": {"type": "scalar", "value": 1e-3}}
    return {"uuid": f"{number:08x}-0000", "axes": axes, "inputs": {**described, **inputs}}


def write_trace_set(root: Path, definition: dict[str, Any], workloads: list[dict[str, Any]]) -> Path:
    """As flashinfer-bench lays it out; gives the definition's file."""
    file = root / "definitions" / "kind" / f"{definition['name']}.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(definition))
    lines = [{"definition": definition["name"], "workload": one, "solution": None} for one in workloads]
    beside = root / "workloads" / "kind" / f"{definition['name']}.jsonl"
    beside.parent.mkdir(parents=True)
    beside.write_text("\n".join(map(json.dumps, lines)))
    return file


def write_folder(root: Path, definition: dict[str, Any], workloads: list[dict[str, Any]]) -> Path:
    """As SOL-ExecBench lays it out; gives the folder."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "definition.json").write_text(json.dumps(definition))
    (root / "workload.jsonl").write_text("\n".join(map(json.dumps, workloads)))
    return root


TASK = '''
import torch
import torch.nn as nn


def forward_fn(x, weight, eps):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight=weight, eps=eps)


class Model(nn.Module):
    """Rows normalised."""

    def __init__(self, width: int, eps: float = 1e-5, init_method: str = "standard"):
        super().__init__()
        self.eps = eps
        made = torch.ones(width) if init_method == "standard" else torch.randn(width)
        self.weight = nn.Parameter(made)

    def forward(self, x, fn=forward_fn):
        return fn(x, self.weight, self.eps)


def get_inputs(batch_size: int = 16, width: int = 8):
    return [torch.randn(batch_size, width)]


input_names = ["x"]
'''

CONFIG: dict[str, Any] = {
    "single_input_configs": [{"batch_size": 5}],
    "single_init_configs": [{"init_method": "random"}],
    "single_shared_configs": [{"width": 12}],
    "multi_input_configs": [{"batch_size": 5}, {"batch_size": 7}],
    "multi_init_configs": [{"init_method": "random"}, {"init_method": "standard"}],
    "multi_shared_configs": [{"width": 12}],
}


def write_task(root: Path, text: str = TASK, config: dict[str, Any] = CONFIG) -> Path:
    """As robust-kbench lays it out; gives the folder."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "func_forward.py").write_text(text)
    (root / "config_forward.json").write_text(json.dumps(config))
    return root
