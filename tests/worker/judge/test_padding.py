"""NaN and infinity in what a convolution multiplies by the zeros of its padding."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.worker.judge.judge import Judge
from kernelwright.worker.reference import values

PROBLEM = """
import torch
import torch.nn.functional as F

class Model(torch.nn.Module):
    def forward(self, x, weight):
        return {expression}

CASES = [dict(name="small", small=True, size=24), dict(name="timed", size=25)]

def get_inputs(size):
    return [torch.randn(2, 4, size, size), torch.randn(4, {in_group}, 3, 3)]

def get_init_inputs():
    return []
"""

GRADIENT = "[0], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, False, False]"
"""The arguments of a padded convolution's gradients, of which only the input's is asked for."""

SPECIAL = values.DISTRIBUTIONS.index(values.SPECIAL)


def drawn(folder: Path, expression: str, in_group: int = 4) -> dict[bool, set[str]]:
    """What was drawn in place of the special values, by whether they would have been in the weight."""
    file = folder / "problem.py"
    file.write_text(PROBLEM.format(expression=expression, in_group=in_group))
    made = Judge("cpu")
    made.load(str(file), None)
    found: dict[bool, set[str]] = {False: set(), True: set()}
    count = len(values.DISTRIBUTIONS)
    for draw in range(SPECIAL, SPECIAL + 4 * count, count):
        in_weight = (made.draws.secret + draw) % 2 == 1
        found[in_weight].add(made.answer("small", draw).distribution)
    return found


@pytest.mark.parametrize(
    ("expression", "in_group"),
    [
        ("F.conv2d(x, weight, padding=1)", 4),
        ("F.relu(F.conv2d(x, weight, padding=1, groups=4))", 1),
        ("F.conv_transpose2d(x, weight)", 4),
        (f"torch.ops.aten.convolution_backward(x, torch.ones_like(x), weight, {GRADIENT})[0]", 4),
    ],
    ids=["padded", "depthwise", "transposed", "gradient of the input"],
)
def test_the_weight_has_none_where_padding_may_be_multiplied_or_left_out(
    expression: str, in_group: int, tmp_path: Path
) -> None:
    found = drawn(tmp_path, expression, in_group)
    in_input = values.FINITE_SPECIAL if "backward" in expression else values.SPECIAL  # it is the gradient there
    assert found == {False: {in_input}, True: {values.FINITE_SPECIAL}}


def test_without_padding_the_weight_has_some(tmp_path: Path) -> None:
    assert drawn(tmp_path, "F.conv2d(x, weight)") == {False: {values.SPECIAL}, True: {values.SPECIAL}}
