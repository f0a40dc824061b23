"""Length of prompts, and how much of a second one begins like the first, for problems of the gallery.

`python benchmarks/prompt_size.py [PROBLEM …]`, with or without a GPU. The first prompt asks to improve the problem's
starter, the second its recorded best kernel, with both trials known. A token is taken to be four characters. To measure
another version of kernelwright, set PYTHONPATH to its `src`.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from kernelwright.evaluator.launch import start_worker
from kernelwright.model import Candidate, Operator, Proposal, Request, Trial
from kernelwright.propose.conversation import whole
from kernelwright.propose.prompt import prompt_for
from kernelwright.propose.protocol import Context

GALLERY = Path(__file__).resolve().parents[1] / "gallery"
CHARACTERS = 4
"""Of a token."""


def prompts(problem: Path) -> list[str]:
    with start_worker() as worker:
        info, trials, found = worker.load(str(problem)), list[Trial](), []
        for number, file in enumerate(("starter.py", "best.py")):
            candidate = Candidate(source=(problem / file).read_text(encoding="utf-8"))
            request = Request(number=number, operator=Operator.SEED, candidate=candidate)
            evaluation = worker.evaluate(candidate, "search")
            trials.append(
                Trial(request=request, proposal=Proposal(author=file, candidate=candidate), evaluation=evaluation)
            )
            context = Context(
                problem=info, environment=worker.environment(), trials=tuple(trials), in_flight=(), seed=0,
                folder=problem, put_blob=lambda text: "", blob=lambda sha: "",
            )  # fmt: skip
            asked = Request(number=number + 2, operator=Operator.IMPROVE, parents=(number,))
            found.append(whole(prompt_for(asked, context)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", default=["softmax", "matmul", "cross_entropy"])
    for name in parser.parse_args().problems:
        first, second = prompts(GALLERY / name)
        same = len(os.path.commonprefix([first, second]))  # noqa: RUF071 - of characters
        print(
            f"{name}: {len(first) / CHARACTERS:.0f} tokens, then {len(second) / CHARACTERS:.0f}; "
            f"{same / CHARACTERS:.0f} of these begin alike, {100 * same / len(second):.0f} %"
        )


if __name__ == "__main__":
    main()
