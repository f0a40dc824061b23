"""What becomes of every attack of tests/exploits: its status and the reason, one line each.

`python benchmarks/attacks.py [FAMILY ...]` writes benchmarks/results/attacks.md (of these families, the other lines
stay), and says of each attack whose line changed what it was before. Fails where one passes that did not. The status
"left out" means that another text passed than the file, and the reason names what that text lacks. Measured numbers are
left out, because the judge's draws are random. The last column has the status in the first table (6999961b, 535
attacks), and "-" for later attacks.
"""

from __future__ import annotations

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from evaluated import AT_ONCE, LIMITS
from exploits.test_exploits import FAMILIES, submission
from kernelwright.evaluator.client import start_worker
from kernelwright.model import LEFT_OUT, Candidate, Evaluation, Status

RESULTS = Path(__file__).parent / "results" / "attacks.md"

MEASURED = re.compile(r"-?\d+\.\d+(e[-+]?\d+)?|-?\d+e[-+]?\d+|\bnan\b|\b\d+ of \d+\b|\(\d+(?:, \d+)*,?\)")

LONGEST = 160


def rows(families: list[str]) -> dict[str, str]:
    """What is written of each attack of these families, by its name."""
    every = [(one.kernel.subject, f"{family}-{one.name}", one) for family in families for one in FAMILIES[family]]
    found: dict[str, str] = {}
    with start_worker(limits=LIMITS) as worker, ThreadPoolExecutor(AT_ONCE) as threads:
        for subject, members in groupby(sorted(every, key=lambda one: one[:2]), key=lambda one: one[0]):
            worker.load(str(submission(subject, "").problem))
            own = list(members)
            sources = [attack.kernel.source for _, _, attack in own]
            judged = threads.map(lambda source: worker.evaluate(Candidate(source=source), "verify"), sources)
            found |= {name: described(one) for (_, name, _), one in zip(own, judged, strict=True)}
    return dict(sorted(found.items()))


def described(evaluation: Evaluation) -> str:
    left_out = [one for one in evaluation.unjudged if one.startswith(LEFT_OUT) and evaluation.status is Status.PASSED]
    reason = left_out[0].removeprefix(LEFT_OUT) if left_out else evaluation.reason
    reason = MEASURED.sub("#", " ".join(reason.split()))[:LONGEST].replace("|", "\\|").replace("`", "'")
    changed = " (of a text without the lines that did not run)" * bool(evaluation.judged_source)
    return f"{'left out' if left_out else evaluation.status.value + changed} | {reason}"


def main() -> int:
    written = re.findall(r"^\| `(.+?)` \| (.*) \| ([-\w ]+) \|$", RESULTS.read_text(), re.MULTILINE)
    before, first = {name: row for name, row, _ in written}, {name: status for name, _, status in written}
    families = sys.argv[1:] or list(FAMILIES)
    found = {name: row for name, row in before.items() if len(families) < len(FAMILIES)}
    found = dict(sorted((found | rows(families)).items()))
    passed = [name for name, row in found.items() if row.startswith(Status.PASSED.value)]
    lines = [f"| `{name}` | {row} | {first.get(name, '-')} |" for name, row in found.items()]
    RESULTS.write_text("\n".join([
        "# What becomes of every attack", "",
        "`python benchmarks/attacks.py` (`tests/exploits`), on Triton's CPU interpreter: "
        f"of {len(found)} attacks {len(passed)} pass.", "",
        "The last column is the status in the first table, of 535 attacks at 6999961b.", "",
        "| attack | status | reason | first status |", "|---|---|---|---|", *lines, "",
    ]), encoding="utf-8")  # fmt: skip
    for name, row in found.items():
        if before.get(name, row) != row:
            print(f"{name}: {row}\n  before: {before[name]}")
    new = [name for name in passed if not before.get(name, Status.PASSED.value).startswith(Status.PASSED.value)]
    print(f"{len(found)} attacks, {len(passed)} pass; of these refused before: {', '.join(new) or 'none'}")
    return len(new)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
