"""Imports of other packages, in a real worker: accepted where only code that no call reaches uses them."""

from __future__ import annotations

import pytest

from doubled import Judged, judged_texts, source_of
from evaluated import StartedWorker
from kernelwright.model import Status

MANY = "if x.dim() > 3:\n    "

UNTAKEN = {
    "a function": ("from vllm.utils import cdiv", MANY + "return cdiv(x, 2)"),
    "a module": ("import flash_attn.ops as ops, torch.nn as nn", MANY + "return ops.double(x)"),
    "an expression": ("from einops import rearrange", "x = rearrange(x, 'a b -> b a') if x.dim() > 3 else x"),
    "a part of the package": ("from .utils import cdiv", MANY + "return cdiv(x, 2)"),
    "what it computed at import": ("import vllm\nMOST = vllm.most()\nMORE = MOST + 1", MANY + "return x * MORE"),
    "an annotation": ("from vllm import Config\ndef most(c: 'Config', d: Config = None) -> Config:\n    return 8",
                      "most(x)"),
    "a call at import": ("from vllm.utils import register\nregister(op_name='double', op_func=double)", "pass"),
    "a class that it asks for": ("import numpy as np, vllm", "if isinstance(x, (np.ndarray, vllm.One)):\n"
                                 "    x = x.weight"),
    "a logger": ("from vllm.logger import init_logger\nlogger = init_logger(__name__)", "logger.info_once('twice')"),
}  # fmt: skip


TAKEN = {
    "a call": ("from vllm.utils import cdiv", "cdiv(x, 2)"),
    "a decorator": ("from vllm.utils import checked\n@checked\ndef one(x):\n    return x", "x = one(x)"),
    "a condition": ("from vllm.platforms import current", "if current.is_rocm():\n    x = x.contiguous()"),
    "what it computed at import": ("import vllm\nMOST = vllm.most()", "x = x[:MOST]"),
    "a base class": ("import vllm\nclass Own(vllm.Op):\n    one = 1", "x = x[: 64 * Own.one]"),
    "a default": ("import vllm\ndef most(x, one=vllm.one):\n    return 1", "most(x)"),
    "what a call at import returns": ("import vllm\nONE = vllm.register(torch)", "x = x[:ONE]"),
    "a call in a call": ("import vllm", "vllm.register(x)"),
    "an attribute": ("import numpy as np", "x = x[: np.intp(64)]"),
    "an import in a call": ("", "import vllm"),
}  # fmt: skip


@pytest.fixture(scope="module")
def judged(shared_worker: StartedWorker, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    every = [source_of(*lines) for lines in (*UNTAKEN.values(), *TAKEN.values())]
    return judged_texts(shared_worker, tmp_path_factory.mktemp("problem"), every)


@pytest.mark.parametrize("what", UNTAKEN)
def test_an_import_of_another_package_that_no_call_uses_is_left_out(judged: Judged, what: str) -> None:
    found = judged(source_of(*UNTAKEN[what]))
    assert found.status is Status.PASSED, found.reason
    for package in ("vllm", "flash_attn", "einops", "utils"):
        assert f"import {package}" not in (found.judged_source or "")
        assert f"from {package}" not in (found.judged_source or "")


@pytest.mark.parametrize("what", TAKEN)
def test_an_import_of_another_package_that_a_call_uses_is_refused(judged: Judged, what: str) -> None:
    found = judged(source_of(*TAKEN[what]))
    assert found.status is Status.REJECTED
    assert "import" in found.reason
