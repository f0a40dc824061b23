"""Starting configs from a model: the prompt that asks for them, and the reader of the answer. Pure.

The model chooses values of the space and writes no code. An answer can only add configs to try. Configs outside the
space are dropped and counted, and times in the answer are ignored.
"""

from __future__ import annotations

import json
from typing import Any

from kernelwright.model import Environment, ProblemInfo
from kernelwright.propose import sections
from kernelwright.propose.prompt import Prompt, render, template
from kernelwright.propose.reply import Unusable, blocks
from kernelwright.spaces.space import Space, written
from kernelwright.text.markdown import fenced, table

COUNT = 10
"""Number of configs to ask for. Each costs a measurement, and after ten the search itself chooses better ones."""

SYSTEM = "You choose launch configurations of GPU kernels."


def advice_prompt(source: str, space: Space, problem: ProblemInfo | str, environment: Environment) -> Prompt:
    """The prompt. problem: only its name where a record is replayed, because a record does not store the cases."""
    rows = [[f"`{one.name}`", ", ".join(map(str, one.choices)), str(one.default)] for one in space.parameters]
    restrictions = "\n".join(f"- `{text}`" for text in space.restrictions)
    values = {
        "kernel": fenced(source),
        "cases": f"Cases of the problem {problem}." if isinstance(problem, str) else sections.cases(problem),
        "machine": sections.machine(environment),
        "parameters": table(["parameter", "values", "in the source"], rows),
        "restrictions": f"Each config has to satisfy\n\n{restrictions}" if restrictions else "Any combination is one.",
        "count": str(COUNT),
        "example": json.dumps(written(space)),
    }
    return Prompt(system=(SYSTEM,), text=render(template("configs"), values, "configs.md"))


def rows_in(text: str) -> list[dict[str, Any]]:
    """The configs in a reply: the last complete JSON block that is a list of objects, or the whole reply where it is
    one.

    Raises `Unusable`.
    """
    whole = [block.text for block in blocks(text) if block.closed and block.language in ("json", "")]
    for candidate in [*reversed(whole), text]:
        try:
            found = json.loads(candidate)
        except ValueError:
            continue
        if isinstance(found, list) and found and all(isinstance(row, dict) for row in found):
            return [{str(name): value for name, value in row.items()} for row in found]
    raise Unusable("the reply has no JSON list of configs in a fenced block")
