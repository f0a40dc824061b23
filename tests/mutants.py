"""Runs the stated mutants of `mutants.toml`: each breaks one rule of the source, and a named test has to fail.

    python tests/mutants.py [--jobs N] [--only TEXT] [--again]

Each mutant is applied to a copy of the tree, and only its test is run there. What was caught is remembered under
build/mutants.json by the content of the file and of the test, so a run that was interrupted goes on where it was.
Exit status: 0 all caught, 1 some survived, 2 a mutant that cannot be applied or a test that does not run.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import tomllib
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
KNOWN = ROOT / "build" / "mutants.json"
COPIED = ("src", "tests", "gallery", "docs", "benchmarks", "pyproject.toml", "README.md", "CHANGELOG.md", "Makefile")

CAUGHT, SURVIVED, BROKEN = "caught", "SURVIVED", "BROKEN"
OUTCOMES = {0: SURVIVED, 1: CAUGHT}
"""By the exit status of pytest; any other means that the test was not run."""


@dataclass(frozen=True)
class Mutant:
    """rule: what `path` promises. before: a text that occurs there once. test: a pytest node, which has to fail."""

    rule: str
    path: str
    before: str
    after: str
    test: str

    @property
    def test_file(self) -> str:
        return self.test.partition("::")[0]

    def key(self) -> str:
        parts = [self.before, self.after, self.test, *((ROOT / p).read_text() for p in (self.path, self.test_file))]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def mutants() -> list[Mutant]:
    table = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text(encoding="utf-8"))
    return [Mutant(**one) for one in table["mutant"]]


def fault(mutant: Mutant) -> str:
    """Why a mutant cannot be applied, "" where it can."""
    path, test = ROOT / mutant.path, ROOT / mutant.test_file
    if not path.is_file():
        return f"{mutant.path} does not exist; the rule may have moved"
    found = path.read_text(encoding="utf-8").count(mutant.before)
    if found != 1:
        return f"{mutant.path} holds {mutant.before!r} {found} times, once was expected; the rule may have moved"
    function = mutant.test.rpartition("::")[2].partition("[")[0]
    if not test.is_file() or f"def {function}(" not in test.read_text(encoding="utf-8"):
        return f"there is no test {mutant.test}"
    return ""


def copy_to(folder: Path) -> None:
    folder.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)


def tested(folder: Path, tests: list[str]) -> tuple[int, str]:
    """Exit status and output of pytest on tests of a copy of the tree, in a fork of this process."""
    log = folder / "pytest.log"
    pid = os.fork()
    if pid == 0:
        status = 3
        try:
            sys.stdout = sys.stderr = log.open("w")
            os.dup2(sys.stdout.fileno(), 1)
            os.dup2(sys.stdout.fileno(), 2)
            os.chdir(folder)
            sys.path.insert(0, str(folder / "src"))
            os.environ |= {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
            sys.dont_write_bytecode = True
            status = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *tests])
        finally:
            sys.stdout.flush()
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), log.read_text(errors="replace")[-3000:]


def outcome(mutant: Mutant, folder: Path) -> tuple[str, str]:
    """What became of a mutant in a copy of the tree, which is as before afterwards; and what pytest said."""
    path = folder / mutant.path
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(mutant.before, mutant.after), encoding="utf-8")
    try:
        status, said = tested(folder, [mutant.test])
    finally:
        path.write_text(text, encoding="utf-8")
    return OUTCOMES.get(status, BROKEN), said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=2, help="mutants tried at once")
    parser.add_argument("--only", default="", help="only mutants with this text in their rule, path or test")
    parser.add_argument("--again", action="store_true", help="try those too that were caught before")
    asked = parser.parse_args()
    chosen = [one for one in mutants() if asked.only in f"{one.rule} {one.path} {one.test}"]
    faults = [f"{one.rule}: {why}" for one in chosen if (why := fault(one))]
    if faults:
        print(*faults, sep="\n", file=sys.stderr)
        return 2
    known = set(json.loads(KNOWN.read_text())) if KNOWN.is_file() and not asked.again else set()
    left = [one for one in chosen if one.key() not in known]
    print(f"{len(chosen)} mutants, {len(chosen) - len(left)} caught before", flush=True)
    found = tried(left, asked.jobs, known)
    print(f"{found.count(SURVIVED)} survived, {found.count(BROKEN)} could not be tried")
    return 2 if BROKEN in found else 1 if SURVIVED in found else 0


def tried(left: list[Mutant], jobs: int, known: set[str]) -> list[str]:
    """The outcome of each; those that are caught are added to `known` and kept in a file at once."""
    found: list[str] = []
    if not left:
        return found
    for name in ("torch", "triton.language"):  # once here, not in every fork; a machine without them runs fewer tests
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        copy_to(Path(scratch) / "sound")
        status, said = tested(Path(scratch) / "sound", sorted({one.test for one in left}))
        if status:
            print(f"without a mutant a test fails:\n{said}", file=sys.stderr)
            return [BROKEN]
        fork = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(jobs, mp_context=fork, initializer=own_copy, initargs=(scratch,)) as pool:
            for mutant, (word, said) in zip(left, pool.map(attempt, left), strict=True):
                print(f"{word:8}  {mutant.rule} ({mutant.path})", flush=True)
                found.append(word)
                if word == CAUGHT:
                    known.add(mutant.key())
                    KNOWN.parent.mkdir(exist_ok=True)
                    KNOWN.write_text(json.dumps(sorted(known)))
                else:
                    print(f"          {mutant.before!r} became {mutant.after!r}; {mutant.test} said:\n{said}")
    return found


def own_copy(scratch: str) -> None:
    """Give this process of the pool a copy of the tree, and go there."""
    folder = Path(scratch) / str(os.getpid())
    copy_to(folder)
    os.chdir(folder)


def attempt(mutant: Mutant) -> tuple[str, str]:
    return outcome(mutant, Path.cwd())


if __name__ == "__main__":
    sys.exit(main())
