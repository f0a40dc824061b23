"""Comparison of an exported package's recorded times with new ones, for the command `recheck`.

The job of `recheck` verifies and times; this file reads the package, compares and formats. Only calls for which the
package's dispatcher uses the kernel have to be still faster; for other calls PyTorch runs anyway.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright import codec
from kernelwright.errors import RequestError
from kernelwright.export.wins import COMPILED, PLAIN, TRAINING, TRAINING_COMPILED, USES, WHY
from kernelwright.model import Candidate, Environment, Evaluation, LibraryMode, Record, Status
from kernelwright.source import AUTOTUNE
from kernelwright.text.table import table

PROVENANCE = "provenance.json"
REGIMES = {
    "called": ("eager", PLAIN),
    "compiled": ("compiled", COMPILED),
    "training": ("training", TRAINING),
    "training, compiled": ("training_compiled", TRAINING_COMPILED),
}
"""By name for people: the package's name of the regime, and its names of the two times that are compared."""


@dataclass(frozen=True)
class Package:
    """A package on disk. home: the folder of its modules. dtype: to which all cases are cast; None: as stated. library:
    the library steps that the problem allowed. changed: files that were edited after the export."""

    home: Path
    candidate: Candidate
    provenance: dict[str, Any]
    dtype: str | None
    library: LibraryMode
    wins: dict[str, Any]
    changed: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.home.name

    @property
    def reference(self) -> Path:
        return self.home / "reference.py"


def read_package(place: Path) -> Package:
    """The package at `place`: the package's folder, or the output folder of `export`. Raises `RequestError`."""
    homes = [place] if (place / PROVENANCE).is_file() else sorted(file.parent for file in place.glob(f"*/{PROVENANCE}"))
    if len(homes) != 1:
        raise RequestError(
            f"{place} holds {len(homes)} exported packages, expected one",
            "give the folder that `kernelwright export` wrote, or the installed package's",
        )
    home = homes[0]
    try:
        provenance = json.loads((home / PROVENANCE).read_text(encoding="utf-8"))
        wins = json.loads((home / "wins.json").read_text(encoding="utf-8"))
        source = (home / "kernel.py").read_text(encoding="utf-8")
        reference = (home / "reference.py").read_text(encoding="utf-8")
        exported = {
            "kernel.py": provenance["candidate"]["kernel_sha256"],
            "reference.py": provenance["problem"]["sha256"],
        }
        autotune = provenance["candidate"]["autotune"]
        dtype, library = provenance["problem"]["dtype"], provenance["problem"]["library"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RequestError(f"{home} is not a whole package: {error}", "export it again") from error
    texts = {"kernel.py": source, "reference.py": reference}
    return Package(
        home=home,
        candidate=Candidate(source=source, config={AUTOTUNE + name: index for name, index in autotune.items()}),
        provenance=provenance,
        dtype=dtype,
        library=library,
        wins=wins,
        changed=tuple(name for name, text in texts.items() if codec.sha(text) != exported[name]),
    )


class Change(Record, frozen=True, kw_only=True):
    """A difference of the environment, such as another torch version."""

    what: str
    then: str | None
    now: str | None


def changes(package: Package, now: Environment) -> tuple[Change, ...]:
    """Differences between the environment of the package's measurement (or, without one, of its kernel's verification)
    and `now`."""
    verified = package.provenance["environment"]
    then = {name: verified.get(name) for name in ("device", "driver", "torch", "triton", "python", "kernelwright")}
    if package.wins.get("device") is not None:
        then |= {name: package.wins[name] for name in ("device", "torch", "triton", "driver") if package.wins.get(name)}
    here = codec.plain(now)
    return tuple(
        Change(what=name, then=was, now=here[name])
        for name, was in then.items()
        if was is not None and was != here[name]
    )


class Timed(Record, frozen=True, kw_only=True):
    """One case at the export and now. use: a key of `USES`, calls or graphs. then, now: PyTorch's time over the
    kernel's, the smallest ratio among the figures of that use. used: whether the dispatcher uses the kernel; faster:
    whether the kernel is faster now."""

    case: str
    regime: str
    use: str
    used: bool
    then: float | None
    now: float | None
    faster: bool


def retimed(package: Package, measured: dict[str, Any]) -> tuple[Timed, ...]:
    """Compare each case with `measured`, a new document like `wins.json`. A case without a new time is not faster."""
    today = {key_of(case): case for case in measured["cases"]}
    found = []
    for case in package.wins["cases"]:
        for (regime, (name, pair)), use in itertools.product(REGIMES.items(), USES):
            then = worst_ratio(case, pair, use)
            if then is None:
                continue
            now = worst_ratio(today.get(key_of(case), {}), pair, use)
            used = case.get(WHY[use], {}).get(name) == "faster"
            faster = now is not None and now > 1
            found.append(Timed(case=case["case"], regime=regime, use=use, used=used, then=then, now=now, faster=faster))
    return tuple(found)


def worst_ratio(case: dict[str, Any], pair: tuple[str, str], use: str) -> float | None:
    """The smallest ratio of PyTorch's time over the kernel's, among the figures of `use`; None if the first of these
    figures was not measured."""
    mine, other = (case.get(name, {}) for name in pair)
    both = [name for name in USES[use] if name in mine and name in other]
    return min(float(other[name]) / float(mine[name]) for name in both) if USES[use][0] in both else None


def key_of(case: dict[str, Any]) -> str:
    return json.dumps([case["inputs"], case["init"], case["parameters"]], sort_keys=True)


def recheck_text(
    package: Package, changed: tuple[Change, ...], evaluation: Evaluation, timed: tuple[Timed, ...] | None
) -> str:
    """What changed, whether the kernel is still right, and still faster. timed: None where nothing was timed."""
    right = evaluation.status is Status.PASSED
    lines = [f"{package.name}, kernelwright {package.provenance['kernelwright']}"]
    lines += [f"{one.what}: {one.then} then, {one.now} now" for one in changed] or ["the environment is the same"]
    lines += [f"{name} was changed after it was exported" for name in package.changed]
    lines.append(f"verified on {evaluation.verified_on}: right" if right else f"not right: {evaluation.reason}")
    if timed is not None:
        lines.append(timed_text(timed))
    elif right and package.wins["device"] is None:
        lines.append("nothing was measured, so PyTorch serves every call")
    return "\n".join(lines)


def timed_text(timed: tuple[Timed, ...]) -> str:
    """A table of the cases for which the dispatcher uses the kernel. A case that is used in calls and in graphs has a
    row for graphs only if the result differs."""
    used = [one for one in timed if one.used]
    if not used:
        return "the kernel is used nowhere: PyTorch was faster wherever it was measured"
    in_calls = {(one.case, one.regime): one.faster for one in used if one.use == "calls"}
    rows = [
        [
            one.case,
            one.regime + (", in graphs" if one.use == "graphs" else ""),
            ratio_text(one.then),
            ratio_text(one.now),
            "still faster" if one.faster else "no longer",
        ]
        for one in used
        if one.use == "calls" or in_calls.get((one.case, one.regime)) is not one.faster
    ]
    return table(["case", "", "then", "now", ""], rows)


def ratio_text(ratio: float | None) -> str:
    return "fails" if ratio is None else f"{ratio:.2f}x"
