"""What the verifier says of kernels that are wrong in a known way, made from the gallery's own starters.

Three versions of each: operands rounded to fp16 on load, the last program's stores left out, a constant stored. Prints
one line per version; exit status 1 if one of them passes. On a machine without a GPU only small cases are judged.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path

from kernelwright.evaluator.client import start_worker
from kernelwright.model import Candidate, Status

GALLERY = Path(__file__).parent.parent / "gallery"
PROBLEMS = ("matvec", "rmsnorm", "max_pool3d", "conv_transpose3d", "depthwise_conv2d")


class Calls(ast.NodeTransformer):
    """Rewrites every call of one `tl` function."""

    def __init__(self, function: str, rewrite: Callable[[ast.Call], ast.expr]) -> None:
        self.function, self.rewrite = function, rewrite

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return self.rewrite(node) if ast.unparse(node.func) == self.function else node


def rounded(load: ast.Call) -> ast.expr:
    pointer = ast.unparse(load.args[0])
    return ast.parse(f"({ast.unparse(load)}).to(tl.float16).to(({pointer}).dtype.element_ty)", mode="eval").body


def without_last(store: ast.Call) -> ast.expr:
    kept = "(tl.program_id(0) < tl.num_programs(0) - 1)"
    for keyword in store.keywords:
        if keyword.arg == "mask":
            keyword.value = ast.parse(f"({ast.unparse(keyword.value)}) & {kept}", mode="eval").body
            return store
    store.keywords.append(ast.keyword(arg="mask", value=ast.parse(kept, mode="eval").body))
    return store


def constant(store: ast.Call) -> ast.expr:
    store.args[1] = ast.parse(f"({ast.unparse(store.args[1])}) * 0.0 + 0.25", mode="eval").body
    return store


VERSIONS = {
    "fp16 operands": Calls("tl.load", rounded),
    "dropped tail": Calls("tl.store", without_last),
    "constant": Calls("tl.store", constant),
}


def main() -> int:
    passed = 0
    with start_worker() as worker:
        for problem in PROBLEMS:
            worker.load(str(GALLERY / problem))
            source = (GALLERY / problem / "starter.py").read_text()
            for version, calls in VERSIONS.items():
                wrong = ast.unparse(ast.fix_missing_locations(calls.visit(ast.parse(source))))
                found = worker.evaluate(Candidate(source=wrong), "verify")
                passed += found.status is Status.PASSED
                results = ", ".join(f"{r.case} {r.status.value}" for r in found.results)
                print(f"{problem} | {version} | {found.status.value} | {found.reason[:200]} | {results}", flush=True)
    return 1 if passed else 0


if __name__ == "__main__":
    sys.exit(main())
