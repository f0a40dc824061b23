"""The part "Profile, before and after" of every gallery page, made from gallery/*/results/profile/*.json.

    python benchmarks/gallery_profiles.py               write it
    python benchmarks/gallery_profiles.py --check       exit status 1 if a page says something else
    python benchmarks/gallery_profiles.py --from OUT    first put what benchmarks/diagnose.py wrote to OUT in place

Not a measurement. The rule: every figure comes out of a kept document; what it means for a kernel, a page says itself.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kernelwright.codec import record
from kernelwright.devices import device_file
from kernelwright.diagnosis.format import value_text
from kernelwright.model import Bound, Diagnosis, LaunchProfile, Profile
from kernelwright.text import markdown
from kernelwright.text.units import microseconds_text, share_text

GALLERY = Path(__file__).resolve().parents[1] / "gallery"
BEGIN, END = "<!-- profile: begin (benchmarks/gallery_profiles.py) -->", "<!-- profile: end -->"
SUMS = {"dram_read": "DRAM, read", "dram_write": "DRAM, written"}
"""Counted over all launches of a call."""

OF_THE_LONGEST = {
    "dram_throughput": "DRAM busy", "l2_throughput": "L2 busy", "l1_throughput": "L1 busy",
    "issue_active": "issue slots busy", "tensor_pipe": "tensor cores busy", "l2_hit_rate": "L2 hits",
    "occupancy": "occupancy", "registers": "registers a thread", "spills": "spills a thread",
    "shared_memory": "shared memory a block",
}  # fmt: skip
"""Of the launch that takes longest."""


class Profiled(NamedTuple):
    """A row of the document of `kernelwright profile --json`."""

    name: str
    time_us: float
    bound: Bound
    diagnosis: Diagnosis
    profile: Profile


def read(document: dict[str, Any]) -> list[Profiled]:
    return [
        Profiled(row["name"], row["timing"]["median_us"], record(row["bound"], Bound),
                 record(row["diagnosis"], Diagnosis), record(row["profile"], Profile))
        for row in document["profiles"]
        if row["profile"]["launches"]
    ]  # fmt: skip


def table(rows: Sequence[Profiled]) -> str:
    """A column for each implementation. A figure that nobody read is a dash, a row of dashes is left out."""
    lines = [
        ["", *(row.name for row in rows)],
        ["time", *(f"{microseconds_text(row.time_us)} µs" for row in rows)],
        ["share of the limit", *(share_text(row.bound.bound_us / row.time_us) for row in rows)],
        ["held back by", *(row.diagnosis.bottleneck.limit.value for row in rows)],
        ["launches", *(str(len(row.profile.launches)) for row in rows)],
        *([label, *(total_text(row, name) for row in rows)] for name, label in SUMS.items()),
        ["of the longest launch, which is", *(f"`{shortened(row.profile.main.kernel)}`" for row in rows)],
        *([label, *(counter_text(row.profile.main, name) for row in rows)] for name, label in OF_THE_LONGEST.items()),
    ]
    shown = [line for line in lines if set(line[1:]) != {"-"}]
    return markdown.table(shown[0], shown[1:])


def total_text(row: Profiled, name: str) -> str:
    """A dash where one launch lacks it."""
    values = [launch.value(name) for launch in row.profile.launches]
    known = [value for value in values if value is not None]
    return value_text(sum(known), "bytes") if len(known) == len(values) else "-"


def counter_text(launch: LaunchProfile, name: str) -> str:
    """The label says of what a unit is one: a thread or a block."""
    found = next((one for one in launch.counters if one.name == name), None)
    return "-" if found is None else value_text(found.value, found.unit.partition("/")[0].removeprefix("register"))


def shortened(kernel: str) -> str:
    """What a template was instantiated with, and where it was declared, take lines and say little."""
    name = re.sub(r"\(anonymous namespace\)", "", kernel)
    name = re.split(r"[<(]", name.removeprefix("void "))[0].split("::")[-1]
    return name if len(name) <= 40 else name[:37] + "..."


def section(document: dict[str, Any]) -> str:
    """The words and the table between the marks."""
    rows, environment = read(document), document["environment"]
    case = document["profiles"][0]["case"]
    tools = sorted({row["profile"]["tool"] for row in document["profiles"] if row["profile"]["tool"]})
    return f"""## Profile, before and after

{case} on an {environment["device"]} (torch {environment["torch"]}): time by the clock of
`bench`, counters by {", ".join(tools)} ([how to read them](../../docs/diagnosis.md)). Must move:
{value_text(rows[0].bound.bytes, "bytes")}.

{table(rows)}"""


def with_section(page: str, text: str) -> str:
    """`page` with `text` between the marks; before "What still separates" where there are none yet."""
    marked = f"{BEGIN}\n\n{text}\n\n{END}"
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.S)
    if pattern.search(page):
        return pattern.sub(lambda _: marked, page)
    before, heading, after = page.partition("## What still separates it from the limit")
    return f"{before}{marked}\n\n{heading}{after}" if heading else f"{page.rstrip()}\n\n{marked}\n"


def place(folder: Path, gallery: Path) -> None:
    """Each document into gallery/PROBLEM/results/profile/DEVICE.json."""
    for file in sorted(folder.glob("*.json")):
        document = json.loads(file.read_text(encoding="utf-8"))
        device = document["environment"]["device"]
        if device is None:
            raise SystemExit(f"{file} was made without a GPU: what a compiler says is no profile")
        if not read(document):
            raise SystemExit(f"{file} holds no launch: nothing was profiled there")
        target = gallery / document["problem"] / "results" / "profile" / f"{device_file(device)}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def stale(gallery: Path) -> dict[Path, str]:
    """What each page that says something else than its profile has to say."""
    found = {}
    for file in sorted(gallery.glob("*/results/profile/*.json")):
        page = file.parents[2] / "README.md"
        old = page.read_text(encoding="utf-8")
        new = with_section(old, section(json.loads(file.read_text(encoding="utf-8"))))
        if new != old:
            found[page] = new
    return found


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit status 1 if a page is stale")
    parser.add_argument("--from", dest="folder", type=Path, metavar="OUT", help="what benchmarks/diagnose.py wrote")
    given = parser.parse_args(arguments)
    if given.folder is not None:
        place(given.folder, GALLERY)
    pages = stale(GALLERY)
    for page, text in pages.items():
        name = page.relative_to(GALLERY.parent)
        if given.check:
            print(f"{name} is stale; python benchmarks/gallery_profiles.py writes it")
        else:
            page.write_text(text, encoding="utf-8")
            print(f"written: {name}")
    return 1 if pages and given.check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
