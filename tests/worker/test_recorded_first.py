"""Sources that break rules where they do not run, in a real worker: recorded first, and judged by what is left."""

from __future__ import annotations

import pytest

from doubled import Judged, judged_texts, source_of
from evaluated import StartedWorker
from kernelwright.model import LEFT_OUT as BEGIN
from kernelwright.model import Status

HAS = "x = x * 2 if HAS else x"

LEFT_OUT = {
    "an import under try": ("try:\n    import vllm\n    HAS = True\nexcept ImportError:\n    HAS = False", HAS, "vllm"),
    "what hangs on an import": ("try:\n    import vllm\n    FIRST = vllm.one()\nexcept ImportError:\n    vllm = None\n"
                                "if vllm is not None:\n    from vllm import ops",
                                "if vllm is not None:\n    return ops.double(x)", "import vllm"),
    "a version": ("from packaging import version\nNEW = version.parse(triton.__version__) >= version.parse('99')\n"
                  "if NEW:\n    from triton.language import no_such_name\nelse:\n    HAS = False", HAS, "packaging"),
    "a version in a function": ("from packaging import version", "if version.parse(torch.__version__).major < 2:\n"
                                "    import vllm\n    return vllm.double(x)", "packaging"),
    "an environment variable": ("import os\nHAS = os.environ.get('HAS', '0') == '1'", HAS, "os.environ"),
    "a refusal by a variable": ("import os\ndef strict():\n    return os.getenv('STRICT', '0') == '1'",
                                "if strict():\n    raise RuntimeError()\nassert not strict()", "strict()"),
    "a message of a refusal": ("", "why = 'not {}'\nassert x.dim() < 9, why.format(x)", "format"),
    "a message of a refusal that goes, too": ("import time", "assert time.time() > 1, why.format(x)", "time"),
    "a variable in what only an import calls": ("import os\ndef many():\n    return 1 if os.getenv('ONE') else 2\n"
                                                "HAS = many() == 1", HAS, "os"),
    "a version by a function": ("import importlib, operator\nfrom packaging.version import Version\n"
                                "def newer(package, operator, than):\n    try:\n"
                                "        found = importlib.import_module(package)\n    except ImportError:\n"
                                "        return False\n    return operator(Version(found.__version__), Version(than))\n"
                                "if newer('triton', operator.ge, '1.0') and not newer('msgspec', operator.ge, '0'):\n"
                                "    HAS = False", HAS, "importlib"),
    "a package that is sought": ("import importlib.util\nHAS = importlib.util.find_spec('vllm') is not None\nif HAS:\n"
                                 "    import vllm", HAS, "importlib"),
    "what only type checkers import": ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import vllm",
                                       "pass", "vllm"),
    "a call at import that does not run": ("if torch.version.hip:\n    torch.backends.cuda.matmul.allow_tf32 = True",
                                           "pass", "backends"),
    "what a build of PyTorch for the CPU would do": (
        "if torch.version.cuda is None:\n    torch.backends.cuda.matmul.allow_tf32 = True", "pass", "backends"
    ),
    "a helper that another package decorates": ("import vllm\n@vllm.traced\ndef other(x, most=vllm.MOST):\n    return x"
                                                "\nclass Own(vllm.Op):\n    one = 1",
                                                "if x.dim() > 3:\n    return other(Own(x))", "vllm"),
    "a flag of the process": ("", "if torch.backends.cuda.matmul.allow_tf32:\n    return x", "allow_tf32"),
    "a handler that catches nothing": ("", "try:\n    x = x.view(-1)\nexcept RuntimeError:\n    pass", "        pass"),
    "a name of another Triton": ("try:\n    from triton.language import no_such_name as near\n"
                                 "except ImportError:\n    from triton.language import abs as near", "pass",
                                 "no_such_name"),
}  # fmt: skip

REFUSED = {
    "the clock in a condition": ("import time\nNOW = time.time()\nif NOW > 1:\n    HAS = False", HAS, "imports time"),
    "the clock behind a function": ("def late():\n    import time\n    return time.time() > 1\nif late():\n"
                                    "    HAS = False", HAS, "imports time"),
    "a patch in a condition": ("def patched():\n    torch.float33 = 1\n    return True\nif patched():\n    HAS = False",
                               HAS, "writes torch.float33"),
    "a patch in what is caught": ("def patched():\n    torch.one = 1\n    return ImportError\n"
                                  "try:\n    import vllm\nexcept patched():\n    HAS = 0", HAS, "catches exceptions"),
    "a variable that is set": ("import os\nos.environ['HAS'] = '1'\nHAS = os.environ.get('HAS') == '2'", HAS, "os"),
    "a flag that it sets": ("torch.backends.cuda.matmul.allow_tf32 = True",
                            "if torch.backends.cuda.matmul.allow_tf32:\n    x = x + 0", "torch.backends"),
    "a question that is no literal": ("import os\nHAS = os.environ.get('HAS', str(torch.initial_seed()))\n"
                                      "HAS = HAS == '2'", HAS, "imports os"),
    "a state that runs under try": ("try:\n    import vllm\nexcept ImportError:\n    KEPT = []\n",
                                    "KEPT.append(1)", "changes KEPT"),
    "a branch that depends on a package": ("import vllm\nif vllm.is_rocm():\n    HAS = False\nelse:\n    HAS = False",
                                           HAS, "line 6: the host code depends on vllm.is_rocm, and line 5 imports"),
    "a size that depends on a package": ("from vllm import MOST", "x = x[:MOST]", "depends on MOST, and line 5"),
    "a failure that is caught": ("try:\n    ONE = int('one')\nexcept ValueError:\n    ONE = 1", "pass", "catches"),
    "a variable in a call": ("import os", "if os.environ.get('DEPLOYED'):\n    return x", "imports os"),
    "a variable by a function of a call": ("import os\ndef deployed():\n    return os.getenv('DEPLOYED')",
                                           "if deployed():\n    return x", "imports os"),
    "a refusal that binds a name": ("import time", "assert (late := time.time()) and x.dim() < late", "imports time"),
    "a name of the recorder": ("__absent__ = print", "pass", "uses __absent__"),
}  # fmt: skip


LAZY = source_of("", "").replace(
    "\ndef kernel_function(x):",
    """
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = None

    def forward(self, x):
        if self.kept is None or self.kept.shape != x.shape:
            self.kept = torch.empty_like(x)
        double_kernel[(triton.cdiv(x.numel(), 256),)](x, self.kept, x.numel(), BLOCK=256)
        return self.kept


def other(x):""",
)
SUMMED = LAZY.replace("mask=lanes < n) * 2,", "mask=lanes < n) * 2 + tl.load(out_ptr + lanes, mask=lanes < n),")

TWICE = "import math\nTWO = tl.constexpr(math.sqrt(4.0))\n\n@triton.jit\ndef twice(x):\n    return x * TWO"
SEVERAL = source_of("KEPT = {}", "KEPT['x'] = x.item()")
DECORATED = source_of("from vllm import memoize", "").replace("def kernel_function", "@memoize\ndef kernel_function")
PATCHED = source_of("import vllm\nvllm.patch_torch()", "")

COMPUTED = source_of(TWICE, "").replace("mask=lanes < n) * 2,", "mask=lanes < n) * twice(1.0),")


@pytest.fixture(scope="module")
def judged(shared_worker: StartedWorker, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    every = [
        COMPUTED,
        LAZY,
        SUMMED,
        SEVERAL,
        DECORATED,
        PATCHED,
        *(source_of(top, host) for top, host, _ in (*LEFT_OUT.values(), *REFUSED.values())),
    ]
    return judged_texts(shared_worker, tmp_path_factory.mktemp("problem"), every)


@pytest.mark.parametrize("what", LEFT_OUT)
def test_what_does_not_run_is_left_out_and_the_rest_is_judged(judged: Judged, what: str) -> None:
    top, host, gone = LEFT_OUT[what]
    found = judged(source_of(top, host))
    assert found.status is Status.PASSED, found.reason
    lines = [line for line in (found.judged_source or "").splitlines() if "raise NotImplementedError" not in line]
    assert gone not in "\n".join(lines)


@pytest.mark.parametrize("what", REFUSED)
def test_what_runs_is_refused_where_it_breaks_a_rule(judged: Judged, what: str) -> None:
    top, host, why = REFUSED[what]
    found = judged(source_of(top, host))
    assert found.status is Status.REJECTED
    assert why in found.reason


def test_of_several_broken_rules_the_first_has_its_cure(judged: Judged) -> None:
    first, *others = judged(SEVERAL).reason.split("; then ")
    assert first.startswith("line 5: a module-level container could keep results between calls: ")
    assert others == ["line 13: uses .item: host code may depend on shapes only and compute nothing; "
                      "line 13: writes into KEPT, which outlives the call"]  # fmt: skip


def test_a_function_that_another_package_decorates_is_refused_with_the_line_of_its_import(judged: Judged) -> None:
    assert "depends on memoize, and line 5 imports from vllm" in judged(DECORATED).reason


def test_what_another_package_does_at_import_is_named(judged: Judged) -> None:
    found = judged(PATCHED)
    assert found.status is Status.PASSED, found.reason
    assert found.unjudged == (f"{BEGIN}line 6: calls vllm.patch_torch, which the judged text does not",)


def test_a_constant_that_a_function_computes_is_written_as_a_literal_where_a_function_of_a_kernel_reads_it(
    judged: Judged,
) -> None:
    found = judged(COMPUTED)
    assert found.status is Status.PASSED, found.reason
    assert "TWO = tl.constexpr((2.0))" in (found.judged_source or "")


def test_what_breaks_a_rule_and_is_left_out_is_named_with_its_rule(judged: Judged) -> None:
    top, host, _ = LEFT_OUT["a call at import that does not run"]
    found = [one for one in judged(source_of(top, host)).unjudged if one.startswith(BEGIN)]
    assert {one.partition(":")[2].partition(":")[0] for one in found} == {" line 6"}
    top, host, _ = LEFT_OUT["a handler that catches nothing"]
    assert any(one.startswith(f"{BEGIN}line ") for one in judged(source_of(top, host)).unjudged)
    for what, named in (("an environment variable", True), ("a refusal by a variable", True), ("a version", False),
                        ("a version by a function", True), ("a variable in what only an import calls", True),
                        ("an import under try", False), ("a name of another Triton", False)):  # fmt: skip
        top, host, _ = LEFT_OUT[what]
        assert any(one.startswith(BEGIN) for one in judged(source_of(top, host)).unjudged) is named, what


def test_what_is_left_out_is_named(judged: Judged) -> None:
    top, host, _ = LEFT_OUT["a call at import that does not run"]
    assert "line 6: torch.version.hip" in judged(source_of(top, host)).unjudged


def test_memory_that_a_call_keeps_is_allocated_in_every_call_and_holds_nothing(judged: Judged) -> None:
    found = judged(LAZY)
    assert found.status is Status.PASSED, found.reason
    assert [one.partition(":")[2] for one in found.unjudged] == [
        " line 19: writes self.kept, which the judged text does not"
    ]
    assert "self.kept =" not in (found.judged_source or "").replace("self.kept = None", "")
    assert judged(SUMMED).status is Status.WRONG
