"""Golden tables of five small models: regions, library calls, where they are and how often."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
import torch
from torch import nn

from kernelwright.model import ModelSurvey, Part
from kernelwright.worker.models.script import Script, read_script
from kernelwright.worker.models.survey import graphs_of, survey

SCRIPTS = Path(__file__).parent / "scripts"

TABLES = {
    "rope": """
        region embedding_pow_mean_add 2 1
        region mul 2 1
        region cos_mul_neg_sin 2 3
        region add_pow_mean_rsqrt 2 5
        region neg_exp_add_div 2 3
        region add_pow_mean_rsqrt_2 2 1
        gemm mm 6 15
        attention scaled_dot_product_flash_attention_for_cpu 2 3
        """,
    "convolutions": """
        region var_mean_sub_add_rsqrt 1 2
        region mul_erf_add 1 2
        region mul_add 1 2
        convolution convolution 1 1
        convolution convolution_2 1 2
        gemm addmm 2 4
        """,
    "group_norm": """
        region var_mean_add_rsqrt_mul 2 2
        region neg_exp_add_div 1 2
        region add_var_mean_rsqrt_mul 2 2
        region add 2 2
        convolution convolution 2 4
        gemm addmm 2 2
        convolution convolution_2 1 1
        """,
    "awkward": """
        region var_mean_sub_add_rsqrt 1 1
        gemm addmm 1 2
        region where 1 1
        region relu_add 1 1
        other index_put 1 1
        attention scaled_dot_product_flash_attention_for_cpu 1 1
        """,
    "gpt": """
        region embedding_add_var_mean_sub 1 1
        region convert_element_type 3 8
        region convert_element_type_2 5 9
        region gt_mul_add_var_mean 1 2
        region mul_erf_add 1 2
        region add_var_mean_sub_rsqrt 1 1
        region add_var_mean_sub_rsqrt_2 1 1
        region ne_sum_amax_sub 1 1
        gemm addmm 4 8
        attention scaled_dot_product_flash_attention_for_cpu 1 2
        gemm mm 11 19 back
        region ne_where_eq_div 1 1 back
        region mul_sum_sub 1 1 back
        region convert_element_type_3 5 9 back
        region mul_erf_add_exp 1 2 back
        region mul_sum_sub_add 1 2 back
        region select_scatter_add_sum 1 2 back
        region mul_sum_sub_add_2 1 1 back
        region ge_lt_bitwise_and_ne 1 1 back
        attention scaled_dot_product_flash_attention_for_cpu_backward 1 2 back
        """,
}
"""For each script a line for each part: class, name, sizes, places, and "back" in the backward."""


@cache
def surveyed(name: str) -> ModelSurvey:
    script = read_script(str(SCRIPTS / f"{name}.py"))
    return survey(script, graphs_of(script, "cpu"))[0]


def line(part: Part) -> str:
    places = sum(case.places for case in part.cases)
    return f"{part.kind} {part.name} {len(part.cases)} {places:g}{' back' * part.is_backward}"


def part(script: str, name: str) -> Part:
    return next(one for one in surveyed(script).parts if one.name == name)


@pytest.mark.parametrize("name", TABLES)
def test_a_model_has_these_parts(name: str) -> None:
    assert [*map(line, surveyed(name).parts)] == [one.strip() for one in TABLES[name].strip().splitlines()]


def test_a_second_run_finds_the_same_keys() -> None:
    script = read_script(str(SCRIPTS / "group_norm.py"))
    again = survey(script, graphs_of(script, "cpu"))[0]
    assert again == surveyed("group_norm")


def test_every_layer_has_the_same_keys_and_the_module_is_named_without_its_number() -> None:
    norms = part("rope", "add_pow_mean_rsqrt")
    assert [case.places for case in norms.cases] == [5 * 0.75, 5 * 0.25]
    assert norms.module == "layers.*.after (Norm)"


def test_sizes_of_two_sets_of_inputs_are_cases_of_one_problem() -> None:
    text = part("rope", "neg_exp_add_div").text
    assert text is not None
    assert [one.split(", ", 1)[1] for one in text.split("CASES = [")[1].splitlines() if "dict(" in one] == [
        "dtype='bfloat16', n0=4, n1=40, n2=768),",
        "dtype='bfloat16', n0=2, n1=96, n2=768),",
    ]


def test_the_parts_of_a_split_follow_from_its_dimension() -> None:
    text = part("rope", "cos_mul_neg_sin").text
    assert text is not None
    assert re.search(r"torch\.ops\.aten\.split\.Tensor\(v\d+, self\.n\d // 2, -1\)", text)


def test_training_has_backward_graphs_and_casts_are_no_problems() -> None:
    assert surveyed("gpt").graphs == 2
    assert {one.refused for one in surveyed("gpt").parts if "convert" in one.name} == {
        "it only moves or casts elements"
    }


def test_random_numbers_are_inputs_of_a_region() -> None:
    texts = [one.text for one in surveyed("gpt").parts if one.text]
    assert any("torch.rand(" in text for text in texts)


def test_a_label_to_ignore_stays_a_sentinel() -> None:
    texts = [one.text for one in surveyed("gpt").parts if one.text]
    assert any(", -100)" in text and "masked_fill" in text for text in texts)


def test_a_write_into_a_cache_counts_what_is_written() -> None:
    (case,) = part("awkward", "index_put").cases
    assert case.work.written_bytes == 2 * 24 * 64 * 4 + 24 * 8
    assert case.work.remark == "writes a part of an input in place"


def test_a_materialised_causal_mask_is_named_and_only_its_scores_count() -> None:
    (attention,) = (one for one in surveyed("awkward").parts if one.kind == "attention")
    (case,) = attention.cases
    assert "the mask is causal, and materialised" in case.work.remark
    assert case.work.flop == {"float32": 2 * 2 * 4 * (24 * 25 // 2) * (16 + 16)}


def test_is_causal_counts_the_scores_below_the_diagonal() -> None:
    (attention,) = (one for one in surveyed("rope").parts if one.kind == "attention")
    assert attention.cases[0].work.flop == {"bfloat16": 2 * 4 * 4 * (40 * 41 // 2) * (64 + 64)}


def test_a_depthwise_convolution_is_a_library_call_with_its_own_work() -> None:
    (depthwise,) = (one for one in surveyed("convolutions").parts if "depthwise" in one.module)
    assert (depthwise.kind, sum(case.places for case in depthwise.cases)) == ("convolution", 2)
    taps_inside = sum(min(13, row + 3) - max(0, row - 3) + 1 for row in range(14))
    assert depthwise.cases[0].work.flop == {"float32": 2 * 6 * 32 * taps_inside**2}


class Masked(nn.Module):
    """Attention with a causal mask that is made, and saved for the backward."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x).view(1, 2, 6, 8)
        mask = torch.ones(6, 6, dtype=torch.bool, device=x.device).tril()
        return nn.functional.scaled_dot_product_attention(y, y, y, mask)


def test_a_backward_knows_the_mask_of_its_forward() -> None:
    given = {"build": Masked, "inputs": lambda: {"only": [torch.randn(12, 8)]}, "train": True}
    script = Script(Path("masked.py"), given, "build")
    parts = survey(script, graphs_of(script, "cpu"))[0].parts
    (backward,) = (one for one in parts if one.kind == "attention" and one.is_backward)
    assert "the mask is causal" in backward.cases[0].work.remark
