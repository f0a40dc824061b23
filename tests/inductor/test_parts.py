"""The parts of a float32 factor have the digits that tensor cores multiply."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from kernelwright.inductor.parts import TEXTS

SPLIT = """
import json, torch, triton
import triton.language as tl

{texts}

x = torch.cat([torch.randn(1000) * 2.0 ** torch.randint(-60, 60, (1000,)), torch.tensor([0.0, 1.0, 3.4028235e38])])
ends = torch.tensor([float("inf"), float("-inf"), float("nan")])
values = torch.cat([x, ends])
parts = torch.empty((2, len(values)))
split_factor[(triton.cdiv(len(values), 256),)](values, parts, len(values), WIDTH=256)
high, low = parts[:, : len(x)].double()
print(json.dumps({{
    "error": float(((high + low - x.double()).abs() / x.double().abs().clamp(min=1e-300)).max()),
    "digits": int((parts[:, : len(x)].contiguous().view(torch.int32) & 8191).max()),
    "ends": [str(one) for one in parts[:, len(x) :].flatten().tolist()],
}}))
"""


def test_parts_are_exact_in_tf32_and_add_up_to_the_number(tmp_path: Path) -> None:
    file = tmp_path / "split.py"
    file.write_text(SPLIT.format(texts="\n\n\n".join(TEXTS)))
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    output = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True, check=True)
    found = json.loads(output.stdout)
    assert found["digits"] == 0, "the last 13 of 23 digits are 0"
    assert 2**-24 < found["error"] <= 2**-21
    assert found["ends"] == ["inf", "-inf", "nan", "0.0", "0.0", "0.0"], "infinity and NaN are high parts"
