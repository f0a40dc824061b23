"""What is left of a module after a recording: what ran, at the top level."""

from __future__ import annotations

from typing import Any

import pytest

from kernelwright.source import parse as syntax
from kernelwright.source.branches import MARK, STAND_IN, marked
from kernelwright.worker.rules.foreign import with_stand_ins
from kernelwright.worker.rules.ran import what_ran


def absent(*names: str) -> Any:
    if not names:
        raise ModuleNotFoundError("vllm")
    return object()


def left(source: str) -> tuple[str, tuple[str, ...]]:
    taken: set[int] = set()
    space: dict[str, Any] = {MARK: taken.add, STAND_IN: absent, "__name__": "candidate"}
    exec(compile(marked(syntax.parse(with_stand_ins(source))), "host", "exec"), space)
    return what_ran(source, taken)


@pytest.mark.parametrize(("written", "ran"), [
    ("try:\n    import vllm\n    HAS = True\nexcept ImportError:\n    HAS = False", "HAS = False"),
    ("try:\n    import math\n    HAS = True\nexcept ImportError:\n    HAS = False", "import math\nHAS = True"),
    ("try:\n    import math\nexcept ImportError:\n    math = None\nelse:\n    HAS = True", "import math\nHAS = True"),
    ("try:\n    import math\n    import vllm\nexcept ImportError as error:\n    WHY = error",
     "import math\nerror = ImportError()\nWHY = error"),
    ("try:\n    import vllm\nexcept (ImportError, OSError):\n    pass", "pass"),
    ("try:\n    import vllm\nexcept OSError:\n    HAS = 1\nexcept ImportError:\n    HAS = 2", "HAS = 2"),
    ("import math\ntry:\n    ONE = math.no_such_name\nexcept AttributeError:\n    ONE = math.pi",
     "import math\nONE = math.pi"),
    ("HAS = None\nif HAS is not None:\n    import vllm\nelse:\n    ONE = 1", "HAS = None\nONE = 1"),
    ("HAS = 1\nif HAS:\n    try:\n        import vllm\n    except ImportError:\n        HAS = 3",
     "HAS = 1\nHAS = 3"),
    ("try:\n    import vllm\nexcept ImportError:\n    vllm = None\nif vllm is not None:\n    HAS = vllm.one",
     "vllm = None\npass"),
    ("HAS = 0\nif HAS:\n    import vllm", "HAS = 0\npass"),
    ("if __name__ == '__main__':\n    import vllm", "if __name__ == '__main__':\n    import vllm"),
])  # fmt: skip
def test_conditions_and_imports_that_fail_give_way_to_what_ran(written: str, ran: str) -> None:
    text, _ = left(written)
    assert [line for line in text.splitlines() if line.strip()] == ran.splitlines()
    assert text.count("\n") == written.count("\n")


@pytest.mark.parametrize("written", [
    "try:\n    ONE = int('one')\nexcept ValueError:\n    ONE = 1",
    "try:\n    import math; int('one')\nexcept ValueError:\n    ONE = 1",
    "import time\nif time.time() > 1:\n    ONE = 1",
    "import time\nNOW = time.time()\nif NOW > 1:\n    ONE = 1",
    "def late():\n    import time\n    return time.time() > 1\nif late():\n    ONE = 1",
    "import os\nif os.environ.get('NONE'):\n    ONE = 1\nelse:\n    ONE = 2",
    "try:\n    import vllm\nexcept ImportError:\n    ONE = 1\nfinally:\n    TWO = 2",
])  # fmt: skip
def test_a_failure_that_acted_and_a_condition_that_may_break_a_rule_stay(written: str) -> None:
    text, _ = left(written)
    assert next(line for line in written.splitlines() if line.startswith(("if ", "try:"))) in text.splitlines()


def test_everything_that_is_left_out_is_named() -> None:
    source = "import math\nif math.pi > 3:\n    ONE = 1\nif math.pi < 3:\n    ONE = 2\nelse:\n    TWO = 3\n"
    source += "try:\n    import vllm\n    HAS = True\nexcept ImportError:\n    HAS = False\n"
    assert left(source)[1] == ("line 5: math.pi < 3", "line 10: line 9 does not fail", "line 2: not (math.pi > 3)")
