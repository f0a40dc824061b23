"""Journals and benches that are kept in gallery and benchmarks state every field of today's records.

    python benchmarks/kept_records.py            write those that do not again
    python benchmarks/kept_records.py --check    exit status 1 if one does not

A record that gets a field is read from these files with that field's default. Writing them again states it, so that no
reader has to know of files without it.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from kernelwright.codec import decode, encode, sha
from kernelwright.journal import NAME
from kernelwright.journal.store import PAYLOADS, digest
from kernelwright.model import BenchReport, RunInfo
from kernelwright.report.framework import BENCH, SideMeasurement

ROOT = Path(__file__).resolve().parents[1]
PLACES = (ROOT / "gallery", ROOT / "benchmarks" / "further")


def restated(text: str, kind: Any) -> str:
    """The record in `text` as today's code writes it."""
    return encode(decode(text, kind)).decode()


def differing_files(places: Sequence[Path]) -> Iterator[tuple[Path, bytes]]:
    """Benches that do not state every field, each with what today's code writes."""
    for place in places:
        for file in sorted([*place.glob("*/results/**/*.json"), *place.glob(f"*/runs/*/{BENCH}")]):
            old = file.read_bytes()
            if file.parent.name == "profile":
                continue
            if file.name == BENCH:
                new = encode(decode(old, SideMeasurement))
            else:
                new = msgspec.json.format(encode(decode(old, BenchReport)), indent=1) + b"\n"
            if new != old:
                yield file, new


def differing_rows(connection: sqlite3.Connection) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The statements that write again what a journal does not state in full."""
    ((info,),) = connection.execute("SELECT value FROM meta WHERE key = 'info'")
    if (new := restated(info, RunInfo)) != info:
        yield "UPDATE meta SET value = ? WHERE key = 'info'", (new,)
        yield "UPDATE meta SET value = ? WHERE key = 'info_digest'", (sha(new),)
    for seq, kind, number, time, payload in connection.execute("SELECT seq, kind, number, time, payload FROM events"):
        if (new := restated(payload, PAYLOADS[kind])) != payload:
            values = (new, digest(seq, kind, number, time, new), seq)
            yield "UPDATE events SET payload = ?, digest = ? WHERE seq = ?", values


def main(arguments: Sequence[str], places: Sequence[Path] = PLACES) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit status 1 if a file is not in full")
    given = parser.parse_args(arguments)
    stale = []
    for file, new in differing_files(places):
        stale.append(file)
        if not given.check:
            file.write_bytes(new)
    for file in sorted(file for place in places for file in place.glob(f"*/runs/*/{NAME}")):
        with closing(sqlite3.connect(f"{file.as_uri()}?mode={'ro' if given.check else 'rw'}", uri=True)) as connection:
            statements = list(differing_rows(connection))
            if statements:
                stale.append(file)
            if statements and not given.check:
                with connection:
                    for statement, values in statements:
                        connection.execute(statement, values)
                connection.execute("VACUUM")
    for file in stale:
        print(f"{file} lacks fields; python benchmarks/kept_records.py states them" if given.check
              else f"written: {file}")  # fmt: skip
    return 1 if stale and given.check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
