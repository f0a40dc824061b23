"""How many wrong kernels the judge refuses: mutants of right kernels, on problems without stated cases.

    python benchmarks/mutation decide              which mutants are wrong, by running them (GPU); no judge takes part
    python benchmarks/mutation judge OUT           verify the wrong ones of the list, and print the table
    python benchmarks/mutation table OUT           print the table of what was judged so far

`decide` writes wrong.jsonl beside this file: a line for each mutant, with the change and on how many of its 200
inputs it is wrong. That list is made before the judge sees any of them. Both may be interrupted and go on.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kernelwright.errors import KernelwrightError
from kernelwright.model import Candidate, Loading

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from mutate import mutants  # noqa: E402
from subjects import Subject, subjects, without_cases  # noqa: E402
from unleased import measure_peaks, unleased_worker  # noqa: E402

LIST = HERE / "wrong.jsonl"
INPUTS, PER_KERNEL = 200, 11
STARTING_S, SILENT_S = 300.0, 60.0
"""A mutant that takes longer hangs: its process is ended, and the mutant counts as wrong."""


# --- which are wrong ----------------------------------------------------------------------------------------


def decide(workers: int, inputs: int, names: list[str], out: Path, seconds: float) -> None:
    """Decide about every mutant of these subjects ([]: of all) that the list does not hold yet."""
    known = {row["subject"] for row in _read(out)}
    chosen = [one for one in subjects() if (not names or one.name in names) and one.name not in known]
    end_s = time.monotonic() + seconds

    def run(subject: Subject) -> None:
        if time.monotonic() < end_s:
            rows = decided(subject, inputs)
            with out.open("a", encoding="utf-8") as file:
                file.write("".join(json.dumps(row) + "\n" for row in rows))

    with ThreadPoolExecutor(workers) as threads:
        list(threads.map(run, chosen))
    rows = sorted(_read(out), key=lambda row: (row["subject"], row["line"], row["name"]))
    out.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    kernels, wrong = {row["subject"] for row in rows}, [row for row in rows if row["wrong_on"]]
    print(f"{len(rows)} mutants of {len(kernels)} kernels, {len(wrong)} of them wrong: {out}")


def decided(subject: Subject, inputs: int) -> list[dict[str, Any]]:
    every = mutants(subject.kernel, PER_KERNEL)
    waiting, found = list(range(len(every))), {}
    while waiting:
        ready, rows = _answers([subject.name, str(inputs), str(PER_KERNEL), *map(str, waiting)])
        if not ready:
            raise RuntimeError(f"{subject.name}: its own kernel does not run: see decide.py {subject.name}")
        found |= {row["number"]: row for row in rows}
        waiting = waiting[len(rows) :]
        if waiting:  # this one ended the process, or hangs
            found[waiting[0]] = {"inputs": 1, "wrong_on": 1, "first": "its process was ended"}
            waiting = waiting[1:]
    rows = []
    for number, mutant in enumerate(every):
        row = {"subject": subject.name, "kind": mutant.kind, "line": mutant.line, "before": mutant.before,
               "after": mutant.after, "name": mutant.name}  # fmt: skip
        rows.append({**row, **{key: found[number][key] for key in ("inputs", "wrong_on", "first")}})
    return rows


def _answers(words: list[str]) -> tuple[bool, list[dict[str, Any]]]:
    """Whether decide.py came to the mutants, and what it said of them until it ended or was silent for too long."""
    lines: list[dict[str, Any]] = []
    command = [sys.executable, str(HERE / "decide.py"), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        watch = threading.Timer(STARTING_S, process.kill)
        watch.start()
        for line in process.stdout:
            watch.cancel()
            with contextlib.suppress(json.JSONDecodeError):  # the last line of a process that was killed
                lines.append(json.loads(line))
            watch = threading.Timer(SILENT_S, process.kill)
            watch.start()
        watch.cancel()
    return bool(lines), lines[1:]


# --- what the judge says --------------------------------------------------------------------------------------


def judge(out: Path, workers: int, names: list[str], seconds: float, sample: int | None) -> None:
    """Verify the wrong mutants of the list that OUT does not hold yet, and each subject's own kernel."""
    rows = [row for row in _read(LIST) if row["wrong_on"] and (not names or row["subject"] in names)]
    rows = sorted(rows, key=lambda row: sha256(f"{row['subject']} {row['name']}".encode()).digest())[:sample]
    done = {(row["subject"], row["name"]) for row in _read(out)}
    waiting: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if (row["subject"], row["name"]) not in done:
            waiting[row["subject"]].append(row)
    end_s = time.monotonic() + seconds
    known = {subject.name: subject for subject in subjects()}

    def run(name: str) -> None:
        if time.monotonic() < end_s:
            verify(known[name], waiting[name], (name, "right") not in done, out, end_s)

    if waiting:
        measure_peaks()
    with ThreadPoolExecutor(workers) as threads:
        list(threads.map(run, waiting))
    table(out)


def verify(subject: Subject, rows: list[dict[str, Any]], also_right: bool, out: Path, end_s: float) -> None:
    """One worker for the mutants of a kernel. The problem has no stated cases."""
    sources = {mutant.name: mutant.source for mutant in mutants(subject.kernel, PER_KERNEL)}
    asked = [("right", subject.kernel)] * also_right + [(row["name"], sources.get(row["name"])) for row in rows]
    with TemporaryDirectory() as folder:
        problem = Path(folder, "problem.py")
        problem.write_text(without_cases(subject.problem), encoding="utf-8")
        with unleased_worker() as worker:
            refused = ""
            try:
                worker.load(str(problem), Loading(which="derived"))
            except KernelwrightError as error:
                refused = f"the problem does not load: {error}"
            for name, source in asked:
                if time.monotonic() > end_s:
                    return
                start_s = time.monotonic()
                row = {"subject": subject.name, "name": name}
                if source is None:
                    row |= {"status": "not_verified", "reason": "the kernel was changed after the list was made"}
                elif refused:
                    row |= {"status": "not_verified", "reason": refused[:300]}
                else:
                    found = worker.evaluate(Candidate(source=source), "verify")
                    row |= {"status": found.status.value, "reason": found.reason[:300]}
                row["seconds"] = round(time.monotonic() - start_s, 2)
                with out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")


def table(out: Path) -> None:
    """Shares by kind; every survivor; every right kernel that was not accepted."""
    wrong = {(row["subject"], row["name"]): row for row in _read(LIST) if row["wrong_on"]}
    judged = {(row["subject"], row["name"]): row for row in _read(out)}
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    for key, row in judged.items():
        if key in wrong:
            status = row["status"]
            verdict = "survived" if status == "passed" else status if status == "not_verified" else "refused"
            verdicts[wrong[key]["kind"]][verdict] += 1
            verdicts["all"][verdict] += 1
    print("| kind | wrong | refused | survived | not verified |\n|---|---|---|---|---|")
    for kind in [*sorted(verdicts.keys() - {"all"}), "all"]:
        counts = verdicts[kind]
        print(f"| {kind} | {counts.total()} | {counts['refused']} | {counts['survived']} | {counts['not_verified']} |")
    right = [row for (_, name), row in judged.items() if name == "right"]
    print(f"\nright kernels: {len(right)}, accepted {sum(row['status'] == 'passed' for row in right)}")
    for row in right:
        if row["status"] != "passed":
            print(f"not accepted: {row['subject']}: {row['status']} {row['reason']}")
    for key, row in judged.items():
        if key in wrong and row["status"] == "passed":
            one = wrong[key]
            change = f"line {one['line']}: {one['before']} -> {one['after']}"
            print(f"survived: {one['subject']} {one['kind']} {change}; wrong on {one['wrong_on']} of {one['inputs']}: "
                  f"{one['first']}")  # fmt: skip


def _read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(prog="python benchmarks/mutation", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    verbs = parser.add_subparsers(dest="verb", required=True)
    deciding = verbs.add_parser("decide")
    deciding.add_argument("--inputs", type=int, default=INPUTS, help="inputs for each mutant")
    deciding.add_argument("--out", type=Path, default=LIST)
    judging = verbs.add_parser("judge")
    judging.add_argument("out", type=Path, help="a line of JSON for each verdict")
    judging.add_argument("--sample", type=int, help="only this many mutants, drawn by a hash of their names")
    for verb in (deciding, judging):
        verb.add_argument("--seconds", type=float, default=1e9, help="start no further kernel after this many seconds")
        verb.add_argument("--workers", type=int, default=2, help="processes at once")
        verb.add_argument("--subject", action="append", default=[], help="only this kernel; repeatable")
    verbs.add_parser("table").add_argument("out", type=Path)
    given = parser.parse_args()
    if given.verb != "decide" and not LIST.exists():
        parser.error(f"{LIST} is not there yet: run decide on a machine with a GPU")
    if given.verb == "decide":
        decide(given.workers, given.inputs, given.subject, given.out, given.seconds)
    elif given.verb == "judge":
        judge(given.out, given.workers, given.subject, given.seconds, given.sample)
    else:
        table(given.out)


if __name__ == "__main__":
    main()
