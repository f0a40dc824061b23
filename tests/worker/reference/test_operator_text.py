"""The operators of a reference as text."""

from __future__ import annotations

from pathlib import Path

from kernelwright.worker.reference.load import load_problem

SOURCE = '''
import torch

zanzibar = 3.0


class Model(torch.nn.Module):
    """zanzibar"""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)
        self.field = torch.ones(4)
        self.zanzibar_fields = [torch.ones(4)]

    def forward(self, x, zanzibar_mode):
        assert zanzibar_mode == "zanzibar text"
        return torch.softmax(self.linear(x) * zanzibar + self.field * self.zanzibar_fields[0], dim=-1), x[::2]


def get_inputs():
    return [torch.randn(6, 8), "zanzibar text"]


def get_init_inputs():
    return []
'''


def test_operators_have_the_names_of_arguments_and_parameters_and_numbers_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "problem.py").write_text(SOURCE)
    lines = load_problem(str(tmp_path)).operator_text()
    text = "\n".join(lines)
    assert "zanzibar" not in text
    assert "addmm(linear_bias, x, " in text
    assert "(linear_weight)" in text
    assert "mul.Tensor(" in text
    assert ", 3.0) -> (6, 4) float32" in text
    assert "mul.Tensor(field, a constant (4,) float32)" in text
    assert "_softmax(" in text
    assert lines[-1].startswith("return %")
    assert lines[-1].count("%") == 2
