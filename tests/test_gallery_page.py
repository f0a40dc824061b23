"""The pages made from the gallery's results say what the results say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_gallery_page_and_the_readme_are_not_stale() -> None:
    done = subprocess.run(
        [sys.executable, "benchmarks/gallery_page.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
