"""The page docs/settings.md: what it shows as all fields is all fields, and can be read."""

from __future__ import annotations

from pathlib import Path

import msgspec

from kernelwright.jobs.settings import read_settings
from kernelwright.model import RunOptions
from kernelwright.propose import table
from kernelwright.search import STRATEGIES
from pages import ROOT, codes


def test_every_field_is_shown_and_every_field_shown_is_one(tmp_path: Path) -> None:
    [shown] = [code.text for code in codes(ROOT / "docs" / "settings.md") if code.language == "toml"]
    file = tmp_path / "kernelwright.toml"
    file.write_text(shown, encoding="utf-8")
    settings = msgspec.structs.asdict(read_settings(file, lambda line: None).options)
    assert [name for name in RunOptions.__struct_fields__ if settings[name] is None] == []
    assert all(f"{name}," in shown or f", {name}\n" in shown for name in (*STRATEGIES, *table.PROPOSERS))
